"""Hide authors and words for groups in texts, so that a judge cannot favour them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from assay.core import Sample
from assay.datasets.lexicon import toml_file

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
    """Return the sample without bylines and with neutral words for groups, in all its texts."""
    return replace(
        sample,
        hypothesis=_neutral(sample.hypothesis),
        references=tuple(map(_neutral, sample.references)),
        source=None if sample.source is None else _neutral(sample.source),
        rival=None if sample.rival is None else _neutral(sample.rival),
    )


def _neutral(text: str) -> str:
    pattern, words = _words()
    has_group = pattern.search(text)
    text = _BYLINE.sub("", text)
    if not has_group:
        return text
    text = pattern.sub(lambda match: _capital(match, words[match[0].lower()]), text)
    text = re.sub(r" {2,}", " ", text)
    return _ARTICLE.sub(lambda m: m[1] + ("n" if m[2][0] in "aeio" else ""), text)


def _capital(match: re.Match[str], neutral: str) -> str:
    """Return the neutral word, with a capital where a sentence begins."""
    before = match.string[: match.start()].rstrip()
    return neutral[:1].upper() + neutral[1:] if not before or before[-1] in ".!?" else neutral


@cache
def _words() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern of all words for groups, the longest first, and their neutral words."""
    listed: dict[str, str] = {}
    for attribute in _ATTRIBUTES:
        for group in toml_file("identities", attribute)["group"]:
            for noun in group["nouns"]:
                listed[noun["singular"].lower()] = noun["neutral"]
                listed[noun["plural"].lower()] = noun["neutral_plural"]
    # A neutral word may itself name another group (Muslim man, man): take that group's neutral word.
    neutral = {word: listed.get(other.lower(), other) for word, other in listed.items()}
    longest = sorted(neutral, key=len, reverse=True)
    return re.compile(r"\b(?:" + "|".join(map(re.escape, longest)) + r")\b", re.I), neutral
