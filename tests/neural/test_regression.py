"""BLEURT, FrugalScore, MetricX and COMET against step-by-step computations from the papers' formulas."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from assay.core import Sample
from assay.errors import WeightsError
from assay.metrics.regression import Bleurt, Comet, CometQe, FrugalScore, MetricX, Regression

SAMPLES = [
    Sample("the cat sat", ("a dog ran home", "the cat"), source="shares rose"),
    Sample("profit rose 12 times", ("no",), source="the firm"),
]


def pair_logit(folder: Path, first: str, second: str) -> float:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return float(model(**tokenizer(first, second, return_tensors="pt")).logits[0, 0])


def test_bleurt_reads_the_reference_first_and_frugalscore_second(bert: Callable[..., Path]) -> None:
    folder = bert("BertForSequenceClassification", num_labels=1)
    one = [[pair_logit(folder, text, s.hypothesis) for text in s.references] for s in SAMPLES]
    other = [[pair_logit(folder, s.hypothesis, text) for text in s.references] for s in SAMPLES]
    model = str(folder)
    assert np.allclose(Bleurt(model=model).score(SAMPLES).values, [max(v) for v in one], atol=1e-5)
    assert np.allclose(
        Bleurt(model=model, reduce="mean").score(SAMPLES).values, [np.mean(v) for v in one], atol=1e-5
    )
    assert np.allclose(FrugalScore(model=model).score(SAMPLES).values, [max(v) for v in other], atol=1e-5)
    assert np.allclose(
        Regression(model=model, first="hypothesis").score(SAMPLES).values, [max(v) for v in other], atol=1e-5
    )


def bleurt_checkpoint(folder: Path, source: Path, narrow: int | None) -> tuple[Path, Any]:
    """A checkpoint in the converted layout, and the parts it was made of."""
    from safetensors.torch import save_file
    from transformers import AutoTokenizer, ElectraConfig, ElectraModel

    tokenizer = AutoTokenizer.from_pretrained(source)
    torch.manual_seed(3)
    settings = {"vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 2, "hidden_act": "gelu",
                "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 128}  # fmt: skip
    body = ElectraModel(ElectraConfig(**settings, embedding_size=narrow or 32, initializer_range=0.4)).eval()
    pooler, last = torch.nn.Linear(32, 32), torch.nn.Linear(32, 1)
    tensors = {}
    for key, value in body.state_dict().items():
        name = key.replace("embeddings_project.", "encoder.embedding_projection.")
        if not name.endswith("_ids"):
            tensors[f"bleurt.{name}"] = value
    tensors |= {f"bleurt.pooler.dense.{key}": value for key, value in pooler.state_dict().items()}
    tensors |= {f"classifier.{key}": value for key, value in last.state_dict().items()}
    folder.mkdir(parents=True)
    tokenizer.save_pretrained(folder)
    save_file({key: value.clone() for key, value in tensors.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(
        json.dumps({**settings, "model_type": "bleurt", "embedding_size": narrow}), "utf-8"
    )
    return folder, (tokenizer, body, pooler, last)


@pytest.mark.parametrize("narrow", [None, 16])
def test_bleurt_in_its_own_format(bert: Callable[..., Path], tmp_path: Path, narrow: int | None) -> None:
    folder, (tokenizer, body, pooler, last) = bleurt_checkpoint(tmp_path / "bleurt", bert(), narrow)
    expected = []
    for sample in SAMPLES:
        found = []
        for text in sample.references:
            with torch.no_grad():
                first = body(**tokenizer(text, sample.hypothesis, return_tensors="pt")).last_hidden_state[
                    :, 0
                ]
                found.append(float(last(torch.tanh(pooler(first)))))
        expected.append(max(found))
    assert np.allclose(Bleurt(model=str(folder)).score(SAMPLES).values, expected, atol=1e-5)


def test_metricx_reads_one_logit_and_negates(t5: Path) -> None:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(t5), AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    sample = Sample("firm made profit", ("The firm rose",))
    ids = tokenizer("candidate: firm made profit reference: The firm rose", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logits = model(input_ids=ids[:, :-1], decoder_input_ids=torch.zeros(1, 1, dtype=torch.long)).logits[
            0, 0
        ]
    token = int(logits.argmax())
    expected = -float(logits[token].clamp(0, 25))
    found = MetricX(model=str(t5), token=token).score([sample]).values[0]
    assert found == pytest.approx(expected, abs=1e-5)
    assert found < 0


def sentence_vector(folder: Path, text: str, tensors: dict[str, Any], *, norm: bool, cls: bool) -> Any:
    """COMET's mix: softmax weights over all layers, each normalised over the whole text, then the mean."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder / "encoder")
    body = AutoModel.from_config(AutoConfig.from_pretrained(folder / "encoder")).eval()
    body.load_state_dict({k[14:]: v for k, v in tensors.items() if k.startswith("encoder.model.")})
    texts = text if isinstance(text, tuple) else (text,)
    ids = tokenizer(*texts, return_tensors="pt")["input_ids"]  # without segment numbers, as XLM-R has none
    with torch.no_grad():
        states = body(input_ids=ids, output_hidden_states=True).hidden_states
    shares = torch.cat([tensors[f"layerwise_attention.scalar_parameters.{i}"] for i in range(4)]).softmax(0)
    mixed = torch.zeros_like(states[0][0])
    for share, state in zip(shares, states, strict=True):
        one = state[0]
        mixed += share * ((one - one.mean()) / (one.var(unbiased=False) + 1e-12).sqrt() if norm else one)
    mixed = mixed * tensors["layerwise_attention.gamma"]
    return mixed[0] if cls else mixed.mean(0)


