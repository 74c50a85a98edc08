"""Choices around neural metrics: hybrids, signatures, and what travels to workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.core import Measure, Sample
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.errors import SpecError
from assay.metrics.bertscore import BertScore
from assay.metrics.contextual import SentenceCosine
from assay.metrics.hybrid import Hybrid
from assay.names.registry import load_class, names
from assay.names.spec import parse_spec

SAMPLES = [
    Sample(text, ("the cat sat on a mat",))
    for text in (
        "the cat sat",
        "a dog ran",
        "the man rose",
        "no",
        "the cat sat on a mat",
        "shares rose 12 times",
    )
]


def test_a_hybrid_is_the_weighted_sum_of_its_parts(bert: Callable[..., Path]) -> None:
    parts = (
        Measure("f", BertScore(model=str(bert()), layer=3), "f"),
        Measure("cosine", SentenceCosine(model=str(bert()))),
    )
    columns = np.stack(
        [score_samples(part, SAMPLES, Session()).values[:, part.column] for part in parts], axis=1
    )
    hybrid = Hybrid(parts, (1.0, 0.5))
    scores = score_samples(Measure("hybrid", hybrid), SAMPLES, Session()).values[:, 0]
    assert np.allclose(scores, columns @ [1.0, 0.5], atol=1e-9)
    assert np.allclose(hybrid.score(SAMPLES), scores, atol=1e-9)
    assert hybrid.needs == {"references"}
    with pytest.raises(SpecError, match="whole sets"):
        Hybrid((parse_spec("bleu:level=corpus"),), (1.0,))


def test_signatures_carry_weights_and_layer() -> None:
    signature = parse_spec("bertscore-f").metric.signature
    assert "model:minilm@sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db" in signature
    assert "layer:6" in signature
    assert parse_spec("bertscore-f:layer=5").metric.signature != signature
    assert parse_spec("bertscore-p").metric.signature == signature  # one forward pass serves all outputs


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("prism-f", "prism-like [m2m100]"),
        ("bertscore-f", "bertscore [minilm:6]"),
        ("bertscore-f:model=FacebookAI/roberta-large", "bertscore [roberta-large:17]"),
        ("gruen", "gruen-like [smollm2]"),
        ("bleurt", "bleurt [BLEURT-20-D12]"),
    ],
)
def test_a_metric_is_shown_with_its_backbone_and_a_stand_in_as_such(spec: str, shown: str) -> None:
    assert parse_spec(spec).metric.shown == shown


def test_pins_follow_the_files(bert: Callable[..., Path], tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "model"
    shutil.copytree(bert(), folder)
    before = BertScore(model=str(folder), layer=3).signature
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter.safetensors").write_bytes(b"12345678")
    assert "adapter" in BertScore(model=str(folder), layer=3, adapter=str(adapter)).pins()
    config = folder / "config.json"
    config.write_text(config.read_text("utf-8").replace("gelu", "relu"), "utf-8")
    assert BertScore(model=str(folder), layer=3).signature != before


def test_fitted_tables_are_in_the_signature_and_travel(bert: Callable[..., Path]) -> None:
    one = BertScore(model=str(bert()), layer=3, idf=True).fitted([("the cat",), ("a dog",)])
    other = BertScore(model=str(bert()), layer=3, idf=True).fitted([("the cat",), ("the dog",)])
    assert one.signature != other.signature
    one.prepare()
    again = pickle.loads(pickle.dumps(one))
    assert again.signature == one.signature
    assert len(pickle.dumps(one)) < 20_000  # the recipe travels, not the model


def test_every_neural_name_resolves() -> None:
    for name, (where, _) in names("metrics").items():
        kind = load_class(where)
        if "torch" in kind.packages:
            assert parse_spec(name).metric.extra == "neural"


def test_the_page_of_metrics_is_that_of_the_code() -> None:
    import runpy

    docs = Path(__file__).parents[2] / "docs"
    page = runpy.run_path(str(docs / "make_metrics.py"))["page"]()
    assert page == (docs / "metrics.md").read_text("utf-8")
    assert "prism-like [m2m100]" in page
