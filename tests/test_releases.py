"""Clones of the authors' repositories, laid out as published, given as --data: stand-ins of the same layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.engine.session import Session
from assay.papers import Place, find_recipe, reproduce
from assay.papers.releases import under_recipe_names

SCORES = {"BLEU": (0.5, 0.5, 0.9, 0.1), "BERTScore-BERT-base": (0.2, 0.4, 0.6, 0.8)}
LINES = (
    ("The nurse said she was late", "The nurse said it was late"),
    ("The nurse said he was late", "The nurse said it was late"),
    ("The guard said he was late", "The guard said it was late"),
    ("The guard said she was late", "The guard said that it was late"),
)


def metric_fairness(folder: Path, *, extra: str = "", encoding: str = "utf-8") -> Path:
    """Two pairs of each attribute: two lines each, a column per metric, a tab at the end of every line."""
    data = folder / "measuring_bias" / "data"
    data.mkdir(parents=True)
    head = ["candidate", "reference", *SCORES, *([extra] if extra else [])]
    rows = [
        [
            candidate,
            reference,
            *(str(scores[place]) for scores in SCORES.values()),
            *(["né"] if extra else []),
        ]
        for place, (candidate, reference) in enumerate(LINES)
    ]
    text = "".join("\t".join(line) + "\t\n" for line in [head, *rows])
    for name in ("race", "gender", "religion", "physical-appearance", "age", "socioeconomic"):
        (data / f"{name}.tsv").write_bytes(text.encode(encoding))
    return folder


def checked(folder: Path, name: str) -> dict[tuple[str, str, str], float | None]:
    """The figures of a recipe by row, column and source, on a release."""
    with under_recipe_names(folder) as (place, _):
        done = reproduce(find_recipe(name), Place(place), Session.open(cache=None))
    return {(item.cell.row, item.cell.column, item.cell.source): item.ours for item in done}


def test_metric_fairness_as_published(tmp_path: Path) -> None:
    """Eq. 1 and 2 on the released scores of two pairs: (0 + 100) / 2 and (33.3 + 33.3) / 2."""
    figures = checked(metric_fairness(tmp_path), "unfair:table6")
    for column in ("Race", "Gender", "SS", "Avg."):
        assert figures["BLEU", column, "released scores"] == pytest.approx(50)
        assert figures["BERTScore-BERT-base", column, "released scores"] == pytest.approx(100 / 3)
        assert figures["BLEU", column, "text"] is not None


def test_a_clone_below_the_folder_an_extra_column_and_another_encoding(tmp_path: Path) -> None:
    metric_fairness(tmp_path / "Metric-Fairness", extra="comment", encoding="cp1252")
    figures = checked(tmp_path, "unfair:table6")
    assert figures["BLEU", "Gender", "released scores"] == pytest.approx(50)


def test_a_missing_and_a_broken_file_are_named_and_the_rest_runs(tmp_path: Path) -> None:
    data = metric_fairness(tmp_path) / "measuring_bias" / "data"
    (data / "age.tsv").unlink()
    lines = (data / "race.tsv").read_text("utf-8").splitlines(keepends=True)
    (data / "race.tsv").write_text("".join(lines[:-1]), "utf-8")
    with under_recipe_names(tmp_path) as (folder, notes):
        done = reproduce(find_recipe("unfair:table6"), Place(folder), Session.open(cache=None))
    assert any(note.startswith("measuring_bias/data/race.tsv cannot be used") for note in notes)
    assert "3 lines, but a pair is two lines" in " ".join(notes)
    by_column = {item.cell.column: item for item in done if item.cell.row == "BLEU"}
    assert by_column["Gender"].ours is not None
    assert "stereotype_pairs/age.jsonl in the data folder" in by_column["Age"].reason
    assert "stereotype_pairs/race.jsonl in the data folder" in by_column["Race"].reason


def test_sent_bias_as_published(tmp_path: Path) -> None:
    """One JSON document per file, with the ending .jsonl, in the folder tests."""
    tests = tmp_path / "sent-bias" / "tests"
    tests.mkdir(parents=True)
    sets = {"targ1": ["rose"], "targ2": ["wasp"], "attr1": ["joy"], "attr2": ["pain"]}
    document = {key: {"category": key, "examples": words} for key, words in sets.items()}
    for name in ("weat1", "sent-weat1"):
        (tests / f"{name}.jsonl").write_text(json.dumps(document, indent=2), "utf-8")
    with under_recipe_names(tmp_path) as (folder, notes):
        assert sorted(path.name for path in (folder / "association").iterdir()) == [
            "sent-weat1.json", "weat1.json",
        ]  # fmt: skip
    assert notes == ["sent-bias/tests/weat1.jsonl is read as association"]


def test_blindspots_and_rated_captions_as_published(tmp_path: Path) -> None:
    """Plain files and folders are linked, and what the folder has beside them stays."""
    for path in ("wiki/data/refs1.txt", "wiki/data/refs2.txt", "Flickr8k_text/ExpertAnnotations.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path, "utf-8")
    (tmp_path / "human").mkdir()
    (tmp_path / "human/realsumm.jsonl").write_text("{}", "utf-8")
    with under_recipe_names(tmp_path) as (folder, _):
        assert (folder / "stress/wikitext_1.txt").read_text("utf-8") == "wiki/data/refs1.txt"
        assert (folder / "human/flickr8k_expert.jsonl/ExpertAnnotations.txt").exists()
        assert (folder / "human/realsumm.jsonl").read_text("utf-8") == "{}"
    assert not folder.exists()


def test_a_folder_under_recipe_names_stays_as_it_is(tmp_path: Path) -> None:
    with under_recipe_names(tmp_path) as (folder, notes):
        assert (folder, notes) == (tmp_path, [])
