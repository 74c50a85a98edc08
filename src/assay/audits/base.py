"""What audits share: the fields of their data, how their sentences read, and a check of names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from assay.core import Audit, Finding
from assay.errors import DataError, suggest
from assay.grouping import grouped
from assay.vocabulary import NonNegative, Rule

_Element = TypeVar("_Element")


@dataclass(frozen=True)
class DataAudit(Audit):
    """An audit of the user's files, or of embedded data where none are given."""

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None  # items per dataset


@dataclass(frozen=True)
class TextAudit(DataAudit):
    """An audit of records, or of a file of texts with its file of references."""

    references: Path | None = None


def check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that is not known, and suggest one that is."""
    for name in names:
        if name not in known:
            raise DataError(f"{what} {name!r}{suggest(name, known)}")


def spread_out(items: Sequence[_Element], limit: int | None) -> list[_Element]:
    """At most `limit` items at even distances.

    >>> spread_out(range(10), 4)
    [0, 2, 5, 7]
    """
    if limit is None or len(items) <= limit:
        return list(items)
    return [items[number * len(items) // limit] for number in range(limit)]


def left_out(name: str, total: int, reasons: Mapping[str, int], what: str = "items") -> list[str]:
    """Notes on how many items of a dataset are not asked about, by reason.

    >>> left_out("mine", 9, {"no source": 2, "no gold": 0})
    ['mine: 2 of 9 items left out: no source']
    """
    return [f"{name}: {n} of {total} {what} left out: {reason}" for reason, n in reasons.items() if n]


def without_a_unit(findings: Iterable[Finding]) -> list[str]:
    """A note on the metrics whose effects have no unit: a lost word costs them nothing for sure."""
    effects = [finding for finding in findings if finding.statistic == "lost_words"]
    by_metric = grouped(effects, lambda finding: finding.metric)
    silent = [metric for metric, rows in by_metric.items() if not any(row.ci for row in rows)]
    named = ", ".join(silent)
    return [f"not judged, a text with a word missing does not surely score lower: {named}"] if silent else []


def in_words(part: str) -> str:
    """A part of a slice as words: `sentence-switching` is "sentence switching"."""
    return part.replace("-", " ").replace("_", " ")


def order_in_words(finding: Finding, better: str, worse: str) -> str:
    """How often a metric decides rightly between two kinds of text, in words.

    >>> finding = Finding("bleu", "a", "s", "right_order", 57.0, 60, ci=(44, 69))
    >>> order_in_words(finding, "a summary", "a shorter one")
    'bleu prefers a summary to a shorter one in only 57 of 100 cases.'
    """
    if finding.ci is not None and finding.ci[1] < 50:
        return f"{finding.metric} prefers {worse} to {better} in {100 - finding.value:.0f} of 100 cases."
    return f"{finding.metric} prefers {better} to {worse} in only {finding.value:.0f} of 100 cases."
