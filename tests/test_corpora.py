"""Lint of the embedded task corpora: form, size, variety, plain English, and nothing taken from elsewhere."""

import csv
import json
import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

CORPORA = files("assay.data") / "corpora"
SHARED = Path(__file__).parents[2] / "shared" / "data"
CARD_KEYS = ("title", "what", "how_written", "language", "size", "licence", "date", "limits")

# name: (id pattern, items, fewest references, greatest word overlap of gold and reference)
SHAPES = {
    "captions": (r"caption-\d{3}", 147, 4, 0.8),
    "data_to_text": (r"data-to-text-\d{3}", 101, 2, 0.9),  # the triples fix names and figures
    "dialogue": (r"dialogue-\d{3}", 119, 3, 0.75),
    "open_ended": (r"open-(gold|reference)-\d{3}", 160, 0, 0.75),
    "question_generation": (r"question-generation-\d{3}", 102, 2, 0.75),
    "summarisation": (r"summarisation-\d{3}", 64, 2, 0.75),
    "translation": (r"translation-\d{3}", 214, 3, 0.75),
}
NAMES = sorted(
    SHAPES.keys() | {p.name.removesuffix(".jsonl") for p in CORPORA.iterdir() if p.name.endswith(".jsonl")}
)
every_corpus = pytest.mark.parametrize("name", NAMES)

# Spelt with a vowel, spoken with a consonant; and the reverse.
SPOKEN_CONSONANT = re.compile(
    r"(uni(?!n|m|dent)|use|usu|uti|eu|ewe|once\b|one\b|ubiq|uran|ukulele|u-|uk\b|us\b|un\b|unesco)"
)
SPOKEN_VOWEL = re.compile(r"(hour|honest|honou?r|heir|x-ray|[fhlmnrsx]-|8|1[18](?!\d))")
# An upper-case A inside a sentence is a letter ("vitamin A"); it is an article only where one starts.
ARTICLE = re.compile(r"(?:(?<!')\b(a)|(?:^|(?<=[.!?:] )|(?<=\"))(A)|(?<!')\b([Aa]n)) +[\"(']?([\w][\w'-]*)")
SENTENCE_END = re.compile(
    r"(?<![A-Z])(?<!\b[MD]r)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\bNo)[.!?][\"')]*\s+(?=[\"'(]*[A-ZÀ-Þ\d])"
)
FINAL = re.compile(r"[.!?。！？…][\"')»”]*$")
FIRST_PERSON = re.compile(r"\b(I|my|we|our)\b", re.IGNORECASE)


@cache
def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPORA / f"{name}.jsonl").read_text("utf-8").splitlines()]


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


def sentences(text: str) -> list[str]:
    return [s for s in SENTENCE_END.split(text) if s.strip()]


