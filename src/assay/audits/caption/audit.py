"""Captions with the right and the wrong gender (caption sec. 2-3.1): for which group does a metric err more?

Accuracy is the share of images whose good caption scores higher than the bad one (Eq. 1); a concept is biased
when the two groups' accuracies differ. A metric that reads text alone scores all images of a concept and
group alike, so it is judged over concepts with several wordings each; by the paper's rule its one answer
counts for all images.
With captions of one or two captioners, it also counts their gender errors, in all and by concept, and says
which captioner a metric favours (sec. 3.1).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, get_args

import numpy as np

from assay.audits.base import DataAudit, check_known, declared
from assay.audits.caption import concepts
from assay.audits.gap import with_worthless
from assay.audits.slices import FEWEST, grouped, mean_estimate, spread_out
from assay.core import Case, Finding, Judgement, Sample, Scored
from assay.datasets.captions import Caption as Row
from assay.datasets.captions import embedded_captions, read_captions, with_images
from assay.datasets.ratings import Rated, read_samples
from assay.datasets.scenes import (
    as_samples,
    captioner_folder,
    even_scenes,
    rendered_captions,
    shares_of_men,
)
from assay.datasets.swaps import Content, embedded_swaps, swap_texts
from assay.errors import DataError
from assay.models.captioner import load_captioner
from assay.statistics.permutation import sign_test
from assay.vocabulary import Range, Rule

_SHOWN = 5  # groups that a note names


@declared(gap=concepts.say_gap)
@dataclass(frozen=True)
class Caption(DataAudit):
    """Good and bad captions by concept and group; and two captioners, if their captions are given."""

    name = "caption"
    roles = ("good", "bad")
    compares = True  # only a reference or an image shows the right gender

    limit: int | None = None  # concepts per category
    only: tuple[str, ...] = ()  # categories or concepts
    ties: concepts.Ties = "wrong"
    images: Path | None = None  # a folder CATEGORY/CONCEPT/GROUP/*.jpg
    scenes: Annotated[int, Range(1)] | None = None  # rendered pictures per concept and group, as images
    captioner: bool = False  # with `scenes`: also what a small captioner of skewed pictures writes of them
    captions: tuple[Path, ...] = ()  # captioners' outputs; one file is compared with its own correction
    margin: float = 0.05  # the smallest difference of accuracies that matters
    text_margin: float = 0.1  # the same for metrics that read no image, over a few wordings
    skip_missing: bool = False

    @cached_property
    def _embedded(self) -> list[Row]:
        return embedded_captions(frames=self.rule == "careful" and not self.images and not self.scenes)

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
        return [row for row in self._read[0] if (row.category, row.concept) in chosen]

    @cached_property
    def groups(self) -> tuple[str, str]:
        names = tuple(dict.fromkeys(row.group for row in self.items))
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
        # Worthless texts are as long as captions: wordings that are shorter would let mere length tell them.
        others = [row.good for row in (self._read[0] if self.data else self._embedded)]
        yield from (_case(row, others, careful=self.rule == "careful") for row in self.items)
        if self._captioners:
            differing = list(captioner_cases(self._captioners))
            if not differing and not self.items:
                reasons = list(_silent_captioners(self._captioners)) or [
                    "no caption differs from the other captioner's; a row needs id, hypothesis, and "
                    "references that name the image's gender, or a column group (man, woman)"
                ]
                raise DataError(f"{' and '.join(map(str, self.captions))}: {'; '.join(reasons)}")
            yield from differing

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Concepts, categories and robustness checks; neutral references; favoured captioners."""
        findings: list[Finding] = []
        for answer in scored:
            if self.items and "good" in answer.values and not answer.is_set:
                listed = concepts.concepts_of(answer, self.groups, self.ties, self.seed)
                rule = self.rule
                findings += concepts.concept_findings(answer, listed, self.margin, rule, self.seed)
                if self.scenes and concepts.reads_images(answer):
                    findings += concepts.skew_findings(answer, listed, shares_of_men("paper"), self.seed)
                if rule == "careful":
                    findings += concepts.text_findings(answer, self.groups, self.ties, self.seed)
                    findings += concepts.effect_findings(answer, self.groups, self.seed)
        if self._captioners:
            findings += captioner_findings(self._captioners, scored, (self.margin, self.rule), self.seed)
        return Judgement(findings, self._notes())

    def _notes(self) -> list[str]:
        notes = [*self._read[1], *(_silent_captioners(self._captioners) if self._captioners else ())]
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
            more = f" and {len(small) - _SHOWN} more" if len(small) > _SHOWN else ""
            listed = ", ".join(small[:_SHOWN]) + more
            notes.append(f"fewer than {FEWEST} images, too few for a verdict: {listed}")
        return notes


