"""A TOML of allowed bounds to outcomes: what must hold of a run for a build to pass.

fail-on = "unfair"            # optional: fail, unfair or blind

[[bound]]                     # patterns (*) in metric, audit, slice, statistic, versus
metric = "bertscore-f"
audit = "stereotype"
slice = "gender"
statistic = "bias"
at-most = 15
by = "value"                  # value (default), or interval: the whole 95% CI must be within

[[allow]]                     # failures that are known and accepted
audit = "stress"
slice = "*/truncation"
because = "we report recall beside F"
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from assay.errors import DataError, SpecError, suggest
from assay.report.verdicts import Row, question_of
from assay.report.words import number
from assay.run.results import Run

GATES = {"fail": ("fairness", "robustness", "agreement"), "unfair": ("fairness",), "blind": ("robustness",)}
_PATTERNS = ("metric", "audit", "slice", "statistic", "versus")
_BOUND_KEYS = (*_PATTERNS, "at-most", "at-least", "by")
_ALLOW_KEYS = (*_PATTERNS, "because")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing that was required of one finding."""

    row: Row
    rule: str
    problem: str | None

    @property
    def name(self) -> str:
        """Which finding."""
        versus = f" against {self.row['versus']}" if self.row["versus"] else ""
        return f"{self.row['metric']} {self.row['slice']} {self.row['statistic']}{versus}"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a file asks for."""

    fail_on: str | None
    bounds: tuple[Mapping[str, Any], ...]
    allowed: tuple[Mapping[str, Any], ...]


def parse_bounds(text: str, path: Path) -> Bounds:
    """The text of a file of bounds, checked key by key."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"cannot read {path} as TOML: {error}") from error
    _known(given, ("fail-on", "bound", "allow"), str(path))
    for place, bound in enumerate(_tables(given, "bound", path), 1):
        _check_bound(bound, f"{path}: bound {place}")
    for place, allowed in enumerate(_tables(given, "allow", path), 1):
        _known(allowed, _ALLOW_KEYS, f"{path}: allow {place}")
    fail_on = given.get("fail-on")
    if fail_on is not None and fail_on not in GATES:
        raise SpecError(f"{path}: unknown gate {fail_on!r}{suggest(str(fail_on), GATES)}")
    return Bounds(fail_on, tuple(given.get("bound", ())), tuple(given.get("allow", ())))


def _tables(given: Mapping[str, Any], key: str, path: Path) -> list[Mapping[str, Any]]:
    tables = given.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DataError(f"{path}: {key} is no list of tables; head each one with [[{key}]]")
    return tables


def _check_bound(bound: Mapping[str, Any], where: str) -> None:
    _known(bound, _BOUND_KEYS, where)
    limits = {key: bound[key] for key in ("at-most", "at-least") if key in bound}
    if not limits:
        raise DataError(f"{where} has neither at-most nor at-least")
    for key, limit in limits.items():
        if isinstance(limit, bool) or not isinstance(limit, int | float) or math.isnan(limit):
            raise DataError(f"{where}: {key} = {limit!r} is not a number; write {key} = 0.1")
    if bound.get("by", "value") not in ("value", "interval"):
        raise DataError(f"{where}: by = {bound['by']!r} is not value or interval")


def _known(given: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in given:
        if key not in keys:
            raise DataError(f"{where}: unknown key {key!r}{suggest(key, keys)}")


def outcomes(run: Run, asked: Bounds) -> list[Outcome]:
    """Every requirement, met or not; a bound that no finding answers to, or no requirement, is a mistake."""
    rows = list(run.findings.iter_rows(named=True))
    found: list[Outcome] = []
    for place, bound in enumerate(asked.bounds, 1):
        mine = [row for row in rows if _matches(row, bound)]
        if not mine:
            raise SpecError(f"bound {place} matches no finding of this run: {_unmatched(rows, bound)}")
        found += [Outcome(row, _rule(bound), _beyond(row, bound)) for row in mine]
    watched = GATES[asked.fail_on] if asked.fail_on else ()
    for row in rows:
        if row["passed"] is not None and question_of(run, row["audit"]) in watched:
            excused = any(_matches(row, one) for one in asked.allowed)
            problem = (
                None if row["passed"] or excused else f"failed with {number(row['value'])}{_interval(row)}"
            )
            found.append(Outcome(row, f"fail-on {asked.fail_on}", problem))
    if not found:
        raise SpecError(_nothing(run, asked))
    return found


def _nothing(run: Run, asked: Bounds) -> str:
    """Why a gate has nothing to check: it would let everything pass."""
    if asked.fail_on is None:
        return f"the bounds ask for nothing; add a [[bound]], or fail-on = one of {', '.join(GATES)}"
    audits = ", ".join(sorted(set(run.findings["audit"]))) or "no audit"
    return (
        f"gate {asked.fail_on} has nothing to check: no finding of this run ({audits}) is a pass or fail "
        f"of that kind; run on more data or another audit, or give --bounds with a [[bound]]"
    )


def _unmatched(rows: Sequence[Row], bound: Mapping[str, Any]) -> str:
    """The pattern that matches nothing by itself, with what there is; else all of them."""
    given = {key: str(bound[key]) for key in _PATTERNS if key in bound}
    for key, pattern in given.items():
        if not any(_matches(row, {key: pattern}) for row in rows):
            return f"no {key} is {pattern!r}{suggest(pattern, {row[key] for row in rows if row[key]})}"
    shown = ", ".join(f"{key} {pattern!r}" for key, pattern in given.items())
    return f"each of {shown} is there, but not together; see them with assay report RUN --format md"


def _matches(row: Row, patterns: Mapping[str, Any]) -> bool:
    return all(fnmatchcase(str(row[key] or ""), str(patterns[key])) for key in _PATTERNS if key in patterns)


def _rule(bound: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {bound[key]}" for key in ("at-least", "at-most") if key in bound)


def _beyond(row: Row, bound: Mapping[str, Any]) -> str | None:
    low = high = row["value"]
    if bound.get("by") == "interval" and row["ci_low"] is not None:
        low, high = row["ci_low"], row["ci_high"]
    if "at-most" in bound and high > bound["at-most"]:
        return f"{number(high)} is above {bound['at-most']}{_interval(row)}"
    if "at-least" in bound and low < bound["at-least"]:
        return f"{number(low)} is below {bound['at-least']}{_interval(row)}"
    return None


def _interval(row: Row) -> str:
    return "" if row["ci_low"] is None else f" (95% CI {number(row['ci_low'])} to {number(row['ci_high'])})"
