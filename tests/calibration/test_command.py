"""`assay calibrate` on a user's data: sizes that can be found, and what the data has no room for."""

from __future__ import annotations

from pathlib import Path

import pytest
from worlds import asked, captions, rated, texts

from assay.api.pipeline import make_audit
from assay.core import Case, Sample
from assay.engine.session import Session
from assay.errors import SpecError
from assay.papers.curve import Curve, Point, calibrate, metric_noise, simulated_for


def test_more_data_finds_smaller_defects(tmp_path: Path) -> None:
    data = texts(tmp_path)
    sizes = [
        calibrate("repetition", {"data": data, "limit": n}, seeds=20)[0][0].detectable() for n in (12, 60)
    ]
    assert sizes[0] is not None
    assert sizes[1] is not None
    assert sizes[1] < sizes[0]


def test_a_noisier_metric_hides_more(tmp_path: Path) -> None:
    data = texts(tmp_path)
    quiet, loud = (
        calibrate("truncation-direction", {"data": data}, seeds=20, noise=noise)[0][0].detectable()
        for noise in (1.0, 8.0)
    )
    assert quiet is not None
    assert loud is None or quiet < loud


def test_what_the_data_lacks_is_said(tmp_path: Path) -> None:
    many = Case("a", {}, "activity", {"count": 40, "group": "man"})
    assert not simulated_for("caption")[0].needs([many])
    assert simulated_for("caption")[0].needs(
        list(make_audit("caption", {"data": captions(tmp_path)}).cases())
    )
    assert simulated_for("swap")[1].needs([Case("a", {}, "s", {"human": {"x": 1.0}})])
    assert not simulated_for("stereotype")[0].needs([Case("a", {}, "s", {})])
    _, notes = calibrate("swap", {"limit": 24}, seeds=20)  # the embedded texts have no ratings
    assert notes == [
        "swap: agrees less with people on swapped texts: not calibrated, no human scores in the data"
    ]


def test_an_audit_without_a_verdict_cannot_be_calibrated() -> None:
    with pytest.raises(SpecError, match="attention has no verdict"):
        simulated_for("attention")
    with pytest.raises(SpecError, match="did you mean stereotype"):
        simulated_for("sterotype")


def test_the_detectable_size_is_read_off_the_curve() -> None:
    metric = simulated_for("repetition")[0]
    points = tuple(
        Point(size, found, 100) for size, found in ((-1.0, 0), (0.0, 3), (0.1, 45), (0.2, 90), (0.3, 100))
    )
    curve = Curve(metric, 40, 0.5, points, Point(-1.0, 0, 100))
    assert curve.detectable() == pytest.approx(0.25)
    assert curve.detectable(0.9) == pytest.approx(0.2)
    assert curve.sentence() == (
        "with 40 texts, a metric that rewards repetition is found from 0.25 % of the gap gained on"
    )
    weak = Curve(metric, 12, 0.5, points[:4], Point(-1.0, 0, 100))
    assert weak.detectable() is None
    assert "more data is needed" in weak.sentence()


def _pair(number: int, longer: int) -> Case:
    texts = {"stereotype": 10 + number, "anti_stereotype": 10 + number + longer, "worthless": number}
    return Case(f"p{number}", {role: Sample("a" * length, ("x",)) for role, length in texts.items()}, "age")


def test_noise_is_taken_from_a_real_metric() -> None:
    """A pair whose texts always differ by the same amount has no noise, one that varies has some."""
    metric = simulated_for("stereotype")[0]
    steady, shaken = ([_pair(n, step * (n % 2)) for n in range(1, 21)] for step in (0, 4))

    def length(hypotheses: list[str], references: list[list[str]]) -> list[float]:
        return [float(len(text)) for text in hypotheses]

    session = Session.open(cache=None)
    assert metric_noise(metric, steady, length, session) == pytest.approx(0.0)
    # Differences of 0 and 4 in turn have an SD of 2.05; clean texts are 10 letters longer than worthless ones.
    assert metric_noise(metric, shaken, length, session) == pytest.approx(20.52, abs=0.01)
    assert metric_noise(simulated_for("human")[0], steady, length, session) is None


def test_standard_data_is_what_it_says(tmp_path: Path) -> None:
    assert len(texts(tmp_path)[0].read_text().splitlines()) == 60
    assert len(rated(tmp_path)[0].read_text().splitlines()) == 120
    assert asked("stereotype", tmp_path)["limit"] == 150
