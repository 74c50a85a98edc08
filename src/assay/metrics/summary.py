"""Task metrics on pretrained models: SUPERT, BLANC, GRUEN, dialogue relevance and dialogue model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, pairwise
from operator import eq
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import MetricError, WeightsError
from assay.metrics.base import Neural, Shortened, best_matches, scored, softmax, unit
from assay.models.encoder import Matrix, embed, logits, pooled
from assay.models.likelihood import causal, start_id
from assay.models.nlp import spacy_stop_words, split_sentences
from assay.models.torch import Loaded, Overlong, Precision, content_ids, in_batches, load, padded
from assay.vocabulary import NonNegative


@dataclass(frozen=True)
class Supert(Neural, Metric):
    """F of the soft alignment between the summary's tokens and those of the source's first sentences.

    The pseudo-reference is the first `top` sentences, the authors' best rule for news. Each sentence is
    encoded on its own; stop words and punctuation are left out of the alignment.
    """

    name = "supert"
    paradigm = "matching"
    needs = frozenset({"source"})
    range = (-1.0, 1.0)
    unused = ("pooler",)
    stand_in = True
    citation = (
        "Gao et al. 2020, SUPERT: towards new frontiers in unsupervised evaluation for summarization, ACL"
    )

    model: str = "minilm"
    top: int = 15
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return F per sample, None where one side has stop words only."""
        loaded = self.load_model()
        summaries = [split_sentences(sample.hypothesis) for sample in samples]
        sources = [split_sentences(sample.source or "")[: self.top] for sample in samples]
        pairs = list(zip(summaries, sources, strict=True))
        known = embed(loaded, [*chain.from_iterable(chain.from_iterable(pairs))], self.overlong)
        words = {text: each.vectors[self._content(each.ids, loaded)] for text, each in known.items()}
        answers = []
        for hyp, ref in pairs:
            f = _aligned([words[sentence] for sentence in hyp], [words[sentence] for sentence in ref])
            answers.append((f, sum(known[sentence].truncated for sentence in (*hyp, *ref))))
        return scored(answers)

    def _content(self, ids: Sequence[int], loaded: Loaded) -> list[int]:
        """Return the places of tokens that are content words."""
        special = set(loaded.tokenizer.all_special_ids)
        tokens = loaded.tokenizer.convert_ids_to_tokens(list(ids))
        bare = [token.removeprefix("##").lstrip("Ġ▁").lower() for token in tokens]
        words = [word not in spacy_stop_words() and any(map(str.isalnum, word)) for word in bare]
        return [place for place, is_word in enumerate(words) if is_word and ids[place] not in special]


def _aligned(hypothesis: Sequence[Matrix], reference: Sequence[Matrix]) -> float | None:
    """Return F of the words of two texts, each matched with its nearest; None where a text has none."""
    if not sum(map(len, hypothesis)) or not sum(map(len, reference)):
        return None
    return best_matches(np.concatenate(hypothesis), np.concatenate(reference))[2]


class _Job(NamedTuple):
    """A sentence with masked ids, after the summary (`helped`) or after a filler; the ids by their places."""

    helped: bool
    row: list[int]
    masked: dict[int, int]


@dataclass(frozen=True)
class Blanc(Neural, Metric):
    """BLANC-help: how much more often masked words of the source are guessed with the summary before them.

    Every `gap`-th token of at least `shortest` letters is masked, in `gap` shifts; the score is (helped -
    hindered) / masked, compared with a filler of dots as long as the summary.
    """

    name = "blanc"
    paradigm = "qa"
    needs = frozenset({"source"})
    range = (-1.0, 1.0)
    architecture = "AutoModelForMaskedLM"
    citation = "Vasilyev et al. 2020, Fill in the BLANC: human-free quality estimation of summaries, Eval4NLP"

    model: str = "bert-base-uncased"
    gap: NonNegative = 6
    shortest: int = 4
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a share per sample, None where no token of the source can be masked."""
        loaded = self.load_model()
        by_sample = [self._jobs(loaded, sample) for sample in samples]
        jobs = [job for some, _ in by_sample for job in some]
        lengths = [len(job.row) for job in jobs]
        guessed = in_batches(lengths, lambda batch: self._guess(loaded, [jobs[i] for i in batch]), 2048)
        guesses = iter(guessed)
        return scored((_helped(some, [*islice(guesses, len(some))]), cut) for some, cut in by_sample)

    def _jobs(self, loaded: Loaded, sample: Sample) -> tuple[list[_Job], int]:
        """Return what is to be guessed of a sample, and the ids cut."""
        texts = [sample.hypothesis, ".", *split_sentences(sample.source or "")]
        summary, dot, *parts = content_ids(loaded, texts)
        room = loaded.room // 2
        cut = max(0, len(summary) - room)
        if cut and self.overlong == "error":
            name = loaded.path.name
            raise MetricError(f"the summary is {cut} tokens too long for {name}; give overlong=warn")
        summary, filler = summary[:room], (dot * len(summary))[: len(summary[:room])]
        jobs: list[_Job] = []
        for part in parts:
            cut += max(0, len(part) - room)
            tokens = loaded.tokenizer.convert_ids_to_tokens(part[:room])
            for shift in range(self.gap):
                hidden = self._hidden(tokens, shift)
                for helped, before in ((True, summary), (False, filler)) if hidden else ():
                    row = loaded.framed([*before, *part[:room]])
                    start = len(loaded.framing.prefix) + len(before)
                    wanted = {start + place: part[place] for place in hidden}
                    for place in wanted:
                        row[place] = loaded.tokenizer.mask_token_id
                    jobs.append(_Job(helped, row, wanted))
        return jobs, cut

    def _hidden(self, tokens: Sequence[str], shift: int) -> list[int]:
        """Return every `gap`-th place that holds a whole word of enough letters."""
        return [
            place
            for place in range(shift, len(tokens), self.gap)
            if len(tokens[place].lstrip("Ġ▁")) >= self.shortest
            and not tokens[place].startswith("##")
            and not (place + 1 < len(tokens) and tokens[place + 1].startswith("##"))
        ]

    def _guess(self, loaded: Loaded, jobs: list[_Job]) -> list[int]:
        """Return how many of each job's masked ids are guessed right."""
        ids, mask = padded([job.row for job in jobs], loaded.pad, loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask).logits
        guesses = [logits[n, list(job.masked)].argmax(dim=-1).tolist() for n, job in enumerate(jobs)]
        return [sum(map(eq, found, job.masked.values())) for found, job in zip(guesses, jobs, strict=True)]


