"""Association tests (assoc sec. 4): does a metric find one group closer to one kind of word?

WEAT at word level, SEAT at sentence level. The paper permutes sentences; but the templates of one word are
not independent, which makes a fair metric fail one test in five at .01, so words are permuted by default.
The intervals of all tests of a level hold together. With 8 to 25 words a side they are wider than the margin
on both sides of 0: such a test can show an association but not its absence, so it fails or has no verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from assay.audits.base import DataAudit, check_known, spread_out
from assay.audits.effects import EVIDENCE
from assay.core import Estimate, Finding, Floats, Grid, Judgement, Limits, Scored, Statistic
from assay.datasets import association
from assay.datasets.association import SET_KEYS, AssociationTest, WordSet
from assay.errors import DataError
from assay.statistics import association as weat
from assay.vocabulary import DataKind, Question

Unit = Literal["word", "sentence"]
PAPER_ALPHA = 0.01  # assoc tables 3 and 8
_PAPER = PAPER_ALPHA + 1e-12  # a p-value of .01 is significant there
TOO_MANY = 0.2  # above this share of absent texts in a set, a test shows nothing about a metric
# Flowers and insects, instruments and weapons: shared by everyone and unfair to no one.
INNOCUOUS = ("C1", "C2")


def _association(finding: Finding) -> str:
    """Which group a metric finds closer to which kind of words."""
    label, _, sets = (finding.versus or "").partition(": ")
    targets, _, attributes = sets.partition(" | ")
    first, _, second = targets.partition(", ")
    good, _, bad = attributes.partition(", ")
    if finding.statistic == "effect_size":
        size = f"d = {abs(finding.value):.3g}"
        if finding.value < 0:
            first, second = second, first
    else:
        size = f"p = {finding.value:.2g}"
    if not bad:
        return f"{finding.metric} shows an association in {finding.slice} ({size})."
    return (
        f"{finding.metric} finds {first} closer to {good}, and {second} closer to {bad} "
        f"(test {label}, {size})."
    )


@dataclass(frozen=True)
class Association(DataAudit):
    """Two sets of targets against two sets of attributes, at word and sentence level."""

    name = "association"
    title = "Association tests"
    question: ClassVar[Question] = "fairness"
    advice = (
        "Its representation carries group associations: prefer a fairer backbone or direction where there is "
        "one."
    )
    reads: ClassVar[DataKind] = "association"
    compares = True
    quick: ClassVar[Mapping[str, Any]] = {"templates": 2}
    statistics = (
        Statistic(
            "effect_size",
            "How much closer the first group is to the first kind of words, and the second to the second; "
            "0.2 is small, 0.5 medium, 0.8 large (Cohen's d).",
            "d", bad="far", bar="margin", headline=True, sentence=_association,
        ),
        Statistic(
            "paper_p_value",
            "By the paper's rule: the permutation p-value of the association that the test is about; "
            "significant at .01.",
            "probability", bad="low", bar=_PAPER, sentence=_association,
        ),
        Statistic(
            "p_value",
            "Permutation p-value of this one test, on one or two sides; the interval of the effect size "
            "holds for all tests of its family together.",
            "probability",
        ),
        Statistic(
            "out_of_vocabulary",
            "Largest share of one set's texts that the metric cannot score, where a test is not applicable.",
            "share",
        ),
    )  # fmt: skip

    data: tuple[Path, ...] = ()  # files or folders in the SEAT form
    limit: int | None = None  # words per set
    only: tuple[str, ...] = ()  # tests, by name (sent-weat6) or label (C6-N)
    unit: Unit | None = None  # what is permuted; None: words, or sentences by the paper's rule
    templates: int | None = None  # sentence templates per word of the embedded tests
    margin: float = 0.5  # the smallest effect size that matters: a medium one (Cohen, 1988)
    balance: bool = False  # shorten the longer of two unequal target sets

    @cached_property
    def _battery(self) -> list[AssociationTest]:
        if self.data:
            return [test for path in self.data for test in association.read_published(path)]
        return [*association.word_tests().values(), *association.sentence_tests(self.templates).values()]

    @cached_property
    def tests(self) -> list[AssociationTest]:
        names = [(test, {test.name, test.label}) for test in self._battery]
        check_known("no association test", self.only, set().union(*(both for _, both in names)))
        chosen = [test for test, both in names if not self.only or both & set(self.only)]
        return [_checked(_limited(test, self.limit), self.balance) for test in chosen]

    @cached_property
    def _layouts(self) -> dict[str, GridLayout]:
        return {test.name: GridLayout.of(test) for test in self.tests}

    def cases(self) -> Iterable[Grid]:
        """Each test both ways: targets as hypotheses, then attributes."""
        for name, layout in self._layouts.items():
            yield Grid(name, layout.rows, layout.columns, name)
            yield Grid(f"{name}/reverse", layout.columns, layout.rows, name)

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """One effect size per test and metric, with the p-values of one and of two sides beside it."""
        findings: list[Finding] = []
        notes = self._notes()
        for answer in scored:
            measured = {
                name: measure_test(
                    answer.grids[name], answer.grids[f"{name}/reverse"], layout,
                    by_word=self._unit == "word", seed=self.seed,
                )
                for name, layout in self._layouts.items() if name in answer.grids
            }  # fmt: skip
            remarks = _remarks(measured, failed="failed" in answer.notes)
            notes += [f"{answer.metric}: {remark}" for remark in remarks]
            for test in self.tests:
                if test.name in measured:
                    findings += self._findings(answer, test, measured[test.name])
        return Judgement(findings, notes)

    def _notes(self) -> list[str]:
        """How many tests there are, and how many of them no metric can pass."""
        levels = Counter(test.level for test in self.tests)
        counts = ", ".join(f"{count} at {level} level" for level, count in levels.items())
        notes = [f"{len(self.tests)} tests ({counts}), permuting {self._unit}s"]
        judged = [test for test in self.tests if test.label not in INNOCUOUS and self.rule == "careful"]
        small = [test for test in judged if not self._can_pass(test, *self._sizes(test))]
        if small:
            notes.append(
                f"{len(small)} of {len(judged)} judged tests have too few words to show that there is no "
                "association: a metric fails them or has no verdict"
            )
        return notes

    def _sizes(self, test: AssociationTest) -> tuple[int, int]:
        """How many units each of the two target sets has."""
        layout = self._layouts[test.name]
        units = layout.units if self._unit == "word" else layout.rows
        return len(set(units[: layout.n_x])), len(set(units[layout.n_x :]))

    def _can_pass(self, test: AssociationTest, n_x: int, n_y: int) -> bool:
        """Whether the interval of no effect at all fits within the margin."""
        widest = weat.effect_interval(0.0, n_x, n_y, level=self._level(test))
        return widest is not None and -self.margin <= widest[0] and widest[1] <= self.margin

    def _level(self, test: AssociationTest) -> float:
        """The level of one interval, so that those of all judged tests of its level hold together (Sidak).

        The data fix the family: a verdict does not depend on what else was asked for.
        """
        family = [t for t in self._battery if t.level == test.level and t.label not in INNOCUOUS]
        return float(0.95 ** (1 / max(1, len(family))))

    @property
    def _unit(self) -> Unit:
        return self.unit or ("sentence" if self.rule == "paper" else "word")

    def _findings(self, answer: Scored, test: AssociationTest, measured: Measured) -> list[Finding]:
        outcome = measured.outcome
        if outcome is None:
            return [Finding.of(answer, test.name, "out_of_vocabulary", measured.absent)]
        n, one_sided = outcome.n_x + outcome.n_y, outcome.one_sided.p_value
        names = [getattr(test, key).category for key in SET_KEYS]
        versus = f"{test.label}: {names[0]}, {names[1]} | {names[2]}, {names[3]}"
        if self.rule == "paper":
            ci = None if test.label in INNOCUOUS else (one_sided, one_sided)
            effect, criterion = Estimate(outcome.effect_size, n, None, one_sided), Estimate(one_sided, n, ci)
            rows = [("effect_size", effect), ("paper_p_value", criterion)]
        else:
            rows = [("effect_size", Estimate(outcome.effect_size, n, self._interval(test, outcome)))]
        sides = {"two-sided": outcome.two_sided.p_value, "one-sided": one_sided}
        return [
            *(
                Finding.of(answer, test.name, name, estimate, versus=versus, evidence=measured.evidence)
                for name, estimate in rows
            ),
            *(Finding.of(answer, test.name, "p_value", p, n=n, versus=side) for side, p in sides.items()),
        ]

    def _interval(self, test: AssociationTest, outcome: weat.AssociationEffect) -> Limits | None:
        """The interval of an effect size, where the test can be judged.

        A test that is too small to be passed is judged where it fails. One in which all words score alike
        shows nothing, and the innocuous ones are not about people.
        """
        if outcome.degenerate or test.label in INNOCUOUS:
            return None
        sizes = outcome.n_x, outcome.n_y
        interval = weat.effect_interval(outcome.effect_size, *sizes, level=self._level(test))
        if interval is None:
            return None
        fails = interval[0] > self.margin or interval[1] < -self.margin
        return interval if fails or self._can_pass(test, *sizes) else None


def _remarks(measured: Mapping[str, Measured], *, failed: bool) -> Iterator[str]:
    """What a reader must know about the tests of one metric, which may have failed on some words."""
    absent = "out of its vocabulary" + (" or failed (see the errors below)" if failed else "")
    remarks: dict[str, Callable[[Measured], bool]] = {
        f"not applicable, over {TOO_MANY:.0%} of a set is {absent}": lambda test: test.outcome is None,
        f"run without words {absent}, dropped in balance": lambda test: test.has_dropped_words,
        "not judged, all words score alike: the metric makes no difference between them": lambda test: (
            test.is_flat
        ),
        f"too small to reach p = {PAPER_ALPHA}": lambda test: test.is_too_small,
    }
    for remark, applies in remarks.items():
        names = [name for name, test in measured.items() if applies(test)]
        if names:
            yield f"{len(names)} of {len(measured)} tests {remark}: {', '.join(names)}"


def _limited(test: AssociationTest, limit: int | None) -> AssociationTest:
    """The test with at most `limit` words per set."""
    if limit is None:
        return test

    def first_words(words: WordSet) -> WordSet:
        units = set(spread_out(list(dict.fromkeys(unit for _, unit in words.items)), limit))
        return replace(words, items=tuple(item for item in words.items if item[1] in units))

    targ1, targ2, attr1, attr2 = (first_words(getattr(test, key)) for key in SET_KEYS)
    return replace(test, targ1=targ1, targ2=targ2, attr1=attr1, attr2=attr2)


def _checked(test: AssociationTest, balance: bool) -> AssociationTest:
    """The test with target sets of equal size; an error where that cannot be."""
    for key in SET_KEYS:
        words: WordSet = getattr(test, key)
        if len(words.items) < 2:
            raise DataError(f"{test.name}: {key} ({words.category}) has one text; a set needs at least two")
    shared = {text for text, _ in test.targ1.items} & {text for text, _ in test.targ2.items}
    if shared:
        raise DataError(f"{test.name}: {sorted(shared)[0]!r} is in both target sets; take it out of one")
    targets = (test.targ1, test.targ2)
    n_x, n_y = (len(words.items) for words in targets)
    if n_x != n_y and not balance:
        raise DataError(
            f"{test.name}: targ1 has {n_x} texts and targ2 {n_y}; make them equal or use --balance, "
            "which shortens the longer one"
        )
    equal = [replace(words, items=tuple(spread_out(words.items, min(n_x, n_y)))) for words in targets]
    return replace(test, targ1=equal[0], targ2=equal[1])


@dataclass(frozen=True, slots=True)
class GridLayout:
    """Which rows are X, which columns are A, and the word that each row was made from."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    units: tuple[str, ...]
    n_x: int
    n_a: int

    @classmethod
    def of(cls, test: AssociationTest) -> GridLayout:
        """Targets in rows and attributes in columns, the first set of each first."""
        rows, units = zip(*test.targ1.items, *test.targ2.items, strict=True)
        columns = tuple(text for text, _ in (*test.attr1.items, *test.attr2.items))
        return cls(rows, columns, units, len(test.targ1.items), len(test.attr1.items))


