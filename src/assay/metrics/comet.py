"""COMET, CometKiwi, UniTE and XCOMET: quality of a translation from hypothesis, source and reference.

Checkpoints are Unbabel's (hparams.yaml and tensors). A regression metric compares vectors of whole texts; a
unified metric reads the texts as one sequence; XCOMET, which is unified too, also labels tokens as errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.errors import WeightsError
from assay.metrics.base import Cut, Neural, reduced_scores
from assay.metrics.text import Reduce
from assay.models.estimator import Estimator, checkpoint_digest, load_estimator
from assay.models.torch import content_ids, device, framed_rows, in_batches, padded, within

REI_2020 = "Rei et al. 2020, COMET: a neural framework for MT evaluation, EMNLP"
GUERREIRO_2024 = "Guerreiro et al. 2024, xCOMET: transparent MT evaluation through error detection, TACL"
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


@dataclass(frozen=True, slots=True)
class _Reading:
    """One joint reading of some texts: its score, and the labels' probabilities of the hypothesis' tokens."""

    score: float
    labels: Floats | None
    ids: tuple[int, ...]
    cut: int


def _joint_readings(estimator: Estimator, groups: Sequence[Sequence[str]], overlong: Cut) -> list[_Reading]:
    """Read each group of texts, the hypothesis first, as one sequence joined as the tokenizer joins pairs.

    What does not fit is cut at the end, as Unbabel's code does.
    """
    encoder = estimator.encoder
    between = _separator(estimator)
    texts = list(dict.fromkeys(text for group in groups for text in group))
    known = dict(zip(texts, content_ids(encoder, texts), strict=True))
    rows, cuts, heads = [], [], []
    for group in groups:
        joined = list(known[group[0]])
        for text in group[1:]:
            joined += [*between, *known[text]]
        inner, cut = within(encoder, joined, encoder.room, overlong, group[0])
        rows.append(encoder.framed(inner))
        cuts.append(cut)
        heads.append(len(encoder.framing.prefix) + len(known[group[0]]) + len(encoder.framing.suffix))

    def forward(batch: list[int]) -> list[tuple[float, Floats | None]]:
        some = padded([rows[index] for index in batch], encoder.pad, encoder.device)
        scores, labels = estimator.read_jointly(*some)
        tables = [None] * len(batch) if labels is None else list(labels.double().cpu().numpy())
        return list(zip(scores.double().tolist(), tables, strict=True))

    answers = in_batches([len(row) for row in rows], forward)
    return [
        _Reading(score, None if table is None else table[: min(head, len(row))], tuple(row[:head]), cut)
        for (score, table), row, head, cut in zip(answers, rows, heads, cuts, strict=True)
    ]


def _separator(estimator: Estimator) -> list[int]:
    """Find out on one word what the tokenizer puts between two texts."""
    encoder = estimator.encoder
    word = content_ids(encoder, ["a"])[0]
    pair = list(encoder.tokenizer("a", "a")["input_ids"])
    start = len(encoder.framing.prefix) + len(word)
    return pair[start : len(pair) - len(encoder.framing.suffix) - len(word)]


# XCOMET's weights: of the scores from source, reference and both, and of the errors (Guerreiro et al. 2024).
_SCORE_WEIGHTS = (0.12, 0.33, 0.33)
_ERROR_WEIGHT = 0.22
_LABEL_WEIGHTS = (0.1667, 0.3333, 0.5)
_PENALTIES = {"minor": 1, "major": 5, "critical": 10}
_WORST = 25


def _label_table(readings: Sequence[_Reading]) -> Floats | None:
    """Return the labels' probabilities of the hypothesis' tokens, weighted over its readings."""
    tables = [reading.labels for reading in readings if reading.labels is not None]
    if not tables:
        return None
    size = min(len(table) for table in tables)
    weights = _LABEL_WEIGHTS if len(tables) == len(_LABEL_WEIGHTS) else (1.0,)
    return np.asarray(sum(w * table[:size] for w, table in zip(weights, tables, strict=True)))


def error_spans(labels: Floats, names: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return runs of tokens whose likeliest label is an error: first and last token, the first's severity.

    A run that nothing ends is no error, as in Unbabel's code: its last token is the end of the text.
    """
    spans: list[tuple[int, int, str]] = []
    start: int | None = None
    for place, label in enumerate(labels.argmax(axis=1).tolist()):
        if label and start is None:
            start = place
        elif not label and start is not None:
            spans.append((start, place - 1, names[int(labels[start].argmax()) - 1]))
            start = None
    return spans


def _xcomet_score(estimator: Estimator, readings: Sequence[_Reading]) -> float:
    """Return the weighted mean of the scores, each at most 1, and of 1 minus the errors' penalty."""
    scores = [min(reading.score, 1.0) for reading in readings]
    weights = _SCORE_WEIGHTS if len(scores) == len(_SCORE_WEIGHTS) else (sum(_SCORE_WEIGHTS),)
    labels = _label_table(readings)
    spans = [] if labels is None else error_spans(labels, estimator.settings["error_labels"])
    penalty = min(sum(_PENALTIES[severity] for _, _, severity in spans), _WORST)
    total = sum(weight * score for weight, score in zip(weights, scores, strict=True))
    return float(total + _ERROR_WEIGHT * (_WORST - penalty) / _WORST)