def estimate(features: Any, tensors: dict[str, Any]) -> float:
    for place in (0, 3, 6):
        features = tensors[f"estimator.ff.{place}.weight"] @ features + tensors[f"estimator.ff.{place}.bias"]
        features = torch.tanh(features) if place < 6 else features
    return float(features[0])


@pytest.mark.parametrize("pickled", [False, True])
def test_comet_by_hand(
    comet: Callable[..., Path], pickled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    folder = comet("regression_metric", pickled=pickled)
    tensors = _tensors(folder, pickled)
    expected = []
    for sample in SAMPLES:
        h, s = (
            sentence_vector(folder, t, tensors, norm=True, cls=False)
            for t in (sample.hypothesis, sample.source)
        )
        found = []
        for text in sample.references:
            r = sentence_vector(folder, text, tensors, norm=True, cls=False)
            found.append(estimate(torch.cat([h, r, h * r, (h - r).abs(), h * s, (h - s).abs()]), tensors))
        expected.append(np.mean(found))
    metric = Comet(model=str(folder))
    assert np.allclose(metric.score(SAMPLES).values, expected, atol=1e-5)
    assert "sha256" in metric.signature
    with pytest.raises(WeightsError, match="use comet"):
        CometQe(model=str(folder)).prepare()


def _tensors(folder: Path, pickled: bool) -> dict[str, Any]:
    from safetensors.torch import load_file

    if pickled:
        return dict(torch.load(folder / "checkpoints" / "model.ckpt", weights_only=True)["state_dict"])
    return dict(load_file(folder / "model.safetensors"))


def test_comet_qe_and_kiwi_by_hand(comet: Callable[..., Path]) -> None:
    folder = comet("referenceless_regression_metric")
    tensors = _tensors(folder, False)
    expected = []
    for sample in SAMPLES:
        h, s = (
            sentence_vector(folder, t, tensors, norm=True, cls=False)
            for t in (sample.hypothesis, sample.source)
        )
        expected.append(estimate(torch.cat([h, s, h * s, (h - s).abs()]), tensors))
    assert np.allclose(CometQe(model=str(folder)).score(SAMPLES).values, expected, atol=1e-5)

    kiwi = comet("unified_metric")
    tensors = _tensors(kiwi, False)
    joint = [
        estimate(sentence_vector(kiwi, (s.hypothesis, s.source), tensors, norm=False, cls=True), tensors)
        for s in SAMPLES
    ]
    assert np.allclose(CometQe(model=str(kiwi)).score(SAMPLES).values, joint, atol=1e-5)


def test_pickle_with_code_is_refused(comet: Callable[..., Path], tmp_path: Path) -> None:
    import pickle
    import shutil

    folder = tmp_path / "evil"
    shutil.copytree(comet("regression_metric"), folder)
    (folder / "model.safetensors").unlink()

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path(tmp_path / "ran").touch, ())

    (folder / "model.ckpt").write_bytes(pickle.dumps({"state_dict": Evil()}))
    with pytest.raises(WeightsError, match="more than tensors"):
        Comet(model=str(folder)).prepare()
    assert not (tmp_path / "ran").exists()
