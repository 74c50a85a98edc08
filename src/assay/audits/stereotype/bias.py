"""Scores of stereotype pairs to findings: Eq. 1-2 of unfair, the signed bias, the control floor."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.audits.slices import Clusters, clusters_of, mean_interval, resampled_mean
from assay.core import Case, Finding, Floats, Scored
from assay.statistics.estimates import mde_interval, mde_mean, mde_proportion, verdict
from assay.statistics.intervals import Interval, bootstrap_weighted, interval_of, weighted_mean
from assay.statistics.permutation import sign_flip_test, sign_test
from assay.vocabulary import Rule

AUDIT = "stereotype"
PAIR = ("stereotype", "anti_stereotype")
Booleans = NDArray[np.bool_]
_WORD = re.compile(r"\w+")
EVIDENCE = 5


@dataclass(frozen=True, slots=True)
class Margins:
    """The smallest differences that matter, and how to judge."""

    excess: float
    signed: float
    fewest: int
    seed: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class Judged:
    """One metric's scores of one set of pairs, absent ones left out."""

    metric: str
    slice: str  # an attribute, or the controls
    ids: tuple[str, ...]
    meta: tuple[Mapping[str, Any], ...]
    first: Floats  # the stereotypes
    second: Floats  # the anti-stereotypes
    random: Floats  # nan where a pair has no random text
    alike: Booleans  # whether the two texts have as many words
    draws: Floats | None = None  # of a set metric: resampled stereotype less anti-stereotype

    @classmethod
    def of(cls, scored: Scored, slice_: str) -> Judged:
        """The pairs of a slice that both have a score."""
        absent = np.full(len(scored.cases), np.nan)
        columns = [scored.values.get(role, absent) for role in (*PAIR, "random")]
        here = np.array([case.slice == slice_ for case in scored.cases], dtype=bool)
        rows = np.flatnonzero(here & np.isfinite(columns[0]) & np.isfinite(columns[1]))
        cases = [scored.cases[row] for row in rows.tolist()]
        draws = None
        if scored.about.get("set") and rows.size:
            both = scored.resamples["stereotype"] - scored.resamples["anti_stereotype"]
            draws = both[rows[0]]
        ids, meta = tuple(case.id for case in cases), tuple(case.meta for case in cases)
        first, second, random = (column[rows] for column in columns)
        alike = np.array([_as_long(case) for case in cases], dtype=bool)
        return cls(scored.metric, slice_, ids, meta, first, second, random, alike, draws)

    def only(self, kept: Booleans) -> Judged:
        """Some of the pairs."""
        rows = np.flatnonzero(kept).tolist()
        ids, meta = tuple(self.ids[row] for row in rows), tuple(self.meta[row] for row in rows)
        first, second, random = self.first[rows], self.second[rows], self.random[rows]
        return Judged(self.metric, self.slice, ids, meta, first, second, random, self.alike[rows])

    @property
    def span(self) -> float:
        """Largest less smallest score (Eq. 1); 0 where only rounding moves a constant metric."""
        both = np.concatenate([self.first, self.second])
        width = float(np.ptp(both)) if both.size else 0.0
        return width if width > 1e-12 * max(1.0, float(np.abs(both).max(initial=0.0))) else 0.0

    def scaled(self, span: float) -> Floats:
        """Stereotype less anti-stereotype on 0 to 100."""
        return (self.first - self.second) * (100.0 / span) if span else np.zeros(self.first.size)

    @property
    def clusters(self) -> Clusters:
        """By template and identity words; a row of its own where the data does not say."""
        templates = [meta.get("template", row) for row, meta in zip(self.ids, self.meta, strict=True)]
        if not all("identity" in meta for meta in self.meta):
            return Clusters(templates)
        return clusters_of(templates, [(m["identity"], m.get("anti_identity")) for m in self.meta])


def _as_long(case: Case) -> bool:
    return as_long(*(case.samples[role].hypothesis for role in PAIR if role in case.samples))


def as_long(*texts: str) -> bool:
    """Whether texts have equally many words; hyphens part words, as n-gram metrics do."""
    return len({len(_WORD.findall(text)) for text in texts}) <= 1


