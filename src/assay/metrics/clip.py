"""CLIPScore and RefCLIPScore: does the caption fit the image; and captions matched in its presence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.core import Floats, Image, Metric, Sample, Scores
from assay.metrics.contextual import unit
from assay.models.encoder import MEMORY, Embedded
from assay.models.torch import Loaded, Neural, Precision, content_ids, in_batches, load, padded, within
from assay.models.vision import image_processor, pixels

HESSEL_2021 = "Hessel et al. 2021, CLIPScore: a reference-free evaluation metric for image captioning, EMNLP"
LEE_2020 = "Lee et al. 2020, ViLBERTScore: evaluating image caption using vision-and-language BERT, Eval4NLP"
_IMAGES = 16  # images a batch


def _features(answer: Any) -> Any:
    """The projected vectors, whether the model wraps them or not."""
    return answer.pooler_output if hasattr(answer, "pooler_output") else answer


def image_vectors(loaded: Loaded, images: Sequence[Image]) -> dict[str, Floats]:
    """A unit vector an image, by its digest; each image once."""
    found: dict[str, Floats] = {}
    fresh: dict[str, Image] = {}
    for image in images:
        known = MEMORY.get((loaded.serial, "image", image.digest))
        if known is None:
            fresh[image.digest] = image
        else:
            found[image.digest] = known.vectors[0].astype(np.float64)
    processor = image_processor(loaded.path)
    waiting = list(fresh.values())

    def forward(batch: list[int]) -> list[Floats]:
        inputs = pixels(processor, [waiting[index] for index in batch]).to(loaded.device)
        answer = _features(loaded.model.get_image_features(**inputs)).float()
        return list(answer.cpu().numpy())

    for image, vector in zip(waiting, in_batches([1] * len(waiting), forward, _IMAGES), strict=True):
        row = unit(np.asarray(vector)[None])
        MEMORY.put((loaded.serial, "image", image.digest), Embedded((), row.astype(np.float32)))
        found[image.digest] = row[0].astype(np.float32).astype(np.float64)
    return found


def text_vectors(
    loaded: Loaded, texts: Sequence[str], overlong: str
) -> tuple[dict[str, Floats], dict[str, int]]:
    """A unit vector a distinct text, and the tokens cut."""
    distinct = list(dict.fromkeys(texts))
    room = loaded.limit - loaded.framing.size
    rows, cuts = [], {}
    for text, ids in zip(distinct, content_ids(loaded, distinct), strict=True):
        kept, cuts[text] = within(loaded, ids, room, "error" if overlong == "error" else "warn", text)
        rows.append([*loaded.framing.prefix, *kept, *loaded.framing.suffix])

    def forward(batch: list[int]) -> list[Floats]:
        ids, mask = padded([rows[index] for index in batch], loaded.pad, loaded.device)
        answer = _features(loaded.model.get_text_features(input_ids=ids, attention_mask=mask)).float()
        return list(answer.cpu().numpy())

    vectors = in_batches([len(row) for row in rows], forward)
    return {t: unit(np.asarray(v, dtype=np.float64)) for t, v in zip(distinct, vectors, strict=True)}, cuts


def _clip(metric: Any, samples: Sequence[Sample], *, references: bool) -> Scores:
    loaded = load("AutoModel", metric.model, precision=metric.precision)
    pictures = image_vectors(loaded, [s.image for s in samples if s.image is not None])
    wanted = [
        metric.prefix + text
        for s in samples
        for text in (s.hypothesis, *(s.references if references else ()))
    ]
    vectors, cuts = text_vectors(loaded, wanted, metric.overlong)
    values: list[float | None] = []
    truncated: list[int] = []
    for sample in samples:
        mine = metric.prefix + sample.hypothesis
        truncated.append(cuts[mine])
        if sample.image is None:
            values.append(None)
            continue
        plain = metric.w * max(float(vectors[mine] @ pictures[sample.image.digest]), 0.0)
        if not references:
            values.append(plain)
            continue
        near = max(max(float(vectors[mine] @ vectors[metric.prefix + t]) for t in sample.references), 0.0)
        values.append(2 * plain * near / (plain + near) if plain + near else 0.0)
    return Scores(values, {"truncated": truncated})


@dataclass(frozen=True)
class ClipScore(Neural, Metric):
    """2.5 * max(cos(image, caption), 0); the caption is read as "A photo depicts ..."."""

    name = "clipscore"
    paradigm = "image-text"
    needs = frozenset({"image"})
    range = (0.0, 2.5)
    citation = HESSEL_2021
    model: str = "openai/clip-vit-base-patch32"
    w: float = 2.5
    prefix: str = "A photo depicts "
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        load("AutoModel", self.model, precision=self.precision)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """No reference is read."""
        return _clip(self, samples, references=False)


@dataclass(frozen=True)
class RefClipScore(Neural, Metric):
    """The harmonic mean of CLIPScore and the best max(cos(reference, caption), 0)."""

    name = "refclipscore"
    paradigm = "image-text"
    needs = frozenset({"image", "references"})
    range = (0.0, 2.5)
    citation = HESSEL_2021
    model: str = "openai/clip-vit-base-patch32"
    w: float = 2.5
    prefix: str = "A photo depicts "
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        load("AutoModel", self.model, precision=self.precision)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Image and references."""
        return _clip(self, samples, references=True)


