"""Read models, tensors and images from files; errors name what is damaged or missing.

Every tensor of a model comes from a file, or an error lists those that do not; pickled weights are converted
first (models/convert.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from assay.core import Image
from assay.errors import DataError, WeightsError
from assay.models.convert import convert_folder, pickled_files, weight_files
from assay.models.weights import CARRIERS, PICKLED, build_folder, cache_folder, resolve

if TYPE_CHECKING:
    import torch

_SHOWN = 8  # missing tensors named in a message
_FILES = (".gguf", ".safetensors", *PICKLED)  # files that may be named in place of their folder
_KINDS = {
    "AutoModel": "an encoder (BERT, RoBERTa, MPNet)",
    "AutoModelForCausalLM": "a causal language model (GPT-2, Llama)",
    "AutoModelForMaskedLM": "a masked language model (BERT, RoBERTa)",
    "AutoModelForSeq2SeqLM": "a sequence-to-sequence model (BART, T5)",
    "AutoModelForSequenceClassification": "a classifier of texts",
    "AutoModelForNextSentencePrediction": "a model of the next sentence (BERT)",
}


def read_model(kind: str, folder: Path, precision: str, unused: tuple[str, ...], **settings: str) -> Any:
    """Read the model of a folder as the class of transformers called `kind`."""
    import torch
    import transformers
    from safetensors import SafetensorError

    folder = plain_folder(folder)
    _check_folder(folder)
    if kind == "AutoBleurt":
        if read_config(folder).get("model_type") == "bleurt":
            return _read_bleurt(folder, precision)
        kind = "AutoModelForSequenceClassification"
    reader = getattr(transformers, kind)
    how: dict[str, Any] = {"use_safetensors": True, "local_files_only": True, "output_loading_info": True}
    try:
        with _silent():
            model, info = reader.from_pretrained(folder, dtype=getattr(torch, precision), **how, **settings)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, AttributeError, TypeError) as error:
        raise WeightsError(f"{folder} cannot be loaded as {kind}: {_reason(error, folder, kind)}") from error
    except SafetensorError as error:
        raise WeightsError(f"{folder}: model.safetensors is damaged ({error}); fetch it again") from error
    check_complete(info["missing_keys"], kind, folder, unused)
    return model


def read_tensors(file: Path, advice: str = "fetch it again") -> dict[str, torch.Tensor]:
    """Read a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(file))
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{file} is missing or damaged ({error}); {advice}") from error


@contextmanager
def _silent() -> Iterator[None]:
    """Keep transformers from printing a progress bar and a table of tensors; both are handled here."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _reason(error: BaseException, folder: Path, kind: str) -> str:
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:400]
    if not line.startswith("Unrecognized configuration class"):
        return line
    held = read_config(folder).get("model_type")
    return f"it holds a {held} model; give the folder of {_KINDS.get(kind, kind)}"


def read_config(folder: Path) -> dict[str, Any]:
    """Return what config.json says, empty where there is none."""
    path = folder / "config.json"
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise WeightsError(f"{path} is damaged ({error}); fetch the model again") from error


def is_decoder(name: str) -> bool:
    """Whether named weights are a causal language model, whose last token alone has read the whole text."""
    if name in CARRIERS:
        return CARRIERS[name].decoder
    from transformers.models.auto import modeling_auto

    kind = read_config(plain_folder(resolve(name))).get("model_type")
    return (
        kind in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        and kind not in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES  # BERT can be trained as either
    )


def check_complete(missing: Any, kind: str, folder: Path, unused: tuple[str, ...] = ()) -> None:
    """Refuse a model with tensors that no file gave: they would be random."""
    absent = sorted(key for key in missing if not any(part in key.split(".") for part in unused))
    if absent:
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        raise WeightsError(
            f"{folder} lacks {len(absent)} tensors that {kind} needs: {', '.join(absent[:_SHOWN])}{more}; "
            f"they would be random numbers. Use a checkpoint trained for this task"
        )


def _check_folder(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise WeightsError(f"{folder} has no config.json; give the folder of a saved model")
    if not weight_files(folder):
        raise WeightsError(
            f"{folder} has no weights: neither *.safetensors nor pytorch_model.bin; save the model there, or "
            f"fetch it again"
        )


def keep_layers(model: Any, count: int) -> None:
    """Drop the layers above `count`, which do not reach that layer's embeddings (as bert-score does)."""
    import torch

    holder, name = layer_list(model)
    whole = getattr(holder, name)
    if not 0 < count <= len(whole):
        raise WeightsError(f"layer={count}: this model has the layers 1 to {len(whole)}")
    setattr(holder, name, torch.nn.ModuleList(list(whole)[:count]))


def layer_list(model: Any) -> tuple[Any, str]:
    """Return the module that holds a model's transformer layers, and the attribute's name."""
    inner = getattr(model, "encoder", None) or getattr(model, "transformer", None) or model
    for holder in (inner, model):
        for name in ("layer", "layers", "block", "h"):
            if hasattr(holder, name):
                return holder, name
    raise WeightsError(f"no list of layers found in {type(model).__name__}; leave layer out")


