"""Text to metrics and back: `bertscore-f:layer=5`, `cider+0.3*clipscore`, `mine.py:Class`, fields from words.

NAME[:key=value,...]     a registered metric; names match longest first, so chrf++ is one name
A+B, 0.3*A+B             a hybrid of them
PATH.py:name             a class, a function or an object in a file of the user's
package.module:name      the same in a module, both with :key=value,... after them
env:PYTHON:place:name    either of them in another environment, by the path of its Python
NAME=SPEC                any of these under a name of the user's
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from assay.core import Audit, Measure, Metric, Perturbation, SetMetric
from assay.errors import SpecError, suggest
from assay.names.plugins import Place, as_metric_class, load_metric, missing_identifier
from assay.names.registry import find, names, perturbation_class, suggest_name
from assay.recipe import source_digest
from assay.vocabulary import Range

Specifiable = str | Metric | SetMetric | type[Metric] | type[SetMetric] | Measure | Callable[..., Any]
_NAMED = re.compile(r"(?P<name>[^\s:=+*/\\,][^:=+*/\\,]*)=(?P<spec>[^=].*)", re.S)
_WEIGHT = r"(\d+(?:\.\d+)?|\.\d+)\*"
_PLACE = re.compile(r"(?P<where>.+\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_][\w.]*)(?::(?P<keys>.*))?", re.S)
_ELSEWHERE = re.compile(r"env:(?P<python>[^:]+):(?P<rest>.+)", re.S)
_MOST = 10_000  # times that a perturbation may change one text


def measure(given: Specifiable) -> Measure:
    """A measure from what users pass: a spec, a class, an instance or a function."""
    if isinstance(given, Measure):
        return given
    if isinstance(given, str):
        return parse_spec(given)
    if isinstance(given, Metric | SetMetric):
        kind = type(given)
        if not _is_ours(given) and kind.origin is None and kind.cacheable:
            as_metric_class(kind, source_digest(kind))  # its source's digest, as for a class in a file
        return Measure(given.name, given, _default_output(given))
    kind = as_metric_class(given, source_digest(given))
    return Measure(kind.name, kind(), None)


def _default_output(metric: Metric | SetMetric) -> str | None:
    """The output that is read where none is named: what the metric's own name stands for, else the last."""
    if not metric.outputs or metric.name in names("metrics"):
        return None
    return metric.outputs[-1]


def parse_spec(text: str) -> Measure:
    """A spec to a measure; errors name the part that is wrong."""
    spec = text.strip()
    if match := _NAMED.fullmatch(spec):
        given = parse_spec(match["spec"])
        return dataclasses.replace(given, label=match["name"].strip(), spec=given.spec or given.label)
    if spec.startswith("env:"):
        return _placed(_place_elsewhere(spec), spec)
    if (match := _PLACE.fullmatch(spec)) and match["where"] not in names("metrics"):
        return _placed(_place(match, spec), spec)
    if spec.endswith("=") and ":" not in spec:
        raise SpecError(f"{spec!r} names no metric: write NAME=SPEC, such as {spec}bleu")
    if spec.rstrip(":").endswith(".py"):
        raise missing_identifier(Path(spec.rstrip(":")))
    return _sum(re.sub(r"\s*([*+])\s*", r"\1", spec))


def _sum(spec: str) -> Measure:
    """One registered metric, or the weighted sum of several."""
    parts = _split(spec)
    if len(parts) == 1 and parts[0][0] is None:
        return _parse_part(spec)
    from assay.metrics.hybrid import Hybrid

    weights = tuple(1.0 if weight is None else weight for weight, _ in parts)
    return Measure(spec, Hybrid(tuple(_parse_part(part) for _, part in parts), weights))


def _place(match: re.Match[str], spec: str) -> Place:
    return Place(match["where"], match["name"], tuple(keys(match["keys"] or "", spec).items()))


def _place_elsewhere(spec: str) -> Place:
    """The place after `env:` and the path of a Python."""
    match = _ELSEWHERE.fullmatch(spec)
    inner = match and _PLACE.fullmatch(match["rest"])
    if not match or not inner:
        raise SpecError(
            f"{spec!r} names no object: write env:VENV/bin/python:module:object, or env:...:FILE.py:object"
        )
    return _place(inner, spec)._replace(python=match["python"])


def _placed(place: Place, spec: str) -> Measure:
    """A metric of a user's file, or of any module."""
    made = load_metric(place)
    metric: Any = build(made, dict(place.words), spec) if isinstance(made, type) else made
    return Measure(spec, metric, _default_output(metric))


def _split(spec: str) -> list[tuple[float | None, str]]:
    """`0.3*a:k=v+b` to its weighted parts, names longest first."""
    known = "|".join(map(re.escape, sorted(names("metrics"), key=len, reverse=True)))
    # A name ends where the spec ends, its options begin or a plus stands.
    pattern = re.compile(rf"(?:{_WEIGHT})?(?P<part>(?:{known})(?=[:+]|$)[^+]*)(?P<plus>\+?)")
    parts: list[tuple[float | None, str]] = []
    at = 0
    while True:
        match = pattern.match(spec, at) or _refuse(spec[at:], spec)
        parts.append((float(match[1]) if match[1] else None, match["part"]))
        if not match["plus"]:
            return parts
        at = match.end()


