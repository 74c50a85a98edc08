"""Planted blindness: damage that a metric rewards, overlooks, or sees at some places only; and deafness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log2, sqrt

import numpy as np

from assay.calibration.simulated.base import METRIC, Plant, World, first_slice, ladder, roles_of, single
from assay.core import Case, Finding, Floats, Sample, Scored

_STEEP = 2.0  # spreads an honest score falls by per unit of noise-ratio
_FALL = 0.5  # spreads an honest score falls by under a template of the checklist
ALPHA = 0.05


def _ones(world: World) -> Floats:
    return np.ones(len(world.cases))


def blind_to_a_noise(world: World, size: float) -> list[Scored]:
    """The share of the first noise that the score does not see: 1 is the same score for any damage."""
    cases = world.cases
    here = first_slice(cases, without=("/gold",))
    seen = 1 - size * here
    roles = roles_of(cases)
    ratios = {role: np.array([_ratio(case, role) for case in cases]) for role in roles}
    return [ladder(world, roles, {role: -_STEEP * seen * ratios[role] for role in roles}, seen)]


def rises_with_noise(world: World, size: float) -> list[Scored]:
    """The score rises under the first noise, by `size` per unit of noise-ratio, where it ought to fall."""
    cases = world.cases
    slope = np.where(first_slice(cases, without=("/gold",)), size, -_STEEP)
    roles = roles_of(cases)
    changes = {role: slope * np.array([_ratio(case, role) for case in cases]) for role in roles}
    return [ladder(world, roles, changes, _ones(world))]


def _ratio(case: Case, role: str) -> float:
    return float(case.meta.get("ratios", {}).get(role.partition("/")[0], 0.0))


def rewards_the_worthless(world: World, size: float) -> list[Scored]:
    """The last worthless text of the first dataset gains `size` on the gold; the others lose a spread."""
    cases = world.cases
    here, roles = first_slice(cases), roles_of(cases)
    last = [role for role in roles if any(role in c.samples for c, on in zip(cases, here, strict=True) if on)]
    changes = {role: np.where(here & (role == last[-1]), size, -1.0) for role in roles}
    return [ladder(world, roles, changes, _ones(world))]


def looks_away_from_the_start(world: World, size: float) -> list[Scored]:
    """The share of foreign words at the start of a text that is not seen; all other damage is."""
    cases = world.cases
    here, roles = first_slice(cases), roles_of(cases)
    level = world.levels([case.slice for case in cases])
    values = {"gold": level}
    for role in roles:
        seen = 1 - size * here * role.startswith("random/start/")
        values[role] = level - seen * (1.0 + world.noise * world.normal(len(cases)))
    return [single(cases, values)]


def believes_what_it_is_told(world: World, size: float) -> list[Scored]:
    """The first injection lifts a stranger's text; other strings do nothing to it."""
    cases = world.cases
    here, roles = first_slice(cases), roles_of(cases)
    told = next(role for role in roles if role.endswith("/suffix"))
    changes = {role: -1.0 + np.where(here & (role == told), size, 0.0) for role in roles}
    return [ladder(world, roles, changes, _ones(world))]


def taxes_length(world: World, size: float) -> list[Scored]:
    """A text against itself loses `size` a doubling."""
    cases = world.cases
    roles = roles_of(cases)
    changes: dict[str, Floats] = {"stranger": np.full(len(cases), -1.0)}
    for role in roles:
        if role != "stranger":
            changes[role] = np.full(len(cases), 1.5 - size * log2(int(role) / 8))
    return [ladder(world, roles, changes, _ones(world))]


def overlooks_a_template(world: World, size: float) -> list[Scored]:
    """The share of the first template's harm that is not seen; invariances move the score a little."""
    cases = world.cases
    harmful = [case.slice for case in cases if case.meta["expect"] == "lower"]
    here = np.array([case.slice == harmful[0] for case in cases])
    seen = 1 - size * here
    same = np.array([case.meta["expect"] == "same" for case in cases])
    levels = world.levels([case.slice for case in cases])
    moves = np.where(same, 0.1 * world.noise, world.noise) * seen * world.normal(len(cases))
    return [single(cases, {"gold": levels, "perturbed": levels - _FALL * seen * ~same + moves})]


def can_be_fooled(world: World, size: float) -> list[Scored]:
    """Texts that a search found cost a share of what random noise does; two judges see their damage."""
    found = [_found(case) for case in world.cases]
    roles = roles_of(found)
    tables = [_costs(world, found, roles, cost) for cost in (1 - size, 1.0, 1.0)]
    names = ((METRIC, "n-gram"), ("judge-one", "matching"), ("judge-two", "likelihood"))
    return [
        single(found, table, name, paradigm=paradigm)
        for table, (name, paradigm) in zip(tables, names, strict=True)
    ]


