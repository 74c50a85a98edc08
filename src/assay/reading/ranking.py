"""A run to the answer per task: which metrics notice most errors there, and which to use together.

A task is the first part of a slice: an embedded corpus or a file of the user's own, which comes first. Shares
count slices as `answers` does. Nothing is known of inconclusive and insensitive ones, and they count as not
noticed, so that noise does not help a metric. Intervals take the edits for a sample of those one could try.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import polars as pl

from assay.errors import AuditError
from assay.reading.answers import Answer, Outcome, Slice, answers, slice_outcomes
from assay.reading.panel import Panel, candidates, choose_panel, error_checks
from assay.reading.results import StoredRun
from assay.reading.text import ROUNDING, amount, interval, sentence
from assay.reading.verdicts import Row, audits_of, checks, gravest_failures, grouped, rows_of
from assay.statistics.estimates import proportion_interval
from assay.vocabulary import TASKS

EVERYTHING = "all tasks"
JUDGED = 0.5  # of the kinds of error judged of the metric with most: with fewer, a metric is not ranked
ENOUGH = 0.95  # of what all metrics notice together: a panel that reaches it needs no further member


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the slices that ask one thing came out well, and how many badly; the rest is unknown."""

    good: int
    bad: int
    total: int

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Share:
        good = outcomes.count("pass") + outcomes.count("steady")
        bad = outcomes.count("fail") + outcomes.count("over-sensitive")
        return cls(good, bad, len(outcomes))

    @property
    def value(self) -> float:
        return self.good / self.total if self.total else 0.0

    @property
    def ends(self) -> tuple[float, float]:
        interval = proportion_interval(self.good, self.total)
        return interval.pair if interval else (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Line:
    """A metric in the ranking of a task; metrics that share a rank are tied."""

    metric: str
    noticed: Share  # harmful edits that lower the score
    steady: Share  # harmless edits that leave it alone
    rank: int | None = 1  # None where too few kinds of error were judged to rank it


@dataclass(frozen=True, slots=True)
class Ranking:
    """A task, its metrics with the best first, the panel to use, why, and what no metric notices."""

    task: str
    is_own: bool
    lines: tuple[Line, ...]
    panel: str  # "bleu and chrf"; empty where none can be recommended
    reason: str  # empty where nothing was asked about errors
    unnoticed: tuple[str, ...]

    @property
    def advice(self) -> str:
        tied = sum(line.rank == 1 for line in self.lines)
        return f"use {self.panel}" if tied < 2 else f"begin with {self.panel} ({tied} metrics share rank 1)"


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a metric whatever the task."""

    fairness: Answer
    effect: str  # the gravest failure of fairness in words; without one, the largest effect of a group
    agreement: Row | None  # the correlation with people that rests on most texts
    speed: float | None  # texts per second


def profiles(run: StoredRun) -> dict[str, Profile]:
    """Every metric's fairness, agreement with people and speed."""
    answered = answers(run)
    seconds = {candidate.metric: candidate.seconds for candidate in candidates(run, [])}
    rows = grouped(rows_of(run), lambda row: (row["metric"], row.info.question))
    return {
        metric: Profile(
            answered[metric, "fairness"],
            _effect(rows.get((metric, "fairness"), [])),
            _agreement(rows.get((metric, "agreement"), [])),
            1000.0 / cost if (cost := seconds.get(metric)) else None,
        )
        for metric in run.metrics
    }


def _effect(rows: Sequence[Row]) -> str:
    failed = gravest_failures(rows)
    if failed:
        return sentence(failed[0])
    settled = [row for row in rows if row["verdict"] in ("pass", "inconclusive")]
    effects = [r for r in settled if r.declared.bad == "far" and r.declared.unit.startswith("%")]
    if not effects:
        return ""
    row = max(effects, key=lambda row: ("/" in row["slice"], abs(row["value"])))
    first, *rest = row["slice"].split("/")  # a path names a group or a word of an attribute
    group = f"{rest[-1]} ({first})" if rest else first
    size = f"largest effect: {group} {amount(row['value'], row.declared)}, {interval(row)}"
    return size if abs(row["value"]) > ROUNDING else "no group moves its mean score"


def _agreement(rows: Sequence[Row]) -> Row | None:
    alone = [row for row in rows if row["versus"] is None and row.declared.headline]
    fitting = [row for row in alone if row.declared.unit == "correlation"]
    return max(fitting, key=lambda row: row["n"], default=None)


def rankings(run: StoredRun) -> list[Ranking]:
    """One ranking per task, the user's own data first; none where no audit asked about errors."""
    judged = checks(run, "robustness")
    starts = dict.fromkeys(row["slice"].partition("/")[0] for row in judged)
    paths = [PurePath(path) for path in run.about.get("data", {})]
    files = {name for path in paths for name in (path.stem, f"{path.parent.name}-{path.stem}")}
    own = [start for start in starts if start in files]
    known = [task for task in TASKS if task in starts]
    everything = [EVERYTHING] if judged and len({*own, *known}) != 1 else []
    errors = {(row["audit"], row["slice"]) for row in error_checks(run)}
    outcomes = slice_outcomes(judged)
    return [
        Ranking(task, task in own, _ranked(run, outcomes, errors, task), *_advice(run, task))
        for task in (*own, *everything, *known)
    ]


def _ranked(
    run: StoredRun, outcomes: Mapping[str, Mapping[Slice, Outcome]], errors: set[Slice], task: str
) -> tuple[Line, ...]:
    """The best first; a metric is behind those whose whole interval lies above its own.

    Those behind equally many are tied; a rank is one more than the number of metrics of better ranks. Metrics
    without a rank come last.
    """
    lines, judged = [], {}
    for metric in (metric for metric in run.metrics if metric in outcomes):
        here = {p: o for p, o in outcomes[metric].items() if task in (EVERYTHING, p[1].partition("/")[0])}
        harmful, harmless = ([o for p, o in here.items() if (p in errors) == side] for side in (True, False))
        if here:
            lines.append(Line(metric, Share.of(harmful), Share.of(harmless)))
            judged[metric] = len(harmful) - harmful.count("inconclusive")
    fewest = JUDGED * max(judged.values(), default=0)
    ends = {line.metric: line.noticed.ends for line in lines}
    lows = [low for metric, (low, _) in ends.items() if judged[metric] >= fewest]
    above = {metric: sum(low > high for low in lows) for metric, (_, high) in ends.items()}
    above |= {metric: len(lines) for metric, count in judged.items() if count < fewest}
    lines.sort(key=lambda line: (above[line.metric], -line.noticed.value, -line.steady.value))
    ordered = [above[line.metric] for line in lines]
    ranks = [None if behind == len(lines) else 1 + ordered.index(behind) for behind in ordered]
    return tuple(replace(line, rank=rank) for line, rank in zip(lines, ranks, strict=True))


def _advice(run: StoredRun, task: str) -> tuple[str, str, tuple[str, ...]]:
    """Which metrics to use for a task, the reason, and what none of them notices."""
    fair = [name for name, audit in audits_of(run).items() if audit.question == "fairness"]
    here = pl.col("slice").str.starts_with(f"{task}/") | pl.col("audit").is_in(fair)
    try:
        panel = choose_panel(run if task == EVERYTHING else replace(run, findings=run.findings.filter(here)))
    except AuditError:
        return "", "", ()
    unnoticed = tuple(dict.fromkeys(_kind(place, task) for place in sorted(panel.unnoticed)))
    if not panel.members:
        return "", "each is unfair, or no error was shown to lower its score", unnoticed
    enough = (members for members, count in panel.curve if count >= ENOUGH * len(panel.covered))
    members = next(enough, panel.members)
    return _listed(members), _reason(panel, members), unnoticed


def _reason(panel: Panel, members: Sequence[str]) -> str:
    """What the members notice together and alone, and what is known of their fairness."""
    chosen = [candidate for candidate in panel.candidates if candidate.metric in members]
    best = max(chosen, key=lambda candidate: len(candidate.notices))
    covered = len(frozenset[Slice]().union(*(candidate.notices for candidate in chosen)))
    noticed = f"{covered} of {len(panel.spots)} kinds of error"
    several = f"together they notice {noticed}, {best.metric} alone {len(best.notices)}"
    parts = [several if len(members) > 1 else f"it notices {noticed}"]
    if len(panel.covered) > covered:
        parts[0] += f" (all metrics together {len(panel.covered)})"
    is_fair = all(candidate.fairness == "pass" for candidate in chosen)
    parts.append("no check of fairness failed" if is_fair else "fairness is not settled")
    if is_fair and (unsettled := [candidate.metric for candidate in chosen if candidate.is_unsettled]):
        parts.append(f"most are unknown for {_listed(unsettled)}" if len(chosen) > 1 else "most are unknown")
    if left_out := [candidate.metric for candidate in panel.candidates if candidate.unfair]:
        parts.append(f"left out as unfair: {_listed(left_out)}")
    return "; ".join(parts)


def _kind(place: Slice, task: str) -> str:
    """A kind of error in words: `fluency: agreement`, with its task where the ranking is of all tasks."""
    first, _, rest = place[1].replace("-", " ").partition("/")
    name = rest.replace("/", ": ")
    return f"{name} ({first})" if task == EVERYTHING else name


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
