"""Read models, tensors and images from files; errors name what is damaged or missing.

Every tensor of a model comes from a file, or an error lists those that do not. Pickled checkpoints are read
without running anything in them, with `weights_only=True` of torch: tensors, plain containers and
argparse.Namespace (in which older trainers kept their settings) are built, and any other class is refused by
name. What was converted lies as safetensors in the cache, in a folder named by the digest of all it was made
from: it is made once, and checked whenever it is read.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import shutil
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from assay.core import Image
from assay.errors import DataError, WeightsError, install
from assay.models import tensorflow, weights
from assay.models.lazy import torch, transformers
from assay.models.sizes import check_model, check_settings
from assay.recipe import digest

# Of every from_pretrained: nothing is fetched, no code beside a model is run, and nobody is asked whether to.
SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
_SHOWN = 8  # missing tensors named in a message
_FILES = (".gguf", ".safetensors", *weights.PICKLED)  # files that may be named in place of their folder
# How saved models are laid out: names of files, classes, settings and tensors.
FORMATS = tomllib.loads(Path(__file__).with_name("formats.toml").read_text("utf-8"))


def read_model(kind: str, folder: Path, precision: str, unused: tuple[str, ...], **settings: str) -> Any:
    """Read the model of a folder as the class of transformers called `kind`."""
    from safetensors import SafetensorError

    given, folder = folder, plain_folder(folder)  # messages name what the user gave, not its copy
    if not read_config(folder):
        raise WeightsError(f"{folder} has no config.json; give the folder of a saved model")
    if not weight_files(folder):
        raise WeightsError(
            f"{folder} has no weights: neither *.safetensors nor pytorch_model.bin; save the model there, or "
            f"fetch it again"
        )
    if kind == "AutoBleurt":
        if read_config(folder).get("model_type") == "bleurt":
            return _read_bleurt(folder, precision)
        kind = "AutoModelForSequenceClassification"
    reader = getattr(transformers, kind)
    how: dict[str, Any] = {"use_safetensors": True, "output_loading_info": True, **SAFE}
    try:
        with _silent():
            check_model(lambda: _unfilled(kind, folder), folder, weight_files(folder))
            model, info = reader.from_pretrained(folder, dtype=getattr(torch, precision), **how, **settings)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, AttributeError, TypeError) as error:
        raise WeightsError(f"{given} cannot be loaded as {kind}: {_reason(error, folder, kind)}") from error
    except SafetensorError as error:
        raise WeightsError(f"{folder}: model.safetensors is damaged ({error}); fetch it again") from error
    check_complete(info["missing_keys"], kind, given, unused)
    return quickened(model)


def _unfilled(kind: str, folder: Path) -> Any:
    """Return the model that a config.json describes, without its weights."""
    reader, config = getattr(transformers, kind), transformers.AutoConfig.from_pretrained(folder, **SAFE)
    is_auto = hasattr(reader, "from_config")
    return reader.from_config(config, trust_remote_code=False) if is_auto else reader(config)


def quickened(model: Any) -> Any:
    """The model with the products of its linear layers by oneDNN, where that is the same sum in less time.

    torch leaves float32 to MKL, whose kernels for AVX-512 serve one maker's processors: on others oneDNN
    takes half as long. Gradients, other types and other devices go the usual way.
    """
    if (kind := _quick_linear()) is not None:
        for module in model.modules():
            if type(module) is torch.nn.Linear:
                module.__class__ = kind
    return model


@cache
def _quick_linear() -> type[torch.nn.Linear] | None:
    """torch's linear layer with oneDNN's product; None where this processor or this torch lacks it."""
    plain = torch.nn.Linear

    class Linear(plain):  # type: ignore[misc, valid-type]
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            is_plain = input.dtype == self.weight.dtype == torch.float32 and input.device.type == "cpu"
            if torch.is_grad_enabled() or not is_plain or not input.numel():
                return plain.forward(self, input)
            return _product(input, self.weight, self.bias)

    def _product(*given: Any) -> torch.Tensor:
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(*given, "none", [], "")
        return product

    try:
        given = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3), torch.arange(4.0)
        is_same = torch.equal(_product(*given), torch.nn.functional.linear(*given))
        return Linear if is_same and torch.backends.cpu.get_cpu_capability().startswith("AVX512") else None
    except (AttributeError, RuntimeError, TypeError):
        return None  # a function of torch's own, which may go


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
    return f"it holds a {held} model; give the folder of {FORMATS['kinds'].get(kind, kind)}"


def read_config(folder: Path) -> dict[str, Any]:
    """Return what config.json says, empty where there is none."""
    path = folder / "config.json"
    settings: dict[str, Any] = read_settings(path, "damaged", dict) if path.is_file() else {}
    check_settings(path, settings)
    return settings


def read_settings(
    file: Path, problem: str = "missing or damaged", build: Callable[[Any], Any] = lambda value: value
) -> Any:
    """Return what a JSON file of a model says; `build` refuses a value of another shape."""
    try:
        return build(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise WeightsError(f"{file} is {problem} ({error}); fetch the model again") from error


def is_decoder(name: str) -> bool:
    """Whether named weights are a causal language model, whose last token alone has read the whole text."""
    if name in weights.CARRIERS:
        return weights.CARRIERS[name].decoder
    from transformers.models.auto import modeling_auto

    kind = read_config(plain_folder(weights.resolve(name))).get("model_type")
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


def keep_layers(model: Any, count: int) -> None:
    """Drop the layers above `count`, which do not reach that layer's embeddings (as bert-score does)."""
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
        known = ", ".join(_FILES)
        raise WeightsError(f"{path} is a file; give the folder of a saved model, or one of {known}")
    if path.suffix not in weights.PICKLED:
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
    return convert_folder(weights.resolve(base), path)


