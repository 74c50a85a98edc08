"""The server: who may ask, what it answers, and the playground in a real browser."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.cli.serve import _listen, allowed_hosts
from assay.server.app import MOST_BYTES, Bucket, Guard, create_app
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
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running server over two runs, on a free port."""
    import uvicorn

    root = tmp_path_factory.mktemp("runs")
    for name in ("first", "second"):
        shared.planted_run().save(root / name)
    (root.parent / "secret").mkdir(exist_ok=True)
    (root.parent / "secret" / "run.json").write_text("{}")
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


def test_scores_are_those_of_the_pipeline(client: Any) -> None:
    from assay.core import Sample
    from assay.run.pipeline import score
    from assay.run.session import Session

    rows = {row["metric"]: row["score"] for row in client.post("/api/score", json=TYPED).json()["scores"]}
    sample = Sample(TYPED["hypothesis"], tuple(TYPED["references"]))
    expected = score(["bleu", "chrf"], [sample], session=Session.open(cache=None)).to_dicts()[0]
    assert rows == pytest.approx(expected)


def test_a_metric_without_its_need_says_so(client: Any) -> None:
    rows = client.post("/api/score", json={"hypothesis": "Alone."}).json()["scores"]
    assert {row["why"] for row in rows} == {"needs references"}


def test_changes_move_scores_as_they_should(client: Any) -> None:
    found = client.post("/api/changes", json=TYPED).json()["changes"]
    by_name = {row["name"]: row for row in found}
    assert by_name["other gender"]["text"] == "The old woman sat down."
    assert by_name["other gender"]["expect"] == "same"
    before, after = by_name["truncation"]["scores"]["chrf"]
    assert after < before
    assert any(name.startswith("age: old to ") for name in by_name)


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
    assert client.post("/api/score", json=TYPED, headers=headers).status_code == status


def test_large_and_malformed_bodies_are_refused(client: Any) -> None:
    assert client.post("/api/score", content=b"x" * (MOST_BYTES + 1)).status_code == 413
    assert client.post("/api/score", json={"hypothesis": ""}).status_code == 422
    assert client.post("/api/score", json=TYPED | {"extra": 1}).status_code == 422
    chunked = client.post("/api/score", content=(b"x" * 40_000 for _ in range(4)))
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
    answer = client.post("/api/score", json=TYPED | {"metrics": ["evil.py:Metric"]})
    assert answer.status_code == 400
    assert "is not served" in answer.json()["error"]


def test_no_run_outside_the_folder(client: Any) -> None:
    assert [run["name"] for run in client.get("/api/runs").json()["runs"]] == ["first", "second"]
    for name in ("..%2Fsecret", "secret", "%2Fetc", "%2E%2E"):
        assert client.get(f"/runs/{name}").status_code in (307, 400, 404)
    assert "Can these 3 metrics be trusted?" in client.get("/runs/first").text
    both = client.get("/api/compare", params={"before": "first", "after": "second"}).json()
    assert (both["worse"], both["better"], both["unchanged"]) == ([], [], 63)


@pytest.mark.parametrize("text", ["{}", '{"schema": 99}', "xx"])
def test_a_damaged_run_is_listed_as_such_and_refused(text: str, tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    shared.planted_run().save(tmp_path / "bad")
    (tmp_path / "bad" / "run.json").write_text(text)
    asked = TestClient(create_app(tmp_path, ("bleu",)))
    assert [run["size"] for run in asked.get("/api/runs").json()["runs"]] == ["damaged"]
    for address in ("/runs/bad", "/api/runs/bad", "/api/compare?before=bad&after=bad"):
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
    swapped = dict(identity_swaps("An elderly Muslim nurse smiled."))
    assert any(text.startswith("A ") for name, text in swapped.items() if name.startswith("age"))
    assert all("Muslim" not in text for name, text in swapped.items() if name.startswith("religion"))


def test_the_playground_answers_as_you_type(address: str, browser: Any, screenshot: Any) -> None:
    from playwright.sync_api import expect

    context = browser.new_context(viewport={"width": 1280, "height": 1000}, color_scheme="light")
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address + "/")
    score = "tr[data-metric=chrf] td"
    page.wait_for_selector(score)
    before = page.locator(score).first.inner_text()
    page.wait_for_selector("#changes tbody tr")
    screenshot(page, "playground")
    page.fill("#hypothesis", page.input_value("#references"))
    expect(page.locator(score).first).to_have_text("100", timeout=30_000)
    assert before != "100"
    page.fill("#hypothesis", XSS)
    expect(page.locator("#changes tbody")).to_contain_text("<b>", timeout=30_000)
    assert page.evaluate("window.broken") is None
    assert said == []
    context.close()


def test_the_playground_fits_a_phone_and_a_keyboard(address: str, browser: Any, screenshot: Any) -> None:
    from playwright.sync_api import expect

    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    page.goto(address + "/")
    page.wait_for_selector("#changes tbody tr")
    screenshot(page, "playground-phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.focus("#hypothesis")
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "metric"
    page.keyboard.press("Space")
    expect(page.locator("tr[data-metric=bleu]")).to_have_count(0, timeout=30_000)
    context.close()


def test_runs_can_be_browsed_and_compared(address: str, browser: Any) -> None:
    page = browser.new_page()
    page.goto(address + "/runs")
    page.click("#compare button")
    page.wait_for_selector("text=Unchanged within uncertainty: 63")
    assert page.locator("#result h3").all_text_contents() == ["worse: 0", "better: 0"]
    page.click("text=first")
    page.wait_for_selector(".finding")
    assert page.url == f"{address}/runs/first"
    assert page.locator("#count").text_content() == "63 of 63 findings, failures first"
    page.close()
