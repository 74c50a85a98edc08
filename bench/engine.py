"""What the engine itself costs: a metric that does nothing over a million samples, cold and warm, and memory.

Run: python -m bench.engine [samples]. Each part runs in a process of its own, so that peaks are its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core import Metric, Sample
from assay.engine.cache import ScoreCache
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.models import encoder as _encoder
from assay.models.torch import load
from assay.names.spec import measure, parse_spec

SAMPLES = 1_000_000


@dataclass(frozen=True)
class Trivial(Metric):
    """Does nothing, so that what is left is ours."""

    name = "trivial"
    origin = "bench"  # or its source would be looked for, and its scores not kept

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [1.0] * len(samples)


def made(count: int) -> list[Sample]:
    """Distinct hypotheses, a reference for every five."""
    return [
        Sample(
            f"the hypothesis number {n} of a good many words, none of them rare",
            (f"the reference number {n // 5} of about as many words as that",),
        )
        for n in range(count)
    ]


def overhead(count: int) -> dict[str, float]:
    """Microseconds a sample, by the wall and by the processor, first and second time."""
    samples, figures = made(count), {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cold", "warm"):
            settings = Session(ScoreCache(Path(folder)))
            wall, processor = time.perf_counter(), time.process_time()
            score_samples(measure(Trivial()), samples, settings)
            figures[f"{name}_microseconds"] = (time.perf_counter() - wall) / count * 1e6
            figures[f"{name}_cpu_microseconds"] = (time.process_time() - processor) / count * 1e6
    return figures | {"peak_megabytes": _peak()}


def memory(count: int, spec: str) -> dict[str, float]:
    """Peak of one process that scores so many samples with an n-gram metric, and seconds a sample."""
    samples = made(count)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        score_samples(parse_spec(spec), samples, Session(ScoreCache(Path(folder))))
        seconds = time.process_time() - began
    return {"peak_megabytes": _peak(), "cpu_microseconds": seconds / count * 1e6}


def neural(references: int, each: int) -> dict[str, float]:
    """Cold against warm of bertscore on perturbed sets, and the share of the forward passes."""
    from bench.perturbed import references as texts_of
    from bench.perturbed import versions

    texts = texts_of(references)
    samples = [Sample(version, (text,)) for text in texts for version in versions(text, each)]
    one = parse_spec("bertscore-f")
    one.metric.prepare()
    one.metric.score([Sample("warm up", ("warm up",))])  # type: ignore[union-attr]
    _encoder.MEMORY.clear()
    spent = _timed_forward()
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (Session(ScoreCache(Path(folder))) for _ in range(2))
        first = score_samples(one, samples, cold).values
        second = score_samples(one, samples, warm).values
    if not (first == second).all():
        raise ValueError("the cache does not give back what was put")
    seconds = [settings.seconds["bertscore-f"] for settings in (cold, warm)]
    return {
        "pairs": float(len(samples)),
        "cold_seconds": seconds[0],
        "warm_seconds": seconds[1],
        "times": seconds[0] / seconds[1],
        "forward_share": spent[0] / seconds[0],
    }


def _timed_forward() -> list[float]:
    """Time the model's own calls, nothing around them."""
    model = load("AutoModel", "minilm", unused=("pooler",), layers=6).model
    spent, began = [0.0], [0.0]

    def before(*_: object) -> None:
        began[0] = time.perf_counter()

    def after(*_: object) -> None:
        spent[0] += time.perf_counter() - began[0]

    model.register_forward_pre_hook(before)
    model.register_forward_hook(after)
    return spent


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(call: str, module: str = "engine") -> dict[str, float]:
    """One part in a process of its own."""
    code = f"import json; from bench import {module}; print(json.dumps({module}.{call}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in json.loads(done.stdout.splitlines()[-1]).items()}


def main(count: int = SAMPLES) -> dict[str, float]:
    figures = {"samples": float(count)}
    figures |= {f"trivial_{name}": value for name, value in apart(f"overhead({count})").items()}
    figures |= {f"bleu_{name}": value for name, value in apart(f"memory({count}, 'bleu')").items()}
    return figures | {f"bertscore_{name}": value for name, value in apart("neural(60, 30)").items()}


if __name__ == "__main__":
    for name, value in main(*map(int, sys.argv[1:])).items():
        print(f"{name:34} {value:,.6g}")