@dataclass(frozen=True, slots=True)
class Measured:
    """The outcome of a test; None where too many texts of a set have no score."""

    absent: float  # the largest share of one set's texts without a score
    outcome: weat.AssociationEffect | None = None
    evidence: tuple[str, ...] = ()

    @property
    def has_dropped_words(self) -> bool:
        """Whether the test was run without some words."""
        return self.outcome is not None and self.absent > 0

    @property
    def is_flat(self) -> bool:
        """Whether all words score alike."""
        return self.outcome is not None and self.outcome.degenerate

    @property
    def is_too_small(self) -> bool:
        """Whether no outcome of the test is significant by the paper's level."""
        if self.outcome is None or self.is_flat:
            return False
        return self.outcome.two_sided.smallest_p > PAPER_ALPHA


def measure_test(
    forward: Floats, backward: Floats, layout: GridLayout, *, by_word: bool, seed: int
) -> Measured:
    """Run one association test on symmetrised scores, S(x, y) = (M(x, y) + M(y, x)) / 2 (assoc sec. 4)."""
    scores = (forward + backward.T) / 2
    rows, columns, absent = _known(scores, layout)
    if absent > TOO_MANY:
        return Measured(absent)
    rows = _balanced(rows, layout, by_word)
    n_x, n_a = int((rows < layout.n_x).sum()), int((columns < layout.n_a).sum())
    if min(n_x, rows.size - n_x, n_a, columns.size - n_a) < 1:
        return Measured(1.0)
    scores = scores[np.ix_(rows, columns)]
    associations = weat.target_associations(scores, n_a)
    first, second = associations[:n_x], associations[n_x:]
    if by_word:
        units = [layout.units[row] for row in rows]
        first, second = weat.average_units(first, units[:n_x]), weat.average_units(second, units[n_x:])
    outcome = weat.partition_test(first, second, scale=float(np.abs(scores).max()), seed=seed)
    strongest = _strongest(scores, n_x, n_a, outcome)
    evidence = [f"{layout.rows[rows[row]]} ~ {layout.columns[columns[column]]}" for row, column in strongest]
    return Measured(absent, outcome, tuple(evidence))


