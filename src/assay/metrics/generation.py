"""BARTScore and PRISM: how likely a sequence-to-sequence model rewrites one text into another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assay.core import Explanation, Metric, Sample, Scores
from assay.metrics.base import Cut, Neural, scored
from assay.metrics.likelihood import token_explanation
from assay.metrics.text import Reduce, segments
from assay.models.encoder import Differentiable, Texts
from assay.models.likelihood import translated
from assay.models.torch import Loaded, Precision, padded, tokenize_within

if TYPE_CHECKING:
    import torch

YUAN_2021 = "Yuan et al. 2021, BARTScore: evaluating generated text as text generation, NeurIPS"
THOMPSON_2020 = "Thompson & Post 2020, Automatic MT evaluation via zero-shot paraphrasing, EMNLP"


class _Rewriting(Neural, Metric):
    """Log-probabilities of a target text given a source text, by forced decoding.

    The target is read as its tokenizer frames it, start and end included, as BARTScore does; PRISM leaves out
    the language tag that opens a target (`skips_tag`).
    """

    paradigm = "generation"
    range = (None, 0.0)
    architecture = "AutoModelForSeq2SeqLM"
    base = "facebook/bart-large-cnn"
    skips_tag: ClassVar[bool] = False
    average: bool = True
    prompt: str = ""  # appended to what the encoder reads
    prefix: str = ""  # put before it, as T5 was trained: "summarize: "
    source_language: str = ""
    target_language: str = ""
    reduce: Reduce
    overlong: Cut

    def _ids(
        self, loaded: Loaded, texts: Sequence[str], *, target: bool
    ) -> tuple[list[list[int]], list[int]]:
        languages = {"src_lang": self.source_language, "tgt_lang": self.target_language}
        for attribute, language in languages.items():
            if language:
                setattr(loaded.tokenizer, attribute, language)
        if not texts:
            return [], []
        named = {"text_target" if target else "text": list(texts)}
        encoded, cuts = tokenize_within(loaded, named, self.overlong)
        return [list(ids) for ids in encoded["input_ids"]], cuts

    def _given(self, text: str) -> str:
        return self.prefix + (f"{text} {self.prompt}" if self.prompt else text)

    def log_likelihoods(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[float | None], list[int]]:
        """Return log p(second | first) per pair, mean or sum over tokens, and the tokens cut."""
        loaded = self.load_model()
        sources, source_cuts = self._ids(loaded, [self._given(text) for text, _ in pairs], target=False)
        targets, target_cuts = self._ids(loaded, [text for _, text in pairs], target=True)
        skipped = int(self.skips_tag and _is_tagged(loaded))
        values: list[float | None] = []
        rows = [(tuple(ids), tuple(wanted)) for ids, wanted in zip(sources, targets, strict=True)]
        for logs in translated(loaded, rows):
            counted = logs[skipped:]
            total = counted.mean() if self.average else counted.sum()
            values.append(float(total) if len(counted) else None)
        return values, [a + b for a, b in zip(source_cuts, target_cuts, strict=True)]

    def _score_both_ways(self, samples: Sequence[Sample]) -> Scores:
        """Return precision (reference to hypothesis), recall (the other way) and their mean per sample."""
        pairs = [p for s in samples for t in s.references for p in ((t, s.hypothesis), (s.hypothesis, t))]
        values, cuts = self.log_likelihoods(pairs)
        answers = []
        for part in segments(2 * len(sample.references) for sample in samples):
            both = zip(values[part][::2], values[part][1::2], strict=True)
            rows = [[p, r, (p + r) / 2] for p, r in both if p is not None and r is not None]
            reduce = np.max if self.reduce == "max" else np.mean
            answers.append((reduce(rows, axis=0).tolist() if rows else None, sum(cuts[part])))
        return scored(answers)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Score the hypothesis given the source, or both ways where the metric reads references."""
        if "references" in self.needs:
            return self._score_both_ways(samples)
        values, cuts = self.log_likelihoods([(s.source or "", s.hypothesis) for s in samples])
        return Scores(values, {"truncated": cuts})

    def _explain(self, given: str, text: str) -> Explanation:
        loaded = self.load_model()
        source = self._ids(loaded, [self._given(given)], target=False)[0][0]
        ids = self._ids(loaded, [text], target=True)[0][0]
        return token_explanation(loaded, ids, translated(loaded, [(tuple(source), tuple(ids))])[0])


