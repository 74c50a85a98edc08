"""Likelihoods against transformers' own loss, one text at a time; BARTScore and PRISM by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.core import Sample
from assay.errors import MetricError, SpecError
from assay.metrics.likelihood import (
    BartScore,
    BartScoreFaithful,
    GptPerplexity,
    GptScore,
    GptScoreFaithful,
    MlmPerplexity,
    Prism,
    PrismQe,
)
from assay.models import likelihood as _likelihood
from assay.models.torch import COUNTER, load

TEXTS = ["The cat sat.", "The cat sat on a mat.", "The dog ran.", "a", "The cat sat on a map."]


def loss_of(folder: Path, text: str, given: str = "") -> float:
    """Mean log p a token by the model's own loss; what is given is not counted."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = (
        AutoTokenizer.from_pretrained(folder),
        AutoModelForCausalLM.from_pretrained(folder).eval(),
    )
    before, after = ([*tokenizer(part)["input_ids"]] for part in (given, text))
    ids = torch.tensor([[0, *before, *after]])
    labels = ids.clone()
    labels[0, : 1 + len(before)] = -100
    with torch.no_grad():
        return -float(model(input_ids=ids, labels=labels).loss)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "opt"])
def test_perplexity_equals_the_models_own_loss(causal: Callable[..., Path], kind: str) -> None:
    folder = causal(kind)
    expected = np.array([loss_of(folder, text) for text in TEXTS])
    samples = [Sample(text) for text in TEXTS]
    logs = GptPerplexity(model=str(folder), scale="log").score(samples)
    assert np.abs(np.array(logs.values) - expected).max() < 1e-5
    perplexities = GptPerplexity(model=str(folder)).score(samples)
    assert np.allclose(np.array(perplexities.values), -np.exp(-expected), rtol=1e-5)


def test_shared_beginnings_are_read_once(causal: Callable[..., Path]) -> None:
    metric = GptPerplexity(model=str(causal("gpt2")))
    metric.prepare()
    before = COUNTER.forward_tokens
    metric.score([Sample("abcdefgh"), Sample("abcdefgX"), Sample("abcd"), Sample("abcdefgh")])
    # start + "abcdefg"; the two last letters are only predicted, and "abcd" lies on the way
    assert COUNTER.forward_tokens - before == 8


def test_trees_are_bounded_and_complete() -> None:
    rows = [tuple(np.random.default_rng(i).integers(0, 3, 12)) for i in range(50)]
    made = _likelihood.trees(rows, most=60)
    assert max(len(tree.tokens) for tree in made) <= 60
    for tree in made:
        for number, path in tree.paths.items():
            assert tuple(tree.tokens[node] for node in path) == rows[number]
            assert [tree.depths[node] for node in path] == list(range(12))
    assert sorted(number for tree in made for number in tree.paths) == list(range(50))


def test_long_texts_are_cut_counted_or_read_in_windows(causal: Callable[..., Path]) -> None:
    folder = causal("gpt2", 40)
    text = "the cat sat on the mat and the dog ran home " * 3
    size = len(text)
    cut = GptPerplexity(model=str(folder), scale="log").score([Sample(text)])
    assert cut.notes["truncated"] == [size - 39]
    assert cut.values[0] == pytest.approx(loss_of(folder, text[:39]), abs=1e-5)
    windows = GptPerplexity(model=str(folder), scale="log", overlong="window").score([Sample(text)])
    by_hand = [39 * loss_of(folder, text[:39])]
    for start in range(39, size, 19):
        scored = text[start : start + 19]
        given = text[start + len(scored) - 39 : start]
        by_hand.append(len(scored) * loss_of(folder, scored, given))
    assert windows.values[0] == pytest.approx(sum(by_hand) / size, abs=1e-5)
    assert windows.notes["truncated"] == [0]
    with pytest.raises(MetricError, match="overlong"):
        GptPerplexity(model=str(folder), overlong="error").score([Sample(text)])


def test_empty_text_has_no_perplexity(causal: Callable[..., Path]) -> None:
    assert GptPerplexity(model=str(causal("gpt2"))).score([Sample(""), Sample("a")]).values[0] is None


