"""BARTScore and PRISM: how likely a sequence-to-sequence model rewrites one text into another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.core import Explanation, Metric, Sample, Scores
from assay.errors import MetricError
from assay.metrics.likelihood import token_explanation
from assay.models import likelihood as _likelihood
from assay.models.torch import Loaded, Neural, Precision, load

YUAN_2021 = "Yuan et al. 2021, BARTScore: evaluating generated text as text generation, NeurIPS"
THOMPSON_2020 = "Thompson & Post 2020, Automatic MT evaluation via zero-shot paraphrasing, EMNLP"
Direction = tuple[str, str]  # from, to


def forced(
    metric: Any, pairs: Sequence[Direction], *, skip_first: bool
) -> tuple[list[float | None], list[int]]:
    """log p(to | from) a pair, over the target's tokens; and the tokens cut.

    The target is read as its tokenizer frames it, start and end included, as BARTScore does; PRISM leaves out
    the language tag that opens a target (`skip_first`).
    """
    loaded: Loaded = metric._loaded()
    sources, cut_sources = _framed_ids(metric, loaded, [one for one, _ in pairs], target=False)
    targets, cut_targets = _framed_ids(metric, loaded, [other for _, other in pairs], target=True)
    rows = [(tuple(one), tuple(other)) for one, other in zip(sources, targets, strict=True)]
    values: list[float | None] = []
    for logs in _likelihood.translated(loaded, rows):
        counted = logs[1:] if skip_first else logs
        whole = counted.mean() if getattr(metric, "average", True) else counted.sum()
        values.append(float(whole) if len(counted) else None)
    return values, [one + other for one, other in zip(cut_sources, cut_targets, strict=True)]


def _framed_ids(
    metric: Any, loaded: Loaded, texts: Sequence[str], *, target: bool
) -> tuple[list[list[int]], list[int]]:
    tokenizer = loaded.tokenizer
    for attribute in ("source_language", "target_language"):
        language = getattr(metric, attribute, None)
        if language:
            setattr(tokenizer, "src_lang" if attribute.startswith("source") else "tgt_lang", language)
    how: dict[str, Any] = {"text_target": list(texts)} if target else {"text": list(texts)}
    full = tokenizer(**how, verbose=False)["input_ids"]
    kept = tokenizer(**how, truncation=True, max_length=loaded.limit, verbose=False)["input_ids"]
    cuts = [len(one) - len(other) for one, other in zip(full, kept, strict=True)]
    if metric.overlong == "error" and any(cuts):
        text = texts[int(np.argmax(cuts))]
        raise MetricError(
            f"{text[:60]!r}... is {max(cuts)} tokens too long for {loaded.path.name}; give overlong=warn"
        )
    return [list(ids) for ids in kept], cuts


def _both_ways(metric: Any, samples: Sequence[Sample], *, skip_first: bool, prompt: str = "") -> Scores:
    """Precision (reference to hypothesis), recall (the other way) and their arithmetic mean."""
    pairs = [
        (one + prompt, other)
        for sample in samples
        for text in sample.references
        for one, other in ((text, sample.hypothesis), (sample.hypothesis, text))
    ]
    values, cuts = forced(metric, pairs, skip_first=skip_first)
    found: list[Any] = []
    truncated: list[int] = []
    at = 0
    for sample in samples:
        end = at + 2 * len(sample.references)
        rows = [
            [p, r, (p + r) / 2]
            for p, r in zip(values[at:end:2], values[at + 1 : end : 2], strict=True)
            if p is not None and r is not None
        ]
        reduce = np.max if metric.reduce == "max" else np.mean
        found.append(reduce(rows, axis=0).tolist() if rows else None)
        truncated.append(sum(cuts[at:end]))
        at = end
    return Scores(found, {"truncated": truncated})


@dataclass(frozen=True)
class BartScore(Neural, Metric):
    """log p a token: p is reference to hypothesis, r hypothesis to reference, f their mean.

    `average=false` sums instead. `prompt` is appended to what the encoder reads. The mean over references is
    the authors' choice (`multi_ref_score`).
    """

    name = "bartscore"
    paradigm = "generation"
    outputs = ("p", "r", "f")
    range = (None, 0.0)
    citation = YUAN_2021
    model: str = "facebook/bart-large-cnn"
    average: bool = True
    prompt: str = ""
    reduce: Literal["mean", "max"] = "mean"
    adapter: str | None = None
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load("AutoModelForSeq2SeqLM", self.model, precision=self.precision, adapter=self.adapter)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Both directions."""
        return _both_ways(self, samples, skip_first=False, prompt=_suffix(self.prompt))

    def explain(self, sample: Sample) -> Explanation | None:
        """The probability of each token of the hypothesis, given the first reference."""
        return _explained(self, sample.references[0] + _suffix(self.prompt), sample.hypothesis)


