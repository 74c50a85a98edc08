"""Metrics of captions: CIDEr and SPICE from references, CLIPScore, SigLIP and ViLBERTScore with the image."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Literal, Self

import numpy as np

from assay.core import Floats, Image, Metric, Sample, Scores
from assay.datasets.scenes import clip_folder, clip_recipe, miniatures
from assay.errors import MetricError, WeightsError
from assay.metrics.base import Neural, Shortened, best_matches, scored, unit
from assay.metrics.coco import JAVA_BATCH, JavaBacked, java_spice, spice_state
from assay.metrics.text import Counts, Tokenize, distinct_texts, grams, memo, tokens
from assay.models.encoder import Embedded, Matrix, remembered
from assay.models.loading import image_processor, pixels
from assay.models.torch import Loaded, Overlong, Precision, forward_rows, framed_rows, in_batches, padded
from assay.models.vision import keep, recall
from assay.models.weights import pin
from assay.recipe import digest

ORDERS = 4
SIGMA = 6.0
Gram = tuple[str, ...]
Backend = Literal["own", "coco"]


@memo(budget=400_000)
def order_counts(text: str, tokenize: Tokenize) -> tuple[Counts, ...]:
    """Return the n-gram counts of the orders 1 to 4."""
    words = tokens(text, tokenize)
    return tuple([grams(words, order) for order in range(1, ORDERS + 1)])


@dataclass(frozen=True)
class DocumentFrequencies:
    """For each n-gram, the number of items whose references have it."""

    documents: int
    counts: Mapping[Gram, int] = field(hash=False)

    @cached_property
    def digest(self) -> str:
        rows = (f"{' '.join(gram)}\t{count}" for gram, count in sorted(self.counts.items()))
        return digest(str(self.documents), *rows)

    def idf(self, gram: Gram) -> float:
        """Return the inverse document frequency; an unknown n-gram counts as one item's."""
        return math.log(self.documents) - math.log(max(1, self.counts.get(gram, 0)))


def _grams_of(texts: Sequence[str], tokenize: Tokenize) -> set[Gram]:
    """Return the n-grams of one item's references, each once however often they have it."""
    orders = chain.from_iterable(order_counts(text, tokenize) for text in texts)
    return set(chain.from_iterable(orders))


# A caption's tf-idf weights with their norm, by order, and its length (pycocoevalcap counts bigrams).
Vector = tuple[list[tuple[dict[Gram, float], float]], int]


def _vector(text: str, table: DocumentFrequencies, tokenize: Tokenize) -> Vector:
    """Return the caption's tf-idf weights."""
    counts = order_counts(text, tokenize)
    weights = [{gram: k * table.idf(gram) for gram, k in order.items()} for order in counts]
    return [(order, math.sqrt(sum(w * w for w in order.values()))) for order in weights], counts[1].total()


def similarity(hyp: Vector, ref: Vector, *, clipped: bool) -> float:
    """Return the mean cosine over orders; CIDEr-D clips weights and penalises a difference in length."""
    total = 0.0
    for (weights, norm), (others, other_norm) in zip(hyp[0], ref[0], strict=True):
        # In the hypothesis' order: the sum of a set's members would depend on the hash seed.
        shared = [gram for gram in weights if gram in others]
        least = {gram: min(weights[gram], others[gram]) for gram in shared} if clipped else weights
        product = sum(least[gram] * others[gram] for gram in shared)
        if norm and other_norm:
            total += product / (norm * other_norm)
    if clipped:
        total *= math.exp(-((hyp[1] - ref[1]) ** 2) / (2 * SIGMA**2))
    return total / ORDERS


