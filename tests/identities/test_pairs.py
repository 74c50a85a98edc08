"""Lint of the stereotype pairs: counts, shapes, minimal differences, identities in their places."""

import re
from collections import Counter

import pytest
from identity_data import FORMS, PAPER, SETS, TEXTS, axes, everything, read, words
from rapidfuzz.distance import Levenshtein

from assay.datasets import templates
from assay.datasets.pairs import construction_of
from assay.datasets.templates import ATTRIBUTES

KEYS = (
    "id", "attribute", "stereotype", "anti_stereotype", "reference", "group", "anti_group", "identity",
    "anti_identity", "construction", "form",
)  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_shape(name):
    records = read(name)
    assert len(records) == (150 if name in PAPER else 100)
    for number, r in enumerate(records, 1):
        assert r["id"] == f"{name}-{number:03d}"
        assert tuple(r) == (KEYS if r["form"] != "translation" else (*KEYS, "source")), r["id"]
        assert r["attribute"] == name, r["id"]


@pytest.mark.parametrize("name", [*ATTRIBUTES, "intersections"])
def test_constructions_are_found_by_program(name):
    for r in read(name):
        assert r["construction"] == construction_of(*(r[key] for key in TEXTS)), r["id"]


@pytest.mark.parametrize("name", SETS)
def test_texts_are_clean(name):
    for r in read(name):
        assert all(v.strip() == v and v for v in r.values() if isinstance(v, str)), r["id"]
        assert r["construction"] in ("drop", "replace", "abstract"), r["id"]
        for key in TEXTS:
            assert re.fullmatch(r"[A-Z].*[.?!]", r[key]), r[key]
            assert not re.search(r"  | [.,;?!]|[{}\[\]|]|[\u2018-\u201d]", r[key]), r[key]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_sentences_are_independent_and_varied(name):
    records = read(name)
    texts = [r["stereotype"] for r in records]
    assert len({r["reference"] for r in records}) == len(records)
    assert sum(text.startswith("The ") for text in texts) <= 0.4 * len(texts)
    assert all(5 <= len(text.split()) <= 30 for text in texts)
    # No sentence is another with a few words changed.
    bags = [(r["id"], set(words(r["reference"]))) for r in records]
    for n, (one, bag) in enumerate(bags):
        for other, other_bag in bags[n + 1 :]:
            assert len(bag & other_bag) <= 0.6 * len(bag | other_bag), (one, other)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_forms(name):
    records = read(name)
    forms = Counter(r["form"] for r in records)
    assert set(forms) == set(FORMS)
    assert sum(forms[form] for form in ("caption", "reply", "summary", "translation")) >= 0.3 * len(records)
    assert min(forms[form] for form in ("question", "first-person", "two-sentence")) >= len(records) / 15
    for r in records:
        sentences = len(re.findall(r"[.?!](?= [A-Z]|$)", r["stereotype"]))
        assert r["form"] != "two-sentence" or sentences == 2, r["id"]
        assert r["form"] != "question" or r["stereotype"].endswith("?"), r["id"]
        own = re.search(r"\b(I|I'm|I've|I'd|I'll|my|me|we|our|us)\b", r["stereotype"], re.IGNORECASE)
        assert r["form"] != "first-person" or own, r["id"]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_groups_and_words_have_enough_rows(name):
    records = read(name)
    groups = Counter(r[key] for r in records for key in ("group", "anti_group"))
    assert min(groups.values()) >= (20 if name in PAPER else 10), groups
    assert max(Counter(r["group"] for r in records).values()) <= len(records) / 3 + 1
    by_word = Counter(r[key].lower() for r in records for key in ("identity", "anti_identity"))
    assert sum(count >= 10 for count in by_word.values()) >= (8 if name in PAPER else 6), by_word


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_one_axis_per_pair(name):
    group_of = {}
    for r in read(name):
        assert any({r["group"], r["anti_group"]} <= axis for axis in axes(name)), r["id"]
        for word, group in ((r["identity"], r["group"]), (r["anti_identity"], r["anti_group"])):
            assert group_of.setdefault(word.lower(), group) == group, r["id"]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_both_sides_are_equally_long(name):
    records = read(name)
    even = sum(len(words(r["stereotype"])) == len(words(r["anti_stereotype"])) for r in records)
    assert even >= 0.9 * len(records)  # n-gram metrics take middle-aged for two words


def test_occupation_counts():
    records = read("gender_occupation")
    assert len(records) >= 200
    types = Counter(r["type"] for r in records)
    assert set(types) == {1, 2}
    assert min(types.values()) >= 100
    assert Counter(r["group"] for r in records)["female"] == len(records) / 2
    assert min(Counter(r["winobias"] for r in records).values()) >= 100


def test_no_duplicates():
    records = everything()
    assert max(Counter(r["id"] for r in records).values()) == 1
    assert max(Counter((r["stereotype"], r["anti_stereotype"]) for r in records).values()) == 1
    turned = {(r["anti_stereotype"], r["stereotype"]) for r in records}
    assert not turned & {(r["stereotype"], r["anti_stereotype"]) for r in records}


@pytest.mark.parametrize("name", SETS)
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


@pytest.mark.parametrize("name", [*ATTRIBUTES, "gender_occupation"])
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
def test_no_reference_names_a_group(name):
    identities = {r[key].lower() for r in read(name) for key in ("identity", "anti_identity")}
    pronouns = {"he", "she", "his", "her", "him"}  # may be another person's
    for r in read(name):
        assert not set(words(r["reference"])) & (identities - pronouns), r["id"]


def test_occupation_pairs():
    leaning = {o.name: o for o in templates.load_occupations()}
    for r in read("gender_occupation"):
        assert leaning[r["occupation"]].stereotype == r["group"], r["id"]
        assert leaning[r["occupation"]].winobias == r["winobias"], r["id"]
        assert r["reference"].count(r["occupation"]) > r["stereotype"].count(r["occupation"]), r["id"]
        assert not re.search(r"\b(he|she|him|her|his|hers)\b", r["reference"]), r["id"]
