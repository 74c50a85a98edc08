"""What audits count: decisions in right order, and effects in lost words (docs/statistics.md).

Of two texts of which one is better, a metric decides rightly if it scores the better one higher; a tie is
half right. *Right order* is the share of right decisions in percent: 100 is always right, 50 is a coin. It
cannot change under any increasing transformation of the scores.

An effect on scores is given in *lost words*: divided by what the loss of one content word costs the same
metric in the same contexts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.core import Case, Estimate, Floats, Scored
from assay.grouping import rows_by_label
from assay.statistics.estimates import share_interval
from assay.statistics.intervals import Interval, bootstrap_mean, cluster_sums, label_codes

CLEAN = "gold"  # the role of the text that was not changed
REWORDED = "reworded"  # the role of a sound rewording of it
BAR = 75.0  # right at least three times in four: the right order from which a metric notices an error
MARGIN = 0.25  # of a lost word, beyond which the effect of a group, a word or a gender matters
UNIT = "of a lost word"
EVIDENCE = 5  # case ids given as evidence of a finding
ROUNDED = 1e-12  # of their size: scores that differ by less are equal, since sums are rounded
RESOLUTION = 1e-5  # of their size and range: the same for models, which compute in single precision
_ROUNDING = 1e-9  # of a lost word: what the arithmetic leaves of no effect
_LEAST_UNEXPLAINED = 0.05  # of a score: what is less than that comes from rounding
_ONE_MORE = 1.0  # of a lost word: the effect that one more text might show, whatever all others do
SURE = 2.6  # standard errors by which a lost word must cost something, for effects to be divided by it: 99%

# What was decided about the items of one kind of error (nan: nothing), and the clusters they belong to.
Decisions = tuple[Floats, Sequence[Hashable]]


@dataclass(frozen=True, slots=True)
class AlignedScores:
    """One metric's scores of the cases of one slice: a column of scores per role, nan where one is absent.

    A set metric has one row; its `resamples` are paired between roles.
    """

    scored: Scored
    slice: str
    cases: tuple[Case, ...]
    columns: Mapping[str, Floats]
    resamples: Mapping[str, Floats]

    @property
    def n(self) -> int:
        """How many items there are: for a set metric, how many texts the set has."""
        return self.set_size if self.scored.is_set else len(self.cases)

    @property
    def set_size(self) -> int:
        """How many texts a folded set has."""
        return int(max(self.cases[0].meta["sizes"].values()))

    @property
    def is_resampled(self) -> bool:
        """Whether this is a set metric whose scores of resampled sets say how sure its score is."""
        return any(np.isfinite(draws).any() for draws in self.resamples.values())

    @property
    def clusters(self) -> list[str]:
        """The items that cases belong to; what belongs together is resampled together."""
        return [str(case.meta.get("cluster", case.id)) for case in self.cases]

    def column(self, role: str) -> Floats:
        """The scores of a role; nan where there is none."""
        return self.columns.get(role, np.full(len(self.cases), np.nan))

    def roles(self, prefix: str) -> list[str]:
        """The roles that begin so, in order."""
        return [role for role in self.columns if role.startswith(prefix)]

    def mean(self, roles: Sequence[str]) -> float:
        """The mean score over roles and items, in the metric's own units; nan without any."""
        values = np.concatenate([self.columns[role] for role in roles])
        finite = values[np.isfinite(values)]
        return float(finite.mean()) if finite.size else float("nan")

    def decisions(self, better: Sequence[str], worse: Sequence[str]) -> Floats:
        """For each item the share of right decisions between its better and its worse texts; nan without any.

        For a set metric the decisions are those of its paired resamples, where it has any.
        """
        table = self.resamples if self.is_resampled else self.columns
        pairs = [(first, second) for first in better for second in worse if {first, second} <= set(table)]
        if not pairs:
            return np.full(len(self.cases), np.nan)
        is_of_model = self.scored.is_of_model
        outcomes = np.stack([outcome(table[first], table[second], is_of_model) for first, second in pairs])
        if self.is_resampled:
            return row_means(outcomes.transpose(1, 0, 2).reshape(len(self.cases), -1))
        return row_means(outcomes.T)

    def right_order(self, better: Sequence[str], worse: Sequence[str]) -> Estimate:
        """The share of right decisions, in percent, with its interval.

        One score of a whole set without resamples is one decision: it has no interval. Neither has that of a
        set so small that its halves differ by more than most sets worth telling apart.
        """
        decisions = self.decisions(better, worse)
        if not self.scored.is_set:
            return right_order([(decisions, self.clusters)])
        share = float(decisions[0])
        is_held_back = self.scored.about.get("held_back", False)
        if is_held_back or not self.is_resampled or np.isnan(share):
            return Estimate(100 * share, self.set_size)
        return percent_estimate(share, self.set_size, self.set_size)

    def largest(self, values: Floats, towards: float = 1.0) -> tuple[str, ...]:
        """The items whose values are largest on the side of an effect, as evidence."""
        return largest([case.id for case in self.cases], values, towards)


