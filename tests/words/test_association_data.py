"""Lint of the association tests: words, frames, and the sentences that they make."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from word_data import PUBLISHED, lists, needs_published, sets, texts

from assay.datasets.association import (
    AssociationTest,
    read_published,
    sentence_tests,
    unbleached_tests,
    word_tests,
)


def test_word_tests_have_equal_targets() -> None:
    tests = word_tests()
    assert len(tests) == 19
    assert len({test.label for test in tests.values()}) == 19
    for test in tests.values():
        assert test.level == "word"
        assert len(test.targ1.items) == len(test.targ2.items)
        for part in sets(test).values():
            words = [word for word, _ in part.items]
            assert len(set(words)) == len(words) >= 4
            assert all(word == unit for word, unit in part.items)
    assert tests["weat3"].label == "C3-N"
    assert tests["angry_black_woman_stereotype_b"].label == "ABW-T"


@needs_published
def test_word_tests_equal_the_published_ones() -> None:
    published = {test.name: test for test in read_published(PUBLISHED) if test.level == "word"}
    assert plain(published) == plain(word_tests())


def plain(tests: Mapping[str, AssociationTest]) -> dict[str, AssociationTest]:
    """The tests without the names of their sets: MaleNames of the release is "male names" here."""
    unnamed = {}
    for name, test in tests.items():
        parts = {key: replace(part, category="") for key, part in sets(test).items()}
        unnamed[name] = replace(test, **parts)
    return unnamed


def test_every_class_has_as_many_frames() -> None:
    frames = lists("templates", "association")
    classes = lists("word_classes", "association")
    assert set(frames) == set(classes)
    assert {len(listed) for listed in frames.values()} == {6}
    assert all(len(set(listed)) == 6 for listed in frames.values())
    counts = Counter(word for words in classes.values() for word in words)
    used = {word for word, _ in texts(word_tests())}
    assert set(counts) == used
    assert set(counts.values()) == {1}


@pytest.mark.parametrize("limit", [None, 1, 2])
def test_sentences_are_frames_times_words(limit: int | None) -> None:
    words, tests = word_tests(), sentence_tests(limit)
    assert len(tests) == 21
    for name, test in words.items():
        made = tests[f"sent-{name}"]
        assert (made.label, made.level) == (test.label, "sentence")
        for key, part in sets(made).items():
            units = Counter(unit for _, unit in part.items)
            assert set(units) == {word for word, _ in sets(test)[key].items}
            assert set(units.values()) == {limit or 6}
            assert all(unit in text for text, unit in part.items)
            assert len({text for text, _ in part.items}) == len(part.items)


def test_unbleached_tests() -> None:
    tests = unbleached_tests()
    assert {name: (test.label, test.level) for name, test in tests.items()} == {
        "double_bind_competent_unbleached": ("DB:C", "unbleached"),
        "double_bind_likable_unbleached": ("DB:L", "unbleached"),
    }
    competent = tests["double_bind_competent_unbleached"]
    assert len(competent.targ1.items) == len(competent.targ2.items) == 8 * 6
    assert len(competent.attr1.items) == len(competent.attr2.items) == 10 * 6
    assert competent.targ2.items[0] == ("Amy works as a surgeon at a large hospital.", "Amy")


def test_sentences_have_the_right_article() -> None:
    spoken = {"european": "a", "ukrainian": "a", "university": "a", "honor": "an"}
    checked = 0
    for text, _ in texts(sentence_tests()):
        assert re.fullmatch(r"[A-Z][^.]*\.", text)
        assert "  " not in text
        for article, word in re.findall(r"\b(an?) ([\w-]+)", text):
            checked += 1
            right = spoken.get(word.lower(), "an" if word[0].lower() in "aeiou" else "a")
            assert article == right, text
    assert checked > 1000


FITTING = {
    "name": {"NNP"},
    "singular_noun": {"NN", "NNP"},
    "plural_noun": {"NNS"},
    "mass_noun": {"NN", "NNS"},
    "adjective": {"JJ", "VBN", "VBG"},
    "verb": {"VB", "VBP"},
    "adverb": {"RB"},
    "subject_pronoun": {"PRP"},
    "object_pronoun": {"PRP"},
    "possessive_pronoun": {"PRP", "PRP$"},
}


def test_sentences_are_tagged_as_their_class() -> None:
    from assay.models.nlp import parse

    classes = lists("word_classes", "association")
    of_word = {word: name for name, words in classes.items() for word in words}
    items = [item for item in texts(sentence_tests(2)) if not item[0].startswith("The ")]
    parses = parse([text for text, _ in items])
    wrong = []
    for (text, unit), parsed in zip(items, parses, strict=True):
        assert len(parsed.sentences) == 1, text
        assert any(token.pos in {"VERB", "AUX"} for token in parsed.tokens), text
        # The head of a unit of several words is tagged: "American", "woman" of "woman of color".
        parts = set(re.split(r"[ -]", unit))
        tags = {token.tag for token in parsed.tokens if token.text in parts}
        if not tags & FITTING[of_word[unit]]:
            wrong.append((text, unit, tags))
    # A small tagger errs on bare nouns and rare names now and then; more than that is our fault.
    assert len(wrong) <= 0.03 * len(items), wrong


@needs_published
def test_no_published_sentence_is_ours() -> None:
    ours = " ".join(text for text, _ in texts(sentence_tests()))
    published = [test for test in read_published(PUBLISHED) if test.level != "word"]
    theirs = {text for test in published for part in sets(test).values() for text, _ in part.items}
    assert len(theirs) > 1000
    assert [text for text in theirs if text in ours] == []
