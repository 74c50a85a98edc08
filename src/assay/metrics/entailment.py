"""Metrics that ask a model a question: does this follow from that (NLI), is this summary good (UniEval)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import WeightsError
from assay.metrics.base import Neural, Shortened, scored, softmax
from assay.metrics.text import reference_pairs, segments
from assay.models.encoder import logits
from assay.models.lazy import torch
from assay.models.nlp import split_sentences
from assay.models.torch import Loaded, Precision, content_ids, forward_rows, framed_rows

_ENTAILED = ("entailment", "entail", "supported", "aligned", "consistent")
# The authors' length of a question; the tokenizer's 512 is that of T5's training, not of its positions.
_LONGEST = 1024
_PIECE_WORDS = 500  # of MiniCheck's pieces of a document
_CHECK_TOKENS = 2048
_Job = tuple[tuple[str, ...], tuple[str, ...]]  # pieces of a source, claims
_CHUNK_WORDS = 350  # AlignScore's size of a piece of a document


def entailment_label(loaded: Loaded, label: str | None) -> int:
    """Return the number of the output that means entailment; models number their labels differently."""
    labels = {str(name).lower(): int(number) for number, name in loaded.model.config.id2label.items()}
    for name in _ENTAILED if label is None else (label.lower(),):
        if name in labels:
            return labels[name]
    if label is not None:
        raise WeightsError(f"{loaded.path} has no label {label!r}; it has {', '.join(labels)}")
    raise WeightsError(
        f"no label of {loaded.path} means entailment: {', '.join(labels)}; name it as label=NAME, "
        f"or take a model trained on NLI"
    )


class _Entailment(Neural, Metric):
    """A classifier of natural language inference."""

    label: str | None

    def prepare(self) -> None:
        entailment_label(self.load_model(), self.label)

    def entailment(self, pairs: Sequence[tuple[str, str]]) -> tuple[Floats, list[int]]:
        """Return P(the second text follows from the first) per pair, and the tokens cut."""
        loaded = self.load_model()
        label = entailment_label(loaded, self.label)
        place = {pair: index for index, pair in enumerate(dict.fromkeys(pairs))}
        premises, claims = [premise for premise, _ in place], [claim for _, claim in place]
        table, cuts = logits(loaded, premises, claims, self.overlong)
        places = [place[pair] for pair in pairs]
        return softmax(table)[places, label], [cuts[at] for at in places]


@dataclass(frozen=True)
class Nli(_Entailment):
    """Entailment between hypothesis and reference: p, reference to hypothesis; r, the other way; f, both.

    f is the harmonic mean: a paraphrase follows and is followed. The best reference counts.
    """

    name = "nli"
    paradigm = "qa"
    outputs = ("f", "p", "r")
    range = (0.0, 1.0)
    architecture = "AutoModelForSequenceClassification"
    citation = "Chen & Eger 2023, MENLI: robust evaluation metrics from natural language inference, TACL"

    model: str = "cross-encoder/nli-deberta-v3-small"
    label: str | None = None
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        pairs = [both for h, r in reference_pairs(samples) for both in ((r, h), (h, r))]
        chances, cuts = self.entailment(pairs)
        answers = []
        for part in segments(2 * len(sample.references) for sample in samples):
            p, r = chances[part][::2], chances[part][1::2]
            rows = np.stack([2 * p * r / np.maximum(p + r, 1e-12), p, r], axis=1)
            answers.append((rows.max(axis=0).tolist() if len(rows) else None, sum(cuts[part])))
        return scored(answers)


@dataclass(frozen=True)
class NliFaithful(_Entailment):
    """How far each sentence of the hypothesis follows from the source, on average.

    `summac`: the best of the source's sentences for each (SummaC, zero-shot). `chunks`: the best of its
    pieces of whole sentences, up to 350 words (AlignScore). `document`: the whole source at once.
    """

    name = "nli-faithful"
    version = 2  # version 1 cut pieces of 350 words within sentences
    paradigm = "qa"
    needs = frozenset({"source"})
    range = (0.0, 1.0)
    architecture = "AutoModelForSequenceClassification"
    citation = (
        "Laban et al. 2022, SummaC: re-visiting NLI-based models for inconsistency detection, TACL; "
        "Tang et al. 2024, MiniCheck: efficient fact-checking of LLMs on grounding documents, EMNLP"
    )

    model: str = "cross-encoder/nli-deberta-v3-small"
    label: str | None = None
    by: Literal["summac", "chunks", "document"] = "summac"
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a mean per sample, None where source or hypothesis has no sentence."""
        jobs = [(self._pieces(s.source or ""), split_sentences(s.hypothesis)) for s in samples]
        pairs = [(piece, claim) for pieces, claims in jobs for claim in claims for piece in pieces]
        chances, cuts = self.entailment(pairs)
        return _best_support(jobs, chances, cuts)

    def _pieces(self, source: str) -> tuple[str, ...]:
        if self.by == "summac":
            return split_sentences(source)
        if self.by == "document":
            return (source,) if source.strip() else ()
        return whole_pieces(source, _CHUNK_WORDS)


