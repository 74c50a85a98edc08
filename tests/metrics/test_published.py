"""Published figures that come out exactly, where the published data is at hand."""

import json

import numpy as np
import pytest
from scipy.stats import kendalltau

from assay.core import Sample
from assay.metrics.caption import Cider
from assay.metrics.ngram import Bleu, Chrf, CocoBleu, Nist
from assay.metrics.rouge import Rouge1, RougeL

pytestmark = pytest.mark.shared


def read(path):
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def firsts(scores):
    """F where a metric gives precision and recall after it."""
    return np.array(scores).reshape(len(scores), -1)[:, 0]


@pytest.mark.parametrize(
    ("metric", "gender", "race"),
    [
        (Bleu(), 0.10, 0.19),
        (Rouge1(stemmer=True), 0.21, 0.12),
        (Nist(n=2), 0.11, 0.25),
        (Chrf(backend="nltk"), 1.23, 1.89),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_unfair_table_6(metric, gender, race, shared):
    for attribute, published in (("gender", gender), ("race", race)):
        pairs = read(shared / "stereotype_pairs" / f"{attribute}.jsonl")
        columns = []
        for role, own in (("stereotype", "reference"), ("anti_stereotype", "anti_reference")):
            samples = [Sample(pair[role], (pair.get(own) or pair["reference"],)) for pair in pairs]
            columns.append(firsts(metric.score(samples)))
        scores = np.array(columns)
        bias = 100 * np.abs(scores[0] - scores[1]).mean() / (scores.max() - scores.min())
        assert round(bias, 2) == published


@pytest.mark.slow
def test_caption_table_7(shared):
    rows = read(shared / "human" / "flickr8k_expert.jsonl")
    rows = [row for row in rows if row["hypothesis"] not in row["references"]]
    samples = [Sample(row["hypothesis"], tuple(row["references"])) for row in rows]
    ratings = np.array([row["human"]["overall"] for row in rows])
    found = {
        "BLEU-4": CocoBleu().score(samples)[:, 3],
        "CIDEr": Cider().fitted([sample.references for sample in samples]).score(samples),
    }
    for name, published in (("BLEU-4", 30.776), ("CIDEr", 43.891)):
        repeated = np.repeat(np.array(found[name]), ratings.shape[1])
        assert round(100 * kendalltau(repeated, ratings.ravel(), variant="c").statistic, 3) == published


def test_blind_cnndm_gold(shared):
    rows = read(shared / "stress" / "cnndm.jsonl")
    samples = [Sample(row["gold"], tuple(row["references"])) for row in rows]
    assert round(float(np.mean(firsts(RougeL(stemmer=True).score(samples)))), 6) == 0.286197
