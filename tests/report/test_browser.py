"""The report in a real browser: the answer, filters, links, sorting, drill-down, covers; nothing leaves."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from assay.api.runs import Run
from assay.core import Case, Estimate, Finding, Sample
from assay.reading.results import cases_frame
from assay.report import write_report

from .conftest import Checklist, Groups, effect, judged_run

BROKEN_WORDS = """() => {
  // Words of table headings and lists that a line break cuts in two: their letters lie on more than one line.
  const cut = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (!node.parentElement.closest("th, .where, .says, h1, h2, h3, figcaption, .title, button, .role")) continue;
    for (const match of node.data.matchAll(/[A-Za-z]{2,}/g)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const tops = new Set([...range.getClientRects()].filter((box) => box.width).map((box) => Math.round(box.top)));
      if (tops.size > 1) cut.push(match[0]);
    }
  }
  return cut;
}"""


@pytest.fixture
def opened(browser: Any, planted: Run):
    """The report in a page, with everything it complained of and asked for."""
    path = write_report(planted)
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    ready(page, path.as_uri())
    yield page, said, asked
    context.close()


def ready(page: Any, address: str) -> None:
    """Open an address anew and wait until everything that is packed in the page is there."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")


def test_it_opens_without_a_word_and_asks_for_nothing(opened: Any, screenshot: Any) -> None:
    page, said, asked = opened
    page.wait_for_selector(".gravest .case", state="attached")
    screenshot(page, "report")
    for audit in page.locator("details.audit").all():
        audit.locator("> summary").click()
    page.wait_for_selector("#audit-stereotype figure svg")
    page.wait_for_selector("#audit-stress figure svg")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert said == []
    assert [url for url in asked if not url.startswith(("data:", "blob:", "about:"))] == [
        page.url.partition("#")[0]
    ]
    assert page.evaluate("window.broken") is None


def test_filters_narrow_the_page_and_are_in_the_address(opened: Any) -> None:
    page, _, _ = opened
    whole = page.locator("#count").inner_text()
    page.select_option("#verdict", "fail")
    expect(page.locator("#count")).not_to_have_text(whole)
    expect(page.locator(".finding .badge")).to_have_text(["fail"] * 9)
    page.select_option("#audit", "stress")
    expect(page.locator(".finding")).to_have_count(7)
    expect(page.locator("#audit-stereotype")).to_be_hidden()
    page.fill("#words", "truncation")
    expect(page.locator(".finding")).to_have_count(2)
    page.click(".choose > summary")
    page.uncheck("#metric-boxes input[value=soft]")
    expect(page.locator(".finding strong")).to_have_text(["plain"])
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("metric=keen"))
    ready(page, page.url)
    expect(page.locator(".finding strong")).to_have_text(["plain"])
    expect(page.locator("#words")).to_have_value("truncation")
    page.click("#filters button[type=reset]")
    expect(page.locator("#count")).to_have_text(whole)


def test_audits_without_a_match_are_hidden(opened: Any) -> None:
    page, _, _ = opened
    page.fill("#words", "negation")
    expect(page.locator("details.audit:visible")).to_have_count(1)
    expect(page.locator("details.audit:visible .title")).to_have_text(["Stress tests"])
    page.locator("#audit-stress > summary").click()
    expect(page.locator("#audit-stress .heat tbody th")).to_have_text(["translation › negation"])
    expect(page.locator("#audit-stress figcaption").first).to_have_text(re.compile("^negation"))


def test_every_finding_has_a_link_that_opens_it(opened: Any) -> None:
    page, _, _ = opened
    page.fill("#words", "keen jumble")
    expect(page.locator(".finding")).to_have_count(6)
    page.select_option("#verdict", "fail")
    expect(page.locator(".finding")).to_have_count(1)
    finding = page.locator(".finding").first
    finding.locator("summary").first.click()
    link = finding.locator("a", has_text="link to this finding").get_attribute("href")
    assert re.fullmatch(r"#/finding/\w{6,12}", link)
    ready(page, page.url.partition("#")[0] + link)
    linked = page.locator(".finding.linked")
    expect(linked.locator("summary strong").first).to_have_text("keen")
    expect(linked.locator(".case").first).to_be_visible()
    ready(page, page.url.partition("#")[0] + "#/finding/0000000")
    expect(page.locator("#count")).to_contain_text("not in this report")


