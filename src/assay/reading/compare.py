"""Two runs to what became better, worse or stayed: by verdict, and by a test of the difference.

Only like is compared with like: where size, seed, limit, another option or the texts of an audit differ, its
findings are listed without a direction. Items that both runs scored are paired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np
import polars as pl

from assay.core import Statistic
from assay.errors import SpecError
from assay.reading.evidence import wanted_roles
from assay.reading.results import StoredRun, load_run
from assay.reading.text import ROUNDING
from assay.reading.verdicts import JudgedRow, beyond_bar, rows_of
from assay.statistics.estimates import benjamini_hochberg
from assay.vocabulary import COVERED, Verdict

Direction = Literal["better", "worse", "unchanged", "not compared"]
_RunOrFolder = StoredRun | Path | str  # a run, or its folder
_Key = tuple[str, str, str, str, str]  # metric, audit, slice, statistic, versus
_ALPHA = 0.05
_FEWEST = 10  # items below which intervals say too little for a test, as for a verdict
_Z = 1.959964  # half the width of a 95% interval, in standard errors
_HIGHEST = 0.99  # correlation of paired items that is believed at most, so that no error comes out as 0
# Options that choose what is asked. A verdict does not depend on what else was asked; files are compared by
# their content.
_CHOOSING = ("only", "task", "criterion", "data", "references")


@dataclass(frozen=True, slots=True)
class Change:
    """One finding in two runs."""

    key: _Key
    before: float
    after: float
    p_value: float | None
    q_value: float | None
    verdicts: tuple[Verdict, Verdict]
    direction: Direction
    is_paired: bool = False

    @property
    def document(self) -> dict[str, Any]:
        names = zip(("metric", "audit", "slice", "statistic", "versus"), self.key, strict=True)
        passed = [{"pass": True, "fail": False}.get(verdict) for verdict in self.verdicts]
        return {name: value or None for name, value in names} | {
            "before": self.before, "after": self.after, "p_value": self.p_value, "q_value": self.q_value,
            "verdict_before": self.verdicts[0], "verdict_after": self.verdicts[1],
            "passed_before": passed[0], "passed_after": passed[1], "direction": self.direction,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """All findings that two runs share, how many only one of them has, and what a reader must know."""

    shared: tuple[Change, ...]
    only_before: int
    only_after: int
    notes: tuple[str, ...] = ()
    lost: tuple[_Key, ...] = ()  # judged in the first run and gone in the second, which asks the same

    def of(self, direction: Direction) -> list[Change]:
        """Changes in one direction, largest first."""
        chosen = [change for change in self.shared if change.direction == direction]
        return sorted(chosen, key=lambda change: -abs(change.after - change.before))

    @property
    def frame(self) -> pl.DataFrame:
        return pl.DataFrame([change.document for change in self.shared], infer_schema_length=None)


def compare(
    before: _RunOrFolder, after: _RunOrFolder, renamed: Mapping[str, str] | None = None
) -> Comparison:
    """Compare findings of the same name; `renamed` maps a metric of the first run to one of the second.

    Runs are given as they are or by their folders. It is an error if they have no finding in common, or if
    one was made without something that the other had.
    """
    before, after = _loaded(before), _loaded(after)
    _refuse_other_parts(before, after)
    names = dict(renamed or {})
    old, new = _earlier_rows(before, names), {_key(row, {}): row for row in rows_of(after)}
    both = [(old[key], row, key) for key, row in new.items() if key in old]
    if not both and (old or new):
        raise SpecError(_nothing_shared(before, after))
    reasons = {audit: unlike(before, after, audit) for audit in dict.fromkeys(key[1] for _, _, key in both)}
    changes = _changes(both, reasons, _Paired(before, after, {new: old for old, new in names.items()}))
    gone = old.keys() - new.keys()
    lost = sorted(key for key in gone if _is_lost(old[key], key, after))
    notes = _notes(changes, reasons)
    return Comparison(tuple(changes), len(gone), len(new) - len(both), tuple(notes), tuple(lost))


def _loaded(run: _RunOrFolder) -> StoredRun:
    """A run as it is, or from its folder."""
    return run if isinstance(run, StoredRun) else load_run(run)


def _changes(
    findings: Sequence[tuple[Mapping[str, Any], JudgedRow, _Key]],
    reasons: Mapping[str, Sequence[str]],
    paired: _Paired,
) -> list[Change]:
    """Every finding in both runs with its direction; audits with reasons against it are not compared."""
    changes = [_compared(old, new, key, None if reasons[key[1]] else paired) for old, new, key in findings]
    q_values = benjamini_hochberg([change.p_value for change in changes])
    directed = []
    for (_, new, key), change, q_value in zip(findings, changes, q_values.tolist(), strict=True):
        if reasons[key[1]]:
            directed.append(replace(change, direction="not compared"))
        else:
            directed.append(_directed(change, q_value, new.declared))
    return directed


def _earlier_rows(before: StoredRun, names: Mapping[str, str]) -> dict[_Key, dict[str, Any]]:
    """The findings of the first run under the second one's names.

    A renamed metric takes the place of the first run's own metric of that name.
    """
    hidden = set(names.values()) - names.keys()
    earlier = before.findings.filter(~pl.col("metric").is_in(list(hidden)))
    return {_key(row, names): row for row in earlier.iter_rows(named=True)}


def _is_lost(row: Mapping[str, Any], key: _Key, after: StoredRun) -> bool:
    """Whether a finding was judged, and should be in a run that asks the same of the same metric."""
    is_judged = row["verdict"] not in ("not judged", "not covered")
    return is_judged and key[0] in after.metrics and key[1] in after.about["audits"]


def _refuse_other_parts(before: StoredRun, after: StoredRun) -> None:
    """Refuse runs of which one was made without weights or packages that the other had."""
    for audit in before.about["audits"].keys() & after.about["audits"].keys():
        absent = [set(run.about["audits"][audit].get("absent", ())) for run in (before, after)]
        if missing := ", ".join(sorted(absent[0] ^ absent[1])):
            raise SpecError(
                f"one run of {audit} was made without {missing}, and the other with it; run both where it is"
            )


def _nothing_shared(first: StoredRun, second: StoredRun) -> str:
    """What the runs do not share: an audit, a metric, or slices."""
    for kind, remedy in (("audit", "run one audit twice"), ("metric", "name a pair with -m OLD=NEW")):
        known = [sorted(set(run.findings[kind])) for run in (first, second)]
        if not set(known[0]) & set(known[1]):
            listed = " and ".join(", ".join(names) or "none" for names in known)
            return f"the runs share no {kind}: {listed}; {remedy}"
    return "the runs share no finding: other data or options; run both alike, or name metrics with -m OLD=NEW"


def _key(row: Mapping[str, Any], names: Mapping[str, str]) -> _Key:
    metric, versus = row["metric"], row["versus"] or ""
    return names.get(metric, metric), row["audit"], row["slice"], row["statistic"], names.get(versus, versus)


def unlike(before: StoredRun, after: StoredRun, audit: str) -> list[str]:
    """In what an audit differs between two runs, so that its findings cannot be compared."""
    texts = [_texts(run, audit) for run in (before, after)]
    shared = texts[0].select("slice").unique().join(texts[1].select("slice").unique(), on="slice")
    here, there = (frame.join(shared, on="slice").sort(pl.all()) for frame in texts)
    return [*differing_options(before, after, audit), *([] if here.equals(there) else ["other texts"])]


def differing_options(before: StoredRun, after: StoredRun, audit: str) -> list[str]:
    """The size and options in which an audit differs between two runs, whatever the texts."""
    sizes = [str(run.about.get("size", "full")) for run in (before, after)]
    reasons = [f"size {sizes[0]} and {sizes[1]}"] if sizes[0] != sizes[1] else []
    first, second = (run.about["audits"].get(audit, {}).get("options", {}) for run in (before, after))
    shares = [run.about.get("coverage", COVERED) for run in (before, after)]
    reasons += [f"coverage {shares[0]} and {shares[1]}"] if shares[0] != shares[1] else []
    return reasons + [
        f"{option} {first.get(option)} and {second.get(option)}"
        for option in dict.fromkeys([*first, *second])
        if option not in _CHOOSING and first.get(option) != second.get(option)
    ]


def _texts(run: StoredRun, audit: str) -> pl.DataFrame:
    """What was scored in an audit, without the cases that it made for one metric."""
    columns = ("slice", "case", "role", "hypothesis", pl.col("references").list.join("\n"), "source")
    cases = run.cases.filter(pl.col("audit") == audit).select(columns)
    # Ids of cases that an audit made in a search for one metric end in its name or in a digest of a try.
    named = [pl.col("case").str.ends_with(f"/{metric}") for metric in run.metrics]
    return cases.filter(~pl.any_horizontal([pl.col("case").str.contains("/try/", literal=True), *named]))


class _Paired:
    """How alike the items of two runs move: the correlation of their effects, by slice."""

    def __init__(self, before: StoredRun, after: StoredRun, old_names: Mapping[str, str]) -> None:
        """`old_names` maps a metric of the second run to the first run's name of it."""
        self._old_names = old_names
        self._scores = [cache(partial(_by_case, _scores_by_metric(run))) for run in (before, after)]
        slices = after.cases.select("audit", "slice", "case").unique(maintain_order=True)
        self._cases: dict[tuple[str, str], list[str]] = {}
        for audit, slice_, case in slices.iter_rows():
            self._cases.setdefault((audit, slice_), []).append(case)

        self.correlation = cache(self._correlation)  # several statistics ask of one slice

    def _correlation(self, metric: str, audit: str, slice_: str) -> float | None:
        """The lower end of the 95% interval of the correlation; None where too few items can be paired."""
        cases, names = self._of(audit, slice_), (self._old_names.get(metric, metric), metric)
        effects = [
            [_effect(scores(audit, name).get(case, {}), slice_) for case in cases]
            for scores, name in zip(self._scores, names, strict=True)
        ]
        both = [pair for pair in zip(*effects, strict=True) if None not in pair]
        if len(both) < _FEWEST:
            return None
        table = np.array(both, dtype=np.float64).T
        if (np.ptp(table, axis=1) <= ROUNDING * np.abs(table).max()).any():
            return None
        correlation = float(np.clip(np.asarray(np.corrcoef(table))[0, 1], -_HIGHEST, _HIGHEST))
        # Fisher's z: few items show little about how alike they move.
        return math.tanh(math.atanh(correlation) - _Z / math.sqrt(len(both) - 3))

    def _of(self, audit: str, slice_: str) -> list[str]:
        """The cases of a slice, or of the nearest path above it that has some: a group is among those."""
        parts = slice_.split("/")
        paths = ("/".join(parts[:size]) for size in range(len(parts), 0, -1))
        return next((self._cases[audit, path] for path in paths if (audit, path) in self._cases), [])