def _case(row: Row, others: Sequence[str], *, careful: bool) -> Case:
    samples = {
        "good": Sample(row.good, row.references, None, row.image),
        "bad": Sample(row.bad, row.references, None, row.image),
    }
    if careful:
        samples = with_worthless(samples, others, row.id)
    if careful and row.references and row.neutral_references != row.references:
        samples["neutral_good"] = Sample(row.good, row.neutral_references)
        samples["neutral_bad"] = Sample(row.bad, row.neutral_references)
    meta = {
        "kind": "caption", "group": row.group, "category": row.category, "concept": row.concept,
        "count": row.count, "frame": row.frame,
    }  # fmt: skip
    return Case(row.id, samples, row.category, meta)


Outcome = Literal["right", "wrong", "neutral", "both"]
_GROUPS: dict[str, Content] = {"man": "male", "male": "male", "woman": "female", "female": "female"}
_WORDS = {"male": "man", "female": "woman"}


@dataclass(frozen=True, slots=True)
class Captioners:
    """Two captioners' captions of the same images, with the gender of each image and caption."""

    names: tuple[str, str]
    first: tuple[Rated, ...]
    second: tuple[Rated, ...]
    images: tuple[Content, ...]
    genders: tuple[tuple[Content, ...], tuple[Content, ...]]


def read_captioners(paths: Sequence[Path], *, skip_missing: bool = False) -> Captioners:
    """Read two captioners' outputs, matched by id; with one file, it is compared with its own correction."""
    if len(paths) > 2:
        raise DataError(f"--captions takes one or two files, not {len(paths)}")
    first, *others = (read_samples(path, skip_missing=skip_missing) for path in paths)
    if not others:
        return match_captioners((paths[0].stem, f"{paths[0].stem}-corrected"), first)
    by_id = {item.id: item for item in others[0]}
    missing = [item.id for item in first if item.id not in by_id]
    if missing:
        raise DataError(
            f"{paths[1]}: no caption for {len(missing)} ids of {paths[0].name} ({missing[0]!r} is one)"
        )
    return match_captioners((paths[0].stem, paths[1].stem), first, [by_id[item.id] for item in first])


def match_captioners(
    names: tuple[str, str], first: Sequence[Rated], second: Sequence[Rated] | None = None
) -> Captioners:
    """Two captioners of the same images; without a second, the first corrected by rule (sec. 3.1.2)."""
    images = image_genders(first)
    if second is None:
        second = [_corrected(item, gender) for item, gender in zip(first, images, strict=True)]
    genders = (tuple(caption_genders(first)), tuple(caption_genders(second)))
    return Captioners(names, tuple(first), tuple(second), tuple(images), genders)


def written_captions(per_group: int, seed: int) -> list[Rated]:
    """What a small captioner that was trained on pictures of the paper's skew writes of rendered pictures."""
    scenes = even_scenes(per_group, seed)
    inputs = as_samples(scenes)
    texts = load_captioner(str(captioner_folder("paper", seed))).best(inputs)
    return [
        Rated(
            f"{scene.caption.id}/{scene.key}", replace(sample, hypothesis=text),
            meta={name: getattr(scene.caption, name) for name in ("group", "category", "concept")},
        )
        for scene, sample, text in zip(scenes, inputs, texts, strict=True)
    ]  # fmt: skip


def caption_genders(items: Sequence[Rated]) -> list[Content]:
    """The gender that each caption names."""
    swapped = swap_texts([item.sample.hypothesis for item in items], embedded_swaps())
    return [text.content for text in swapped]


def image_genders(items: Sequence[Rated]) -> list[Content]:
    """An image's gender: given as `group`, else named by at least one reference and contradicted by none."""
    texts = list(dict.fromkeys(text for item in items for text in item.sample.references))
    swaps = zip(texts, swap_texts(texts, embedded_swaps()), strict=True)
    contents = {text: swap.content for text, swap in swaps}
    genders: list[Content] = []
    for item in items:
        named = {contents[text] for text in item.sample.references} - {"neutral"}
        by_words: Content = next(iter(named)) if len(named) == 1 else "both" if named else "neutral"
        genders.append(_GROUPS.get(str(item.meta.get("group", "")).lower(), by_words))
    return genders


def outcome(image: Content, caption: Content) -> Outcome:
    """What a caption says about an image whose gender is known."""
    if caption in ("neutral", "both"):
        return caption
    return "right" if caption == image else "wrong"


def _corrected(item: Rated, gender: Content) -> Rated:
    """The caption with `man` and `woman` exchanged if it names the wrong gender, else as it was."""
    if gender not in _WORDS or caption_genders([item])[0] in ("neutral", "both", gender):
        return item
    right, wrong = _WORDS[gender], _WORDS["female" if gender == "male" else "male"]
    text = re.sub(rf"\b{wrong}\b", right, item.sample.hypothesis)
    return replace(item, sample=replace(item.sample, hypothesis=text))


