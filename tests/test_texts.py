"""Lint of the texts that decisions are asked on: variants of the corpora, and crossed contexts."""

import json
import re
import runpy
import tomllib
from collections import Counter, defaultdict
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from assay.datasets.contexts import Crossing, embedded_crossings, neutral_words
from assay.datasets.records import SEVERITIES
from assay.files import data_path

CORPORA = runpy.run_path(str(Path(__file__).with_name("test_corpora.py")))
CARD_KEYS, wrong_articles = CORPORA["CARD_KEYS"], CORPORA["wrong_articles"]

VARIANTS = files("assay.data") / "variants"
TASKS = (
    "captions",
    "data_to_text",
    "dialogue",
    "open_ended",
    "question_generation",
    "summarisation",
    "translation",
)
WITH_REFERENCES = tuple(name for name in TASKS if name != "open_ended")
KINDS = (
    "entity",
    "number",
    "negation",
    "role",
    "relation",
    "time",
    "place",
    "hallucination",
    "omission",
)
FORMS = ("caption", "news", "summary", "dialogue", "review")
CHANGED_WORDS = 3  # of a near-wrong text at most
every_task = pytest.mark.parametrize("name", TASKS)
every_task_with_references = pytest.mark.parametrize("name", WITH_REFERENCES)
every_crossing = pytest.mark.parametrize("crossing", embedded_crossings(), ids=lambda c: c.attribute)


@cache
def golds(name: str) -> dict[str, dict[str, Any]]:
    lines = (VARIANTS.parent / "corpora" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines)}


@cache
def variants(name: str) -> tuple[dict[str, Any], ...]:
    return tuple(map(json.loads, (VARIANTS / f"{name}.jsonl").read_text("utf-8").splitlines()))


def words(text: str) -> list[str]:
    """Words in lower case, with their signs, hyphens and decimal points but without punctuation."""
    return [word for token in text.lower().split() if (word := token.strip(".,;:!?\"'()"))]


def overlap(one: str, other: str) -> float:
    """Shared words of all words of two texts."""
    first, second = (set(re.findall(r"[\w']+", text.lower())) for text in (one, other))
    return len(first & second) / len(first | second)


def changed(one: str, other: str) -> int:
    """How many words must be replaced, added or left out to come from one text to the other."""
    first, second = words(one), words(other)
    row = list(range(len(second) + 1))
    for n, word in enumerate(first, 1):
        above, row = row, [n]
        for place, other_word in enumerate(second):
            row.append(min(above[place] + (word != other_word), above[place + 1] + 1, row[place] + 1))
    return row[-1]


def texts_of(row: dict[str, Any]) -> list[str]:
    found = [row["near"], row["far"]]
    return [*found, row["wrong"]["text"], row["better"], row["worse"]] if "wrong" in row else found


def test_the_measures_themselves() -> None:
    assert changed("It boils at -183 degrees.", "It boils at 183 degrees!") == 1
    assert changed("one two three four", "two three five") == 2
    assert overlap("The cat sat.", "A cat sat") == 0.5


@every_task
def test_nearly_every_record_has_variants(name: str) -> None:
    known = [row["id"] for row in variants(name)]
    assert len(set(known)) == len(known)
    assert set(known) <= golds(name).keys()
    assert len(known) >= 0.95 * len(golds(name))
    complete = {"id", "near", "far", "wrong", "better", "worse", "why"}
    for row in variants(name):
        assert set(row) == ({"id", "near", "far"} if name == "open_ended" else complete), row["id"]


@every_task
def test_near_is_near_and_far_is_far(name: str) -> None:
    for row in variants(name):
        gold = golds(name)[row["id"]]["gold"]
        assert overlap(gold, row["far"]) < 0.5, row["id"]
        assert overlap(gold, row["near"]) > overlap(gold, row["far"]), row["id"]
        assert 0.6 <= len(words(row["far"])) / len(words(gold)) <= 2, row["id"]
    shares = [changed(golds(name)[row["id"]]["gold"], row["near"]) for row in variants(name)]
    lengths = [len(words(golds(name)[row["id"]]["gold"])) for row in variants(name)]
    assert median(n / length for n, length in zip(shares, lengths, strict=True)) <= 0.3


@every_task_with_references
def test_wrong_texts_change_few_words(name: str) -> None:
    for row in variants(name):
        n = changed(golds(name)[row["id"]]["gold"], row["wrong"]["text"])
        assert 1 <= n <= CHANGED_WORDS, row["id"]
        assert row["wrong"].keys() == {"text", "kind", "severity"}, row["id"]


