"""Simulated metrics with a known insensitivity, used to calibrate the audits of robustness and agreement."""

from __future__ import annotations

from dataclasses import replace
from math import log2, sqrt

import numpy as np

from assay.calibration.simulated.base import (
    METRIC,
    Simulated,
    World,
    changed,
    first_slice,
    roles_of,
    single,
    standardised,
)
from assay.core import Case, Finding, Floats, Sample, Scored

_STEEP = 2.0  # SDs by which an honest score falls per unit of noise-ratio
_FALL = 0.5  # SDs by which an honest score falls under a template of the checklist
_OTHER = "weaker"  # the metric that agrees less with people
ALPHA = 0.05


def blind_to_a_noise(world: World, size: float) -> list[Scored]:
    """Not noticing this share of the first noise: 1 is the same score for any damage."""
    noticed = 1 - size * first_slice(world.cases, without="/gold")
    changes = {role: -_STEEP * noticed * ratios for role, ratios in _ratios(world).items()}
    return changed(world, changes, noticed)


def rises_with_noise(world: World, size: float) -> list[Scored]:
    """The score rises under the first noise, by `size` per unit of noise-ratio, where it ought to fall."""
    slope = np.where(first_slice(world.cases, without="/gold"), size, -_STEEP)
    return changed(world, {role: slope * ratios for role, ratios in _ratios(world).items()})


def _ratios(world: World) -> dict[str, Floats]:
    """The noise-ratio of every role, one per case."""
    return {
        role: np.array([case.meta.get("ratios", {}).get(role.partition("/")[0], 0.0) for case in world.cases])
        for role in roles_of(world.cases)
    }


def rewards_degenerate_text(world: World, size: float) -> list[Scored]:
    """The last degenerate text of the first dataset gains `size` over the clean one; others lose 1 SD."""
    cases = world.cases
    here, roles = first_slice(cases), roles_of(cases)
    last = [role for role in roles if any(role in c.samples for c, on in zip(cases, here, strict=True) if on)]
    return changed(world, {role: np.where(here & (role == last[-1]), size, -1.0) for role in roles})


def ignores_errors_at_the_start(world: World, size: float) -> list[Scored]:
    """Not noticing this share of foreign words at the start of a text; all other damage is noticed."""
    here, level = first_slice(world.cases), world.levels()
    values = {"gold": level}
    for role in roles_of(world.cases):
        noticed = 1 - size * here * role.startswith("random/start/")
        values[role] = level - noticed * (1.0 + world.noise * world.normal(len(level)))
    return [single(world.cases, values)]


def trusts_an_injection(world: World, size: float) -> list[Scored]:
    """The first injection raises the score of an unrelated text; other strings do nothing to it."""
    here, roles = first_slice(world.cases), roles_of(world.cases)
    injected = next(role for role in roles if role.endswith("/suffix"))
    return changed(world, {role: -1.0 + np.where(here & (role == injected), size, 0.0) for role in roles})


def penalises_length(world: World, size: float) -> list[Scored]:
    """A text against itself loses `size` per doubling of its length."""
    changes = {
        role: np.asarray(-1.0 if role == "stranger" else 1.5 - size * log2(int(role) / 8))
        for role in roles_of(world.cases)
    }
    return changed(world, changes)


def overlooks_a_template(world: World, size: float) -> list[Scored]:
    """Not noticing this share of the first template's harm; invariances move the score a little."""
    cases, level = world.cases, world.levels()
    same = np.array([case.meta["expect"] == "same" for case in cases])
    harmful = [case.slice for case in cases if case.meta["expect"] == "lower"]
    noticed = 1 - size * np.array([case.slice == harmful[0] for case in cases])
    noise = np.where(same, 0.1 * world.noise, world.noise) * noticed * world.normal(len(cases))
    return [single(cases, {"gold": level, "perturbed": level - _FALL * noticed * ~same + noise})]


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
            values[role] = level - paid - 0.3 * world.noise * world.normal(len(cases))
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


def _gain(audit: str, statistic: str, defect: str) -> Simulated:
    sizes = (-1.0, -0.5, -0.25, 0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
    return Simulated(
        audit, defect, statistic, "SD", sizes, 0.0, 0.5, 0.5, "SD", rewards_degenerate_text, "texts"
    )


SIMULATED = (
    Simulated(
        "stress", "is blind to a noise", "sensitivity", "share of the noise not noticed",
        (0.0, 0.5, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0), 0.95, 1.0,
        0.5, "SD", blind_to_a_noise, "texts",
    ),
    Simulated(
        "stress", "rises with a noise", "sensitivity", "SD per unit of noise-ratio",
        (-2.0, -1.0, -0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0), -0.1, 3.0,
        0.5, "SD", rises_with_noise, "texts",
    ),
    Simulated(
        "position", "ignores errors at the start", "position_change", "share of the damage not noticed",
        (0.0, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0), 0.75, 1.0,
        0.5, "SD", ignores_errors_at_the_start, "texts",
    ),
    Simulated(
        "injection", "trusts an injection", "injection_gain", "SD",
        (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5), 0.2, 1.0,
        0.5, "SD", trusts_an_injection, "texts",
    ),
    _gain("repetition", "repetition_gain", "rewards repetition"),
    _gain("frequent-ngram", "frequent_gain", "rewards frequent n-grams"),
    _gain("copy-source", "copy_gain", "rewards copies of the source"),
    _gain("truncation-direction", "direction_change", "rewards cutting"),
    Simulated(
        "identity-length", "penalises length", "length_slope", "SD per doubling",
        (0.0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6), 0.05, 0.4,
        0.3, "SD", penalises_length, "texts",
    ),
    Simulated(
        "checklist", "overlooks a template", "score_change", "share of the harm not noticed",
        (0.0, 0.25, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0), 0.8, 1.0,
        0.3, "SD", overlooks_a_template, "texts",
    ),
    Simulated(
        "attack", "keeps its score on damaged texts", "attack_gain", "share of random noise's cost",
        (0.0, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0), 0.75, 0.95,
        0.5, "SD", can_be_fooled, "texts", options={"judges": ()},
    ),
    Simulated(
        "human", "agrees less with people than another metric", "spearman_difference", "Spearman's rho",
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6), 0.0, 0.4,
        0.8, "share of the error that two metrics do not share", agrees_less, "texts",
        options={"details": False, "resamples": 300, "level": "example"}, found=told_apart, noise_from=None,
    ),
)  # fmt: skip