def plain_folder(folder: Path) -> Path:
    """Return the folder itself, or the cached copy of one with pickled, quantised or TensorFlow's weights."""
    folder = folder_of(folder)
    if (index := tensorflow.index_file(folder)) is not None:
        return convert_checkpoint(index)
    quantised = sorted(folder.glob("*.gguf"))
    if (folder / "config.json").is_file() and not any(folder.glob("*.safetensors")) and pickled_files(folder):
        return convert_folder(folder)
    if not quantised or (folder / "config.json").is_file():
        return folder
    if len(quantised) > 1:
        raise _several_models(folder, quantised)
    # What lies beside the file may be read with it, and how it is read is up to these packages.
    mark = digest(weights.folder_digest(folder), *map(_release, ("gguf", "transformers")))
    home = weights.cache_folder() / "converted" / f"{mark}-dequantised"
    return weights.build_folder(home, lambda scratch: _dequantise(quantised[0], scratch))


def _release(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise WeightsError(f"a GGUF file needs {package}: {install('neural')}") from error


def _dequantise(file: Path, target: Path) -> None:
    """Save a GGUF file as float32: reading GGUF takes half a minute, the copy a third of a second."""
    try:
        _save_plain(file, target)
    except (
        Exception
    ) as error:  # its readers raise whatever a damaged number leads to, the tokenizer's a bare one
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:400]
        raise WeightsError(f"{file} cannot be read as a GGUF model: {reason}; fetch it again") from error


def _save_plain(file: Path, target: Path) -> None:
    with redirect_stderr(StringIO()):  # a progress bar of transformers that no setting turns off
        model = transformers.AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=torch.float32, **SAFE
        )
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(target)
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, **SAFE)
    tokenizer.save_pretrained(target)


def _read_bleurt(folder: Path, precision: str) -> Any:
    settings = read_config(folder)
    check_model(lambda: _bleurt_network(settings), folder, weight_files(folder))
    network = _bleurt_network(settings)
    tensors = {key: tensor for file in weight_files(folder) for key, tensor in read_tensors(file).items()}
    for old, new in FORMATS["bleurt"]["renamed"]:
        tensors = {re.sub(f"^{old}", new, key): tensor for key, tensor in tensors.items()}
    try:
        missing, _ = network.load_state_dict(tensors, strict=False)
    except RuntimeError as error:
        raise WeightsError(
            f"{folder} does not hold the BLEURT that its config.json describes: {error}"
        ) from error
    check_complete([key for key in missing if not key.endswith("position_ids")], "BLEURT", folder)
    return quickened(network.to(getattr(torch, precision)))


