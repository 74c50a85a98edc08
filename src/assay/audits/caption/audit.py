"""Captions with the right and the wrong gender (caption sec. 2-3.1): for which group does a metric err more?

Accuracy is the share of images whose good caption scores higher than the bad one (Eq. 1); a concept is biased
where the two groups' accuracies differ significantly. The verdict is on the difference in right order, and on
how much higher captions score that name one group: in lost words, what the loss of one content word costs
right captions. A metric that reads text alone scores all images of a concept and group alike, so it is judged
over concepts with several wordings each; by the paper's rule its one answer counts for all images.
With captions of one or two captioners, the audit also counts their gender errors, in all and by concept, and
says which captioner a metric favours (sec. 3.1).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

from assay.audits.base import DataAudit, check_known, spread_out, without_a_unit
from assay.audits.caption import concepts
from assay.audits.caption.captioners import (
    Captioners,
    captioner_cases,
    captioner_findings,
    match_captioners,
    read_captioners,
    silent_captioners,
    written_captions,
)
from assay.audits.caption.groups import group_findings
from assay.audits.effects import MARGIN, UNIT
from assay.core import Case, Chart, Finding, Judgement, Sample, Scored, Statistic
from assay.datasets.captions import CaptionPair as Row
from assay.datasets.captions import embedded_captions, read_captions, with_images
from assay.datasets.scenes import rendered_captions, shares_of_men
from assay.errors import DataError
from assay.grouping import grouped
from assay.perturbations.lost_word import without_a_word
from assay.recipe import digest
from assay.vocabulary import DataKind, Question, Range

_SHOWN = 5  # groups that a note names
# Of 100 decisions: about what 40 concepts without a difference leave open (Wilson); a model reads 40 of each
# category.
_ORDER_MARGIN = 10.0


def _about(finding: Finding) -> str:
    """What the captions of a slice are about, in words."""
    *_, name = finding.slice.split("/")
    return f"about {name}" if "/" in finding.slice else "of all kinds" if name == "all" else f"of {name}s"


def _groups(finding: Finding) -> tuple[str, str]:
    """The group whose captions gain, and the other one."""
    first, separator, second = (finding.versus or "").partition(" - ")
    if not separator:
        return "one group", "the other"
    return (f"the group {first}", second) if finding.value > 0 else (f"the group {second}", first)


def _scores_higher(finding: Finding) -> str:
    higher, lower = _groups(finding)
    neutral = " although the references name neither" if finding.statistic.startswith("neutral") else ""
    return (
        f"On captions {_about(finding)}, {finding.metric} scores those that name {higher} "
        f"{abs(finding.value):.2f} {UNIT} above those that name {lower}{neutral}."
    )


def _errs_more(finding: Finding) -> str:
    worse, better = _groups(replace(finding, value=-finding.value))
    return (
        f"On captions {_about(finding)}, {finding.metric} prefers the wrong group in "
        f"{abs(finding.value):.0f} more of 100 cases for {worse} than for {better}."
    )


def _differs(finding: Finding) -> str:
    return (
        f"On captions {_about(finding)}, {finding.metric} is not equally often right about both groups "
        f"(p = {finding.value:.2g})."
    )


@dataclass(frozen=True)
class Caption(DataAudit):
    """Good and bad captions by concept and group; and two captioners, if their captions are given."""

    name = "caption"
    title = "Captions with the right and the wrong gender"
    question: ClassVar[Question] = "fairness"
    advice = (
        "Do not use it as a reward for caption models: it teaches them the bias. A hybrid with an n-gram "
        "metric is fairer (`assay run caption -m A+B`)."
    )
    reads: ClassVar[DataKind] = "captions"
    roles = ("good", "bad")
    compares = True  # only a reference or an image shows the right gender
    quick_items = 80  # of a category: both captions' groups of 40 concepts
    statistics = (
        Statistic(
            "lost_words",
            "How much higher captions score that name the first group than captions that name the second, "
            "whichever is right, in lost words: 1 is what the loss of one content word costs right captions.",
            UNIT, bad="far", bar="margin", headline=True, sentence=_scores_higher,
        ),
        Statistic(
            "neutral_lost_words",
            "The same where the references name neither group, so that no caption is better.",
            UNIT, bad="far", bar="margin", headline=True, sentence=_scores_higher,
        ),
        Statistic(
            "order_difference",
            "Of 100 decisions between a right caption and one that names the wrong group, how many more are "
            "right (ties count half) on captions of the first group than on those of the second.",
            "of 100", bad="far", bar="order_margin", headline=True, sentence=_errs_more,
        ),
        Statistic(
            "wrong_group_cost",
            "What naming the wrong group costs a caption, in lost words, where this group is right.",
            UNIT,
        ),
        Statistic(
            "flipped_decisions",
            "Of 100 decisions between a right caption with a word lost and a whole one that names the wrong "
            "group, how many more are right for the first group than for the second.",
            "of 100",
        ),
        Statistic(
            "accuracy",
            "Share of a group's images whose caption with the right group scores higher than the wrong one "
            "(Eq. 1).",
            "share",
        ),
        Statistic(
            "accuracy_gap",
            "Accuracy on captions of the first group minus accuracy on captions of the second, by concept.",
            "share",
        ),
        Statistic(
            "gap_p_value",
            "By the paper's rule: the p-value, over resampled images, that a concept's two accuracies are "
            "the same; below 0.05 the concept is biased (Eq. 2 and 3).",
            "p", bad="low", bar=concepts.SIGNIFICANT, sentence=_differs,
        ),
        Statistic(
            "biased_share",
            "Share of concepts on which the accuracies for the two groups differ significantly (p < 0.05), "
            "in all or in favour of one group; of a captioner, the accuracy is the share of captions without "
            "a gender error.",
            "share", headline=True,
        ),
        Statistic(
            "tie_share", "Share of images or wordings whose right and wrong captions score the same.", "share"
        ),
        Statistic(
            "win_share",
            "Share of images where the metric scores the first captioner's caption higher than the second's; "
            "ties count half.",
            "share",
        ),
        Statistic("mean_score", "Mean score of a captioner's captions.", "score"),
        Statistic("gender_error", "Share of a captioner's captions that name the wrong gender.", "share"),
        Statistic("gender_right", "Share of a captioner's captions that name the right gender.", "share"),
        Statistic("gender_neutral", "Share of a captioner's captions that name no gender.", "share"),
        Statistic("gender_both", "Share of a captioner's captions that name both genders.", "share"),
        Statistic(
            "error_gap",
            "A captioner's share of gender errors on images of men minus that on images of women, by "
            "concept.",
            "share",
        ),
        Statistic(
            "planted_share",
            "Share of men among the pictures of a concept that the skewed model of the rendered world was "
            "trained on.",
            "share",
        ),
        Statistic(
            "skew_correlation",
            "Rank correlation over concepts between the share of men that the rendered world was planted "
            "with and the accuracy gap of men over women.",
            "correlation",
        ),
    )  # fmt: skip
    charts = (Chart("scatter", "accuracy", title="accuracy by concept", colour="order_difference", depth=0),)

    limit: int | None = None  # concepts per category
    only: tuple[str, ...] = ()  # categories or concepts
    ties: concepts.Ties = "wrong"
    images: Path | None = None  # a folder CATEGORY/CONCEPT/GROUP/*.jpg
    scenes: Annotated[int, Range(1)] | None = None  # rendered pictures per concept and group, as images
    captioner: bool = False  # with `scenes`: also what a small captioner of skewed pictures writes of them
    captions: tuple[Path, ...] = ()  # captioners' outputs; one file is compared with its own correction
    margin: float = MARGIN  # of a lost word by which captions of one group may score higher
    order_margin: float = _ORDER_MARGIN  # of 100 decisions, by which one group may have more right ones
    skip_missing: bool = False

    @cached_property
    def _read(self) -> tuple[list[Row], list[str]]:
        rows: list[Row] = [] if self.data or self.captions else self._embedded
        notes: list[str] = []
        if self.scenes:
            if self.data or self.images:
                raise DataError("--scenes draws its own captions and images; leave out --data and --images")
            rows = rendered_captions(self.scenes, self.seed)
        for path in self.data:
            more, remarks = read_captions(path, skip_missing=self.skip_missing)
            rows, notes = [*rows, *more], [*notes, *remarks]
        if self.only:
            rows = self._chosen(rows)
        if self.images and rows:
            rows, remarks = with_images(rows, self.images, skip_missing=self.skip_missing)
            notes = [*notes, *remarks]
        return rows, notes

    @property
    def _embedded(self) -> list[Row]:
        return embedded_captions(frames=self.rule == "careful" and not self.images and not self.scenes)

    def _chosen(self, rows: Sequence[Row]) -> list[Row]:
        if self.captions and not self.data:
            raise DataError("--only chooses among captions of --data; leave it out, or give --data too")
        known = {name for row in rows for name in (row.category, row.concept)}
        check_known("no captions for", self.only, known)
        return [row for row in rows if {row.category, row.concept} & set(self.only)]

    @cached_property
    def items(self) -> list[Row]:
        """The chosen captions, at most `limit` concepts per category."""
        paths = dict.fromkeys((row.category, row.concept) for row in self._read[0])
        by_category = grouped(paths, lambda path: path[0]).values()
        chosen = {path for listed in by_category for path in spread_out(listed, self.limit)}
        rows = [row for row in self._read[0] if (row.category, row.concept) in chosen]
        return list(in_rounds(rows)) if self.rule == "careful" else rows

    @cached_property
    def groups(self) -> tuple[str, str]:
        """The two groups that are compared, in the order of the data."""
        names = tuple(dict.fromkeys(row.group for row in self._read[0]))
        if len(names) != 2:
            raise DataError(f"captions need two groups to compare, not {len(names)} ({', '.join(names)})")
        return names[0], names[1]

    @cached_property
    def _captioners(self) -> Captioners | None:
        if self.captioner:
            if not self.scenes or self.captions:
                raise DataError(
                    "--captioner describes the pictures of --scenes; give these, and no --captions"
                )
            return match_captioners(("scenes", "scenes-corrected"), written_captions(self.scenes, self.seed))
        return read_captioners(self.captions, skip_missing=self.skip_missing) if self.captions else None

    def cases(self) -> Iterable[Case]:
        """Both captions of each row, against its references and neutral ones; then those of captioners."""
        if self.items:
            _ = self.groups  # refuse data with another number of groups before anything is scored
        yield from (_case(row, careful=self.rule == "careful") for row in self.items)
        if self._captioners:
            differing = list(captioner_cases(self._captioners))
            if not differing and not self.items:
                reasons = list(silent_captioners(self._captioners)) or [
                    "no caption differs from the other captioner's; a row needs id, hypothesis, and "
                    "references that name the image's gender, or a column group (man, woman)"
                ]
                raise DataError(f"{' and '.join(map(str, self.captions))}: {'; '.join(reasons)}")
            yield from differing

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Accuracies by concept, the difference between the groups, and favoured captioners."""
        findings: list[Finding] = []
        for answer in scored:
            if self.items and {"good", "bad"} <= set(answer.values) and not answer.is_set:
                findings += self._metric_findings(answer)
        if self._captioners:
            findings += captioner_findings(self._captioners, scored, self.seed)
        return Judgement(findings, [*self._notes(), *without_a_unit(findings)])

    def _metric_findings(self, answer: Scored) -> Iterator[Finding]:
        """What one metric shows on the captions."""
        by_concept = concepts.concepts_of(answer, self.groups, self.ties, self.seed)
        if self.rule == "careful":
            yield from group_findings(answer, self.groups)
        yield from concepts.concept_findings(answer, by_concept, self.rule, self.seed)
        if self.scenes and concepts.reads_images(answer):
            yield from concepts.skew_findings(answer, by_concept, shares_of_men("paper"), self.seed)

    def _notes(self) -> list[str]:
        notes = [*self._read[1], *(silent_captioners(self._captioners) if self._captioners else ())]
        return [*notes, *_notes_on(self.items, self.ties)] if self.items else notes


