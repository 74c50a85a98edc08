"""Tiny models with fixed seeds, saved once a session, so that every class of checkpoint can be loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
torch = pytest.importorskip("torch", reason="needs the extra: pip install 'nlg-assay[neural]'")
transformers = pytest.importorskip("transformers")

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?!:'-"
SIZES = {
    "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
}  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def _quiet_torch() -> None:
    torch.set_num_threads(1)


def _word_pieces(folder: Path, limit: int) -> int:
    words = ["the", "cat", "dog", "sat", "man", "woman", "yes", "no", "firm", "profit", "shares", "rose"]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    vocabulary += [*LETTERS, *("##" + letter for letter in LETTERS)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    transformers.BertTokenizerFast(
        vocab={word: place for place, word in enumerate(vocabulary)}, model_max_length=limit
    ).save_pretrained(folder)
    return len(vocabulary)


def _bytes(folder: Path, specials: dict[str, str], limit: int, *, template: bool) -> int:
    """Byte-level BPE without merges, with the framing of BART and RoBERTa where asked for."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*dict.fromkeys(specials.values()), *alphabet]
    made = Tokenizer(models.BPE({token: place for place, token in enumerate(tokens)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    if template:
        start, end = specials["bos_token"], specials["eos_token"]
        made.post_processor = processors.RobertaProcessing(
            (end, tokens.index(end)), (start, tokens.index(start)), trim_offsets=False, add_prefix_space=False
        )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=limit, **specials
    ).save_pretrained(folder)
    return len(tokens)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def bert(home: Path) -> Callable[..., Path]:
    """A tiny BERT of any head: bert("BertForMaskedLM", num_labels=1)."""

    def make(kind: str = "BertModel", name: str = "", limit: int = 128, **settings: Any) -> Path:
        folder = home / (name or kind)
        if not folder.is_dir():
            folder.mkdir()
            size = _word_pieces(folder, limit)
            torch.manual_seed(7)
            config = transformers.BertConfig(
                vocab_size=size, max_position_embeddings=limit, initializer_range=0.5, **SIZES, **settings
            )
            getattr(transformers, kind)(config).eval().save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def causal(home: Path) -> Callable[..., Path]:
    """A tiny causal model: causal("gpt2") or causal("llama") or causal("opt")."""

    def make(kind: str = "gpt2", limit: int = 96) -> Path:
        folder = home / f"causal-{kind}-{limit}"
        if not folder.is_dir():
            folder.mkdir()
            size = _bytes(folder, {"eos_token": "<|endoftext|>"}, limit, template=False)
            shared = {"vocab_size": size, "bos_token_id": 0, "eos_token_id": 0}
            torch.manual_seed(7)
            config = {
                "gpt2": lambda: transformers.GPT2Config(
                    n_embd=32, n_layer=2, n_head=4, n_positions=limit, initializer_range=0.3, **shared
                ),
                "llama": lambda: transformers.LlamaConfig(
                    **SIZES, num_key_value_heads=2, max_position_embeddings=limit, initializer_range=0.3, **shared
                ),
                "opt": lambda: transformers.OPTConfig(
                    hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48, init_std=0.3,
                    max_position_embeddings=limit, word_embed_proj_dim=32, pad_token_id=0, **shared,
                ),
            }[kind]()  # fmt: skip
            transformers.AutoModelForCausalLM.from_config(config).eval().save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def bart(home: Path) -> Path:
    folder = home / "bart"
    folder.mkdir()
    specials = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    size = _bytes(folder, specials, 128, template=True)
    torch.manual_seed(7)
    config = transformers.BartConfig(
        vocab_size=size, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=128,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2,
        init_std=0.4,
    )  # fmt: skip
    transformers.BartForConditionalGeneration(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def t5(home: Path) -> Path:
    """A tiny T5 with words for pieces; `Yes` and `No` are among them, `</s>` ends a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = home / "t5"
    folder.mkdir()
    words = ["<pad>", "</s>", "<unk>", "Yes", "No", "question:", "summary:", "document:", "claim:", "Is", "this",
             "a", "coherent", "fluent", "paragraph:", "reference:", "firm", "profit", "shares", "rose", "The",
             "candidate:", "made", "relevant", "consistent", "."]  # fmt: skip
    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", pad_token="<pad>", unk_token="<unk>", model_max_length=256
    ).save_pretrained(folder)
    torch.manual_seed(7)
    config = transformers.T5Config(
        vocab_size=len(words), d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0, initializer_factor=1.0,
    )  # fmt: skip
    transformers.T5ForConditionalGeneration(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def clip(home: Path) -> Path:
    folder = home / "clip"
    folder.mkdir()
    specials = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    size = _bytes(folder, specials, 48, template=True)
    torch.manual_seed(7)
    shared = {"intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32}
    text = {**shared, "vocab_size": size, "max_position_embeddings": 48, "bos_token_id": 0, "eos_token_id": 1}
    config = transformers.CLIPConfig(
        text_config={**text, "pad_token_id": 1},
        vision_config={**shared, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    transformers.CLIPModel(config).eval().save_pretrained(folder)
    transformers.CLIPImageProcessorPil(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def pictures(home: Path) -> list[Any]:
    """Three images of fixed noise, as samples carry them."""
    import numpy as np
    from PIL import Image as Pillow

    from assay.core import Image
    from assay.files import file_digest

    found = []
    for number in range(3):
        path = home / f"picture{number}.png"
        noise = np.random.default_rng(number).integers(0, 255, (40, 50, 3), dtype=np.uint8)
        Pillow.fromarray(noise).save(path)
        found.append(Image(str(path), file_digest(path)))
    return found


@pytest.fixture(scope="session")
def comet(home: Path, bert: Callable[..., Path]) -> Callable[..., Path]:
    """A tiny COMET checkpoint in Unbabel's layout: encoder, layer mix, estimator."""

    def make(kind: str, *, pickled: bool = False, **hparams: Any) -> Path:
        from safetensors.torch import save_file

        folder = home / f"comet-{kind}-{pickled}-{'-'.join(hparams)}"
        if folder.is_dir():
            return folder
        (folder / "encoder").mkdir(parents=True)
        body = transformers.AutoModel.from_pretrained(bert())
        body.config.save_pretrained(folder / "encoder")
        transformers.AutoTokenizer.from_pretrained(bert()).save_pretrained(folder / "encoder")
        torch.manual_seed(5)
        parts = {"regression_metric": 6, "referenceless_regression_metric": 4}.get(kind, 1)
        tensors = {f"encoder.model.{key}": value for key, value in body.state_dict().items()}
        for layer in range(4):
            tensors[f"layerwise_attention.scalar_parameters.{layer}"] = torch.randn(1)
        tensors["layerwise_attention.gamma"] = torch.tensor([1.3])
        for place, (wide, narrow) in zip((0, 3, 6), ((32 * parts, 12), (12, 8), (8, 1)), strict=True):
            tensors[f"estimator.ff.{place}.weight"] = torch.randn(narrow, wide) / wide**0.5
            tensors[f"estimator.ff.{place}.bias"] = torch.randn(narrow)
        if kind == "xcomet_metric":
            tensors["hidden2tag.weight"], tensors["hidden2tag.bias"] = torch.randn(4, 32) / 6, torch.randn(4)
        settings = {"class_identifier": kind, "activations": "Tanh", "pool": "avg", "layer": "mix",
                    "layer_norm": kind != "unified_metric", "layer_transformation": "softmax",
                    "pretrained_model": "encoder", **hparams}  # fmt: skip
        settings = {key: value for key, value in settings.items() if value is not None}
        (folder / "hparams.yaml").write_text(json.dumps(settings), "utf-8")
        if pickled:
            (folder / "checkpoints").mkdir()
            torch.save({"state_dict": tensors}, folder / "checkpoints" / "model.ckpt")
        else:
            save_file(
                {key: value.clone().contiguous() for key, value in tensors.items()},
                folder / "model.safetensors",
            )
        return folder

    return make
