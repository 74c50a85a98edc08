"""Text to metrics and back: `bertscore-f:layer=5`, `cider+0.3*clipscore`, `mine.py:Class`, fields from words.

NAME[:key=value,...]     a registered metric; names match longest first, so chrf++ is one name
A+B, 0.3*A+B             a hybrid of them
PATH.py:Identifier       a class or function in a file of the user's
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from assay.core import Audit, Measure, Metric, Perturbation, SetMetric
from assay.errors import SpecError, suggest
from assay.names.plugins import as_metric_class, plugged_in, unnamed
from assay.names.registry import find, names, perturbation_class
from assay.recipe import source_digest

Specifiable = str | Metric | SetMetric | type[Metric] | type[SetMetric] | Measure | Callable[..., Any]
_WEIGHT = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\*")
# The least that a number may be, by its field, where it is not 1 for a count and 0 for a size. The
# tails of a 95% interval hold something from 40 resamples on; layers are counted from the end too.
_LEAST = dict.fromkeys(("seed", "label", "shots", "token", "gap", "word_order"), 0.0) | {
    "resamples": 40, "max_imbalance": 1, "layer": -math.inf,
}  # fmt: skip
_SHARES = ("share", "ratio", "fall", "levels")  # at most 1
_MOST = 10_000  # times that a perturbation may change one text
_FILE = re.compile(r"^(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)(?::(?P<keys>.*))?$")


def measure(thing: Specifiable) -> Measure:
    """A measure from whatever a user may hand over: a spec, a class, an instance, a function."""
    if isinstance(thing, Measure):
        return thing
    if isinstance(thing, str):
        return parse(thing)
    if isinstance(thing, Metric | SetMetric):
        return Measure(thing.name, _marked(thing), thing.outputs[-1] if thing.outputs else None)
    made = as_metric_class(thing, source_digest(thing))
    return Measure(made.name, made(), None)


def _marked(instance: Metric | SetMetric) -> Metric | SetMetric:
    """A user's own class carries its source's digest, as a file does."""
    kind = type(instance)
    if not kind.__module__.startswith("assay.") and kind.origin is None and kind.cacheable:
        as_metric_class(kind, source_digest(kind))
    return instance


def parse(text: str) -> Measure:
    """A spec to a measure; errors name the part that is wrong."""
    spec = text.strip()
    if match := _FILE.match(spec):
        kind = plugged_in(Path(match["path"]), match["name"])
        metric = build(kind, keys(match["keys"] or "", spec), spec)
        return Measure(
            spec, metric, kind.outputs[-1] if isinstance(kind.outputs, tuple) and kind.outputs else None
        )
    if spec.rstrip(":").endswith(".py"):
        raise unnamed(Path(spec.rstrip(":")))
    parts = _split(spec)
    if len(parts) == 1 and parts[0][0] is None:
        return _single(parts[0][1], spec)
    from assay.metrics.hybrid import Hybrid

    measures = tuple(_single(part, part) for _, part in parts)
    return Measure(spec, Hybrid(measures, tuple(1.0 if w is None else w for w, _ in parts)))


def _split(spec: str) -> list[tuple[float | None, str]]:
    """`0.3*a:k=v+b` to its weighted parts, names longest first."""
    known = sorted(names("metrics"), key=len, reverse=True)
    parts: list[tuple[float | None, str]] = []
    rest = spec
    while True:
        match = _WEIGHT.match(rest)
        weight, body = (float(match[1]), rest[match.end() :]) if match else (None, rest)
        name = next(
            (n for n in known if body.startswith(n) and body[len(n) : len(n) + 1] in ("", ":", "+")), None
        )
        if name is None:
            word = re.split(r"[:+]", body)[0]
            if not word:
                part = f"a part of {spec!r} is empty" if spec else "an empty metric"
                raise SpecError(f"{part}; write NAME or NAME+NAME, as assay list metrics shows them")
            raise SpecError(f"unknown metric {word!r}{suggest(word, known)}")
        end = body.find("+", len(name))
        parts.append((weight, body if end < 0 else body[:end]))
        if end < 0:
            return parts
        rest = body[end + 1 :]


def _single(part: str, label: str) -> Measure:
    name, _, tail = part.partition(":")
    given = keys(tail, part)
    if given.get("level") == "corpus" and f"{name}:level=corpus" in names("metrics"):
        del given["level"]
        name = f"{name}:level=corpus"
    kind, output = find("metrics", name)
    metric = build(kind, given, part)
    for key, value, range_ in _out_of_range(metric):
        raise SpecError(f"{key} in {part!r}: {value} is out of range; give a number, {range_}")
    return Measure(label, metric, output)


def keys(text: str, spec: str) -> dict[str, str]:
    """`layer=5,model=minilm` to a mapping."""
    given: dict[str, str] = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise SpecError(f"in {spec!r}: {pair!r} is not key=value; a spec is NAME:key=value,key=value")
        if key in given:
            raise SpecError(f"in {spec!r}: {key!r} is given twice")
        given[key.replace("-", "_")] = value
    return given


def build(kind: type[Any], given: Mapping[str, Any], spec: str) -> Any:
    """An instance of a recipe class from words (or values), each turned into its field's type."""
    known = [f.name for f in dataclasses.fields(kind) if f.init]
    hints = get_type_hints(kind)
    values = {}
    for key, value in given.items():
        if key not in known:
            raise SpecError(f"in {spec!r}: unknown key {key!r}{suggest(key, known)}")
        values[key] = convert(value, hints[key], f"{key} in {spec!r}") if isinstance(value, str) else value
    return kind(**values)


