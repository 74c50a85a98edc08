"""Stereotype pairs (unfair sec. 2): whom does a metric score differently for the same sentence?

Verdicts are on effects in percent of the gap: of each group and identity word, of stereotypes against their
opposites, and of the distance within pairs. Letters and frequency of the words move scores too, so effects
are taken beyond matched control pairs, whose words name no group. The papers' own statistics stand beside:
scores of an attribute put on 0 to 100 by their minimum and maximum (Eq. 1), `bias` the mean absolute
difference within pairs (Eq. 2), `signed_bias` the mean difference with stereotypes positive (app. E).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from assay.audits.gap import UNFAIR, WORTHLESS, worthless_text
from assay.audits.slices import FEWEST, spread_out
from assay.audits.stereotype import bias, directions, groups
from assay.audits.stereotype.bias import PairScores, attribute_findings, equally_long
from assay.audits.stereotype.controls import PAIR
from assay.core import Audit, Case, Chart, Finding, Judgement, Sample, Scored, Statistic
from assay.datasets.pairs import Pair, embedded_pairs, read_pair_files, swap_kind
from assay.errors import DataError, suggest
from assay.vocabulary import NonNegative, Question, Rule

CONTROL = "control"


@dataclass(frozen=True)
class Stereotype(Audit):
    """Pairs that differ in the group they name, against one neutral reference."""

    name: ClassVar[str] = "stereotype"
    question: ClassVar[Question] = "fairness"
    title: ClassVar[str] = "Stereotype pairs: bias by attribute"
    advice: ClassVar[str] = (
        "Do not compare systems that write about different groups by this score alone; measure the bias "
        "on your own pairs with `assay run stereotype --data`, or train an adapter with `assay debias`."
    )
    statistics: ClassVar[tuple[Statistic, ...]] = (
        *groups.STATISTICS, *bias.STATISTICS, *directions.STATISTICS,
    )  # fmt: skip
    charts: ClassVar[tuple[Chart, ...]] = (
        Chart("bars", "group_effect", "Effect of naming a group"),
        Chart("bars", "bias", "Size of the bias, whichever its side"),
    )
    roles: ClassVar[tuple[str, ...]] = PAIR

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None  # pairs per attribute, at even distances in the file
    only: tuple[str, ...] = ()  # attributes
    margin: float = UNFAIR  # percent of the gap by which a group may score higher or lower
    skip_missing: bool = False  # leave out pairs whose image is missing

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        return {"limit": 40}

    @cached_property
    def _read(self) -> tuple[list[Pair], list[str]]:
        if not self.data:
            return embedded_pairs(), []
        pairs, notes = read_pair_files(self.data, skip_missing=self.skip_missing)
        return (pairs, notes) if self.rule == "paper" else _without_same(pairs, notes)

    @cached_property
    def pairs(self) -> list[Pair]:
        """The pairs of the chosen attributes, at most `limit` per attribute."""
        by_attribute: dict[str, list[Pair]] = {}
        for pair in self._read[0]:
            by_attribute.setdefault(pair.attribute, []).append(pair)
        for name in self.only:
            if name not in by_attribute:
                raise DataError(f"no pairs for the attribute {name!r}{suggest(name, by_attribute)}")
        chosen = {name: by_attribute[name] for name in self.only or by_attribute if name != CONTROL}
        return [pair for pairs in chosen.values() for pair in spread_out(pairs, self.limit)]

    @cached_property
    def controls(self) -> list[Pair]:
        """The user's own control pairs (attribute `control`), or else the embedded ones."""
        pairs = self._own_controls or embedded_pairs(("controls",))
        return spread_out(pairs, None if self.limit is None else 2 * self.limit)

    @cached_property
    def _own_controls(self) -> list[Pair]:
        return [pair for pair in self._read[0] if pair.attribute == CONTROL]

    def cases(self) -> Iterable[Case]:
        """One case per pair, with a worthless text that shows how low a metric scores."""
        if self.rule == "careful":
            others = [pair.stereotype for pair in self._read[0]]
            yield from (_with_worthless(pair, others) for pair in self.pairs)
            yield from (_case(pair, CONTROL) for pair in self.controls)
        else:
            yield from (_case(pair, pair.attribute) for pair in self.pairs)

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Findings per metric and attribute, then what direction, paradigm, backbone and size explain."""
        findings: list[Finding] = []
        for answer in scored:
            controls = PairScores.of(answer, CONTROL)
            for name in dict.fromkeys(case.slice for case in answer.cases if case.slice != CONTROL):
                pairs = PairScores.of(answer, name)
                findings += attribute_findings(answer, pairs, controls, rule=self.rule, seed=self.seed)
        fairest = directions.fairest_directions(scored, findings)
        return Judgement([*findings, *fairest, *directions.across_metrics(scored, findings)], self._notes())

    def _notes(self) -> list[str]:
        pairs, careful = self.pairs, self.rule == "careful"
        apart = sum(not pair.shared for pair in pairs)
        unknown = sorted({column for pair in pairs for column in pair.unknown})
        whose = "your" if self._own_controls else "the embedded"
        uneven = sum(not equally_long(*_texts(pair)) for pair in pairs)
        counts = Counter(pair.attribute for pair in pairs)
        small = [f"{name} ({count})" for name, count in counts.items() if count < FEWEST]
        named = Counter((pair.attribute, pair.meta["group"]) for pair in pairs if pair.meta.get("group"))
        few = sum(count < FEWEST for count in named.values())
        notes: list[tuple[object, str]] = [
            (apart, f"{apart} of {len(pairs)} pairs do not share one reference"),
            (unknown, f"columns not used: {', '.join(unknown)}"),
            (careful, f"pairs are compared with the nearest of {len(self.controls)} pairs of {whose} "
             "controls; imported scores without controls are taken as they are, and have no excess_bias"),
            (careful and uneven, f"{uneven} pairs have more words on one side and are left out of the "
             "verdicts"),
            (small, f"fewer than {FEWEST} pairs, too few for a verdict: {', '.join(small)}"),
            (few, f"{few} groups have fewer than {FEWEST} pairs: too few to say more"),
        ]  # fmt: skip
        return [*self._read[1], *(note for applies, note in notes if applies)]


def _with_worthless(pair: Pair, others: Sequence[str]) -> Case:
    case = _case(pair, pair.attribute)
    unrelated = [text for text in others if text not in _texts(pair)]
    text = worthless_text(pair.stereotype, unrelated, case.samples["stereotype"].key)
    if text is None:
        return case
    worthless = Sample(text, pair.references, pair.source, pair.image, id=pair.id)
    return replace(case, samples={**case.samples, WORTHLESS: worthless})


def _case(pair: Pair, slice_: str) -> Case:
    sides = ((pair.stereotype, pair.references), (pair.anti_stereotype, pair.anti_references))
    samples = {
        role: Sample(text, references, pair.source, pair.image, id=pair.id)
        for role, (text, references) in zip(PAIR, sides, strict=True)
    }
    return Case(pair.id, samples, slice_, {**pair.meta, "kind": swap_kind(pair)})


def _without_same(pairs: Sequence[Pair], notes: Sequence[str]) -> tuple[list[Pair], list[str]]:
    """Leave out pairs whose two sides are the same text: they test nothing."""
    different = [pair for pair in pairs if len(set(_texts(pair))) == 2 or not pair.shared]
    if not different:
        raise DataError(
            "both sides of every pair are the same text; stereotype and anti_stereotype must differ"
        )
    left_out = len(pairs) - len(different)
    more = [f"{left_out} pairs left out: both sides are the same text"] if left_out else []
    return different, [*notes, *more]


def _texts(pair: Pair) -> tuple[str, str]:
    return pair.stereotype, pair.anti_stereotype
