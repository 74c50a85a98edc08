"""What audits declared and which of their findings were judged; which failures are gravest.

Everything here reads what a run stores: findings with verdicts and sentences, and what each audit declared in
run.json. Nothing here knows an audit or a statistic by name, so a plug-in audit is read like a built-in one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, TypeVar

from assay.core import Chart, Statistic
from assay.errors import CacheError
from assay.files import toml_file
from assay.grouping import grouped
from assay.reading.results import StoredRun
from assay.vocabulary import QUESTION_ALIASES, QUESTIONS, Question

_Element = TypeVar("_Element")
_Key = TypeVar("_Key")
Slice = tuple[str, str]  # audit, slice
# The tasks of which one good answer says little about another.
_MANY_ANSWERS = {task for task, facts in toml_file("report", "tasks").items() if "open" in facts}
QUESTION_TITLES: dict[Question, str] = toml_file("report", "words")["titles"]


@dataclass(frozen=True, slots=True)
class AuditInfo:
    """What an audit of a run declared about itself."""

    name: str
    title: str
    question: Question
    options: Mapping[str, str]
    statistics: tuple[Statistic, ...]
    charts: tuple[Chart, ...]
    advice: str
    subjects: Mapping[str, str] = field(default_factory=dict)  # the last parts of slices in words

    @property
    def headlines(self) -> list[str]:
        return list(dict.fromkeys(statistic.name for statistic in self.statistics if statistic.headline))


class JudgedRow(dict[str, Any]):
    """A finding by column, with what its audit declared."""

    def __init__(self, columns: Mapping[str, Any], info: AuditInfo) -> None:
        super().__init__(columns)
        self.info = info

    @property
    def start(self) -> str:
        """The first part of its slice: a task, a file of the user's, an attribute."""
        return str(self["slice"]).partition("/")[0]

    @property
    def last(self) -> str:
        """The last part of its slice: a kind of error, a group, a word."""
        return str(self["slice"]).rpartition("/")[2]

    @property
    def place(self) -> Slice:
        """What it is about, whatever the metric."""
        return str(self["audit"]), str(self["slice"])

    @property
    def kind(self) -> str:
        """The last part of its slice in words: the kind of error, in an audit of robustness."""
        return self.info.subjects.get(self.last, self.last.replace("-", " "))

    @cached_property
    def declared(self) -> Statistic:
        """The declaration that the finding answers to; an empty one where the run has none."""
        name = self["statistic"]
        named = (statistic for statistic in self.info.statistics if statistic.name == name)
        return next(named, Statistic(name, ""))


def rows_with(rows: Iterable[JudgedRow], **columns: object) -> list[JudgedRow]:
    """The findings that have these values: `rows_with(rows, audit="stress", verdict="fail")`."""
    return [row for row in rows if all(row[name] == value for name, value in columns.items())]


def metric_of(row: JudgedRow) -> str:
    """The metric of a finding, to group findings by."""
    return str(row["metric"])


def audits_of(run: StoredRun) -> dict[str, AuditInfo]:
    """Every audit that has findings, by question and in the order run."""
    stored = run.about.get("audits", {})
    try:
        audits = [
            _audit(name, stored.get(name, {})) for name in run.findings["audit"].unique(maintain_order=True)
        ]
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"run.json does not describe its audits as it should: {error}"
        raise CacheError(f"{problem}; run the audit again") from error
    return {audit.name: audit for audit in sorted(audits, key=lambda audit: QUESTIONS.index(audit.question))}


def _audit(name: str, stored: Mapping[str, Any]) -> AuditInfo:
    question = stored.get("question", "robustness")
    return AuditInfo(
        name,
        str(stored.get("title") or name.replace("-", " ").capitalize()),
        QUESTION_ALIASES.get(question, question if question in QUESTIONS else "robustness"),
        dict(stored.get("options", {})),
        tuple(_statistic(statistic) for statistic in stored.get("statistics", ())),
        tuple(Chart(**chart) for chart in stored.get("charts", ())),
        str(stored.get("advice", "")),
        dict(stored.get("subjects", {})),
    )


