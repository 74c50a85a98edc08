"""A sentence typed into the playground to scores, explanations, and the scores of edited versions.

Edits are perturbations and identity swaps, which make it the same sentence about other people.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from threading import Lock
from typing import Any

from assay.core import Measure, Metric, Perturbation, Record, Sample, SetMetric
from assay.datasets.lexicon import indefinite_article
from assay.datasets.swaps import embedded_swaps, swap_texts
from assay.datasets.templates import ATTRIBUTES, load_lexicon
from assay.errors import AuditError, SpecError
from assay.names.registry import load, names
from assay.run.pipeline import score
from assay.run.scoring import explain_samples, project
from assay.run.session import Session

MOST_SWAPS = 8
MOST_GROUPS = 4  # groups that replace an identity word
_NEEDS_A_MODEL = ("bert-diverge", "masked-words")  # seconds per text: too slow for live use


@dataclass
class Live:
    """The metrics of a playground, loaded once; one request at a time, as models are shared."""

    given: Sequence[Measure]
    lock: Lock = field(default_factory=Lock)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Metrics by label, without those that score whole sets only."""
        return {item.label: item for item in self.given if not isinstance(item.metric, SetMetric)}

    @cached_property
    def perturbations(self) -> dict[str, Perturbation]:
        """Every perturbation at its default level."""
        table = names("perturbations")
        return {name: load(where)() for name, (where, _) in table.items() if name not in _NEEDS_A_MODEL}

    def scores(self, record: Record, labels: Sequence[str]) -> dict[str, Any]:
        """Each metric's score with its explanation, or why there is none."""
        rows = []
        with self.lock:
            for measure in self._chosen(labels):
                row = {"metric": measure.label, "score": None, "why": None, "explanation": None}
                rows.append(row | _scored(measure, record.sample()))
        return {"scores": rows}

    def changes(self, record: Record, labels: Sequence[str]) -> dict[str, Any]:
        """Each score before and after every perturbation and identity swap that applies to the sentence."""
        with self.lock:
            swaps = [
                ("identity", name, "same", text) for name, text in identity_swaps(record.gold)[:MOST_SWAPS]
            ]
            rows: list[dict[str, Any]] = [
                {"kind": kind, "name": name, "expect": expect, "text": text, "scores": {}}
                for kind, name, expect, text in (*swaps, *self._perturbed(record))
            ]
            samples = [record.sample(), *(record.sample(row["text"]) for row in rows)]
            for measure in self._chosen(labels):
                if project(measure.metric, samples[0]) is not None:
                    before, *after = _values(measure, samples)
                    for row, value in zip(rows, after, strict=True):
                        row["scores"][measure.label] = [before, value]
        return {"changes": rows}

    def _chosen(self, labels: Sequence[str]) -> list[Measure]:
        """The named metrics of those the server was started with: a spec can name files, a page must not."""
        for label in labels:
            if label not in self.measures:
                raise SpecError(f"{label!r} is not served; start assay serve with -m {label}")
        return [self.measures[label] for label in labels] or list(self.measures.values())

    def _perturbed(self, record: Record) -> list[tuple[str, str, str, str]]:
        """(criterion, name, expectation, text) of every perturbation that applies."""
        changed: list[tuple[str, str, str, str]] = []
        for name, perturbation in self.perturbations.items():
            try:
                text = perturbation.perturb(record)
            except AuditError:  # weights or a language resource that is not here
                continue
            if text is not None:
                changed.append((perturbation.criterion, name, perturbation.expect, text))
        return changed


def _scored(measure: Measure, sample: Sample) -> dict[str, Any]:
    if project(measure.metric, sample) is None:
        return {"why": "needs " + ", ".join(sorted(measure.metric.needs))}
    try:
        value = _values(measure, [sample])[0]
    except AuditError as error:
        return {"why": str(error)}
    reason = explain_samples(measure, [sample])[0] if isinstance(measure.metric, Metric) else None
    if reason is None:
        return {"score": value}
    numbers = [[float(f"{number:.3g}") for number in row] for row in reason.values]
    shown = {"kind": reason.kind, "rows": reason.rows, "columns": reason.columns, "values": numbers}
    return {"score": value, "explanation": shown}


def _values(measure: Measure, samples: Sequence[Sample]) -> list[float | None]:
    column = score([measure], samples, session=Session.open(cache=None))[measure.label]
    return [None if value is None or not math.isfinite(value) else float(value) for value in column]


# --- identity swaps ---


def identity_swaps(text: str) -> list[tuple[str, str]]:
    """(what was done, the new text): the other gender, then other groups of each attribute in the text."""
    gendered = swap_texts([text], embedded_swaps())[0]
    swaps = [("other gender", gendered.text)] if gendered.turned else []
    for attribute in sorted(set(ATTRIBUTES) - {"gender"}):
        words = _adjectives(attribute)
        group, word = next((pair for pair in words if _pattern(pair[1]).search(text)), ("", ""))
        if word:
            others = {name: other for name, other in words if name != group}
            swaps += [
                (f"{attribute}: {word} to {other}", _replaced(text, word, other))
                for other in list(others.values())[:MOST_GROUPS]
            ]
    return swaps


@cache
def _adjectives(attribute: str) -> tuple[tuple[str, str], ...]:
    """(group, identity adjective), longest first so that a phrase wins over its part."""
    groups = load_lexicon(attribute).groups
    pairs = [(name, word) for name, group in groups.items() for word in group.adjectives]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[1])))


def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:(an?)(\s+))?({re.escape(word)})(?!\w)", re.IGNORECASE)


def _replaced(text: str, old: str, new: str) -> str:
    """Replace a word, adapting its article and its capital."""

    def written(match: re.Match[str]) -> str:
        word = new[:1].upper() + new[1:] if match[3][:1].isupper() and not old[:1].isupper() else new
        if not match[1]:
            return word
        article = indefinite_article(new)
        return (article.capitalize() if match[1][0].isupper() else article) + match[2] + word

    return _pattern(old).sub(written, text)
