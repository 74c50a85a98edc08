"""The arrows of the design: datasets, audits, metrics and reports do not reach across."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "assay"
# What a part may import of ours. Audits never see metrics or scoring; the report computes nothing.
ALLOWED = {
    "core": {"recipe", "vocabulary"},
    "vocabulary": set(),
    "recipe": set(),
    "errors": set(),
    "paths": set(),
    "statistics": {"statistics"},
    "datasets": {"core", "recipe", "errors", "datasets", "data", "nlp", "weights", "perturbations"},
    "perturbations": {
        "core", "recipe", "errors", "nlp", "data", "datasets", "weights", "registry", "paths",
    },
    "audits": {
        "core", "recipe", "errors", "datasets", "data", "perturbations", "statistics", "nlp", "registry",
        "spec",
    },
    "metrics": {
        "core", "recipe", "errors", "weights", "nlp", "paths", "data", "mitigation", "statistics",
    },
    "report": {"core", "errors", "results", "report", "statistics"},
    "engines": {"core", "recipe", "errors", "engines", "plugins"},
    "scoring": {
        "core", "engines", "errors", "progress", "store", "folding", "pace", "table", "remarks",
    },
    "table": {"core"},
    "remarks": {"core", "table"},
    "pace": {"core"},
    "store": {"core", "migrations", "errors"},
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
    if part in ALLOWED:
        words = {"vocabulary"} if "core" in ALLOWED[part] else set()
        assert _imports(path) <= ALLOWED[part] | words | {part}, f"{path.name} reaches across"


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
