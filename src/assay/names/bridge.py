"""Run by the Python of another environment: loads one object and calls it for assay, in JSON over two pipes.

It stands alone: the standard library of any Python from 3.8. What the object prints goes to stderr.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import signal
import sys
from contextlib import suppress
from importlib import machinery, metadata
from typing import Any

_DEEPEST = 6  # records within records that are read
_TOLD = ("name", "task", "higher_is_better")  # plain attributes by which metrics are recognised
_KEPT = os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class SourceLoader(machinery.SourceFileLoader):
    """Loads a module from its text: bytecode is taken for current if the time and size of its source are."""

    def get_code(self, fullname: str) -> Any:
        """The module, compiled anew."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def module_of(name: str, path: str) -> Any:
    """The module of a user's file, before its loader executes it."""
    spec: Any = importlib.util.spec_from_file_location(name, path, loader=SourceLoader(name, path))
    return importlib.util.module_from_spec(spec)


_find_sources = machinery.FileFinder.path_hook(
    (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (SourceLoader, machinery.SOURCE_SUFFIXES),
    (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
)


def _find_own(folder: str) -> Any:
    """The finder of the user's own modules; those of Python, of packages and of assay keep their bytecode."""
    if folder.startswith(_KEPT) or "site-packages" in folder or "dist-packages" in folder:
        raise ImportError
    return _find_sources(folder)


def compile_sources() -> None:
    """Import the user's own modules from their text from now on, so that a change is never overlooked."""
    if _find_own not in sys.path_hooks:
        sys.path_hooks.insert(0, _find_own)
        sys.path_importer_cache.clear()


def _load(where: str, name: str, words: dict[str, Any]) -> tuple[Any, bool]:
    """The object of that name in a file or a module; a class is constructed with the words that it takes."""
    if where.endswith(".py"):
        module = module_of("assay_bridged", where)
        sys.path.insert(0, os.path.dirname(os.path.abspath(where)))
        module.__loader__.exec_module(module)
    else:
        sys.path.append(os.getcwd())
        module = importlib.import_module(where)
    thing = module
    for part in name.split("."):
        thing = getattr(thing, part)
    return (thing(**words), True) if inspect.isclass(thing) else (thing, False)


def _describe(thing: Any, was_made: bool, where: str) -> dict[str, Any]:
    """What assay must know of the object before it calls it."""
    told = {name: attribute(thing, name) for name in _TOLD}
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return {
        "name": getattr(thing, "__name__", None) or type(thing).__name__,
        "module": module,
        "release": release(where, module),
        "is_function": inspect.isroutine(thing),
        "made": was_made,
        "parameters": parameters(thing),
        "methods": {name: parameters(method) for name, method in methods(thing).items()},
        "attributes": {name: value for name, value in told.items() if isinstance(value, (str, bool))},
    }


def methods(thing: Any) -> dict[str, Any]:
    """The public methods of an object, by name."""
    public = [name for name in dir(thing) if not name.startswith("_") and name not in _TOLD]
    members = {name: attribute(thing, name) for name in public}
    return {name: member for name, member in members.items() if inspect.isroutine(member)}


def attribute(thing: Any, name: str) -> Any:
    """An attribute, None where there is none; a property of somebody else's may raise anything."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


def parameters(call: Any) -> list[list[Any]] | None:
    """Names, kinds, whether a value must be given, and annotations as text; None where it does not tell."""
    try:
        listed = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[each.name, int(each.kind), each.default is each.empty, str(each.annotation)] for each in listed]


def release(where: str, module: str) -> str:
    """The digest of a file of the user's; else the version of the package that a module is from, if any."""
    if where.endswith(".py"):
        with open(where, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    try:
        return metadata.version(module.partition(".")[0].replace("_", "-"))
    except metadata.PackageNotFoundError:
        return ""


def _plain(value: Any, depth: int = 0) -> Any:
    """What JSON has: tensors as lists, records and mappings as mappings of their public members."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): _plain(item, depth) for key, item in value.items()}
    if isinstance(value, (list, tuple)) or inspect.isgenerator(value):
        return [_plain(item, depth) for item in value]
    return record(value, depth + 1)


def record(value: Any, depth: int) -> dict[str, Any]:
    """The public attributes of an object; one that is no number is not its score, and left out."""
    names = [name for name in getattr(value, "__dict__", {}) if not name.startswith("_")]
    names += [name for name in ("score", "value") if hasattr(value, name)]
    if not names or depth > _DEEPEST:
        raise TypeError(f"returned a {type(value).__name__}, which is no number")
    members: dict[str, Any] = {"__record__": type(value).__name__}
    for name in names:
        with suppress(TypeError):
            members[name] = _plain(getattr(value, name), depth)
    return members


def answer(thing: Any, request: dict[str, Any]) -> Any:
    """What a method of the object returns."""
    call = getattr(thing, request["method"]) if request["method"] else thing
    value = call(*request["args"], **request["kwargs"])
    if inspect.isawaitable(value):

        async def wait() -> Any:
            return await value

        value = asyncio.run(wait())
    return _plain(value)


def _main() -> None:
    """Answer requests, one line each, until the pipe is closed."""
    requests, answers = (int(word) for word in sys.argv[1:3])
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # assay ends this process when it ends
    compile_sources()
    thing: Any = None
    with os.fdopen(requests, encoding="utf-8") as lines, os.fdopen(answers, "w", encoding="utf-8") as out:
        for line in lines:
            request = json.loads(line)
            reply = {"id": request["id"]}
            try:
                if "where" in request:
                    thing, made = _load(request["where"], request["name"], request["words"])
                    reply["value"] = _describe(thing, made, request["where"])
                else:
                    reply["value"] = answer(thing, request)
            except (Exception, SystemExit) as error:
                reply["error"] = f"{type(error).__name__}: {error}"
            out.write(json.dumps(reply) + "\n")
            out.flush()


if __name__ == "__main__":
    _main()
