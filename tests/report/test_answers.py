"""Summaries count slices, tell blind from over-sensitive, name whom a metric is unfair to and praise no empty one."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import polars as pl
import pytest

from assay.api.runs import Run
from assay.cli.output import _print_answers
from assay.core import Case, Finding, Sample, Statistic
from assay.reading.answers import answers
from assay.reading.evidence import examples, wanted_roles
from assay.reading.names import shown, shown_names
from assay.reading.results import cases_frame
from assay.reading.text import amount, number
from assay.reading.verdicts import rows_of, worst
from assay.report import render
from assay.report.card import as_markdown, make_card

from .conftest import Checklist, Groups, effect, judged_run


def robustness(*rows: Finding) -> dict[str, int]:
    """How the slices of these findings of metric m are counted."""
    return dict(answers(judged_run({Checklist(): list(rows)}))["m", "robustness"].counts)


def test_a_slice_is_counted_once() -> None:
    change, rise = effect("m", "t/a", "change", -20), effect("m", "t/a", "rise", 0)
    assert robustness(change, rise) == {"pass": 1}
    assert robustness(change, effect("m", "t/a", "rise", 1.0)) == {"inconclusive": 1}
    assert robustness(change, effect("m", "t/a", "rise", 9.0)) == {"fail": 1}
    assert robustness(effect("m", "t/a", "change", 5), effect("m", "t/a", "rise", 9)) == {"fail": 1}
    flat = [effect("m", "t/a", name, 0, sensitive=False) for name in ("change", "rise")]
    assert robustness(*flat) == {"insensitive": 1}
    assert robustness(change, flat[1]) == {"inconclusive": 1}


def test_a_score_that_moves_under_a_harmless_edit_is_over_sensitive_and_not_blind() -> None:
    moved = effect("m", "t/invariance/synonyms", "change", -40)
    assert robustness(moved) == {"over-sensitive": 1}
    assert robustness(effect("m", "t/invariance/synonyms", "change", 1)) == {"steady": 1}
    answer = answers(judged_run({Checklist(): [moved]}))["m", "robustness"]
    assert (answer.verdict, answer.words) == ("fail", "over-sensitive")
    assert answer.detail == "0 noticed / 0 blind / 0 steady / 1 over-sensitive / 0 unknown"


def test_a_metric_far_from_people_is_blind_or_over_sensitive_by_its_side() -> None:
    noticed = effect("m", "t/a", "change", -20)
    assert robustness(noticed, effect("m", "t/a", "deviation", -0.9, half=0.1)) == {"fail": 1}
    assert robustness(noticed, effect("m", "t/a", "deviation", 0.9, half=0.1)) == {"over-sensitive": 1}


def summarised() -> Run:
    """An empty metric listed first, then a real one that is unfair to some."""
    groups = [
        effect("real", "gender/group/genderqueer", "group_effect", -10),
        effect("real", "gender/word/genderqueer", "group_effect", -9),
        effect("real", "religion/group/sikh", "group_effect", 4.4),
        effect("real", "gender", "excess_bias", 0),
        *(effect("flat", f"gender/group/{name}", "group_effect", 0, sensitive=False) for name in "abc"),
    ]
    return judged_run({Groups(): groups}, {"flat": {"signature": "flat"}, "real": {"signature": "real"}})


def test_summaries_name_whom_a_metric_is_unfair_to() -> None:
    answer = answers(summarised())["real", "fairness"]
    named = "genderqueer -10% of the gap, sikh +4.4% of the gap"
    assert answer.detail == f"1 fair / 3 unfair ({named}) / 0 unknown"
    card = as_markdown(make_card(summarised(), "real"))
    assert named in card
    assert "real scores texts about genderqueer people -10% apart." in card
    assert "Also: sikh +4.4% of the gap." in card


def test_an_empty_metric_is_not_praised_and_stands_last(capsys: pytest.CaptureFixture[str]) -> None:
    run = summarised()
    run = replace(run, about=run.about | {"metrics": {name: {} for name in ("flat", "real")}})
    answer = answers(run)["flat", "fairness"]
    assert (answer.verdict, answer.words) == ("insensitive", "insensitive")
    assert answer.detail == "0 fair / 0 unfair / 3 unknown (3 insensitive)"
    assert shown(run).metrics == ["real", "flat"]
    _print_answers(run)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:3]] == ["real", "flat"]
    page = render(run, "html")
    assert page.index("#/metric/real") < page.index("#/metric/flat")
    card = as_markdown(make_card(run, "flat"))
    assert "No fairness check failed" not in card
    assert "Nothing is known: the metric does not tell clean from worthless texts." in card


def test_the_summary_on_a_terminal_fits_and_says_first_whom_and_what(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "embedding-average [glove]"
    groups = [effect(name, "gender/group/old", "group_effect", -9), effect(name, "gender", "excess_bias", 0)]
    errors = [effect(name, "t/repeated-sentences-of-others", "change", 5), effect(name, "t/a", "change", -20)]
    errors += [
        effect(name, "t/b", "change", 0, sensitive=False),
        effect(name, "t/invariance/c", "change", -40),
    ]
    _print_answers(judged_run({Groups(): groups, Checklist(): errors}))
    head, line, legend, unasked, *_ = capsys.readouterr().out.splitlines()
    columns = "metric, unfair to, fair/not/?, blind to, noticed/not/?, steady/not"
    assert re.split("  +", head) == columns.split(", ")
    assert re.split("  +", line) == [name, "old", "1/1/0", "repeated sentences of …", "1/1/1(1)", "0/1"]
    assert max(map(len, (head, line, legend))) == 100
    assert "insensitive" in legend
    assert unasked == "(not measured: Does it agree with people?)"


def test_one_chance_pass_does_not_make_an_empty_metric_fair() -> None:
    rows = [effect("m", f"gender/group/{n}", "group_effect", 0, sensitive=n == 0) for n in range(5)]
    answer = answers(judged_run({Groups(): rows}))["m", "fairness"]
    assert (answer.count("pass"), answer.words) == (1, "insensitive")


def test_a_metric_is_shown_with_its_backbone_or_its_own_name() -> None:
    about = {
        "bertscore-f": {"backbone": "org/minilm", "name": "bertscore", "output": "f"},
        "bertscore-f:layer=4": {"backbone": "minilm", "name": "bertscore", "output": "f"},
        "bertscore-f:model=tiny": {"backbone": "tiny", "name": "bertscore", "output": "f"},
        "/home/x/zoo.py:Hash": {"name": "hash"},
        "a.py:Twin": {"name": "twin"},
        "b.py:Twin": {"name": "twin"},
    }
    rows = [effect("bertscore-f", "gender/group/x", "group_effect", -10)]
    rows += [effect("/home/x/zoo.py:Hash", "gender/group/x", "group_effect", -10)]
    run = judged_run({Groups(): rows}, about)
    assert list(shown_names(run).values()) == [
        "bertscore-f [minilm]", "hash", "bertscore-f:layer=4 [minilm]", "bertscore-f:model=tiny", "a.py:Twin", "b.py:Twin",
    ]  # fmt: skip
    for form in ("html", "md", "latex"):
        text = render(run, form)
        assert "bertscore-f [minilm]" in text
        assert "/home/x" not in text
    sentences = shown(run).findings["sentence"].to_list()
    assert sentences[0] == "bertscore-f [minilm] scores texts about x people -10% apart."
    assert "# Metric card: hash" in as_markdown(make_card(run, "/home/x/zoo.py:Hash"))
    assert json.loads(run.json())["findings"][1]["metric"] == "/home/x/zoo.py:Hash"


def test_evidence_shows_the_references_that_each_text_was_scored_with() -> None:
    gold, other = "The train was late.", "The train came late."
    samples = {
        "gold": Sample(gold, (other,)), "perturbed": Sample(other, (gold,)), "worthless": Sample("late a", (other,)),
    }  # fmt: skip
    case = Case("c1", samples, "t/invariance/alternative")
    row = Finding.of("m", "t/invariance/alternative", "change", -40.0, n=1, evidence=("c1",))
    run = judged_run({Checklist(): [row]})
    run = replace(run, cases=cases_frame({"checklist": [case]}))
    shown_case = examples(run, rows_of(run))["checklist", "c1"]
    assert shown_case["references"] == [other]
    assert shown_case["roles"]["perturbed"] == {"text": other, "scores": [], "references": [gold]}
    assert "references" not in shown_case["roles"]["worthless"]


def test_the_strongest_level_is_shown_beside_the_worthless_text() -> None:
    roles = ["gold", "0.1/1", "0.2/1", "0.3/1", "0.5/1", "worthless"]
    assert wanted_roles("translation/truncation", roles) == ["gold", "0.5/1", "worthless"]


def test_tables_for_papers_have_intervals_and_counts() -> None:
    text = render(summarised(), "latex")
    assert r"genderqueer & group\_effect & -10 & -10.5 to -9.5 & 40 & 0.010 & FAIL \\" in text
    assert text.count(r"\toprule") == 2
    assert "| -10 | -10.5 to -9.5 | 40 | 0.010 | FAIL |" in render(summarised(), "md")


def test_amounts_have_signs_where_both_sides_are_bad() -> None:
    assert amount(0.5, Statistic("x", "", "SD", bad="high")) == "0.5 SD"
    assert number(-0.0) == number(2.8e-14) == "0"


def test_the_page_shows_no_negative_zero_and_explains_the_gap() -> None:
    run = judged_run({Checklist(): [effect("m", "t/a", "change", -0.0, half=0.2)]})
    assert run.findings["verdict"].to_list() == ["fail"]
    page = render(run, "html")
    said = re.sub(r"\s+|<[^>]+>", " ", page)
    assert (
        "The score should have fallen by at least 1% of the gap. Measured: 0% of the gap, 95% CI -0.2 to 0.2"
        in re.sub(" +", " ", said)
    )
    assert "in percent of the <em>gap</em>" in page
    assert pl.Series([page]).str.contains("test that an effect is 0").item()


def test_the_gravest_findings_are_of_different_defects() -> None:
    rows = [
        effect("a", "summaries/invariance/synonyms", "change", -70),
        effect("b", "translation/invariance/synonyms", "change", -60),
        effect("b", "translation/negate", "change", 5),
    ]
    run = judged_run({Checklist(): rows})
    same = replace(run, findings=run.findings.with_columns(pl.lit("The same of all.").alias("sentence")))
    assert len(worst(rows_of(same))) == 1
    rows = [effect("a", f"t/error-{n}", "change", 90 - n) for n in range(3)]
    mixed = judged_run({Checklist(): [*rows, effect("b", "t/error-5", "change", 9)]})
    assert [row["metric"] for row in worst(rows_of(mixed), 2)] == ["a", "b"]  # another metric first
    assert [row["slice"] for row in worst(rows_of(run), 2)] == [
        "summaries/invariance/synonyms",
        "translation/negate",
    ]
