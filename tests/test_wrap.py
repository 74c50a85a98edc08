"""`assay.wrap`: how callables are called, what is refused, and whose scores are kept."""

from __future__ import annotations

import asyncio
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

import assay
from assay.engine.session import Session
from assay.errors import AuditError
from assay.names.spec import measure, parse_spec

TEXTS = ["the cat sat on a mat", "a dog ran"]
REFERENCES = ["the cat sat on the mat", "the dog ran away"]
EXPECTED = [fuzz.ratio(*pair) for pair in zip(TEXTS, REFERENCES, strict=True)]


def scores(metric: Any, references: Any = REFERENCES, sources: Any = None) -> list[float]:
    frame = assay.score([metric], TEXTS, references, sources, session=Session.open(cache=None))
    return frame.to_series().to_list()


# --- ways of calling ---


def swapped(reference: str, hypothesis: str) -> float:
    """Another order of arguments than ours, as in jiwer; no symmetric score, which would hide it."""
    return fuzz.ratio(reference, hypothesis) + (10 if hypothesis in TEXTS else 0)


def columns(predictions: list[str], references: list[list[str]]) -> list[float]:
    return [fuzz.ratio(text, given[0]) for text, given in zip(predictions, references, strict=True)]


def flat(predictions: list[str], references: list[str]) -> list[float]:
    return [fuzz.ratio(text, given) for text, given in zip(predictions, references, strict=True)]


def corpus(predictions: list[str], references: list[str]) -> float:
    listed = [fuzz.ratio(text, given) for text, given in zip(predictions, references, strict=True)]
    return sum(listed) / len(listed)


def best(response: str, ground_truths: list[str]) -> float:
    return max(fuzz.ratio(response, truth) for truth in ground_truths)


def by_keyword(*, output: str, expected: str, lang: str) -> dict[str, Any]:
    assert lang == "en"
    return {"score": fuzz.ratio(output, expected)}


async def awaited(output: str, expected: str) -> SimpleNamespace:
    await asyncio.sleep(0)
    return SimpleNamespace(score=fuzz.ratio(output, expected), reason="because")


class Scorer:
    def score(self, target: str, prediction: str) -> dict[str, Any]:
        value = fuzz.ratio(target, prediction)
        return {
            "rougeL": SimpleNamespace(recall=value, size=3),
            "rouge1": SimpleNamespace(recall=0.0, size=3),
        }


def several(cands: list[str], refs: list[str]) -> tuple[list[float], ...]:
    values = flat(cands, refs)
    return [0.0] * len(cands), values, [1.0] * len(cands)


WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "columns": (columns, {}),
    "flat": (flat, {}),
    "corpus": (corpus, {}),
    "best": (best, {}),
    "by keyword": (by_keyword, {"lang": "en"}),
    "awaited": (awaited, {}),
    "without names": (lambda p, q: fuzz.ratio(p, q), {"one_reference": True}),
    "of C": (fuzz.ratio, {}),
    "object": (Scorer(), {"output": "rougeL.recall", "higher_is_better": True}),
    "tuple": (several, {"output": "1"}),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_every_way_of_calling_gives_the_same(name: str) -> None:
    function, options = WAYS[name]
    assert scores(assay.wrap(function, **options)) == pytest.approx(EXPECTED)


def test_arguments_are_told_by_their_names() -> None:
    assert scores(assay.wrap(swapped)) == pytest.approx([value + 10 for value in EXPECTED])


def test_sources_and_texts_alone() -> None:
    def faithful(document: str, summary: str) -> float:
        return fuzz.ratio(document, summary)

    metric = assay.wrap(faithful)
    assert metric.needs == {"source"}
    assert scores(metric, None, REFERENCES) == pytest.approx(EXPECTED)
    longer = assay.wrap(lambda text: len(text), higher_is_better=True)
    assert longer.needs == frozenset()
    assert scores(longer, None) == [20.0, 9.0]


def test_inside_a_running_loop_as_in_a_notebook() -> None:
    async def main() -> list[float]:
        return scores(assay.wrap(awaited))

    assert asyncio.run(main()) == pytest.approx(EXPECTED)


