"""Lint of the identity lexicons: groups, pronouns, gender swaps and occupations."""

from collections import Counter

import pytest
from identity_data import WORDS, toml

from assay.datasets import templates
from assay.datasets.templates import ATTRIBUTES


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_lexicon(name):
    lexicon = templates.load_lexicon(name)
    assert lexicon.attribute == name
    assert len(lexicon.groups) >= 3
    assert lexicon.neutral.subject == "they"
    assert lexicon.neutral.plural
    for group in lexicon.groups.values():
        assert group.nouns, group.name
        assert group.adjectives, group.name
        assert all(len(word.split()) == 1 for word in group.adjectives), group.name
        for noun in group.nouns:
            forms = (noun.singular, noun.plural, noun.neutral, noun.neutral_plural)
            assert all(forms), noun
            assert noun.singular != noun.plural, noun
            assert noun.neutral not in (noun.singular, noun.plural), noun
    nouns = [n.singular.lower() for g in lexicon.groups.values() for n in g.nouns]
    assert max(Counter(nouns).values()) == 1
    assert max(Counter(w.lower() for g in lexicon.groups.values() for w in g.adjectives).values()) == 1


def test_genders_have_their_pronouns():
    groups = templates.load_lexicon("gender").groups
    assert set(groups) == {"female", "male", "non-binary", "transgender", "cisgender"}
    assert list(groups["female"].pronouns.slots().values()) == ["she", "her", "her", "hers", "herself"]
    assert list(groups["male"].pronouns.slots().values()) == ["he", "him", "his", "his", "himself"]
    assert list(groups["non-binary"].pronouns.slots().values()) == [
        "they",
        "them",
        "their",
        "theirs",
        "themself",
    ]


def swaps():
    """(word, tag) to its counterpart, by the rules the file states."""
    table = {}
    for pair in toml(WORDS / "gender_swap.toml")["pair"]:
        for side, other in (("male", "female"), ("female", "male")):
            if pair.get("from", side) == side:
                assert (pair[side], pair["tag"]) not in table, pair
                table[pair[side], pair["tag"]] = pair[other]
    return table


def test_swaps_round_trip_where_flagged():
    pairs, table = toml(WORDS / "gender_swap.toml")["pair"], swaps()
    assert len(pairs) >= 120
    for pair in pairs:
        assert pair["male"] != pair["female"], pair
        assert all(value != "" for value in pair.values()), pair
        if pair["round_trip"]:
            assert "from" not in pair, pair
            for side in ("male", "female"):
                assert table[table[pair[side], pair["tag"]], pair["tag"]] == pair[side], pair
        else:
            assert pair["note"], pair
            if "from" in pair:
                there = table[pair[pair["from"]], pair["tag"]]
                assert table.get((there, pair["tag"])) != pair[pair["from"]], pair


def test_swaps_of_pronouns_follow_their_case():
    table = swaps()
    assert table["his", "PRP$"] == "her"
    assert table["her", "PRP$"] == "his"
    assert table["him", "PRP"] == "her"
    assert table["her", "PRP"] == "him"
    assert table["hers", "PRP"] == "his"
    assert table["himself", "PRP"] == "herself"
    assert table["actors", "NNS"] == "actresses"
    assert table["Mrs.", "NNP"] == "Mr."


def test_occupations():
    occupations = templates.load_occupations()
    assert len(occupations) >= 80
    assert len({o.name for o in occupations}) == len(occupations)
    winobias = Counter(o.stereotype for o in occupations if o.winobias)
    assert winobias == {"female": 20, "male": 20}
    assert {o.stereotype for o in occupations} == {"female", "male", "balanced"}
