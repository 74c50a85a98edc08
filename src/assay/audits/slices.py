"""Scores of one metric on one slice, and the estimates that audits make from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.audits import gap
from assay.audits.gap import CLEAN, UNIT, WORTHLESS, Gap, is_still, scale_of, tells_apart
from assay.core import Case, Estimate, Finding, Floats, Scored
from assay.statistics import intervals
from assay.statistics.estimates import detectable_effect, mde_interval
from assay.statistics.intervals import Interval, bootstrap_mean, interval_of
from assay.vocabulary import Rule

FEWEST = 10  # items below which there is no verdict
EVIDENCE = 5  # case ids given as evidence of a finding

Element = TypeVar("Element")
Key = TypeVar("Key", bound=Hashable)
Weights = Mapping[str, float]  # of roles, in a weighted sum of their mean scores


@dataclass(frozen=True, slots=True)
class SliceScores:
    """Aligned scores of one metric on one slice.

    `columns` maps a role to one score per item (a single score for a set metric), on the scale that effects
    are computed on; `raw` are the scores as the metric gave them. `draws` maps a role to resampled means over
    the same items in every role, so that differences stay paired; it is None where nothing can be resampled.
    Effects are in percent of the gap.
    """

    scored: Scored
    slice: str
    ids: tuple[str, ...]
    columns: Mapping[str, Floats]
    raw: Mapping[str, Floats]
    draws: Mapping[str, Floats] | None
    raw_draws: Mapping[str, Floats] | None
    n: int
    gap: Gap
    clusters: tuple[str, ...] = ()
    outliers: int = 0  # items left out

    @property
    def n_clusters(self) -> int:
        """How many independent items there are."""
        return self.gap.n_clusters or self.n

    @property
    def dataset(self) -> str:
        return self.slice.rpartition("/")[0]

    @property
    def only_seeds_vary(self) -> bool:
        """Whether repeats under several seeds are all that shows uncertainty: a set without resamples."""
        return self.scored.is_set and self.draws is None

    def roles(self, prefix: str) -> list[str]:
        return [role for role in self.columns if role.startswith(prefix)]

    def mean(self, role: str) -> float:
        """The mean score of a role, in the metric's own units."""
        return float(self.raw[role].mean())

    def mean_score(self, roles: Sequence[str]) -> Estimate:
        """The mean score over roles, in the metric's own units."""
        value = float(np.mean([self.mean(role) for role in roles]))
        if self.raw_draws is None:
            return Estimate(value, self.n)
        draws = np.mean([self.raw_draws[role] for role in roles], axis=0)
        return interval_estimate(value, self.n, interval_of(draws, n_clusters=self.n_clusters))

    def family(self, contrasts: Sequence[Weights]) -> list[Estimate]:
        """Weighted sums of role means in percent of the gap, with intervals that hold all together."""
        values = [sum(w * float(self.columns[role].mean()) for role, w in c.items()) for c in contrasts]
        if self.draws is None:
            sensitive = self.gap.sensitive
            return [Estimate(self.gap.percent(value), self.n, sensitive=sensitive) for value in values]
        draws = [np.sum([w * self.draws[role] for role, w in c.items()], axis=0) for c in contrasts]
        still = [not self.scored.is_set and is_still(self.item_values(c), self.gap.scale) for c in contrasts]
        n, clusters = [self.n] * len(contrasts), [self.n_clusters] * len(contrasts)
        return self.gap.family(values, np.stack(draws, axis=1), n, still=still, clusters=clusters)

    def combine(self, weights: Weights) -> Estimate:
        return self.family([weights])[0]

    def contrast(self, treated: Sequence[str], base: Sequence[str] = (CLEAN,)) -> Estimate:
        """The mean of the treated roles (one per seed) minus that of the base roles.

        Where only seeds vary, the interval is a t interval over the seeds.
        """
        if not self.only_seeds_vary or len(treated) < 2:
            return self.combine(difference(treated, base))
        values = np.array([self.combine(difference([role], base)).value for role in treated])
        mean, error = float(values.mean()), float(values.std(ddof=1)) / sqrt(values.size)
        reach = -float(stdtrit(values.size - 1, 0.025)) * error
        ci, mde = (mean - reach, mean + reach), detectable_effect(error, n_clusters=values.size)
        return Estimate(mean, self.n, ci, mde=mde, sensitive=self.gap.sensitive)

    def noticed(self, slice_: str, treated: Sequence[str], seed: int) -> Iterator[Finding]:
        """The share of items on which the clean text scores higher, beside the size of the change."""
        if not self.scored.is_set:
            share = mean_estimate(self.noticed_shares(treated), clusters=self.clusters, seed=seed)
            yield Finding.of(self.scored, slice_, "noticed", share)

    def noticed_shares(self, treated: Sequence[str]) -> Floats:
        """For each item, the share of the treated texts that its clean text beats; ties count half."""
        changes = np.stack([self.columns[role] - self.columns[CLEAN] for role in treated], axis=1)
        signs = np.where(np.abs(changes) <= 1e-9 * self.gap.scale, 0.0, np.sign(changes))
        return np.asarray((1 - signs.mean(axis=1)) / 2)

    def item_values(self, weights: Weights) -> Floats:
        """A weighted sum of roles for each item, in the metric's own units (logs of heavy-tailed scores)."""
        total = np.sum([weight * self.columns[role] for role, weight in weights.items()], axis=0)
        return np.asarray(total, dtype=np.float64)

    def top_items(self, weights: Weights) -> tuple[str, ...]:
        """Ids of the items with the highest weighted sums, highest first; a set has one id."""
        order = np.argsort(-self.item_values(weights), kind="stable")
        return tuple(self.ids[position] for position in order[:EVIDENCE])


