"""Texts to perturb, each in a small file in the exact published form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.datasets.published.corpora import cleaned, read_records
from assay.errors import DataError


def put(path: Path, text: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
    return path


def test_dailydialog(tmp_path: Path) -> None:
    row = {"id": 0, "context": ["Hi.", "Hello."], "positive_responses": ["One.", "Two.", "Three."],
           "adversarial_negative_responses": ["No."], "random_negative_responses": ["Never."]}  # fmt: skip
    (record,) = read_records(put(tmp_path / "dev.jsonl", json.dumps(row)))
    assert (record.gold, record.references, record.context) == ("Three.", ("One.", "Two."), ("Hi.", "Hello."))
    assert record.task == "dialogue"
    with pytest.raises(DataError, match="line 1: column 'positive_responses' must hold a response"):
        read_records(put(tmp_path / "odd.jsonl", json.dumps(row | {"positive_responses": []})))


def test_squad(tmp_path: Path) -> None:
    answered = {"id": "q1", "question": " Who? ", "answers": [{"text": "Ann", "answer_start": 0}]}
    unanswered = {"id": "q2", "question": "Why?", "answers": [], "is_impossible": True}
    paragraph = {"context": "Ann swam.", "qas": [answered, unanswered]}
    value = {"version": "v2.0", "data": [{"title": "T", "paragraphs": [paragraph]}]}
    (record,) = read_records(put(tmp_path / "dev-v2.0.json", value))
    assert (record.id, record.gold, record.references) == ("q1", "Who?", ("Who?",))
    assert (record.source, record.task) == ("Ann swam.\nAnn", "question-generation")


TRIPLE = {"subject": "Ann", "property": "born", "object": "Bonn"}


def test_webnlg_as_json_and_as_xml(tmp_path: Path) -> None:
    entry = {
        "category": "Person",
        "lexicalisations": [{"lex": "One."}, {"lex": "Two."}],
        "modifiedtripleset": [TRIPLE],
    }
    (record,) = read_records(put(tmp_path / "test.json", {"entries": [{"1": entry}]}))
    assert (record.gold, record.references, record.source) == ("Two.", ("One.",), "Ann | born | Bonn")
    xml = """<?xml version="1.0" ?>
<benchmark>
  <entries>
    <entry category="Person" eid="Id1" shape="(X (X))" shape_type="NA" size="1">
      <originaltripleset><otriple>Ann | birth | Bonn</otriple></originaltripleset>
      <modifiedtripleset><mtriple>Ann | born | Bonn</mtriple></modifiedtripleset>
      <lex comment="good" lid="Id1" lang="en">One.</lex>
      <lex comment="good" lid="Id2" lang="en">Two
        lines.</lex>
    </entry>
  </entries>
</benchmark>"""
    (record,) = read_records(put(tmp_path / "test.xml", xml))
    assert (record.gold, record.references, record.source) == ("Two lines.", ("One.",), "Ann | born | Bonn")
    assert record.task == "data-to-text"
    bomb = xml.replace("<benchmark>", '<!DOCTYPE x [<!ENTITY a "aaaa">]>\n<benchmark>')
    with pytest.raises(DataError, match="DOCTYPE"):
        read_records(put(tmp_path / "bomb.xml", bomb))
    with pytest.raises(DataError, match=r"not XML .*line 9"):
        read_records(put(tmp_path / "cut.xml", "\n".join(xml.split("\n")[:9]) + "<"))


def test_newstest_with_two_references(tmp_path: Path) -> None:
    def side(tag: str, who: str, *texts: str) -> str:
        segments = "".join(f'<seg id="{n}">{text}</seg>' for n, text in enumerate(texts, start=1))
        return f'<{tag} lang="en" translator="{who}"><p>{segments}</p></{tag}>'

    xml = f"""<?xml version='1.0' encoding='utf-8'?>
<dataset id="newstest2021">
  <doc origlang="de" id="zeit.1">
    {side("src", "", "Eins.", "Zwei.")}
    {side("ref", "A", "One &amp; only.", "Two.")}
    {side("ref", "B", "The one.", "Both.")}
  </doc>
</dataset>"""
    first, second = read_records(put(tmp_path / "newstest2021.de-en.all.xml", xml))
    assert (first.id, first.gold, first.references, first.source) == (
        "zeit.1-1", "The one.", ("One & only.",), "Eins."
    )  # fmt: skip
    assert (second.gold, second.task) == ("Both.", "translation")


def test_the_references_of_a_wmt_folder(tmp_path: Path) -> None:
    put(tmp_path / "sources" / "de-en.txt", "Eins.\nZwei.\n")
    put(tmp_path / "references" / "de-en.refA.txt", "One.\nTwo.\n")
    put(tmp_path / "references" / "de-en.refB.txt", "The one.\nBoth.\n")
    first, second = read_records(tmp_path)
    assert (first.gold, first.references, second.gold) == ("The one.", ("One.",), "Both.")
    put(tmp_path / "references" / "de-en.refB.txt", "The one.\n")
    with pytest.raises(DataError, match=r"refB\.txt has 2 lines where the source has 3"):
        read_records(tmp_path)


def test_wikitext_is_cleaned_as_in_the_paper(tmp_path: Path) -> None:
    assert cleaned(' It cost 3 @.@ 5 % ; Ann \'s ( old ) 20 @-@ year plan ? " No " , she said . ') == (
        'It cost 3.5%; Ann\'s (old) 20-year plan? "No", she said.'
    )
    sentence = "Number {} is one of the many lines in here . "
    long = [" " + "".join(sentence.format(10 * n + k) for k in range(40)) + "\n" for n in range(4)]
    text = " \n = Title = \n \n" + long[0] + " = = Part = = \n" + " Too short . \n" + "".join(long[1:])
    records = read_records(put(tmp_path / "wiki.test.raw", text))
    assert len(records) == 2
    assert all(record.task == "open-ended" and len(record.references) == 2 for record in records)
    gold = records[0].gold
    assert gold.startswith("Number 0 is")
    assert gold.endswith("in here.")
    assert 240 < len(gold.split()) <= 256
    assert records[1].gold.startswith("Number 20")
    assert records[0].references[0].startswith("Number 10")


def test_what_is_not_recognised(tmp_path: Path) -> None:
    row = {"contexts": ["Hi."], "positive_responses": ["One."]}
    with pytest.raises(
        DataError,
        match=r"column 'gold' \(or hypothesis, or references\) is missing.*dailydialog\+\+ \(lacks context\)",
    ):
        read_records(put(tmp_path / "x.jsonl", json.dumps(row)))
    with pytest.raises(DataError, match="no records are recognised"):
        read_records(tmp_path)


def test_columns_of_our_own_come_first(tmp_path: Path) -> None:
    row = {"gold": "Mine.", "references": ["R."], "context": ["Hi."], "positive_responses": ["One."]}
    (record,) = read_records(put(tmp_path / "own.jsonl", json.dumps(row)))
    assert record.gold == "Mine."
