"""A first run asks what a second one asks, and a run that lacks something says so and passes no gate."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.audits.checklist.audit import Checklist
from assay.audits.stress.audit import Stress
from assay.models.fill import MODEL
from assay.models.weights import CARRIERS, resolve
from assay.reading.results import load_run

QUESTIONS = "question-generation"
COMMAND = (
    "run",
    "checklist",
    "--only",
    "masked-words",
    "--only",
    "question-to-statement",
    "--task",
    QUESTIONS,
)


def command(home: Path, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command of assay with a cache of its own."""
    return subprocess.run(
        [sys.executable, "-m", "assay", *map(str, words)],
        capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_CACHE_HOME": str(home)} | environment,
    )  # fmt: skip


@pytest.fixture
def offline_home(tmp_path: Path) -> Path:
    """A cache with the parser and without the language model."""
    resolve("spacy-en")
    home = tmp_path / "home"
    parser = CARRIERS["spacy-en"].home
    shutil.copytree(parser, home / "assay" / "weights" / parser.name)
    return home


def test_a_run_without_the_model_says_so_and_passes_no_gate(offline_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = command(offline_home, *COMMAND, "-m", "chrf", "--out", out, PIP_NO_INDEX="1")
    assert done.returncode == 0, done.stderr
    assert f"checklist was run without masked-words: the weights {MODEL} cannot be fetched" in done.stderr
    assert "masked-words" in load_run(out).about["audits"]["checklist"]["absent"][0]
    gate = command(offline_home, "gate", out)
    assert gate.returncode == 2
    assert "checklist was run without masked-words" in gate.stderr
    whole = command(Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")), *COMMAND, "-m", "chrf",
                    "--out", tmp_path / "whole")  # fmt: skip
    assert whole.returncode == 0, whole.stderr
    compared = command(offline_home, "compare", tmp_path / "whole", out)
    assert compared.returncode == 2
    assert "one run of checklist was made without masked-words" in compared.stderr


def test_a_quick_look_needs_no_language_model(offline_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    quick = [*COMMAND[:2], "--task", QUESTIONS, "--size", "quick", "--limit", "3"]
    done = command(offline_home, *quick, "-m", "chrf", "--out", out, PIP_NO_INDEX="1")
    assert done.returncode == 0, done.stderr
    run = load_run(out)
    assert "absent" not in run.about["audits"]["checklist"]
    assert not run.cases["slice"].str.contains("masked-words").any()


def test_what_asks_a_model_is_fetched_only_where_it_is_asked() -> None:
    assert Stress(asks_model=False).fetch() is None
    assert Checklist(asks_model=False).fetch() is None
    assert Checklist(only=("question-to-statement",)).fetch() is None
    assert Stress(only=("negation",)).fetch() is None
