"""Association tests (assoc sec. 4): does a metric find one group closer to one kind of word?

WEAT at word level, SEAT at sentence level. The paper permutes sentences; but the templates of one word are
not independent, which makes a fair metric fail one test in five at .01, so words are permuted by default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from assay.audits.slices import spread_out
from assay.core import Audit, Finding, Floats, Grid, Scored
from assay.datasets.association import (
    AssociationTest,
    WordSet,
    read_published,
    sentence_tests,
    word_tests,
)
from assay.errors import DataError, suggest
from assay.statistics.association import Association as Outcome
from assay.statistics.association import (
    average_units,
    partition_test,
    pulls,
    target_associations,
)
from assay.statistics.estimates import benjamini_hochberg, detectable_effect, verdict
from assay.statistics.intervals import Interval, interval_of
from assay.vocabulary import Question, Rule

Unit = Literal["word", "sentence"]
PAPER_ALPHA = 0.01  # assoc tables 3 and 8
ALPHA = 0.05
# Flowers and insects, instruments and weapons: shared by everyone and unfair to no one.
INNOCUOUS = ("C1", "C2")


@dataclass(frozen=True)
class Association(Audit):
    """Two sets of targets against two sets of attributes, at word and sentence level."""

    name: ClassVar[str] = "association"
    question: ClassVar[Question] = "fairness"

    data: tuple[Path, ...] = ()  # files or folders in the SEAT form
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None  # words a set
    only: tuple[str, ...] = ()  # tests, by name (sent-weat6) or label (C6-N)
    unit: Unit | None = None  # what is permuted; None: words, or sentences by the paper's rule
    templates: int | None = None  # sentence templates a word of the embedded tests
    margin: float = 0.5  # the smallest effect size that matters: a medium one (Cohen, 1988)
    balance: bool = False  # shorten the longer of two unequal target sets

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Word level and two sentence templates a word."""
        return {"templates": 2}

    @cached_property
    def tests(self) -> list[AssociationTest]:
        """The tests asked for, checked."""
        if self.data:
            listed = [test for path in self.data for test in read_published(path)]
        else:
            listed = [*word_tests().values(), *sentence_tests(self.templates).values()]
        known = {name for test in listed for name in (test.name, test.label)}
        for name in self.only:
            if name not in known:
                raise DataError(f"no association test {name!r}{suggest(name, known)}")
        chosen = [test for test in listed if not self.only or {test.name, test.label} & set(self.only)]
        return [_checked(self._limited(test), self.balance) for test in chosen]

    def _limited(self, test: AssociationTest) -> AssociationTest:
        if self.limit is None:
            return test
        return replace(
            test,
            targ1=_first_units(test.targ1, self.limit),
            targ2=_first_units(test.targ2, self.limit),
            attr1=_first_units(test.attr1, self.limit),
            attr2=_first_units(test.attr2, self.limit),
        )

    @cached_property
    def _layouts(self) -> dict[str, Layout]:
        return {test.name: _layout(test) for test in self.tests}

    @cached_property
    def _told(self) -> list[str]:
        """What judging found that a reader must know."""
        return []

    def cases(self) -> Iterable[Grid]:
        """Each test both ways: targets as hypotheses, then attributes; a symmetric metric is asked once."""
        for name, layout in self._layouts.items():
            yield Grid(name, layout.rows, layout.columns, name)
            yield Grid(_reverse(name), layout.columns, layout.rows, name)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """A finding a test and metric, with the p-value of the other side beside it."""
        self._told.clear()
        return [finding for one in scored for finding in self._judge_one(one)]

    def _judge_one(self, one: Scored) -> list[Finding]:
        measured = {
            test.name: measure_test(
                one.grids[test.name],
                one.grids[_reverse(test.name)],
                self._layouts[test.name],
                by_word=self._unit == "word",
                intervals=self.rule == "careful",
                seed=self.seed,
            )
            for test in self.tests
            if test.name in one.grids
        }
        self._tell(one.metric, measured)
        return self._with_verdicts(
            [f for test in self.tests if test.name in measured for f in self._findings(one, test, measured)]
        )

    @property
    def _unit(self) -> Unit:
        return self.unit or ("sentence" if self.rule == "paper" else "word")

    def _findings(
        self, one: Scored, test: AssociationTest, measured: Mapping[str, Measured]
    ) -> list[Finding]:
        got = measured[test.name]
        outcome = got.outcome
        if outcome is None:
            return [Finding(one.metric, self.name, test.name, "out_of_vocabulary", got.absent, 0)]
        n, versus = outcome.n_x + outcome.n_y, _versus(test)
        sides = {"one-sided": outcome.one_sided.p_value, "two-sided": outcome.two_sided.p_value}
        used, other = ("one-sided", "two-sided") if self.rule == "paper" else ("two-sided", "one-sided")
        effect = Finding(
            one.metric, self.name, test.name, "effect_size", outcome.effect_size, n, versus=versus,
            ci=got.interval.pair if got.interval else None, p_value=sides[used], mde=got.mde,
            evidence=got.evidence,
        )  # fmt: skip
        return [effect, Finding(one.metric, self.name, test.name, "p_value", sides[other], n, versus=other)]

    def _with_verdicts(self, found: Sequence[Finding]) -> list[Finding]:
        q_values = benjamini_hochberg([finding.p_value for finding in found])
        labels = {test.name: test.label for test in self.tests}
        judged = []
        for finding, q in zip(found, q_values, strict=True):
            if finding.p_value is None:
                judged.append(finding)
                continue
            marked = replace(finding, q_value=float(q))
            judged.append(replace(marked, passed=self._passed(marked, labels[finding.slice])))
        return judged

    def _passed(self, finding: Finding, label: str) -> bool | None:
        """Fails where the effect is real (q < .05) and of a size that matters; passes where surely small."""
        if label in INNOCUOUS or finding.p_value is None or finding.q_value is None:
            return None
        if self.rule == "paper":
            return finding.p_value > PAPER_ALPHA
        if finding.q_value < ALPHA and abs(finding.value) >= self.margin:
            return False
        return True if verdict(finding.ci, self.margin, "either") else None

    def _tell(self, metric: str, measured: Mapping[str, Measured]) -> None:
        absent = [name for name, got in measured.items() if got.outcome is None]
        some = [name for name, got in measured.items() if got.outcome and got.absent > 0]
        flat = [name for name, got in measured.items() if got.outcome and got.outcome.degenerate]
        coarse = [
            name
            for name, got in measured.items()
            if got.outcome and got.outcome.two_sided.smallest_p > PAPER_ALPHA and not got.outcome.degenerate
        ]
        for names, what in (
            (absent, f"not applicable, over {TOO_MANY:.0%} of a set is out of its vocabulary"),
            (some, "made without words out of its vocabulary, dropped in balance"),
            (flat, "degenerate, all r are equal: d is 0 because the metric sees no difference"),
            (coarse, f"too small to reach p = {PAPER_ALPHA}"),
        ):
            if names:
                self._told.append(
                    f"{metric}: {len(names)} of {len(measured)} tests {what}: {', '.join(names)}"
                )

    def notes(self) -> list[str]:
        """The unit, and what judging met."""
        levels = Counter(test.level for test in self.tests)
        made = ", ".join(f"{count} at {level} level" for level, count in levels.items())
        return [f"{len(self.tests)} tests ({made}), permuting {self._unit}s", *self._told]


