"""Linguistic quality without a reference (GRUEN-like), and whether an answer fits its dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
from rapidfuzz.distance import Levenshtein

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import WeightsError
from assay.metrics.contextual import encoder, unit
from assay.metrics.likelihood import start_id
from assay.metrics.text import sentences
from assay.models import classifier as _classifier
from assay.models import likelihood as _likelihood
from assay.models.encoder import pooled
from assay.models.torch import Loaded, Neural, Overlong, Precision, content_ids, load

ZHU_2020 = "Zhu & Bhat 2020, GRUEN for evaluating linguistic quality of generated text, Findings of EMNLP"
TAO_2018 = "Tao et al. 2018, RUBER: an unsupervised method for automatic evaluation of dialog systems, AAAI"
SAI_2020 = "Sai et al. 2020, Improving dialog evaluation with a multi-reference adversarial dataset, TACL"
_FLUENT, _BROKEN = -2.5, -7.5  # mean log p a token that count as 1 and as 0
_UNFOCUSED = 0.05  # neighbours less alike than this lose the focus
_LONGEST = 510  # tokens read of a sentence, as by the authors; a model's own limit may be thousands


@dataclass(frozen=True)
class Gruen(Neural, Metric):
    """Grammaticality + non-redundancy + focus, clipped to 0..1, in the manner of GRUEN.

    Deviations: grammaticality is the causal model's mean log p a token, scaled between -7.5 and -2.5 (GRUEN
    adds a classifier trained on CoLA: give one as `acceptability`, and the two are averaged); focus compares
    neighbouring sentences by a sentence encoder. A redundant pair of sentences costs 0.1 a sign, unrelated
    neighbours cost 0.1, as in the paper; of a sentence the first 510 tokens are read, as by the authors.
    """

    name = "gruen"
    version = 2  # 1 read as much of a sentence as the model could hold
    paradigm = "likelihood"
    needs = frozenset()
    range = (0.0, 1.0)
    citation = ZHU_2020
    weights = ("model", "encoder")
    model: str = "smollm2"
    encoder: str = "minilm"
    acceptability: str | None = None
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def pins(self) -> dict[str, str]:
        """The classifier's digest too, where there is one."""
        from assay.models import weights

        found = dict(super().pins())
        if self.acceptability:
            found["acceptability"] = weights.pin(self.acceptability)
        return found

    def prepare(self) -> None:
        """Load the models."""
        self._loaded()
        encoder(self.encoder, self.precision, None)

    def _loaded(self) -> Loaded:
        return load("AutoModelForCausalLM", self.model, precision=self.precision)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """None for an empty text."""
        parts = [sentences(sample.hypothesis) for sample in samples]
        flat = list(dict.fromkeys(part for found in parts for part in found))
        grammar, cuts = self._grammar(flat)
        vectors, _ = pooled(encoder(self.encoder, self.precision, None), flat, "warn")
        place = {part: index for index, part in enumerate(flat)}
        directions = unit(vectors.astype(np.float64))
        values: list[float | None] = []
        truncated: list[int] = []
        for found in parts:
            at = [place[part] for part in found]
            truncated.append(sum(cuts[index] for index in at))
            if not found:
                values.append(None)
                continue
            near = [float(directions[one] @ directions[other]) for one, other in pairwise(at)]
            penalty = 0.1 * redundancy(found) + (0.1 if near and min(near) < _UNFOCUSED else 0.0)
            values.append(float(np.clip(grammar[at].mean() - penalty, 0.0, 1.0)))
        return Scores(values, {"truncated": truncated})

    def _grammar(self, texts: Sequence[str]) -> tuple[Floats, list[int]]:
        """How grammatical each sentence is, 0..1."""
        loaded = self._loaded()
        start, room = start_id(loaded), min(_LONGEST, loaded.limit - 1)
        ids = content_ids(loaded, texts)
        logs = _likelihood.causal(loaded, [((start,), tuple(row[:room])) for row in ids])
        means = np.array([float(values.mean()) for values in logs])
        fluent = np.clip((means - _BROKEN) / (_FLUENT - _BROKEN), 0.0, 1.0)
        if self.acceptability:
            judge = load("AutoModelForSequenceClassification", self.acceptability, precision=self.precision)
            fluent = (fluent + _last_label(_classifier.logits(judge, texts, None)[0])) / 2
        return fluent, [max(0, len(row) - room) for row in ids]


