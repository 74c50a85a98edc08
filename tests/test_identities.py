"""Lints of the identity lexicons, the stereotype pairs and the module that expands their templates."""

import hashlib
import json
import re
import tomllib
from collections import Counter
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from rapidfuzz.distance import Levenshtein

from assay.datasets import templates
from assay.datasets.templates import ATTRIBUTES, indefinite, render

DATA = Path(str(files("assay") / "data"))
PAIRS, WORDS = DATA / "stereotypes", DATA / "identities"
SETS = (*ATTRIBUTES, "gender_occupation")
SHARED = Path(__file__).parents[2] / "shared" / "data"
PAPER = ATTRIBUTES[:6]
KEYS = (
    "id", "attribute", "stereotype", "anti_stereotype", "reference", "group", "anti_group", "identity",
    "anti_identity", "template", "construction",
)  # fmt: skip
TEXTS = ("stereotype", "anti_stereotype", "reference")
# SHA-256 of lower-case slurs, so that the words themselves need not stand here.
SLURS = {
    "044eb98b18769b887d5a0258f675e413058b8e9fc9b9786b418bfc6f03f26c98",
    "0ce875d620076b533c6e681abaa0dc5d9a941366bb000a02ec5351f341b96c61",
    "120f6e5b4ea32f65bda68452fcfaaef06b0136e1d0e4a6f60bc3771fa0936dd6",
    "158869a97379229b7681efae9d7f9c9214134e836d649ba53477c0c111414d59",
    "16ea09fc78ca83ca502cbcf2377acdf280bf18f61e259153f0868405eedab5ef",
    "1e02eec4f1095143be282056557034d4e8ab915342c1af508223141d472d2347",
    "268651b3ece980102f18871fde07189372961e056f858ca147a28d004f876b03",
    "3b1e0d7c5dd45583867e897943e37a940a7e7321022317dd3deea01963ee365e",
    "3cc0a581d3bbe605317791e06aa1b4f3348b4e00c4c106c9e6b8210e6933b66c",
    "45cd3e1bb472d8e285a160a95f6409ec5ce86102e9caaaf0b63fc11db04ab559",
    "5b3ae48be122f7ed19b4cc587649f41f9d2565df51cfa332f8e7806f4ebb9032",
    "7122c9a14ba2d20ebb6ebc763eb8433eee8877a22d84ff75e6056a81bf7cd0ee",
    "83dd8e733b1e2c6ec43e98cc2426c9f7e94ee0261a978c57bdc214e764c7f2df",
    "886d51e97ad7931d0d2af8439ca6d9e4887e3c2b469ed247cbd68ceb3649ccde",
    "8f5083e3e5c7dc8932f2bf58212f963f3a44752618c96297f82623f736c52738",
    "92a9bf818e7e00021b6d6959f877f5df11b0f989e486db38f35853ebbd552086",
    "94a877e2ce63725ecae04e85d09f50066b42e2c6a2ab3ce92aba7908e0dbd1bf",
    "98b52c4b6b7d1f48e7477a5ccc10955dd195d0ac5a38c8281bfeb08762634909",
    "c1cabb6f6e431f9c4dea4c3b3264d6fe3829241d674f3496a2dfff6658f0363e",
    "c3de533e9b7fe63b79f648687a30d2861edd92fe7c3cd1f2c485e0a605367624",
    "d284d1cb239ca96dcb2470ec5f725eb93982801d3e695a63f0932a7ca4329e87",
    "d7cc7ecc7ef00cd6b15c5855d61a95ddcb39b4a715aa62ef5ba3a573057f7c85",
    "eef3bd091670c3447022d619c06ad15de96da72b5a66f28bb8b75d1b1c12a05f",
    "f9d0d9b18ae9033a5ea36df19bf279b059e887a9ae785db81117bceaecc95933",
}


