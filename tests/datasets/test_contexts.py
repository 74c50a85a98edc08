"""Contexts with a slot and the groups whose terms fill it: the embedded sets, and a user's own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.audits.stereotype.audit import Stereotype
from assay.audits.stereotype.crossed import crossed_cases
from assay.datasets.contexts import (
    FORMS,
    Context,
    Crossing,
    embedded_crossings,
    holds_contexts,
    neutral_words,
    read_crossing,
)
from assay.datasets.kinds import describe_data
from assay.errors import DataError

GROUPS = """
attribute = "age"
[[group]]
name = "old"
people = "old people"
terms = [{ adjective = "old" }, { adjective = "elderly", noun = "senior" }]
[[group]]
name = "young"
people = "young people"
terms = [{ adjective = "young" }, { noun = "youth" }]
"""
ROW = {"id": "a1", "text": "The {term} clerk said hello.", "reference": "The clerk said hello."}
ROW |= {"slot": "adjective"}


def written(folder: Path, groups: str = GROUPS, *rows: dict[str, Any]) -> Path:
    """A file of contexts with its groups beside it."""
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows or (ROW,)), "utf-8")
    path.with_suffix(".toml").write_text(groups, "utf-8")
    return path


def test_a_users_own_contexts_are_read(tmp_path: Path) -> None:
    noun = ROW | {"id": "a2", "text": "{Term} of the year.", "slot": "noun", "stereotype_of": "old"}
    crossing = read_crossing(written(tmp_path, GROUPS, ROW, noun))
    assert crossing.attribute == crossing.label == "age"
    old, young = crossing.groups
    assert old.words("adjective") == ["old", "elderly"]
    assert young.words("noun") == ["youth"]
    first, second = crossing.contexts
    assert first.filled("old") == "The old clerk said hello."
    assert second.filled("youth") == "Youth of the year."
    assert second.stereotype_of == "old"
    assert crossing.group("young") is young


REFUSED_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "no slot in the text": ({"text": "The clerk."}, r"line 2: 'text' must have one slot, written \{term\}"),
    "two slots": ({"text": "{term} and {term}"}, "line 2: 'text' must have one slot"),
    "an article": ({"text": "A {term} clerk."}, "line 2: 'text': the slot follows 'a' or 'an'"),
    "an unknown form": ({"slot": "adjectiv"}, "line 2: unknown slot 'adjectiv'; did you mean adjective"),
    "no form": ({"slot": None}, "line 2: column 'slot' must be text"),
    "no reference": ({"reference": " "}, "line 2: 'reference' is empty"),
    "one group has such a term": ({"slot": "plural"}, "line 2: fewer than two groups have a term of the form"),
    "nobody's stereotype": ({"stereotype_of": "yung"}, "line 2: stereotype_of 'yung'.*did you mean young"),
    "an id twice": ({"id": "a1"}, "line 2: 'id' 'a1' is that of line 1 already"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), REFUSED_ROWS.values(), ids=REFUSED_ROWS)
def test_a_wrong_context_is_refused_with_line_and_field(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        read_crossing(written(tmp_path, GROUPS, ROW, ROW | {"id": "a2"} | change))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    row = {name: value for name, value in ROW.items() if name != "reference"}
    with pytest.raises(DataError, match="column 'reference' is missing"):
        read_crossing(written(tmp_path, GROUPS, row))


REFUSED_GROUPS = {
    "no groups": ('attribute = "age"', r"no \[\[group\]\] in it"),
    "one group": ('[[group]]\nname = "old"\nterms = [{ adjective = "old" }]', "one group has nobody to be"),
    "no name": ('[[group]]\nterms = [{ adjective = "old" }]', "group 1: 'name' must be a text"),
    "no terms": ('[[group]]\nname = "old"', "group 'old': 'terms' must be a list"),
    "a bare word": ('[[group]]\nname = "old"\nterms = ["old"]', "group 'old': a term says its form"),
    "an unknown form": ('[[group]]\nname = "old"\nterms = [{ verb = "age" }]', "group 'old': unknown form 'verb'"),
    "an empty word": ('[[group]]\nname = "old"\nterms = [{ noun = "" }]', "group 'old': 'noun' must be a word"),
    "one axis": ('[[group]]\nname = "old"\naxes = ["age"]\nterms = [{ noun = "x" }]', "'axes' must name the two"),
    "a word of two groups": (GROUPS.replace('"youth"', '"Senior"'), "group 'young': 'Senior' also names 'old'"),
    "no TOML": ("[[group", "mine.toml: "),
}  # fmt: skip


@pytest.mark.parametrize(("groups", "message"), REFUSED_GROUPS.values(), ids=REFUSED_GROUPS)
def test_wrong_groups_are_refused_with_the_group_and_the_field(
    groups: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        read_crossing(written(tmp_path, groups))


def test_contexts_without_their_groups_say_where_these_belong(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.with_suffix(".toml").unlink()
    assert holds_contexts(path)
    with pytest.raises(DataError, match=r"the groups of its contexts belong in mine\.toml beside it"):
        list(Stereotype(data=(path,)).cases())


def test_a_run_of_several_audits_knows_contexts(tmp_path: Path) -> None:
    assert describe_data(written(tmp_path)).kinds == {"pairs"}  # what the audit of stereotypes reads


def test_pairs_are_no_contexts(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"stereotype": "a", "anti_stereotype": "b", "reference": "c"}\n', "utf-8")
    assert not holds_contexts(path)


def _met(crossing: Crossing, of_group: Callable[[str], bool]) -> Counter[tuple[str, str]]:
    """How often each term fills each context."""
    return Counter(
        (case.meta["cluster"], role)
        for case in crossed_cases(crossing)
        for role in case.samples
        if role.startswith("term/") and of_group(role.split("/")[1])
    )


@pytest.mark.parametrize("crossing", embedded_crossings(), ids=lambda crossing: crossing.attribute)
def test_every_context_is_filled_once_with_every_term_that_fits(crossing: Crossing) -> None:
    met = _met(crossing, lambda group: True)
    assert set(met.values()) == {1}
    fits = {
        (context.id, f"term/{group.name}/{word}")
        for context in crossing.contexts
        for group in crossing.groups
        for word in group.words(context.slot)
    }
    # In the last rounds a group may have terms left when all others have none to compare them with.
    assert met.keys() <= fits
    assert len(met) >= 0.85 * len(fits)


@pytest.mark.parametrize("crossing", embedded_crossings(), ids=lambda crossing: crossing.attribute)
def test_texts_of_a_case_differ_in_the_slot_and_in_nothing_else(crossing: Crossing) -> None:
    contexts = {context.id: context for context in crossing.contexts}
    for case in crossed_cases(crossing):
        context = contexts[case.meta["cluster"]]
        for role, sample in case.samples.items():
            assert sample.references == (context.reference,)
            word = role.split("/")[-1]
            if not role.startswith("lost/"):
                assert sample.hypothesis == context.filled(word)
            else:
                assert word.lower() in sample.hypothesis.lower()
                assert len(sample.hypothesis) < len(context.filled(word))


@pytest.mark.parametrize("crossing", embedded_crossings(), ids=lambda crossing: crossing.attribute)
def test_the_embedded_contexts_are_what_the_card_says(crossing: Crossing) -> None:
    assert len(crossing.contexts) >= (40 if crossing.attribute.startswith("intersection") else 120)
    assert len({context.form for context in crossing.contexts}) >= 4
    told = [context for context in crossing.contexts if context.stereotype_of]
    assert 0.2 * len(crossing.contexts) <= len(told) <= 0.6 * len(crossing.contexts)
    texts = [context.text for context in crossing.contexts]
    assert len(set(texts)) == len(texts)
    assert {context.slot for context in crossing.contexts} <= set(FORMS)


@pytest.mark.parametrize("crossing", embedded_crossings(), ids=lambda crossing: crossing.attribute)
def test_no_reference_names_a_group(crossing: Crossing) -> None:
    pronouns = {"he", "she", "they", "him", "her", "them", "his", "their"}  # may be another person's
    words = {
        word.lower()
        for group in crossing.groups
        for term in group.terms
        for word in term.values()
        if word.lower() not in pronouns
    }
    for context in crossing.contexts:
        named = {word.strip(".,;:!?'\"").lower() for word in context.reference.split()}
        assert not named & words, context.id


@pytest.mark.parametrize("slot", ["adjective", "noun", "plural"])
def test_neutral_words_name_no_group(slot: str) -> None:
    words = neutral_words(slot)
    assert len(set(words)) == len(words) >= 60
    named = {
        word.lower()
        for crossing in embedded_crossings()
        for group in crossing.groups
        for term in group.terms
        for word in term.values()
    }
    assert not {word.lower() for word in words} & named


def test_terms_of_different_groups_meet_each_other() -> None:
    """Terms that only ever met their like would be compared with no others."""
    (race,) = (crossing for crossing in embedded_crossings() if crossing.attribute == "race")
    first_round = [case for case in crossed_cases(race) if case.id.endswith("/1")][:80]
    met = {
        frozenset((one, other))
        for case in first_round
        for one in case.samples
        for other in case.samples
        if one.startswith("term/black/") and other.startswith("term/white/")
    }
    assert len(met) == 16


def test_a_slot_at_the_beginning_is_capitalised() -> None:
    context = Context("1", "plural", "{Term} met.", "Some met.")
    assert context.filled("non-smokers") == "Non-smokers met."
