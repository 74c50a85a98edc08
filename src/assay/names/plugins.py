"""Metrics from a user's code: a class or function in a file, or a callable of another library."""

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
_ERRORS = (ArithmeticError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError,
           SyntaxError, TypeError, ValueError)  # fmt: skip


def load_metric_class(path: Path, identifier: str) -> type[Metric] | type[SetMetric]:
    """A user's class or function from a Python file, with the digest of its source in the signature."""
    try:
        path = path.expanduser()
        code = path.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:  # no such file or home, an impossible name
        raise SpecError(f"cannot read {path}: {error}; give the path of a Python file") from error
    module = _load_module(path, hashlib.sha256(code).hexdigest())
    member = getattr(module, identifier, None)
    if member is None:
        public = [name for name in vars(module) if not name.startswith("_")]
        raise SpecError(f"{path} has no {identifier!r}{suggest(identifier, public)}")
    return as_metric_class(member, module.__assay_digest__)


def missing_identifier(path: Path) -> SpecError:
    """The error for FILE.py without :NAME; it lists what the file holds, read but not run."""
    try:
        body = ast.parse(path.expanduser().read_bytes()).body
    except (OSError, ValueError, RuntimeError, SyntaxError):
        body = []
    members = [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    public = [name for name in members if not name.startswith("_")]
    return SpecError(
        f"{path} names a file alone: write {path}:NAME, a class or function in it{suggest('', public)}"
    )


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
        spec.loader.exec_module(module)
    except _ERRORS as error:
        del sys.modules[name]
        raise SpecError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    module.__assay_digest__ = digest  # type: ignore[attr-defined]
    return module


def as_metric_class(member: object, digest: str | None) -> type[Metric] | type[SetMetric]:
    """A class as it is, a function wrapped; both carry the digest of their source."""
    if inspect.isclass(member) and issubclass(member, Metric | SetMetric):
        if not hasattr(member, "name"):
            member.name = member.__name__
        member.origin, member.cacheable = digest, digest is not None
        return member
    if callable(member) and not inspect.isclass(member):
        return type(wrap(member, digest=digest))
    raise SpecError(f"{member!r} is neither a Metric class nor a function score(hypotheses, references)")


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

    References are passed as one list per text, or with `one_reference` as one reference per text (several
    are an error); sources follow if `needs` names "source". Scores are cached under the digest of the
    function's source, and not at all if the source cannot be read.
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
    kind: Any = type("Wrapped", (_Wrapped,), members)
    metric: Metric = dataclass(frozen=True)(kind)()
    return metric


class _Wrapped(Metric):
    function: ClassVar[Callable[..., Sequence[float]]]

    def score(self, samples: Sequence[Sample]) -> Sequence[float]:
        columns: list[Sequence[Any]] = [[sample.hypothesis for sample in samples]]
        if "references" in self.needs:
            references = [sample.references for sample in samples]
            columns.append([refs[0] if self.one_reference else list(refs) for refs in references])
        if "source" in self.needs:
            columns.append([sample.source for sample in samples])
        values = type(self).function(*columns)
        return values if self.original == "higher" else [-value for value in values]
