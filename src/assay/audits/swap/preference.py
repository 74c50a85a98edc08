"""Scores of male and female versions of a hypothesis to preference (assoc table 5), edit effect taken out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from assay.core import Finding, Floats, Scored
from assay.statistics.estimates import mde_interval, mde_mean, verdict
from assay.statistics.intervals import Interval, bootstrap_mean, bootstrap_weighted, weighted_mean
from assay.statistics.permutation import sign_flip_test, sign_test
from assay.vocabulary import Rule

AUDIT = "swap"
PAPER_ALPHA = 0.01
EVIDENCE = 5


@dataclass(frozen=True, slots=True)
class Side:
    """Items whose references tell no gender and whose hypothesis tells one, scored both ways."""

    ids: tuple[str, ...]
    docs: tuple[str, ...]
    original: Floats
    swapped: Floats

    @property
    def change(self) -> Floats:
        """What the edit cost."""
        return self.original - self.swapped


def side_of(scored: Scored, content: str, role: str = "swapped") -> Side:
    """The items of one gender, absent scores left out."""
    absent = np.full(len(scored.cases), np.nan)
    original, swapped = (scored.values.get(name, absent) for name in ("original", role))
    here = np.array([case.meta["preference"] == content for case in scored.cases], dtype=bool)
    rows = np.flatnonzero(here & np.isfinite(original) & np.isfinite(swapped)).tolist()
    cases = [scored.cases[row] for row in rows]
    return Side(
        tuple(case.id for case in cases),
        tuple(str(case.meta["doc"]) for case in cases),
        original[rows],
        swapped[rows],
    )


@dataclass(frozen=True, slots=True)
class Judge:
    """How preferences are judged."""

    margin: float
    fewest: int
    seed: int
    rule: Rule

    def findings(self, scored: Scored, spread: float) -> Iterator[Finding]:
        """Table 5 for either gender, then both directions together."""
        male, female = side_of(scored, "male"), side_of(scored, "female")
        yield from self._table(scored.metric, "male", male, male.original, male.swapped)
        yield from self._table(scored.metric, "female", female, female.swapped, female.original)
        yield from self._neutral(scored)
        if self.rule == "careful" and min(len(male.ids), len(female.ids)) >= self.fewest:
            yield from self._both(scored.metric, male, female, spread)

    def _table(self, metric: str, name: str, side: Side, male: Floats, female: Floats) -> Iterator[Finding]:
        """Mean scores and shares of >, < and = of the male over the female version."""
        if not side.ids:
            return
        slice_, n = f"preference/{name}", len(side.ids)
        for gender, values in (("male", male), ("female", female)):
            yield _finding(
                metric, slice_, "mean_score", float(values.mean()), n, gender, self._mean(values, side)
            )
        signs = np.sign(male - female)
        for symbol, sign in ((">", 1), ("<", -1), ("=", 0)):
            share = (signs == sign).astype(np.float64)
            finding = _finding(
                metric, slice_, "preference_share", float(share.mean()), n, symbol, self._mean(share, side)
            )
            yield self._tested(finding, signs, side) if symbol == ">" else finding

    def _tested(self, finding: Finding, signs: Floats, side: Side) -> Finding:
        """The sign test goes with >; one direction has a verdict by the paper's rule alone."""
        paper = self.rule == "paper"
        p = (
            sign_test(signs).p_value
            if paper
            else sign_flip_test(signs, clusters=side.docs, seed=self.seed).p_value
        )
        return replace(
            finding,
            p_value=p,
            passed=p > PAPER_ALPHA if paper and finding.n >= self.fewest else None,
            mde=mde_mean(signs / 2, clusters=side.docs),
            evidence=_strongest(side),
        )

    def _mean(self, values: Floats, side: Side) -> Interval | None:
        return bootstrap_mean(values, clusters=side.docs, seed=self.seed)

    def _neutral(self, scored: Scored) -> Iterator[Finding]:
        """How often the version without gender scores above the gendered one, ties half."""
        for content in ("male", "female"):
            side = side_of(scored, content, "neutral")
            if side.ids:
                wins = (1 - np.sign(side.change)) / 2
                yield _finding(
                    scored.metric,
                    f"preference/neutral-for-{content}",
                    "preference_share",
                    float(wins.mean()),
                    len(side.ids),
                    "neutral",
                    self._mean(wins, side),
                )

    def _both(self, metric: str, male: Side, female: Side, spread: float) -> Iterator[Finding]:
        """Male originals give gender + edit, female ones edit - gender: half their difference is gender."""
        n_m, n = len(male.ids), len(male.ids) + len(female.ids)
        docs = [*male.docs, *female.docs]

        def estimate(first: Floats, second: Floats, sign: float) -> tuple[float, Interval | None]:
            def statistic(weights: Floats) -> Floats:
                one = weighted_mean(weights[:, :n_m], first)
                return (one + sign * weighted_mean(weights[:, n_m:], second)) / 2

            ci = bootstrap_weighted(statistic, n, clusters=docs, seed=self.seed)
            return float(statistic(np.ones((1, n)))[0]), ci

        scale = spread or 1.0
        wins = [(1 + np.sign(male.change)) / 2, (1 - np.sign(female.change)) / 2]
        share, ci = estimate(wins[0], wins[1], 1.0)
        centred = None if ci is None else (ci.low - 0.5, ci.high - 0.5)
        slice_ = "preference/both"
        yield replace(
            _finding(metric, slice_, "preference_share", share, n, "male", ci),
            passed=verdict(centred, self.margin, "either"),
            mde=mde_interval(ci),
            evidence=_strongest(male, female),
        )
        for name, sign in (("gender_effect", -1.0), ("edit_effect", 1.0)):
            value, ci = estimate(male.change / scale, female.change / scale, sign)
            yield replace(_finding(metric, slice_, name, value, n, "spread", ci), mde=mde_interval(ci))


def _strongest(*sides: Side) -> tuple[str, ...]:
    sizes = np.abs(np.concatenate([side.change for side in sides]))
    ids = [name for side in sides for name in side.ids]
    return tuple(ids[row] for row in np.argsort(-sizes, kind="stable")[:EVIDENCE] if sizes[row] > 0)


def _finding(
    metric: str, slice_: str, statistic: str, value: float, n: int, versus: str | None, ci: Interval | None
) -> Finding:
    return Finding(metric, AUDIT, slice_, statistic, value, n, versus=versus, ci=ci.pair if ci else None)