def _helped(jobs: Sequence[_Job], right: Sequence[int]) -> float | None:
    """Return the share of masked ids guessed right after the summary, less that after the filler."""
    masked = sum(len(job.masked) for job in jobs if job.helped)
    gained = sum(count if job.helped else -count for job, count in zip(jobs, right, strict=True))
    return gained / masked if masked else None


_FLUENT, _BROKEN = -2.5, -7.5  # mean log p per token that counts as 1 and as 0
_UNFOCUSED = 0.05  # a smaller cosine between neighbouring sentences counts as lost focus
_LONGEST = 510  # tokens read of a sentence, as by the authors; a model's own limit may be thousands


@dataclass(frozen=True)
class Gruen(Neural, Metric):
    """Grammaticality + non-redundancy + focus, clipped to 0..1, in the manner of GRUEN.

    Deviations: grammaticality is the causal model's mean log p per token, scaled between -7.5 and -2.5 (GRUEN
    adds a classifier trained on CoLA); focus compares neighbouring sentences by a sentence encoder. As in the
    paper, each sign of redundancy in a pair of sentences costs 0.1, and so do unrelated neighbours; the first
    510 tokens of a sentence are read.
    """

    name = "gruen"
    version = 2  # version 1 read as much of a sentence as the model could hold
    paradigm = "likelihood"
    needs = frozenset()
    range = (0.0, 1.0)
    weights = ("model", "encoder")
    architecture = "AutoModelForCausalLM"
    stand_in = True
    citation = "Zhu & Bhat 2020, GRUEN for evaluating linguistic quality of generated text, Findings of EMNLP"

    model: str = "smollm2"
    encoder: str = "minilm"
    overlong: Shortened = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        self.load_model()
        self._load_encoder()

    def _load_encoder(self) -> Loaded:
        return load("AutoModel", self.encoder, precision=self.precision, unused=("pooler",))

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a score per sample, None for an empty text."""
        texts = [split_sentences(sample.hypothesis) for sample in samples]
        distinct = list(dict.fromkeys(chain.from_iterable(texts)))
        grammar, cuts = self._grammar(distinct)
        vectors, _ = pooled(self._load_encoder(), distinct, "warn")
        place = {sentence: index for index, sentence in enumerate(distinct)}
        directions = unit(vectors.astype(np.float64))

        def one(sentences: Sequence[str]) -> tuple[float | None, int]:
            if not sentences:
                return None, 0
            at = [place[sentence] for sentence in sentences]
            near = [float(directions[here] @ directions[after]) for here, after in pairwise(at)]
            penalty = 0.1 * redundancy(sentences) + 0.1 * (min(near, default=1.0) < _UNFOCUSED)
            return float(np.clip(grammar[at].mean() - penalty, 0.0, 1.0)), sum(cuts[index] for index in at)

        return scored(map(one, texts))

    def _grammar(self, texts: Sequence[str]) -> tuple[Floats, list[int]]:
        """Return how grammatical each sentence is, 0..1, and the tokens cut."""
        loaded = self.load_model()
        start, room = start_id(loaded), min(_LONGEST, loaded.limit - 1)
        ids = content_ids(loaded, texts)
        logs = causal(loaded, [((start,), tuple(row[:room])) for row in ids])
        means = np.array([float(values.mean()) for values in logs])
        fluent = np.clip((means - _BROKEN) / (_FLUENT - _BROKEN), 0.0, 1.0)
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
        signs += len(set(words) & set(others)) > 0.8 * min(len(words), len(others))
        signs += Levenshtein.distance(first, second) < 0.4 * max(len(first), len(second))
    return signs


@dataclass(frozen=True)
class DialogueRelevance(Neural, Metric):
    """The cosine of the answer with the last turns, by a sentence encoder (RUBER's unreferenced part)."""

    name = "dialogue-relevance"
    paradigm = "matching"
    needs = frozenset({"source"})
    range = (-1.0, 1.0)
    unused = ("pooler",)
    citation = (
        "Tao et al. 2018, RUBER: an unsupervised method for automatic evaluation of dialog systems, AAAI"
    )

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
            float(directions[at] @ directions[count + at]) if context and sample.hypothesis.strip() else None
            for at, (context, sample) in enumerate(zip(contexts, samples, strict=True))
        ]
        return Scores(values, {"truncated": [cuts[at] + cuts[count + at] for at in range(count)]})


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
    citation = "Sai et al. 2020, Improving dialog evaluation with a multi-reference adversarial dataset, TACL"

    model: str = "bert-base-uncased"
    turns: int = 4
    label: NonNegative | None = None  # of "follows"; None: 0 for next-sentence heads, else the last
    overlong: Shortened = "warn"
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