@dataclass(frozen=True)
class BartScore(_Rewriting):
    """Mean log p per token: p is reference to hypothesis, r hypothesis to reference, f their mean.

    `average=false` sums instead. `prompt` is appended to what the encoder reads, `prefix` put before it (T5
    wants "summarize: "). The mean over references is the authors' choice (`multi_ref_score`).
    `model=bart_score.pth` is the authors' file of weights for facebook/bart-large-cnn, trained on ParaBank.
    """

    name = "bartscore"
    outputs = ("p", "r", "f")
    citation = YUAN_2021
    model: str = "facebook/bart-large-cnn"
    average: bool = True
    prompt: str = ""
    reduce: Reduce = "mean"
    adapter: str | None = None
    overlong: Cut = "warn"
    precision: Precision = "float32"
    prefix: str = ""

    def explain(self, sample: Sample) -> Explanation | None:
        return self._explain(sample.references[0], sample.hypothesis)

    def differentiable(self) -> Differentiable:
        return Differentiable(self.load_model, _both_ways_with_gradients)


def _both_ways_with_gradients(loaded: Loaded, pairs: Texts) -> torch.Tensor:
    import torch

    precision = _mean_log_likelihood(loaded, [(reference, hypothesis) for hypothesis, reference in pairs])
    recall = _mean_log_likelihood(loaded, list(pairs))
    return torch.stack([precision, recall, (precision + recall) / 2], dim=1)


def _mean_log_likelihood(loaded: Loaded, pairs: Texts) -> torch.Tensor:
    """Return the mean log p of the tokens of the second text, given the first."""
    sources, targets = (
        loaded.tokenizer(list(side), truncation=True, max_length=loaded.limit)["input_ids"]
        for side in zip(*pairs, strict=True)
    )
    ids, mask = padded(sources, loaded.pad, loaded.device)
    labels, label_mask = padded(targets, loaded.pad, loaded.device)
    logits = loaded.model(input_ids=ids, attention_mask=mask, labels=labels).logits.float()
    logs = logits.gather(2, labels[..., None])[..., 0] - logits.logsumexp(-1)
    means: torch.Tensor = (logs * label_mask).sum(1) / label_mask.sum(1)
    return means


@dataclass(frozen=True)
class BartScoreFaithful(_Rewriting):
    """Mean log p per token of the hypothesis, given the source."""

    name = "bartscore-faithful"
    needs = frozenset({"source"})
    citation = YUAN_2021
    model: str = "facebook/bart-large-cnn"
    average: bool = True
    prompt: str = ""
    adapter: str | None = None
    overlong: Cut = "warn"
    precision: Precision = "float32"
    prefix: str = ""

    def explain(self, sample: Sample) -> Explanation | None:
        return self._explain(sample.source or "", sample.hypothesis)


@dataclass(frozen=True)
class Prism(_Rewriting):
    """Forced decoding by a multilingual translator, from the target language into itself.

    The authors' model is in another format; any multilingual sequence-to-sequence model of the hub does.
    """

    name = "prism"
    outputs = ("p", "r", "f")
    citation = THOMPSON_2020
    skips_tag = True
    stand_in = True  # the authors' own model is in a format of fairseq
    model: str = "facebook/m2m100_418M"
    source_language: str = "en"
    target_language: str = "en"
    reduce: Reduce = "mean"
    overlong: Cut = "warn"
    precision: Precision = "float32"


@dataclass(frozen=True)
class PrismQe(_Rewriting):
    """Mean log p per token of the hypothesis as a translation of the source."""

    name = "prism-qe"
    needs = frozenset({"source"})
    citation = THOMPSON_2020
    skips_tag = True
    stand_in = True  # the authors' own model is in a format of fairseq
    model: str = "facebook/m2m100_418M"
    source_language: str = "de"
    target_language: str = "en"
    overlong: Cut = "warn"
    precision: Precision = "float32"


def _is_tagged(loaded: Loaded) -> bool:
    """Whether targets open with a token that says nothing about the text: a language's tag or a start."""
    ids = loaded.tokenizer(text_target="a", verbose=False)["input_ids"]
    return len(ids) > 1 and ids[0] in loaded.tokenizer.all_special_ids
