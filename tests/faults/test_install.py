"""Wheel and sdist, built and tried in a clean environment without extras: part of `make soak`."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("ASSAY_SOAK"), reason="installs assay into a new environment: make soak"
    ),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def _members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("RECORD")}


@pytest.fixture(scope="module")
def assay(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a clean environment that has the wheel and the core dependencies."""
    folder = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    (wheel,) = built.glob("nlg_assay-*.whl")
    install = [
        str(folder / "bin" / "pip"),
        "install",
        "--quiet",
        "--constraint",
        str(ROOT / "constraints.txt"),
    ]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    return folder / "bin" / "assay"


def _run(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = list(map(str, words))
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)


def test_the_wheel_of_the_sdist_has_the_same_files(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("nlg_assay-*.whl")
    (sdist,) = built.glob("nlg_assay-*.tar.gz")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, sdist]
    assert _run(*command, cwd=tmp_path).returncode == 0
    members = _members(wheel)
    assert _members(tmp_path / wheel.name) == members
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "assay").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in members if name.startswith("assay/")} == sources


def test_the_default_command_ends_with_a_report_and_one_note(assay: Path, tmp_path: Path) -> None:
    assert _run(assay.with_name("python"), "-c", "import torch", cwd=tmp_path).returncode == 1
    done = _run(assay, "audit", "--cache", tmp_path / "cache", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:5]] == [
        "bleu",
        "rougeL",
        "chrf",
        "embedding-average",
    ]
    (note,) = [line for line in done.stderr.splitlines() if "pip install" in line]
    assert (
        note
        == "note: not run: packages are missing for bertscore-f, gpt-ppl; pip install 'nlg-assay[neural]'"
    )
    assert (tmp_path / "assay-run" / "report.html").stat().st_size > 500_000


def test_one_audit_of_one_metric(assay: Path, tmp_path: Path) -> None:
    done = _run(
        assay, "audit", "--only", "stereotype", "-m", "bleu", "--limit", "20", "--quiet", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert " bleu " in done.stdout


@pytest.mark.parametrize("words", [("audit", "-m", "bertscore-f"), ("serve",)])
def test_what_needs_an_extra_says_so_in_one_line(assay: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = _run(assay, *words, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "pip install 'nlg-assay[" in line


def test_the_lock_installs_without_a_network(tmp_path: Path) -> None:
    """From a folder of packages alone: nothing is asked of an index, for what builds sources neither."""
    wheels, environment = tmp_path / "wheels", tmp_path / "empty"
    lock = str(ROOT / "requirements.lock")
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "-r", lock]
    subprocess.run([*download, "-d", str(wheels)], check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-index"]
    offline = {**os.environ, "PIP_CONFIG_FILE": os.devnull, "HOME": str(tmp_path)}
    locked = [*pip, "--find-links", str(wheels), "--require-hashes", "-r", lock]
    subprocess.run(locked, check=True, capture_output=True, env=offline)
    own = [*pip, "--no-deps", "--no-build-isolation", str(ROOT)]
    subprocess.run(own, check=True, capture_output=True, env=offline)
    score = "import assay; print(assay.score(['chrf'], ['a text'], ['a text']).item())"
    done = _run(environment / "bin" / "python", "-c", score, cwd=tmp_path)
    assert done.stdout.strip() == "100.0", done.stderr
