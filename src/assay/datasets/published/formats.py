"""The table of published forms: which of them a path holds, which come near, and how it reads to people."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from assay.datasets.files import read_text
from assay.datasets.published.opened import Layout, Opened
from assay.datasets.rows import MissingColumn
from assay.errors import DataError
from assay.files import with_tuples

Gives = Literal["ratings", "preferences", "pairs", "records"]
_TABLE = tomllib.loads(files(__package__).joinpath("formats.toml").read_text("utf-8"))
AUDITS: Mapping[Gives, list[str]] = _TABLE["audits"]
_FAR = 0.5  # the share of a form's columns beyond which it is not worth naming
_OWN = {"hypothesis", "gold", "stereotype"}


@dataclass(frozen=True, slots=True)
class Fields:
    """How the columns of a form are read; formats.toml explains each."""

    hypothesis: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    doc: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    system: str = ""
    image: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    each: tuple[str, ...] = ()
    human: Mapping[str, str] = field(default_factory=dict)
    judged: Mapping[str, str] = field(default_factory=dict)
    criteria: str = ""
    numbers: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    cut: Mapping[str, str] = field(default_factory=dict)
    blank: str = ""
    lists: bool = False
    gather: bool = False
    people: str = ""
    reference: str | None = None
    texts: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    outcome: str = ""
    outcomes: Mapping[str, float] = field(default_factory=dict)
    sign: int = 0
    turns: Literal["", "last", "joined"] = ""

    @property
    def paths(self) -> list[str]:
        """Every path into a record that is named, once."""
        lists = (*self.hypothesis, *self.references, *self.source, *self.doc, *self.id)
        mappings = (*self.human.values(), *self.judged.values(), *self.meta.values())
        return list(dict.fromkeys(filter(None, (*lists, *mappings, self.system, self.image))))

    def kept(self, name: str, text: str) -> str:
        """The part of a text that counts: the first group of its pattern, where `cut` has one."""
        if name not in self.cut:
            return text
        match = re.search(self.cut[name], text)
        return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class Format:
    """One published form: how it is recognised and what becomes of it."""

    name: str
    title: str
    gives: Gives
    layout: Layout
    columns: tuple[str, ...]
    published: str
    licence: str
    also: tuple[str, ...] = ()
    under: str = ""  # the key of a JSON document that holds the entries
    fields: Fields | None = None  # how its columns are read; None where a function of its own reads it

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Format:
        """The form that an entry of formats.toml describes."""
        columns = Fields(**with_tuples(entry["fields"])) if "fields" in entry else None
        return cls(**{**with_tuples(entry), "fields": columns})

    def lacks(self, opened: Opened) -> list[str]:
        is_other = self.layout != opened.layout
        return [column for column in self.columns if is_other or not _has(self, opened, column)]


@cache
def formats() -> tuple[Format, ...]:
    """Every form, in the order of the table."""
    return tuple(map(Format.of, _TABLE["format"]))


def matching(opened: Opened, *gives: Gives) -> list[Format]:
    """The forms that a path holds: all their columns are there, and none of assay's own names for texts."""
    if opened.layout == "table" and opened.columns & _OWN:
        return []
    return [form for form in formats() if form.gives in gives and not form.lacks(opened)]


def published_form(opened: Opened, *gives: Gives) -> Format | None:
    """The form that a path holds; the one with most columns wins."""
    return max(matching(opened, *gives), key=lambda form: len(form.columns), default=None)


def nearest_forms(opened: Opened, *gives: Gives) -> str:
    """A sentence part that names the forms which share most with a path, and what they lack."""
    lacking = [(form, form.lacks(opened)) for form in formats() if form.gives in gives]
    shares = [(len(lacks) / len(form.columns), form.name, lacks) for form, lacks in lacking]
    near = sorted((share for share in shares if 0 < share[0] <= _FAR), key=lambda share: share[0])[:3]
    listed = [f"{name} (lacks {', '.join(lacks)})" for _, name, lacks in near]
    named = f"nearest published forms: {'; '.join(listed)}; " if listed else ""
    return f"{named}`assay list formats` shows all"


@contextmanager
def naming_nearest(opened: Opened, *gives: Gives) -> Iterator[None]:
    """Add the nearest published forms to an error about a missing column."""
    try:
        yield
    except MissingColumn as error:
        raise DataError(f"{error}; {nearest_forms(opened, *gives)}") from error


def _has(form: Format, opened: Opened, column: str) -> bool:
    if form.layout == "folder":
        return any(opened.path.glob(column))
    if form.layout == "matlab":
        return column in opened.matlab
    if form.layout == "lines":
        head = "\n".join(read_text(opened.path).split("\n")[:20])
        return re.search(column, head, re.MULTILINE) is not None
    return _under(opened, form.under, column) if form.under else column in opened.columns


def _under(opened: Opened, under: str, column: str) -> bool:
    """Whether the first object below a key of a JSON document has this key."""
    if opened.path.suffix != ".json" or not isinstance(opened.document, Mapping):
        return False
    value: Any = opened.document
    for key in under.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
        value = value[0] if isinstance(value, list) and value else value
    if isinstance(value, Mapping) and column not in value:  # {"1": {...}}
        value = next(iter(value.values()), None)
    return isinstance(value, Mapping) and column in value


def form_rows() -> list[dict[str, Any]]:
    """The rows of `assay list formats`."""
    return [
        {
            "name": form.name, "gives": form.gives, "licence": form.licence, "published": form.published,
            "columns": ", ".join(form.columns), "also": ", ".join(form.also),
            "audits": ", ".join(AUDITS[form.gives]), "title": form.title,
        }
        for form in formats()
    ]  # fmt: skip


def malformed(opened: Opened, *gives: Gives) -> DataError:
    """The error for a path in no known form."""
    problem = f"no {' or '.join(gives)} are recognised here; {nearest_forms(opened, *gives)}"
    folder = " is a folder; give a file, or a folder in a published form" if opened.layout == "folder" else ""
    return DataError(f"{opened.path}{folder}: {problem}")
