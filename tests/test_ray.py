"""A real Ray, on this machine alone: the same scores, a killed worker, a node that joins in mid-run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from assay.api.pipeline import run
from assay.core import Metric, Sample
from assay.engine.cache import ScoreCache
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.engine.workers.local import LocalEngine
from assay.engine.workers.ray import RayEngine
from assay.errors import MetricError
from assay.names.spec import measure, parse_spec

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray's switch for loopback only; read at import
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray.*"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@dataclass(frozen=True)
class Slow(Metric):
    """Logs who scored what, and takes its time."""

    name = "slow"
    log: str = ""  # without its suffix: a file that a field names is input, and must not change in a run
    seconds: float = 0.004

    def score(self, samples: Sequence[Sample]) -> list[float]:
        import ray

        time.sleep(self.seconds * len(samples))
        node = ray.get_runtime_context().get_node_id()
        with Path(f"{self.log}.txt").open("a") as log:
            log.write("".join(f"{os.getpid()} {sample.key} {node}\n" for sample in samples))
        return [float(len(sample.hypothesis)) for sample in samples]


@dataclass(frozen=True)
class Raising(Metric):
    name = "raising"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        raise ValueError("cannot read this")


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    import ray
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 2, "object_store_memory": 80_000_000, "include_dashboard": False}
    started = Cluster(initialize_head=True, head_node_args=small)
    yield started
    ray.shutdown()
    started.shutdown()


@pytest.fixture
def engine(cluster):
    from assay.engine.workers.ray import RayEngine

    return RayEngine(cluster.address)


def _samples(count: int) -> list[Sample]:
    return [Sample(f"the number {n} of {n % 7} words", (f"number {n // 5} of words",)) for n in range(count)]


def _logged(path: Path) -> list[tuple[int, str, str]]:
    """Process, sample and node of each line that is whole."""
    rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(int(row[0]), row[1], row[2]) for row in rows if len(row) == 3]


def _until(path: Path, enough: int) -> None:
    """Wait until so many samples have been scored."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(_logged(path)) < enough:
        time.sleep(0.02)


def test_overlap_findings_are_the_same_bytes(engine, cluster) -> None:
    here = run("stereotype", ["chrf", "bleu"], limit=20, session=Session.open(cache=None))
    there = run(
        "stereotype", ["chrf", "bleu"], limit=20, session=Session.open(cache=None, ray=cluster.address)
    )
    assert there.json() == here.json()


def test_neural_scores_are_equal_but_for_rounding(engine) -> None:
    texts = _samples(40)
    here, there = (
        score_samples(parse_spec("bertscore-f"), texts, Session(engine=chosen)).values
        for chosen in (LocalEngine(), engine)
    )
    assert np.abs(here - there).max() < 1e-6


def test_a_killed_worker_costs_only_what_it_had_in_hand(engine, tmp_path: Path) -> None:
    log, texts = tmp_path / "log.txt", _samples(1200)
    settings = Session(ScoreCache(tmp_path), engine)
    with ThreadPoolExecutor(1) as beside:
        scored = beside.submit(score_samples, measure(Slow(str(log.with_suffix("")))), texts, settings)
        _until(log, 200)
        killed = _logged(log)[-1][0]
        assert killed != os.getpid()
        os.kill(killed, signal.SIGKILL)
        values = scored.result().values[:, 0]
    assert values.tolist() == [len(text.hypothesis) for text in texts]
    done = _logged(log)
    times = Counter(key for _, key, _ in done)
    assert set(times) == {text.key for text in texts}
    assert done[-1][0] != killed, "another worker went on"
    # One piece was in hand; by then it had at most the samples of half a second.
    assert sum(count - 1 for count in times.values()) <= 0.5 / 0.004
    assert max(times.values()) <= 2
    again = Session(ScoreCache(tmp_path), engine)
    score_samples(measure(Slow(str(log.with_suffix("")))), texts, again)
    assert again.computed["slow"] == 0, "every score was put into the store as it came"


def test_a_node_that_joins_in_mid_run_takes_its_share(engine, cluster, tmp_path: Path) -> None:
    log, texts = tmp_path / "log.txt", _samples(2400)
    with ThreadPoolExecutor(1) as beside:
        scored = beside.submit(
            score_samples, measure(Slow(str(log.with_suffix("")), 0.01)), texts, Session(engine=engine)
        )
        _until(log, 100)
        node = cluster.add_node(num_cpus=1, object_store_memory=80_000_000, wait=False)
        values = scored.result().values[:, 0]
    cluster.remove_node(node)
    assert values.tolist() == [len(text.hypothesis) for text in texts]
    done = _logged(log)
    assert len({node for *_, node in done}) == 2, "the new node scored too"
    assert len(done) == len(texts), "nothing was scored twice"


def test_a_metric_that_raises_is_named_and_can_be_skipped(engine) -> None:
    with pytest.raises(MetricError, match="ValueError: cannot read this on the sample"):
        score_samples(measure(Raising()), _samples(3), Session(engine=engine))
    settings = Session(engine=engine, on_error="skip")
    table = score_samples(measure(Raising()), _samples(3), settings)
    assert np.isnan(table.values).all()
    assert len(settings.failures) == 3


def test_a_cluster_that_is_not_there_is_said_so() -> None:
    command = [sys.executable, "-m", "assay", "run", "stereotype", "-m", "bleu", "--limit", "5"]
    done = subprocess.run(
        [*command, "--cache", "none", "--ray", "127.0.0.1:1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert "no cluster answers" in done.stderr


def test_a_machine_too_busy_to_start_ray_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def late(**_: object) -> None:
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", late)
    with pytest.raises(MetricError, match=r"--ray local: Ray did not start \(The current node timed out"):
        RayEngine("local").prepare(parse_spec("bleu").metric, 1)
