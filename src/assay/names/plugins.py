"""Metrics of the user's own: a class or function in a file, a callable of another library."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from assay.core import Metric, Sample, SetMetric
from assay.errors import SpecError, suggest
from assay.recipe import source_digest
from assay.vocabulary import Need

# What a user's file may raise while it is loaded.
LOADING = (ArithmeticError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError,
           SyntaxError, TypeError, ValueError)  # fmt: skip


def plugged_in(path: Path, identifier: str) -> type[Metric] | type[SetMetric]:
    """A user's class or function from a Python file, its source's digest in the signature (law 1)."""
    try:
        path = path.expanduser()
        code = path.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:  # no such file or home, a name that can be none
        raise SpecError(f"cannot read {path}: {error}; give the path of a Python file") from error
    module = _load_file(path, hashlib.sha256(code).hexdigest())
    thing = getattr(module, identifier, None)
    if thing is None:
        public = [name for name in vars(module) if not name.startswith("_")]
        raise SpecError(f"{path} has no {identifier!r}{suggest(identifier, public)}")
    return as_metric_class(thing, module.__assay_digest__)


def unnamed(path: Path) -> SpecError:
    """A file without what to take from it: the error names what it holds, read but not run."""
    try:
        body = ast.parse(path.expanduser().read_bytes()).body
    except (OSError, ValueError, RuntimeError, SyntaxError):
        body = []
    kinds = (ast.ClassDef, ast.FunctionDef)
    found = [node.name for node in body if isinstance(node, kinds) and not node.name.startswith("_")]
    return SpecError(
        f"{path} names a file alone: write {path}:NAME, a class or function in it{suggest('', found)}"
    )


def _load_file(path: Path, digest: str) -> Any:
    name = f"assay_plugin_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SpecError(f"{path} is not a Python file; a plug-in is written FILE.py:Name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except LOADING as error:
        del sys.modules[name]
        raise SpecError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    module.__assay_digest__ = digest  # type: ignore[attr-defined]
    return module


def as_metric_class(thing: object, digest: str | None) -> type[Metric] | type[SetMetric]:
    """A class as it is, a function wrapped; both marked with the digest of their source."""
    if inspect.isclass(thing) and issubclass(thing, Metric | SetMetric):
        if "name" not in vars(thing) and not hasattr(thing, "name"):
            thing.name = thing.__name__
        thing.origin, thing.cacheable = digest, digest is not None
        return thing
    if callable(thing) and not inspect.isclass(thing):
        return type(wrap(thing, digest=digest))
    raise SpecError(f"{thing!r} is neither a Metric class nor a function score(hypotheses, references)")


def wrap(
    function: Callable[..., Sequence[float]],
    *,
    name: str | None = None,
    needs: Sequence[Need] = ("references",),
    higher_is_better: bool = True,
    one_reference: bool = False,
    digest: str | None = None,
) -> Metric:
    """A metric from a callable of another library: `score(hypotheses, references) -> list of numbers`.

    References are passed as a list of lists, or, with `one_reference`, as one text each (several are an
    error); `sources` follow where `needs` names "source". Its source's digest guards the cache; without a
    source nothing is cached.
    """
    origin = digest or source_digest(function)
    members: dict[str, Any] = {
        "function": staticmethod(function),
        "needs": frozenset(needs),
        "original": "higher" if higher_is_better else "lower",
        "name": name or getattr(function, "__name__", "function"),
        "one_reference": one_reference,
        "origin": origin,
        "cacheable": origin is not None,
    }
    made: Any = type("Wrapped", (_Wrapped,), members)
    wrapped: Metric = dataclass(frozen=True)(made)()
    return wrapped


class _Wrapped(Metric):
    function: ClassVar[Callable[..., Sequence[float]]]

    def score(self, samples: Sequence[Sample]) -> Sequence[float]:
        """Column by column, as plain functions expect."""
        columns: list[Sequence[Any]] = [[sample.hypothesis for sample in samples]]
        if "references" in self.needs:
            references = [sample.references for sample in samples]
            columns.append([refs[0] if self.one_reference else list(refs) for refs in references])
        if "source" in self.needs:
            columns.append([sample.source for sample in samples])
        values = type(self).function(*columns)
        return values if self.original == "higher" else [-value for value in values]
