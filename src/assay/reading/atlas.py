"""The atlas: a run of every metric that could be run, shipped with assay; and where others stand in it.

It is stored as a run without its texts and scores, so that everything that reads runs reads the atlas too.
`bench/atlas.py` makes it, and each of its metrics can be measured again by the command stored with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import DataError, SpecError
from assay.reading.answers import Outcome, Slice, slice_outcomes
from assay.reading.compare import differing_options
from assay.reading.panel import Panel, choose_panel, error_checks
from assay.reading.ranking import Share
from assay.reading.results import CASES, FINDINGS, SCORES, TABLES, StoredRun
from assay.reading.verdicts import audits_of, checks

Outcomes = Mapping[Slice, Outcome]  # of one metric
FILES = ("findings", "profile", "cost", "examples")  # Parquet tables beside run.json
NEIGHBOURS = 3  # metrics with the most similar blind spots that are named
_FEWEST = 10  # slices that two metrics must share before their blind spots are compared
_DIGITS = 4  # of the numbers that are kept


@dataclass(frozen=True, slots=True)
class Standing:
    """How a metric came out in one audit, and which share of the atlas came out worse (ties count half)."""

    audit: str
    share: Share
    percentile: float
    metrics: int  # of the atlas that were asked the same


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a metric stands in the atlas."""

    metric: str
    standings: tuple[Standing, ...]
    neighbours: Mapping[str, Share]  # metrics of the atlas: of the errors that either misses, those both miss
    alone: tuple[Slice, ...]  # errors that it notices and no metric of the atlas does
    panel: Panel  # of the atlas together with this metric

    @property
    def joins(self) -> bool:
        """Whether the smallest fair panel of the atlas has a place for it."""
        return self.metric in self.panel.members


@cache
def load_atlas() -> StoredRun:
    """The atlas that this version of assay ships."""
    folder = files("assay.data") / "atlas"
    if not (folder / "run.json").is_file():
        raise DataError("this installation has no atlas; make atlas measures one from a checkout")
    about = json.loads((folder / "run.json").read_text("utf-8"))
    findings = atlas_table("findings").with_columns(
        passed=pl.col("verdict").replace_strict({"pass": True, "fail": False}, default=None),
        evidence=pl.lit([], dtype=pl.List(pl.String)),
    )
    columns = [pl.col(name).cast(kind) for name, kind in FINDINGS.items()]
    return StoredRun(
        findings.select(columns), pl.DataFrame(schema=CASES), pl.DataFrame(schema=SCORES), about=about
    )


def atlas_table(name: str) -> pl.DataFrame:
    """One of the tables that the atlas is stored in."""
    with as_file(files("assay.data") / "atlas" / f"{name}.parquet") as path:
        return pl.read_parquet(path)


def condensed(run: StoredRun) -> pl.DataFrame:
    """The findings that the atlas keeps: judged ones and the shares noticed, in rounded numbers."""
    judged = (pl.col("verdict") != "not judged") | (pl.col("statistic") == "noticed")
    numbers = [name for name, kind in TABLES["findings"].items() if kind == pl.Float64]
    rows = run.findings.filter(judged).drop("passed", "evidence")
    return rows.with_columns(pl.col(name).round_sig_figs(_DIGITS) for name in numbers)


def merged(runs: Sequence[StoredRun]) -> StoredRun:
    """Several runs as one; what the first says of an audit holds for all."""
    about = dict(runs[0].about)
    for key in ("metrics", "computed"):
        about[key] = {name: each for run in runs for name, each in run.about.get(key, {}).items()}
    about["audits"] = {name: each for run in reversed(runs) for name, each in run.about["audits"].items()}
    scoring = [run.about.get("seconds", {}).get("scoring", {}) for run in runs]
    about["seconds"] = {"scoring": {name: seconds for each in scoring for name, seconds in each.items()}}
    return StoredRun(
        **{name: pl.concat([getattr(run, name) for run in runs]) for name in TABLES}, about=about
    )


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
    return [
        _placed(_only(run, alike, [metric]), _only(atlas, alike, [m for m in atlas.metrics if m != metric]))
        for metric in run.metrics
    ], notes


