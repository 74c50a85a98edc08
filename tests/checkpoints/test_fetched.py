"""What is fetched from the hub, what of it is pickled, and on which device models work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
import layouts
from local_hub import REVISION, Hub

from assay.core import Image, Metric, Sample
from assay.errors import WeightsError
from assay.models import weights
from assay.names.spec import parse


class Remote:
    """A hub that lists files and hands out those that patterns allow."""

    def __init__(self, root: Path, files: list[str]) -> None:
        self.files, self.folder, self.fetched = files, root / "snapshots" / REVISION, list[str]()

    def download(
        self,
        name: str,
        allow_patterns: list[str],
        ignore_patterns: tuple[str, ...] = (),
        local_files_only: bool = False,
    ) -> str:
        if local_files_only and not self.folder.is_dir():
            raise FileNotFoundError(name)
        for file in [] if local_files_only else self.files:
            wanted = any(fnmatch(file, pattern) for pattern in allow_patterns)
            if wanted and not any(fnmatch(file, pattern) for pattern in ignore_patterns):
                (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / file).write_text("x")
                self.fetched.append(file)
        return str(self.folder)


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Remote]:
    def make(*files: str) -> Remote:
        import huggingface_hub

        hub = Remote(tmp_path / "remote", list(files))
        monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.download)
        return hub

    return make


def test_pickled_weights_are_fetched_only_where_there_are_no_others(remote: Callable[..., Remote]) -> None:
    both = remote("config.json", "pytorch_model.bin", "model.safetensors", "tf_model.h5", "tokenizer.json")
    weights.resolve("owner/both")
    assert sorted(set(both.fetched)) == ["config.json", "model.safetensors", "tokenizer.json"]


def test_pickled_weights_are_fetched_without_what_trainers_leave(remote: Callable[..., Remote]) -> None:
    old = remote("config.json", "pytorch_model.bin", "optimizer.pt", "rng_state_0.pth", "training_args.bin",
                 "scheduler.pt", "spiece.model")  # fmt: skip
    weights.resolve("owner/old")
    assert sorted(set(old.fetched)) == ["config.json", "pytorch_model.bin", "spiece.model"]


def test_a_linear_layer_after_pooling_is_fetched_pickled_too(remote: Callable[..., Remote]) -> None:
    labse = remote("config.json", "model.safetensors", "pytorch_model.bin", "2_Dense/config.json",
                   "2_Dense/pytorch_model.bin")  # fmt: skip
    weights.resolve("owner/labse")
    assert "2_Dense/pytorch_model.bin" in labse.fetched
    assert "pytorch_model.bin" not in labse.fetched


def test_of_a_tokenizers_model_no_weights_are_fetched(remote: Callable[..., Remote]) -> None:
    mt5 = remote(
        "config.json", "pytorch_model.bin", "model.safetensors", "spiece.model", "tokenizer_config.json"
    )
    weights.resolve_tokenizer("google/mt5-xl")
    assert sorted(mt5.fetched) == ["config.json", "spiece.model", "tokenizer_config.json"]


def test_without_network_the_way_out_is_told(hub: Hub) -> None:
    with pytest.raises(WeightsError, match=r"no weights 'owner/unheard'.*give a folder as model=PATH"):
        parse("bleurt:model=owner/unheard").metric.prepare()


class Reached(Exception):
    """The model was called with these inputs."""


def refuse_other_devices(module: Any, args: Any, kwargs: Any) -> None:
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    assert tensors
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    raise Reached


@pytest.fixture
def on_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model is put on the meta device, which stands for a GPU, and stops at its first call."""
    for module in ("models.torch", "models.encoder", "metrics.regression", "mitigation.propagate"):
        monkeypatch.setattr(f"assay.{module}.device", lambda: "meta")
    before = torch.nn.Module.to

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        moved = before(self, *args, **kwargs)
        for part in moved.modules():
            part.register_forward_pre_hook(refuse_other_devices, with_kwargs=True)
        return moved

    monkeypatch.setattr(torch.nn.Module, "to", to)


SAMPLE = Sample("The cat sat .", ("The dog sat .",), source="Der Hund lief .")
ENCODERS = (
    "bertscore-f:layer=1,",
    "moverscore:",
    "sentence-cosine:",
    "sms-contextual:",
    "dialogue-relevance:",
)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        *((name, "xlm-roberta-large") for name in ENCODERS),
        ("bleurt:", "lucadiliello/BLEURT-20-D12"),
        ("frugalscore:", "moussaKam/frugalscore_tiny_bert-base_bert-score"),
        ("metricx:form=23,tokenizer=google/mt5-xl,", "google/metricx-23-large-v2p0"),
        ("unieval-overall:", "MingZhong/unieval-sum"),
        ("bartscore-f:", "facebook/bart-large-cnn"),
        ("prism-f:", "facebook/m2m100_418M"),
        ("clipscore:", "openai/clip-vit-base-patch32"),
    ],
)
def test_metrics_work_on_the_device(
    name: str, model: str, hub: Hub, on_meta: None, tmp_path: Path, pictures: list[Image]
) -> None:
    hub.add("google/mt5-xl")
    snapshot = hub.add(model)
    if model == "xlm-roberta-large":  # a config and a tokenizer alone
        snapshot = tmp_path / "encoder"
        layouts.xlm_roberta(snapshot)
        torch.save(hub.tensors[model], snapshot / "pytorch_model.bin")
    metric = parse(f"{name}model={snapshot}").metric
    assert isinstance(metric, Metric)
    sample = Sample(SAMPLE.hypothesis, SAMPLE.references, SAMPLE.source, pictures[0])
    with pytest.raises(Reached):
        metric.score([sample])


@pytest.mark.parametrize("kind", ["regression_metric", "xcomet_metric"])
def test_comet_works_on_the_device(kind: str, hub: Hub, on_meta: None, tmp_path: Path) -> None:
    hub.add("xlm-roberta-large")
    layouts.comet(tmp_path / "comet", hub.tensors["xlm-roberta-large"], kind)
    with pytest.raises(Reached):
        parse(f"comet:model={tmp_path / 'comet'}").metric.score([SAMPLE])


def test_attention_masked_words_and_generators_work_on_the_device(
    hub: Hub, on_meta: None, tmp_path: Path
) -> None:
    import transformers

    from assay.mitigation.propagate import Scene, load_generator
    from assay.models.encoder import attention_blocks
    from assay.models.fill import masked_words

    folder = tmp_path / "bert"
    folder.mkdir()
    size = layouts.word_pieces(folder, "BertTokenizer", 128)
    config = transformers.BertConfig(vocab_size=size, **layouts.SMALL)
    model = layouts.randomised(transformers.BertForMaskedLM(config))
    layouts.write(folder, config=layouts.config_of(model))
    layouts.save(folder, model)
    with pytest.raises(Reached):
        attention_blocks(str(folder), ["the cat sat"])
    with pytest.raises(Reached):
        masked_words(str(folder), "the cat sat", 3)
    generator = load_generator(str(hub.add("facebook/bart-large-cnn")))
    scene = Scene("a", "female", "the cat", "a cat", ("a cat",))
    with pytest.raises(Reached):
        generator.log_probability([scene], ["a cat"])
    assert generator.inputs([scene])["input_ids"].device.type == "meta"