def test_a_metric_has_a_page_of_its_own(opened: Any) -> None:
    page, said, _ = opened
    page.locator(".task .ranking a", has_text="soft").click()
    own = page.locator("#metric-page")
    expect(own.locator("h1")).to_have_text("soft")
    expect(page.locator("#overview")).to_be_hidden()
    expect(own).to_contain_text("differ only in gender apart by 20 points")
    expect(own).to_contain_text("2 of 2 settled")
    expect(own).to_contain_text("not measured: give your ratings to assay run human")
    own.locator("a", has_text="All findings of soft").click()
    expect(page.locator(".finding strong")).to_have_text(["soft"] * 21)
    page.go_back()
    expect(own.locator("h1")).to_be_visible()
    assert said == []


def test_tables_sort_by_the_heading_that_is_pressed(opened: Any) -> None:
    page, _, _ = opened
    names = page.locator(".task:not([hidden]) .ranking tbody th a")
    heading = page.locator(".task:not([hidden]) .ranking thead button", has_text="metric")
    expect(names).to_have_text(["soft", "keen", "plain"])
    heading.click()
    expect(names).to_have_text(["soft", "plain", "keen"])
    heading.press("Enter")
    expect(names).to_have_text(["keen", "plain", "soft"])
    sorted_by = page.locator(".task:not([hidden]) .ranking th[aria-sort]")
    expect(sorted_by).to_have_attribute("aria-sort", "ascending")
    page.select_option("#sort", "value")
    expect(page.locator(".finding .num").first).to_have_text(re.compile("^bias 23"))
    expect(page).to_have_url(re.compile("sort=value"))


def test_each_metric_is_summed_up_with_links_to_its_failures(opened: Any) -> None:
    page, _, _ = opened
    row = page.locator("#each tbody tr", has=page.locator("th", has_text="soft"))
    expect(row.locator("td").first).to_contain_text("damages translation texts")
    expect(row.locator("td").nth(1)).to_contain_text("differ only in gender apart by 20 points")
    row.locator("td").nth(1).locator("a").first.click()
    expect(page.locator(".finding.linked .says")).to_contain_text("differ only in gender")


def test_a_metrics_page_has_an_example_of_whom_it_is_unfair_to(opened: Any) -> None:
    page, _, _ = opened
    ready(page, page.url.partition("#")[0] + "#/metric/soft")
    cover = page.locator("#metric-page details.offensive")
    expect(cover.locator(".case")).to_be_hidden()
    cover.locator("> summary").click()
    expect(cover.locator(".case del")).to_have_text(["she"])


def test_groups_stand_with_their_intervals_in_one_order_of_metrics(opened: Any) -> None:
    page, _, _ = opened
    page.locator(".attribute > summary").first.click()
    table = page.locator(".attribute table").first
    expect(table.locator("thead th")).to_have_text([re.compile("group"), "soft", "keen", "plain"])
    cell = table.locator("tbody tr").first.locator("td").nth(0)
    expect(cell).to_have_class("fail")
    assert float(cell.locator(".scale").evaluate("node => node.style.getPropertyValue('--value')")) > 50
    expect(cell.locator("a")).to_have_attribute("title", re.compile("95% CI"))


def test_drill_down_shows_marked_texts_scores_and_the_map(opened: Any) -> None:
    page, _, _ = opened
    page.fill("#words", "excess_bias")
    expect(page.locator(".finding")).to_have_count(3)
    finding = page.locator(".finding").first
    finding.locator("summary").first.focus()
    page.keyboard.press("Enter")
    cover = finding.locator("details.offensive")
    cover.wait_for()
    expect(cover.locator(".case").first).to_be_hidden()
    cover.locator("summary").first.click()
    case = cover.locator(".case").first
    expect(case).to_be_visible()
    expect(case).to_contain_text("window.broken=1")  # shown as text
    expect(case.locator("del").first).to_have_text("she")
    expect(case.locator("mark").first).to_have_text("he")
    expect(case).to_contain_text("soft 0.5")
    case.locator("details summary", has_text="Which word matched which").click()
    expect(case.locator("td.best")).to_have_text(["0.90", "0.80"])
    assert page.evaluate("window.broken") is None


