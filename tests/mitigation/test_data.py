"""Counterfactual data: the texts differ in identity alone, and what is tested was never trained on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.datasets.pairs import read_pair_files
from assay.datasets.templates import load_lexicon
from assay.errors import DataError
from assay.mitigation.data import (
    Counterfactual,
    counterfactuals,
    inserted_pairs,
    is_held_out,
    names_winobias,
    ordinary_pairs,
    read_material,
    split_of,
)


@pytest.fixture(scope="module")
def found() -> dict[str, list[Counterfactual]]:
    return counterfactuals(("gender", "race"))


def test_there_is_enough_to_learn_from(found: dict[str, list[Counterfactual]]) -> None:
    for attribute in ("gender", "race"):
        assert sum(p.attribute == attribute for p in found["train"]) > 1000


def test_splits_are_disjoint_in_templates_and_texts(found: dict[str, list[Counterfactual]]) -> None:
    units = {part: {piece for p in pairs for piece in p.template.split("+")} for part, pairs in found.items()}
    assert not units["train"] & units["test"]
    assert not units["validation"] & units["test"] - units["train"]
    texts = {part: {t for p in pairs for t in (p.first, p.second)} for part, pairs in found.items()}
    assert not texts["train"] & texts["test"]


def test_held_out_words_are_never_trained_on(found: dict[str, list[Counterfactual]]) -> None:
    for pair in (*found["train"], *found["validation"]):
        assert not any(is_held_out(word, pair.attribute) for word in pair.words)
    fresh = [p for p in found["test"] if all(is_held_out(w, p.attribute) for w in p.words)]
    assert {p.attribute for p in fresh} == {"gender", "race"}


def test_no_winobias_occupation_is_trained_on(found: dict[str, list[Counterfactual]]) -> None:
    kept = ordinary_pairs()
    assert not any(names_winobias(*p.texts) for p in (*found["train"], *found["validation"]))
    assert not any(names_winobias(p.hypothesis, p.reference) for p in kept["train"])
    assert names_winobias("Two Nurses left.")
    assert not names_winobias("The florist cooked.")


def test_no_published_pair_is_trained_on(found: dict[str, list[Counterfactual]], shared: Path) -> None:
    trained = {text.lower() for p in found["train"] for text in p.texts}
    for name in ("gender", "race"):
        for pair in read_pair_files([shared / "stereotype_pairs" / f"{name}.jsonl"])[0]:
            assert not trained & {pair.stereotype.lower(), pair.anti_stereotype.lower()}


def test_an_adjective_is_put_before_the_person_and_its_article_follows() -> None:
    lexicon = load_lexicon("age")
    made = list(inserted_pairs([("A woman reads a book.", "x")], lexicon))
    for pair in made:
        article = "An" if pair.words[0][0] in "aeio" else "A"
        assert pair.first == f"{article} {pair.words[0]} woman reads a book."
        assert pair.reference == "A woman reads a book."


def test_a_pair_with_a_held_out_word_in_a_trained_template_is_dropped() -> None:
    held = next(
        w for w in ("Romani", "African", "European", "Samoan", "Indigenous") if is_held_out(w, "race")
    )
    units = (f"unit-{n}" for n in range(50))
    trained = next(u for u in units if split_of(Counterfactual("race", "a", "b", "c", u)) == "train")
    assert split_of(Counterfactual("race", "a", "b", "c", trained, (held, "white"))) is None


def test_an_attribute_without_a_lexicon_is_refused() -> None:
    with pytest.raises(DataError, match="no lexicon for the attribute 'height'") as refused:
        counterfactuals(("height",))
    assert "--data" not in str(refused.value)  # only debias takes an attribute of one's own


def test_the_authors_files_are_read(tmp_path: Path) -> None:
    rows = [{"sentence1": f"He saw {n} ships.", "sentence2": f"A man saw {n} ships."} for n in range(60)]
    nli = tmp_path / "mnli.jsonl"
    nli.write_text("\n".join(map(json.dumps, rows)))
    material = read_material(nli, ("gender",))
    assert sum(map(len, material.pairs.values())) == 120
    assert sum(map(len, material.ordinary.values())) == 60
    assert {p.second for p in material.pairs["train"]} & {f"She saw {n} ships." for n in range(60)}
    sts = tmp_path / "sts.tsv"
    lines = [f'main\t{n}\t"He" left {n} times.\tShe left.' for n in range(40)]
    sts.write_text("\n".join(["genre\tindex\tsentence1\tsentence2", *lines]))
    assert sum(map(len, read_material(sts, ("gender",)).ordinary.values())) == 40


def test_stereoset_is_read_and_nonsense_left_out(tmp_path: Path) -> None:
    sentences = [
        {"sentence": "He was kind.", "gold_label": "anti-stereotype"},
        {"sentence": "He was loud.", "gold_label": "stereotype"},
        {"sentence": "He was fish.", "gold_label": "unrelated"},
    ]
    test = {"id": "a", "bias_type": "gender", "sentences": sentences}
    other = {"id": "b", "bias_type": "race", "sentences": sentences}
    file = tmp_path / "dev.json"
    file.write_text(json.dumps({"data": {"intrasentence": [test, other]}}))
    pairs = read_material(file, ("gender",)).pairs
    assert {p.second for part in pairs.values() for p in part} == {"She was kind.", "She was loud."}
    file.write_text("{}")
    with pytest.raises(DataError, match="not StereoSet"):
        read_material(file, ("gender",))


def test_sentences_that_name_no_one_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "plain.txt"
    file.write_text("The sea was calm.\n")
    with pytest.raises(DataError, match="nothing to train on"):
        read_material(file, ("gender",))
