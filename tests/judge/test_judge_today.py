"""Judges as they are served today: asked as they like it, read as they answer, and left in time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from standins import standing_in
from typer.testing import CliRunner, Result

from assay.cli import app
from assay.core import Sample
from assay.errors import MetricError, SpecError
from assay.metrics.judge import server
from assay.metrics.judge.metric import Judge
from assay.models.budget import UNREAD, Budget, spending
from assay.names.spec import parse_spec
from assay.reading.results import load_run

QUESTION = "What is the capital of France?"
SAMPLES = [
    Sample(f"The capital of France is Paris, {n}.", ("The capital is Paris.",), QUESTION) for n in range(60)
]


@pytest.fixture(autouse=True)
def _calm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASSAY_JUDGE_KEY", "OPENAI_API_KEY", "ASSAY_JUDGE_PRICE", "ASSAY_JUDGE_RATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(server, "_FIRST_WAIT", 0.02)
    server.endpoint_at.cache_clear()
    server.dialect_of.cache_clear()


def test_refused_parameters_are_left_out_or_renamed_and_noted_once(caplog: pytest.LogCaptureFixture) -> None:
    with standing_in("strict") as (served, endpoint):
        answer = Judge(endpoint=endpoint, model="m").score(SAMPLES[:10])
    assert answer.values == [1.0] * 10
    assert [len(served.refused), len(served.bodies)] == [3, 10]  # the first question learns for all
    for body in served.bodies:
        assert body["max_completion_tokens"] == 8
        assert not {"max_tokens", "temperature", "logprobs", "top_logprobs"} & set(body)
        assert "seed" in body
    assert answer.notes["questions asked without temperature"] == [1] * 10
    assert caplog.text.count("takes no max_tokens; max_completion_tokens is sent instead") == 1
    assert caplog.text.count("takes no temperature; it is asked without") == 1


def test_a_limit_is_never_left_out() -> None:
    with standing_in("strict") as (served, endpoint):
        served.answer = lambda body, number: refuse()

        def refuse() -> str:
            from standins import Refusal

            raise Refusal("'max_tokens' and 'max_completion_tokens' are too large")

        with pytest.raises(MetricError, match=r"refused the question \(status 400\).*too large"):
            Judge(endpoint=endpoint, model="m").score(SAMPLES[:1])
    assert len(served.refused) == 2


def test_a_model_that_thinks_gets_room_for_it(caplog: pytest.LogCaptureFixture) -> None:
    with standing_in("thinking") as (served, endpoint), spending(Budget()) as bill:
        answer = Judge(endpoint=endpoint, model="m").score(SAMPLES[:10])
    assert answer.values == [1.0] * 10
    assert [body["max_tokens"] for body in served.bodies] == [8] + [4096] * 10
    assert bill.calls == 11
    assert caplog.text.count("thinks before it answers: it may write 4096 tokens") == 1


def test_effort_is_sent_with_room_for_thoughts() -> None:
    with standing_in("thinking") as (served, endpoint):
        assert Judge(endpoint=endpoint, model="m", effort="low").score(SAMPLES[:1]).values == [1.0]
    (body,) = served.bodies
    assert (body["reasoning_effort"], body["max_tokens"]) == ("low", 4096)


def test_a_grade_in_words_is_read_and_reasons_have_their_room() -> None:
    with standing_in("worded") as (served, endpoint):
        assert Judge(endpoint=endpoint, model="m").score(SAMPLES[:3]).values == [1.0] * 3
        assert Judge(endpoint=endpoint, model="m", reasons=True).score(SAMPLES[:1]).values == [1.0]
    asked = served.bodies[-1]
    assert asked["max_tokens"] == 512
    assert "Then end with a line of its own, Grade:" in asked["messages"][0]["content"]
    assert "logprobs" not in asked


@pytest.mark.parametrize(("mode", "field"), [("pointwise", "grade"), ("pairwise", "better")])
def test_json_is_asked_for_by_a_schema(mode: str, field: str) -> None:
    pair = Sample("The capital is Paris.", ("The capital is Paris.",), QUESTION, rival="Cheese.")
    with standing_in("json") as (served, endpoint):
        judge = Judge(endpoint=endpoint, model="m", mode=mode, answer="json")  # type: ignore[arg-type]
        assert judge.score([pair]).values == [1.0]
    (body,) = served.bodies
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == [field]
    assert "as JSON" in body["messages"][-1]["content"]


def test_a_server_without_schemas_is_asked_in_words() -> None:
    with standing_in("worded") as (served, endpoint):
        plain = served.answer

        def refusing(body: dict[str, object], number: int) -> str:
            from standins import Refusal

            if "response_format" in body:
                raise Refusal("response_format is not supported")
            return plain(body, number)

        served.answer = refusing
        answer = Judge(endpoint=endpoint, model="m", answer="json").score(SAMPLES[:2])
    assert answer.values == [1.0, 1.0]
    assert answer.notes["questions asked without response_format"] == [1, 1]


@pytest.mark.parametrize("kind", ["prose", "turncoat"])
def test_no_more_than_twenty_unreadable_answers_are_paid(kind: str) -> None:
    """`turncoat` grades on another scale from its 40th answer on."""
    with standing_in(kind) as (served, endpoint), spending(Budget()) as bill:
        judge = Judge(endpoint=endpoint, model="m")
        if kind == "turncoat":
            assert judge.score(SAMPLES[:40]).values == [1.0] * 40
        fault = rf"{UNREAD} of its last \d+ answers name no single grade"
        with pytest.raises(MetricError, match=fault) as caught:
            judge.score(SAMPLES)
        with pytest.raises(MetricError, match="nothing more is paid for"):
            judge.score(SAMPLES[:1])
    said = str(caught.value)
    # Prose is cut once, and asked for whole; the other judge was read forty times before it changed its scale.
    first, more = (UNREAD, 1) if kind == "prose" else (40 + UNREAD, 0)
    assert bill.calls == len(served.bodies) == first + more
    assert ("rather talk about it" in said or "thoughtful" in said) if kind == "prose" else "/10'" in said


@pytest.mark.parametrize(
    "spec",
    [
        "judge:effort=low", "judge:answer=json", "judge:reasons=true,shots=1", "judge:reasons=true,answer=probabilities",
        "judge:mode=errors,reasons=true", "judge:mode=checklist,endpoint=http://127.0.0.1:9/v1,answer=json",
    ],
)  # fmt: skip
def test_options_that_exclude_each_other_are_refused(spec: str) -> None:
    with pytest.raises(SpecError, match="leave"):
        parse_spec(spec)


def _assay(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_what_a_server_refuses_is_told_on_a_terminal_too(tmp_path: Path) -> None:
    """The note comes from a thread, while what metrics print goes to stderr."""
    with standing_in("strict") as (_, endpoint):
        words = (
            "run",
            "judge-bias",
            "-m",
            f"judge:endpoint={endpoint},model=m",
            "--limit",
            "2",
            "--only",
            "authority",
        )
        done = subprocess.run(
            [sys.executable, "-m", "assay", *words, "--cache", "none"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("takes no max_tokens; max_completion_tokens is sent instead") == 1
    assert "judge-bias" in done.stdout


def _predicted(said: str) -> tuple[int, int, int]:
    """Questions, tokens read and tokens written that a dry run names, over all judges."""
    pattern = r"([\d,]+) questions, ([\d,]+) tokens read, ([\d,]+) written"
    rows = [[int(number.replace(",", "")) for number in found] for found in re.findall(pattern, said)]
    return tuple(map(sum, zip(*rows, strict=True)))  # type: ignore[return-value]


def test_a_dry_run_names_the_calls_and_the_cost_that_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls to within a tenth at once, tokens and cost as well when the judge was asked before."""
    monkeypatch.setenv("ASSAY_JUDGE_PRICE", "10,20")
    with standing_in("worded") as (served, endpoint):
        metric = f"judge:endpoint={endpoint},model=m"
        words = ("run", "judge-bias", "-m", metric, "--cache", str(tmp_path / "cache"))
        for limit in ("1", "3"):
            before = len(served.bodies), served.read, served.written
            predicted = _assay(*words, "--limit", limit, "--dry-run")
            assert predicted.exit_code == 0, predicted.output
            assert "mode=pairwise" in predicted.output
            done = _assay(*words, "--limit", limit, "--out", str(tmp_path / limit), "--quiet")
            assert done.exit_code == 0, done.output
            real = len(served.bodies) - before[0], served.read - before[1], served.written - before[2]
            questions, read, written = _predicted(predicted.output)
            assert questions == pytest.approx(real[0], rel=0.1)
        assert (read, written) == (pytest.approx(real[1], rel=0.1), pytest.approx(real[2], rel=0.1))
        spent = json.loads((tmp_path / "3" / "run.json").read_text())["spent"]
        costs = [float(cost) for cost in re.findall(r"cost (\d+\.\d+)", predicted.output)]
    assert sum(costs) == pytest.approx(spent["cost"], rel=0.1)
    assert spent["calls"] == real[0]


