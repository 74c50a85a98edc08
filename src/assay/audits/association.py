"""Association tests (assoc sec. 4): does a metric find one group closer to one kind of word?

WEAT at word level, SEAT at sentence level. The paper permutes sentences; but the templates of one word are
not independent, which makes a fair metric fail one test in five at .01, so words are permuted by default.
The intervals of all tests of a level hold together. With 8 to 25 words a side they are wider than the margin:
a metric can fail a test, but none can pass it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import Literal

import numpy as np

from assay.audits.base import DataAudit, check_known, declared
from assay.audits.gap import CLEAN, WORTHLESS, scale_of, tells_apart, with_worthless
from assay.audits.slices import EVIDENCE, spread_out
from assay.core import Case, Estimate, Finding, Floats, Grid, Judgement, Sample, Scored
from assay.datasets import association
from assay.datasets.association import KEYS, AssociationTest, WordSet
from assay.errors import DataError
from assay.statistics import association as weat
from assay.statistics.estimates import detectable_effect

Unit = Literal["word", "sentence"]
_GAP_TEXTS = 30  # per level, to see whether a metric tells a text from a worthless one
PAPER_ALPHA = 0.01  # assoc tables 3 and 8
TOO_MANY = 0.2  # above this share of absent texts in a set, a test shows nothing about a metric
TOO_SMALL = 0.01  # of the gap between a text and a worthless one: an effect that no comparison of texts feels
# Flowers and insects, instruments and weapons: shared by everyone and unfair to no one.
INNOCUOUS = ("C1", "C2")


@declared()
@dataclass(frozen=True)
class Association(DataAudit):
    """Two sets of targets against two sets of attributes, at word and sentence level."""

    name = "association"
    compares = True

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
    def _layouts(self) -> dict[str, Layout]:
        return {test.name: Layout.of(test) for test in self.tests}

    def cases(self) -> Iterable[Case | Grid]:
        """Each test both ways: targets as hypotheses, then attributes; and whether a metric reads at all."""
        for name, layout in self._layouts.items():
            yield Grid(name, layout.rows, layout.columns, name)
            yield Grid(f"{name}/reverse", layout.columns, layout.rows, name)
        # Texts against themselves, and worthless texts against them.
        for level in dict.fromkeys(test.level for test in self.tests if self.rule == "careful"):
            layouts = [self._layouts[test.name] for test in self.tests if test.level == level]
            texts = list(dict.fromkeys(text for layout in layouts for text in layout.columns))
            for text in spread_out(texts, _GAP_TEXTS):
                samples = with_worthless({CLEAN: Sample(text, (text,))}, texts, text)
                yield Case(f"{level}/{text}", samples, level)

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """One effect size per test and metric, with the p-value of the other side beside it."""
        levels = Counter(test.level for test in self.tests)
        counts = ", ".join(f"{count} at {level} level" for level, count in levels.items())
        notes = [f"{len(self.tests)} tests ({counts}), permuting {self._unit}s"]
        if self.rule == "careful":
            notes.append("with 8 to 25 words a side a metric can fail a test, but no metric can pass it")
        findings: list[Finding] = []
        for answer in scored:
            measured = {
                name: measure_test(
                    answer.grids[name], answer.grids[f"{name}/reverse"], layout,
                    by_word=self._unit == "word", seed=self.seed,
                )
                for name, layout in self._layouts.items() if name in answer.grids
            }  # fmt: skip
            gap = _gap(answer)
            remarks = _notes(measured, gap, failed="failed" in answer.notes)
            notes += [f"{answer.metric}: {remark}" for remark in remarks]
            for test in self.tests:
                if test.name in measured:
                    findings += self._findings(answer, test, measured[test.name], gap)
        return Judgement(findings, notes)

    def _level(self, test: AssociationTest) -> float:
        """The level of one interval, so that those of all judged tests of its level hold together (Sidak).

        The data fix the family: a verdict does not depend on what else was asked for.
        """
        family = [t for t in self._battery if t.level == test.level and t.label not in INNOCUOUS]
        return float(0.95 ** (1 / max(1, len(family))))

    @property
    def _unit(self) -> Unit:
        return self.unit or ("sentence" if self.rule == "paper" else "word")

    def _findings(
        self, answer: Scored, test: AssociationTest, measured: Measured, gap: float | None
    ) -> list[Finding]:
        outcome = measured.outcome
        if outcome is None:
            return [Finding.of(answer, test.name, "out_of_vocabulary", measured.absent)]
        n, one_sided = outcome.n_x + outcome.n_y, outcome.one_sided.p_value
        sides, paper = {"two-sided": outcome.two_sided.p_value, "one-sided": one_sided}, self.rule == "paper"
        ci = None  # by the paper's rule, and for a test where all words score alike
        if not paper and not outcome.degenerate:
            ci = weat.effect_interval(outcome.effect_size, outcome.n_x, outcome.n_y, level=self._level(test))
        mde = detectable_effect(sqrt(1 / outcome.n_x + 1 / outcome.n_y))
        effect = Estimate(
            outcome.effect_size, n, ci, one_sided if paper else None, mde, paper=one_sided > PAPER_ALPHA,
            sensitive=gap != 0,
        )  # fmt: skip
        names = [getattr(test, key).category for key in KEYS]
        versus = f"{test.label}: {names[0]}, {names[1]} | {names[2]}, {names[3]}"
        return [
            Finding.of(
                answer, test.name, "effect_size", effect, versus=versus, evidence=measured.evidence,
                judged=test.label not in INNOCUOUS and (paper or not _is_small(outcome, gap)),
            ),
            *(Finding.of(answer, test.name, "p_value", p, n=n, versus=side) for side, p in sides.items()),
        ]  # fmt: skip


def _notes(measured: Mapping[str, Measured], gap: float | None, *, failed: bool) -> Iterator[str]:
    """What a reader must know about the tests of one metric, which may have failed on some words."""
    absent = "out of its vocabulary" + (" or failed (see the errors below)" if failed else "")
    outcomes = {name: test.outcome for name, test in measured.items() if test.outcome}
    flat = [name for name, outcome in outcomes.items() if outcome.degenerate]
    small = [name for name, outcome in outcomes.items() if _is_small(outcome, gap) and name not in flat]
    smallest = {name: outcome.two_sided.smallest_p for name, outcome in outcomes.items() if name not in flat}
    remarks = {
        f"not applicable, over {TOO_MANY:.0%} of a set is {absent}": [
            name for name in measured if name not in outcomes
        ],
        f"run without words {absent}, dropped in balance": [
            name for name in outcomes if measured[name].absent > 0
        ],
        "not judged, all words score alike: the metric makes no difference between them": flat,
        f"not judged, the groups differ by less than {TOO_SMALL:.0%} of the gap to a worthless text": small,
        f"too small to reach p = {PAPER_ALPHA}": [name for name, p in smallest.items() if p > PAPER_ALPHA],
    }
    for remark, names in remarks.items():
        if names:
            yield f"{len(names)} of {len(measured)} tests {remark}: {', '.join(names)}"


def _limited(test: AssociationTest, limit: int | None) -> AssociationTest:
    """The test with at most `limit` words per set."""
    if limit is None:
        return test

    def first_words(words: WordSet) -> WordSet:
        units = set(spread_out(list(dict.fromkeys(unit for _, unit in words.items)), limit))
        return replace(words, items=tuple(item for item in words.items if item[1] in units))

    targ1, targ2, attr1, attr2 = (first_words(getattr(test, key)) for key in KEYS)
    return replace(test, targ1=targ1, targ2=targ2, attr1=attr1, attr2=attr2)


def _checked(test: AssociationTest, balance: bool) -> AssociationTest:
    """The test with target sets of equal size; an error where that cannot be."""
    for key in KEYS:
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
class Layout:
    """Which rows are X, which columns are A, and the word that each row was made from."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    units: tuple[str, ...]
    n_x: int
    n_a: int

    @classmethod
    def of(cls, test: AssociationTest) -> Layout:
        """Targets in rows and attributes in columns, the first set of each first."""
        rows, units = zip(*test.targ1.items, *test.targ2.items, strict=True)
        columns = tuple(text for text, _ in (*test.attr1.items, *test.attr2.items))
        return cls(rows, columns, units, len(test.targ1.items), len(test.attr1.items))