def _scores_by_metric(run: StoredRun) -> Mapping[tuple[Any, ...], pl.DataFrame]:
    """The scores of each audit and metric."""
    return run.scores.drop_nulls("score").partition_by("audit", "metric", as_dict=True, include_key=False)


def _by_case(
    scores: Mapping[tuple[Any, ...], pl.DataFrame], audit: str, metric: str
) -> dict[str, dict[str, float]]:
    """The scores of one metric in an audit by case and role, in the order of the roles."""
    cases: dict[str, dict[str, float]] = {}
    if (audit, metric) in scores:
        for case, role, score in scores[audit, metric].iter_rows():
            cases.setdefault(case, {})[role] = score
    return cases


def _effect(scores: Mapping[str, float], slice_: str) -> float | None:
    """What the finding is about, on one item: the mean score of the changed texts minus that of the base."""
    if len(scores) < 2:
        return None
    base, *others = wanted_roles(slice_, list(scores))
    return fmean(scores[role] for role in others) - scores[base]


def _compared(old: Mapping[str, Any], new: JudgedRow, key: _Key, paired: _Paired | None) -> Change:
    """The finding in both runs, with a test where intervals and items allow one."""
    verdicts: tuple[Verdict, Verdict] = (old["verdict"], new["verdict"])
    change = Change(key, old["value"], new["value"], None, None, verdicts, "unchanged")
    if paired is None:
        return change
    # Values that differ by no more than arithmetic does; effects are of size 1 and more.
    if abs(change.after - change.before) <= ROUNDING * max(1.0, abs(change.before), abs(change.after)):
        return replace(change, p_value=1.0)
    if any(row["ci_low"] is None or row["n"] < _FEWEST for row in (old, new)):
        return change
    first, second = ((row["ci_high"] - row["ci_low"]) / (2 * _Z) for row in (old, new))
    correlation = paired.correlation(*key[:3])
    variance = first * first + second * second - 2 * (correlation or 0.0) * first * second
    if not math.isfinite(variance) or variance <= 0:
        return change
    p_value = math.erfc(abs(new["value"] - old["value"]) / math.sqrt(2 * variance))  # of a normal's two tails
    return replace(change, p_value=p_value, is_paired=correlation is not None)