@dataclass(frozen=True)
class VilbertScore(Neural, Metric):
    """BERTScore's matching on tokens that a vision-language encoder (ViLT style) has read with the image."""

    name = "vilbertscore"
    paradigm = "image-text"
    needs = frozenset({"image", "references"})
    outputs = ("p", "r", "f")
    range = (-1.0, 1.0)
    citation = LEE_2020
    model: str = "dandelin/vilt-b32-mlm"
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load("AutoModel", self.model, precision=self.precision, unused=("pooler",))

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Each text is read with the sample's image; the best reference counts."""
        loaded = self._loaded()
        jobs = list(
            dict.fromkeys((s.image, t) for s in samples if s.image for t in (s.hypothesis, *s.references))
        )
        known = dict(zip(jobs, self._encode(loaded, jobs), strict=True))
        values: list[Any] = []
        truncated: list[int] = []
        for sample in samples:
            if sample.image is None:
                values.append(None)
                truncated.append(0)
                continue
            mine, *theirs = [known[sample.image, text] for text in (sample.hypothesis, *sample.references)]
            rows = [_matched(mine[0], other) for other, _ in theirs if len(other) and len(mine[0])]
            values.append(np.max(rows, axis=0).tolist() if rows else None)
            truncated.append(sum(cut for _, cut in (mine, *theirs)))
        return Scores(values, {"truncated": truncated})

    def _encode(self, loaded: Loaded, jobs: Sequence[tuple[Image, str]]) -> list[tuple[Floats, int]]:
        """Unit vectors of a text's own tokens, read together with the image's patches."""
        room = loaded.limit - loaded.framing.size
        before = len(loaded.framing.prefix)
        rows, cuts = [], []
        for (_, text), ids in zip(jobs, content_ids(loaded, [text for _, text in jobs]), strict=True):
            kept, cut = within(loaded, ids, room, self.overlong, text)
            rows.append([*loaded.framing.prefix, *kept, *loaded.framing.suffix])
            cuts.append(cut)
        processor = image_processor(loaded.path)

        def forward(batch: list[int]) -> list[Floats]:
            ids, mask = padded([rows[index] for index in batch], loaded.pad, loaded.device)
            inputs = pixels(processor, [jobs[index][0] for index in batch]).to(loaded.device)
            hidden = loaded.model(input_ids=ids, attention_mask=mask, **inputs)[0].float().cpu().numpy()
            ends = [len(rows[index]) - len(loaded.framing.suffix) for index in batch]
            return [unit(hidden[at, before:end].astype(np.float64)) for at, end in enumerate(ends)]

        return list(zip(in_batches([1] * len(rows), forward, _IMAGES), cuts, strict=True))


def _matched(mine: Floats, theirs: Floats) -> list[float]:
    cosines = mine @ theirs.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    total = precision + recall
    return [precision, recall, 2 * precision * recall / total if total else 0.0]
