"""What a function of a user's reads: all that can change its scores as one digest, or the reason why not.

A function is known by its code, its constants, the immutable values it captures or reads from its module, and
the functions it calls, followed the same way; code of installed packages by their version. What can change
behind its back - a dictionary, a model, a file, the clock, a server - makes it one whose scores are not kept.
"""

from __future__ import annotations

import dis
import functools
import inspect
import pickle
import re
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path, PurePath
from typing import Any

from assay.errors import SpecError
from assay.files import toml_file
from assay.foreign import described
from assay.recipe import digest

_WORDS: dict[str, Any] = toml_file("names", "wrap")["outside"]
_OUTSIDE, _REACHING = (frozenset(_WORDS[name].split()) for name in ("modules", "names"))
_PLAIN = (str, bytes, int, float, complex, bool, types.NoneType, types.EllipsisType, re.Pattern, PurePath)


class Outside(Exception):
    """The function reads something that its digest cannot hold; the message says what."""


def function_identity(thing: Any) -> str:
    """A digest of everything that a function's result depends on; raises `Outside`."""
    if not isinstance(thing, functools.partial) and not hasattr(thing, "__qualname__"):
        raise Outside(getattr(type(thing), "outside", f"the state of a {type(thing).__name__}"))
    if inspect.iscoroutinefunction(thing):
        raise Outside("what it awaits")
    return digest(*sys.version.split()[:1], *_parts(thing, getattr(thing, "__name__", "it"), set()))


def declared(thing: Any) -> str:
    """A digest of what the user says is pure: a function by its code, anything else by its pickled state."""
    if isinstance(thing, types.FunctionType):
        return digest(*_code(thing.__code__), *map(repr, thing.__defaults__ or ()))
    try:
        return digest(pickle.dumps(thing).hex())
    except Exception as error:
        raise SpecError(
            f"pure=True keeps scores by the content of {type(thing).__name__}, which cannot be pickled "
            f"({described(error)}); wrap a function that calls it"
        ) from error


def _parts(thing: Any, name: str, seen: set[int]) -> Iterator[str]:
    """The parts of a digest, or `Outside` with what is in the way."""
    if id(thing) in seen:
        return
    if isinstance(thing, _PLAIN):
        yield f"{name}={type(thing).__name__}:{thing!r}"
    elif isinstance(thing, tuple | frozenset):
        listed = sorted(thing, key=repr) if isinstance(thing, frozenset) else thing
        yield f"{name}={type(thing).__name__}:{len(listed)}"
        for item in listed:
            yield from _parts(item, name, seen)
    elif isinstance(thing, functools.partial):
        for item in (thing.func, thing.args, *sorted(thing.keywords.items())):
            yield from _parts(item, name, seen)
    elif isinstance(thing, types.ModuleType) or hasattr(thing, "__qualname__"):
        seen.add(id(thing))
        yield from _coded(thing, name, seen)
    else:
        raise Outside(f"{name} ({type(thing).__name__}), which can change")


def _coded(thing: Any, name: str, seen: set[int]) -> Iterator[str]:
    """A module, class or function: of an installed package by its version, the user's own by its code."""
    module = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None)
    _check_reach(thing, name, (module or "builtins").partition(".")[0])
    if (installed := _release(module)) is not None:
        yield f"{name}={module}:{getattr(thing, '__qualname__', '')}@{installed}"
        yield from _captured(thing, seen)
    elif isinstance(thing, types.FunctionType):
        yield from _function(thing, seen)
    elif isinstance(thing, type):
        yield from _class(thing, name, seen)
    elif hasattr(thing, "__wrapped__") or isinstance(thing, types.MethodType):
        yield from _parts(getattr(thing, "__wrapped__", None) or thing.__func__, name, seen)
    elif isinstance(thing, types.ModuleType):
        yield f"{name}=module:{module}"  # what is read of it follows by its name
    else:
        raise Outside(f"{name} ({type(thing).__name__}), whose code cannot be read")


