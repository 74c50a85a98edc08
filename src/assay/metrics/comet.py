"""COMET, COMET-QE and CometKiwi: regression on sentence vectors of source, hypothesis and reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.core import Metric, Sample, Scores
from assay.errors import MetricError, WeightsError
from assay.metrics.regression import Reduce, reduced
from assay.models.estimator import Estimator, checkpoint_digest, estimator
from assay.models.torch import Neural, content_ids, device, in_batches, padded

REI_2020 = "Rei et al. 2020, COMET: a neural framework for MT evaluation, EMNLP"
REI_2022 = "Rei et al. 2022, CometKiwi: IST-Unbabel 2022 submission for quality estimation, WMT"


def _ids(found: Estimator, texts: Sequence[str], overlong: str) -> tuple[list[list[int]], list[int]]:
    """Framed ids within the limit, and the ids cut."""
    loaded = found.encoder
    room = loaded.limit - loaded.framing.size
    whole = content_ids(loaded, texts)
    cuts = [max(0, len(row) - room) for row in whole]
    if overlong == "error" and any(cuts):
        raise MetricError(f"{max(cuts)} tokens too many for {loaded.path.name}; give overlong=warn")
    return [[*loaded.framing.prefix, *row[:room], *loaded.framing.suffix] for row in whole], cuts


def _vectors(found: Estimator, texts: Sequence[str], overlong: str) -> dict[str, tuple[Any, int]]:
    """Each distinct text once: its vector and the ids cut."""
    distinct = list(dict.fromkeys(texts))
    rows, cuts = _ids(found, distinct, overlong)
    place, pad = found.encoder.device, found.encoder.pad
    vectors = in_batches(
        [len(row) for row in rows],
        lambda batch: list(found.pooled(*padded([rows[i] for i in batch], pad, place)).float()),
    )
    return {text: (vector, cut) for text, vector, cut in zip(distinct, vectors, cuts, strict=True)}


def _joined(
    found: Estimator, texts: Sequence[tuple[str, ...]], overlong: str
) -> tuple[np.ndarray, list[int]]:
    """The score of hypothesis and source read as one sequence, parted as the tokenizer parts pairs."""
    tokenizer, limit = found.encoder.tokenizer, found.encoder.limit
    firsts, seconds = [one for one, _ in texts], [other for _, other in texts]
    full = tokenizer(firsts, seconds, verbose=False)["input_ids"]
    rows = tokenizer(firsts, seconds, truncation=True, max_length=limit, verbose=False)["input_ids"]
    cuts = [len(one) - len(other) for one, other in zip(full, rows, strict=True)]
    if overlong == "error" and any(cuts):
        raise MetricError(f"{max(cuts)} tokens too many for {found.encoder.path.name}; give overlong=warn")
    place, pad = found.encoder.device, found.encoder.pad
    values = in_batches(
        [len(row) for row in rows],
        lambda batch: [
            float(v) for v in found.head(found.pooled(*padded([rows[i] for i in batch], pad, place)))[:, 0]
        ],
    )
    return np.array(values), cuts


@dataclass(frozen=True)
class Comet(Neural, Metric):
    """COMET with source and reference, from Unbabel's checkpoints (hparams.yaml and tensors)."""

    name = "comet"
    paradigm = "regression"
    needs = frozenset({"references", "source"})
    citation = REI_2020
    model: str = "Unbabel/wmt22-comet-da"
    reduce: Reduce = "mean"
    overlong: Literal["warn", "error"] = "warn"

    def pins(self) -> Mapping[str, str]:
        """The digest of the checkpoint."""
        return {"model": checkpoint_digest(self.model)}

    def prepare(self) -> None:
        """Load the checkpoint."""
        self._estimator()

    def _estimator(self) -> Estimator:
        found = estimator(self.model, device())
        if found.kind != "regression_metric":
            raise WeightsError(f"{self.model} is a {found.kind}, which reads no reference; use comet-qe")
        return found

    def score(self, samples: Sequence[Sample]) -> Scores:
        """[hyp; ref; hyp*ref; |hyp-ref|; hyp*src; |hyp-src|] through the estimator."""
        import torch

        found = self._estimator()
        texts = [text for s in samples for text in (s.hypothesis, s.source or "", *s.references)]
        known = _vectors(found, texts, self.overlong)
        rows, cuts = [], []
        for sample in samples:
            (hyp, cut), (src, cut_source) = known[sample.hypothesis], known[sample.source or ""]
            for text in sample.references:
                ref, cut_reference = known[text]
                parts = [hyp, ref, hyp * ref, (hyp - ref).abs(), hyp * src, (hyp - src).abs()]
                rows.append(torch.cat(parts))
                cuts.append(cut + cut_source + cut_reference)
        with torch.inference_mode():
            values = found.head(torch.stack(rows))[:, 0].double().cpu().numpy() if rows else np.empty(0)
        return reduced(values, cuts, samples, self.reduce)


@dataclass(frozen=True)
class CometQe(Neural, Metric):
    """COMET without reference: [hyp; src; hyp*src; |hyp-src|] estimated, or CometKiwi's joint reading."""

    name = "comet-qe"
    paradigm = "regression"
    needs = frozenset({"source"})
    citation = REI_2022
    model: str = "Unbabel/wmt20-comet-qe-da"
    overlong: Literal["warn", "error"] = "warn"

    def pins(self) -> Mapping[str, str]:
        """The digest of the checkpoint."""
        return {"model": checkpoint_digest(self.model)}

    def prepare(self) -> None:
        """Load the checkpoint."""
        self._estimator()

    def _estimator(self) -> Estimator:
        found = estimator(self.model, device())
        if found.kind == "regression_metric":
            raise WeightsError(f"{self.model} reads a reference; use comet")
        segments = found.settings.get("input_segments", ["mt", "src"])
        if found.kind == "unified_metric" and list(segments) != ["mt", "src"]:
            raise WeightsError(f"{self.model} reads {segments}; only hypothesis and source are read here")
        return found

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The source is given."""
        import torch

        found = self._estimator()
        pairs = [(s.hypothesis, s.source or "") for s in samples]
        if found.kind == "unified_metric":
            values, cuts = _joined(found, pairs, self.overlong)
            return Scores(values, {"truncated": cuts})
        known = _vectors(found, [text for pair in pairs for text in pair], self.overlong)
        rows, cuts = [], []
        for one, other in pairs:
            (hyp, cut), (src, cut_source) = known[one], known[other]
            rows.append(torch.cat([hyp, src, hyp * src, (hyp - src).abs()]))
            cuts.append(cut + cut_source)
        with torch.inference_mode():
            scores = found.head(torch.stack(rows))[:, 0] if rows else torch.empty(0)
        return Scores(scores.double().cpu().numpy(), {"truncated": cuts})
