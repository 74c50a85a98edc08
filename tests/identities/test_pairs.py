"""Lint of the stereotype pairs: counts, shapes, minimal differences, identities in their places."""

import re
from collections import Counter

import pytest
from identity_data import SETS, TEXTS, everything, read, words
from rapidfuzz.distance import Levenshtein

from assay.datasets import templates
from assay.datasets.templates import ATTRIBUTES

PAPER = ATTRIBUTES[:6]
KEYS = (
    "id", "attribute", "stereotype", "anti_stereotype", "reference", "group", "anti_group", "identity",
    "anti_identity", "template", "construction",
)  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_counts(name):
    records = read(name)
    hand = [r for r in records if re.fullmatch(r"hand-\d{3}", r["template"])]
    assert len(records) >= (150 if name in PAPER else 60)
    assert 3 * len(hand) >= len(records)
    assert len({r["template"] for r in records} - {r["template"] for r in hand}) >= 20


def test_occupation_counts():
    records = read("gender_occupation")
    assert len(records) >= 200
    types = Counter(r["type"] for r in records)
    assert set(types) == {1, 2}
    assert min(types.values()) >= 100
    assert Counter(r["group"] for r in records)["female"] == len(records) / 2
    assert min(Counter(r["winobias"] for r in records).values()) >= 100


def test_control_counts():
    assert len(read("controls")) >= 300
    assert {r["construction"] for r in read("controls")} == {"drop", "replace", "abstract"}


@pytest.mark.parametrize("name", [*SETS, "controls"])
def test_shape(name):
    expected = (
        KEYS if name != "controls" else tuple(k for k in KEYS if "group" not in k and "identity" not in k)
    )
    for r in read(name):
        assert tuple(r)[: len(expected)] == expected, r["id"]
        assert all(v.strip() == v and v for v in r.values() if isinstance(v, str)), r["id"]
        assert r["construction"] in ("drop", "replace", "abstract"), r["id"]
        for key in TEXTS:
            assert re.fullmatch(r"[A-Z].*[.?!]", r[key]), r[key]
            assert not re.search(r"  | [.,;?!]|[{}\[\]]|[\u2018-\u201d]", r[key]), r[key]


def test_no_duplicates():
    records = everything()
    assert max(Counter(r["id"] for r in records).values()) == 1
    assert max(Counter((r["stereotype"], r["anti_stereotype"]) for r in records).values()) == 1
    turned = {(r["anti_stereotype"], r["stereotype"]) for r in records}
    assert not turned & {(r["stereotype"], r["anti_stereotype"]) for r in records}


@pytest.mark.parametrize("name", [*SETS, "controls"])
def test_pairs_differ_minimally(name):
    for r in read(name):
        one, other, reference = (r[key].split() for key in TEXTS)
        assert r["stereotype"] != r["anti_stereotype"], r["id"]
        assert len(one) == len(other), r["id"]
        assert 1 <= Levenshtein.distance(one, other) <= 5, r["id"]
        assert r["reference"] not in (r["stereotype"], r["anti_stereotype"]), r["id"]
        # Both texts are equally far from the reference, so that only the identity can tell them apart.
        near, far = (Levenshtein.distance(text, reference) for text in (one, other))
        assert near == far <= 8, r["id"]


@pytest.mark.parametrize("name", SETS)
def test_identities_are_in_their_texts_and_not_in_the_reference(name):
    known = set(templates.load_lexicon("gender" if name == "gender_occupation" else name).groups)
    for r in read(name):
        assert {r["group"], r["anti_group"]} <= known, r["id"]
        assert r["group"] != r["anti_group"], r["id"]
        assert set(words(r["identity"])) <= set(words(r["stereotype"])), r["id"]
        assert set(words(r["anti_identity"])) <= set(words(r["anti_stereotype"])), r["id"]
        said, left = Counter(words(r["stereotype"])), Counter(words(r["reference"]))
        assert any(left[word] < said[word] for word in words(r["identity"])), r["id"]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_no_group_bears_most_of_the_stereotypes(name):
    groups = Counter(r["group"] for r in read(name))
    assert len(groups) > 2
    assert max(groups.values()) <= sum(groups.values()) / 2, groups
    identities = Counter(r["identity"].lower() for r in read(name))
    assert max(identities.values()) <= sum(identities.values()) / 2, identities


def test_every_group_of_a_lexicon_is_used():
    for name in ATTRIBUTES:
        used = {r[key] for r in read(name) for key in ("group", "anti_group")}
        assert set(templates.load_lexicon(name).groups) <= used, name


def test_drop_only_drops():
    for r in everything():
        if r["construction"] == "drop":
            left = [w for w in words(r["reference"]) if w not in ("a", "an")]
            rest = iter(words(r["stereotype"]))
            assert all(w in rest for w in left) or "they" in left, r["id"]


def test_controls_carry_no_identity():
    marked = {
        word.lower()
        for name in ATTRIBUTES
        for group in templates.load_lexicon(name).groups.values()
        for word in (*group.adjectives, *group.names, *(n.singular for n in group.nouns))
    }
    for r in read("controls"):
        changed = set(words(r["stereotype"])) ^ set(words(r["anti_stereotype"]))
        assert not changed & (marked | {"yellow", "brown"}), r["id"]


def test_occupation_pairs():
    leaning = {o.name: o for o in templates.load_occupations()}
    for r in read("gender_occupation"):
        assert leaning[r["occupation"]].stereotype == r["group"], r["id"]
        assert leaning[r["occupation"]].winobias == r["winobias"], r["id"]
        assert r["reference"].count(r["occupation"]) > r["stereotype"].count(r["occupation"]), r["id"]
        assert not re.search(r"\b(he|she|him|her|his|hers)\b", r["reference"]), r["id"]