def between_metrics(first: SliceScores, second: SliceScores, weights: Weights, others: Weights) -> Estimate:
    """The effect under one metric minus that under another; paired where both scored the same items."""
    value = first.combine(weights).value - second.combine(others).value
    if first.draws is None or second.draws is None or first.ids != second.ids:
        return Estimate(value, first.n)
    effects = [
        scores.gap.percents(np.sum([w * scores.draws[role] for role, w in of.items()], axis=0))
        for scores, of in ((first, weights), (second, others))
        if scores.draws is not None
    ]
    interval = interval_of(effects[0] - effects[1], n_clusters=first.n_clusters)
    return interval_estimate(value, first.n, interval)


def difference(treated: Sequence[str], base: Sequence[str] = (CLEAN,)) -> dict[str, float]:
    """The mean of the treated roles minus that of the base roles, as weights."""
    weights = {role: 1 / len(treated) for role in treated}
    for role in base:
        weights[role] = weights.get(role, 0.0) - 1 / len(base)
    return weights


def slices(scored: Scored) -> dict[str, list[int]]:
    """Positions of the cases by slice, in order."""
    return grouped(range(len(scored.cases)), lambda position: scored.cases[position].slice)


def read_slices(scored: Sequence[Scored], seed: int, rule: Rule = "careful") -> Iterator[SliceScores]:
    """The scores of every metric, slice by slice; slices with too few scores to be read are left out.

    The papers leave out no item, neither outliers nor those where an edit cannot matter, and take no logs.
    """
    for answer in scored:
        apart = {} if answer.is_set else _apart_by_dataset(answer)
        for slice_, positions in slices(answer).items():
            if answer.is_set:
                scores = _set_scores(answer, slice_, positions[0])
            else:
                scores = _item_scores(answer, slice_, positions, seed, careful=rule == "careful")
            if scores is not None:
                yield replace(scores, gap=replace(scores.gap, apart=apart.get(slice_.split("/")[0])))


def _apart_by_dataset(scored: Scored) -> dict[str, bool]:
    """By dataset (the first part of a slice), whether clean texts surely score above worthless ones."""
    if not {CLEAN, WORTHLESS} <= set(scored.values):
        return {}
    clean, worthless = (gap.on_effect_scale(scored, scored.values[role]) for role in (CLEAN, WORTHLESS))
    gaps: dict[str, dict[str, float]] = {}  # an item counts once, whichever of its references a case keeps
    for case, apart in zip(scored.cases, (clean - worthless).tolist(), strict=True):
        if CLEAN in case.samples and np.isfinite(apart):
            gaps.setdefault(case.slice.split("/")[0], {}).setdefault(case.samples[CLEAN].hypothesis, apart)
    scale = scale_of(clean, worthless)
    return {name: tells_apart(np.array(list(by_item.values())), scale) for name, by_item in gaps.items()}


