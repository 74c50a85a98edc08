"""Metrics from a user's code: a class or function in a file, or a callable of another library.

Objects of other libraries are recognised by their methods: nothing is imported. Several numbers per text are
an error that names the choices, unless `output` picks one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, ClassVar

from assay.core import Metric, Sample, SetMetric
from assay.errors import MetricError, SpecError, suggest
from assay.recipe import files_digest, source_digest
from assay.vocabulary import Need

Texts = Sequence[str]
References = Sequence[Sequence[str]]
_ERRORS = (Exception, SystemExit, BaseExceptionGroup)  # what a user's file may raise while it is loaded


def load_metric_class(path: Path, identifier: str) -> type[Metric] | type[SetMetric]:
    """A user's class or function from a Python file, with the digest of its source in the signature."""
    try:
        path = path.expanduser()
        code = path.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:  # no such file or home, an impossible name
        reason = getattr(error, "strerror", None) or error
        raise SpecError(f"cannot read {path}: {reason}; give the path of a Python file") from error
    module = _load_module(path.resolve(), hashlib.sha256(code).hexdigest())
    member = getattr(module, identifier, None)
    if member is None:
        public = [name for name in vars(module) if not name.startswith("_")]
        raise SpecError(f"{path} has no {identifier!r}{suggest(identifier, public)}")
    kind = as_metric_class(member, module.__assay_digest__)
    kind.plugin = (str(path.resolve()), identifier)
    return kind


def missing_identifier(path: Path) -> SpecError:
    """The error for FILE.py without :NAME; it lists what the file holds, read but not run."""
    code = ""
    with suppress(OSError, ValueError, RuntimeError):
        code = path.expanduser().read_text("utf-8", "replace")
    known = suggest("", re.findall(r"^(?:class|def) ([A-Za-z]\w*)", code, re.M))
    return SpecError(f"{path} names a file alone: write {path}:NAME, a class or function in it{known}")


def _load_module(path: Path, digest: str) -> Any:
    name = f"assay_plugin_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SpecError(f"{path} is not a Python file; a plug-in is written FILE.py:Name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except _ERRORS as error:
        del sys.modules[name]
        raise SpecError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    module.__assay_digest__ = files_digest(path)  # type: ignore[attr-defined]
    return module


def as_metric_class(member: object, digest: str | None) -> type[Metric] | type[SetMetric]:
    """A class as it is, a function wrapped; both carry the digest of their source."""
    if inspect.isclass(member) and issubclass(member, Metric | SetMetric):
        if not is_dataclass(member):  # its fields are what tells two of its metrics apart
            raise SpecError(f"{member.__name__} is no dataclass; write @dataclass(frozen=True) above it")
        if not hasattr(member, "name"):
            member.name = member.__name__
        member.origin, member.cacheable = digest, digest is not None
        return member
    if inspect.isclass(member) or isinstance(member, str | bytes | int | float | None):
        shown = getattr(member, "__name__", repr(member))
        raise SpecError(f"{shown} is neither a Metric class nor a function score(hypotheses, references)")
    return type(wrap(member, digest=digest))


def wrap(
    function: Any,
    *,
    name: str | None = None,
    needs: Sequence[Need] | None = None,
    higher_is_better: bool | None = None,
    one_reference: bool | None = None,
    output: str | None = None,
    digest: str | None = None,
) -> Metric:
    """A metric from a callable of another library: `score(hypotheses, references) -> list of numbers`.

    Objects of evaluate, torchmetrics, sacrebleu, COMET and sentence-transformers' cross-encoders are taken as
    they are; `output` picks one of several numbers that they return. References are passed as one list per
    text, or with `one_reference` as one reference per text (several are an error); sources follow if `needs`
    names "source". Scores are cached under the digest of the function's source, and not at all if the source
    cannot be read.
    """
    adapter = adapt(function, output, needs)
    origin = digest or source_digest(function)
    higher = adapter.higher_is_better if higher_is_better is None else higher_is_better
    called = getattr(function, "name", None)
    shown = called if isinstance(called, str) and called else type(function).__name__
    members: dict[str, Any] = {
        "__module__": getattr(function, "__module__", None) or type(function).__module__,  # travels with it
        "function": staticmethod(adapter.score),
        "needs": frozenset(adapter.needs if needs is None else needs),
        "original": "higher" if higher else "lower",
        "name": name or getattr(function, "__name__", shown),
        "one_reference": adapter.one_reference if one_reference is None else one_reference,
        "origin": origin,
        "cacheable": origin is not None,
    }
    kind: Any = type("Wrapped", (_Wrapped,), members)
    metric: Metric = dataclass(frozen=True)(kind)()
    return metric


class _Wrapped(Metric):
    function: ClassVar[Callable[..., Iterable[float]]]

    def score(self, samples: Sequence[Sample]) -> Sequence[float]:
        columns: list[Sequence[Any]] = [[sample.hypothesis for sample in samples]]
        if "references" in self.needs:
            references = [sample.references for sample in samples]
            columns.append([refs[0] if self.one_reference else list(refs) for refs in references])
        if "source" in self.needs:
            columns.append([sample.source for sample in samples])
        values: Any = type(self).function(*columns)
        return values if self.original == "higher" else [-value for value in values]


