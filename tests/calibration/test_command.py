"""`assay papers calibrate` on a user's data: sizes that can be found, and what the data has no room for."""

from __future__ import annotations

from pathlib import Path

import pytest
from worlds import pairs, texts

from assay.errors import SpecError
from assay.papers.curve import Curve, Point, calibrate, simulated_for


def test_more_data_finds_smaller_defects(tmp_path: Path) -> None:
    sizes = [
        calibrate("repetition", {"data": texts(tmp_path, n)}, seeds=20)[0][0].detectable() for n in (20, 150)
    ]
    assert sizes[0] is not None
    assert sizes[1] is not None
    assert sizes[0] < sizes[1] < 75


def test_what_the_data_lacks_is_said(tmp_path: Path) -> None:
    (curve,), notes = calibrate("stereotype", {"data": pairs(tmp_path, 12)}, seeds=2)
    assert curve.simulated.defect == "adds so much to one side of a pair"
    assert curve.n == 12
    assert "stereotype: takes so much from one group: the data has no texts for it" in notes


def test_an_audit_without_a_simulated_metric_cannot_be_calibrated() -> None:
    with pytest.raises(
        SpecError, match="no simulated metric has a defect that attention must find; choose stress"
    ):
        simulated_for("attention")
    with pytest.raises(SpecError, match="did you mean stereotype"):
        simulated_for("sterotype")


def test_the_detectable_size_is_read_off_the_curve() -> None:
    metric = simulated_for("repetition")[0]
    points = tuple(
        Point(size, found, 100) for size, found in ((75.0, 3), (65.0, 45), (60.0, 90), (50.0, 100))
    )
    curve = Curve(metric, 40, points, Point(95.0, 0, 100))
    assert curve.detectable() == pytest.approx(55)
    assert curve.detectable(0.9) == pytest.approx(60)
    assert curve.sentence() == (
        "with 40 items, a metric that puts so many decisions in right order is found from 55 of 100 on"
    )
    weak = Curve(metric, 12, points[:3], Point(95.0, 0, 100))
    assert weak.detectable() is None
    assert "more data is needed" in weak.sentence()
