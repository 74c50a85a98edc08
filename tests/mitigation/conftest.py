"""A tiny BERT whose weights say nothing, and pairs that it can learn from in a few steps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
torch = pytest.importorskip("torch", reason="needs the extra: pip install 'nlg-assay[neural]'")
transformers = pytest.importorskip("transformers")

from assay.mitigation.data import Counterfactual, Material, Ordinary  # noqa: E402

PEOPLE = ("baker", "pilot", "florist", "welder", "nanny", "logger", "chemist", "roofer", "midwife", "butcher")
LETTERS = "abcdefghijklmnopqrstuvwxyz.,'"


def _model(folder: Path, seed: int) -> Path:
    words = [*PEOPLE, "the", "waved", "at", "because", "he", "she", "was", "late", "saw", "left"]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    vocabulary += [*LETTERS, *("##" + letter for letter in LETTERS)]
    transformers.BertTokenizerFast(
        vocab={word: place for place, word in enumerate(vocabulary)}, model_max_length=64
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=48, max_position_embeddings=64, initializer_range=0.3,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return _model(tmp_path_factory.mktemp("tiny"), 1)


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _model(tmp_path_factory.mktemp("stranger"), 2)


def pair(number: int) -> Counterfactual:
    one, other = PEOPLE[number % 10], PEOPLE[(number // 10 + number + 1) % 10]
    frame = "The {0} waved at the {1} because {2} was late."
    first, second, reference = (frame.format(one, other, word) for word in ("she", "he", f"the {one}"))
    return Counterfactual("gender", first, second, reference, f"t{number}", ("she", "he"))


@pytest.fixture(scope="session")
def material() -> Material:
    texts = [f"The {one} saw the {other}." for one in PEOPLE for other in PEOPLE if one != other]
    kept = [
        Ordinary(one, other, f"o{n}") for n, (one, other) in enumerate(zip(texts, texts[7:], strict=False))
    ]
    pairs = [pair(number) for number in range(100)]
    return Material(
        {"train": pairs, "validation": pairs[:20], "test": []},
        {"train": kept, "validation": kept[:20], "test": []},
    )