def test_explains_by_token_probability(causal: Callable[..., Path]) -> None:
    folder = causal("gpt2")
    found = GptPerplexity(model=str(folder)).explain(Sample("cat"))
    assert found is not None
    assert found.rows == ("c", "a", "t")
    assert np.log(np.array(found.values)).mean() == pytest.approx(loss_of(folder, "cat"), abs=1e-5)


def test_gptscore_counts_only_the_hypothesis(causal: Callable[..., Path]) -> None:
    folder = causal("llama")
    sample = Sample("A dog.", ("A cat.", "Two cats."), source="Some animals.")
    each = [loss_of(folder, " A dog.", f"{text}\nIn other words,") for text in sample.references]
    assert GptScore(model=str(folder)).score([sample]).values[0] == pytest.approx(np.mean(each), abs=1e-5)
    best = GptScore(model=str(folder), reduce="max").score([sample]).values[0]
    assert best == pytest.approx(max(each), abs=1e-5)
    faithful = GptScoreFaithful(model=str(folder)).score([sample]).values[0]
    assert faithful == pytest.approx(loss_of(folder, " A dog.", "Some animals.\nTl;dr:"), abs=1e-5)
    with pytest.raises(SpecError, match="given"):
        GptScore(model=str(folder), template="{hypothesis}")


def test_an_empty_hypothesis_has_no_likelihood(
    causal: Callable[..., Path], bert: Callable[..., Path]
) -> None:
    model, masked = str(causal("llama")), str(bert("BertForMaskedLM"))
    samples = [Sample(text, ("cat",), source="cat") for text in ("", "cat")]
    for metric in (GptScore(model=model), GptScoreFaithful(model=model), GptPerplexity(model=model),
                   MlmPerplexity(model=masked)):  # fmt: skip
        empty, cat = metric.score(samples).values
        assert empty is None, metric.name
        assert cat < 0, metric.name
    assert GptScore(model=model).score([Sample(" \n", ("cat",))]).values == [None]


def test_masked_perplexity_masks_one_at_a_time(bert: Callable[..., Path]) -> None:
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder = bert("BertForMaskedLM")
    tokenizer, model = (
        AutoTokenizer.from_pretrained(folder),
        AutoModelForMaskedLM.from_pretrained(folder).eval(),
    )
    texts = ["the cat sat", "a dog", "profit rose, 12 times"]
    expected = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        logs = []
        for place in range(1, ids.shape[1] - 1):
            hidden = ids.clone()
            hidden[0, place] = tokenizer.mask_token_id
            with torch.no_grad():
                logs.append(float(model(hidden).logits[0, place].log_softmax(-1)[ids[0, place]]))
        expected.append(-np.exp(-np.mean(logs)))
    ours = MlmPerplexity(model=str(folder)).score([Sample(text) for text in texts])
    assert np.allclose(np.array(ours.values), expected, rtol=1e-5)