def _suffix(prompt: str) -> str:
    return f" {prompt}" if prompt else ""


def _explained(metric: Any, given: str, text: str) -> Explanation:
    loaded: Loaded = metric._loaded()
    source = _framed_ids(metric, loaded, [given], target=False)[0][0]
    ids = _framed_ids(metric, loaded, [text], target=True)[0][0]
    return token_explanation(loaded, ids, _likelihood.translated(loaded, [(tuple(source), tuple(ids))])[0])


@dataclass(frozen=True)
class BartScoreFaithful(Neural, Metric):
    """log p a token of the hypothesis, given the source."""

    name = "bartscore-faithful"
    paradigm = "generation"
    needs = frozenset({"source"})
    range = (None, 0.0)
    citation = YUAN_2021
    model: str = "facebook/bart-large-cnn"
    average: bool = True
    prompt: str = ""
    adapter: str | None = None
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load("AutoModelForSeq2SeqLM", self.model, precision=self.precision, adapter=self.adapter)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The source is given."""
        pairs = [((s.source or "") + _suffix(self.prompt), s.hypothesis) for s in samples]
        values, cuts = forced(self, pairs, skip_first=False)
        return Scores(values, {"truncated": cuts})

    def explain(self, sample: Sample) -> Explanation | None:
        """The probability of each token of the hypothesis, given the source."""
        return _explained(self, (sample.source or "") + _suffix(self.prompt), sample.hypothesis)


@dataclass(frozen=True)
class Prism(Neural, Metric):
    """Forced decoding by a multilingual translator, from the target language into itself.

    The authors' model is in another format; any multilingual sequence-to-sequence model of the hub does. The
    tag of the language, which opens a target, does not count.
    """

    name = "prism"
    paradigm = "generation"
    outputs = ("p", "r", "f")
    range = (None, 0.0)
    citation = THOMPSON_2020
    model: str = "facebook/m2m100_418M"
    source_language: str = "en"
    target_language: str = "en"
    reduce: Literal["mean", "max"] = "mean"
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load("AutoModelForSeq2SeqLM", self.model, precision=self.precision)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Both directions."""
        return _both_ways(self, samples, skip_first=_tagged(self._loaded()))


@dataclass(frozen=True)
class PrismQe(Neural, Metric):
    """log p a token of the hypothesis as a translation of the source."""

    name = "prism-qe"
    paradigm = "generation"
    needs = frozenset({"source"})
    range = (None, 0.0)
    citation = THOMPSON_2020
    model: str = "facebook/m2m100_418M"
    source_language: str = "de"
    target_language: str = "en"
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load("AutoModelForSeq2SeqLM", self.model, precision=self.precision)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The source is given."""
        pairs = [(s.source or "", s.hypothesis) for s in samples]
        values, cuts = forced(self, pairs, skip_first=_tagged(self._loaded()))
        return Scores(values, {"truncated": cuts})


def _tagged(loaded: Loaded) -> bool:
    """Whether targets open with a token that says nothing about the text: a language's tag or a start."""
    ids = loaded.tokenizer(text_target="a", verbose=False)["input_ids"]
    return len(ids) > 1 and ids[0] in loaded.tokenizer.all_special_ids
