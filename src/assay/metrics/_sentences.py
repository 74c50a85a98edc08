"""A text to its sentences by spaCy's rules, which need no weights."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any


@cache
def _pipeline() -> Any:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10_000_000
    return pipeline


@lru_cache(maxsize=20_000)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, stripped; line ends part sentences too."""
    found = [
        span.text.strip() for line in text.splitlines() if line.strip() for span in _pipeline()(line).sents
    ]
    return tuple(sentence for sentence in found if sentence)