def test_the_gravest_findings_have_complete_examples(opened: Any) -> None:
    page, _, _ = opened
    card = page.locator(".gravest li", has_text="damages translation texts")
    expect(card).to_contain_text("The sensitivity should be at least 0.1 SD")
    expect(card.locator(".case .role").first).to_have_text("reference")
    expect(card.locator(".case del")).to_have_text(["dog ran home."])  # the strongest change alone
    assert card.locator(".body").evaluate(
        "node => node.scrollHeight <= node.clientHeight + 1"
    )  # nothing is cut off


def test_cards_fill_the_width_one_below_the_other(opened: Any) -> None:
    page, _, _ = opened
    boxes = [card.bounding_box() for card in page.locator(".gravest li").all()]
    whole = page.locator("#worst").bounding_box()
    assert len(boxes) == 3
    assert all(abs(box["width"] - whole["width"]) <= 1 for box in boxes)
    gaps = [low["y"] - high["y"] - high["height"] for high, low in pairwise(boxes)]
    assert all(0 < gap < 20 for gap in gaps)


def test_struck_and_added_words_are_told_apart_without_colours(opened: Any) -> None:
    page, _, _ = opened
    page.check("#offensive")
    line = page.locator(".gravest details.offensive .case p", has=page.locator("del")).first
    copied = line.evaluate(
        "node => { getSelection().selectAllChildren(node); return String(getSelection()); }"
    )
    assert copied.startswith("The nurse said [removed: she] [added: he] was tired")
    assert "[removed:" in line.aria_snapshot()
    assert line.locator(".unseen").first.evaluate("node => node.getBoundingClientRect().width") == 0


@pytest.fixture
def unsettled(browser: Any, tmp_path: Path):
    """The page of a metric on harmless edits of which nothing is settled, and groups some of which are."""
    roles = {"gold": "The train was late.", "perturbed": "The train was tardy.", "worthless": "soup a the"}
    case = Case("c1", {role: Sample(text, ("It was late.",)) for role, text in roles.items()}, "t/negate")
    missed = Finding.of("m", "t/negate", "change", Estimate(9.0, 40, (8.0, 10.0)), evidence=("c1",))
    doubtful = Estimate(-3.0, 40, (-6.0, 0.5), 0.002)
    groups = [effect("m", f"race/group/g{n}", "group_effect", 0, half=50) for n in range(3)]
    rows = {
        Checklist(): [missed, effect("m", "t/invariance/x", "change", 0, half=50)],
        Groups(): [Finding.of("m", "race/group/latino", "group_effect", doubtful), *groups],
    }
    run = replace(judged_run(rows), cases=cases_frame({"checklist": [case]})).save(tmp_path / "run")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    ready(page, write_report(run).as_uri())
    yield page
    context.close()


def test_where_nothing_is_settled_no_metric_is_cleared(unsettled: Any) -> None:
    cell = unsettled.locator("#each tbody td").nth(1)
    expect(cell).to_contain_text("largest effect: latino (race) -3 of a lost word (95% CI -6 to 0.5), about")
    expect(cell).to_contain_text("items would settle it")
    ready(unsettled, unsettled.url.partition("#")[0] + "#/metric/m")
    expect(unsettled.locator("#metric-page li", has_text="Is it fair?")).to_contain_text("unknown")


def test_findings_are_found_by_their_words(unsettled: Any) -> None:
    unsettled.fill("#words", "latino")
    expect(unsettled.locator(".finding .where")).to_have_text(["groups › race › group › latino"])
    finding = unsettled.locator(".finding").first
    finding.locator("summary").first.click()
    expect(finding.locator(".facts").first).to_contain_text("p = 0.002, q = 0.008")
    unsettled.fill("#words", "negate")
    expect(unsettled.locator(".finding .where")).to_have_text(["checklist › t › negate"])
    finding = unsettled.locator(".finding", has_text="negate").first
    finding.locator("summary").first.click()
    expect(finding.locator(".facts").first).not_to_contain_text("p = 0.002")


