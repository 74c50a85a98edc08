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
from importlib import metadata
from typing import Any

_DEEPEST = 6  # records within records that are read
_TOLD = ("name", "task", "higher_is_better")  # plain attributes by which metrics are recognised


def load(where: str, name: str, words: dict[str, Any]) -> tuple[Any, bool]:
    """The object of that name in a file or a module; a class is constructed with the words that it takes."""
    if where.endswith(".py"):
        spec: Any = importlib.util.spec_from_file_location("assay_bridged", where)
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, os.path.dirname(os.path.abspath(where)))
        spec.loader.exec_module(module)
    else:
        sys.path.append(os.getcwd())
        module = importlib.import_module(where)
    thing = module
    for part in name.split("."):
        thing = getattr(thing, part)
    return (thing(**words), True) if inspect.isclass(thing) else (thing, False)


def describe(thing: Any, was_made: bool, where: str) -> dict[str, Any]:
    """What assay must know of the object before it calls it."""
    methods: dict[str, Any] = {}
    for name in dir(thing):
        if not name.startswith("_") and name not in _TOLD:
            methods.update(_method(thing, name))
    told = {name: getattr(thing, name, None) for name in _TOLD}
    return {
        "name": getattr(thing, "__name__", None) or type(thing).__name__,
        "module": getattr(thing, "__module__", None) or type(thing).__module__,
        "release": release(where, getattr(thing, "__module__", None) or type(thing).__module__),
        "is_function": inspect.isroutine(thing),
        "made": was_made,
        "callable": callable(thing),
        "parameters": parameters(thing),
        "methods": methods,
        "attributes": {key: value for key, value in told.items() if isinstance(value, (str, bool))},
    }


def _method(thing: Any, name: str) -> dict[str, Any]:
    try:
        method = getattr(thing, name)
    except Exception:  # a property of somebody else's may raise anything
        return {}
    return {name: parameters(method)} if inspect.isroutine(method) else {}


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


def plain(value: Any, depth: int = 0) -> Any:
    """What JSON has: tensors as lists, records and mappings as mappings of their public members."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item, depth) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict(), depth)
    if isinstance(value, (list, tuple)) or inspect.isgenerator(value):
        return [plain(item, depth) for item in value]
    if depth > _DEEPEST:
        raise TypeError(f"returned records nested more than {_DEEPEST} deep")
    fields = {key: item for key, item in getattr(value, "__dict__", {}).items() if not key.startswith("_")}
    fields.update({key: getattr(value, key) for key in ("score", "value") if hasattr(value, key)})
    if not fields:
        raise TypeError(f"returned a {type(value).__name__}, which is no number")
    members = {key: _field(item, depth + 1) for key, item in fields.items()}
    return {"__record__": type(value).__name__, **members}


def _field(value: Any, depth: int) -> Any:
    try:
        return plain(value, depth)
    except TypeError:  # a member that is no number is not the score
        return None


def answer(thing: Any, request: dict[str, Any]) -> Any:
    """What a method of the object returns."""
    call = getattr(thing, request["method"]) if request["method"] else thing
    value = call(*request["args"], **request["kwargs"])
    if inspect.isawaitable(value):

        async def wait() -> Any:
            return await value

        value = asyncio.run(wait())
    return plain(value)


def main() -> None:
    """Answer requests, one line each, until the pipe is closed."""
    requests, answers = (int(word) for word in sys.argv[1:3])
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # assay ends this process when it ends
    thing: Any = None
    with os.fdopen(requests, encoding="utf-8") as lines, os.fdopen(answers, "w", encoding="utf-8") as out:
        for line in lines:
            request = json.loads(line)
            reply = {"id": request["id"]}
            try:
                if "where" in request:
                    thing, made = load(request["where"], request["name"], request["words"])
                    reply["value"] = describe(thing, made, request["where"])
                else:
                    reply["value"] = answer(thing, request)
            except (Exception, SystemExit) as error:
                reply["error"] = f"{type(error).__name__}: {error}"
            out.write(json.dumps(reply) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