def read_slices(scored: Iterable[Scored]) -> Iterator[AlignedScores]:
    """The scores of every metric, slice by slice; without the slices and items that have none."""
    for answer in scored:
        for slice_, rows in rows_by_label([case.slice for case in answer.cases]).items():
            scores = _slice_of(answer, slice_, rows)
            if scores is not None:
                yield scores


def _slice_of(answer: Scored, slice_: str, rows: Sequence[int]) -> AlignedScores | None:
    """One metric's scores of one slice; None where it has none.

    A slice of which one item of several has scores is left out: open-ended texts share their references,
    which only set metrics can use.
    """
    columns = {role: values[list(rows)] for role, values in answer.values.items()}
    columns = {role: column for role, column in columns.items() if np.isfinite(column).any()}
    there = np.asarray(np.isfinite(list(columns.values())).any(axis=0))
    n_scored = there.sum()
    if not n_scored or (n_scored == 1 and len(rows) > 1):
        return None
    return AlignedScores(
        scored=answer,
        slice=slice_,
        cases=tuple(answer.cases[row] for row in np.asarray(rows)[there]),
        columns={role: column[there] for role, column in columns.items()},
        resamples={role: answer.resamples[role][list(rows)] for role in columns if role in answer.resamples},
    )


def same_within(first: Floats, second: Floats, is_of_model: bool = False) -> Floats:
    """How far apart each two scores may lie and still be equal.

    What a model cannot tell apart is small beside the range of its scores, wherever their zero is, and beside
    the two scores, however far off others are: both hold for increasing transformations too.
    """
    size = np.maximum(np.abs(first), np.abs(second))
    both = np.concatenate([np.ravel(first), np.ravel(second)])
    finite = both[np.isfinite(both)]
    if not is_of_model or not finite.size:
        return np.asarray(ROUNDED * size)
    return np.asarray(np.maximum(ROUNDED * size, RESOLUTION * np.minimum(size, np.ptp(finite))))


def outcome(better: Floats, worse: Floats, is_of_model: bool = False) -> Floats:
    """1 where the better text scores higher, 0 where it scores lower, one half for a tie; nan is absent.

    >>> outcome(np.array([2.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0])).tolist()
    [1.0, 0.5, 0.0]
    """
    difference = better - worse
    is_tie = np.abs(difference) <= same_within(better, worse, is_of_model)
    decided = np.where(difference > 0, 1.0, 0.0)
    return np.where(np.isnan(difference), np.nan, np.where(is_tie, 0.5, decided))


def right_order(kinds: Sequence[Decisions]) -> Estimate:
    """Right order over kinds of error that weigh the same, in percent."""
    mean = _mean_over_kinds(kinds)
    if mean is None:
        return Estimate(float("nan"))
    return share_estimate(
        mean.value, mean.variance, n=mean.n, n_cells=mean.n_cells, n_clusters=mean.n_clusters
    )


@dataclass(frozen=True, slots=True)
class _Mean:
    """A mean over kinds of error that weigh the same, with its variance."""

    value: float
    variance: float
    n: int
    n_cells: int  # clusters, counted once for each kind
    n_clusters: int


def _mean_over_kinds(kinds: Sequence[Decisions]) -> _Mean | None:
    """The mean over kinds; None without any decision.

    One item may be asked about many kinds of error: its answers are taken together.
    """
    means: list[float] = []
    deviations: Counter[Hashable] = Counter()
    n = n_cells = 0
    for values, labels in kinds:
        rows = np.flatnonzero(np.isfinite(values)).tolist()
        if not rows:
            continue
        mean = float(values[rows].mean())
        for row in rows:
            deviations[labels[row]] += (values[row] - mean) / len(rows)
        means.append(mean)
        n += len(rows)
        n_cells += len({labels[row] for row in rows})
    if not means:
        return None
    n_clusters = len(deviations)
    squares = sum(deviation**2 for deviation in deviations.values()) / len(means) ** 2
    variance = squares * n_clusters / max(1, n_clusters - 1)
    return _Mean(float(np.mean(means)), variance, n, n_cells, n_clusters)


