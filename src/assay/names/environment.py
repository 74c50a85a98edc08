"""A metric in another environment, called over two pipes: `env:PATH/bin/python:module:object`.

For packages that cannot be installed beside assay. The other Python needs nothing of ours: it runs bridge.py.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from assay.errors import SpecError, UnreachableError

_BRIDGE = Path(__file__).with_name("bridge.py")


class Environment:
    """A process of another Python with one object in it; ended with this one."""

    def __init__(self, python: str, where: str, name: str, words: Mapping[str, Any]) -> None:
        """Start it and load the object there; `words` go to its constructor."""
        self.python, self.place = python, f"{where}:{name}"
        self.start = (python, where, name, dict(words))
        self._count = 0
        self._process = self._started()
        request = {"where": where, "name": name, "words": dict(words)}
        self.about: dict[str, Any] = self._ask(request, loading=True)

    def _started(self) -> subprocess.Popen[bytes]:
        path = Path(self.python).expanduser()
        theirs, ours = os.pipe(), os.pipe()
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        try:
            process = subprocess.Popen(
                [path, "-u", _BRIDGE, str(theirs[0]), str(ours[1])],
                stdin=subprocess.DEVNULL, stdout=2, pass_fds=(theirs[0], ours[1]), env=environment,
            )  # fmt: skip
        except OSError as error:
            for end in (*theirs, *ours):
                os.close(end)
            raise SpecError(
                f"cannot start {self.python}: {error.strerror}; give the Python of an environment, such as "
                "env:VENV/bin/python:module:object"
            ) from error
        os.close(theirs[0])
        os.close(ours[1])
        self._requests = open(theirs[1], "w", encoding="utf-8")  # noqa: SIM115
        self._answers = open(ours[0], encoding="utf-8")  # noqa: SIM115
        weakref.finalize(self, _end, process, self._requests, self._answers)
        return process

    def call(self, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a method of the object returns there; the object itself for an empty name."""
        return _read(self._ask({"method": method, "args": args, "kwargs": kwargs}))

    def _ask(self, request: dict[str, Any], *, loading: bool = False) -> Any:
        self._count += 1
        try:
            self._requests.write(json.dumps(request | {"id": self._count}) + "\n")
            self._requests.flush()
            reply = self._reply()
        except (BrokenPipeError, EOFError) as error:
            raise self._gone(loading) from error
        if "error" not in reply:
            return reply["value"]
        if loading:
            raise SpecError(f"{self.place} cannot be loaded by {self.python}: {reply['error']}")
        raise RuntimeError(f"{reply['error']} (in {self.python})")

    def _reply(self) -> dict[str, Any]:
        """The answer to the last request; those to requests that were given up are passed over."""
        while line := self._answers.readline():
            reply: dict[str, Any] = json.loads(line)
            if reply["id"] == self._count:
                return reply
        raise EOFError

    def _gone(self, loading: bool) -> Exception:
        status = self._process.wait()
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        if loading:
            return SpecError(
                f"{self.python} {how} before it loaded {self.place}: is it the Python of an environment?"
            )
        return UnreachableError(
            f"{self.python} {how} while {self.place} was scoring: see its own words above"
        )

    def __reduce__(self) -> Any:
        return Environment, self.start


def _end(process: subprocess.Popen[bytes], requests: IO[str], answers: IO[str]) -> None:
    """End a process, which stops when its pipe is closed."""
    for pipe in (requests, answers):
        with suppress(OSError):
            pipe.close()
    process.wait()


def _read(value: Any) -> Any:
    """A value from there, records as objects with attributes."""
    if isinstance(value, list):
        return [_read(item) for item in value]
    if isinstance(value, dict):
        members = {key: _read(item) for key, item in value.items() if key != "__record__"}
        return SimpleNamespace(**members) if "__record__" in value else members
    return value


class _Method:
    """A method of an object in another environment, with its signature."""

    def __init__(self, environment: Environment, name: str, parameters: list[list[Any]] | None) -> None:
        self._environment, self._name = environment, name
        if parameters is not None:
            self.__signature__ = inspect.Signature([_parameter(*each) for each in parameters])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._environment.call(self._name, args, kwargs)


def _parameter(name: str, kind: int, is_required: bool, annotation: str) -> inspect.Parameter:
    default = inspect.Parameter.empty if is_required else None
    return inspect.Parameter(name, inspect._ParameterKind(kind), default=default, annotation=annotation)


class Remote:
    """An object in another environment: its methods can be called, and it says what it is."""

    outside = "the state of an object in another environment"  # why its scores are not kept

    def __init__(self, environment: Environment) -> None:
        """Know the object's methods and plain attributes."""
        about = environment.about
        self._environment, self._methods = environment, about["methods"]
        self.name: str = about["name"]
        self.library: str = about["module"]
        self.is_function: bool = about["is_function"]
        self.is_made: bool = about["made"]
        vars(self).update(about["attributes"])
        if about["parameters"] is not None:
            self.__signature__ = _Method(environment, "", about["parameters"]).__signature__

    @classmethod
    def load(cls, python: str, where: str, name: str, words: Mapping[str, Any], release: str = "") -> Remote:
        """The object of that name in an environment, where it must be of that release, if one is given."""
        environment = Environment(python, where, name, words)
        found = environment.about["release"]
        if release not in ("", found):
            raise SpecError(f"{where}:{name} in {python} was changed during the run; start it again")
        return cls(environment)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._environment.call("", args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._methods:
            raise AttributeError(name)
        return _Method(self._environment, name, self._methods[name])

    def __reduce__(self) -> Any:
        return Remote.load, (*self._environment.start, self._environment.about["release"])
