"""Metrics with a trained regressor: BLEURT, FrugalScore, MetricX, COMET."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.core import Metric, Sample, Scores
from assay.errors import WeightsError
from assay.metrics.base import Cut, Neural, reduced_scores
from assay.metrics.text import Reduce
from assay.models.encoder import Differentiable, Texts, logits
from assay.models.torch import Loaded, Precision, content_ids, in_batches, padded
from assay.vocabulary import NonNegative

if TYPE_CHECKING:
    import torch
from collections.abc import Mapping
from typing import Any

from assay.core import Floats
from assay.models.estimator import Estimator, checkpoint_digest, load_estimator
from assay.models.torch import device, framed_rows, tokenize_within

SELLAM_2020 = "Sellam et al. 2020, BLEURT: learning robust metrics for text generation, ACL"
EDDINE_2022 = "Eddine et al. 2022, FrugalScore: learning cheaper, lighter and faster evaluation metrics, ACL"
REIMERS_2019 = "Reimers & Gurevych 2019, Sentence-BERT (cross-encoders for pairs of sentences), D19-1410"
JURASKA_2023 = "Juraska et al. 2023, MetricX-23: the Google submission to the WMT 2023 metrics task"


class _Regressor(Neural, Metric):
    """A model with one output per pair of hypothesis and reference; BLEURT's own format is read too."""

    paradigm = "regression"
    architecture = "AutoBleurt"
    first: Literal["reference", "hypothesis"] = "reference"  # the text that the model reads first
    reduce: Reduce
    overlong: Cut

    def load_model(self) -> Loaded:
        loaded = super().load_model()
        labels = int(loaded.model.config.num_labels)
        if labels != 1:
            raise WeightsError(
                f"{loaded.path} predicts {labels} classes; a regression metric needs one number "
                f"(num_labels 1). For an entailment model use nli"
            )
        return loaded

    def _ordered(self, pairs: Texts) -> tuple[list[str], list[str]]:
        """Return the first and the second texts of (hypothesis, reference) pairs, as the model reads them."""
        hypotheses, references = [text for text, _ in pairs], [text for _, text in pairs]
        return (references, hypotheses) if self.first == "reference" else (hypotheses, references)

    def score(self, samples: Sequence[Sample]) -> Scores:
        pairs = [(sample.hypothesis, text) for sample in samples for text in sample.references]
        values, cuts = logits(self.load_model(), *self._ordered(pairs), self.overlong)
        return reduced_scores(values[:, 0], cuts, samples, self.reduce)

    def differentiable(self) -> Differentiable:
        return Differentiable(self.load_model, self._with_gradients)

    def _with_gradients(self, loaded: Loaded, pairs: Texts) -> torch.Tensor:
        batch = loaded.tokenizer(
            *self._ordered(pairs), truncation=True, max_length=loaded.limit, padding=True, return_tensors="pt"
        ).to(loaded.device)
        values: torch.Tensor = loaded.model(**batch).logits
        return values[:, :1].float()


@dataclass(frozen=True)
class Bleurt(_Regressor):
    """BLEURT: [CLS] reference [SEP] hypothesis [SEP] to a number; checkpoints in safetensors."""

    name = "bleurt"
    citation = SELLAM_2020
    model: str = "lucadiliello/BLEURT-20-D12"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Cut = "warn"
    precision: Precision = "float32"


@dataclass(frozen=True)
class FrugalScore(_Regressor):
    """FrugalScore: a small model trained to predict a large metric; it reads the hypothesis first."""

    name = "frugalscore"
    citation = EDDINE_2022
    first = "hypothesis"
    model: str = "moussaKam/frugalscore_tiny_bert-base_bert-score"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Cut = "warn"
    precision: Precision = "float32"


@dataclass(frozen=True)
class Regression(_Regressor):
    """Any regressor of the hub on (reference, hypothesis), or the other way round."""

    name = "regression"
    citation = REIMERS_2019
    model: str = "cross-encoder/stsb-distilroberta-base"
    first: Literal["reference", "hypothesis"] = "reference"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Cut = "warn"
    precision: Precision = "float32"


@dataclass(frozen=True)
class MetricX(Neural, Metric):
    """MetricX: an mT5 whose first logit of one extra token is an error score, 0 to 25; negated here."""

    name = "metricx"
    paradigm = "regression"
    range = (-25.0, 0.0)
    original = "lower"
    citation = JURASKA_2023
    architecture = "AutoModelForSeq2SeqLM"
    model: str = "google/metricx-23-large-v2p0"
    token: NonNegative = 250089  # <extra_id_10>, whose logit was trained to be the score
    reduce: Reduce = "max"
    overlong: Cut = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Score `candidate: ... reference: ...` without the end token, as the authors feed it."""
        loaded = self.load_model()
        texts = [f"candidate: {s.hypothesis} reference: {text}" for s in samples for text in s.references]
        ids = content_ids(loaded, texts)
        rows = [row[: loaded.limit] for row in ids]
        cuts = [len(whole) - len(row) for whole, row in zip(ids, rows, strict=True)]
        values = in_batches([len(row) for row in rows], lambda batch: self._forward(loaded, rows, batch))
        return reduced_scores(-np.clip(np.array(values), 0.0, 25.0), cuts, samples, self.reduce)

    def _forward(self, loaded: Loaded, rows: Sequence[Sequence[int]], batch: list[int]) -> list[float]:
        import torch

        ids, mask = padded([rows[index] for index in batch], loaded.pad, loaded.device)
        start = torch.zeros((len(batch), 1), dtype=torch.long, device=loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask, decoder_input_ids=start).logits
        return [float(value) for value in logits[:, 0, self.token].float().cpu()]


REI_2020 = "Rei et al. 2020, COMET: a neural framework for MT evaluation, EMNLP"
REI_2022 = "Rei et al. 2022, CometKiwi: IST-Unbabel 2022 submission for quality estimation, WMT"


class _Comet(Neural, Metric):
    """A COMET checkpoint: an estimator on vectors of whole texts."""

    paradigm = "regression"
    overlong: Cut

    def pins(self) -> Mapping[str, str]:
        return {"model": checkpoint_digest(self.model)}

    def prepare(self) -> None:
        self.load_checkpoint()

    def load_checkpoint(self) -> Estimator:
        """Load the checkpoint; subclasses refuse one of another kind."""
        return load_estimator(self.model, device())

    def _vectors(self, estimator: Estimator, texts: Sequence[str]) -> dict[str, tuple[Any, int]]:
        """Return each distinct text's vector and the ids cut."""
        distinct = list(dict.fromkeys(texts))
        rows, cuts = framed_rows(estimator.encoder, distinct, self.overlong)
        lengths = [len(row) for row in rows]
        vectors = in_batches(lengths, lambda batch: list(_pooled(estimator, rows, batch).float()))
        return {text: (vector, cut) for text, vector, cut in zip(distinct, vectors, cuts, strict=True)}


