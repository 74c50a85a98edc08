"""Metrics learnt by regression: BLEURT, FrugalScore, MetricX, and any sequence regressor of the hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import WeightsError
from assay.models import classifier as _classifier
from assay.models.torch import Loaded, Neural, Precision, content_ids, in_batches, load, padded

SELLAM_2020 = "Sellam et al. 2020, BLEURT: learning robust metrics for text generation, ACL"
EDDINE_2022 = "Eddine et al. 2022, FrugalScore: learning cheaper, lighter and faster evaluation metrics, ACL"
REIMERS_2019 = "Reimers & Gurevych 2019, Sentence-BERT (cross-encoders for pairs of sentences), D19-1410"
JURASKA_2023 = "Juraska et al. 2023, MetricX-23: the Google submission to the WMT 2023 metrics task"
Reduce = Literal["mean", "max"]


def regressor(name: str, precision: Precision, adapter: str | None) -> Loaded:
    """A model with one output; BLEURT's own format is understood too."""
    loaded = load("AutoBleurt", name, precision=precision, adapter=adapter)
    labels = int(loaded.model.config.num_labels)
    if labels != 1:
        raise WeightsError(
            f"{loaded.path} predicts {labels} classes; a regression metric needs one number (num_labels 1). "
            f"For an entailment model use nli"
        )
    return loaded


def _regressed(metric: Any, samples: Sequence[Sample], *, reference_first: bool) -> Scores:
    """A number a pair of hypothesis and reference, reduced over the references."""
    loaded = regressor(metric.model, metric.precision, metric.adapter)
    pairs = [(text, s.hypothesis) for s in samples for text in s.references]
    if not reference_first:
        pairs = [(hypothesis, reference) for reference, hypothesis in pairs]
    firsts, seconds = [one for one, _ in pairs], [other for _, other in pairs]
    values, cuts = _classifier.logits(loaded, firsts, seconds, metric.overlong)
    return reduced(values[:, 0] if len(values) else values, cuts, samples, metric.reduce)


def reduced(values: Floats, cuts: Sequence[int], samples: Sequence[Sample], reduce: Reduce) -> Scores:
    """Values a (sample, reference) to values a sample."""
    found: list[float | None] = []
    truncated: list[int] = []
    at = 0
    for sample in samples:
        end = at + len(sample.references)
        best = np.max if reduce == "max" else np.mean
        found.append(float(best(values[at:end])) if end > at else None)
        truncated.append(sum(cuts[at:end]))
        at = end
    return Scores(found, {"truncated": truncated})


@dataclass(frozen=True)
class Bleurt(Neural, Metric):
    """BLEURT: [CLS] reference [SEP] hypothesis [SEP] to a number; checkpoints in safetensors."""

    name = "bleurt"
    paradigm = "regression"
    citation = SELLAM_2020
    model: str = "lucadiliello/BLEURT-20-D12"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        regressor(self.model, self.precision, self.adapter)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The reference stands first, as in training; the best reference counts."""
        return _regressed(self, samples, reference_first=True)


@dataclass(frozen=True)
class FrugalScore(Neural, Metric):
    """FrugalScore: a small model that learnt to say what a large metric says; the hypothesis stands first."""

    name = "frugalscore"
    paradigm = "regression"
    citation = EDDINE_2022
    model: str = "moussaKam/frugalscore_tiny_bert-base_bert-score"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        regressor(self.model, self.precision, self.adapter)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The best reference counts."""
        return _regressed(self, samples, reference_first=False)


@dataclass(frozen=True)
class Regression(Neural, Metric):
    """Any regressor of the hub on (reference, hypothesis), or the other way round."""

    name = "regression"
    paradigm = "regression"
    citation = REIMERS_2019
    model: str = "cross-encoder/stsb-distilroberta-base"
    first: Literal["reference", "hypothesis"] = "reference"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        regressor(self.model, self.precision, self.adapter)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """One number a pair."""
        return _regressed(self, samples, reference_first=self.first == "reference")


@dataclass(frozen=True)
class MetricX(Neural, Metric):
    """MetricX: an mT5 whose first logit of one extra token is an error score, 0 to 25; negated here."""

    name = "metricx"
    paradigm = "regression"
    range = (-25.0, 0.0)
    original = "lower"
    citation = JURASKA_2023
    model: str = "google/metricx-23-large-v2p0"
    token: int = 250089  # <extra_id_10>, whose logit was trained to be the score
    reduce: Reduce = "max"
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load("AutoModelForSeq2SeqLM", self.model, precision=self.precision)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """`candidate: ... reference: ...` without the end token, as the authors feed it."""
        loaded = self._loaded()
        texts = [f"candidate: {s.hypothesis} reference: {text}" for s in samples for text in s.references]
        ids = content_ids(loaded, texts)
        kept = [row[: loaded.limit] for row in ids]
        cuts = [len(one) - len(other) for one, other in zip(ids, kept, strict=True)]
        values = in_batches([len(row) for row in kept], lambda batch: self._forward(loaded, kept, batch))
        return reduced(-np.clip(np.array(values), 0.0, 25.0), cuts, samples, self.reduce)

    def _forward(self, loaded: Loaded, rows: Sequence[Sequence[int]], batch: list[int]) -> list[float]:
        import torch

        ids, mask = padded([rows[index] for index in batch], loaded.pad, loaded.device)
        start = torch.zeros((len(batch), 1), dtype=torch.long, device=loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask, decoder_input_ids=start).logits
        return [float(value) for value in logits[:, 0, self.token].float().cpu()]
