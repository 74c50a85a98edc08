"""The engine of many machines: Ray actors that hold a metric each, fed piece by piece.

Actors are started while the cluster has room, also on nodes that join later; a piece lost with its actor or
its node is handed out again, so that at most the pieces under way are scored twice. Results come back one by
one, and scoring puts them into the cache of the machine that runs it.
"""

from __future__ import annotations

import importlib
import os
import pickle
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay.core import Measure, Metric, Sample
from assay.errors import MetricError, install
from assay.run.engine.batch import FAULTS, Batch, Pieces, call_metric, evaluate, pack
from assay.vocabulary import OnError

_AHEAD = 2  # pieces per actor: one scored, one waiting, so that it never waits for us
_LOOK = 2.0  # seconds between two looks at the cluster's size
_STORE = 200_000_000  # bytes of a local cluster's object store; pieces are small
_DEATHS = 5  # of actors that never began to score, or of the worker of one task
Answer = TypeVar("Answer")


class Worker:
    """What runs in an actor: the metric, unpickled once."""

    def __init__(self, recipe: bytes, timeout: float | None) -> None:
        self._metric: Metric = pickle.loads(recipe)
        self._timeout = timeout

    def ready(self) -> int:
        """Load what scoring needs; an error of loading reaches the user as it is. Returns the process id."""
        call_metric(self._metric, self._metric.prepare, "while it loaded")
        return os.getpid()

    def score(self, rows: Sequence[tuple[Any, ...]], piece: Sequence[int], skip: bool) -> Batch:
        samples = [Sample(*row) for row in rows]
        return evaluate(self._metric, samples, piece, skip=skip, timeout=self._timeout)


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Scores on a running cluster (`auto` or an address) or on one of our own (`local`).

    With more than one worker, there are at most so many actors.
    """

    address: str = "auto"
    workers: int = 1
    timeout: float | None = None  # seconds that one call of the metric may take

    def prepare(self, metric: Metric, samples: int) -> None:
        """Connect; the actors load what they need."""
        _connect(self)

    def run(self, metric: Metric, samples: Sequence[Sample], on_error: OnError) -> Iterator[Batch]:
        pieces = Pieces(metric, samples)
        crew = Crew(_connect(self), metric, self.workers if self.workers > 1 else None, self.timeout)
        try:
            while pieces or crew.under_way:
                crew.hire(pieces)
                crew.hand_out(pieces, samples, skip=on_error == "skip")
                yield from crew.collect(pieces)
        finally:
            crew.dismiss()


@dataclass
class Crew:
    """The actors of one metric: those starting, those at work, and the pieces of each."""

    ray: Any
    metric: Metric
    limit: int | None
    timeout: float | None
    starting: dict[Any, Any] = field(default_factory=dict)  # reference of ready() -> actor
    load: Counter[Any] = field(default_factory=Counter)  # actor -> number of its pieces
    under_way: dict[Any, tuple[Any, list[int]]] = field(default_factory=dict)  # reference -> actor, piece
    looked: float = 0.0
    deaths: int = 0

    def __post_init__(self) -> None:
        """Send the metric once for all actors, which take a GPU each if the metric has a model for it."""
        self.recipe = self.ray.put(_pickle(self.ray, [self.metric], self.metric))
        on_gpu = bool(self.metric.weights) and self.ray.cluster_resources().get("GPU", 0) >= 1
        self.needs = {"num_cpus": 1, "num_gpus": 1} if on_gpu else {"num_cpus": 1}

    def hire(self, pieces: Pieces) -> None:
        """Start as many actors as the cluster has room for; they join when Ray has placed them."""
        if not pieces or time.monotonic() - self.looked < _LOOK:
            return
        self.looked = time.monotonic()
        resources = self.ray.cluster_resources()
        room = int(resources.get("GPU" if "num_gpus" in self.needs else "CPU", 0))
        wanted = max(1, room if self.limit is None else min(room, self.limit))
        kind = self.ray.remote(Worker).options(**self.needs, max_restarts=0)
        for _ in range(wanted - len(self.load) - len(self.starting)):
            actor = kind.remote(self.recipe, self.timeout)
            self.starting[actor.ready.remote()] = actor

    def hand_out(self, pieces: Pieces, samples: Sequence[Sample], *, skip: bool) -> None:
        """Give pieces to the actors that have fewest, a few each at most (back-pressure)."""
        while pieces and self.load:
            actor = min(self.load, key=self.load.__getitem__)
            if self.load[actor] >= _AHEAD:
                return
            piece = pieces.take()
            reference = actor.score.remote(pack(samples, piece), piece, skip)
            self.under_way[reference] = (actor, piece)
            self.load[actor] += 1

    def collect(self, pieces: Pieces) -> Iterator[Batch]:
        """The batches that have come back; pieces of dead actors are handed out again."""
        waiting = [*self.under_way, *self.starting]
        for reference in self.ray.wait(waiting, num_returns=1, timeout=_LOOK)[0] if waiting else ():
            try:
                answer = self.ray.get(reference)
            except self.ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except (self.ray.exceptions.RayActorError, self.ray.exceptions.ObjectLostError) as error:
                self._replace_dead(reference, pieces, error)
                continue
            if reference in self.starting:
                self.load[self.starting.pop(reference)] = 0
            else:
                self.load[self.under_way.pop(reference)[0]] -= 1
                yield pieces.done(answer)

    def _replace_dead(self, reference: Any, pieces: Pieces, error: Exception) -> None:
        if self.starting.pop(reference, None) is not None:
            self.deaths += 1
            if self.deaths >= _DEATHS:
                raise MetricError(
                    f"{self.metric.name}: {_DEATHS} Ray actors died while they started ({error}); "
                    f"every node needs this version of assay and room for the model"
                ) from error
            return
        actor, piece = self.under_way.pop(reference)
        self.load.pop(actor, None)
        self.looked = 0.0  # replace it at once
        pieces.lost(piece)

    def dismiss(self) -> None:
        """Free the cores for the next metric.

        First wait a little for actors that are starting: Ray can crash a driver that leaves while an actor
        that never came up is being killed.
        """
        if self.starting:
            self.ray.wait(list(self.starting), num_returns=len(self.starting), timeout=_LOOK)
        for actor in [*self.load, *self.starting.values()]:
            self.ray.kill(actor)


def map_tasks(
    engine: RayEngine, task: Callable[[Any, Any], Answer], shared: Sequence[Measure], items: Sequence[Any]
) -> Iterator[Answer]:
    """The answers of `task(shared, item)` as they come, each item a task on some node of the cluster."""
    ray = _connect(engine)
    recipe = ray.put(_pickle(ray, [measure.metric for measure in shared], shared))
    cores = int(ray.cluster_resources().get("CPU", 1))
    most = min(cores, engine.workers) if engine.workers > 1 else cores
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


def _run_task(task: Callable[[Any, Any], Answer], recipe: bytes, item: Any) -> Answer:
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
            cores = engine.workers if engine.workers > 1 else os.cpu_count()
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
