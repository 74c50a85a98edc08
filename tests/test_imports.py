"""The arrows of the design: datasets, audits, metrics and reports do not reach across."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "assay"
# What a part may import of ours, beside itself; a part that is not listed here fails.
ALLOWED = {
    "__init__": {"core", "errors", "names", "report", "run"},
    "__main__": {"cli"},
    "recipe": set(),
    "vocabulary": set(),
    "errors": set(),
    "core": {"recipe", "vocabulary"},
    "statistics": set(),
    "data": set(),
    "models": {"core", "errors", "recipe"},
    "datasets": {"core", "errors", "models", "vocabulary"},
    "perturbations": {"core", "datasets", "errors", "models", "names", "vocabulary"},
    "metrics": {"core", "datasets", "errors", "models", "recipe", "vocabulary"},
    "audits": {
        "core", "datasets", "errors", "models", "names", "perturbations", "recipe", "statistics", "vocabulary",
    },
    "names": {"core", "errors", "metrics", "models", "recipe", "run", "vocabulary"},
    "run": {"core", "datasets", "errors", "models", "names", "statistics", "vocabulary"},
    "calibration": {"audits", "core", "datasets", "errors", "names", "run", "statistics"},
    "mitigation": {
        "audits", "core", "datasets", "errors", "metrics", "models", "names", "perturbations", "recipe", "run",
        "statistics", "vocabulary",
    },
    "report": {"core", "errors", "run", "statistics", "vocabulary"},
    "reproduction": {"core", "datasets", "errors", "metrics", "run"},
    "server": {"core", "datasets", "errors", "names", "report", "run", "vocabulary"},
    "testing": {"core", "errors", "names", "report", "run", "vocabulary"},
    "cli": {
        "__version__", "calibration", "core", "datasets", "errors", "metrics", "mitigation", "models", "names", "report",
        "reproduction", "run", "server", "vocabulary",
    },
}  # fmt: skip


def _imports(path: Path) -> set[str]:
    """First parts of the assay modules that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assay"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("assay.")}
    return found


def _part(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_arrows(path: Path) -> None:
    part = _part(path)
    assert _imports(path) <= ALLOWED[part] | {part}, f"{path.name} reaches across"


def test_importing_assay_is_light() -> None:
    """Law 8: importing loads neither torch nor spaCy nor the pipeline."""
    import subprocess
    import sys

    heavy = ("torch", "spacy", "transformers", "polars")
    code = f"import sys, assay; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_torch_is_imported_where_it_is_used(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    heads = {
        alias.name.split(".")[0] for node in tree.body if isinstance(node, ast.Import) for alias in node.names
    }
    heads |= {n.module.split(".")[0] for n in tree.body if isinstance(n, ast.ImportFrom) and n.module}
    assert not heads & {"torch", "transformers", "spacy", "ray", "faiss"}
