"""Summaries judged without a reference: SUPERT (soft alignment with the source) and BLANC (masked help)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import MetricError
from assay.metrics.text import sentences
from assay.models.encoder import embed
from assay.models.torch import Loaded, Neural, Overlong, Precision, content_ids, in_batches, load, padded

GAO_2020 = "Gao et al. 2020, SUPERT: towards new frontiers in unsupervised evaluation for summarization, ACL"
VASILYEV_2020 = (
    "Vasilyev et al. 2020, Fill in the BLANC: human-free quality estimation of summaries, Eval4NLP"
)


@dataclass(frozen=True)
class Supert(Neural, Metric):
    """F of the soft alignment between the summary's tokens and those of the source's first sentences.

    The pseudo-reference is the first `top` sentences, the authors' best rule for news. Sentences are encoded
    one by one; stop words and punctuation are left out of the alignment.
    """

    name = "supert"
    paradigm = "matching"
    needs = frozenset({"source"})
    range = (-1.0, 1.0)
    citation = GAO_2020
    model: str = "minilm"
    top: int = 15
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the encoder."""
        self._loaded()

    def _loaded(self) -> Loaded:
        return load(
            "AutoModel", self.model, precision=self.precision, adapter=self.adapter, unused=("pooler",)
        )

    def score(self, samples: Sequence[Sample]) -> Scores:
        """None where nothing but stop words is left on a side."""
        loaded = self._loaded()
        sides = [(sentences(s.hypothesis), sentences(s.source or "")[: self.top]) for s in samples]
        known = embed(loaded, [part for side in sides for parts in side for part in parts], self.overlong)
        words = {text: self._content(embedded.ids, loaded) for text, embedded in known.items()}
        values: list[float | None] = []
        truncated: list[int] = []
        for mine, theirs in sides:
            left, right = (
                np.concatenate([known[p].vectors[words[p]] for p in parts] or [np.empty((0, 1), np.float32)])
                for parts in (mine, theirs)
            )
            values.append(_alignment(left, right) if len(left) and len(right) else None)
            truncated.append(sum(known[part].truncated for part in (*mine, *theirs)))
        return Scores(values, {"truncated": truncated})

    def _content(self, ids: Sequence[int], loaded: Loaded) -> list[int]:
        """Places of tokens that are words of content."""
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


def _alignment(left: Floats, right: Floats) -> float:
    cosines = left @ right.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@dataclass(frozen=True)
class Blanc(Neural, Metric):
    """BLANC-help: how much more often masked words of the source are guessed with the summary before them.

    Every `gap`-th token of at least `shortest` letters is masked, in `gap` shifts; the score is (helped -
    hindered) / masked, where a filler of dots as long as the summary stands for no help.
    """

    name = "blanc"
    paradigm = "qa"
    needs = frozenset({"source"})
    range = (-1.0, 1.0)
    citation = VASILYEV_2020
    model: str = "bert-base-uncased"
    gap: int = 6
    shortest: int = 4
    overlong: Literal["warn", "error"] = "warn"
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
        """None where no token of the source can be masked."""
        loaded = self._loaded()
        jobs: list[tuple[int, bool, list[int], dict[int, int]]] = []
        truncated = [0] * len(samples)
        for index, sample in enumerate(samples):
            found, truncated[index] = self._jobs(loaded, sample)
            jobs += [(index, helped, row, wanted) for helped, row, wanted in found]
        guessed = in_batches(
            [len(job[2]) for job in jobs], lambda b: self._guess(loaded, [jobs[i] for i in b]), 2048
        )
        right, count = np.zeros(len(samples)), np.zeros(len(samples))
        for (index, helped, _, wanted), correct in zip(jobs, guessed, strict=True):
            # (helped only) - (hindered only) is the difference of the two counts of right guesses.
            right[index] += correct if helped else -correct
            count[index] += len(wanted) if helped else 0
        return Scores(
            [float(r / n) if n else None for r, n in zip(right, count, strict=True)], {"truncated": truncated}
        )

    def _jobs(
        self, loaded: Loaded, sample: Sample
    ) -> tuple[list[tuple[bool, list[int], dict[int, int]]], int]:
        """Rows of ids with masks, with the summary and with the filler, and what each mask hides."""
        texts = [sample.hypothesis, ".", *sentences(sample.source or "")]
        summary, dot, *parts = content_ids(loaded, texts)
        room = (loaded.limit - loaded.framing.size) // 2
        cut = max(0, len(summary) - room)
        if cut and self.overlong == "error":
            raise MetricError(
                f"the summary is {cut} tokens too long for {loaded.path.name}; give overlong=warn"
            )
        summary, filler = summary[:room], (dot * len(summary))[: len(summary[:room])]
        found = []
        for part in parts:
            cut += max(0, len(part) - room)
            tokens = loaded.tokenizer.convert_ids_to_tokens(part[:room])
            for shift in range(self.gap):
                hidden = self._hidden(tokens, shift)
                for helped, before in ((True, summary), (False, filler)) if hidden else ():
                    row = [*loaded.framing.prefix, *before, *part[:room], *loaded.framing.suffix]
                    start = len(loaded.framing.prefix) + len(before)
                    wanted = {start + place: part[place] for place in hidden}
                    for place in wanted:
                        row[place] = loaded.tokenizer.mask_token_id
                    found.append((helped, row, wanted))
        return found, cut

    def _hidden(self, tokens: Sequence[str], shift: int) -> list[int]:
        """Whole words only, every `gap`-th place, long enough."""
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
        found = []
        for index, (_, _, _, wanted) in enumerate(jobs):
            best = logits[index, list(wanted)].argmax(dim=-1).tolist()
            found.append(sum(one == other for one, other in zip(best, wanted.values(), strict=True)))
        return found