def _item_scores(
    scored: Scored, slice_: str, positions: Sequence[int], seed: int, *, careful: bool
) -> SliceScores | None:
    """The items that have a score in every role; None for no item, or for one of several.

    A metric that reads references is judged on the items where the edit could matter to it, by the mark that
    the audit put on the case.
    """
    if careful and scored.about.get("reads_references", True):
        positions = [place for place in positions if scored.cases[place].meta.get("matters", True)]
    known = {role: np.isfinite(values[positions]) for role, values in scored.values.items()}
    whole = {WORTHLESS} if not careful else set()  # the roles that need all their scores
    roles = [role for role, there in known.items() if (there.all() if role in whole else there.any())]
    if CLEAN not in roles or not positions:
        return None
    raw = np.stack([scored.values[role][positions] for role in roles], axis=1)
    table = gap.on_effect_scale(scored, raw) if careful else raw
    complete: NDArray[np.bool_] = np.asarray(np.isfinite(table).all(axis=1))
    far = np.zeros(len(table), dtype=np.bool_)
    if careful:
        base = table[complete][:, [roles.index(role) for role in (CLEAN, WORTHLESS) if role in roles]]
        far[complete] = gap.outlying(list(table[complete].T), base.ravel())
        complete &= ~far
    n = int(complete.sum())
    if not n or (n == 1 and len(positions) > 1):
        return None
    table, raw = table[complete], raw[complete]
    cases = [scored.cases[position] for position in np.asarray(positions)[complete]]
    ids = tuple(case.id for case in cases)
    clusters = tuple(str(case.meta.get("cluster", case.id)) for case in cases)
    columns, raws = (dict(zip(roles, rows.T, strict=True)) for rows in (table, raw))
    n_clusters, draws, raw_draws = len(set(clusters)), None, None
    if n_clusters > 1:
        both = np.concatenate([table, raw], axis=1)
        means = intervals.resampled_means(both, clusters=clusters, resamples=gap.RESAMPLES, seed=seed).T
        draws, raw_draws = (dict(zip(roles, half, strict=True)) for half in np.split(means, 2))
    unit, outliers = _gap(columns, draws, n_clusters if draws else 0), int(far.sum())
    return SliceScores(scored, slice_, ids, columns, raws, draws, raw_draws, n, unit, clusters, outliers)


def _gap(columns: Mapping[str, Floats], draws: Mapping[str, Floats] | None, n_clusters: int) -> Gap:
    """The gap between clean and worthless texts; without worthless texts there is none."""
    scale = scale_of(*columns.values())
    if WORTHLESS not in columns:
        return Gap(0.0, None, 0, scale)
    value = float(columns[CLEAN].mean() - columns[WORTHLESS].mean())
    return Gap(value, None if draws is None else draws[CLEAN] - draws[WORTHLESS], n_clusters, scale)


def _set_scores(scored: Scored, slice_: str, position: int) -> SliceScores | None:
    """A set's scores, one per role, with their resamples where the metric can be resampled."""
    case = scored.cases[position]
    values = {role: row[position] for role, row in scored.values.items() if np.isfinite(row[position])}
    if CLEAN not in values:
        return None
    n = int(case.meta["sizes"][CLEAN])
    columns = {role: np.array([value]) for role, value in values.items()}
    draws: dict[str, Floats] | None = {role: scored.resamples[role][position] for role in values}
    if draws and not all(np.isfinite(row).all() for row in draws.values()):
        draws = None
    place = scored, slice_, (case.id,)
    return SliceScores(*place, columns, columns, draws, draws, n, _gap(columns, draws, n))


