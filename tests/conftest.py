"""Shared by all tests: where published data may lie, planted metrics, a cache of their own."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from assay.core import Metric
from assay.errors import WeightsError
from assay.models.weights import resolve

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # there is a worker per core: threads of torch would only wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("assay", deadline=None)  # a busy machine is no failure
settings.load_profile("assay")
ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Fetch the weights once, before any worker starts: what some tests see depends on whether they are here."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with suppress(WeightsError):  # tests that need them say so
            for name in ("minilm", "smollm2", "glove", "spacy-en"):
                resolve(name)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The published data folder; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the published data folder is not here")
    return SHARED


@dataclass(frozen=True)
class LengthRatio(Metric):
    """A planted metric: the hypothesis' length by the reference's."""

    name = "length-ratio"

    def score(self, samples):
        return [len(s.hypothesis) / max(1, len(s.references[0])) for s in samples]


@pytest.fixture
def length_ratio() -> Metric:
    return LengthRatio()
