"""Published forms of ratings, each in a small file written here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import RIVALS
from assay.errors import DataError


def put(path: Path, text: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
    return path


def test_summeval_keeps_experts_and_crowd_apart(tmp_path: Path) -> None:
    row = {
        "id": "dm-1", "model_id": "M0", "decoded": "A summary.", "references": ["R1", "R2"], "text": "Long.",
        "expert_annotations": [{"coherence": 1, "fluency": 5}, {"coherence": 3, "fluency": 4}],
        "turker_annotations": [{"coherence": 4, "fluency": 4}],
    }  # fmt: skip
    (item,) = read_ratings(put(tmp_path / "model_annotations.aligned.jsonl", json.dumps(row)))
    assert (item.id, item.system, item.doc) == ("dm-1/M0", "M0", "dm-1")
    assert item.human["coherence"] == (1.0, 3.0)
    assert item.human["crowd:fluency"] == (4.0,)
    assert item.sample.source == "Long."


def test_realsumm_keeps_the_human_score_only(tmp_path: Path) -> None:
    value = {
        "7": {"doc_id": 7, "ref_summ": "The reference.", "system_summaries": {
            "bart": {"system_summary": "One.", "scores": {"litepyramid_recall": 0.3, "rouge_1": 0.9}}}}
    }  # fmt: skip
    (item,) = read_ratings(put(tmp_path / "abs.json", value))
    assert (item.id, item.human) == ("7/bart", {"litepyramid_recall": (0.3,)})


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="pickle"):
        read_ratings(put(tmp_path / "abs.pkl", "x"))


def test_flickr8k_folder(tmp_path: Path) -> None:
    put(tmp_path / "Flickr8k.token.txt", "1.jpg#0\tA dog runs .\n1.jpg#1\tA dog .\n2.jpg#0\tA man sits .\n")
    put(tmp_path / "ExpertAnnotations.txt", "1.jpg\t2.jpg#0\t1\t1\t2\n2.jpg\t2.jpg#0\t4\t4\t4\n")
    first, second = read_ratings(tmp_path)
    assert first.sample.hypothesis == "A man sits ."
    assert first.sample.references == ("A dog runs .", "A dog .")
    assert first.human == {"overall": (1.0, 1.0, 2.0)}
    assert second.sample.hypothesis in second.sample.references


def test_captions_as_json(tmp_path: Path) -> None:
    judged = [{"caption": "A dog", "rating": 0.25}, {"caption": "A dog", "rating": float("nan")},
              {"caption": "A cat", "rating": 1.0}]  # fmt: skip
    value = {"img": {"ground_truth": ["The dog"], "human_judgement": judged}}
    first, second = read_ratings(put(tmp_path / "composite.json", value))
    assert (first.human, second.human) == ({"overall": (0.25,)}, {"overall": (1.0,)})
    assert first.doc == second.doc == "img"


def test_composite_tables_join_criteria(tmp_path: Path) -> None:
    put(tmp_path / "Flickr8k.token.txt", "12_ab.jpg#0\tA dog .\n")
    head = "HITId;Input.image_url;Input.text1;Input.text2;Answer.Q1;Answer.Q2\n"
    put(tmp_path / "8k_correctness.csv", head + "h;http://x/12_ab.jpg;One;Two;5;2\n")
    put(tmp_path / "8k_throughness.csv", head + "h;http://x/12_ab.jpg;One;Two;4;1\n")
    first, second = read_ratings(tmp_path)
    assert first.human == {"correctness": (5.0,), "throughness": (4.0,)}
    assert (second.sample.hypothesis, second.human["correctness"]) == ("Two", (2.0,))


def wmt(folder: Path) -> Path:
    put(folder / "sources" / "en-de.txt", "one\ntwo\n")
    put(folder / "references" / "en-de.refA.txt", "eins\nzwei\n")
    put(folder / "references" / "en-de.refB.txt", "EINS\nZWEI\n")
    put(folder / "system-outputs" / "en-de" / "sys1.txt", "ein\nzwo\n")
    put(folder / "documents" / "en-de.docs", "news d1\nnews d1\n")
    return put(folder / "human-scores" / "en-de.mqm.seg.score", "sys1\t-1\nsys1\tNone\nrefA\t0\nrefA\t-0.5\n")


def test_wmt_folder(tmp_path: Path) -> None:
    scores = wmt(tmp_path)
    by_file, by_folder = read_ratings(scores), read_ratings(tmp_path)
    assert by_file == by_folder
    first, second, human, _ = by_file
    assert (first.sample.source, first.sample.references, first.human) == ("one", ("eins",), {"mqm": (-1.0,)})
    assert second.human == {}
    # A human translation that was judged is not its own reference.
    assert (human.sample.hypothesis, human.sample.references) == ("eins", ("EINS",))
    assert first.doc == human.doc
    assert first.meta == {"language_pair": "en-de", "domain": "news", "document": "d1"}


def test_wmt_with_missing_lines_says_so(tmp_path: Path) -> None:
    wmt(tmp_path)
    put(tmp_path / "system-outputs" / "en-de" / "sys1.txt", "ein\n")
    with pytest.raises(DataError, match="sys1 has 1 lines where the source has 2"):
        read_ratings(tmp_path)


def test_webnlg_repository(tmp_path: Path) -> None:
    put(tmp_path / "submissions" / "rdf2text" / "en" / "Team" / "primary.en", "First text.\nSecond text.\n")
    triple = {"subject": "Ann", "property": "born", "object": "Bonn"}
    entry = {"lexicalisations": [{"lex": "Ann was born in Bonn."}], "modifiedtripleset": [triple]}
    put(
        tmp_path / "evaluation" / "references" / "references-en.json",
        {"entries": [{"1": entry}, {"2": entry}]},
    )
    rated = {"submission_id": "Team", "sample_id": "2", "Correctness": 0.5, "DataCoverage": 0.1, "Fluency": 0.2,
             "Relevance": 0.3, "TextStructure": 0.4, "category": "Person"}  # fmt: skip
    results = tmp_path / "evaluation" / "human-evaluation" / "results" / "en"
    put(results / "english_humeval_data_all_teams.json", [rated])
    (item,) = read_ratings(tmp_path)
    assert item.sample.hypothesis == "Second text."
    assert item.sample.references == ("Ann was born in Bonn.",)
    assert item.sample.source == "Ann | born | Bonn"
    assert item.human["data coverage"] == (0.1,)
    for strange in ("9", "²", "9" * 5000):
        put(results / "english_humeval_data_all_teams.json", [rated | {"sample_id": strange}])
        with pytest.raises(DataError, match="is not a line of Team's submission"):
            read_ratings(tmp_path)


@pytest.mark.parametrize("ending", ["", "\n", "\n\n", "\n \n\n"])
def test_webnlg_submissions_may_end_in_empty_lines(ending: str, tmp_path: Path) -> None:
    submission = tmp_path / "submissions" / "rdf2text" / "en" / "Team" / "primary.en"
    entries = [{str(n): {"lexicalisations": [{"lex": "A."}], "modifiedtripleset": []}} for n in (1, 2)]
    put(tmp_path / "evaluation" / "references" / "references-en.json", {"entries": entries})
    results = tmp_path / "evaluation" / "human-evaluation" / "results" / "en"
    rated = dict.fromkeys(("Correctness", "DataCoverage", "Fluency", "Relevance", "TextStructure"), 0.5)
    rated |= {"submission_id": "Team", "sample_id": "3"}
    put(results / "english_humeval_data_all_teams.json", [rated])
    put(submission, "First text.\nSecond text." + ending)
    with pytest.raises(DataError, match="'3' is not a line of Team's submission"):
        read_ratings(tmp_path)
    put(submission, "One.\nTwo.\nThree." + ending)
    with pytest.raises(DataError, match="has 3 texts where the references have 2"):
        read_ratings(tmp_path)
    put(submission, "One.\n")
    with pytest.raises(DataError, match="has 1 texts where the references have 2"):
        read_ratings(tmp_path)


def test_usr_leaves_a_human_response_out_of_its_own_references(tmp_path: Path) -> None:
    responses = [
        {"response": "Hi.\n", "model": "Original Ground Truth", "Overall": [5, 4, 5]},
        {"response": "Hm.\n", "model": "Nucleus", "Overall": [2, 1, 2]},
    ]
    value = [{"context": "Hello!\n", "fact": "_nofact\n", "responses": responses}]
    truth, model = read_ratings(put(tmp_path / "tc_usr_data.json", value))
    assert (truth.sample.references, model.sample.references) == ((), ("Hi.",))
    assert (model.human, model.sample.source) == ({"Overall": (2.0, 1.0, 2.0)}, "Hello!")


def test_fed_skips_words_among_ratings(tmp_path: Path) -> None:
    value = [{"context": "User: Hi\nSystem: Hello", "response": "System: Fine.", "system": "Meena",
              "annotations": {"Interesting": [1, 2, "N/A - Invalid"]}}]  # fmt: skip
    (item,) = read_ratings(put(tmp_path / "fed.json", value))
    assert (item.sample.hypothesis, item.human) == ("Fine.", {"Interesting": (1.0, 2.0)})


def test_questions(tmp_path: Path) -> None:
    question = {"prediction": "Who?", "source": "SQuAD_T5", "fluency": 3.0, "answerability": 2.6667}
    value = [{"id": "q", "passage": "P", "reference": "Who is it?", "answer": "Ann", "questions": [question]}]
    (item,) = read_ratings(put(tmp_path / "instances.json", value))
    assert (item.system, item.human["answerability"], item.sample.source) == ("T5", (2.6667,), "P\nAnn")


def test_preferences_are_outcomes_with_rivals(tmp_path: Path) -> None:
    rows = [
        {"doc": "d", "system_a": "x", "system_b": "y", "hypothesis_a": "A", "hypothesis_b": "B",
         "preference": {"sensible": "a", "interesting": -2}},
        {"doc": "d", "system_a": "x", "system_b": "y", "hypothesis_a": "A", "hypothesis_b": "B",
         "preference": {"sensible": "tie"}},
    ]  # fmt: skip
    first, second = read_ratings(put(tmp_path / "prefer.jsonl", "\n".join(map(json.dumps, rows))))
    assert first.human == {"sensible": (1.0, 0.5), "interesting": (0.0,)}
    assert second.human == {"sensible": (0.0, 0.5), "interesting": (1.0,)}
    assert first.meta[RIVALS] == {"sensible": ["y", "y"], "interesting": ["y"]}


@pytest.mark.parametrize("value", [[], {}, [1], [{"a": 1}]])
def test_an_unknown_document_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(DataError):
        read_ratings(put(tmp_path / "odd.json", value))


def test_an_unknown_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no ratings or preferences are recognised"):
        read_ratings(tmp_path)