def moves(change: float, more: str = "", *, falls: str = "falls by") -> str:
    """A change of score in words, the change given in percent of the gap.

    >>> moves(-5.23), moves(0.0)
    ('falls by 5.23% of the gap', 'does not change')
    """
    if abs(change) < 1e-9:
        return "does not change"
    return f"{'rises by' if change > 0 else falls} {abs(change):.3g}{UNIT}{more}"


def hardly_falls(finding: Finding, sign: float = 1.0) -> str:
    """The change of a score that ought to fall, in words; `sign` is -1 where the statistic counts falls."""
    low, high = finding.ci or (finding.value, finding.value)
    if finding.value and low <= 0 <= high:
        return "does not surely fall"
    return moves(sign * finding.value, falls="falls by only")


@dataclass(frozen=True, slots=True)
class PairScores:
    """One metric's scores of two versions of the texts of a slice; texts that lack a score are left out."""

    metric: str
    slice: str
    cases: tuple[Case, ...]
    first: Floats
    second: Floats
    worthless: Floats  # scores of worthless texts; nan where a case has none
    draws: Floats | None = None  # set metrics only: resampled first versions minus second ones

    @classmethod
    def of(cls, scored: Scored, slice_: str, roles: tuple[str, str]) -> PairScores:
        """The cases of a slice that have a score in both roles."""
        absent = np.full(len(scored.cases), np.nan)
        first, second, worthless = (scored.values.get(role, absent) for role in (*roles, WORTHLESS))
        here = np.array([case.slice == slice_ for case in scored.cases], dtype=bool)
        rows = np.flatnonzero(here & np.isfinite(first) & np.isfinite(second)).tolist()
        draws = None
        if scored.is_set and rows:
            draws = (scored.resamples[roles[0]] - scored.resamples[roles[1]])[rows[0]]
        cases = tuple(scored.cases[row] for row in rows)
        return cls(scored.metric, slice_, cases, first[rows], second[rows], worthless[rows], draws)

    @property
    def differences(self) -> Floats:
        return self.first - self.second

    @property
    def ids(self) -> list[str]:
        return [case.id for case in self.cases]

    def finding(
        self, statistic: str, estimate: Estimate, by: Floats | None = None, *, part: str = "", **more: Any
    ) -> Finding:
        """An estimate on these cases; its evidence is those where `by` is largest. `part` is of the slice."""
        evidence = () if by is None else largest(self.ids, by)
        return Finding.of(self.metric, self.slice + part, statistic, estimate, evidence=evidence, **more)


def grouped(items: Iterable[Element], key: Callable[[Element], Key]) -> dict[Key, list[Element]]:
    """Items by a key, in order of appearance.

    >>> grouped("ab Ac b".split(), lambda word: word[0].lower())
    {'a': ['ab', 'Ac'], 'b': ['b']}
    """
    groups: dict[Key, list[Element]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def spread_out(items: Sequence[Element], limit: int | None) -> list[Element]:
    """At most `limit` items at even distances.

    >>> spread_out(range(10), 4)
    [0, 2, 5, 7]
    """
    if limit is None or len(items) <= limit:
        return list(items)
    return [items[number * len(items) // limit] for number in range(limit)]


def interval_estimate(
    value: float, n: int, interval: Interval | None, *, with_mde: bool = False, **more: Any
) -> Estimate:
    """A value with its interval (None where undefined), its MDE if asked for, and other fields (`more`)."""
    if with_mde:
        more["mde"] = mde_interval(interval)
    return Estimate(float(value), n, interval.pair if interval else None, **more)


def mean_estimate(
    values: Floats, *, clusters: Sequence[Hashable] | None = None, seed: int, **more: Any
) -> Estimate:
    """A mean with its bootstrap interval; rows of one cluster are resampled together."""
    interval = bootstrap_mean(values, clusters=clusters, seed=seed)
    return interval_estimate(values.mean(), values.size, interval, **more)


def largest(ids: Sequence[str], sizes: Floats) -> tuple[str, ...]:
    """The cases with the largest sizes above 0, largest first."""
    order = np.argsort(-sizes, kind="stable")[:EVIDENCE]
    return tuple(ids[place] for place in order if sizes[place] > 0)
