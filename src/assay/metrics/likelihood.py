"""Perplexities and GPTScore: how likely a language model finds a text, alone or after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.core import Explanation, Metric, Sample, Scores
from assay.errors import MetricError, SpecError, suggest
from assay.models import likelihood as _likelihood
from assay.models.torch import Loaded, Neural, Overlong, Precision, content_ids, load

RADFORD_2019 = "Radford et al. 2019, Language models are unsupervised multitask learners"
SALAZAR_2020 = "Salazar et al. 2020, Masked language model scoring, ACL 2020"
FU_2023 = "Fu et al. 2023, GPTScore: evaluate as you desire, arXiv 2302.04166"
START = "<|endoftext|>"  # what stands before a text in training; smollm2's bos opens a chat turn instead
Scale = Literal["perplexity", "log"]
# {reference} or {source} is given, what follows {hypothesis} is scored.
TEMPLATES = {
    "plain": "{given}\n{hypothesis}",
    "paraphrase": "{given}\nIn other words, {hypothesis}",
    "summary": "{given}\nTl;dr: {hypothesis}",
    "dialogue": "{given}\nThe next speaker answers: {hypothesis}",
    "translation": "{given}\nIn English: {hypothesis}",
}


def start_id(loaded: Loaded) -> int:
    """The id that stands before a text: <|endoftext|> where the vocabulary has it, else bos, else eos."""
    tokenizer = loaded.tokenizer
    known = tokenizer.get_vocab().get(START)
    for found in (known, tokenizer.bos_token_id, tokenizer.eos_token_id):
        if found is not None:
            return int(found)
    raise MetricError(f"the tokenizer in {loaded.path} has no start token; take another model")


def _scaled(logs: Sequence[np.ndarray], scale: Scale) -> float | None:
    """Negated perplexity, or the mean log-likelihood a token; None for an empty text."""
    values = np.concatenate(logs) if logs else np.empty(0)
    if not len(values):
        return None
    return float(values.mean()) if scale == "log" else -float(np.exp(-values.mean()))


@dataclass(frozen=True)
class GptPerplexity(Neural, Metric):
    """The negated perplexity of a causal language model (*blind*, section 4); `scale=log`: its -log.

    Every token counts, the first one after the model's start token. Perplexity is exp(-mean log p), so that a
    set's mean is ruled by its least likely texts, as in the paper's tables.
    """

    name = "gpt-ppl"
    paradigm = "likelihood"
    needs = frozenset()
    range = (None, 0.0)
    original = "lower"
    citation = RADFORD_2019
    model: str = "smollm2"
    scale: Scale = "perplexity"
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load("AutoModelForCausalLM", self.model, precision=self.precision)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """One forward pass over the distinct beginnings of the texts."""
        loaded = self._loaded()
        start = start_id(loaded)
        rows: list[_likelihood.Row] = []
        owners: list[int] = []
        cuts = [0] * len(samples)
        texts = [sample.hypothesis for sample in samples]
        for index, (text, ids) in enumerate(zip(texts, content_ids(loaded, texts), strict=True)):
            found, cuts[index] = _likelihood.pieces(loaded, ids, loaded.limit - 1, self.overlong, text)
            for context, scored in found:
                if scored:
                    rows.append(((start, *context), tuple(scored)))
                    owners.append(index)
        logs: list[list[np.ndarray]] = [[] for _ in samples]
        for owner, values in zip(owners, _likelihood.causal(loaded, rows), strict=True):
            logs[owner].append(values)
        return Scores([_scaled(row, self.scale) for row in logs], {"truncated": cuts})

    def explain(self, sample: Sample) -> Explanation | None:
        """The probability of each token."""
        loaded = self._loaded()
        ids = content_ids(loaded, [sample.hypothesis])[0][: loaded.limit - 1]
        if not ids:
            return None
        logs = _likelihood.causal(loaded, [((start_id(loaded),), tuple(ids))])[0]
        return token_explanation(loaded, ids, logs)


def token_explanation(loaded: Loaded, ids: Sequence[int], logs: np.ndarray) -> Explanation:
    """Tokens with their probabilities."""
    words = tuple(loaded.tokenizer.decode([token]) for token in ids)
    return Explanation("tokens", words, ("probability",), tuple((float(np.exp(v)),) for v in logs))


@dataclass(frozen=True)
class MlmPerplexity(Neural, Metric):
    """The negated pseudo-perplexity of a masked model (*blind*, app. A): each token masked in turn."""

    name = "mlm-ppl"
    paradigm = "likelihood"
    needs = frozenset()
    range = (None, 0.0)
    original = "lower"
    citation = SALAZAR_2020
    model: str = "roberta-large"
    scale: Scale = "perplexity"
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        loaded = load("AutoModelForMaskedLM", self.model, precision=self.precision)
        if loaded.tokenizer.mask_token_id is None:
            raise MetricError(
                f"the tokenizer in {loaded.path} has no mask token; take a masked language model"
            )
        return loaded

    def score(self, samples: Sequence[Sample]) -> Scores:
        """As many rows as tokens; windows are scored piece by piece."""
        loaded = self._loaded()
        room = loaded.limit - loaded.framing.size
        rows: list[list[int]] = []
        owners: list[tuple[int, int]] = []
        cuts = [0] * len(samples)
        texts = [sample.hypothesis for sample in samples]
        for index, (text, ids) in enumerate(zip(texts, content_ids(loaded, texts), strict=True)):
            found, cuts[index] = _likelihood.pieces(loaded, ids, room, self.overlong, text)
            for context, scored in found:
                rows.append([*context, *scored])
                owners.append((index, len(context)))
        logs: list[list[np.ndarray]] = [[] for _ in samples]
        for (owner, skipped), values in zip(owners, _likelihood.masked(loaded, rows), strict=True):
            logs[owner].append(values[skipped:])
        return Scores([_scaled(row, self.scale) for row in logs], {"truncated": cuts})


def _gpt_score(metric: Any, samples: Sequence[Sample], given: Sequence[Sequence[str]]) -> Scores:
    """The mean log p of the hypothesis after each given text, their mean or best; None for an empty one."""
    loaded: Loaded = metric._loaded()
    before, after = split_template(metric.template)
    contexts = [before.replace("{given}", text) for texts in given for text in texts]
    # Of an empty hypothesis nothing is left to score, least of all the template's space.
    hypotheses = [after + text if (text := sample.hypothesis.strip()) else "" for sample in samples]
    context_ids, hypothesis_ids = content_ids(loaded, contexts), content_ids(loaded, hypotheses)
    start, at = start_id(loaded), 0
    rows: list[_likelihood.Row] = []
    cuts = [0] * len(samples)
    for index, texts in enumerate(given):
        scored = hypothesis_ids[index][: loaded.limit // 2]
        cuts[index] += len(hypothesis_ids[index]) - len(scored)
        for ids in context_ids[at : at + len(texts)]:
            room = loaded.limit - 1 - len(scored)
            cuts[index] += max(0, len(ids) - room)
            rows.append(((start, *ids[:room]), tuple(scored)))
        at += len(texts)
    if metric.overlong == "error" and any(cuts):
        raise MetricError(f"{max(cuts)} tokens do not fit into {loaded.path.name}; give overlong=warn")
    logs = [float(v.mean()) if len(v) else None for v in _likelihood.causal(loaded, rows)]
    return Scores(_reduced(logs, given, metric.reduce), {"truncated": cuts})


def _reduced(
    values: Sequence[float | None], given: Sequence[Sequence[str]], reduce: str
) -> list[float | None]:
    found: list[float | None] = []
    at = 0
    for texts in given:
        mine = [value for value in values[at : at + len(texts)] if value is not None]
        at += len(texts)
        found.append((max(mine) if reduce == "max" else float(np.mean(mine))) if mine else None)
    return found


def split_template(template: str) -> tuple[str, str]:
    """What stands before the hypothesis, and the space that belongs to its first token."""
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
    """The mean log p a token of the hypothesis after the reference and a template."""

    name = "gptscore"
    version = 2  # 1 scored an empty hypothesis by the space that the template puts before it
    paradigm = "generation"
    range = (None, 0.0)
    citation = FU_2023
    model: str = "smollm2"
    template: str = "paraphrase"
    reduce: Literal["mean", "max"] = "mean"
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        """A template must have both places."""
        split_template(self.template)

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load("AutoModelForCausalLM", self.model, precision=self.precision)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Each reference in turn."""
        return _gpt_score(self, samples, [sample.references for sample in samples])


@dataclass(frozen=True)
class GptScoreFaithful(Neural, Metric):
    """The mean log p a token of the hypothesis after the source and a template."""

    name = "gptscore-faithful"
    version = 2
    paradigm = "generation"
    needs = frozenset({"source"})
    range = (None, 0.0)
    citation = FU_2023
    model: str = "smollm2"
    template: str = "summary"
    reduce: Literal["mean", "max"] = "mean"
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        """A template must have both places."""
        split_template(self.template)

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load("AutoModelForCausalLM", self.model, precision=self.precision)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The source is given."""
        return _gpt_score(self, samples, [(sample.source or "",) for sample in samples])
