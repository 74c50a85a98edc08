"""The report in a real browser: filters, drill-down, the cover over offensive examples, nothing leaves."""

from __future__ import annotations

from typing import Any

import pytest

from assay.report import write_report
from assay.run.results import Run


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
    page.goto(path.as_uri())
    page.wait_for_selector(".finding")
    yield page, said, asked
    context.close()


def test_it_opens_without_a_word_and_asks_for_nothing(opened: Any, screenshot: Any) -> None:
    page, said, asked = opened
    page.wait_for_selector("figure svg")
    screenshot(page, "report")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(300)
    assert said == []
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [page.url]
    assert page.evaluate("window.broken") is None


def test_filters_narrow_the_list(opened: Any) -> None:
    page, _, _ = opened
    whole = page.locator("#count").inner_text()
    page.select_option("#verdict", "fail")
    assert page.locator("#count").inner_text() != whole
    assert page.locator(".finding .badge").all_inner_texts() == ["fail"] * 9
    page.select_option("#audit", "stress")
    assert page.locator(".finding").count() == 7
    assert page.locator("#audit-stereotype").is_hidden()
    page.fill("#words", "truncation")
    assert page.locator(".finding").count() == 2
    page.click(".choose > summary")
    page.uncheck("#metric-boxes input[value=soft]")
    assert page.locator(".finding strong").all_inner_texts() == ["plain"]
    page.keyboard.press("Escape")
    page.click("#filters button[type=reset]")
    page.wait_for_timeout(50)
    assert page.locator("#count").inner_text() == whole


def test_drill_down_shows_marked_texts_scores_and_the_map(opened: Any) -> None:
    page, _, _ = opened
    page.fill("#words", "excess_bias")
    finding = page.locator(".finding").first
    finding.locator("summary").first.focus()
    page.keyboard.press("Enter")
    cover = finding.locator("details.offensive")
    assert cover.locator(".case").first.is_hidden()
    cover.locator("summary").first.click()
    case = cover.locator(".case").first
    assert case.is_visible()
    assert "window.broken=1" in case.inner_text()  # shown as text
    assert case.locator("del").first.inner_text() == "she"
    assert case.locator("mark").first.inner_text() == "he"
    assert "soft 0.5" in case.inner_text()
    case.locator("details summary", has_text="Which word matched which").click()
    assert case.locator("td.best").all_inner_texts() == ["0.90", "0.80"]
    assert page.evaluate("window.broken") is None


def test_offensive_examples_are_covered_until_asked_for(opened: Any) -> None:
    page, _, _ = opened
    first = page.locator(".gravest details.offensive").first
    assert not first.evaluate("node => node.open")
    page.check("#offensive")
    assert first.evaluate("node => node.open")


def test_csv_of_a_chart(opened: Any) -> None:
    page, _, _ = opened
    with page.expect_download() as waiting:
        page.locator("#audit-stereotype button.csv").click()
    text = waiting.value.path().read_text()
    assert text.splitlines()[0] == "panel,label,metric,value,low,high,n,verdict"
    assert "gender,soft,soft,23,22,24,40,fail" in text


def test_dark_and_phone_width(browser: Any, planted: Run, screenshot: Any) -> None:
    path = write_report(planted)
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector(".finding")
    screenshot(page, "report-phone")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    context.close()


def test_unlikely_tokens_are_darker(opened: Any) -> None:
    page, _, _ = opened
    page.fill("#words", "soft stress truncation sensitivity")
    finding = page.locator(".finding").first
    finding.locator("summary").first.click()
    finding.locator("summary", has_text="How likely each token was").click()
    shades = finding.locator(".tokens span").evaluate_all(
        "nodes => nodes.map(n => Number(n.style.getPropertyValue('--depth')))"
    )
    assert shades == [0.05, 0.75]
    assert finding.locator(".tokens span").nth(1).get_attribute("title") == "probability 1.2e-5"
