"""Clones of the authors' repositories, laid out as published, given as --data: stand-ins of the same layout."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.engine.session import Session
from assay.papers import PublishedCell, find_recipe, reproduce
from assay.papers.recipes import Cell
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
        done = reproduce(find_recipe(name), PublishedCell(place), Session.open(cache=None))
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
    pairs = (data / "religion.tsv").read_text("utf-8")
    (data / "religion.tsv").write_text(pairs.replace("candidate", "text", 1), "utf-8")
    lines = (data / "race.tsv").read_text("utf-8").splitlines(keepends=True)
    (data / "race.tsv").write_text("".join(lines[:-1]), "utf-8")
    with under_recipe_names(tmp_path) as (folder, notes):
        done = reproduce(find_recipe("unfair:table6"), PublishedCell(folder), Session.open(cache=None))
    assert any(note.startswith("measuring_bias/data/race.tsv cannot be used") for note in notes)
    assert "3 lines, but a pair is two lines" in " ".join(notes)
    assert "religion.tsv: it has no column candidate" in " ".join(notes)
    reasons = {item.reason for item in done if item.kind == "no figure"}
    assert "the released tables have no column PRISM-p" in reasons
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


COMPOSITE = (
    "HITId;HITTypeId;Title;WorkerId;Input.image_url;Input.text1;Input.text2;Input.text3;Input.text4;"
    "Answer.Q1Answer;Answer.Q2Answer;Answer.Q3Answer;Answer.Q4Answer;Approve;Reject\n"
)
CAPTIONS = ("A man rides a horse", "A woman rides a bike", "A dog runs", "Two boys play ball")


def composite(folder: Path) -> Path:
    """Tables of Mechanical Turk by data set and criterion, with the two empty rows that end each of them."""
    folder.mkdir(parents=True)
    for name, image in (("8k", "12_ab.jpg"), ("coco", "COCO_val2014_000000000042.jpg")):
        for place, criterion in enumerate(("correctness", "throughness")):
            rows = ""
            for number in range(4):
                texts = ";".join(CAPTIONS[number:] + CAPTIONS[:number])
                answers = ";".join(str(1 + (number + at + place) % 5) for at in range(4))
                rows += f"h{number};t;Rate;w;http://host/{image};{texts};{answers};;\n"
            end = ";" * COMPOSITE.count(";") + "\n"
            (folder / f"{name}_{criterion}.csv").write_text(COMPOSITE + rows + 2 * end, "utf-8")
    sentences = [{"raw": text} for text in ("A person on a horse.", "He rides.", "Someone rides a horse.")]
    images = [{"filename": "COCO_val2014_000000000042.jpg", "sentences": sentences}]
    (folder / "dataset_coco.json").write_text(json.dumps({"images": images}), "utf-8")
    (folder / "Flickr8k.token.txt").write_text("12_ab.jpg#0\tA dog .\n", "utf-8")
    return folder


def flickr8k(folder: Path) -> Path:
    """Captions by image, and an image, a caption and three ratings per line."""
    folder.mkdir(parents=True)
    tokens = [f"{image}.jpg#{number}\t{text}" for image in "abcd" for number, text in enumerate(CAPTIONS)]
    ratings = [
        f"{image}.jpg\t{other}.jpg#{number}\t{1 + number}\t{1 + (number + place) % 4}\t2"
        for place, image in enumerate("abcd")
        for number, other in enumerate("bcda")
    ]
    (folder / "Flickr8k.token.txt").write_text("\n".join(tokens) + "\n", "utf-8")
    (folder / "ExpertAnnotations.txt").write_text("\n".join(ratings) + "\n", "utf-8")
    return folder


def blindspots(folder: Path) -> Path:
    """Two sets of paragraphs, translations that torch saved, and SummEval with written references."""
    torch = pytest.importorskip("torch", reason="the release is saved by torch")
    for number in (1, 2):
        path = folder / "wiki" / "data" / f"refs{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        paragraph = " ".join(f"The {word} of town {number} was old and grey ." for word in "abcdefgh")
        path.write_text("\n".join([paragraph] * 3) + "\n", "utf-8")
    lists = {
        "src": ["Ein Hund", "Eine Katze"],
        "ref-A": ["It\u2019s a dog", "A cat"],
        "ref-B": ["A dog", "One cat"],
    }
    for name in ("wmt21/de-en.allsys.save", "ted_zhen/combined_zh-en.save"):
        path = folder / "sum_mt" / "MT" / name
        path.parent.mkdir(parents=True)
        torch.save({**lists, "Online-A": ["x", "y"]}, path)
    summaries = folder / "sum_mt" / "SUM"
    (summaries / "SummEval").mkdir(parents=True)
    (summaries / "THumB" / "cnndm").mkdir(parents=True)
    criteria = ("coherence", "consistency", "fluency", "relevance")
    documents, written = {}, []
    for number in range(3):
        name = f"dm-test-{number:04x}"
        systems = {
            f"M{system}": {
                "sys_summ": " ".join(CAPTIONS[: 1 + (system + number) % 4]),
                "scores": {
                    key: np.float64(1 + (system * number + at) % 5) for at, key in enumerate(criteria)
                },
            }
            for system in range(4)
        }
        texts = {"src": "A man and a woman ride .", "ref_summ": "They ride . It did n't stop , he said ."}
        documents[name] = {**texts, "ref_summs": [texts["ref_summ"], *CAPTIONS], "sys_summs": systems}
        written.append({"seg_id": f"{number:04x}", "refs": [f"{text} {number}" for text in CAPTIONS]})
    (summaries / "SummEval" / "data.pkl").write_bytes(pickle.dumps(documents))
    lines = "\n".join(map(json.dumps, written)) + "\n"
    (summaries / "THumB" / "cnndm" / "cnndm_references.jsonl").write_text(lines, "utf-8")
    return folder


def wmt20(folder: Path) -> Path:
    """A year of mt-metrics-eval: raw and standardised scores of each pair of languages."""
    for pair in ("cs-en", "en-cs"):
        files = {
            f"sources/{pair}.txt": "eins\nzwei\ndrei\n", f"references/{pair}.ref.txt": "one\ntwo\nthree\n",
            f"documents/{pair}.docs": "news d1\nnews d1\nnews d2\n",
        } | {f"system-outputs/{pair}/S{n}.txt": "one\n" * n + "no\n" * (3 - n) for n in range(4)}  # fmt: skip
        for kind, factor in (("wmt-raw", 20), ("wmt-z", 1)):
            scores = "".join(f"S{n}\t{factor * (n + line / 9)}\n" for n in range(4) for line in range(3))
            files[f"human-scores/{pair}.{kind}.seg.score"] = scores
        for name, text in files.items():
            path = folder / "wmt20" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return folder


def evaleval(folder: Path) -> Path:
    """Texts of three tasks, and the edits of two texts in one line, as `json.dump` left them."""
    for name in ("as_data", "d2t_data", "mt_data"):
        path = folder / "data" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {"id": number, "references": f"{text} on 12 May 2020."} for number, text in enumerate(CAPTIONS)
        ]
        path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    (folder / "outputs").mkdir()
    edits = [
        {
            "type": kind,
            "id": number,
            "reference": text,
            "perturbed": text[::-1] if kind == "jumble" else text + "?",
        }
        for kind in ("jumble", "remove_punct")
        for number, text in enumerate(CAPTIONS)
    ]
    (folder / "outputs" / "example-Fluency.jsonl").write_text("".join(map(json.dumps, edits)), "utf-8")
    return folder


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_composite_and_flickr8k_as_published(tmp_path: Path) -> None:
    """The COCO part alone, its second criterion under its right name, one row per caption."""
    composite(tmp_path / "AMT_eval")
    flickr8k(tmp_path / "Flickr8k_text")
    with under_recipe_names(tmp_path) as (folder, notes):
        rated = rows_of(folder / "human/composite_coco.jsonl")
        captions = rows_of(folder / "human/flickr8k_expert.jsonl")
    assert len(rated) == 16
    assert rated[0]["human"] == {"correctness": [1.0], "thoroughness": [2.0]}
    assert rated[0]["references"] == ["A person on a horse.", "He rides.", "Someone rides a horse."]
    assert (captions[0]["hypothesis"], captions[0]["human"]) == (CAPTIONS[0], {"overall": [1, 1, 2]})
    assert "AMT_eval/coco_correctness.csv is read as human/composite_coco.jsonl" in notes


def test_blindspots_as_published(tmp_path: Path) -> None:
    blindspots(tmp_path / "blindspot_nlg")
    with under_recipe_names(tmp_path) as (folder, _):
        assert "town 1" in (folder / "stress/wikitext_1.txt").read_text("utf-8")
        translations = rows_of(folder / "stress/wmt21_de_en.jsonl")
        summaries = rows_of(folder / "stress/cnndm.jsonl")
        rated = rows_of(folder / "human/summeval.jsonl")
        assert (folder / "stress/ted_zh_en.jsonl").is_file()
    first = {"id": "wmt21-0", "source": "Ein Hund", "gold": "It's a dog", "references": ["A dog"]}
    assert translations[0] == first
    assert summaries[1]["gold"] == "They ride. It didn't stop, he said."
    assert summaries[1]["references"] == [f"{text} 1" for text in CAPTIONS]
    assert (len(rated), rated[5]["system"], len(rated[5]["references"])) == (12, "M1", 5)
    assert rated[5]["human"] == {"coherence": 2.0, "consistency": 3.0, "fluency": 4.0, "relevance": 5.0}


def test_wmt20_and_evaleval_as_published(tmp_path: Path) -> None:
    """Standardised scores of pairs into English; edits parted though no line break parts them."""
    wmt20(tmp_path / "mt-metrics-eval-v2")
    evaleval(tmp_path / "EvalEval")
    with under_recipe_names(tmp_path) as (folder, _):
        rated = rows_of(folder / "human/wmt20.jsonl")
        texts = rows_of(folder / "checklist/translation.jsonl")
        edits = rows_of(folder / "checklist/released.jsonl")
    assert {row["lp"] for row in rated} == {"cs-en"}
    assert rated[3]["human"] == {"score": [1.0]}
    assert texts[0]["gold"] == texts[0]["references"][0] == "A man rides a horse on 12 May 2020."
    assert [edit["kind"] for edit in edits] == ["jumble"] * 4 + ["remove-punct"] * 4
    assert (edits[0]["good"], edits[0]["bad"]) == (CAPTIONS[0], CAPTIONS[0][::-1])


RELEASED = {  # the recipes whose data these clones have
    "unfair": ("table1", "table3", "table6", "table8", "table9"), "assoc": ("table5", "table6", "table9"),
    "blind": ("table2", "table4", "table13", "table11", "curves"), "checklist": ("figure7b", "figure7d"),
}  # fmt: skip


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All clones below one folder."""
    folder = tmp_path_factory.mktemp("clones")
    metric_fairness(folder / "Metric-Fairness")
    composite(folder / "AMT_eval")
    flickr8k(folder / "Flickr8k_text")
    blindspots(folder / "blindspot_nlg")
    wmt20(folder / "mt-metrics-eval-v2")
    return evaleval(folder / "EvalEval").parent


