"""What a column holds, by the words of its name in several languages and by its cells."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from assay.files import toml_file
from assay.language import is_unspaced

_TABLE = toml_file("columns", "columns")
_WORDS: dict[str, list[str]] = _TABLE["words"]
_TASKS: dict[str, str] = _TABLE["tasks"]
_LONG = 6  # letters of a word that may begin or end a longer one
_MOSTLY = 0.5  # of the cells of a column are what its field holds; the others are bad rows
NO_VALUE = ("n/a", "na", "none", "null", "nan", "-", "–", "—", "?")  # what people write where nothing is
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+,(\d{1,2}|\d{4,})|0,\d{3})$")


@lru_cache(10_000)
def _words_of(name: str) -> tuple[str, ...]:
    """The words of a column's name, without capitals and accents.

    >>> _words_of("Generated Summary"), _words_of("refText"), _words_of("Bewertung_1-5")
    (('generated', 'summary'), ('ref', 'text'), ('bewertung',))
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"[^\W\d_]+", _bare(apart)))


def _bare(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.lower())
    return unicodedata.normalize("NFC", "".join(c for c in letters if not _is_accent(c)))


def _is_accent(letter: str) -> bool:
    """Whether a letter is an accent of Latin script; kana and Cyrillic letters keep theirs."""
    return "\u0300" <= letter <= "\u036f" and letter != "\u0306"


def _has(name: str, words: Iterable[str]) -> bool:
    """Whether one of these words is among those of a column's name."""
    return any(_is_in(word, name) for word in map(_bare, words))


def _is_in(word: str, name: str) -> bool:
    """Whether a word is one of a name's, begins or ends one of them, or is part of it in unspaced scripts."""
    if is_unspaced(word):
        return word in _bare(name)
    if len(word) < _LONG:
        return word in _words_of(name)
    return any(longer.startswith(word) or longer.endswith(word) for longer in _words_of(name))


@lru_cache(10_000)
def field_named(name: str) -> str | None:
    """The field that a column is, by the words of its name; None where they tell nothing.

    >>> [field_named(name) for name in ("Generated Summary", "Artikel", "score (1-5)", "summary_length")]
    ['hypothesis', 'source', 'human', None]
    """
    if set(_words_of(name)) & set(_WORDS["never"]):
        return None
    fields = (field for field in _WORDS if field != "never")
    return next((field for field in fields if _has(name, _WORDS[field])), None)


def task_named_by(names: Iterable[str]) -> str | None:
    """The task that the words of columns tell; None where they tell none."""
    told = [name for name in names if not set(_words_of(name)) & set(_WORDS["never"])]
    return next((task for word, task in _TASKS.items() if any(_has(name, [word]) for name in told)), None)


def holds(field: str, cells: Sequence[Any]) -> bool:
    """Whether the cells of a column are numbers, for ratings, or texts, for any other field.

    References may be lists.
    """
    filled = [cell for cell in cells if not is_no_value(cell)]
    if field == "human":
        fitting = sum(map(_is_number, filled))
    else:
        texts = [cell for cell in filled if isinstance(cell, str) or field == "references"]
        fitting = sum(not _is_number(text) for text in texts)
    return bool(filled) and fitting >= _MOSTLY * len(filled)


def is_no_value(cell: Any) -> bool:
    """Whether a cell says that there is nothing."""
    return cell is None or cell == [] or str(cell).strip().lower() in ("", *NO_VALUE)


def _is_number(cell: Any) -> bool:
    listed = cell if isinstance(cell, list) and cell else [cell]
    try:
        return all(number_in(member) is not None for member in listed)
    except (TypeError, ValueError):
        return False


def number_in(value: Any) -> float:
    """A number as people write it: with a decimal point, or with a decimal comma.

    A comma before three digits may part thousands, and is refused.

    >>> number_in("4,5"), number_in(" 0.25 ")
    (4.5, 0.25)
    """
    if isinstance(value, str) and _DECIMAL_COMMA.match(value.strip()):
        value = value.replace(",", ".")
    try:
        return float(value)
    except OverflowError as error:  # JSON's integers have no limit
        raise ValueError("it has too many digits") from error


def map_option(columns: Mapping[str, str]) -> str:
    """The option that names these columns, to be pasted into a shell.

    >>> map_option({"hypothesis": "my text", "human": "stars"})
    "--map 'hypothesis=my text,human=stars'"
    """
    return f"--map {shlex.quote(','.join(f'{field}={column}' for field, column in columns.items()))}"