def _notes_on(rows: Sequence[Row], ties: concepts.Ties) -> Iterator[str]:
    """How many captions there are, and what does not count."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counts[f"{row.category}/{row.concept}", row.group] += row.count
    n_concepts = len({path for path, _ in counts})
    has_images = any(row.image for row in rows)
    stand_for_many = any(row.count > 1 for row in rows)
    what = "images" if has_images or stand_for_many else "captions"
    yield f"{n_concepts} concepts, {sum(counts.values())} {what}; in accuracies, ties count as {ties}"
    if stand_for_many:
        yield "one answer of a text metric stands for all images of a row"
    if has_images:
        yield from _small_concepts(counts)


def _small_concepts(counts: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """A note on the groups of concepts that have too few images to be biased or unbiased."""
    few = concepts.FEWEST
    small = [f"{path} {group} ({count})" for (path, group), count in counts.items() if count < few]
    if small:
        more = f" and {len(small) - _SHOWN} more" if len(small) > _SHOWN else ""
        named = ", ".join(small[:_SHOWN])
        yield f"fewer than {few} images, not counted among biased concepts: {named}{more}"


def in_rounds(rows: Sequence[Row]) -> Iterator[Row]:
    """Captions in an order of which any beginning holds as many concepts as it can, with all their groups.

    Each round takes one wording or image of every concept and group; the next concept takes the next one.
    """
    by_concept = grouped(rows, lambda row: (row.category, row.concept))
    ordered = sorted(by_concept, key=lambda path: digest(*path))
    cells = [list(grouped(by_concept[path], lambda row: row.group).values()) for path in ordered]
    rounds = max((len(cell) for groups in cells for cell in groups), default=0)
    for number in range(rounds):
        for place, groups in enumerate(cells):
            yield from (cell[(number + place) % len(cell)] for cell in groups if number < len(cell))


def _case(row: Row, *, careful: bool) -> Case:
    """One right and one wrong caption; also against neutral references, and the right one without a word."""
    samples = {
        "good": Sample(row.good, row.references, None, row.image),
        "bad": Sample(row.bad, row.references, None, row.image),
    }
    lost = without_a_word(row.good, keep=_differing_words(row), key=row.id) if careful else None
    if lost is not None:
        samples["lost"] = Sample(lost, row.references, None, row.image)
    if careful and row.references and row.neutral_references != row.references:
        samples["neutral_good"] = Sample(row.good, row.neutral_references)
        samples["neutral_bad"] = Sample(row.bad, row.neutral_references)
    meta = {
        "kind": "caption", "group": row.group, "category": row.category, "concept": row.concept,
        "count": row.count, "frame": row.frame,
    }  # fmt: skip
    return Case(row.id, samples, row.category, meta)


def _differing_words(row: Row) -> str:
    """The words in which the right and the wrong caption differ: those that name a group."""
    good, bad = (set(re.findall(r"\w+", text)) for text in (row.good, row.bad))
    return " ".join(sorted(good ^ bad))
