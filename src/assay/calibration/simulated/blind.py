"""Simulated metrics with a known insensitivity, used to calibrate the audits of robustness and agreement."""

from __future__ import annotations

from dataclasses import replace
from math import log2, sqrt

import numpy as np

from assay.calibration.simulated.base import (
    METRIC,
    PERCENT,
    Draw,
    Simulated,
    World,
    changed,
    first_slice,
    roles_of,
    single,
    standardised,
)
from assay.core import Case, Finding, Floats, Sample, Scored

_FALL = 10.0  # percent of the gap by which an honest score falls under damage
_UNRELATED = 90.0  # percent of the gap that an unrelated text costs
_OTHER = "weaker"  # the metric that agrees less with people
ALPHA = 0.05


def overlooks_a_noise(world: World, size: float) -> list[Scored]:
    """The strongest level of the first noise moves the score by `size`, weaker ones in proportion."""
    depth = np.where(first_slice(world.cases, without="/gold"), size, -_FALL)
    return changed(world, {role: depth * share for role, share in _levels(world).items()})


def rises_between_levels(world: World, size: float) -> list[Scored]:
    """The score falls under the first noise, but rises by `size` from its last level but one to the last."""
    here = first_slice(world.cases, without="/gold")
    changes = {}
    for role, share in _levels(world).items():
        last = here & (share == 1.0)
        changes[role] = np.where(last, size, 0.0) - _FALL * np.where(last, _before_last(world, here), share)
    return changed(world, changes)


def _levels(world: World) -> dict[str, Floats]:
    """For every role and case, how strong its level is: 1 for the last level of the case's noise."""
    shares = {role: np.zeros(len(world.cases)) for role in roles_of(world.cases)}
    for place, case in enumerate(world.cases):
        levels = list(case.meta.get("ratios", {}))
        for role in case.samples.keys() & shares:
            shares[role][place] = (levels.index(role.partition("/")[0]) + 1) / len(levels)
    return shares


def _before_last(world: World, here: np.ndarray) -> float:
    """How strong the last level but one of the first noise is."""
    levels = len(next(case for case, on in zip(world.cases, here, strict=True) if on).meta["ratios"])
    return (levels - 1) / levels


def rewards_degenerate_text(world: World, size: float) -> list[Scored]:
    """The last degenerate text of the first dataset gains `size` over the clean one; others lose."""
    cases = world.cases
    here, roles = first_slice(cases), roles_of(cases)
    last = [role for role in roles if any(role in c.samples for c, on in zip(cases, here, strict=True) if on)]
    return changed(world, {role: np.where(here & (role == last[-1]), size, -_FALL) for role in roles})


def overlooks_errors_at_the_start(world: World, size: float) -> list[Scored]:
    """Foreign words at the start of a text move the score by `size`; all other damage is noticed."""
    here, roles = first_slice(world.cases), roles_of(world.cases)
    return changed(
        world, {role: np.where(here & role.startswith("random/start/"), size, -_FALL) for role in roles}
    )


def trusts_an_injection(world: World, size: float) -> list[Scored]:
    """The first injection raises the score of an unrelated text by `size`; other strings do nothing to it."""
    here, roles = first_slice(world.cases), roles_of(world.cases)
    injected = next(role for role in roles if role.endswith("/suffix"))
    return changed(
        world, {role: np.where(here & (role == injected), size, 0.0) - _UNRELATED for role in roles}
    )


def penalises_length(world: World, size: float) -> list[Scored]:
    """A text against itself loses `size` per doubling of its length."""
    return changed(world, {role: _FALL - size * log2(int(role) / 8) for role in roles_of(world.cases)})


def overlooks_a_template(world: World, size: float) -> list[Scored]:
    """The first harmful template moves the score by `size`."""
    return _checklist(world, "lower", size)


def minds_a_harmless_edit(world: World, size: float) -> list[Scored]:
    """The first template that changes nothing that matters moves the score by `size`."""
    return _checklist(world, "same", size)


def _checklist(world: World, expect: str, size: float) -> list[Scored]:
    cases = world.cases
    honest = np.where([case.meta["expect"] == "same" for case in cases], 0.0, -_FALL)
    first = next(case.slice for case in cases if case.meta["expect"] == expect)
    return changed(world, {"perturbed": np.where([case.slice == first for case in cases], size, honest)})


