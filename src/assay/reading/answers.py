"""Judged findings to each metric's answers: slices counted once, by what their checks say together.

A slice is one question to a metric, however many statistics were judged there. An audit of robustness asks
two kinds of question. Statistics whose bad side is high or low ask whether an error is noticed: a metric that
fails is blind. Statistics that are bad far from their centre ask whether the score stays where nothing that
matters has changed: a metric that fails is over-sensitive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.core import Statistic
from assay.datasets.lexicon import toml_file
from assay.reading.results import StoredRun
from assay.reading.text import amount
from assay.reading.verdicts import Row, checks, gravest_failures, grouped
from assay.vocabulary import QUESTIONS, Question

# Beside the verdicts: "over-sensitive" and "steady" are failure and pass where the score should stay.
Outcome = Literal["pass", "fail", "over-sensitive", "steady", "inconclusive", "insensitive"]
Slice = tuple[str, str]  # audit, slice
NAMED = 3  # failed slices that a summary names
_WORDS: dict[Question, list[str]] = toml_file("report", "words")["answers"]


def asks_for_change(statistic: Statistic) -> bool:
    """Whether a statistic of robustness asks if an error is noticed, rather than if the score stays."""
    return statistic.bad in ("high", "low")


def outcome_of(judged: Sequence[Row]) -> Outcome:
    """What the judged findings of one metric on one slice say together."""
    verdicts = {row["verdict"] for row in judged}
    robustness = judged[0].info.question == "robustness"
    errors = not robustness or any(asks_for_change(row.declared) for row in judged)
    if "fail" in verdicts:
        blind = not robustness or any(_is_blind(row, errors=errors) for row in judged)
        return "fail" if blind else "over-sensitive"
    if verdicts == {"pass"}:
        return "pass" if errors else "steady"
    return "insensitive" if verdicts == {"insensitive"} else "inconclusive"


def _is_blind(row: Row, *, errors: bool) -> bool:
    """Whether a failure is that of a metric which minds too little.

    Where the slice also asks if an error is noticed, a value below the centre is too lenient (people minded
    more); elsewhere a score that moves either way is over-sensitive.
    """
    if row["verdict"] != "fail" or not errors:
        return False
    return row.declared.bad != "far" or row["value"] < row.declared.centre


def slice_outcomes(judged: Iterable[Row]) -> dict[str, dict[Slice, Outcome]]:
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
    gravest: Mapping[str, str] = field(default_factory=dict)  # what failed, gravest first, and by how much
    first: str = ""  # of these, in a word or two

    def count(self, outcome: Outcome) -> int:
        return self.counts.get(outcome, 0)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def unknown(self) -> int:
        """Slices that say nothing, for want of data or of sensitivity."""
        return self.count("inconclusive") + self.count("insensitive")

    @property
    def is_unsettled(self) -> bool:
        """Whether nothing failed, but most slices say nothing."""
        return self.verdict == "pass" and self.unknown * 2 > self.total

    @property
    def verdict(self) -> str:
        """A failure outweighs everything; a metric without a pass or a failure is unknown or insensitive."""
        if not self.total:
            return "not measured"
        if self.count("fail") or self.count("over-sensitive"):
            return "fail"
        if self.count("insensitive") * 2 > self.total:
            return "insensitive"
        return "pass" if self.count("pass") else "inconclusive"

    @property
    def words(self) -> str:
        _, _, failed, passed = _WORDS[self.question]
        if self.verdict == "fail" and not self.count("fail"):
            return "over-sensitive"
        if self.is_unsettled:
            return "mostly unknown"
        return {"fail": failed, "pass": passed, "inconclusive": "unknown"}.get(self.verdict, self.verdict)

    @property
    def subject(self) -> str:
        """Whom or what the gravest failure concerns, in a word or two; where none failed, what is known."""
        known = {"pass": "none found", "not measured": "-"}
        return self.first or ("unknown" if self.is_unsettled else known.get(self.verdict, self.words))

    @property
    def tally(self) -> str:
        """The counts alone: passed/failed/unknown(insensitive)."""
        insensitive = f"({self.count('insensitive')})" if self.count("insensitive") else ""
        return f"{self.count('pass')}/{self.count('fail')}/{self.unknown}{insensitive}" if self.total else "-"

    @property
    def detail(self) -> str:
        """How many slices came out which way, and the gravest failures of fairness by name."""
        if not self.total:
            is_agreement = self.question == "agreement"
            return "give your ratings to assay run human" if is_agreement else "no audit asked this"
        passed, failed, *_ = _WORDS[self.question]
        names = [" ".join(pair) for pair in self.gravest.items()] if self.question == "fairness" else []
        more = ", ..." if len(names) > NAMED else ""
        named = f" ({', '.join(names[:NAMED])}{more})" if names else ""
        parts = [f"{self.count('pass')} {passed}", f"{self.count('fail')} {failed}{named}"]
        if self.count("steady") or self.count("over-sensitive"):
            parts += [f"{self.count('steady')} steady", f"{self.count('over-sensitive')} over-sensitive"]
        insensitive = self.count("insensitive")
        parts.append(f"{self.unknown} unknown" + (f" ({insensitive} insensitive)" if insensitive else ""))
        return " / ".join(parts)


def answers(run: StoredRun) -> dict[tuple[str, Question], Answer]:
    """Every metric's answer to every question."""
    answered = {}
    for question in QUESTIONS:
        judged = checks(run, question)
        outcomes = slice_outcomes(judged)
        by_metric = grouped(gravest_failures(judged), lambda row: row["metric"])
        for metric in run.metrics:
            own = outcomes.get(metric, {})
            blind = [row for row in by_metric.get(metric, ()) if own[row["audit"], row["slice"]] == "fail"]
            first = _subject(blind[0]) if blind else ""
            named, counts = failed_names(blind), Counter(own.values())
            answered[metric, question] = Answer(question, counts, named, first)
    return answered


def _subject(row: Row) -> str:
    """The last part of a slice, or the audit where that is a level or the number of a test (`weat6`)."""
    last = str(row["slice"]).rpartition("/")[2]
    name = str(row["audit"]) if any(map(str.isdigit, last)) else last
    return name.replace("-", " ").replace("_", " ")


def failed_names(failed: Iterable[Row]) -> dict[str, str]:
    """What failed slices concern, gravest first, each once, and by how much: genderqueer, -10% of the gap.

    The last part of a slice of fairness is whom or what it concerns; other slices are named in full.
    """
    named: dict[str, str] = {}
    for row in gravest_failures(failed):
        subject = row["slice"]
        if row.info.question == "fairness":
            subject = subject.rpartition("/")[2].replace("-", " ").replace("_", " ")
        named.setdefault(subject, amount(row["value"], row.declared))
    return named
