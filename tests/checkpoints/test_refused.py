"""Damaged, mislabelled and malicious checkpoints: refused with the file's name and a way out; nothing runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
import torch
from local_hub import Hub

from assay.core import Sample
from assay.errors import WeightsError
from assay.models.loading import convert_file, read_pickled
from assay.names.spec import parse_spec


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "assay"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """FrugalScore's layout, to be damaged."""
    layouts.frugalscore(tmp_path / "model")
    return tmp_path / "model"


class Malicious:
    """Runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.mark}",)


def half(folder: Path) -> None:
    file = folder / "pytorch_model.bin"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def pointer(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    )


def page(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_text("<html>404: not found</html>")


def classes(folder: Path) -> None:
    torch.save({"state_dict": {}, "args": layouts.TrainingArguments()}, folder / "pytorch_model.bin")


def two_models(folder: Path) -> None:
    (folder / "pytorch_model.bin").rename(folder / "first.bin")
    shutil.copyfile(folder / "first.bin", folder / "second.pt")


def two_safetensors(folder: Path) -> None:
    from safetensors.torch import save_file

    for name in ("first", "second"):
        save_file({"weight": torch.ones(2)}, folder / f"{name}.safetensors")


def no_tokenizer(folder: Path) -> None:
    for name in ("vocab.txt", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink()


def other_architecture(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    layouts.write(folder, config={**config, "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]})


def other_weights(folder: Path) -> None:
    torch.save({"decoder.weight": torch.ones(3)}, folder / "pytorch_model.bin")


def no_tensors(folder: Path) -> None:
    torch.save({"epoch": 3}, folder / "pytorch_model.bin")


def a_list(folder: Path) -> None:
    torch.save([torch.ones(3)], folder / "pytorch_model.bin")


DAMAGES: dict[Callable[[Path], None], str] = {
    half: r"pytorch_model\.bin is damaged or only partly downloaded \([^.]*\); fetch it again",
    pointer: r"pytorch_model\.bin is a pointer of Git LFS.*git lfs pull",
    page: r"pytorch_model\.bin is not a checkpoint that torch has saved.*fetch it again",
    classes: r"pytorch_model\.bin holds an object of layouts\.TrainingArguments.*save its tensors alone",
    two_models: r"model holds several models: first\.bin, second\.pt; leave one of them there",
    two_safetensors: r"model holds several models: first\.safetensors, second\.safetensors; leave one",
    no_tokenizer: r"/model has no tokenizer: none of .*save it there with tokenizer\.save_pretrained",
    other_architecture: r"cannot be loaded as AutoModelForSequenceClassification|lacks .* tensors",
    other_weights: r"/model lacks \d+ tensors .*Use a checkpoint trained for this task",
    a_list: r"pytorch_model\.bin holds no tensors; give the checkpoint of a trained model",
    no_tensors: r"pytorch_model\.bin holds no tensors; give the checkpoint of a trained model",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_folder_is_refused_with_the_way_out(damage: Callable[[Path], None], folder: Path) -> None:
    damage(folder)
    with pytest.raises(WeightsError, match=DAMAGES[damage]):
        parse_spec(f"frugalscore:model={folder}").metric.prepare()


def test_a_file_of_a_folder_with_two_models_can_be_named(folder: Path) -> None:
    two_models(folder)
    values = (
        parse_spec(f"frugalscore:model={folder / 'first.bin'}")
        .metric.score([Sample("the cat", ("a dog",))])
        .values
    )
    assert np.isfinite(values).all()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth"])
@pytest.mark.parametrize("zipped", [True, False])
def test_a_malicious_pickle_is_refused_and_nothing_runs(
    name: str, zipped: bool, folder: Path, tmp_path: Path
) -> None:
    (folder / "pytorch_model.bin").unlink()
    mark = tmp_path / "ran"
    state = OrderedDict(weight=torch.ones(2), evil=Malicious(mark))
    torch.save(state, folder / name, _use_new_zipfile_serialization=zipped)
    with pytest.raises(
        WeightsError, match=rf"{name} holds an object of {os.name}\.system, which is not read"
    ):
        parse_spec(f"frugalscore:model={folder}").metric.prepare()
    assert not mark.exists()
    assert not list((tmp_path / "assay").rglob("*.safetensors"))


def test_a_malicious_carrier_of_settings_is_refused(tmp_path: Path) -> None:
    import argparse

    mark = tmp_path / "ran"
    file = tmp_path / "model.ckpt"
    torch.save({"state_dict": {}, "hyper_parameters": argparse.Namespace(model=Malicious(mark))}, file)
    with pytest.raises(WeightsError, match="system"):
        read_pickled(file)
    assert not mark.exists()


def test_a_namespace_is_read_and_left_out(tmp_path: Path) -> None:
    import argparse

    file = tmp_path / "model.ckpt"
    settings = argparse.Namespace(rate=0.1, inner=argparse.Namespace(layers=[1, 2]))
    torch.save({"state_dict": {"a.weight": torch.arange(3)}, "hyper_parameters": settings}, file)
    tensors = read_pickled(file)
    assert list(tensors) == ["a.weight"]
    assert tensors["a.weight"].tolist() == [0, 1, 2]


def test_tied_tensors_are_written_both(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    tied = torch.randn(4, 3)
    torch.save({"shared.weight": tied, "lm_head.weight": tied, "half": tied[:2]}, tmp_path / "model.bin")
    tensors = load_file(convert_file(tmp_path / "model.bin"))
    assert torch.equal(tensors["shared.weight"], tied)
    assert torch.equal(tensors["lm_head.weight"], tied)
    assert torch.equal(tensors["half"], tied[:2])


def test_shards_are_converted_one_by_one(tmp_path: Path, folder: Path) -> None:
    whole = parse_spec(f"frugalscore:model={folder}").metric.score([Sample("the cat", ("a dog",))]).values
    tensors = torch.load(folder / "pytorch_model.bin", weights_only=True)
    (folder / "pytorch_model.bin").unlink()
    names = sorted(tensors)
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        torch.save({key: tensors[key] for key in part}, folder / f"pytorch_model-0000{number}-of-00002.bin")
    (folder / "pytorch_model.bin.index.json").write_text("{}", "utf-8")
    metric = parse_spec(f"frugalscore:model={folder}").metric
    assert np.allclose(metric.score([Sample("the cat", ("a dog",))]).values, whole)


def test_the_command_line_exits_with_two_and_names_the_file(folder: Path, tmp_path: Path) -> None:
    half(folder)
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"hypothesis": "the cat", "references": ["a dog"]}) + "\n", "utf-8")
    code = "from assay.cli import main; main()"
    words = ["score", "-m", f"frugalscore:model={folder}", "--data", str(data), "--cache", "none"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pytorch_model.bin is damaged or only partly downloaded" in done.stderr
    assert "Traceback" not in done.stderr


def convert(*words: str) -> Any:
    from typer.testing import CliRunner

    from assay.cli import app

    return CliRunner().invoke(app, ["convert", *words])


def test_convert_writes_a_folder_that_scores_alike(folder: Path, tmp_path: Path) -> None:
    done = convert(str(folder), "--out", str(tmp_path / "plain"), "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["converted"] == str(tmp_path / "plain")
    assert document["digest"].startswith("sha256:")
    assert not list((tmp_path / "plain").glob("*.bin"))
    sample = Sample("the cat", ("a dog",))
    scores = [
        parse_spec(f"frugalscore:model={home}").metric.score([sample]).values
        for home in (folder, tmp_path / "plain")
    ]
    assert scores[0] == scores[1]


def test_convert_takes_a_metric_a_name_of_the_hub_and_a_file(hub: Hub, folder: Path, tmp_path: Path) -> None:
    hub.add("moussaKam/frugalscore_tiny_bert-base_bert-score")
    homes = [
        convert(name).stdout for name in ("frugalscore", "moussaKam/frugalscore_tiny_bert-base_bert-score")
    ]
    assert homes[0] == homes[1]
    assert (Path(homes[0].strip()) / "model.safetensors").is_file()
    file = convert(str(folder / "pytorch_model.bin")).stdout.strip()
    assert file.endswith(".safetensors")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["bleu"], "bleu needs no weights"),
        (["frugalscor"], "did you mean frugalscore"),
        (["/nowhere/model"], "no weights at /nowhere/model"),
    ],
)
def test_convert_says_what_it_cannot_convert(words: list[str], problem: str) -> None:
    done = convert(*words)
    assert problem in str(done.exception)


def test_convert_does_not_overwrite(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    assert "taken exists" in str(convert(str(folder), "--out", str(tmp_path / "taken")).exception)
    convert(str(folder), "--out", str(tmp_path / "plain"))
    assert "nothing to convert" in str(convert(str(tmp_path / "plain")).exception)
