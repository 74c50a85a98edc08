"""Lint of the word resources: pairs, siblings, contractions, replies, lists and typos."""

import re
from collections import Counter
from itertools import combinations

import pytest
from word_data import lines, lists, pairs, table

POS = {"adj", "verb", "noun", "adv"}


@pytest.mark.parametrize(("name", "fewest"), [("antonyms", 400), ("synonyms", 400)])
def test_pairs_are_many_unique_and_tagged(name: str, fewest: int) -> None:
    rows = pairs(name)
    assert len(rows) >= fewest
    assert {pos for pos, _, _ in rows} == POS
    assert [row for row in rows if row[1] == row[2] or not all(row)] == []
    unordered = Counter((pos, frozenset((word, other))) for pos, word, other in rows)
    assert [pair for pair, count in unordered.items() if count > 1] == []
    assert [row for row in rows if not re.fullmatch(r"[a-z]+(-[a-z]+)*", row[1] + row[2])] == []


def test_no_synonyms_are_antonyms() -> None:
    antonyms = {frozenset(words) for _, *words in pairs("antonyms")}
    assert [row for row in pairs("synonyms") if frozenset(row[1:]) in antonyms] == []


def test_no_synonyms_share_an_antonym_relation() -> None:
    """A synonym of a word is not the antonym of another of its synonyms."""
    antonyms = {(pos, frozenset((word, other))) for pos, word, other in pairs("antonyms")}
    by_word: dict[tuple[str, str], set[str]] = {}
    for pos, word, other in pairs("synonyms"):
        by_word.setdefault((pos, word), set()).add(other)
    clashes = [
        (pos, word, two)
        for (pos, word), others in by_word.items()
        for two in combinations(sorted(others), 2)
        if (pos, frozenset(two)) in antonyms
    ]
    assert clashes == []


@pytest.mark.parametrize("name", ["antonyms", "synonyms"])
def test_pairs_are_lemmas(name: str) -> None:
    from lemminflect import getAllLemmas

    tags = {"verb": "VERB", "noun": "NOUN"}
    wrong = [
        (pos, word)
        for pos, *two in pairs(name)
        if pos in tags
        for word in two
        if word not in getAllLemmas(word, upos=tags[pos]).get(tags[pos], (word,))
    ]
    assert wrong == []


def test_siblings_are_groups_of_one_kind() -> None:
    groups = lines("siblings")
    assert len(groups) >= 300
    assert len({group["id"] for group in groups}) == len({group["kind"] for group in groups}) == len(groups)
    assert {group["pos"] for group in groups} == POS
    for group in groups:
        terms = group["terms"]
        assert len(set(terms)) == len(terms) >= 3, group
        assert all(term == term.lower() and term.strip() for term in terms), group
    assert len({frozenset(group["terms"]) for group in groups}) == len(groups)


def test_no_siblings_are_synonyms() -> None:
    synonyms = {(pos, frozenset((word, other))) for pos, word, other in pairs("synonyms")}
    both = [
        (group["kind"], two)
        for group in lines("siblings")
        for two in combinations(group["terms"], 2)
        if (group["pos"], frozenset(two)) in synonyms
    ]
    assert both == []


def test_contractions_expand() -> None:
    rows = table("contractions")
    assert len(rows) >= 60
    assert len({row["contraction"] for row in rows}) == len(rows)
    for row in rows:
        assert len(row["expansion"]) > len(row["contraction"]) - 1
        assert row["expansion"] != row["other_expansion"]
        assert row["expansion"][0].lower() == row["contraction"][0].lower()
    as_written = {row["contraction"]: row["expansion"] for row in rows}
    assert as_written["won't"] == "will not"
    assert as_written["can't"] == "cannot"
    assert as_written["let's"] == "let us"


def test_generic_replies() -> None:
    replies = lines("generic_replies")
    assert len(replies) >= 40
    assert (
        len({reply["text"].lower() for reply in replies})
        == len({reply["id"] for reply in replies})
        == len(replies)
    )
    assert min(Counter(reply["kind"] for reply in replies).values()) >= 15
    assert {reply["kind"] for reply in replies} == {"generic", "back_off"}
    assert min(Counter(reply["after"] for reply in replies).values()) >= 3
    assert [reply for reply in replies if not re.fullmatch(r"[A-Z].*[.?!]", reply["text"])] == []


@pytest.mark.parametrize(
    ("name", "key", "fewest"),
    [
        ("stop_words", "words", 150),
        ("prepositions", "words", 50),
        ("prepositions", "phrases", 20),
        ("question_words", "words", 9),
        ("auxiliaries", "words", 20),
        ("auxiliaries", "negated", 15),
        ("articles", "words", 3),
        ("pronouns", "words", 44),
        ("attributes", "colour", 15),
        ("attributes", "size", 15),
        ("attributes", "material", 15),
        ("attributes", "pattern", 8),
        ("attributes", "shape", 8),
    ],
)
def test_lists_are_long_enough(name: str, key: str, fewest: int) -> None:
    assert len(lists(name)[key]) >= fewest


@pytest.mark.parametrize(
    "name", ["stop_words", "prepositions", "question_words", "auxiliaries", "articles", "attributes"]
)
def test_lists_are_clean(name: str) -> None:
    for key, words in lists(name).items():
        assert len(set(words)) == len(words), key
        assert all(word == word.lower().strip() and word for word in words), key


def test_lists_agree_with_each_other() -> None:
    prepositions = lists("prepositions")
    for key in ("place", "time", "direction"):
        assert set(prepositions[key]) <= set(prepositions["words"])
    auxiliaries = lists("auxiliaries")
    parts = [word for key in ("be", "have", "do", "modal") for word in auxiliaries[key]]
    assert sorted(parts) == sorted(auxiliaries["words"])
    questions = lists("question_words")
    known = {*questions["words"], *questions["phrases"]}
    asked = (
        set(questions[key]) for key in ("person", "thing", "time", "place", "reason", "manner", "quantity")
    )
    assert all(words <= known for words in asked)
    assert set(lists("articles")["words"]) <= set(lists("stop_words")["words"])
    attributes = lists("attributes")
    doubled = [
        word for word, count in Counter(w for ws in attributes.values() for w in ws).items() if count > 1
    ]
    assert doubled == []


def test_keyboard_neighbours_are_mutual() -> None:
    near = lists("typos")["neighbours"]
    assert sorted(near) == [chr(code) for code in range(ord("a"), ord("z") + 1)]
    for letter, others in near.items():
        assert letter not in others
        assert len(set(others)) == len(others) >= 2
        assert all(letter in near[other] for other in others)


def test_typos_differ_from_their_word() -> None:
    typos = lists("typos")["typos"]
    assert len(typos) >= 100
    known = {word for rows in (pairs("antonyms"), pairs("synonyms")) for _, *two in rows for word in two}
    known |= set(lists("stop_words")["words"]) | set(typos)
    assert [(word, bad) for word, errors in typos.items() for bad in errors if bad in known] == []
