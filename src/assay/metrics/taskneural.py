"""Linguistic quality without a reference (like GRUEN's), and whether an answer fits its dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from rapidfuzz.distance import Levenshtein

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import WeightsError
from assay.metrics.base import Cut, Neural, softmax, unit
from assay.models import weights
from assay.models.classifier import logits
from assay.models.encoder import pooled
from assay.models.likelihood import causal, start_id
from assay.models.nlp import split_sentences
from assay.models.torch import Loaded, Overlong, Precision, content_ids, load
from assay.vocabulary import NonNegative

ZHU_2020 = "Zhu & Bhat 2020, GRUEN for evaluating linguistic quality of generated text, Findings of EMNLP"
TAO_2018 = "Tao et al. 2018, RUBER: an unsupervised method for automatic evaluation of dialog systems, AAAI"
SAI_2020 = "Sai et al. 2020, Improving dialog evaluation with a multi-reference adversarial dataset, TACL"
_FLUENT, _BROKEN = -2.5, -7.5  # mean log p per token that counts as 1 and as 0
_UNFOCUSED = 0.05  # a smaller cosine between neighbouring sentences counts as lost focus
_LONGEST = 510  # tokens read of a sentence, as by the authors; a model's own limit may be thousands


@dataclass(frozen=True)
class Gruen(Neural, Metric):
    """Grammaticality + non-redundancy + focus, clipped to 0..1, in the manner of GRUEN.

    Deviations: grammaticality is the causal model's mean log p per token, scaled between -7.5 and -2.5 (GRUEN
    adds a classifier trained on CoLA: give one as `acceptability`, and the two are averaged); focus compares
    neighbouring sentences by a sentence encoder. As in the paper, each sign of redundancy in a pair of
    sentences costs 0.1, and so do unrelated neighbours; the first 510 tokens of a sentence are read.
    """

    name = "gruen"
    version = 2  # version 1 read as much of a sentence as the model could hold
    paradigm = "likelihood"
    needs = frozenset()
    range = (0.0, 1.0)
    citation = ZHU_2020
    architecture = "AutoModelForCausalLM"
    weights = ("model", "encoder")
    model: str = "smollm2"
    encoder: str = "minilm"
    acceptability: str | None = None
    overlong: Cut = "warn"
    precision: Precision = "float32"

    def pins(self) -> dict[str, str]:
        classifier = {"acceptability": weights.pin(self.acceptability)} if self.acceptability else {}
        return {**super().pins(), **classifier}

    def prepare(self) -> None:
        self.load_model()
        self._load_encoder()

    def _load_encoder(self) -> Loaded:
        return load("AutoModel", self.encoder, precision=self.precision, unused=("pooler",))

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a score per sample, None for an empty text."""
        texts = [split_sentences(sample.hypothesis) for sample in samples]
        distinct = list(dict.fromkeys(part for parts in texts for part in parts))
        grammar, cuts = self._grammar(distinct)
        vectors, _ = pooled(self._load_encoder(), distinct, "warn")
        place = {part: index for index, part in enumerate(distinct)}
        directions = unit(vectors.astype(np.float64))
        values: list[float | None] = []
        truncated: list[int] = []
        for parts in texts:
            at = [place[part] for part in parts]
            truncated.append(sum(cuts[index] for index in at))
            if not parts:
                values.append(None)
                continue
            near = [float(directions[here] @ directions[after]) for here, after in pairwise(at)]
            penalty = 0.1 * redundancy(parts) + (0.1 if near and min(near) < _UNFOCUSED else 0.0)
            values.append(float(np.clip(grammar[at].mean() - penalty, 0.0, 1.0)))
        return Scores(values, {"truncated": truncated})

    def _grammar(self, texts: Sequence[str]) -> tuple[Floats, list[int]]:
        """Return how grammatical each sentence is, 0..1, and the tokens cut."""
        loaded = self.load_model()
        start, room = start_id(loaded), min(_LONGEST, loaded.limit - 1)
        ids = content_ids(loaded, texts)
        logs = causal(loaded, [((start,), tuple(row[:room])) for row in ids])
        means = np.array([float(values.mean()) for values in logs])
        fluent = np.clip((means - _BROKEN) / (_FLUENT - _BROKEN), 0.0, 1.0)
        if self.acceptability:
            classifier = load(
                "AutoModelForSequenceClassification", self.acceptability, precision=self.precision
            )
            acceptable = softmax(logits(classifier, texts, None)[0])[:, -1]  # CoLA's last label
            fluent = (fluent + acceptable) / 2
        return fluent, [max(0, len(row) - room) for row in ids]


def redundancy(parts: Sequence[str]) -> int:
    """Count signs of repetition over all pairs of sentences: shared words, a near copy, one in the other."""
    signs = 0
    for first, second in combinations(parts, 2):
        if first in second or second in first:
            signs += 4
            continue
        words, others = first.lower().split(), second.lower().split()
        if max(len(words), len(others)) < 5:
            continue
        shortest = min(len(words), len(others))
        signs += len(set(words) & set(others)) > 0.8 * shortest
        signs += Levenshtein.distance(first, second) < 0.4 * max(len(first), len(second))
    return signs


@dataclass(frozen=True)
class DialogueRelevance(Neural, Metric):
    """The cosine of the answer with the last turns, by a sentence encoder (RUBER's unreferenced part)."""

    name = "dialogue-relevance"
    paradigm = "matching"
    needs = frozenset({"source"})
    range = (-1.0, 1.0)
    citation = TAO_2018
    unused = ("pooler",)
    model: str = "minilm"
    turns: int = 2
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a cosine per sample, None where the dialogue or the answer is empty."""
        contexts = [last_turns(sample.source or "", self.turns) for sample in samples]
        texts = [*contexts, *(sample.hypothesis for sample in samples)]
        vectors, cuts = pooled(self.load_model(), texts, self.overlong)
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
    """Return the end of a dialogue with one turn per line."""
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
    label: NonNegative | None = None  # of "follows"; None: 0 for next-sentence heads, else the last
    overlong: Cut = "warn"
    precision: Precision = "float32"

    def load_model(self) -> Loaded:
        try:
            return load("AutoModelForNextSentencePrediction", self.model, precision=self.precision)
        except WeightsError as refused:
            try:
                return load("AutoModelForSequenceClassification", self.model, precision=self.precision)
            except WeightsError as error:
                raise WeightsError(f"{error} (nor as next-sentence model: {refused})") from error

    def score(self, samples: Sequence[Sample]) -> Scores:
        loaded = self.load_model()
        contexts = [last_turns(sample.source or "", self.turns) for sample in samples]
        table, cuts = logits(loaded, contexts, [s.hypothesis for s in samples], self.overlong)
        if table.shape[1] == 1:
            return Scores(1 / (1 + np.exp(-table[:, 0])), {"truncated": cuts})
        next_sentence = "NextSentence" in type(loaded.model).__name__
        label = self.label if self.label is not None else (0 if next_sentence else table.shape[1] - 1)
        return Scores(softmax(table)[:, label], {"truncated": cuts})
