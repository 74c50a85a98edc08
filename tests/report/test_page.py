"""The page as text: verdicts counted right, everything escaped, small enough."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest
import vl_convert

from assay.api.runs import Run
from assay.audits.contrast import Contrast
from assay.core import Case, Estimate, Finding, Sample
from assay.errors import CacheError
from assay.reading.answers import answers
from assay.reading.evidence import wanted_roles
from assay.reading.results import cases_frame
from assay.reading.text import sentence
from assay.reading.verdicts import audits_of, rows_of, severity, worst
from assay.report import render, write_report
from assay.report.page import inert, vega

from .conftest import judged_run


def with_verdict(run: Run, verdict: str, metric: str, statistic: str) -> Run:
    """The run with another verdict on one statistic of one metric."""
    chosen = (pl.col("metric") == metric) & (pl.col("statistic") == statistic)
    column = pl.when(chosen).then(pl.lit(verdict)).otherwise(pl.col("verdict")).alias("verdict")
    return replace(run, findings=run.findings.with_columns(column))


def test_answers_count_checks(planted: Run) -> None:
    answered = answers(planted)
    soft = answered["soft", "fairness"]
    assert (dict(soft.counts), soft.verdict) == ({"fail": 2}, "fail")
    assert soft.detail == "0 fair, 2 unfair, 0 unknown"
    keen = answered["keen", "robustness"]
    assert (keen.count("fail"), keen.count("pass"), keen.total) == (2, 1, 3)
    assert keen.detail == "1 noticed, 2 blind, 0 unknown"
    assert answered["keen", "fairness"].words == "no unfairness found"
    assert answered["keen", "agreement"].words == "not measured"
    assert "assay run human" in answered["keen", "agreement"].detail


@pytest.mark.parametrize(
    ("verdict", "counts", "words"),
    [
        ("inconclusive", (0, 1, 1), "mostly unknown"),
        ("not judged", (0, 1, 0), "no unfairness found"),
    ],
)
def test_only_what_was_judged_is_a_check(
    planted: Run, verdict: str, counts: tuple[int, ...], words: str
) -> None:
    answer = answers(with_verdict(planted, verdict, "keen", "excess_bias"))["keen", "fairness"]
    assert tuple(answer.count(known) for known in ("fail", "pass", "inconclusive")) == counts
    assert answer.words == words


def test_questions_of_the_first_version_are_understood(planted: Run) -> None:
    about = planted.about | {"audits": {"stereotype": {"question": "fair"}, "stress": {"question": "sees"}}}
    audits = audits_of(replace(planted, about=about))
    assert audits["stereotype"].question == "fairness"
    assert audits["stress"].question == "robustness"
    assert audits["association"].title == "Association"


def test_a_damaged_description_is_a_message(planted: Run) -> None:
    about = planted.about | {"audits": {"stress": {"statistics": [{"name": "score", "bar": "x"}]}}}
    with pytest.raises(CacheError, match="does not describe its audits"):
        audits_of(replace(planted, about=about))


def test_severity_is_the_distance_beyond_the_bar_in_bars(planted: Run) -> None:
    sizes = {
        row["statistic"]: severity(row)
        for row in rows_of(planted)
        if row["metric"] == "soft" and row["verdict"] == "fail"
    }
    assert sizes == {
        "excess_bias": pytest.approx((19 - 5) / 5),
        "effect_size": pytest.approx((0.9 - 0.5) / 0.5),
        "sensitivity": pytest.approx((0.1 + 0.3) / 0.1),
    }


def test_the_gravest_are_of_different_audits(planted: Run) -> None:
    gravest = worst(rows_of(planted))
    assert [row["statistic"] for row in gravest] == ["sensitivity", "excess_bias", "effect_size"]


def test_the_stored_sentence_is_shown_and_others_get_a_plain_one(planted: Run) -> None:
    said = {(row["metric"], row["statistic"]): sentence(row) for row in rows_of(planted)}
    assert "differ only in gender apart by 20 points" in said["soft", "excess_bias"]
    assert said["soft", "effect_size"] == "soft fails association (weat6): effect size is 1.2 SD."
    assert said["keen", "bias"] == "keen, Stereotype pairs (gender): bias is 4 points of 100."
    assert "differ only in gender apart by 20 points" in render(planted, "html")


def test_nothing_from_data_becomes_markup(planted: Run) -> None:
    page = render(planted, "html")
    assert "<script>window.broken" not in page
    assert "<img src=x" not in page
    texts = unpacked(page, "cases")["texts"]
    assert any("</script>" in text for text in texts)
    assert len(re.findall(r"<script", page)) == len(re.findall(r"</script>", page)) == 7


def unpacked(page: str, name: str) -> Any:
    """What the page holds under a name, as its script reads it."""
    data = re.search(rf'<script type="text/plain" id="{name}-data">(.*?)</script>', page)
    assert data is not None
    return json.loads(gzip.decompress(base64.b64decode(data[1])))


def test_every_text_is_written_once_and_equal_runs_give_equal_pages(planted: Run) -> None:
    page = render(planted, "html")
    assert render(planted, "html") == page
    evidence = unpacked(page, "cases")
    assert len(set(evidence["texts"])) == len(evidence["texts"])
    case = next(case for case in evidence["cases"] if case["id"] == "translation/truncation:1")
    assert {role: evidence["texts"][text["text"]] for role, text in case["roles"].items()} == {
        "gold": "A dog ran home.", "0.1/1": "A dog ran.", "0.5/1": "A dog.",
    }  # fmt: skip
    assert case["roles"]["gold"]["scores"] == [0.5, 0.5, 0.5]
    findings = unpacked(page, "findings")
    assert len(findings["value"]) == planted.findings.height


def test_findings_that_share_a_case_each_show_the_texts_that_they_compare() -> None:
    texts = {"gold": "By the children.", "far": "Children made it.", "wrong": "For the children."}
    samples = {role: Sample(text, ("The children did.",)) for role, text in texts.items()}
    case = Case("c1", samples, "translation/contrast")
    compared = {"right_order": "far", "right_order_clean": "gold"}
    rows = [
        Finding.of(
            "m",
            "translation/contrast",
            name,
            Estimate(40.0, 60, (38.0, 42.0)),
            versus=better,
            evidence=("c1",),
        )
        for name, better in compared.items()
    ]
    run = replace(judged_run({Contrast(): rows}), cases=cases_frame({"contrast": [case]}))
    page = render(run, "html")
    statistics = unpacked(page, "findings")["statistic"]
    names = [statistics["names"][place] for place in statistics["at"]]
    brief = {names[int(place)]: roles for place, roles in unpacked(page, "cases")["brief"].items()}
    assert brief == {"right_order": ["far", "wrong"], "right_order_clean": ["gold", "wrong"]}


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
    roles = ["gold", "random", "injection-1/alone", "injection-1/after", "x/alone"]
    assert wanted_roles("a/injection-1/alone", roles) == ["gold", "injection-1/alone"]
    assert wanted_roles("any", ["clean", "worse"]) == ["clean", "worse"]


def test_thirty_metrics_stay_under_8_megabytes(planted: Run) -> None:
    names = [f"metric-{n}" for n in range(30)]
    rows = []
    for name in names:
        for slice_ in range(60):
            for base in planted.findings.iter_rows(named=True):
                rows.append(base | {"metric": name, "slice": f"{base['slice']}-{slice_}"})  # noqa: PERF401
    frame = pl.DataFrame(rows, schema=planted.findings.schema)
    assert frame.height > 80_000
    about = dict(planted.about) | {"metrics": {name: {"signature": name} for name in names}}
    assert len(render(replace(planted, findings=frame, about=about), "html").encode()) < 8_000_000


@pytest.mark.parametrize("format", ["md", "json", "latex"])
def test_other_forms_hold_every_finding(planted: Run, format: str) -> None:
    text = render(planted, format)
    assert text.count("truncation") >= 3
    assert "excess" in text


def test_the_script_of_charts_is_kept_and_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts, bundle = [], Mock(wraps=vl_convert.javascript_bundle)
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    (tmp_path / "file").write_text("")
    for name, bundles in (("cache", 1), ("cache", 1), ("file", 2)):  # made, kept, and nowhere to keep it
        monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / name))
        scripts.append(vega.__wrapped__())
        assert bundle.call_count == bundles
    assert len(set(scripts)) == 1
    (kept,) = (tmp_path / "cache").rglob("vega.js")
    kept.write_text("alert(1)")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    assert vega.__wrapped__() == scripts[0], "a file that was changed is not trusted"


def test_an_empty_run_still_has_a_page(planted: Run) -> None:
    bare = replace(planted, findings=planted.findings.clear())
    assert "No finding failed" in render(bare, "html")
    assert write_report(planted).name == "report.html"
