"""Lint of the caption concepts: those of the published tables, in phrases that make captions."""

import pytest
from word_data import SHARED, lists

CONCEPTS = {"profession": 90, "activity": 52, "object": 39}


def test_concepts_are_those_of_the_tables() -> None:
    concepts = lists("concepts", "caption_concepts")
    assert {key: len(concepts[key]) for key in CONCEPTS} == CONCEPTS
    for key in CONCEPTS:
        assert len({row["word"] for row in concepts[key]}) == CONCEPTS[key]
    professions = {row["word"] for row in concepts["profession"]}
    twins = [row["same_as"] for row in concepts["profession"] if "same_as" in row]
    assert len(professions) - len(twins) == 88
    assert set(twins) <= professions
    left_out = [row["word"] for key in CONCEPTS for row in concepts[key] if row.get("imbalanced")]
    assert len(left_out) == 15
    chef = next(row for row in concepts["profession"] if row["word"] == "chef")
    assert (chef["women"], chef["men"]) == (815, 1804)


def test_concept_patterns_make_captions() -> None:
    concepts = lists("concepts", "caption_concepts")
    assert concepts["genders"] == ["man", "woman", "person"]
    patterns = concepts["patterns"]
    editor = next(row for row in concepts["profession"] if row["word"] == "editor")
    assert patterns["profession"]["candidate"].format(gender="man", **editor) == "a man who is an editor"
    salad = next(row for row in concepts["object"] if row["word"] == "salad")
    made = patterns["object"]["reference"].format(gender="woman", **salad)
    assert made == "a photo of a woman with a salad"


def test_concept_articles() -> None:
    concepts = lists("concepts", "caption_concepts")
    for key in ("profession", "object"):
        for row in concepts[key]:
            article, noun = row["phrase"].split(" ", 1)
            assert article == "some" or article == ("an" if noun[0] in "aeiou" else "a"), row
            assert row["word"] in row["phrase"] or "same_as" in row
    assert all(row["phrase"] == row["word"] and row["word"].endswith("ing") for row in concepts["activity"])


@pytest.mark.skipif(not (SHARED / "published").is_dir(), reason="the published captions are absent")
def test_concepts_cover_the_published_ones() -> None:
    rows = (SHARED / "published" / "pao_captions.tsv").read_text("utf-8").splitlines()[1:]
    published = {(row.split("\t")[1], row.split("\t")[2].replace("_", " ")) for row in rows}
    ours = {(key, row["word"]) for key in CONCEPTS for row in lists("concepts", "caption_concepts")[key]}
    assert published <= ours
    assert {word for _, word in ours - published} == {"telephonist", "police officer", "head teacher"}
