"""The scoring plan: final cases of a search reach every metric, and a panel joins the given metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from assay.api import pipeline
from assay.api.pipeline import audit, make_audit
from assay.api.runs import Run
from assay.cli import app
from assay.core import Audit, Case, Judgement, Measure, Metric, Sample, Scored, SetMetric
from assay.engine.plan import score_all
from assay.engine.questions import Limits
from assay.engine.session import Session
from assay.names.spec import parse_spec


@dataclass(frozen=True)
class Length(Metric):
    """The number of characters, times `times`."""

    name = "length"
    needs = frozenset()
    times: int = 1

    def score(self, samples):
        return [float(self.times * len(s.hypothesis)) for s in samples]


@dataclass(frozen=True)
class Total(SetMetric):
    """The characters of a whole set."""

    name = "total"
    needs = frozenset()

    def score_set(self, samples):
        return float(sum(len(s.hypothesis) for s in samples))


@dataclass(frozen=True)
class Growing(Audit):
    """Doubles a text twice; the longest goes to all metrics and to the panel."""

    name = "growing"
    question = "robustness"

    def cases(self) -> Iterable[Case]:
        return [Case("a", {"text": Sample("ab", ("ab",))}, "s")]

    def more(self, scored: Scored) -> Sequence[Case]:
        if scored.is_set or len(scored.cases) == 3:
            return ()
        longest = scored.cases[-1].samples["text"].hypothesis * 2
        return [Case(f"{len(scored.cases)}", {"text": Sample(longest, ("ab",))}, "s")]

    def panel(self) -> Sequence[str]:
        return ("rougeL", "length")

    def final(self, scored: Sequence[Scored]) -> Sequence[Case]:
        last = [answer.cases[-1] for answer in scored if not answer.is_set]
        return [Case(f"final-{n}", case.samples, "s") for n, case in enumerate(last)]

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        return Judgement()


def test_final_cases_reach_all_metrics_and_the_panel() -> None:
    audit = Growing()
    measures = [Measure("length", Length()), Measure("double", Length(2)), Measure("total", Total())]
    scored, *_ = score_all({"growing": audit}, {"growing": list(audit.cases())}, measures, Session())
    by_metric = {answer.metric: answer for answer in scored["growing"]}
    assert list(by_metric) == ["length", "double", "total", "rougeL"]
    assert by_metric["length"].values["text"].tolist() == [2.0, 4.0, 8.0, 8.0, 8.0]
    assert by_metric["double"].values["text"].tolist() == [4.0, 8.0, 16.0, 16.0, 16.0]
    # The panel does not search: the case asked about and the two final ones. One reference word, none shared.
    assert [case.id for case in by_metric["rougeL"].cases] == ["a", "final-0", "final-1"]
    assert np.allclose(by_metric["rougeL"].values["text"], [1.0, 0.0, 0.0])
    assert by_metric["total"].values["text"].tolist() == [2.0]


@dataclass(frozen=True)
class Causal(Length):
    """As a run sees a causal language model."""

    name = "causal"
    paradigm = "likelihood"
    model: str = "tiny"


def test_an_audit_that_was_asked_for_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.engine.questions.QUICK_TOKENS", 0)
    run = audit([Causal()], only=("repetition",), limit=2, session=Session.open(cache=None))
    assert run.metrics == ["causal"]


def test_the_dearest_audits_are_left_out_and_named() -> None:
    audits = {"growing": Growing()}
    work = {"growing": [Case("a", {"text": Sample("word " * 20, ("word",))}, "s")]}
    measures = [Measure("causal", Causal()), Measure("length", Length())]
    scored, _, notes = score_all(audits, work, measures, Session(), limits=Limits(tokens=10))
    assert "causal" not in [answer.metric for answer in scored["growing"]]
    assert "causal reads token by token; without --only, quick leaves out growing" in notes


@dataclass(frozen=True)
class Ponderous(Metric):
    """Rests on a model whose pace nobody knows."""

    name = "ponderous"
    weights = ("model",)
    model: str = "somebody's"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [float(len(set(s.hypothesis.split()) & set(s.references[0].split()))) for s in samples]


def test_the_first_answers_come_before_the_slow_metric() -> None:
    shown: list[Run] = []
    session = Session(on_first=shown.append)
    options = {"only": ("repetition", "stereotype"), "limit": 12, "session": session}
    whole = audit(["chrf", Ponderous(), "bleu"], **options)
    (first,) = shown  # once, however many are slow
    assert first.findings["metric"].unique().to_list() == ["chrf"]
    assert set(whole.findings["metric"]) >= {"chrf", "ponderous", "bleu"}
    columns = ["slice", "statistic", "value", "ci_low", "ci_high"]
    mine = whole.findings.filter((pl.col("metric") == "chrf") & pl.col("versus").is_null())
    assert first.findings.filter(pl.col("versus").is_null())[columns].equals(mine[columns])


def test_nothing_is_shown_first_where_nothing_is_slow_or_nothing_came_before() -> None:
    shown: list[Run] = []
    for metrics in (["chrf", "bleu"], [Ponderous(), "chrf"]):
        audit(metrics, only=("repetition",), limit=12, session=Session(on_first=shown.append))
    assert not shown


PONDEROUS = """from dataclasses import dataclass
from assay import Metric
@dataclass(frozen=True)
class Ponderous(Metric):
    name = "ponderous"
    weights = ("model",)
    model: str = "somebody's"
    def score(self, samples):
        return [float(len(s.hypothesis)) for s in samples]
