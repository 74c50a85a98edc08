"""Metrics with a trained regressor: BLEURT, FrugalScore, MetricX, rewards, COMET and any other of the hub.

Checkpoints of COMET are Unbabel's (hparams.yaml and tensors). A regression metric compares vectors of whole
texts; a unified metric reads the texts as one sequence; XCOMET, unified too, also labels tokens as errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, cast

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.errors import SpecError, WeightsError
from assay.metrics.base import Neural, Shortened, reduced_scores
from assay.metrics.text import Reduce, reference_pairs
from assay.models.encoder import Differentiable, Texts, logits
from assay.models.estimator import Estimator, EstimatorOutput, checkpoint_digest, load_estimator, read_groups
from assay.models.lazy import torch
from assay.models.torch import Loaded, Precision, device, forward_rows, framed_rows, ids_within
from assay.vocabulary import Need, NonNegative


def _with_one_output(loaded: Loaded, advice: str) -> Loaded:
    labels = int(loaded.model.config.num_labels)
    if labels != 1:
        raise WeightsError(f"{loaded.path} predicts {labels} classes; {advice}")
    return loaded


class _Regressor(Neural, Metric):
    """A model with one output per pair of hypothesis and reference; BLEURT's own format is read too."""

    paradigm = "regression"
    architecture = "AutoBleurt"
    first: Literal["reference", "hypothesis"] = "reference"  # the text that the model reads first

    def load_model(self) -> Loaded:
        advice = "a regression metric needs one number (num_labels 1). For an entailment model use nli"
        return _with_one_output(super().load_model(), advice)

    def _ordered(self, pairs: Texts) -> tuple[list[str], list[str]]:
        """Return the first and the second texts of (hypothesis, reference) pairs, as the model reads them."""
        hypotheses, references = [text for text, _ in pairs], [text for _, text in pairs]
        return (references, hypotheses) if self.first == "reference" else (hypotheses, references)

    def score(self, samples: Sequence[Sample]) -> Scores:
        values, cuts = logits(self.load_model(), *self._ordered(reference_pairs(samples)), self.overlong)
        return reduced_scores(values[:, 0], cuts, [sample.references for sample in samples], self.reduce)

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
    citation = "Sellam et al. 2020, BLEURT: learning robust metrics for text generation, ACL"

    model: str = "lucadiliello/BLEURT-20-D12"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Shortened = "warn"
    precision: Precision = "float32"


@dataclass(frozen=True)
class FrugalScore(Bleurt):
    """FrugalScore: a small model trained to predict a large metric; it reads the hypothesis first."""

    name = "frugalscore"
    first = "hypothesis"
    citation = "Eddine et al. 2022, FrugalScore: learning cheaper, lighter and faster evaluation metrics, ACL"

    model: str = "moussaKam/frugalscore_tiny_bert-base_bert-score"


@dataclass(frozen=True)
class Regression(_Regressor):
    """Any regressor of the hub on (reference, hypothesis), or the other way round."""

    name = "regression"
    citation = "Reimers & Gurevych 2019, Sentence-BERT (cross-encoders for pairs of sentences), D19-1410"

    model: str = "cross-encoder/stsb-distilroberta-base"
    first: Literal["reference", "hypothesis"] = "reference"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Shortened = "warn"
    precision: Precision = "float32"


@dataclass(frozen=True)
class Reward(Neural, Metric):
    """A reward model's number for an answer: the source is the user's turn, the hypothesis the assistant's.

    Turns are put into the model's own chat template. Rewards have no scale of their own: only their order
    counts.
    """

    name = "reward"
    paradigm = "regression"
    needs = frozenset({"source"})
    architecture = "AutoModelForSequenceClassification"
    citation = "Lambert et al. 2024, RewardBench: evaluating reward models for language modeling"

    model: str = "Skywork/Skywork-Reward-V2-Qwen3-0.6B"
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def load_model(self) -> Loaded:
        loaded = _with_one_output(super().load_model(), "a reward model gives one number (num_labels 1)")
        if not getattr(loaded.tokenizer, "chat_template", None):
            raise WeightsError(
                f"the tokenizer in {loaded.path} has no chat template; take a reward model with one, or "
                f"regression for a model of pairs"
            )
        return loaded

    def score(self, samples: Sequence[Sample]) -> Scores:
        loaded = self.load_model()
        turns = [(("user", sample.source or ""), ("assistant", sample.hypothesis)) for sample in samples]
        chats = [[{"role": role, "content": text} for role, text in chat] for chat in turns]
        texts = [str(loaded.tokenizer.apply_chat_template(chat, tokenize=False)) for chat in chats]
        # The template has written the special tokens.
        rows, cuts = ids_within(loaded, texts, self.overlong, loaded.limit)
        fill = loaded.model.config.get_text_config().pad_token_id

        def forward(ids: torch.Tensor, mask: torch.Tensor) -> list[float]:
            padded = ids if fill is None else ids.masked_fill(mask == 0, int(fill))
            return list(loaded.model(input_ids=padded, attention_mask=mask).logits[:, 0].tolist())

        # Without a padding id a model finds the end of a text only where the text is alone.
        return Scores(forward_rows(loaded, rows, forward, 1 if fill is None else None), {"truncated": cuts})


