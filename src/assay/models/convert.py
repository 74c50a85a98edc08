"""Read pickled checkpoints without running anything in them, and keep them as safetensors in the cache.

torch reads them with `weights_only=True`: tensors, plain containers and argparse.Namespace (in which older
trainers kept their settings) are built, and any other class is refused by name. What was converted lies in
the cache under the SHA-256 of the original, so that it is read once.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import WeightsError
from assay.models.weights import PICKLED, build_folder, cache_folder, pickled_paths, stamped_digest
from assay.recipe import digest

if TYPE_CHECKING:
    import torch

# Where trainers put the tensors among other things.
_NESTS = ("state_dict", "model_state_dict", "model", "module")
_LFS = b"version https://git-lfs"
_INDEX = "model.safetensors.index.json"
_WEIGHTS = (".safetensors", ".h5", ".msgpack", ".ot", ".onnx", ".gguf")  # the same model in other formats


def pickled_files(folder: Path) -> list[Path]:
    """Return a folder's pickled weights: one file, or the shards of one model."""
    files = pickled_paths(folder)
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
    home = cache_folder() / "converted" / f"{stamped_digest(original)}.safetensors"
    if not home.is_file():
        write_tensors(read_pickled(original), home)
    return home


def convert_folder(folder: Path, file: Path | None = None) -> Path:
    """Return a copy of a model's folder with safetensors in place of its pickled weights, in the cache.

    A `file` from elsewhere takes the place of the folder's own weights.
    """
    files = [file] if file else pickled_files(folder)
    beside = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".txt", ".model"))
    mark = digest(*(f"{path.name}:{stamped_digest(path)}" for path in [*files, *beside]))
    home = cache_folder() / "converted" / f"{stamped_digest(files[0])[:32]}-{mark[:12]}"
    return build_folder(home, lambda scratch: fill_folder(scratch, folder, files))


def convert_path(path: Path) -> Path:
    """Return what a model's folder or one of its files is converted to; refuse one that is not pickled."""
    if path.is_file():
        if path.suffix not in PICKLED:
            raise WeightsError(f"{path} is not pickled ({', '.join(PICKLED)}); there is nothing to convert")
        return convert_file(path)
    files = pickled_files(path) or pickled_paths(path / "checkpoints")
    if any(path.glob("*.safetensors")):
        raise WeightsError(f"{path} has safetensors already; there is nothing to convert")
    if not files:
        raise WeightsError(f"{path} holds no pickled weights ({', '.join(PICKLED)}); check the path")
    return convert_folder(path) if files[0].parent == path else convert_file(files[0])


def fill_folder(target: Path, folder: Path, files: Sequence[Path]) -> None:
    """Write the tensors of `files` into `target`, and copy what lies beside them."""
    target.mkdir(parents=True)
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix not in (*PICKLED, *_WEIGHTS):
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
    import torch

    with path.open("rb") as handle:
        if handle.read(len(_LFS)) == _LFS:
            raise WeightsError(
                f"{path} is a pointer of Git LFS, not the weights; fetch them with: git lfs pull"
            )
    try:
        with torch.serialization.safe_globals([argparse.Namespace]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of protocols of pickle other than its own
            whole = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise WeightsError(_refusal(path, str(error))) from error
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, IndexError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or ["it ends too early"])[0][:200]
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
    import torch

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
