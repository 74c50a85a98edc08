"""Lint of the control pairs: kinds, spread of lengths, grammar, and no word that names a group."""

from collections import Counter

from identity_data import TEXTS, read, words

from assay.audits.stereotype.bias import equally_long
from assay.datasets.pairs import embedded_pairs
from assay.datasets.templates import ATTRIBUTES, load_lexicon

KEYS = (
    "id", "attribute", "stereotype", "anti_stereotype", "reference", "construction", "form", "kind", "identity",
    "anti_identity",
)  # fmt: skip
KINDS = {"adjective", "noun", "name", "pronoun", "phrase"}
PRONOUNS = {
    "it", "they", "them", "its", "their", "itself", "themselves", "which", "that", "whom", "each", "both",
    "someone", "somebody", "everyone", "everybody", "anyone", "anybody",
}  # fmt: skip


def test_controls_have_every_kind_and_form():
    records = read("controls")
    kinds = Counter(r["kind"] for r in records)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 25
    assert 0.4 * len(records) <= kinds["adjective"] + kinds["noun"] <= 0.6 * len(records)
    assert min(Counter(r["form"] for r in records).values()) >= 10
    for r in records:
        assert tuple(r) == (KEYS if r["form"] != "translation" else (*KEYS, "source")), r["id"]
        assert (len(r["identity"].split()) > 1) == (r["kind"] == "phrase"), r["id"]
    assert {pair.meta["kind"] for pair in embedded_pairs(("controls",))} == KINDS


def test_controls_are_independent_sentences():
    records = read("controls")
    assert len({r["reference"] for r in records}) == len(records)
    assert sum(r["stereotype"].startswith("The ") for r in records) <= 0.4 * len(records)


def test_controls_differ_in_one_phrase_of_as_many_words():
    for r in read("controls"):
        one, other = r["stereotype"].split(), r["anti_stereotype"].split()
        assert len(one) == len(other), r["id"]
        assert equally_long(r["stereotype"], r["anti_stereotype"]), r["id"]
        places = [n for n, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
        assert places[-1] - places[0] < len(r["identity"].split()), r["id"]
        for text, word in (("stereotype", "identity"), ("anti_stereotype", "anti_identity")):
            assert r[word].lower() in r[text].lower(), r["id"]
            assert r[word].isascii(), r["id"]  # ROUGE takes an accented letter for the end of a word


def test_letters_differ_from_none_to_eight_in_both_directions():
    gaps = Counter(len(r["anti_identity"]) - len(r["identity"]) for r in read("controls"))
    assert all(gaps[size] and gaps[-size] for size in range(9))
    up, down = (sum(count for gap, count in gaps.items() if sign * gap > 0) for sign in (1, -1))
    assert abs(up - down) <= 0.1 * sum(gaps.values())


def test_no_control_names_a_group():
    named = {
        word.lower()
        for name in ATTRIBUTES
        for group in load_lexicon(name).groups.values()
        for noun in group.nouns
        for word in (*group.adjectives, *group.names, noun.singular, noun.plural)
    }
    named |= {"he", "she", "him", "his", "her", "hers", "woman", "man", "girl", "boy", "yellow", "brown"}
    for r in read("controls"):
        swapped = set(words(r["identity"])) | set(words(r["anti_identity"]))
        assert not swapped & named, r["id"]


def test_pronoun_controls_refer_to_the_same_people_or_thing():
    for r in read("controls"):
        if r["kind"] == "pronoun":
            assert {r["identity"].lower(), r["anti_identity"].lower()} <= PRONOUNS, r["id"]


def test_swapped_words_are_the_same_part_of_speech():
    from assay.models.nlp import parse

    rows = [r for r in read("controls") if r["kind"] != "phrase"]
    tags = []
    for text, word in ((TEXTS[0], "identity"), (TEXTS[1], "anti_identity")):
        parsed = parse([r[text] for r in rows])
        tags.append([
            [token.pos for token in p.tokens if token.text == r[word]]
            for p, r in zip(parsed, rows, strict=True)
        ])  # fmt: skip
    alike = sum(one == other for one, other in zip(*tags, strict=True))
    assert alike >= 0.9 * len(rows)  # the tagger takes couscous for an adjective, terrier for another
