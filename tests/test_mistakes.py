"""Mistakes of a first day, each with the answer that helps; and what looks like a mistake but is understood."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.api.user_data import metric_list
from assay.cli import app
from assay.core import Measure
from assay.errors import AuditError, SpecError
from assay.metrics.hybrid import Hybrid
from assay.names.spec import measure

FILES = {
    "a.csv": "id,hypothesis,references\n1,the cat,the dog\n2,a dog,the dog\n",
    "semicolon.csv": "id;hypothesis;references\n1;the cat;the dog\n",
    "own.csv": "id,words,other\n1,the cat,the dog\n",
    "scores.csv": "id,myscore\n1,3\n",
    "swaps.csv": "a,b,reference\nHe is a doctor.,She is a doctor.,They are doctors.\n",
    "plain.py": "import assay\nclass Plain:\n    pass\nclass Undecorated(assay.Metric):\n    name = 'undecorated'\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("run stereotype -m rouge-l", "did you mean rougeL?"),
        ("run fairness -m bleu", "'fairness' is a question, not an audit; audits of it: stereotype, association"),
        ("run sees -m bleu", "audits of it: sanity, stress, position"),
        ("run stereotype -m bleu,chrf", "give them one by one, -m bleu -m chrf"),
        ("score --data a.csv -m 0.3 a.csv chrf", "unexpected words: a.csv chrf; repeat -m for several metrics"),
        ("score --data a.csv -m 0.3 a.csv chrf", "put quotes around a spec with blanks or *"),
        ("run stereotype -m bleu chrf", "unexpected word 'chrf'; options are written --name value; repeat -m"),
        ("run stereotype -metric bleu", "options are written --name value; repeat -m"),
        ("run stereotype --scores scores.csv:myscore", "for plain numbers use columns case, role, metric, score"),
        ("run stereotype --scores scores.csv:myscor", "there is no column 'myscor'; did you mean myscore?"),
        ("run human -m bleu --data own.csv", "line 1: column 'hypothesis' is missing"),
        ("run human -m bleu --data own.csv", "--map hypothesis=COLUMN"),
        ("run stereotype -m bleu --fail-on nope", "unknown gate 'nope'; known: blind, fail, inconclusive"),
        ("run stereotype -m bleu --fail-on unfare", "did you mean unfair?"),
        ("run stress -m bleu --task summaries", "did you mean summarisation?"),
        ("compare before", "assay compare needs AFTER: The folder of a later run"),
        ("compare before --atlas", "assay compare --atlas is now assay atlas -m METRIC"),
        ("card before", "assay card is now assay report RUN --format card -m METRIC"),
        ("badge before", "assay badge is now assay report RUN --format badge -m METRIC"),
        ("report before --format svg", "--format: svg is not one of 'html', 'md', 'json', 'latex', 'card', 'badge'"),
        ("report before -m bleu", "-m chooses the metric of a card, a badge or shields; html has all metrics"),
        ("run", "assay run needs AUDIT: The name of an audit; assay list audits shows all; see assay run --help"),
        ("run stereotype --size big", "--size: big is not one of 'quick', 'full'; see assay run --help"),
        ("run stereotype --seed x", "--seed: give a whole number"),
        ("run stereotype --seed -1", "--seed: give at least 0"),
        ("serve --port 99999", "--port: give at most 65535"),
        ("run stereotype -m", "-m needs a value"),
        ("score -m bleu --data a.csv --jsn", "assay score has no option --jsn; did you mean --json?"),
        ("adit", "no command is called 'adit'; did you mean audit?"),
        ("--nope", "assay has no option --nope; see assay --help"),
        ("help", "no command is called 'help'; known: atlas, audit, cite"),
        ("help", "; see assay --help"),
        ("mitigate comapre", "no command is called 'comapre'; did you mean compare?; see assay mitigate --help"),
        ("run stereotype -m mine=", "'mine=' names no metric: write NAME=SPEC, such as mine=bleu"),
        ("run stereotype -m nopenope", "unknown metric 'nopenope'; assay list metrics shows all"),
        ("convert nopenope", "is called 'nopenope'; assay list metrics shows all"),
        ("run stereotype -m plain.py:Plain", "Plain is no metric assay knows how to call"),
        ("run stereotype -m plain.py:Undecorated", "Undecorated is no dataclass; write @dataclass(frozen=True) above"),
        ("run stereotype -m no.py:Plain", "cannot read no.py: No such file or directory; give the path"),
        ("run stereotype -m bleu --margin x", "--margin of stereotype: 'x' is not a number"),
        ("run stereotype -m bleu --margin", "--margin needs a value; see assay run stereotype --help"),
        ("run stereotype -m bleu --jsn", "assay run stereotype has no option --jsn; did you mean --json?; see assay"),
        ("run stereotype -m bleu --task translation", "stereotype has no option --task; see assay run stereotype"),
        ("run stress -m bleu --depth some", "--depth of stress: 'some' is not one of all, ends"),
        ("run human -m bleu", "human needs ratings: give --data FILE with a column rating or --map human="),
        ("run human -m bleu --data a.csv", "no text has a rating; give a column rating, or --map human=COLUMN"),
        ("score -m bleu --data own.csv --map words=hypothesis", "the field comes first; write --map hypothesis=words"),
    ],
)  # fmt: skip
def test_the_answer_says_what_to_write(words: str, answer: str) -> None:
    done = CliRunner().invoke(app, words.split(), prog_name="assay")
    assert isinstance(done.exception, AuditError), done.output
    assert answer in str(done.exception)
    assert "Value error" not in str(done.exception)
    assert "Missing argument" not in str(done.exception)


@pytest.mark.parametrize(
    "words",
    [
        "score --data semicolon.csv -m bleu",
        "perturb drop-articles --text The_cat. --task summarization",
        "run stereotype --data swaps.csv -m bleu --dry-run",
        "audit -h",
        "run stress -m bleu --units --depth=ends --size quick --limit 2 --task translation --dry-run",
    ],
)
def test_what_is_understood(words: str) -> None:
    done = CliRunner().invoke(app, words.split(), prog_name="assay")
    assert done.exit_code == 0, done.exception


def test_blanks_in_a_hybrid() -> None:
    parsed = measure(" 0.3 * chrf + bleu ")
    assert parsed == measure("0.3*chrf+bleu")
    assert parsed.label == "0.3*chrf+bleu"
    assert isinstance(parsed.metric, Hybrid)
    assert measure("chrf++ + bleu") == measure("chrf+++bleu")


def test_a_metric_is_named() -> None:
    named = measure("my judge=chrf:beta=3")
    assert (named.label, named.spec) == ("my judge", "chrf:beta=3")
    assert named.metric == measure("chrf:beta=3").metric
    assert measure("both = 0.3 * chrf + bleu").label == "both"
    hybrid, plain = metric_list({"both": "bleu+chrf", "mine": measure("chrf").metric})
    assert isinstance(hybrid, Measure)
    assert isinstance(plain, Measure)
    assert (hybrid.label, plain.label) == ("both", "mine")
    with pytest.raises(SpecError, match="unknown metric 'blue'"):
        measure("mine=blue")