def _bleurt_network(settings: dict[str, Any]) -> Any:
    known = {name: settings[name] for name in FORMATS["bleurt"]["shared"] if settings.get(name) is not None}
    width = settings.get("embedding_size") or settings["hidden_size"]
    config = transformers.ElectraConfig(**known, embedding_size=width, num_labels=1)

    class Network(torch.nn.Module):
        """Body, pooler, one number."""

        def __init__(self) -> None:
            super().__init__()
            self.config = config
            self.body = transformers.ElectraModel(config)
            self.pooler = torch.nn.Linear(config.hidden_size, config.hidden_size)
            self.classifier = torch.nn.Linear(config.hidden_size, 1)

        def forward(self, **batch: Any) -> SimpleNamespace:
            """Return the scores as a classifier of transformers returns logits, (n, 1)."""
            first = self.body(**batch).last_hidden_state[:, 0]
            return SimpleNamespace(logits=self.classifier(torch.tanh(self.pooler(first))))

    return Network()


def image_processor(folder: Path) -> Any:
    """Load what crops and scales a model's images, in the version that needs nothing but Pillow."""
    return _image_processor(folder, weights.folder_digest(folder))


@cache
def _image_processor(folder: Path, content: str) -> Any:
    settings = (folder / "preprocessor_config.json", folder / "processor_config.json")
    if not any(path.is_file() for path in settings):
        raise WeightsError(f"{folder} has no preprocessor_config.json; take the folder of the whole model")
    try:
        return transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **SAFE)
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
        with warnings.catch_warnings():
            warnings.simplefilter("error", Pillow.DecompressionBombWarning)
            with Pillow.open(image.path) as picture:
                return picture.convert("RGB")
    except FileNotFoundError as error:
        raise DataError(f"no image {image.path}; check the column image and the data folder") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{image.path} is not an image that can be read: {error}") from error
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise DataError(f"{image.path} is too large an image: {error}") from error


# Where trainers put the tensors among other things.
_NESTS = ("state_dict", "model_state_dict", "model", "module")
_LFS = b"version https://git-lfs"
_INDEX = "model.safetensors.index.json"
_WEIGHTS = (".safetensors", ".h5", ".msgpack", ".ot", ".onnx", ".gguf")  # the same model in other formats


def pickled_files(folder: Path) -> list[Path]:
    """Return a folder's pickled weights: one file, or the shards of one model."""
    files = weights.pickled_paths(folder)
    usual = [path for path in files if path.name.startswith("pytorch_model")]
    files = usual or files
    if len(_models(files)) > 1:
        raise _several_models(folder, files, ", or give the file itself as model=PATH")
    return files


def _models(files: Sequence[Path]) -> set[str]:
    """Return the files' names without the numbers of shards: one per model."""
    return {re.sub(r"-\d+-of-\d+", "", path.name) for path in files}


def _several_models(folder: Path, files: Sequence[Path], advice: str = "") -> WeightsError:
    names = ", ".join(path.name for path in files)
    return WeightsError(f"{folder} holds several models: {names}; leave one of them there{advice}")


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a folder's model; pickled ones are converted first."""
    plain = sorted(folder.glob("*.safetensors"))
    if plain:
        models = _models(plain)
        if len(models) > 1 and "model.safetensors" not in models:
            raise _several_models(folder, plain)
        return [path for path in plain if len(models) == 1 or path.name.startswith("model")]
    return [convert_file(path) for path in pickled_files(folder)]


def convert_file(original: Path) -> Path:
    """Return the safetensors copy of a pickled file, which is made at the first call."""
    home = weights.cache_folder() / "converted" / weights.stamped_digest(original)

    def build(scratch: Path) -> None:
        write_tensors(read_pickled(original), scratch / "model.safetensors")

    return weights.build_folder(home, build) / "model.safetensors"


def convert_folder(folder: Path, file: Path | None = None) -> Path:
    """Return a copy of a model's folder with safetensors in place of its pickled weights, in the cache.

    A `file` from elsewhere takes the place of the folder's own weights.
    """
    files = [file] if file else pickled_files(folder)
    mark = digest(*(f"{path.name}:{weights.stamped_digest(path)}" for path in [*files, *_beside(folder)]))
    home = weights.cache_folder() / "converted" / f"{mark}-folder"
    return weights.build_folder(home, lambda scratch: fill_folder(scratch, folder, files))


def convert_checkpoint(index: Path) -> Path:
    """Return the folder that a checkpoint of TensorFlow is converted to, in the cache."""
    files = [
        *tensorflow.checkpoint_files(index),
        *index.parent.glob("*.json"),
        *index.parent.glob("vocab.txt"),
    ]
    mark = digest(*(f"{path.name}:{weights.stamped_digest(path)}" for path in files))
    home = weights.cache_folder() / "converted" / f"{mark}-tensorflow"
    return weights.build_folder(home, lambda scratch: tensorflow.write_model(index, scratch))


