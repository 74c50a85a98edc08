"""The same findings, byte for byte, by every Python that is here: part of `make soak`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
COMMAND = "run stereotype -m bleu -m chrf -m rougeL -m ter --limit 40 --json --quiet --cache none"
pytestmark = pytest.mark.skipif(
    not os.environ.get("ASSAY_SOAK"), reason="installs assay into new environments: make soak"
)


def _interpreter(version: str) -> str | None:
    """Among pyenv's, whose commands on the path need not work, or on the path."""
    homes = sorted(Path(os.environ.get("PYENV_ROOT", "/nowhere")).glob(f"versions/{version}.*/bin"))
    pyenv = next((str(home / f"python{version}") for home in homes), None)
    return pyenv or shutil.which(f"python{version}")


def _findings(python: str, folder: Path) -> str:
    words = [python, "-m", "assay", *COMMAND.split(), "--out", str(folder / "run")]
    return subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder).stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_finds_the_same(version: str, tmp_path: Path) -> None:
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        pytest.skip("this is the one that runs the tests")
    interpreter = _interpreter(version)
    if interpreter is None:
        pytest.skip(f"no python{version} here")
    subprocess.run([interpreter, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([*install, *constraints, "--editable", str(ROOT)], check=True, capture_output=True)
    assert _findings(python, tmp_path) == _findings(sys.executable, tmp_path)