def _last_label(logits: Floats) -> Floats:
    """P(the last label): 'acceptable' in CoLA, 'follows' in most binary models."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted[:, -1] / shifted.sum(axis=1))


def redundancy(parts: Sequence[str]) -> int:
    """Signs of repetition over all pairs of sentences: shared words, a near copy, one within the other."""
    signs = 0
    for one, other in combinations(parts, 2):
        if one in other or other in one:
            signs += 4
            continue
        mine, theirs = one.lower().split(), other.lower().split()
        if max(len(mine), len(theirs)) < 5:
            continue
        shortest = min(len(mine), len(theirs))
        signs += len(set(mine) & set(theirs)) > 0.8 * shortest
        signs += Levenshtein.distance(one, other) < 0.4 * max(len(one), len(other))
    return signs


@dataclass(frozen=True)
class DialogueRelevance(Neural, Metric):
    """The cosine of the answer with the last turns, by a sentence encoder (RUBER's unreferenced part)."""

    name = "dialogue-relevance"
    paradigm = "matching"
    needs = frozenset({"source"})
    range = (-1.0, 1.0)
    citation = TAO_2018
    model: str = "minilm"
    turns: int = 2
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the encoder."""
        encoder(self.model, self.precision, self.adapter)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """None where the dialogue or the answer is empty."""
        loaded = encoder(self.model, self.precision, self.adapter)
        contexts = [last_turns(sample.source or "", self.turns) for sample in samples]
        texts = [*contexts, *(sample.hypothesis for sample in samples)]
        vectors, cuts = pooled(loaded, texts, self.overlong)
        directions = unit(vectors.astype(np.float64))
        count = len(samples)
        values = [
            float(directions[i] @ directions[count + i])
            if contexts[i] and samples[i].hypothesis.strip()
            else None
            for i in range(count)
        ]
        return Scores(values, {"truncated": [cuts[i] + cuts[count + i] for i in range(count)]})


def last_turns(source: str, turns: int) -> str:
    """The end of a dialogue; turns stand one a line."""
    return "\n".join([line for line in source.splitlines() if line.strip()][-turns:])


@dataclass(frozen=True)
class DialogueModel(Neural, Metric):
    """P(the answer follows the dialogue) by a next-sentence or classification model (DEB, MaUde style)."""

    name = "dialogue-model"
    paradigm = "regression"
    needs = frozenset({"source"})
    range = (0.0, 1.0)
    citation = SAI_2020
    model: str = "bert-base-uncased"
    turns: int = 4
    label: int | None = None  # which output means "follows"; None: 0 for next-sentence heads, else the last
    overlong: Literal["warn", "error"] = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the model."""
        self._loaded()

    def _loaded(self) -> Loaded:
        try:
            return load("AutoModelForNextSentencePrediction", self.model, precision=self.precision)
        except WeightsError as refused:
            try:
                return load("AutoModelForSequenceClassification", self.model, precision=self.precision)
            except WeightsError as error:
                raise WeightsError(f"{error} (nor as next-sentence model: {refused})") from error

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The last turns stand first."""
        loaded = self._loaded()
        contexts = [last_turns(sample.source or "", self.turns) for sample in samples]
        logits, cuts = _classifier.logits(loaded, contexts, [s.hypothesis for s in samples], self.overlong)
        if logits.shape[1] == 1:
            chances = 1 / (1 + np.exp(-logits[:, 0]))
        else:
            next_sentence = "NextSentence" in type(loaded.model).__name__
            place = self.label if self.label is not None else (0 if next_sentence else logits.shape[1] - 1)
            shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
            chances = shifted[:, place] / shifted.sum(axis=1)
        return Scores(chances, {"truncated": cuts})
