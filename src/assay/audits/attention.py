"""Where a metric's backbone looks (*blind* sec. 5.1, app. C.2): the explanation beside the position test.

`attention_share` is the share of attention by distance in blocks of 20 tokens, and that of the last block of
a text to its start, middle and end; the first token, where models park attention, is counted apart. A
backbone that looks only at its neighbours cannot see an early error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.audits.corpora import Corpus, Item, corpora
from assay.core import Audit, Case, Finding, Floats, Scored
from assay.names.registry import load
from assay.statistics.intervals import bootstrap_mean
from assay.vocabulary import Question, Rule

_BLOCKS = "assay.models.attention:attention_blocks"  # by name: audits do not import metrics


@dataclass(frozen=True)
class Attention(Audit):
    """Attention of each metric's backbone over whole texts."""

    name: ClassVar[str] = "attention"
    question: ClassVar[Question] = "robustness"

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = 20
    task: tuple[str, ...] = ()
    block: int = 20
    length: int = 200  # tokens a text is cut to

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Six texts show a pattern that is typical of a model, not of a text."""
        return {"limit": 6}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        return corpora(self.data, self.references, self.task, ("open-ended",), (self.limit, None))

    def cases(self) -> Iterable[Case]:
        """The texts as they are."""
        for corpus in self._corpora:
            plain = [Item(record, {"gold": record.gold}, {}) for record in corpus.records]
            yield from corpus.cases(f"{corpus.name}/attention", plain)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Shares for every metric that names a backbone; those with one backbone share the pass."""
        found: list[Finding] = []
        known: dict[tuple[str, str], Floats] = {}
        for answer in scored:
            static = answer.about.get("paradigm") == "static-embedding"  # vectors of words: nothing attends
            backbone = None if static else answer.about.get("backbone")
            if not backbone:
                self._silent[answer.metric] = None
            for corpus in self._corpora if backbone else ():
                key = str(backbone), corpus.name
                if key not in known:
                    texts = [record.gold for record in corpus.records]
                    known[key] = self._blocks(str(backbone), texts)
                found += self._shares(answer.metric, corpus.name, known[key])
        return found

    @cached_property
    def _silent(self) -> dict[str, None]:
        return {}

    def notes(self) -> list[str]:
        """Metrics that have nothing to show."""
        return [f"{metric} reads with no model that attends: no attention to show" for metric in self._silent]

    def _blocks(self, backbone: str, texts: list[str]) -> Floats:
        blocks: Any = load(_BLOCKS)
        found: Floats = blocks(backbone, texts, block=self.block, length=self.length)
        return found

    def _shares(self, metric: str, dataset: str, blocks: Floats) -> list[Finding]:
        named = {f"{dataset}/distance/{name}": row for name, row in by_distance(blocks, self.block).items()}
        named |= {f"{dataset}/last-block-to/{name}": row for name, row in from_last(blocks).items()}
        named[f"{dataset}/first-token"] = np.nanmean(blocks[:, :, 0], axis=1)
        found = []
        for slice_, row in named.items():
            values = row[np.isfinite(row)]
            if values.size:
                ci = bootstrap_mean(values, seed=self.seed)
                mean, pair = float(values.mean()), None if ci is None else ci.pair
                found.append(
                    Finding(metric, self.name, slice_, "attention_share", mean, values.size, ci=pair)
                )
        return found


def by_distance(blocks: Floats, block: int) -> dict[str, Floats]:
    """The share of attention that goes so many tokens away, either side: a value a text."""
    found = {}
    size = blocks.shape[1]
    others = blocks[:, :, 1:]
    rows, columns = np.indices((size, size))
    present = np.isfinite(blocks[:, :, 0]).sum(axis=1)  # from-blocks a text has
    for distance in range(size):
        there = np.where(np.abs(rows - columns) == distance, others, 0.0)
        share = np.nansum(there, axis=(1, 2)) / np.maximum(present, 1)
        found[f"{distance * block}-{(distance + 1) * block}"] = np.where(present > distance, share, np.nan)
    return found


def from_last(blocks: Floats) -> dict[str, Floats]:
    """The share of the last block's attention that goes to each third of the text: a value a text."""
    found = {name: np.full(len(blocks), np.nan) for name in ("start", "middle", "end")}
    for place, text in enumerate(blocks):
        present = int(np.isfinite(text[:, 0]).sum())
        if present >= 3:
            last = text[present - 1, 1 : present + 1]
            for name, part in zip(found, np.array_split(last, 3), strict=True):
                found[name][place] = part.sum()
    return found
