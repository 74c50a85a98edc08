"""Mitigation methods: swap averages, hybrids, layers and directions."""

from __future__ import annotations

import pytest

from assay.core import Sample
from assay.engine.session import Session
from assay.errors import SpecError
from assay.mitigation.methods import SwapAverage, directions, hybrids, layers, swapped_samples
from assay.names.spec import parse_spec


def test_candidate_and_references_are_swapped_together() -> None:
    (swapped,) = swapped_samples([Sample("He left.", ("A man left.", "The dog left."))])
    assert swapped == Sample("She left.", ("A woman left.", "The dog left."))


def test_layers_and_directions_of_a_spec() -> None:
    assert [one.label for one in layers("bertscore-f:layer=3")] == [
        "bertscore-f:layer=1",
        "bertscore-f:layer=2",
    ]
    assert list(layers("bleu")) == []
    assert [one.label for one in directions(parse_spec("bertscore-f:layer=3"))] == [
        "bertscore-p:layer=3",
        "bertscore-r:layer=3",
    ]


def test_hybrid_weights_are_in_standard_deviations() -> None:
    one, two = hybrids("chrf", ["rougeL"], [1.0, 2.0], Session())
    assert two.metric.scales[1] == pytest.approx(2 * one.metric.scales[1], rel=0.01)
    assert parse_spec(one.label).metric.scales == one.metric.scales


def test_set_metrics_cannot_be_averaged() -> None:
    with pytest.raises(SpecError, match="whole sets"):
        SwapAverage(parse_spec("bleu:level=corpus"))