def folder_of(path: Path, base: str | None = None) -> Path:
    """Return the folder of a model given by its folder or by one of its files.

    A pickled file may lie beside its config.json, or replace the weights of the model called `base`.
    """
    if not path.is_file():
        return path
    if path.suffix not in _FILES:
        raise WeightsError(
            f"{path} is a file; give the folder of a saved model, or one of {', '.join(_FILES)}"
        )
    if path.suffix not in PICKLED:
        return path.parent
    for home in path.parents[:2]:  # a COMET checkpoint lies in checkpoints/
        if (home / "hparams.yaml").is_file():
            return home
    if (path.parent / "config.json").is_file():
        return convert_folder(path.parent, path)
    if base is None:
        raise WeightsError(
            f"{path} has no config.json beside it, so that nothing says which model it is; put the "
            f"config.json and the tokenizer of that model there"
        )
    return convert_folder(resolve(base), path)


def plain_folder(folder: Path) -> Path:
    """Return the folder itself, or the cached copy of one that holds pickled weights or only a GGUF file."""
    folder = folder_of(folder)
    quantised = sorted(folder.glob("*.gguf"))
    if (folder / "config.json").is_file() and not any(folder.glob("*.safetensors")) and pickled_files(folder):
        return convert_folder(folder)
    if not quantised or (folder / "config.json").is_file():
        return folder
    home = cache_folder() / "weights" / f"{folder.parent.name}-{folder.name}-dequantised"
    return build_folder(home, lambda scratch: _dequantise(quantised[0], scratch))


def _dequantise(file: Path, target: Path) -> None:
    """Save a GGUF file as float32: reading GGUF takes half a minute, the copy a third of a second."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with redirect_stderr(StringIO()):  # a progress bar of transformers that no setting turns off
        model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(target)


# BLEURT's checkpoints name their tensors in a format of their own: ELECTRA's body, a pooler, one number.
_SHARED = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
           "hidden_act", "max_position_embeddings", "type_vocab_size", "layer_norm_eps",
           "pad_token_id")  # fmt: skip
_RENAMED = (
    (r"bleurt\.encoder\.embedding_projection\.", "body.embeddings_project."),
    (r"bleurt\.pooler\.dense\.", "pooler."),
    (r"bleurt\.", "body."),
)


def _read_bleurt(folder: Path, precision: str) -> Any:
    import torch

    network = _bleurt_network(read_config(folder))
    tensors = {key: tensor for file in weight_files(folder) for key, tensor in read_tensors(file).items()}
    for old, new in _RENAMED:
        tensors = {re.sub(f"^{old}", new, key): tensor for key, tensor in tensors.items()}
    try:
        missing, _ = network.load_state_dict(tensors, strict=False)
    except RuntimeError as error:
        raise WeightsError(
            f"{folder} does not hold the BLEURT that its config.json describes: {error}"
        ) from error
    check_complete([key for key in missing if not key.endswith("position_ids")], "BLEURT", folder)
    return network.to(getattr(torch, precision))


def _bleurt_network(settings: dict[str, Any]) -> Any:
    import torch
    from transformers import ElectraConfig, ElectraModel

    known = {name: settings[name] for name in _SHARED if settings.get(name) is not None}
    width = settings.get("embedding_size") or settings["hidden_size"]
    config = ElectraConfig(**known, embedding_size=width, num_labels=1)

    class Network(torch.nn.Module):
        """Body, pooler, one number."""

        def __init__(self) -> None:
            super().__init__()
            self.config = config
            self.body = ElectraModel(config)
            self.pooler = torch.nn.Linear(config.hidden_size, config.hidden_size)
            self.classifier = torch.nn.Linear(config.hidden_size, 1)

        def forward(self, **batch: Any) -> SimpleNamespace:
            """Return the scores as a classifier of transformers returns logits, (n, 1)."""
            first = self.body(**batch).last_hidden_state[:, 0]
            return SimpleNamespace(logits=self.classifier(torch.tanh(self.pooler(first))))

    return Network()


@cache
def image_processor(folder: Path) -> Any:
    """Load what crops and scales a model's images, in the version that needs nothing but Pillow."""
    from transformers import AutoImageProcessor

    settings = (folder / "preprocessor_config.json", folder / "processor_config.json")
    if not any(path.is_file() for path in settings):
        raise WeightsError(f"{folder} has no preprocessor_config.json; take the folder of the whole model")
    try:
        return AutoImageProcessor.from_pretrained(folder, local_files_only=True, backend="pil")
    except (OSError, ValueError, ImportError) as error:
        raise WeightsError(f"the image processor in {folder} cannot be loaded: {error}") from error


def pixels(processor: Any, images: Sequence[Image]) -> Any:
    """Return images as one batch of tensors."""
    return processor(images=[open_image(image) for image in images], return_tensors="pt")


def open_image(image: Image) -> Any:
    """Read the picture in RGB, or raise an error that names the file."""
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    try:
        with Pillow.open(image.path) as picture:
            return picture.convert("RGB")
    except FileNotFoundError as error:
        raise DataError(f"no image {image.path}; check the column image and the data folder") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{image.path} is not an image that can be read: {error}") from error
    except Pillow.DecompressionBombError as error:
        raise DataError(f"{image.path} is too large an image: {error}") from error
