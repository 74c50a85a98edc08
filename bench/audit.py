"""The default `assay audit` end to end, cold with a profile of where the time goes, and then warm.

Run: python -m bench.audit [AUDIT ...]. Weights are fetched before; the cold run has an empty score cache. The
warm run is the command in a process of its own, with what the cold run left in the cache.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.stopwatch import Stopwatch

from assay import report
from assay.api import pipeline
from assay.api.pipeline import DEFAULT_METRICS, choose_audits, execute
from assay.core import Metric
from assay.engine import scoring
from assay.engine.cache import ScoreCache
from assay.engine.questions import quick_limits
from assay.engine.session import Session
from assay.engine.workers import local
from assay.metrics import bertscore
from assay.models import encoder as _encoder
from assay.models import nlp, weights
from assay.reading.results import load_about


def watched() -> Stopwatch:
    """The regions of the profile."""
    watch = Stopwatch()
    watch.watch(_encoder, "_states", "encoder forward")
    watch.watch(_encoder, "content_ids", "tokenisation")
    watch.watch(bertscore.BertScore, "prepare", "loading")
    watch.watch(nlp, "parse", "spaCy")
    watch.watch(local, "evaluate", _kind)
    watch.watch(scoring, "_compute_grid", lambda measure, metric, *_: _kind(metric))
    for name in ("get", "put", "book"):
        watch.watch(ScoreCache, name, "store")
    watch.watch(pipeline, "_work", "cases")
    watch.watch(pipeline, "_explain", "explaining")
    watch.watch(report, "write_report", "report")
    return watch


def _kind(metric: Metric, *_: Any) -> str:
    return metric.paradigm if metric.weights else "overlap"


def cold(only: tuple[str, ...], folder: Path, out: Path, watch: Stopwatch) -> tuple[float, float]:
    """Seconds of one run by the wall, and of its scoring."""
    began = time.perf_counter()
    audits = choose_audits(only, "quick", {})
    for one in audits.values():
        object.__setattr__(one, "judge", watch.timed(one.judge, "judging"))
    session = Session.open(out, folder)
    done = execute(audits, DEFAULT_METRICS, session, size="quick", limits=quick_limits((), session))
    report.write_report(done)
    return time.perf_counter() - began, sum(done.about["seconds"]["scoring"].values())


def warm(only: tuple[str, ...], folder: Path, out: Path) -> tuple[float, float]:
    """The same of the command, started anew."""
    chosen = [word for name in only for word in ("--only", name)]
    command = [sys.executable, "-m", "assay", "audit", *chosen, "--cache", str(folder), "--out", str(out)]
    began = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    spent = time.perf_counter() - began
    return spent, sum(load_about(out)["seconds"]["scoring"].values())


def main(*only: str) -> dict[str, float]:
    for name in ("minilm", "smollm2", "spacy-en"):
        weights.resolve(name)
    watch = watched()
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as out:
        first, first_scoring = cold(only, Path(cache), Path(out), watch)
        profile = watch.stop()
        second, second_scoring = warm(only, Path(cache), Path(out))
    shares = {f"share_{name.replace(' ', '_')}": value / first for name, value in profile.items()}
    return {
        "cold_seconds": first,
        "warm_seconds": second,
        "cold_scoring_seconds": first_scoring,
        "warm_scoring_seconds": second_scoring,
        "scoring_times": first_scoring / second_scoring,
        **dict(sorted(shares.items(), key=lambda item: -item[1])),
    }


if __name__ == "__main__":
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name:24} {value:,.4g}")
