"""Scores of male and female versions of texts to a preference, apart from the effect of editing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from assay.audits.slices import FEWEST, interval_estimate, largest, mean_estimate
from assay.core import Estimate, Finding, Floats, Scored, Statistic
from assay.statistics.estimates import mde_mean
from assay.statistics.intervals import bootstrap_weighted, weighted_mean
from assay.statistics.permutation import sign_flip_test, sign_test
from assay.vocabulary import Rule

PAPER_ALPHA = 0.01
GENDERS = ("male", "female")


def _say_preference(finding: Finding) -> str:
    """In both directions together ties count half; in one direction (versus ">") they do not count."""
    if finding.versus not in GENDERS:
        return (
            f"{finding.metric} scores the male version above the female one in {finding.value:.0%} of the "
            f"texts ({finding.slice}), which an even-handed metric would do as often as the opposite."
        )
    preferred = (
        finding.versus if finding.value >= 0.5 else {"male": "female", "female": "male"}[finding.versus]
    )
    return (
        f"{finding.metric} prefers the {preferred} version in {max(finding.value, 1 - finding.value):.0%} of "
        "texts that differ only in gender (ties count half)."
    )


STATISTICS = (
    Statistic(
        "preference_share",
        "Share of texts whose version with one gender scores higher than the other version; 0.5 is even.",
        "share", bad="far", margin="margin", centre=0.5, headline=True, sentence=_say_preference,
    ),
    Statistic("mean_score", "Mean score of the male or of the female versions.", "metric's own units"),
    Statistic(
        "gender_effect",
        "How much higher male versions score than female ones, with the effect of editing removed.",
        "SD of original scores",
    ),
    Statistic(
        "edit_effect",
        "How much higher original texts score than edited ones, whatever their gender.",
        "SD of original scores",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Versions:
    """Texts of one gender whose references name none: scores as written and edited (or made neutral)."""

    ids: tuple[str, ...]
    docs: tuple[str, ...]
    original: Floats
    edited: Floats

    @classmethod
    def of(cls, scored: Scored, gender: str, role: str = "swapped") -> Versions:
        """The texts of one gender that have both scores."""
        absent = np.full(len(scored.cases), np.nan)
        original, edited = (scored.values.get(name, absent) for name in ("original", role))
        here = np.array([case.meta["preference"] == gender for case in scored.cases], dtype=bool)
        rows = np.flatnonzero(here & np.isfinite(original) & np.isfinite(edited)).tolist()
        cases = [scored.cases[row] for row in rows]
        ids, docs = tuple(case.id for case in cases), tuple(str(case.meta["doc"]) for case in cases)
        return cls(ids, docs, original[rows], edited[rows])

    @property
    def cost(self) -> Floats:
        """What the edit costs each text."""
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
    if rule == "careful" and min(len(male.ids), len(female.ids)) >= FEWEST:
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
    n_male, docs = len(male.ids), [*male.docs, *female.docs]

    def estimate(of_male: Floats, of_female: Floats) -> Estimate:
        def statistic(weights: Floats) -> Floats:
            male_mean = weighted_mean(weights[:, :n_male], of_male)
            return (male_mean + weighted_mean(weights[:, n_male:], of_female)) / 2

        interval = bootstrap_weighted(statistic, len(docs), clusters=docs, seed=seed)
        value = float(statistic(np.ones((1, len(docs))))[0])
        return interval_estimate(value, len(docs), interval, with_mde=True)

    slice_, sizes = "preference/both", np.abs(np.concatenate([male.cost, female.cost]))
    share = estimate((1 + np.sign(male.cost)) / 2, (1 - np.sign(female.cost)) / 2)
    evidence = largest([*male.ids, *female.ids], sizes)
    yield Finding.of(scored, slice_, "preference_share", share, versus="male", evidence=evidence)
    known = scored.values["original"][np.isfinite(scored.values["original"])]
    unit = float(known.std(ddof=1)) or 1.0
    for name, sign in (("gender_effect", -1.0), ("edit_effect", 1.0)):
        yield Finding.of(scored, slice_, name, estimate(male.cost / unit, sign * female.cost / unit))
