"""A package installed with pip plugs in a metric, an audit or an edit by entry point; a clash of names raises."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = """[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"
[project]
name = "assay-tiny-plugin"
version = "1.0"
[project.entry-points."assay.{kind}"]
{name} = "tiny_plugin:{identifier}"
[tool.setuptools]
py-modules = ["tiny_plugin"]
"""
METRIC = '''from dataclasses import dataclass
from assay import Metric

@dataclass(frozen=True)
class Vowels(Metric):
    """The share of vowels."""
    name = "vowels"
    needs = frozenset()
    citation = "nobody"
    def score(self, samples):
        return [sum(c in "aeiou" for c in s.hypothesis) / max(1, len(s.hypothesis)) for s in samples]
'''


def _shown(what: str) -> str:
    """The module that CONTRIBUTING.md shows for a kind of plug-in, as it stands there."""
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    found = re.search(rf"\*\*{what}\.\*\*.*?```python\n(.*?)```", guide, re.S)
    assert found is not None
    return found[1]


TITLE = "Texts in capital letters"
SENTENCE = re.compile(r"rougeL .*the same text in capital letters.* 50 of 100 cases")


def _install(folder: Path, kind: str, name: str, module: str) -> dict[str, str]:
    """The environment in which a package with this one entry point is installed."""
    package = folder / f"package-{name}"
    package.mkdir()
    identifier = re.findall(r"^class (\w+)", module, re.M)[-1]
    (package / "pyproject.toml").write_text(PROJECT.format(kind=kind, name=name, identifier=identifier))
    (package / "tiny_plugin.py").write_text(module)
    target = folder / f"site-{name}"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, package]
    subprocess.run(command, check=True, capture_output=True)
    paths = [str(target), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def _python(code: str, *words: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, check=False)


def _assay(*words: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return _python("from assay.cli import main; main()", *words, env=env, cwd=cwd)


def test_an_installed_package_adds_a_metric(tmp_path: Path) -> None:
    env = _install(tmp_path, "metrics", "vowels", METRIC)
    listed = _assay("list", "metrics", "--json", env=env, cwd=tmp_path)
    assert "vowels" in {row["name"] for row in json.loads(listed.stdout)["metrics"]}
    row = {"id": "1", "hypothesis": "aab", "references": ["x"]}
    (tmp_path / "data.jsonl").write_text(json.dumps(row) + "\n")
    words = ("score", "-m", "vowels", "--data", "data.jsonl", "--json", "--cache", "none")
    scored = _assay(*words, env=env, cwd=tmp_path)
    assert json.loads(scored.stdout)["scores"] == [{"id": "1", "vowels": 2 / 3}]


def test_a_clash_of_names_raises(tmp_path: Path) -> None:
    env = _install(tmp_path, "metrics", "bleu", METRIC)
    done = _assay("list", "metrics", env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "two metrics are called 'bleu'" in done.stderr


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The audit of CONTRIBUTING.md, installed and run twice: BLEU minds capital letters, ROUGE is blind to them."""
    folder = tmp_path_factory.mktemp("plugged")
    env = _install(folder, "audits", "capitals", _shown("An audit")) | {"COLUMNS": "200"}
    for name, bar in (("strict", "75"), ("lenient", "25")):
        words = ("run", "capitals", "-m", "bleu", "-m", "rougeL", "--bar", bar, "--cache", "none")
        done = _assay(*words, "--out", name, env=env, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder, env


def test_the_audit_of_the_guide_keeps_the_contract(plugged: tuple[Path, dict[str, str]]) -> None:
    code = "from assay.testing import check_audit; from tiny_plugin import Capitals; check_audit(Capitals())"
    done = _python(code, env=plugged[1], cwd=plugged[0])
    assert done.returncode == 0, done.stderr


def test_it_is_listed_and_in_the_reference(plugged: tuple[Path, dict[str, str]]) -> None:
    folder, env = plugged
    listed = json.loads(_assay("list", "audits", "--json", env=env, cwd=folder).stdout)["audits"]
    (row,) = [row for row in listed if row["name"] == "capitals"]
    assert (row["question"], row["title"]) == ("robustness", TITLE)
    assert {"data", "limit", "bar"} <= set(re.findall(r"\w+", row["options"]))
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['reference']())"
    text = _python(code, str(ROOT / "docs" / "make_reference.py"), env=env, cwd=folder).stdout
    assert f"### capitals: {TITLE}" in text
    assert (
        "| `right_order` | of 100 | low | Of 100 decisions between a text and the same text in capital"
        in text
    )


def test_the_report_has_its_title_sentence_and_meaning(plugged: tuple[Path, dict[str, str]]) -> None:
    page = (plugged[0] / "strict" / "report.html").read_text("utf-8")
    assert TITLE in page
    assert SENTENCE.search(page)
    assert "Of 100 decisions between a text and the same text in capital letters" in page


def test_compare_gate_and_card_know_it(plugged: tuple[Path, dict[str, str]]) -> None:
    folder, env = plugged
    turned = json.loads(_assay("compare", "strict", "lenient", "--json", env=env, cwd=folder).stdout)[
        "changes"
    ]
    # Verdicts by other bars are not comparable.
    assert {row["direction"] for row in turned} == {"not compared"}
    card = _assay("report", "strict", "--format", "card", "-m", "rougeL", env=env, cwd=folder).stdout
    assert SENTENCE.search(card)
    assert _assay("gate", "strict", "--fail-on", "blind", env=env, cwd=folder).returncode == 1
    assert _assay("gate", "lenient", "--fail-on", "blind", env=env, cwd=folder).returncode == 0


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The perturbation of CONTRIBUTING.md, installed, in a run of the stress tests and one of the checklist."""
    folder = tmp_path_factory.mktemp("edited")
    env = _install(folder, "perturbations", "shouting", _shown("A perturbation")) | {"COLUMNS": "200"}
    for audit in ("stress", "checklist"):
        words = ("run", audit, "-m", "bleu", "-m", "rougeL", "--only", "shouting", "--limit", "30")
        done = _assay(*words, "--cache", "none", "--out", audit, env=env, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder, env


def test_a_plugged_edit_keeps_the_contract_and_is_listed(edited: tuple[Path, dict[str, str]]) -> None:
    folder, env = edited
    code = "from assay.testing import check_perturbation; check_perturbation('shouting')"
    done = _python(code, env=env, cwd=folder)
    assert done.returncode == 0, done.stderr
    listed = json.loads(_assay("list", "perturbations", "--json", env=env, cwd=folder).stdout)
    (row,) = [row for row in listed["perturbations"] if row["name"] == "shouting"]
    assert (row["criterion"], row["what"]) == (
        "fluency",
        "A share of the words is written in capital letters.",
    )
    changed = _assay("perturb", "shouting:level=1", "--text", "It rains.", env=env, cwd=folder)
    assert "IT RAINS." in changed.stdout


@pytest.mark.parametrize(
    ("audit", "slice_", "what"),
    [
        ("stress", "translation/shouting", "one damaged by shouting"),
        ("checklist", "translation/fluency/shouting", "one with words in capital letters"),
    ],
)
def test_audits_ask_about_a_plugged_edit(
    audit: str, slice_: str, what: str, edited: tuple[Path, dict[str, str]]
) -> None:
    """BLEU minds capital letters, ROUGE is blind to them, and the report says so in the words of the class."""
    folder, _ = edited
    findings = pl.read_parquet(folder / audit / "findings.parquet")
    judged = findings.filter(slice=slice_, statistic="right_order")
    assert dict(judged.select("metric", "verdict").iter_rows()) == {"bleu": "pass", "rougeL": "fail"}
    assert what in (folder / audit / "report.html").read_text("utf-8")