@dataclass(frozen=True)
class Cider(JavaBacked, Metric):
    """CIDEr-D, as pycocoevalcap and everyone runs it; `backend=coco` tokenises with its Java tokeniser."""

    name = "cider"
    # version 1 parted words as Stanford's tokeniser does in 95 of 100 sentences; now in more than 99
    version = 2
    paradigm = "caption"
    range = (0.0, 10.0)
    identity_highest = True
    clipped: ClassVar[bool] = True
    citation = "Vedantam et al. 2015, CIDEr: Consensus-based Image Description Evaluation, arXiv:1411.5726"

    tokenize: Tokenize = "ptb"
    backend: Backend = "own"
    table: DocumentFrequencies | None = None

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        if len(references) == 1:  # one set of texts that all items share: each of them is a document
            references = [(text,) for text in references[0]]
        items, tokenize = self.prepared([Sample("", texts) for texts in references])
        counts = Counter(chain.from_iterable(_grams_of(item.references, tokenize) for item in items))
        return replace(self, table=DocumentFrequencies(len(items), counts))

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """Return ten times the mean similarity to the references, per sample."""
        samples, tokenize = self.prepared(samples)
        if self.table is None or self.table.documents < 2:
            raise MetricError(
                "cider weighs n-grams by how few items have them and needs the references of at least two "
                "items: score a dataset, or call .fitted(references) with one tuple of references per item"
            )
        vectors = {text: _vector(text, self.table, tokenize) for text in distinct_texts(samples)}
        values: list[float | None] = []
        for sample in samples:
            others = (vectors[text] for text in sample.references)
            similar = [similarity(vectors[sample.hypothesis], ref, clipped=self.clipped) for ref in others]
            values.append(10 * sum(similar) / len(similar) if similar else None)
        return values


@dataclass(frozen=True)
class CiderPlain(Cider):
    """CIDEr without clipping and length penalty, in 0..10."""

    name = "cider-plain"
    clipped = False


@dataclass(frozen=True)
class Spice(Metric):
    """F over scene-graph tuples, by the authors' Java program and Stanford's parser."""

    name = "spice"
    paradigm = "caption"
    range = (0.0, 1.0)
    packages = ("pycocoevalcap",)
    extra = "coco"
    citation = (
        "Anderson et al. 2016, SPICE: Semantic Propositional Image Caption Evaluation, arXiv:1607.08822"
    )

    batch = JAVA_BATCH

    @classmethod
    def absent(cls) -> str | None:
        return spice_state()

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        return java_spice(samples) if samples else []


_IMAGES = 16  # images per batch
_KEPT = 2048  # embeddings written to the disk at once


def _features(answer: Any) -> list[Any]:
    vectors = answer.pooler_output if hasattr(answer, "pooler_output") else answer
    return list(vectors.float().cpu().numpy())


def images_of(samples: Sequence[Sample]) -> list[Image]:
    """Return the samples' images; a metric that needs one is given no sample without."""
    return [sample.image for sample in samples if sample.image is not None]


def image_vectors(loaded: Loaded, images: Sequence[Image]) -> dict[str, Floats]:
    """Return one unit vector per distinct image, by its digest."""
    by_digest = {image.digest: image for image in images}

    def encode_new(digests: list[str]) -> list[Embedded]:
        """Take what the disk has; encode and keep the rest, some thousands at a time."""
        mark = f"vector:{pin(str(loaded.path))}:{loaded.model.dtype}:"
        kept = recall(mark + name for name in digests)
        vectors = {key.rpartition(":")[2]: np.frombuffer(value, np.float32) for key, value in kept.items()}
        fresh = [name for name in digests if name not in vectors]
        for start in range(0, len(fresh), _KEPT):
            some = fresh[start : start + _KEPT]
            new = dict(zip(some, _encoded(loaded, [by_digest[name] for name in some]), strict=True))
            keep({mark + name: vector.tobytes() for name, vector in new.items()})
            vectors |= new
        return [Embedded((), vectors[name][None]) for name in digests]

    known = remembered((loaded.serial, "image"), by_digest, encode_new)
    return {digest: embedded.vectors[0].astype(np.float64) for digest, embedded in known.items()}


