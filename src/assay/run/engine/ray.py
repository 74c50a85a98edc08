"""The engine of many machines: Ray actors that hold a metric each, fed piece by piece.

Actors are hired while the cluster has room, also for nodes that join later; a piece lost with its actor or
its node is handed out again, so that at most the pieces under way are scored twice. Results come back as they
are made, and scoring puts them into the cache of the machine that asked.
"""

from __future__ import annotations

import importlib
import os
import pickle
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.core import Metric, Sample
from assay.errors import MetricError
from assay.run.engine import OnError
from assay.run.engine.batch import Batch, evaluate, packed, unpacked
from assay.run.engine.pieces import Pieces

_AHEAD = 2  # pieces an actor: one scored, one waiting, so that it never waits for us
_LOOK = 2.0  # seconds between looks at the cluster's size
_STORE = 200_000_000  # bytes of a local cluster's object store; pieces are small
_DEATHS = 5  # of actors that never came to score


class Worker:
    """What runs in an actor: the metric, made once from its recipe."""

    def __init__(self, recipe: bytes, timeout: float | None) -> None:
        self._metric: Metric = pickle.loads(recipe)
        self._timeout = timeout

    def ready(self) -> int:
        """Load what scoring needs; an error of loading reaches the user as it is. Gives the process id."""
        self._metric.prepare()
        return os.getpid()

    def score(self, rows: Sequence[tuple[Any, ...]], piece: Sequence[int], skip: bool) -> Batch:
        """One piece."""
        return evaluate(self._metric, unpacked(rows), piece, skip=skip, timeout=self._timeout)


@dataclass(frozen=True, slots=True)
class RayEngine:
    """`auto` or an address: a cluster that runs; `local`: one of our own. More than one worker is a limit."""

    address: str = "auto"
    workers: int = 1
    timeout: float | None = None  # seconds a call of the metric may take

    def prepare(self, metric: Metric, samples: int) -> None:
        """Connect; the actors load what they need."""
        _connected(self)

    def run(self, metric: Metric, samples: Sequence[Sample], on_error: OnError) -> Iterator[Batch]:
        """Score the samples on the cluster."""
        pieces = Pieces(metric, samples)
        crew = Crew(_connected(self), metric, self.workers if self.workers > 1 else None, self.timeout)
        try:
            while pieces or crew.busy:
                crew.hire(pieces)
                crew.hand_out(pieces, samples, skip=on_error == "skip")
                yield from crew.collect(pieces)
        finally:
            crew.dismiss()


@dataclass
class Crew:
    """The actors of one metric: those starting, those at work, and what each has in hand."""

    ray: Any
    metric: Metric
    limit: int | None
    timeout: float | None
    starting: dict[Any, Any] = field(default_factory=dict)  # reference of ready() -> actor
    load: Counter[Any] = field(default_factory=Counter)  # actor -> pieces in hand
    under_way: dict[Any, tuple[Any, list[int]]] = field(default_factory=dict)  # reference -> actor, piece
    looked: float = 0.0
    deaths: int = 0

    def __post_init__(self) -> None:
        """Send the recipe once; all actors read it."""
        self.recipe = self.ray.put(_recipe(self.ray, self.metric))
        self.needs = self._needs()

    @property
    def busy(self) -> bool:
        """Whether any piece is under way."""
        return bool(self.under_way)

    def _needs(self) -> dict[str, int]:
        """A core an actor, and a GPU where there is one and the metric has a model."""
        on_gpu = bool(self.metric.weights) and self.ray.cluster_resources().get("GPU", 0) >= 1
        return {"num_cpus": 1, "num_gpus": 1} if on_gpu else {"num_cpus": 1}

    def hire(self, pieces: Pieces) -> None:
        """Ask for as many actors as the cluster has room for; they join when Ray has placed them."""
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
        """Back-pressure: an actor has so many pieces in hand and no more, whoever has least comes first."""
        while pieces and self.load:
            actor = min(self.load, key=self.load.__getitem__)
            if self.load[actor] >= _AHEAD:
                return
            piece = pieces.take()
            reference = actor.score.remote(packed(samples, piece), piece, skip)
            self.under_way[reference] = (actor, piece)
            self.load[actor] += 1

    def collect(self, pieces: Pieces) -> Iterator[Batch]:
        """What has come back since; pieces of the dead go back to the others."""
        waiting = [*self.under_way, *self.starting]
        for reference in self.ray.wait(waiting, num_returns=1, timeout=_LOOK)[0] if waiting else ():
            try:
                answer = self.ray.get(reference)
            except self.ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except (self.ray.exceptions.RayActorError, self.ray.exceptions.ObjectLostError) as error:
                self._bury(reference, pieces, error)
                continue
            if reference in self.starting:
                self.load[self.starting.pop(reference)] = 0
            else:
                self.load[self.under_way.pop(reference)[0]] -= 1
                yield pieces.done(answer)

    def _bury(self, reference: Any, pieces: Pieces, error: Exception) -> None:
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

        Those that start are waited for a little: Ray can crash a driver that leaves while the killing of an
        actor which never came up is under way.
        """
        if self.starting:
            self.ray.wait(list(self.starting), num_returns=len(self.starting), timeout=_LOOK)
        for actor in [*self.load, *self.starting.values()]:
            self.ray.kill(actor)


def _recipe(ray: Any, metric: Metric) -> bytes:
    """The metric as bytes; a user's own class travels whole, for the nodes do not have its file."""
    module = importlib.import_module(type(metric).__module__)
    own = module.__name__.startswith("assay.") or module.__name__ == "__main__"
    if not own:
        ray.cloudpickle.register_pickle_by_value(module)
    try:
        recipe: bytes = ray.cloudpickle.dumps(metric)
    finally:
        if not own:
            ray.cloudpickle.unregister_pickle_by_value(module)
    return recipe


def _connected(engine: RayEngine) -> Any:
    """The ray module, connected; a driver that is connected already stays where it is."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if engine.address == "local":
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # Ray's switch for loopback only
    try:
        import ray
    except ImportError as error:
        raise MetricError("--ray needs Ray; install assay[scale]") from error
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    try:
        if engine.address == "local":
            cores = engine.workers if engine.workers > 1 else os.cpu_count()
            own = {"include_dashboard": False, "object_store_memory": _STORE}
            ray.init(address="local", num_cpus=cores, **own, **quiet)
        else:
            _knock(engine.address)
            ray.init(address=engine.address, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        raise MetricError(
            f"--ray {engine.address}: no cluster answers ({error}); start one with `ray start --head`, "
            f"or give --ray local"
        ) from error
    return ray


def _knock(address: str) -> None:
    """Fail at once where nobody listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