def _directed(change: Change, q_value: float, statistic: Statistic) -> Change:
    """Better or worse by a verdict that turned, or by a significant change away from or to the bad side."""
    before, after = change.verdicts
    has_turned = before != after and ("not covered" in change.verdicts or {before, after} == {"fail", "pass"})
    if has_turned:
        rise = float(after in ("fail", "not covered")) - 0.5
    elif change.p_value is not None and q_value < _ALPHA:
        first, second = (beyond_bar(value, value, statistic) for value in (change.before, change.after))
        rise = second - first
    else:
        rise = 0.0
    directions: tuple[Direction, ...] = ("unchanged", "worse", "better")
    return replace(
        change, q_value=None if change.p_value is None else q_value, direction=directions[int(np.sign(rise))]
    )


def _notes(changes: list[Change], reasons: Mapping[str, list[str]]) -> list[str]:
    notes = [
        f"{audit} is not compared: the runs differ in it ({', '.join(differences)})"
        for audit, differences in reasons.items()
        if differences
    ]
    tested = [change for change in changes if change.p_value is not None and change.before != change.after]
    unpaired = sum(not change.is_paired for change in tested)
    if unpaired:
        why = "as if the runs had other items, since their items could not be paired"
        notes.append(f"{unpaired} of {len(tested)} differences are tested {why}")
    return notes
