"""MAUVE against mauve-text on the same features, its behaviour at the ends, and the band of no difference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.core import Sample
from assay.errors import MetricError
from assay.metrics.corpus import Mauve, area

pytest.importorskip("faiss")


def clouds(shift: float, size: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(size, 16)), rng.normal(shift, 1, size=(size, 16))


@pytest.mark.filterwarnings("ignore")
def test_equals_mauve_text_seed_by_seed() -> None:
    package = pytest.importorskip("mauve", reason="the bench extra has the reference package")
    p, q = clouds(0.3)
    plain = Mauve(seeds=2).between(p, q)
    for seed in range(2):
        theirs = package.compute_mauve(p_features=p, q_features=q, verbose=False, seed=seed)
        assert plain[seed] == pytest.approx(theirs.mauve, abs=1e-5)


def test_equal_and_disjoint_distributions() -> None:
    p = np.array([0.5, 0.25, 0.25, 0.0])
    assert area(p, p) == pytest.approx(1.0, abs=1e-4)
    assert area(np.array([1.0, 0.0]), np.array([0.0, 1.0])) < 0.02
    swapped = np.array([0.25, 0.5, 0.0, 0.25])
    assert area(p, swapped) == pytest.approx(area(swapped, p), abs=1e-9)


def test_falls_with_distance() -> None:
    scores = [Mauve(seeds=1).between(*clouds(shift))[0] for shift in (0.0, 0.4, 1.5)]
    assert scores[0] > scores[1] > scores[2]


def test_texts_and_band(bert: Callable[..., Path]) -> None:
    texts = [f"the {a} {b} {c}" for a in ("cat", "dog") for b in ("sat", "rose") for c in range(10)]
    metric = Mauve(model=str(bert()), seeds=1)
    low, high = metric.band(texts, draws=4)
    assert 0 < low <= high <= 1
    same = metric.score_set([Sample(text, (text,)) for text in texts])
    assert same == pytest.approx(1.0, abs=1e-3)
    other = metric.score_set([Sample("no no", (text,)) for text in texts])
    assert other < low
    with pytest.raises(MetricError, match="sets of texts"):
        metric.score_set([Sample("a", ("b",))])


@pytest.mark.parametrize("kind", ["gpt2", "llama", "opt"])
def test_a_causal_model_gives_its_last_state(causal: Callable[..., Path], kind: str) -> None:
    import torch

    metric = Mauve(model=str(causal(kind)))
    assert "|pool:auto@last|" in metric.signature
    loaded = metric.load_model()
    texts = ["the cat", "a much longer text"]
    for text, vector in zip(texts, metric.features(texts), strict=True):
        with torch.no_grad():
            last = loaded.model(torch.tensor([loaded.tokenizer(text)["input_ids"]]))[0][0, -1].numpy()
        assert np.allclose(vector, last, atol=1e-5)


def test_an_encoder_gives_the_mean_unless_another_pool_is_named(bert: Callable[..., Path]) -> None:
    model = str(bert())
    assert "|pool:auto@mean|" in Mauve(model=model).signature
    assert Mauve(model="minilm").pooling == "mean"
    assert Mauve(model="smollm2").pooling == "last"
    texts = ["the cat", "the dog sat"]
    assert np.allclose(Mauve(model=model).features(texts), Mauve(model=model, pool="mean").features(texts))
    assert not np.allclose(
        Mauve(model=model).features(texts), Mauve(model=model, pool="last").features(texts)
    )
