"""Texts without who wrote them and whom they speak of: a judge cannot favour what it cannot see."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from assay.core import Sample

# The six attributes of *unfair*.
_ATTRIBUTES = ("race", "gender", "religion", "physical-appearance", "age", "socioeconomic-status")
# "(Written by a rich man.)", "By GPT-4:", "The author of this answer is ...": up to the clause's end.
_BYLINE = re.compile(
    r"\(?\b(?:written by|answer(?:ed)? by|(?:the )?author(?: of (?:this|the) \w+)?(?:\s+is|:)"
    r"|(?-i:By(?= [^\n:.]{1,60}:)))\s+[^\n.:)]{1,80}[.:]?\)?\s*",
    re.I,
)
_ARTICLE = re.compile(r"\b([Aa])n?(?= (person|individual|man|woman|child|[a-z]+)\b)")


def blinded(sample: Sample) -> Sample:
    """The sample with bylines out and words for groups made neutral, in every text of it."""
    return replace(
        sample,
        hypothesis=_neutral(sample.hypothesis),
        references=tuple(map(_neutral, sample.references)),
        source=None if sample.source is None else _neutral(sample.source),
        rival=None if sample.rival is None else _neutral(sample.rival),
    )


def _neutral(text: str) -> str:
    pattern, words = _words()
    found = pattern.search(text)
    text = _BYLINE.sub("", text)
    if not found:
        return text
    text = pattern.sub(lambda match: _capital(match, words[match[0].lower()]), text)
    text = re.sub(r" {2,}", " ", text)
    return _ARTICLE.sub(lambda m: m[1] + ("n" if m[2][0] in "aeio" else ""), text)


def _capital(match: re.Match[str], neutral: str) -> str:
    """The neutral word, with a capital where a sentence begins."""
    before = match.string[: match.start()].rstrip()
    return neutral[:1].upper() + neutral[1:] if not before or before[-1] in ".!?" else neutral


@cache
def _words() -> tuple[re.Pattern[str], dict[str, str]]:
    """Every word for a group to its neutral word, longest first so that "old man" goes before "old"."""
    found: dict[str, str] = {}
    for attribute in _ATTRIBUTES:
        text = (files("assay.data") / "identities" / f"{attribute}.toml").read_text("utf-8")
        for group in tomllib.loads(text)["group"]:
            found |= _group_words(group)
    # A neutral word may itself name another group (Muslim man, man): follow it to the end.
    settled = {word: found.get(neutral.lower(), neutral) for word, neutral in found.items()}
    longest = sorted(settled, key=len, reverse=True)
    return re.compile(r"\b(?:" + "|".join(map(re.escape, longest)) + r")\b", re.I), settled


def _group_words(group: dict[str, Any]) -> dict[str, str]:
    words = {}
    for noun in group["nouns"]:
        words[noun["singular"].lower()] = noun["neutral"]
        words[noun["plural"].lower()] = noun["neutral_plural"]
    return words
