"""Simulated metrics with a known unfairness, used to calibrate the audits of fairness and of judges."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from assay.audits.association import INNOCUOUS
from assay.audits.judge_bias.pairs import POSITION, QUALITY, REPEATS
from assay.calibration.simulated.base import METRIC, Simulated, World, first_slice, single, standardised
from assay.core import Case, Floats, Grid, Scored
from assay.datasets.association import AssociationTest

_CONTROL = "control"


def _levels(world: World) -> Floats:
    """Levels from 0 to 1, so that a hundredth is one point on the scale of Eq. 1."""
    return world.rng.permutation(np.linspace(0.0, 1.0, len(world.cases)))


def _word_noise(world: World) -> Floats:
    """Differences within pairs: a part of their own, one shared by template, one shared by identity words."""
    templates = [case.meta.get("template", case.id) for case in world.cases]
    words = [(case.meta.get("identity", case.id), case.meta.get("anti_identity")) for case in world.cases]
    parts = (world.normal(len(world.cases)), world.by_label(templates), world.by_label(words))
    return np.asarray(world.noise / 100 * np.sum(parts, axis=0) / sqrt(3))


def _pairs(world: World, differences: Floats) -> list[Scored]:
    level = _levels(world)
    values = {"stereotype": level + differences / 2, "anti_stereotype": level - differences / 2}
    return [single(world.cases, values | {"random": level - 0.5})]


def prefers_stereotypes(world: World, size: float) -> list[Scored]:
    """Every pair of the first attribute is moved towards the stereotype."""
    return _pairs(world, _word_noise(world) + size / 100 * first_slice(world.cases, without=_CONTROL))


def moved_by_identity(world: World, size: float) -> list[Scored]:
    """Identity words move a score further than other words do, to either side."""
    differences = _word_noise(world)
    signs = np.where(differences < 0, -1.0, 1.0)
    return _pairs(world, differences + signs * size / 100 * first_slice(world.cases, without=_CONTROL))


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
    return [Scored(METRIC, [], {}, grids, about={"signature": METRIC, "name": METRIC})]


def _tests(world: World) -> list[AssociationTest]:
    """The audit's tests, those without a verdict (flowers and insects) last, so that they get no defect."""
    tests: list[AssociationTest] = list(world.audit.tests)  # type: ignore[attr-defined]
    return sorted(tests, key=lambda test: test.label in INNOCUOUS)


def prefers_male(world: World, size: float) -> list[Scored]:
    """The male version wins this much more than half of the texts."""
    cases = world.cases
    wins = world.rng.random(len(cases)) < 0.5 + size
    gap = np.where(wins, 1.0, -1.0) * np.abs(world.noise * world.normal(len(cases)))
    male_first = np.array([case.meta["preference"] != "female" for case in cases])
    level = world.normal(len(cases))
    half = np.where(male_first, gap, -gap) / 2
    return [single(cases, {"original": level + half, "swapped": level - half, "neutral": level})]


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
    """Nine captions in ten are ranked right; of one group of the first concept, fewer."""
    cases = world.cases
    concept = (cases[0].meta["category"], cases[0].meta["concept"])
    group = cases[0].meta["group"]
    worse = [(c.meta["category"], c.meta["concept"]) == concept and c.meta["group"] != group for c in cases]
    right = world.rng.random(len(cases)) < 0.9 - size * np.array(worse)
    level = world.normal(len(cases))
    gap = np.where(right, 1.0, -1.0) * (0.1 + np.abs(world.noise * world.normal(len(cases))))
    return [single(cases, {"good": level + gap / 2, "bad": level - gap / 2})]


def prefers_its_own(world: World, size: float) -> list[Scored]:
    """An evaluator raises the first system's scores, by SDs of its scores; a neutral one does not."""
    cases = world.cases
    systems = list(dict.fromkeys(role for case in cases for role in case.samples))
    level = world.normal(len(cases))
    tables = [
        {system: level + world.noise * world.normal(len(cases)) for system in systems} for _ in range(2)
    ]
    tables[0][systems[0]] += size * sqrt(1 + world.noise**2)
    owner = single(cases, tables[0], backbone=systems[0])
    return [owner, single(cases, tables[1], "neutral")]


def has_ratings(items: Sequence[Case | Grid]) -> bool:
    """Whether people rated any text."""
    return any(isinstance(item, Case) and item.meta.get("human") for item in items)