def seq2seq_logs(folder: Path, given: str, text: str) -> np.ndarray:
    """Step by step: the decoder reads its start token and the target, each next id's log p is kept."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer, model = (
        AutoTokenizer.from_pretrained(folder),
        AutoModelForSeq2SeqLM.from_pretrained(folder).eval(),
    )
    target = tokenizer(text)["input_ids"]
    logs = []
    for step in range(len(target)):
        read = torch.tensor([[model.config.decoder_start_token_id, *target[:step]]])
        with torch.no_grad():
            out = model(input_ids=tokenizer(given, return_tensors="pt")["input_ids"], decoder_input_ids=read)
        logs.append(float(out.logits[0, -1].log_softmax(-1)[target[step]]))
    return np.array(logs)


def test_bartscore_by_hand_in_all_directions(bart: Path) -> None:
    sample = Sample("A cat.", ("The cat sat.", "cats"), source="A long tale of cats.")
    p = [seq2seq_logs(bart, text, "A cat.").mean() for text in sample.references]
    r = [seq2seq_logs(bart, "A cat.", text).mean() for text in sample.references]
    expected = [np.mean(p), np.mean(r), np.mean([p, r])]
    assert np.allclose(BartScore(model=str(bart)).score([sample]).values[0], expected, atol=1e-5)
    best = [max(p), max(r), max((a + b) / 2 for a, b in zip(p, r, strict=True))]
    assert np.allclose(BartScore(model=str(bart), reduce="max").score([sample]).values[0], best, atol=1e-5)
    whole = seq2seq_logs(bart, sample.source or "", "A cat.")
    faithful = BartScoreFaithful(model=str(bart))
    assert faithful.score([sample]).values[0] == pytest.approx(whole.mean(), abs=1e-5)
    summed = BartScoreFaithful(model=str(bart), average=False).score([sample]).values[0]
    assert summed == pytest.approx(whole.sum(), abs=1e-4)
    prompted = BartScoreFaithful(model=str(bart), prompt="in short").score([sample]).values[0]
    assert prompted == pytest.approx(
        seq2seq_logs(bart, f"{sample.source} in short", "A cat.").mean(), abs=1e-5
    )


def test_a_prefix_stands_before_what_the_encoder_reads_and_nowhere_else(bart: Path) -> None:
    sample = Sample("A cat.", ("The cat sat.",), source="A long tale of cats.")
    before = "summarize: "
    p = seq2seq_logs(bart, f"{before}The cat sat.", "A cat.").mean()
    r = seq2seq_logs(bart, f"{before}A cat.", "The cat sat.").mean()
    both = BartScore(model=str(bart), prefix=before)
    assert np.allclose(both.score([sample]).values[0], [p, r, (p + r) / 2], atol=1e-5)
    metric = BartScoreFaithful(model=str(bart), prefix=before, prompt="in short")
    logs = seq2seq_logs(bart, f"{before}{sample.source} in short", "A cat.")
    assert metric.score([sample]).values[0] == pytest.approx(logs.mean(), abs=1e-5)
    explained = metric.explain(sample)
    assert explained is not None
    assert np.allclose(np.log(explained.values).flatten(), logs, atol=1e-4)
    assert metric.signature != BartScoreFaithful(model=str(bart), prompt="in short").signature


def test_bartscore_in_batches_equals_alone(bart: Path) -> None:
    metric = BartScoreFaithful(model=str(bart))
    samples = [Sample(t, source=s) for t, s in zip(TEXTS, reversed(TEXTS), strict=True)]
    together = metric.score(samples).values
    assert np.allclose(together, [metric.score([s]).values[0] for s in samples], atol=1e-5)


def test_prism_leaves_out_the_tag(bart: Path) -> None:
    sample = Sample("A cat.", ("The cat sat.",), source="Die Katze.")
    p = seq2seq_logs(bart, "The cat sat.", "A cat.")[1:].mean()
    r = seq2seq_logs(bart, "A cat.", "The cat sat.")[1:].mean()
    assert np.allclose(Prism(model=str(bart)).score([sample]).values[0], [p, r, (p + r) / 2], atol=1e-5)
    qe = PrismQe(model=str(bart)).score([sample]).values[0]
    assert qe == pytest.approx(seq2seq_logs(bart, "Die Katze.", "A cat.")[1:].mean(), abs=1e-5)


def test_smollm2_prefers_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """The carried model, dequantised: its loss, and a sentence before the same words jumbled."""
    import torch

    from assay.errors import WeightsError

    try:
        loaded = load("AutoModelForCausalLM", "smollm2")
    except WeightsError as error:
        pytest.skip(f"smollm2 cannot be fetched: {error}")
    texts = ["The cat sat on the mat.", "mat The on. cat sat the"]
    values = GptPerplexity(scale="log").score([Sample(text) for text in texts]).values
    for text, value in zip(texts, values, strict=True):
        ids = torch.tensor([[0, *loaded.tokenizer(text, add_special_tokens=False)["input_ids"]]])
        with torch.no_grad():
            assert value == pytest.approx(-float(loaded.model(input_ids=ids, labels=ids).loss), abs=1e-4)
    assert values[0] > values[1] + 1
