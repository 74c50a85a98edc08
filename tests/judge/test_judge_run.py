"""A judge in a run, on real weights, as a user meets it: report, bill, budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.api.pipeline import run
from assay.audits.judge_bias.audit import JudgeBias
from assay.audits.judge_bias.pairs import lost_texts
from assay.engine.session import Session
from assay.errors import BudgetError, SpecError


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_judge_bias_on_real_weights_with_its_bill(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session.open(out=tmp_path / "run", cache=cache, quiet=False, max_calls=200)
    done = run("judge-bias", ["judge", "judge:mode=pairwise"], session=session, only=("position",), limit=2)
    bill = json.loads((tmp_path / "run" / "run.json").read_text())["spent"]
    assert bill == done.about["spent"]
    # Right, wrong and, without a reference, both equally good answers; the right one without a word.
    lost = sum(len(lost_texts(item.answer, item.id)) for item in JudgeBias(limit=2).items)
    questions = (2 * 4 + lost) + 2 * (2 * 2 + lost)  # alone, then each pair in two orders
    assert bill["calls"] == questions
    assert (bill["written"], bill["cost"], bill["retries"]) == (0, 0.0, 0)
    assert bill["read"] > 80 * questions
    assert f"{questions} questions" in capsys.readouterr().err
    found = {(r["metric"], r["slice"], r["statistic"]): r for r in done.findings.iter_rows(named=True)}
    assert ("judge:mode=pairwise", "position", "swap_consistency") in found
    assert ("judge", "position", "swap_consistency") not in found
    assert found["judge", "quality", "right_order"]["n"] == 2


def test_a_second_run_asks_nothing(tmp_path: Path, cache: Path) -> None:
    session = Session.open(out=tmp_path / "run", cache=cache, max_calls=1)
    done = run("judge-bias", ["judge"], session=session, only=("position",), limit=2)
    assert "spent" not in done.about


def test_a_budget_stops_the_run(cache: Path) -> None:
    with pytest.raises(BudgetError, match="--max-calls 3"):
        run(
            "judge-bias", ["judge"], session=Session.open(cache=None, max_calls=3), only=("quality",), limit=2
        )


def test_a_budget_is_kept_in_one_process() -> None:
    with pytest.raises(SpecError, match="one process"):
        Session.open(workers=2, max_calls=3)
    assert Session.open(workers=2).bill.max_calls is None


def test_the_other_audits_run_on_a_judge_unchanged(cache: Path) -> None:
    asked = {"only": ("gender",), "limit": 2, "rule": "paper"}
    done = run("stereotype", ["judge"], session=Session.open(cache=cache), **asked)
    found = {(row["slice"], row["statistic"]): row for row in done.findings.iter_rows(named=True)}
    assert found["gender", "signed_bias"]["n"] == 2
    assert found["gender", "bias"]["value"] > 0
