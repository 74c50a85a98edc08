"""METEOR against NLTK's, with and without synonyms; Java METEOR where Java is."""

import importlib.util
import shutil

import pytest
from nltk.translate.meteor_score import meteor_score

import assay.metrics.meteor as module
from assay.core import Sample
from assay.errors import MetricError
from assay.metrics.meteor import Meteor


class Lemma:
    def __init__(self, name):
        self._name = name

    def name(self):
        return self._name


class Synset:
    def __init__(self, *names):
        self._names = names

    def lemmas(self):
        return [Lemma(name) for name in self._names]


class TinyWordNet:
    """A stand-in for NLTK's reader: synsets of a few words."""

    known = {
        "cat": [Synset("cat", "dog!", "big_cat")],
        "dog!": [Synset("cat", "mat"), Synset("sat")],
        "runs.": [Synset("sat")],
        "happily": [Synset("merrily", "on,")],
    }

    def synsets(self, word):
        return self.known.get(word, [])


class NoWordNet:
    def synsets(self, word):
        return []


def expected(sample, wordnet):
    references = [text.split() for text in sample.references]
    return meteor_score(references, sample.hypothesis.split(), wordnet=wordnet)


@pytest.fixture
def tiny_wordnet(monkeypatch):
    module.wordnet_synonyms.cache_clear()
    monkeypatch.setattr(module, "wordnet", TinyWordNet)
    yield
    module.wordnet_synonyms.cache_clear()


def test_exact_and_stem_stages(small_samples, corpus_samples):
    samples = small_samples + corpus_samples
    values = Meteor(synonyms="off").score(samples).values
    assert values == pytest.approx([expected(s, NoWordNet()) for s in samples], abs=1e-9)


def test_synonym_stage(tiny_wordnet, small_samples):
    values = Meteor().score(small_samples).values
    assert values == pytest.approx([expected(s, TinyWordNet()) for s in small_samples], abs=1e-9)
    assert values != pytest.approx(Meteor(synonyms="off").score(small_samples).values)


def test_says_which_stages_ran(monkeypatch):
    monkeypatch.setattr(module, "wordnet", lambda: None)
    scores = Meteor().score([Sample("a cat", ("a cat",))])
    assert scores.notes == {"without_synonyms": [1]}
    assert "synonyms:auto@exact+stem|" in Meteor().signature
    monkeypatch.setattr(module, "wordnet", TinyWordNet)
    assert "synonyms:auto@exact+stem+synonym|" in Meteor().signature


def test_synonyms_on_without_wordnet_says_what_to_do(monkeypatch):
    monkeypatch.setattr(module, "wordnet", lambda: None)
    with pytest.raises(MetricError, match=r"nltk\.downloader wordnet"):
        Meteor(synonyms="on").score([Sample("a", ("a",))])


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("java") is None or importlib.util.find_spec("pycocoevalcap") is None,
    reason="Java or pycocoevalcap is not installed",
)
def test_java_meteor():
    samples = [
        Sample("A dog runs on the beach.", ("A dog runs on the beach.",)),
        Sample("A cat sleeps.", ("A dog runs on the beach.", "Dogs are running.")),
    ]
    identical, other = Meteor(backend="coco").score(samples).values
    assert identical == pytest.approx(1.0)
    assert 0 < other < 0.3
