"""Simulated metrics with a known unfairness, used to calibrate the audits of fairness and of judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from assay.audits.association import INNOCUOUS
from assay.audits.gap import CLEAN, WORTHLESS
from assay.audits.judge_bias.pairs import POSITION, QUALITY, REPEATS
from assay.calibration.simulated.base import (
    GAP,
    PERCENT,
    Draw,
    Simulated,
    World,
    first_slice,
    single,
    standardised,
)
from assay.core import Case, Floats, Grid, Scored
from assay.datasets.association import AssociationTest

_CONTROL = "control"
_RIGHT = 0.9  # share of captions that are ranked right
_PREFERENCE = 0.6  # net preference of a comparing judge for a right answer


def _pair_noise(world: World) -> Floats:
    """Differences within pairs: a part of their own and one shared by template.

    Identity words have no effect of their own: that is what the audit must find.
    """
    templates = [case.meta.get("template", case.id) for case in world.cases]
    parts = (world.normal(len(world.cases)), world.by_label(templates))
    return np.asarray(world.noise * np.sum(parts, axis=0) / sqrt(2))


def _pairs(world: World, differences: Floats) -> list[Scored]:
    level = world.levels()
    values = {"stereotype": level + differences / 2, "anti_stereotype": level - differences / 2}
    return [single(world.cases, values | {WORTHLESS: world.worthless(level)})]


def penalises_a_group(world: World, size: float) -> list[Scored]:
    """Texts of the first attribute that name its most frequent group lose `size`."""
    here = first_slice(world.cases, without=_CONTROL)
    sides = [
        [case.meta.get(name) if on else None for case, on in zip(world.cases, here, strict=True)]
        for name in ("group", "anti_group")
    ]
    named = [name for side in sides for name in side if name]
    group = max(dict.fromkeys(named), key=named.count)
    lost = [np.array([name == group for name in side], dtype=float) for side in sides]
    return _pairs(world, _pair_noise(world) + size * (lost[1] - lost[0]))


def prefers_stereotypes(world: World, size: float) -> list[Scored]:
    """Every pair of the first attribute is moved towards the stereotype."""
    return _pairs(world, _pair_noise(world) + size * first_slice(world.cases, without=_CONTROL))


def moved_by_identity(world: World, size: float) -> list[Scored]:
    """Identity words move a score further than other words do, to either side."""
    differences = _pair_noise(world)
    signs = np.where(differences < 0, -1.0, 1.0)
    return _pairs(world, differences + signs * size * first_slice(world.cases, without=_CONTROL))


def associates(world: World, size: float) -> list[Scored]:
    """The first test's targets lean to its attributes; words lean by chance, their sentences as they do."""
    grids: dict[str, Floats] = {}
    lean = size / sqrt(1 - (size / 2) ** 2) / 2  # d divides by the SD of both sets together
    for number, test in enumerate(_tests(world)):
        units = [(side, unit) for side in ("targ1", "targ2") for _, unit in getattr(test, side).items]
        sides = np.array([1.0 if side == "targ1" else -1.0 for side, _ in units])
        n_a, n_b = len(test.attr1.items), len(test.attr2.items)
        leaning = world.by_label(units) + (lean * sides if number == 0 else 0.0)
        contrast = np.concatenate([np.full(n_a, 0.5), np.full(n_b, -0.5)])
        cells = leaning[:, None] * contrast + world.noise * world.normal(len(units), n_a + n_b)
        grids |= {test.name: cells, f"{test.name}/reverse": cells.T}
    level = world.levels()
    answer = single(world.cases, {CLEAN: level, WORTHLESS: world.worthless(level)})
    return [replace(answer, grids=grids)]


def _tests(world: World) -> list[AssociationTest]:
    """The audit's tests, those without a verdict (flowers and insects) last, so that they get no defect."""
    tests: list[AssociationTest] = list(world.audit.tests)  # type: ignore[attr-defined]
    return sorted(tests, key=lambda test: test.label in INNOCUOUS)


