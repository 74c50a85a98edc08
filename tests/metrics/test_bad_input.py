"""Awkward texts: each has a pinned score, an explicit absence, or an error that says what to do."""

import numpy as np
import pytest

import assay
from assay.core import Sample
from assay.engine.session import Session
from assay.errors import MetricError
from assay.metrics.caption import Cider
from assay.metrics.edit import Ter
from assay.metrics.meteor import Meteor
from assay.metrics.ngram import Bleu, Chrf, ChrfPlusPlus, CocoBleu, Nist, SacreBleu
from assay.metrics.rouge import Rouge1, Rouge2, RougeL, RougeSU4, RougeW
from assay.metrics.task import QBleu, QRouge
from assay.metrics.text import tokens

CIDER = Cider().fitted([("a cat",), ("a dog sat",)])
METRICS = {
    metric.name: metric
    for metric in (
        Bleu(), SacreBleu(), CocoBleu(), Nist(), Chrf(), ChrfPlusPlus(), Rouge1(), Rouge2(), RougeL(), RougeSU4(),
        RougeW(), Meteor(synonyms="off"), Ter(), CIDER, QBleu(), QRouge(),
    )
}  # fmt: skip
LONG = "The quick brown fox jumps over the lazy dog. " * 2223  # 100,035 characters
ARABIC, ARABIC_OTHER = "القطة جالسة على السجادة الحمراء", "القطة نائمة على السجادة الزرقاء"
CHINESE, CHINESE_OTHER = "我喜欢吃苹果和香蕉", "我喜欢吃苹果和橙子"


def value(metric, hypothesis, *references):
    answer = METRICS[metric].score([Sample(hypothesis, references)])
    found = getattr(answer, "values", answer)[0]
    return float(np.atleast_1d(found)[3 if metric == "bleu-n" else 0])


@pytest.mark.parametrize("metric", METRICS)
def test_empty_texts_score_nothing(metric):
    worst = -100.0 if metric == "ter" else 0.0
    assert value(metric, "", "a cat sat") == pytest.approx(worst, abs=1e-9)
    assert value(metric, "a cat sat", "") == pytest.approx(worst, abs=1e-9)
    assert value(metric, "", "") == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "expected"),
    {
        "bleu": 0.1**0.75,  # one match, three orders smoothed
        "sacrebleu": 100.0,
        "nist": 0.0,  # a word that is the whole reference carries no information
        "chrf": 100.0,
        "chrf++": 100.0,
        "rouge1": 1.0,
        "rouge2": 0.0,
        "rougeL": 1.0,
        "rougeSU4": 1.0,
        "rouge-w": 1.0,
        "meteor": 0.5,
        "ter": 0.0,
    }.items(),
)
def test_one_word(metric, expected):
    assert value(metric, "cat", "cat") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "expected"),
    {
        "bleu": (1 * 0.1**3) ** 0.25,
        "sacrebleu": 100.0,
        "chrf": 100.0,
        "rouge1": 0.0,
        "rougeL": 0.0,
        "meteor": 0.5,
        "ter": 0.0,
        "cider": 2.5,  # Stanford's tokeniser drops single marks, and keeps ?! as a word
    }.items(),
)
def test_only_punctuation(metric, expected):
    """ROUGE drops punctuation by definition; the others see a word."""
    assert value(metric, "?!...", "?!...") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "metric", [name for name in METRICS if name not in ("nist", "cider", "qbleu", "qrouge")]
)
def test_a_hundred_thousand_characters(metric):
    expected = {"sacrebleu": 100.0, "chrf": 100.0, "chrf++": 100.0, "ter": 0.0, "meteor": 1.0}.get(
        metric, 1.0
    )
    assert value(metric, LONG, LONG) == pytest.approx(expected, abs=1e-9)


def test_long_texts_that_differ():
    changed = LONG.replace("quick brown fox", "fox quick brown", 3).replace("lazy", "busy", 5)
    assert value("ter", changed, LONG) == pytest.approx(-100 * 8 / (9 * 2223))
    assert value("rougeL", changed, LONG) == pytest.approx(1 - 8 / (9 * 2223))


@pytest.mark.parametrize("metric", ["bleu", "sacrebleu", "meteor", "ter", "bleu-n"])
def test_right_to_left_text_is_split_at_spaces(metric):
    perfect = {"sacrebleu": 100.0, "ter": 0.0, "meteor": 1 - 0.5 / 125}.get(metric, 1.0)
    assert value(metric, ARABIC, ARABIC) == pytest.approx(perfect, abs=1e-6)
    assert value(metric, ARABIC_OTHER, ARABIC) < perfect


@pytest.mark.parametrize("text", [ARABIC, CHINESE])
@pytest.mark.parametrize("metric", ["rouge1", "rouge2", "rougeL", "rougeSU4", "rouge-w"])
def test_rouge_does_not_zero_other_scripts(metric, text):
    with pytest.raises(MetricError, match="tokenize=unicode"):
        value(metric, text, text)


def test_rouge_of_other_scripts_with_a_fitting_tokeniser():
    ((arabic, *_),) = Rouge1(tokenize="unicode").score([Sample(ARABIC_OTHER, (ARABIC,))])
    ((chinese, *_),) = RougeL(tokenize="char").score([Sample(CHINESE_OTHER, (CHINESE,))])
    assert (arabic, chinese) == pytest.approx((3 / 5, 7 / 9))


@pytest.mark.parametrize("metric", ["bleu", "sacrebleu", "bleu-n", "nist", "meteor", "ter", "cider"])
def test_text_without_spaces_needs_a_tokeniser(metric):
    with pytest.raises(MetricError, match=r"tokenize=char, zh for Chinese"):
        value(metric, CHINESE_OTHER, CHINESE)


def test_chinese_with_a_fitting_tokeniser():
    sample = [Sample(CHINESE_OTHER, (CHINESE,))]
    assert Bleu(tokenize="zh", n=1).score(sample) == [pytest.approx(7 / 9)]
    assert Ter(tokenize="char").score(sample) == [pytest.approx(-100 * 2 / 9)]
    assert 50 < Chrf().score(sample)[0] < 80  # characters need no tokeniser


def test_a_foreign_name_in_english_is_no_error():
    assert value("bleu", "the word 猫 means cat", "the word 猫 means cat") == 1.0


def test_no_reference_is_an_absence():
    samples = [Sample("a cat"), Sample("a cat", ("a cat",))]
    scores = assay.score(list(METRICS.values()), samples, session=Session.open(cache=None))
    assert set(scores.row(0)) == {None}
    assert None not in scores.row(1)


def test_a_reference_that_meets_a_hundred_hypotheses_is_tokenised_once():
    reference = "a reference that only this test has ever seen"
    before = tokens.calls
    samples = [Sample(f"hypothesis number {number} of this test", (reference,)) for number in range(100)]
    Rouge1().score(samples)
    RougeL().score(samples)
    Rouge2().score(samples)
    assert tokens.calls - before == 101