def _encoded(loaded: Loaded, images: Sequence[Image]) -> list[Matrix]:
    """Return one unit vector per image, as the model has it."""
    processor = image_processor(loaded.path)

    def forward(batch: list[int]) -> list[Any]:
        inputs = pixels(processor, [images[index] for index in batch]).to(loaded.device)
        return _features(loaded.model.get_image_features(**inputs))

    vectors = in_batches([1] * len(images), forward, _IMAGES)
    return [unit(np.asarray(vector)).astype(np.float32) for vector in vectors]


def text_vectors(
    loaded: Loaded, texts: Sequence[str], overlong: Overlong
) -> tuple[dict[str, Floats], dict[str, int]]:
    """Return one unit vector per distinct text, and the tokens cut of each."""
    distinct = list(dict.fromkeys(texts))
    rows, cuts = framed_rows(loaded, distinct, overlong)
    if loaded.model.config.model_type.startswith("siglip"):
        # It was trained on texts that are filled up to its limit, and reads off the last place.
        rows = [row + [loaded.pad] * (loaded.limit - len(row)) for row in rows]

    def forward(ids: Any, mask: Any) -> list[Any]:
        return _features(loaded.model.get_text_features(input_ids=ids, attention_mask=mask))

    units = [unit(np.asarray(vector, dtype=np.float64)) for vector in forward_rows(loaded, rows, forward)]
    return dict(zip(distinct, units, strict=True)), dict(zip(distinct, cuts, strict=True))


class _ImageText(Neural, Metric):
    """A model of two encoders, with one vector per image and per text; subclasses score their cosines."""

    prefix: str
    family: ClassVar[str]  # of the models that it is defined on

    def load_model(self) -> Loaded:
        loaded = super().load_model()
        kind = str(loaded.model.config.model_type)
        other = {"clip": "clipscore", "siglip": "siglip-cosine"}.get(kind.rstrip("2"), "")
        if other and kind.rstrip("2") != self.family:
            raise WeightsError(f"{loaded.path} holds a model of the kind {kind}; use {other}:model=PATH")
        return loaded

    @abstractmethod
    def value(self, loaded: Loaded, fit: float, near: Sequence[float]) -> float | list[float]:
        """Return the score, from the caption's cosine with the image and those with the references."""

    def score(self, samples: Sequence[Sample]) -> Scores:
        loaded, images = self.load_model(), images_of(samples)
        pictures = image_vectors(loaded, images)
        texts = [self.prefix + text for text in distinct_texts(samples)]
        vectors, cuts = text_vectors(loaded, texts, self.overlong)
        values: list[Any] = []
        for sample, image in zip(samples, images, strict=True):
            caption = vectors[self.prefix + sample.hypothesis]
            near = [float(caption @ vectors[self.prefix + text]) for text in sample.references]
            values.append(self.value(loaded, float(caption @ pictures[image.digest]), near))
        return Scores(values, {"truncated": [cuts[self.prefix + s.hypothesis] for s in samples]})


@dataclass(frozen=True)
class ClipScore(_ImageText):
    """2.5 * max(cos(image, caption), 0); the caption is read as "A photo depicts ..."."""

    name = "clipscore"
    family = "clip"
    paradigm = "image-text"
    needs = frozenset({"image"})
    range = (0.0, 2.5)
    citation = "Hessel et al. 2021, CLIPScore: a reference-free evaluation metric for image captioning, EMNLP"

    model: str = "openai/clip-vit-base-patch32"
    w: float = 2.5
    prefix: str = "A photo depicts "
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    @property
    def weights_source(self) -> str:
        return str(clip_folder(self.model)) if self.model in miniatures() else self.model

    @property
    def shown(self) -> str:
        """A miniature is trained on drawn pictures, and is no CLIP that anybody else means."""
        named = super().shown
        return named.replace(" [", "-like [", 1) if self.model in miniatures() else named

    def pins(self) -> Mapping[str, str]:
        is_miniature = self.model in miniatures()
        return {"model": f"recipe:{clip_recipe(self.model)}"} if is_miniature else super().pins()

    def value(self, loaded: Loaded, fit: float, near: Sequence[float]) -> float | list[float]:
        return self.w * max(fit, 0.0)


