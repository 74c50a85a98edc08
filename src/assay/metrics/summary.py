"""Summaries scored without a reference: SUPERT (soft alignment with the source) and BLANC (masked words)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

import numpy as np

from assay.core import Metric, Sample, Scores
from assay.errors import MetricError
from assay.metrics.base import Cut, Neural, best_matches, load_masked
from assay.models.encoder import embed
from assay.models.nlp import split_sentences
from assay.models.torch import Loaded, Overlong, Precision, content_ids, in_batches, padded
from assay.vocabulary import NonNegative

GAO_2020 = "Gao et al. 2020, SUPERT: towards new frontiers in unsupervised evaluation for summarization, ACL"
VASILYEV_2020 = (
    "Vasilyev et al. 2020, Fill in the BLANC: human-free quality estimation of summaries, Eval4NLP"
)


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
    citation = GAO_2020
    unused = ("pooler",)
    model: str = "minilm"
    top: int = 15
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return F per sample, None where one side has stop words only."""
        loaded = self.load_model()
        sides = [
            (split_sentences(s.hypothesis), split_sentences(s.source or "")[: self.top]) for s in samples
        ]
        known = embed(loaded, [part for side in sides for parts in side for part in parts], self.overlong)
        words = {text: self._content(embedded.ids, loaded) for text, embedded in known.items()}
        values: list[float | None] = []
        truncated: list[int] = []
        for hyp, ref in sides:
            left, right = (
                np.concatenate([known[p].vectors[words[p]] for p in parts] or [np.empty((0, 1), np.float32)])
                for parts in (hyp, ref)
            )
            values.append(best_matches(left, right)[2] if len(left) and len(right) else None)
            truncated.append(sum(known[part].truncated for part in (*hyp, *ref)))
        return Scores(values, {"truncated": truncated})

    def _content(self, ids: Sequence[int], loaded: Loaded) -> list[int]:
        """Return the places of tokens that are content words."""
        from spacy.lang.en.stop_words import STOP_WORDS

        special = set(loaded.tokenizer.all_special_ids)
        tokens = loaded.tokenizer.convert_ids_to_tokens(list(ids))
        return [
            place
            for place, (token, bare) in enumerate(
                (token, token.removeprefix("##").lstrip("Ġ▁").lower()) for token in tokens
            )
            if ids[place] not in special and bare not in STOP_WORDS and any(map(str.isalnum, bare))
        ]


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
    citation = VASILYEV_2020
    model: str = "bert-base-uncased"
    gap: NonNegative = 6
    shortest: int = 4
    overlong: Cut = "warn"
    precision: Precision = "float32"

    def load_model(self) -> Loaded:
        return load_masked(self)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a share per sample, None where no token of the source can be masked."""
        loaded = self.load_model()
        jobs: list[tuple[int, bool, list[int], dict[int, int]]] = []
        truncated = [0] * len(samples)
        for index, sample in enumerate(samples):
            rows, truncated[index] = self._jobs(loaded, sample)
            jobs += [(index, helped, row, wanted) for helped, row, wanted in rows]
        guessed = in_batches(
            [len(job[2]) for job in jobs], lambda b: self._guess(loaded, [jobs[i] for i in b]), 2048
        )
        right, count = np.zeros(len(samples)), np.zeros(len(samples))
        for (index, helped, _, wanted), correct in zip(jobs, guessed, strict=True):
            # The words helped less those hindered are the difference of the two counts of right guesses.
            right[index] += correct if helped else -correct
            count[index] += len(wanted) if helped else 0
        return Scores(
            [float(r / n) if n else None for r, n in zip(right, count, strict=True)], {"truncated": truncated}
        )

    def _jobs(
        self, loaded: Loaded, sample: Sample
    ) -> tuple[list[tuple[bool, list[int], dict[int, int]]], int]:
        """Return (with summary or filler, masked row, the ids that masks hide), and the ids cut."""
        texts = [sample.hypothesis, ".", *split_sentences(sample.source or "")]
        summary, dot, *parts = content_ids(loaded, texts)
        room = loaded.room // 2
        cut = max(0, len(summary) - room)
        if cut and self.overlong == "error":
            raise MetricError(
                f"the summary is {cut} tokens too long for {loaded.path.name}; give overlong=warn"
            )
        summary, filler = summary[:room], (dot * len(summary))[: len(summary[:room])]
        jobs = []
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
                    jobs.append((helped, row, wanted))
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

    def _guess(self, loaded: Loaded, jobs: list[tuple[int, bool, list[int], dict[int, int]]]) -> list[int]:
        ids, mask = padded([row for _, _, row, _ in jobs], loaded.pad, loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask).logits
        counts = []
        for index, (_, _, _, wanted) in enumerate(jobs):
            guesses = logits[index, list(wanted)].argmax(dim=-1).tolist()
            counts.append(sum(map(eq, guesses, wanted.values())))
        return counts