@every_task_with_references
def test_kinds_and_severities(name: str) -> None:
    kinds = Counter(row["wrong"]["kind"] for row in variants(name))
    severities = Counter(row["wrong"]["severity"] for row in variants(name))
    assert set(kinds) == set(KINDS)
    assert max(kinds.values()) <= 0.25 * kinds.total()
    assert set(severities) <= set(SEVERITIES)
    assert min(severities["minor"], severities["major"]) >= 0.14 * severities.total()


def test_critical_errors_are_many_enough_to_ask_about() -> None:
    severities = Counter(row["wrong"]["severity"] for name in WITH_REFERENCES for row in variants(name))
    assert severities["critical"] >= 30


@every_task
def test_no_text_stands_twice(name: str) -> None:
    seen = Counter(" ".join(words(text)) for row in variants(name) for text in texts_of(row))
    for record in golds(name).values():
        seen.update({" ".join(words(text)) for text in (record["gold"], *record["references"])})
    assert [text for text, n in seen.items() if n > 1] == []


@every_task
def test_typography_of_sound_texts(name: str) -> None:
    for row in variants(name):
        sound = [row["near"], row["far"], *([row["wrong"]["text"]] if "wrong" in row else [])]
        for text in texts_of(row):
            assert text == text.strip(), row["id"]
            assert not re.search(r"  |[“”‘’`\u00a0\u200b]", text), row["id"]
        for text in sound:
            assert wrong_articles(text) == [], (row["id"], text)
            assert not re.search(r"\s[,.;!?]", text), (row["id"], text)


@every_task_with_references
def test_neither_length_nor_overlap_gives_the_better_candidate_away(name: str) -> None:
    """A metric that counts words must not be able to tell the better text by its length alone."""
    rows = variants(name)
    lengths = [(len(words(row["better"])), len(words(row["worse"]))) for row in rows]
    longer = sum((better > worse) + (better == worse) / 2 for better, worse in lengths)
    assert 0.4 <= longer / len(rows) <= 0.6
    nearer = 0.0
    for row in rows:
        gold = golds(name)[row["id"]]["gold"]
        better, worse = overlap(gold, row["better"]), overlap(gold, row["worse"])
        nearer += (better > worse) + (better == worse) / 2
    assert 0.4 <= nearer / len(rows) <= 0.75


@every_task_with_references
def test_reasons_are_one_sentence(name: str) -> None:
    for row in variants(name):
        assert re.fullmatch(r"[A-Z].{8,160}\.", row["why"]), row["id"]


@every_task
def test_card_of_variants(name: str) -> None:
    card = tomllib.loads((VARIANTS / f"{name}.card.toml").read_text("utf-8"))
    assert tuple(card) == CARD_KEYS
    assert card["size"].startswith(f"{len(variants(name))} of {len(golds(name))} records")
    if name in WITH_REFERENCES:
        for severity, n in Counter(row["wrong"]["severity"] for row in variants(name)).items():
            assert f"{n} {severity}" in card["size"]


# Contexts


def attributes() -> list[Crossing]:
    return [c for c in embedded_crossings() if not c.attribute.startswith("intersection")]


def card_of(crossing: Crossing) -> dict[str, Any]:
    return tomllib.loads(
        Path(str(data_path("contexts", f"{crossing.attribute}.card.toml"))).read_text("utf-8")
    )


def test_all_attributes_have_contexts() -> None:
    wanted = {
        "age",
        "disability",
        "gender",
        "nationality",
        "physical-appearance",
        "race",
        "religion",
        "sexual-orientation",
        "socioeconomic-status",
    }
    assert wanted <= {crossing.attribute for crossing in attributes()}
    assert min(len(crossing.contexts) for crossing in attributes()) >= 120
    crossed = [c for c in embedded_crossings() if c not in attributes()]
    assert sum(len(crossing.contexts) for crossing in crossed) >= 120


@every_crossing
def test_contexts_are_of_all_forms_and_half_of_them_stereotypes(crossing: Crossing) -> None:
    forms = Counter(context.form for context in crossing.contexts)
    assert set(forms) == set(FORMS)
    assert min(forms.values()) >= 0.15 * len(crossing.contexts)
    told = [context.stereotype_of for context in crossing.contexts if context.stereotype_of]
    assert 0.4 <= len(told) / len(crossing.contexts) <= 0.6
    assert set(told) == {group.name for group in crossing.groups}
    ids = [context.id for context in crossing.contexts]
    assert len(set(ids)) == len(ids)


@every_crossing
def test_groups_have_four_terms_or_the_card_says_why_not(crossing: Crossing) -> None:
    limits = card_of(crossing)["limits"].lower()
    for group in crossing.groups:
        if len(group.terms) < 4:
            named = {
                group.name.split("-")[0],
                *(word.lower() for term in group.terms for word in term.values()),
            }
            assert any(word in limits for word in named), group.name


