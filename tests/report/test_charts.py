"""Charts and tables of whatever an audit declares: panels, marks and colours by number."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from assay.api.runs import Run
from assay.core import Chart, Estimate, Finding, Statistic
from assay.reading.results import findings_frame
from assay.reading.verdicts import audits_of, rows_of
from assay.report.charts import MOST_BARS, MOST_PANELS, MOST_UNDECLARED, Panel, panels
from assay.report.tables import PageTable, shown_rows, tables

METRICS = ("soft", "keen")


def finding(metric: str, slice_: str, statistic: str, value: float, **others: object) -> Finding:
    """A finding as it is stored, with an interval of one on either side."""
    estimate = Estimate(value, 10, (value - 1, value + 1))
    return replace(Finding.of(metric, slice_, statistic, estimate), audit="mine", **others)  # type: ignore[arg-type]


def run_of(findings: list[Finding], *statistics: Statistic, charts: tuple[Chart, ...] = ()) -> Run:
    """A run of one audit that no table of assay knows."""
    described = [
        {name: getattr(each, name) for name in Statistic.__slots__ if name != "sentence"}
        for each in statistics
    ]
    drawn = [{name: getattr(chart, name) for name in Chart.__slots__} for chart in charts]
    audit = {"question": "robustness", "title": "Mine", "statistics": described, "charts": drawn}
    about = {"metrics": {metric: {} for metric in METRICS}, "audits": {"mine": audit}, "notes": []}
    return Run(findings_frame(findings), pl.DataFrame(), pl.DataFrame(), (), about)


def drawn(run: Run) -> list[Panel]:
    """The panels, each of which a renderer accepts."""
    import vl_convert

    made = panels(run)
    assert all(vl_convert.vegalite_to_svg(panel.whole).startswith("<svg") for panel in made)
    return made


def tables_of(run: Run) -> list[PageTable]:
    return tables(audits_of(run)["mine"], rows_of(run), run.metrics)


@pytest.mark.parametrize("bad", ["high", "low"])
def test_an_audit_without_charts_gets_dots_of_its_headlines_with_their_bars(bad: str) -> None:
    findings = [
        finding("soft", "news", "gain", 3.0, verdict="fail"),
        finding("keen", "news", "gain", -2.0, verdict="pass"),
        finding("keen", "news", "other", 1.0),
    ]
    gain = Statistic("gain", "Gain.", "SD", bad=bad, bar=1.0, headline=True)  # type: ignore[arg-type]
    run = run_of(findings, gain, Statistic("other", "Other.", "SD"))
    (panel,) = drawn(run)
    assert (panel.audit, panel.group, panel.title) == ("mine", "gain", "news")
    bars = [(row["metric"], row["value"], row["low"], row["high"], row["verdict"]) for row in panel.rows]
    assert bars == [("soft", 3.0, 2.0, 4.0, "fail"), ("keen", -2.0, -3.0, -1.0, "pass")]
    assert panel.spec["layer"][0]["data"]["values"] == [{"at": 1.0}]
    assert panel.spec["layer"][2]["encoding"]["x"]["title"] == "gain (SD)"


def test_what_is_coloured_by_a_verdict_is_the_number_that_was_judged(planted: Run) -> None:
    panel = next(panel for panel in drawn(planted) if panel.audit == "stereotype")
    assert (panel.group, panel.title) == ("bias by attribute", "gender")
    dots = [(row["metric"], row["value"], row["verdict"]) for row in panel.rows]
    assert dots == [("soft", 20.0, "fail"), ("keen", 1.0, "pass"), ("plain", 2.0, "pass")]
    title = panel.spec["layer"][2]["encoding"]["x"]["title"]
    assert title == "excess bias (points of 100)"


def test_bars_of_deeper_slices_are_labelled_with_the_rest_of_their_path() -> None:
    gain, charts = Statistic("gain", "Gain.", "SD"), (Chart("bars", "gain"),)
    for parts, names in (("a", "b"), ["a", "b"]), (("word/he", "word/she"), ["“he”", "“she”"]):
        findings = [finding("soft", f"news/{part}", "gain", value) for value, part in enumerate(parts)]
        (panel,) = drawn(run_of(findings, gain, charts=charts))
        assert [row["label"] for row in panel.rows] == [f"{name} · soft" for name in names]


def test_where_there_are_groups_they_alone_are_drawn() -> None:
    gain, charts = Statistic("gain", "Gain.", "SD"), (Chart("bars", "gain"),)
    findings = [finding("soft", f"news/{part}", "gain", 1.0) for part in ("group/old", "word/he")]
    (panel,) = drawn(run_of(findings, gain, charts=charts))
    assert [row["label"] for row in panel.rows] == ["old · soft"]


def test_only_the_worst_of_very_many_are_drawn() -> None:
    gain = Statistic("gain", "Gain.", "SD", bad="high", headline=True)
    findings = [finding("soft", f"news/{n}", "gain", float(n)) for n in range(60)]
    (panel,) = drawn(run_of(findings, gain, charts=(Chart("bars", "gain"),)))
    assert [row["value"] for row in panel.rows] == [float(n) for n in range(60 - MOST_BARS, 60)]
    many = [finding("soft", f"s{n}", "gain", 1.0, verdict="fail" if n > 55 else "pass") for n in range(60)]
    for charts, most in (((), MOST_UNDECLARED), ((Chart("bars", "gain"),), MOST_PANELS)):
        made = drawn(run_of(many, gain, charts=charts))
        assert len(made) == most
        assert [panel.title for panel in made[:5]] == ["s56", "s57", "s58", "s59", "s0"]
        assert made[0].group == f"gain ({most} of 60, most failures first)"


def test_undeclared_bars_have_one_panel_per_slice_and_prefer_judged_statistics() -> None:
    findings = [finding(metric, f"news/{part}", "gain", 1.0) for part in ("a", "b-c") for metric in METRICS]
    made = drawn(run_of(findings, Statistic("gain", "Gain.", "SD", headline=True)))
    assert [(panel.group, panel.title) for panel in made] == [("gain", "news/a"), ("gain", "news/b-c")]
    assert [[row["label"] for row in panel.rows] for panel in made] == [["soft", "keen"]] * 2
    both = [Statistic(name, "Gain.", "SD", headline=True) for name in ("gain", "loss")]
    made = drawn(run_of([*findings, finding("soft", "news", "loss", 1.0, verdict="pass")], *both))
    assert [(panel.group, panel.title) for panel in made] == [("loss", "news")]


def test_a_curve_shows_values_over_noise_and_its_verdict(planted: Run) -> None:
    curves = {panel.title: panel for panel in drawn(planted) if panel.audit == "stress"}
    assert list(curves) == ["truncation", "negation", "jumble"]
    panel = curves["truncation"]
    assert panel.group == "score by noise: translation"
    keen = [(row["x"], row["value"], row["verdict"]) for row in panel.rows if row["metric"] == "keen"]
    assert keen == [(0.1, pytest.approx(0.7), "pass"), (0.5, pytest.approx(0.3), "pass")]
    assert {row["verdict"] for row in panel.rows if row["metric"] == "soft"} == {"fail"}
    import vl_convert

    lines = {row["metric"] for row in panel.rows}
    assert vl_convert.vegalite_to_svg(panel.whole).count('aria-roledescription="line mark"') == len(lines)


def test_a_curve_without_another_statistic_reads_the_number_in_the_slice() -> None:
    findings = [finding("soft", f"system/overall/top-{n}", "agreement", n / 10) for n in (3, 12)]
    findings.append(finding("soft", "system/overall", "agreement", 0.9))
    findings.append(finding("soft", "system/overall/by-document", "agreement", 0.9))
    agreement = Statistic("agreement", "Agreement.", "correlation")
    (panel,) = drawn(run_of(findings, agreement, charts=(Chart("curve", "agreement", depth=2),)))
    assert [(row["x"], row["value"]) for row in panel.rows] == [(3.0, 0.3), (12.0, 1.2)]
    assert "agreement (correlation)" in str(panel.spec)


def test_a_chart_whose_points_lie_on_one_spot_is_flat() -> None:
    gain = Statistic("gain", "Gain.", "SD", headline=True)
    one, same, other = ([finding(metric, "news", "gain", value) for metric, value in zip(METRICS, values, strict=False)]
                        for values in ((1.0,), (1.0, 1.0), (1.0, 2.0)))  # fmt: skip
    assert [panels(run_of(listed, gain))[0].is_flat for listed in (one, same, other)] == [False, True, False]


def test_a_scatter_sets_two_groups_against_each_other_one_panel_per_metric() -> None:
    findings = [
        finding(metric, f"jobs/{concept}", "accuracy", value, versus=group)
        for metric in METRICS
        for concept, values in (("nurse", (0.2, 0.9)), ("pilot", (0.8, 0.7)))
        for group, value in zip(("man", "woman"), values, strict=True)
    ]
    findings.append(finding("soft", "jobs/cook", "accuracy", 0.5, versus="man"))  # no woman: no point
    findings.append(finding("soft", "jobs/nurse", "gap", -0.7, versus="man - woman", verdict="fail"))
    chart = Chart("scatter", "accuracy", title="accuracy by concept", colour="gap")
    made = drawn(run_of(findings, charts=(chart,)))
    assert [panel.title for panel in made] == ["soft", "keen"]
    points = [(row["slice"], row["x"], row["y"], row["verdict"]) for row in made[0].rows]
    assert points == [("jobs/nurse", 0.2, 0.9, "fail"), ("jobs/pilot", 0.8, 0.7, "not judged")]
    axes = made[0].spec["layer"][1]["encoding"]
    assert (axes["x"]["title"], axes["y"]["title"]) == ("accuracy, man", "accuracy, woman")


def test_tables_show_headlines_and_whatever_was_judged() -> None:
    findings = [
        finding("soft", "news", "gain", 3.0, verdict="fail", versus="gold"),
        finding("keen", "news", "gain", -2.0, verdict="inconclusive", versus="gold"),
        finding("soft", "news", "gain", 9.0, versus="control"),  # beside a judged comparison: a detail
        finding("soft", "news", "level", 1.0),
        finding("soft", "news/deep", "level", 2.0),
        finding("soft", "news", "count", 7.0),
    ]
    gain = Statistic("gain", "What it gains.", "SD", bad="high")
    level = Statistic("level", "Its level.", "score", headline=True)
    shown = tables_of(run_of(findings, gain, level, Statistic("count", "A count.", "items")))
    assert [table.title for table in shown] == ["level (score) by metric", "gain (SD) by metric"]
    assert [label for label, _ in shown[0].lines] == ["news"]
    ((label, cells),) = shown[1].lines
    assert (label, shown[1].meaning, shown[1].columns) == ("news", "What it gains.", ("soft", "keen"))
    assert [cell and (cell["value"], cell["verdict"]) for cell in cells] == [
        (3, "fail"),
        (-2, "inconclusive"),
    ]


def test_lines_name_what_they_are_compared_with_where_that_differs() -> None:
    findings = [finding("soft", "news", "gain", 1.0, verdict="pass", versus=versus) for versus in ("a", "b")]
    (table,) = tables_of(run_of(findings, Statistic("gain", "Gain.", "SD", bad="high")))
    assert [label for label, _ in table.lines] == ["news (a)", "news (b)"]
    assert len(shown_rows(rows_of(run_of(findings)))) == 2


def test_a_judged_comparison_with_another_metric_has_a_line_of_its_own() -> None:
    findings = [finding("soft", "overall", "lead", 0.2, versus="keen", verdict="fail")]
    (table,) = tables_of(run_of(findings, Statistic("lead", "Lead.", "correlation", bad="low")))
    assert (table.title, table.columns) == ("lead (correlation) by metric", ("soft",))
    assert [label for label, _ in table.lines] == ["overall"]


def test_a_statistic_between_metrics_has_a_table_of_metrics() -> None:
    gap = finding("soft", "system/overall", "difference", 0.25, versus="keen", p_value=0.003)
    (table,) = tables_of(run_of([gap], Statistic("difference", "One less the other.", "correlation")))
    assert (table.title, table.columns) == ("difference (correlation), system/overall", ("keen",))
    cells = [(label, [cell and cell["value"] for cell in cells]) for label, cells in table.lines]
    assert (cells, table.is_starred) == ([("soft", [0.25])], True)


def test_scores_stand_against_the_ratings_of_people() -> None:
    findings = [
        finding("soft", "example/overall", "agree", 0.5),
        finding("soft", "example/overall", "over", 0.2, verdict="pass"),
    ]
    chart = Chart("cases", "agree", "Ratings", colour="over")
    run = run_of(findings, Statistic("agree", "A.", "r"), Statistic("over", "O.", "r"), charts=(chart,))
    at = ['{"at": {"example/overall": 4.5}}', '{"at": {"example/overall": 1.0}}', '{"at": {}}', ""]
    cases = pl.DataFrame({"audit": "mine", "case": ["a", "b", "c", "d"], "meta": at})
    scores = {"audit": "mine", "metric": "soft", "case": ["a", "b", "c", "d"], "score": [0.9, None, 0.5, 0.1]}
    (panel,) = drawn(replace(run, cases=cases, scores=pl.DataFrame(scores)))
    assert (panel.group, panel.title) == ("Ratings: example/overall", "soft")
    assert panel.rows == ({"metric": "soft", "case": "a", "x": 4.5, "value": 0.9, "verdict": "pass"},)
    many = {"audit": "mine", "case": [f"c{n}" for n in range(1000)], "meta": [at[0]] * 1000}
    scored = {"audit": "mine", "metric": "soft", "case": many["case"], "score": [1.0] * 1000}
    (panel,) = panels(replace(run, cases=pl.DataFrame(many), scores=pl.DataFrame(scored)))
    assert len(panel.rows) == 200
