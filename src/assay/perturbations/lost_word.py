"""A text without one of its content words: what a lost word costs is the unit of fairness."""

from __future__ import annotations

import re

from assay.files import word_set
from assay.language import is_unspaced
from assay.perturbations.tables import content_words, light_words
from assay.recipe import generator

_WORD = re.compile(r"[^\W\d_]{4,}")
_WHOLE_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]{4,}(?![\w'’-])")  # not the half of grand-mère
_AFTER_ARTICLE = re.compile(r"\b[Aa]n? $")
_NO_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")  # Chinese and Japanese are written without spaces


def without_a_word(text: str, *, keep: str = "", key: str = "", language: str = "en") -> str | None:
    """The text without one content word; None where it has none to lose.

    The word is drawn by `key` (the text itself, unless given). It is never one of the words to `keep`, nor
    the first word, and it does not follow "a" or "an" if another will do.

    >>> without_a_word("The nurse brought us warm tea.", keep="nurse") in (
    ...     "The nurse us warm tea.", "The nurse brought us tea.")
    True
    """
    if is_unspaced(text):
        return _without_characters(text, keep, key, language)
    kept = set(keep.lower().split())
    stop_words = light_words(language) or word_set("words", "stop_words")
    found = [
        match
        for match in (_WORD if language == "en" else _WHOLE_WORD).finditer(text)
        if match.start() > 0 and match[0].lower() not in stop_words and match[0].lower() not in kept
    ]
    if not found:
        return _without_characters(text, keep, key, language)
    easy = [match for match in found if not _follows_article(text, match.start())]
    lost = generator(0, "lost word", key or text).choice(easy or found)
    return text[: lost.start()].rstrip(" ") + _joined(text[lost.end() :])


def _follows_article(text: str, start: int) -> bool:
    """Whether "a" or "an" stands before a place."""
    return _AFTER_ARTICLE.search(text[max(0, start - len("-an ")) : start]) is not None


def _joined(rest: str) -> str:
    """What follows the gap, with one space unless a mark follows."""
    stripped = rest.lstrip(" ")
    return stripped if not stripped or stripped[0] in ".,;:!?)" else f" {stripped}"


def _without_characters(text: str, keep: str, key: str, language: str) -> str | None:
    """The text without a word, for scripts without spaces; None elsewhere.

    Where words end is not written: it is a word that the language's table tells, else two neighbouring
    characters that are no function words.
    """
    start = text.find(keep) if keep else -1
    kept = range(start, start + len(keep)) if start >= 0 else range(0)
    light = "".join(light_words(language))
    pairs = [(n, n + 2) for n in range(1, len(text) - 1) if _is_written(text[n : n + 2], light)]
    places = _losable(content_words(text, language), kept) or _losable(pairs, kept)
    if not places:
        return None
    first, end = generator(0, "lost word", key or text).choice(places)
    return text[:first] + text[end:]


def _losable(places: list[tuple[int, int]], kept: range) -> list[tuple[int, int]]:
    """The places that neither open the text nor overlap what is kept."""
    return [place for place in places if place[0] > 0 and not set(range(*place)).intersection(kept)]


def _is_written(pair: str, light: str) -> bool:
    """Whether both characters are of a script without spaces, and neither is a function word."""
    return all(_NO_SPACES.match(letter) and letter not in light for letter in pair)
