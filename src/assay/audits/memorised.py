"""Does a metric know the embedded texts? The same errors in embedded and in fresh texts.

A metric that looks texts up, or was tuned on them, is right more often on the texts of this package than on
texts made anew. Fresh texts may be easier or harder for every metric, so that plain metrics decide beside it:
what counts is by how much more it is better on embedded texts than they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import hypot
from typing import ClassVar

import numpy as np

from assay.audits.base import DataAudit
from assay.audits.corpora import Corpus, Item, corpora
from assay.audits.effects import CLEAN, AlignedScores, read_slices, right_order, right_order_difference
from assay.core import Case, Estimate, Finding, Judgement, MadeOnce, Record, Scored, Statistic
from assay.datasets.fresh import made_files
from assay.grouping import grouped
from assay.models.nlp import parse
from assay.names.spec import perturbation
from assay.vocabulary import DataKind, Question, Task

EMBEDDED, FRESH = "embedded", "fresh"
WRONG = "wrong"  # the false text that a record brings with it
PLAIN = ("bleu", "chrf", "rougeL")  # metrics that can know no text
_EDITS = ("token-drop", "other-numbers", "other-names", "local-swap", "verb-lemmatisation", "repeated-token")
_TASKS: tuple[Task, ...] = ("translation", "data-to-text")


def _sentence(finding: Finding) -> str:
    return (
        f"{finding.metric} is better on the embedded texts than on fresh ones, by {finding.value:.0f} of 100 "
        "decisions more than plain metrics are: it seems to know the embedded texts."
    )


@dataclass(frozen=True)
class Memorised(MadeOnce, DataAudit):
    """Clean texts against damaged ones, embedded and made anew."""

    name = "memorised"
    title = "Embedded texts against fresh ones"
    question: ClassVar[Question] = "robustness"
    reads: ClassVar[DataKind] = "records"
    needs_fresh: ClassVar[bool] = True
    compares = True
    quick_items = 60
    advice = "Believe its figures on fresh texts alone: audit it with --fresh and texts of your own."
    statistics = (
        Statistic(
            "embedded_gain",
            "How many more of 100 decisions are right on embedded texts than on fresh ones, beyond the same "
            "difference of plain metrics.",
            "of 100", bad="high", bar="margin", headline=True, sentence=_sentence,
        ),
        Statistic(
            "right_order",
            "Of 100 decisions between a clean and a damaged text, how many are right.",
            "of 100",
        ),
    )  # fmt: skip

    # Of nine honest metrics (n-gram, edit, GloVe, minilm) the largest value is 3, the highest end of an
    # interval 7.2; a good metric that knows every text, and has 9 decisions to gain, lies beyond 9.
    margin: float = 8.0

    def panel(self) -> Sequence[str]:
        return PLAIN

    @cached_property
    def corpora(self) -> dict[str, list[Corpus]]:
        """The embedded corpora, and the fresh ones: the user's files, or texts made with the seed."""
        fresh = self.data or tuple(path for path in made_files(self.seed) if path.stem.startswith(FRESH))
        return {
            EMBEDDED: corpora((), None, (), _TASKS, self.limit),
            FRESH: corpora(fresh, None, (), _TASKS, self.limit),
        }

    def make_cases(self) -> list[Case]:
        """One case per text and edit that applies."""
        cases: list[Case] = []
        for origin, listed in self.corpora.items():
            parse([record.gold for corpus in listed for record in corpus.records])
            for edit in (*_EDITS, WRONG):
                cases += chain.from_iterable(
                    self._cases(f"{origin}/{edit}", corpus, edit) for corpus in listed
                )
        return cases

    def _cases(self, slice_: str, corpus: Corpus, edit: str) -> Iterator[Case]:
        damaged = ((record, self._damaged(record, edit)) for record in corpus.records)
        items = [
            Item(record, {CLEAN: record.gold, WRONG: text}) for record, text in damaged if text is not None
        ]
        return corpus.cases(slice_, items)

    def _damaged(self, record: Record, edit: str) -> str | None:
        """The text with an error; None where it cannot be made."""
        if edit == WRONG:
            return record.wrong.text if record.wrong else None
        return perturbation(edit).perturb(record, self.seed)

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        slices = [scores for scores in read_slices(scored) if not scores.scored.is_set]
        by_metric = grouped(slices, lambda scores: scores.scored.metric)
        decided = {
            metric: {origin: _decided(rows, origin) for origin in (EMBEDDED, FRESH)}
            for metric, rows in by_metric.items()
        }
        findings: list[Finding] = []
        for metric, origins in decided.items():
            findings += _orders(metric, origins)
            plain = [decided[name] for name in PLAIN if name in decided and name != metric]
            findings.append(Finding.of(metric, "all", "embedded_gain", gain(origins, plain), versus=FRESH))
        return Judgement(findings)


def _orders(metric: str, origins: Mapping[str, Decided]) -> Iterator[Finding]:
    """How often a metric is right on embedded and on fresh texts."""
    for origin, kinds in origins.items():
        order = right_order([(np.array([*items.values()]), list(items)) for items in kinds.values()])
        yield Finding.of(metric, origin, "right_order", order)


Decided = Mapping[str, Mapping[str, float]]  # by kind of error and item, whether the clean text won


def _decided(rows: Iterable[AlignedScores], origin: str) -> Decided:
    """What a metric decided about the texts of one origin."""
    kinds = {}
    for scores in rows:
        start, _, edit = scores.slice.partition("/")
        if start == origin:
            shares = scores.decisions([CLEAN], [WRONG]).tolist()
            kinds[edit] = dict(zip(scores.clusters, shares, strict=True))
    return kinds


def gain(metric: Mapping[str, Decided], plain: Sequence[Mapping[str, Decided]]) -> Estimate:
    """How much more often a metric is right on embedded than on fresh texts, beyond plain metrics."""
    ahead = {origin: _ahead(kinds, [each[origin] for each in plain]) for origin, kinds in metric.items()}
    first, second = ahead[EMBEDDED], ahead[FRESH]
    value, n = first.value - second.value, min(first.n, second.n)
    if first.ci is None or second.ci is None:
        return Estimate(value, n)
    reach = hypot(first.ci[1] - first.value, second.ci[1] - second.value)
    return Estimate(value, n, (value - reach, value + reach))


def _ahead(kinds: Decided, plain: Sequence[Decided]) -> Estimate:
    """How much more often a metric is right than plain metrics are on average, on the same items."""
    mine, theirs = [], []
    for edit, shares in kinds.items():
        items = [item for item in shares if all(item in each.get(edit, {}) for each in plain)]
        mine.append((np.array([shares[item] for item in items]), items))
        means = [np.mean([each[edit][item] for each in plain]) for item in items]
        theirs.append((np.array(means), items))
    return right_order_difference(mine, theirs)
