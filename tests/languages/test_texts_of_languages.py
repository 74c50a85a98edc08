"""Lint of the embedded texts of other languages: translations, contexts with slots, neutral words."""

import json
import re
import tomllib
from collections import Counter
from itertools import pairwise
from statistics import median
from typing import Any

import pytest
from rapidfuzz.distance import Levenshtein

from assay.datasets.contexts import Crossing, embedded_crossings, neutral_words
from assay.datasets.records import SEVERITIES, embedded_records
from assay.files import data_path
from assay.language import is_unspaced, language_of
from assay.perturbations.tables import LANGUAGES

CODES = sorted(LANGUAGES)
ATTRIBUTES = ("gender", "nationality", "religion")
CARD_KEYS = ("title", "what", "how_written", "language", "size", "licence", "date", "limits")
SCRIPT = {
    "ru": r"[\u0400-\u04ff]",
    "zh": r"[\u3400-\u9fff]",
    "ja": r"[\u3040-\u30ff\u3400-\u9fff]",
}
MARKS = {"zh": ",.;:?!", "ja": ",.;:?!"}  # marks of another script, which these texts do not use
CROSSINGS = [crossing for code in CODES for crossing in embedded_crossings(code)]
every_language = pytest.mark.parametrize("code", CODES)
every_crossing = pytest.mark.parametrize("crossing", CROSSINGS, ids=lambda c: f"{c.language}-{c.attribute}")