def can_be_fooled(world: World, size: float) -> list[Scored]:
    """Texts that a search found cost a share of what random noise does; two judges notice their damage."""
    cases = [_attacked(case) for case in world.cases]
    answers = []
    judges = (METRIC, "n-gram", 1 - size), ("judge-one", "matching", 1.0), ("judge-two", "likelihood", 1.0)
    for name, paradigm, cost in judges:
        level = world.normal(len(cases))
        values = {"gold": level}
        for role in roles_of(cases):
            paid = cost if role == "attack" else 1.0
            values[role] = level - paid - world.noise * world.normal(len(cases))
        answers.append(single(cases, values, name, paradigm=paradigm))
    return answers


def _attacked(case: Case) -> Case:
    """What the search would hand in: the damage itself does not matter, only its score."""
    attack = Sample("damaged " + case.samples["gold"].hypothesis, case.samples["gold"].references)
    meta = {"metric": METRIC, "group": case.slice, "queries": 1, "noise_ratio": 0.15, "changed": ""}
    return replace(case, samples={**case.samples, "attack": attack}, meta=meta)


def agrees_less(world: World, size: float) -> list[Scored]:
    """Two metrics, one of which agrees with people less: can they be told apart?"""
    cases = world.cases
    criterion = next(name for case in cases for name in case.meta["human"])
    human = standardised([float(np.mean(case.meta["human"].get(criterion) or np.nan)) for case in cases])
    shared = world.normal(len(cases))
    answers = []
    for name, agreement in ((METRIC, 0.6), (_OTHER, 0.6 - size)):
        chance = sqrt(1 - world.noise**2) * shared + world.noise * world.normal(len(cases))
        values = agreement * human + sqrt(1 - agreement**2) * chance
        answers.append(single(cases, {"hypothesis": values}, name))
    return answers


def told_apart(finding: Finding) -> bool:
    """Whether the difference between the two simulated metrics is significant."""
    if finding.statistic != "spearman_difference" or {finding.metric, finding.versus} != {METRIC, _OTHER}:
        return False
    return finding.p_value is not None and finding.p_value < ALPHA


_GAINED = f"{PERCENT} gained"  # an honest metric gains less than 0
_GAINS = (-20.0, -10.0, -5.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0)


def _unnoticed(audit: str, statistic: str, defect: str, draw: Draw) -> Simulated:
    """Damage that must cost 1% of the gap, and costs less or gains."""
    return Simulated(audit, defect, statistic, _GAINED, _GAINS, -1.0, 1.0, 3.0, PERCENT, draw, "texts")


SIMULATED = (
    _unnoticed("stress", "sensitivity", "overlooks a noise", overlooks_a_noise),
    Simulated(
        "stress", "rises from one level of a noise to the next", "largest_rise", PERCENT,
        (-10.0, -5.0, -2.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0), 1.0, 4.0,
        3.0, PERCENT, rises_between_levels, "texts",
    ),
    _unnoticed("position", "position_change", "overlooks errors at the start", overlooks_errors_at_the_start),
    Simulated(
        "injection", "trusts an injection", "injection_gain", PERCENT,
        (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0), 2.0, 5.0,
        3.0, PERCENT, trusts_an_injection, "texts",
    ),
    _unnoticed("repetition", "repetition_gain", "rewards repetition", rewards_degenerate_text),
    _unnoticed("frequent-ngram", "frequent_gain", "rewards frequent n-grams", rewards_degenerate_text),
    _unnoticed("copy-source", "copy_gain", "rewards copies of the source", rewards_degenerate_text),
    _unnoticed("truncation-direction", "direction_change", "rewards cutting", rewards_degenerate_text),
    Simulated(
        "identity-length", "penalises length", "length_slope", f"{PERCENT} per doubling",
        (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0), 1.0, 2.0,
        3.0, PERCENT, penalises_length, "texts",
    ),
    _unnoticed("checklist", "score_change", "overlooks a template", overlooks_a_template),
    Simulated(
        "checklist", "minds a harmless edit", "score_change", PERCENT,
        (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0), 5.0, 10.0,
        3.0, PERCENT, minds_a_harmless_edit, "texts",
    ),
    Simulated(
        "attack", "keeps its score on damaged texts", "attack_gain", "share of random noise's cost",
        (0.0, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0), 0.75, 0.95,
        0.15, "of random noise's cost", can_be_fooled, "texts", options={"judges": ()},
        noise_from_scores=False,
    ),
    Simulated(
        "human", "agrees less with people than another metric", "spearman_difference", "Spearman's rho",
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6), 0.0, 0.4,
        0.8, "share of the error that two metrics do not share", agrees_less, "texts",
        options={"details": False, "resamples": 300, "level": "example"}, found=told_apart,
        noise_from_scores=False,
    ),
)  # fmt: skip
