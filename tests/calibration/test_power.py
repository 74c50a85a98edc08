"""Every audit finds its planted defects, and stays silent where there are none.

A tenth of the draws by default, all two hundred with ASSAY_SOAK=1 (`make soak`). Draws are seeded, so that
a count is what it is on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from worlds import WORLDS, asked

from assay.calibration.curve import PLANTS, judged, make_audit, operating_curve, uncalibrated
from assay.calibration.simulated.base import Plant, World
from assay.core import Audit, Case, Grid

DRAWS = 200 if os.environ.get("ASSAY_SOAK") else 20
# A share of .05 shows in at most 16 of 200 draws, or 3 of 20, but for one time in fifty; one of .95 likewise.
LEAST, MOST = (190, 16) if DRAWS == 200 else (17, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worlds")


@cache
def listed(audit: str, folder: Path) -> tuple[Audit, Sequence[Case | Grid]]:
    options = {key: value for plant in PLANTS if plant.audit == audit for key, value in plant.options.items()}
    made = make_audit(audit, options | asked(audit, folder))
    return made, list(made.cases())


def world(plant: Plant, folder: Path) -> tuple[Audit, Sequence[Case | Grid]]:
    return listed(plant.audit, folder)


def _named(plant: Plant) -> str:
    return f"{plant.audit}-{plant.statistic}-{plant.sizes[-1]:g}"


@pytest.mark.parametrize("plant", PLANTS, ids=_named)
def test_the_stated_size_is_found_and_a_harmless_one_is_not(plant: Plant, folder: Path) -> None:
    made, items = world(plant, folder)
    assert plant.needs(items)
    curve = operating_curve(plant, made, items, seeds=DRAWS, sizes=(plant.harmless, plant.stated))
    harmless, stated = curve.points
    assert stated.found >= LEAST, f"{stated.found} of {DRAWS} at {plant.stated}"
    assert harmless.found <= MOST, f"{harmless.found} of {DRAWS} at {plant.harmless}"
    assert curve.alarms.found <= MOST, f"{curve.alarms.found} of {DRAWS} on the clean metric"


def test_every_audit_with_a_verdict_is_calibrated() -> None:
    assert uncalibrated() == ["attention"]  # it describes and judges nothing
    assert {plant.audit for plant in PLANTS} == set(WORLDS)


def test_a_draw_depends_on_its_seed_alone(folder: Path) -> None:
    plant = next(plant for plant in PLANTS if plant.statistic == "signed_bias")
    made, items = world(plant, folder)
    one, two, other = (
        [f.value for f in judged(plant, World(made, items, 3.0, np.random.default_rng(seed)), 4.0)]
        for seed in (1, 1, 2)
    )
    assert one == two
    assert one != other


@pytest.mark.parametrize("statistic", ["signed_bias", "effect_size", "accuracy_gap"])
def test_the_planted_size_is_the_size_measured(statistic: str, folder: Path) -> None:
    plant = next(plant for plant in PLANTS if plant.statistic == statistic)
    made, items = world(plant, folder)
    values = []
    for seed in range(DRAWS):
        found = judged(plant, World(made, items, plant.noise, np.random.default_rng(seed)), plant.stated)
        whole = [f.value for f in found if f.statistic == statistic and "/group/" not in f.slice]
        values.append(max(whole))  # the place that has the defect stands out
    assert np.mean(values) == pytest.approx(plant.stated, rel=0.15)
