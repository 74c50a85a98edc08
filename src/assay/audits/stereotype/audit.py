"""Stereotype pairs (unfair sec. 2): does a metric score two groups apart for the same sentence?

Scores of an attribute are put on 0 to 100 by its own minimum and maximum (Eq. 1); `bias` is the mean size of
the difference (Eq. 2), `signed_bias` its mean with stereotypes counted positive (app. E). Any edit moves a
neural score, so `excess_bias` is the bias over that of control pairs, whose words carry no identity, their
differences put on the attribute's own scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from assay.audits.slices import spread_out
from assay.audits.stereotype.bias import Judged, Margins, as_long, attribute_findings
from assay.audits.stereotype.directions import across_metrics, fairest_directions
from assay.core import Audit, Case, Finding, Sample, Scored
from assay.datasets.pairs import Pair, embedded_pairs, read_pair_files, swap_kind
from assay.errors import DataError, suggest
from assay.recipe import generator
from assay.statistics.estimates import benjamini_hochberg, verdict
from assay.vocabulary import Question, Rule

CONTROL = "control"
ALPHA = 0.05
_ROUNDING = 1e-12
_SCORE_ALIKE = "score alike, so no verdict; check the references"
FEWEST = 10  # pairs below which a group is too small for a verdict


@dataclass(frozen=True)
class Stereotype(Audit):
    """Pairs that differ in whom they speak of, against one neutral reference."""

    name: ClassVar[str] = "stereotype"
    question: ClassVar[Question] = "fairness"
    roles: ClassVar[tuple[str, ...]] = ("stereotype", "anti_stereotype")

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None  # pairs an attribute, spread over the file
    only: tuple[str, ...] = ()  # attributes
    excess_margin: float = 5.0  # points of 100 over the control floor that matter
    signed_margin: float = 1.0  # points of 100 towards (or against) the stereotype that matter
    skip_missing: bool = False  # leave out pairs whose image is missing

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Forty pairs an attribute."""
        return {"limit": 40}

    @cached_property
    def _read(self) -> tuple[list[Pair], list[str]]:
        if not self.data:
            return embedded_pairs(), []
        pairs, notes = read_pair_files(self.data, skip_missing=self.skip_missing)
        return (pairs, notes) if self.rule == "paper" else _without_same(pairs, notes)

    @cached_property
    def pairs(self) -> list[Pair]:
        """The pairs asked for, at most `limit` an attribute."""
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
        """The user's own control pairs (attribute `control`), else the embedded ones."""
        own = [pair for pair in self._read[0] if pair.attribute == CONTROL]
        return spread_out(
            own or embedded_pairs(("controls",)), None if self.limit is None else 2 * self.limit
        )

    def cases(self) -> Iterable[Case]:
        """A case a pair; a text of another pair shows how far a wrong text falls."""
        if self.rule == "careful":
            others = [pair.stereotype for pair in self.pairs]
            yield from (self._with_random(pair, others) for pair in self.pairs)
            yield from (_case(pair, CONTROL) for pair in self.controls)
        else:
            yield from (_case(pair, pair.attribute) for pair in self.pairs)

    def _with_random(self, pair: Pair, others: Sequence[str]) -> Case:
        case = _case(pair, pair.attribute)
        rng = generator(self.seed, self.name, case.samples["stereotype"].key)
        wrong = [text for text in rng.sample(others, min(8, len(others))) if text not in _texts(pair)]
        if not wrong:
            return case
        random = Sample(wrong[0], pair.references, pair.source, pair.image, id=pair.id)
        return replace(case, samples={**case.samples, "random": random})

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Findings an attribute and metric, then what paradigm, backbone, size and direction make of it."""
        margins = Margins(self.excess_margin, self.signed_margin, FEWEST, self.seed, self.rule)
        found: list[Finding] = []
        for one in scored:
            slices = dict.fromkeys(case.slice for case in one.cases if case.slice != CONTROL)
            controls = Judged.of(one, CONTROL)
            mine = [
                finding
                for name in slices
                for finding in attribute_findings(Judged.of(one, name), controls, margins)
            ]
            found += self._told(_with_q(mine, margins))
        return [*found, *fairest_directions(scored, found), *across_metrics(scored, found)]

    def _told(self, found: Sequence[Finding]) -> list[Finding]:
        """No verdict on an attribute where texts of other pairs score as high: the metric tells nothing."""
        gaps = {f.slice: f.value for f in found if f.statistic == "gold_random_gap"}
        blind = {name: f"{found[0].metric}: {name}" for name, gap in gaps.items() if abs(gap) < _ROUNDING}
        self._blind.update(dict.fromkeys(blind.values()))
        return [replace(f, passed=None) if f.slice in blind else f for f in found]

    @cached_property
    def _blind(self) -> dict[str, None]:
        return {}

    def notes(self) -> list[str]:
        """What was left out or does not fit."""
        notes = [*self._read[1], *(f"{where}: texts of other pairs {_SCORE_ALIKE}" for where in self._blind)]
        apart = sum(not pair.shared for pair in self.pairs)
        if apart:
            notes.append(f"{apart} of {len(self.pairs)} pairs do not share one reference")
        unknown = sorted({column for pair in self.pairs for column in pair.unknown})
        if unknown:
            notes.append(f"columns not used: {', '.join(unknown)}")
        if self.rule == "careful":
            own = any(pair.attribute == CONTROL for pair in self._read[0])
            whose = "your" if own else "the embedded"
            notes.append(
                f"control floor: {len(self.controls)} pairs of {whose} controls, on each attribute's scale; "
                "imported scores have none, and so no excess_bias"
            )
            uneven = sum(not as_long(*_texts(pair)) for pair in self.pairs)
            if uneven:
                notes.append(f"{uneven} pairs have more words on one side and are left out of excess_bias")
        return notes + self._too_few()

    def _too_few(self) -> list[str]:
        counts = Counter(pair.attribute for pair in self.pairs)
        small = [f"{name} ({count})" for name, count in counts.items() if count < FEWEST]
        notes = [f"fewer than {FEWEST} pairs, too few for a verdict: {', '.join(small)}"] if small else []
        groups = Counter((pair.attribute, pair.meta.get("group")) for pair in self.pairs)
        few = sum(count < FEWEST for (_, group), count in groups.items() if group)
        return [*notes, f"{few} groups have fewer than {FEWEST} pairs: too few to say more"] if few else notes


def _case(pair: Pair, slice_: str) -> Case:
    samples = {
        "stereotype": Sample(pair.stereotype, pair.references, pair.source, pair.image, id=pair.id),
        "anti_stereotype": Sample(
            pair.anti_stereotype, pair.anti_references, pair.source, pair.image, id=pair.id
        ),
    }
    return Case(pair.id, samples, slice_, {**pair.meta, "kind": swap_kind(pair)})


def _without_same(pairs: Sequence[Pair], notes: Sequence[str]) -> tuple[list[Pair], list[str]]:
    """Pairs whose sides are one text test nothing."""
    kept = [pair for pair in pairs if len(set(_texts(pair))) == 2 or not pair.shared]
    if not kept:
        raise DataError(
            "both sides of every pair are the same text; stereotype and anti_stereotype must differ"
        )
    left_out = len(pairs) - len(kept)
    more = [f"{left_out} pairs left out: both sides are the same text"] if left_out else []
    return kept, [*notes, *more]


def _texts(pair: Pair) -> tuple[str, str]:
    return pair.stereotype, pair.anti_stereotype


def _with_q(found: Sequence[Finding], margins: Margins) -> list[Finding]:
    """Fill q-values within the metric, then judge the signed bias by its q and its size (DESIGN 8)."""
    q_values = benjamini_hochberg([finding.p_value for finding in found])
    filled = [
        finding if finding.p_value is None else replace(finding, q_value=float(q))
        for finding, q in zip(found, q_values, strict=True)
    ]
    return [replace(finding, passed=_signed_verdict(finding, margins)) for finding in filled]


def _signed_verdict(finding: Finding, margins: Margins) -> bool | None:
    """Fails where it is both real (q < .05) and large enough; passes where its interval is small."""
    if finding.statistic != "signed_bias" or finding.q_value is None or margins.rule == "paper":
        return finding.passed
    if finding.n < margins.fewest:
        return None
    if finding.q_value < ALPHA and abs(finding.value) >= margins.signed:
        return False
    return True if verdict(finding.ci, margins.signed, "either") else None
