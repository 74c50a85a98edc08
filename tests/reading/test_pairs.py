"""Two metrics, added: a pair is named where the sum surely decides better than either part."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.errors import AuditError
from assay.reading.pairs import best_pairs
from assay.reading.ranking import rankings

from .decided import ITEMS, decided_run


def gains(
    seed: int, *, sees: tuple[str, ...], kinds: tuple[str, ...] = ("a", "b", "c", "d", "e", "f")
) -> dict:
    """Gains of 2 or more on kinds of error that are seen, small random ones on the others."""
    rng = np.random.default_rng(seed)
    return {kind: rng.normal(0, 0.2, ITEMS) + 2 * (kind in sees) for kind in kinds}


def test_metrics_that_see_different_errors_decide_better_together() -> None:
    run = decided_run(
        {
            "left": gains(1, sees=("a", "b", "c")),
            "right": gains(2, sees=("d", "e", "f")),
            "left-again": gains(3, sees=("a", "b", "c")),
        }
    )
    (ranking,) = rankings(run)
    pairs = best_pairs(run, ranking)
    assert {frozenset((pair.first, pair.second)) for pair in pairs[:2]} == {
        frozenset(("left", "right")), frozenset(("left-again", "right")),
    }  # fmt: skip
    assert pairs[0].order.value == pytest.approx(100, abs=1)
    assert pairs[0].gain.value == pytest.approx(25, abs=8)
    assert pairs[0].gain.ci is not None
    assert pairs[0].gain.ci[0] > 0
    assert pairs[0].spec.startswith(f"{pairs[0].first}+")


def test_a_pair_that_adds_nothing_is_not_named() -> None:
    run = decided_run(
        {"one": gains(1, sees=("a", "b", "c")), "flat": {kind: np.zeros(ITEMS) for kind in "abcdef"}}
    )
    (ranking,) = rankings(run)
    assert best_pairs(run, ranking) == []


def test_one_metric_alone_is_refused() -> None:
    run = decided_run({"one": gains(1, sees=("a",))})
    (ranking,) = rankings(run)
    with pytest.raises(AuditError, match="no two metrics"):
        best_pairs(run, ranking)


def test_the_command_prints_json(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    from assay.cli.runs import panel_command

    metrics = {"left": gains(1, sees=("a", "b", "c")), "right": gains(2, sees=("d", "e", "f"))}
    run = decided_run(metrics).save(tmp_path / "run")
    panel_command(run.folder, json=True)
    document = json.loads(capsys.readouterr().out)
    assert "left" in json.dumps(document)
    assert "right" in json.dumps(document)
