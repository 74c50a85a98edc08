"""What can go wrong, for people.

AuditError            the user can mend it; exit status 2
├── SpecError         a name, key or value on the command line
├── DataError         a file: names file, line and column
├── MetricError       a metric returned what it must not, or raised
│   └── TextError     a text that it cannot read
├── WeightsError      weights absent, damaged or of the wrong kind
├── CacheError        the cache or the run folder cannot be read or written
└── BudgetError       the run would cost more than allowed
"""

from __future__ import annotations

import errno
from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein

_ELSEWHERE = "choose another place"
_ADVICE = {
    errno.EEXIST: f"a file is in the way: {_ELSEWHERE}",
    errno.ENOTDIR: f"a file is in the way: {_ELSEWHERE}",
    errno.EISDIR: f"a folder is in the way: {_ELSEWHERE}",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOENT: f"make its folder first, or {_ELSEWHERE}",
} | dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a place that you may write to")


class AuditError(Exception):
    """Something the user can mend; the message says how."""


class SpecError(AuditError):
    """A name, key or value that assay does not know."""


class DataError(AuditError):
    """A data file that cannot be read as asked."""


class MetricError(AuditError):
    """A metric that broke its contract."""


class TextError(MetricError):
    """A text that a metric cannot read; whoever runs the metric says which sample it is from."""

    def __init__(self, problem: str, advice: str, text: str) -> None:
        super().__init__(problem, advice, text)
        self.problem, self.advice, self.text = problem, advice, text

    def __str__(self) -> str:
        """The message as people read it."""
        return f"{self.problem}; {self.advice}"


class WeightsError(AuditError):
    """Weights that are absent, damaged or of another kind."""


class CacheError(AuditError):
    """A cache or run folder that cannot be used."""


class BudgetError(AuditError):
    """A limit of calls, tokens or cost that would be passed."""


def unwritable(what: object, error: Exception) -> CacheError:
    """The message for a file, a folder or a stream that cannot be written, with the advice that fits."""
    number = getattr(error, "errno", None)
    advice = _ADVICE.get(number) if number is not None else None
    reason = getattr(error, "strerror", None) or error
    return CacheError(f"cannot write {what}: {reason}; {advice or f'free some space or {_ELSEWHERE}'}")


def suggest(wrong: str, known: Iterable[str]) -> str:
    """'; did you mean bleu?' - or the known names when nothing is near."""
    names = sorted(known)
    below = [name for name in names if name.startswith(f"{wrong}:")]
    if below:
        return f"; did you mean one of {', '.join(below)}?"
    measure = DamerauLevenshtein.normalized_similarity
    near = process.extractOne(wrong, names, scorer=measure, processor=str.lower, score_cutoff=0.5)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; known: {', '.join(names)}" if names else ""
