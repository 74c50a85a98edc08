"""The judge behind an endpoint, against real servers on real weights, with faults put in between."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from wire import free_port, odds_server, proxied

from assay.core import Measure, Sample
from assay.engine.cache import ScoreCache
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.errors import BudgetError, MetricError, SpecError
from assay.metrics.judge import server
from assay.metrics.judge.answers import parsed, share
from assay.metrics.judge.metric import Judge
from assay.metrics.judge.prompt import JudgeQuestion
from assay.models.budget import Budget, spending

SAMPLES = [
    Sample("The capital of France is Paris.", ("Paris.",), "What is the capital of France?", rival="Cheese."),
    Sample("It is a kind of cheese.", ("Paris.",), "What is the capital of France?", rival="It is Paris."),
    Sample("Ice is less dense than water.", (), "Why does ice float?", rival="Because it is cold."),
]
SECRET = "sk-test-0123456789-do-not-show"


@pytest.fixture(autouse=True)
def _calm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASSAY_JUDGE_KEY", "OPENAI_API_KEY", "ASSAY_JUDGE_PRICE", "ASSAY_JUDGE_RATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASSAY_JUDGE_CONCURRENCY", "2")
    monkeypatch.setattr(server, "_FIRST_WAIT", 0.02)
    server.endpoint_at.cache_clear()
    server.dialect_of.cache_clear()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """`transformers serve` on smollm2's weights: its address and the model's name there."""
    if importlib.util.find_spec("openai") is None:
        pytest.skip("transformers serve needs the package openai: pip install 'transformers[serving]'")
    from assay.models import loading as _loading
    from assay.models import weights
    from assay.models.torch import load

    load("AutoModelForCausalLM", "smollm2")  # makes the plain copy of the weights
    folder = _loading.plain_folder(weights.resolve("smollm2"))
    port = free_port()
    command = [str(Path(sys.executable).parent / "transformers"), "serve", str(folder), "--host", "127.0.0.1",
               "--port", str(port), "--device", "cpu", "--dtype", "float32"]  # fmt: skip
    log = tmp_path_factory.mktemp("serve") / "log.txt"
    with log.open("w") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        try:
            _await(f"http://127.0.0.1:{port}/health", server, log)
            yield f"http://127.0.0.1:{port}", str(folder)
        finally:
            server.terminate()
            server.wait(30)


def _await(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            pytest.fail(f"transformers serve ended: {log.read_text()[-2000:]}")
        try:
            if httpx.get(url, timeout=2, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    pytest.fail("transformers serve did not come up")


@pytest.fixture(scope="module")
def odds() -> Iterator[str]:
    with odds_server() as target:
        yield target


@pytest.mark.slow
def test_a_real_server_end_to_end_with_faults_survived(served: tuple[str, str]) -> None:
    target, model = served
    faults = ["drop", "busy", "malformed", "empty"]
    with proxied(target, faults) as (proxy, endpoint), spending(Budget()) as ledger:
        judge = Judge(endpoint=endpoint, model=model, mode="pairwise")
        answer = judge.score(SAMPLES)
        assert proxy.played.count("") == len(SAMPLES)
        assert [fault for fault in proxy.played if fault] == faults
    texts = [json.loads(body)["choices"][0]["message"]["content"] for body in proxy.answers]
    assert sorted(map(str, answer.values)) == sorted(str(parsed(("A", "B"), text).value) for text in texts)
    assert answer.notes["read from text"] == [1, 1, 1]  # this server tells no probabilities
    usage = [json.loads(body)["usage"] for body in proxy.answers]
    assert (ledger.calls, ledger.retries) == (3, 4)
    assert ledger.read == sum(one["prompt_tokens"] for one in usage)
    assert ledger.written == sum(one["completion_tokens"] for one in usage)


@pytest.mark.slow
def test_a_real_server_says_what_the_model_says_here(served: tuple[str, str]) -> None:
    target, model = served
    here = Judge(mode="pairwise", answer="text").score(SAMPLES[:2])
    there = Judge(endpoint=f"{target}/v1", model=model, mode="pairwise").score(SAMPLES[:2])
    assert list(there.values) == list(here.values)


@pytest.mark.parametrize("mode", ["pointwise", "pairwise"])
def test_probabilities_over_the_wire_equal_those_here(
    odds: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server lists its twenty likeliest tokens; the grades among them have the probabilities they have here."""
    monkeypatch.setenv("ASSAY_JUDGE_CONCURRENCY", "1")  # answers in the samples' order
    form = Judge(mode=mode)._form
    asked = [JudgeQuestion(form.messages(sample), form.grades) for sample in SAMPLES]
    local = Judge(mode=mode).ask(asked, "auto")
    with proxied(odds, ["drop", "busy", "malformed"]) as (proxy, endpoint):
        there = Judge(endpoint=endpoint, mode=mode).score(SAMPLES)
    assert [fault for fault in proxy.played if fault] == ["drop", "busy", "malformed"]
    for place, (body, here) in enumerate(zip(proxy.answers, local, strict=True)):
        rows = json.loads(body)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        listed = {row["token"]: math.exp(row["logprob"]) for row in rows if row["token"] in form.grades}
        kept = {grade: here.probabilities[grade] for grade in listed}
        assert listed == pytest.approx(kept, abs=1e-4)
        assert there.values[place] == pytest.approx(share(form.grades, kept), abs=1e-3)
        assert there.notes["partly listed"][place] == (len(listed) < len(form.grades))
    assert there.notes["read from text"] == [0, 0, 0]


