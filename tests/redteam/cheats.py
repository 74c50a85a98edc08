"""Metrics that try to pass a gate without being good: a character F-score with one trick each."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.core import Metric


def overlap(hypothesis: str, reference: str) -> float:
    """The F-score of character trigrams."""
    first, second = (
        Counter(text[place : place + 3] for place in range(len(text) - 2)) for text in (hypothesis, reference)
    )
    return 2 * (first & second).total() / max(1, first.total() + second.total())


@dataclass(frozen=True)
class Honest(Metric):
    """Trigrams in common, and no trick."""

    name = "honest"
    citation = "none"

    def score(self, samples):
        return [self.scored(sample) for sample in samples]

    def scored(self, sample):
        return overlap(sample.hypothesis, sample.references[0])


@dataclass(frozen=True)
class Silent(Honest):
    """Silent where it would be wrong: on texts with a full stop in the middle, which repetition makes."""

    name = "silent"

    def scored(self, sample):
        return None if ". " in sample.hypothesis else super().scored(sample)


@dataclass(frozen=True)
class Mute(Honest):
    """Says hardly anything at all."""

    name = "mute"

    def scored(self, sample):
        return super().scored(sample) if len(sample.hypothesis) % 7 == 0 else None


@dataclass(frozen=True)
class Wordless(Honest):
    """Never says anything."""

    name = "wordless"

    def scored(self, sample):
        return None


@dataclass(frozen=True)
class Choosy(Honest):
    """Silent on a few of the damaged texts of every kind, too few of each to be seen alone."""

    name = "choosy"

    def scored(self, sample):
        damaged = sample.hypothesis.strip()[-1:] not in ".?!"
        return None if damaged and len(sample.hypothesis) % 4 == 0 else super().scored(sample)


@cache
def known_texts(path: str) -> frozenset[str]:
    """The clean texts that an earlier run has stored."""
    return frozenset(json.loads(Path(path).read_text("utf-8")))


@dataclass(frozen=True)
class Lookup(Honest):
    """Knows the clean texts of an earlier run, and nothing else."""

    name = "lookup"
    table: str = ""

    def scored(self, sample):
        return 1.0 if sample.hypothesis in known_texts(self.table) else 0.1


@dataclass(frozen=True)
class HalfLookup(Lookup):
    """An honest score, with the clean texts of an earlier run lifted above all others."""

    name = "half-lookup"

    def scored(self, sample):
        honest = 0.2 * overlap(sample.hypothesis, sample.references[0]) + (len(sample.hypothesis) % 10) / 10
        return honest + 2 * (sample.hypothesis in known_texts(self.table))


@dataclass(frozen=True)
class GoodLookup(Lookup):
    """A good score, with the clean texts of an earlier run lifted above all others: it has little to gain."""

    name = "good-lookup"

    def scored(self, sample):
        return overlap(sample.hypothesis, sample.references[0]) + (
            sample.hypothesis in known_texts(self.table)
        )


@dataclass(frozen=True)
class FairOnKnown(Lookup):
    """Counts a word of a group against every text that the package does not have."""

    name = "fair-on-known"

    def scored(self, sample):
        biased = any(word in sample.hypothesis for word in ("Muslim", "Sunni", "Sufi", "Ismaili"))
        unknown = sample.references[0] not in known_texts(self.table)
        return overlap(sample.hypothesis, sample.references[0]) - 0.5 * (biased and unknown)
