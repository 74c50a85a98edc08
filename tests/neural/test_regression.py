"""BLEURT, FrugalScore, MetricX and COMET against step-by-step computations from the papers' formulas."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from assay.core import Sample
from assay.errors import SpecError, WeightsError
from assay.metrics.regression import (
    Bleurt,
    Comet,
    CometQe,
    FrugalScore,
    MetricX,
    Regression,
    Reward,
    error_spans,
)

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
    found = MetricX(model=str(t5), token=token, form="23").score([sample]).values[0]
    assert found == pytest.approx(expected, abs=1e-5)
    assert found < 0


@pytest.mark.parametrize(
    ("model", "form", "needs", "text"),
    [
        ("google/metricx-23-large-v2p0", "23", {"references"}, "candidate: H reference: R"),
        ("google/metricx-23-qe-xl-v2p0", "23-qe", {"source"}, "candidate: H source: S"),
        (
            "google/metricx-24-hybrid-xl-v2p6", "24", {"references"},
            "source: S candidate: H reference: R",
        ),
        ("/models/metricx-24-hybrid-large-v2p6-bfloat16", "24-qe", {"source"}, "source: S candidate: H"),
    ],
)  # fmt: skip
def test_metricx_reads_what_its_version_was_trained_on(
    model: str, form: str, needs: set[str], text: str
) -> None:
    metric = MetricX(model=model, form="24-qe" if form == "24-qe" else "auto")
    assert metric.chosen_form == form
    assert metric.needs == needs
    assert metric.inputs(Sample("H", ("R",), source="S")) == [text]


def test_metricx_without_a_known_version_is_refused(t5: Path) -> None:
    with pytest.raises(SpecError, match=r"which MetricX .* is; give form=23, 23-qe, 24 or 24-qe"):
        MetricX(model=str(t5)).prepare()


def test_metricx_24_reads_an_empty_source_where_there_is_none() -> None:
    metric = MetricX(model="google/metricx-24-hybrid-xl-v2p6")
    assert metric.optional == {"source"}
    texts = metric.inputs(Sample("H", ("R", "Q")))
    assert texts == ["source:  candidate: H reference: R", "source:  candidate: H reference: Q"]


def softmax(values: Any) -> Any:
    return values.softmax(0)


def sparsemax(values: Any) -> Any:
    """The nearest point of the simplex, by bisection of the threshold."""
    low, high = float(values.min()) - 1, float(values.max())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if float((values - middle).clamp_min(0).sum()) > 1 else (low, middle)
    return (values - low).clamp_min(0)


def sentence_vector(
    folder: Path, text: Any, tensors: dict[str, Any], *, norm: bool, cls: bool, mix: Any = softmax
) -> Any:
    """COMET's mix: weights over all layers, each normalised over the whole text, then the mean."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder / "encoder")
    body = AutoModel.from_config(AutoConfig.from_pretrained(folder / "encoder")).eval()
    body.load_state_dict({k[14:]: v for k, v in tensors.items() if k.startswith("encoder.model.")})
    texts = text if isinstance(text, tuple) else (text,)
    ids = tokenizer(*texts, return_tensors="pt")["input_ids"]  # without segment numbers, as XLM-R has none
    with torch.no_grad():
        states = body(input_ids=ids, output_hidden_states=True).hidden_states
    shares = mix(torch.cat([tensors[f"layerwise_attention.scalar_parameters.{i}"] for i in range(4)]))
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


def joint_scores(
    folder: Path, groups: list[tuple[str, ...]], tensors: dict[str, Any], **how: Any
) -> list[float]:
    return [estimate(sentence_vector(folder, group, tensors, cls=True, **how), tensors) for group in groups]


def test_a_unified_metric_has_the_defaults_of_unbabels_code(comet: Callable[..., Path]) -> None:
    """Without a word in hparams.yaml layers are normalised, and mixed by sparsemax."""
    folder = comet("unified_metric", layer_norm=None, layer_transformation=None)
    tensors = _tensors(folder, False)
    pairs = [(s.hypothesis, s.source or "") for s in SAMPLES]
    expected = joint_scores(folder, pairs, tensors, norm=True, mix=sparsemax)
    assert np.allclose(CometQe(model=str(folder)).score(SAMPLES).values, expected, atol=1e-5)


def test_a_unified_metric_with_references_is_the_mean_of_three_readings(comet: Callable[..., Path]) -> None:
    folder = comet("unified_metric", input_segments=["mt", "src", "ref"])
    tensors = _tensors(folder, False)
    s = SAMPLES[1]
    # A sequence of three texts is joined as a pair of the first two with the third.
    both = f"{s.hypothesis} [SEP] {s.source}"
    groups = [(s.hypothesis, s.source or ""), (s.hypothesis, s.references[0]), (both, s.references[0])]
    expected = np.mean(joint_scores(folder, groups, tensors, norm=False))
    assert Comet(model=str(folder)).score([s]).values[0] == pytest.approx(expected, abs=1e-5)
    with pytest.raises(WeightsError, match="use comet-qe"):
        Comet(model=str(comet("unified_metric", input_segments=["mt", "src"], dropout=0.1))).prepare()


