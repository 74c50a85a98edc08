"""Planted judges: one that loves the first place, one that grades what must not matter."""

from __future__ import annotations

import numpy as np

from assay.calibration.simulated.base import Plant, World, single
from assay.core import Scored

_POSITION, _QUALITY, _REPEATS = "position", "quality", "repeats"


def loves_the_first_place(world: World, size: float) -> list[Scored]:
    """A judge that compares: whoever stands first gains `size` on the scale of a net preference."""
    cases = world.cases
    there = np.array([case.slice for case in cases])
    leaning = np.where(world.rng.random(len(cases)) < 0.5, 0.3, -0.3) * (there == _POSITION)
    leaning = np.where(there == _QUALITY, -0.3, leaning)
    pull = np.where(there == _POSITION, size / 2, 0.0)
    noise = world.noise / 2 * world.normal(2, len(cases))
    values = {"base": 0.5 + leaning + pull + noise[0], "changed": 0.5 - leaning + pull + noise[1]}
    return [single(cases, values | _repeated(world, 0.9))]


def grades_what_must_not_matter(world: World, size: float) -> list[Scored]:
    """A judge that grades: the first bias lifts a grade by `size` spreads over right and wrong answers."""
    cases = world.cases
    there = np.array([case.slice for case in cases])
    first = next(name for name in there if name not in (_POSITION, _QUALITY, _REPEATS))
    right = there == _QUALITY
    level = np.where(right, -1.0, world.normal(len(cases)))
    noise = world.noise * world.normal(2, len(cases))
    base = level + np.where(right, noise[0], 0.0)
    unit = np.concatenate([base[right], level[right] + 2 + noise[1][right]]).std(ddof=1)
    changed = base + unit * noise[1] + np.where(there == first, size * unit, 0.0)
    changed = np.where(right, level + 2 + noise[1], changed)
    values = {"base": base, "changed": changed, "alone": base}
    return [single(cases, values | _repeated(world, 0.0))]


def _repeated(world: World, level: float) -> dict[str, np.ndarray]:
    roles = [role for case in world.cases if case.slice == _REPEATS for role in case.samples]
    return {role: level + 0.01 * world.normal(len(world.cases)) for role in dict.fromkeys(roles)}


PLANTS = (
    Plant(
        "judge-bias", "loves the first place", "judge_effect", "net preference, -1 to 1",
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4), 0.1, 0.3,
        0.2, "net preference", loves_the_first_place, "items", noise_from=None,
    ),
    Plant(
        "judge-bias", "grades what must not matter", "judge_effect", "spreads",
        (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8), 0.2, 0.6,
        0.3, "spreads", grades_what_must_not_matter, "items", noise_from=None,
    ),
)  # fmt: skip
