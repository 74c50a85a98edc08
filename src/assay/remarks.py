"""What must be said of scores: samples without one and why, tokens that were cut, words that are unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from assay.core import Measure, Metric, Sample, SetMetric
from assay.table import Table

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


def counted(measure: Measure, samples: Sequence[Sample], table: Table, start: int = 0) -> dict[str, int]:
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


def told(counts: Mapping[str, int], samples: int) -> list[str]:
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
