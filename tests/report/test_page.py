"""The page as text: verdicts counted right, everything escaped, small enough."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import polars as pl
import pytest

from assay.report import render, write_report
from assay.report.evidence import wanted_roles
from assay.report.packing import inert
from assay.report.verdicts import answers, checks, worst
from assay.report.words import MEANING, sentence
from assay.run.results import Run


def test_answers_count_checks(planted: Run) -> None:
    found = answers(planted)
    soft = found["soft", "fairness"]
    assert (soft.failed, soft.passed, soft.unclear, soft.verdict) == (2, 0, 0, "fail")
    keen = found["keen", "robustness"]
    assert (keen.failed, keen.passed, keen.total) == (2, 1, 3)
    assert found["keen", "fairness"].words == "fair so far"
    assert found["keen", "agreement"].words == "not measured"
    assert "assay run human" in found["keen", "agreement"].detail


def test_an_unjudged_finding_of_a_judged_kind_is_inconclusive(planted: Run) -> None:
    frame = planted.findings.with_columns(
        pl.when((pl.col("metric") == "keen") & (pl.col("statistic") == "excess_bias"))
        .then(None)
        .otherwise(pl.col("passed"))
        .alias("passed")
    )
    found = answers(replace(planted, findings=frame))["keen", "fairness"]
    assert (found.failed, found.passed, found.unclear) == (0, 1, 1)


def test_the_gravest_are_of_different_audits(planted: Run) -> None:
    gravest = worst(planted, checks(planted))
    assert len(gravest) == 3
    assert {row["audit"] for row in gravest} == {"stereotype", "association", "stress"}
    assert gravest[0]["statistic"] == "excess_bias"  # 19 / 5 spreads beats 0.9 / 0.5


def test_sentences_say_what_happened(planted: Run) -> None:
    rows = {(r["metric"], r["statistic"], r["slice"]): r for r in planted.findings.iter_rows(named=True)}
    assert "differ only in gender apart by 20 points" in sentence(rows["soft", "excess_bias", "gender"])
    association = sentence(rows["soft", "effect_size", "weat6"])
    assert (
        association
        == "soft finds MaleNames nearer to Career, and FemaleNames nearer to Family (test C6, d = 1.2)."
    )
    assert "rises as truncation damages translation texts" in sentence(
        rows["soft", "sensitivity", "translation/truncation"]
    )


def test_nothing_from_data_becomes_markup(planted: Run) -> None:
    page = render(planted, "html")
    assert "<script>window.broken" not in page
    assert "<img src=x" not in page
    data = re.search(r'<script type="application/json" id="run">(.*?)</script>', page, re.S)
    assert data is not None
    document = json.loads(data[1])
    assert "</script>" in document["cases"][0]["roles"]["stereotype"]["text"]
    assert len(re.findall(r"<script", page)) == len(re.findall(r"</script>", page)) == 4


def test_inert_json_keeps_its_text() -> None:
    hostile = "</script>&<!-- \u2028 \ud800"
    assert "<" not in inert(hostile)
    assert json.loads(inert(hostile)) == hostile


def test_no_address_is_asked_for(planted: Run) -> None:
    page = render(planted, "html")
    body = page[: page.index('<script type="application/json" id="run">')]
    assert not re.search(r'(?:src|href)="(?!#|data:)', body)
    assert "default-src &#39;none&#39;" in page


def test_roles_follow_the_slice() -> None:
    assert wanted_roles(
        "a/injection-1/alone", ["gold", "random", "injection-1/alone", "injection-1/after", "x/alone"]
    ) == [
        "gold",
        "injection-1/alone",
    ]


def test_thirty_metrics_stay_under_15_megabytes(planted: Run) -> None:
    names = [f"metric-{n}" for n in range(30)]
    rows = []
    for name in names:
        for slice_ in range(60):
            for base in planted.findings.iter_rows(named=True):
                rows.append(base | {"metric": name, "slice": f"{base['slice']}-{slice_}"})  # noqa: PERF401
    frame = pl.DataFrame(rows, schema=planted.findings.schema)
    assert frame.height > 80_000
    about = dict(planted.about) | {"metrics": {name: {"signature": name} for name in names}}
    assert len(render(replace(planted, findings=frame, about=about), "html").encode()) < 15_000_000


@pytest.mark.parametrize("format", ["md", "json", "latex"])
def test_other_forms_hold_every_finding(planted: Run, format: str) -> None:
    text = render(planted, format)
    assert text.count("truncation") >= 3
    assert "excess" in text


def test_every_named_statistic_of_the_design_is_explained() -> None:
    named = (
        "bias signed_bias stereotype_share excess_bias effect_size accuracy_gap biased_share preference_share "
        "correlation_change score noise_ratio sensitivity position_change injection_gain frequent_gain "
        "repetition_gain copy_gain length_slope direction_change diagonal_advantage attack_gain score_change "
        "pass_rate human_deviation pearson spearman kendall_b kendall_c pairwise_accuracy judge_effect"
    )
    assert set(named.split()) <= set(MEANING)


def test_an_empty_run_still_has_a_page(planted: Run) -> None:
    bare = replace(planted, findings=planted.findings.clear())
    assert "No finding failed" in render(bare, "html")
    assert write_report(planted).name == "report.html"