def attribute_findings(judged: Judged, controls: Judged, margins: Margins) -> list[Finding]:
    """Everything one metric shows on one attribute."""
    if not judged.ids:
        return []
    if judged.draws is not None:
        return [_set_difference(judged)]
    found = [*_paper(judged, margins)]
    if controls.ids and judged.alike.any():
        found.append(_excess(judged.only(judged.alike), controls, judged.span, margins))
    if margins.rule == "careful":
        found += [*_relative(judged, margins), *_groups(judged, margins), *_words(judged, margins)]
    return found


def _finding(judged: Judged, statistic: str, value: float, interval: Interval | None, **more: Any) -> Finding:
    ci = interval.pair if interval else None
    plain = Finding(judged.metric, AUDIT, judged.slice, statistic, value, len(judged.ids), ci=ci)
    return replace(plain, **more)


def _paper(judged: Judged, margins: Margins) -> Iterator[Finding]:
    """Eq. 2, app. E and the share that prefers the stereotype; the span of Eq. 1 is held fixed."""
    differences, clusters = judged.scaled(judged.span), judged.clusters
    plain = margins.rule == "paper"
    sizes = np.abs(differences)
    seed = margins.seed
    ci = mean_interval(sizes, clusters, seed=seed, plain=plain)
    yield _finding(judged, "bias", float(sizes.mean()), ci, evidence=largest(judged.ids, sizes))
    templates = None if plain else clusters.rows
    value = float(differences.mean())
    yield _finding(
        judged, "signed_bias", value, mean_interval(differences, clusters, seed=seed, plain=plain),
        p_value=_flip_p(differences, None if plain else clusters, seed),
        mde=mde_mean(differences, clusters=templates),
        evidence=largest(judged.ids, differences * (1.0 if value >= 0 else -1.0)),
    )  # fmt: skip
    yield _share(judged, differences, None if plain else clusters, seed)


def _flip_p(differences: Floats, clusters: Clusters | None, seed: int) -> float:
    """Signs turned by template and, anew, by identity word: the larger p, so that neither explains it."""
    ways = [None] if clusters is None else [clusters.rows, *([clusters.crossed] if clusters.crossed else [])]
    return max(sign_flip_test(differences, clusters=way, seed=seed).p_value for way in ways)


def _share(judged: Judged, differences: Floats, clusters: Clusters | None, seed: int) -> Finding:
    """The share of untied pairs that prefer the stereotype, against one half."""
    signs, tested = np.sign(differences), sign_test(differences)
    untied = signs != 0
    if tested.share is None:
        return _finding(judged, "stereotype_share", 0.5, None, n=0, p_value=1.0)

    def share(weights: Floats) -> Floats:
        return weighted_mean(weights[:, untied], (signs[untied] + 1) / 2)

    rows, crossed = (clusters.rows, clusters.crossed) if clusters else (None, None)
    ci = bootstrap_weighted(share, signs.size, clusters=rows, crossed=crossed, seed=seed)
    # A sign test needs independent rows; signs that share a template turn together.
    p = tested.p_value if rows is None else _flip_p(signs, clusters, seed)
    return _finding(
        judged, "stereotype_share", tested.share, ci, n=int(untied.sum()), p_value=p,
        mde=mde_proportion(int(untied.sum())),
    )  # fmt: skip


def _excess(judged: Judged, controls: Judged, span: float, margins: Margins) -> Finding:
    """Bias over the floor: the size that control swaps of the same kinds reach on this scale.

    Controls swap a word for one word, so only pairs of equally many words are held against them: two words in
    the place of one (middle-aged) move an n-gram metric whoever they speak of.
    """
    sizes, floor = np.abs(judged.scaled(span)), np.abs(controls.scaled(span))
    weights = _matching(judged, controls)
    own, other = judged.clusters, controls.clusters
    above = resampled_mean(sizes, own, seed=margins.seed)
    below = resampled_mean(floor, other, weights=weights, seed=margins.seed + 1)
    ci = interval_of(above - below, n_clusters=min(own.count(sizes.size), other.count(floor.size)))
    value = float(sizes.mean() - np.average(floor, weights=weights))
    judges = sizes.size >= margins.fewest and margins.rule == "careful"
    return _finding(
        judged, "excess_bias", value, ci, versus="controls", mde=mde_interval(ci),
        passed=verdict(ci, margins.excess) if judges else None, evidence=largest(judged.ids, sizes),
    )  # fmt: skip


def _labels(labels: Sequence[Any] | None, ids: Sequence[str]) -> Sequence[Any]:
    return ids if labels is None else labels


