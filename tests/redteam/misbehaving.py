"""Metrics that misbehave, each in its own way on the text that says so; a plug-in for `-m misbehaving.py:NAME`.

`EXPECTED` has what the command line must say of each; None means that the metric is right after all.
"""

from __future__ import annotations

import asyncio
import decimal
import os
import sys
import time
from dataclasses import dataclass

import numpy as np

from assay import Metric
from assay.core import Scores, SetMetric

BAD = "bad text"
EXPECTED: dict[str, str | None] = {}


class OwnError(Exception):
    """A class that nothing else knows."""


class SilentError(Exception):
    """A class that cannot say what it is about."""

    def __str__(self):
        raise RuntimeError("no words")


def _name_error():
    return undefined_name  # noqa: F821


def _recursion():
    return _recursion()


def _hang_in_except():
    while True:
        try:
            time.sleep(60)
        except Exception:
            continue


def _spin():
    while True:
        pass


def _raise(error):
    raise error


# Name to what happens on the bad text, and the words that the message must hold.
RAISED = {
    "Value": (lambda: _raise(ValueError("cannot read")), "ValueError: cannot read"),
    "Name": (_name_error, "NameError"),
    "Import": (lambda: _raise(ImportError("no such thing")), "ImportError"),
    "Stop": (lambda: next(iter(())), "StopIteration"),
    "Own": (lambda: _raise(OwnError("mine")), "OwnError: mine"),
    "Group": (lambda: _raise(ExceptionGroup("both", [ValueError("a"), TypeError("b")])), "ExceptionGroup"),
    "Memory": (lambda: _raise(MemoryError()), "MemoryError"),
    "ExitZero": (lambda: sys.exit(0), "SystemExit: 0"),
    "ExitOne": (lambda: sys.exit(1), "SystemExit: 1"),
    "EndOfFile": (lambda: _raise(EOFError("end")), "EOFError"),
    "GeneratorEnds": (lambda: _raise(GeneratorExit("gone")), "GeneratorExit: gone"),
    "Silent": (lambda: _raise(SilentError()), "SilentError: (its message cannot be read)"),
    "Cancelled": (lambda: _raise(asyncio.CancelledError()), "CancelledError"),
    "Recursion": (_recursion, "RecursionError"),
    "Assertion": (lambda: _raise(AssertionError("no")), "AssertionError"),
    "System": (lambda: _raise(OSError(28, "No space left on device")), "OSError"),
    "Unicode": (lambda: "\udc80".encode(), "UnicodeEncodeError"),
    "Zero": (lambda: 1 / 0, "ZeroDivisionError"),
    "Sleeps": (lambda: time.sleep(600), "no answer within"),
    "Spins": (_spin, "no answer within"),
    "HangsInExcept": (_hang_in_except, "no answer within"),
}
# Name to the answer for a batch that holds the bad text, and the words of the message.
RETURNED = {
    "Dict": (lambda n: dict(enumerate(range(14, 14 + n))), "returned dict, not a list"),
    "Masked": (lambda n: np.ma.masked_array(np.ones(n), [True] * n), "returned MaskedArray"),
    "Complex": (lambda n: [1 + 1j] * n, "not a number"),
    "ComplexArray": (lambda n: np.full(n, 1j), "not a number"),
    "Digits": (lambda n: "5" * n, "returned str, not a list"),
    "Texts": (lambda n: ["0.5"] * n, "not a number"),
    "Bytes": (lambda n: b"5" * n, "returned bytes"),
    "SetOf": (lambda n: set(range(n)), "returned set"),
    "Nothing": (lambda n: None, "returned NoneType"),
    "Generator": (lambda n: (1.0 for _ in range(n)), "returned generator"),
    "Short": (lambda n: [1.0] * (n - 1), "scores for"),
    "Infinite": (lambda n: [float("inf")] * n, "returned [inf]"),
    "NotANumber": (lambda n: [float("nan")] * n, "returned [nan]"),
    "Huge": (lambda n: [10**400] * n, "not a number"),
    "Dates": (lambda n: np.full(n, np.datetime64("2020-01-01")), "not a number"),
    "Notes": (lambda n: Scores([1.0] * n, {"x": [1] * (n + 1)}), "counted x"),
    "Decimals": (lambda n: [decimal.Decimal("0.5")] * n, None),
    "Booleans": (lambda n: [True] * n, None),
    "Absent": (lambda n: [None] * n, None),
}