def _best_support(jobs: Sequence[_Job], chances: Floats, cuts: list[int]) -> Scores:
    """Return the mean over a job's claims of the best of its pieces, from one chance per claim and piece."""
    answers = []
    parts = segments(len(pieces) * len(claims) for pieces, claims in jobs)
    for (pieces, claims), part in zip(jobs, parts, strict=True):
        table = chances[part].reshape(len(claims), len(pieces))
        answers.append((float(table.max(axis=1).mean()) if table.size else None, sum(cuts[part])))
    return scored(answers)


class _Answers(Neural):
    """A T5 that answers with one token: the probability of one answer against another."""

    def answers(self, texts: Sequence[str], pair: tuple[str, str], longest: int) -> list[tuple[float, int]]:
        loaded = self.load_model()
        # The first id of each answer: T5 writes 0 as a space and a digit, and its first id is the space.
        first_ids = [ids[0] for ids in content_ids(loaded, pair)]
        rows, cuts = framed_rows(loaded, texts, self.overlong, longest - loaded.framing.size)

        def forward(ids: torch.Tensor, mask: torch.Tensor) -> list[float]:
            start = torch.full_like(ids[:, :1], loaded.model.config.decoder_start_token_id)
            answer = loaded.model(input_ids=ids, attention_mask=mask, decoder_input_ids=start).logits[:, 0]
            return list(torch.softmax(answer[:, first_ids].double(), dim=-1)[:, 0].tolist())

        return list(zip(forward_rows(loaded, rows, forward), cuts, strict=True))


@dataclass(frozen=True)
class MiniCheck(_Answers, Metric):
    """How far each sentence of the hypothesis is supported by the source, on average, by MiniCheck's T5.

    A sentence's support is that of the piece of the source that supports it best; pieces hold whole
    sentences, up to 500 words, as in the authors' code, which splits sentences with NLTK, not spaCy.
    """

    name = "minicheck"
    paradigm = "qa"
    needs = frozenset({"source"})
    range = (0.0, 1.0)
    architecture = "AutoModelForSeq2SeqLM"
    citation = "Tang et al. 2024, MiniCheck: efficient fact-checking of LLMs on grounding documents, EMNLP"

    model: str = "lytang/MiniCheck-Flan-T5-Large"
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a mean per sample, None where source or hypothesis has no sentence."""
        jobs = [(whole_pieces(s.source or "", _PIECE_WORDS), split_sentences(s.hypothesis)) for s in samples]
        end = self.load_model().tokenizer.eos_token
        texts = [f"predict: {p}{end}{claim}" for pieces, claims in jobs for claim in claims for p in pieces]
        # The answers that it was trained to give: 1, supported, and 0, not.
        answers = self.answers(texts, ("1", "0"), _CHECK_TOKENS)
        return _best_support(jobs, np.array([chance for chance, _ in answers]), [cut for _, cut in answers])


def whole_pieces(text: str, words: int) -> tuple[str, ...]:
    """Return a text in pieces of whole sentences, each of at most so many words where its sentences allow."""
    pieces: list[list[str]] = []
    size = 0
    for sentence in split_sentences(text):
        count = len(sentence.split())
        if not pieces or size + count > words:
            pieces.append([])
            size = 0
        pieces[-1].append(sentence)
        size += count
    return tuple(" ".join(piece) for piece in pieces)


@dataclass(frozen=True)
class UniEval(_Answers, Metric):
    """UniEval for summaries: P(yes) / (P(yes) + P(no)) of a T5 that answers a question for each output.

    A question about a sentence is asked about each and the answers averaged, as the authors do; one about a
    reference is asked with each, and the best counts. `overall` is the mean of the other outputs.
    """

    name = "unieval"
    paradigm = "qa"
    needs = frozenset({"references", "source"})
    outputs: ClassVar[tuple[str, ...]] = ("coherence", "consistency", "fluency", "relevance", "overall")
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    architecture = "AutoModelForSeq2SeqLM"
    citation = "Zhong et al. 2022, Towards a unified multi-dimensional evaluator for text generation, EMNLP"

    model: str = "MingZhong/unieval-sum"
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Ask all questions about all samples in one stream of batches."""
        by_sample = [questions(self.name, sample) for sample in samples]
        texts = chain.from_iterable(chain.from_iterable(asked.values()) for asked in by_sample)
        distinct = list(dict.fromkeys(texts))
        answers = dict(zip(distinct, self.answers(distinct, ("Yes", "No"), _LONGEST), strict=True))
        return scored(self._one(asked, answers) for asked in by_sample)

    def _one(
        self, asked: Mapping[str, Sequence[str]], answers: Mapping[str, tuple[float, int]]
    ) -> tuple[list[float] | float | None, int]:
        """Return a sample's outputs, None where a question had nothing to ask about, and the tokens cut."""
        cut = sum(answers[text][1] for text in chain.from_iterable(asked.values()))
        if not all(asked.values()):
            return None, cut
        values = []
        for output, texts in asked.items():
            join = _JOINED[_QUESTIONS[self.name][output][0]]
            values.append(float(join([answers[text][0] for text in texts])))
        return ([*values, float(np.mean(values))] if self.outputs else values[0]), cut


