"""A package installed with pip plugs a metric in by entry point; a clash of names raises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROJECT = """[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"
[project]
name = "assay-tiny-plugin"
version = "1.0"
[project.entry-points."assay.metrics"]
{name} = "tiny_plugin:Vowels"
[tool.setuptools]
py-modules = ["tiny_plugin"]
"""
MODULE = '''from dataclasses import dataclass
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


def _install(folder: Path, name: str) -> dict[str, str]:
    package = folder / f"package-{name}"
    package.mkdir()
    (package / "pyproject.toml").write_text(PROJECT.format(name=name))
    (package / "tiny_plugin.py").write_text(MODULE)
    target = folder / f"site-{name}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(target),
        str(package),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return os.environ | {"PYTHONPATH": str(target)}


def _assay(*words: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from assay.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, check=False)


def test_an_installed_package_adds_a_metric(tmp_path: Path) -> None:
    env = _install(tmp_path, "vowels")
    listed = _assay("list", "metrics", "--json", env=env, cwd=tmp_path)
    assert "vowels" in {row["name"] for row in json.loads(listed.stdout)["metrics"]}
    row = {"id": "1", "hypothesis": "aab", "references": ["x"]}
    (tmp_path / "data.jsonl").write_text(json.dumps(row) + "\n")
    words = ("score", "-m", "vowels", "--data", "data.jsonl", "--json", "--cache", "none")
    scored = _assay(*words, env=env, cwd=tmp_path)
    assert json.loads(scored.stdout)["scores"] == [{"id": "1", "vowels": 2 / 3}]


def test_a_clash_of_names_raises(tmp_path: Path) -> None:
    env = _install(tmp_path, "bleu")
    done = _assay("list", "metrics", env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "two metrics are called 'bleu'" in done.stderr
