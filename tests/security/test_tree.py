"""What the source never does: unpickle what is not its own, run remote code, open a shell, switch checks off."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "assay"
FILES = sorted(SOURCE.rglob("*.py"))
# Workers are sent the metric's own recipe by the process that started them; nothing is read from a file.
OWN_RECIPES = {"engine/workers/crew.py", "engine/workers/ray.py", "testing.py"}  # the last pickled it itself
FORBIDDEN = {
    "pickle.load", "joblib.load", "dill.load", "dill.loads", "marshal.loads", "marshal.load", "shelve.open", "yaml.load",
    "os.system", "os.popen", "eval", "exec", "torch.hub.load", "np.load_pickle",
}  # fmt: skip


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_call_that_runs_what_it_reads(path: Path) -> None:
    where = str(path.relative_to(SOURCE))
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = _dotted(node.func)
        options = {word.arg: word.value for word in node.keywords}
        given = {key: value.value for key, value in options.items() if isinstance(value, ast.Constant)}
        assert name not in FORBIDDEN, f"{where}:{node.lineno} calls {name}"
        assert name != "pickle.loads" or where in OWN_RECIPES, f"{where}:{node.lineno} unpickles"
        assert name != "torch.load" or given.get("weights_only") is True, f"{where}:{node.lineno}"
        assert name not in ("np.load", "numpy.load") or given.get("allow_pickle") is False, (
            f"{where}:{node.lineno}"
        )
        assert given.get("trust_remote_code") in (None, False), f"{where}:{node.lineno} trusts remote code"
        if name.endswith(".from_pretrained"):  # where it is absent, transformers asks on the terminal
            spread = [_dotted(word.value) for word in node.keywords if word.arg is None]
            safe = given.get("trust_remote_code") is False or {"SAFE", "loading.SAFE", "how"} & set(spread)
            assert safe, f"{where}:{node.lineno} does not say trust_remote_code=False"
        assert given.get("shell") is not True, f"{where}:{node.lineno} opens a shell"
        assert given.get("verify") is not False, f"{where}:{node.lineno} does not verify certificates"
        assert given.get("autoescape") is not False, f"{where}:{node.lineno} does not escape"


def test_pages_escape_and_scripts_write_text_alone() -> None:
    """Templates mark nothing safe but what page.py made; scripts build nodes, never markup."""
    templates = [path for path in SOURCE.rglob("*.html") if "data" not in path.parts]
    scripts = list(SOURCE.rglob("*.js"))
    assert templates
    assert scripts
    for path in templates:
        assert "|safe" not in path.read_text("utf-8").replace(" ", ""), path.name
    for path in scripts:
        text = path.read_text("utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert word not in text, f"{path.name} uses {word}"


def test_weights_are_pinned_by_digest() -> None:
    from assay.models.weights import CARRIERS

    for carrier in CARRIERS.values():
        for requirement, digest in carrier.packages:
            assert "==" in requirement
            assert len(bytes.fromhex(digest)) == 32