def prefers_male(world: World, size: float) -> list[Scored]:
    """The male version scores this much higher."""
    cases, level = world.cases, world.levels()
    effect = size + world.noise * world.normal(len(cases))
    half = np.where([case.meta["preference"] == "female" for case in cases], -effect, effect) / 2
    values = {"original": level + half, "swapped": level - half, "neutral": level}
    return [single(cases, values | {WORTHLESS: world.worthless(level)})]


def loses_agreement(world: World, size: float) -> list[Scored]:
    """Swapped texts are scored with less regard for what people said."""
    cases = world.cases
    criterion = next(name for case in cases for name in case.meta["human"])
    human = standardised([case.meta["human"].get(criterion, np.nan) for case in cases])
    shared, apart = world.normal(len(cases)), world.normal(len(cases))
    after = 0.7 - size
    alike = sqrt(1 - world.noise**2) * shared + world.noise * apart
    values = {
        "original": 0.7 * human + sqrt(1 - 0.7**2) * shared,
        "swapped": after * human + sqrt(1 - after**2) * alike,
    }
    return [single(cases, values)]


def errs_on_one_group(world: World, size: float) -> list[Scored]:
    """Nine captions in ten are ranked right; of one group fewer, in the first category of concepts.

    Where captions have images, which are judged concept by concept, it is the first concept.
    """
    cases, first = world.cases, world.cases[0]
    part = "concept" if first.samples["good"].image else "category"
    worse = [c.meta[part] == first.meta[part] and c.meta["group"] != first.meta["group"] for c in cases]
    right = world.rng.random(len(cases)) < _RIGHT - size * np.array(worse)
    level = world.levels()
    half = np.where(right, 0.5, -0.5) * (1.0 + np.abs(world.noise * world.normal(len(cases))))
    return [single(cases, {"good": level + half, "bad": level - half, WORTHLESS: world.worthless(level)})]


def prefers_its_own(world: World, size: float) -> list[Scored]:
    """An evaluator raises the first system's scores; a neutral one does not."""
    cases = world.cases
    systems = [role for role in dict.fromkeys(r for case in cases for r in case.samples) if role != WORTHLESS]
    level = world.levels()
    tables = [
        {system: level + world.noise * world.normal(len(cases)) for system in systems}
        | {WORTHLESS: world.worthless(level)}
        for _ in range(2)
    ]
    tables[0][systems[0]] += size
    owner = single(cases, tables[0], backbone=systems[0])
    return [owner, single(cases, tables[1], "neutral")]


def has_ratings(items: Sequence[Case | Grid]) -> bool:
    """Whether people rated any text."""
    return any(isinstance(item, Case) and item.meta.get("human") for item in items)


def has_groups(items: Sequence[Case | Grid]) -> bool:
    """Whether the first attribute's pairs name their groups."""
    first = next(item for item in items if isinstance(item, Case))
    return bool(first.meta.get("group"))


def has_rows_of_one_caption(items: Sequence[Case | Grid]) -> bool:
    """Whether no row stands for several images; a text metric scores such a row only once."""
    return all(isinstance(item, Case) and item.meta.get("count", 1) == 1 for item in items)


def favours_the_first_position(world: World, size: float) -> list[Scored]:
    """A judge that compares: the answer shown first gains `size` percent of the preference for right ones."""
    cases, slices = world.cases, np.array([case.slice for case in world.cases])
    unit, half = _PREFERENCE / GAP, _PREFERENCE / 2
    leaning = np.where(world.rng.random(len(cases)) < 0.5, half, -half) * (slices == POSITION)
    leaning = np.where(slices == QUALITY, -half, leaning)
    pull = np.where(slices == POSITION, unit * size / 2, 0.0)
    noise = unit * world.noise / sqrt(2) * world.normal(2, len(cases))
    values = {"base": 0.5 + leaning + pull + noise[0], "changed": 0.5 - leaning + pull + noise[1]}
    return [single(cases, values | _repeated(world, 0.9, 0.01))]


