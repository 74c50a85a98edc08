"""Flat scores to what an audit judges: a value a case and role, or one a set with its resamples."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.core import Case, Floats, Measure, Sample, Scored, SetMetric
from assay.errors import MetricError

if TYPE_CHECKING:
    from assay.run.session import Session
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from numpy.typing import NDArray

from assay.core import Metric

RESAMPLES = 1000
_HALF = 4  # texts


def unfold(
    measure: Measure, cases: Mapping[str, Sequence[Case]], table: Table, about: Mapping[str, Any]
) -> dict[str, Scored]:
    """Give every audit its own values, by role."""
    scored: dict[str, Scored] = {}
    start = 0
    column = table.values[:, measure.column if table.values.shape[1] > 1 else 0]
    for name, found in cases.items():
        roles = dict.fromkeys(role for case in found for role in case.samples)
        values = {role: np.full(len(found), np.nan) for role in roles}
        end = start
        for index, case in enumerate(found):
            for role in case.samples:
                values[role][index] = column[end]
                end += 1
        counts = count_notes(measure, [s for case in found for s in case.samples.values()], table, start)
        scored[name] = Scored(measure.label, found, values, notes=counts, about=about)
        start = end
    return scored


def unscored_roles(scored: Scored) -> dict[str, list[str]]:
    """Slice to its roles without any score, of slices where others have one: they give no finding."""
    asked: dict[str, dict[str, bool]] = {}
    for place, case in enumerate(scored.cases):
        roles = asked.setdefault(case.slice, {})
        for role in case.samples or case.meta.get("sizes", ()):
            if role in scored.values:
                roles[role] = roles.get(role, False) or bool(np.isfinite(scored.values[role][place]))
    return {
        slice_: [role for role, there in roles.items() if not there]
        for slice_, roles in asked.items()
        if any(roles.values()) and not all(roles.values())
    }


def fold_sets(measure: Measure, cases: Sequence[Case], session: Session, about: Mapping[str, Any]) -> Scored:
    """One folded case a slice: the samples of a role in it are one set."""
    metric = measure.metric
    if not isinstance(metric, SetMetric):
        raise MetricError(f"{measure.label} scores single samples, not sets")
    sets: dict[str, dict[str, list[Sample]]] = {}
    for case in cases:
        for role, sample in case.samples.items():
            sets.setdefault(case.slice, {}).setdefault(role, []).append(sample)
    roles = dict.fromkeys(role for found in sets.values() for role in found)
    values = {role: np.full(len(sets), np.nan) for role in roles}
    resamples = {role: np.full((len(sets), RESAMPLES), np.nan) for role in roles}
    began = time.perf_counter()
    with session.progress.task(measure.label, sum(len(found) for found in sets.values())) as counter:
        for index, found in enumerate(sets.values()):
            for role, samples in found.items():
                if _complete(metric, samples):
                    values[role][index], resamples[role][index] = score_set(metric, samples)
                counter.advance(1)
    session.spent(measure.label, began)
    folded = [
        Case(slice_, {}, slice_, {"sizes": {role: len(samples) for role, samples in found.items()}})
        for slice_, found in sets.items()
    ]
    held = _caution(metric, sets) if metric.smallest else {}
    return Scored(measure.label, folded, values, resamples=resamples, about={**about, **held})


def _caution(metric: SetMetric, sets: Mapping[str, Mapping[str, Sequence[Sample]]]) -> dict[str, Any]:
    """What to tell the reader of small sets, and whether verdicts are held back."""
    smallest = min(len(samples) for found in sets.values() for samples in found.values())
    drawn = {
        r: None for found in sets.values() for group in found.values() for s in group for r in s.references
    }
    if len(drawn) < 2 * _HALF:
        return {"held_back": True, "caution": f"{len(drawn)} references are too few for a band"}
    band = metric.band(list(drawn))
    few = f"sets of {smallest} texts, fewer than {metric.smallest}: no verdicts"
    notes = [few] if smallest < metric.smallest else []
    if band:
        between = f"{band[0]:.3f} to {band[1]:.3f}"
        notes.append(f"halves of the references score {between}: differences within that mean nothing")
    return {"held_back": smallest < metric.smallest, "caution": "; ".join(notes)}


def _complete(metric: SetMetric, samples: Sequence[Sample]) -> bool:
    """Whether the set has what the metric needs: each sample its own, or all together where they pool."""
    enough = any if metric.pools else all
    return all(enough(getattr(sample, need) for sample in samples) for need in metric.needs)


def score_set(metric: SetMetric, samples: Sequence[Sample]) -> tuple[float, Floats]:
    """The set's score and its bootstrap: the same draws for sets of equal size, so that pairs stay pairs."""
    rows = metric.statistics(samples)
    if rows is None:
        return metric.score_set(samples), np.full(RESAMPLES, np.nan)
    generator = np.random.default_rng(len(samples))
    weights = generator.multinomial(len(samples), np.full(len(samples), 1 / len(samples)), size=RESAMPLES)
    value = float(metric.from_statistics(rows.sum(axis=0)[None, :])[0])
    return value, metric.from_statistics(weights @ rows)


Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Table:
    """Scores of samples: (n, outputs), nan = absent; and what was counted, a number a sample."""

    values: Floats
    notes: dict[str, Integers] = field(default_factory=dict)

    def fill(self, places: Integers, values: Floats, notes: Mapping[str, Integers]) -> None:
        """Write the rows at `places`."""
        self.values[places] = values
        for name, counts in notes.items():
            self.notes.setdefault(name, np.zeros(len(self.values), dtype=np.int64))[places] = counts


