"""How long 50 metrics x 10 million samples take on N nodes: a simulation of the Ray engine's own loop.

The driver prepares, sends and stores pieces one after the other; workers hold two pieces each. All paces are
measured ones (bench/engine.py, bench/ngrams.py, bench/bertscore.py, bench/ppl.py, `driver` below).

Run: python -m bench.cluster [--measure]
"""

from __future__ import annotations

import heapq
import pickle
import sys
import time
from dataclasses import dataclass

SAMPLES, CORES, START = 10_000_000, 8, 15.0  # a metric; cores a node; seconds until workers have loaded
DRIVER_SAMPLE, DRIVER_PIECE = 17e-6, 0.65e-3  # the driver: a sample kept (bench/engine) and sent, a piece
AIM, MOST = 0.5, 4096  # of engine/batch.py
# Bulk scoring (bench/bulk.py): rows of a part, seconds of a core per row of BLEU, and until workers start.
PART, BULK_ROW, BULK_START = 20_000, 30e-6, 6.0


@dataclass(frozen=True, slots=True)
class Kind:
    """Metrics of one pace: how many, and seconds a sample on one core."""

    name: str
    count: int
    seconds: float


# A sample here has 25 tokens that no other has, as a perturbed sentence.
KINDS = (
    Kind("n-gram", 30, 150e-6),
    Kind("encoder of 22M parameters", 15, 25 / 2000),
    Kind("language model of 135M", 5, 25 / 175),
)


def simulate(kind: Kind, workers: int) -> float:
    """Seconds of one metric, piece by piece."""
    size = max(1, min(MOST, int(AIM / kind.seconds)))
    free = [(START, START) for _ in range(workers)]  # when the last and the one before it will be done
    driver = 0.0
    for _ in range(-(-SAMPLES // size)):
        before, last = heapq.heappop(free)
        driver = max(driver, before) + DRIVER_PIECE + DRIVER_SAMPLE * size  # two pieces in hand, no more
        heapq.heappush(free, (last, max(last, driver) + size * kind.seconds))
    return max(last for _, last in free)


def simulate_bulk(workers: int) -> float:
    """Seconds of bulk scoring: the driver sends names of files, two per core, and workers do the rest."""
    free = [BULK_START] * workers
    driver = 0.0
    for _ in range(-(-SAMPLES // PART)):
        driver += DRIVER_PIECE
        heapq.heappush(free, max(heapq.heappop(free), driver) + PART * BULK_ROW)
    return max(free)


def driver(samples: int = 200_000, small: int = 4, large: int = 4096) -> dict[str, float]:
    """Processor seconds of the driver a piece and a sample sent: by pieces of two sizes, the metric free."""
    import ray
    from bench.engine import Trivial, made

    from assay.engine.workers.crew import pack_samples, score_piece
    from assay.engine.workers.ray import RayEngine

    RayEngine("local", 2).prepare(Trivial(), samples)
    task, recipe, given = ray.remote(score_piece), ray.put(pickle.dumps(Trivial())), made(samples)
    ray.get(task.remote(recipe, [], [], False, None))
    spent = {}
    for size, count in ((small, 500), (large, samples // large)):
        began = time.process_time()
        for number in range(count):
            piece = list(range(number * size, (number + 1) * size))
            ray.get(task.remote(recipe, pack_samples(given, piece), piece, False, None))
        spent[size] = (time.process_time() - began) / count
    ray.shutdown()
    a_sample = (spent[large] - spent[small]) / (large - small)
    return {"piece": spent[small] - small * a_sample, "sample": a_sample}


def main(nodes: tuple[int, ...] = (1, 4, 16, 64)) -> dict[str, float]:
    """Hours by number of nodes, all kinds together and each apart."""
    figures: dict[str, float] = {}
    for number in nodes:
        hours = {kind.name: kind.count * simulate(kind, number * CORES) / 3600 for kind in KINDS}
        figures |= {f"{name}_hours_on_{number}": value for name, value in hours.items()}
        figures[f"all_hours_on_{number}"] = sum(hours.values())
        figures[f"bulk_seconds_on_{number}"] = simulate_bulk(number * CORES)
    return figures


if __name__ == "__main__":
    if "--measure" in sys.argv:
        for name, value in driver().items():
            print(f"driver seconds a {name:27} {value:10.2e}")
    for name, value in main().items():
        print(f"{name:44} {value:10.2f}")
