"""Metrics of whole sets: corpus BLEU, chrF and TER as sacreBLEU computes them, and MAUVE.

Corpus scores follow from statistics that add up. MAUVE says how close two sets of texts are as distributions,
by the frontier of their divergences.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.core import Floats, Sample, SetMetric
from assay.errors import MetricError
from assay.metrics.base import Neural, unit
from assay.metrics.edit import TerOptions, ter_statistics
from assay.metrics.ngram import (
    SacreSmooth,
    best_statistics,
    chrf_scores,
    match_statistics,
    sacrebleu_scores,
    smooth_value_of,
)
from assay.metrics.text import Tokenize
from assay.models.encoder import Pool, pooled
from assay.models.loading import is_decoder
from assay.models.torch import Overlong, Precision
from assay.vocabulary import NonNegative


class _Additive(SetMetric):
    """A set metric whose score follows from the sum of the samples' statistics."""

    @abstractmethod
    def statistics(self, samples: Sequence[Sample]) -> Floats: ...

    def score_set(self, samples: Sequence[Sample]) -> float:
        return float(self.from_statistics(self.statistics(samples).sum(axis=0, keepdims=True))[0])


@dataclass(frozen=True)
class CorpusBleu(_Additive):
    """Corpus BLEU in 0..100."""

    name = "bleu:level=corpus"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    citation = (
        "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation, P02-1040"
    )

    tokenize: Tokenize = "13a"
    smooth: SacreSmooth = "exp"
    n: int = 4
    lowercase: bool = False
    smooth_value: float | None = None  # of floor and add-k; sacreBLEU's by default

    def __post_init__(self) -> None:
        """Refuse a value that the smoothing does not take."""
        smooth_value_of(self.smooth, self.smooth_value)

    def statistics(self, samples: Sequence[Sample]) -> Floats:
        """Return lengths, then matches, then totals by order, per sample."""
        return match_statistics(samples, self.n, self.tokenize, self.lowercase).astype(np.float64)

    def from_statistics(self, totals: Floats) -> Floats:
        return sacrebleu_scores(totals, self.smooth, self.smooth_value, effective_order=False)


@dataclass(frozen=True)
class CorpusChrf(_Additive):
    """Corpus chrF in 0..100; `word_order=2` is chrF++."""

    name = "chrf:level=corpus"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    citation = "Popović 2015, chrF: character n-gram F-score for automatic MT evaluation, W15-3049"

    n: int = 6
    word_order: NonNegative = 0
    beta: float = 2.0
    lowercase: bool = False

    def statistics(self, samples: Sequence[Sample]) -> Floats:
        """Return [hypothesis, reference, shared] counts by order, of the best reference, per sample."""
        options = (self.n, self.word_order, self.beta, self.lowercase)
        return best_statistics(samples, *options).astype(np.float64)

    def from_statistics(self, totals: Floats) -> Floats:
        return chrf_scores(totals, self.beta)


@dataclass(frozen=True)
class CorpusTer(TerOptions, _Additive):
    """Corpus TER, negated: all edits over all reference words."""

    name = "ter:level=corpus"
    paradigm = "edit"
    range = (None, 0.0)
    original = "lower"
    citation = (
        "Snover et al. 2006, A Study of Translation Edit Rate with Targeted Human Annotation, "
        "2006.amta-papers.25"
    )

    def statistics(self, samples: Sequence[Sample]) -> Floats:
        """Return the fewest edits and the mean reference length, per sample."""
        rows = [ter_statistics(sample, self.text) for sample in samples]
        return np.array(rows, dtype=np.float64).reshape(len(rows), 2)

    def from_statistics(self, totals: Floats) -> Floats:
        count, length = totals[:, 0], totals[:, 1]
        rate = np.where(length > 0, count / np.where(length > 0, length, 1), (count > 0).astype(np.float64))
        return np.asarray(-100 * rate)


_POINTS = 25  # mixtures on the frontier
_SCALING = 5.0  # the c of exp(-c KL)
_EXPLAINED = 0.9  # share of the variance kept by the principal components
_ITERATIONS, _RESTARTS = 500, 5