"""


@pytest.mark.parametrize("more", [[], ["--quiet"], ["--json"]])
def test_the_command_prints_the_first_answers_beside_its_result(more: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PONDEROUS)
    words = [
        "audit",
        "-m",
        "chrf",
        "-m",
        f"{tmp_path / 'mine.py'}:Ponderous",
        "--limit",
        "12",
        "--cache",
        "none",
    ]
    only = ["--only", "repetition", "--only", "stereotype", "--out", str(tmp_path / "run"), *more]
    done = CliRunner().invoke(app, [*words, *only])
    assert done.exit_code == 0, done.output
    assert ("first answers" in done.stderr) == (not more)
    assert "first answers" not in done.stdout


@dataclass(frozen=True)
class TokenByToken(Metric):
    """Reads the text alone, with a causal model."""

    name = "token-by-token"
    paradigm = "likelihood"
    needs = frozenset()
    model: str = "somebody's"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [float(len(s.hypothesis)) for s in samples]


@pytest.mark.parametrize(("tokens", "left"), [(10**9, ["repetition"]), (1, [])])
def test_a_dry_run_counts_what_the_run_would_score(
    tokens: int, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what a metric without references cannot answer nor what is too dear at quick size."""
    chosen = {name: make_audit(name, {"limit": 3}, strict=False) for name in ("repetition", "association")}
    monkeypatch.setattr(pipeline, "choose_audits", lambda *_, **__: chosen)
    monkeypatch.setattr("assay.engine.questions.QUICK_TOKENS", tokens)
    ((row,), notes) = pipeline.estimate_cost((), [TokenByToken()], {}, "quick", Session())
    assert row.samples == sum(len(case.samples) for name in left for case in chosen[name].cases())
    assert bool(row.samples) == bool(left)
    assert any("leaves out repetition" in note for note in notes) == (not left)


def test_a_hybrid_reads_as_much_as_its_dearest_part() -> None:
    assert parse_spec("0.5*chrf+rougeL").metric.cost == "words"
    assert parse_spec("chrf+bertscore-f").metric.cost == "encoder"
    assert parse_spec("chrf+gpt-ppl").metric.cost == "causal"
    assert parse_spec("embedding-average").metric.cost == "words"
    assert parse_spec("greedy-matching").metric.cost == "encoder"


def test_a_metric_that_is_fitted_reads_the_words_of_associations() -> None:
    done = pipeline.run("association", ["cider"], session=Session.open(cache=None))
    assert set(done.findings["metric"]) == {"cider"}