_Form = Literal["23", "23-qe", "24", "24-qe"]
# What each version was trained to read; the numbers are the ids of an input, its end included.
_FORMS: dict[_Form, tuple[str, int]] = {
    "23": ("candidate: {hypothesis} reference: {reference}", 1024),
    "23-qe": ("candidate: {hypothesis} source: {source}", 1024),
    "24": ("source: {source} candidate: {hypothesis} reference: {reference}", 1536),
    "24-qe": ("source: {source} candidate: {hypothesis}", 1536),
}


@dataclass(frozen=True)
class MetricX(Neural, Metric):
    """MetricX: an mT5 whose first logit of one extra token is an error score, 0 to 25; negated here.

    The versions read different texts; `form=auto` goes by the model's name. A hybrid of 2024 scores without
    reference as `form=24-qe`. The published folders have no tokenizer: that of mT5 is taken.
    """

    name = "metricx"
    version = 2
    paradigm = "regression"
    range = (-25.0, 0.0)
    original = "lower"
    architecture = "AutoModelForSeq2SeqLM"
    citation = "Juraska et al. 2023, MetricX-23: the Google submission to the WMT 2023 metrics task"

    model: str = "google/metricx-23-large-v2p0"
    token: NonNegative = 250089  # <extra_id_10>, whose logit was trained to be the score
    reduce: Reduce = "max"
    overlong: Shortened = "warn"
    precision: Precision = "float32"
    form: Literal["auto", "23", "23-qe", "24", "24-qe"] = "auto"
    tokenizer: str = "google/mt5-xl"

    @property
    def chosen_form(self) -> _Form | None:
        """The form given, or the one that the model's name tells; None where it tells none."""
        if self.form != "auto":
            return self.form
        year = re.search(r"metricx-(23|24)(-qe)?", self.model.lower())
        return cast(_Form, "".join(year.groups(""))) if year else None

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"source"} if (self.chosen_form or "").endswith("qe") else {"references"})

    @property
    def optional(self) -> frozenset[Need]:
        return frozenset({"source"} if self.chosen_form == "24" else ())

    def load_model(self) -> Loaded:
        if self.chosen_form is None:
            raise SpecError(
                f"nothing says which MetricX {self.model} is; give form=23, 23-qe, 24 or 24-qe: they read "
                f"different texts"
            )
        return super().load_model()

    def inputs(self, sample: Sample) -> list[str]:
        """Return the texts that the model reads: one per reference, or one without any."""
        text = _FORMS[self.chosen_form or "23"][0]
        known = {"hypothesis": sample.hypothesis, "source": sample.source or ""}
        references = [""] if "source" in self.needs else sample.references
        return [text.format(**known, reference=reference) for reference in references]

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Score the texts without the end token, as the authors feed them."""
        loaded = self.load_model()
        texts = [self.inputs(sample) for sample in samples]
        flat = [text for some in texts for text in some]
        room = min(loaded.limit, _FORMS[self.chosen_form or "23"][1] - 1)
        rows, cuts = ids_within(loaded, flat, self.overlong, room)

        def forward(ids: torch.Tensor, mask: torch.Tensor) -> list[float]:
            start = torch.zeros_like(ids[:, :1])
            answer = loaded.model(input_ids=ids, attention_mask=mask, decoder_input_ids=start)
            return list(answer.logits[:, 0, self.token].tolist())

        values = np.array(forward_rows(loaded, rows, forward))
        return reduced_scores(-np.clip(values, 0.0, 25.0), cuts, texts, self.reduce)


_Group = list[
    tuple[str, ...]
]  # texts that are read jointly, hypothesis first; the last tuple holds all texts


class _Comet(Neural, Metric):
    """A COMET checkpoint: an estimator on vectors of whole texts."""

    paradigm = "regression"
    reduce: Reduce = "mean"

    def pins(self) -> Mapping[str, str]:
        return {"model": checkpoint_digest(self.model)}

    def prepare(self) -> None:
        self.load_checkpoint()

    def load_checkpoint(self) -> Estimator:
        """Load the checkpoint; refuse one of the other kind."""
        estimator = load_estimator(self.model, device())
        if "references" in self.needs and not estimator.reads_reference:
            raise WeightsError(f"{self.model} is a {estimator.kind}, which reads no reference; use comet-qe")
        if "references" not in self.needs and not estimator.reads_source_alone:
            raise WeightsError(f"{self.model} reads a reference; use comet")
        return estimator

    def groups(self, estimator: Estimator, sample: Sample) -> Iterator[_Group]:
        """Iterate over what is read for one score: the hypothesis with the source, or with each reference."""
        hypothesis, source = sample.hypothesis, sample.source or ""
        if "references" not in self.needs:
            yield [(hypothesis, source)]
            return
        for reference in sample.references:
            if estimator.reads_jointly and "src" not in estimator.segments:
                yield [(hypothesis, reference)]
            else:
                yield [(hypothesis, source), (hypothesis, reference), (hypothesis, source, reference)]

    def score(self, samples: Sequence[Sample]) -> Scores:
        estimator = self.load_checkpoint()
        groups = [list(self.groups(estimator, sample)) for sample in samples]
        compute = self._joint_scores if estimator.reads_jointly else self._vector_scores
        return reduced_scores(*compute(estimator, list(chain.from_iterable(groups))), groups, self.reduce)

    def _joint_scores(self, estimator: Estimator, groups: Sequence[_Group]) -> tuple[Floats, list[int]]:
        """Return one score per list of texts that are read jointly, and the ids cut."""
        distinct = list(dict.fromkeys(chain.from_iterable(groups)))
        known = dict(zip(distinct, read_groups(estimator, distinct, self.overlong), strict=True))
        readings = [[known[group] for group in some] for some in groups]
        score = _xcomet_score if estimator.kind == "xcomet_metric" else _mean_score
        values = [score(estimator, some) for some in readings]
        return np.array(values), [sum(reading.cut for reading in some) for some in readings]

    def explain(self, sample: Sample) -> Explanation | None:
        """Return each error label's probability per token, with the first reference; None without labels."""
        estimator = self.load_checkpoint()
        if estimator.tagger is None:
            return None
        readings = read_groups(estimator, next(self.groups(estimator, sample)), self.overlong)
        labels = _label_table(readings)
        if labels is None:
            return None
        words = [estimator.encoder.tokenizer.decode([token]) for token in readings[0].ids[: len(labels)]]
        columns = ("no error", *estimator.settings["error_labels"])
        return Explanation("tokens", tuple(words), columns, tuple(tuple(map(float, row)) for row in labels))

    def _vector_scores(self, estimator: Estimator, groups: Sequence[_Group]) -> tuple[Floats, list[int]]:
        """Estimate from [hyp; ref; hyp*ref; |hyp-ref|; hyp*src; |hyp-src|], or the same without ref."""
        if not groups:
            return np.empty(0), []
        texts_read = [texts for *_, texts in groups]
        encoder, distinct = estimator.encoder, list(dict.fromkeys(chain.from_iterable(texts_read)))
        rows, cuts = framed_rows(encoder, distinct, self.overlong)
        vectors = forward_rows(encoder, rows, lambda ids, mask: list(estimator.pooled(ids, mask).float()))
        vector, cut = (dict(zip(distinct, column, strict=True)) for column in (vectors, cuts))
        features = [_combined([vector[text] for text in texts]) for texts in texts_read]
        with torch.inference_mode():
            values = estimator.head(torch.stack(features))[:, 0].double().cpu().numpy()
        return np.asarray(values), [sum(cut[text] for text in texts) for texts in texts_read]


