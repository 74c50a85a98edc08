"""CIDEr and COCO's BLEU against pycocoevalcap; the Treebank tokeniser; SPICE's message."""

import importlib.util
import pickle
import shutil

import numpy as np
import pytest

from assay.core import Sample
from assay.errors import MetricError
from assay.metrics.caption import Cider, CiderPlain, Spice
from assay.metrics.coco import java_ptb
from assay.metrics.ngram import CocoBleu
from assay.metrics.ptb import ptb_tokens
from assay.names.inventory import readiness

has_coco = importlib.util.find_spec("pycocoevalcap") is not None
needs_coco = pytest.mark.skipif(not has_coco, reason="pycocoevalcap is not installed")
needs_java = pytest.mark.skipif(
    not has_coco or shutil.which("java") is None, reason="no Java or no pycocoevalcap"
)


def as_coco(samples):
    references = {at: list(sample.references) for at, sample in enumerate(samples)}
    return references, {at: [sample.hypothesis] for at, sample in enumerate(samples)}


@needs_coco
def test_cider_is_pycocoevalcaps(small_samples, corpus_samples):
    from pycocoevalcap.cider.cider import Cider as Coco

    samples = small_samples + corpus_samples
    _, expected = Coco().compute_score(*as_coco(samples))
    metric = Cider(tokenize="split").fitted([sample.references for sample in samples])
    np.testing.assert_allclose(metric.score(samples), expected, rtol=0, atol=1e-9)


@needs_coco
def test_bleu_1_to_4_are_pycocoevalcaps(small_samples, corpus_samples):
    from pycocoevalcap.bleu.bleu import Bleu as Coco

    samples = small_samples + corpus_samples
    _, expected = Coco(4).compute_score(*as_coco(samples), verbose=0)
    found = CocoBleu(tokenize="split").score(samples)
    np.testing.assert_allclose(found, np.array(expected).T, rtol=0, atol=1e-9)


def test_plain_cider_is_ten_times_the_mean_cosine():
    # Two items; every n-gram is in one of them, so all idf are ln 2 and the cosines are of plain counts.
    items = [("a b",), ("c d",)]
    metric = CiderPlain(tokenize="split").fitted(items)
    one_word_shared = 10 * (1 / 2) / 4  # unigrams: 1/2; bigrams: 0; no longer n-grams
    assert metric.score([Sample("a x", ("a b",))]) == [pytest.approx(one_word_shared)]
    assert metric.score([Sample("a b", ("a b",))]) == [pytest.approx(10 * 2 / 4)]


def test_the_table_is_in_the_signature_and_travels():
    one, other = (Cider().fitted(items) for items in ([("a b",), ("c d",)], [("a b",), ("a d",)]))
    assert one.signature != other.signature
    copy = pickle.loads(pickle.dumps(one))
    assert copy.signature == one.signature
    assert copy == one


def test_the_texts_of_one_shared_set_are_documents() -> None:
    shared = ("a dog runs", "a cat sleeps", "a bird sings")
    assert Cider().fitted([shared]).table == Cider().fitted([(text,) for text in shared]).table


@pytest.mark.parametrize("metric", [Cider(), CiderPlain(), Cider().fitted([("only one item",)])])
def test_no_silent_zero_without_document_frequencies(metric):
    with pytest.raises(MetricError, match="at least two items"):
        metric.score([Sample("a b", ("a b",))])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A dog's ball (red) isn't here.", "a dog 's ball -lrb- red -rrb- is n't here"),
        ("They cannot stop; 1,000 people, 3.5 miles!", "they can not stop 1,000 people 3.5 miles"),
        ("He left. “She stayed,” Mr. Ray said…", "he left she stayed mr. ray said"),
        ("a well-known man -- at 5 p.m.", "a well-known man at 5 p.m."),
        ("'Quoted' words & 50 %", "quoted words & 50 %"),
        ("...", ""),
        ("It cost £2,500, i.e. 3.5m€ at 4.30pm.", "it cost # 2,500 i.e. 3.5 m $ at 4.30 pm"),
        ("St. Louis etc. is here. we left in 1990.", "st. louis etc. is here we left in 1990"),
        ("802.11n is and/or e-mail; the boys' R&B.", "802.11 n is and/or e-mail the boys r&b"),
        ("the '90s, o'clock and d’accord; I can 't!!", "the '90s o'clock and d’accord i can t !!"),
        ("John J. The man; J. Smith of the U.S. agreed", "john j the man j. smith of the u.s. agreed"),
    ],
)
def test_treebank_tokens(text, words):
    assert " ".join(ptb_tokens(text)) == words


@needs_java
def test_treebank_tokens_are_javas(corpus_samples):
    texts = sorted({text for sample in corpus_samples for text in sample.references})
    equal = [" ".join(ptb_tokens(text)) == words for text, words in zip(texts, java_ptb(texts), strict=True)]
    assert np.mean(equal) >= 0.995


@needs_coco
def test_spice_without_its_parser_says_what_to_do(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/java")
    monkeypatch.setattr("pathlib.Path.exists", lambda path: False)
    with pytest.raises(MetricError, match=r"stanford-corenlp-3\.6\.0\.jar"):
        Spice().score([Sample("a cat", ("a cat",))])


@needs_coco
def test_the_list_says_what_spice_lacks(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/java")
    monkeypatch.setattr("pathlib.Path.exists", lambda path: False)
    assert readiness(Spice)["runs"] == "never"
    assert "Stanford CoreNLP" in readiness(Spice)["state"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert readiness(Spice)["runs"] == "never"
    assert "Java" in readiness(Spice)["state"]


def test_coco_tools_without_java_say_what_to_do(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MetricError, match="install"):
        java_ptb(["a cat"])
