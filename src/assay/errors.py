"""What can go wrong, for people.

AuditError            the user can mend it; exit status 2
├── SpecError         a name, key or value on the command line
├── DataError         a file: names file, line and column
├── MetricError       a metric returned what it must not, or raised
├── WeightsError      weights absent, damaged or of the wrong kind
├── CacheError        the cache or the run folder cannot be read or written
└── BudgetError       the run would cost more than allowed
"""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein


class AuditError(Exception):
    """Something the user can mend; the message says how."""


class SpecError(AuditError):
    """A name, key or value that assay does not know."""


class DataError(AuditError):
    """A data file that cannot be read as asked."""


class MetricError(AuditError):
    """A metric that broke its contract."""


class WeightsError(AuditError):
    """Weights that are absent, damaged or of another kind."""


class CacheError(AuditError):
    """A cache or run folder that cannot be used."""


class BudgetError(AuditError):
    """A limit of calls, tokens or cost that would be passed."""


def suggest(wrong: str, known: Iterable[str]) -> str:
    """'; did you mean bleu?' - or the known names when nothing is near."""
    names = sorted(known)
    near = process.extractOne(wrong, names, scorer=DamerauLevenshtein.normalized_similarity, score_cutoff=0.5)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; known: {', '.join(names)}" if names else ""