def _joint_score(estimator: Estimator, readings: Sequence[_Reading]) -> float:
    if estimator.kind == "xcomet_metric":
        return _xcomet_score(estimator, readings)
    return float(np.mean([reading.score for reading in readings]))


def _explained(estimator: Estimator, readings: Sequence[_Reading]) -> Explanation | None:
    """Return the probability of each label for each token of the hypothesis."""
    labels = _label_table(readings)
    if labels is None:
        return None
    words = [estimator.encoder.tokenizer.decode([token]) for token in readings[0].ids[: len(labels)]]
    columns = ("no error", *estimator.settings["error_labels"])
    return Explanation("tokens", tuple(words), columns, tuple(tuple(map(float, row)) for row in labels))


@dataclass(frozen=True)
class Comet(_Comet):
    """COMET with source and reference: regression metrics, unified metrics (UniTE) and XCOMET."""

    name = "comet"
    needs = frozenset({"references", "source"})
    citation = f"{REI_2020}; {GUERREIRO_2024}"
    model: str = "Unbabel/wmt22-comet-da"
    reduce: Reduce = "mean"
    overlong: Cut = "warn"

    def load_checkpoint(self) -> Estimator:
        estimator = super().load_checkpoint()
        reads = (
            "ref" in estimator.segments if estimator.reads_jointly else estimator.kind == "regression_metric"
        )
        if not reads:
            raise WeightsError(f"{self.model} is a {estimator.kind}, which reads no reference; use comet-qe")
        return estimator

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return the mean or best over the references."""
        estimator = self.load_checkpoint()
        if estimator.reads_jointly:
            return self._score_jointly(estimator, samples)
        return self._score_vectors(estimator, samples)

    def _score_vectors(self, estimator: Estimator, samples: Sequence[Sample]) -> Scores:
        """Estimate from [hyp; ref; hyp*ref; |hyp-ref|; hyp*src; |hyp-src|]."""
        import torch

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

    def _groups(self, estimator: Estimator, sample: Sample, reference: str) -> list[tuple[str, ...]]:
        """Return what is read of one reference: with the source, with the reference, with both."""
        hypothesis, source = sample.hypothesis, sample.source or ""
        if "src" not in estimator.segments:
            return [(hypothesis, reference)]
        return [(hypothesis, source), (hypothesis, reference), (hypothesis, source, reference)]

    def _score_jointly(self, estimator: Estimator, samples: Sequence[Sample]) -> Scores:
        groups = [self._groups(estimator, s, text) for s in samples for text in s.references]
        distinct = list(dict.fromkeys(group for some in groups for group in some))
        known = dict(zip(distinct, _joint_readings(estimator, distinct, self.overlong), strict=True))
        readings = [[known[group] for group in some] for some in groups]
        values = np.array([_joint_score(estimator, some) for some in readings])
        cuts = [sum(reading.cut for reading in some) for some in readings]
        return reduced_scores(values, cuts, samples, self.reduce)

    def explain(self, sample: Sample) -> Explanation | None:
        """Return which tokens XCOMET takes for errors, with the first reference; None without labels."""
        estimator = self.load_checkpoint()
        if estimator.tagger is None:
            return None
        groups = self._groups(estimator, sample, sample.references[0])
        return _explained(estimator, _joint_readings(estimator, groups, self.overlong))


@dataclass(frozen=True)
class CometQe(_Comet):
    """COMET without reference, from [hyp; src; hyp*src; |hyp-src|]; CometKiwi and XCOMET read jointly."""

    name = "comet-qe"
    version = 2
    needs = frozenset({"source"})
    citation = REI_2022
    model: str = "Unbabel/wmt20-comet-qe-da"
    overlong: Cut = "warn"

    def load_checkpoint(self) -> Estimator:
        estimator = super().load_checkpoint()
        if estimator.kind == "regression_metric" or (
            estimator.reads_jointly and "src" not in estimator.segments
        ):
            raise WeightsError(f"{self.model} reads a reference; use comet")
        return estimator

    def score(self, samples: Sequence[Sample]) -> Scores:
        estimator = self.load_checkpoint()
        pairs = [(sample.hypothesis, sample.source or "") for sample in samples]
        if estimator.reads_jointly:
            readings = _joint_readings(estimator, pairs, self.overlong)
            values = [_joint_score(estimator, [reading]) for reading in readings]
            return Scores(values, {"truncated": [reading.cut for reading in readings]})
        return self._score_vectors(estimator, pairs)

    def _score_vectors(self, estimator: Estimator, pairs: Sequence[tuple[str, str]]) -> Scores:
        import torch

        known = self._vectors(estimator, [text for pair in pairs for text in pair])
        rows, cuts = [], []
        for hypothesis, source in pairs:
            (hyp, cut), (src, cut_source) = known[hypothesis], known[source]
            rows.append(torch.cat([hyp, src, hyp * src, (hyp - src).abs()]))
            cuts.append(cut + cut_source)
        return Scores(_estimated(estimator, rows), {"truncated": cuts})

    def explain(self, sample: Sample) -> Explanation | None:
        """Return which tokens XCOMET takes for errors; None for other checkpoints."""
        estimator = self.load_checkpoint()
        if estimator.tagger is None:
            return None
        pair = (sample.hypothesis, sample.source or "")
        return _explained(estimator, _joint_readings(estimator, [pair], self.overlong))