def test_a_judge_gets_its_biases_and_its_place_within_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audits = ["identity-length", "judge-bias", "attention", "contrast"]
    monkeypatch.setattr("assay.api.pipeline.names", lambda kind: audits)  # the others take a minute to make
    with standing_in("worded") as (served, endpoint):
        metric = f"judge:endpoint={endpoint},model=m"
        words = ("audit", "-m", metric, "--cache", str(tmp_path / "cache"), "--max-calls", "150")
        predicted = _assay(*words, "--dry-run")
        done = _assay(*words, "--out", str(tmp_path / "run"))
    assert done.exit_code == 0, done.output
    said = f"a quick look puts at most 150 questions to {metric} (--max-calls N for another number); it leaves out"
    assert said in predicted.output.replace("\n", " ")
    assert said in done.output.replace("\n", " ")
    assert 75 <= len(served.bodies) <= 150
    assert _predicted(predicted.output)[0] == pytest.approx(len(served.bodies), rel=0.1)
    rows = load_run(tmp_path / "run").findings.filter(audit="judge-bias").to_dicts()
    found = {(row["metric"], row["slice"], row["statistic"]) for row in rows}
    assert (metric, "quality", "right_order") in found
    assert (f"{metric},mode=pairwise", "position", "swap_consistency") in found
    assert (f"{metric},mode=pairwise", "authority", "right_order") not in found


def test_a_metric_that_is_no_judge_is_told_so() -> None:
    done = _assay("run", "judge-bias", "-m", "bleu", "--cache", "none")
    assert "bleu does not fit judge-bias: it is no judge" in str(done.exception)
