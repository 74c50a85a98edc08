"""Nasty texts through the whole flow: file, cases, scores, findings, folder, report, and back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from nasty import CORPUS, PROSE

from assay.api.pipeline import run
from assay.api.runs import load_run
from assay.api.scores import score
from assay.core import Sample
from assay.engine.session import Session
from assay.errors import AuditError
from assay.report import render, write_report

METRICS = ("bleu", "sacrebleu", "rougeL", "chrf", "ter", "meteor", "rep-4gram")
LONG = "word " * 200_000  # a megabyte


def _write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def _pairs(folder: Path) -> Path:
    rows: list[dict[str, object]] = [
        {"id": f"{n} {text[:40]}", "attribute": "age", "stereotype": f"The old man {text}", "anti_stereotype": f"The young man {text}",
         "reference": f"The man {text}", "template": text[:20]}
        for n, text in enumerate(CORPUS)
    ]  # fmt: skip
    return _write(folder / "pairs.jsonl", rows)


def _rated(folder: Path) -> Path:
    rows: list[dict[str, object]] = [
        {"id": f"{n}", "hypothesis": text, "references": [PROSE[n % 4], text], "system": f"={text[:10]}", "doc": f"<b>{n // 3}",
         "human": {"<i>fluency": n % 5}}
        for n, text in enumerate(CORPUS)
    ]  # fmt: skip
    return _write(folder / "rated.jsonl", rows)


@pytest.mark.parametrize(
    ("audit", "make"), [("stereotype", _pairs), ("human", _rated)], ids=["pairs", "rated"]
)
def test_a_run_survives_and_comes_back(audit: str, make: object, tmp_path: Path) -> None:
    session = Session.open(out=tmp_path / "run", cache=tmp_path / "cache", on_error="skip")
    done = run(audit, ("bleu", "chrf"), session=session, data=(make(tmp_path),))  # type: ignore[operator]
    write_report(done)
    again = load_run(tmp_path / "run")
    assert again.json() == done.json()
    for format in ("html", "md", "latex"):
        assert render(again, format)
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    assert "1787569" not in page, "a template was run"


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_score_or_refuse_nasty_texts(metric: str) -> None:
    samples = [Sample(text, (PROSE[n % 4],)) for n, text in enumerate(CORPUS)]
    frame = score([metric], samples, session=Session.open(cache=None, on_error="skip"))
    values = frame[metric].drop_nulls()
    assert len(values) > 30
    assert values.is_finite().all()


def test_a_line_of_a_megabyte(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "long.jsonl",
        [{"stereotype": LONG + "old", "anti_stereotype": LONG + "young", "reference": LONG}] * 1,
    )
    done = run("stereotype", ("chrf",), session=Session.open(out=tmp_path / "run", cache=None), data=(path,))
    assert done.findings.height
    assert write_report(done).stat().st_size < 20_000_000


def test_cells_that_are_formulas_are_quoted(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    rows: list[dict[str, object]] = [
        {"id": text, "hypothesis": "a b", "references": ["a b"]} for text in ("=1+1", "@x", "+2", "-3", "ok")
    ]
    path = _write(tmp_path / "f.jsonl", rows)
    command = [
        sys.executable,
        "-c",
        "from assay.cli import main; main()",
        "score",
        "--data",
        str(path),
        "-m",
        "bleu",
        "--cache",
        "none",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=os.environ)
    cells = [row["id"] for row in csv.DictReader(io.StringIO(done.stdout))]
    assert cells == ["'=1+1", "'@x", "'+2", "'-3", "ok"]


def test_a_file_of_nul_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nul.jsonl"
    path.write_bytes(b"\0" * 1_000_000)
    with pytest.raises(AuditError):
        run("stereotype", ("bleu",), session=Session.open(cache=None), data=(path,))
