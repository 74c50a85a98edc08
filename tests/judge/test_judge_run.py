"""A judge in a run, on real weights, as a user meets it: report, bill, budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli.budget import budget
from assay.errors import BudgetError, SpecError
from assay.run.pipeline import Options, run


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_judge_bias_on_real_weights_with_its_bill(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = Options(out=tmp_path / "run", cache=cache, quiet=False)
    with budget(200, None, options) as spent:
        done = spent(
            run("judge-bias", ["judge", "judge:mode=pairwise"], options=options, only=("position",), limit=2)
        )
    bill = json.loads((tmp_path / "run" / "run.json").read_text())["spent"]
    assert bill == done.about["spent"]
    # Two items: right, wrong and both equally good ones without a reference; two orders of two pairs each.
    assert bill["calls"] == 2 * (2 + 2) + 2 * (2 + 2)
    assert (bill["written"], bill["cost"], bill["retries"]) == (0, 0.0, 0)
    assert bill["read"] > 16 * 80
    assert "16 questions" in capsys.readouterr().err
    found = {(r["metric"], r["slice"], r["statistic"]): r for r in done.findings.iter_rows(named=True)}
    assert ("judge:mode=pairwise", "position", "judge_effect") in found
    assert ("judge", "position", "judge_effect") not in found
    assert found["judge", "quality", "quality_gap"]["n"] == 2


def test_a_second_run_asks_nothing(tmp_path: Path, cache: Path) -> None:
    options = Options(out=tmp_path / "run", cache=cache)
    with budget(1, None, options) as spent:
        done = spent(run("judge-bias", ["judge"], options=options, only=("position",), limit=2))
    assert "spent" not in done.about


def test_a_budget_stops_the_run(cache: Path) -> None:
    options = Options(cache=None)
    with budget(3, None, options), pytest.raises(BudgetError, match="--max-calls 3"):
        run("judge-bias", ["judge"], options=options, only=("scale",), limit=2)


def test_a_budget_is_kept_in_one_process() -> None:
    with pytest.raises(SpecError, match="one process"), budget(3, None, Options(workers=2)):
        pass
    with budget(None, None, Options(workers=2)):
        pass


def test_the_other_audits_run_on_a_judge_unchanged(cache: Path) -> None:
    done = run("stereotype", ["judge"], options=Options(cache=cache), only=("gender",), limit=2)
    found = {(row["slice"], row["statistic"]): row for row in done.findings.iter_rows(named=True)}
    assert found["gender", "signed_bias"]["n"] == 2
    assert found["gender", "bias"]["value"] > 0
