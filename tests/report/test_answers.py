"""Summaries count slices, tell blind from over-sensitive, name whom a metric is unfair to and praise no empty one."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import polars as pl

from assay.api.runs import Run
from assay.core import Case, Finding, Sample, Statistic
from assay.reading.answers import answers
from assay.reading.evidence import examples, wanted_roles
from assay.reading.names import shown, shown_names
from assay.reading.results import cases_frame
from assay.reading.text import amount, number, sentence_of_all
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


def summarised() -> Run:
    """A metric of which nothing is known listed first, then one that is unfair to some."""
    groups = [
        effect("real", "gender/group/genderqueer", "group_effect", -10),
        effect("real", "gender/word/genderqueer", "group_effect", -9),
        effect("real", "religion/group/sikh", "group_effect", 4.4),
        effect("real", "gender", "excess_bias", 0),
        *(effect("flat", f"gender/group/{name}", "group_effect", 0, half=9) for name in "abc"),
    ]
    return judged_run({Groups(): groups}, {"flat": {"signature": "flat"}, "real": {"signature": "real"}})


def test_summaries_name_whom_a_metric_is_unfair_to() -> None:
    answer = answers(summarised())["real", "fairness"]
    assert answer.detail == "1 fair, 3 unfair, 0 unknown"
    assert answer.named() == "genderqueer, “genderqueer”, sikh"
    card = as_markdown(make_card(summarised(), "real"))
    assert "real scores texts about genderqueer people -10% apart." in card


def test_a_metric_of_which_nothing_is_known_is_not_praised() -> None:
    run = summarised()
    answer = answers(run)["flat", "fairness"]
    assert (answer.verdict, answer.words, answer.is_unsettled) == ("inconclusive", "mostly unknown", True)
    assert answer.detail == "0 fair, 0 unfair, 3 unknown"
    card = as_markdown(make_card(run, "flat"))
    assert "No unfairness" not in card


def test_one_chance_pass_does_not_make_a_metric_fair() -> None:
    rows = [effect("m", f"gender/group/{n}", "group_effect", 0, half=0.5 if n == 0 else 9) for n in range(5)]
    answer = answers(judged_run({Groups(): rows}))["m", "fairness"]
    assert (answer.count("pass"), answer.words) == (1, "mostly unknown")


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
    samples = {"gold": Sample(gold, (other,)), "perturbed": Sample(other, (gold,))}
    case = Case("c1", samples, "t/alternative")
    row = Finding.of("m", "t/alternative", "change", -40.0, n=1, evidence=("c1",))
    run = judged_run({Checklist(): [row]})
    run = replace(run, cases=cases_frame({"checklist": [case]}))
    shown_case = examples(run, rows_of(run))["checklist", "c1"]
    assert shown_case["references"] == [other]
    assert shown_case["roles"]["perturbed"] == {"text": other, "scores": [], "references": [gold]}


def test_the_strongest_level_is_shown_where_no_level_is_named() -> None:
    roles = ["gold", "0.1/1", "0.2/1", "0.3/1", "0.5/1", "reworded"]
    assert wanted_roles("translation/truncation", roles) == ["gold", "0.5/1"]


def test_tables_for_papers_have_intervals_and_counts() -> None:
    text = render(summarised(), "latex")
    assert r"genderqueer & group\_effect & -10 & -10.5 to -9.5 & 40 & 0.010 & FAIL \\" in text
    assert text.count(r"\toprule") == 2
    assert "| -10 | -10.5 to -9.5 | 40 | 0.010 | FAIL |" in render(summarised(), "md")


def test_amounts_have_signs_where_both_sides_are_bad() -> None:
    assert amount(0.5, Statistic("x", "", "SD", bad="high")) == "0.5 SD"
    assert number(-0.0) == number(2.8e-14) == "0"


def test_the_page_shows_no_negative_zero() -> None:
    run = judged_run({Checklist(): [effect("m", "t/a", "change", -0.0, half=0.2)]})
    assert run.findings["verdict"].to_list() == ["fail"]
    page = render(run, "html")
    said = re.sub(" +", " ", re.sub(r"\s+|<[^>]+>", " ", page))
    assert "Measured: 0 points, 95% CI -0.2 to 0.2" in said


def test_the_gravest_findings_are_of_different_defects() -> None:
    rows = [
        effect("a", "summaries/synonyms", "change", 70),
        effect("b", "translation/synonyms", "change", 60),
        effect("b", "translation/negate", "change", 5),
    ]
    run = judged_run({Checklist(): rows})
    same = replace(run, findings=run.findings.with_columns(pl.lit("The same of all.").alias("sentence")))
    assert len(worst(rows_of(same))) == 1
    rows = [effect("a", f"t/error-{n}", "change", 90 - n) for n in range(3)]
    mixed = judged_run({Checklist(): [*rows, effect("b", "t/error-5", "change", 9)]})
    assert [row["metric"] for row in worst(rows_of(mixed), 2)] == ["a", "b"]  # another metric first
    assert [row["slice"] for row in worst(rows_of(run), 2)] == [
        "summaries/synonyms",
        "translation/negate",
    ]


def test_what_all_metrics_share_is_said_once_and_of_all() -> None:
    shared = [effect(name, "t/negate", "change", 80 - place) for place, name in enumerate("ab")]
    rows = rows_of(judged_run({Checklist(): shared}))
    gravest = worst(rows)
    assert [row["metric"] for row in gravest] == ["a"]
    told = sentence_of_all(gravest[0], rows)
    assert told.startswith("Every metric that was asked ")
    assert told.endswith(" (the figure is that of a).")
    rows = rows_of(judged_run({Checklist(): [shared[0], effect("b", "t/negate", "change", -90)]}))
    assert sentence_of_all(worst(rows)[0], rows).startswith("a ")


def test_findings_of_tasks_with_many_good_answers_are_the_last_of_the_gravest() -> None:
    planted = [effect("a", "dialogue/negate", "change", 90), effect("b", "translation/typos", "change", 60)]
    rows = rows_of(judged_run({Checklist(): planted}))
    assert [row["slice"] for row in worst(rows, 1)] == ["translation/typos"]
    assert len(worst(rows)) == 2
