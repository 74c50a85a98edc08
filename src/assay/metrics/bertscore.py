"""BERTScore: each token is matched with its nearest in the other text, by cosine of contextual embeddings."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.datasets.records import embedded_records
from assay.errors import DataError, MetricError, SpecError, WeightsError
from assay.files import file_digest, toml_file
from assay.metrics.base import Neural, matching_explanation, scored
from assay.metrics.text import distinct_texts
from assay.models.encoder import Differentiable, Embedded, Matrix, Texts, embed, encode_pairs
from assay.models.lazy import torch
from assay.models.loading import plain_folder, read_config
from assay.models.torch import Loaded, Overlong, Precision, clean_text, content_ids
from assay.models.weights import resolve
from assay.recipe import digest
from assay.vocabulary import Layer, Task

EMBEDDED = "embedded"  # the name of the baseline that is made from texts of the package
_PER_TASK = 60  # texts of a task in it: the mean of 420 pairs is known to about .003
_GRID_CELLS = 4_000_000  # cosines held at once
_PIECE = 1024  # samples whose embeddings are held at once
Weigher = Callable[[Embedded], Floats | None]
# Texts of one length: their indices, vectors (n, length, dimensions) and weights (n, length).
_Group = tuple[np.ndarray, Matrix, Matrix]


@dataclass(frozen=True, slots=True)
class IdfTable:
    """Inverse document frequencies by id, and the value of an id that no document has."""

    values: Mapping[int, float]
    unseen: float

    @property
    def digest(self) -> str:
        return digest(*(f"{key}:{value!r}" for key, value in sorted(self.values.items())), repr(self.unseen))


def idf_table(documents: Sequence[Sequence[int]]) -> IdfTable:
    """Compute log((N + 1) / (df + 1)), as bert-score and MoverScore count it."""
    count = len(documents)
    frequency = Counter(token for ids in documents for token in set(ids))
    values = {token: math.log((count + 1) / (df + 1)) for token, df in frequency.items()}
    return IdfTable(values, math.log(count + 1))


@dataclass(frozen=True)
class BertScore(Neural, Metric):
    """Precision, recall and F as the bert-score package computes them; the best of several references.

    Start and end tokens may be matched but carry no weight, as in the package. An empty text scores 0.
    Padding is never matched (in the package it wins, with 0, where all cosines of a token are negative, so
    that a score there depends on the batch). RoBERTa and GPT-2 see a space before the first word, as in the
    published scores; under transformers 5 the package has lost it, which `prefix_space=false` reproduces.

    Unrelated texts score high, up to .8 by some models. `rescale=FILE` puts a baseline of bert-score in the
    place of 0, `rescale=embedded` the mean that this model and layer give to unrelated texts of the package.
    """

    name = "bertscore"
    paradigm = "matching"
    outputs = ("p", "r", "f")
    range = (-1.0, 1.0)
    identity_highest = True
    unused = ("pooler",)
    citation = "Zhang et al. 2020, BERTScore: evaluating text generation with BERT, ICLR"

    model: str = "minilm"
    layer: Layer | None = None  # None: the authors' choice; a model they have not tuned needs one
    idf: bool = False
    rescale: str | None = None  # what becomes 0: a baseline file of bert-score, or embedded
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"
    prefix_space: bool = True
    table: IdfTable | None = None  # set by `fitted`
    beta: float = 1.0  # how many times recall counts in F

    def __post_init__(self) -> None:
        """Fill in the layer of a known name, so that the signature shows it; a folder's is added there."""
        refuse_table(self.table)
        if not self.beta > 0:
            raise SpecError(f"beta={self.beta}: more than 0 is needed; 2 counts recall twice as much")
        if self.layer is None:
            object.__setattr__(self, "layer", tuned_layer(self.model))

    @property
    def layers(self) -> int | None:
        return self.layer or find_layer(self.model)

    def pins(self) -> Mapping[str, str]:
        baseline = {"rescale": _baseline_digest(self.rescale)} if self.rescale else {}
        layer = {} if self.layer else {"layer": str(self.layers)}
        return {**super().pins(), **layer, **baseline}

    def prepare(self) -> None:
        self.load_model()
        self.baseline()

    def differentiable(self) -> Differentiable:
        return Differentiable(self.load_model, partial(matching_scores, beta=self.beta))

    def _clean(self, text: str, loaded: Loaded) -> str:
        return clean_text(text, loaded) if self.prefix_space else text.strip()

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        """With document frequencies of all references, one document each, as bert-score counts them."""
        if not self.idf:
            return self
        loaded = self.load_model()
        ids = content_ids(loaded, [self._clean(text, loaded) for item in references for text in item])
        specials = [*loaded.framing.prefix, *loaded.framing.suffix]
        return replace(self, table=idf_table([[*specials, *row] for row in ids]))

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return P, R and F per sample, each the best over the references; in pieces, to bound memory."""
        pieces = [self._score(samples[at : at + _PIECE]) for at in range(0, len(samples), _PIECE)]
        values = [value for piece in pieces for value in piece.values]
        return Scores(values, {"truncated": [cut for piece in pieces for cut in piece.notes["truncated"]]})

    def _score(self, samples: Sequence[Sample]) -> Scores:
        loaded = self.load_model()
        weigh = self._weigher(loaded)
        clean = {text: self._clean(text, loaded) for text in distinct_texts(samples)}
        known = embed(loaded, list(clean.values()), self.overlong)
        answers = []
        for sample in samples:
            texts = [known[clean[text]] for text in (sample.hypothesis, *sample.references)]
            rows = [self._pair(texts[0], reference, weigh, loaded) for reference in texts[1:]]
            usable = [row for row in rows if row is not None]
            best = self._rescaled(np.max(usable, axis=0)).tolist() if usable else None
            answers.append((best, sum(text.truncated for text in texts)))
        return scored(answers)

    def baseline(self) -> Floats:
        """P, R and F that become 0: those of unrelated texts, where scores are rescaled."""
        if self.rescale is None:
            return np.zeros(3)
        if self.rescale == EMBEDDED:
            return _embedded_baseline(replace(self, rescale=None, idf=False, table=None))
        return read_baseline(self.rescale, self.layers)

    def _rescaled(self, values: Floats) -> Floats:
        base = self.baseline()
        return np.asarray((values - base) / (1 - base))

    def _weigher(self, loaded: Loaded) -> Weigher:
        """Return a function that gives the tokens of a text weights of sum 1, or None where none counts."""
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

    def _pair(self, hyp: Embedded, ref: Embedded, weigh: Weigher, loaded: Loaded) -> Floats | None:
        if min(len(hyp.ids), len(ref.ids)) <= loaded.framing.size:
            return np.zeros(3)
        weights, others = weigh(hyp), weigh(ref)
        if weights is None or others is None:
            return None
        cosines = hyp.vectors @ ref.vectors.T
        precision = float(cosines.max(axis=1) @ weights)
        recall = float(cosines.max(axis=0) @ others)
        return _with_f(np.array([precision, recall]), self.beta)

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        """Score all pairs; texts of equal length share a tensor, so that nothing is padded."""
        loaded = self.load_model()
        texts = [[self._clean(text, loaded) for text in side] for side in (rows, columns)]
        known = embed(loaded, texts[0] + texts[1], self.overlong)
        sides = [self._by_length([known[text] for text in side], loaded) for side in texts]
        values = np.zeros((len(rows), len(columns), 2))
        for own, other in product(*sides):
            _fill(values, own, other)
        return self._rescaled(_with_f(values, self.beta))

    def _by_length(self, texts: Sequence[Embedded], loaded: Loaded) -> Iterator[_Group]:
        groups: dict[int, list[int]] = {}
        weigh = self._weigher(loaded)
        for index, text in enumerate(texts):
            if len(text.ids) > loaded.framing.size:
                groups.setdefault(len(text.ids), []).append(index)
        for indices in groups.values():
            weights = [weigh(texts[index]) for index in indices]
            if any(row is None for row in weights):
                problem = "a text whose tokens are in every reference has no idf weight"
                raise MetricError(f"{problem}; use idf=false")
            vectors = np.stack([texts[index].vectors for index in indices])
            yield np.array(indices), vectors, np.array(weights, dtype=np.float32)

    def explain(self, sample: Sample) -> Explanation | None:
        """Return the cosines of all tokens with those of the best reference, special tokens left out."""
        loaded = self.load_model()
        hypothesis, *references = (self._clean(t, loaded) for t in (sample.hypothesis, *sample.references))
        known = embed(loaded, [hypothesis, *references], self.overlong)
        weigh = self._weigher(loaded)
        pairs = [(self._pair(known[hypothesis], known[text], weigh, loaded), text) for text in references]
        scored = [(float(row[2]), text) for row, text in pairs if row is not None]
        if not scored:
            return None
        hyp, ref = known[hypothesis], known[max(scored)[1]]
        start, end = len(loaded.framing.prefix), len(loaded.framing.suffix)
        inner = [slice(start, len(text.ids) - end) for text in (hyp, ref)]
        cosines = hyp.vectors[inner[0]] @ ref.vectors[inner[1]].T
        words = loaded.tokenizer.convert_ids_to_tokens
        return matching_explanation(words(hyp.ids[inner[0]]), words(ref.ids[inner[1]]), cosines)


def _fill(values: Floats, own: _Group, other: _Group) -> None:
    """Fill in precision and recall of one block of the grid, in pieces that fit in memory."""
    (rows, vectors, weights), (columns, other_vectors, other_weights) = own, other
    (_, height, size), (count, width, _) = vectors.shape, other_vectors.shape
    others = torch.from_numpy(other_vectors).reshape(count * width, size).T
    step = max(1, _GRID_CELLS // (height * width * count))
    for start in range(0, len(rows), step):
        piece, shares = (torch.from_numpy(side[start : start + step]) for side in (vectors, weights))
        cosines = (piece.reshape(-1, size) @ others).reshape(len(piece), height, count, width)
        precision = torch.einsum("ahb,ah->ab", cosines.amax(3), shares)
        recall = torch.einsum("abw,bw->ab", cosines.amax(1), torch.from_numpy(other_weights))
        cell = np.ix_(rows[start : start + step], columns)
        values[cell] = torch.stack([precision, recall], dim=-1).double().numpy()


def _with_f(values: Floats, beta: float) -> Floats:
    """Append F to (..., 2) of P and R; it is 0 where both are (van Rijsbergen 1979, for beta)."""
    weight = beta**2
    total = weight * values[..., 0] + values[..., 1]
    product = (1 + weight) * values.prod(axis=-1)
    f = np.divide(product, total, out=np.zeros_like(total), where=total != 0)
    return np.concatenate([values, f[..., None]], axis=-1)


def refuse_table(table: object) -> None:
    """Refuse a table that a spec names: it is text."""
    if isinstance(table, str):
        raise SpecError("table is not for specs; idf=true takes the frequencies from the references")


def matching_scores(loaded: Loaded, pairs: Texts, beta: float = 1.0) -> torch.Tensor:
    """Return P, R and F of pairs with gradients; start and end tokens may be matched but carry no weight."""
    states, mask, first, second = encode_pairs(loaded, pairs)
    unit = torch.nn.functional.normalize(states, dim=-1)
    cosines = unit[first] @ unit[second].transpose(1, 2)
    absent = -2.0  # below any cosine
    places, ends = torch.arange(mask.shape[1], device=mask.device), mask.sum(1, keepdim=True)
    is_own = (places >= len(loaded.framing.prefix)) & (places < ends - len(loaded.framing.suffix))
    weights = is_own.float()  # 0 for special tokens and padding
    nearest = cosines.masked_fill(mask[second][:, None, :] == 0, absent).amax(2)
    precision = (nearest * weights[first]).sum(1) / weights[first].sum(1)
    nearest = cosines.masked_fill(mask[first][:, :, None] == 0, absent).amax(1)
    recall = (nearest * weights[second]).sum(1) / weights[second].sum(1)
    f = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    return torch.stack([precision, recall, f], dim=1)


@cache
def unrelated_pairs() -> tuple[Sample, ...]:
    """Texts of the package, each with a text of another task."""
    listed = [record.gold for task in get_args(Task) for record in embedded_records(task)[:_PER_TASK]]
    third = len(listed) // 3
    others = [*listed[third:], *listed[:third]]
    return tuple(Sample(text, (other,)) for text, other in zip(listed, others, strict=True))


@cache
def _embedded_baseline(metric: BertScore) -> Floats:
    """The mean P, R and F of unrelated texts."""
    return np.asarray(np.array(metric.score(unrelated_pairs()).values, dtype=float).mean(axis=0))


def _baseline_digest(rescale: str) -> str:
    if rescale == EMBEDDED:
        return digest(*(pair.hypothesis for pair in unrelated_pairs()))
    return file_digest(_existing(rescale))


def _existing(rescale: str) -> Path:
    path = Path(rescale).expanduser()
    if not path.is_file():
        raise DataError(
            f"no baseline file {path}; give a table of bert-score (LAYER,P,R,F), or rescale={EMBEDDED}"
        )
    return path


def read_baseline(rescale: str, layer: int | None) -> Floats:
    """Read the row of a layer in a table of bert-score: LAYER,P,R,F with a header."""
    path = _existing(rescale)
    with path.open(encoding="utf-8", newline="") as lines:
        rows = {row[0]: row[1:4] for row in csv.reader(lines)}
    try:
        return np.array([float(cell) for cell in rows[str(layer)]])
    except (KeyError, ValueError) as error:
        raise DataError(f"{path} has no row P,R,F for layer {layer}; name one of its layers") from error


# The hub moved the first models under their makers' names; the old names still lead there.
_OWNERS = frozenset({"google-bert", "FacebookAI", "distilbert", "openai-community", "albert", "google-t5"})


def last_layer(model: str) -> int | None:
    """Return the number of the last layer of a carried sentence encoder, None for any other model."""
    number: int | None = toml_file("names", "bertscore_layers")["last"].get(model)
    return number


def tuned_layer(model: str) -> int | None:
    """Return the layer for a model by its name alone; no file is opened."""
    owner, _, name = model.partition("/")
    known = name if owner in _OWNERS else model  # as bert-score spells it
    number: int | None = toml_file("names", "bertscore_layers")["tuned"].get(known, last_layer(model))
    return number


def find_layer(model: str) -> int | None:
    """Return the layer for a model by its name, or by what its config.json says; raise where neither does."""
    number = tuned_layer(model)
    if number is not None:
        return number
    config = read_config(plain_folder(resolve(model)))
    count = _layer_count(config)
    if count is None:
        return None  # loading says what is wrong with the folder
    number = tuned_layer(str(config.get("_name_or_path", ""))) or _layer_by_shape(config)
    if number is None or number > count:
        raise WeightsError(
            f"no layer is known for {model}: the authors of bert-score have tuned none for it, and scores of "
            f"different layers cannot be compared; give layer=N, 1 to {count} (they took 9 of 12 for "
            f"bert-base-uncased, 17 of 24 for roberta-large)"
        )
    return number


def _layer_count(config: dict[str, Any]) -> int | None:
    number = config.get("num_hidden_layers") or config.get("n_layers") or config.get("n_layer")
    return None if number is None else int(number)


def _layer_by_shape(config: dict[str, Any]) -> int | None:
    if any("Classification" in str(kind) for kind in config.get("architectures") or ()):
        return None
    width = config.get("hidden_size") or config.get("dim")
    shape = f"{config.get('model_type')} {_layer_count(config)} {width} {config.get('vocab_size')}"
    return tuned_layer(toml_file("names", "bertscore_layers")["shapes"].get(shape, ""))
