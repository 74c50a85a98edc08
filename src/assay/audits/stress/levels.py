"""Which levels of which noise a corpus gets: the settings of the release of *blind*."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Literal

from assay.core import Record
from assay.models.nlp import parse
from assay.vocabulary import Rule

Level = float | int
Profile = Literal["summaries", "sentences", "paragraphs", "open-ended"]

_TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5)
_TWENTIETHS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
_HALVES = (0.5, 1.0)
# The CNNDM settings; the other corpora change some of them.
_SUMMARIES: dict[str, tuple[Level, ...]] = {
    "truncation": _TENTHS,
    "article-removal": _HALVES,
    "preposition-removal": (0.4, 0.7, 1.0),
    "stop-word-removal": (*_TENTHS, 0.6),
    "verb-lemmatisation": _HALVES,
    "token-drop": _TWENTIETHS,
    "repeated-token": _TWENTIETHS,
    "local-swap": (0.05, 0.15, 0.3, 0.6),
    "middle-swap": (1, 2, 3),
    "noised-punctuation": _HALVES,
    "sentence-switching": (1, 2),
    "sentence-replacement": (1, 2),
    "negation": _HALVES,
    "generic-named-entity": _HALVES,
    "named-entity-switching": (1, 3),
    "verb-switching": (8,),
    "noun-switching": (2, 7),
    "bert-diverge": (0.1, 0.2, 0.3, 0.4),
}
_CHANGES: dict[Profile, dict[str, tuple[Level, ...]]] = {
    "summaries": {},
    "sentences": {"middle-swap": (1,), "noun-switching": (1, 6)},
    "paragraphs": {
        "middle-swap": (1,),
        "sentence-switching": (1, 2, 3),
        "sentence-replacement": (1, 2, 3),
        "bert-diverge": (0.15, 0.3, 0.45, 0.6),
    },
    "open-ended": {
        "sentence-switching": (1, 2, 6),
        "noun-switching": (10, 60),
        "verb-switching": (10, 60),
        "named-entity-switching": (6, 15, 30),
        "sentence-replacement": (1, 2, 3, 4, 5, 6),
    },
}
# Never applied in the paper; the careful rule lets the items decide.
_NEVER: dict[Profile, tuple[str, ...]] = {
    "summaries": (),
    "sentences": ("sentence-switching", "verb-switching", "named-entity-switching", "sentence-replacement"),
    "paragraphs": ("named-entity-switching", "generic-named-entity"),
    "open-ended": ("bert-diverge",),
}
# Figure 9: how the unit of a switch matters.
UNITS: dict[str, tuple[Level, ...]] = {
    "token-switching": (1, 2, 6),
    "sub-sentence-switching": (1, 2, 6),
    "sentence-switching": (1, 2, 6),
    "sentence-switching-all": (1, 2, 6),
}


def profile_of(records: Sequence[Record]) -> Profile:
    """The corpus of the paper that this one resembles."""
    task = records[0].task
    if task == "open-ended":
        return "open-ended"
    if task == "summarisation":
        return "summaries"
    lengths = [len(parsed.sentences) for parsed in parse([record.gold for record in records])]
    return "paragraphs" if median(lengths) >= 3 else "sentences"


def levels(profile: Profile, rule: Rule) -> dict[str, tuple[Level, ...]]:
    """Noise to levels, weakest first; open-ended text has no one meaning to diverge from (app. I)."""
    whole = _SUMMARIES | _CHANGES[profile]
    left_out = _NEVER[profile] if rule == "paper" else _NEVER[profile] * (profile == "open-ended")
    return {noise: steps for noise, steps in whole.items() if noise not in left_out}
