"""What metrics on pretrained models share: loading, digests for signatures, reduction over references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from assay.core import Explanation, Floats, Scores
from assay.errors import MetricError
from assay.metrics.text import Reduce, reduced, segments
from assay.models import adapters, weights
from assay.models.torch import Loaded, Overlong, Precision, load, model_pins

_SIZE = re.compile(r"[-_]\d+(\.\d+)?[MB]$")  # m2m100_418M: the size at the end of a model's name
Shortened = Literal["warn", "error"]  # what happens to a text that is too long: cut and counted, or refused


class Neural:
    """A metric on a pretrained model of transformers; the order of its fields is part of the signature."""

    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    extra: ClassVar[str | None] = "neural"
    weights: ClassVar[tuple[str, ...]] = ("model",)
    architecture: ClassVar[str] = "AutoModel"  # the class of transformers that reads the model
    unused: ClassVar[tuple[str, ...]] = ()  # parts of the model that may lack weights
    stand_in: ClassVar[bool] = False  # another model than the authors', whose name the metric carries
    base: ClassVar[str | None] = None  # the model whose config and tokenizer a file of weights alone takes
    model: str
    # A metric without such a field has these values.
    layer: int | None = None
    adapter: str | None = None
    precision: Precision = "float32"
    overlong: Overlong = "warn"
    reduce: Reduce = "max"
    tokenizer: str | None = None

    def pins(self) -> Mapping[str, str]:
        digests = {name: weights.pin(getattr(self, name)) for name in type(self).weights if name != "model"}
        digests |= model_pins(self.model, self.base, self.tokenizer)
        return {**digests, "adapter": adapters.adapter_digest(self.adapter)} if self.adapter else digests

    @property
    def shown(self) -> str:
        """The name as tables should show it: `bertscore [minilm:6]`, `prism-like [m2m100]`."""
        model = _SIZE.sub("", Path(self.model).name)
        like = "-like" if self.stand_in else ""
        return f"{getattr(self, 'name', '')}{like} [{model}{f':{self.layer}' if self.layer else ''}]"

    @property
    def parameter_count(self) -> int | None:
        carrier = weights.CARRIERS.get(self.model)
        return carrier.parameters if carrier else None

    @property
    def layers(self) -> int | None:
        """How many layers are read, the lowest first; None for all."""
        return self.layer

    @property
    def weights_source(self) -> str:
        """Where the weights are: a name that weights.resolve knows, or a folder."""
        return self.model

    def load_model(self) -> Loaded:
        """Return the model with its tokenizer, loaded once per process; a masked model must have a mask."""
        loaded = load(
            self.architecture, self.weights_source, precision=self.precision, adapter=self.adapter,
            unused=self.unused, layers=self.layers, base=self.base, tokenizer=self.tokenizer,
        )  # fmt: skip
        if self.architecture == "AutoModelForMaskedLM" and loaded.tokenizer.mask_token_id is None:
            advice = "take a masked language model"
            raise MetricError(f"the tokenizer in {loaded.path} has no mask token; {advice}")
        return loaded

    def prepare(self) -> None:
        self.load_model()

    def unknown_share(self, texts: Sequence[str]) -> float:
        """The share of the tokens of texts that the model does not know; 0 where it spells out everything."""
        tokenizer = self.load_model().tokenizer
        ids = list(chain.from_iterable(tokenizer(list(texts), add_special_tokens=False)["input_ids"]))
        return ids.count(tokenizer.unk_token_id) / max(1, len(ids))


def unit(vectors: Floats) -> Floats:
    """Scale rows to length 1; a zero row stays."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))


def softmax(logits: Floats) -> Floats:
    """Return probabilities, row by row."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def reduced_scores(
    values: Floats, cuts: Sequence[int], read: Iterable[Sequence[Any]], reduce: Reduce
) -> Scores:
    """Return one score per sample from one value and one count of cut tokens for each thing read of it."""
    return scored((reduced(values[part], reduce), sum(cuts[part])) for part in segments(map(len, read)))


def scored(rows: Iterable[tuple[Any, int]]) -> Scores:
    """Return values, each given with its count of cut tokens, as scores with that note."""
    pairs = list(rows)
    return Scores([value for value, _ in pairs], {"truncated": [cut for _, cut in pairs]})


def matching_explanation(hyp: Iterable[str], ref: Iterable[str], table: NDArray[Any]) -> Explanation:
    """Return how far each part of the hypothesis goes with each part of the reference, to four decimals."""
    values = np.round(np.asarray(table, dtype=np.float64), 4)
    return Explanation("matching", tuple(hyp), tuple(ref), tuple(map(tuple, values.tolist())))


def best_matches(hypothesis: Floats, reference: Floats) -> list[float]:
    """Return precision, recall and F of two texts' unit vectors, each matched with its nearest."""
    cosines = hypothesis @ reference.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    total = precision + recall
    return [precision, recall, 2 * precision * recall / total if total else 0.0]
