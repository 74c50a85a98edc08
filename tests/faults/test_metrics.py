"""Metrics that hang, raise, leak or return garbage: named and stopped, or left out and counted."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core import Metric, Sample, Scores
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.engine.workers.local import LocalEngine
from assay.errors import MetricError
from assay.names.spec import measure


@dataclass(frozen=True)
class Hangs(Metric):
    """Never comes back from texts that say so."""

    name = "hangs"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        if any("wait" in sample.hypothesis for sample in samples):
            time.sleep(600)
        return [1.0] * len(samples)


@dataclass(frozen=True)
class Raises(Metric):
    """Cannot read one text in a hundred."""

    name = "raises"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        if any(int(sample.hypothesis) % 100 == 7 for sample in samples):
            raise ValueError("cannot read this")
        return [float(sample.hypothesis) for sample in samples]


HELD: list[bytes] = []


@dataclass(frozen=True)
class Leaks(Metric):
    """Keeps a megabyte per sample for ever, and logs which process did."""

    name = "leaks"
    log: str = ""

    def score(self, samples: Sequence[Sample]) -> list[float]:
        HELD.append(b"x" * (1_000_000 * len(samples)))
        with Path(self.log).open("a") as log:
            log.write(f"{os.getpid()} {len(samples)}\n")
        time.sleep(0.002 * len(samples))
        return [float(sample.hypothesis) for sample in samples]


GARBAGE: dict[str, Any] = {
    "nothing": None,
    "a number": 3.0,
    "too few": [1.0],
    "too many": [1.0, 2.0, 3.0],
    "texts": ["a", "b"],
    "nan": [float("nan"), 1.0],
    "infinity": [1.0, float("inf")],
    "an array of objects": np.array([object(), object()]),
    "two columns": np.zeros((2, 2)),
    "lists": [[1.0], [1.0, 2.0]],
    "a mapping": {"a": 1.0, "b": 2.0},
    "a scalar array": np.array(1.0),
    "complex": [1j, 2j],
    "notes of another length": Scores([1.0, 2.0], {"truncated": [1]}),
}


@dataclass(frozen=True)
class Garbage(Metric):
    """Returns the garbage of its kind."""

    name = "garbage"
    kind: str = "nothing"

    def score(self, samples: Sequence[Sample]) -> Any:
        return GARBAGE[self.kind]


def _samples(*texts: str) -> list[Sample]:
    return [Sample(text, ("reference",)) for text in texts]


def test_a_metric_that_hangs_is_stopped_and_named() -> None:
    settings = Session(engine=LocalEngine(timeout=0.2))
    with pytest.raises(
        MetricError, match=r"hangs raised TimeoutError: no answer within 0.2 s .* 'please wait'"
    ):
        score_samples(measure(Hangs()), _samples("fine", "please wait", "good"), settings)


def test_a_metric_that_hangs_on_one_text_is_skipped_there() -> None:
    settings = Session(engine=LocalEngine(timeout=0.2), on_error="skip")
    table = score_samples(measure(Hangs()), _samples("fine", "please wait", "good", "well"), settings)
    assert np.isnan(table.values.ravel()).tolist() == [False, True, False, False]
    assert "no answer within 0.2 s" in settings.failures[0]


def test_one_text_in_a_hundred_raises() -> None:
    texts = _samples(*map(str, range(1000)))
    with pytest.raises(MetricError, match=r"cannot read this on the sample .* --on-error skip"):
        score_samples(measure(Raises()), texts, Session())
    settings = Session(on_error="skip")
    values = score_samples(measure(Raises()), texts, settings).values.ravel()
    assert np.flatnonzero(np.isnan(values)).tolist() == list(range(7, 1000, 100))
    assert len(settings.failures) == 10
    assert np.array_equal(values[np.isfinite(values)], [n for n in range(1000) if n % 100 != 7])


def test_workers_of_a_metric_that_leaks_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("assay.engine.workers.local.memory_share", lambda workers: 600e6)
    texts = _samples(*map(str, range(2500)))
    settings = Session(engine=LocalEngine(workers=2))
    values = score_samples(measure(Leaks(str(tmp_path / "log"))), texts, settings).values.ravel()
    assert values.tolist() == list(map(float, range(2500)))
    held = Counter[str]()
    for line in (tmp_path / "log").read_text().splitlines():
        held[line.split()[0]] += int(line.split()[1])
    assert sum(held.values()) == 2500, "nothing was scored twice"
    assert len(held) > 2
    assert max(held.values()) < 1500, "each stopped soon after its share"
    assert "leaks: a worker grew to" in caplog.text


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_an_error_that_names_the_metric(kind: str) -> None:
    with pytest.raises(MetricError, match="garbage"):
        score_samples(measure(Garbage(kind)), _samples("one", "two"), Session())