def share_estimate(share: float, variance: float, *, n: int, n_cells: float, n_clusters: int) -> Estimate:
    """A share of n decisions in percent, by as many independent decisions as would be equally sure.

    `n_cells` counts the clusters of every kind of error: there are no more independent decisions than that.
    An error that few clusters tell is itself not sure; Korn and Graubard (1998) correct for it by t.
    """
    if n_clusters < 2 or not variance:
        return percent_estimate(share, n, min(n_cells, n_clusters))
    few = float(stdtrit(max(n, n_clusters) - 1, 0.975) / stdtrit(n_clusters - 1, 0.975)) ** 2
    return percent_estimate(share, n, few * min(n_cells, share * (1 - share) / variance))


def share_of(flags: Floats, clusters: Sequence[Hashable]) -> Estimate:
    """The mean of flags between 0 and 1, with an interval that never has width 0.

    >>> share_of(np.ones(20), range(20)).value
    1.0
    """
    percent = right_order([(flags, clusters)])
    ends = percent.ci
    return Estimate(percent.value / 100, percent.n, ends and (ends[0] / 100, ends[1] / 100))


def percent_estimate(share: float, n: int, effective: float) -> Estimate:
    """A share in percent with Wilson's interval for so many independent decisions: it never has width 0.

    >>> estimate = percent_estimate(1.0, 20, 20)
    >>> estimate.value, [round(end, 1) for end in estimate.ci]
    (100.0, [83.9, 100.0])
    """
    interval = share_interval(share, effective)
    return Estimate(100 * share, n, (100 * interval.low, 100 * interval.high))


def right_order_difference(first: Sequence[Decisions], second: Sequence[Decisions]) -> Estimate:
    """How much more often one metric is right than another on the same kinds and items, in percentage
    points."""
    pairs = zip(first, second, strict=True)
    mean = _mean_over_kinds([(mine - theirs, labels) for (mine, labels), (theirs, _) in pairs])
    if mean is None:
        return Estimate(float("nan"))
    value, n = mean.value, mean.n_clusters
    if n < 2:
        return Estimate(100 * value, n)
    reach = max(float(stdtrit(n - 1, 0.975)) * sqrt(mean.variance), 1 / (n + 1))
    return Estimate(100 * value, n, (100 * max(-1.0, value - reach), 100 * min(1.0, value + reach)))


def lost_words(
    effects: Floats, costs: Floats, *, clusters: Sequence[Hashable] | None = None
) -> list[Estimate]:
    """The mean effect of each column in lost words.

    `effects` is (texts, columns), nan where a column has nothing to say of a text; `costs` is what a lost
    word costs in each text, nan where unknown. Texts of one cluster count as one observation.
    """
    codes, _ = label_codes(clusters, len(costs))
    counts = [np.unique(codes[np.isfinite(column)]).size for column in effects.T]
    means = [mean_and_influence(column, count) for column, count in zip(effects.T, counts, strict=True)]
    values = np.array([mean for mean, _ in means])
    influences = np.stack([influence for _, influence in means], axis=1)
    return in_lost_words(values, influences, counts, costs, clusters=clusters)


def in_lost_words(
    values: Floats,
    influences: Floats,
    counts: Sequence[int] | Floats,
    costs: Floats,
    *,
    clusters: Sequence[Hashable] | None = None,
) -> list[Estimate]:
    """Effects on scores, with what each text adds to their errors, in lost words.

    The error of a ratio of means is that of its linear part. There is no interval where a lost word does not
    surely cost anything. None is narrower than what one more text would do to the mean if it showed an effect
    of a whole lost word.
    """
    price, price_influence = mean_and_influence(costs)
    codes, n_clusters = label_codes(clusters, len(costs))
    price_error = sqrt(float((cluster_sums(price_influence, codes, n_clusters) ** 2).sum()))
    if n_clusters < 2 or not price > SURE * price_error:
        unit = abs(price) or 1.0
        return [Estimate(value / unit, int(n)) for value, n in zip(values.tolist(), counts, strict=True)]
    shares = np.where(np.abs(values) <= _ROUNDING * price, 0.0, values / price)
    by_cluster = cluster_sums((influences - price_influence[:, None] * shares) / price, codes, n_clusters)
    sizes = np.minimum(np.maximum(np.asarray(counts, dtype=np.float64), 2), n_clusters)
    errors = np.sqrt((by_cluster**2).sum(axis=0))
    reaches = np.maximum(stdtrit(sizes - 1, 0.975) * errors, _ONE_MORE / (sizes + 1))
    return [
        Estimate(value, int(n), (value - reach, value + reach) if n > 1 else None)
        for value, reach, n in zip(shares.tolist(), reaches.tolist(), counts, strict=True)
    ]


