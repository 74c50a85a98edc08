"""The arrows of the design: datasets, audits, metrics and reports do not reach across."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

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
    "engine": {
        "core", "datasets", "errors", "files", "foreign", "grouping", "language", "models", "names", "recipe", "statistics",
        "vocabulary",
    },
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


# Where a module is found by its name in a table: nowhere else is a module loaded by a string of ours.
LOADERS = {
    "__init__", "cli.__init__", "engine.workers.ray", "models.lazy", "names.bridge", "names.libraries", "names.plugins",
    "names.registry", "report.figures",
}  # fmt: skip
HEAVY = ("torch", "transformers", "spacy", "ray", "faiss")


@cache
def _trees() -> dict[str, ast.Module]:
    """Every module of the package, by its name within it."""
    paths = sorted(SOURCE.rglob("*.py"))
    names = [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths]
    return {name: ast.parse(path.read_text("utf-8")) for name, path in zip(names, paths, strict=True)}


def _module_named(name: str) -> str | None:
    """The module that a dotted name leads to: core for `assay.core.Sample`; None for a name of no module."""
    parts = name.removeprefix("assay.").split(".")
    leading = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    candidates = [found for one in leading for found in (one, f"{one}.__init__")]
    return next((found for found in candidates if found in _trees()), None)


def _strings(tree: ast.AST) -> list[str]:
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [value for value in constants if isinstance(value, str)]


def _dotted(node: ast.AST) -> str:
    """`assay.api.runs` of the expression that says it; empty for any other."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _run_time_nodes(tree: ast.Module) -> list[ast.AST]:
    """The nodes of a module that run: not what stands under `if TYPE_CHECKING`."""
    found: list[ast.AST] = []
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        found.append(node)
        nodes += ast.iter_child_nodes(node)
    return found


def _edges(tree: ast.Module) -> set[str]:
    """The modules of ours that one needs when it runs: by an import anywhere, by a string or by an attribute."""
    named: set[str] = set()
    for node in _run_time_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assay"):
            named |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names if alias.name.startswith("assay.")}
        elif isinstance(node, ast.Attribute) and _dotted(node).startswith("assay."):
            named.add(_dotted(node))
        elif isinstance(node, ast.Constant) and re.fullmatch(r"assay(\.\w+)+(:\w+)?", str(node.value)):
            named.add(node.value.partition(":")[0])
    return {module for name in named if (module := _module_named(name))}


def _parts_imported(tree: ast.Module) -> set[str]:
    """First parts of the assay modules that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assay"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("assay.")}
    return found


def test_no_part_reaches_across() -> None:
    across = {
        name: sorted(reached)
        for name, tree in _trees().items()
        if (reached := _parts_imported(tree) - ALLOWED[name.split(".")[0]] - {name.split(".")[0]})
    }
    assert across == {}


def test_no_module_needs_itself_through_others() -> None:
    """Neither at the top of a file nor in a function body, by a string or by an attribute."""
    left = {name: _edges(tree) - {name} for name, tree in _trees().items()}
    while True:  # take away what needs nothing that is left; a cycle cannot be taken away
        free = {name for name, others in left.items() if not others & left.keys()}
        if not free:
            break
        left = {name: others for name, others in left.items() if name not in free}
    assert not left, f"import cycles among {sorted(left)}"


def test_an_edge_by_string_or_attribute_is_seen() -> None:
    code = "import assay\n\ndef f():\n    assay.reading.results.x\n    g('assay.core:Sample')\n"
    assert {"reading.results", "core"} <= _edges(ast.parse(code))
    hidden = "if TYPE_CHECKING:\n    from assay.core import Sample\n"
    assert not _edges(ast.parse(hidden))


def test_nothing_is_loaded_by_a_string_but_where_names_are_looked_up() -> None:
    """A table of names, such as registry.toml, holds edges that no test can see: few modules may have one."""
    calls = {
        name: [_dotted(n.func) for n in ast.walk(t) if isinstance(n, ast.Call)]
        for name, t in _trees().items()
    }
    loading = {
        name for name, called in calls.items() if {"import_module", "importlib.import_module"} & set(called)
    }
    assert loading <= LOADERS
    targets = [
        (name, text)
        for name, tree in _trees().items()
        for text in _strings(tree)
        if name != "names.registry" and re.fullmatch(r"assay\.[\w.]+:[A-Za-z_]\w*", text)
    ]
    assert targets == []


def test_findings_are_made_in_core_and_settled_in_one_place() -> None:
    making = {
        name
        for name, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
    }
    assert making <= {"core", "engine.settle"}


def test_importing_assay_is_light() -> None:
    """Law 8: importing loads neither torch nor spaCy nor the pipeline."""
    heavy = ("torch", "spacy", "transformers", "polars", "numpy")
    code = f"import sys, assay; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    at_the_top = {}
    for name, tree in _trees().items():
        heads = {a.name.split(".")[0] for n in tree.body if isinstance(n, ast.Import) for a in n.names}
        heads |= {n.module.split(".")[0] for n in tree.body if isinstance(n, ast.ImportFrom) and n.module}
        if heads & set(HEAVY):
            at_the_top[name] = sorted(heads & set(HEAVY))
    assert at_the_top == {}
