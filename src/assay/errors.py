"""What can go wrong, for people.

AuditError            the user can mend it; exit status 2
├── SpecError         a name, key or value on the command line
├── DataError         a file: names file, line and column
│   └── RowError      one row of it, which can be left out
├── MetricError       a metric returned what it must not, or raised
│   ├── TextError     a text that it cannot read
│   └── UnreachableError   a server that a metric needs does not answer; never skipped
├── WeightsError      weights absent, damaged or of the wrong kind
├── CacheError        the cache or the run folder cannot be read or written
└── BudgetError       the run would cost more than allowed
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # C0 but tab and newline, DEL, C1
_ELSEWHERE = "choose another place"
_ADVICE = {
    errno.EEXIST: f"a file is in the way: {_ELSEWHERE}",
    errno.ENOTDIR: f"a file is in the way: {_ELSEWHERE}",
    errno.EISDIR: f"a folder is in the way: {_ELSEWHERE}",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOENT: f"make its folder first, or {_ELSEWHERE}",
} | dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a place that you may write to")


class Stopped(BaseException):
    """Ctrl-C was pressed. It has its own class so that it is never mistaken for an error of a metric."""

    kept = True  # whether what was scored is in a cache


class AuditError(Exception):
    """An error that the user can fix; the message says how."""


class SpecError(AuditError):
    """A name, key or value that assay does not know."""


class DataError(AuditError):
    """A data file that cannot be read as asked."""


class RowError(DataError):
    """A row that cannot be used: where it is, what is wrong, and how many rows are lost with it."""

    def __init__(self, file: Path, unit: str, line: int, problem: str, rows: int = 1) -> None:
        super().__init__(file, unit, line, problem, rows)
        self.file, self.unit, self.line, self.problem, self.rows = file, unit, line, problem, rows

    def __str__(self) -> str:
        return f"{self.file}, {self.place}: {self.problem}"

    @property
    def place(self) -> str:
        return f"{self.unit} {self.line}"

    @property
    def reason(self) -> str:
        """What is wrong without the advice and the cell's own text, so that equal reasons are counted.

        >>> RowError(Path("a.csv"), "line", 3, "it must be a number, not 'good'; write one").reason
        'it must be a number'
        """
        return re.split(r"; |, not '", self.problem, maxsplit=1)[0]


class MetricError(AuditError):
    """A metric breaks its contract."""


class TextError(MetricError):
    """A text that a metric cannot read; whoever runs the metric says which sample it is from."""

    def __init__(self, problem: str, advice: str, text: str) -> None:
        super().__init__(problem, advice, text)
        self.problem, self.advice, self.text = problem, advice, text

    def __str__(self) -> str:
        return f"{self.problem}; {self.advice}"


class UnreachableError(MetricError):
    """A server that does not answer at all: asking again for every sample would only take hours."""


class WeightsError(AuditError):
    """Weights are missing, damaged or of the wrong kind."""


class CacheError(AuditError):
    """A cache or a run folder cannot be used."""


class BudgetError(AuditError):
    """A limit on calls, tokens or cost would be exceeded."""


def harmless(text: str) -> str:
    """The text as a terminal may see it: control characters, which could steer it, become U+FFFD."""
    return _STEERING.sub("\ufffd", text)


def install(extra: str) -> str:
    """The command that installs an extra; the distribution is not called assay, which is another project."""
    return f"pip install 'nlg-assay[{extra}]'"


def unwritable(what: object, error: Exception) -> CacheError:
    """The message for a file, a folder or a stream that cannot be written, with the advice that fits."""
    advice = _ADVICE.get(getattr(error, "errno", None) or 0, f"free some space or {_ELSEWHERE}")
    return CacheError(f"cannot write {what}: {getattr(error, 'strerror', None) or error}; {advice}")


def suggest(wrong: str, known: Iterable[str]) -> str:
    """'; did you mean bleu?' - or the known names when nothing is near."""
    names = sorted(known)
    if below := [name for name in names if name.startswith(f"{wrong}:")]:
        return f"; did you mean one of {', '.join(below)}?"
    if near := nearest(wrong, names):
        return f"; did you mean {near}?"
    return f"; known: {', '.join(names)}" if names else ""


def nearest(wrong: str, known: Iterable[str]) -> str | None:
    """The known name that is most like the wrong one; None if none is near.

    >>> nearest("rouge-l", ["rouge-w", "rougeL"])
    'rougeL'
    """
    names, measure = sorted(known), DamerauLevenshtein.normalized_similarity
    alike = [name for name in names if _letters(name) == _letters(wrong)]
    near = process.extractOne(wrong, names, scorer=measure, processor=str.lower, score_cutoff=0.5)
    return alike[0] if alike and alike[0] else near[0] if near else None


def _letters(name: str) -> str:
    """A name in lower case without punctuation, as people type it; unchanged if nothing else is left."""
    return "".join(filter(str.isalnum, name.lower())) or name