def _check_reach(thing: Any, name: str, top: str) -> None:
    """Refuse methods of objects, which have a state, and what reads files, the clock, chance or a network."""
    owner = getattr(thing, "__self__", None)
    if not isinstance(owner, types.NoneType | types.ModuleType | type):
        raise Outside(f"the state of a {type(owner).__name__}")
    if top in _OUTSIDE or (top == "builtins" and name in _REACHING):
        raise Outside(f"{name}, which reaches outside of the program")


def _class(kind: type, name: str, seen: set[int]) -> Iterator[str]:
    """A class by its methods and public attributes."""
    yield f"{name}=class:{kind.__qualname__}"
    for key, item in sorted(vars(kind).items()):
        if not key.startswith("__") or isinstance(item, types.FunctionType):
            yield from _parts(getattr(item, "__func__", item), key, seen)


def _function(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    """The code of a function and all that it reads."""
    yield from _code(function.__code__)
    yield from _parts(function.__defaults__ or (), "a default", seen)
    for key, value in sorted((function.__kwdefaults__ or {}).items()):
        yield from _parts(value, key, seen)
    yield from _captured(function, seen)
    looked_up, others = _names(function.__code__)
    for module in others["IMPORT_NAME"]:
        if module.partition(".")[0] in _OUTSIDE or _release(module) is None:
            raise Outside(f"the module {module}, which it imports")
    for name in looked_up:
        value = function.__globals__.get(name)
        if name in function.__globals__:
            yield from _parts(value, name, seen)
        elif name in _REACHING:
            raise Outside(f"whatever {name}() gives")
        if isinstance(value, types.ModuleType):
            yield from _attributes(value, others["LOAD_ATTR"], seen)


def _captured(function: Any, seen: set[int]) -> Iterator[str]:
    """What a function was made with: `scorer(level=3)` gives another function than `scorer(level=4)`."""
    cells = getattr(function, "__closure__", None) or ()
    for key, cell in zip(function.__code__.co_freevars if cells else (), cells, strict=True):
        try:
            content = cell.cell_contents
        except ValueError:  # not yet assigned
            continue
        yield from _parts(content, key, seen)


def _attributes(module: types.ModuleType, names: Sequence[str], seen: set[int]) -> Iterator[str]:
    """What a function may read of a module: of the user's own by its content, else whether it draws."""
    own = _release(module.__name__) is None
    for name in names:
        value = getattr(module, name, None)
        if isinstance(value, types.ModuleType) and name in _REACHING:
            raise Outside(f"{module.__name__}.{name}, which draws at random")
        if own and value is not None and name in vars(module):
            yield from _parts(value, name, seen)


def _code(code: types.CodeType) -> Iterator[str]:
    """Everything that a code object does, whatever its place in a file."""
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            shown = sorted(constant, key=repr) if isinstance(constant, frozenset) else constant
            yield f"{type(constant).__name__}:{shown!r}"


@functools.lru_cache(1000)
def _names(code: types.CodeType) -> tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]:
    """What a code object looks up in its module; attributes that it reads and modules that it imports."""
    looked_up: dict[str, None] = {}
    others: dict[str, dict[str, None]] = {"LOAD_ATTR": {}, "IMPORT_NAME": {}}
    for each in _nested(code):
        for step in dis.get_instructions(each):
            kind = "LOAD_ATTR" if step.opname == "LOAD_METHOD" else step.opname
            if kind in ("LOAD_GLOBAL", "LOAD_NAME"):
                looked_up[step.argval] = None
            elif kind in others:
                others[kind][step.argval] = None
    return tuple(looked_up), {kind: tuple(names) for kind, names in others.items()}


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those within it: comprehensions, lambdas, inner functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


@functools.cache
def _release(module: str | None) -> str | None:
    """The version of the installed package, or of Python, that a module is from; None for the user's own."""
    top = (module or "builtins").partition(".")[0]
    if top in sys.stdlib_module_names or top == "builtins":
        return sys.version.split()[0] if top != "__main__" else None
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if file is not None and not {"site-packages", "dist-packages"} & set(Path(file).parts):
        return None
    for name in _distributions().get(top, ()):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()
