"""`assay convert NAME|FILE`: pickled weights and BERT of TensorFlow to safetensors; nothing in them runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import typer

from assay.cli.output import print_json
from assay.errors import SpecError, WeightsError


def convert_command(name: str, out: Path | None = None, json: bool = False) -> None:
    """Convert pickled weights (.bin, .pt, .pth, .ckpt) or TensorFlow's BERT to safetensors, as metrics do."""
    from assay.models.loading import convert_path
    from assay.models.weights import pin, resolve

    if out is not None and out.exists():
        raise SpecError(f"{out} exists; --out names a folder that is made")
    model = _model(name)
    path = resolve(model)
    result = convert_path(path)
    if out is not None:
        try:
            if result.is_dir():
                shutil.copytree(result, out)
            else:
                out.mkdir(parents=True)
                shutil.copyfile(result, out / "model.safetensors")
        except OSError as error:
            raise WeightsError(f"cannot write {out}: {error.strerror}; choose another folder") from error
        result = out
    if json:
        print_json({"name": name, "original": str(path), "digest": pin(model), "converted": str(result)})
    else:
        typer.echo(f"{result}")
        typer.echo(f"converted from {path} ({pin(model)})", err=True)


def _model(name: str) -> str:
    """The default model of the metric of that name, or the name itself if there is no such metric."""
    from assay.names.registry import find, names, suggest_name

    if name in names("metrics"):
        metric = find("metrics", name)[0]
        if not metric.weights:
            raise SpecError(f"{name} needs no weights; give a model of the hub, a folder or a file")
        return str(getattr(metric, metric.weights[0]))
    if "/" not in name and not Path(name).exists():
        raise SpecError(f"no metric, folder or file is called {name!r}{suggest_name(name, 'metrics')}")
    return str(Path(name).resolve()) if Path(name).exists() else name
