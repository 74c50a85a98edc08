"""The server: who may ask, what it answers, and the playground in a real browser."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from assay.cli.serve import _listen, allowed_hosts
from assay.server.app import MOST_BYTES, Bucket, Guard, Shelf, create_app
from assay.server.live import identity_swaps

_spec = importlib.util.spec_from_file_location(
    "report_fixtures", Path(__file__).parents[1] / "report" / "conftest.py"
)
assert _spec is not None
assert _spec.loader is not None
shared = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = shared  # dataclasses look their module up
_spec.loader.exec_module(shared)
browser, screenshot = shared.browser, shared.screenshot
XSS = "<img src=x onerror='window.broken=1'><b>she</b>"
TYPED = {"hypothesis": "The old man sat down.", "references": ["The man sat down."]}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs, beside one that is not for the server."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("first", "second"):
        shared.planted_run().save(folder / name)
    (folder.parent / "secret").mkdir(exist_ok=True)
    (folder.parent / "secret" / "run.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    """A running server over two runs, on a free port."""
    import uvicorn

    listening = _listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = Guard(
        create_app(root, ("bleu", "chrf", "gpt-ppl")[:2]),
        allowed_hosts("127.0.0.1", port),
        Bucket(1000, 1000, 1000),
    )
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)
    listening.close()


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Any]:
    import httpx

    with httpx.Client(base_url=address, timeout=60) as made:
        yield made


def streamed(client: Any, typed: dict[str, Any]) -> list[dict[str, Any]]:
    with client.stream("POST", "/api/stream", json=typed) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        return [json.loads(line) for line in answer.iter_lines()]


def test_scores_are_those_of_the_pipeline(client: Any) -> None:
    from assay.api.scores import score
    from assay.core import Sample
    from assay.engine.session import Session

    rows = {row["metric"]: row["score"] for row in streamed(client, TYPED) if "score" in row}
    sample = Sample(TYPED["hypothesis"], tuple(TYPED["references"]))
    expected = score(["bleu", "chrf"], [sample], session=Session.open(cache=None)).to_dicts()[0]
    assert rows == pytest.approx(expected)


def test_a_metric_without_its_need_says_so(client: Any) -> None:
    rows = streamed(client, {"hypothesis": "Alone."})
    assert {row["why"] for row in rows if "why" in row} == {"needs references"}


def test_the_stream_brings_scores_then_edits_then_what_they_change(client: Any) -> None:
    lines = streamed(client, TYPED)
    kinds = [next(key for key in ("metrics", "edits", "after", "score") if key in line) for line in lines]
    assert kinds == ["metrics", "score", "score", "edits", "after", "after"]
    scored = {line["metric"]: line for line in lines if "score" in line}
    edits = {edit["name"]: (place, edit) for place, edit in enumerate(lines[3]["edits"])}
    after = {line["metric"]: line["after"] for line in lines if "after" in line}
    assert after["chrf"][edits["truncation"][0]] < scored["chrf"]["score"]
    assert any(name.startswith("age: old to ") for name in edits)


def test_a_lost_word_is_priced_where_there_is_one_to_lose(client: Any) -> None:
    typed = {"hypothesis": "The nurse thanked visitors.", "references": ["The nurse thanked some visitors."]}
    scored = {line["metric"]: line for line in streamed(client, typed) if "score" in line}
    for row in scored.values():  # without "nurse", "thanked" or "visitors"
        assert len(row["lost"]) == 3
        assert max(row["lost"]) < row["score"]
    assert {tuple(line["lost"]) for line in streamed(client, TYPED) if "score" in line} == {()}


def test_an_identity_swap_changes_the_references_alike(client: Any) -> None:
    """A metric is right to mind that only one of the two names another person."""
    place, edit = next(
        (place, edit)
        for place, edit in enumerate(streamed(client, TYPED)[3]["edits"])
        if edit["name"] == "other gender"
    )
    assert (edit["text"], edit["references"], edit["expect"]) == (
        "The old woman sat down.",
        ["The woman sat down."],
        "same",
    )
    lines = streamed(client, TYPED)
    before = next(line["score"] for line in lines if line.get("metric") == "bleu" and "score" in line)
    after = next(line["after"] for line in lines if line.get("metric") == "bleu" and "after" in line)
    assert after[place] == before


def test_metrics_without_a_model_answer_before_the_edits_and_judges_keep_to_a_budget(tmp_path: Path) -> None:
    from assay.core import Record
    from assay.names.spec import measure
    from assay.server.live import JUDGE_CALLS, Live

    path = tmp_path / "mine.py"
    path.write_text(JUDGE)
    live = Live([measure(f"{path}:Slow"), measure(f"{path}:Judge"), measure("bleu")])
    record = Record("typed", TYPED["hypothesis"], "translation", tuple(TYPED["references"]))
    lines = list(live.stream(record, []))
    order = [
        line.get("metric", "edits" if "edits" in line else "metrics").rpartition(":")[2] for line in lines
    ]
    assert order == ["metrics", "bleu", "edits", "bleu", "Slow", "Slow", "Judge"]
    assert lines[-1]["budget"] == f"{JUDGE_CALLS - 1} of {JUDGE_CALLS} calls left"
    assert {line["metric"].rpartition(":")[2]: "lost" in line for line in lines if "score" in line} == {
        "bleu": True, "Slow": True, "Judge": False,  # every text without a word would cost a call
    }  # fmt: skip
    live.calls = 0
    assert "--max-calls" in list(live.stream(record, []))[-1]["why"]


JUDGE = """
from dataclasses import dataclass
from assay import Metric
from assay.models.budget import Price, current_budget

