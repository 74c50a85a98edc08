"""Words that may change places with others, by language: the tables of `data/languages`, and where they
match a text.

A table has `groups` of words that take each other's place, `inflected` groups of stems with the endings
they share, `rules` of patterns and what they become, and `protected` words in which nothing is touched.
In scripts with spaces, patterns match whole words. A pattern in small letters matches capitals too, and what
it becomes is written in the same way; one with a capital (a name, a German noun) stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, get_args

from assay.core import Record
from assay.datasets.lexicon import match_case
from assay.files import toml_file
from assay.perturbations.edit import draw_share
from assay.vocabulary import Language

LANGUAGES: frozenset[str] = frozenset(get_args(Language)) - {"en"}  # those with tables
WITHOUT_SPACES = frozenset({"ja", "zh"})
Cut = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class WordTable:
    """What one edit may change in one language: patterns, each with what it may become."""

    rules: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
    protected: re.Pattern[str] | None

    def matches(self, text: str) -> list[tuple[re.Match[str], tuple[str, ...]]]:
        """The matches in their order, without those that overlap an earlier or a longer one."""
        found: list[tuple[int, int, re.Match[str] | None, tuple[str, ...]]] = []
        if self.protected:
            found += [(m.start(), -m.end(), None, ()) for m in self.protected.finditer(text)]
        for pattern, options in self.rules:
            found += [(m.start(), -m.end(), m, options) for m in pattern.finditer(text) if m.end()]
        kept, end = [], 0
        for start, minus_end, match, options in sorted(found, key=lambda row: row[:2]):
            if start >= end:
                end = -minus_end
                if match is not None:
                    kept.append((match, options))
        return kept

    def drawn(self, text: str, level: float, rng: Random) -> list[Cut]:
        """A share of the matches as cuts, each with one of its options, the same for equal words."""
        chosen: dict[str, str] = {}
        cuts = []
        for match, options in draw_share(self.matches(text), level, rng):
            fresh = [option for option in options if option not in chosen.values()]
            template = chosen.setdefault(match[0].lower(), rng.choice(fresh or options))
            cuts.append((match.start(), match.end(), in_case_of(match, match.expand(template))))
        return cuts


def in_case_of(match: re.Match[str], new: str) -> str:
    """What a match becomes, in its case unless its pattern is for capitals alone."""
    return match_case(new, match[0]) if match.re.flags & re.IGNORECASE else new


@cache
def table(language: str, edit: str) -> WordTable | None:
    """The table of an edit in a language; None where there is none."""
    if language not in LANGUAGES:
        return None
    entry = toml_file(f"languages/{language}", "words").get(edit)
    return None if entry is None else _compiled(entry, language)


def cuts_by_table(record: Record, edit: str, level: float, rng: Random) -> list[Cut]:
    """A share of what an edit may change in a record's text; empty where its language has no table for it."""
    words = table(record.language, edit)
    return words.drawn(record.gold, level, rng) if words else []


@cache
def light_words(language: str) -> frozenset[str]:
    """The words of a language that say little by themselves: function words, auxiliaries, pronouns."""
    if table(language, "function_words") is None:
        return frozenset()
    words = toml_file(f"languages/{language}", "words")
    plain = [pattern for pattern, _ in words["function_words"]["rules"] if pattern.isalpha()]
    return frozenset(plain) | frozenset(words["light"])


def content_words(text: str, language: str) -> list[tuple[int, int]]:
    """The places of content words in a script without spaces, as far as the words of the language tell."""
    light = light_words(language)
    return [match.span() for match in _content(language).finditer(text) if match[0] not in light]


@cache
def _content(language: str) -> re.Pattern[str]:
    listed = toml_file(f"languages/{language}", "words")["content"] if language in WITHOUT_SPACES else ()
    return re.compile("|".join(sorted(listed, key=len, reverse=True)) or "$^")


def _compiled(entry: Mapping[str, Any], language: str) -> WordTable:
    behind, ahead = entry.get("behind", ""), entry.get("ahead", "")
    if language not in WITHOUT_SPACES:
        behind, ahead = rf"(?<![\w’'-]){behind}", rf"{ahead}(?![\w-])"

    def pattern(fragment: str) -> re.Pattern[str]:
        case = 0 if _has_capital(fragment) else re.IGNORECASE
        return re.compile(f"{behind}(?:{fragment}){ahead}", case)

    rules = [(pattern(fragment), tuple(options)) for fragment, options in _fragments(entry)]
    words = entry.get("protected", ())
    return WordTable(tuple(rules), re.compile("|".join(words)) if words else None)


def _has_capital(fragment: str) -> bool:
    return re.search(r"(?<!\\)[A-ZÄÖÜÀ-ÝА-ЯЁ]", fragment) is not None


def _fragments(entry: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    """Each pattern of a table with what it may become, as templates for `Match.expand`."""
    for group in entry.get("groups", ()):
        for word in group:
            yield re.escape(word), [other for other in group if other != word]
    for group in entry.get("inflected", ()):
        for stem in group["stems"]:
            others = [other for other in group["stems"] if other != stem]
            yield f"{re.escape(stem)}({group['endings']})", [rf"{other}\1" for other in others]
    for fragment, new in entry.get("rules", ()):
        yield fragment, new if isinstance(new, list) else [new]
