"""The words of the field that specs, records and reports may use."""

from __future__ import annotations

from typing import Literal, get_args

Need = Literal["references", "source", "image", "rival"]
Question = Literal["fairness", "robustness", "agreement"]
Verdict = Literal["pass", "fail", "inconclusive", "insensitive", "not judged"]
Rule = Literal["careful", "paper"]
Size = Literal["quick", "full"]
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
TASKS: tuple[Task, ...] = get_args(Task)
QUESTIONS: tuple[Question, ...] = get_args(Question)
# The words of version 0.1, in its run folders and in plug-ins written for it.
QUESTION_ALIASES: dict[str, Question] = {"fair": "fairness", "sees": "robustness", "agrees": "agreement"}