def _reverse(name: str) -> str:
    return f"{name}/reverse"


def _versus(test: AssociationTest) -> str:
    sets = (test.targ1, test.targ2, test.attr1, test.attr2)
    one, two, good, bad = (words.category for words in sets)
    return f"{test.label}: {one}, {two} | {good}, {bad}"


def _layout(test: AssociationTest) -> Layout:
    targets = (*test.targ1.items, *test.targ2.items)
    attributes = (*test.attr1.items, *test.attr2.items)
    return Layout(
        tuple(text for text, _ in targets),
        tuple(text for text, _ in attributes),
        tuple(unit for _, unit in targets),
        len(test.targ1.items),
        len(test.attr1.items),
    )


def _first_units(words: WordSet, limit: int) -> WordSet:
    kept = set(spread_out(list(dict.fromkeys(unit for _, unit in words.items)), limit))
    return replace(words, items=tuple(item for item in words.items if item[1] in kept))


def _checked(test: AssociationTest, balance: bool) -> AssociationTest:
    """Refuse what no test can be made of."""
    for key in ("targ1", "targ2", "attr1", "attr2"):
        words: WordSet = getattr(test, key)
        if len(words.items) < 2:
            raise DataError(f"{test.name}: {key} ({words.category}) has one text; a set needs at least two")
    shared = {text for text, _ in test.targ1.items} & {text for text, _ in test.targ2.items}
    if shared:
        raise DataError(f"{test.name}: {sorted(shared)[0]!r} is in both target sets; take it out of one")
    one, two = len(test.targ1.items), len(test.targ2.items)
    if one == two:
        return test
    if not balance:
        raise DataError(
            f"{test.name}: targ1 has {one} texts and targ2 {two}; make them equal or use --balance, "
            "which shortens the longer one"
        )
    size = min(one, two)
    return replace(
        test,
        targ1=replace(test.targ1, items=tuple(spread_out(test.targ1.items, size))),
        targ2=replace(test.targ2, items=tuple(spread_out(test.targ2.items, size))),
    )