def texts(value: Any) -> Iterator[str]:
    """Every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        yield from texts(list(value.values()))


def english(name: str) -> Iterator[tuple[str, str]]:
    """(id, text) of all English prose: not foreign sources, not triples."""
    for record in records(name):
        keys = ["gold", "references", "context"]
        if name not in ("translation", "data_to_text"):
            keys.append("source")
        for key in keys:
            yield from ((record["id"], text) for text in texts(record.get(key)))


def wrong_articles(text: str) -> list[str]:
    wrong = []
    for match in ARTICLE.finditer(text):
        article, word = (match[1] or match[2] or match[3]).lower(), match[4]
        if word.isupper() and len(word) <= 3:  # initials are spelt out: an MP, a UN vote
            vowel = word[0] in "AEFHILMNORSX"
        else:
            spoken = unicodedata.normalize("NFD", word.lower())
            vowel = spoken[0] in "aeiou" and not SPOKEN_CONSONANT.match(spoken)
            vowel = vowel or SPOKEN_VOWEL.match(spoken) is not None
        if article != ("an" if vowel else "a"):
            wrong.append(match[0])
    return wrong


@pytest.mark.parametrize(
    "text",
    ["An hour at a university.", "A one-way ticket and a European uniform.", "an unimportant MP",
     "Vitamin A is an oil.", "an MRI scan", "a UN vote", "an 8-year-old", "an 11 km run",
     "a unique ukulele in an uncle's urn", "Xi'an behind them", "an unidentified Étude", "B: A egret? A: An egret."],
)  # fmt: skip
def test_the_article_rule_itself(text: str) -> None:
    assert wrong_articles(text) == (["A egret"] if "egret" in text else [])


def test_the_sentence_rule_itself() -> None:
    assert len(sentences('Dr. Ito met Mr. Roy. "Yes," she said. It cost 2.5 euros! Really?')) == 4


@every_corpus
def test_card(name: str) -> None:
    card = tomllib.loads((CORPORA / f"{name}.card.toml").read_text("utf-8"))
    assert [key for key in CARD_KEYS if not str(card.get(key, "")).strip()] == []
    assert card["licence"] == "CC BY 4.0"
    assert str(len(records(name))) in card["size"]


@every_corpus
def test_ids(name: str) -> None:
    ids = [record["id"] for record in records(name)]
    pattern = SHAPES[name][0] if name in SHAPES else r"[a-z-]+-\d{3}"
    assert [i for i in ids if not re.fullmatch(pattern, i)] == []
    assert [i for i, n in Counter(ids).items() if n > 1] == []
    numbers = defaultdict(list)
    for i in ids:
        numbers[i[:-4]].append(int(i[-3:]))
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())


@every_corpus
def test_size(name: str) -> None:
    if name in SHAPES:
        _, size, fewest, _ = SHAPES[name]
        assert len(records(name)) == size
        assert [r["id"] for r in records(name) if len(r["references"]) < fewest] == []


@every_corpus
def test_one_task_and_no_empty_field(name: str) -> None:
    task = "image-captioning" if name == "captions" else name.replace("_", "-")
    assert {record["task"] for record in records(name)} == {task}
    for record in records(name):
        empty = [key for key, value in record.items() if not value and key != "references"]
        assert empty == [], record["id"]
        assert all(text.strip() for text in texts(record)), record["id"]


@every_corpus
def test_nothing_twice(name: str) -> None:
    golds = Counter(" ".join(words(record["gold"])) for record in records(name))
    assert [gold for gold, n in golds.items() if n > 1] == []
    for record in records(name):
        versions = [" ".join(words(text)) for text in (record["gold"], *record["references"])]
        assert len(set(versions)) == len(versions), record["id"]
        assert not golds.keys() & set(versions[1:]), record["id"]


@every_corpus
def test_references_differ_in_wording(name: str) -> None:
    limit = SHAPES[name][3] if name in SHAPES else 0.75
    close = []
    for record in records(name):
        gold = set(words(record["gold"]))
        for reference in record["references"]:
            other = set(words(reference))
            overlap = len(gold & other) / len(gold | other)
            if overlap >= limit:
                close.append((record["id"], round(overlap, 2), reference))
    assert close == []


@every_corpus
def test_articles(name: str) -> None:
    assert [(i, wrong) for i, text in english(name) if (wrong := wrong_articles(text))] == []


@every_corpus
def test_typography(name: str) -> None:
    for record in records(name):
        for text in texts(record):
            assert "  " not in text, record["id"]
            assert text == text.strip(), record["id"]
    # People who write captions and chat in a hurry leave out capitals and full stops.
    hasty = name in ("captions", "dialogue")
    careless = {r["id"] for r in records(name) if hasty and r.get("half") == "field"}
    for i, text in english(name):
        assert not re.search(
            r"[“”‘’`\u00a0\u200b]|\s[,.;!?]|\b(\w+) \1\b(?<!\bthat that)(?<!\bhad had)", text
        ), (i, text)
        if i not in careless:
            assert FINAL.search(text), (i, text)
            assert not text[:1].islower(), (i, text)


@every_corpus
def test_enough_different_texts(name: str) -> None:
    """No template: few texts of a corpus may open with the same four words."""
    openings = Counter(tuple(words(text)[:4]) for _, text in english(name))
    opening, n = openings.most_common(1)[0]
    assert n <= max(4, 0.02 * openings.total()), (opening, n)


def test_translation() -> None:
    paragraphs = [r for r in records("translation") if 4 <= len(sentences(r["gold"])) <= 8]
    assert len(paragraphs) >= 30
    assert all(r["source"] != r["gold"] for r in records("translation"))


def test_summarisation() -> None:
    for record in records("summarisation"):
        assert len(words(record["gold"])) < len(words(record["source"])) / 2, record["id"]
        if record.get("half") == "field":  # as varied as news: see test_corpora_field.py
            assert 200 <= len(record["source"].split()) <= 600, record["id"]
            assert 2 <= len(sentences(record["gold"])) <= 5, record["id"]
        else:
            assert 200 <= len(record["source"].split()) <= 400, record["id"]
            assert len(sentences(record["gold"])) == 3, record["id"]
            assert len(record["references"]) >= 4, record["id"]


def test_open_ended() -> None:
    assert Counter(r["set"] for r in records("open_ended")) == {"gold": 80, "reference": 80}
    for record in records("open_ended"):
        assert record["id"].split("-")[1] == record["set"]
        assert record["references"] == []
        least, most = (130, 225) if record.get("half") == "field" else (100, 160)
        assert least <= len(record["gold"].split()) <= most, record["id"]
        assert len(sentences(record["gold"])) >= 5, record["id"]
    repeated = Counter(s for r in records("open_ended") for s in sentences(r["gold"]) if len(words(s)) > 3)
    assert [s for s, n in repeated.items() if n > 1] == []


def test_dialogue() -> None:
    told = 0
    for record in records("dialogue"):
        context, gold = record["context"], record["gold"]
        assert 2 <= len(context) <= 6, record["id"]
        assert all(turn.startswith(f"{'AB'[k % 2]}: ") for k, turn in enumerate(context)), record["id"]
        assert not any(re.match(r"[A-Z]: ", text) for text in (gold, *record["references"])), record["id"]
        own = context[len(context) % 2 :: 2]  # the earlier turns of the speaker who replies
        told += any(FIRST_PERSON.search(turn) for turn in own)
    assert told >= 25
    assert {len(r["context"]) for r in records("dialogue")} == {2, 3, 4, 5, 6}


def test_question_generation() -> None:
    for record in records("question_generation"):
        assert record["answer"] in record["source"], record["id"]
        assert all(text.endswith("?") for text in (record["gold"], *record["references"])), record["id"]
        assert record["answer"].lower() not in record["gold"].lower(), record["id"]


def test_data_to_text() -> None:
    sizes = set()
    for record in records("data_to_text"):
        triples = [line.split(" | ") for line in record["source"].split("\n")]
        assert all(len(t) == 3 and all(part.strip() for part in t) for t in triples), record["id"]
        assert len({tuple(t) for t in triples}) == len(triples), record["id"]
        sizes.add(len(triples))
    assert sizes == {1, 2, 3, 4, 5}


def shared_texts() -> Iterator[str]:
    for path in sorted(p for p in SHARED.rglob("*") if p.is_file() and p.name != "README.md"):
        raw = path.read_text("utf-8")
        if path.suffix == ".jsonl":
            yield from (text for line in raw.splitlines() for text in texts(json.loads(line)))
        elif path.suffix in (".csv", ".tsv"):
            rows = csv.reader(raw.splitlines(), delimiter="," if path.suffix == ".csv" else "\t")
            yield from (cell for row in rows for cell in row)
        elif path.suffix != ".json":
            # WinoBias numbers its lines and puts its mentions in brackets.
            yield from (re.sub(r"^\d+ |[][]", "", line) for line in raw.splitlines())


@cache
def shared_sentences() -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Sentences of six words or more, by their first six words."""
    index: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    for text in set(shared_texts()):
        for sentence in re.split(r"[.!?。！？]+[\s\"']+", text):
            tokens = tuple(words(sentence))
            if len(tokens) >= 6:
                index[tokens[:6]].add(tokens)
    return index


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published data is not at ../shared/data")
@every_corpus
def test_no_sentence_of_published_data(name: str) -> None:
    index = shared_sentences()
    assert len(index) > 10_000
    taken = [
        (record["id"], " ".join(sentence))
        for record in records(name)
        for tokens in map(tuple, map(words, texts(record)))
        for start in range(len(tokens) - 5)
        for sentence in index.get(tokens[start : start + 6], ())
        if tokens[start : start + len(sentence)] == sentence
    ]
    assert taken == []