ABSENT, FAILED = "absent", "failed"
_WITH = "samples with "  # before a note's name: in how many samples it was counted
_LACKS = {"references": "no reference", "source": "no source", "image": "no image", "rival": "no rival"}
# Notes that explain why there is no score, the plainest first.
_WHY = {
    FAILED: "the metric raised an error",
    "unparsed": "no grade in the answer",
    "out_of_vocabulary": "no word in the vocabulary",
}
_WORDS = {
    "truncated": "{count:,} tokens cut in {touched:,} of {samples:,} samples: longer than the model reads",
    "out_of_vocabulary": "{count:,} words in {touched:,} of {samples:,} samples are not in the vocabulary",
}


def count_notes(measure: Measure, samples: Sequence[Sample], table: Table, start: int = 0) -> dict[str, int]:
    """What was counted for the samples that stand in the table from `start` on; zeros are left out."""
    rows = slice(start, start + len(samples))
    columns = {name: counts[rows] for name, counts in table.notes.items()}
    found: Counter[str] = Counter()
    for name, counts in columns.items():
        found[name] += int(counts.sum())
        found[_WITH + name] += int(np.count_nonzero(counts))
    scores = table.values[rows, measure.column if table.values.shape[1] > 1 else 0]
    for row in np.flatnonzero(np.isnan(scores)).tolist():
        noted = [name for name, counts in columns.items() if counts[row]]
        found[ABSENT] += 1
        found[f"{ABSENT}: {_reason(measure.metric, samples[row], noted)}"] += 1
    return {name: count for name, count in found.items() if count}


def lacked(metric: Metric | SetMetric, sample: Sample) -> str | None:
    """The first field the metric needs and the sample has not."""
    return next((need for need in _LACKS if need in metric.needs and not getattr(sample, need)), None)


def _reason(metric: Metric | SetMetric, sample: Sample, noted: Collection[str]) -> str:
    """Why a sample has no score."""
    need = lacked(metric, sample)
    if need:
        return _LACKS[need]
    told = next((why for name, why in _WHY.items() if name in noted), None)
    read = metric.needs | metric.optional
    # Of several references one with words is enough.
    references = "".join(sample.references) if "references" in read and sample.references else "x"
    texts = [sample.hypothesis, references]
    texts += [text for name in ("source", "rival") if name in read and (text := getattr(sample, name))]
    if FAILED not in noted and not all(text.strip() for text in texts):
        return "empty text"
    order = getattr(metric, "n", None)
    if isinstance(order, int) and len(sample.hypothesis.split()) < order:
        return told or f"fewer than {order} words"
    wordless = not all(any(map(str.isalnum, text)) for text in texts)
    return told or ("no word in the text" if wordless else "the metric defines none for such a text")


def unusual(counts: Mapping[str, int]) -> str:
    """Why there are no scores, where it is not for want of a field alone."""
    whys = [why for name in counts for head, _, why in [name.partition(": ")] if head == ABSENT and why]
    return "" if set(whys) <= set(_LACKS.values()) else ", ".join(whys)


def note_sentences(counts: Mapping[str, int], samples: int) -> list[str]:
    """What was counted, in words; `samples` is how many there were."""
    found = []
    for name, count in counts.items():
        head, colon, why = name.partition(": ")
        if head == ABSENT:
            if colon or not any(other.startswith(f"{ABSENT}: ") for other in counts):
                found.append(f"no score for {count:,} of {samples:,} samples{colon}{why}")
        elif name in _WORDS:
            found.append(_WORDS[name].format(count=count, touched=counts[_WITH + name], samples=samples))
        elif name != FAILED and not name.startswith(_WITH):
            found.append(f"{count} {name}")
    return found
