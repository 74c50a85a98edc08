"""Intervals for correlations and for their differences, by resampling what was sampled."""

from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics._arrays import Floats, Labels, Seed, generator, label_codes, matched, pieces
from assay.statistics._intervals import Interval, Options, Plan, percentile_interval
from assay.statistics._weighted import Kind, weighted_correlation
from assay.statistics.bootstrap import bootstrap_mean, bootstrap_p_value, bootstrap_weighted, draw_counts
from assay.statistics.correlation import correlate_rows, grouped_correlation, system_means

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
