"""Differentiable forms score as their metrics do, have gradients, and leave the metric's own model alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.core import Metric, Sample
from assay.metrics.bertscore import BertScore
from assay.metrics.contextual import MoverScore, SentenceCosine
from assay.metrics.likelihood import BartScore, BartScoreFaithful
from assay.metrics.ngram import Bleu
from assay.metrics.regression import Bleurt, FrugalScore, MetricX, Regression
from assay.models.encoder import Differentiable

PAIRS = [("the cat sat", "a dog sat on the mat"), ("no profit", "the shares rose"), ("a man", "a man")]


def form(metric: Metric) -> Differentiable:
    found = metric.differentiable()
    assert isinstance(found, Differentiable)
    return found


def scores_of_copy(metric: Metric) -> torch.Tensor:
    return form(metric).score(form(metric).load_copy(), PAIRS)


@pytest.fixture
def metrics(bert: Callable[..., Path], bart: Path) -> list[Metric]:
    regressor = str(bert("BertForSequenceClassification", "regressor", num_labels=1))
    return [
        BertScore(model=str(bert()), layer=2),
        SentenceCosine(model=str(bert())),
        Bleurt(model=regressor),
        FrugalScore(model=regressor),
        Regression(model=regressor, first="hypothesis"),
        BartScore(model=str(bart)),
        BartScore(model=str(bart), prefix="summarize: ", prompt="in short", average=False),
    ]


def test_differentiable_forms_equal_the_scores(metrics: list[Metric]) -> None:
    samples = [Sample(hypothesis, (reference,)) for hypothesis, reference in PAIRS]
    for metric in metrics:
        with torch.no_grad():
            scores = scores_of_copy(metric).numpy()
        expected = np.array(metric.score(samples).values, dtype=float).reshape(len(PAIRS), -1)
        assert scores == pytest.approx(expected, rel=1e-5, abs=1e-5), metric.name


def test_gradients_reach_a_copy_of_the_model(metrics: list[Metric]) -> None:
    for metric in metrics:
        copy = form(metric).load_copy()
        assert copy.model is not metric.load_model().model
        copy.model.requires_grad_(True)
        form(metric).score(copy, PAIRS).sum().backward()
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in copy.model.parameters())
        assert all(p.grad is None for p in metric.load_model().model.parameters())


def test_moverscore_is_trained_by_the_matching_that_relaxes_its_transport(bert: Callable[..., Path]) -> None:
    with torch.no_grad():
        mover = scores_of_copy(MoverScore(model=str(bert()), layer=2))
        assert torch.allclose(mover, scores_of_copy(BertScore(model=str(bert()), layer=2)))


@pytest.mark.parametrize("metric", [Bleu(), MetricX(), BartScoreFaithful()])
def test_other_metrics_have_no_differentiable_form(metric: Metric) -> None:
    assert metric.differentiable() is None
