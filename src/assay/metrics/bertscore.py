"""BERTScore: each token meets its nearest in the other text, by the cosine of contextual embeddings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.errors import MetricError, SpecError
from assay.models.encoder import Embedded, Matrix, embed
from assay.models.torch import Loaded, Neural, Overlong, Precision, content_ids, load
from assay.recipe import digest

ZHANG_2020 = "Zhang et al. 2020, BERTScore: evaluating text generation with BERT, ICLR"
# The layers tuned on WMT16 by the authors of bert-score; minilm's last layer is the design's default.
LAYERS = {
    "minilm": 6, "bert-base-uncased": 9, "bert-large-uncased": 18, "bert-base-cased": 9,
    "bert-base-multilingual-cased": 9, "roberta-base": 10, "roberta-large": 17, "roberta-large-mnli": 19,
    "distilbert-base-uncased": 5, "xlm-roberta-base": 9, "xlm-roberta-large": 17,
    "microsoft/deberta-base-mnli": 9, "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-xlarge-mnli": 40,
}  # fmt: skip
_GRID_CELLS = 4_000_000  # cosines held at once
_PIECE = 1024  # samples whose embeddings are held at once
Weigher = Callable[[Embedded], Floats | None]


@dataclass(frozen=True, slots=True)
class IdfTable:
    """Inverse document frequencies of ids, with the value of an id that no document had."""

    values: Mapping[int, float]
    unseen: float

    @property
    def digest(self) -> str:
        """What a signature carries."""
        return digest(*(f"{key}:{value!r}" for key, value in sorted(self.values.items())), repr(self.unseen))


def idf_table(documents: Sequence[Sequence[int]]) -> IdfTable:
    """log((N + 1) / (df + 1)), as bert-score and MoverScore count it."""
    count = len(documents)
    frequency = Counter(token for ids in documents for token in set(ids))
    values = {token: math.log((count + 1) / (df + 1)) for token, df in frequency.items()}
    return IdfTable(values, math.log(count + 1))


@dataclass(frozen=True)
class BertScore(Neural, Metric):
    """Precision, recall and F as the bert-score package computes them; the best of several references.

    Start and end tokens may be matched but carry no weight, as in the package. An empty text scores 0.
    Padding is never matched (in the package it wins, with 0, where all cosines of a token are negative, so
    that there a score depends on the batch). RoBERTa and GPT-2 see a space before the first word, as in the
    published scores; under transformers 5 the package has lost it: `prefix_space=false` is without.
    """

    name = "bertscore"
    paradigm = "matching"
    outputs = ("p", "r", "f")
    range = (-1.0, 1.0)
    citation = ZHANG_2020
    identity_highest = True
    model: str = "minilm"
    layer: int | None = None  # None: the authors' choice for known models, else the last
    idf: bool = False
    rescale: str | None = None  # "own": by unrelated sentences; or a baseline file of bert-score
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"
    prefix_space: bool = True
    table: IdfTable | None = None  # set by `fitted`

    def __post_init__(self) -> None:
        """Fill in the layer of a known model, so that the signature shows it."""
        if self.layer is None and self.model in LAYERS:
            object.__setattr__(self, "layer", LAYERS[self.model])
        if isinstance(self.table, str):
            raise SpecError("table is not for specs; idf=true takes the frequencies from the references")

    def pins(self) -> Mapping[str, str]:
        """Weights, adapter and baseline."""
        found = dict(super().pins())
        if self.rescale:
            from assay.metrics.baseline import baseline_digest

            found["rescale"] = baseline_digest(self.rescale)
        return found

    def _clean(self, text: str, loaded: Loaded) -> str:
        return _clean(text, loaded) if self.prefix_space else text.strip()

    def prepare(self) -> None:
        """Load the encoder."""
        self._loaded()
        if self.rescale:
            self._baseline()

    def _loaded(self) -> Loaded:
        return load(
            "AutoModel",
            self.model,
            precision=self.precision,
            adapter=self.adapter,
            unused=("pooler",),
            layers=self.layer,
        )

    def _baseline(self) -> Floats:
        from assay.metrics.baseline import baseline

        return baseline(self)

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        """Document frequencies of all references, one document each, as bert-score counts them."""
        if not self.idf:
            return self
        loaded = self._loaded()
        ids = content_ids(loaded, [self._clean(text, loaded) for item in references for text in item])
        specials = [*loaded.framing.prefix, *loaded.framing.suffix]
        return replace(self, table=idf_table([[*specials, *row] for row in ids]))

    def score(self, samples: Sequence[Sample]) -> Scores:
        """P, R and F a sample, each the best over the references; in pieces, so that memory is bounded."""
        pieces = [self._score(samples[at : at + _PIECE]) for at in range(0, len(samples), _PIECE)]
        values = [value for piece in pieces for value in piece.values]
        return Scores(values, {"truncated": [cut for piece in pieces for cut in piece.notes["truncated"]]})

    def _score(self, samples: Sequence[Sample]) -> Scores:
        loaded = self._loaded()
        weigh = self._weigher(loaded)
        clean = {text: self._clean(text, loaded) for s in samples for text in (s.hypothesis, *s.references)}
        known = embed(loaded, list(clean.values()), self.overlong)
        values: list[Any] = []
        truncated: list[int] = []
        for sample in samples:
            texts = [known[clean[text]] for text in (sample.hypothesis, *sample.references)]
            rows = [self._pair(texts[0], reference, weigh, loaded) for reference in texts[1:]]
            found = [row for row in rows if row is not None]
            values.append(self._rescaled(np.max(found, axis=0)).tolist() if found else None)
            truncated.append(sum(text.truncated for text in texts))
        return Scores(values, {"truncated": truncated})

    def _rescaled(self, values: Floats) -> Floats:
        if not self.rescale:
            return values
        base = self._baseline()
        return np.asarray((values - base) / (1 - base))

    def _weigher(self, loaded: Loaded) -> Weigher:
        """What gives the tokens of a text weights that sum to 1, or None where no token counts."""
        if self.idf and self.table is None:
            raise MetricError("bertscore with idf=true needs a dataset's references: call fitted() first")
        marks = (loaded.tokenizer.sep_token_id, loaded.tokenizer.cls_token_id)
        plain = IdfTable({mark: 0.0 for mark in marks if mark is not None}, 1.0)
        table = self.table if self.idf and self.table else plain

        def weigh(text: Embedded) -> Floats | None:
            weights = np.array([table.values.get(token, table.unseen) for token in text.ids])
            total = weights.sum()
            return weights / total if total > 0 else None

        return weigh

    def _pair(
        self, hypothesis: Embedded, reference: Embedded, weigh: Weigher, loaded: Loaded
    ) -> Floats | None:
        if min(len(hypothesis.ids), len(reference.ids)) <= loaded.framing.size:
            return np.zeros(3)
        mine, theirs = weigh(hypothesis), weigh(reference)
        if mine is None or theirs is None:
            return None
        cosines = hypothesis.vectors @ reference.vectors.T
        precision = float(cosines.max(axis=1) @ mine)
        recall = float(cosines.max(axis=0) @ theirs)
        return _with_f(np.array([precision, recall]))

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        """All pairs; texts of equal length stand in one tensor, so that nothing is padded."""
        loaded = self._loaded()
        texts = [[self._clean(text, loaded) for text in side] for side in (rows, columns)]
        known = embed(loaded, texts[0] + texts[1], self.overlong)
        sides = [self._by_length([known[text] for text in side], loaded) for side in texts]
        values = np.zeros((len(rows), len(columns), 2))
        for own in sides[0]:
            for other in sides[1]:
                _fill(values, own, other)
        return self._rescaled(_with_f(values))

    def _by_length(self, texts: Sequence[Embedded], loaded: Loaded) -> list[_Group]:
        groups: dict[int, list[int]] = {}
        weigh = self._weigher(loaded)
        for index, text in enumerate(texts):
            if len(text.ids) > loaded.framing.size:
                groups.setdefault(len(text.ids), []).append(index)
        found = []
        for indices in groups.values():
            weights = [weigh(texts[index]) for index in indices]
            if any(row is None for row in weights):
                raise MetricError(
                    "a text whose tokens are in every reference has no idf weight; use idf=false"
                )
            vectors = np.stack([texts[index].vectors for index in indices])
            found.append(_Group(np.array(indices), vectors, np.array(weights, dtype=np.float32)))
        return found

    def explain(self, sample: Sample) -> Explanation | None:
        """Which token met which: the cosines with the best reference, specials left out."""
        loaded = self._loaded()
        hypothesis, *references = (
            self._clean(text, loaded) for text in (sample.hypothesis, *sample.references)
        )
        known = embed(loaded, [hypothesis, *references], self.overlong)
        weigh = self._weigher(loaded)
        pairs = [(self._pair(known[hypothesis], known[text], weigh, loaded), text) for text in references]
        found = [(float(row[2]), text) for row, text in pairs if row is not None]
        if not found:
            return None
        mine, theirs = known[hypothesis], known[max(found)[1]]
        start, end = len(loaded.framing.prefix), len(loaded.framing.suffix)
        inner = [slice(start, len(text.ids) - end) for text in (mine, theirs)]
        cosines = mine.vectors[inner[0]] @ theirs.vectors[inner[1]].T
        words = [
            tuple(loaded.tokenizer.convert_ids_to_tokens(list(text.ids[part])))
            for text, part in zip((mine, theirs), inner, strict=True)
        ]
        return Explanation("matching", words[0], words[1], tuple(tuple(map(float, row)) for row in cosines))


@dataclass(frozen=True, slots=True)
class _Group:
    """Texts of one length: where they stand, (n, length, dimensions), (n, length)."""

    places: np.ndarray
    vectors: Matrix
    weights: Matrix


def _fill(values: Floats, own: _Group, other: _Group) -> None:
    """Precision and recall of one block of the grid, in pieces that fit in memory."""
    import torch

    (_, height, size), (count, width, _) = own.vectors.shape, other.vectors.shape
    columns = torch.from_numpy(other.vectors).reshape(count * width, size).T
    weights = torch.from_numpy(other.weights)
    step = max(1, _GRID_CELLS // (height * width * count))
    for start in range(0, len(own.places), step):
        piece = torch.from_numpy(own.vectors[start : start + step])
        cosines = (piece.reshape(-1, size) @ columns).reshape(len(piece), height, count, width)
        precision = torch.einsum(
            "ahb,ah->ab", cosines.amax(3), torch.from_numpy(own.weights[start : start + step])
        )
        recall = torch.einsum("abw,bw->ab", cosines.amax(1), weights)
        cell = np.ix_(own.places[start : start + step], other.places)
        values[cell] = torch.stack([precision, recall], dim=-1).double().numpy()


def _with_f(values: Floats) -> Floats:
    """(..., 2) of P and R to (..., 3) with F, which is 0 where both are."""
    total = values.sum(axis=-1)
    f = np.divide(2 * values.prod(axis=-1), total, out=np.zeros_like(total), where=total != 0)
    return np.concatenate([values, f[..., None]], axis=-1)


def _clean(text: str, loaded: Loaded) -> str:
    """Without spaces at the ends; byte-level tokenizers see a space first, as bert-score has it."""
    bare = text.strip()
    return f" {bare}" if bare and needs_space(loaded) else bare


def needs_space(loaded: Loaded) -> bool:
    """Whether a tokenizer reads a word at the start of a text as in its middle only after a space."""
    return loaded.model.config.model_type in ("roberta", "gpt2", "longformer")
