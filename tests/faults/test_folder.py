"""The run folder under faults: a full disk ends with a message, never with half a run that looks whole."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from assay import __version__
from assay.api.runs import load_run
from assay.errors import CacheError, unwritable
from assay.reading.results import check_writable, load_findings

# The limit comes after the imports: it is the run that must meet it.
LIMITED = """
import resource, signal, sys
import assay.cli, assay.api.pipeline, assay.report.page
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
assay.cli.main()
"""


def _run(limit: int, folder: Path) -> subprocess.CompletedProcess[str]:
    rows = [
        {"id": f"p{n}", "stereotype": f"old {n} x", "anti_stereotype": f"young {n}", "reference": f"one {n}"}
        for n in range(300)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["run", "stereotype", "-m", "bleu", "--data", "pairs.jsonl", "--cache", "none", "-q", "--json"]
    command = [sys.executable, "-c", LIMITED, str(limit), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ)


@pytest.mark.parametrize("limit", [100, 3_000, 60_000])
def test_a_full_disk_is_a_message(limit: int, tmp_path: Path) -> None:
    done = _run(limit, tmp_path)
    assert done.returncode == 2, done.stderr
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    if limit < 60_000:
        with pytest.raises(CacheError):
            load_run(tmp_path / "assay-run")


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EEXIST, "a file is in the way"),
        (errno.ENOTDIR, "a file is in the way"),
        (errno.ENOENT, "make its folder first"),
        (errno.EACCES, "choose a place that you may write to"),
        (errno.ENOSPC, "free some space"),
    ],
)
def test_advice_fits_the_error_and_every_command(number: int, advice: str) -> None:
    message = str(unwritable("there", OSError(number, os.strerror(number))))
    assert message.startswith(f"cannot write there: {os.strerror(number)}; {advice}")
    assert "--out" not in message  # gate and report have no such option


@pytest.mark.parametrize("version", ["0.1.0", "0.2.3", "0.9.0"])
def test_a_run_of_another_version_says_which_and_what_to_do(version: str, tmp_path: Path) -> None:
    """Its tables are others, not damaged; a new run may take its place."""
    folder = tmp_path / "run"
    folder.mkdir()
    about = {"assay": version, "metrics": {}, "audits": {}, "notes": [], "files": {}}
    (folder / "run.json").write_text(json.dumps(about))
    for name in ("findings", "cases", "scores"):
        pl.DataFrame({"metric": ["bleu"], "mde": [0.1]}).write_parquet(folder / f"{name}.parquet")
    (folder / "explanations.jsonl").write_text("")
    for read in (load_run, load_findings):
        with pytest.raises(CacheError) as caught:
            read(folder)
        said = str(caught.value)
        assert f"{folder} was written by assay {version}" in said
        assert "run the audit again" in said
        assert "damaged" not in said
    check_writable(folder)
    (folder / "run.json").write_text(json.dumps({"assay": version}))  # the first versions wrote no notes
    with pytest.raises(CacheError, match=f"was written by assay {version}"):
        load_run(folder)
    check_writable(folder)
    about["assay"] = __version__
    (folder / "run.json").write_text(json.dumps(about))
    with pytest.raises(CacheError, match="is damaged"):
        load_run(folder)