def test_an_answer_without_a_grade_is_absent_and_counted(odds: str) -> None:
    with proxied(odds, ["rambling"]) as (_, endpoint):
        answer = Judge(endpoint=endpoint).score(SAMPLES[:1])
    assert list(answer.values) == [None]
    assert answer.notes["unparsed"] == [1]


def test_a_server_that_refuses_probabilities_is_asked_without(
    odds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_JUDGE_CONCURRENCY", "1")  # one question after the other
    with proxied(odds, ["no_odds", "rambling", "rambling"]) as (proxy, endpoint):
        Judge(endpoint=endpoint).score(SAMPLES[:2])
    assert "logprobs" in proxy.bodies[0]
    assert "logprobs" not in proxy.bodies[-1]


def test_a_server_that_stays_busy_is_given_up_with_advice(odds: str) -> None:
    with (
        proxied(odds, ["busy"] * server.ATTEMPTS) as (proxy, endpoint),
        pytest.raises(MetricError, match=r"did not answer in 6 attempts.*ASSAY_JUDGE_RATE"),
    ):
        Judge(endpoint=endpoint).score(SAMPLES[:1])
    assert len(proxy.played) == server.ATTEMPTS


def test_the_key_is_sent_and_shown_nowhere(
    odds: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ASSAY_JUDGE_KEY", SECRET)
    caplog.set_level(0)
    with proxied(odds, ["", "refused", "echoed"]) as (proxy, endpoint):
        judge = Judge(endpoint=endpoint)
        cache = ScoreCache(tmp_path / "cache")
        score_samples(Measure("judge", judge), SAMPLES[:1], Session(cache=cache))
        said = []
        for _ in range(2):
            with pytest.raises(MetricError) as caught:
                judge.score(SAMPLES[:1])
            said.append(str(caught.value))
    assert proxy.keys == [f"Bearer {SECRET}"] * 3
    assert "***" in said[1]
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert stored
    line = server.endpoint_at(endpoint)
    for text in (
        *said,
        judge.signature,
        repr(judge),
        caplog.text,
        repr(vars(line)),
        stored.decode("latin-1"),
    ):
        assert SECRET not in text


def test_a_key_stays_with_its_host(odds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with proxied(odds, []) as (proxy, endpoint):
        Judge(endpoint=endpoint).score(SAMPLES[:1])
    assert proxy.keys == [None]  # not OpenAI's host
    assert server._key("api.openai.com", "https://api.openai.com/v1") == SECRET
    monkeypatch.setenv("ASSAY_JUDGE_KEY", SECRET)
    with pytest.raises(SpecError, match="plain http") as caught:
        Judge(endpoint="http://judge.example/v1").score(SAMPLES[:1])
    assert SECRET not in str(caught.value)
    for wrong in (
        "https://user:pw@judge.example/v1",
        "https://judge.example/v1?key=x",
        "judge.example",
        "ftp://x",
    ):
        with pytest.raises(SpecError):
            Judge(endpoint=wrong).score(SAMPLES[:1])


def test_limits_hold_over_the_wire(odds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_JUDGE_CONCURRENCY", "1")
    with proxied(odds, []) as (proxy, endpoint):
        judge = Judge(endpoint=endpoint)
        with spending(Budget(max_calls=2)) as ledger, pytest.raises(BudgetError, match="--max-calls 2"):
            judge.score(SAMPLES)
        assert ledger.calls == len(proxy.played) == 2
        with spending(Budget(max_cost=1.0)), pytest.raises(BudgetError, match="ASSAY_JUDGE_PRICE"):
            judge.score(SAMPLES)
        monkeypatch.setenv("ASSAY_JUDGE_PRICE", "1000,2000")
        with spending(Budget(max_cost=0.2)) as ledger, pytest.raises(BudgetError, match=r"--max-cost 0\.2"):
            judge.score(SAMPLES)
        assert 0 < ledger.cost <= 0.2
        assert ledger.cost == pytest.approx(ledger.read * 1e-3 + ledger.written * 2e-3)
        with spending(Budget()) as ledger:
            judge.score(SAMPLES)
        assert ledger.cost == pytest.approx(ledger.read * 1e-3 + ledger.written * 2e-3)
        assert ledger.calls == 3


def test_requests_keep_the_pace_asked_for(odds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_JUDGE_RATE", "600")
    waits: list[float] = []
    monkeypatch.setattr(server, "sleep", waits.append)
    monkeypatch.setattr(server, "monotonic", lambda: 100.0)
    with proxied(odds, []) as (_, endpoint):
        Judge(endpoint=endpoint).score(SAMPLES)
    assert sorted(waits) == pytest.approx([0.0, 0.1, 0.2])


@pytest.mark.parametrize("value", ["none", "-1"])
def test_nonsense_settings_are_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ASSAY_JUDGE_CONCURRENCY", value)
    with pytest.raises(BudgetError, match="ASSAY_JUDGE_CONCURRENCY"):
        Judge(endpoint="http://127.0.0.1:9/v1").score(SAMPLES[:1])
