"""The arrows of the design: datasets, audits, metrics and reports do not reach across."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "assay"
# What a part may import of ours, beside itself; a part that is not listed here fails. Read from top to bottom, it
# is the order of the floors: nothing imports what stands below it.
ALLOWED: dict[str, set[str]] = {
    "recipe": set(),
    "vocabulary": set(),
    "errors": set(),
    "data": set(),
    "statistics": set(),
    "language": {"files"},
    "grouping": set(),
    "foreign": set(),
    "files": set(),
    "core": {"language", "recipe", "vocabulary"},
    "models": {"core", "errors", "files", "recipe", "vocabulary"},
    "datasets": {"core", "errors", "files", "grouping", "language", "models", "recipe", "vocabulary"},
    "metrics": {"core", "datasets", "errors", "files", "models", "recipe", "vocabulary"},
    "names": {"core", "errors", "files", "datasets", "foreign", "metrics", "models", "recipe", "vocabulary"},
    "perturbations": {"core", "datasets", "errors", "files", "language", "models", "names", "recipe", "vocabulary"},
    "audits": {
        "core", "datasets", "errors", "files", "grouping", "language", "models", "names", "perturbations", "recipe", "statistics",
        "vocabulary",
    },
    "engine": {"core", "datasets", "errors", "files", "foreign", "grouping", "models", "names", "recipe", "statistics", "vocabulary"},
    # Of audits only the arithmetic of decisions.
    "reading": {
        "__version__", "audits", "core", "datasets", "engine", "errors", "files", "grouping", "language", "models", "statistics",
        "vocabulary",
    },
    "report": {"core", "datasets", "errors", "files", "grouping", "models", "reading", "vocabulary"},
    "api": {
        "__version__", "core", "datasets", "engine", "errors", "files", "grouping", "language", "models", "names", "reading", "recipe",
        "report",
        "statistics", "vocabulary",
    },
    "mitigation": {
        "api", "audits", "core", "datasets", "engine", "errors", "files", "grouping", "metrics", "models", "names", "perturbations",
        "reading", "recipe", "statistics", "vocabulary",
    },
    "testing": {"api", "core", "datasets", "engine", "errors", "files", "names", "reading", "vocabulary"},
    "server": {
        "api", "core", "datasets", "engine", "errors", "files", "names", "perturbations", "reading", "report", "vocabulary",
    },
    # What a paper needs and a user's audit does not; nothing but the command line imports it.
    "papers": {
        "api", "audits", "core", "datasets", "engine", "errors", "files", "grouping", "metrics", "mitigation", "models", "names",
        "reading", "recipe", "report", "statistics", "vocabulary",
    },
    "cli": {
        "__version__", "api", "audits", "core", "datasets", "engine", "errors", "files", "metrics", "mitigation", "models", "names",
        "papers", "reading", "report", "server", "vocabulary",
    },
    "__init__": {"api", "core", "engine", "errors", "names", "reading", "report"},
    "__main__": {"cli"},
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


def _run_time_imports(tree: ast.Module) -> set[str]:
    """Modules of ours that a file imports when it runs, at its top or in a function: not those for types alone."""
    imported: set[str] = set()
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assay"):
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names if alias.name.startswith("assay.")}
        nodes += ast.iter_child_nodes(node)
    return imported


def test_no_module_imports_itself_through_others() -> None:
    """Neither at the top of a file nor in a function body."""
    paths = {
        ".".join(("assay", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in SOURCE.rglob("*.py")
    }
    edges = {
        name: {other for other in _run_time_imports(ast.parse(path.read_text("utf-8"))) if other in paths}
        - {name}
        for name, path in paths.items()
    }
    left = dict(edges)
    while True:  # take away what imports nothing that is left; a cycle cannot be taken away
        free = {name for name, others in left.items() if not others & left.keys()}
        if not free:
            break
        left = {name: others for name, others in left.items() if name not in free}
    assert not left, f"import cycles among {sorted(left)}"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_is_loaded_by_a_string(path: Path) -> None:
    """But in the registry: an import that a test cannot see is no arrow."""
    where = str(path.relative_to(SOURCE))
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and where != "names/registry.py":
            head, colon, attribute = node.value.partition(":")
            assert not (colon and attribute.isidentifier() and head.startswith("assay.")), (
                f"{where}: {node.value}"
            )


def test_findings_are_made_in_core_and_settled_in_one_place() -> None:
    for path in SOURCE.rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        made = [call for call in calls if getattr(call.func, "id", "") == "Finding"]
        assert not made or path.relative_to(SOURCE).as_posix() in ("core.py", "engine/settle.py"), path


def test_importing_assay_is_light() -> None:
    """Law 8: importing loads neither torch nor spaCy nor the pipeline."""
    import subprocess
    import sys

    heavy = ("torch", "spacy", "transformers", "polars", "numpy")
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