def check_numbers(made: Audit) -> None:
    """Refuse a negative seed or margin, and too small a count: one place for all audits."""
    for name, value, range_ in _out_of_range(made):
        raise SpecError(f"--{name.replace('_', '-')} {value} of {made.name}: give a number, {range_}")


def _out_of_range(made: Any) -> Iterator[tuple[str, float, str]]:
    """Fields of a recipe whose number, or one of whose numbers, cannot be meant: name, number, range.

    A plug-in knows the range of its own numbers.
    """
    if not _ours(made):
        return
    hints = get_type_hints(type(made))
    for field in dataclasses.fields(made):
        given = getattr(made, field.name)
        counts = int in (hints[field.name], *get_args(hints[field.name]))
        least = _LEAST.get(field.name, 1 if counts else 0)
        most = 1.0 if field.name in _SHARES else math.inf
        for value in given if isinstance(given, tuple) else (given,):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if number and not (least <= value <= most and abs(value) < math.inf):
                yield field.name, value, f"at least {least:g}" + (" and at most 1" if most == 1 else "")


def _ours(made: object) -> bool:
    return type(made).__module__.startswith("assay.")


def convert(text: str, hint: Any, where: str) -> Any:
    """A word to a value of the annotated type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _convert_union(text, arguments, where)
    if origin is Literal:
        return _choose(text, arguments, where)
    if origin in (tuple, Sequence):
        return tuple(convert(word, arguments[0], where) for word in text.split(";"))
    if hint is bool:
        return _choose(text.lower(), {"true": True, "false": False}, where)
    try:
        return hint(text) if hint in (int, float, str, Path) else text
    except ValueError as error:
        raise SpecError(
            f"{where}: {text!r} is not {'a whole number' if hint is int else 'a number'}"
        ) from error


def _choose(text: str, choices: Any, where: str) -> Any:
    named = {str(choice): choice for choice in choices} if not isinstance(choices, dict) else choices
    if text not in named:
        raise SpecError(f"{where}: {text!r} is not one of {', '.join(named)}")
    return named[text]


def _convert_union(text: str, arguments: tuple[Any, ...], where: str) -> Any:
    if types.NoneType in arguments and text in ("none", "None"):
        return None
    candidates = [argument for argument in arguments if argument is not types.NoneType]
    for candidate in candidates[:-1]:
        try:
            return convert(text, candidate, where)
        except SpecError:
            continue
    return convert(text, candidates[-1], where)


def perturbation(text: str) -> Perturbation:
    """`truncation:level=0.3` to a perturbation."""
    name, _, tail = text.partition(":")
    made: Perturbation = build(perturbation_class(name), keys(tail, text), text)
    _check_amounts(made, text)
    return made


def _check_amounts(made: Perturbation, spec: str) -> None:
    """The numbers of a perturbation say how much it changes: a share of a text, or a count."""
    for field in dataclasses.fields(made) if _ours(made) else ():  # type: ignore[arg-type]
        value, where = getattr(made, field.name), f"{field.name} in {spec!r}"
        if isinstance(value, bool) or value == field.default:
            continue
        if isinstance(value, float) and not 0 < value <= 1:
            raise SpecError(f"{where}: {value:g} is not a share; give more than 0 and at most 1")
        if isinstance(value, int) and not 1 <= value <= _MOST:
            raise SpecError(f"{where}: {value} is out of range; give a whole number from 1 to {_MOST}")
