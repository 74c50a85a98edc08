"""Figures of the second halves of the task corpora, held against those of the field's own data."""

import json
import re
from importlib.resources import files
from statistics import mean, stdev
from typing import Any

import pytest
from sacrebleu.metrics import BLEU

CORPORA = files("assay.data") / "corpora"
TASKS = ("captions", "data_to_text", "dialogue", "question_generation")
CONTRACTION = re.compile(r"'(?:s|t|m|ll|re|ve|d)\b")
every_task = pytest.mark.parametrize("name", TASKS)

# name: (words per gold, their standard deviation). Measured on Flickr8k and DailyDialog++; the figures for
# questions are our own aim.
LENGTHS = {"captions": (11.2, 3.9), "dialogue": (8.7, 4.4), "question_generation": (11.0, 3.5)}
# name: range of the corpus BLEU of the gold against one reference. Flickr8k 8.3, DailyDialog++ 2.4. The other
# two ranges only keep what was written: far from zero, and far from a copy.
OVERLAPS = {
    "captions": (8.0, 10.0),
    "dialogue": (1.8, 3.0),
    "question_generation": (12.0, 20.0),
    "data_to_text": (28.0, 40.0),
}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPORA / f"{name}.jsonl").read_text("utf-8").splitlines()]


def field_rows(name: str) -> list[dict[str, Any]]:
    return [row for row in rows(name) if row.get("half") == "field"]


def golds(name: str) -> list[str]:
    return [row["gold"] for row in field_rows(name)]


def per_hundred(pattern: str | re.Pattern[str], texts: list[str]) -> float:
    text = " ".join(texts)
    return 100 * len(re.findall(pattern, text)) / len(text.split())


@pytest.mark.parametrize(
    ("name", "fewest"),
    [("captions", 60), ("dialogue", 50), ("question_generation", 40), ("data_to_text", 40)],
)
def test_the_second_half_is_large_enough(name: str, fewest: int) -> None:
    assert len(field_rows(name)) >= fewest


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_spread_as_in_the_field(name: str) -> None:
    lengths = [len(gold.split()) for gold in golds(name)]
    assert (mean(lengths), stdev(lengths)) == pytest.approx(LENGTHS[name], rel=0.25)


@every_task
def test_overlap_of_gold_and_single_reference(name: str) -> None:
    pairs = [(row["gold"], text) for row in field_rows(name) for text in row["references"]]
    score = BLEU().corpus_score([gold for gold, _ in pairs], [[text for _, text in pairs]]).score
    lowest, highest = OVERLAPS[name]
    assert lowest <= score <= highest


def test_replies_have_the_contractions_of_the_field() -> None:
    assert per_hundred(CONTRACTION, golds("dialogue")) == pytest.approx(2.4, rel=0.25)


@pytest.mark.parametrize(
    ("name", "names", "numerals"), [("data_to_text", 15, 6), ("question_generation", 10, 1)]
)
def test_names_and_numerals(name: str, names: float, numerals: float) -> None:
    texts = golds(name)
    assert per_hundred(r"(?<=[a-z,] )[A-Z]\w+", texts) >= names
    assert per_hundred(r"\b\d[\d.,]*", texts) >= numerals


@pytest.mark.parametrize("name", ["question_generation", "captions", "data_to_text"])
def test_references_are_as_long_as_the_gold(name: str) -> None:
    for half in (None, "field"):
        chosen = [row for row in rows(name) if row.get("half") == half]
        gold = mean(len(row["gold"].split()) for row in chosen)
        references = mean(len(text.split()) for row in chosen for text in row["references"])
        assert references == pytest.approx(gold, rel=0.2), half


@every_task
def test_system_outputs_differ_from_every_good_answer(name: str) -> None:
    for row in field_rows(name):
        assert row["system_output"].strip(), row["id"]
        assert row["system_output"] not in (row["gold"], *row["references"]), row["id"]


def test_data_to_text_states_no_gender_of_its_own() -> None:
    gendered = re.compile(r"\b(he|she|him|her|his|hers)\b", re.IGNORECASE)
    assert [
        row["id"]
        for row in rows("data_to_text")
        if any(gendered.search(text) for text in (row["gold"], *row["references"]))
    ] == []
