"""Lint of the word data: association tests, caption concepts and word resources."""

import json
import re
import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from assay.datasets.association_sets import (
    KEYS,
    AssociationTest,
    WordSet,
    _varying_part,
    read_published,
    sentence_tests,
    unbleached_tests,
    word_tests,
)
from assay.errors import DataError

DATA = files("assay.data")
SHARED = Path(__file__).parents[2] / "shared" / "data"
PUBLISHED = SHARED / "association"
CARD_KEYS = ("title", "what", "how_written", "language", "size", "licence", "date", "limits")
POS = {"adj", "verb", "noun", "adv"}
REGIONS = {
    "western_europe", "eastern_europe", "north_america", "latin_america", "middle_east_north_africa",
    "sub_saharan_africa", "south_asia", "east_asia", "southeast_asia", "oceania",
}  # fmt: skip
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason="the published association tests are absent"
)


@cache
def table(name: str) -> list[dict[str, str]]:
    head, *lines = (DATA / "words" / f"{name}.tsv").read_text("utf-8").splitlines()
    return [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]


@cache
def lists(name: str, folder: str = "words") -> dict[str, Any]:
    return tomllib.loads((DATA / folder / f"{name}.toml").read_text("utf-8"))


@cache
def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / "words" / f"{name}.jsonl").read_text("utf-8").splitlines()]


def pairs(name: str) -> list[tuple[str, str, str]]:
    """(pos, word, other word) of a table of pairs."""
    return [(row["pos"], row["word"], row[name.removesuffix("s")]) for row in table(name)]


def sets(test: AssociationTest) -> dict[str, WordSet]:
    return {key: getattr(test, key) for key in KEYS}


def texts(tests: dict[str, AssociationTest]) -> list[tuple[str, str]]:
    return list(
        dict.fromkeys(item for test in tests.values() for part in sets(test).values() for item in part.items)
    )


# --- cards ---


def data_files() -> list[str]:
    found = [
        f"{folder}/{path.name.split('.')[0]}"
        for folder in ("words", "caption_concepts")
        for path in (DATA / folder).iterdir()
        if not path.name.endswith(".card.toml")
    ]
    return [*sorted(found), "association/association"]


@pytest.mark.parametrize("name", data_files())
def test_every_set_has_a_full_card(name: str) -> None:
    card = tomllib.loads((DATA / f"{name}.card.toml").read_text("utf-8"))
    assert tuple(card) == CARD_KEYS
    assert all(value.strip() for value in card.values())
    assert card["licence"] == "CC BY 4.0"


@pytest.mark.parametrize(
    "name",
    [
        "antonyms",
        "synonyms",
        "siblings",
        "contractions",
        "first_names",
        "surnames",
        "places",
        "generic_replies",
    ],
)
def test_cards_tell_the_true_size(name: str) -> None:
    card = tomllib.loads((DATA / "words" / f"{name}.card.toml").read_text("utf-8"))
    rows = lines(name) if name in {"siblings", "generic_replies"} else table(name)
    assert card["size"].split()[0] == str(len(rows))


# --- word resources ---


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


# --- names ---


def test_first_names_are_balanced() -> None:
    rows = table("first_names")
    assert len(rows) >= 300
    assert len({row["name"] for row in rows}) == len(rows)
    assert {row["region"] for row in rows} == REGIONS
    for region in REGIONS:
        counts = Counter(row["gender"] for row in rows if row["region"] == region)
        assert set(counts) == {"female", "male", "unisex"}
        assert min(counts.values()) >= 0.8 * max(counts.values()), region
        assert counts["female"] == counts["male"]


@pytest.mark.parametrize(("name", "fewest"), [("surnames", 100), ("places", 150)])
def test_surnames_and_places_are_balanced_by_region(name: str, fewest: int) -> None:
    rows = table(name)
    assert len(rows) >= fewest
    assert len({row["name"] for row in rows}) == len(rows)
    counts = Counter(row["region"] for row in rows)
    assert set(counts) == REGIONS
    assert min(counts.values()) >= 0.8 * max(counts.values())


@pytest.mark.parametrize("name", ["first_names", "surnames", "places"])
def test_names_are_capitalised(name: str) -> None:
    assert [
        row for row in table(name) if not row["name"][0].isupper() or row["name"] != row["name"].strip()
    ] == []