def options_of(atlas: StoredRun) -> str:
    """The options of `assay audit` with which the metrics of the atlas were run."""
    return f"--size {atlas.about['size']} --limit {atlas.about['limit']}"


def _only(run: StoredRun, audits: Iterable[str], metrics: Iterable[str]) -> StoredRun:
    """A run reduced to some audits and metrics."""
    about = dict(run.about)
    about["audits"] = {name: about["audits"][name] for name in audits}
    about["metrics"] = {name: about["metrics"][name] for name in metrics}
    here = pl.col("audit").is_in(list(about["audits"])) & pl.col("metric").is_in(list(about["metrics"]))
    return replace(run, about=about, findings=run.findings.filter(here))


def _placed(run: StoredRun, atlas: StoredRun) -> Placement:
    (metric,) = run.metrics
    everyone = merged([atlas, run])
    outcomes = slice_outcomes(checks(everyone))
    errors = {(row["audit"], row["slice"]) for row in error_checks(everyone)}
    own = outcomes.pop(metric, {})
    noticed = {place for others in outcomes.values() for place, known in others.items() if known == "pass"}
    alone = sorted(place for place, known in own.items() if known == "pass" and place in errors - noticed)
    shared = {name: blind_together(own, others, errors) for name, others in outcomes.items()}
    near = [name for name, share in shared.items() if share.total >= _FEWEST]
    near = sorted(near, key=lambda name: -shared[name].value)[:NEIGHBOURS]
    standings = tuple(_standing(audit, own, outcomes) for audit in audits_of(run))
    return Placement(
        metric, tuple(s for s in standings if s.share.total), {name: shared[name] for name in near},
        tuple(alone), choose_panel(everyone),
    )  # fmt: skip


def _standing(audit: str, own: Outcomes, others: Mapping[str, Outcomes]) -> Standing:
    share, *shares = (
        Share.of([outcome for place, outcome in slices.items() if place[0] == audit])
        for slices in (own, *others.values())
    )
    known = [theirs for theirs in shares if theirs.total]
    worse = sum((theirs.value < share.value) + (theirs.value == share.value) / 2 for theirs in known)
    return Standing(audit, share, 100.0 * worse / len(known) if known else 0.0, len(known))


def blind_together(first: Outcomes, second: Outcomes, errors: Iterable[Slice]) -> Share:
    """Of the errors that both were asked about and either fails to notice, those that both fail to notice."""
    asked = [place for place in errors if place in first and place in second]
    missed = [[known[place] != "pass" for place in asked] for known in (first, second)]
    either = sum(a or b for a, b in zip(*missed, strict=True))
    both = sum(a and b for a, b in zip(*missed, strict=True))
    return Share(both, either - both, either)


def objections(run: StoredRun, atlas: StoredRun) -> list[str]:
    """Why a run cannot be added to the atlas: nothing, for one that was made with its options."""
    # A release ships the atlas that was made shortly before it.
    made, known = (str(each.about["assay"]).partition(".dev")[0] for each in (run, atlas))
    reasons = [] if made == known else [f"made by assay {made}, the atlas by {known}"]
    absent = [name for name in atlas.about["audits"] if name not in run.about["audits"]]
    reasons += [f"the audit {name} was not run" for name in absent]
    for name in run.about["audits"]:
        reasons += [f"{name}: {reason}" for reason in differing_options(atlas, run, name)]
    reasons += [f"{metric} is in the atlas already" for metric in run.metrics if metric in atlas.metrics]
    unsigned = [metric for metric in run.metrics if not run.about["metrics"][metric].get("signature")]
    reasons += [f"{metric} has no signature: nobody can tell what was measured" for metric in unsigned]
    if run.about.get("data"):
        reasons.append("it was made on files of your own; leave out --data")
    return reasons


def save_atlas(folder: Path, about: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
    """Write the files of an atlas."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        tables[name].write_parquet(folder / f"{name}.parquet", compression="zstd", compression_level=19)
    (folder / "run.json").write_text(json.dumps(about, indent=1, default=str) + "\n", "utf-8")