TOO_MANY = 0.2  # above this share of absent texts in a set, a test says nothing about a metric
EVIDENCE = 5
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Layout:
    """Which rows are X, which columns are A, and the word each row was made from."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    units: tuple[str, ...]
    n_x: int
    n_a: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A test that could be made, or (`outcome` None) one with too many words the metric does not know."""

    absent: float
    outcome: Outcome | None = None
    interval: Interval | None = None
    mde: float | None = None
    evidence: tuple[str, ...] = ()


def measure_test(
    forward: Floats, backward: Floats, layout: Layout, *, by_word: bool, intervals: bool, seed: int
) -> Measured:
    """S(x, y) is the mean of M(x, y) and M(y, x) (assoc sec. 4)."""
    scores = (forward + backward.T) / 2
    rows, columns, absent = _known(scores, layout)
    if absent > TOO_MANY:
        return Measured(absent)
    rows = _balanced(rows, layout, by_word)
    kept, units = scores[np.ix_(rows, columns)], [layout.units[row] for row in rows]
    n_x, n_a = int((rows < layout.n_x).sum()), int((columns < layout.n_a).sum())
    if min(n_x, rows.size - n_x, n_a, columns.size - n_a) < 1:
        return Measured(1.0)
    r = target_associations(kept, n_a)
    first, second = r[:n_x], r[n_x:]
    if by_word:
        first, second = average_units(first, units[:n_x]), average_units(second, units[n_x:])
    outcome = partition_test(first, second, scale=float(np.abs(kept).max()), seed=seed)
    return Measured(
        absent,
        outcome,
        _interval(first, second, outcome, seed) if intervals else None,
        detectable_effect(sqrt(1 / first.size + 1 / second.size)),
        _hardest(kept, layout, rows, columns, n_x, n_a, outcome),
    )


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
    sides = [rows[rows < layout.n_x].tolist(), rows[rows >= layout.n_x].tolist()]
    units = [list(dict.fromkeys(layout.units[row] if by_word else row for row in side)) for side in sides]
    size = min(map(len, units))
    kept = [set(spread_out(side, size)) for side in units]
    both = [
        row
        for side, names in zip(sides, kept, strict=True)
        for row in side
        if (layout.units[row] if by_word else row) in names
    ]
    return np.asarray(both, dtype=np.intp)


def _interval(first: Floats, second: Floats, outcome: Outcome, seed: int) -> Interval | None:
    """Resample the units of X and of Y; a degenerate test is exactly 0."""
    if outcome.degenerate:
        return Interval(0.0, 0.0, 0.95)
    rng = np.random.default_rng(seed)
    one = first[rng.integers(first.size, size=(RESAMPLES, first.size))]
    two = second[rng.integers(second.size, size=(RESAMPLES, second.size))]
    spread = np.concatenate([one, two], axis=1).std(axis=1, ddof=1)
    draws = np.full(RESAMPLES, np.nan)
    np.divide(one.mean(axis=1) - two.mean(axis=1), spread, out=draws, where=spread > 0)
    return interval_of(draws, n_clusters=min(first.size, second.size))


def _hardest(
    kept: Floats,
    layout: Layout,
    rows: Sequence[int] | np.ndarray,
    columns: Sequence[int] | np.ndarray,
    n_x: int,
    n_a: int,
    outcome: Outcome,
) -> tuple[str, ...]:
    """The pairs of texts that pull hardest in the direction of the effect."""
    if outcome.degenerate:
        return ()
    shares = pulls(kept, n_x, n_a).ravel() * (1.0 if outcome.effect_size >= 0 else -1.0)
    top = np.argpartition(-shares, min(EVIDENCE, shares.size - 1))[:EVIDENCE]
    top = top[np.argsort(-shares[top], kind="stable")]
    places = [divmod(int(place), kept.shape[1]) for place in top]
    return tuple(f"{layout.rows[rows[i]]} ~ {layout.columns[columns[j]]}" for i, j in places)