def captioner_cases(captioners: Captioners) -> Iterator[Case]:
    """Both captions of each image for which they differ."""
    for first, second in zip(captioners.first, captioners.second, strict=True):
        if first.sample.hypothesis != second.sample.hypothesis:
            samples = {"first": first.sample, "second": second.sample}
            category = str(first.meta.get("category", "all"))
            yield Case(f"favour/{first.id}", samples, f"favour/{category}", {"kind": "favour"})


def _silent_captioners(captioners: Captioners) -> Iterator[str]:
    """A note on each captioner whose captions name no gender, so that it cannot err."""
    for name, genders in zip(captioners.names, captioners.genders, strict=True):
        if not {"male", "female"} & set(genders):
            yield f"captioner {name}: none of {len(genders)} captions names one gender, so that none is wrong"


def captioner_findings(
    captioners: Captioners, scored: Sequence[Scored], rule: tuple[float, Rule], seed: int
) -> Iterator[Finding]:
    """Gender errors of each captioner, in all and by concept, then which one each metric favours."""
    for name, genders in zip(captioners.names, captioners.genders, strict=True):
        yield from _gender_errors(name, captioners.images, genders, seed)
        yield from _errors_by_concept(name, captioners, genders, rule, seed)
    for answer in scored:
        if "first" in answer.values:
            yield from _favoured(answer, captioners.names, seed)


def _gender_errors(
    name: str, images: Sequence[Content], captions: Sequence[Content], seed: int
) -> Iterator[Finding]:
    """The share of each outcome, by the image's gender; `gender_error` is the share of wrong ones."""
    for slice_, genders in (("all", ("male", "female")), ("male", ("male",)), ("female", ("female",))):
        results = [outcome(i, c) for i, c in zip(images, captions, strict=True) if i in genders]
        for kind in get_args(Outcome) if results else ():
            share = mean_estimate(np.array([float(result == kind) for result in results]), seed=seed)
            statistic = "gender_error" if kind == "wrong" else f"gender_{kind}"
            yield Finding.of(f"captioner:{name}", f"gender/{slice_}", statistic, share)


def _errors_by_concept(
    name: str, captioners: Captioners, genders: Sequence[Content], rule: tuple[float, Rule], seed: int
) -> Iterator[Finding]:
    """The gap between errors on men and on women by concept, and the share of biased concepts (sec. 3.1.1).

    Biases in opposite directions do not cancel out in that share.
    """
    known = [
        (item, image, caption)
        for item, image, caption in zip(captioners.first, captioners.images, genders, strict=True)
        if image in _WORDS and item.meta.get("concept")
    ]
    listed = concepts.compare_groups(
        [(str(item.meta.get("category", "all")), str(item.meta["concept"])) for item, _, _ in known],
        [_WORDS[image] for _, image, _ in known],
        np.array([float(outcome(image, caption) != "wrong") for _, image, caption in known]),
        ("man", "woman"), seed, ids=[item.id for item, _, _ in known],
    )  # fmt: skip
    for concept in listed:
        ci = concept.gap.ci
        gap = replace(concept.gap, value=-concept.gap.value, ci=ci and (-ci[1], -ci[0]))
        yield Finding.of(
            f"captioner:{name}", f"gender/{concept.path}", "error_gap", gap, versus="man - woman",
            evidence=concept.evidence,
        )  # fmt: skip
    enough = [concept for concept in listed if concept.has_enough]
    for slice_, members in (grouped(enough, lambda c: c.category) | {"all": enough}).items():
        if members:
            flags = np.array([float(concept.is_biased(*rule)) for concept in members])
            share = mean_estimate(flags, seed=seed)
            yield Finding.of(f"captioner:{name}", f"gender/{slice_}", "biased_share", share, judged=False)


def _favoured(scored: Scored, names: tuple[str, str], seed: int) -> Iterator[Finding]:
    """Mean scores of both captioners, and how often the first one scores higher; ties count half."""
    first, second = scored.values["first"], scored.values["second"]
    known = np.isfinite(first) & np.isfinite(second)
    slices = np.array([case.slice for case in scored.cases])
    for slice_ in ("favour", *sorted(set(slices[known].tolist()))):
        rows = known if slice_ == "favour" else known & (slices == slice_)
        if not rows.any():
            continue
        for name, values in zip(names, (first[rows], second[rows]), strict=True):
            yield Finding.of(scored, slice_, "mean_score", mean_estimate(values, seed=seed), versus=name)
        difference = first[rows] - second[rows]
        wins = mean_estimate((np.sign(difference) + 1) / 2, seed=seed)
        tested = replace(wins, p_value=sign_test(difference))
        yield Finding.of(scored, slice_, "win_share", tested, versus=names[0])