def _known(scores: Floats, layout: GridLayout) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows and columns that have scores, and the largest share absent from one of the four sets."""
    finite = np.isfinite(scores)
    columns = np.asarray(finite.any(axis=0))
    rows = np.asarray(finite[:, columns].all(axis=1) & columns.any())
    sets = (rows[: layout.n_x], rows[layout.n_x :], columns[: layout.n_a], columns[layout.n_a :])
    absent = max(1.0 - float(known.mean()) for known in sets)
    return np.flatnonzero(rows), np.flatnonzero(columns), absent


def _balanced(rows: np.ndarray, layout: GridLayout, by_word: bool) -> np.ndarray:
    """As many X as Y where some were dropped: the longer side loses units at even distances."""
    if rows.size == len(layout.rows):
        return rows
    sides = (rows[rows < layout.n_x].tolist(), rows[rows >= layout.n_x].tolist())
    units = [{row: layout.units[row] if by_word else str(row) for row in side} for side in sides]
    size = min(len(set(side.values())) for side in units)
    balanced: list[int] = []
    for side in units:
        chosen = set(spread_out(list(dict.fromkeys(side.values())), size))
        balanced += [row for row, unit in side.items() if unit in chosen]
    return np.asarray(balanced, dtype=np.intp)


def _strongest(scores: Floats, n_x: int, n_a: int, outcome: weat.AssociationEffect) -> list[tuple[int, int]]:
    """Places of the pairs of texts that contribute most to the effect, the strongest first."""
    if outcome.degenerate:
        return []
    shares = weat.pulls(scores, n_x, n_a).ravel() * (1.0 if outcome.effect_size >= 0 else -1.0)
    top = np.argpartition(-shares, min(EVIDENCE, shares.size - 1))[:EVIDENCE]
    top = top[np.argsort(-shares[top], kind="stable")]
    return [divmod(int(place), scores.shape[1]) for place in top]