def _refuse(body: str, spec: str) -> NoReturn:
    """Say what is wrong with a part that begins with no metric's name."""
    word = re.split(r"[:+]", re.sub(rf"^{_WEIGHT}", "", body))[0]
    if not word:
        part = f"a part of {spec!r} is empty" if spec else "an empty metric"
        raise SpecError(f"{part}; write NAME or NAME+NAME, as assay list metrics shows them")
    several = [part.strip() for part in word.split(",")]
    if len(several) > 1 and set(several) <= set(names("metrics")):
        each = " ".join(f"-m {name}" for name in several)
        raise SpecError(f"{word!r} names several metrics: give them one by one, {each}")
    raise SpecError(f"unknown metric {word!r}{suggest_name(word, 'metrics')}")


def _parse_part(part: str) -> Measure:
    name, _, tail = part.partition(":")
    given = keys(tail, part)
    if given.get("level") == "corpus" and f"{name}:level=corpus" in names("metrics"):
        del given["level"]
        name = f"{name}:level=corpus"
    kind, output = find("metrics", name)
    metric = build(kind, given, part)
    for key, value, limits in _numbers_out_of_range(metric):
        raise SpecError(f"{key} in {part!r}: {value} is out of range; give a number, {limits}")
    return Measure(part, metric, output)


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


def check_numbers(audit: Audit) -> None:
    """Refuse options whose number is out of its field's range, such as a negative margin."""
    for name, value, limits in _numbers_out_of_range(audit):
        raise SpecError(f"--{name.replace('_', '-')} {value} of {audit.name}: give a number, {limits}")


def _numbers_out_of_range(recipe: Any) -> Iterator[tuple[str, float, str]]:
    """Field, number and range in words, for each number outside; a plug-in checks its own numbers."""
    if not _is_ours(recipe):
        return
    hints = get_type_hints(type(recipe), include_extras=True)
    for field in dataclasses.fields(recipe):
        given, limits = getattr(recipe, field.name), range_of(hints[field.name])
        for value in given if isinstance(given, tuple) else (given,):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and not (limits.least <= value <= limits.most and abs(value) < math.inf):
                top = f" and at most {limits.most:g}" if limits.most < math.inf else ""
                yield field.name, value, f"at least {limits.least:g}{top}"


def range_of(hint: Any) -> Range:
    """The range in a field's annotation; without one, whole numbers are from 1 and others from 0."""
    arguments = get_args(hint)
    for argument in arguments:
        if isinstance(argument, Range):
            return argument
        if any(isinstance(mark, Range) for mark in get_args(argument)):
            return range_of(argument)
    return Range(1 if int in (hint, *arguments) else 0)


def _is_ours(recipe: object) -> bool:
    return type(recipe).__module__.startswith("assay.")


def convert(text: str, hint: Any, where: str) -> Any:
    """A word to a value of the annotated type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _convert_to_one_of(text, arguments, where)
    if origin is Literal:
        return _choose(text, {str(choice): choice for choice in arguments}, where)
    if origin in (tuple, Sequence):
        return tuple(convert(word, arguments[0], where) for word in text.split(";"))
    if hint is bool:
        return _choose(text.lower(), {"true": True, "false": False}, where)
    try:
        return hint(text) if hint in (int, float, str, Path) else text
    except ValueError as error:
        wanted = "a whole number" if hint is int else "a number"
        raise SpecError(f"{where}: {text!r} is not {wanted}") from error


def _convert_to_one_of(text: str, hints: Sequence[Any], where: str) -> Any:
    """A word to a value of the first type that takes it."""
    if types.NoneType in hints and text in ("none", "None"):
        return None
    *others, last = [hint for hint in hints if hint is not types.NoneType]
    for other in others:
        with suppress(SpecError):
            return convert(text, other, where)
    return convert(text, last, where)


def _choose(text: str, choices: Mapping[str, Any], where: str) -> Any:
    if text not in choices:
        raise SpecError(f"{where}: {text!r} is not one of {', '.join(choices)}")
    return choices[text]


def perturbation(text: str) -> Perturbation:
    """`truncation:level=0.3` to a perturbation; its numbers are shares of a text, or counts."""
    name, _, tail = text.partition(":")
    recipe: Perturbation = build(perturbation_class(name), keys(tail, text), text)
    for field in dataclasses.fields(recipe) if _is_ours(recipe) else ():  # type: ignore[arg-type]
        value, where = getattr(recipe, field.name), f"{field.name} in {text!r}"
        if isinstance(value, bool) or value == field.default:
            continue
        if isinstance(value, float) and not 0 < value <= 1:
            raise SpecError(f"{where}: {value:g} is not a share; give more than 0 and at most 1")
        if isinstance(value, int) and not 1 <= value <= _MOST:
            raise SpecError(f"{where}: {value} is out of range; give a whole number from 1 to {_MOST}")
    return recipe
