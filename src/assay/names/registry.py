"""Names to classes: the built-ins in data/names/registry.toml, plug-ins by entry point.

`bertscore-p|r|f` stands for three names of one class, each with an output of its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import SpecError, suggest
from assay.files import toml_file
from assay.vocabulary import QUESTION_ALIASES, QUESTIONS

if TYPE_CHECKING:
    from assay.core import Audit, Perturbation

Kind = Literal["metrics", "audits", "perturbations"]


@cache
def names(kind: Kind) -> dict[str, tuple[str, str | None]]:
    """Every name of a kind: where its class is, and which output the name reads."""
    table: dict[str, tuple[str, str | None]] = {}
    for pattern, where in [*_built_in(kind), *plugged(kind).items()]:
        for name, output in _expand(pattern):
            if name in table:
                raise SpecError(f"two {kind} are called {name!r}: {table[name][0]} and {where}; rename one")
            table[name] = (where, output)
    return table


@cache
def plugged(kind: Kind) -> dict[str, str]:
    """The names that other packages add, by entry point, and where their classes are."""
    return {entry.name: entry.value for entry in entry_points(group=f"assay.{kind}")}


def _built_in(kind: Kind) -> Iterator[tuple[str, str]]:
    module = ""
    for word in toml_file("names", "registry")[kind].split():
        if word.endswith(":"):
            module = word[:-1]
            continue
        name, _, given = word.rpartition("=")
        own = "".join(part[:1].upper() + part[1:] for part in word.split("-"))
        yield name or word, f"assay.{kind}.{module}:{given if name else own}"


def _expand(pattern: str) -> list[tuple[str, str | None]]:
    """`bertscore-p|r` to (bertscore-p, p) and (bertscore-r, r)."""
    if "|" not in pattern:
        return [(pattern, None)]
    stem, _, outputs = pattern.rpartition("-")
    return [(f"{stem}-{output}", output) for output in outputs.split("|")]


def find(kind: Kind, name: str) -> tuple[type[Any], str | None]:
    """The class behind a name, and the output the name reads."""
    known = names(kind)
    if name not in known:
        question = QUESTION_ALIASES.get(name, name)
        if kind == "audits" and question in QUESTIONS:
            fitting = [audit for audit in known if audit_class(audit).question == question]
            raise SpecError(f"{name!r} is a question, not an audit; audits of it: {', '.join(fitting)}")
        raise SpecError(f"unknown {kind[:-1]} {name!r}{suggest_name(name, kind)}")
    where, output = known[name]
    return load_class(where), output


def suggest_name(wrong: str, kind: Kind) -> str:
    """What may have been meant; where nothing is near, how to see all names."""
    hint = suggest(wrong, names(kind))
    return hint if " mean " in hint else f"; assay list {kind} shows all"


@cache
def load_class(where: str) -> type[Any]:
    """`package.module:Class` to the class."""
    module, _, attribute = where.partition(":")
    return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]


def audit_class(name: str) -> type[Audit]:
    """The audit of that name."""
    return find("audits", name)[0]


def perturbation_class(name: str) -> type[Perturbation]:
    """The perturbation of that name."""
    return find("perturbations", name)[0]


def perturbation_classes() -> dict[str, type[Perturbation]]:
    """All perturbations by name, those of plug-ins last."""
    return {name: perturbation_class(name) for name in names("perturbations")}