@every_crossing
def test_terms_of_one_form_have_as_many_words(crossing: Crossing) -> None:
    lengths: dict[str, set[int]] = defaultdict(set)
    for group in crossing.groups:
        for term in group.terms:
            for form, word in term.items():
                lengths[form].add(len(word.split()))
    assert all(len(found) == 1 for found in lengths.values())
    every = [(form, word) for group in crossing.groups for term in group.terms for form, word in term.items()]
    pronouns = crossing.attribute == "pronouns"  # `her` is an object and a possessive
    assert pronouns or len(set(every)) == len(every)


@every_crossing
def test_filled_contexts_are_grammatical_and_references_name_nobody(crossing: Crossing) -> None:
    for context in crossing.contexts:
        for group in crossing.groups:
            for word in group.words(context.slot):
                text = context.filled(word)
                assert wrong_articles(text) == [], context.id
                assert re.match(r"[\"'(]?[A-Z0-9]", text), context.id
                assert not re.search(r"  |[“”‘’`\u00a0]|\s[,.;!?]|\b(\w+) \1\b(?<!\bhad had)", text), (
                    context.id
                )
                named = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
                assert not named.search(context.reference), context.id
        assert context.text != context.reference
        assert re.search(r"[.!?][\"')]*$", context.reference), context.id


def test_no_context_stands_twice() -> None:
    """Neither in two sets of contexts nor among the pairs."""
    seen: dict[str, str] = {}
    for crossing in embedded_crossings():
        for context in crossing.contexts:
            bare = " ".join(words(context.text))
            assert bare not in seen, (context.id, seen.get(bare))
            seen[bare] = context.id
    pairs = {
        " ".join(words(row[side]))
        for path in data_path("stereotypes").glob("*.jsonl")
        for row in map(json.loads, path.read_text("utf-8").splitlines())
        for side in ("stereotype", "anti_stereotype", "reference")
    }
    filled = {
        " ".join(words(context.filled(word)))
        for crossing in embedded_crossings()
        for context in crossing.contexts
        for group in crossing.groups
        for word in group.words(context.slot)
    }
    assert filled & pairs == set()


@every_crossing
def test_card_of_contexts(crossing: Crossing) -> None:
    card = card_of(crossing)
    assert tuple(card) == ("warning", *CARD_KEYS)
    assert card["warning"].startswith("Content warning")
    assert card["size"].startswith(f"{len(crossing.contexts)} contexts")
    told = sum(context.stereotype_of is not None for context in crossing.contexts)
    assert f"{told} with a stereotype" in card["size"]
    n_terms = sum(len(group.terms) for group in crossing.groups)
    assert re.search(rf"\b{n_terms} (terms|names)", card["size"])


@pytest.mark.parametrize("slot", ["adjective", "noun", "plural"])
def test_sixty_neutral_words(slot: str) -> None:
    neutral = neutral_words(slot)
    assert len(set(neutral)) == len(neutral) == 60
    assert all(" " not in word for word in neutral)
    assert {len(word) for word in neutral} >= set(range(4, 15))  # no length but neutral words have it
    ranks = data_path("words", "frequent.txt").read_text("utf-8").split("\n")
    frequent, middling = set(ranks[:5000]), set(ranks[5000:20000])
    shares = [sum(word.lower() in kind for word in neutral) for kind in (frequent, middling)]
    assert min(*shares, 60 - sum(shares)) >= 12


def test_pairs_of_neutral_words() -> None:
    for slot in ("noun", "plural"):
        neutral = neutral_words(slot, 2)
        assert len(set(neutral)) == len(neutral) == 30
        assert {len(word.split()) for word in neutral} == {2}


def test_neutral_words_name_no_group() -> None:
    slots = [("adjective", 1), ("noun", 1), ("plural", 1), ("name", 1), ("noun", 2), ("plural", 2)]
    neutral = {word for slot, n in slots for pair in neutral_words(slot, n) for word in pair.lower().split()}
    terms = {
        word
        for crossing in embedded_crossings()
        for group in crossing.groups
        for term in group.terms
        for value in term.values()
        for word in value.lower().split()
    }
    assert neutral & terms == set()


def test_neutral_words_that_follow_one_another_differ_in_length() -> None:
    """A context takes two that follow one another, so that one of them is as long as any group's word."""
    for slot in ("adjective", "noun", "plural"):
        neutral = neutral_words(slot)
        assert sum(abs(len(a) - len(b)) >= 3 for a, b in pairwise(neutral)) >= 45


def test_the_page_of_texts_is_that_of_the_data() -> None:
    docs = Path(__file__).parents[1] / "docs"
    assert runpy.run_path(str(docs / "make_texts.py"))["page"]() == (docs / "texts.md").read_text("utf-8")
