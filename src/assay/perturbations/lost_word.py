"""A text without one of its content words: what a lost word costs is the unit of fairness."""

from __future__ import annotations

import re

from assay.datasets.lexicon import word_set
from assay.recipe import generator

_WORD = re.compile(r"[^\W\d_]{4,}")
_AFTER_ARTICLE = re.compile(r"\b[Aa]n? $")
_NO_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")  # Chinese and Japanese are written without spaces


def without_a_word(text: str, *, keep: str = "", key: str = "") -> str | None:
    """The text without one content word; None where it has none to lose.

    The word is drawn by `key` (the text itself, unless given). It is never one of the words to `keep`, nor
    the first word, and it does not follow "a" or "an" if another will do.

    >>> without_a_word("The nurse brought us warm tea.", keep="nurse") in (
    ...     "The nurse us warm tea.", "The nurse brought us tea.")
    True
    """
    kept = set(keep.lower().split())
    stop_words = word_set("words", "stop_words")
    found = [
        match
        for match in _WORD.finditer(text)
        if match.start() > 0 and match[0].lower() not in stop_words and match[0].lower() not in kept
    ]
    if not found:
        return _without_characters(text, keep, key)
    easy = [match for match in found if not _AFTER_ARTICLE.search(text[: match.start()])]
    lost = generator(0, "lost word", key or text).choice(easy or found)
    return text[: lost.start()].rstrip(" ") + _joined(text[lost.end() :])


def _joined(rest: str) -> str:
    """What follows the gap, with one space unless a mark follows."""
    stripped = rest.lstrip(" ")
    return stripped if not stripped or stripped[0] in ".,;:!?)" else f" {stripped}"


def _without_characters(text: str, keep: str, key: str) -> str | None:
    """The text without two neighbouring characters, for scripts without spaces; None elsewhere."""
    places = [
        place
        for place in range(1, len(text) - 1)
        if _NO_SPACES.match(text[place]) and _NO_SPACES.match(text[place + 1]) and text[place] not in keep
    ]
    if not places:
        return None
    place = generator(0, "lost word", key or text).choice(places)
    return text[:place] + text[place + 2 :]