@dataclass(frozen=True, slots=True)
class Measured:
    """The outcome of a test; None where too many texts of a set have no score."""

    absent: float  # the largest share of one set's texts without a score
    outcome: weat.Association | None = None
    evidence: tuple[str, ...] = ()


def measure_test(forward: Floats, backward: Floats, layout: Layout, *, by_word: bool, seed: int) -> Measured:
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


def _known(scores: Floats, layout: Layout) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows and columns that have scores, and the largest share absent from one of the four sets."""
    finite = np.isfinite(scores)
    columns = np.asarray(finite.any(axis=0))
    rows = np.asarray(finite[:, columns].all(axis=1) & columns.any())
    sets = (rows[: layout.n_x], rows[layout.n_x :], columns[: layout.n_a], columns[layout.n_a :])
    absent = max(1.0 - float(known.mean()) for known in sets)
    return np.flatnonzero(rows), np.flatnonzero(columns), absent


def _balanced(rows: np.ndarray, layout: Layout, by_word: bool) -> np.ndarray:
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


def _gap(scored: Scored) -> float | None:
    """How far texts score above worthless ones; 0 where they do not surely do so, None where unknown."""
    if not {CLEAN, WORTHLESS} <= set(scored.values):
        return None
    gaps = scored.values[CLEAN] - scored.values[WORTHLESS]
    gaps = gaps[np.isfinite(gaps)]
    return float(np.median(gaps)) if tells_apart(gaps, scale_of(*scored.values.values())) else 0.0


def _is_small(outcome: weat.Association, gap: float | None) -> bool:
    """Whether the groups differ too little to matter; d, in standard deviations over words, cannot tell."""
    return outcome.degenerate or abs(outcome.statistic) < outcome.n_x * TOO_SMALL * (gap or 0.0)


def _strongest(scores: Floats, n_x: int, n_a: int, outcome: weat.Association) -> list[tuple[int, int]]:
    """Places of the pairs of texts that contribute most to the effect, the strongest first."""
    if outcome.degenerate:
        return []
    shares = weat.pulls(scores, n_x, n_a).ravel() * (1.0 if outcome.effect_size >= 0 else -1.0)
    top = np.argpartition(-shares, min(EVIDENCE, shares.size - 1))[:EVIDENCE]
    top = top[np.argsort(-shares[top], kind="stable")]
    return [divmod(int(place), scores.shape[1]) for place in top]
