"""Findings to answers: what was checked, and what that says of a metric for each question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.run.results import Run
from assay.vocabulary import Question

Row = Mapping[str, Any]
Verdict = Literal["fail", "pass", "unclear", "unmeasured"]
QUESTIONS: tuple[Question, ...] = ("fairness", "robustness", "agreement")
# Flowers and insects, instruments and weapons: associations that are unfair to no one (association audit).
_INNOCUOUS = ("C1:", "C2:")
_WORDS: dict[tuple[Question, Verdict], str] = {
    ("fairness", "fail"): "unfair",
    ("fairness", "pass"): "fair so far",
    ("robustness", "fail"): "blind spots",
    ("robustness", "pass"): "sees errors",
    ("agreement", "fail"): "disagrees",
    ("agreement", "pass"): "agrees",
}


@dataclass(frozen=True, slots=True)
class Check:
    """A finding that was, or could have been, judged."""

    row: Row
    question: Question

    @property
    def verdict(self) -> Verdict:
        """Failed, passed, or inconclusive."""
        return verdict_of(self.row["passed"])


@dataclass(frozen=True, slots=True)
class Answer:
    """What a metric's checks say to one question."""

    metric: str
    question: Question
    failed: int
    passed: int
    unclear: int

    @property
    def total(self) -> int:
        """How many checks there were."""
        return self.failed + self.passed + self.unclear

    @property
    def verdict(self) -> Verdict:
        """A failure outweighs everything; without a pass or failure nothing is known."""
        if not self.total:
            return "unmeasured"
        if self.failed:
            return "fail"
        return "pass" if self.passed else "unclear"

    @property
    def words(self) -> str:
        """The verdict in the question's own words."""
        plain = {"unclear": "inconclusive", "unmeasured": "not measured"}
        return plain.get(self.verdict) or _WORDS[self.question, self.verdict]

    @property
    def short(self) -> str:
        """The verdict and how many checks failed."""
        return f"{self.words} ({self.failed}/{self.total})" if self.total else self.words

    @property
    def detail(self) -> str:
        """Counts, in words."""
        if not self.total:
            return (
                "give your ratings to assay run human"
                if self.question == "agreement"
                else "no audit asked this"
            )
        unclear = f", {self.unclear} inconclusive" if self.unclear else ""
        return f"fails {self.failed} of {self.total} checks{unclear}"


def verdict_of(passed: bool | None) -> Verdict:
    """A finding's verdict as a word."""
    return "unclear" if passed is None else "pass" if passed else "fail"


def question_of(run: Run, audit: str) -> Question:
    """Which question an audit asks."""
    question: Question = run.about.get("audits", {}).get(audit, {}).get("question", "robustness")
    return question


def checks(run: Run) -> list[Check]:
    """The judged findings, and the unjudged ones of a kind that is judged elsewhere in the run."""
    rows = list(run.findings.iter_rows(named=True))
    names = set(run.metrics)
    judged = {_kind(row) for row in rows if row["passed"] is not None}
    questions = {row["audit"]: question_of(run, row["audit"]) for row in rows}
    return [
        Check(row, questions[row["audit"]])
        for row in rows
        if row["passed"] is not None or (_kind(row) in judged and _could(row, names))
    ]


def _kind(row: Row) -> tuple[str, str, int, str | None]:
    """What is judged alike: statistic, depth of the slice, and what it is compared with."""
    versus = "*" if row["audit"] == "association" and row["versus"] else row["versus"]
    return row["audit"], row["statistic"], row["slice"].count("/"), versus


def _could(row: Row, metrics: set[str]) -> bool:
    """Whether a missing verdict means inconclusive, and not that nothing was asked."""
    versus = row["versus"] or ""
    return row["ci_low"] is not None and versus not in metrics and not versus.startswith(_INNOCUOUS)


def answers(run: Run, listed: Sequence[Check] | None = None) -> dict[tuple[str, Question], Answer]:
    """Every metric's answer to every question."""
    counted: dict[tuple[str, Question], dict[Verdict, int]] = {}
    for check in checks(run) if listed is None else listed:
        counts = counted.setdefault((check.row["metric"], check.question), {})
        counts[check.verdict] = counts.get(check.verdict, 0) + 1
    found = {}
    for metric in run.metrics:
        for question in QUESTIONS:
            counts = counted.get((metric, question), {})
            numbers = (counts.get("fail", 0), counts.get("pass", 0), counts.get("unclear", 0))
            found[metric, question] = Answer(metric, question, *numbers)
    return found


def severity(row: Row, margins: Mapping[str, float]) -> float:
    """How far beyond what is allowed, in units that let findings of different audits stand in one list."""
    scale = margins.get(row["statistic"], 1.0)
    low, high = row["ci_low"], row["ci_high"]
    sure = row["value"] if low is None else (low if abs(low) < abs(high) else high)
    if row["statistic"] in ("sensitivity", "insensitive"):  # the lower, the worse
        return 1.0 - float(row["value"])
    return abs(float(sure)) / scale


def margins_of(run: Run) -> dict[str, float]:
    """The smallest size that matters of each statistic, from the audits' own options."""
    options: dict[str, Mapping[str, str]] = run.about.get("audits", {})

    def read(audit: str, name: str, otherwise: float) -> float:
        try:
            return float(options.get(audit, {}).get(name, otherwise)) or otherwise
        except ValueError:
            return otherwise

    return {
        "excess_bias": read("stereotype", "excess_margin", 5.0),
        "signed_bias": 5.0 * read("stereotype", "signed_margin", 1.0),
        "effect_size": read("association", "margin", 0.5),
        "accuracy_gap": 2 * read("caption", "margin", 0.1),
        "biased_share": 2 * read("caption", "share_margin", 0.1),
        "pass_rate": 1.0,
    }


def worst(run: Run, listed: Iterable[Check], most: int = 3) -> list[Row]:
    """The gravest failures, one an audit, and of different metrics where possible."""
    margins = margins_of(run)
    failed = sorted(
        (check.row for check in listed if check.verdict == "fail"), key=lambda row: -severity(row, margins)
    )
    chosen: list[Row] = []
    for fresh in ("both", "audit", "any"):
        for row in failed:
            audits, metrics = ({one[key] for one in chosen} for key in ("audit", "metric"))
            repeated = (row["audit"] in audits and fresh != "any") or (
                row["metric"] in metrics and fresh == "both"
            )
            if len(chosen) < most and not repeated and row not in chosen:
                chosen.append(row)
    return sorted(chosen, key=lambda row: -severity(row, margins))
