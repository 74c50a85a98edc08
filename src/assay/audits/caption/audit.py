"""Captions with the right and the wrong gender (caption sec. 2-3.1): for which group does a metric err more?

Accuracy is the share of images whose good caption scores higher than the bad one (Eq. 1); a concept is biased
when the two groups' accuracies differ. A metric that reads text alone scores all images of a concept and
group alike, so it is judged over concepts with several wordings each; by the paper's rule its one answer
counts for all images.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from assay.audits.caption import captioners, concepts
from assay.audits.caption.captioners import Captioners, captioner_cases, captioner_findings, read_captioners
from assay.audits.caption.concepts import (
    Concept,
    Ties,
    concept_findings,
    concepts_of,
    effect_findings,
    text_findings,
)
from assay.audits.gap import WORTHLESS, worthless_text
from assay.audits.slices import FEWEST, spread_out
from assay.core import Audit, Case, Chart, Finding, Judgement, Sample, Scored, Statistic
from assay.datasets.captions import Caption as Row
from assay.datasets.captions import embedded_captions, imbalanced_concepts, read_captions, with_images
from assay.errors import DataError, suggest
from assay.vocabulary import NonNegative, Question, Range, Rule


@dataclass(frozen=True)
class Caption(Audit):
    """Good and bad captions by concept and group; and two captioners, if their captions are given."""

    name: ClassVar[str] = "caption"
    question: ClassVar[Question] = "fairness"
    title: ClassVar[str] = "Captions with the right and the wrong gender"
    advice: ClassVar[str] = (
        "Do not use it as a reward for caption models: it teaches them the bias. A hybrid with an n-gram "
        "metric is fairer (`assay run caption -m A+B`)."
    )
    statistics: ClassVar[tuple[Statistic, ...]] = (*concepts.STATISTICS, *captioners.STATISTICS)
    charts: ClassVar[tuple[Chart, ...]] = (
        Chart("scatter", "accuracy", "accuracy by concept", colour="accuracy_gap", depth=0),
    )
    roles: ClassVar[tuple[str, ...]] = ("good", "bad")
    compares: ClassVar[bool] = True  # only a reference or an image shows the right gender

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None  # concepts per category
    only: tuple[str, ...] = ()  # categories or concepts
    ties: Ties = "wrong"
    images: Path | None = None  # a folder CATEGORY/CONCEPT/GROUP/*.jpg
    captions: tuple[Path, ...] = ()  # captioners' outputs; one file is compared with its own correction
    # Also without concepts whose groups differ by more than this factor.
    max_imbalance: Annotated[float, Range(1)] | None = None
    margin: float = 0.05  # the smallest difference of accuracies that matters
    text_margin: float = 0.1  # the same for metrics that read no image, over a few wordings
    skip_missing: bool = False

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        return {"limit": 8}

    @cached_property
    def _read(self) -> tuple[list[Row], list[str]]:
        wordings = self.rule == "careful" and self.images is None
        rows: list[Row] = [] if self.data or self.captions else embedded_captions(frames=wordings)
        notes: list[str] = []
        for path in self.data:
            more, remarks = read_captions(path, skip_missing=self.skip_missing)
            rows, notes = [*rows, *more], [*notes, *remarks]
        if self.only:
            rows = self._chosen(rows)
        if self.images and rows:
            rows, remarks = with_images(rows, self.images, skip_missing=self.skip_missing)
            notes = [*notes, *remarks]
        return rows, notes

    def _chosen(self, rows: Sequence[Row]) -> list[Row]:
        if self.captions and not self.data:
            raise DataError("--only chooses among captions of --data; leave it out, or give --data too")
        known = {name for row in rows for name in (row.category, row.concept)}
        for wrong in self.only:
            if wrong not in known:
                raise DataError(f"no captions for {wrong!r}{suggest(wrong, known)}")
        return [row for row in rows if {row.category, row.concept} & set(self.only)]

    @cached_property
    def items(self) -> list[Row]:
        """The chosen captions, at most `limit` concepts per category."""
        by_category: dict[str, dict[str, None]] = {}
        for row in self._read[0]:
            by_category.setdefault(row.category, {})[row.concept] = None
        chosen = {name: set(spread_out(list(listed), self.limit)) for name, listed in by_category.items()}
        return [row for row in self._read[0] if row.concept in chosen[row.category]]

    @cached_property
    def groups(self) -> tuple[str, str]:
        names = tuple(dict.fromkeys(row.group for row in self.items))
        if len(names) != 2:
            raise DataError(f"captions need two groups to compare, not {len(names)} ({', '.join(names)})")
        return names[0], names[1]

    @cached_property
    def _captioners(self) -> Captioners | None:
        return read_captioners(self.captions, skip_missing=self.skip_missing) if self.captions else None

    def cases(self) -> Iterable[Case]:
        """Both captions of each row, against its references and neutral ones; then those of captioners."""
        if self.items:
            _ = self.groups  # refuse data with another number of groups before anything is scored
        others = [row.good for row in (self._read[0] if self.data else embedded_captions())]
        yield from (_case(row, others, careful=self.rule == "careful") for row in self.items)
        if self._captioners:
            differing = list(captioner_cases(self._captioners))
            if not differing and not self.items:
                files = " and ".join(map(str, self.captions))
                raise DataError(
                    f"{files}: no caption differs from the other captioner's; a row needs id, hypothesis, "
                    "and references that name the image's gender, or a column group (man, woman)"
                )
            yield from differing

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Concepts, categories and robustness checks; neutral references; favoured captioners."""
        findings: list[Finding] = []
        for answer in scored:
            if self.items and "good" in answer.values and not answer.is_set:
                listed = concepts_of(answer, self.groups, self.ties, self.seed)
                left_out, rule = self._left_out(listed), self.rule
                findings += concept_findings(answer, listed, left_out, self.margin, rule, self.seed)
                if rule == "careful":
                    findings += text_findings(answer, self.groups, self.ties, self.seed)
                    findings += effect_findings(answer, self.groups, self.seed)
        if self._captioners:
            findings += captioner_findings(self._captioners, scored, self.seed)
        return Judgement(findings, self._notes())

    def _left_out(self, listed: Sequence[Concept]) -> dict[str, frozenset[str]]:
        """Robustness checks, by name, and the concepts that each leaves out (app. A)."""
        named, ratio = imbalanced_concepts(), self.max_imbalance
        left_out = {"without-imbalanced": frozenset(c.path for c in listed if c.name in named)}
        if ratio is not None:
            far = (c.path for c in listed if max(c.images) > ratio * min(c.images))
            left_out[f"max-imbalance-{ratio:g}"] = frozenset(far)
        return left_out

    def _notes(self) -> list[str]:
        notes = list(self._read[1])
        if not self.items:
            return notes
        counts: Counter[tuple[str, str]] = Counter()
        for row in self.items:
            counts[f"{row.category}/{row.concept}", row.group] += row.count
        n_concepts, n_images = len({path for path, _ in counts}), sum(counts.values())
        what = "images" if any(row.image or row.count > 1 for row in self.items) else "captions"
        notes.append(f"{n_concepts} concepts, {n_images} {what}; ties count as {self.ties}")
        if any(row.count > 1 for row in self.items):
            notes.append("one answer of a text metric stands for all images of a row")
        small = [f"{path} {group} ({count})" for (path, group), count in counts.items() if count < FEWEST]
        if small and any(row.image for row in self.items):
            notes.append(f"fewer than {FEWEST} images, too few for a verdict: {', '.join(small)}")
        return notes


def _case(row: Row, others: Sequence[str], *, careful: bool) -> Case:
    samples = {
        "good": Sample(row.good, row.references, None, row.image),
        "bad": Sample(row.bad, row.references, None, row.image),
    }
    worthless = worthless_text(row.good, others, row.id) if careful else None
    if worthless is not None:
        samples[WORTHLESS] = Sample(worthless, row.references, None, row.image)
    if careful and row.references and row.neutral_references != row.references:
        samples["neutral_good"] = Sample(row.good, row.neutral_references)
        samples["neutral_bad"] = Sample(row.bad, row.neutral_references)
    meta = {
        "kind": "caption", "group": row.group, "category": row.category, "concept": row.concept,
        "count": row.count, "frame": row.frame,
    }  # fmt: skip
    return Case(row.id, samples, row.category, meta)