def _combined(vectors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return what the estimator reads of the vectors of hypothesis, source and reference, if there is one."""
    hypothesis, *others = vectors[0], *vectors[:0:-1]
    pairs = [part for other in others for part in (hypothesis * other, (hypothesis - other).abs())]
    return torch.cat([hypothesis, others[0], *pairs])


# XCOMET's weights: of the scores from source, reference and both, and of the errors (Guerreiro et al. 2024).
_SCORE_WEIGHTS = (0.12, 0.33, 0.33)
_ERROR_WEIGHT = 0.22
_LABEL_WEIGHTS = (0.1667, 0.3333, 0.5)
_PENALTIES = {"minor": 1, "major": 5, "critical": 10}
_WORST = 25


def _label_table(readings: Sequence[EstimatorOutput]) -> Floats | None:
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


def _mean_score(estimator: Estimator, readings: Sequence[EstimatorOutput]) -> float:
    return float(np.mean([reading.score for reading in readings]))


def _xcomet_score(estimator: Estimator, readings: Sequence[EstimatorOutput]) -> float:
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
    citation = (
        "Rei et al. 2020, COMET: a neural framework for MT evaluation, EMNLP; Guerreiro et al. 2024, "
        "xCOMET: transparent MT evaluation through error detection, TACL"
    )

    model: str = "Unbabel/wmt22-comet-da"
    reduce: Reduce = "mean"
    overlong: Shortened = "warn"


@dataclass(frozen=True)
class CometQe(_Comet):
    """COMET without reference, from [hyp; src; hyp*src; |hyp-src|]; CometKiwi and XCOMET read jointly."""

    name = "comet-qe"
    version = 2
    needs = frozenset({"source"})
    citation = "Rei et al. 2022, CometKiwi: IST-Unbabel 2022 submission for quality estimation, WMT"

    model: str = "Unbabel/wmt20-comet-qe-da"
    overlong: Shortened = "warn"
