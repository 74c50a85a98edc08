"""Perplexities and GPTScore: how likely a language model finds a text, alone or after another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.core import Explanation, Metric, Sample, Scores
from assay.errors import MetricError, SpecError, suggest
from assay.metrics.base import Cut, Neural
from assay.metrics.text import Reduce, reduced, segments
from assay.models.likelihood import LogProbs, Row, causal, masked, pieces, start_id
from assay.models.torch import Loaded, Overlong, Precision, content_ids

Scale = Literal["perplexity", "log"]
Piece = tuple[list[int], list[int]]  # context ids, scored ids
# {given} is the reference or the source; only {hypothesis} is scored.
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

    @property
    def heavy_tailed(self) -> bool:
        return self.scale == "perplexity"

    @abstractmethod
    def room(self, loaded: Loaded) -> int:
        """Return how many ids fit into one piece of a text."""

    @abstractmethod
    def log_probabilities(self, loaded: Loaded, pieces: Sequence[Piece]) -> list[LogProbs]:
        """Return log p of the scored ids of each piece."""

    def score(self, samples: Sequence[Sample]) -> Scores:
        loaded, texts = self.load_model(), [sample.hypothesis for sample in samples]
        owners: list[int] = []
        rows: list[Piece] = []
        cuts = []
        for index, (text, ids) in enumerate(zip(texts, content_ids(loaded, texts), strict=True)):
            parts, cut = pieces(loaded, ids, self.room(loaded), self.overlong, text)
            usable = [(context, scored) for context, scored in parts if scored]
            rows += usable
            owners += [index] * len(usable)
            cuts.append(cut)
        logs: list[list[LogProbs]] = [[] for _ in samples]
        for owner, part in zip(owners, self.log_probabilities(loaded, rows), strict=True):
            logs[owner].append(part)
        return Scores([_scaled(parts, self.scale) for parts in logs], {"truncated": cuts})


@dataclass(frozen=True)
class GptPerplexity(_Perplexity):
    """The negated perplexity of a causal language model (*blind*, section 4); `scale=log`: its -log.

    Every token counts, the first one after the model's start token. Perplexity is exp(-mean log p), so that
    the mean over a set is dominated by its least likely texts, as in the paper's tables.
    """

    name = "gpt-ppl"
    citation = "Radford et al. 2019, Language models are unsupervised multitask learners"
    architecture = "AutoModelForCausalLM"

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
        logs = causal(loaded, [((start_id(loaded),), tuple(ids))])[0]
        return token_explanation(loaded, ids, logs)


@dataclass(frozen=True)
class MlmPerplexity(_Perplexity):
    """The negated pseudo-perplexity of a masked model (*blind*, app. A): each token masked in turn."""

    name = "mlm-ppl"
    citation = "Salazar et al. 2020, Masked language model scoring, ACL 2020"
    architecture = "AutoModelForMaskedLM"
    model: str = "roberta-large"

    def room(self, loaded: Loaded) -> int:
        return loaded.room

    def log_probabilities(self, loaded: Loaded, pieces: Sequence[Piece]) -> list[LogProbs]:
        logs = masked(loaded, [[*context, *scored] for context, scored in pieces])
        return [values[len(context) :] for values, (context, _) in zip(logs, pieces, strict=True)]


def split_template(template: str) -> tuple[str, str]:
    """Return what precedes the hypothesis, and the space that belongs to its first token."""
    text = TEMPLATES.get(template, template)
    before, mark, _ = text.partition("{hypothesis}")
    if not mark or "{given}" not in before:
        raise SpecError(
            f"template {template!r} must hold {{given}} before {{hypothesis}}{suggest(template, TEMPLATES)}"
        )
    bare = before.rstrip(" ")
    return bare, before[len(bare) :]


@dataclass(frozen=True)
class GptScore(Neural, Metric):
    """The mean log p per token of the hypothesis after the reference and a template."""

    name = "gptscore"
    version = 2  # version 1 scored an empty hypothesis by the space that the template puts before it
    paradigm = "generation"
    range = (None, 0.0)
    citation = "Fu et al. 2023, GPTScore: evaluate as you desire, arXiv 2302.04166"
    architecture = "AutoModelForCausalLM"
    model: str = "smollm2"
    template: str = "paraphrase"
    reduce: Reduce = "mean"
    overlong: Cut = "warn"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        split_template(self.template)

    def given(self, sample: Sample) -> tuple[str, ...]:
        """Return the texts after which the hypothesis is scored."""
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
        self, loaded: Loaded, samples: Sequence[Sample], given: Sequence[Sequence[str]]
    ) -> tuple[list[Row], list[int]]:
        """Return the ids given and scored, one row per given text, and the ids cut per sample."""
        before, after = split_template(self.template)
        contexts = content_ids(loaded, [before.replace("{given}", text) for texts in given for text in texts])
        # Of an empty hypothesis nothing is scored, not even the template's space.
        texts = [after + text if (text := sample.hypothesis.strip()) else "" for sample in samples]
        start = start_id(loaded)
        rows: list[Row] = []
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
