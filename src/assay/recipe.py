"""The identity of objects with parameters: content hashes, signatures, and how workers receive them."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import inspect
import json
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from modulefinder import ModuleFinder
from pathlib import Path, PurePath
from random import Random
from typing import Any, ClassVar

_LONGEST_PATH = 300  # characters of a text that may be the name of a file


def digest(*parts: str) -> str:
    """A hash of the parts and their order; text that is not valid Unicode is hashed too."""
    body = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.blake2b(body.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def generator(seed: int, name: str, key: str) -> Random:
    """One item's random generator, the same on every worker (docs/architecture.md, law 7)."""
    return Random(digest(str(seed), name, key))


def source_digest(thing: object) -> str | None:
    """SHA-256 of a user's class or function, its file and the user's files that this imports.

    None where that is not all a score depends on or cannot be read, and then nothing is cached.
    """
    try:
        source, file = inspect.getsource(thing), inspect.getsourcefile(thing)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return None
    files = None if file is None or getattr(thing, "__closure__", None) else files_digest(Path(file))
    return files and hashlib.sha256(f"{files} {source}".encode()).hexdigest()


def files_digest(path: Path) -> str | None:
    """SHA-256 of a Python file, of the user's modules it imports, directly or not, and of files they name.

    None where a file cannot be read, or where only running it would show what it imports.
    """
    kinds = ("stdlib", "purelib", "platlib")
    installed = tuple(str(Path(sysconfig.get_path(kind)).resolve()) for kind in kinds)
    own = [folder for folder in sys.path if not str(Path(folder).resolve()).startswith(installed)]
    finder = ModuleFinder([str(path.parent), *own], excludes=["assay", *sys.stdlib_module_names])
    try:
        finder.run_script(str(path))
        files = {getattr(module, "__file__", None) for module in finder.modules.values()}
        paths = [Path(file) for file in sorted(filter(None, files))]
        codes = [path.read_bytes() for path in paths]
        named = [named_digest(name, path.parent) for path in paths for name in _texts_in(path)]
    except (OSError, ValueError, SyntaxError, ImportError, RecursionError, AttributeError):
        return None  # the last is ModuleFinder's for a folder of modules without __init__.py
    if any(word in code for code in codes for word in (b"import_module", b"__import__")):
        return None
    parts = [hashlib.sha256(code).hexdigest() for code in codes]
    return hashlib.sha256("".join([*parts, *filter(None, named)]).encode()).hexdigest()


def _texts_in(path: Path) -> list[str]:
    """The short texts in a file's code, any of which may name a file that it reads."""
    constants = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Constant))
    texts = {node.value for node in constants if isinstance(node.value, str)}
    return sorted(text for text in texts if 0 < len(text) <= _LONGEST_PATH and "\0" not in text)


def named_digest(name: str, *folders: Path) -> str:
    """SHA-256 of the files that a text names in these folders or the working folder, or ''."""
    digests = []
    for path in dict.fromkeys(folder / name for folder in (*folders, Path())):
        with suppress(OSError):  # most texts are no path at all
            if path.is_file() and path.suffix != ".py":
                digests.append(hashlib.sha256(path.read_bytes()).hexdigest())
    return "".join(digests)


class Recipe:
    """The base of metrics, audits and perturbations, whose fields are their parameters."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    origin: ClassVar[str | None] = None  # digest of a user's source; the registry sets it
    cacheable: ClassVar[bool] = True
    anew: ClassVar[str | None] = None  # why scores are not kept, in a sentence
    plugin: ClassVar[tuple[str, str] | None] = None  # the file and name of a user's class, if it is from one

    def pins(self) -> Mapping[str, str]:
        """Digests to add to fields in the signature: weights, prompts, tables."""
        return {}

    @property
    def parameters_text(self) -> dict[str, str]:
        """The fields as text; a table is shown by its digest."""
        pins = self.pins()
        shown = {f.name: _field_text(getattr(self, f.name)) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        if self.origin:  # what a user's class does with a field is its own affair: it may be a file's name
            pins = {**{key: mark for key, text in shown.items() if (mark := _named(text))}, **pins}
        return {key: f"{text}@{pins[key]}" if key in pins else text for key, text in shown.items()}

    @property
    def signature(self) -> str:
        """Everything a score depends on besides the sample (docs/architecture.md, law 1)."""
        fields = [f"{key}:{text}" for key, text in self.parameters_text.items()]
        tail = [f"source:{self.origin}"] if self.origin else []
        return "|".join([self.name, *fields, f"v:{self.version}", *tail])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields alone: a worker loads its own model."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return _rebuild, (type(self), values)


def _named(text: str) -> str:
    return named_digest(text) if 0 < len(text) <= _LONGEST_PATH and "\0" not in text else ""


def _rebuild(kind: type[Any], values: dict[str, Any]) -> Any:
    return kind(**values)


def _field_text(value: object) -> str:
    """A field as it stands in a signature: scalars as text, tables as a hash of their content."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str | int | float | PurePath):
        return str(value)
    if isinstance(value, Recipe):
        return f"({value.signature})"
    known = getattr(value, "digest", None)
    if isinstance(known, str):
        return known
    if isinstance(value, Mapping):
        return digest(*(f"{key!r}={_field_text(item)}" for key, item in sorted(value.items(), key=repr)))
    if isinstance(value, tuple | list):
        return "(" + ";".join(_field_text(item) for item in value) + ")"
    return digest(json.dumps(value, default=repr, sort_keys=True))
