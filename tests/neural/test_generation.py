"""Writing, tuning and masked words with tiny models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core import Sample
from assay.errors import WeightsError
from assay.metrics.likelihood import GptPerplexity
from assay.models.fill import continuations, masked_words, tuned_copy

TEXTS = ["the cat sat on the mat", "the dog sat on the cat", "the man sat on the dog"]


def test_a_continuation_depends_on_its_prompt_and_seed_alone(causal: Callable[..., Path]) -> None:
    model = str(causal())
    both = continuations(model, ["the cat", "the dog"], tokens=12, top_k=5, seed=1)
    assert both == continuations(model, ["the cat", "the dog"], tokens=12, top_k=5, seed=1)
    assert both[0] == continuations(model, ["the cat"], tokens=12, top_k=5, seed=1)[0]
    assert both != continuations(model, ["the cat", "the dog"], tokens=12, top_k=5, seed=2)


def test_a_tuned_copy_finds_its_texts_likelier(
    causal: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    model = str(causal())
    tuned = tuned_copy(model, TEXTS, epochs=20, seed=0)
    samples = [Sample(text) for text in TEXTS]
    before = GptPerplexity(model=model, scale="log").score(samples).values
    after = GptPerplexity(model=str(tuned), scale="log").score(samples).values
    assert all(new > old + 0.1 for old, new in zip(before, after, strict=True))
    assert tuned.name == f"{Path(model).name}-tuned"
    stamp = (tuned / "config.json").stat().st_mtime_ns
    assert tuned_copy(model, TEXTS, epochs=20, seed=0) == tuned
    assert (tuned / "config.json").stat().st_mtime_ns == stamp  # made once
    assert tuned_copy(model, TEXTS, epochs=1, seed=0) != tuned


def test_masked_words_are_the_likeliest(bert: Callable[..., Path]) -> None:
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder = bert("BertForMaskedLM")
    found = masked_words(str(folder), "the cat sat", 6)
    assert len(found) == 3
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    inputs = tokenizer("the [MASK] sat", return_tensors="pt")
    with torch.inference_mode():
        best = model(**inputs).logits[0, 2].topk(6).indices.tolist()
    assert found[1] == tuple(w for w in tokenizer.convert_ids_to_tokens(best) if w.isalnum())


def test_masked_words_reach_the_search(bert: Callable[..., Path]) -> None:
    from assay.audits.attack.search import Source

    folder = str(bert("BertForMaskedLM"))
    plain, fuller = Source(neighbours=2), Source(neighbours=2, model=folder, masked=8)
    assert set(plain.moves("the cat sat")) < set(fuller.moves("the cat sat"))


def test_a_model_without_a_masked_head_is_refused(bert: Callable[..., Path]) -> None:
    with pytest.raises(WeightsError, match="lacks"):
        masked_words(str(bert("BertModel")), "the cat sat", 4)