def read(name):
    return [json.loads(line) for line in (PAIRS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def toml(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def words(text):
    return re.findall(r"[\w'-]+", text.lower())


def everything():
    return [record for name in (*SETS, "controls") for record in read(name)]


# The expander.


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
def test_indefinite_follows_the_sound(word, article):
    assert indefinite(word) == article


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
        made = [pair.record() for pair in templates.expand_attribute(name)]
        assert made == [r for r in read(name) if not r["template"].startswith("hand-")], name
    assert [pair.record() for pair in templates.expand_occupations()] == read("gender_occupation")
    assert [pair.record() for pair in templates.expand_controls()] == read("controls")


# Counts and shapes.


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


# The pairs.


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


# Grammar.


def test_articles_agree():
    for r in everything():
        for key in TEXTS:
            for article, word in re.findall(r"\b([Aa]n?) ([\w-]+)", r[key]):
                assert article.lower() == indefinite(word), r[key]


def test_verbs_and_pronouns_agree():
    wrong = re.compile(
        r"\b(they|we|you) (is|was|has|does)\b|\b(he|she|it) (are|were|have|do)\b"
        r"|\b(people|men|women|children) (is|was|has|does)\b",
        re.IGNORECASE,
    )
    unreal = re.compile(r"\b(as )?if (he|she|it) were\b", re.IGNORECASE)
    for r in everything():
        for key in TEXTS:
            assert not wrong.search(unreal.sub("", r[key])), r[key]


def test_templates_are_grammatical_by_their_tags():
    from assay.nlp import parse

    made = [r for r in everything() if not r["template"].startswith("hand-")]
    texts = sorted({r[key] for r in made for key in TEXTS[:2]})
    for parsed in parse(texts):
        for token, following in pairwise(parsed.tokens):
            if token.text.lower() in ("a", "an"):
                assert parsed.tokens[token.head].tag not in ("NNS", "NNPS"), parsed.text
            assert not (token.text.lower() == "they" and following.tag == "VBZ"), parsed.text
            assert not (token.tag == "NNS" and following.text in ("is", "was", "has")), parsed.text
        assert any(token.pos in ("VERB", "AUX") for token in parsed.tokens), parsed.text


# Lexicons.


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


# Care.


def test_cards_and_warnings():
    for folder in (PAIRS, WORDS):
        data = {p.name.split(".")[0] for p in folder.iterdir() if p.suffix in (".jsonl", ".toml")}
        assert "Content warning" in (folder / "README.md").read_text(encoding="utf-8")
        for name in data:
            path = folder / f"{name}.card.toml"
            card = toml(path)
            wanted = {"title", "what", "how_written", "language", "size", "licence", "date", "limits"}
            assert wanted <= set(card), name
            assert all(card.values()), name
            assert card["licence"] == "CC BY 4.0"
            if name not in ("controls", "gender_swap"):
                assert next(iter(card)) == "warning", name
                assert card["warning"].startswith("Content warning"), name
    for path in PAIRS.glob("*.templates.toml"):
        if not path.name.startswith("controls"):
            assert path.read_text(encoding="utf-8").startswith("# Content warning"), path.name
    for name in ATTRIBUTES:
        assert (WORDS / f"{name}.toml").read_text(encoding="utf-8").startswith("# Content warning"), name


@pytest.mark.parametrize("name", [*SETS, "controls"])
def test_cards_state_the_size(name):
    assert toml(PAIRS / f"{name}.card.toml")["size"].startswith(f"{len(read(name))} pairs")


def test_no_slurs():
    for path in (*PAIRS.glob("*.jsonl"), *WORDS.glob("*.toml")):
        found = set(words(path.read_text(encoding="utf-8")))
        assert not {hashlib.sha256(word.encode()).hexdigest() for word in found} & SLURS, path.name


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data, which is not part of the project")
def test_nothing_is_taken_from_published_sets():
    published = set()
    for path in (SHARED / "stereotype_pairs").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            published |= {" ".join(words(json.loads(line)[key])) for key in TEXTS}
    for path in (SHARED / "published").rglob("*.csv"):
        published |= {" ".join(words(cell)) for cell in path.read_text(encoding="utf-8").split('"')}
    for path in (SHARED / "published" / "winobias" / "data").glob("*stereotyped*"):
        lines = path.read_text(encoding="utf-8").splitlines()
        published |= {" ".join(words(re.sub(r"^\d+|[\[\]]", "", line))) for line in lines}
    ours = {" ".join(words(r[key])) for r in everything() for key in TEXTS}
    assert len(published) > 3000
    assert not ours & published


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data, which is not part of the project")
def test_no_frame_is_winobias_s():
    occupations = sorted((o.name.lower() for o in templates.load_occupations()), key=len, reverse=True)
    masks = re.compile(r"\b(?:the |a |an )?(?:" + "|".join(map(re.escape, occupations)) + r")\b")
    pronoun = re.compile(r"\b(he|she|him|her|his)\b")

    def frame(text):
        return " ".join(words(pronoun.sub("P", masks.sub("O", text.lower()))))

    published = {
        frame(re.sub(r"^\d+|[\[\]]", "", line))
        for path in (SHARED / "published" / "winobias" / "data").glob("*stereotyped*")
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    ours = {frame(r["stereotype"]) for r in read("gender_occupation")}
    assert len(published) > 500
    assert not ours & published