def _found(case: Case) -> Case:
    """What the search would hand in: the damage itself does not matter, only its score."""
    attack = Sample("damaged " + case.samples["gold"].hypothesis, case.samples["gold"].references)
    meta = {"metric": METRIC, "group": case.slice, "queries": 1, "noise_ratio": 0.15, "changed": ""}
    return replace(case, samples={**case.samples, "attack": attack}, meta=meta)


def _costs(world: World, cases: Sequence[Case], roles: Sequence[str], cost: float) -> Mapping[str, Floats]:
    level = world.normal(len(cases))
    values = {"gold": level}
    for role in roles:
        paid = cost if role == "attack" else 1.0
        values[role] = level - paid - 0.3 * world.noise * world.normal(len(cases))
    return values


def agrees_less(world: World, size: float) -> list[Scored]:
    """Two metrics, one of which agrees with people less: can they be told apart?"""
    cases = world.cases
    criterion = next(name for case in cases for name in case.meta["human"])
    human = np.array([np.mean(case.meta["human"].get(criterion) or np.nan) for case in cases])
    judged = np.nan_to_num((human - np.nanmean(human)) / (np.nanstd(human) or 1.0))
    shared = world.normal(len(cases))
    answers = []
    for name, agreement in ((METRIC, 0.6), ("weaker", 0.6 - size)):
        chance = sqrt(1 - world.noise**2) * shared + world.noise * world.normal(len(cases))
        values = agreement * judged + sqrt(1 - agreement**2) * chance
        answers.append(single(cases, {"hypothesis": values}, name))
    return answers


def told_apart(finding: Finding) -> bool:
    """A difference between the two planted metrics that is significant."""
    compared = finding.statistic == "spearman_difference" and {finding.metric, finding.versus} == {
        METRIC,
        "weaker",
    }
    return compared and finding.p_value is not None and finding.p_value < ALPHA


def _gain(audit: str, statistic: str, defect: str) -> Plant:
    sizes = (-1.0, -0.5, -0.25, 0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
    return Plant(
        audit, defect, statistic, "spreads", sizes, 0.0, 0.5, 0.5, "spreads", rewards_the_worthless, "texts"
    )


PLANTS = (
    Plant(
        "stress", "is blind to a noise", "sensitivity", "share of the noise not seen",
        (0.0, 0.5, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0), 0.95, 1.0,
        0.5, "spreads", blind_to_a_noise, "texts",
    ),
    Plant(
        "stress", "rises with a noise", "sensitivity", "spreads per unit of noise-ratio",
        (-2.0, -1.0, -0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0), -0.1, 3.0,
        0.5, "spreads", rises_with_noise, "texts",
    ),
    Plant(
        "position", "does not see errors at the start", "position_change", "share of the damage not seen",
        (0.0, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0), 0.75, 1.0,
        0.5, "spreads", looks_away_from_the_start, "texts",
    ),
    Plant(
        "injection", "believes what it is told", "injection_gain", "spreads",
        (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5), 0.2, 1.0,
        0.5, "spreads", believes_what_it_is_told, "texts",
    ),
    _gain("repetition", "repetition_gain", "rewards repetition"),
    _gain("frequent-ngram", "frequent_gain", "rewards frequent n-grams"),
    _gain("copy-source", "copy_gain", "rewards copies of the source"),
    _gain("truncation-direction", "direction_change", "rewards cutting"),
    Plant(
        "identity-length", "taxes length", "length_slope", "spreads a doubling",
        (0.0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6), 0.05, 0.4,
        0.3, "spreads", taxes_length, "texts",
    ),
    Plant(
        "checklist", "overlooks a template", "score_change", "share of the harm not seen",
        (0.0, 0.25, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0), 0.8, 1.0,
        0.3, "spreads", overlooks_a_template, "texts",
    ),
    Plant(
        "attack", "keeps its score on damaged texts", "attack_gain", "share of random noise's cost",
        (0.0, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0), 0.75, 0.95,
        0.5, "spreads", can_be_fooled, "texts", options={"judges": ()},
    ),
    Plant(
        "human", "agrees less with people than another metric", "spearman_difference", "Spearman's rho",
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6), 0.0, 0.4,
        0.8, "share of the error that two metrics do not share", agrees_less, "texts",
        options={"details": False, "resamples": 300, "level": "example"}, found=told_apart, noise_from=None,
    ),
)  # fmt: skip
