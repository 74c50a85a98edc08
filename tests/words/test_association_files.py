"""Reading association tests in the published form: each sentence's word, and errors that name file and key."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from word_data import PUBLISHED, needs_published, sets

from assay.datasets.association import (
    SET_KEYS,
    _varying_part,
    read_published,
    sentence_tests,
)
from assay.errors import DataError


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
    path.write_text(json.dumps(dict.fromkeys(SET_KEYS, entry)), "utf-8")
    (test,) = read_published(path)
    assert (test.name, test.label, test.level) == ("sent-mine", "mine", "sentence")
    assert [unit for _, unit in test.targ1.items] == ["Ada", "Ada", "Bob", "Bob"]


def test_units_with_the_word_file(tmp_path: Path) -> None:
    words = {"category": "x", "examples": ["rose", "rose hip", "children"]}
    sentences = {
        "category": "x",
        "examples": ["Roses are things.", "A Rose hip is here.", "This is a child."],
    }
    (tmp_path / "mine.json").write_text(json.dumps(dict.fromkeys(SET_KEYS, words)), "utf-8")
    (tmp_path / "sent-mine.json").write_text(json.dumps(dict.fromkeys(SET_KEYS, sentences)), "utf-8")
    word, sentence = read_published(tmp_path)
    assert word.level == "word"
    assert [unit for _, unit in sentence.attr2.items] == ["rose", "rose hip", "children"]


GOOD = {key: {"category": "x", "examples": ["a", "b"]} for key in SET_KEYS}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        (json.dumps({key: GOOD[key] for key in SET_KEYS[:3]}), "'attr2' is missing"),
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
