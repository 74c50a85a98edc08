"""Where a metric stands in the atlas: by task, by its blind spots, and by what it alone notices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from assay.errors import SpecError
from assay.reading.answers import Outcome, slice_outcomes
from assay.reading.compare import differing_options
from assay.reading.decisions import Decisions, decisions_of, remember
from assay.reading.lines import Line
from assay.reading.ranking import rankings
from assay.reading.results import TABLES, StoredRun
from assay.reading.shipped import PEOPLE
from assay.reading.verdicts import Slice, checks, rows_with

Outcomes = Mapping[Slice, Outcome]  # of one metric
NEIGHBOURS = 3  # metrics with the most similar blind spots that are named
_FEWEST = 10  # slices that two metrics must share before their blind spots are compared


@dataclass(frozen=True, slots=True)
class Standing:
    """How a metric came out in one task, and which share of the atlas came out worse (ties count half)."""

    task: str
    line: Line
    percentile: float
    metrics: int  # of the atlas that decided about the same


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A metric of the atlas, and how many of the errors that either misses both of them miss."""

    metric: str
    both: int
    either: int

    @property
    def share(self) -> float:
        return self.both / self.either


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a metric stands in the atlas."""

    metric: str
    standings: tuple[Standing, ...]
    neighbours: tuple[Neighbour, ...]
    alone: tuple[Slice, ...]  # errors that it notices and no metric of the atlas does


def merged(runs: Sequence[StoredRun]) -> StoredRun:
    """Several runs as one; what the first says of an audit holds for all."""
    about = dict(runs[0].about)
    for key in ("metrics", "computed"):
        about[key] = {name: each for run in runs for name, each in run.about.get(key, {}).items()}
    about["audits"] = {name: each for run in reversed(runs) for name, each in run.about["audits"].items()}
    scoring = [run.about.get("seconds", {}).get("scoring", {}) for run in runs]
    about["seconds"] = {"scoring": {name: seconds for each in scoring for name, seconds in each.items()}}
    tables = {name: pl.concat([getattr(run, name) for run in runs]) for name in TABLES}
    everything = StoredRun(**tables, about=about)
    remember(everything, _joined([decisions_of(run) for run in runs]))
    return everything


def _joined(tables: Sequence[Decisions]) -> Decisions:
    """The decisions of several runs on the cases that any of them has."""
    first, *others = tables
    for table in others:
        first = first.joined(table)
    return first


def place(run: StoredRun, atlas: StoredRun) -> tuple[list[Placement], list[str]]:
    """Where each metric of a run stands, by the audits that were run as the atlas's were; and notes.

    A metric of the atlas that is placed anew is not compared with itself.
    """
    differences = {name: differing_options(atlas, run, name) for name in run.about["audits"]}
    alike = [name for name, listed in differences.items() if name in atlas.about["audits"] and not listed]
    notes = [f"{name} is left out: {', '.join(listed)}" for name, listed in differences.items() if listed]
    if not alike:
        command = f"assay audit {options_of(atlas)}"
        raise SpecError("; ".join(["no audit of this run was run as in the atlas", *notes, f"use {command}"]))
    placements = []
    for metric in run.metrics:
        others = [name for name in atlas.metrics if name != metric]
        placements.append(_placed(_only(run, alike, [metric]), _only(atlas, alike, others)))
    return placements, notes


def options_of(atlas: StoredRun) -> str:
    """The options of `assay audit` with which the metrics of the atlas were run."""
    return f"--size {atlas.about['size']}"


def _only(run: StoredRun, audits: Sequence[str], metrics: Sequence[str]) -> StoredRun:
    """A run reduced to some audits and metrics."""
    about = dict(run.about)
    about["audits"] = {name: about["audits"][name] for name in audits}
    about["metrics"] = {name: about["metrics"][name] for name in metrics}
    here = pl.col("audit").is_in([*audits, PEOPLE])
    reduced = replace(run, about=about, findings=run.findings.filter(here & pl.col("metric").is_in(metrics)))
    decisions = decisions_of(run)
    kept = decisions.of([name for name in metrics if name in decisions.metrics])
    remember(reduced, replace(kept, frame=kept.frame.filter(here)))
    return reduced


def _placed(run: StoredRun, atlas: StoredRun) -> Placement:
    (metric,) = run.metrics
    everyone = merged([atlas, run])
    errors = checks(everyone, "robustness")
    outcomes = slice_outcomes(errors)
    own = outcomes.pop(metric, {})
    noticed = {spot for others in outcomes.values() for spot, outcome in others.items() if outcome == "pass"}
    alone = sorted(spot for spot, outcome in own.items() if outcome == "pass" and spot not in noticed)
    near = [blind_together(own, others, name) for name, others in outcomes.items()]
    near = [neighbour for neighbour in near if neighbour.either >= _FEWEST]
    near.sort(key=lambda neighbour: -neighbour.share)
    return Placement(metric, tuple(_standings(everyone, metric)), tuple(near[:NEIGHBOURS]), tuple(alone))


def _standings(everyone: StoredRun, metric: str) -> Iterable[Standing]:
    """The place of a metric in every task in which it decided something."""
    for ranking in rankings(everyone):
        lines = {line.metric: line for line in ranking.lines if line.errors is not None}
        if metric not in lines:
            continue
        line = lines.pop(metric)
        worse = sum((each.merit < line.merit) + (each.merit == line.merit) / 2 for each in lines.values())
        percentile = 100.0 * worse / len(lines) if lines else 0.0
        yield Standing(ranking.task, line, percentile, len(lines))


def blind_together(first: Outcomes, second: Outcomes, name: str) -> Neighbour:
    """Of the errors that both were asked about and either fails to notice, those that both fail to notice."""
    asked = first.keys() & second.keys()
    missed = [{spot for spot in asked if outcomes[spot] == "fail"} for outcomes in (first, second)]
    return Neighbour(name, len(missed[0] & missed[1]), len(missed[0] | missed[1]))


FRESH = "memorised"  # the audit that compares embedded with fresh texts


def objections(run: StoredRun, atlas: StoredRun) -> list[str]:
    """Why a run cannot be added to the atlas: nothing, for one that was made with its options."""
    reasons = [*_of_the_version(run, atlas), *_of_the_audits(run, atlas), *_of_the_metrics(run, atlas)]
    reasons += _of_knowing_the_texts(run)
    if not checks(run):
        reasons.append("nothing was judged: no metric of the run tells anything")
    if run.about.get("data"):
        reasons.append("it was made on files of your own; leave out --data")
    return reasons


def _of_the_version(run: StoredRun, atlas: StoredRun) -> list[str]:
    """Another version of assay may ask other questions; a release ships the atlas made shortly before it."""
    ours, theirs = (str(stored.about["assay"]).partition(".dev")[0] for stored in (run, atlas))
    return [] if ours == theirs else [f"made by assay {ours}, the atlas by {theirs}"]


def _of_the_audits(run: StoredRun, atlas: StoredRun) -> list[str]:
    """Audits that were not run, or with other options."""
    asked = run.about["audits"]
    reasons = []
    for name in atlas.about["audits"]:
        if name in asked:
            reasons += [f"{name}: {reason}" for reason in differing_options(atlas, run, name)]
        elif name != "human":
            reasons.append(f"the audit {name} was not run")
    return reasons


def _of_the_metrics(run: StoredRun, atlas: StoredRun) -> list[str]:
    """Metrics that are there already, or that nobody can measure again."""
    reasons = [f"{metric} is in the atlas already" for metric in run.metrics if metric in atlas.metrics]
    unsigned = [metric for metric in run.metrics if not run.about["metrics"][metric].get("signature")]
    reasons += [f"{metric} has no signature: nobody can tell what was measured" for metric in unsigned]
    return reasons


def _of_knowing_the_texts(run: StoredRun) -> list[str]:
    """Metrics that may have seen the embedded texts."""
    if FRESH not in run.about["audits"]:
        return [f"the audit {FRESH} was not run: nobody can tell whether it knows the embedded texts"]
    suspect = {row["metric"] for row in rows_with(checks(run), audit=FRESH) if row["verdict"] != "pass"}
    return [f"{metric} does not pass the audit {FRESH}" for metric in sorted(suspect)]
