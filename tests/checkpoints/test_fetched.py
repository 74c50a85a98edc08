"""What is fetched from the hub, what of it is pickled, and on which device models work."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import layouts
import pytest
import torch
from local_hub import REVISION, Hub

from assay.core import Image, Metric, Sample
from assay.errors import WeightsError
from assay.models import weights
from assay.names.registry import load_class, names
from assay.names.spec import parse_spec


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
        parse_spec("bleurt:model=owner/unheard").metric.prepare()


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
    for module in ("models.torch", "models.encoder", "metrics.regression", "models.captioner"):
        monkeypatch.setattr(f"assay.{module}.device", lambda: "meta")
    before = torch.nn.Module.to

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        moved = before(self, *args, **kwargs)
        for part in moved.modules():
            part.register_forward_pre_hook(refuse_other_devices, with_kwargs=True)
        return moved

    monkeypatch.setattr(torch.nn.Module, "to", to)


SAMPLE = Sample("The cat sat .", ("The dog sat .",), source="The shares rose .")
# How to build a model for each metric, and the options that it needs beside the model.
LAYOUTS: dict[str, tuple[layouts.Builder, str]] = {
    **{f"bertscore-{part}": (layouts.bert, "layer=1,") for part in "prf"},
    **dict.fromkeys(("moverscore", "sentence-cosine", "dialogue-relevance", "supert", "mauve"),
                    (layouts.bert, "")),
    **dict.fromkeys(("mlm-ppl", "blanc"), (partial(layouts.bert, kind="BertForMaskedLM"), "")),
    "dialogue-model": (partial(layouts.bert, kind="BertForNextSentencePrediction"), ""),
    **dict.fromkeys(("nli", "nli-p", "nli-r", "nli-f", "nli-faithful"),
                    (partial(layouts.bert, kind="BertForSequenceClassification"), "label=LABEL_1,")),
    "bleurt": (layouts.bleurt_20, ""),
    **dict.fromkeys(("frugalscore", "regression"), (layouts.frugalscore, "")),
    "reward": (partial(layouts.gpt2, kind="GPT2ForSequenceClassification"), ""),
    **dict.fromkeys(("gpt-ppl", "gptscore", "gptscore-faithful", "gruen", "judge"), (layouts.gpt2, "")),
    "metricx": (layouts.metricx, "form=23,tokenizer=google/mt5-xl,"),
    "minicheck": (layouts.unieval, ""),
    **{name: (layouts.unieval, "") for name in names("metrics") if name.startswith("unieval")},
    **dict.fromkeys(("bartscore-p", "bartscore-r", "bartscore-f", "bartscore-faithful"), (layouts.bart, "")),
    **dict.fromkeys(("prism-p", "prism-r", "prism-f", "prism-qe"), (layouts.m2m100, "")),
    **dict.fromkeys(("clipscore", "refclipscore"), (layouts.clip, "")),
    **dict.fromkeys(("siglip-cosine", "siglip-probability"), (layouts.siglip, "")),
    **{f"vilbertscore-{part}": (layouts.vilt, "") for part in "prf"},
}  # fmt: skip
COMETS = ("comet", "comet-qe")  # tested below


def test_every_metric_on_a_model_is_tested() -> None:
    neural = [name for name, (where, _) in names("metrics").items() if "torch" in load_class(where).packages]
    assert sorted([*LAYOUTS, *COMETS]) == sorted(neural)


@pytest.mark.parametrize("name", [name for name in LAYOUTS if not name.endswith(("-r", "-f", "-q"))])
def test_metrics_work_on_the_device(
    name: str, hub: Hub, on_meta: None, tmp_path: Path, pictures: list[Image]
) -> None:
    hub.add("google/mt5-xl")
    build, options = LAYOUTS[name]
    build(tmp_path / "model")
    metric = parse_spec(f"{name}:{options}model={tmp_path / 'model'}").metric
    sample = Sample(SAMPLE.hypothesis, SAMPLE.references, SAMPLE.source, pictures[0])
    with pytest.raises(Reached):
        metric.score([sample]) if isinstance(metric, Metric) else metric.score_set([sample])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("comet", "regression_metric"), ("comet", "xcomet_metric"), ("comet-qe", "xcomet_metric")],
)
def test_comet_works_on_the_device(name: str, kind: str, hub: Hub, on_meta: None, tmp_path: Path) -> None:
    hub.add("xlm-roberta-large")
    layouts.comet(tmp_path / "comet", hub.tensors["xlm-roberta-large"], kind)
    with pytest.raises(Reached):
        parse_spec(f"{name}:model={tmp_path / 'comet'}").metric.score([SAMPLE])


def test_attention_masked_words_and_generators_work_on_the_device(
    hub: Hub, on_meta: None, tmp_path: Path
) -> None:
    from assay.models.captioner import load_captioner
    from assay.models.encoder import attention_blocks
    from assay.models.fill import masked_words

    folder = tmp_path / "bert"
    layouts.bert(folder, kind="BertForMaskedLM")
    with pytest.raises(Reached):
        attention_blocks(str(folder), ["the cat sat"])
    with pytest.raises(Reached):
        masked_words(str(folder), "the cat sat", 3)
    captioner = load_captioner(str(hub.add("facebook/bart-large-cnn")))
    with pytest.raises(Reached):
        captioner.log_probability([Sample("", ("a cat",), source="the cat")], ["a cat"])
