"""The default `assay audit` end to end, cold and then warm, with a profile of where the time goes.

Run: python -m bench.audit [AUDIT ...]. Weights are fetched before; the cold run has an empty score cache.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.stopwatch import Stopwatch

from assay import report
from assay.core import Metric
from assay.metrics import bertscore
from assay.models import encoder as _encoder
from assay.models import nlp, weights
from assay.run import pipeline, scoring
from assay.run.cache import ScoreCache
from assay.run.engine import local
from assay.run.pipeline import DEFAULT_METRICS, choose_audits, execute
from assay.run.session import Session


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
    watch.watch(pipeline, "_explain", "explaining")
    watch.watch(report, "write_report", "report")
    return watch


def _kind(metric: Metric, *_: Any) -> str:
    return metric.paradigm if metric.weights else "overlap"


def once(only: tuple[str, ...], folder: Path, out: Path, watch: Stopwatch) -> tuple[float, float]:
    """Seconds of one run by the wall, and of its scoring."""
    began = time.perf_counter()
    audits = choose_audits(only, "quick", {})
    for name, one in audits.items():
        with watch.region("cases"):
            listed = list(one.cases())
        object.__setattr__(one, "cases", lambda listed=listed: listed)
        object.__setattr__(one, "judge", watch.timed(one.judge, "judging"))
        if not listed:
            raise ValueError(f"{name} has no cases")
    done = execute(audits, DEFAULT_METRICS, Session.open(out, folder), size="quick")
    report.write_report(done)
    return time.perf_counter() - began, sum(done.about["seconds"]["scoring"].values())


def main(*only: str) -> dict[str, float]:
    for name in ("minilm", "spacy-en"):
        weights.resolve(name)
    watch = watched()
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as out:
        cold, cold_scoring = once(only, Path(cache), Path(out), watch)
        profile = watch.stop()
        warm, warm_scoring = once(only, Path(cache), Path(out), watch)
    shares = {f"share_{name.replace(' ', '_')}": value / cold for name, value in profile.items()}
    return {
        "cold_seconds": cold,
        "warm_seconds": warm,
        "cold_scoring_seconds": cold_scoring,
        "warm_scoring_seconds": warm_scoring,
        "scoring_times": cold_scoring / warm_scoring,
        **dict(sorted(shares.items(), key=lambda item: -item[1])),
    }


if __name__ == "__main__":
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name:24} {value:,.4g}")
