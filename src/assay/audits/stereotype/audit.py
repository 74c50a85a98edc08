"""Stereotype pairs (unfair sec. 2): whom does a metric score differently for the same sentence?

Verdicts are on effects in percent of the gap: of each group and identity word, of stereotypes against their
opposites, and of the distance within pairs. Letters and frequency of the words move scores too, so effects
are taken beyond matched control pairs, whose words name no group. The papers' own statistics stand beside:
scores of an attribute put on 0 to 100 by their minimum and maximum (Eq. 1), `bias` the mean absolute
difference within pairs (Eq. 2), `signed_bias` the mean difference with stereotypes positive (app. E).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from assay.audits.base import DataAudit, check_known, declared
from assay.audits.gap import UNFAIR, with_worthless
from assay.audits.slices import FEWEST, PairScores, grouped, spread_out
from assay.audits.stereotype import bias
from assay.audits.stereotype.groups import PAIR
from assay.core import Case, Finding, Judgement, Sample, Scored
from assay.datasets.pairs import Pair, embedded_pairs, read_pair_files
from assay.errors import DataError

CONTROL = "control"


@declared()
@dataclass(frozen=True)
class Stereotype(DataAudit):
    """Pairs that differ in the group they name, against one neutral reference."""

    name = "stereotype"
    roles = PAIR

    limit: int | None = None  # pairs per attribute, at even distances in the file
    only: tuple[str, ...] = ()  # attributes
    margin: float = UNFAIR  # percent of the gap by which a group may score higher or lower
    skip_missing: bool = False  # leave out pairs whose image is missing

    @cached_property
    def _read(self) -> tuple[list[Pair], list[str]]:
        if not self.data:
            return embedded_pairs(), []
        pairs, notes = read_pair_files(self.data, skip_missing=self.skip_missing)
        return (pairs, notes) if self.rule == "paper" else _without_same(pairs, notes)

    @cached_property
    def pairs(self) -> list[Pair]:
        """The pairs of the chosen attributes, at most `limit` per attribute."""
        by_attribute = grouped(self._read[0], lambda pair: pair.attribute)
        check_known("no pairs for the attribute", self.only, by_attribute)
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
            others = grouped(self._read[0], lambda pair: pair.attribute)
            for pair in self.pairs:
                case, texts = _case(pair, pair.attribute), _texts(pair)
                # A worthless text out of its own attribute, whose texts are about as long as its own.
                unrelated = [o.stereotype for o in others[pair.attribute] if o.stereotype not in texts]
                samples = with_worthless(case.samples, unrelated, case.samples["stereotype"].key)
                yield replace(case, samples=samples)
            yield from (_case(pair, CONTROL) for pair in self.controls)
        else:
            yield from (_case(pair, pair.attribute) for pair in self.pairs)

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Findings per metric and attribute, then what paradigm, backbone and size explain."""
        findings: list[Finding] = []
        for answer in scored:
            controls = PairScores.of(answer, CONTROL, PAIR)
            for name in dict.fromkeys(case.slice for case in answer.cases if case.slice != CONTROL):
                pairs = PairScores.of(answer, name, PAIR)
                findings += bias.attribute_findings(answer, pairs, controls, rule=self.rule, seed=self.seed)
        return Judgement([*findings, *bias.across_metrics(scored, findings)], self._notes())

    def _notes(self) -> list[str]:
        pairs, careful = self.pairs, self.rule == "careful"
        apart = sum(not pair.shared for pair in pairs)
        unknown = sorted({column for pair in pairs for column in pair.unknown})
        whose = "your" if self._own_controls else "the embedded"
        uneven = sum(not bias.equally_long(*_texts(pair)) for pair in pairs)
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


def _case(pair: Pair, slice_: str) -> Case:
    sides = zip(_texts(pair), (pair.references, pair.anti_references), strict=True)
    samples = [Sample(text, references, pair.source, pair.image, id=pair.id) for text, references in sides]
    return Case(pair.id, dict(zip(PAIR, samples, strict=True)), slice_, pair.meta)


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
