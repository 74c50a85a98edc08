"""Corpus scores against sacreBLEU's, and their statistics, which must add up."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from assay.metrics.corpus import CorpusBleu, CorpusChrf, CorpusTer

PAIRS = [
    (CorpusBleu(), BLEU(), 1),
    (CorpusBleu(smooth="floor"), BLEU(smooth_method="floor"), 1),
    (CorpusBleu(smooth="add-k", lowercase=True), BLEU(smooth_method="add-k", lowercase=True), 1),
    (CorpusBleu(tokenize="intl"), BLEU(tokenize="intl"), 1),
    (CorpusChrf(), CHRF(), 1),
    (CorpusChrf(word_order=2), CHRF(word_order=2), 1),
    (CorpusBleu(smooth="floor", smooth_value=0.5), BLEU(smooth_method="floor", smooth_value=0.5), 1),
    (CorpusTer(), TER(), -1),
    (CorpusTer(normalized=True, no_punct=True), TER(normalized=True, no_punct=True), -1),
]


@pytest.mark.parametrize(
    ("metric", "library", "sign"), PAIRS, ids=lambda value: getattr(value, "signature", "")
)
@pytest.mark.parametrize("references", [1, 3])
def test_corpus_score(metric, library, sign, references, small_samples):
    samples = [sample for sample in small_samples if len(sample.references) == references][:60]
    columns = [[sample.references[at] for sample in samples] for at in range(references)]
    expected = library.corpus_score([sample.hypothesis for sample in samples], columns).score
    assert metric.score_set(samples) == pytest.approx(sign * expected, abs=1e-9)


@pytest.mark.parametrize("metric", [CorpusBleu(), CorpusChrf(), CorpusTer()], ids=lambda metric: metric.name)
def test_resampling_statistics_is_rescoring(metric, small_samples):
    samples = small_samples[:40]
    rows = metric.statistics(samples)
    draws = np.random.default_rng(0).integers(0, len(samples), (8, len(samples)))
    quick = metric.from_statistics(rows[draws].sum(axis=1))
    slow = [metric.score_set([samples[at] for at in draw]) for draw in draws]
    np.testing.assert_allclose(quick, slow, rtol=0, atol=1e-9)


def test_an_empty_corpus_and_one_without_matches():
    for metric in (CorpusBleu(), CorpusChrf(), CorpusTer()):
        assert metric.score_set([]) == 0.0