def _matching(judged: Judged, controls: Judged) -> Floats:
    """Weights that give the controls the pairs' mix of kinds (pronouns, words dropped ...); else ones."""
    wanted = Counter(meta.get("kind") for meta in judged.meta)
    kinds = [meta.get("kind") for meta in controls.meta]
    there = Counter(kinds)
    weights = np.array([wanted[kind] / there[kind] for kind in kinds])
    return weights if weights.sum() > 0 else np.ones(len(controls.ids))


def _relative(judged: Judged, margins: Margins) -> Iterator[Finding]:
    """Bias in hundredths of the gap between fitting and random texts: it compares metrics of any scale."""
    told = np.isfinite(judged.random)
    if not told.any():
        return
    gaps = np.where(told, (judged.first + judged.second) / 2 - judged.random, 0.0)
    sizes, rows = np.abs(judged.first - judged.second), judged.clusters.rows

    def gap(weights: Floats) -> Floats:
        return weighted_mean(weights[:, told], gaps[told])

    def relative(weights: Floats) -> Floats:
        return 100.0 * weighted_mean(weights, sizes) / gap(weights)

    ones, n = np.ones((1, told.size)), told.size
    interval = _interval(gap, n, rows, margins)
    yield _finding(judged, "gold_random_gap", float(gap(ones)[0]), interval, n=int(told.sum()))
    if interval is not None and interval.low > 0:
        yield _finding(
            judged, "relative_bias", float(relative(ones)[0]), _interval(relative, n, rows, margins)
        )


def _interval(
    statistic: Callable[[Floats], Floats], n: int, rows: Sequence[Any] | None, margins: Margins
) -> Interval | None:
    return bootstrap_weighted(statistic, n, clusters=rows, seed=margins.seed)


def _groups(judged: Judged, margins: Margins) -> Iterator[Finding]:
    """Bias by the group the stereotype is about, on the attribute's scale."""
    differences = judged.scaled(judged.span)
    groups = [meta.get("group") for meta in judged.meta]
    for name in sorted({str(group) for group in groups if group}):
        rows = np.array([group == name for group in groups])
        templates = [
            t for t, kept in zip(_labels(judged.clusters.rows, judged.ids), rows, strict=True) if kept
        ]
        for statistic, values in (("bias", np.abs(differences[rows])), ("signed_bias", differences[rows])):
            ci = mean_interval(values, Clusters(templates), seed=margins.seed)
            ids = [id_ for id_, kept in zip(judged.ids, rows, strict=True) if kept]
            yield _finding(
                judged, statistic, float(values.mean()), ci, slice=f"{judged.slice}/group/{name}",
                n=values.size, evidence=largest(ids, np.abs(values)),
            )  # fmt: skip


def _words(judged: Judged, margins: Margins) -> Iterator[Finding]:
    """How much a metric prefers an identity word over the other word of its pair, where it has ten pairs."""
    differences = judged.scaled(judged.span)
    by_word: dict[str, list[tuple[str, float]]] = {}
    for id_, meta, difference in zip(judged.ids, judged.meta, differences, strict=True):
        for column, sign in (("identity", 1.0), ("anti_identity", -1.0)):
            if meta.get(column):
                by_word.setdefault(str(meta[column]).lower(), []).append((id_, sign * difference))
    for word, rows in sorted(by_word.items()):
        if len(rows) >= margins.fewest:
            values = np.array([value for _, value in rows])
            yield _finding(
                judged, "word_preference", float(values.mean()),
                mean_interval(values, Clusters(), seed=margins.seed),
                slice=f"{judged.slice}/word/{word}", n=values.size,
                evidence=largest([id_ for id_, _ in rows], np.abs(values)),
            )  # fmt: skip


def _set_difference(judged: Judged) -> Finding:
    """A set metric has one score a set: no pairs to scale, so the plain difference."""
    value = float(judged.first[0] - judged.second[0])
    draws = judged.draws if judged.draws is not None else np.full(1, np.nan)
    sizes = judged.meta[0].get("sizes", {})
    n = int(sizes.get("stereotype", 1))
    ci = interval_of(draws, n_clusters=n) if np.isfinite(draws).any() else None
    return _finding(judged, "set_difference", value, ci, n=n, mde=mde_interval(ci))


def largest(ids: Sequence[str], sizes: Floats) -> tuple[str, ...]:
    """The cases that show it best."""
    order = np.argsort(-sizes, kind="stable")[:EVIDENCE]
    return tuple(ids[place] for place in order if sizes[place] > 0)
