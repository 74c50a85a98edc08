"""What must be refused, and how the message helps: folders, tensors, devices, memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from assay.api.scores import score_chunks
from assay.core import Sample
from assay.engine.session import Session
from assay.errors import MetricError, SpecError, WeightsError
from assay.metrics.bertscore import BertScore
from assay.metrics.likelihood import BartScore, GptPerplexity, MlmPerplexity
from assay.metrics.regression import Bleurt
from assay.models import torch as _torch

SAMPLE = Sample("the cat", ("the dog",))


@pytest.fixture
def copy(bert: Callable[..., Path], tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    shutil.copytree(bert(), folder)
    return folder


def test_folder_without_tokenizer(copy: Path) -> None:
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        (copy / name).unlink(missing_ok=True)
    with pytest.raises(WeightsError, match="no tokenizer"):
        BertScore(model=str(copy), layer=3).prepare()


def test_folder_without_config_or_tensors(copy: Path) -> None:
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")  # safetensors, mislabelled
    with pytest.raises(WeightsError, match=r"pytorch_model\.bin is not a checkpoint that torch has saved"):
        BertScore(model=str(copy), layer=3).prepare()
    (copy / "pytorch_model.bin").unlink()
    with pytest.raises(WeightsError, match=r"neither \*\.safetensors nor pytorch_model\.bin"):
        BertScore(model=str(copy), layer=3).prepare()
    (copy / "config.json").unlink()
    with pytest.raises(WeightsError, match=r"config\.json"):
        BertScore(model=str(copy), layer=3).prepare()


def test_a_file_in_place_of_a_folder(copy: Path) -> None:
    (copy / "texts.jsonl").write_text("{}")
    with pytest.raises(WeightsError, match=r"texts\.jsonl is a file; give the folder"):
        BertScore(model=str(copy / "texts.jsonl")).prepare()


def test_a_damaged_config_is_named(copy: Path) -> None:
    (copy / "config.json").write_text("{bad")
    with pytest.raises(WeightsError, match=r"config\.json is damaged"):
        BertScore(model=str(copy), layer=3).prepare()


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no weights at"):
        BertScore(model=str(tmp_path / "nowhere")).prepare()


def test_wrong_architecture(bert: Callable[..., Path]) -> None:
    with pytest.raises(
        WeightsError, match="it holds a bert model; give the folder of a sequence-to-sequence"
    ):
        BartScore(model=str(bert())).prepare()


def test_missing_tensors_are_listed_never_random(
    bert: Callable[..., Path], copy: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from safetensors.torch import load_file, save_file

    with pytest.raises(WeightsError, match=r"classifier\.bias, classifier\.weight"):
        Bleurt(model=str(bert(name="plain", num_labels=1))).prepare()
    with pytest.raises(WeightsError, match=r"lacks .*cls\.predictions"):
        MlmPerplexity(model=str(bert())).prepare()
    tensors = load_file(copy / "model.safetensors")
    del tensors["encoder.layer.1.output.dense.weight"]
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(WeightsError, match=r"encoder\.layer\.1\.output\.dense\.weight"):
        BertScore(model=str(copy), layer=3).prepare()
    assert capfd.readouterr().err == ""  # transformers' own table would advise to train the model


def test_damaged_and_mismatched_tensors(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text("utf-8"))
    (copy / "config.json").write_text(json.dumps({**config, "intermediate_size": 64}), "utf-8")
    with pytest.raises(WeightsError, match="cannot be loaded"):
        BertScore(model=str(copy), layer=3).prepare()
    (copy / "config.json").write_text(json.dumps(config), "utf-8")
    (copy / "model.safetensors").write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00garbage")
    with pytest.raises(WeightsError, match=r"damaged|cannot be loaded"):
        BertScore(model=str(copy), layer=3).prepare()


def test_layer_that_is_not_there(bert: Callable[..., Path]) -> None:
    with pytest.raises(WeightsError, match="layers 1 to 3"):
        BertScore(model=str(bert()), layer=9).prepare()


@pytest.mark.parametrize("device", ["foo", "cuda:99", "meta"])
def test_device_asked_for_and_absent(
    device: str, bert: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_DEVICE", device)
    with pytest.raises(SpecError, match=f"ASSAY_DEVICE={device} is no device.*set it to cpu"):
        BertScore(model=str(bert()), layer=3).prepare()


def test_a_long_text_is_cut_aloud_from_the_cache_too(bert: Callable[..., Path], tmp_path: Path) -> None:
    spec, samples = (
        BertScore(model=str(bert(name="bert-short", limit=16)), layer=3),
        [SAMPLE, Sample("cat " * 45, ("cat",))],
    )
    for _ in range(2):
        _, notes = score_chunks([spec], [samples], session=Session.open(cache=tmp_path))
        assert notes == ["bertscore: 31 tokens cut in 1 of 2 samples: longer than the model reads"]


def test_classes_are_no_regression(bert: Callable[..., Path]) -> None:
    folder = bert("BertForSequenceClassification", name="two", num_labels=2)
    with pytest.raises(WeightsError, match="2 classes"):
        Bleurt(model=str(folder)).score([SAMPLE])


def test_batches_halve_when_memory_runs_out() -> None:
    sizes = []

    def forward(batch: list[int]) -> list[int]:
        sizes.append(len(batch))
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return [10 * index for index in batch]

    assert _torch.in_batches([5] * 16, forward, 80) == [10 * index for index in range(16)]
    assert max(sizes) == 16
    assert 3 >= min(sizes) >= 1

    def never(batch: list[int]) -> list[int]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(MetricError, match="does not fit in memory"):
        _torch.in_batches([5], never)


def test_other_errors_are_not_taken_for_memory() -> None:
    def forward(batch: list[int]) -> list[int]:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        _torch.in_batches([5, 5], forward)


def test_adapter_folder_without_tensors(bert: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="adapter"):
        BertScore(model=str(bert()), layer=3, adapter=str(tmp_path)).prepare()


def test_constructing_opens_nothing() -> None:
    for metric in (BertScore(model="/no/such/folder"), GptPerplexity(model="/no/such/folder")):
        assert metric.backbone == "/no/such/folder"