# --- caption concepts ---

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


# --- association tests ---


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
    assert published == word_tests()


def test_every_class_has_as_many_frames() -> None:
    frames = lists("templates", "association")
    classes = lists("word_classes", "association")
    assert set(frames) == set(classes) - {"article"}
    assert {len(listed) for listed in frames.values()} == {6}
    assert all(len(set(listed)) == 6 for listed in frames.values())
    counts = Counter(word for name, words in classes.items() if name != "article" for word in words)
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
    from assay.nlp import parse

    classes = lists("word_classes", "association")
    of_word = {word: name for name, words in classes.items() if name != "article" for word in words}
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


# --- reading the published form ---


@needs_published
def test_published_sentences_know_their_word() -> None:
    tests = {test.name: test for test in read_published(PUBLISHED)}
    assert len(tests) == 46
    assert Counter(test.level for test in tests.values()) == {"word": 19, "sentence": 19, "unbleached": 8}
    for name, test in tests.items():
        if test.level == "sentence":
            for key, part in sets(test).items():
                words = {word for word, _ in sets(tests[name.removeprefix("sent-")])[key].items}
                missing = words - {unit for _, unit in part.items}
                assert {unit for _, unit in part.items} <= words
                assert missing == ({"sick"} if (name, key) == ("sent-weat9", "targ2") else set())
        if test.level == "unbleached":
            assert len({unit for _, unit in test.targ1.items}) == 8
    sentences = dict(tests["sent-weat1"].targ1.items)
    assert sentences["Poppies are things."] == "poppy"


@needs_published
def test_varying_part_finds_the_names_alone() -> None:
    test = next(test for test in read_published(PUBLISHED) if test.name == "sent-weat6")
    listed = [text for text, _ in test.targ1.items]
    assert _varying_part(listed) == [unit for _, unit in test.targ1.items]


def test_units_without_the_word_file(tmp_path: Path) -> None:
    entry = {"category": "x", "examples": ["This is Ada.", "Ada is here.", "This is Bob.", "Bob is here."]}
    path = tmp_path / "sent-mine.json"
    path.write_text(json.dumps(dict.fromkeys(KEYS, entry)), "utf-8")
    (test,) = read_published(path)
    assert (test.name, test.label, test.level) == ("sent-mine", "mine", "sentence")
    assert [unit for _, unit in test.targ1.items] == ["Ada", "Ada", "Bob", "Bob"]


def test_units_with_the_word_file(tmp_path: Path) -> None:
    words = {"category": "x", "examples": ["rose", "rose hip", "children"]}
    sentences = {
        "category": "x",
        "examples": ["Roses are things.", "A Rose hip is here.", "This is a child."],
    }
    (tmp_path / "mine.json").write_text(json.dumps(dict.fromkeys(KEYS, words)), "utf-8")
    (tmp_path / "sent-mine.json").write_text(json.dumps(dict.fromkeys(KEYS, sentences)), "utf-8")
    word, sentence = read_published(tmp_path)
    assert word.level == "word"
    assert [unit for _, unit in sentence.attr2.items] == ["rose", "rose hip", "children"]


GOOD = {key: {"category": "x", "examples": ["a", "b"]} for key in KEYS}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        (json.dumps({key: GOOD[key] for key in KEYS[:3]}), "'attr2' is missing"),
        (json.dumps({**GOOD, "targ2": {"examples": ["a"]}}), "'targ2.category'"),
        (json.dumps({**GOOD, "targ1": {"category": "x"}}), "'targ1.examples' is missing"),
        (json.dumps({**GOOD, "attr1": {"category": "x", "examples": []}}), "'attr1.examples' is empty"),
        (json.dumps({**GOOD, "attr1": {"category": "x", "examples": [" "]}}), "'attr1.examples' is empty"),
    ],
)
def test_errors_name_file_and_key(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=re.escape(part)) as caught:
        read_published(path)
    assert "broken.json" in str(caught.value)


def test_errors_of_paths(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_published(tmp_path / "absent.json")
    with pytest.raises(DataError, match=r"no \.json file"):
        read_published(tmp_path)
    with pytest.raises(DataError, match="templates_per_word is 0"):
        sentence_tests(0)
