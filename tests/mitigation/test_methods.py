"""Mitigation methods: projection, swap averages, hybrids, layers and directions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from assay.core import Sample
from assay.errors import SpecError
from assay.mitigation.methods import SwapAverage, directions, hybrids, layers, subspace, swapped_samples
from assay.mitigation.train import form_of
from assay.models import adapters
from assay.names.spec import parse
from assay.run.session import Session


def test_candidate_and_references_are_swapped_together() -> None:
    (swapped,) = swapped_samples([Sample("He left.", ("A man left.", "The dog left."))])
    assert swapped == Sample("She left.", ("A woman left.", "The dog left."))


def test_projection_removes_a_simulated_direction(tiny: Path) -> None:
    model = form_of(parse(f"bertscore-f:model={tiny},layer=2")).trainable().loaded.model
    direction = torch.nn.functional.normalize(torch.randn(32), dim=0)
    noise = 0.01 * torch.randn(40, 32)
    space = subspace(torch.randn(40, 1) * direction + noise, 1)
    assert abs(float(space.basis[0] @ direction)) > 0.99
    assert space.share > 0.9
    adapters.install_projection(model, space.basis)
    with torch.no_grad():
        states = model(input_ids=torch.tensor([[2, 7, 8, 3]]))[0]
    assert float((states @ space.basis[0]).abs().max()) < 1e-4


def test_a_saved_projection_is_used_like_an_adapter(tiny: Path, tmp_path: Path) -> None:
    spec = f"bertscore-f:model={tiny},layer=2"
    model = form_of(parse(spec)).trainable().loaded.model
    basis = torch.linalg.qr(torch.randn(32, 2)).Q.T.contiguous()
    mark = adapters.fingerprint(model)
    adapters.write(
        {"basis": basis}, tmp_path, adapters.Card(str(tiny), spec, (), 2, 2, mark, kind="projection")
    )
    metric = parse(f"{spec},adapter={tmp_path}").metric
    sample = [Sample("The baker saw the pilot.", ("The pilot left.",))]
    plain = parse(spec).metric.score(sample).values[0]
    assert np.abs(np.array(metric.score(sample).values[0]) - np.array(plain)).max() > 1e-4


def test_layers_and_directions_of_a_spec() -> None:
    assert [one.label for one in layers("bertscore-f:layer=3")] == [
        "bertscore-f:layer=1",
        "bertscore-f:layer=2",
    ]
    assert list(layers("bleu")) == []
    assert [one.label for one in directions(parse("bertscore-f:layer=3"))] == [
        "bertscore-p:layer=3",
        "bertscore-r:layer=3",
    ]


def test_hybrid_weights_are_in_standard_deviations() -> None:
    one, two = hybrids("chrf", ["rougeL"], [1.0, 2.0], Session())
    assert two.metric.scales[1] == pytest.approx(2 * one.metric.scales[1], rel=0.01)
    assert parse(one.label).metric.scales == one.metric.scales


def test_set_metrics_cannot_be_averaged() -> None:
    with pytest.raises(SpecError, match="whole sets"):
        SwapAverage(parse("bleu:level=corpus"))
