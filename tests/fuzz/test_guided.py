"""Coverage-guided fuzzing, by `make soak`: 100,000 inputs for every loader and the spec parser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from seeds import TARGETS

pytest.importorskip("atheris", reason="pip install 'nlg-assay[fuzz]'")
RUNS = 100_000 if os.environ.get("ASSAY_SOAK") else 1_000
_SLOW = {"pairs-parquet": 10, "association": 10}  # so many times fewer


@pytest.mark.parametrize("name", ["spec", *TARGETS])
def test_no_input_found_by_coverage_is_unhandled(name: str) -> None:
    runs = RUNS // _SLOW.get(name, 1)
    command = [sys.executable, str(Path(__file__).with_name("guided.py")), name]
    done = subprocess.run(
        [*command, f"-atheris_runs={runs}", "-max_len=4000", "-seed=1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert f"Done {runs}" in done.stderr
