"""COMET, CometKiwi, UniTE and XCOMET: quality of a translation from hypothesis, source and reference.

Checkpoints are Unbabel's (hparams.yaml and tensors). A regression metric compares vectors of whole texts; a
unified metric reads the texts as one sequence; XCOMET, which is unified too, also labels tokens as errors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
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

    @abstractmethod
    def groups(self, estimator: Estimator, sample: Sample) -> Iterator[list[tuple[str, ...]]]:
        """Iterate over what is read jointly for one score: hypothesis and source, or per reference."""

    def _joint_scores(self, estimator: Estimator, samples: Sequence[Sample]) -> tuple[Floats, list[int]]:
        """Return one score per list of groups, and the ids cut."""
        groups = [some for sample in samples for some in self.groups(estimator, sample)]
        distinct = list(dict.fromkeys(group for some in groups for group in some))
        known = dict(zip(distinct, _joint_readings(estimator, distinct, self.overlong), strict=True))
        readings = [[known[group] for group in some] for some in groups]
        if estimator.kind == "xcomet_metric":
            values = [_xcomet_score(estimator, some) for some in readings]
        else:
            values = [float(np.mean([reading.score for reading in some])) for some in readings]
        return np.array(values), [sum(reading.cut for reading in some) for some in readings]

    def explain(self, sample: Sample) -> Explanation | None:
        """Return each error label's probability per token, with the first reference; None without labels."""
        estimator = self.load_checkpoint()
        if estimator.tagger is None:
            return None
        readings = _joint_readings(estimator, next(self.groups(estimator, sample)), self.overlong)
        labels = _label_table(readings)
        if labels is None:
            return None
        words = [estimator.encoder.tokenizer.decode([token]) for token in readings[0].ids[: len(labels)]]
        columns = ("no error", *estimator.settings["error_labels"])
        return Explanation("tokens", tuple(words), columns, tuple(tuple(map(float, row)) for row in labels))

    def _vectors(self, estimator: Estimator, texts: Sequence[str]) -> dict[str, tuple[Any, int]]:
        distinct = list(dict.fromkeys(texts))
        rows, cuts = framed_rows(estimator.encoder, distinct, self.overlong)
        encoder = estimator.encoder

        def forward(batch: list[int]) -> list[Any]:
            some = padded([rows[index] for index in batch], encoder.pad, encoder.device)
            return list(estimator.pooled(*some).float())

        vectors = in_batches([len(row) for row in rows], forward)
        return {text: (vector, cut) for text, vector, cut in zip(distinct, vectors, cuts, strict=True)}


def _estimated(estimator: Estimator, rows: list[Any]) -> Floats:
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
        if not estimator.reads_reference:
            raise WeightsError(f"{self.model} is a {estimator.kind}, which reads no reference; use comet-qe")
        return estimator

    def score(self, samples: Sequence[Sample]) -> Scores:
        estimator = self.load_checkpoint()
        score = self._joint_scores if estimator.reads_jointly else self._vector_scores
        return reduced_scores(*score(estimator, samples), samples, self.reduce)

    def _vector_scores(self, estimator: Estimator, samples: Sequence[Sample]) -> tuple[Floats, list[int]]:
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
        return _estimated(estimator, rows), cuts

    def groups(self, estimator: Estimator, sample: Sample) -> Iterator[list[tuple[str, ...]]]:
        """Read the hypothesis with the source, with the reference and with both, for each reference."""
        hypothesis, source = sample.hypothesis, sample.source or ""
        for reference in sample.references:
            if "src" not in estimator.segments:
                yield [(hypothesis, reference)]
            else:
                yield [(hypothesis, source), (hypothesis, reference), (hypothesis, source, reference)]


@dataclass(frozen=True)
class CometQe(_Comet):
    """COMET without reference, from [hyp; src; hyp*src; |hyp-src|]; CometKiwi and XCOMET read jointly."""

    name = "comet-qe"
    version = 2
    needs = frozenset({"source"})
    citation = "Rei et al. 2022, CometKiwi: IST-Unbabel 2022 submission for quality estimation, WMT"
    model: str = "Unbabel/wmt20-comet-qe-da"
    overlong: Cut = "warn"

    def load_checkpoint(self) -> Estimator:
        estimator = super().load_checkpoint()
        if not estimator.reads_source_alone:
            raise WeightsError(f"{self.model} reads a reference; use comet")
        return estimator

    def score(self, samples: Sequence[Sample]) -> Scores:
        import torch

        estimator = self.load_checkpoint()
        if estimator.reads_jointly:
            values, cuts = self._joint_scores(estimator, samples)
            return Scores(values, {"truncated": cuts})
        pairs = [(sample.hypothesis, sample.source or "") for sample in samples]
        known = self._vectors(estimator, [text for pair in pairs for text in pair])
        rows, cuts = [], []
        for hypothesis, source in pairs:
            (hyp, cut), (src, cut_source) = known[hypothesis], known[source]
            rows.append(torch.cat([hyp, src, hyp * src, (hyp - src).abs()]))
            cuts.append(cut + cut_source)
        return Scores(_estimated(estimator, rows), {"truncated": cuts})

    def groups(self, estimator: Estimator, sample: Sample) -> Iterator[list[tuple[str, ...]]]:
        yield [(sample.hypothesis, sample.source or "")]