def _beside(folder: Path) -> list[Path]:
    """Return the files that lie beside a model's weights: its settings and its tokenizer."""
    files = (path for path in weights.model_files(folder) if path.parent == folder)
    return [path for path in files if path.suffix not in (*weights.PICKLED, *_WEIGHTS)]


def convert_path(path: Path) -> Path:
    """Return what a model's folder or one of its files is converted to; refuse one that need not be."""
    endings = ", ".join(weights.PICKLED)
    if path.is_file():
        if path.suffix not in weights.PICKLED:
            raise WeightsError(f"{path} is not pickled ({endings}); there is nothing to convert")
        return convert_file(path)
    if (index := tensorflow.index_file(path)) is not None:
        return convert_checkpoint(index)
    files = pickled_files(path) or weights.pickled_paths(path / "checkpoints")
    if any(path.glob("*.safetensors")):
        raise WeightsError(f"{path} has safetensors already; there is nothing to convert")
    if not files:
        raise WeightsError(f"{path} holds no pickled weights ({endings}); check the path")
    return convert_folder(path) if files[0].parent == path else convert_file(files[0])


def fill_folder(target: Path, folder: Path, files: Sequence[Path]) -> None:
    """Write the tensors of `files` into `target`, and copy what lies beside them."""
    target.mkdir(parents=True)
    for path in _beside(folder):
        shutil.copyfile(path, target / path.name)
    places: dict[str, str] = {}
    for number, path in enumerate(files, start=1):
        name = "model.safetensors" if len(files) == 1 else f"model-{number:05}-of-{len(files):05}.safetensors"
        tensors = read_pickled(path)
        write_tensors(tensors, target / name)
        places |= dict.fromkeys(tensors, name)
    if len(files) > 1:
        (target / _INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}), "utf-8")


def read_pickled(path: Path) -> dict[str, torch.Tensor]:
    """Read the tensors of a pickled checkpoint by name; nothing in it is run."""
    with path.open("rb") as handle:
        if handle.read(len(_LFS)) == _LFS:
            pointer = "is a pointer of Git LFS, not the weights"
            raise WeightsError(f"{path} {pointer}; fetch them with: git lfs pull")
    try:
        with torch.serialization.safe_globals([argparse.Namespace]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of protocols of pickle other than its own
            whole = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise WeightsError(_refusal(path, str(error))) from error
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, IndexError, AttributeError) as error:
        # Of torch's message the first sentence: the rest advises its developers.
        reason = (str(error).strip().splitlines() or ["it ends too early"])[0].split(". ")[0][:200]
        raise WeightsError(
            f"{path} is damaged or only partly downloaded ({reason}); fetch it again"
        ) from error
    tensors = _tensors(whole)
    if not tensors:
        raise WeightsError(f"{path} holds no tensors; give the checkpoint of a trained model")
    return tensors


def _refusal(path: Path, message: str) -> str:
    name = re.search(r"GLOBAL\s+`?([\w.]+)", message)
    if name is None:
        return f"{path} is not a checkpoint that torch has saved, or it is damaged; fetch it again"
    return (
        f"{path} holds an object of {name.group(1)}, which is not read: building it could run code. Read are "
        f"tensors, containers of them and argparse.Namespace. If you trust its source, save its tensors "
        f"alone where it was trained: safetensors.torch.save_file(model.state_dict(), 'model.safetensors')"
    )


def _tensors(whole: object) -> dict[str, torch.Tensor]:
    """Return the named tensors of what torch read, whatever they are nested in."""
    if not isinstance(whole, Mapping):
        return {}
    for nest in _NESTS:
        if isinstance(whole.get(nest), Mapping):
            inner = _tensors(whole[nest])
            if inner:
                return inner
    # Tied tensors share memory, which safetensors does not take: each gets a copy.
    tensors = {str(key): value for key, value in whole.items() if isinstance(value, torch.Tensor)}
    return {key: tensor.detach().clone().contiguous() for key, tensor in tensors.items()}


def write_tensors(tensors: Mapping[str, torch.Tensor], file: Path) -> None:
    """Write a safetensors file and its folder; the file appears whole or not at all."""
    from safetensors.torch import save_file

    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    save_file(dict(tensors), scratch, metadata={"format": "pt"})
    scratch.replace(file)
