"""Metrics with a trained regressor: BLEURT, FrugalScore, MetricX and any other of the hub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from assay.core import Metric, Sample, Scores
from assay.errors import SpecError, WeightsError
from assay.metrics.base import Cut, Neural, reduced_scores, scored
from assay.metrics.text import Reduce, reduced, segments
from assay.models.encoder import Differentiable, Texts, logits
from assay.models.torch import Loaded, Precision, content_ids, in_batches, padded, within
from assay.vocabulary import Need, NonNegative

if TYPE_CHECKING:
    import torch


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
    citation = "Sellam et al. 2020, BLEURT: learning robust metrics for text generation, ACL"
    model: str = "lucadiliello/BLEURT-20-D12"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Cut = "warn"
    precision: Precision = "float32"


@dataclass(frozen=True)
class FrugalScore(Bleurt):
    """FrugalScore: a small model trained to predict a large metric; it reads the hypothesis first."""

    name = "frugalscore"
    citation = "Eddine et al. 2022, FrugalScore: learning cheaper, lighter and faster evaluation metrics, ACL"
    first = "hypothesis"
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
    overlong: Cut = "warn"
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
    citation = "Lambert et al. 2024, RewardBench: evaluating reward models for language modeling"
    architecture = "AutoModelForSequenceClassification"
    model: str = "Skywork/Skywork-Reward-V2-Qwen3-0.6B"
    overlong: Cut = "warn"
    precision: Precision = "float32"

    def load_model(self) -> Loaded:
        loaded = super().load_model()
        if int(loaded.model.config.num_labels) != 1:
            labels = loaded.model.config.num_labels
            raise WeightsError(f"{loaded.path} has {labels} outputs; a reward model has one (num_labels 1)")
        if not getattr(loaded.tokenizer, "chat_template", None):
            raise WeightsError(
                f"the tokenizer in {loaded.path} has no chat template; take a reward model with one, or "
                f"regression for a model of pairs"
            )
        return loaded

    def score(self, samples: Sequence[Sample]) -> Scores:
        loaded = self.load_model()
        texts = [self._chat(loaded, sample) for sample in samples]
        ids = content_ids(loaded, texts)  # the template has written the special tokens
        cut = [within(loaded, row, loaded.limit, self.overlong, t) for row, t in zip(ids, texts, strict=True)]
        rows = [row for row, _ in cut]
        # Without a padding id a model finds the end of a text only where the text is alone.
        alone = loaded.model.config.get_text_config().pad_token_id is None
        values = in_batches(
            [len(row) for row in rows], lambda batch: self._forward(loaded, rows, batch), 1 if alone else None
        )
        return Scores(values, {"truncated": [count for _, count in cut]})

    @staticmethod
    def _chat(loaded: Loaded, sample: Sample) -> str:
        turns = [
            {"role": "user", "content": sample.source or ""},
            {"role": "assistant", "content": sample.hypothesis},
        ]
        return str(loaded.tokenizer.apply_chat_template(turns, tokenize=False))

    @staticmethod
    def _forward(loaded: Loaded, rows: Sequence[Sequence[int]], batch: list[int]) -> list[float]:
        fill = loaded.model.config.get_text_config().pad_token_id
        some = [rows[index] for index in batch]
        ids, mask = padded(some, loaded.pad if fill is None else int(fill), loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask).logits
        return [float(value) for value in logits[:, 0].float().cpu()]


Form = Literal["23", "23-qe", "24", "24-qe"]
# What each version was trained to read; the numbers are the ids of an input, its end included.
_FORMS: dict[Form, tuple[str, int]] = {
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
    citation = "Juraska et al. 2023, MetricX-23: the Google submission to the WMT 2023 metrics task"
    architecture = "AutoModelForSeq2SeqLM"
    model: str = "google/metricx-23-large-v2p0"
    token: NonNegative = 250089  # <extra_id_10>, whose logit was trained to be the score
    reduce: Reduce = "max"
    overlong: Cut = "warn"
    precision: Precision = "float32"
    form: Literal["auto", "23", "23-qe", "24", "24-qe"] = "auto"
    tokenizer: str = "google/mt5-xl"

    @property
    def chosen_form(self) -> Form | None:
        """The form given, or the one that the model's name tells; None where it tells none."""
        if self.form != "auto":
            return self.form
        year = re.search(r"metricx-(23|24)(-qe)?", self.model.lower())
        return cast(Form, "".join(year.groups(""))) if year else None

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
        ids = content_ids(loaded, flat)
        cut = [within(loaded, row, room, self.overlong, t) for row, t in zip(ids, flat, strict=True)]
        rows = [row for row, _ in cut]
        values = in_batches([len(row) for row in rows], lambda batch: self._forward(loaded, rows, batch))
        scores = -np.clip(np.array(values), 0.0, 25.0)
        return scored(
            (reduced(scores[part], self.reduce), sum(count for _, count in cut[part]))
            for part in segments(map(len, texts))
        )

    def _forward(self, loaded: Loaded, rows: Sequence[Sequence[int]], batch: list[int]) -> list[float]:
        import torch

        ids, mask = padded([rows[index] for index in batch], loaded.pad, loaded.device)
        start = torch.zeros((len(batch), 1), dtype=torch.long, device=loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask, decoder_input_ids=start).logits
        return [float(value) for value in logits[:, 0, self.token].float().cpu()]
