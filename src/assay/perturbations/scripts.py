"""Edits of form for texts of any language: typing errors, marks, scripts and function words.

They go by what a script has: letters and spaces, or characters alone. Words that a language confuses or
needs come from `data/languages`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised
from assay.files import toml_file
from assay.language import is_unspaced
from assay.perturbations import edit
from assay.perturbations.tables import LANGUAGES, Cut, cuts_by_table

_WORD = re.compile(r"[^\W\d_]{4,}")
_ANY_WORD = re.compile(r"[^\W\d_]+")
_KANA = re.compile(r"[\u3041-\u3096]{2,}")  # hiragana; katakana is 96 places further
_TO_KATAKANA = 0x60
_MARKS = re.compile(r"[.,;:!?](?=\s|$|[\"»”’)])|[¿¡]|[。，、；：！？]")
_SCRIPTS = toml_file("languages", "scripts")
_LOOKALIKES: dict[str, str] = dict(zip(_SCRIPTS["latin"], _SCRIPTS["cyrillic"], strict=True))
_LOOKALIKES |= {cyrillic: latin for latin, cyrillic in _LOOKALIKES.items()}
_TRADITIONAL: dict[str, str] = dict(zip(_SCRIPTS["simplified"], _SCRIPTS["traditional"], strict=True))
_FOREIGN: dict[str, str] = dict(zip(_SCRIPTS["western"], _SCRIPTS["eastern"], strict=True))
_FOREIGN |= {eastern: western for western, eastern in _FOREIGN.items()} | {"、": ",", "¿": "", "¡": ""}


@dataclass(frozen=True)
class TypingErrors(Perturbation):
    """A share of the words gets two letters swapped, one left out or one typed twice.

    In Chinese and Japanese, characters that sound or look alike are confused instead.
    """

    name = "typing-errors"
    criterion = "fluency"
    levels = (0.1, 0.3)
    for_english = False
    languages = None

    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        if is_unspaced(record.gold):
            return by_table(record, "confused_characters", self.level, rng)
        return _in_words(record.gold, _WORD, self.level, rng, lambda word: _mistyped(word, rng))


@dataclass(frozen=True)
class MissingDiacritics(Perturbation):
    """A share of the words with accents, umlauts, cedillas or voicing marks loses them."""

    name = "missing-diacritics"
    criterion = "fluency"
    levels = (0.5, 1.0)
    for_english = False
    languages = None

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        pattern = re.compile(r"\w") if is_unspaced(text) else _ANY_WORD
        return _in_words(text, pattern, self.level, rng, _without_marks)


@dataclass(frozen=True)
class ForeignPunctuation(Perturbation):
    """A share of the marks is written as another script writes them; opening ¿ and ¡ are left out."""

    name = "foreign-punctuation"
    criterion = "fluency"
    levels = (0.5, 1.0)
    for_english = False
    languages = None

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        drawn = edit.draw_share(list(_MARKS.finditer(text)), self.level, rng)
        return edit.splice(text, [(mark.start(), mark.end(), _FOREIGN[mark[0]]) for mark in drawn])


@dataclass(frozen=True)
class MixedScripts(Perturbation):
    """A share of the words gets letters of another script that look alike: Latin for Cyrillic and the
    reverse, traditional characters for simplified ones, katakana for hiragana.
    """

    name = "mixed-scripts"
    criterion = "fluency"
    levels = (0.1, 0.3)
    for_english = False
    languages = None

    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        if not is_unspaced(text):
            return _in_words(text, _WORD, self.level, rng, lambda word: _mapped(word, _LOOKALIKES))
        if _KANA.search(text):
            return _in_words(text, _KANA, self.level, rng, _in_katakana)
        return _in_words(
            text, re.compile(r"\w"), self.level, rng, lambda letter: _TRADITIONAL.get(letter, letter)
        )


@dataclass(frozen=True)
class MixedLanguages(Perturbation):
    """A share of the words that the list has is said in English."""

    name = "mixed-languages"
    criterion = "fluency"
    levels = (0.5, 1.0)
    for_english = False
    languages = LANGUAGES

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        return by_table(record, "in_english", self.level, rng)


@dataclass(frozen=True)
class FunctionWordDrop(Perturbation):
    """A share of the function words is left out: articles, prepositions, conjunctions, relative words,
    short pronouns or particles. In Chinese and Japanese, those that a sentence cannot do without.
    """

    name = "function-word-drop"
    criterion = "fluency"
    levels = (0.5, 1.0)
    for_english = False
    languages = LANGUAGES

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        return by_table(record, "function_words", self.level, rng)


@dataclass(frozen=True)
class WrongFunctionWords(Perturbation):
    """A share of the function words is one that does not fit: an article, a possessive, a pronoun, an
    auxiliary, a preposition, a particle or a measure word.
    """

    name = "wrong-function-words"
    criterion = "fluency"
    levels = (0.2, 0.5)
    for_english = False
    languages = LANGUAGES

    level: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        return by_table(record, "confused_words", self.level, rng)


def by_table(record: Record, name: str, level: float, rng: Random) -> str:
    """The text with a share of the words changed that a table of its language has."""
    return tidy(record.gold, cuts_by_table(record, name, level, rng))


def tidy(text: str, cuts: list[Cut]) -> str:
    """The text with stretches replaced; where a word is dropped, its space and its capital are put right."""
    out, at, lifted = "", 0, False
    for start, end, new in cuts:
        between = text[at:start]
        gap = " " if _would_join_words(out + between, new) else ""
        between += gap + new
        if lifted and between.strip():
            between, lifted = capitalised(between), False
        out, at = out + between, end
        if not new:
            out, at = _without_gap(out, text, end)
            lifted = lifted or (text[start].isupper() and _opens(text, start))
    return out + (capitalised(text[at:]) if lifted else text[at:])


def _would_join_words(before: str, after: str) -> bool:
    """Whether two Latin words would touch, as two neighbours in a text without spaces do."""
    return re.fullmatch(r"[A-Za-z]{2}", before[-1:] + after[:1]) is not None


def _without_gap(out: str, text: str, at: int) -> tuple[str, int]:
    """What stands before a dropped word, and where the text goes on, with one space less between them."""
    if not out or out[-1] in " \n(«„“":
        at = len(text) - len(text[at:].lstrip(" "))
    if out.endswith(" ") and text[at : at + 1] in tuple(".,;:!?…)»"):
        out = out[:-1]
    return out, at


def _opens(text: str, start: int) -> bool:
    """Whether a word begins a sentence."""
    before = text[:start].rstrip(" \"'«„“(¿¡—-")
    return not before or before[-1] in ".!?…:\n"


def _in_words(
    text: str, pattern: re.Pattern[str], level: float, rng: Random, change: Callable[[str], str]
) -> str:
    """The text with a share of the words changed that the change alters."""
    cuts = [(m.start(), m.end(), new) for m in pattern.finditer(text) if (new := change(m[0])) != m[0]]
    return edit.splice(text, edit.draw_share(cuts, level, rng))


def _mistyped(word: str, rng: Random) -> str:
    """A word with a typing error after its first letter."""
    at = rng.randrange(1, len(word) - 1)
    return rng.choice(
        [
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
        ]
    )


def _without_marks(word: str) -> str:
    """The word without accents; ё is kept, since е may be written for it."""
    letters = [letter if letter in "ёЁ" else _base(letter) for letter in word]
    return "".join(letters)


def _base(letter: str) -> str:
    return unicodedata.normalize("NFD", letter)[0]


def _mapped(word: str, letters: dict[str, str]) -> str:
    return "".join(letters.get(letter, letter) for letter in word)


def _in_katakana(word: str) -> str:
    return "".join(chr(ord(letter) + _TO_KATAKANA) for letter in word)
