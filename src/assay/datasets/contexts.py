"""Crossed contexts: texts with one slot, and the groups of people whose terms fill it.

Every context is filled with every term of every group, against one reference that names no group. NAME.toml
holds the groups and their terms, NAME.jsonl beside it the contexts. `assay/data/contexts` has the embedded
sets; a user's files have the same form. docs/formats.md describes it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from assay.datasets.files import read_text
from assay.datasets.lexicon import capitalised
from assay.datasets.rows import Row, every_row, read_rows
from assay.errors import DataError, suggest
from assay.files import data_path, toml_file
from assay.vocabulary import Language

_SLOT = re.compile(r"\{(term|Term)\}")
_AFTER_ARTICLE = re.compile(r"\b[Aa]n? \{")
FORMS = ("adjective", "noun", "plural", "name", "subject", "object", "possessive")


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """A group of people, and the terms by which texts name it: each a word (or two) per form."""

    name: str
    people: str
    terms: tuple[Mapping[str, str], ...]
    axes: tuple[str, ...] = ()  # of an intersection: the groups it belongs to

    def words(self, form: str) -> list[str]:
        """The terms that have this form."""
        return [term[form] for term in self.terms if form in term]


@dataclass(frozen=True, slots=True)
class Context:
    """A text with a slot, and its reference, which names no group."""

    id: str
    slot: str
    text: str
    reference: str
    form: str = ""
    stereotype_of: str | None = None  # the group that the text states a stereotype of

    def filled(self, word: str) -> str:
        """The text with a word in its slot."""
        return _SLOT.sub(lambda match: capitalised(word) if match[1] == "Term" else word, self.text)


@dataclass(frozen=True, slots=True)
class Crossing:
    """The groups of one attribute, and the contexts that each of their terms fits."""

    attribute: str
    label: str
    groups: tuple[NamedGroup, ...]
    contexts: tuple[Context, ...]
    language: str = "en"

    @property
    def is_basic(self) -> bool:
        """Whether groups are of one attribute and called what they are: no intersections, no first names."""
        has_names = any(context.slot == "name" for context in self.contexts)
        return not has_names and not any(group.axes for group in self.groups)

    def group(self, name: str) -> NamedGroup:
        """The group of that name."""
        return next(group for group in self.groups if group.name == name)


@cache
def embedded_crossings(language: Language = "en") -> tuple[Crossing, ...]:
    """The embedded sets of a language, one per attribute, in alphabetical order."""
    folder = data_path("contexts") if language == "en" else data_path("languages", language)
    paths = sorted(path for path in folder.glob("*.jsonl") if path.with_suffix(".toml").is_file())
    return tuple(map(read_crossing, paths))


@cache
def neutral_words(slot: str, n_words: int = 1, language: str = "en") -> tuple[str, ...]:
    """Words that name no group, for a slot of this form; in English, pairs of words for slots of two.

    There are none for a user's contexts in a language that has no embedded ones.
    """
    if language not in get_args(Language):
        return ()
    if language != "en":
        return tuple(toml_file(f"languages/{language}", "neutral")["neutral"].get(slot, ()))
    listed = toml_file("contexts", "neutral")["neutral"]
    return tuple(listed.get(slot if n_words == 1 else f"{slot}_two", ()))


def holds_contexts(path: Path) -> bool:
    """Whether a file holds contexts: its groups are beside it, or its first row has a slot."""
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    return path.with_suffix(".toml").is_file() or "slot" in every_row(path, 1)[0].values


def read_crossing(path: Path) -> Crossing:
    """Contexts from NAME.jsonl and their groups from NAME.toml."""
    beside = path.with_suffix(".toml")
    table = _read_groups(beside, path)
    groups = tuple(_group(entry, number, beside) for number, entry in enumerate(table["group"], start=1))
    if len(groups) < 2:
        raise DataError(f"{beside}: one group has nobody to be compared with; name at least two")
    _check_words(groups, beside)
    rows = read_rows(path)
    language = str(table.get("language", "en"))
    contexts = tuple(_context(row, groups, language) for row in rows)
    _check_ids(contexts, rows)
    attribute = str(table.get("attribute", path.stem))
    return Crossing(attribute, str(table.get("label", attribute)), groups, contexts, language)


def _read_groups(path: Path, contexts: Path) -> dict[str, Any]:
    if not path.is_file():
        raise DataError(f"{contexts}: the groups of its contexts belong in {path.name} beside it")
    try:
        table = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: {error}") from error
    groups = table.get("group")
    if not isinstance(groups, list) or not all(isinstance(entry, Mapping) for entry in groups):
        raise DataError(f"{path}: no [[group]] in it; each has `name`, `people` and `terms`")
    return table


def _group(entry: Mapping[str, Any], number: int, path: Path) -> NamedGroup:
    """One group of the file; `number` says which, where it has no name."""
    name, terms = entry.get("name"), entry.get("terms")
    if not isinstance(name, str) or not name or "/" in name:
        raise DataError(f"{path}, group {number}: 'name' must be a text without '/', not {name!r}")
    where = f"{path}, group {name!r}"
    if not isinstance(terms, list) or not terms:
        raise DataError(f"{where}: 'terms' must be a list such as [{{ adjective = \"old\" }}], not {terms!r}")
    for term in terms:
        _check_term(term, where)
    axes = entry.get("axes", [])
    if not isinstance(axes, list) or len(axes) not in (0, 2):
        raise DataError(f"{where}: 'axes' must name the two groups that it lies in, not {axes!r}")
    return NamedGroup(name, str(entry.get("people", name)), tuple(terms), tuple(map(str, axes)))


def _check_term(term: Any, where: str) -> None:
    if not isinstance(term, Mapping) or not term:
        raise DataError(f'{where}: a term says its form, as in {{ adjective = "old" }}, not {term!r}')
    for form, word in term.items():
        if form not in FORMS:
            raise DataError(
                f"{where}: unknown form {form!r}{suggest(form, FORMS)}; known: {', '.join(FORMS)}"
            )
        if not isinstance(word, str) or not word.strip():
            raise DataError(f"{where}: {form!r} must be a word, not {word!r}")


def _check_words(groups: Sequence[NamedGroup], path: Path) -> None:
    """A word that names two groups would be compared with itself."""
    named: dict[str, str] = {}
    for group in groups:
        for word in chain.from_iterable(term.values() for term in group.terms):
            other = named.setdefault(word.lower(), group.name)
            if other != group.name:
                problem = f"{word!r} also names {other!r}; keep it in one"
                raise DataError(f"{path}, group {group.name!r}: {problem}")


def _check_ids(contexts: Sequence[Context], rows: Sequence[Row]) -> None:
    """Texts of one context are taken together, so that each needs an id of its own."""
    seen: dict[str, int] = {}
    for context, row in zip(contexts, rows, strict=True):
        first = seen.setdefault(context.id, row.line)
        if first != row.line:
            raise row.fail(f"'id' {context.id!r} is that of line {first} already; give each context its own")


def _context(row: Row, groups: Sequence[NamedGroup], language: str) -> Context:
    text, reference, slot = row.text("text"), row.text("reference"), row.text("slot")
    problem = _problem_of_texts(text, reference, language) or _problem_of_slot(slot, groups)
    if problem:
        raise row.fail(problem)
    told_of = row.maybe("stereotype_of") or None
    names = [group.name for group in groups]
    if told_of not in (None, *names):
        raise row.fail(f"stereotype_of {told_of!r} is none of the groups{suggest(str(told_of), names)}")
    return Context(row.label("id") or str(row.line), slot, text, reference, row.maybe("form") or "", told_of)


def _problem_of_texts(text: str, reference: str, language: str) -> str:
    """What is wrong with the texts of a context; empty where nothing is."""
    if len(_SLOT.findall(text)) != 1:
        return "'text' must have one slot, written {term} (or {Term} at the beginning)"
    if language == "en" and _AFTER_ARTICLE.search(text):
        return "'text': the slot follows 'a' or 'an', which fits some terms only; write 'the' or 'one'"
    return "" if reference.strip() else "'reference' is empty; it says the same and names no group"


def _problem_of_slot(slot: str, groups: Sequence[NamedGroup]) -> str:
    """What is wrong with the form of a slot; empty where nothing is."""
    if slot not in FORMS:
        return f"unknown slot {slot!r}{suggest(slot, FORMS)}"
    is_shared = sum(bool(group.words(slot)) for group in groups) > 1
    return "" if is_shared else f"fewer than two groups have a term of the form {slot!r}"
