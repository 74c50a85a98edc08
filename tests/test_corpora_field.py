"""The field half of the embedded corpora has the names, figures, lengths and overlaps of the field's own data.

The targets were measured on CNN/DailyMail, WMT21 de-en and WikiText; a figure may differ from them by a quarter.
"""

import re
from collections import Counter
from functools import cache
from importlib.resources import files
from itertools import combinations, takewhile
from pathlib import Path
from statistics import fmean, pstdev

import pytest
import sacrebleu

from assay.core import Record
from assay.datasets.records import embedded_records, read_record_table
from assay.vocabulary import Task

TOLERANCE = 0.25
FIRST_PERSON = {"I", "I'd", "I'll", "I'm", "I've"}
ENDS_SENTENCE = re.compile(
    r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bNo)(?<!\b[A-Z])[.!?][\"')\]]*$"
)

# (task, text, figure): the value in the field's data
TARGETS = {
    ("summarisation", "source", "words"): 359,
    ("summarisation", "source", "spread"): 103,
    ("summarisation", "gold", "words"): 46,
    ("summarisation", "gold", "spread"): 15,
    ("summarisation", "gold", "capitals"): 14.7,
    ("summarisation", "gold", "numerals"): 3.0,
    ("summarisation", "references", "words"): 39,
    ("translation", "gold", "words"): 18,
    ("translation", "gold", "spread"): 9,
    ("translation", "gold", "capitals"): 9.6,
    ("translation", "gold", "numerals"): 2.2,
    ("open-ended", "gold", "words"): 174,
    ("open-ended", "gold", "spread"): 22,
    ("open-ended", "gold", "capitals"): 12.7,
    ("open-ended", "gold", "numerals"): 3.2,
}
DENSITY = 3.9  # extractive density of the highlights of CNN/DailyMail
FAULTS = {
    "disfluency", "mistranslation", "omission", "repetition", "truncation", "untranslated",
    "wrong-fact", "wrong-name", "wrong-number",
}  # fmt: skip


@cache
def field(task: Task) -> tuple[Record, ...]:
    if task == "open-ended":  # both sets: `embedded_records` gives the gold set alone
        everything = read_record_table(Path(str(files("assay.data") / "corpora" / "open_ended.jsonl")))
    else:
        everything = embedded_records(task)
    return tuple(record for record in everything if record.meta.get("half") == "field")


def texts_of(task: Task, column: str) -> list[str]:
    if column == "references":
        return [text for record in field(task) for text in record.references]
    return [getattr(record, column) for record in field(task)]


def capitals(text: str) -> int:
    """Capitalised words inside sentences: names, mostly."""
    count, starts = 0, True
    for token in text.split():
        word = token.strip("\"'()[],.;:!?")
        count += not starts and word[:1].isupper() and word not in FIRST_PERSON
        starts = ENDS_SENTENCE.search(token) is not None
    return count


def figure(texts: list[str], name: str) -> float:
    lengths = [len(text.split()) for text in texts]
    if name == "words":
        return fmean(lengths)
    if name == "spread":
        return pstdev(lengths)
    if name == "capitals":
        return 100 * sum(map(capitals, texts)) / sum(lengths)
    return 100 * sum(bool(re.search(r"\d", token)) for text in texts for token in text.split()) / sum(lengths)


def shared_start(one: list[str], other: list[str]) -> int:
    """How many words both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def density(source: str, summary: str) -> float:
    """Mean squared length of the longest copied fragments (Grusky et al. 2018, Newsroom)."""
    document, words = (re.findall(r"\w+|[^\w\s]", text.lower()) for text in (source, summary))
    place, squares = 0, 0
    while place < len(words):
        rest = words[place:]
        longest = max(shared_start(document[start:], rest) for start in range(len(document)))
        squares += longest**2
        place += max(longest, 1)
    return squares / len(words)


def test_the_figures_themselves() -> None:
    text = 'Mr. Ito paid 3 euros. "I think," said Ann. He left.'
    assert capitals(text) == 2
    assert figure([text], "numerals") == pytest.approx(100 / 11)
    assert density("the cat sat on the mat", "the cat ran") == pytest.approx(4 / 3)


@pytest.mark.parametrize(("task", "column", "name"), TARGETS)
def test_figures_as_in_the_field(task: Task, column: str, name: str) -> None:
    value = figure(texts_of(task, column), name)
    assert value == pytest.approx(TARGETS[task, column, name], rel=TOLERANCE)


def test_summaries_copy_as_highlights_do() -> None:
    densities = [density(record.source or "", record.gold) for record in field("summarisation")]
    assert fmean(densities) == pytest.approx(DENSITY, rel=TOLERANCE)


@pytest.mark.parametrize("half", ["field", None])
def test_translations_overlap_as_translators_do(half: str | None) -> None:
    """One version against one other scores 20 to 30 BLEU, and no two columns are nearer than the rest."""
    records = [record for record in embedded_records("translation") if record.meta.get("half") == half]
    columns = list(zip(*((record.gold, *record.references) for record in records), strict=True))
    scores = [sacrebleu.corpus_bleu(one, [other]).score for one, other in combinations(columns, 2)]
    assert len(scores) == 6
    assert 20 <= min(scores) <= max(scores) <= 30
    assert max(scores) - min(scores) < 2


@pytest.mark.parametrize("task", ["translation", "summarisation"])
def test_system_outputs_have_a_named_fault(task: Task) -> None:
    for record in field(task):
        assert record.meta["fault"] in FAULTS, record.id
        assert record.meta["system_output"] not in (record.gold, *record.references), record.id
    faults = Counter(record.meta["fault"] for record in field(task))
    assert len(faults) >= 6
    assert max(faults.values()) < len(field(task)) / 2


def test_system_outputs_are_close_to_the_references() -> None:
    """They are faulty translations of the same segment, not other texts."""
    outputs = [record.meta["system_output"] for record in field("translation")]
    score = sacrebleu.corpus_bleu(outputs, [[record.references[0] for record in field("translation")]]).score
    assert 10 <= score <= 30


def test_both_open_ended_sets_have_the_same_mix() -> None:
    sets = {
        name: [r.gold for r in field("open-ended") if r.meta["set"] == name] for name in ("gold", "reference")
    }
    assert {len(texts) for texts in sets.values()} == {20}
    for name in ("words", "spread", "capitals", "numerals"):
        values = [figure(texts, name) for texts in sets.values()]
        assert values[0] == pytest.approx(values[1], rel=0.15)


@pytest.mark.parametrize("task", ["translation", "summarisation", "open-ended"])
def test_halves(task: Task) -> None:
    marks = Counter(record.meta.get("half") for record in embedded_records(task))
    assert set(marks) == {None, "field"}
    assert all("system_output" not in r.meta for r in embedded_records(task) if r.meta.get("half") is None)
