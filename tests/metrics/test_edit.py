"""TER against sacreBLEU: short texts, long ones that its beam cuts, and moved blocks."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import TER

from assay.core import Sample
from assay.errors import SpecError
from assay.metrics.edit import Ter, TerText, beam
from assay.metrics.edit import edits as edits_of

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=14).map(" ".join)


def library(sample):
    return -TER().sentence_score(sample.hypothesis, list(sample.references)).score


@given(WORDS, st.lists(WORDS, min_size=1, max_size=2))
@settings(max_examples=200, deadline=None)
def test_generated_texts(hypothesis, references):
    sample = Sample(hypothesis, tuple(references))
    assert Ter().score([sample])[0] == pytest.approx(library(sample), abs=1e-9)


def test_corpora(corpus_samples, small_samples):
    samples = corpus_samples[::25] + small_samples[:120]
    assert Ter().score(samples) == pytest.approx([library(sample) for sample in samples], abs=1e-9)


@pytest.mark.parametrize(("mine", "theirs"), [(60, 55), (3, 120), (70, 30), (300, 60)])
def test_texts_that_leave_the_beam(mine, theirs):
    rng = random.Random(mine)
    words = [f"w{number}" for number in range(50)]
    for _ in range(3 if mine < 200 else 1):  # sacreBLEU takes seconds for one
        hypothesis, reference = (" ".join(rng.choices(words, k=size)) for size in (mine, theirs))
        sample = Sample(hypothesis, (reference,))
        assert Ter().score([sample])[0] == pytest.approx(library(sample), abs=1e-9)


OPTIONS = [
    {"case_sensitive": True},
    {"normalized": True},
    {"no_punct": True},
    {"normalized": True, "no_punct": True, "asian_support": True, "case_sensitive": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_are_sacrebleus(options, corpus_samples):
    written = Sample('The "cat" &amp; I ran, 3.5 km!', ("the cat & I ran 3.5 km .",))
    asian = [Sample("猫は、家に帰った。", ("猫が家に帰りました。",))] if options.get("asian_support") else []
    for sample in [written, *asian, *corpus_samples[::60]]:
        expected = -TER(**options).sentence_score(sample.hypothesis, list(sample.references)).score
        assert Ter(**options).score([sample])[0] == pytest.approx(expected, abs=1e-9)
    assert Ter(**options).score([written]) != Ter().score([written])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokenize": "13a", "no_punct": True}, "tokenize=13a takes no normalized"),
        ({"asian_support": True}, "asian_support changes nothing by itself"),
    ],
)
def test_options_that_do_nothing_are_refused(options, message):
    with pytest.raises(SpecError, match=message):
        Ter(**options)


def test_a_moved_block_is_one_edit():
    assert edits_of(("d e f a b c", "a b c d e f"), TerText()) == (1, 6)
    assert Ter().score([Sample("d e f a b c", ("a b c d e f",))]) == [pytest.approx(-100 / 6)]


def test_known_rows_change_nothing():
    whole = beam("abcabd", "abcdab")
    assert beam("abcabd", "abcdab", whole[:4]) == whole