def _statistic(stored: Mapping[str, Any]) -> Statistic:
    name, meaning, unit = (str(stored.get(key, "")) for key in ("name", "meaning", "unit"))
    bar, centre = (float(stored.get(key) or 0.0) for key in ("bar", "centre"))
    return Statistic(name, meaning, unit, stored.get("bad"), bar, centre, bool(stored.get("headline")))


def rows_of(run: StoredRun) -> list[JudgedRow]:
    """The findings of a run, which remembers them: every part of a report asks."""
    if "rows" not in vars(run):
        audits = audits_of(run)
        vars(run)["rows"] = [
            JudgedRow(row, audits[row["audit"]]) for row in run.findings.iter_rows(named=True)
        ]
    return list(vars(run)["rows"])


def is_check(row: JudgedRow) -> bool:
    """Whether a finding was judged at all; an inconclusive one was."""
    return bool(row["verdict"] != "not judged")


def checks(run: StoredRun, question: Question | None = None) -> list[JudgedRow]:
    """The findings that were judged, also the inconclusive ones; of one question if given."""
    return [row for row in rows_of(run) if is_check(row) and question in (None, row.info.question)]


def severity(row: JudgedRow) -> float:
    """How far the interval lies beyond the bar on the bad side, in bars (or as it is, if the bar is 0)."""
    has_interval = row["ci_low"] is not None
    low, high = (row["ci_low"], row["ci_high"]) if has_interval else (row["value"], row["value"])
    size = beyond_bar(low, high, row.declared) / (abs(float(row.declared.bar or 0.0)) or 1.0)
    return 0.0 if math.isnan(size) else size


def beyond_bar(low: float, high: float, statistic: Statistic) -> float:
    """The distance of an interval from the bar, positive on the bad side; 0 where no side is bad."""
    bar, centre = float(statistic.bar or 0.0), statistic.centre
    if statistic.bad == "high":
        return low - bar
    if statistic.bad == "low":
        return bar - high
    return max(low - centre, centre - high) - abs(bar) if statistic.bad == "far" else 0.0


def badness(row: JudgedRow) -> float:
    """By how far the value of a finding lies on the bad side; its size where no side is bad."""
    value, statistic = row["value"], row.declared
    return value if statistic.bad is None else beyond_bar(value, value, statistic)


def gravest_failures(rows: Iterable[JudgedRow]) -> list[JudgedRow]:
    """The failures among findings, by severity."""
    return sorted(rows_with(rows, verdict="fail"), key=lambda row: -severity(row))


def worst(rows: Iterable[JudgedRow], most: int = 3) -> list[JudgedRow]:
    """The gravest failures among the rows: of different audits, metrics and defects where possible.

    Where many answers are good, the reference may be another answer than the sound text, so that an example
    shows little: findings of such a task are named only where there are too few others. No slice is named
    twice: what several metrics share is said once.
    """
    chosen: list[JudgedRow] = []
    by_task = grouped(gravest_failures(rows), lambda row: row.start in _MANY_ANSWERS)
    keys_in_turn = ("audit metric", "audit", "metric defect sentence", "defect sentence", "slice sentence")
    for is_open, keys in product((False, True), keys_in_turn):
        for row in by_task.get(is_open, ()):
            repeated = any(_aspect(row, key) == _aspect(one, key) for one in chosen for key in keys.split())
            if len(chosen) < most and not repeated and row not in chosen:
                chosen.append(row)
    return gravest_failures(chosen)


def _aspect(row: JudgedRow, key: str) -> object:
    """A column of a finding; its defect is the last part of its slice, whatever the metric and the texts."""
    return (row["audit"], row["slice"].rpartition("/")[2]) if key == "defect" else row[key]