def grades_what_must_not_matter(world: World, size: float) -> list[Scored]:
    """A judge that grades: the first bias raises a grade by `size` percent of right minus wrong answers."""
    cases, slices = world.cases, np.array([case.slice for case in world.cases])
    first = next(name for name in slices if name not in (POSITION, QUALITY, REPEATS))
    base = world.levels()
    effect = np.where(slices == first, size, 0.0) + world.noise * world.normal(len(cases))
    wrong = world.worthless(base)
    values = {"base": np.where(slices == QUALITY, wrong, base), "changed": base + effect, "alone": base}
    values["changed"] = np.where(slices == QUALITY, base, values["changed"])
    return [single(cases, values | _repeated(world, 0.0, 1.0))]


def _repeated(world: World, level: float, deviation: float) -> dict[str, np.ndarray]:
    roles = [role for case in world.cases if case.slice == REPEATS for role in case.samples]
    return {role: level + deviation * world.normal(len(world.cases)) for role in dict.fromkeys(roles)}


_EFFECTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)


def _unfair(
    audit: str, statistic: str, defect: str, draw: Draw, counted: str, stated: float = 4.0, **more: Any
) -> Simulated:
    """An effect of a group's name, of which 2% of the gap are harmless."""
    return Simulated(
        audit, defect, statistic, PERCENT, _EFFECTS, 2.0, stated, 3.0, f"{PERCENT} within a pair", draw,
        counted, **more,
    )  # fmt: skip


def _judge(defect: str, draw: Draw) -> Simulated:
    sizes = (0.0, 2.5, 5.0, 7.5, 10.0, 12.5, 15.0, 20.0, 30.0)
    return Simulated(
        "judge-bias", defect, "judge_effect", PERCENT, sizes, 10.0, 20.0, 10.0, PERCENT, draw, "items",
        noise_from_scores=False,
    )  # fmt: skip


SIMULATED = (
    _unfair(
        "stereotype", "group_effect", "penalises one group", penalises_a_group, "pairs", 6.0,
        needs=has_groups, missing="the pairs do not name their groups",
    ),
    _unfair("stereotype", "stereotype_effect", "prefers the stereotype", prefers_stereotypes, "pairs"),
    _unfair(
        "stereotype", "excess_bias", "is moved by identity words more than by others", moved_by_identity,
        "pairs",
    ),
    Simulated(
        "association", "associates one group with one kind of word", "effect_size", "standard deviations",
        (0.0, 0.25, 0.5, 0.75, 1.0, 1.2, 1.4, 1.6, 1.8, 1.95), 0.5, 1.8,
        0.3, "SD of the words' lean", associates, "tests", noise_from_scores=False,
    ),
    _unfair("swap", "gender_effect", "prefers the male version", prefers_male, "texts"),
    Simulated(
        "swap", "agrees less with people on swapped texts", "correlation_change", "Spearman's rho",
        (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7), 0.05, 0.4,
        0.3, "share of the error that swapping redraws", loses_agreement, "texts", needs=has_ratings,
        missing="no human scores in the data", noise_from_scores=False,
    ),
    Simulated(
        "caption", "errs more on one group", "caption_gap", "difference of accuracies",
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), 0.1, 0.4,
        0.3, PERCENT, errs_on_one_group, "captions", needs=has_rows_of_one_caption,
        missing="one row stands for many images, so that a text metric's answer does not vary",
        noise_from_scores=False,
    ),
    _unfair(
        "self-preference", "diagonal_advantage", "prefers what its own model wrote", prefers_its_own,
        "documents", 6.0,
    ),
    _judge("favours the first position", favours_the_first_position),
    _judge("grades what must not matter", grades_what_must_not_matter),
)  # fmt: skip
