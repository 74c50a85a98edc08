"""Intervals for correlations and for their differences, by resampling what was sampled."""

from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.correlation import (
    Kind,
    correlate,
    correlate_rows,
    grouped_correlation,
    system_means,
    weighted_correlation,
)
from assay.statistics.intervals import (
    Floats,
    Integers,
    Interval,
    Labels,
    Options,
    Plan,
    Seed,
    bootstrap_mean,
    bootstrap_p_value,
    bootstrap_weighted,
    draw_counts,
    generator,
    label_codes,
    matched,
    percentile_interval,
    pieces,
)
from assay.statistics.pairwise import better_p_values

Over = Literal["documents", "systems", "both"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference with its interval and two-sided bootstrap p-value; None where undefined.

    `sides` are the intervals of the two that are compared, from the same resamples.
    """

    value: float | None
    interval: Interval | None
    p_value: float | None
    sides: tuple[Interval | None, Interval | None] = (None, None)


def bootstrap_correlation(
    x: ArrayLike,
    y: ArrayLike,
    kind: Kind,
    *,
    clusters: Labels | None = None,
    seed: Seed,
    **options: Unpack[Options],
) -> Interval | None:
    """Return an interval for a pooled correlation, resampling clusters of rows."""
    first, second = matched(x, y)
    statistic = weighted_correlation(first, second, kind)
    return bootstrap_weighted(statistic, first.size, clusters=clusters, seed=seed, **options)


def bootstrap_grouped_correlation(
    x: ArrayLike, y: ArrayLike, groups: Labels, kind: Kind, *, seed: Seed, **options: Unpack[Options]
) -> Interval | None:
    """Return an interval for the mean of groups' correlations, resampling groups (documents)."""
    by_group = grouped_correlation(x, y, groups, kind).by_group
    defined = by_group[np.isfinite(by_group)]
    return bootstrap_mean(defined, seed=seed, **options) if defined.size else None


def bootstrap_correlation_difference(
    first: ArrayLike,
    second: ArrayLike,
    human: ArrayLike,
    kind: Kind,
    *,
    clusters: Labels | None = None,
    seed: Seed,
    **options: Unpack[Options],
) -> Difference:
    """Compare how two metrics correlate with people on the same rows, resampled together."""
    (one, judged), (two, _) = matched(first, human), matched(second, human)
    of_first, of_second = (weighted_correlation(metric, judged, kind) for metric in (one, two))

    codes, n_clusters = label_codes(clusters, judged.size)
    plan, rng = Plan(**options), generator(seed)
    drawn = []
    for piece in pieces(plan.resamples, judged.size):
        weights = draw_counts(n_clusters, piece.stop - piece.start, rng)[:, codes]
        drawn.append(np.stack([of_first(weights), of_second(weights)]))
    plain = np.ones((1, judged.size))
    value = float((of_first(plain) - of_second(plain))[0])
    return _difference(value, np.concatenate(drawn, axis=1), n_clusters, plan)


def bootstrap_system_correlation(
    metric: ArrayLike,
    human: ArrayLike,
    kind: Kind,
    *,
    over: Over = "both",
    seed: Seed,
    **options: Unpack[Options],
) -> Interval | None:
    """Return an interval for a system-level correlation (systems x documents in, nan for missing).

    `over` says what was sampled: documents, systems or both (Deutsch, Dror & Roth, 2021). Both sides
    are resampled with the same documents, so their shapes must agree.
    """
    plan = Plan(**options)
    pair = _same_shape(metric, human)
    if _sampled(pair, over) < 2:
        return None
    draws = resampled_system_correlations(*pair, kind, over=over, resamples=plan.resamples, seed=seed)
    return percentile_interval(draws, _sampled(pair, over), plan)


def bootstrap_system_difference(
    first: ArrayLike,
    second: ArrayLike,
    human: ArrayLike,
    kind: Kind,
    *,
    over: Over = "both",
    seed: int,
    **options: Unpack[Options],
) -> Difference:
    """Compare two metrics' system-level correlations under the same resamples."""
    plan = Plan(**options)
    pairs = [_same_shape(metric, human) for metric in (first, second)]
    if _sampled(pairs[0], over) < 2:
        return Difference(None, None, None)
    sides = [
        resampled_system_correlations(*pair, kind, over=over, resamples=plan.resamples, seed=seed)
        for pair in pairs
    ]
    observed = [correlate_rows(system_means(s)[None, :], system_means(h)[None, :], kind)[0] for s, h in pairs]
    value = float(observed[0] - observed[1])
    return _difference(value, np.stack(sides), _sampled(pairs[0], over), plan)


def resampled_system_correlations(
    metric: ArrayLike, human: ArrayLike, kind: Kind, *, over: Over, resamples: int, seed: Seed
) -> Floats:
    """Return a system-level correlation a resample; the same seed draws the same resamples."""
    (scores, judged), rng = _same_shape(metric, human), generator(seed)
    n_systems, n_documents = scores.shape
    draws = []
    for piece in pieces(resamples, max(n_documents, n_systems**2)):
        count = piece.stop - piece.start
        systems = draw_counts(n_systems, count, rng) if over != "documents" else np.ones((count, n_systems))
        documents = (
            draw_counts(n_documents, count, rng) if over != "systems" else np.ones((count, n_documents))
        )
        means = [_weighted_means(side, documents) for side in (scores, judged)]
        draws.append(correlate_rows(means[0], means[1], kind, weights=systems))
    return np.concatenate(draws)


def _weighted_means(scores: Floats, documents: Floats) -> Floats:
    """Return system means under document weights (resamples x systems), nan where none was drawn."""
    present = np.isfinite(scores)
    total = documents @ np.where(present, scores, 0.0).T
    count = documents @ present.T.astype(np.float64)
    means: Floats = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
    return means


def _same_shape(metric: ArrayLike, human: ArrayLike) -> tuple[Floats, Floats]:
    scores, judged = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if scores.ndim != 2 or scores.shape != judged.shape:
        raise ValueError(f"two matrices of systems x documents needed, not {scores.shape} and {judged.shape}")
    return scores, judged


def _sampled(pair: tuple[Floats, Floats], over: Over) -> int:
    n_systems, n_documents = len(pair[0]), len(pair[0].T)
    if over == "both":
        return min(n_systems, n_documents)
    return n_systems if over == "systems" else n_documents


def _difference(observed: float, sides: Floats, n_clusters: int, plan: Plan) -> Difference:
    """The first side's draws less the second's, and each side by itself."""
    if not np.isfinite(observed):
        return Difference(None, None, None)
    draws = sides[0] - sides[1]
    interval = percentile_interval(draws, n_clusters, plan)
    p_value = None if interval is None else bootstrap_p_value(draws)
    one, two = (percentile_interval(side, n_clusters, plan) for side in sides)
    return Difference(observed, interval, p_value, (one, two))


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """A value a metric and its resamples; nan where undefined. `clusters` is what an interval rests on."""

    values: Floats  # metrics
    draws: Floats  # metrics x resamples
    sizes: Integers  # rows, groups or systems that each value rests on
    clusters: int


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """What rows were sampled by: documents, systems, or both."""

    ways: tuple[tuple[Integers, int], ...]

    @classmethod
    def of(cls, n: int, documents: Labels | None, systems: Labels | None = None) -> "Clusters":
        """No labels at all mean that every row is its own cluster."""
        given = [label_codes(labels, n) for labels in (documents, systems) if labels is not None]
        return cls(tuple(given) or (label_codes(None, n),))

    @property
    def fewest(self) -> int:
        """The smaller number of clusters."""
        return min(size for _, size in self.ways)

    def weights(self, count: int, rng: np.random.Generator) -> Floats:
        """How often each row comes in each resample; crossed ways multiply (Owen, 2007)."""
        weights = np.ones((count, 1))
        for codes, size in self.ways:
            weights = weights * draw_counts(size, count, rng)[:, codes]
        return weights


def pooled_draws(
    metrics: ArrayLike, human: ArrayLike, kind: Kind, *, clusters: Clusters, resamples: int, seed: int
) -> Draws:
    """Correlate every metric (metrics x rows) with people over all rows."""
    matrix, judged = np.atleast_2d(np.asarray(metrics, dtype=np.float64)), np.asarray(human, dtype=np.float64)
    masks = np.isfinite(matrix) & np.isfinite(judged)
    draws, rng = np.full((len(matrix), resamples), np.nan), generator(seed)
    values = np.array([_observed(row, judged, mask, kind) for row, mask in zip(matrix, masks, strict=True)])
    statistics = [
        weighted_correlation(row[mask], judged[mask], kind) if np.isfinite(value) else None
        for row, mask, value in zip(matrix, masks, values, strict=True)
    ]
    for piece in pieces(resamples, judged.size):
        weights = clusters.weights(piece.stop - piece.start, rng)
        for index, (statistic, mask) in enumerate(zip(statistics, masks, strict=True)):
            if statistic is not None:
                draws[index, piece] = statistic(weights if mask.all() else weights[:, mask])
    return Draws(values, draws, masks.sum(axis=1), clusters.fewest)


def grouped_draws(by_group: ArrayLike, *, resamples: int, seed: int) -> Draws:
    """Average over groups (metrics x groups, nan where a group has no value), resampling groups."""
    matrix = np.atleast_2d(np.asarray(by_group, dtype=np.float64))
    present = np.isfinite(matrix)
    filled, rng = np.where(present, matrix, 0.0), generator(seed)
    draws = np.empty((len(matrix), resamples))
    for piece in pieces(resamples, matrix.shape[1]):
        counts = draw_counts(matrix.shape[1], piece.stop - piece.start, rng)
        total, size = counts @ filled.T, counts @ present.T.astype(np.float64)
        draws[:, piece] = np.where(size > 0, total / np.maximum(size, 1.0), np.nan).T
    sizes = present.sum(axis=1)
    return Draws(system_means(matrix), draws, sizes, int(sizes.max(initial=0)))


def system_draws(
    metrics: ArrayLike, human: ArrayLike, kind: Kind, *, over: Over, resamples: int, seed: int
) -> Draws:
    """Correlate system means (metrics x systems x documents, and systems x documents)."""
    cube, judged = np.asarray(metrics, dtype=np.float64), np.asarray(human, dtype=np.float64)
    people = system_means(judged)
    values, draws, sizes = [], [], []
    for scores in cube:
        # A text without a rating says nothing of a system beside people's mean, and the other way round.
        means, rated = _both(scores, judged)
        values.append(correlate_rows(system_means(means)[None, :], system_means(rated)[None, :], kind)[0])
        draws.append(
            resampled_system_correlations(means, rated, kind, over=over, resamples=resamples, seed=seed)
        )
        sizes.append(int(np.isfinite(system_means(means) + people).sum()))
    return Draws(
        np.array(values), np.array(draws), np.array(sizes, dtype=np.intp), _sampled_draws(judged, over)
    )


def system_accuracy_draws(
    metrics: ArrayLike, human: ArrayLike, *, over: Over, resamples: int, seed: int
) -> Draws:
    """Share of pairs of systems ordered as people order them, resampled; people's ties are no pairs."""
    cube, judged = np.asarray(metrics, dtype=np.float64), np.asarray(human, dtype=np.float64)
    values, draws, sizes = [], [], []
    for scores in cube:
        pair = _both(scores, judged)
        one = np.ones((1, judged.shape[0])), np.ones((1, judged.shape[1]))
        rng = generator(seed)
        systems, documents = _counts(judged.shape, over, resamples, rng)
        # A metric that gives all systems one score orders none: no accuracy, rather than 0.
        varies = np.ptp(system_means(pair[0])[np.isfinite(system_means(pair[0]))], axis=0) > 0
        values.append(_accuracy(pair, *one)[0] if varies else np.nan)
        draws.append(_accuracy(pair, systems, documents))
        sizes.append(_n_pairs(*map(system_means, pair)))
    return Draws(
        np.array(values), np.array(draws), np.array(sizes, dtype=np.intp), _sampled_draws(judged, over)
    )


def soft_accuracy_draws(metric: ArrayLike, human: ArrayLike, *, resamples: int, seed: int) -> Draws:
    """Soft pairwise accuracy (Thompson et al., 2024) of complete systems x documents, systems resampled."""
    ours, theirs = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    rng = generator(seed)
    distance = np.abs(better_p_values(ours, resamples, rng) - better_p_values(theirs, resamples, rng))
    i, j = np.triu_indices(len(ours), 1)
    closeness = 1.0 - distance[i, j]
    counts = draw_counts(len(ours), resamples, rng)
    weight = counts[:, i] * counts[:, j]
    total = weight.sum(axis=1)
    draws = np.where(total > 0, weight @ closeness / np.maximum(total, 1.0), np.nan)
    value = closeness.mean() if closeness.size else np.nan
    return Draws(np.array([value]), draws[None, :], np.array([closeness.size], dtype=np.intp), len(ours))


def set_draws(scores: ArrayLike, resampled: ArrayLike, human: ArrayLike, kind: Kind, *, seed: int) -> Draws:
    """Correlate one score a system (a set metric's) with people's means; systems and sets are resampled."""
    values, people = np.asarray(scores, dtype=np.float64), np.asarray(human, dtype=np.float64)
    draws = np.asarray(resampled, dtype=np.float64)
    both = np.isfinite(values) & np.isfinite(people)
    value = correlate(values[both], people[both], kind) if both.sum() >= 3 else None
    # A set metric without statistics to resample still varies with the systems that were chosen.
    moving = np.where(np.isfinite(draws), draws, values[:, None])[both].T
    weights = draw_counts(int(both.sum()), len(moving), generator(seed)) if both.any() else None
    made = correlate_rows(moving, people[both][None, :], kind, weights=weights)
    observed = np.array([np.nan if value is None else value])
    return Draws(observed, made[None, :], np.array([both.sum()], dtype=np.intp), int(both.sum()))


def _observed(row: Floats, judged: Floats, mask: np.ndarray, kind: Kind) -> float:
    value = correlate(row[mask], judged[mask], kind) if mask.sum() > 1 else None
    return np.nan if value is None else value


def _both(scores: Floats, judged: Floats) -> tuple[Floats, Floats]:
    present = np.isfinite(scores) & np.isfinite(judged)
    return np.where(present, scores, np.nan), np.where(present, judged, np.nan)


def _counts(
    shape: tuple[int, ...], over: Over, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    systems = draw_counts(shape[0], resamples, rng) if over != "documents" else np.ones((resamples, shape[0]))
    documents = draw_counts(shape[1], resamples, rng) if over != "systems" else np.ones((resamples, shape[1]))
    return systems, documents


def _means(scores: Floats, documents: Floats) -> Floats:
    present = np.isfinite(scores)
    total = documents @ np.where(present, scores, 0.0).T
    size = documents @ present.T.astype(np.float64)
    means: Floats = np.where(size > 0, total / np.maximum(size, 1.0), np.nan)
    return means


def _accuracy(pair: tuple[Floats, Floats], systems: Floats, documents: Floats) -> Floats:
    ours, theirs = (_means(side, documents) for side in pair)
    i, j = np.triu_indices(ours.shape[1], 1)
    metric_gaps, human_gaps = ours[:, i] - ours[:, j], theirs[:, i] - theirs[:, j]
    weight = systems[:, i] * systems[:, j] * (np.isfinite(metric_gaps + human_gaps) & (human_gaps != 0))
    right = np.sign(metric_gaps) == np.sign(human_gaps)
    total = weight.sum(axis=1)
    answer: Floats = np.where(total > 0, (weight * right).sum(axis=1) / np.maximum(total, 1.0), np.nan)
    return answer


def _n_pairs(ours: Floats, theirs: Floats) -> int:
    i, j = np.triu_indices(ours.size, 1)
    gaps = theirs[i] - theirs[j]
    return int((np.isfinite(ours[i] + ours[j] + gaps) & (gaps != 0)).sum())


def _sampled_draws(judged: Floats, over: Over) -> int:
    n_systems, n_documents = len(judged), len(judged.T)
    if over == "both":
        return min(n_systems, n_documents)
    return n_systems if over == "systems" else n_documents
