"""Cuts heal: case, spacing, marks and articles, and nothing else moves."""

from __future__ import annotations

import pytest

from assay.core import Record
from assay.datasets.lexicon import capitalised, indefinite_article, match_case
from assay.names.registry import perturbation_class
from assay.perturbations.edit import body_and_end, read, rewrite


def changed(text: str, **words: str) -> str:
    parse = read(text)
    return rewrite(parse, {i: words[t.text] for i, t in enumerate(parse.tokens) if t.text in words})


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("He saw a big dog.", {"big": "old"}, "He saw an old dog."),
        ("He saw an old dog.", {"old": ""}, "He saw a dog."),
        ("In spring, he left.", {"In": "", "spring": ""}, "He left."),
        ("A BIG DOG RAN.", {"BIG": "old"}, "AN OLD DOG RAN."),
        ('He said "hello there" to us.', {"hello": ""}, 'He said "there" to us.'),
        ("Apples, pears, and plums fell.", {"pears": ""}, "Apples, and plums fell."),
        ("The man (a doctor) left.", {"a": "", "doctor": ""}, "The man left."),
        ("I saw John's dog.", {"John": "Maria"}, "I saw Maria's dog."),
        ("The dog ran 😀 off.", {"The": ""}, "Dog ran 😀 off."),
        ("It fell, too.", {"too": ""}, "It fell."),
    ],
)
def test_rewrite(text: str, words: dict[str, str], expected: str) -> None:
    assert changed(text, **words) == expected


def test_nothing_changed_is_the_same_text() -> None:
    for text in ("", "  two  spaces ", "Line one.\nLine two.", "a an error stays"):
        assert rewrite(read(text), {}) == text


def test_wrong_articles_elsewhere_stay() -> None:
    assert changed("He ate a apple and a pear.", pear="egg") == "He ate a apple and an egg."


@pytest.mark.parametrize(
    ("word", "expected"),
    [("unit", "a"), ("umbrella", "an"), ("hour", "an"), ("MP", "an"), ("US", "a"), ("one-off", "a"),
     ("8", "an"), ("18", "an"), ("1,800", "a"), ("1800", "an"), ("European", "a"), ("X-ray", "an"),
     ("unimportant", "an"), ("NATO", "a"), ("éclair", "an")],
)  # fmt: skip
def test_article(word: str, expected: str) -> None:
    assert indefinite_article(word) == expected


def test_case_and_ends() -> None:
    assert (match_case("cat", "DOG"), match_case("cat", "Dog"), match_case("cat", "dog")) == (
        "CAT",
        "Cat",
        "cat",
    )
    assert capitalised('"so it is"') == '"So it is"'
    assert body_and_end("Is it so?") == ("Is it so", "?")
    for text, expected in (
        ("Three cats sleep.", "three cats sleep."),
        ("I sleep.", "I sleep."),
        ("NASA waits.", "NASA waits."),
        ("Wooden crates fell.", "wooden crates fell."),
    ):
        parse = read(text)
        assert parse.uncapitalised(parse.sentences[0]) == expected


@pytest.mark.parametrize(
    ("name", "gold", "expected"),
    [
        ("nouns-to-pronouns", "[The old man] replied (the woman).", None),
        ("nouns-to-pronouns", "See https://x.org/a_b?c=1 and mail a@b.com.", None),
        ("nouns-to-pronouns", "The old man replied.", "He replied."),
        ("change-gender", "SHE IS NOT HAPPY, BUT HE WAS.", "HE IS NOT HAPPY, BUT SHE WAS."),
        ("change-gender", "HER BROTHER SAW HER.", "HIS SISTER SAW HIM."),
    ],
)
def test_marks_addresses_and_loud_words(name: str, gold: str, expected: str | None) -> None:
    assert perturbation_class(name)().perturb(Record("x", gold, "translation")) == expected


@pytest.mark.parametrize("gold", ["... !!! ?", "It's happy!! 😀", 'He said "no."', "It ends here"])
def test_a_sentence_follows_one_mark(gold: str) -> None:
    changed = perturbation_class("add-nonsense")().perturb(Record("x", gold, "translation"))
    assert changed is not None
    assert changed.startswith(gold + (". " if gold == "It ends here" else " "))
