"""A valid small example of every form of data assay reads: a folder of files, and who reads it."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from assay.api.runs import load_run
from assay.audits.checklist.audit import read_penalties
from assay.datasets.association import read_published
from assay.datasets.captions import read_captions
from assay.datasets.imported import read_scores
from assay.datasets.pairs import read_pair_files
from assay.datasets.published.corpora import read_records as read_corpus
from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import read_samples
from assay.datasets.records import read_record_table, read_text_sets
from assay.datasets.swaps import read_swaps

Files = Mapping[str, bytes]
PAIR = {"id": "p1", "attribute": "age", "stereotype": "The old man.", "anti_stereotype": "The young man.",
        "reference": "The man.", "image": None}  # fmt: skip
RECORD = {
    "id": "r1",
    "gold": "A cat sat.",
    "references": ["The cat sat."],
    "source": "Le chat.",
    "task": "translation",
}
SAMPLE = {
    "id": "s1",
    "hypothesis": "A cat.",
    "references": ["The cat."],
    "system": "a",
    "doc": 1,
    "human": {"fluency": [1, 2.5]},
}
CAPTION = {
    "group": "man",
    "category": "x",
    "concept": "y",
    "good": "A man.",
    "bad": "A woman.",
    "references": ["A man."],
    "count": 2,
}
WORDS = {"category": "c", "examples": ["He is here.", "She is there."]}
TEST = dict.fromkeys(("targ1", "targ2", "attr1", "attr2"), WORDS) | {
    "targ2": {"category": "d", "examples": ["This is it.", "That is."]}
}
SUMMEVAL = {"id": "d1", "model_id": "M1", "decoded": "A text.", "references": ["Ref."], "text": "Src.",
            "expert_annotations": [{"coherence": 1, "fluency": 5}], "turker_annotations": [{"coherence": 2}]}  # fmt: skip
PREFERENCE = {
    "system_a": "x",
    "system_b": "y",
    "hypothesis_a": "one",
    "hypothesis_b": "two",
    "preference": "a",
    "doc": 1,
}
REALSUMM = [
    {
        "doc_id": 1,
        "ref_summ": "r",
        "src": "s",
        "system_summaries": {"m": {"system_summary": "t", "scores": {"litepyramid_recall": 0.5}}},
    }
]
USR = [{"context": "hi", "fact": "f", "responses": [{"response": "yes", "model": "m", "Overall": [1, 2]},
                                                    {"response": "no", "model": "Original Ground Truth", "Overall": [3]}]}]  # fmt: skip
FED = [{"context": "User: hi", "response": "System: yes", "system": "m", "annotations": {"Fluent": [0, 1]}}]
QGEVAL = [
    {
        "id": "q",
        "passage": "p",
        "answer": "a",
        "reference": "r",
        "questions": [{"prediction": "why?", "source": "m_x", "fluency": 2}],
    }
]
JUDGED = {"img.jpg": {"ground_truth": ["a dog"], "human_judgement": [{"caption": "dog", "rating": 3}]}}
WEBNLG = [{"submission_id": "sys", "sample_id": "1", "Fluency": 50, "Correctness": 60, "category": "c"}]
WEBNLG_REFERENCES = {
    "entries": [
        {
            "1": {
                "lexicalisations": [{"lex": "t"}],
                "modifiedtripleset": [{"subject": "a", "property": "b", "object": "c"}],
            }
        }
    ]
}


def _lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _parquet(*rows: Any) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(list(rows)).write_parquet(out)
    return out.getvalue()


# A target: the files, the one that is mutated last but most, and how the folder is read.
Target = tuple[Files, Callable[[Path], object]]
TARGETS: dict[str, Target] = {
    "pairs": ({"a.jsonl": _lines(PAIR, PAIR | {"id": "p2"})}, lambda f: read_pair_files((f / "a.jsonl",))),
    "pairs-csv": (
        {"a.csv": b"stereotype,anti_stereotype,reference\nold,young,man\n\"a \"\"b\"\"\",c,[\"d\"]\n"},
        lambda f: read_pair_files((f / "a.csv",)),
    ),
    "pairs-candidates": (
        {"a.tsv": b"candidate\treference\nold\tman\nyoung\tman\n"}, lambda f: read_pair_files((f / "a.tsv",)),
    ),
    "pairs-parquet": ({"a.parquet": _parquet(PAIR)}, lambda f: read_pair_files((f / "a.parquet",))),
    "winobias": (
        {"pro_stereotyped_type1.txt.dev": b"1 [The cook] ran because [he] was late.\n",
         "anti_stereotyped_type1.txt.dev": b"1 [The cook] ran because [she] was late.\n"},
        lambda f: read_pair_files((f,)),
    ),
    "records": (
        {"a.jsonl": _lines(RECORD, RECORD | {"doc": 1}), "a_sources.jsonl": _lines({"doc": 1, "source": "x"})},
        lambda f: read_record_table(f / "a.jsonl"),
    ),
    "texts": ({"a.txt": b"one\ntwo\n", "b.txt": b"three\nfour\n"}, lambda f: read_text_sets(f / "a.txt", f / "b.txt")),
    "samples": ({"a.jsonl": _lines(SAMPLE, SAMPLE | {"id": "s2"})}, lambda f: read_samples(f / "a.jsonl")),
    "samples-csv": (
        {"a.csv": b"hypothesis,references,human.fluency,doc\na,\"[\"\"b\"\"]\",3,1\n"}, lambda f: read_samples(f / "a.csv"),
    ),
    "captions": ({"a.jsonl": _lines(CAPTION)}, lambda f: read_captions(f / "a.jsonl")),
    "association": ({"sent-a.jsonl": _lines(TEST)}, lambda f: read_published(f / "sent-a.jsonl")),
    "swaps": ({"a.tsv": b"he\tshe\nman\twoman\n"}, lambda f: read_swaps(f / "a.tsv")),
    "scores-long": ({"a.jsonl": _lines({"case": "a", "role": "gold", "metric": "m", "score": 0.5})}, lambda f: read_scores(str(f / "a.jsonl"))),
    "scores-wide": ({"a.csv": b"case,role,m1,m2\na,gold,0.5,1\n"}, lambda f: read_scores(str(f / "a.csv"))),
    "scores-column": ({"a.jsonl": _lines({"id": "a", "s": {"m": [1, 2]}})}, lambda f: read_scores(f"{f / 'a.jsonl'}:s")),
    "penalties": ({"a.jsonl": _lines({"task": "translation", "template": "jumble", "item": "a", "penalty": [3, 4]})}, lambda f: read_penalties(f / "a.jsonl")),
    "summeval": ({"a.jsonl": _lines(SUMMEVAL)}, lambda f: read_ratings(f / "a.jsonl")),
    "preferences": ({"a.jsonl": _lines(PREFERENCE)}, lambda f: read_ratings(f / "a.jsonl")),
    "realsumm": ({"a.json": json.dumps(REALSUMM).encode()}, lambda f: read_ratings(f / "a.json")),
    "usr": ({"a.json": json.dumps(USR).encode()}, lambda f: read_ratings(f / "a.json")),
    "fed": ({"a.json": json.dumps(FED).encode()}, lambda f: read_ratings(f / "a.json")),
    "qgeval": ({"a.json": json.dumps(QGEVAL).encode()}, lambda f: read_ratings(f / "a.json")),
    "judgements": ({"a.json": json.dumps(JUDGED).encode()}, lambda f: read_ratings(f / "a.json")),
    "webnlg": (
        {"evaluation/human-evaluation/results/en/english_humeval_data_all_teams.json": json.dumps(WEBNLG).encode(),
         "evaluation/references/references-en.json": json.dumps(WEBNLG_REFERENCES).encode(),
         "submissions/rdf2text/en/sys/primary.en": b"A text.\n"},
        read_ratings,
    ),
    "wmt": (
        {"human-scores/en-de.mqm.seg.score": b"sys 1.5\nsys None\n", "sources/en-de.txt": b"a\nb\n",
         "references/en-de.refA.txt": b"c\nd\n", "system-outputs/en-de/sys.txt": b"e\nf\n", "documents/en-de.docs": b"x d1\nx d1\n"},
        read_ratings,
    ),
    "flickr8k": (
        {"ExpertAnnotations.txt": b"i.jpg\ti.jpg#0\t1\t2\t3\n", "Flickr8k.token.txt": b"i.jpg#0\ta dog\n"}, read_ratings,
    ),
    "composite": (
        {"8k_correctness.csv": b"Input.image;Input.text1;Answer.a1\nx/1_a.jpg;a dog;3\n", "Flickr8k.token.txt": b"1_a.jpg#0\ta dog\n",
         "dataset_coco.json": json.dumps({"images": [{"filename": "1.jpg", "sentences": [{"raw": "a dog"}]}]}).encode()},
        read_ratings,
    ),
}  # fmt: skip
ANSWERS = {"prompt": "Q?", "subset": "x", "id": 1}
ESA = {
    "langs": "en-cs",
    "line_id": 0,
    "src": "a",
    "tgt": "b",
    "system": "refA",
    "esa_score": "80",
    "doc_id": "d",
}
ROSE = {
    "source": "L.",
    "reference": "S.",
    "annotations": {"b": {"acu_labels": [1], "acu": 0.5}},
    "system_outputs": {"b": "T."},
}
STEREOSET = {"data": {"intersentence": [], "intrasentence": [{
    "id": "t", "bias_type": "gender", "context": "They are BLANK.",
    "sentences": [{"sentence": "They are old.", "gold_label": "stereotype"}, {"sentence": "They are new.", "gold_label": "anti-stereotype"}],
}]}}  # fmt: skip
BBQ = {
    "question_polarity": "neg", "context_condition": "ambig", "additional_metadata": {"stereotyped_groups": ["old"]},
    "answer_info": {"ans0": ["a", "old"], "ans1": ["u", "unknown"], "ans2": ["b", "nonOld"]}, "context": "C.",
    "question": "Q?", "ans0": "A", "ans1": "U", "ans2": "B", "category": "Age", "example_id": 1,
}  # fmt: skip
SQUAD = {
    "data": [
        {
            "paragraphs": [
                {"context": "C.", "qas": [{"id": "q", "question": "Q?", "answers": [{"text": "A"}]}]}
            ]
        }
    ]
}
XML = b'<dataset id="x">\n<doc id="d"><src><p><seg id="1">a</seg></p></src><ref><p><seg id="1">b</seg></p></ref></doc>\n</dataset>'
BENCHMARK = b"<benchmark>\n<entries>\n<entry><modifiedtripleset><mtriple>a | b | c</mtriple></modifiedtripleset><lex>T.</lex></entry></entries></benchmark>"
MQM = b"system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\nref\td\t1\t1\tr\ta\tb <v>c</v>\tFluency/Punctuation\tMinor\n"
PUBLISHED: dict[str, tuple[str, bytes]] = {
    "mqm": ("a.tsv", MQM),
    "da": ("a.csv", b"lp,src,mt,ref,score,raw\nen-de,a,b,c,0.5,60\n"),
    "esa": ("a.jsonl", _lines(ESA)),
    "humeval": ("a.jsonl", _lines({"doc_id": "d", "src_text": "a", "tgt_text": {"A": "b"}, "scores": {"A": [{"score": 1}]}})),
    "seahorse": ("a.tsv", b"gem_id\tworker_lang\tsummary\tmodel\tquestion1\tquestion2\nx\tde\tS\tm\tYes\tNo\n"),
    "rose": ("a.json", json.dumps([ROSE]).encode()),
    "dstc": ("a.json", json.dumps([{"dialogue": [{"speaker": "x", "text": "Hi."}], "annotations": {"Likeable": [3]}}]).encode()),
    "polaris": ("a.csv", b"mt,refs,score,imgid\na dog,\"['A dog.']\",0.5,x\n"),
    "pickle": ("a.pkl", pickle.dumps(REALSUMM)),
    "rewardbench": ("a.jsonl", _lines(ANSWERS | {"chosen": "A", "rejected": "B"})),
    "rewardbench-2": ("a.jsonl", _lines(ANSWERS | {"chosen": ["A"], "rejected": ["B"], "num_correct": 1})),
    "judgebench": ("a.jsonl", _lines({"question": "Q?", "response_A": "A", "response_B": "B", "label": "A>B"})),
    "arena": ("a.jsonl", _lines({"model_a": "x", "model_b": "y", "winner": "tie", "conversation_a": [{"content": "Q"}, {"content": "A"}], "conversation_b": [{"content": "Q"}, {"content": "B"}]})),
    "arena-table": ("a.csv", b'model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\nx,y,"[""Q""]","[""A""]","[null]",0,1,0\n'),
    "helpsteer": ("a.jsonl", _lines({"context": [{"role": "user", "content": "Q"}], "response1": "A", "response2": "B", "overall_preference": 1})),
    "stereoset": ("a.json", json.dumps(STEREOSET).encode()),
    "bbq": ("a.jsonl", _lines(BBQ)),
    "holisticbias": ("a.csv", b"text,axis,descriptor,noun,plural_noun,template\nI'm a tall aunt.,body,tall,aunt,aunts,I'm {noun_phrase}.\nI'm a big aunt.,body,big,aunt,aunts,I'm {noun_phrase}.\n"),
    "winomt": ("a.txt", b"male\t1\tThe mechanic said he slept.\tmechanic\nfemale\t1\tThe mechanic said she slept.\tmechanic\n"),
    "dailydialog": ("a.jsonl", _lines({"context": ["Hi."], "positive_responses": ["A", "B"]})),
    "squad": ("a.json", json.dumps(SQUAD).encode()),
    "newstest": ("a.xml", XML),
    "webnlg-xml": ("a.xml", BENCHMARK),
    "wikitext": ("a.raw", b" = T = \n" + b" It rained @-@ a lot . " * 60 + b"\n"),
}  # fmt: skip
_PAIRS = ("stereoset", "bbq", "holisticbias", "winomt")
_CORPORA = ("dailydialog", "squad", "newstest", "webnlg-xml", "wikitext")


def _reader(name: str, file: str) -> Callable[[Path], object]:
    if name in _PAIRS:
        return lambda folder: read_pair_files((folder / file,))[0]
    return lambda folder: (read_corpus if name in _CORPORA else read_ratings)(folder / file)


TARGETS |= {name: ({file: body}, _reader(name, file)) for name, (file, body) in PUBLISHED.items()}
OUTSIDE = load_run
