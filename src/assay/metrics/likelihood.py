"""Perplexities, GPTScore, BARTScore, PRISM: how likely a model finds a text, alone or after another one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Literal

import numpy as np

from assay.core import Explanation, Metric, Sample, Scores
from assay.errors import MetricError, SpecError, suggest
from assay.metrics.base import Neural, Shortened, scored
from assay.metrics.text import Reduce, reduced, reference_pairs, segments
from assay.models.encoder import Differentiable, Texts
from assay.models.lazy import torch
from assay.models.likelihood import LogProbs, TokenRow, causal, masked, pieces, start_id, translated
from assay.models.torch import IdsAndCuts, Loaded, Overlong, Precision, content_ids, padded, tokenize_within

Scale = Literal["perplexity", "log"]
Piece = tuple[list[int], list[int]]  # context ids, scored ids
_Given = Sequence[Sequence[str]]  # the texts after which a hypothesis is scored, per sample
# GPTScore's: {given} is the reference or the source; only {hypothesis} is scored.
TEMPLATES = {
    "plain": "{given}\n{hypothesis}",
    "paraphrase": "{given}\nIn other words, {hypothesis}",
    "summary": "{given}\nTl;dr: {hypothesis}",
    "dialogue": "{given}\nThe next speaker answers: {hypothesis}",
    "translation": "{given}\nIn English: {hypothesis}",
}


def _scaled(logs: Sequence[LogProbs], scale: Scale) -> float | None:
    """Return the negated perplexity, or the mean log-likelihood per token; None for an empty text."""
    values = np.concatenate(logs) if logs else np.empty(0)
    if not len(values):
        return None
    return float(values.mean()) if scale == "log" else -float(np.exp(-values.mean()))


def token_explanation(loaded: Loaded, ids: Sequence[int], logs: LogProbs) -> Explanation:
    """Return tokens with their probabilities."""
    words = tuple(loaded.tokenizer.decode([token]) for token in ids)
    return Explanation("tokens", words, ("probability",), tuple((float(np.exp(v)),) for v in logs))


@dataclass(frozen=True)
class _Perplexity(Neural, Metric):
    """A perplexity: negated, so that higher is better."""

    paradigm = "likelihood"
    needs = frozenset()
    range = (None, 0.0)
    original = "lower"

    model: str = "smollm2"
    scale: Scale = "perplexity"
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    @abstractmethod
    def room(self, loaded: Loaded) -> int:
        """Return how many ids fit into one piece of a text."""

    @abstractmethod
    def log_probabilities(self, loaded: Loaded, pieces: Sequence[Piece]) -> list[LogProbs]:
        """Return log p of the scored ids of each piece."""

    def score(self, samples: Sequence[Sample]) -> Scores:
        loaded, texts = self.load_model(), [sample.hypothesis for sample in samples]
        room, contents = self.room(loaded), zip(texts, content_ids(loaded, texts), strict=True)
        divided = [pieces(loaded, ids, room, self.overlong, text) for text, ids in contents]
        usable = [[(context, scored) for context, scored in parts if scored] for parts, _ in divided]
        logs = self.log_probabilities(loaded, list(chain.from_iterable(usable)))
        values = [_scaled(logs[part], self.scale) for part in segments(map(len, usable))]
        return Scores(values, {"truncated": [cut for _, cut in divided]})


@dataclass(frozen=True)
class GptPerplexity(_Perplexity):
    """The negated perplexity of a causal language model (*blind*, section 4); `scale=log`: its -log.

    Every token counts, the first one after the model's start token. Perplexity is exp(-mean log p), so that
    the mean over a set is dominated by its least likely texts, as in the paper's tables.
    """

    name = "gpt-ppl"
    architecture = "AutoModelForCausalLM"
    citation = "Radford et al. 2019, Language models are unsupervised multitask learners"

    def room(self, loaded: Loaded) -> int:
        return loaded.limit - 1

    def log_probabilities(self, loaded: Loaded, pieces: Sequence[Piece]) -> list[LogProbs]:
        start = start_id(loaded)
        return causal(loaded, [((start, *context), tuple(scored)) for context, scored in pieces])

    def explain(self, sample: Sample) -> Explanation | None:
        loaded = self.load_model()
        ids = content_ids(loaded, [sample.hypothesis])[0][: loaded.limit - 1]
        if not ids:
            return None
        return token_explanation(loaded, ids, self.log_probabilities(loaded, [([], ids)])[0])


@dataclass(frozen=True)
class MlmPerplexity(_Perplexity):
    """The negated pseudo-perplexity of a masked model (*blind*, app. A): each token masked in turn."""

    name = "mlm-ppl"
    architecture = "AutoModelForMaskedLM"
    citation = "Salazar et al. 2020, Masked language model scoring, ACL 2020"

    model: str = "roberta-large"

    def room(self, loaded: Loaded) -> int:
        return loaded.room

    def log_probabilities(self, loaded: Loaded, pieces: Sequence[Piece]) -> list[LogProbs]:
        logs = masked(loaded, [[*context, *scored] for context, scored in pieces])
        return [values[len(context) :] for values, (context, _) in zip(logs, pieces, strict=True)]


def split_template(template: str) -> tuple[str, str]:
    """Return what precedes the hypothesis, and the space that belongs to its first token."""
    before, mark, _ = TEMPLATES.get(template, template).partition("{hypothesis}")
    if not mark or "{given}" not in before:
        hint = suggest(template, TEMPLATES)
        raise SpecError(f"template {template!r} must hold {{given}} before {{hypothesis}}{hint}")
    bare = before.rstrip(" ")
    return bare, before[len(bare) :]


@dataclass(frozen=True)
class GptScore(Neural, Metric):
    """The mean log p per token of the hypothesis after the reference and a template."""

    name = "gptscore"
    version = 2  # version 1 scored an empty hypothesis by the space that the template puts before it
    paradigm = "generation"
    range = (None, 0.0)
    architecture = "AutoModelForCausalLM"
    citation = "Fu et al. 2023, GPTScore: evaluate as you desire, arXiv 2302.04166"

    model: str = "smollm2"
    template: str = "paraphrase"
    reduce: Reduce = "mean"
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        split_template(self.template)

    def given(self, sample: Sample) -> tuple[str, ...]:
        return sample.references

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return the mean or best over each sample's given texts; None for an empty hypothesis."""
        loaded, given = self.load_model(), [self.given(sample) for sample in samples]
        rows, cuts = self._rows(loaded, samples, given)
        if self.overlong == "error" and any(cuts):
            raise MetricError(f"{max(cuts)} tokens do not fit into {loaded.path.name}; give overlong=warn")
        logs = causal(loaded, rows)
        means = [[float(v.mean()) for v in logs[part] if len(v)] for part in segments(map(len, given))]
        return Scores([reduced(values, self.reduce) for values in means], {"truncated": cuts})

    def _rows(
        self, loaded: Loaded, samples: Sequence[Sample], given: _Given
    ) -> tuple[list[TokenRow], list[int]]:
        """Return the ids given and scored, one row per given text, and the ids cut per sample."""
        before, after = split_template(self.template)
        contexts = content_ids(loaded, [before.replace("{given}", text) for texts in given for text in texts])
        # Of an empty hypothesis nothing is scored, not even the template's space.
        texts = [after + text if (text := sample.hypothesis.strip()) else "" for sample in samples]
        start = start_id(loaded)
        rows: list[TokenRow] = []
        cuts = []
        for ids, part in zip(content_ids(loaded, texts), segments(map(len, given)), strict=True):
            scored = ids[: loaded.limit // 2]
            room = loaded.limit - 1 - len(scored)
            rows += [((start, *context[:room]), tuple(scored)) for context in contexts[part]]
            too_many = sum(max(0, len(context) - room) for context in contexts[part])
            cuts.append(len(ids) - len(scored) + too_many)
        return rows, cuts


@dataclass(frozen=True)
class GptScoreFaithful(GptScore):
    """The mean log p per token of the hypothesis after the source and a template."""

    name = "gptscore-faithful"
    needs = frozenset({"source"})

    template: str = "summary"

    def given(self, sample: Sample) -> tuple[str, ...]:
        return (sample.source or "",)


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

    def _ids(self, loaded: Loaded, texts: Sequence[str], *, target: bool) -> IdsAndCuts:
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

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Score the hypothesis given the source, or both ways where the metric reads references.

        Both ways are precision (reference to hypothesis), recall (the other way) and their mean.
        """
        if "references" not in self.needs:
            values, cuts = self.log_likelihoods([(s.source or "", s.hypothesis) for s in samples])
            return Scores(values, {"truncated": cuts})
        pairs = [both for h, r in reference_pairs(samples) for both in ((r, h), (h, r))]
        values, cuts = self.log_likelihoods(pairs)
        parts = segments(2 * len(sample.references) for sample in samples)
        return scored((self._both_ways(values[part]), sum(cuts[part])) for part in parts)

    def _both_ways(self, values: Sequence[float | None]) -> list[float] | None:
        """Return precision, recall and their mean, from both of each reference; None where none has both."""
        table = np.array(values, dtype=float).reshape(-1, 2)
        present = table[np.isfinite(table).all(axis=1)]
        if not len(present):
            return None
        rows = np.column_stack([present, present.mean(axis=1)])
        reduced: list[float] = (rows.max(axis=0) if self.reduce == "max" else rows.mean(axis=0)).tolist()
        return reduced

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
    citation = "Yuan et al. 2021, BARTScore: evaluating generated text as text generation, NeurIPS"

    model: str = "facebook/bart-large-cnn"
    average: bool = True
    prompt: str = ""
    reduce: Reduce = "mean"
    adapter: str | None = None
    overlong: Shortened = "warn"
    precision: Precision = "float32"
    prefix: str = ""

    def explain(self, sample: Sample) -> Explanation | None:
        return self._explain(sample.references[0], sample.hypothesis)

    def differentiable(self) -> Differentiable:
        return Differentiable(self.load_model, self._both_ways_with_gradients)

    def _both_ways_with_gradients(self, loaded: Loaded, pairs: Texts) -> torch.Tensor:
        back = [(self._given(reference), hypothesis) for hypothesis, reference in pairs]
        forth = [(self._given(hypothesis), reference) for hypothesis, reference in pairs]
        precision, recall = (_log_likelihoods(loaded, side, self.average) for side in (back, forth))
        return torch.stack([precision, recall, (precision + recall) / 2], dim=1)


def _log_likelihoods(loaded: Loaded, pairs: Texts, average: bool) -> torch.Tensor:
    """Return the log p of the tokens of the second text, given the first: their mean, or their sum."""
    sources, targets = (
        loaded.tokenizer(list(side), truncation=True, max_length=loaded.limit)["input_ids"]
        for side in zip(*pairs, strict=True)
    )
    ids, mask = padded(sources, loaded.pad, loaded.device)
    labels, label_mask = padded(targets, loaded.pad, loaded.device)
    logits: torch.Tensor = loaded.model(input_ids=ids, attention_mask=mask, labels=labels).logits.float()
    logs = logits.gather(2, labels[..., None])[..., 0] - logits.logsumexp(-1)
    return (logs * label_mask).sum(1) / (label_mask.sum(1) if average else 1)


@dataclass(frozen=True)
class BartScoreFaithful(_Rewriting):
    """Mean log p per token of the hypothesis, given the source."""

    name = "bartscore-faithful"
    needs = frozenset({"source"})
    citation = "Yuan et al. 2021, BARTScore: evaluating generated text as text generation, NeurIPS"

    model: str = "facebook/bart-large-cnn"
    average: bool = True
    prompt: str = ""
    adapter: str | None = None
    overlong: Shortened = "warn"
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
    skips_tag = True
    stand_in = True  # the authors' own model is in a format of fairseq
    citation = "Thompson & Post 2020, Automatic MT evaluation via zero-shot paraphrasing, EMNLP"

    model: str = "facebook/m2m100_418M"
    source_language: str = "en"
    target_language: str = "en"
    reduce: Reduce = "mean"
    overlong: Shortened = "warn"
    precision: Precision = "float32"


@dataclass(frozen=True)
class PrismQe(_Rewriting):
    """Mean log p per token of the hypothesis as a translation of the source."""

    name = "prism-qe"
    needs = frozenset({"source"})
    skips_tag = True
    stand_in = True  # the authors' own model is in a format of fairseq
    citation = "Thompson & Post 2020, Automatic MT evaluation via zero-shot paraphrasing, EMNLP"

    model: str = "facebook/m2m100_418M"
    source_language: str = "de"
    target_language: str = "en"
    overlong: Shortened = "warn"
    precision: Precision = "float32"


def _is_tagged(loaded: Loaded) -> bool:
    """Whether targets open with a token that says nothing about the text: a language's tag or a start."""
    ids = loaded.tokenizer(text_target="a", verbose=False)["input_ids"]
    return len(ids) > 1 and ids[0] in loaded.tokenizer.all_special_ids