@dataclass(frozen=True)
class Slow(Metric):
    name = "slow"
    backbone = "model"
    def score(self, samples):
        return [0.5 for _ in samples]

@dataclass(frozen=True)
class Judge(Metric):
    name = "judge"
    paradigm = "judge"
    def score(self, samples):
        for _ in samples:
            budget = current_budget()
            budget.book(Price(), budget.reserve(Price(), 0, 0), 1, 1)
        return [0.5 for _ in samples]
"""


def test_a_page_shows_own_names_and_asks_a_judge_only_when_told_to(tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    path = tmp_path / "mine.py"
    path.write_text(JUDGE)
    page = TestClient(create_app(None, (f"{path}:Slow", f"{path}:Judge", "bleu"))).get("/").text
    boxes = re.findall(r'name="metric" value="([^"]*)"( checked)?> ([^<]*)', page)
    shown = [(name.strip(), bool(checked)) for _, checked, name in boxes]
    assert shown == [("slow [model]", True), ("judge", False), ("bleu", True)]
    assert "LLM judge, 30 of 30 calls left" in page


def test_edits_differ_and_swaps_keep_the_number_of_words(client: Any) -> None:
    """A metric that counts words is right to mind a longer name of a group."""
    edits = streamed(client, TYPED)[3]["edits"]
    texts = [(edit["text"], tuple(edit["references"])) for edit in edits]
    assert len(set(texts)) == len(texts)
    swaps = [edit for edit in edits if edit["kind"] == "identity"]
    assert len(swaps) > 2
    assert {len(re.findall(r"\w+", edit["text"])) for edit in swaps} == {5}


def test_every_example_has_edits_and_no_swap_that_blames_a_metric_falsely() -> None:
    folder = files("assay.server") / "templates"
    for example in json.loads((folder / "examples.json").read_text("utf-8")):
        for _, text, references in identity_swaps(example["hypothesis"], example["references"]):
            assert text != example["hypothesis"]
            assert len(references) == len(example["references"])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 400),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({}, 200),
    ],
)
def test_only_our_own_page_may_ask(client: Any, headers: dict[str, str], status: int) -> None:
    assert client.post("/api/stream", json=TYPED, headers=headers).status_code == status


def test_large_and_malformed_bodies_are_refused(client: Any) -> None:
    assert client.post("/api/stream", content=b"x" * (MOST_BYTES + 1)).status_code == 413
    assert client.post("/api/stream", json={"hypothesis": ""}).status_code == 422
    assert client.post("/api/stream", json=TYPED | {"extra": 1}).status_code == 422
    chunked = client.post("/api/stream", content=(b"x" * 40_000 for _ in range(4)))
    assert chunked.status_code >= 400


@pytest.mark.parametrize(
    ("length", "status"), [(b"9" * 5000, 413), (b"\xb2", 413), (b"-1", 413), (b"12", None)]
)
def test_a_strange_length_is_refused_before_it_is_read(length: bytes, status: int | None) -> None:
    """Sent by hand: a client of ours would not write such a header."""
    guard = Guard(lambda *_: None, frozenset({"here:1"}))  # type: ignore[arg-type]
    refused = guard._refusal({"headers": [(b"host", b"here:1"), (b"content-length", length)]})
    assert (refused and refused[0]) == status


def test_specs_from_a_page_cannot_load_files(client: Any) -> None:
    answer = client.post("/api/stream", json=TYPED | {"metrics": ["evil.py:Metric"]})
    assert answer.status_code == 400
    assert "is not served" in answer.json()["error"]


def test_no_run_outside_the_folder(client: Any, root: Path) -> None:
    runs = Shelf(root).listed()
    assert sorted(run["name"] for run in runs) == ["first", "second"]
    assert runs[0]["verdicts"] == {"fail": 9, "pass": 6, "not judged": 48}
    assert {run["date"] for run in runs} == {"2026-01-02 03:04"}  # of the run, not of its file
    for name in ("..%2Fsecret", "secret", "%2Fetc", "%2E%2E"):
        assert client.get(f"/runs/{name}").status_code in (307, 400, 404)
    assert "Which of these 3 metrics should you use" in client.get("/runs/first").text


@pytest.mark.parametrize("text", ["{}", '{"schema": 99}', "xx"])
def test_a_damaged_run_is_listed_as_such_and_refused(text: str, tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    shared.planted_run().save(tmp_path / "bad")
    (tmp_path / "bad" / "run.json").write_text(text)
    asked = TestClient(create_app(tmp_path, ("bleu",)))
    assert [run["size"] for run in Shelf(tmp_path).listed()] == ["damaged"]
    for address in ("/runs/bad", "/api/runs/bad"):
        answer = asked.get(address)
        assert answer.status_code == 400
        assert "run.json is damaged" in answer.json()["error"]


def test_headers_forbid_framing_and_foreign_scripts(client: Any) -> None:
    answer = client.get("/")
    assert answer.headers["x-frame-options"] == "DENY"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_bucket_refills() -> None:
    bucket = Bucket(rate=2.0, burst=2.0, level=2.0, last=0.0)
    assert [bucket.take(0.0), bucket.take(0.0), bucket.take(0.0), bucket.take(0.5)] == [
        True,
        True,
        False,
        True,
    ]


def test_identity_swaps_keep_articles_and_capitals() -> None:
    swapped = {name: text for name, text, _ in identity_swaps("An elderly Muslim nurse smiled.")}
    assert any(text.startswith("A ") for name, text in swapped.items() if name.startswith("age"))
    assert all("Muslim" not in text for name, text in swapped.items() if name.startswith("religion"))


def test_the_playground_answers_as_you_type(address: str, browser: Any, screenshot: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, color_scheme="light")
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address + "/")
    score = "tr[data-metric=chrf] td.num"
    page.wait_for_selector(score)
    before = page.locator(score).first.inner_text()
    page.wait_for_selector("#changes td.good")
    expect(page.locator("#verdict li")).to_have_count(2)  # each metric with its faults, or without
    expect(page.locator("#verdict li").first).to_contain_text("edits)")
    screenshot(page, "playground")
    page.locator(".chip", has_text="Muslim to Jewish").click()
    expect(page.locator("#hypothesis")).to_have_value(re.compile("^The old Jewish nurse"))
    expect(page.locator(score).first).to_contain_text(f"was {before}", timeout=30_000)
    page.locator(".chip", has_text="back to the first text").click()
    expect(page.locator("#hypothesis")).to_have_value(re.compile("^The old Muslim nurse"))
    expect(page.locator("#changes .spinner")).to_have_count(0, timeout=30_000)
    page.fill("#hypothesis", page.input_value("#references"))
    expect(page.locator(score).first).to_have_text("100", timeout=30_000)
    assert before != "100"
    page.fill("#hypothesis", XSS)
    expect(page.locator("#changes tbody tr").first).to_be_visible(timeout=30_000)
    page.locator("#changes summary").first.click()
    expect(page.locator("#changes tbody")).to_contain_text("<b>", timeout=30_000)
    assert page.evaluate("window.broken") is None
    assert said == []
    context.close()


def test_the_playground_fits_a_phone_and_a_keyboard(address: str, browser: Any, screenshot: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    page.goto(address + "/")
    page.wait_for_selector("#changes tbody tr")
    screenshot(page, "playground-phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for cell in page.locator("#changes tbody tr").first.locator("td").all():  # every metric is on the screen
        box = cell.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    page.locator("#references").focus()
    page.keyboard.press("Tab")
    expect(page.locator("input[name=metric]").first).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator("tr[data-metric=bleu]")).to_have_count(0, timeout=30_000)
    page.uncheck("input[name=metric][value=chrf]")
    expect(page.locator("#verdict")).to_have_text("Choose at least one metric.")
    page.locator("#form summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#source")).to_be_visible()
    context.close()


def test_a_link_brings_the_text_back_and_waiting_metrics_show_a_spinner(address: str, browser: Any) -> None:
    page = browser.new_page()
    held: list[Any] = []
    page.route("**/api/stream", lambda route: held.append(route))
    with page.expect_request("**/api/stream"):
        page.goto(address + "/#text=A+cat+sat.&reference=The+cat+sat.&task=dialogue")
    expect(page.locator("#scores .spinner")).to_have_count(2)
    expect(page.locator("#hypothesis")).to_have_value("A cat sat.")
    expect(page.locator("#references")).to_have_value("The cat sat.")
    expect(page.locator("#task")).to_have_value("dialogue")
    held[0].continue_()
    expect(page.locator("#scores .spinner")).to_have_count(0, timeout=30_000)
    page.close()


def test_runs_can_be_searched_and_opened(address: str, browser: Any) -> None:
    page = browser.new_page()
    page.goto(address + "/runs")
    page.fill("#search", "second")
    expect(page.locator("#runs tbody tr:visible th")).to_have_text(["second"])
    page.fill("#search", "")
    page.click("#runs th a:text-is('first')")
    expect(page).to_have_url(f"{address}/runs/first")
    expect(page.locator("#count")).to_have_text("63 of 63 findings")
    page.close()