def test_distances_are_turned_round_by_name_or_by_answer() -> None:
    distances = [-Levenshtein.distance(*pair) for pair in zip(TEXTS, REFERENCES, strict=True)]
    assert scores(assay.wrap(Levenshtein.distance)) == distances

    def mine(hypothesis: str, reference: str) -> float:
        return Levenshtein.distance(hypothesis, reference)

    with pytest.raises(
        AuditError, match=r"mine gives 0, 10, \d+ to an equal.*is lower better\? Say higher_is_better=False"
    ):
        scores(assay.wrap(mine))
    assert scores(assay.wrap(mine, higher_is_better=False)) == distances


def test_a_recognised_object_keeps_its_lists_with_one_reference() -> None:
    from sacrebleu.metrics import CHRF, TER

    for tool, sign in ((CHRF(), 1), (TER(), -1)):
        expected = [
            sign * tool.sentence_score(text, [ref]).score for text, ref in zip(TEXTS, REFERENCES, strict=True)
        ]
        assert scores(assay.wrap(tool, one_reference=True)) == pytest.approx(expected)


# --- the self-check: wrappings that are wrong ---


def error_rate(preds: list[str], target: list[Any]) -> list[float]:
    """A character error rate that takes a list of references for a text, as torchmetrics' does."""
    return [
        Levenshtein.distance(list(text), list(ref)) / len(ref)
        for text, ref in zip(preds, target, strict=True)
    ]


def turn(change: Callable[[float], Any]) -> Callable[[str, str], Any]:
    def mine(hypothesis: str, reference: str) -> Any:
        return change(fuzz.ratio(hypothesis, reference))

    return mine


def noisy(hypothesis: str, reference: str) -> float:
    return fuzz.ratio(hypothesis, reference) + random.random()


def drifting() -> Callable[[str, str], float]:
    calls: list[None] = []

    def mine(hypothesis: str, reference: str) -> float:
        calls.append(None)
        return fuzz.ratio(hypothesis, reference) + len(calls)

    return mine


def ranked(predictions: list[str], references: list[str]) -> list[float]:
    values = flat(predictions, references)
    return [value / max(values) + len(values) for value in values]


def never_awaited(hypothesis: str, reference: str) -> Any:
    return awaited  # the coroutine function itself


WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "lower said to be higher": (turn(lambda v: 1 - v / 100), {"higher_is_better": True}, "higher_is_better=False"),
    "higher said to be lower": (turn(lambda v: v), {"higher_is_better": False}, "higher_is_better=True"),
    "lower, nothing said": (turn(lambda v: 100 - v), {}, "is lower better"),
    "an error rate as a score": (error_rate, {"one_reference": True, "higher_is_better": True}, "no sense"),
    "letters for words": (error_rate, {"one_reference": False, "higher_is_better": False}, "no sense"),
    "a constant": (turn(lambda v: 0.5), {}, "no sense"),
    "its absolute distance from 92": (turn(lambda v: abs(v - 92)), {}, "no sense"),
    "text": (turn(str), {}, "returned the text '100.0'"),
    "nothing": (turn(lambda v: None), {}, "returned None"),
    "nan": (turn(lambda v: math.nan), {}, "returned nan"),
    "infinite": (turn(lambda v: math.inf), {}, "returned inf"),
    "two numbers": (turn(lambda v: {"f": v, "p": v}), {}, "choose one: output=f"),
    "another output": (turn(lambda v: {"f": v, "p": v}), {"output": "r"}, "returns f, p, and no 'r'"),
    "the wrong output": (turn(lambda v: {"f": v, "errors": 100 - v}), {"output": "f", "higher_is_better": False}, "no sense"),
    "too few": (lambda predictions, references: [1.0, 0.5], {}, "2 values for 3 texts"),
    "too many": (lambda predictions, references: [1.0] * 9, {}, "9 values for 3 texts"),
    "a generator": (lambda predictions, references: (1.0 for _ in predictions), {}, "returned a generator"),
    "a function": (never_awaited, {}, "returned a function"),
    "chance": (noisy, {}, "changes its answer between calls"),
    "a state": (drifting(), {}, "changes its answer between calls"),
    "other texts": (ranked, {}, "changes its answer between calls"),
    "an error": (lambda hypothesis, reference: 1 / 0, {}, "raised ZeroDivisionError"),
    "a missing argument": (lambda hypothesis, reference, model: 1.0, {}, "needs model: give model="),
    "a wrong argument": (lambda hypothesis, reference: 1.0, {"higher_is_beter": True}, "did you mean higher_is_better"),
    "text alone": (lambda text: len(text), {}, "say higher_is_better=True"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_wrapping_is_refused_with_what_it_returned(name: str) -> None:
    function, options, words = WRONG[name]
    with pytest.raises(AuditError) as caught:
        scores(assay.wrap(function, **options))
    assert words in str(caught.value)


def test_references_that_may_be_lists_or_texts_are_a_question() -> None:
    def mine(p: str, q: Any) -> float:  # a list has words, too
        return fuzz.ratio(p, q if isinstance(q, str) else f"{q[0]}, or so")

    with pytest.raises(AuditError, match="say one_reference=True or one_reference=False"):
        scores(assay.wrap(mine))
    assert scores(assay.wrap(mine, one_reference=True)) == pytest.approx(EXPECTED)


def test_what_is_meant_can_be_said() -> None:
    assert scores(assay.wrap(lambda hypothesis, reference: -len(hypothesis), check=False)) == [-20.0, -9.0]
    drawn = assay.wrap(noisy, stochastic=True)
    assert drawn.stochastic
    assert scores(drawn) == pytest.approx(EXPECTED, abs=1)


def test_the_command_line_ends_with_2_and_the_reason(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "mine.py").write_text("def mine(hypothesis, reference):\n    return str(len(hypothesis))\n")
    (tmp_path / "rows.jsonl").write_text('{"hypothesis": "a b", "references": ["a b"]}\n')
    words = ["score", "-m", "mine.py:mine", "--data", "rows.jsonl", "--on-error", "skip", "--cache", "none"]
    command = [sys.executable, "-c", "from assay.cli import main; main()", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert "assay: mine cannot be called; one text at a time" in done.stderr


# --- objects in files and modules ---

FILE = """
from dataclasses import dataclass
import assay
from rapidfuzz import fuzz
from sacrebleu.metrics import CHRF

def plain(hypothesis, reference): return fuzz.ratio(hypothesis, reference)
def both(hypothesis, reference): return {"f": fuzz.ratio(hypothesis, reference), "errors": 100 - fuzz.ratio(hypothesis, reference)}
wrapped = assay.wrap(plain, name="mine")
tool = CHRF()

@dataclass(frozen=True)
class Ratio(assay.Metric):
    name = "ratio"
    times: float = 1.0
    def score(self, samples): return [self.times * fuzz.ratio(s.hypothesis, s.references[0]) for s in samples]
twice = Ratio(2.0)

class Tool:
    def __init__(self, times=1): self.times = times
    def score(self, prediction, reference): return self.times * fuzz.ratio(prediction, reference)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "filed.py").write_text(FILE)
    (tmp_path / "packed_for_test").mkdir()
    (tmp_path / "packed_for_test" / "__init__.py").write_text("")
    (tmp_path / "packed_for_test" / "inner.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("where", ["filed.py", "packed_for_test.inner"])
@pytest.mark.parametrize(
    ("what", "times"),
    [("plain", 1), ("wrapped", 1), ("Ratio", 1), ("Ratio:times=3", 3), ("twice", 2), ("Tool", 1), ("Tool:times=2", 2),
     ("both:output=f", 1)],
)  # fmt: skip
def test_whatever_a_file_or_a_module_holds_is_a_metric(
    where: str, what: str, times: float, folder: Path
) -> None:
    assert scores(parse_spec(f"{where}:{what}")) == pytest.approx([times * value for value in EXPECTED])


def test_objects_of_installed_modules_need_no_file() -> None:
    assert scores(parse_spec("rapidfuzz.fuzz:ratio")) == pytest.approx(EXPECTED)
    assert scores(parse_spec("sacrebleu.metrics:CHRF:word_order=2"))[0] == pytest.approx(
        assay.score(["chrf++"], TEXTS[:1], REFERENCES[:1])["chrf++"][0]
    )
    with pytest.raises(AuditError, match=r"rapidfuzz.fuzz has no 'ration'; did you mean ratio\?"):
        parse_spec("rapidfuzz.fuzz:ration")
    with pytest.raises(AuditError, match="the module no_such_package cannot be imported"):
        parse_spec("no_such_package:metric")


def test_a_wrapped_function_of_a_file_travels_to_workers(folder: Path) -> None:
    from assay.engine.workers.crew import _load_metric, pack_metric

    for what in ("plain", "both:output=errors", "Tool:times=2", "twice", "wrapped"):
        metric = parse_spec(f"{folder}/filed.py:{what}").metric
        packed = pack_metric(metric)  # type: ignore[arg-type]
        assert packed is not None or what == "wrapped"
        if packed is not None:
            there = _load_metric(packed)
            sample = assay.Sample(TEXTS[0], (REFERENCES[0],))
            assert there.score([sample]) == metric.score([sample])  # type: ignore[union-attr]


# --- scores that are kept, and those that are not ---

LEVEL = 1
TABLE = {"the": 2}


def reads_a_number(hypothesis: str, reference: str) -> float:
    return helper(hypothesis, reference) * LEVEL


def helper(hypothesis: str, reference: str) -> float:
    return fuzz.ratio(hypothesis, reference)


def reads_a_table(hypothesis: str, reference: str) -> float:
    return fuzz.ratio(hypothesis, reference) * TABLE["the"]


def reads_a_file(hypothesis: str, reference: str) -> float:
    return fuzz.ratio(hypothesis, reference) + len(open(os.devnull).read())


def asks_a_server(hypothesis: str, reference: str) -> float:
    import httpx

    return httpx.get("http://127.0.0.1").json()


def draws(hypothesis: str, reference: str) -> float:
    return random.random()


def captures(level: Any) -> Callable[[str, str], float]:
    return lambda hypothesis, reference: (
        fuzz.ratio(hypothesis, reference) * (level if isinstance(level, int) else 1)
    )


@pytest.mark.parametrize("function", [reads_a_number, helper, fuzz.ratio, captures(3), lambda text, ref: 1.0])
def test_a_function_is_kept_if_all_it_reads_is_known(function: Any) -> None:
    assert assay.wrap(function).cacheable
    assert assay.wrap(function).signature == assay.wrap(function).signature


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (reads_a_table, r"TABLE \(dict\), which can change"),
        (reads_a_file, r"whatever open\(\) gives|os, which"),
        (asks_a_server, "the module httpx"),
        (draws, "random, which reaches outside"),
        (captures([1]), r"level \(list\)"),
        (awaited, "what it awaits|asyncio"),
        (Scorer(), "the state of a Scorer"),
        (Scorer().score, "the state of a Scorer"),
    ],
)
def test_else_it_is_scored_anew_with_one_note(function: Any, reason: str) -> None:
    import re

    metric = assay.wrap(function, higher_is_better=True)
    assert not metric.cacheable
    assert re.search(f"is scored anew each time: it reads .*({reason}).*pure=True keeps", metric.anew or "")


def test_what_a_function_reads_is_in_its_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = assay.wrap(reads_a_number)
    session = Session.open(cache=None)

    def mean() -> float:
        return float(assay.score([metric], TEXTS, REFERENCES, session=session)[metric.name].mean())  # type: ignore[arg-type]

    before, signature = mean(), metric.signature
    monkeypatch.setitem(reads_a_number.__globals__, "LEVEL", 2)
    assert mean() == 2 * before
    monkeypatch.setitem(reads_a_number.__globals__, "helper", lambda hypothesis, reference: 1.0)
    assert mean() == 2
    assert metric.signature != signature
    assert assay.wrap(captures(1)).signature != assay.wrap(captures(2)).signature
    one, two = (
        assay.wrap(f) for f in (lambda a, b: fuzz.ratio(a, b), lambda a, b: 2 * fuzz.ratio(a, b))
    )  # one line
    assert one.signature != two.signature
    assert assay.wrap(by_keyword, lang="en").signature != assay.wrap(by_keyword, lang="de").signature


def test_the_note_is_told_once(tmp_path: Path) -> None:
    from assay.api.scores import score_chunks

    chunks = [[assay.Sample(text, (ref,))] for text, ref in zip(TEXTS, REFERENCES, strict=True)]
    _, notes = score_chunks([reads_a_table], chunks, session=Session.open(cache=tmp_path))
    assert len([note for note in notes if "scored anew" in note]) == 1


def test_pure_keeps_what_the_user_answers_for() -> None:
    metric = assay.wrap(reads_a_table, pure=True)
    assert metric.cacheable
    assert assay.wrap(Scorer(), pure=True, output="rougeL.recall", higher_is_better=True).cacheable
    local = type("Local", (), {"score": lambda self, prediction, reference: 1.0})()
    with pytest.raises(AuditError, match="cannot be pickled"):
        _ = assay.wrap(local, pure=True).signature


def test_a_function_given_as_it_is_is_wrapped() -> None:
    assert measure(reads_a_number).metric.cacheable
    assert scores(fuzz.ratio) == pytest.approx(EXPECTED)
