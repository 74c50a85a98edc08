"""The engine of many machines: each piece is a task of Ray's, in processes that keep their models.

Nodes that join later take their share; a piece lost with its process or its node is handed out again, so
that at most the pieces under way are scored twice. Results come back one by one, and scoring puts them into
the cache of the machine that runs it.
"""

from __future__ import annotations

import importlib
import os
import pickle
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from assay.core import Measure, Metric, Sample
from assay.engine.workers.batch import FAULTS, Batch, Pieces
from assay.engine.workers.crew import Crew, score_piece
from assay.errors import MetricError, install
from assay.vocabulary import OnError

_AHEAD = 2  # pieces per core: one scored, one waiting, so that it never waits for us
_LOOK = 2.0  # seconds between two looks at the cluster's size
_STORE = 200_000_000  # bytes of a local cluster's object store; pieces are small
_DEATHS = 5  # of the worker of one part
_CALLS = 1_000_000  # of one process
_TaskAnswer = TypeVar("_TaskAnswer")


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Scores on a running cluster (`auto` or an address) or on one of our own (`local`).

    At most so many workers score at once; without a number, one per core of the cluster.
    """

    address: str = "auto"
    workers: int | None = None
    timeout: float | None = None  # seconds that one call of the metric may take

    def prepare(self, metric: Metric, samples: int) -> None:
        """Connect; the workers load what they need."""
        _connect(self)

    def run(self, metric: Metric, samples: Sequence[Sample], on_error: OnError) -> Iterator[Batch]:
        ray = _connect(self)
        recipe = ray.put(_pickle(ray, [metric], metric))  # once for all workers
        crew = Nodes(metric, recipe, on_error == "skip", ray, self)
        yield from crew.run(Pieces(metric, samples), samples)


@dataclass
class Nodes(Crew):
    """The cores of a cluster, or its GPUs if the metric has a model for them; Ray starts their processes."""

    ray: Any
    engine: RayEngine
    most: int = 0
    looked: float = 0.0

    def __post_init__(self) -> None:
        on_gpu = bool(self.metric.weights) and self.ray.cluster_resources().get("GPU", 0) >= 1
        self.scarce = "GPU" if on_gpu else "CPU"
        # Ray would end a process after its first piece on a GPU, and the model would be loaded again.
        needs = {"num_gpus": 1, "max_calls": _CALLS} if on_gpu else {}
        self.task = self.ray.remote(num_cpus=1, max_retries=0, **needs)(score_piece)

    def room(self, under_way: int, *, suspects: bool) -> int:
        """As many as the cluster scores now, also on nodes that have joined, and as many again to follow."""
        if time.monotonic() - self.looked >= _LOOK:
            self.looked = time.monotonic()
            cores = max(1, int(self.ray.cluster_resources().get(self.scarce, 0)))
            workers = self.engine.workers
            self.most = workers if workers and workers < cores else _AHEAD * cores
        return self.most

    def submit(self, rows: Sequence[tuple[Any, ...]], piece: list[int]) -> Any:
        return self.task.remote(self.recipe, rows, piece, self.skip, self.engine.timeout)

    def collect(self, jobs: Sequence[Any]) -> Iterator[tuple[Any, Batch | None]]:
        for job in self.ray.wait(jobs, num_returns=1, timeout=_LOOK)[0]:
            try:
                yield job, self.ray.get(job)
            except self.ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except self.ray.exceptions.RayError:  # a worker, its node or its answer is gone
                yield job, None

    def cancel(self, job: Any) -> None:
        """Let it end by itself: Ray ends the driver where a task is cancelled as its answer arrives."""


def map_tasks(
    engine: RayEngine,
    task: Callable[[Any, Any], _TaskAnswer],
    shared: Sequence[Measure],
    items: Sequence[Any],
) -> Iterator[_TaskAnswer]:
    """The answers of `task(shared, item)` as they come, each item a task on some node of the cluster."""
    ray = _connect(engine)
    recipe = ray.put(_pickle(ray, [measure.metric for measure in shared], shared))
    cores = int(ray.cluster_resources().get("CPU", 1))
    most = min(cores, engine.workers or cores)
    remote = ray.remote(_run_task).options(num_cpus=1, max_retries=_DEATHS)
    waiting: list[Any] = list(items)
    under_way: list[Any] = []
    while waiting or under_way:
        while waiting and len(under_way) < _AHEAD * most:
            under_way.append(remote.remote(task, recipe, waiting.pop(0)))
        (done,), under_way = ray.wait(under_way, num_returns=1)
        try:
            yield ray.get(done)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None


def _run_task(task: Callable[[Any, Any], _TaskAnswer], recipe: bytes, item: Any) -> _TaskAnswer:
    """In a worker: one task, on the metrics as they were sent."""
    return task(pickle.loads(recipe), item)


def _pickle(ray: Any, metrics: Sequence[Any], whole: Any) -> bytes:
    """`whole` as bytes; the classes of users' metrics in it travel too, as no node has their files."""
    modules = [importlib.import_module(type(metric).__module__) for metric in metrics]
    own = [m for m in modules if not m.__name__.startswith("assay.") and m.__name__ != "__main__"]
    for module in own:
        ray.cloudpickle.register_pickle_by_value(module)
    try:
        recipe: bytes = ray.cloudpickle.dumps(whole)
    finally:
        for module in own:
            ray.cloudpickle.unregister_pickle_by_value(module)
    return recipe


def _connect(engine: RayEngine) -> Any:
    """The ray module, connected; a driver that is connected already stays where it is."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if engine.address == "local":
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # Ray's switch for loopback only
    try:
        import ray
    except ImportError as error:
        raise MetricError(f"--ray needs Ray: {install('scale')}") from error
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    try:
        if engine.address == "local":
            cores = engine.workers or os.cpu_count()
            own = {"include_dashboard": False, "object_store_memory": _STORE}
            ray.init(address="local", num_cpus=cores, **own, **quiet)
        else:
            _check_reachable(engine.address)
            ray.init(address=engine.address, **quiet)
    except FAULTS as error:  # a machine that is too busy to start in time raises a bare Exception
        problem = f"no cluster answers ({error}); start one with `ray start --head`, or give --ray local"
        if engine.address == "local":
            problem = (
                f"Ray did not start ({error}); try again when the machine is less busy, or without --ray"
            )
        raise MetricError(f"--ray {engine.address}: {problem}") from error
    return ray


def _check_reachable(address: str) -> None:
    """Fail at once where nobody listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
