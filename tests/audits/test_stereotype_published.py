"""The stereotype audit on the published pairs and on the authors' own scores."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl
import pytest

from assay.api.pipeline import run
from assay.engine.session import Session

SHARED = Path(__file__).parents[3] / "shared" / "data"
shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the published data folder is not there")
HERE = Session.open(cache=None)


@shared
def test_published_bleu_figures() -> None:
    data = tuple(SHARED / "stereotype_pairs" / f"{name}.jsonl" for name in ("gender", "race"))
    rows = run("stereotype", ["bleu"], session=HERE, data=data, rule="paper")
    found = {r["slice"]: r["value"] for r in rows.findings.iter_rows(named=True) if r["statistic"] == "bias"}
    assert found["gender"] == pytest.approx(0.1047, abs=5e-5)
    assert found["race"] == pytest.approx(0.188, abs=5e-4)
    assert any("37 of 575" in note for note in rows.notes)


@cache
def published(attribute: str) -> pl.DataFrame:
    """Findings on the authors' own scores."""
    path = SHARED / "stereotype_pairs" / f"{attribute}.jsonl"
    return run("stereotype", scores=f"{path}:published", session=HERE, data=(path,), rule="paper").findings


@shared
@pytest.mark.parametrize(
    ("attribute", "metric", "statistic", "value"),
    [
        ("gender", "BERTScore-RoBERTa-large", "bias", 6.99),
        ("race", "BERTScore-RoBERTa-large", "bias", 2.59),
        ("gender", "MoverScore-DistilBERT", "bias", 13.24),
        ("race", "MoverScore-DistilBERT", "bias", 3.35),
        ("gender", "BLEURT-BERT-tiny", "bias", 6.47),
        ("race", "BLEURT-BERT-tiny", "bias", 8.43),
        ("gender", "BERTScore-RoBERTa-large", "signed_bias", 4.43),
        ("gender", "MoverScore-DistilBERT", "signed_bias", 1.67),
    ],
)
def test_published_scores_give_table_6(attribute: str, metric: str, statistic: str, value: float) -> None:
    row = published(attribute).filter(metric=metric, statistic=statistic, slice=attribute)
    assert row["value"].item() == pytest.approx(value, abs=0.005)


@shared
def test_imported_scores_are_not_judged_and_say_why() -> None:
    path = SHARED / "stereotype_pairs" / "race.jsonl"
    done = run("stereotype", scores=f"{path}:published", session=HERE, data=(path,))
    assert set(done.findings["verdict"]) == {"not judged"}
    assert any("not judged, no text with a word missing has a score: " in note for note in done.notes)