def _pooled(estimator: Estimator, rows: Sequence[list[int]], batch: list[int]) -> Any:
    encoder = estimator.encoder
    return estimator.pooled(*padded([rows[index] for index in batch], encoder.pad, encoder.device))


def _estimated(estimator: Estimator, rows: list[Any]) -> Floats:
    """Return the estimator's number for each row of features."""
    import torch

    if not rows:
        return np.empty(0)
    with torch.inference_mode():
        return np.asarray(estimator.head(torch.stack(rows))[:, 0].double().cpu().numpy())


@dataclass(frozen=True)
class Comet(_Comet):
    """COMET with source and reference, from Unbabel's checkpoints (hparams.yaml and tensors)."""

    name = "comet"
    needs = frozenset({"references", "source"})
    citation = REI_2020
    model: str = "Unbabel/wmt22-comet-da"
    reduce: Reduce = "mean"
    overlong: Cut = "warn"

    def load_checkpoint(self) -> Estimator:
        estimator = super().load_checkpoint()
        if estimator.kind != "regression_metric":
            raise WeightsError(f"{self.model} is a {estimator.kind}, which reads no reference; use comet-qe")
        return estimator

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Estimate from [hyp; ref; hyp*ref; |hyp-ref|; hyp*src; |hyp-src|]."""
        import torch

        estimator = self.load_checkpoint()
        texts = [text for s in samples for text in (s.hypothesis, s.source or "", *s.references)]
        known = self._vectors(estimator, texts)
        rows, cuts = [], []
        for sample in samples:
            (hyp, cut), (src, cut_source) = known[sample.hypothesis], known[sample.source or ""]
            for text in sample.references:
                ref, cut_reference = known[text]
                parts = [hyp, ref, hyp * ref, (hyp - ref).abs(), hyp * src, (hyp - src).abs()]
                rows.append(torch.cat(parts))
                cuts.append(cut + cut_source + cut_reference)
        return reduced_scores(_estimated(estimator, rows), cuts, samples, self.reduce)


@dataclass(frozen=True)
class CometQe(_Comet):
    """COMET without reference, from [hyp; src; hyp*src; |hyp-src|]; CometKiwi reads both texts jointly."""

    name = "comet-qe"
    needs = frozenset({"source"})
    citation = REI_2022
    model: str = "Unbabel/wmt20-comet-qe-da"
    overlong: Cut = "warn"

    def load_checkpoint(self) -> Estimator:
        estimator = super().load_checkpoint()
        if estimator.kind == "regression_metric":
            raise WeightsError(f"{self.model} reads a reference; use comet")
        segments = estimator.settings.get("input_segments", ["mt", "src"])
        if estimator.kind == "unified_metric" and list(segments) != ["mt", "src"]:
            raise WeightsError(f"{self.model} reads {segments}; only hypothesis and source are read here")
        return estimator

    def score(self, samples: Sequence[Sample]) -> Scores:
        import torch

        estimator = self.load_checkpoint()
        pairs = [(sample.hypothesis, sample.source or "") for sample in samples]
        if estimator.kind == "unified_metric":
            return self._score_jointly(estimator, pairs)
        known = self._vectors(estimator, [text for pair in pairs for text in pair])
        rows, cuts = [], []
        for hypothesis, source in pairs:
            (hyp, cut), (src, cut_source) = known[hypothesis], known[source]
            rows.append(torch.cat([hyp, src, hyp * src, (hyp - src).abs()]))
            cuts.append(cut + cut_source)
        return Scores(_estimated(estimator, rows), {"truncated": cuts})

    def _score_jointly(self, estimator: Estimator, pairs: Sequence[tuple[str, str]]) -> Scores:
        """Score hypothesis and source read as one sequence, joined as the tokenizer joins pairs."""
        if not pairs:
            return Scores([], {"truncated": []})
        texts = {"text": [text for text, _ in pairs], "text_pair": [text for _, text in pairs]}
        encoded, cuts = tokenize_within(estimator.encoder, texts, self.overlong)
        rows = encoded["input_ids"]
        values = in_batches(
            [len(row) for row in rows],
            lambda batch: estimator.head(_pooled(estimator, rows, batch))[:, 0].double().tolist(),
        )
        return Scores(np.array(values), {"truncated": cuts})
