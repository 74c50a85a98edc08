"""The words that specs, records and reports may use, and the ranges of the numbers in their fields."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

Need = Literal["references", "source", "image", "rival"]
Question = Literal["fairness", "robustness", "agreement"]
Verdict = Literal["pass", "fail", "inconclusive", "not covered", "not judged"]
CostClass = Literal[
    "words", "encoder", "causal"
]  # of one text: no model, one pass of an encoder, or token by token
Rule = Literal["careful", "paper"]
Size = Literal["quick", "full"]
OnError = Literal["stop", "skip"]
ReportFormat = Literal["html", "md", "json", "latex", "card", "badge", "shields"]
RunFormat = Literal["html", "md", "json", "latex"]  # what a command that runs may print
Gate = Literal["fail", "unfair", "blind", "inconclusive"]
Expectation = Literal["lower", "same"]
Paradigm = Literal[
    "n-gram", "edit", "caption", "diversity", "static-embedding", "matching", "regression", "generation",
    "likelihood", "qa", "distribution", "image-text", "judge", "hybrid", "other",
]  # fmt: skip
Task = Literal[
    "translation", "summarisation", "open-ended", "dialogue", "question-generation", "image-captioning",
    "data-to-text",
]  # fmt: skip
Criterion = Literal[
    "adequacy", "fluency", "consistency", "relevance", "answerability", "informativeness", "non-redundancy",
    "referential clarity", "focus", "structure and coherence", "making sense", "engagingness",
    "interestingness", "inquisitiveness", "listening", "avoiding repetition", "humanness", "thoroughness",
    "correctness", "data coverage", "text structure", "invariance",
]  # fmt: skip
# The criteria that an edit harms by changing what a text means; the others are about its form.
MEANING: frozenset[Criterion] = frozenset(
    {
        "adequacy", "consistency", "relevance", "answerability", "informativeness", "making sense",
        "thoroughness", "correctness", "data coverage", "listening",
    }
)  # fmt: skip
# What an edit changes: what a text means, or its form alone.
Aspect = Literal["meaning", "form"]
# The tasks whose criteria the checklist knows.
CHECKLIST_TASKS: tuple[Task, ...] = (
    "translation", "summarisation", "question-generation", "dialogue", "image-captioning", "data-to-text",
)  # fmt: skip
# What a user's data can be: the audits that take it say which (`Audit.reads`).
DataKind = Literal[
    "ratings", "records", "sources", "pairs", "captions", "association", "systems", "questions",
    "contrasts", "challenge",
]  # fmt: skip
# The languages of the embedded texts.
Language = Literal["en", "de", "es", "fr", "ja", "ru", "zh"]
# The statistic of what a metric did not score, and the share of texts that a verdict needs scores of: what a
# twentieth of them can hide is less than most intervals.
COVERAGE, COVERED = "coverage", 0.95
TASKS: tuple[Task, ...] = get_args(Task)
QUESTIONS: tuple[Question, ...] = get_args(Question)
# The words of version 0.1, in its run folders and in plug-ins written for it.
QUESTION_ALIASES: dict[str, Question] = {"fair": "fairness", "sees": "robustness", "agrees": "agreement"}


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a field may hold, both ends included: `resamples: Annotated[int, Range(40)] = 1000`.

    A whole number without a range is at least 1, any other number at least 0.
    """

    least: float
    most: float = math.inf


NonNegative = Annotated[int, Range(0)]
Share = Annotated[float, Range(0, 1)]
Layer = Annotated[int, Range(-math.inf)]  # negative: counted from the last layer


def aspect_of(criterion: str) -> Aspect:
    """Whether an edit that harms a criterion changes what a text means, or its form."""
    return "meaning" if criterion.replace("-", " ") in MEANING else "form"