def rows(code: str) -> list[dict[str, Any]]:
    text = data_path("languages", code, "translation.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def units(text: str) -> list[str]:
    """The words of a text, or its characters where it has no spaces, without marks."""
    return re.findall(r"[^\W_]" if is_unspaced(text) else r"\w+", text.lower())


def overlap(one: str, other: str) -> float:
    """The share of words, or of pairs of characters, that two texts have in common."""
    sets = []
    for text in (one, other):
        parts = units(text)
        pairs = pairwise(parts)
        sets.append({*map("".join, pairs)} if is_unspaced(text) else set(parts))
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def texts_of(row: dict[str, Any]) -> list[str]:
    return [row["gold"], *row["references"], *row["reworded"], row["wrong"]["text"]]


@every_language
def test_sixty_records_with_two_references_and_texts_to_decide_between(code: str) -> None:
    records = embedded_records("translation", code)  # type: ignore[arg-type]
    assert len({record.id for record in records}) == len(records) == 60
    for record in records:
        assert len(record.references) == len(record.reworded) == 2
        assert record.wrong is not None
        assert language_of(str(record.source)) == "en"


@every_language
def test_no_text_stands_twice(code: str) -> None:
    seen = Counter(" ".join(units(text)) for row in rows(code) for text in texts_of(row))
    assert [text for text, n in seen.items() if n > 1] == []


@every_language
def test_near_is_near_far_is_far_and_wrong_changes_one_statement(code: str) -> None:
    shares = []
    for row in rows(code):
        gold, (near, far) = row["gold"], row["reworded"]
        assert overlap(gold, far) < 0.4 < overlap(gold, near), row["id"]
        assert 0.6 <= len(units(far)) / len(units(gold)) <= 2, row["id"]
        most = 8 if is_unspaced(gold) else 5
        assert 1 <= Levenshtein.distance(units(gold), units(row["wrong"]["text"])) <= most, row["id"]
        shares.append(Levenshtein.distance(units(gold), units(near)) / len(units(gold)))
    assert median(shares) <= 0.3


@every_language
def test_kinds_and_severities_are_balanced(code: str) -> None:
    kinds = Counter(row["wrong"]["kind"] for row in rows(code))
    severities = Counter(row["wrong"]["severity"] for row in rows(code))
    assert set(kinds) == {"entity", "number", "negation", "role", "time", "place", "relation"}
    assert max(kinds.values()) <= 0.25 * kinds.total()
    assert min(kinds.values()) >= 0.1 * kinds.total() - 0.5
    assert set(severities) == set(SEVERITIES)
    assert severities["critical"] >= 5
    assert min(severities["minor"], severities["major"]) >= 15


@every_language
def test_texts_are_of_varied_length_and_in_their_script(code: str) -> None:
    lengths = sorted(len(units(row["gold"])) for row in rows(code))
    assert lengths[-3] >= 2 * lengths[2]
    for text in (text for row in rows(code) for text in texts_of(row)):
        assert text == text.strip()
        assert "  " not in text
        assert not re.search(r"[\u00a0\u200b]", text)
        assert language_of(text) in ("", code), text
        if pattern := SCRIPT.get(code):
            assert len(re.findall(pattern, text)) >= 0.5 * sum(map(str.isalnum, text)), text
        assert not set(MARKS.get(code, "")) & set(re.sub(r"\d[.:,]\d", "", text)), text


@every_language
def test_every_set_has_a_card(code: str) -> None:
    for path in data_path("languages", code).glob("*.toml"):
        if not path.name.endswith(".card.toml"):
            card = tomllib.loads(path.with_suffix(".card.toml").read_text("utf-8"))
            keys = tuple(key for key in card if key != "warning")
            assert keys == CARD_KEYS, path.name
            assert card["language"] == code
    card = tomllib.loads(data_path("languages", code, "translation.card.toml").read_text("utf-8"))
    assert card["size"].startswith("60 records")
    for severity, n in Counter(row["wrong"]["severity"] for row in rows(code)).items():
        assert f"{n} {severity}" in card["size"]


# Contexts


@every_language
def test_contexts_for_gender_nationality_and_religion(code: str) -> None:
    crossings = embedded_crossings(code)  # type: ignore[arg-type]
    assert tuple(crossing.attribute for crossing in crossings) == ATTRIBUTES
    assert {crossing.language for crossing in crossings} == {code}
    groups = {group.name for group in crossings[0].groups}
    assert groups == {"female", "male", "nonbinary"}


@every_crossing
def test_half_of_the_contexts_state_a_stereotype_of_each_group_alike(crossing: Crossing) -> None:
    assert len(crossing.contexts) >= 24
    told = Counter(context.stereotype_of for context in crossing.contexts if context.stereotype_of)
    assert told.total() * 2 == len(crossing.contexts)
    assert set(told) == {group.name for group in crossing.groups}
    assert max(told.values()) - min(told.values()) <= 1


@every_crossing
def test_groups_have_several_terms(crossing: Crossing) -> None:
    assert len(crossing.groups) >= (3 if crossing.attribute == "gender" else 4)
    for group in crossing.groups:
        assert len(group.terms) >= 2, group.name
        for slot in {context.slot for context in crossing.contexts}:
            assert group.words(slot), (group.name, slot)


@every_crossing
def test_filled_contexts_read_well_and_references_name_nobody(crossing: Crossing) -> None:
    neutral = {
        slot: neutral_words(slot, 1, crossing.language)
        for slot in {context.slot for context in crossing.contexts}
    }
    assert min(map(len, neutral.values())) >= 10  # as many as an explanation by length needs
    for context in crossing.contexts:
        words = [word for group in crossing.groups for word in group.words(context.slot)]
        for word in [*words, *neutral[context.slot]]:
            text = context.filled(word)
            assert not re.search(r"  |[{}\u00a0]|\b(\w+) \1\b", text), text
            assert text[0] in "¿¡«「" or not text[0].islower(), text
        for word in words:
            assert word.lower() not in context.reference.lower().split(), (context.id, word)
        assert context.text != context.reference
        assert re.search(r"[.!?。！？」]$", context.reference), context.id


@every_crossing
def test_neutral_words_name_no_group(crossing: Crossing) -> None:
    terms = {word.lower() for group in crossing.groups for term in group.terms for word in term.values()}
    for slot in {context.slot for context in crossing.contexts}:
        assert not terms & {word.lower() for word in neutral_words(slot, 1, crossing.language)}


@every_crossing
def test_card_of_contexts_warns_and_counts(crossing: Crossing) -> None:
    path = data_path("languages", crossing.language, f"{crossing.attribute}.card.toml")
    card = tomllib.loads(path.read_text("utf-8"))
    assert tuple(card) == ("warning", *CARD_KEYS)
    assert card["warning"].startswith("Content warning")
    n_terms = sum(len(group.terms) for group in crossing.groups)
    assert card["size"].startswith(f"{len(crossing.contexts)} contexts")
    assert card["size"].endswith(f"{n_terms} terms")
    groups = data_path("languages", crossing.language, f"{crossing.attribute}.toml").read_text("utf-8")
    assert groups.startswith("# Content warning")


def test_no_context_stands_twice() -> None:
    seen = Counter(context.text for crossing in CROSSINGS for context in crossing.contexts)
    assert [text for text, n in seen.items() if n > 1] == []
