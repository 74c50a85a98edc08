"""Judged findings to each metric's answers: how many questions it passes, fails and leaves open.

A slice of an audit is one question, however many statistics were judged there: it is failed where one of them
fails, passed where all of them pass, and unknown else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.files import toml_file
from assay.grouping import grouped
from assay.reading.results import StoredRun
from assay.reading.text import amount
from assay.reading.verdicts import JudgedRow, Slice, checks, gravest_failures
from assay.vocabulary import QUESTIONS, Question

Outcome = Literal["pass", "fail", "inconclusive"]
_NAMED = 3  # failed slices that a summary names
_WORDS: dict[Question, list[str]] = toml_file("report", "words")["answers"]


def outcome_of(judged: Sequence[JudgedRow]) -> Outcome:
    """What the judged findings of one metric on one slice say together."""
    verdicts = {row["verdict"] for row in judged}
    if "fail" in verdicts:
        return "fail"
    return "pass" if verdicts == {"pass"} else "inconclusive"


def slice_outcomes(judged: Iterable[JudgedRow]) -> dict[str, dict[Slice, Outcome]]:
    """Every metric's outcome by slice, from the checks of one or more questions."""
    outcomes: dict[str, dict[Slice, Outcome]] = {}
    groups = grouped(judged, lambda row: (row["metric"], row["audit"], row["slice"]))
    for (metric, audit, slice_), rows in groups.items():
        outcomes.setdefault(metric, {})[audit, slice_] = outcome_of(rows)
    return outcomes


@dataclass(frozen=True, slots=True)
class Answer:
    """What a metric's slices say about one question."""

    question: Question
    counts: Mapping[Outcome, int]
    failures: tuple[JudgedRow, ...] = ()  # the gravest first

    def count(self, outcome: Outcome) -> int:
        return self.counts.get(outcome, 0)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def settled(self) -> int:
        """Slices that were passed or failed."""
        return self.count("pass") + self.count("fail")

    @property
    def is_unsettled(self) -> bool:
        """Whether nothing failed, but no more than half of the slices were settled."""
        return not self.count("fail") and 2 * self.settled <= self.total

    @property
    def verdict(self) -> str:
        """A failure outweighs everything."""
        if not self.total:
            return "not measured"
        if self.count("fail"):
            return "fail"
        return "inconclusive" if self.is_unsettled else "pass"

    @property
    def words(self) -> str:
        """The verdict in words."""
        _, _, failed, passed = _WORDS[self.question]
        words = {"fail": failed, "pass": passed, "inconclusive": "mostly unknown"}
        return words.get(self.verdict, self.verdict)

    @property
    def detail(self) -> str:
        """The gravest failures by name, and how many slices were settled."""
        if not self.total:
            is_agreement = self.question == "agreement"
            return "give your ratings to assay run human" if is_agreement else "no audit asked this"
        passed, failed, *_ = _WORDS[self.question]
        counts = f"{self.count('pass')} {passed}, {self.count('fail')} {failed}"
        return f"{counts}, {self.count('inconclusive')} unknown"

    def named(self, most: int = _NAMED) -> str:
        """The gravest failures by name, each once, and how many more there are."""
        names = list(failed_names(self.failures))
        more = f" and {len(names) - most} more" if len(names) > most else ""
        return f"{', '.join(names[:most])}{more}"


def answers(run: StoredRun) -> dict[tuple[str, Question], Answer]:
    """Every metric's answer to every question."""
    answered = {}
    for question in QUESTIONS:
        judged = checks(run, question)
        outcomes = slice_outcomes(judged)
        failures = grouped(gravest_failures(judged), lambda row: row["metric"])
        for metric in run.metrics:
            counts = Counter(outcomes.get(metric, {}).values())
            answered[metric, question] = Answer(question, counts, tuple(failures.get(metric, ())))
    return answered


def failed_names(failures: Iterable[JudgedRow]) -> dict[str, str]:
    """What failed, gravest first, each once, with its size: Roma, -0.54 of a lost word."""
    names: dict[str, str] = {}
    for row in failures:
        names.setdefault(subject_of(row), amount(row["value"], row.declared))
    return names


def subject_of(row: JudgedRow) -> str:
    """Whom or what a finding is about, in a word or two: the last part of its slice, a word in quotes.

    Where that is a level or the number of a test (`weat6`), it is the audit. A group is written as its own
    words are: sikh as Sikh.
    """
    *path, last = str(row["slice"]).split("/")
    if "word" in path:
        return f"“{last}”"
    if last in row.info.subjects:
        return row.kind
    spelt = {word.lower(): word for word in str(row["named_by"] or "").split(", ")}
    name = str(row["audit"]) if any(map(str.isdigit, last)) else spelt.get(last, last)
    return name.replace("-", " ").replace("_", " ")
