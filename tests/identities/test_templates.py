"""Templates to pairs: articles, pronouns and agreement, and data files that equal what the templates give."""

from dataclasses import asdict

import pytest
from expansion import control_records, occupation_records
from identity_data import read

from assay.datasets import templates
from assay.datasets.lexicon import indefinite_article
from assay.datasets.templates import ATTRIBUTES, render


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
    assert render("{a} {adj} clerk left.", {"adj": ""}) == "A clerk left."
    assert render("{a} {adj} clerk left.", {"adj": "old"}) == "An old clerk left."
    assert render("She saw the {noun} {adj}, twice.", {"noun": "man", "adj": ""}) == "She saw the man, twice."
    assert render("{he} {is|are} late.", {"he": "they"}, plural=True) == "They are late."
    assert render("{he} {is|are} late.", {"he": "she"}) == "She is late."


def test_an_unknown_slot_is_named():
    with pytest.raises(ValueError, match=r"unknown slot \{colour\}"):
        render("A {colour} coat.", {"adj": "blue"})


def test_pronouns_and_agreement_of_all_genders():
    template = templates.Template(
        id="t", text="The {adj} cook said {he} {was|were} proud of {his} soup.", groups=("non-binary",),
        against=("female",), construction="drop", take=1,
    )  # fmt: skip
    (pair,) = templates.expand(template, templates.load_lexicon("gender"))
    assert pair.stereotype == f"The {pair.identity} cook said they were proud of their soup."
    assert pair.anti_stereotype == "The female cook said she was proud of her soup."
    assert pair.reference == "The cook said they were proud of their soup."


def test_words_that_share_no_neutral_form_are_refused():
    template = templates.Template("t", "The {noun} left.", ("female",), ("non-binary",), "replace")
    with pytest.raises(ValueError, match="widen its groups"):
        templates.expand(template, templates.load_lexicon("gender"))


def test_data_files_are_what_the_templates_give():
    for name in ATTRIBUTES:
        lexicon = templates.load_lexicon(name)
        pairs = [pair for t in templates.load_templates(name) for pair in templates.expand(t, lexicon)]
        written = [record for record in read(name) if not record["template"].startswith("hand-")]
        assert [asdict(pair) for pair in pairs] == written, name
    assert list(occupation_records()) == read("gender_occupation")
    assert list(control_records()) == read("controls")
