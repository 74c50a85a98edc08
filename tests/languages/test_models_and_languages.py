"""Texts in languages that a metric's model does not read: refused, unless asked for, and then said in every result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

import assay
from assay.cli import app
from assay.core import Measure, Metric, Sample
from assay.datasets.records import embedded_records
from assay.engine.languages import Spoken, foreign_to, languages_read, mixed_with
from assay.engine.session import Session
from assay.errors import AuditError, MetricError
from assay.names.spec import parse_spec

GERMAN = [record.gold for record in embedded_records("translation", "de")][:12]
JAPANESE = [record.gold for record in embedded_records("translation", "ja")][:12]
ENGLISH = [str(record.source) for record in embedded_records("translation", "de")][:12]


def fast(**options: bool) -> Session:
    return Session.open(cache=None, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spec", ["bertscore-f", "embedding-average", "gpt-ppl", "0.5*chrf+0.5*sentence-cosine"]
)
@pytest.mark.parametrize(("texts", "language"), [(GERMAN, "German"), (JAPANESE, "Japanese")])
def test_an_english_model_is_refused_by_name(spec: str, texts: list[str], language: str) -> None:
    """Nothing is loaded for it."""
    with pytest.raises(
        MetricError, match=rf"reads English, and these texts are {language}; .*--any-language"
    ):
        assay.score([spec], texts, texts[::-1], session=fast())


@pytest.mark.parametrize(
    "spec", ["chrf", "bleu:tokenize=char", "judge:endpoint=http://127.0.0.1:9/v1,model=m"]
)
def test_metrics_without_a_model_and_models_behind_servers_read_any(spec: str) -> None:
    assert languages_read(parse_spec(spec).metric) is None
    assert foreign_to(parse_spec(spec), Spoken.of(JAPANESE)) is None


def test_what_is_asked_for_all_the_same_says_so() -> None:
    session = fast(any_language=True)
    frame = assay.score(["embedding-average"], GERMAN, GERMAN[::-1], session=session)
    assert frame["embedding-average"].null_count() == 0
    done = assay.run(
        "repetition", ["embedding-average"], language="de", limit=8, session=fast(any_language=True)
    )
    said = "its model (glove) reads English, and these texts are German"
    assert any(said in note for note in done.notes)
    assert said in done.about["metrics"]["embedding-average"]["caution"]


def test_an_audit_goes_on_without_the_metric_and_ends_where_none_is_left() -> None:
    only = ("repetition", "copy-source")
    done = assay.audit(["chrf", "embedding-average"], only=only, language="de", limit=8, session=fast())
    assert set(done.findings["metric"]) == {"chrf"}
    note = "embedding-average is not asked: its model (glove) reads English"
    assert any(note in said for said in done.notes)
    with pytest.raises(AuditError, match="is not asked: its model"):
        assay.run("repetition", ["embedding-average"], language="de", limit=8, session=fast())


@pytest.mark.parametrize(
    ("language", "left_out"), [("ja", {"bleu", "rougeL"}), ("ru", {"rougeL"}), ("de", set())]
)
def test_a_tokeniser_that_cannot_read_a_script_costs_its_metric_not_the_run(
    language: str, left_out: set[str]
) -> None:
    metrics = ["bleu", "rougeL", "chrf"]
    done = assay.audit(
        metrics, only=("repetition", "copy-source"), language=language, limit=6, session=fast()
    )
    assert set(metrics) - set(done.findings["metric"]) == left_out
    for name in left_out:
        assert any(note.startswith(f"{name} is not asked: its tokeniser") for note in done.notes)


def test_a_part_in_another_language_is_told_and_a_text_or_two_are_not() -> None:
    measure = parse_spec("embedding-average")
    assert foreign_to(measure, Spoken.of([*ENGLISH, *GERMAN[:4]])) is None
    assert "German 4" in str(mixed_with(measure, Spoken.of([*ENGLISH, *GERMAN[:4]])))
    assert mixed_with(measure, Spoken.of([*ENGLISH, *ENGLISH[:1]])) is None
    assert foreign_to(measure, Spoken.of([*ENGLISH[:4], *GERMAN])) is not None
    assert foreign_to(measure, Spoken.of(["😀", "", "12"])) is None  # too little to tell by


@dataclass(frozen=True)
class Encoder(Metric):
    """A metric on a model that nobody has described."""

    share: float

    name = "encoder"
    weights = ("model",)
    model = "someone/some-encoder"

    def score(self, samples):  # type: ignore[no-untyped-def]
        return [1.0 for _ in samples]

    def unknown_share(self, texts: list[str]) -> float:
        return self.share


@pytest.mark.parametrize(("share", "refused"), [(0.02, False), (0.4, True)])
def test_a_model_of_unknown_languages_is_told_by_its_unknown_tokens(share: float, refused: bool) -> None:
    measure = Measure("encoder", Encoder(share))
    reason = foreign_to(measure, Spoken.of(JAPANESE))
    assert (reason is not None and "does not know 40% of the tokens" in reason) == refused
    assert foreign_to(measure, Spoken.of(ENGLISH)) is None


def test_unknown_tokens_are_counted_by_the_model_itself() -> None:
    metric = parse_spec("bertscore-f").metric
    assert metric.unknown_share(ENGLISH) < 0.01  # type: ignore[union-attr]
    assert metric.unknown_share(JAPANESE) > 0.1  # type: ignore[union-attr]


def test_the_commands_take_the_option(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    rows = "\n".join(f'"{text}","{other}"' for text, other in zip(GERMAN, GERMAN[::-1], strict=True))
    path.write_text(f"hypothesis,reference\n{rows}\n", encoding="utf-8")
    words = ["score", "-m", "embedding-average", "--data", str(path), "--cache", "none"]
    refused = CliRunner().invoke(app, words)
    assert "these texts are German" in str(refused.exception)
    done = CliRunner().invoke(app, [*words, "--any-language"])
    assert done.exit_code == 0, done.output
    assert "12 texts in a language that its model does not read" in done.stderr


def test_samples_of_a_session_are_refused_as_columns_are() -> None:
    samples = [Sample(text, (text,)) for text in GERMAN]
    with pytest.raises(MetricError, match="these texts are German"):
        assay.score(["bertscore-f"], samples, session=fast())
