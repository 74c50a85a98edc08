"""What must hold of a run for a build to pass: bounds from a TOML file to outcomes, outcomes to JUnit XML.

fail-on = "unfair"            # optional: fail, unfair, blind, inconclusive, or a list of them
[[bound]]                     # patterns (*) in metric, audit, slice, statistic, versus
metric = "bertscore-f"
statistic = "bias"
at-most = 15                  # or at-least
by = "value"                  # value (default), or interval: the whole 95% CI must be within
[[allow]]                     # failures that are known and accepted, by the same patterns
slice = "*/truncation"
because = "we report recall beside F"
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from assay.errors import DataError, SpecError, suggest
from assay.reading.names import shown, shown_names
from assay.reading.results import StoredRun
from assay.reading.text import interval, number
from assay.reading.verdicts import JudgedRow, is_check, rows_of
from assay.vocabulary import QUESTIONS, Gate, Question, Verdict

# The questions that a gate looks at, and the verdict that breaks it.
GATES: dict[Gate, tuple[tuple[Question, ...], Verdict]] = {
    "fail": (QUESTIONS, "fail"),
    "unfair": (("fairness",), "fail"),
    "blind": (("robustness",), "fail"),
    "inconclusive": (QUESTIONS, "inconclusive"),
}
_WORDS = {"fail": "failed", "inconclusive": "inconclusive", "not covered": "not covered"}
_PATTERNS = ("metric", "audit", "slice", "statistic", "versus")
_BOUND_KEYS = (*_PATTERNS, "at-most", "at-least", "by")
_ALLOW_KEYS = (*_PATTERNS, "because")


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """One thing that was required of one finding."""

    row: JudgedRow
    rule: str
    problem: str | None  # None where the requirement is met
    known: bool = False  # whether a baseline breaks the requirement too, so that it does not count

    @property
    def is_broken(self) -> bool:
        return self.problem is not None and not self.known

    @property
    def place(self) -> tuple[object, ...]:
        """What the requirement is about, in any run."""
        return (self.rule, self.row["audit"], *(self.row[name] for name in _PATTERNS))

    @property
    def name(self) -> str:
        versus = f" against {self.row['versus']}" if self.row["versus"] else ""
        return f"{self.row['metric']} {self.row['slice']} {self.row['statistic']}{versus}"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a file asks for."""

    fail_on: tuple[Gate, ...]
    bounds: tuple[Mapping[str, Any], ...]
    allowed: tuple[Mapping[str, Any], ...]