@dataclass(frozen=True)
class Mauve(Neural, SetMetric):
    """The hypotheses against the distinct references of the set; the mean over `seeds` clusterings.

    Features are quantised together (principal components, k-means into a tenth of the smaller set), and the
    area under the frontier of exp(-c KL) is the score. With fewer than 500 texts per set the score is
    unstable; `band` gives what equal sets would score.
    A text's feature is the last token's state of a causal model, as MAUVE is defined, and the mean state of
    an encoder (`pool=auto`). *blind* takes the last token of RoBERTa and ELECTRA too: `pool=last`.
    """

    name = "mauve"
    version = 2
    paradigm = "distribution"
    range = (0.0, 1.0)
    pools = True
    smallest = 500
    packages = ("torch", "transformers", "faiss")
    unused = ("pooler",)
    citation = "Pillutla et al. 2021, MAUVE: measuring the gap between neural text and human text, NeurIPS"

    model: str = "minilm"
    pool: Literal["auto", "mean", "first", "last"] = "auto"
    seeds: int = 5
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    @property
    def pooling(self) -> Pool:
        """How states become one vector; "auto" depends on the model."""
        return self.pool if self.pool != "auto" else "last" if is_decoder(self.model) else "mean"

    def pins(self) -> Mapping[str, str]:
        return {**super().pins(), **({"pool": self.pooling} if self.pool == "auto" else {})}

    def features(self, texts: Sequence[str]) -> Floats:
        return pooled(self.load_model(), texts, self.overlong, pool=self.pooling)[0].astype(np.float64)

    def score_set(self, samples: Sequence[Sample]) -> float:
        references = list(dict.fromkeys(text for sample in samples for text in sample.references))
        p, q = self.features(references), self.features([sample.hypothesis for sample in samples])
        return float(self.between(p, q).mean())

    def between(self, p: Floats, q: Floats) -> Floats:
        """Return one score per seed, from features of the references (p) and of the hypotheses (q)."""
        if min(len(p), len(q)) < 4:
            raise MetricError(f"mauve needs sets of texts, not {len(p)} references and {len(q)} hypotheses")
        count = max(2, round(min(len(p), len(q)) / 10))
        reduced = principal(np.concatenate([q, p]))
        scores = []
        for seed in range(self.seeds):
            labels = clusters(reduced, count, seed)
            sides = (labels[: len(q)], labels[len(q) :])
            shares_q, shares_p = (np.bincount(side, minlength=count) / len(side) for side in sides)
            scores.append(area(shares_p, shares_q))
        return np.array(scores)

    def band(self, texts: Sequence[str], *, draws: int = 20, seed: int = 0) -> tuple[float, float]:
        """Return the 2.5th and 97.5th percentile of scores between random halves of one set of texts."""
        vectors = self.features(texts)
        generator = np.random.default_rng(seed)
        scores = []
        for _ in range(draws):
            order = generator.permutation(len(vectors))
            half = len(order) // 2
            scores.append(float(self.between(vectors[order[:half]], vectors[order[half:]]).mean()))
        low, high = np.percentile(scores, [2.5, 97.5])
        return float(low), float(high)


def principal(vectors: Floats) -> Floats:
    """Project unit rows onto the principal components that explain 90% of the variance."""
    rows = unit(vectors)
    centred = rows - rows.mean(axis=0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    explained = np.cumsum(sizes**2) / max(float((sizes**2).sum()), 1e-30)
    count = int(np.argmax(explained >= _EXPLAINED)) + 1 if explained[-1] >= _EXPLAINED else len(sizes)
    return np.asarray(centred @ directions[:count].T)


def clusters(vectors: Floats, count: int, seed: int) -> np.ndarray:
    """Return the cluster of each vector, by k-means."""
    import faiss

    points = np.ascontiguousarray(vectors, dtype=np.float32)
    count = min(count, len(points))
    settings = {"niter": _ITERATIONS, "nredo": _RESTARTS, "seed": seed + 2, "min_points_per_centroid": 1}
    means = faiss.Kmeans(points.shape[1], count, max_points_per_centroid=len(points), **settings)
    means.train(points)
    return np.asarray(means.index.search(points, 1)[1][:, 0])


def area(p: Floats, q: Floats) -> float:
    """Return the area under the frontier from (1, 0) to (0, 1), the mean of the two ways to integrate.

    The frontier is exp(-c KL(q|r)) and exp(-c KL(p|r)) for mixtures r from all q to all p.
    """
    shares = np.linspace(1e-6, 1 - 1e-6, _POINTS)[:, None]
    mixtures = shares * p + (1 - shares) * q

    def height(side: Floats) -> Floats:
        some = side > 0
        divergence = (side[some] * np.log(side[some] / mixtures[:, some])).sum(axis=1)
        return np.asarray(np.exp(-_SCALING * divergence))

    x, y = height(q), height(p)
    x, y = np.concatenate([[1.0], x, [0.0]]), np.concatenate([[0.0], y, [1.0]])
    return (abs(float(np.trapezoid(y, x))) + abs(float(np.trapezoid(x, y)))) / 2