@dataclass(frozen=True, slots=True)
class Adapter:
    """How to call an object: `score(hypotheses, references, sources)`, each where `needs` names it."""

    score: Callable[..., Iterable[Any]]
    needs: tuple[Need, ...] = ("references",)
    higher_is_better: bool = True
    one_reference: bool = False


def adapt(thing: Any, output: str | None, needs: Sequence[Need] | None) -> Adapter:
    """The adapter for an object of evaluate, torchmetrics, sacrebleu, COMET or sentence-transformers.

    Anything else that can be called is called with columns of texts.
    """
    if hasattr(thing, "sentence_score"):  # sacrebleu; its TER is a rate of edits
        score = _text_by_text(lambda text, refs: thing.sentence_score(text, refs).score)
        return Adapter(score, higher_is_better=type(thing).__name__ != "TER")
    if hasattr(thing, "compute") and hasattr(thing, "update") and hasattr(thing, "reset"):  # torchmetrics
        score = _text_by_text(lambda text, refs: _number(_after_update(thing, text, refs), output, thing))
        return Adapter(score, higher_is_better=getattr(thing, "higher_is_better", None) is not False)
    if hasattr(thing, "compute"):  # evaluate
        called = output or getattr(thing, "name", None)
        compute = thing.compute
        score = _text_by_text(lambda t, r: _number(compute(predictions=[t], references=[r]), called, thing))
        return Adapter(score)
    has = {name for name in ("requires_references", "predict_step", "rank") if hasattr(thing, name)}
    if hasattr(thing, "predict") and has & {"requires_references", "predict_step"}:
        return _comet(thing)
    if hasattr(thing, "predict") and (has or "CrossEncoder" in type(thing).__name__):
        return Adapter(_by_pairs(thing, from_source=tuple(needs or ()) == ("source",)))
    if not callable(thing):
        raise SpecError(
            f"{type(thing).__name__} is no metric assay knows how to call; give a function "
            "score(hypotheses, references) that returns one number per text"
        )
    return Adapter(thing)


def _text_by_text(score: Callable[[str, list[str]], float]) -> Callable[[Texts, References], list[float]]:
    """These libraries give one value for a corpus, so that every text is a corpus of its own."""
    return lambda texts, references: [score(*pair) for pair in zip(texts, map(list, references), strict=True)]


def _after_update(metric: Any, text: str, references: list[str]) -> Any:
    """torchmetrics averages over what it has seen since it was reset."""
    metric.reset()
    metric.update([text], [references])
    value = metric.compute()
    metric.reset()
    return value


def _comet(model: Any) -> Adapter:
    """A COMET model reads sources, and references unless it estimates quality without them."""
    requires = getattr(model, "requires_references", None)
    has_references = True if requires is None else bool(requires())

    def score(texts: Texts, *columns: Texts) -> Any:
        names = ("mt", "ref", "src") if has_references else ("mt", "src")
        rows = [dict(zip(names, row, strict=True)) for row in zip(texts, *columns, strict=True)]
        predicted = model.predict(rows, batch_size=8, gpus=0)
        return predicted["scores"] if isinstance(predicted, Mapping) else predicted.scores

    needs: tuple[Need, ...] = ("references", "source") if has_references else ("source",)
    return Adapter(score, needs, one_reference=has_references)


def _by_pairs(model: Any, *, from_source: bool) -> Callable[..., list[float]]:
    """A cross-encoder reads (reference, text), the best of several references; or (source, text)."""

    def score(texts: Texts, others: Sequence[str | Sequence[str]]) -> list[float]:
        groups = [[other] if from_source or isinstance(other, str) else list(other) for other in others]
        pairs = [(other, text) for text, group in zip(texts, groups, strict=True) for other in group]
        values = iter([_number(value, None, model) for value in model.predict(pairs)])
        return [max(next(values) for _ in group) for group in groups]

    return score


def _number(value: Any, output: str | None, thing: object) -> float:
    """The number in what a library returns: a number, a tensor, a list of one, or one member of a mapping."""
    name = type(thing).__name__
    if isinstance(value, Mapping):
        key = output if output in value else next(iter(value)) if len(value) == 1 else None
        if key is None:
            wrong = suggest(output or "", map(str, value))
            raise MetricError(f"{name} returns {', '.join(map(str, value))}; choose one: output=...{wrong}")
        return _number(value[key], None, thing)
    plain = value.tolist() if hasattr(value, "tolist") else value  # numpy and torch
    if isinstance(plain, list | tuple):
        if len(plain) != 1:
            raise MetricError(
                f"{name} returns {len(plain)} numbers for a text; write a function that picks one"
            )
        return _number(plain[0], output, thing)
    return float(plain)
