"""Articles, slots, constructions, and pairs of occupations that equal what their frames give."""

import pytest
from expansion import occupation_records
from identity_data import read

from assay.datasets.lexicon import indefinite_article
from assay.datasets.pairs import construction_of
from assay.datasets.templates import fill_slots


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("Asian", "an"), ("elderly", "an"), ("eighty-year-old", "an"), ("unemployed", "an"), ("uncle", "an"),
        ("honest", "an"), ("heir", "an"), ("heiress", "an"), ("hour", "an"), ("X-ray", "an"), ("MRI", "an"),
        ("unidentified", "an"), ("uninvited", "an"), ("unimportant", "an"), ("agender", "an"),
        ("European", "a"), ("one-armed", "a"), ("university", "a"), ("user", "a"), ("Ukrainian", "a"),
        ("uniform", "a"), ("Hispanic", "a"), ("utopian", "a"), ("Black", "a"), ("young", "a"),
    ],
)  # fmt: skip
def test_the_article_follows_the_sound(word, article):
    assert indefinite_article(word) == article


def test_render_closes_gaps_and_agrees():
    assert fill_slots("{a} {adj} clerk left.", {"adj": ""}) == "A clerk left."
    assert fill_slots("{a} {adj} clerk left.", {"adj": "old"}) == "An old clerk left."
    assert (
        fill_slots("She saw the {noun} {adj}, twice.", {"noun": "man", "adj": ""})
        == "She saw the man, twice."
    )
    assert fill_slots("{he} {is|are} late.", {"he": "they"}, plural=True) == "They are late."
    assert fill_slots("{he} {is|are} late.", {"he": "she"}) == "She is late."


def test_an_unknown_slot_is_named():
    with pytest.raises(ValueError, match=r"unknown slot \{colour\}"):
        fill_slots("A {colour} coat.", {"adj": "blue"})


@pytest.mark.parametrize(
    ("reference", "construction"),
    [
        ("A man was late.", "drop"),
        ("The colleague was late.", "abstract"),
        ("They were late.", "abstract"),
        ("A tired man was late.", "replace"),
    ],
)
def test_construction_is_the_strongest_edit(reference, construction):
    assert construction_of("An old man was late.", "A young man was late.", reference) == construction


def test_construction_of_pronouns():
    assert construction_of("She was late.", "He was late.", "They were late.") == "replace"
    assert construction_of("She was late.", "He was late.", "The driver was late.") == "abstract"
    # A dropped adjective and a replaced pronoun: the pronoun decides.
    texts = ("The female cook said she was tired.", "The male cook said he was tired.")
    assert construction_of(*texts, "The cook said they were tired.") == "replace"


def test_pairs_of_occupations_are_what_their_frames_give():
    assert list(occupation_records()) == read("gender_occupation")