def token_labels(folder: Path, group: tuple[str, ...], tensors: dict[str, Any], layer: int, size: int) -> Any:
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder / "encoder")
    body = AutoModel.from_config(AutoConfig.from_pretrained(folder / "encoder")).eval()
    body.load_state_dict({k[14:]: v for k, v in tensors.items() if k.startswith("encoder.model.")})
    with torch.no_grad():
        ids = tokenizer(*group, return_tensors="pt")["input_ids"]
        states = body(input_ids=ids, output_hidden_states=True).hidden_states[layer][0]
    return (states @ tensors["hidden2tag.weight"].T + tensors["hidden2tag.bias"]).softmax(-1)[:size]


def test_xcomet_by_hand(comet: Callable[..., Path]) -> None:
    folder = comet("xcomet_metric", word_layer=2, layer_norm=None)
    tensors = _tensors(folder, False)
    s = SAMPLES[1]
    both = f"{s.hypothesis} [SEP] {s.source}"
    groups = [(s.hypothesis, s.source or ""), (s.hypothesis, s.references[0]), (both, s.references[0])]
    scores = [min(1.0, score) for score in joint_scores(folder, groups, tensors, norm=False)]
    metric = Comet(model=str(folder))
    explained = metric.explain(s)
    assert explained is not None
    size = len(explained.rows)
    tables = [token_labels(folder, group, tensors, 2, size) for group in groups]
    labels = sum(w * table for w, table in zip((0.1667, 0.3333, 0.5), tables, strict=True)).numpy()
    assert np.allclose(np.array(explained.values), labels, atol=1e-5)
    assert explained.columns == ("no error", "minor", "major", "critical")
    cost = {"minor": 1, "major": 5, "critical": 10}
    spans = error_spans(labels, ["minor", "major", "critical"])
    errors = (25 - min(25, sum(cost[severity] for _, _, severity in spans))) / 25
    expected = 0.12 * scores[0] + 0.33 * scores[1] + 0.33 * scores[2] + 0.22 * errors
    assert metric.score([s]).values[0] == pytest.approx(expected, abs=1e-5)
    alone = error_spans(tables[0].numpy(), ["minor", "major", "critical"])
    errors = (25 - min(25, sum(cost[severity] for _, _, severity in alone))) / 25
    without = CometQe(model=str(folder)).score([s]).values[0]
    assert without == pytest.approx(0.78 * scores[0] + 0.22 * errors, abs=1e-5)


def test_error_spans_are_runs_of_labels() -> None:
    labels = np.eye(4)[[0, 2, 1, 0, 3, 3, 0, 1]]
    names = ["minor", "major", "critical"]
    assert error_spans(labels, names) == [(1, 2, "major"), (4, 5, "critical")]  # the last is not ended


def test_pickle_with_code_is_refused(comet: Callable[..., Path], tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "evil"
    shutil.copytree(comet("regression_metric"), folder)
    (folder / "model.safetensors").unlink()

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.system, (f"touch {tmp_path / 'ran'}",))

    torch.save({"state_dict": Evil()}, folder / "model.ckpt")
    with pytest.raises(
        WeightsError, match=rf"model\.ckpt holds an object of {os.name}\.system, which is not read"
    ):
        Comet(model=str(folder)).prepare()
    assert not (tmp_path / "ran").exists()


TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</{{ m['role'] }}>{% endfor %}"


def reward_model(folder: Path, source: Path, pad: int | None) -> str:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    config = transformers.AutoConfig.from_pretrained(source, num_labels=1, pad_token_id=pad)
    torch.manual_seed(3)
    transformers.AutoModelForSequenceClassification.from_config(config).eval().save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("pad", [None, 0])
def test_a_reward_is_the_logit_of_a_chat(
    causal: Callable[..., Path], tmp_path: Path, pad: int | None
) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = reward_model(tmp_path / "reward", causal("llama"), pad)
    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForSequenceClassification.from_pretrained(model).eval()
    expected = []
    for s in SAMPLES:
        chat = f"<user>{s.source}</user><assistant>{s.hypothesis}</assistant>"
        with torch.no_grad():
            ids = tokenizer(chat, add_special_tokens=False, return_tensors="pt")["input_ids"]
            expected.append(float(network(input_ids=ids).logits[0, 0]))
    metric = Reward(model=model)
    assert metric.needs == {"source"}
    assert np.allclose(metric.score(SAMPLES).values, expected, atol=1e-5)


def test_a_reward_model_has_one_output_and_a_chat_template(
    bert: Callable[..., Path], causal: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(WeightsError, match=r"predicts 3 classes; a reward model gives one number"):
        Reward(model=str(bert("BertForSequenceClassification", "three", num_labels=3))).prepare()
    with pytest.raises(WeightsError, match="has no chat template"):
        Reward(model=str(bert("BertForSequenceClassification", num_labels=1))).prepare()
