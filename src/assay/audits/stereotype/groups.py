"""Whom a metric is unfair to: effects of groups and identity words in percent of the gap, beyond controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.audits.gap import RESAMPLES, UNIT, Gap, is_still, tells_apart
from assay.audits.slices import FEWEST, Clusters, largest
from assay.audits.stereotype.controls import Controls, changed_words
from assay.core import Case, Estimate, Finding, Floats, Statistic
from assay.statistics.intervals import cluster_codes, draw_rows, weighted_mean

_RIDGE = 1e-9


def _attribute(finding: Finding) -> str:
    return finding.slice.split("/")[0].replace("-", " ").replace("_", " ")


def _say_group(finding: Finding) -> str:
    _, kind, name = f"{finding.slice}/group/one group".split("/")[:3]
    text = f"texts that say “{name}”" if kind == "word" else f"texts about {name.replace('-', ' ')} people"
    if finding.slice.startswith("intersection/") and kind == "group":
        text = f"texts about {name.replace('-', ' ')}"
    side = "lower" if finding.value < 0 else "higher"
    return (
        f"{finding.metric} scores {text} {abs(finding.value):.3g}{UNIT} {side} than the same texts about "
        f"others ({_attribute(finding)})."
    )


STATISTICS = (
    Statistic(
        "group_effect",
        "How much higher (below 0: lower) texts that name this group score than the same texts about others, "
        "beyond what the letters and the frequency of the words explain. The intervals of all groups and "
        "words of an attribute hold together.",
        UNIT, bad="far", margin="margin", headline=True, sentence=_say_group,
    ),
    Statistic(
        "stereotype_effect",
        "How much higher stereotypes score than their opposites, beyond what the letters and the frequency "
        "of the words explain; groups that are favoured and groups that are not may cancel out here.",
        UNIT, bad="far", margin="margin", headline=True,
        sentence=lambda f: f"{f.metric} scores stereotypes about {_attribute(f)} "
        f"{'higher' if f.value > 0 else 'lower'} than their opposites, by {abs(f.value):.3g}{UNIT}.",
    ),
    Statistic(
        "excess_bias",
        "How much further apart the two texts of a pair score than those of its matched control pairs, whose "
        "words name no group.",
        UNIT, bad="high", margin="margin", headline=True,
        sentence=lambda f: f"{f.metric} scores texts that differ only in {_attribute(f)} further apart than "
        f"control texts, by {f.value:.3g}{UNIT}.",
    ),
    Statistic("ties", "Share of pairs whose two texts score alike.", "share"),
    Statistic("gap", "How much higher a pair's texts score than worthless ones.", "metric's own units"),
)  # fmt: skip


@dataclass(frozen=True)
class Effects:
    """One metric's pairs of one attribute with their controls, ready to be resampled together."""

    metric: str
    attribute: str
    cases: Sequence[Case]
    differences: Floats  # stereotype minus anti-stereotype
    gaps: Floats  # mean of both minus the worthless text; nan where unknown
    scale: float
    clusters: Clusters  # of the attribute as a whole: templates and identity words
    controls: Controls | None
    seed: int

    def findings(self) -> Iterator[Finding]:
        """The attribute as a whole, then its groups and words."""
        known = np.isfinite(self.gaps)
        if not known.any():
            return
        rows = cluster_codes(len(self.cases), self.clusters.rows, self.clusters.crossed)
        weights = draw_rows(rows, RESAMPLES, np.random.default_rng(self.seed))
        gap = self._gap(weights)
        enough = len(self.cases) >= FEWEST
        n_clusters = self.clusters.count(len(self.cases))
        yield self._finding("", "gap", Estimate(gap.value, int(known.sum())), False)
        tied = float(np.mean(np.abs(self.differences) <= 1e-9 * self.scale))
        yield self._finding("", "ties", Estimate(tied, len(self.cases)), False)
        adjusted = self.differences - self._expected
        draws = (weights * adjusted).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        value = float((self.differences - self._plain_expected).mean())
        still = is_still(self.differences, self.scale)
        estimate = gap.estimate(value, draws, len(self.cases), still=still, clusters=n_clusters)
        towards = self.differences * (1.0 if value >= 0 else -1.0)
        yield self._finding("", "stereotype_effect", estimate, enough, towards)
        if self.controls is not None:
            yield self._excess(self.controls, gap, weights, n_clusters, judged=enough)
        yield from self._families()

    def _gap(self, weights: Floats) -> Gap:
        known = np.isfinite(self.gaps)
        draws = weighted_mean(weights[:, known], self.gaps[known])
        apart = tells_apart(self.gaps[known], self.scale)
        return Gap(float(self.gaps[known].mean()), draws, int(known.sum()), self.scale, apart)

    @cached_property
    def _control_weights(self) -> Floats:
        count = 0 if self.controls is None else self.controls.differences.size
        rng = np.random.default_rng(self.seed + 1)
        return draw_rows(cluster_codes(count, None), RESAMPLES, rng)

    @cached_property
    def _expected(self) -> Floats:
        """What the letters and frequency of the words explain, (resamples, pairs)."""
        if self.controls is None:
            return np.zeros((RESAMPLES, len(self.cases)))
        return self.controls.expected(self.cases, self._control_weights)

    @cached_property
    def _plain_expected(self) -> Floats:
        if self.controls is None:
            return np.zeros(len(self.cases))
        ones = np.ones((1, self.controls.differences.size))
        return np.asarray(self.controls.expected(self.cases, ones)[0])

    def _excess(
        self, controls: Controls, gap: Gap, weights: Floats, n_clusters: int, *, judged: bool
    ) -> Finding:
        """Each pair's distance minus the mean distance of its own nearest controls."""
        nearest = controls.nearest(self.cases)
        sizes, floor = np.abs(self.differences), np.abs(controls.differences)
        drawn = self._control_weights[:, nearest]  # (resamples, pairs, nearest)
        floors = (drawn * floor[nearest]).sum(axis=2) / np.maximum(drawn.sum(axis=2), 1)
        draws = (weights * (sizes - floors)).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        value = float((sizes - floor[nearest].mean(axis=1)).mean())
        clusters = min(n_clusters, floor.size)
        still = is_still(self.differences, self.scale)
        estimate = gap.estimate(value, draws, len(self.cases), still=still, clusters=clusters)
        return replace(self._finding("", "excess_bias", estimate, judged, sizes), versus="controls")

    def _families(self) -> Iterator[Finding]:
        """Groups and words of the attribute; sentences are resampled, the words being what they are."""
        members = {"group": _members(self.cases, "group", "anti_group"), "word": _words(self.cases)}
        rows = cluster_codes(len(self.cases), [case.meta.get("template", case.id) for case in self.cases])
        weights = draw_rows(rows, RESAMPLES, np.random.default_rng(self.seed))
        gap = self._gap(weights)
        adjusted = self.differences - self._expected
        columns = []
        for kind, sides in members.items():
            effects = _Sides(sides, self.differences - self._plain_expected, weights, adjusted)
            for name in effects.names:
                places = effects.rows(name)
                if len(places) >= FEWEST:
                    columns.append((kind, name, places, effects.value(name), effects.draws(name)))
        if not columns:
            return
        counts = [len(places) for _, _, places, _, _ in columns]
        estimates = gap.family(
            [value for *_, value, _ in columns], np.stack([draws for *_, draws in columns], axis=1), counts,
            still=[is_still(self.differences[places], self.scale) for _, _, places, _, _ in columns],
            clusters=counts,
        )  # fmt: skip
        for (kind, name, places, value, _), estimate in zip(columns, estimates, strict=True):
            sign, towards = 1.0 if value >= 0 else -1.0, np.zeros(len(self.cases))
            for place in places:
                own = 1.0 if members[kind][place][0] == name else -1.0
                towards[place] = sign * own * self.differences[place]
            yield self._finding(f"/{kind}/{name}", "group_effect", estimate, True, towards)

    def _finding(
        self, part: str, statistic: str, estimate: Estimate, judged: bool, by: Floats | None = None
    ) -> Finding:
        evidence = () if by is None else largest([case.id for case in self.cases], by)
        place = self.metric, self.attribute + part, statistic
        return Finding.of(*place, estimate, evidence=evidence, judged=judged)


