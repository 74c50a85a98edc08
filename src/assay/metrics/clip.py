"""CLIPScore and RefCLIPScore: how well a caption fits its image; ViLBERTScore: tokens read with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assay.core import Floats, Image, Metric, Sample, Scores
from assay.metrics.base import Cut, Neural, best_matches, scored, unit
from assay.models.encoder import Embedded, remembered
from assay.models.loading import image_processor, pixels
from assay.models.torch import Loaded, Precision, framed_rows, in_batches, padded

_IMAGES = 16  # images per batch


def _features(answer: Any) -> list[Any]:
    vectors = answer.pooler_output if hasattr(answer, "pooler_output") else answer
    return list(vectors.float().cpu().numpy())


def image_vectors(loaded: Loaded, images: Sequence[Image]) -> dict[str, Floats]:
    """Return one unit vector per distinct image, by its digest."""
    by_digest = {image.digest: image for image in images}
    processor = image_processor(loaded.path)

    def encode(digests: list[str]) -> list[Embedded]:
        def forward(batch: list[int]) -> list[Any]:
            some = [by_digest[digests[index]] for index in batch]
            return _features(loaded.model.get_image_features(**pixels(processor, some).to(loaded.device)))

        vectors = in_batches([1] * len(digests), forward, _IMAGES)
        return [Embedded((), unit(np.asarray(vector)[None]).astype(np.float32)) for vector in vectors]

    known = remembered((loaded.serial, "image"), by_digest, encode)
    return {digest: embedded.vectors[0].astype(np.float64) for digest, embedded in known.items()}


def text_vectors(
    loaded: Loaded, texts: Sequence[str], overlong: Cut
) -> tuple[dict[str, Floats], dict[str, int]]:
    """Return one unit vector per distinct text, and the tokens cut of each."""
    distinct = list(dict.fromkeys(texts))
    rows, cuts = framed_rows(loaded, distinct, overlong)

    def forward(batch: list[int]) -> list[Any]:
        ids, mask = padded([rows[index] for index in batch], loaded.pad, loaded.device)
        return _features(loaded.model.get_text_features(input_ids=ids, attention_mask=mask))

    vectors = in_batches([len(row) for row in rows], forward)
    units = [unit(np.asarray(vector, dtype=np.float64)) for vector in vectors]
    return dict(zip(distinct, units, strict=True)), dict(zip(distinct, cuts, strict=True))


@dataclass(frozen=True)
class _Clip(Neural, Metric):
    """The fields and formula of both CLIPScores."""

    paradigm = "image-text"
    range = (0.0, 2.5)
    citation = "Hessel et al. 2021, CLIPScore: a reference-free evaluation metric for image captioning, EMNLP"
    reads_references: ClassVar[bool]
    model: str = "openai/clip-vit-base-patch32"
    w: float = 2.5
    prefix: str = "A photo depicts "
    overlong: Cut = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        loaded = self.load_model()
        pictures = image_vectors(loaded, [s.image for s in samples if s.image is not None])
        texts = [
            self.prefix + text
            for s in samples
            for text in (s.hypothesis, *(s.references if self.reads_references else ()))
        ]
        vectors, cuts = text_vectors(loaded, texts, self.overlong)
        values = [self._value(sample, vectors, pictures) for sample in samples]
        return Scores(values, {"truncated": [cuts[self.prefix + s.hypothesis] for s in samples]})

    def _value(self, sample: Sample, vectors: dict[str, Floats], pictures: dict[str, Floats]) -> float | None:
        if sample.image is None:
            return None
        caption = vectors[self.prefix + sample.hypothesis]
        fit = self.w * max(float(caption @ pictures[sample.image.digest]), 0.0)
        if not self.reads_references:
            return fit
        near = max(max(float(caption @ vectors[self.prefix + text]) for text in sample.references), 0.0)
        return 2 * fit * near / (fit + near) if fit + near else 0.0


@dataclass(frozen=True)
class ClipScore(_Clip):
    """2.5 * max(cos(image, caption), 0); the caption is read as "A photo depicts ..."."""

    name = "clipscore"
    needs = frozenset({"image"})
    reads_references = False


@dataclass(frozen=True)
class RefClipScore(_Clip):
    """The harmonic mean of CLIPScore and the best max(cos(reference, caption), 0)."""

    name = "refclipscore"
    needs = frozenset({"image", "references"})
    reads_references = True


@dataclass(frozen=True)
class VilbertScore(Neural, Metric):
    """BERTScore's matching on tokens that a vision-language encoder (ViLT style) has read with the image."""

    name = "vilbertscore"
    stand_in = True
    paradigm = "image-text"
    needs = frozenset({"image", "references"})
    outputs = ("p", "r", "f")
    range = (-1.0, 1.0)
    citation = (
        "Lee et al. 2020, ViLBERTScore: evaluating image caption using vision-and-language BERT, Eval4NLP"
    )
    unused = ("pooler",)
    model: str = "dandelin/vilt-b32-mlm"
    overlong: Cut = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Read each text with the sample's image; the best reference counts."""
        pairs = ((s.image, t) for s in samples if s.image for t in (s.hypothesis, *s.references))
        jobs = list(dict.fromkeys(pairs))
        known = dict(zip(jobs, self._encode(jobs), strict=True))
        answers: list[tuple[list[float] | None, int]] = []
        for sample in samples:
            if sample.image is None:
                answers.append((None, 0))
                continue
            hyp, *ref = [known[sample.image, text] for text in (sample.hypothesis, *sample.references)]
            rows = [best_matches(hyp[0], other) for other, _ in ref if len(other) and len(hyp[0])]
            best = np.max(rows, axis=0).tolist() if rows else None
            answers.append((best, sum(cut for _, cut in (hyp, *ref))))
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
