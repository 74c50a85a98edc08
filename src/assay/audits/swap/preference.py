"""Scores of male and female versions of texts to a preference, apart from the effect of editing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from assay.audits.gap import UNIT, WORTHLESS, on_effect_scale, outlying, paired_effects, scale_of
from assay.audits.slices import FEWEST, interval_estimate, largest, mean_estimate
from assay.core import Finding, Floats, Scored, Statistic
from assay.statistics.estimates import mde_mean
from assay.statistics.intervals import bootstrap_weighted, weighted_mean
from assay.statistics.permutation import sign_flip_test, sign_test
from assay.vocabulary import Rule

_SCORES = ("original", "edited", "worthless")
PAPER_ALPHA = 0.01
GENDERS = ("male", "female")


def _say_effect(finding: Finding) -> str:
    preferred, other = ("male", "female") if finding.value > 0 else ("female", "male")
    return (
        f"{finding.metric} scores the {preferred} version of a text {abs(finding.value):.3g}{UNIT} above the "
        f"{other} one."
    )


def _say_share(finding: Finding) -> str:
    return (
        f"{finding.metric} scores the male version above the female one in {finding.value:.0%} of the "
        f"texts ({finding.slice}), which an even-handed metric would do as often as the opposite."
    )


STATISTICS = (
    Statistic(
        "gender_effect",
        "How much higher male versions score than female ones, with the effect of editing removed.",
        UNIT, bad="far", margin="margin", headline=True, sentence=_say_effect,
    ),
    Statistic(
        "preference_share",
        "Share of texts whose version with one gender scores higher than the other version; 0.5 is even. It "
        "counts differences of any size, so the verdict is on gender_effect, except by the paper's rule.",
        "share", bad="far", margin=0.1, centre=0.5, sentence=_say_share,
    ),
    Statistic("mean_score", "Mean score of the male or of the female versions.", "metric's own units"),
    Statistic(
        "edit_effect",
        "How much higher original texts score than edited ones, whatever their gender.", UNIT,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Versions:
    """Texts of one gender whose references name none: scores as written and edited (or made neutral)."""

    ids: tuple[str, ...]
    docs: tuple[str, ...]
    original: Floats
    edited: Floats
    worthless: Floats  # nan where a text has none

    @classmethod
    def of(cls, scored: Scored, gender: str, role: str = "swapped") -> Versions:
        """The texts of one gender that have both scores."""
        absent = np.full(len(scored.cases), np.nan)
        original, edited, worthless = (
            scored.values.get(name, absent) for name in ("original", role, WORTHLESS)
        )
        here = np.array([case.meta["preference"] == gender for case in scored.cases], dtype=bool)
        rows = np.flatnonzero(here & np.isfinite(original) & np.isfinite(edited)).tolist()
        cases = [scored.cases[row] for row in rows]
        ids, docs = tuple(case.id for case in cases), tuple(str(case.meta["doc"]) for case in cases)
        return cls(ids, docs, original[rows], edited[rows], worthless[rows])

    @property
    def cost(self) -> Floats:
        return self.original - self.edited


def preference_findings(scored: Scored, *, rule: Rule, seed: int) -> Iterator[Finding]:
    """Table 5 for texts of either gender, neutral versions, then both directions together."""
    male, female = (Versions.of(scored, gender) for gender in GENDERS)
    yield from _one_direction(scored, "male", male, male.original, male.edited, rule, seed)
    yield from _one_direction(scored, "female", female, female.edited, female.original, rule, seed)
    for gender in GENDERS:
        neutral = Versions.of(scored, gender, "neutral")
        if neutral.ids:
            wins = mean_estimate((1 - np.sign(neutral.cost)) / 2, clusters=neutral.docs, seed=seed)
            slice_ = f"preference/neutral-for-{gender}"
            yield Finding.of(scored, slice_, "preference_share", wins, versus="neutral", judged=False)
    if rule == "careful" and male.ids and female.ids:
        yield from _both_directions(scored, male, female, seed)


def _one_direction(
    scored: Scored, gender: str, texts: Versions, male: Floats, female: Floats, rule: Rule, seed: int
) -> Iterator[Finding]:
    """Mean scores, and shares in which the male version scores above, below or like the female one.

    Only the paper's rule gives one direction a verdict (by a sign test): it confounds gender with editing.
    """
    if not texts.ids:
        return
    slice_, docs = f"preference/{gender}", texts.docs
    for version, scores in zip(GENDERS, (male, female), strict=True):
        estimate = mean_estimate(scores, clusters=docs, seed=seed)
        yield Finding.of(scored, slice_, "mean_score", estimate, versus=version)
    signs = np.sign(male - female)
    above, below, equal = (
        mean_estimate((signs == sign).astype(np.float64), clusters=docs, seed=seed) for sign in (1, -1, 0)
    )
    paper = rule == "paper"
    tested = sign_test(signs) if paper else sign_flip_test(signs, clusters=docs, seed=seed)
    p_value, mde = tested.p_value, mde_mean(signs / 2, clusters=docs)
    yield Finding.of(
        scored, slice_, "preference_share",
        replace(above, p_value=p_value, mde=mde, paper=p_value > PAPER_ALPHA), versus=">",
        evidence=largest(texts.ids, np.abs(texts.cost)), judged=paper and above.n >= FEWEST,
    )  # fmt: skip
    for symbol, estimate in (("<", below), ("=", equal)):
        yield Finding.of(scored, slice_, "preference_share", estimate, versus=symbol, judged=False)


def _both_directions(scored: Scored, male: Versions, female: Versions, seed: int) -> Iterator[Finding]:
    """Separate the effect of gender from that of editing.

    Editing a male text costs gender + edit, editing a female one edit - gender: half the difference is the
    effect of gender, half the sum that of editing.
    """
    both = [np.concatenate([getattr(male, name), getattr(female, name)]) for name in _SCORES]
    columns = [on_effect_scale(scored, scores) for scores in both]
    far = outlying(columns, np.concatenate([columns[0], columns[2]]))
    far |= ~(np.isfinite(columns[0]) & np.isfinite(columns[1]))  # a score that has no logarithm
    original, edited, worthless = (column[~far] for column in columns)
    docs = [doc for doc, off in zip((*male.docs, *female.docs), far, strict=True) if not off]
    ids = [name for name, off in zip((*male.ids, *female.ids), far, strict=True) if not off]
    is_male = (np.arange(far.size) < len(male.ids))[~far]
    judged = min(int(is_male.sum()), int((~is_male).sum())) >= FEWEST and bool(np.isfinite(worthless).any())
    cost = original - edited
    # Columns are the costs of male and of female texts; the effects are half their difference and sum.
    effects = {"gender_effect": np.where(is_male, cost, -cost), "edit_effect": cost}
    slice_ = "preference/both"
    # Both halves weigh the same, however many items each has.
    male_share = is_male.mean()
    halves = np.where(is_male, 0.5 / max(male_share, 1e-9), 0.5 / max(1 - male_share, 1e-9))
    scale = scale_of(original)
    for name, values in effects.items():
        effect, gaps = (values * halves)[:, None], original - worthless
        _, (estimate,) = paired_effects(effect, gaps, clusters=docs, seed=seed, scale=scale)
        evidence = largest(ids, values * (1.0 if estimate.value >= 0 else -1.0))
        is_judged = judged and name == "gender_effect"
        yield Finding.of(scored, slice_, name, estimate, evidence=evidence, judged=is_judged)
    signs = np.sign(cost) * (np.abs(cost) > 1e-9 * scale)
    wins = np.where(is_male, 1 + signs, 1 - signs) / 2
    weights = np.where(is_male, 1 / max(1, is_male.sum()), 1 / max(1, (~is_male).sum()))

    def share(drawn: Floats) -> Floats:
        return weighted_mean(drawn * weights, wins)

    interval = bootstrap_weighted(share, wins.size, clusters=docs, seed=seed)
    estimate = interval_estimate(float(share(np.ones((1, wins.size)))[0]), wins.size, interval)
    yield Finding.of(scored, slice_, "preference_share", estimate, versus="male", judged=False)