@dataclass(frozen=True)
class UniEvalDialog(UniEval):
    """UniEval for dialogue: the source is the history, with `fact: ...` as its last line where there is one.

    Engagingness is added up over sentences, as the authors do: it and `overall` may exceed 1.
    """

    name = "unieval-dialog"
    needs = frozenset({"source"})
    outputs = ("naturalness", "coherence", "engagingness", "groundedness", "understandability", "overall")
    range = (0.0, None)

    model: str = "MingZhong/unieval-dialog"


@dataclass(frozen=True)
class UniEvalData(UniEval):
    """UniEval for text from data: naturalness, and informativeness given a reference."""

    name = "unieval-data"
    needs = frozenset({"references"})
    outputs = ("naturalness", "informativeness", "overall")


@dataclass(frozen=True)
class UniEvalFact(UniEval):
    """UniEval for facts: how far the hypothesis' sentences are consistent with the source, on average."""

    name = "unieval-fact"
    needs = frozenset({"source"})
    outputs = ()

    model: str = "MingZhong/unieval-fact"


# UniEval's questions, as its checkpoints were trained to read them, and how several answers are joined.
# {sentence} is one of the hypothesis; a question without it is asked once.
_QUESTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "unieval": {
        "coherence": (
            "mean",
            "question: Is this a coherent summary to the document? </s> summary: {hypothesis} </s> "
            "document: {source}",
        ),
        "consistency": (
            "mean",
            "question: Is this claim consistent with the document? </s> claim: {sentence} </s> "
            "document: {source}",
        ),
        "fluency": ("mean", "question: Is this a fluent paragraph? </s> paragraph: {sentence}"),
        "relevance": (
            "max",
            "question: Is this summary relevant to the reference? </s> summary: {hypothesis} </s> "
            "reference: {reference}",
        ),
    },
    "unieval-dialog": {
        "naturalness": (
            "mean",
            "question: Is this a natural response in the dialogue? </s> response: {hypothesis}",
        ),
        "coherence": (
            "mean",
            "question: Is this a coherent response given the dialogue history? </s> response: "
            "{hypothesis} </s> dialogue history: {history}",
        ),
        "engagingness": (
            "sum",
            "question: Is this an engaging and informative response according to the dialogue "
            "history and fact? </s> response: {sentence} </s> dialogue history: {history} </s> fact: "
            "{fact}",
        ),
        "groundedness": (
            "mean",
            "question: Is this response consistent with knowledge in the fact? </s> response: "
            "{hypothesis} </s> fact: {fact}",
        ),
        "understandability": (
            "mean",
            "question: Is this an understandable response in the dialogue? </s> response: {hypothesis}",
        ),
    },
    "unieval-data": {
        "naturalness": ("mean", "question: Is this a fluent utterance? </s> utterance: {hypothesis}"),
        "informativeness": (
            "max",
            "question: Is this sentence informative according to the reference? </s> sentence: "
            "{hypothesis} </s> reference: {reference}",
        ),
    },
    "unieval-fact": {
        "consistency": (
            "mean",
            "question: Is this claim consistent with the document? </s> claim: {sentence} </s> "
            "document: {source}",
        ),
    },
}
_JOINED: dict[str, Callable[[Sequence[float]], Any]] = {"mean": np.mean, "max": max, "sum": sum}


def questions(name: str, sample: Sample) -> dict[str, list[str]]:
    """Return the questions of a metric's outputs; none about an empty text."""
    sentences = split_sentences(sample.hypothesis)
    history, *fact = re.split(r"\n\s*fact:\s*", sample.source or "", maxsplit=1, flags=re.I)
    known = {"source": sample.source, "history": history, "fact": "".join(fact)}
    return {
        output: [
            text.format(**known, hypothesis=sample.hypothesis, sentence=sentence, reference=reference)
            for sentence in (sentences if "{sentence}" in text else sentences[:1])
            for reference in (sample.references if "{reference}" in text else ("",))
        ]
        for output, (_, text) in _QUESTIONS[name].items()
    }
