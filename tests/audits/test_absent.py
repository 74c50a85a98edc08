"""Scores that are absent: never a 0, never counted, and no verdict without them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.api.pipeline import run
from assay.api.runs import Run
from assay.core import Metric
from assay.engine.session import Session
from assay.perturbations.ratio import noise_ratio
from assay.recipe import digest

ENDING = " That was all."  # of the references: a text is never tested by itself
HERE = Session.open(cache=None)


@dataclass(frozen=True)
class Fussy(Metric):
    """One less the share of words changed; no score where `refused` words of the text are gone or there."""

    name = "fussy"
    least: float = 0.0  # share of the reference's words that a text must have
    refused: str = "\n"  # a word that it must not have

    def score(self, samples):
        def one(sample):
            own, other = sample.hypothesis, sample.references[0].removesuffix(ENDING)
            if len(own.split()) < self.least * len(other.split()) or self.refused in own:
                return None
            return 1 - noise_ratio(other, own) + int(digest(other)[:4], 16) / 6553500

        return [one(sample) for sample in samples]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty texts of forty different words, each with itself and an ending as its reference."""
    path = tmp_path_factory.mktemp("absent") / "own.jsonl"
    texts = [" ".join(f"w{n}x{k}" for k in range(40)) + "." for n in range(20)]
    rows = [{"id": f"i{n}", "gold": t, "references": [t + ENDING]} for n, t in enumerate(texts)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def done(audit: str, metric: Metric, data: Path, **asked: Any) -> Run:
    return run(audit, [metric], session=HERE, data=(data,), **asked)


def test_a_level_without_scores_is_no_level(data: Path) -> None:
    got = done("stress", Fussy(least=0.75), data, seeds=1, only=("truncation",))
    slices = set(got.findings["slice"])
    assert {"own/truncation/0.1", "own/truncation/0.2"} <= slices
    assert not {f"own/truncation/{level}" for level in (0.3, 0.4, 0.5)} & slices
    orders = got.findings.filter(statistic="right_order_at_level")
    assert set(orders["value"]) == {100.0}
    assert (
        "stress: fussy: nothing scored in own/truncation at 0.3/1, 0.4/1, 0.5/1: no finding there"
        in got.notes
    )


def test_cuts_without_scores_have_no_verdict(data: Path) -> None:
    got = done("truncation-direction", Fussy(least=0.75), data)
    orders = got.findings.filter(pl.col("statistic") != "coverage")
    assert set(orders["slice"]) == {"own/truncation/0.1", "own/truncation/0.2"}
    assert set(got.findings["verdict"]) == {"not judged", "not covered"}


def test_places_without_scores_have_no_verdict(data: Path) -> None:
    """Damage at the end has no scores, so that nothing is said of errors there."""

    @dataclass(frozen=True)
    class NoEnd(Fussy):
        name = "no-end"

        def score(self, samples):
            kept = [
                s.hypothesis.split()[-1] == s.references[0].removesuffix(ENDING).split()[-1] for s in samples
            ]
            return [x if one else None for x, one in zip(super().score(samples), kept, strict=True)]

    got = done("position", NoEnd(), data, seeds=1)
    assert set(got.findings["slice"]) >= {"own/random/start", "own/random/middle"}
    assert "own/random/end" not in set(got.findings["slice"])


def test_injections_without_scores_have_no_finding(data: Path) -> None:
    got = done("injection", Fussy(least=0.5), data, only=("score-ten",))
    places = {slice_.rpartition("/")[2] for slice_ in got.findings["slice"]}
    assert "alone" not in places
    assert np.isfinite(got.findings["value"].to_numpy()).all()
    assert any("score-ten/alone" in note for note in got.notes)
