"""Challenge sets: of two texts of which one is better, does a metric prefer that one?

Any published or private set of pairs can be asked: a good and a bad text with what they are compared with,
and the kind and severity of the error. Right order is given for each kind and each severity, and over kinds
that weigh the same; whether graver errors cost more stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np
from rapidfuzz.distance import OSA

from assay.audits.base import DataAudit, check_known, in_words, left_out, order_in_words
from assay.audits.corpora import right_order_statistic
from assay.audits.effects import BAR, AlignedScores, read_slices, right_order
from assay.audits.severity import SEVERITY_ORDER, costs_of, severity_order
from assay.core import Case, Finding, Judgement, Scored, Statistic
from assay.datasets.challenges import UNNAMED, ChallengePair, read_choices
from assay.datasets.records import SEVERITIES
from assay.errors import DataError
from assay.grouping import grouped
from assay.vocabulary import DataKind, Question

GOOD, BAD = "good", "bad"


def _sentence(finding: Finding) -> str:
    name, kind = finding.slice.split("/")
    worse = "the bad one" if kind == UNNAMED else f"one with an error of the kind “{in_words(kind)}”"
    return order_in_words(finding, f"a good text ({in_words(name)})", worse)


@dataclass(frozen=True)
class Challenge(DataAudit):
    """Pairs of a good and a bad text of your own, by kind and severity of the error."""

    name = "challenge"
    title = "Challenge set"
    question: ClassVar[Question] = "robustness"
    reads: ClassVar[DataKind] = "challenge"
    advice = "On the kinds it fails, read a second metric beside it that orders them right."
    wants = "a row needs two different texts, `good` and `bad`"
    needs_data = True
    roles = (GOOD, BAD)
    statistics = (
        right_order_statistic("a good text and a bad one with this kind of error", "", sentence=_sentence),
        Statistic(
            "mean_right_order",
            "Right order over all kinds of error, which weigh the same, and over the pairs of one severity.",
            "of 100", headline=True,
        ),
        SEVERITY_ORDER,
    )  # fmt: skip

    only: tuple[str, ...] = ()  # kinds of error
    bar: float = BAR

    @cached_property
    def sets(self) -> dict[str, list[ChallengePair]]:
        """The pairs of each file by its name, at most `limit` of a kind."""
        if not self.data:
            raise DataError("challenge needs pairs of texts: give --data FILE with the columns good and bad")
        sets: dict[str, list[ChallengePair]] = {}
        for path in self.data:
            sets[_unused_name(path, sets)] = read_choices(path)
        kinds = {choice.kind for choices in sets.values() for choice in choices}
        check_known("unknown kind", self.only, kinds)
        return {name: self._chosen(choices) for name, choices in sets.items()}

    def _chosen(self, choices: Sequence[ChallengePair]) -> list[ChallengePair]:
        """The pairs of the chosen kinds, each kind in an order by content: its beginning is a fair sample."""
        ordered = sorted(choices, key=lambda choice: (choice.bad.key, choice.good.key))
        by_kind = grouped(ordered, lambda choice: choice.kind)
        wanted = [kind for kind in sorted(by_kind) if not self.only or kind in self.only]
        return [choice for kind in wanted for choice in by_kind[kind][: self.limit]]

    def cases(self) -> Iterable[Case]:
        """One case per pair, one slice per kind."""
        for name, choices in self.sets.items():
            for choice in filter(_is_asked, choices):
                slice_ = f"{name}/{choice.kind}"
                meta = {"severity": choice.severity, "cluster": choice.cluster}
                yield Case(f"{slice_}:{choice.id}", {GOOD: choice.good, BAD: choice.bad}, slice_, meta)

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        slices = [scores for scores in read_slices(scored) if {GOOD, BAD} <= set(scores.columns)]
        findings = [_kind_finding(scores) for scores in slices]
        single = [scores for scores in slices if not scores.scored.is_set]
        for rows in grouped(single, lambda scores: (scores.scored.metric, _set_of(scores))).values():
            findings += _set_findings(rows)
        return Judgement(findings, self._notes())

    def _notes(self) -> list[str]:
        notes = []
        for name, choices in self.sets.items():
            unasked = len(choices) - sum(map(_is_asked, choices))
            reasons = {"the bad text is empty, or is the good one": unasked}
            notes += left_out(name, len(choices), reasons, "pairs")
            kinds = combinations(sorted({choice.kind for choice in choices}), 2)
            alike = ", ".join(f"{one} and {other}" for one, other in kinds if _are_alike(one, other))
            if alike:
                notes.append(f"{name}: kinds that differ in one letter, misspelt? {alike}")
        return notes


def _are_alike(kind: str, other: str) -> bool:
    """Whether two names of kinds differ in one letter, and in no digit."""
    one_letter = OSA.distance(kind, other) == 1
    return one_letter and re.sub(r"\D", "", kind) == re.sub(r"\D", "", other)


def _unused_name(path: Path, used: Iterable[str]) -> str:
    """The name of a file without its ending, or that of its folder as well where it is taken."""
    return path.stem if path.stem not in used else f"{path.parent.name}-{path.stem}"


def _is_asked(choice: ChallengePair) -> bool:
    """Whether there is something to decide."""
    bad = choice.bad.hypothesis.strip()
    return bad not in ("", choice.good.hypothesis.strip())


def _set_of(scores: AlignedScores) -> str:
    return scores.slice.partition("/")[0]


def _kind_finding(scores: AlignedScores) -> Finding:
    """How often one metric prefers the good text, for one kind of error."""
    order = scores.right_order([GOOD], [BAD])
    evidence = scores.largest(1 - scores.decisions([GOOD], [BAD]))
    return Finding.of(scores.scored, scores.slice, "right_order", order, versus=GOOD, evidence=evidence)


def _set_findings(slices: Sequence[AlignedScores]) -> Iterator[Finding]:
    """What one metric says of one set: over all kinds, by severity, and whether graver errors cost more."""
    scored, name = slices[0].scored, _set_of(slices[0])
    kinds = [(scores.decisions([GOOD], [BAD]), scores.clusters) for scores in slices]
    yield Finding.of(scored, f"{name}/all", "mean_right_order", right_order(kinds))
    stated = np.array([case.meta["severity"] for scores in slices for case in scores.cases])
    decisions = np.concatenate([decided for decided, _ in kinds])
    clusters = [label for _, labels in kinds for label in labels]
    for severity in SEVERITIES:
        order = right_order([(np.where(stated == severity, decisions, np.nan), clusters)])
        if order.n:
            yield Finding.of(scored, f"{name}/severity/{severity}", "mean_right_order", order)
    pairs = severity_order([costs_of(slices, GOOD, BAD)])
    if pairs is not None:
        yield Finding.of(scored, f"{name}/severity", "severity_order", pairs)
