"""What a judge's user is told: answers that cannot be read, the bill, and mistakes before a question is paid."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
from planted import Planted
from wire import proxied

from assay.api.pipeline import run
from assay.audits.judge_bias.audit import JudgeBias
from assay.cli import audit as score_command
from assay.core import Measure, Sample
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.errors import AuditError, BudgetError, DataError, MetricError, SpecError
from assay.metrics.judge import metric as judge
from assay.metrics.judge import server
from assay.metrics.judge.metric import Judge
from assay.models.budget import Budget, spending

NOWHERE = "http://127.0.0.1:9"  # every answer is played
SAMPLE = Sample("Paris.", ("It is Paris.",), "What is the capital of France?")


@pytest.fixture(autouse=True)
def _calm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASSAY_JUDGE_KEY", "OPENAI_API_KEY", "ASSAY_JUDGE_PRICE", "ASSAY_JUDGE_RATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASSAY_JUDGE_CONCURRENCY", "1")
    monkeypatch.setattr(server, "_FIRST_WAIT", 0.02)
    server.endpoint_at.cache_clear()
    server.dialect_of.cache_clear()
    judge._warn_of_default.cache_clear()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    rows = [{"hypothesis": f"Paris {n}.", "references": ["It is Paris."]} for n in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_score_shows_unread_answers_and_the_bill(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = inspect.signature(score_command.score_command).parameters.values()
    options = {p.name: p.default for p in given} | {"data": [data], "cache": "none"}
    del options["metric"]
    with proxied(NOWHERE, ["rambling", "four", "four"]) as (_, endpoint):
        spec = f"judge:endpoint={endpoint},model=m"
        score_command.score_command(**options, metric=[spec])
    said = capsys.readouterr()
    assert [line.rpartition(",")[2] for line in said.out.splitlines()[1:]] == ["", "0.75", "0.75"]
    assert f"note: {spec}: no score for 1 of 3 samples: no grade in the answer" in said.err
    assert "judges: 3 questions" in said.err
    with proxied(NOWHERE, ["rambling"] * 3) as (_, endpoint):
        score_command.score_command(
            **options | {"quiet": True}, metric=[f"judge:endpoint={endpoint},model=m"]
        )
    assert capsys.readouterr().err == ""


def test_a_judge_that_names_no_grade_is_quoted() -> None:
    with proxied(NOWHERE, ["rambling"] * 20) as (_, endpoint):
        spec = f"judge:endpoint={endpoint},model=m"
        with pytest.raises(
            AuditError, match=r"20 of 20 samples name no single grade.*rather not say"
        ) as caught:
            run("judge-bias", [spec], session=Session.open(cache=None), only=("verbosity",), limit=2)
    assert "compares a text with nothing" not in str(caught.value)


def test_the_reason_fits_the_kind_of_judge() -> None:
    counted = {"unparsed": 4}
    assert Judge().silence({}) is None
    assert "choose neither A nor B" in str(Judge(mode="pairwise").silence(counted))
    assert "4 of" not in str(Judge(mode="pairwise", swap=True).silence(counted))  # one order may be readable
    assert "without probabilities" in str(Judge(answer="probabilities").silence(counted))


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ({"outputs": Path("nowhere.jsonl")}, DataError, "cannot read nowhere.jsonl"),
        ({"mitigate": "bleu"}, SpecError, "--mitigate 'bleu': remedies set anchored, blind"),
        ({"mitigate": "judge:mode=pairwise"}, SpecError, "its spec without them"),
        ({"mitigate": "jugde"}, SpecError, "did you mean judge"),
    ],
)
def test_arguments_are_checked_before_a_question_is_paid(
    asked: dict[str, object], kind: type[AuditError], message: str
) -> None:
    with proxied(NOWHERE, ["four"] * 9) as (proxy, endpoint), pytest.raises(kind, match=message):
        run(
            "judge-bias",
            [f"judge:endpoint={endpoint},model=m"],
            session=Session.open(cache=None),
            limit=2,
            **asked,
        )
    assert proxy.played == []


def test_outputs_need_systems_and_documents(tmp_path: Path) -> None:
    (tmp_path / "plain.jsonl").write_text('{"hypothesis": "a", "references": ["b"]}')
    with pytest.raises(DataError, match="no row has system and doc"):
        list(JudgeBias(outputs=tmp_path / "plain.jsonl").cases())


def test_a_wrong_panel_is_refused_before_anything_is_scored() -> None:
    class Watched(Planted):
        def score(self, samples):
            pytest.fail("scored")

    class Panelled(JudgeBias):
        def panel(self):
            return ("blue",)

    audit = Panelled(limit=2)
    work = {"judge-bias": list(audit.cases())}
    with pytest.raises(SpecError, match="did you mean bleu"):
        score_all({"judge-bias": audit}, work, [Measure("watched", Watched())], Session())


@pytest.mark.parametrize(("mode", "noted"), [("pointwise", True), ("pairwise", False)])
def test_place_asked_of_a_judge_that_grades_is_noted(mode: str, noted: bool) -> None:
    audit = JudgeBias(only=("position",), limit=2)
    work = {"judge-bias": list(audit.cases())}
    scored, *_ = score_all({"judge-bias": audit}, work, [Measure("mine", Planted(mode=mode))], Session())
    note = "mine grades one text at a time: position needs mode=pairwise"
    assert (note in audit.judge(scored["judge-bias"]).notes) is noted


def test_a_budget_says_whether_answers_are_kept(tmp_path: Path) -> None:
    for cache, kept in ((None, "are lost, because there is no cache"), (tmp_path, "are in the cache")):
        session = Session.open(cache=cache, max_calls=3)
        with (
            proxied(NOWHERE, ["four"] * 3) as (_, endpoint),
            pytest.raises(BudgetError, match=rf"\(3 asked, cost unknown.*{kept}"),
        ):
            run("judge-bias", [f"judge:endpoint={endpoint},model=m"], session=session, limit=2)


def test_an_unknown_price_is_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    with proxied(NOWHERE, ["four"] * 2) as (_, endpoint):
        with spending(Budget()) as ledger:
            Judge(endpoint=endpoint).score([SAMPLE])
        assert ledger.summary()["cost"] is None
        assert ledger.sentence().endswith("5 tokens read, 1 written, cost unknown (no ASSAY_JUDGE_PRICE)")
        monkeypatch.setenv("ASSAY_JUDGE_PRICE", "1000,2000")
        with spending(Budget()) as ledger:
            Judge(endpoint=endpoint).score([SAMPLE])
    assert ledger.summary()["cost"] == pytest.approx(0.007)
    assert ledger.sentence().endswith("cost 0.0070")


def test_tokens_that_cannot_be_read_are_estimated_and_the_grade_kept() -> None:
    with proxied(NOWHERE, ["untold", "four"]) as (proxy, endpoint), spending(Budget()) as ledger:
        assert Judge(endpoint=endpoint).score([SAMPLE, SAMPLE]).values == [0.75, 0.75]
    size = sum(len(turn["content"]) for turn in proxy.bodies[0]["messages"])
    assert ledger.read == pytest.approx(size / 4 + 2 * 12 + 5, abs=1)
    assert (ledger.written, ledger.estimated) == (8 + 1, 1)
    assert "(estimated for 1 questions)" in ledger.sentence()


@pytest.mark.parametrize(
    ("fault", "quoted"),
    [("malformed", "no chat completion: '<html>oops'"), ("empty", "choices"), ("mute", "without text")],
)
def test_a_body_that_is_no_answer_is_quoted_and_soon_given_up(fault: str, quoted: str) -> None:
    with (
        proxied(NOWHERE, [fault] * server.ATTEMPTS) as (proxy, endpoint),
        pytest.raises(MetricError, match=r"answers, but with.*endpoint=.*/v1") as caught,
    ):
        Judge(endpoint=endpoint).score([SAMPLE])
    assert quoted in str(caught.value)
    assert "more slowly" not in str(caught.value)
    assert len(proxy.played) == server.BROKEN


def test_a_server_is_said_to_be_asked_for_the_default_model(caplog: pytest.LogCaptureFixture) -> None:
    Judge(endpoint="http://127.0.0.1:9/v1", model="m").prepare()
    assert caplog.text == ""
    for _ in range(2):
        Judge(endpoint="http://127.0.0.1:9/v1").prepare()
    assert caplog.text.count("is asked for the model smollm2") == 1


def test_a_key_in_an_answer_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_JUDGE_KEY", "rather")
    with proxied(NOWHERE, ["rambling"]) as (_, endpoint), spending(Budget()) as ledger:
        Judge(endpoint=endpoint).score([SAMPLE])
    assert [watch.example for watch in ledger.watches.values()] == ["I would *** not say."]
