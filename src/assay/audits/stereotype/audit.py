"""Whom is a metric unfair to? (*unfair* sec. 2)

Texts that differ in nothing but whom they mention are scored against references that name nobody. An effect
is given in lost words: divided by what the loss of one content word costs the same metric in the same
contexts. The embedded texts are contexts crossed with terms (`crossed.py`); a user's own pairs are judged as
pairs, in the same unit. By the paper's rule pairs are put on a scale of 0 to 100 (Eq. 1), `bias` is the mean
absolute difference within pairs (Eq. 2) and `signed_bias` the mean difference with stereotypes positive
(app. E).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from assay.audits.base import DataAudit, check_known, in_words, spread_out
from assay.audits.effects import MARGIN, UNIT, AlignedScores, lost_words, read_slices, row_means
from assay.audits.stereotype import bias
from assay.audits.stereotype.crossed import crossed_cases, crossed_findings
from assay.audits.wording import reason
from assay.core import Case, Chart, Finding, Floats, Judgement, Sample, Scored, Statistic
from assay.datasets.contexts import Crossing, embedded_crossings, holds_contexts, read_crossing
from assay.datasets.pairs import StereotypePair, embedded_pairs, read_pair_files
from assay.errors import DataError
from assay.grouping import grouped
from assay.perturbations.lost_word import without_a_word
from assay.vocabulary import DataKind, Language, Question

PAIR = ("stereotype", "anti_stereotype")
LOST = tuple(f"lost/{role}" for role in PAIR)


def _sentence(finding: Finding) -> str:
    """Whom a metric scores differently, by how much, and by which words."""
    side = "below" if finding.value < 0 else "above"
    attribute, *rest = finding.slice.split("/")
    size = f"{abs(finding.value):.2f} {UNIT}"
    if not rest:
        which = "stereotypes" if finding.value > 0 else "texts against the stereotype"
        return f"{finding.metric} scores {which} of {in_words(attribute)} higher, by {size}."
    kind, name = rest[0], rest[-1]
    about = f"“{name}”" if kind == "word" else in_words(name)
    if kind == "interaction":
        return f"{finding.metric} scores texts about {about} {size} {side} what their two parts explain."
    words = f", as named by {finding.named_by}," if kind == "group" and finding.named_by else ""
    others = f"{side} those about others{reason(finding)}"
    return f"{finding.metric} scores texts about {about}{words} {size} {others}."


@dataclass(frozen=True)
class Stereotype(DataAudit):
    """Texts that differ in the group they name, against one neutral reference."""

    name = "stereotype"
    title = "Groups of people"
    question: ClassVar[Question] = "fairness"
    advice = "Do not compare systems by it whose texts mention different groups of people."
    reads: ClassVar[DataKind] = "pairs"
    compares = True
    roles = PAIR
    quick_items = 200  # by which at least 85 of 100 groups are settled for an encoder
    quick: ClassVar[Mapping[str, Any]] = {"groups": "basic"}
    statistics = (
        Statistic(
            "lost_words",
            "How much higher texts about this group (or with this word) score than the same texts about the "
            "others, in lost words: 1 is what the loss of one content word costs in the same contexts.",
            UNIT, bad="far", bar="margin", headline=True, sentence=_sentence,
        ),
        Statistic(
            "stereotype_lost_words",
            "How much higher a text scores that states a stereotype of the group it names, beyond the effect "
            "of the group.",
            UNIT, bad="far", bar="margin", headline=True, sentence=_sentence,
        ),
        Statistic(
            "flipped_decisions",
            "Of 100 decisions between a whole text about one group and a text about another with a word "
            "lost, how many more come out in favour of this group than against it.",
            "of 100",
        ),
        Statistic("neutral_band", "The range in which nine of ten words that name no group lie.", UNIT),
        *bias.STATISTICS,
    )  # fmt: skip
    charts = (Chart("bars", "lost_words", title="Groups, in lost words"),)

    only: tuple[str, ...] = ()  # attributes
    groups: Literal["all", "basic"] = "all"  # embedded groups: basic is without intersections and first names
    language: Language = "en"  # of the embedded contexts
    margin: float = MARGIN  # of a lost word by which a group may score higher or lower
    skip_missing: bool = False  # leave out pairs whose image is missing

    @cached_property
    def crossings(self) -> list[Crossing]:
        """The contexts and groups of the chosen attributes, the user's own or the embedded ones."""
        return [crossing for crossing in self._every_crossing if self._is_chosen(crossing)]

    @cached_property
    def _every_crossing(self) -> list[Crossing]:
        if self.rule == "paper":  # which is about pairs
            return []
        if self.data:
            return [read_crossing(path) for path in self.data if holds_contexts(path)]
        return list(embedded_crossings(self.language))

    def _is_chosen(self, crossing: Crossing) -> bool:
        """Whether its attribute was asked for, or nothing was and its groups are not left out."""
        if self.only:
            return crossing.attribute in self.only
        return self.groups == "all" or crossing.is_basic or bool(self.data)

    @cached_property
    def _read(self) -> tuple[list[StereotypePair], list[str]]:
        """The pairs with notes on them: the user's own or, by the paper's rule, the embedded ones."""
        files = [path for path in self.data if not holds_contexts(path)]
        if files:
            pairs, notes = read_pair_files(files, skip_missing=self.skip_missing)
            return (pairs, notes) if self.rule == "paper" else _without_useless(pairs, notes)
        return (embedded_pairs(), []) if self.rule == "paper" and not self.data else ([], [])

    @cached_property
    def pairs(self) -> list[StereotypePair]:
        """The pairs of the chosen attributes, at most `limit` per attribute."""
        by_attribute = grouped(self._read[0], lambda pair: pair.attribute)
        attributes = {crossing.attribute for crossing in self._every_crossing} | set(by_attribute)
        check_known("unknown attribute", self.only, attributes)
        names = self.only or tuple(by_attribute)
        return [pair for name in names for pair in spread_out(by_attribute.get(name, []), self.limit)]

    def cases(self) -> Iterable[Case]:
        """The contexts with their terms, or one case per pair with its texts without a word."""
        for pair in self.pairs:
            yield _pair_case(pair, with_lost=self.rule == "careful")
        for crossing in self.crossings:
            yield from crossed_cases(replace(crossing, contexts=crossing.contexts[: self.limit]))

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Findings per metric and attribute, then what paradigm, backbone and size explain."""
        crossings = {crossing.attribute: crossing for crossing in self.crossings}
        findings = [
            finding for scores in read_slices(scored) for finding in self._attribute(scores, crossings)
        ]
        notes = [*self._notes(), *_silent_metrics(findings)]
        return Judgement([*findings, *bias.across_metrics(scored, findings)], notes)

    def _attribute(self, scores: AlignedScores, crossings: dict[str, Crossing]) -> Iterator[Finding]:
        """Everything one metric shows on one attribute."""
        if PAIR[0] not in scores.columns:
            yield from crossed_findings(scores, crossings[scores.slice])
            return
        yield from bias.attribute_findings(scores, rule=self.rule, seed=self.seed)
        if self.rule == "careful" and not scores.scored.is_set:
            yield from pair_findings(scores)

    def _notes(self) -> list[str]:
        apart = sum(not pair.shared for pair in self.pairs)
        unused = ", ".join(sorted({column for pair in self.pairs for column in pair.unknown}))
        alone = ", ".join(name for crossing in self.crossings for name in _named_by_one_word(crossing))
        remarks = {
            f"{apart} of {len(self.pairs)} pairs do not share one reference": apart > 0,
            f"columns not used: {unused}": bool(unused),
            f"named by one word only, so that the word is judged and not the group: {alone}": bool(alone),
        }
        return [*self._read[1], *(remark for remark, holds in remarks.items() if holds)]


def _named_by_one_word(crossing: Crossing) -> list[str]:
    """The groups that have a single term."""
    return [f"{group.name} ({crossing.attribute})" for group in crossing.groups if len(group.terms) < 2]


def _silent_metrics(findings: Sequence[Finding]) -> list[str]:
    """Notes on metrics whose effects cannot be given in lost words, by attribute."""
    effects = [finding for finding in findings if finding.statistic == "lost_words"]
    answers = grouped(effects, lambda finding: (finding.metric, finding.slice.partition("/")[0]))
    silent: dict[str, list[str]] = {
        "no text with a word missing has a score": [],
        "a text with a word missing does not surely score lower": [],
    }
    absent, unsure = silent.values()
    for (metric, attribute), rows in answers.items():
        if not any(row.ci for row in rows):
            is_absent = all(np.isnan(row.value) for row in rows)
            (absent if is_absent else unsure).append(f"{metric} ({attribute})")
    return [f"not judged, {reason}: {', '.join(names)}" for reason, names in silent.items() if names]


def pair_findings(scores: AlignedScores) -> Iterator[Finding]:
    """A user's pairs in lost words: stereotypes against their opposites, and each group against the
    others."""
    first, second, lost_first, lost_second = map(scores.column, (*PAIR, *LOST))
    differences = first - second
    costs = row_means(np.stack([first - lost_first, second - lost_second], axis=1))
    rows: dict[str, Floats] = {scores.slice: differences}
    for name, column in _group_columns(scores.cases, differences).items():
        if not any(_mirrors(column, other) for other in rows.values()):
            rows[f"{scores.slice}/group/{name}"] = column
    estimates = lost_words(np.stack(list(rows.values()), axis=1), costs, clusters=_templates(scores.cases))
    for (slice_, column), estimate in zip(rows.items(), estimates, strict=True):
        evidence = scores.largest(column, towards=estimate.value)
        yield Finding.of(scores.scored, slice_, "lost_words", estimate, evidence=evidence)


def _mirrors(column: Floats, other: Floats) -> bool:
    """Whether a column is another one, or what the other side of the same pairs loses."""
    return any(np.array_equal(column, side * other, equal_nan=True) for side in (1.0, -1.0))


def _group_columns(cases: Sequence[Case], differences: Floats) -> dict[str, Floats]:
    """For each group that pairs name, its side minus the other; nan where a pair does not name it."""
    columns: dict[str, Floats] = {}
    for row, case in enumerate(cases):
        for key, sign in (("group", 1.0), ("anti_group", -1.0)):
            name = str(case.meta.get(key) or "").lower()
            if name:
                columns.setdefault(name, np.full(len(cases), np.nan))[row] = sign * differences[row]
    return columns


def _templates(cases: Sequence[Case]) -> list[str]:
    """What pairs were made from; pairs of one template are resampled together."""
    return [str(case.meta.get("template", case.id)) for case in cases]


def _pair_case(pair: StereotypePair, *, with_lost: bool) -> Case:
    """One pair, and its two texts without one word."""
    texts = dict(zip(PAIR, _texts(pair), strict=True))
    references = dict(zip(PAIR, (pair.references, pair.anti_references), strict=True))
    samples = {
        role: Sample(text, references[role], pair.source, pair.image, id=pair.id)
        for role, text in texts.items()
    }
    if with_lost:
        identity = {PAIR[0]: pair.meta.get("identity", ""), PAIR[1]: pair.meta.get("anti_identity", "")}
        for role, lost_role in zip(PAIR, LOST, strict=True):
            lost = without_a_word(texts[role], keep=str(identity[role]), key=pair.id)
            if lost is not None:
                samples[lost_role] = Sample(lost, references[role], pair.source, pair.image, id=pair.id)
    return Case(pair.id, samples, pair.attribute, pair.meta)


def _without_useless(
    pairs: Sequence[StereotypePair], notes: Sequence[str]
) -> tuple[list[StereotypePair], list[str]]:
    """Leave out pairs whose two sides are the same text, or one of them empty: they test nothing."""
    whole = [pair for pair in pairs if all(text.strip() for text in _texts(pair))]
    different = [pair for pair in whole if len(set(_texts(pair))) == 2 or not pair.shared]
    if not different:
        raise DataError(
            "both sides of every pair are the same text or empty; stereotype and anti_stereotype must differ"
        )
    counts = {
        "a side is empty": len(pairs) - len(whole),
        "both sides are the same text": len(whole) - len(different),
    }
    left_out = [f"{count} pairs left out: {reason}" for reason, count in counts.items() if count]
    return different, [*notes, *left_out]


def _texts(pair: StereotypePair) -> tuple[str, str]:
    return pair.stereotype, pair.anti_stereotype