@dataclass(frozen=True)
class RefClipScore(ClipScore):
    """The harmonic mean of CLIPScore and the best max(cos(reference, caption), 0)."""

    name = "refclipscore"
    needs = frozenset({"image", "references"})

    def value(self, loaded: Loaded, fit: float, near: Sequence[float]) -> float | list[float]:
        fit, best = self.w * max(fit, 0.0), max([*near, 0.0])
        return 2 * fit * best / (fit + best) if fit + best else 0.0


@dataclass(frozen=True)
class SigLip(_ImageText):
    """SigLIP's cosine of image and caption, and the probability that it was trained to give for the pair."""

    name = "siglip"
    family = "siglip"
    paradigm = "image-text"
    needs = frozenset({"image"})
    outputs = ("cosine", "probability")
    range = (-1.0, 1.0)
    citation = "Zhai et al. 2023, Sigmoid loss for language image pre-training, ICCV"

    model: str = "google/siglip-base-patch16-224"
    prefix: str = ""
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def value(self, loaded: Loaded, fit: float, near: Sequence[float]) -> float | list[float]:
        scale, bias = float(loaded.model.logit_scale.exp()), float(loaded.model.logit_bias)
        return [fit, 1 / (1 + math.exp(-(scale * fit + bias)))]


@dataclass(frozen=True)
class VilbertScore(Neural, Metric):
    """BERTScore's matching on tokens that a vision-language encoder (ViLT style) has read with the image."""

    name = "vilbertscore"
    paradigm = "image-text"
    needs = frozenset({"image", "references"})
    outputs = ("p", "r", "f")
    range = (-1.0, 1.0)
    unused = ("pooler",)
    stand_in = True
    citation = (
        "Lee et al. 2020, ViLBERTScore: evaluating image caption using vision-and-language BERT, Eval4NLP"
    )

    model: str = "dandelin/vilt-b32-mlm"
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Read each text with the sample's image; the best reference counts."""
        images = zip(images_of(samples), samples, strict=True)
        pairs = [[(image, text) for text in (s.hypothesis, *s.references)] for image, s in images]
        distinct = list(dict.fromkeys(chain.from_iterable(pairs)))
        known = dict(zip(distinct, self._encode(distinct), strict=True))
        answers: list[tuple[list[float] | None, int]] = []
        for some in pairs:
            (hypothesis, *references), cuts = zip(*(known[pair] for pair in some), strict=True)
            rows = [best_matches(hypothesis, other) for other in references if len(other) and len(hypothesis)]
            answers.append((np.max(rows, axis=0).tolist() if rows else None, sum(cuts)))
        return scored(answers)

    def _encode(self, jobs: Sequence[tuple[Image, str]]) -> list[tuple[Floats, int]]:
        """Return unit vectors of each text's tokens, read with the image's patches, and the tokens cut."""
        loaded = self.load_model()
        before, after = len(loaded.framing.prefix), len(loaded.framing.suffix)
        rows, cuts = framed_rows(loaded, [text for _, text in jobs], self.overlong)
        processor = image_processor(loaded.path)

        def forward(batch: list[int]) -> list[Floats]:
            ids, mask = padded([rows[index] for index in batch], loaded.pad, loaded.device)
            inputs = pixels(processor, [jobs[index][0] for index in batch]).to(loaded.device)
            hidden = loaded.model(input_ids=ids, attention_mask=mask, **inputs)[0].float().cpu().numpy()
            ends = [len(rows[index]) - after for index in batch]
            return [unit(hidden[at, before:end].astype(np.float64)) for at, end in enumerate(ends)]

        return list(zip(in_batches([1] * len(rows), forward, _IMAGES), cuts, strict=True))
