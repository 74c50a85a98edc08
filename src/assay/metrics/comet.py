"""COMET, COMET-QE and CometKiwi: regression on sentence vectors of source, hypothesis and reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import WeightsError
from assay.metrics.base import Cut, Neural, reduced_scores
from assay.metrics.text import Reduce
from assay.models.estimator import Estimator, checkpoint_digest, load_estimator
from assay.models.torch import device, framed_rows, in_batches, padded, tokenize_within

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