def _misbehaving(name, *, happens=None, answers=None):
    def score(self, samples):
        if any(BAD in sample.hypothesis for sample in samples):
            if happens is not None:
                happens()
            else:
                return answers(len(samples))
        return [float(len(sample.hypothesis)) for sample in samples]

    kind = type(name, (Metric,), {"name": name.lower(), "score": score, "__module__": __name__})
    return dataclass(frozen=True)(kind)


for _name, (_happens, _words) in RAISED.items():
    globals()[_name] = _misbehaving(_name, happens=_happens)
    EXPECTED[_name] = _words
for _name, (_answers, _words) in RETURNED.items():
    globals()[_name] = _misbehaving(_name, answers=_answers)
    EXPECTED[_name] = _words


@dataclass(frozen=True)
class Prints(Metric):
    """Prints at every level that a process has."""

    name = "prints"

    def score(self, samples):
        print("printed by the metric")
        os.write(1, b"written to the descriptor\n")
        os.system("echo echoed by a child")
        return [1.0] * len(samples)


@dataclass(frozen=True)
class Crashes(Metric):
    """Ends its process on the bad text; only workers survive that."""

    name = "crashes"

    def score(self, samples):
        if any(BAD in sample.hypothesis for sample in samples):
            os._exit(11)
        return [float(len(sample.hypothesis)) for sample in samples]


@dataclass(frozen=True)
class Prepares(Metric):
    """Cannot be loaded."""

    name = "prepares"

    def prepare(self):
        raise NameError("weights")

    def score(self, samples):
        return [1.0] * len(samples)


def _set(name, happens):
    def score_set(self, samples):
        return happens()

    kind = type(name, (SetMetric,), {"name": name.lower(), "score_set": score_set, "__module__": __name__})
    return dataclass(frozen=True)(kind)


SETS = {"SetRaises": (lambda: _raise(NameError("set")), "NameError: set"), "SetHangs": (_spin, "no answer within"),
        "SetInfinite": (lambda: float("inf"), "returned inf"), "SetText": (lambda: "7", "not a number")}  # fmt: skip
for _name, (_happens, _) in SETS.items():
    globals()[_name] = _set(_name, _happens)


def _grid(name, happens):
    def grid(self, rows, columns):
        return happens(len(rows), len(columns))

    def score(self, samples):
        return [float(len(sample.hypothesis) + len(sample.references[0])) for sample in samples]

    members = {"name": name.lower(), "grid": grid, "score": score, "__module__": __name__}
    return dataclass(frozen=True)(type(name, (Metric,), members))


GRIDS = {
    "GridRaises": (lambda r, c: _raise(NameError("grid")), "NameError: grid"),
    "GridHangs": (lambda r, c: _spin(), "no answer within"),
    "GridShape": (lambda r, c: np.ones((c + 1, r)), "returned an array of shape"),
    "GridInfinite": (lambda r, c: np.full((r, c), np.inf), "returned an array of shape"),
    "GridComplex": (lambda r, c: np.full((r, c), 1j), "not a number"),
}
for _name, (_happens, _) in GRIDS.items():
    globals()[_name] = _grid(_name, _happens)


@dataclass(frozen=True)
class Wanders(Metric):
    """Goes to another folder whenever it is called, and stays there."""

    name = "wanders"

    def prepare(self):
        os.chdir("/")

    def score(self, samples):
        os.chdir("/tmp")
        return [float(len(sample.hypothesis)) for sample in samples]


def _rewrite(samples):
    for sample in samples:
        object.__setattr__(sample, "hypothesis", "written over")
        object.__setattr__(sample, "references", ("written over",))


@dataclass(frozen=True)
class Rewrites(Metric):
    """Writes over what it is given."""

    name = "rewrites"

    def score(self, samples):
        lengths = [float(len(sample.hypothesis)) for sample in samples]
        _rewrite(samples)
        return lengths

    def explain(self, sample):
        _rewrite([sample])


@dataclass(frozen=True)
class RewritesSets(SetMetric):
    """Writes over the sets that it is given."""

    name = "rewrites-sets"

    def score_set(self, samples):
        total = float(sum(len(sample.hypothesis) for sample in samples))
        _rewrite(samples)
        return total
