"""Diversity, answerability and PARENT by hand and against the authors' formulas."""

import math
from collections import Counter

import pytest

from assay.api.pipeline import audit
from assay.api.scores import score_chunks
from assay.core import Sample
from assay.engine.session import Session
from assay.errors import AuditError, TextError
from assay.metrics.ngram import DistinctN, NgramEntropy, Rep4Gram
from assay.metrics.task import Parent, QBleu, QRouge, Sari, question_parts


def test_diversity_by_hand():
    # a b a b a b: bigrams ab ba ab ba ab; four-grams abab baba abab.
    sample = [Sample("a b a b a b")]
    assert DistinctN().score(sample) == [pytest.approx(2 / 5)]
    assert Rep4Gram().score(sample) == [pytest.approx(-1 / 3)]
    assert NgramEntropy(n=2).score(sample) == [pytest.approx(-(0.6 * math.log(0.6) + 0.4 * math.log(0.4)))]


@pytest.mark.parametrize("metric", [DistinctN(), Rep4Gram(), NgramEntropy()])
def test_a_text_without_ngrams_has_no_diversity(metric):
    assert metric.score([Sample("one"), Sample("")]) == [None, None]


def test_question_parts():
    parts = question_parts("What year did the Eiffel Tower open in Paris")
    assert parts["question"] == "What year"
    assert parts["entities"] == "Eiffel Tower Paris"
    assert parts["content"] == "open"
    assert parts["function"] == "did the in"


def test_answerability_weighs_the_parts():
    reference = "Who painted the Mona Lisa"
    same, no_entity, no_asker = (
        "Who painted the Mona Lisa",
        "Who painted the wall",
        "Leonardo painted the Mona Lisa",
    )
    full, entity_lost, asker_lost = (
        QBleu(delta=1.0).score([Sample(text, (reference,))])[0] for text in (same, no_entity, no_asker)
    )
    assert full == pytest.approx(1.0, abs=1e-6)
    assert entity_lost < asker_lost < full
    # Entities 0; question and function words agree; content "painted wall" against "painted": precision 1/2,
    # and the other way 1 with BLEU's penalty for half the length, exp(1 - 2).
    back = math.exp(-1)
    expected = 0.2 + 0.1 * (2 * 0.5 * back / (0.5 + back)) + 0.1
    assert entity_lost == pytest.approx(expected, abs=1e-6)


def test_delta_mixes_answerability_and_overlap():
    sample = Sample("Who painted the Mona Lisa", ("Who made the Mona Lisa in Paris",))
    for metric in (QBleu, QRouge):
        only_parts, only_overlap, mixed = (metric(delta=d).score([sample])[0] for d in (1.0, 0.0, 0.7))
        assert mixed == pytest.approx(0.7 * only_parts + 0.3 * only_overlap)
    # LCS of 4 in 5 and 7 words, recall weighted 1.2 squared times as much.
    precision, recall = 4 / 5, 4 / 7
    expected = (1 + 1.44) * precision * recall / (recall + 1.44 * precision)
    assert QRouge(delta=0.0).score([sample])[0] == pytest.approx(expected)


def slow_parent(hypothesis, reference, values, weight=0.5, smoothing=1e-5):
    """The published formulas, word by word."""

    def grams(words, n):
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    known = {word for value in values for word in value}
    precisions, recalls = [], []
    for n in range(1, 5):
        mine, theirs = grams(hypothesis, n), grams(reference, n)

        def entailed(gram):
            return sum(word in known for word in gram) / len(gram)

        above = sum(
            k * (min(1, theirs[g] / k) + (1 - min(1, theirs[g] / k)) * entailed(g)) for g, k in mine.items()
        )
        precisions.append(above / sum(mine.values()) if mine else 0)
        below = sum(k * entailed(g) for g, k in theirs.items())
        hit = sum(k * entailed(g) * min(1, mine[g] / k) for g, k in theirs.items())
        recalls.append(hit / below if below else 1)
    precisions[1:] = [value or smoothing for value in precisions[1:]]
    recalls[1:] = [value or smoothing for value in recalls[1:]]
    precision = math.prod(precisions) ** 0.25
    told = math.prod(recalls) ** 0.25 or smoothing

    def lcs(a, b):
        if not a or not b:
            return 0
        return lcs(a[:-1], b[:-1]) + 1 if a[-1] == b[-1] else max(lcs(a[:-1], b), lcs(a, b[:-1]))

    table = sum(lcs(value, hypothesis) / len(value) for value in values) / len(values) or smoothing
    recall = told ** (1 - weight) * table**weight
    return 2 * precision * recall / (precision + recall + 1e-8)


@pytest.mark.parametrize(
    ("hypothesis", "source", "values"),
    [
        (
            "The Copper Kettle serves Lebanese food",
            "The Copper Kettle | food | Lebanese",
            [["the", "copper", "kettle", "lebanese"]],
        ),
        (
            "Copper Kettle is cheap",
            "name ||| Copper Kettle\nprice ||| cheap",
            [["copper", "kettle"], ["cheap"]],
        ),
        ("nothing of the kind", "name | Copper Kettle", [["copper", "kettle"]]),
        ("copper", "name | Copper Kettle", [["copper", "kettle"]]),
    ],
)
def test_parent(hypothesis, source, values):
    reference = "you can eat lebanese dishes at the copper kettle"
    found = Parent().score([Sample(hypothesis, (reference,), source)]).values[0]
    assert found == pytest.approx(
        slow_parent(hypothesis.lower().split(), reference.split(), values), abs=1e-9
    )


def test_a_source_that_is_no_table_is_counted_as_absent():
    table = Sample("a b c d", ("a b c d",), "letters | a b c d")
    answer = Parent().score([Sample("a", ("a",), "just some text"), Sample("a", ("a",), ""), table])
    assert answer.values[:2] == [None, None]
    assert answer.values[2] == pytest.approx(1.0, abs=1e-4)
    assert answer.notes == {"no_table": [1, 1, 0]}


def test_a_source_in_another_script_is_counted_as_absent():
    foreign = Sample("The stone bridge is old.", ("The bridge is old.",), "这座石桥是明朝修建的。")
    answer = Sari().score([foreign, Sample("cat ran", ("cat ran",), "cat sat")])
    assert answer.values == [None, pytest.approx(100.0)]
    assert answer.notes == {"foreign_source": [1, 0]}
    with pytest.raises(TextError, match="give tokenize=char, zh for Chinese"):
        Sari().score([Sample("石桥很老。", ("石桥很老。",), "这座石桥是明朝修建的。")])


def test_an_audit_goes_on_where_no_source_can_be_read():
    run = audit(["bleu", "parent", "sari"], only=("copy-source",), limit=2, session=Session.open(cache=None))
    reason = "needs a table as source, `attribute | value` or `head | relation | tail` per line"
    assert f"parent gives copy-source no score: {reason}" in run.notes
    assert run.metrics == ["bleu", "sari"]


def test_data_without_any_table_is_refused_with_the_reason():
    with pytest.raises(AuditError, match=r"needs a table as source.*choose another metric or other data"):
        audit(["parent"], only=("copy-source",), limit=2, session=Session.open(cache=None))


def test_what_is_absent_is_said_once():
    samples = [Sample("a", ("a",), "just some text")]
    _, notes = score_chunks(["parent"], [samples], session=Session.open(cache=None))
    (note,) = notes
    assert note.startswith("parent: no score for 1 of 1 samples: needs a table as source")
