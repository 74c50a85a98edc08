"""Rated translations, summaries, dialogues and captions, each in a small file in the exact published form."""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from assay.audits.human.audit import Human
from assay.datasets.published.opened import read_pickle
from assay.datasets.published.ratings import RatingsChoice, read_ratings
from assay.errors import DataError


def put(path: Path, text: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
    return path


def lines(path: Path, *rows: object) -> Path:
    return put(path, "".join(json.dumps(row) + "\n" for row in rows))


def table(path: Path, *rows: Sequence[str], separator: str = "\t") -> Path:
    return put(path, "".join(separator.join(row) + "\n" for row in rows))


# --- translations ---


def test_direct_assessment_table(tmp_path: Path) -> None:
    head = ["lp", "src", "mt", "ref", "score", "raw", "annotators", "domain", "year"]
    first = ["en-de", "one", "ein", "eins", "-0.5", "60.0", "2", "news", "2021"]
    second = ["de-en", "zwei", "two", "two", "0.25", "90.0", "1", "news", "2021"]
    path = table(tmp_path / "train.csv", head, first, second, separator=",")
    one, two = read_ratings(path)
    assert (one.sample.hypothesis, one.sample.references, one.sample.source) == ("ein", ("eins",), "one")
    assert one.human == {"score": (-0.5,), "raw": (60.0,)}
    assert one.meta == {"language_pair": "en-de", "domain": "news", "year": "2021"}
    assert read_ratings(path, choice=RatingsChoice(language_pairs=("de-en",))) == [two]
    with pytest.raises(DataError, match="no language pair 'fr-en'; there are de-en, en-de"):
        read_ratings(path, choice=RatingsChoice(language_pairs=("fr-en",)))


MQM = ["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity"]


def mqm(path: Path, *errors: tuple[str, str, str, str]) -> Path:
    """A table of (system, rater, category, severity) on one segment."""
    rows = [
        [system, "d1", "1", "1", rater, 'He said "hi.', f'Er <v>sagte</v> "{system}.', category, severity]
        for system, rater, category, severity in errors
    ]
    return table(path, MQM, *rows)


def test_mqm_weights_per_rater(tmp_path: Path) -> None:
    path = mqm(
        tmp_path / "mqm.tsv",
        ("A", "r1", "Accuracy/Mistranslation", "Major"),
        ("A", "r1", "Fluency/Punctuation", "Minor"),
        ("A", "r1", "Fluency/Grammar", "Minor"),
        ("A", "r2", "No-error", "No-error"),
        ("A", "r3", "Non-translation!", "Major"),
        ("A", "r4", "Fluency/Punctuation", "Major"),
        ("A", "r5", "Style/Awkward", "Neutral"),
        ("Human-A.0", "r1", "No-error", "no-error"),
    )
    system, human = read_ratings(path)
    assert system.human["mqm"] == pytest.approx((-6.1, 0.0, -25.0, -5.0, 0.0))
    # A quotation mark is a character of the text, not a quoted cell; the marks of the error are not the text.
    assert (system.sample.source, system.sample.hypothesis) == ('He said "hi.', 'Er sagte "A.')
    assert (system.sample.references, human.sample.references) == (('Er sagte "Human-A.0.',), ())
    assert read_ratings(path, choice=RatingsChoice(human_systems=False)) == [system]


def test_mqm_of_later_years_names_its_segments_otherwise(tmp_path: Path) -> None:
    head = ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity"]
    rows = [["A", "d1", "1", str(n), "r", "s", f"t{n}", "Fluency/Grammar", "minor"] for n in (1, 2)]
    first, second = read_ratings(table(tmp_path / "m.tsv", head, *rows))
    assert (first.doc, second.doc, first.human["mqm"]) == ("d1/1", "d1/2", (-1.0,))


def test_mqm_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    path = mqm(tmp_path / "mqm.tsv", ("A", "r", "No-error", "No-error"), ("A", "r", "X", "Catastrophic"))
    with pytest.raises(
        DataError, match=r"mqm.tsv, line 3: column 'severity' is 'catastrophic'; known are major"
    ):
        read_ratings(path)
    with pytest.raises(DataError, match=r"line 2: .*3 cells, but the header has 9 columns"):
        read_ratings(table(tmp_path / "ragged.tsv", MQM, ["A", "d1", "1"]))


def test_error_span_annotation(tmp_path: Path) -> None:
    row = {"line_id": 0, "langs": "en-cs", "src": "one", "doc_id": "d", "domain": "news", "esa_spans": []}
    path = lines(
        tmp_path / "wmt24_esa.jsonl",
        row | {"system": "A", "tgt": "jeden", "esa_score": "80"},
        row | {"system": "A", "tgt": "jeden", "esa_score": 60},
        row | {"system": "refA", "tgt": "Jedna", "esa_score": 95},
    )
    system, human = read_ratings(path)
    assert system.human == {"esa": (80.0, 60.0)}
    assert (system.sample.references, human.sample.references) == (("Jedna",), ())
    assert system.meta == {"language_pair": "en-cs", "domain": "news", "document": "d"}


def test_scores_by_segment_and_system(tmp_path: Path) -> None:
    scores = {"A": [{"score": 80, "annotator": "x", "errors": []}, {"score": 60.5, "annotator": "y", "errors": []}],
              "refA": [{"score": 95, "annotator": "x", "errors": []}]}  # fmt: skip
    row = {"doc_id": "en-cs_CZ_#_news_#_1", "src_text": "one", "scores": scores}
    path = lines(tmp_path / "humeval.jsonl", row | {"tgt_text": {"A": "jeden", "refA": "Jedna", "B": "x"}})
    system, human, unrated = read_ratings(path)
    assert (system.human, unrated.human) == ({"esa": (80.0, 60.5)}, {})
    assert (system.sample.references, human.sample.references) == (("Jedna",), ())
    assert system.meta == {"language_pair": "en-cs_CZ"}


def wmt(folder: Path, pair: str, systems: Sequence[str] = ("sys1",)) -> None:
    put(folder / "sources" / f"{pair}.txt", "one\ntwo\n")
    put(folder / "references" / f"{pair}.refA.txt", f"A1 {pair}\nA2\n")
    put(folder / "references" / f"{pair}.refB.txt", "B1\nB2\n")
    put(folder / "documents" / f"{pair}.docs", "news\td1\nsocial\td2\n")
    scores = ""
    for system in systems:
        put(folder / "system-outputs" / pair / f"{system}.txt", f"{system} 1\n{system} 2\n")
        scores += f"{system}\t-1\n{system}\t-2\n"
    put(folder / "human-scores" / f"{pair}.mqm.seg.score", scores + "refA\t0\nrefA\tNone\n")


def test_a_wmt_folder_gives_every_language_pair(tmp_path: Path) -> None:
    wmt(tmp_path, "en-de")
    wmt(tmp_path, "zh-en")
    rated = read_ratings(tmp_path)
    assert [item.meta["language_pair"] for item in rated] == ["en-de"] * 4 + ["zh-en"] * 4
    assert rated[0].sample.references == ("A1 en-de",)
    assert len({item.id for item in rated}) == 8
    chosen = RatingsChoice(("zh-en",), ("social",), human_systems=False, reference="refB")
    (item,) = read_ratings(tmp_path, choice=chosen)
    assert (item.id, item.sample.references, item.human) == ("zh-en/1/sys1", ("B2",), {"mqm": (-2.0,)})


def test_the_audit_takes_the_same_choice(tmp_path: Path) -> None:
    wmt(tmp_path, "en-de", ("sys1", "sys2"))
    wmt(tmp_path, "zh-en", ("sys1", "sys2"))
    whole, part = Human(data=(tmp_path,)), Human(
        data=(tmp_path,), language_pair=("zh-en",), domain=("news",), human_systems=False, reference="refB"
    )  # fmt: skip
    assert (len(whole.items), list(whole.items.places)) == (12, ["en-de", "zh-en"])
    assert [case.samples["hypothesis"].references for case in part.cases()] == [("B1",), ("B1",)]


def test_a_wmt_reference_is_never_a_systems_own(tmp_path: Path) -> None:
    wmt(tmp_path, "en-de")
    human = {
        reference: next(item for item in read_ratings(tmp_path, choice=RatingsChoice(reference=reference)) if item.system == "refA")
        for reference in (None, "refA", "refB", "all")
    }  # fmt: skip
    assert {item.sample.references for item in human.values()} == {("B1",)}
    both = read_ratings(tmp_path, choice=RatingsChoice(reference="all"))[0]
    assert both.sample.references == ("A1 en-de", "B1")
    with pytest.raises(DataError, match=r"no reference 'refC'.*there are refA, refB"):
        read_ratings(tmp_path, choice=RatingsChoice(reference="refC"))


# --- summaries ---


REALSUMM = {
    7: {"doc_id": 7, "ref_summ": "The reference.", "system_summaries": OrderedDict({
        "bart": {"system_summary": "One.", "scores": {"litepyramid_recall": np.float64(0.25), "rouge_1": 0.9}}})}
}  # fmt: skip


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_realsumm_pickle(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "abs.pkl"
    path.write_bytes(pickle.dumps(REALSUMM, protocol=protocol))
    (item,) = read_ratings(path)
    assert (item.id, item.human) == ("7/bart", {"litepyramid_recall": (0.25,)})


def test_plain_values_of_a_pickle(tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(
        pickle.dumps({1: ("a", 2.5, None, True, {3}, np.float32(0.5), np.int64(7), float("nan"))})
    )
    assert read_pickle(path) == {"1": ["a", 2.5, None, True, [3], 0.5, 7, None]}


class Runs:
    """Unpickling it freely would call a function."""

    def __init__(self, call: object, *given: object) -> None:
        self.call, self.given = call, given

    def __reduce__(self) -> object:
        return self.call, self.given


def test_no_code_in_a_pickle_is_run(tmp_path: Path) -> None:
    path, mark = tmp_path / "x.pkl", tmp_path / "mark"
    for harmful in (
        Runs(Path.touch, mark),
        Runs(eval, f"open({str(mark)!r}, 'w')"),
        Runs(getattr, "", "join"),
        Path,
    ):
        path.write_bytes(pickle.dumps({"7": harmful}))
        with pytest.raises(DataError, match="it names"):
            read_ratings(path)
    assert not mark.exists()


def test_a_damaged_or_endless_pickle_is_refused(tmp_path: Path) -> None:
    shared: list[object] = []
    for _ in range(60):
        shared = [shared, shared]
    endless: list[object] = []
    endless.append(endless)
    path = tmp_path / "x.pkl"
    for raw in (b"", b"x", b"\x80\x04", pickle.dumps(shared), pickle.dumps(endless), b"\x80\x04Pabc\n."):
        path.write_bytes(raw)
        with pytest.raises(DataError, match="cannot be read safely"):
            read_pickle(path)


def test_seahorse_questions(tmp_path: Path) -> None:
    head = ["gem_id", "worker_lang", "summary", "model", *(f"question{n}" for n in range(1, 7))]
    row = ["xsum-1", "de", "Kurz.", "mt5", "Yes", "No", "Unsure", "Yes", "", "No"]
    (item,) = read_ratings(table(tmp_path / "test.tsv", head, row))
    assert item.human == {
        "comprehensible": (1.0,), "repetition": (0.0,), "attribution": (1.0,), "conciseness": (0.0,)
    }  # fmt: skip
    assert (item.doc, item.system, item.meta) == ("xsum-1", "mt5", {"language": "de"})
    with pytest.raises(
        DataError, match="line 2: column 'question1' must be one of Yes, No, Unsure, not 'Maybe'"
    ):
        read_ratings(table(tmp_path / "odd.tsv", head, [*row[:4], "Maybe", *row[5:]]))


def test_rose_units(tmp_path: Path) -> None:
    labels = {"acu_labels": [1, 0], "acu": 0.5, "normalized_acu": 0.4, "prior": 3}
    row = {"source": "Long.", "reference": "Short.", "count_id": 0, "example_id": "x", "acus": ["u", "v"],
           "annotations": {"bart": labels}, "system_outputs": {"bart": "Text.", "gold": None}}  # fmt: skip
    (item,) = read_ratings(put(tmp_path / "cnndm.json", [row]))
    assert item.human == {"acu": (0.5,), "normalized_acu": (0.4,), "prior": (3.0,)}
    assert (item.id, item.sample.source, item.sample.references) == ("x/bart", "Long.", ("Short.",))
    assert read_ratings(lines(tmp_path / "cnndm.jsonl", row)) == [item]


def test_claims_and_their_documents(tmp_path: Path) -> None:
    claim = {"dataset": "XSum", "doc": "D.", "claim": "C.", "label": 1, "contamination_identifier": "c"}
    (item,) = read_ratings(lines(tmp_path / "test.jsonl", claim))
    assert (item.sample.hypothesis, item.sample.source, item.human) == ("C.", "D.", {"supported": (1.0,)})
    assert item.meta == {"dataset": "XSum"}
    path = table(
        tmp_path / "paws.csv", ["grounding", "generated_text", "label"], ["D.", "G.", "0"], separator=","
    )
    (item,) = read_ratings(path)
    assert (item.sample.hypothesis, item.sample.source, item.human) == ("G.", "D.", {"consistent": (0.0,)})


# --- dialogue ---


def test_dstc_turns_share_their_context(tmp_path: Path) -> None:
    turn = {
        "dialogue_id": "D6-1",
        "context": "Hi.\nHello: you?",
        "reference": "Fine.",
        "annotations": {"Overall": [4, 5]},
    }
    path = put(
        tmp_path / "dstc6_eval.json",
        [turn | {"model": "m1", "response": "Note: ok."}, turn | {"model": "m2", "response": "No.", "reference": "NO REF"}],
    )  # fmt: skip
    first, second = read_ratings(path)
    assert (first.sample.hypothesis, first.sample.references, first.human) == (
        "Note: ok.",
        ("Fine.",),
        {"Overall": (4.0, 5.0)},
    )
    assert (first.system, first.doc, second.sample.references) == ("m1", None, ())
    assert first.sample.source == second.sample.source


def test_dstc_dialogues(tmp_path: Path) -> None:
    turns = [{"speaker": "human", "text": "Hi."}, {"speaker": "model", "text": "Hello."}]
    value = [{"dialogue_id": "P-1", "model": "m", "dialogue": turns, "annotations": {"Likeable": [3]}}]
    (item,) = read_ratings(put(tmp_path / "persona_eval.json", value))
    assert (item.sample.hypothesis, item.human) == (
        "human: Hi.\nmodel: Hello.",
        {"dialogue:Likeable": (3.0,)},
    )


# --- captions ---


def picture(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"not really a picture")
    return str(path)


def test_flickr8k_attaches_the_images_that_are_there(tmp_path: Path) -> None:
    put(tmp_path / "Flickr8k.token.txt", "1.jpg#0\tA dog runs .\n2.jpg#0\tA man sits .\n")
    put(tmp_path / "CrowdFlowerAnnotations.txt", "1.jpg\t2.jpg#0\t0.25\t1\t3\n2.jpg\t2.jpg#0\t1\t3\t0\n")
    image = picture(tmp_path / "Flicker8k_Dataset" / "1.jpg")
    crowd, other = read_ratings(tmp_path)
    assert (crowd.human, crowd.sample.references) == ({"overall": (0.25,)}, ("A dog runs .",))
    assert crowd.sample.image is not None
    assert crowd.sample.image.path == image
    assert other.sample.image is None
    put(tmp_path / "ExpertAnnotations.txt", "1.jpg\t2.jpg#0\t1\t1\t2\n")
    (expert,) = read_ratings(tmp_path)
    assert (expert.human, expert.sample.image) == ({"overall": (1.0, 1.0, 2.0)}, crowd.sample.image)


def test_clipscore_json_attaches_images_below_its_folder_only(tmp_path: Path) -> None:
    image = picture(tmp_path / "data" / "Flicker8k_Dataset" / "1.jpg")
    picture(tmp_path / "secret.jpg")
    judged = {"ground_truth": ["The dog"], "human_judgement": [{"caption": "A dog", "rating": 0.25}]}
    value = {
        "1": judged | {"image_path": "Flicker8k_Dataset/1.jpg"},
        "2": judged | {"image_path": "../secret.jpg"},
    }
    first, second = read_ratings(put(tmp_path / "data" / "flickr8k.json", value))
    assert first.sample.image is not None
    assert first.sample.image.path == image
    assert (second.sample.image, second.doc) == (None, "2")


def test_composite_attaches_images(tmp_path: Path) -> None:
    put(tmp_path / "Flickr8k.token.txt", "12_ab.jpg#0\tA dog .\n")
    head = "HITId;Input.image_url;Input.text1;Input.text2;Answer.Q1;Answer.Q2\n"
    put(tmp_path / "8k_correctness.csv", head + "h;http://x/12_ab.jpg;One;Two;5;2\n")
    image = picture(tmp_path / "images" / "12_ab.jpg")
    first, _ = read_ratings(tmp_path)
    assert first.sample.image is not None
    assert first.sample.image.path == image


def test_polaris_lists_as_python_writes_them(tmp_path: Path) -> None:
    image = picture(tmp_path / "images" / "abc.jpg")
    head, row = "mt,refs,score,imgid\n", '"a dog","[\'A dog.\', ""The dog\'s.""]",0.75,abc\n'
    (item,) = read_ratings(put(tmp_path / "polaris_test.csv", head + row))
    assert (item.sample.references, item.human) == (("A dog.", "The dog's."), {"overall": (0.75,)})
    assert item.sample.image is not None
    assert item.sample.image.path == image
    with pytest.raises(DataError, match="line 2: column 'refs' must be a list of texts"):
        read_ratings(put(tmp_path / "odd.csv", head + "a dog,open('x'),0.75,abc\n"))


def test_pascal_50s_votes(tmp_path: Path) -> None:
    from scipy.io import savemat

    def cell(text: str) -> np.ndarray:
        array = np.empty((1, 1), dtype=object)
        array[0, 0] = text
        return array

    triplets = np.empty((1, 96), dtype=[(name, object) for name in "ABCD"])
    for n in range(96):
        texts = (f"ref {n % 48}", f"first {n // 48} ", f"second {n // 48}")
        triplets[0, n] = (*map(cell, texts), 1 if n % 48 < 36 else -1)
    pairs = np.empty((1, 2), dtype=[(name, object) for name in "ABC"])
    for n in range(2):
        pairs[0, n] = (f"img{n}.jpg", f"first {n}", f"second {n}")
    savemat(tmp_path / "consensus_pascal.mat", {"triplets": triplets})
    savemat(tmp_path / "pair_pascal.mat", {"new_input": pairs})
    image = picture(tmp_path / "images" / "img1.jpg")
    rated = read_ratings(tmp_path / "consensus_pascal.mat")
    assert [(item.sample.hypothesis, item.human) for item in rated[:2]] == [
        ("first 0", {"overall": (0.75,)}), ("second 0", {"overall": (0.25,)})
    ]  # fmt: skip
    assert [item.doc for item in rated] == ["img0.jpg"] * 2 + ["img1.jpg"] * 2
    assert len(rated[0].sample.references) == 48
    assert rated[2].sample.image is not None
    assert rated[2].sample.image.path == image


# --- what is not recognised ---


def test_a_near_miss_names_the_nearest_forms(tmp_path: Path) -> None:
    path = table(tmp_path / "x.tsv", ["lp", "src", "xyz", "ref", "score"], ["a", "b", "c", "d", "1"])
    with pytest.raises(DataError, match=r"wmt-da \(lacks mt\).*`assay list formats` shows all"):
        read_ratings(path)
    put(tmp_path / "folder" / "Flickr8k.token.txt", "1.jpg#0\tA dog .\n")
    with pytest.raises(DataError, match=r"flickr8k-expert \(lacks ExpertAnnotations.txt\)"):
        read_ratings(tmp_path / "folder")


def test_columns_of_our_own_come_first(tmp_path: Path) -> None:
    row = {"id": "x", "hypothesis": "Mine.", "prompt": "P", "chosen": "C", "rejected": "R", "human": 2}
    (item,) = read_ratings(lines(tmp_path / "own.jsonl", row))
    assert (item.sample.hypothesis, item.human) == ("Mine.", {"overall": (2.0,)})