@pytest.mark.parametrize(
    "name", [f"{paper}:{table}" for paper, tables in RELEASED.items() for table in tables]
)
def test_no_cell_lacks_data_that_a_clone_has(clones: Path, name: str) -> None:
    """Every cell of text that n-gram metrics fill runs; the rest lacks weights, a package or time."""
    recipe = find_recipe(name)
    light = replace(recipe, cells=tuple(cell for cell in recipe.cells if not _is_heavy(cell)))
    with under_recipe_names(clones) as (folder, _):
        done = reproduce(light, PublishedCell(folder), Session.open(cache=None))
    assert [item.reason for item in done if item.kind == "data"] == []
    assert any(item.ours is not None for item in done) or all(item.kind for item in done)


def _is_heavy(cell: Cell) -> bool:
    """Whether a cell asks a program or a model that a test of layouts has no need of."""
    return (cell.metric or "").partition(":")[0] in ("meteor", "multeval-meteor", "mauve", "spice")


def test_a_renamed_file_and_a_broken_archive_are_named_and_the_rest_runs(tmp_path: Path) -> None:
    release = blindspots(tmp_path / "blindspot_nlg") / "sum_mt"
    (release / "SUM" / "SummEval" / "data.pkl").rename(release / "SUM" / "SummEval" / "texts.pkl")
    (release / "MT" / "wmt21" / "de-en.allsys.save").write_bytes(b"not an archive")
    composite(tmp_path / "AMT_eval")
    (tmp_path / "AMT_eval" / "dataset_coco.json").unlink()
    with under_recipe_names(tmp_path) as (folder, notes):
        assert (folder / "stress/ted_zh_en.jsonl").is_file()
        assert not (folder / "stress/wmt21_de_en.jsonl").exists()
        assert not (folder / "stress/cnndm.jsonl").exists()
    said = "\n".join(notes)
    assert "de-en.allsys.save cannot be used: it is not saved as torch saves since version 1.6" in said
    assert (
        "cnndm_references.jsonl cannot be used: SummEval/data.pkl or SummEval/final_p.pkl is not beside"
        in said
    )
    assert "coco_correctness.csv cannot be used: nothing in it can be read" in said


def test_a_folder_under_recipe_names_stays_as_it_is(tmp_path: Path) -> None:
    with under_recipe_names(tmp_path) as (folder, notes):
        assert (folder, notes) == (tmp_path, [])
