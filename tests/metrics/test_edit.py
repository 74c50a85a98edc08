"""TER against sacreBLEU: short texts, long ones that its beam cuts, and moved blocks."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import TER

from assay.core import Sample
from assay.metrics.edit import Ter, beam
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


def test_a_moved_block_is_one_edit():
    assert edits_of(("d e f a b c", "a b c d e f"), "tercom") == (1, 6)
    assert Ter().score([Sample("d e f a b c", ("a b c d e f",))]) == [pytest.approx(-100 / 6)]


def test_known_rows_change_nothing():
    whole = beam("abcabd", "abcdab")
    assert beam("abcabd", "abcdab", whole[:4]) == whole
