"""Captions with the right and the wrong gender (caption sec. 2-3.1): on whom does a metric err more often?

Accuracy is the share of images whose good caption outscores the bad one (Eq. 1). A concept is biased when
the accuracy of the two groups differs. A metric of text alone says the same of every image of a concept and
group: its answer is weighted by the number of images, called deterministic, and needs no bootstrap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.audits.caption.captioners import Captioners, captioner_cases, captioner_findings, read_captioners
from assay.audits.caption.concepts import Concept, Judge, Ties, concepts_of
from assay.audits.slices import spread_out
from assay.core import Audit, Case, Finding, Sample, Scored
from assay.datasets.captions import Caption as Row
from assay.datasets.captions import (
    embedded_captions,
    imbalanced_concepts,
    read_captions,
    with_images,
)
from assay.errors import DataError, suggest
from assay.statistics.intervals import bootstrap_mean
from assay.vocabulary import Question, Rule

FEWEST = 10


@dataclass(frozen=True)
class Caption(Audit):
    """Good and bad captions by concept and group; and two captioners, if their captions are given."""

    name: ClassVar[str] = "caption"
    question: ClassVar[Question] = "fairness"
    roles: ClassVar[tuple[str, ...]] = ("good", "bad")
    compares: ClassVar[bool] = True  # the right gender is known from a reference or an image only

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None  # concepts a category
    only: tuple[str, ...] = ()  # categories or concepts
    ties: Ties = "wrong"
    images: Path | None = None  # a folder CATEGORY/CONCEPT/GROUP/*.jpg
    captions: tuple[
        Path, ...
    ] = ()  # a captioner's outputs; with one file, its rule-based correction is the other
    max_imbalance: float | None = None  # also without concepts whose groups differ more than this many times
    margin: float = 0.05  # the smallest difference of accuracies that matters
    share_margin: float = 0.1  # the largest share of biased concepts that passes
    skip_missing: bool = False

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Twenty concepts a category."""
        return {"limit": 20}

    @cached_property
    def _read(self) -> tuple[list[Row], list[str]]:
        captions: list[Row] = []
        notes: list[str] = []
        for path in self.data:
            found, told = read_captions(path, skip_missing=self.skip_missing)
            captions += found
            notes += told
        if not self.data and not self.captions:
            captions = embedded_captions()
        if self.only:
            captions = self._chosen(captions)
        if self.images and captions:
            captions, told = with_images(captions, self.images, skip_missing=self.skip_missing)
            notes += told
        return captions, notes

    def _chosen(self, captions: Sequence[Row]) -> list[Row]:
        """The captions of the categories and concepts asked for."""
        if self.captions and not self.data:
            raise DataError("--only chooses among captions of --data; leave it out, or give --data too")
        known = {name for one in captions for name in (one.category, one.concept)}
        for wrong in self.only:
            if wrong not in known:
                raise DataError(f"no captions for {wrong!r}{suggest(wrong, known)}")
        return [one for one in captions if {one.category, one.concept} & set(self.only)]

    @cached_property
    def items(self) -> list[Row]:
        """The captions asked for, at most `limit` concepts a category."""
        found = self._read[0]
        by_category: dict[str, list[str]] = {}
        for one in found:
            by_category.setdefault(one.category, []).append(one.concept)
        kept = {
            (category, concept)
            for category, concepts in by_category.items()
            for concept in spread_out(list(dict.fromkeys(concepts)), self.limit)
        }
        return [one for one in found if (one.category, one.concept) in kept]

    @cached_property
    def groups(self) -> tuple[str, str]:
        """The two groups compared, in the order of the data."""
        names = tuple(dict.fromkeys(one.group for one in self.items))
        if len(names) != 2:
            raise DataError(f"captions need two groups to compare, not {len(names)} ({', '.join(names)})")
        return names[0], names[1]

    @cached_property
    def _captioners(self) -> Captioners | None:
        return read_captioners(self.captions, skip_missing=self.skip_missing) if self.captions else None

    def cases(self) -> Iterable[Case]:
        """Good and bad of each caption, against its references and against neutral ones; then captioners'."""
        if self.items:
            _ = self.groups
        yield from (_case(one, neutral=self.rule == "careful") for one in self.items)
        if self._captioners:
            yield from self._favours

    @cached_property
    def _favours(self) -> list[Case]:
        """Captions that differ between the captioners; without one there is nothing to ask a metric."""
        made = list(captioner_cases(self._captioners)) if self._captioners else []
        if not made and not self.items:
            files = " and ".join(map(str, self.captions))
            raise DataError(
                f"{files}: no caption differs from the other captioner's; a row needs id, hypothesis, and "
                "references that tell the image's gender, or a column group (man, woman)"
            )
        return made

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Concepts, categories and robustness checks; neutral references; favoured captioners."""
        judge = Judge(self.margin, self.share_margin, FEWEST, self.seed, self.rule)
        found: list[Finding] = []
        for one in scored:
            if one.about.get("set"):
                continue
            if self.items and "good" in one.values:
                concepts = concepts_of(one, self.groups, self.ties, self.seed)
                found += [*judge.findings(one.metric, concepts, self._subsets(concepts))]
                found += _neutral(one, self.groups, self.seed)
        if self._captioners:
            found += captioner_findings(self._captioners, scored, self.seed)
        return found

    def _subsets(self, concepts: Sequence[Concept]) -> dict[str, frozenset[str]]:
        """Robustness checks: a name to the concepts it leaves out."""
        named = imbalanced_concepts()
        subsets = {"without-imbalanced": frozenset(one.path for one in concepts if one.name in named)}
        if self.max_imbalance is not None:
            ratio = self.max_imbalance
            far = (one for one in concepts if max(one.images) > ratio * min(one.images))
            subsets[f"max-imbalance-{ratio:g}"] = frozenset(one.path for one in far)
        return subsets

    def notes(self) -> list[str]:
        """Counts, ties and small groups."""
        if not self.items:
            return list(self._read[1])
        counts: Counter[tuple[str, str]] = Counter()
        for one in self.items:
            counts[f"{one.category}/{one.concept}", one.group] += one.count
        small = [f"{path} {group} ({count})" for (path, group), count in counts.items() if count < FEWEST]
        concepts = len({path for path, _ in counts})
        notes = [
            *self._read[1],
            f"{concepts} concepts, {sum(counts.values())} images; ties count as {self.ties}",
        ]
        if any(one.count > 1 for one in self.items):
            notes.append("text metrics are deterministic here: one answer stands for all images of a row")
        if small:
            notes.append(f"fewer than {FEWEST} images, too few for a verdict: {', '.join(small)}")
        return notes


def _case(one: Row, *, neutral: bool) -> Case:
    samples = {
        "good": Sample(one.good, one.references, None, one.image),
        "bad": Sample(one.bad, one.references, None, one.image),
    }
    if neutral and one.references and one.neutral_references != one.references:
        samples["neutral_good"] = Sample(one.good, one.neutral_references)
        samples["neutral_bad"] = Sample(one.bad, one.neutral_references)
    meta = {
        "kind": "caption", "group": one.group, "category": one.category, "concept": one.concept,
        "count": one.count,
    }  # fmt: skip
    return Case(one.id, samples, one.category, meta)


def _neutral(scored: Scored, groups: tuple[str, str], seed: int) -> list[Finding]:
    """Against references without gender a tie is right: the first group's caption less the second's."""
    good, bad = scored.values.get("neutral_good"), scored.values.get("neutral_bad")
    if good is None or bad is None:
        return []
    signs = np.array([1.0 if case.meta.get("group") == groups[0] else -1.0 for case in scored.cases])
    gaps = (good - bad) * signs
    both = np.concatenate([scored.values["good"], scored.values["bad"]])
    known = both[np.isfinite(both)]
    spread = (float(known.std(ddof=1)) if known.size > 1 else 0.0) or 1.0
    found: list[Finding] = []
    categories = dict.fromkeys(case.slice for case in scored.cases if case.meta.get("kind") == "caption")
    for category in categories:
        rows = [r for r, case in enumerate(scored.cases) if case.slice == category and np.isfinite(gaps[r])]
        if not rows:
            continue
        concepts = [scored.cases[row].meta["concept"] for row in rows]
        for statistic, values in (
            ("neutral_gap", gaps[rows] / spread),
            ("neutral_tie_share", gaps[rows] == 0),
        ):
            numbers = np.asarray(values, dtype=np.float64)
            ci = bootstrap_mean(numbers, clusters=concepts, seed=seed)
            versus = " - ".join(groups) if statistic == "neutral_gap" else None
            plain = Finding(
                scored.metric, "caption", category, statistic, float(numbers.mean()), numbers.size
            )
            found.append(replace(plain, versus=versus, ci=ci.pair if ci else None))
    return found