Sides = Sequence[tuple[str, str]]


def _members(cases: Sequence[Case], first: str, second: str) -> Sides:
    """The names on the two sides of each pair, empty where the data has none."""
    names = [[str(case.meta.get(side) or "").lower() for case in cases] for side in (first, second)]
    return list(zip(*names, strict=True))


def _words(cases: Sequence[Case]) -> Sides:
    """The identity words on the two sides, by the data or else by what differs between the texts."""
    named = _members(cases, "identity", "anti_identity")
    differing = (changed_words(case) for case in cases)
    return [
        given if all(given) else (" ".join(first).lower(), " ".join(second).lower())
        for given, (first, second) in zip(named, differing, strict=True)
    ]


class _Sides:
    """Effects of the names that stand on either side of pairs, by least squares.

    A pair's difference is the effect of one name minus that of the other. The effect of a name is counted
    from the median of the other names that it is compared with, each weighing as many pairs as it has, so
    that a penalty on one name does not look like a favour to all others; of two names only the difference is
    known.
    """

    def __init__(self, sides: Sides, differences: Floats, weights: Floats, adjusted: Floats) -> None:
        self.names = sorted({name for pair in sides for name in pair if name and pair[0] != pair[1]})
        self._sides = sides
        place = {name: number for number, name in enumerate(self.names)}
        design = np.zeros((len(sides), len(self.names)))
        for row, (first, second) in enumerate(sides):
            if first != second and first in place and second in place:
                design[row, place[first]], design[row, place[second]] = 1.0, -1.0
        self._place, self._design = place, design
        self._mates = _components(self.names, sides)
        self._values = self._solve(np.ones((1, len(sides))), differences[None, :])
        self._draws = self._solve(weights, adjusted)

    def _solve(self, weights: Floats, differences: Floats) -> Floats:
        if not self.names:
            return np.zeros((len(weights), 0))
        design = self._design
        squares = np.einsum("bi,ij,ik->bjk", weights, design, design, optimize=True)
        squares += _RIDGE * max(1.0, float(weights.sum(axis=1).mean())) * np.eye(len(self.names))
        products = (weights * differences) @ design
        return np.asarray(np.linalg.solve(squares, products[:, :, None])[:, :, 0])

    def rows(self, name: str) -> list[int]:
        return [row for row, pair in enumerate(self._sides) if name in pair and pair[0] != pair[1]]

    def value(self, name: str) -> float:
        return float(self._centred(self._values, name)[0])

    def draws(self, name: str) -> Floats:
        return self._centred(self._draws, name)

    def _centred(self, effects: Floats, name: str) -> Floats:
        others = [self._place[mate] for mate in self._mates[name] if mate != name]
        weights = np.array([len(self.rows(self.names[place])) for place in others], dtype=np.float64)
        order = np.argsort(effects[:, others], axis=1, kind="stable")
        passed = np.cumsum(weights[order], axis=1) >= weights.sum() / 2
        middle = order[np.arange(len(effects)), passed.argmax(axis=1)]
        base = effects[:, others][np.arange(len(effects)), middle]
        return np.asarray(effects[:, self._place[name]] - base)


def _components(names: Sequence[str], sides: Sides) -> Mapping[str, list[str]]:
    """For each name, the names it is compared with, directly or by way of others; itself included."""
    component = {name: {name} for name in names}
    for first, second in sides:
        if first in component and second in component and component[first] is not component[second]:
            joined = component[first] | component[second]
            for name in joined:
                component[name] = joined
    return {name: sorted(members) for name, members in component.items()}