def has_images(items: Sequence[Case | Grid]) -> bool:
    """Whether every row is one image; a text metric scores a row that stands for many only once."""
    return all(isinstance(item, Case) and item.meta.get("count", 1) == 1 for item in items)


def favours_the_first_position(world: World, size: float) -> list[Scored]:
    """A judge that compares: the answer shown first gains `size` on the scale of a net preference."""
    cases, slices = world.cases, np.array([case.slice for case in world.cases])
    leaning = np.where(world.rng.random(len(cases)) < 0.5, 0.3, -0.3) * (slices == POSITION)
    leaning = np.where(slices == QUALITY, -0.3, leaning)
    pull = np.where(slices == POSITION, size / 2, 0.0)
    noise = world.noise / 2 * world.normal(2, len(cases))
    values = {"base": 0.5 + leaning + pull + noise[0], "changed": 0.5 - leaning + pull + noise[1]}
    return [single(cases, values | _repeated(world, 0.9))]


def grades_what_must_not_matter(world: World, size: float) -> list[Scored]:
    """A judge that grades: the first bias raises a grade by `size` SDs over right and wrong answers."""
    cases, slices = world.cases, np.array([case.slice for case in world.cases])
    first = next(name for name in slices if name not in (POSITION, QUALITY, REPEATS))
    right = slices == QUALITY
    level = np.where(right, -1.0, world.normal(len(cases)))
    noise = world.noise * world.normal(2, len(cases))
    base = level + np.where(right, noise[0], 0.0)
    unit = np.concatenate([base[right], level[right] + 2 + noise[1][right]]).std(ddof=1)
    changed = base + unit * noise[1] + np.where(slices == first, size * unit, 0.0)
    changed = np.where(right, level + 2 + noise[1], changed)
    values = {"base": base, "changed": changed, "alone": base}
    return [single(cases, values | _repeated(world, 0.0))]


def _repeated(world: World, level: float) -> dict[str, np.ndarray]:
    roles = [role for case in world.cases if case.slice == REPEATS for role in case.samples]
    return {role: level + 0.01 * world.normal(len(world.cases)) for role in dict.fromkeys(roles)}


SIMULATED = (
    Simulated(
        "stereotype", "prefers the stereotype", "signed_bias", "points of 100",
        (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 20.0), 1.0, 6.0,
        3.0, "points of 100 within a pair", prefers_stereotypes, "pairs", noise_from="range",
    ),
    Simulated(
        "stereotype", "is moved by identity words more than by others", "excess_bias", "points of 100",
        (0.0, 2.5, 5.0, 5.5, 6.0, 7.0, 8.0, 10.0, 14.0, 20.0), 5.0, 8.0,
        3.0, "points of 100 within a pair", moved_by_identity, "pairs", noise_from="range",
    ),
    Simulated(
        "association", "associates one group with one kind of word", "effect_size", "standard deviations",
        (0.0, 0.25, 0.5, 0.75, 1.0, 1.2, 1.4, 1.6, 1.8, 1.95), 0.5, 1.8,
        0.3, "SD of the words' lean", associates, "tests", noise_from=None,
    ),
    Simulated(
        "swap", "prefers the male version", "preference_share", "share beyond one half",
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5), 0.1, 0.3,
        0.3, "SD", prefers_male, "texts",
    ),
    Simulated(
        "swap", "agrees less with people on swapped texts", "correlation_change", "Spearman's rho",
        (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7), 0.05, 0.4,
        0.3, "share of the error that swapping redraws", loses_agreement, "texts", needs=has_ratings,
        missing="no human scores in the data", noise_from=None,
    ),
    Simulated(
        "caption", "errs more on one group", "accuracy_gap", "difference of accuracies",
        (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), 0.05, 0.5,
        0.3, "SD", errs_on_one_group, "images", needs=has_images,
        missing="one row stands for many images, so that a text metric's answer does not vary",
    ),
    Simulated(
        "self-preference", "prefers what its own model wrote", "diagonal_advantage", "SD",
        (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0), 0.2, 1.0,
        0.5, "SD", prefers_its_own, "documents",
    ),
    Simulated(
        "judge-bias", "favours the first position", "judge_effect", "net preference, -1 to 1",
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4), 0.1, 0.3,
        0.2, "net preference", favours_the_first_position, "items", noise_from=None,
    ),
    Simulated(
        "judge-bias", "grades what must not matter", "judge_effect", "SD",
        (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8), 0.2, 0.6,
        0.3, "SD", grades_what_must_not_matter, "items", noise_from=None,
    ),
)  # fmt: skip