def crossed_effects(table: Floats) -> tuple[Floats, Floats]:
    """The effect of each term over the contexts it fills, and what each context adds to its error.

    `table` is (contexts, terms), nan where a term does not fill a context. Contexts and terms add up: with
    every term in every context, a term's effect is its mean score minus that of all terms. Errors are the
    jackknife's: what few contexts show explains their scores too well, and leaves too little unexplained.
    """
    filled = np.isfinite(table)
    filled &= filled.sum(axis=1, keepdims=True) > 1  # a term alone in its context is compared with none
    sizes = np.maximum(filled.sum(axis=1, keepdims=True), 2)
    scores = _centred(table, filled)
    squares = np.diag(filled.sum(axis=0).astype(float)) - (filled / sizes).T @ filled
    inverse = np.linalg.pinv(squares, hermitian=True)
    effects = inverse @ scores.sum(axis=0)
    residuals = scores - _centred(np.broadcast_to(effects, table.shape), filled)
    shared = filled @ inverse
    within = (shared * filled).sum(axis=1, keepdims=True)
    leverage = np.diag(inverse) - 2 * shared / sizes + within / sizes**2
    unexplained = np.maximum(1 - leverage / (1 - 1 / sizes), _LEAST_UNEXPLAINED)
    return np.asarray(effects), np.asarray(_centred(residuals / unexplained, filled) @ inverse)


def _centred(table: Floats, filled: NDArray[np.bool_]) -> Floats:
    """Each row minus its mean, over what is filled; 0 elsewhere."""
    means = row_means(np.where(filled, table, np.nan))[:, None]
    return np.asarray(np.where(filled, table - means, 0.0))


def mean_and_influence(values: Floats, n_observations: int | None = None) -> tuple[float, Floats]:
    """A mean, and what each row adds to its error: the sum of their squares is the variance of the mean.

    Where rows belong together there are fewer observations than rows.
    """
    finite = np.isfinite(values)
    n = int(finite.sum())
    if not n:
        return float("nan"), np.zeros(len(values))
    independent = n if n_observations is None else n_observations
    mean = float(values[finite].mean())
    influence = np.zeros(len(values))
    influence[finite] = (values[finite] - mean) / n * sqrt(independent / max(1, independent - 1))
    return mean, influence


def balanced_mean(values: Floats, is_first: NDArray[np.bool_]) -> tuple[float, Floats]:
    """The mean of values in which two kinds of rows weigh the same, and what each row adds to its error.

    >>> balanced_mean(np.array([1.0, 1.0, 1.0, 3.0]), np.array([True, True, True, False]))[0]
    2.0
    """
    first, first_influence = mean_and_influence(np.where(is_first, values, np.nan))
    second, second_influence = mean_and_influence(np.where(is_first, np.nan, values))
    return (first + second) / 2, (first_influence + second_influence) / 2


def largest(ids: Sequence[str], values: Floats, towards: float = 1.0) -> tuple[str, ...]:
    """The cases with the largest values above 0, largest first; the lowest below 0 for an effect below 0.

    >>> largest(["a", "b", "c"], np.array([2.0, -1.0, 3.0])), largest(["a", "b"], np.array([2.0, -1.0]), -0.5)
    (('c', 'a'), ('b',))
    """
    sizes = values if towards >= 0 else -values
    order = np.argsort(-np.nan_to_num(sizes, nan=-np.inf), kind="stable")[:EVIDENCE]
    return tuple(ids[place] for place in order if sizes[place] > 0)


def row_means(table: Floats) -> Floats:
    """The mean of each row over what it has; nan where it has nothing."""
    finite = np.isfinite(table)
    counts = finite.sum(axis=1)
    sums = np.where(finite, table, 0.0).sum(axis=1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def interval_estimate(
    value: float, n: int, interval: Interval | None, *, p_value: float | None = None
) -> Estimate:
    """A value with its interval; None where it is undefined."""
    return Estimate(float(value), n, interval.pair if interval else None, p_value)


def mean_estimate(values: Floats, *, clusters: Sequence[Hashable] | None = None, seed: int) -> Estimate:
    """A mean with its bootstrap interval; rows of one cluster are resampled together."""
    return interval_estimate(values.mean(), values.size, bootstrap_mean(values, clusters=clusters, seed=seed))
