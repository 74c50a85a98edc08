"""The examples run and give what they show; the action audits and gates; versions agree."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
same_line = runpy.run_path(str(ROOT / "docs" / "make_outputs.py"))["same_line"]


def _outputs(path: Path) -> list[list[str]]:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return ["".join(output["data"]["text/plain"]).splitlines() for output in outputs]


def test_the_notebook_shows_what_its_cells_give(tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="pip install 'nlg-assay[dev]'")
    command = [sys.executable, str(EXAMPLES / "make_notebook.py"), str(tmp_path / "run.ipynb")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown, actual = _outputs(EXAMPLES / "example.ipynb"), _outputs(tmp_path / "run.ipynb")
    assert len(shown) == 3
    for ours, theirs in zip(shown, actual, strict=True):
        assert len(ours) == len(theirs)
        assert [line for line, other in zip(ours, theirs, strict=True) if not same_line(line, other)] == []
    sources = [
        json.loads(path.read_text("utf-8"))["cells"]
        for path in (EXAMPLES / "example.ipynb", tmp_path / "run.ipynb")
    ]
    assert [cell["source"] for cell in sources[0]] == [cell["source"] for cell in sources[1]]


def test_the_metric_is_that_of_the_tutorial() -> None:
    page = (ROOT / "docs" / "tutorial-author.md").read_text("utf-8")
    typed = re.search(r"length_ratio\.py <<'EOF'\n(.*?)^> EOF", page, re.S | re.M)
    assert typed is not None
    code = (EXAMPLES / "length_ratio.py").read_text("utf-8")
    assert ast.dump(ast.parse(re.sub(r"^> ?", "", typed[1], flags=re.M))) == ast.dump(ast.parse(code))
    scores = assay.score(
        [f"{EXAMPLES / 'length_ratio.py'}:LengthRatio"], [assay.Sample("four", ("eight...",))]
    )
    assert scores.row(0) == (0.5,)


def _step(name: str, folder: Path, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A step of the composite action, with the inputs that its script reads."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / ".github" / "actions" / "assay" / "action.yml").read_text("utf-8"))
    (step,) = [step for step in action["runs"]["steps"] if step["name"] == name]
    names = {
        key: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)[1] for key, value in step["env"].items()
    }
    inputs = {
        key: settings.get(given, action["inputs"][given].get("default", "")) for key, given in names.items()
    }
    files = {f"GITHUB_{file}": str(folder / file) for file in ("OUTPUT", "STEP_SUMMARY")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    environment = os.environ | inputs | files | {"PATH": PATH}
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_the_action_audits_writes_a_summary_and_gates(tmp_path: Path) -> None:
    metrics = f"{EXAMPLES / 'length_ratio.py'}:LengthRatio\nbleu\n"
    settings = {"metric": metrics, "options": "--only repetition --only stereotype --limit 12"}
    audited = _step("Audit", tmp_path, settings)
    assert audited.returncode == 0, audited.stderr
    assert (tmp_path / "OUTPUT").read_text() == "report=assay-run/report.html\n"
    assert (tmp_path / "assay-run" / "report.html").exists()
    strict = _step("Gate", tmp_path, settings | {"fail-on": "fail inconclusive"})
    assert strict.returncode == 1
    assert "length-ratio" in strict.stderr
    summary = (tmp_path / "STEP_SUMMARY").read_text("utf-8")
    assert re.match(r"## assay: \d+ of \d+ requirements failed\n", summary)
    assert re.search(r"\| metric \|.*\n.*\n\| length-ratio \|.*\n\| bleu \|.*\n", summary)
    lenient = _step("Gate", tmp_path, settings | {"bounds": str(EXAMPLES / "bounds.toml")})
    assert lenient.returncode == 0, lenient.stderr
    assert (tmp_path / "assay-run" / "assay.xml").exists()


@pytest.mark.parametrize(
    ("ref", "version", "installed"),
    [("v1.2.3", "", "==1.2.3"), ("v1.2.3", "==1.0.0", "==1.0.0"), ("main", "==1.0.0", "==1.0.0")],
)
def test_the_action_installs_the_version_of_its_own_tag(
    tmp_path: Path, ref: str, version: str, installed: str
) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    assert _install(tmp_path, ref, version).stdout.split()[-1] == f"nlg-assay{installed}"
    assert _install(tmp_path, "main", "").returncode == 2  # a branch has no version


def _install(folder: Path, ref: str, version: str) -> subprocess.CompletedProcess[str]:
    """The step that installs, with a `python` in the folder that prints what it is asked."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / ".github" / "actions" / "assay" / "action.yml").read_text("utf-8"))
    assert action["runs"]["steps"][0]["env"]["REF"] == "${{ github.action_ref }}"
    environment = {"EXTRAS": "", "VERSION": version, "REF": ref, "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["bash", "-eo", "pipefail", "-c", action["runs"]["steps"][0]["run"]]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_newline_in_the_actions_out_forges_no_output(tmp_path: Path) -> None:
    forged = _step("Audit", tmp_path, {"metric": "bleu", "out": "run\nreport=elsewhere"})
    assert forged.returncode == 2
    assert not (tmp_path / "OUTPUT").exists()


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda p: p.name)
def test_workflows_name_what_exists_and_keep_to_what_they_need(path: Path) -> None:
    """Checks of our own; actionlint, whose package downloads a program, knows the rest."""
    yaml = pytest.importorskip("yaml")
    text = path.read_text("utf-8")
    workflow = yaml.safe_load(text)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 120
        assert set(job) <= {
            "runs-on",
            "timeout-minutes",
            "steps",
            "needs",
            "if",
            "permissions",
            "environment",
            "strategy",
        }
        assert job.get("needs", "build") in workflow["jobs"] or "needs" not in job
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step.get("uses", f"a/b@{40 * '0'}"))
            assert set(re.findall(r"\bmake ([\w-]+)", step.get("run", ""))) <= set(targets)
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"] == {"persist-credentials": False}
    used = re.findall(r"uses: .*", text)
    assert all(re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line) for line in used), "a digest with its tag"
    for expression in re.findall(r"\$\{\{ (.+?) \}\}", text):
        known = r"github\.ref|matrix\.(os|python)|hashFiles\('([\w/.]+)'\)"
        assert (match := re.fullmatch(known, expression)), expression
        assert match[2] is None or (ROOT / match[2]).is_file()


def test_versions_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == assay.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## (\S+)", changelog, re.M)[1] == assay.__version__.partition(".dev")[0]
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    tested = re.search(r"python: \[(.+)\]", (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8"))[
        1
    ]
    assert re.findall(r"[\d.]+", tested) == re.findall(r"Python :: (3\.\d+)", project)
