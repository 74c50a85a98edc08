"""`assay doctor`: what is installed, which weights are here, and whether known scores come out."""

from __future__ import annotations

import importlib.util
import json as json_module
import platform
from importlib.metadata import PackageNotFoundError, version

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns

_EXTRAS = {
    "neural": ("torch", "transformers", "accelerate", "gguf", "peft", "faiss"),
    "coco": ("pycocoevalcap",),
    "serve": ("fastapi", "uvicorn"),
    "scale": ("ray",),
    "judge": ("httpx",),
}


def command(json: o.Json = False) -> None:
    """Check the installation; exit 1 when a known score does not come out."""
    checks = health()
    if json:
        typer.echo(json_module.dumps({"checks": checks}, indent=1))
    else:
        print_columns(checks)
    if any(check["state"] == "wrong" for check in checks):
        raise typer.Exit(1)


def health() -> list[dict[str, str]]:
    """Installation, extras, weights, and known scores."""
    from assay.models.weights import CARRIERS, present

    checks = [
        _check("python", platform.python_version(), ok=True),
        _check("assay", version("assay"), ok=True),
    ]
    for extra, packages in _EXTRAS.items():
        absent = [package for package in packages if importlib.util.find_spec(package) is None]
        detail = f"pip install 'assay[{extra}]'" if absent else _versions(packages)
        checks.append({"what": f"extra {extra}", "state": "absent" if absent else "ok", "detail": detail})
    for carrier in CARRIERS.values():
        here = present(carrier.name)
        detail = (
            f"sha256 {carrier.packages[0][1]}"
            if here
            else f"fetched when first used ({carrier.megabytes} MB)"
        )
        checks.append(
            {"what": f"weights {carrier.name}", "state": "ok" if here else "absent", "detail": detail}
        )
    return checks + [_golden(*golden) for golden in GOLDENS if _runnable(golden[0])]


def _versions(packages: tuple[str, ...]) -> str:
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version({'faiss': 'faiss-cpu'}.get(package, package))}")
        except PackageNotFoundError:
            found.append(package)
    return ", ".join(found)


def _check(what: str, detail: str, *, ok: bool) -> dict[str, str]:
    return {"what": what, "state": "ok" if ok else "wrong", "detail": detail}


# What these metrics say of one pair; a number that moves means another library, other weights or a fault.
_HYPOTHESIS = "The ferry left the harbour an hour late because of the fog."
_REFERENCE = "Fog delayed the ferry's departure from the harbour by an hour."
GOLDENS = (
    ("bleu", 0.0428361950754725, 1e-9),
    ("rougeL", 0.5, 1e-9),
    ("chrf", 39.043475708051204, 1e-6),
    ("wmd", -1.444123385439569, 1e-5),
    ("bertscore-f", 0.8349270761932774, 1e-4),
)


def _runnable(spec: str) -> bool:
    from assay.models.weights import CARRIERS
    from assay.names.registry import load, names

    where, _ = names("metrics")[spec]
    kind = load(where)
    if any(importlib.util.find_spec(package) is None for package in kind.packages):
        return False
    return all(getattr(kind, field, None) in CARRIERS for field in kind.weights)


def _golden(spec: str, expected: float, tolerance: float) -> dict[str, str]:
    from assay.core import Sample
    from assay.run.pipeline import score
    from assay.run.session import Session

    sample = Sample(_HYPOTHESIS, (_REFERENCE,))
    value = float(score([spec], [sample], session=Session.open(cache=None))[spec][0])
    return _check(
        f"golden {spec}", f"{value:.6f}, expected {expected:.6f}", ok=abs(value - expected) <= tolerance
    )