def test_offensive_examples_are_covered_until_asked_for(opened: Any) -> None:
    page, _, _ = opened
    first = page.locator(".gravest details.offensive").first
    expect(first.locator(".case")).to_be_hidden()
    page.check("#offensive")
    expect(first.locator(".case")).to_be_visible()


def test_csv_of_a_chart_and_its_words(opened: Any) -> None:
    page, _, _ = opened
    page.locator("#audit-stereotype > summary").click()
    with page.expect_download() as waiting:
        page.locator("#audit-stereotype button.csv").click()
    text = waiting.value.path().read_text()
    assert text.splitlines()[0] == "panel,label,metric,value,low,high,n,verdict"
    assert "gender,soft,soft,20,19,21,40,fail" in text
    words = "gender: soft 20, fail; keen 1, pass; plain 2, pass"
    expect(page.locator("#audit-stereotype .plot")).to_have_attribute("aria-label", words)


@pytest.mark.parametrize("where", ["", "#/metric/soft"])
def test_dark_and_phone_width(browser: Any, planted: Run, screenshot: Any, where: str) -> None:
    path = write_report(planted)
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    ready(page, path.as_uri() + where)
    if not where:
        screenshot(page, "report-phone")
        for section in page.locator("details.audit, details.attribute").all():
            section.locator("> summary").click()
        expect(page.locator(".heat")).to_have_count(3)
        expect(page.locator(".attribute:not(:has(table))")).to_have_count(0)
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(BROKEN_WORDS) == []
    page.click("#theme")
    expect(root).to_have_attribute("data-theme", "light")
    context.close()


def test_printed_legends_keep_their_colours(opened: Any) -> None:
    page, _, _ = opened
    page.locator("#audit-stress > summary").click()
    page.wait_for_selector("#audit-stress .legend i")
    page.emulate_media(media="print")
    expect(page.locator("#audit-stress .legend i").first).to_have_css("print-color-adjust", "exact")
    expect(page.locator("#filters")).to_be_hidden()
    expect(page.locator(".only-print").first).to_be_visible()  # every task is printed under its name


def test_the_lines_of_a_curve_can_be_told_apart(opened: Any) -> None:
    page, _, _ = opened
    page.locator("#audit-stress > summary").click()
    expect(page.locator("#audit-stress .legend")).to_contain_text("● soft  ■ keen  ▲ plain")
    drawn = page.locator("#audit-stress figure svg").first.locator(".mark-symbol path")
    expect(drawn).to_have_count(6)
    assert len({path.get_attribute("d") for path in drawn.all()}) == 3


def test_unlikely_tokens_are_darker(opened: Any) -> None:
    page, _, _ = opened
    page.fill("#words", "soft stress truncation sensitivity")
    expect(page.locator(".finding")).to_have_count(1)
    finding = page.locator(".finding").first
    finding.locator("summary").first.click()
    finding.locator("summary", has_text="How likely each token was").click()
    tokens = finding.locator(".tokens span")
    expect(tokens).to_have_count(2)
    shades = tokens.evaluate_all("nodes => nodes.map(n => Number(n.style.getPropertyValue('--depth')))")
    assert shades == [0.05, 0.75]
    expect(tokens.nth(1)).to_have_attribute("title", "probability 0.000012")


def test_no_serious_violation_of_accessibility(opened: Any) -> None:
    """Needs axe-core where ASSAY_AXE points: `npm install axe-core`, then the path of axe.min.js."""
    script = os.environ.get("ASSAY_AXE")
    if not script:
        pytest.skip("set ASSAY_AXE to the path of axe.min.js (npm install axe-core)")
    page, _, _ = opened
    for address in ("", "#/metric/soft"):
        ready(page, page.url.partition("#")[0] + address)
        page.evaluate(Path(script).read_text("utf-8"))
        violations = page.evaluate("axe.run().then((result) => result.violations)")
        assert [v["id"] for v in violations if v["impact"] in ("serious", "critical")] == []
