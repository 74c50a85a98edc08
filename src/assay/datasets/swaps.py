"""Gender swapping (assoc sec. 5.2): texts and a list of counterparts to texts about the other gender."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from assay.datasets.files import read_text
from assay.datasets.lexicon import indefinite_article, match_case
from assay.errors import DataError
from assay.files import toml_file
from assay.models.nlp import Parse, parse

Gender = Literal["male", "female"]
Content = Literal["male", "female", "both", "neutral"]
_LONGEST = 3  # tokens of an entry: all - boys
_OTHER: Mapping[Gender, Gender] = {"male": "female", "female": "male"}


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The gender of a word, its counterpart, and a word for either gender ('' where there is none)."""

    gender: Gender
    other: str
    neutral: str = ""


@dataclass(frozen=True, slots=True)
class SwapList:
    """Words to counterparts: by word and tag where the tag decides (her: his or him), else by word."""

    words: Mapping[str, Counterpart]
    tagged: Mapping[tuple[str, str], Counterpart] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # contradictory lines, and which of them was taken

    def find(self, word: str, tag: str) -> Counterpart | None:
        """The counterpart of a lower-case word under a tag."""
        return self.tagged.get((word, tag)) or self.words.get(word)

    @property
    def pattern(self) -> re.Pattern[str]:
        """Any word of the list, standing alone."""
        words = {*self.words, *(word for word, _ in self.tagged)}
        listed = "|".join(re.escape(word) for word in sorted(words))
        return re.compile(rf"(?<!\w)(?:{listed})(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Swapped:
    """A text with every gendered word swapped, and the swaps: (from, to), lower case."""

    text: str
    turned: tuple[tuple[str, str], ...]
    content: Content
    neutral: str | None  # the text without gender; None where a word has no neutral form


def swap_texts(texts: Sequence[str], swaps: SwapList) -> list[Swapped]:
    """Swap texts; only those with a word of the list are parsed."""
    pattern = swaps.pattern
    places = [place for place, text in enumerate(texts) if pattern.search(text)]
    swapped = [Swapped(text, (), "neutral", text) for text in texts]
    for place, parsed in zip(places, parse([texts[place] for place in places]), strict=True):
        swapped[place] = _swap(parsed, swaps)
    return swapped


def _swap(parsed: Parse, swaps: SwapList) -> Swapped:
    """Swap every gendered word, keeping its case; an article before it is adapted."""
    spans = list(_gendered(parsed, swaps))
    genders = {known.gender for _, _, known in spans}
    content: Content = "neutral" if not genders else "both" if len(genders) == 2 else next(iter(genders))
    turned = tuple((_surface(parsed, i, j).lower(), known.other.lower()) for i, j, known in spans)
    swapped = _rewritten(parsed, [(i, j, known.other) for i, j, known in spans])
    neutral = _rewritten(parsed, [(i, j, known.neutral) for i, j, known in spans])
    return Swapped(swapped, turned, content, neutral if all(known.neutral for *_, known in spans) else None)


def is_one_to_one(swapped: Iterable[Swapped]) -> bool:
    """Whether every swapped word has one counterpart, and no two share it (his and him share her)."""
    pairs = {pair for text in swapped for pair in text.turned}
    return len({word for word, _ in pairs}) == len(pairs) == len({other for _, other in pairs})


def _gendered(parsed: Parse, swaps: SwapList) -> Iterator[tuple[int, int, Counterpart]]:
    """(start, end, counterpart) of the words to swap, left to right; the longest match wins."""
    start = 0
    while start < len(parsed.tokens):
        for end in range(min(start + _LONGEST, len(parsed.tokens)), start, -1):
            if known := swaps.find(_surface(parsed, start, end).lower(), parsed.tokens[end - 1].tag):
                yield start, end, known
                start = end - 1
                break
        start += 1


def _surface(parsed: Parse, start: int, end: int) -> str:
    return parsed.text[parsed.tokens[start].start : parsed.tokens[end - 1].end]


def _rewritten(parsed: Parse, changes: Sequence[tuple[int, int, str]]) -> str:
    words: dict[int, str] = {}
    for start, end, word in changes:
        before = parsed.tokens[start - 1].text if start and start - 1 not in words else ""
        if before.lower() in ("a", "an"):
            words[start - 1] = match_case(indefinite_article(word), before)
        words |= dict.fromkeys(range(start, end), "")
        words[start] = match_case(word, _surface(parsed, start, end))
    return parsed.replaced(words)


@cache
def embedded_swaps() -> SwapList:
    """The embedded list, by word and Penn tag."""
    words: dict[str, Counterpart] = {}
    tagged: dict[tuple[str, str], Counterpart] = {}
    for entry in toml_file("identities", "gender_swap")["pair"]:
        for gender, other in _OTHER.items():
            if entry.get("from", gender) != gender:
                continue
            word = entry[gender].lower()
            counterpart = Counterpart(gender, entry[other], entry.get("neutral", ""))
            tagged.setdefault((word, entry["tag"]), counterpart)
            # A noun may be tagged NN or NNP, so a word counts under any tag. Pairs that swap back come first.
            words.setdefault(word, counterpart)
    return SwapList(words, tagged)


def read_swaps(path: Path) -> SwapList:
    """Read a user's list: two words per line, separated by a tab or comma.

    The published WinoBias lists have this form. The first word is taken for male unless the embedded list
    says otherwise. A line swaps both ways. A cycle of three or more words is an error. If a word has several
    counterparts, the last one counts, with a note: a published list has priest: nun, priestess.
    """
    lines = list(_lines(path))
    forward = dict(lines)
    if not forward:
        raise DataError(f"{path} has no pair of words; write two per line, separated by a tab or comma")
    _refuse_cycles(path, forward)
    words: dict[str, Counterpart] = {}
    notes = []
    for one, two in forward.items():
        gender = _gender(one, two, words)
        words[one] = Counterpart(gender, two)
        if two not in forward:
            words.setdefault(two, Counterpart(_OTHER[gender], one))
        if len(others := dict.fromkeys(other for word, other in lines if word == one)) > 1:
            notes.append(f"{path}: {one!r} has several counterparts ({', '.join(others)}): {two!r} is taken")
    known = embedded_swaps().tagged
    tagged = {key: known[key] for key in known if key[1] in ("PRP", "PRP$") and key[0] in words}
    return SwapList(words, tagged, tuple(notes))


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        cells = [cell.strip().lower() for cell in line.split("\t" if "\t" in line else ",")]
        if cells[:2] == ["male", "female"] and number == 1:
            continue  # a header
        one, two, *_ = *cells, ""
        if not one or not two or one == two:
            raise DataError(
                f"{path}, line {number}: expected two different words, separated by a tab or comma"
            )
        yield one, two


def _refuse_cycles(path: Path, forward: Mapping[str, str]) -> None:
    for first in forward:
        seen, word = [first], forward[first]
        while word in forward and word not in seen:
            seen.append(word)
            word = forward[word]
        if word == first and len(seen) > 2:
            cycle = " -> ".join([*seen, first])
            raise DataError(f"{path}: {cycle} is a cycle; a word and its counterpart must swap back")


def _gender(one: str, two: str, known: Mapping[str, Counterpart]) -> Gender:
    """The first word's gender: from the lines so far or the embedded list, else male."""
    for source in (known, embedded_swaps().words):
        if one in source:
            return source[one].gender
        if two in source:
            return _OTHER[source[two].gender]
    return "male"
