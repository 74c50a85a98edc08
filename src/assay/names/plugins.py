"""Metrics from a user's code: a class, a function or an object in a file or a module."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import re
import sys
from contextlib import redirect_stdout, suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay.core import Metric, SetMetric
from assay.errors import SpecError, suggest
from assay.foreign import described, unmoved
from assay.names.bridge import compile_sources, module_of
from assay.names.environment import Remote
from assay.names.wrap import wrap
from assay.recipe import files_digest, source_digest

_ERRORS = (
    Exception,
    SystemExit,
    GeneratorExit,
    BaseExceptionGroup,
)  # what a user's file may raise while it is loaded
_OPTIONS = {
    name for name, option in inspect.signature(wrap).parameters.items() if option.kind is option.KEYWORD_ONLY
}


class Place(NamedTuple):
    """Where a user's metric is: a file or a module, a name in it, and words like `output=f1` after it."""

    where: str
    identifier: str
    words: tuple[tuple[str, str], ...] = ()
    python: str = ""  # of the environment that it is in; empty for this one

    def load(self) -> tuple[Any, str | None]:
        """The object, and the digest of its file."""
        return _from_file(self) if self.where.endswith(".py") else _from_module(self)


def load_metric(place: Place) -> Metric | SetMetric | type[Metric] | type[SetMetric]:
    """A metric, or the class of one, which then has fields to be filled in with the words."""
    if place.python:
        return _from_environment(place)
    member, code = place.load()
    if isinstance(member, Metric | SetMetric):
        if place.words:
            raise SpecError(
                f"{place.where}:{place.identifier} is made already: it takes no {place.words[0][0]!r}"
            )
        return member
    made: Any = _made(member, place, code)
    if place.where.endswith(".py"):
        kind: Any = made if inspect.isclass(made) else type(made)
        words = ",".join(f"{key}={text}" for key, text in place.words)
        file = str(Path(place.where).expanduser().resolve())
        kind.plugin = (file, f"{place.identifier}:{words}" if words else place.identifier)
    return made  # type: ignore[no-any-return]


def _from_environment(place: Place) -> Metric:
    """An object of another environment, wrapped; a class there is constructed with the words of its own."""
    own, options = _parted(place)
    remote = Remote.load(place.python, place.where, place.identifier, own)
    return wrap(remote, **options) if remote.is_made else wrap(remote, **own, **options)


def _made(member: Any, place: Place, code: str | None) -> Any:
    """A class of metrics as it is; another class by its constructor, then wrapped like any object."""
    if inspect.isclass(member) and issubclass(member, Metric | SetMetric):
        return as_metric_class(member, code)
    own, options = _parted(place)
    if inspect.isclass(member):
        try:
            with unmoved():
                member, own = member(**own), {}
        except _ERRORS as error:
            raise SpecError(f"{place.identifier} cannot be made: {described(error)}") from error
    if isinstance(member, str | bytes | int | float | None):
        raise _no_metric(member)
    return wrap(member, **own, **options)


def _parted(place: Place) -> tuple[dict[str, Any], dict[str, Any]]:
    """The words that are the object's own, and those that are options of `wrap`."""
    given = {key: _value(text) for key, text in place.words}
    own = {key: value for key, value in given.items() if key not in _OPTIONS}
    return own, {key: value for key, value in given.items() if key in _OPTIONS}


def load_metric_class(path: Path, identifier: str) -> type[Metric] | type[SetMetric]:
    """The class of a user's metric in a Python file, for a worker that fills in its fields."""
    name, _, rest = identifier.partition(":")
    words = tuple(
        (key, text) for key, _, text in (pair.partition("=") for pair in filter(None, rest.split(",")))
    )
    made = load_metric(Place(str(path), name, words))
    return made if inspect.isclass(made) else type(made)


def _value(text: str) -> Any:
    """A word as Python would read it, else as text: 5, 0.3, true, none, ("references",), en."""
    plain = {"true": True, "false": False, "none": None}
    if text.lower() in plain:
        return plain[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def missing_identifier(path: Path) -> SpecError:
    """The error for FILE.py without :NAME; it lists what the file holds, read but not run."""
    code = ""
    with suppress(OSError, ValueError, RuntimeError):
        code = path.expanduser().read_text("utf-8", "replace")
    known = suggest("", re.findall(r"^(?:class|def) ([A-Za-z]\w*)", code, re.M))
    return SpecError(f"{path} names a file alone: write {path}:NAME, a class or function in it{known}")


def _from_file(place: Place) -> tuple[Any, str | None]:
    """What a file holds under a name."""
    try:
        path = Path(place.where).expanduser()
        code = path.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:  # no such file or home, an impossible name
        reason = getattr(error, "strerror", None) or error
        raise SpecError(f"cannot read {place.where}: {reason}; give the path of a Python file") from error
    module = _load_file(path.resolve(), hashlib.sha256(code).hexdigest())
    return _member(module, place), module.__assay_digest__


def _load_file(path: Path, digest: str) -> Any:
    name = f"assay_plugin_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    compile_sources()
    module = module_of(name, str(path))
    sys.modules[name] = module
    try:
        with unmoved(), redirect_stdout(sys.stderr):
            module.__loader__.exec_module(module)
    except _ERRORS as error:
        del sys.modules[name]
        raise SpecError(f"{path} cannot be loaded: {described(error)}") from error
    module.__assay_digest__ = files_digest(path)
    return module


def _from_module(place: Place) -> tuple[Any, str | None]:
    """What an installed module, or one of the working folder, holds under a name."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # last: it hides no installed package
    compile_sources()
    try:
        with unmoved(), redirect_stdout(sys.stderr):
            module = importlib.import_module(place.where)
    except _ERRORS as error:
        raise SpecError(
            f"the module {place.where} cannot be imported: {described(error)}; install it, "
            "or start from its folder"
        ) from error
    member = _member(module, place)
    return member, source_digest(member)


def _member(module: Any, place: Place) -> Any:
    """The object of that name, which may be inside another: Class.method."""
    member = module
    for name in place.identifier.split("."):
        public = [known for known in dir(member) if not known.startswith("_")]
        try:
            member = getattr(member, name)
        except AttributeError as error:
            raise SpecError(f"{place.where} has no {name!r}{suggest(name, public)}") from error
    return member


def as_metric_class(member: object, digest: str | None) -> type[Metric] | type[SetMetric]:
    """A class of metrics with the digest of its source; anything else that can be called, wrapped."""
    if inspect.isclass(member) and issubclass(member, Metric | SetMetric):
        if not is_dataclass(member):  # its fields are what tells two of its metrics apart
            raise SpecError(f"{member.__name__} is no dataclass; write @dataclass(frozen=True) above it")
        if not hasattr(member, "name"):
            member.name = member.__name__
        member.origin, member.cacheable = digest, digest is not None
        member.anew = None if digest else _UNREAD.format(member.__name__)
        return member
    if inspect.isclass(member) or isinstance(member, str | bytes | int | float | None):
        raise _no_metric(member)
    return type(wrap(member))


_UNREAD = "{} is scored anew each time: not all that its source imports can be read"


def _no_metric(member: object) -> SpecError:
    shown = getattr(member, "__name__", repr(member))
    return SpecError(f"{shown} is neither a Metric class nor a function score(hypotheses, references)")
