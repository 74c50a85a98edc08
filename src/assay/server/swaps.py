"""A sentence to the same sentence about other people: identity words replaced within an attribute."""

from __future__ import annotations

import re
from functools import cache

from assay.datasets.lexicon import indefinite_article
from assay.datasets.templates import load_lexicon

# Gender has a swapper of its own, which knows pronouns.
ATTRIBUTES = (
    "age", "disability", "nationality", "physical-appearance", "race", "religion", "sexual-orientation",
    "socioeconomic-status",
)  # fmt: skip
OTHERS = 4  # groups that replace an identity word


@cache
def _adjectives(attribute: str) -> tuple[tuple[str, str], ...]:
    """(group, identity adjective), longest first so that a phrase wins over its part."""
    groups = load_lexicon(attribute).groups
    pairs = [(name, word) for name, group in groups.items() for word in group.adjectives]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[1])))


def identity_swaps(text: str) -> list[tuple[str, str]]:
    """(what was done, the new text): the other gender, then other groups of each attribute in the text."""
    turned = _other_gender(text)
    swaps = [("other gender", turned)] if turned else []
    for attribute in ATTRIBUTES:
        words = _adjectives(attribute)
        here = next(((group, word) for group, word in words if _pattern(word).search(text)), None)
        if here:
            others = {group: word for group, word in words if group != here[0]}
            swaps += [
                (f"{attribute}: {here[1]} to {word}", _put(text, here[1], word))
                for word in list(others.values())[:OTHERS]
            ]
    return swaps


def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:(an?)(\s+))?({re.escape(word)})(?!\w)", re.IGNORECASE)


def _put(text: str, old: str, new: str) -> str:
    """Replace a word, adapting its article and its capital."""

    def written(match: re.Match[str]) -> str:
        word = new[:1].upper() + new[1:] if match[3][:1].isupper() and not old[:1].isupper() else new
        if not match[1]:
            return word
        article = indefinite_article(new)
        return (article.capitalize() if match[1][0].isupper() else article) + match[2] + word

    return _pattern(old).sub(written, text)


def _other_gender(text: str) -> str | None:
    from assay.datasets.swaps import embedded_swaps, swap_texts

    swapped = swap_texts([text], embedded_swaps())[0]
    return swapped.text if swapped.turned else None