def parse_bounds(text: str, path: Path) -> Bounds:
    """The text of a file of bounds, checked key by key."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"cannot read {path} as TOML: {error}") from error
    _check_keys(document, ("fail-on", "bound", "allow"), str(path))
    for place, bound in enumerate(_tables(document, "bound", path), 1):
        _check_bound(bound, f"{path}: bound {place}")
    for place, allowed in enumerate(_tables(document, "allow", path), 1):
        _check_keys(allowed, _ALLOW_KEYS, f"{path}: allow {place}")
    fail_on = document.get("fail-on", [])
    gates = parse_gates(fail_on if isinstance(fail_on, list) else [fail_on], f"{path}: fail-on")
    return Bounds(gates, tuple(document.get("bound", ())), tuple(document.get("allow", ())))


def parse_gates(names: Sequence[object], where: str) -> tuple[Gate, ...]:
    """The gates of these names, in their order and each once."""
    gates: dict[object, Gate] = {gate: gate for gate in GATES}
    for name in names:
        if name not in gates:
            raise SpecError(f"{where}: unknown gate {name!r}{suggest(str(name), GATES)}")
    return tuple(dict.fromkeys(gates[name] for name in names))


def _tables(document: Mapping[str, Any], key: str, path: Path) -> list[Mapping[str, Any]]:
    tables = document.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DataError(f"{path}: {key} is not a list of tables; write [[{key}]]")
    return tables


def _check_bound(bound: Mapping[str, Any], where: str) -> None:
    _check_keys(bound, _BOUND_KEYS, where)
    limits = {key: bound[key] for key in ("at-most", "at-least") if key in bound}
    if not limits:
        raise DataError(f"{where} has neither at-most nor at-least")
    for key, limit in limits.items():
        if isinstance(limit, bool) or not isinstance(limit, int | float) or math.isnan(limit):
            raise DataError(f"{where}: {key} = {limit!r} is not a number; write {key} = 0.1")
    if bound.get("by", "value") not in ("value", "interval"):
        raise DataError(f"{where}: by = {bound['by']!r} is not value or interval")


def _check_keys(table: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise DataError(f"{where}: unknown key {key!r}{suggest(key, keys)}")


def outcomes(run: StoredRun, asked: Bounds) -> list[GateOutcome]:
    """Every requirement, met or not; a bound without a finding, or no requirement at all, is an error."""
    _refuse_incomplete(run)
    rows = _with_specs(run)
    checked: list[GateOutcome] = []
    for place, bound in enumerate(asked.bounds, 1):
        checked += _outcomes_of(bound, place, rows)
    for row in filter(is_check, rows):
        if gate := _gate(row, asked.fail_on):
            accepted = not _breaks(row, gate) or any(_matches(row, pattern) for pattern in asked.allowed)
            checked.append(GateOutcome(row, f"fail-on {gate}", None if accepted else _problem(row)))
    if not checked:
        raise SpecError(_nothing(run, asked))
    return checked


def _outcomes_of(bound: Mapping[str, Any], place: int, rows: Sequence[JudgedRow]) -> list[GateOutcome]:
    """What a bound requires of every finding that it is about."""
    matching = [row for row in rows if _matches(row, bound)]
    if not matching:
        raise SpecError(f"bound {place} matches no finding of this run: {_unmatched(rows, bound)}")
    rule = ", ".join(f"{key} {bound[key]}" for key in ("at-least", "at-most") if key in bound)
    return [GateOutcome(row, rule, _beyond(row, bound)) for row in matching]


def _refuse_incomplete(run: StoredRun) -> None:
    """Refuse a run that was made without what its questions need: another machine would find more."""
    for name, about in run.about["audits"].items():
        if about.get("absent"):
            raise SpecError(
                f"{name} was run without {', '.join(about['absent'])}: another machine would find more; "
                f"mend that and run the audit again"
            )


def _with_specs(run: StoredRun) -> list[JudgedRow]:
    """Findings under the names shown, with the specs of their metrics beside them: bounds may use either."""
    specs = {name: spec for spec, name in shown_names(run).items()}
    rows = rows_of(shown(run))
    for row in rows:
        row["specs"] = {key: specs.get(row[key], row[key]) for key in ("metric", "versus")}
    return rows


def only_new(checked: Sequence[GateOutcome], baseline: StoredRun, asked: Bounds) -> list[GateOutcome]:
    """The outcomes with those failures marked as known that the baseline has too; an accepted one is met."""
    before = {outcome.place for outcome in _earlier(baseline, asked) if outcome.problem is not None}
    known = [outcome.problem is not None and outcome.place in before for outcome in checked]
    return [replace(one, known=True) if old else one for one, old in zip(checked, known, strict=True)]


def disappeared(
    checked: Sequence[GateOutcome], run: StoredRun, baseline: StoredRun, asked: Bounds
) -> list[GateOutcome]:
    """What the baseline was judged by and this run is not, though it puts the same question to the metric."""
    places = {outcome.place[1:] for outcome in checked}
    metrics, audits = shown(run).metrics, run.about["audits"]
    return [
        replace(outcome, problem="judged in the baseline, and gone here")
        for outcome in _earlier(baseline, asked)
        if outcome.place[1:] not in places
        and outcome.row["metric"] in metrics
        and outcome.row["audit"] in audits
        and outcome.row["verdict"] != "not covered"
    ]


def _earlier(baseline: StoredRun, asked: Bounds) -> list[GateOutcome]:
    """The outcomes of a baseline; none where it has nothing that a bound or gate looks at."""
    try:
        return outcomes(baseline, asked)
    except SpecError:
        return []


def _gate(row: JudgedRow, gates: Sequence[Gate]) -> Gate | None:
    """The gate that checks a judged finding: one that it breaks, else one that it keeps.

    A gate on failures says nothing of findings that are neither pass nor failure.
    """
    watching = [gate for gate in gates if row.info.question in GATES[gate][0]]
    broken = [gate for gate in watching if _breaks(row, gate)]
    kept = [gate for gate in watching if row["verdict"] in ("pass", "fail") or GATES[gate][1] != "fail"]
    return next(iter(broken or kept), None)


def _breaks(row: JudgedRow, gate: Gate) -> bool:
    """Whether a finding has the verdict that breaks a gate; every gate is broken by what is not covered."""
    return row["verdict"] in (GATES[gate][1], "not covered")


def _problem(row: JudgedRow) -> str:
    if row["verdict"] == "not covered":
        return f"not covered: {row['sentence']}"
    return f"{_WORDS[row['verdict']]} with {number(row['value'])}{_interval(row)}"


def unchecked(run: StoredRun, asked: Bounds) -> list[str]:
    """What a gate lets through unseen, in words: verdicts that neither a gate nor a bound looks at."""
    counts = Counter[str]()
    for row in filter(is_check, _with_specs(run)):
        if not _gate(row, asked.fail_on) and not any(_matches(row, bound) for bound in asked.bounds):
            counts[row["verdict"]] += 1
    return [
        f"{counts[verdict]} {word} verdicts; --fail-on {verdict} makes them count"
        for verdict, word in _WORDS.items()
        if counts[verdict]
    ]


def _nothing(run: StoredRun, asked: Bounds) -> str:
    """Why a gate has nothing to check: it would let everything pass."""
    if not asked.fail_on:
        return f"the bounds ask for nothing; add a [[bound]], or fail-on = one of {', '.join(GATES)}"
    audits = ", ".join(sorted(set(run.findings["audit"]))) or "no audit"
    return (
        f"gate {', '.join(asked.fail_on)} has nothing to check: no finding of this run ({audits}) is a pass "
        f"or fail of that kind; run on more data or another audit, or give --bounds with a [[bound]]"
    )


def _unmatched(rows: Sequence[JudgedRow], bound: Mapping[str, Any]) -> str:
    """The pattern that matches nothing by itself, with what there is; else all of them."""
    patterns = {key: str(bound[key]) for key in _PATTERNS if key in bound}
    for key, pattern in patterns.items():
        if not any(_matches(row, {key: pattern}) for row in rows):
            return f"no {key} is {pattern!r}{suggest(pattern, {row[key] for row in rows if row[key]})}"
    shown = ", ".join(f"{key} {pattern!r}" for key, pattern in patterns.items())
    return f"each of {shown} is there, but not together; see them with assay report RUN --format md"


def _matches(row: JudgedRow, patterns: Mapping[str, Any]) -> bool:
    specs = row.get("specs", {})
    return all(
        any(fnmatchcase(str(name or ""), str(patterns[key])) for name in (row[key], specs.get(key, row[key])))
        for key in _PATTERNS
        if key in patterns
    )


def _beyond(row: JudgedRow, bound: Mapping[str, Any]) -> str | None:
    if row["verdict"] == "not covered":
        return _problem(row)
    low = high = row["value"]
    if bound.get("by") == "interval" and row["ci_low"] is not None:
        low, high = row["ci_low"], row["ci_high"]
    if "at-most" in bound and high > bound["at-most"]:
        return f"{number(high)} is above {bound['at-most']}{_interval(row)}"
    if "at-least" in bound and low < bound["at-least"]:
        return f"{number(low)} is below {bound['at-least']}{_interval(row)}"
    return None


def _interval(row: JudgedRow) -> str:
    return f" ({interval(row)})" if interval(row) else ""
