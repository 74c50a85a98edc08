"""Where a metric's backbone looks (*blind* sec. 5.1, app. C.2): the explanation beside the position test.

`attention_share` is the share of attention by distance in blocks of 20 tokens, and that of the last block of
a text to its start, middle and end; the first token, where models park attention, is counted apart. A
backbone that looks only at its neighbours cannot see an early error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assay.audits.base import TextAudit
from assay.audits.corpora import BlindSpot
from assay.audits.effects import mean_estimate
from assay.core import Finding, Floats, Judgement, Scored, Statistic
from assay.models.encoder import attention_blocks


@dataclass(frozen=True)
class Attention(BlindSpot, TextAudit):
    """Attention of each metric's backbone over whole texts."""

    name = "attention"
    title = "Where the backbone looks"
    tasks = ("open-ended",)
    # Six texts show a pattern that is typical of a model, not of a text.
    quick: ClassVar[Mapping[str, Any]] = {"limit": 6}
    statistics = (
        Statistic(
            "attention_share",
            "Share of the backbone's attention that goes this many tokens away, from the last block to this "
            "third of the text, or to the first token.",
            "share",
            headline=True,
        ),
    )

    limit: int | None = 20
    task: tuple[str, ...] = ()
    block: int = 20
    length: int = 200  # tokens a text is cut to

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Shares for every metric that names a backbone.

        Attention is no score, so it cannot be a case: the backbone reads the texts here, once for all metrics
        that rest on it.
        """
        findings: list[Finding] = []
        notes: list[str] = []
        known: dict[tuple[str, str], Floats] = {}
        for answer in scored:
            static = answer.about.get("paradigm") == "static-embedding"  # word vectors: nothing attends
            backbone = None if static or answer.about.get("served") else answer.about.get("backbone")
            if not backbone:
                notes.append(f"{answer.metric} reads with no model that attends: no attention to show")
                continue
            for corpus in self.corpora:
                key = str(backbone), corpus.name
                if key not in known:
                    texts = [record.gold for record in corpus.records]
                    known[key] = attention_blocks(key[0], texts, block=self.block, length=self.length)
                findings += self._shares(answer, corpus.name, known[key])
        return Judgement(findings, list(dict.fromkeys(notes)))

    def _shares(self, answer: Scored, dataset: str, blocks: Floats) -> Iterator[Finding]:
        named = {f"{dataset}/distance/{name}": row for name, row in by_distance(blocks, self.block).items()}
        named |= {f"{dataset}/last-block-to/{name}": row for name, row in from_last(blocks).items()}
        named[f"{dataset}/first-token"] = np.nanmean(blocks[:, :, 0], axis=1)
        for slice_, row in named.items():
            values = row[np.isfinite(row)]
            if values.size:
                yield Finding.of(answer, slice_, "attention_share", mean_estimate(values, seed=self.seed))


def by_distance(blocks: Floats, block: int) -> dict[str, Floats]:
    """The share of attention that goes this many tokens away, on either side: one value per text."""
    shares = {}
    size = blocks.shape[1]
    others = blocks[:, :, 1:]
    rows, columns = np.indices((size, size))
    present = np.isfinite(blocks[:, :, 0]).sum(axis=1)  # from-blocks that a text has
    for distance in range(size):
        there = np.where(np.abs(rows - columns) == distance, others, 0.0)
        share = np.nansum(there, axis=(1, 2)) / np.maximum(present, 1)
        shares[f"{distance * block}-{(distance + 1) * block}"] = np.where(present > distance, share, np.nan)
    return shares


def from_last(blocks: Floats) -> dict[str, Floats]:
    """The share of the last block's attention that goes to each third of the text: one value per text."""
    shares = {name: np.full(len(blocks), np.nan) for name in ("start", "middle", "end")}
    for number, text in enumerate(blocks):
        present = int(np.isfinite(text[:, 0]).sum())
        if present >= 3:
            last = text[present - 1, 1 : present + 1]
            for name, part in zip(shares, np.array_split(last, 3), strict=True):
                shares[name][number] = part.sum()
    return shares
