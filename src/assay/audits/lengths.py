"""Two audits of length: a text against itself as it grows, and truncation under precision, recall and F."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from typing import Any, ClassVar

from assay.audits.base import DataAudit, in_words, order_in_words
from assay.audits.corpora import (
    MEAN_CHANGE,
    MEAN_KEPT,
    BlindSpot,
    Corpus,
    mean_change,
    right_order_statistic,
)
from assay.audits.effects import BAR, CLEAN, AlignedScores, right_order_difference
from assay.core import Case, Finding, Perturbation, Sample, Statistic
from assay.grouping import grouped
from assay.perturbations.noise import Truncation
from assay.vocabulary import Share


def _longer_loses(finding: Finding) -> str:
    return (
        f"{finding.metric} scores a text against itself lower the longer it is: the longest wins against the "
        f"shortest in only {finding.value:.0f} of 100 cases ({in_words(finding.slice.partition('/')[0])})."
    )


@dataclass(frozen=True)
class IdentityLength(BlindSpot, DataAudit):
    """Growing texts, each its own reference."""

    name = "identity-length"
    title = "A text against itself"
    advice = "Compare only texts of similar length."
    compares = True
    quick: ClassVar[Mapping[str, Any]] = {"lengths": (8, 32, 128)}
    statistics = (
        Statistic(
            "longer_order",
            "Of 100 decisions between a short text and one many times as long, each against itself, how many "
            "the longer one wins: 50 where length does not matter.",
            "of 100", bad="low", bar="longer_bar", headline=True, sentence=_longer_loses,
        ),
        MEAN_KEPT,
        Statistic("score", "The mean score of texts of this length against themselves.", "score"),
    )  # fmt: skip

    limit: int | None = 60
    task: tuple[str, ...] = ()
    lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    longer_bar: float = 25.0  # the longer text may lose three times in four before it counts

    def cases(self) -> Iterable[Case]:
        """One case per item; roles are lengths."""
        for corpus in self.corpora:
            slice_ = f"{corpus.name}/identity"
            for number, record in enumerate(corpus.records):
                texts = {str(length): _text(corpus, number, length) for length in self.lengths}
                samples = {role: Sample(text, (text,), record.source) for role, text in texts.items()}
                # The longest stands for the clean text, which every audit of damage has.
                samples[CLEAN] = samples[str(self.lengths[-1])]
                yield Case(f"{slice_}:{record.id}", samples, slice_)

    def slice_findings(self, scores: AlignedScores) -> Iterable[Finding]:
        """How often the longer of two neighbours wins; none for a metric that ignores references."""
        lengths = [str(length) for length in self.lengths if str(length) in scores.columns]
        if len(lengths) < 2 or not scores.scored.about.get("reads_references", True):
            return
        for length in lengths:
            yield Finding.of(
                scores.scored, f"{scores.slice}/{length}", "score", scores.mean([length]), n=scores.n
            )
        shorter, longer = lengths[:1], lengths[-1:]
        if self.rule == "paper":
            yield replace(mean_change(scores, scores.slice, longer, shorter), statistic=MEAN_KEPT.name)
            return
        order = scores.right_order(longer, shorter)
        evidence = scores.largest(scores.decisions(shorter, longer))
        yield Finding.of(
            scores.scored, scores.slice, "longer_order", order, versus=shorter[0], evidence=evidence
        )


def _text(corpus: Corpus, number: int, length: int) -> str:
    """The first words of a clean text, followed by the next texts where it is too short."""
    records = [*corpus.records[number:], *corpus.records[:number]]
    return " ".join(islice(chain.from_iterable(record.gold.split() for record in records), length))


def _cut(finding: Finding) -> str:
    corpus = in_words(finding.slice.partition("/")[0])
    return order_in_words(finding, f"a whole text ({corpus})", "one without its end")


@dataclass(frozen=True)
class TruncationDirection(BlindSpot, DataAudit):
    """Texts cut at the end, more and more."""

    name = "truncation-direction"
    title = "Truncation by precision, recall and F"
    advice = "Report recall beside precision or F: truncated texts gain."
    wants = "an item needs a gold that every cut shortens: ten words or more for a tenth"
    tasks = ("summarisation", "translation")
    part = "truncation"
    quick: ClassVar[Mapping[str, Any]] = {"levels": (0.1, 0.5)}
    statistics = (
        right_order_statistic("a whole text and the one that is cut most", "", sentence=_cut),
        Statistic("right_order_at_level", "The same at one depth of the cut.", "of 100"),
        Statistic(
            "order_difference",
            "How many more of 100 decisions this output of a metric gets right than another output of it.",
            "of 100",
        ),
        MEAN_CHANGE,
    )

    task: tuple[str, ...] = ()
    levels: tuple[Share, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)
    bar: float = BAR

    @property
    def noises(self) -> Mapping[str, Perturbation]:
        return {f"{level:g}": Truncation(level) for level in self.levels}

    def slice_findings(self, scores: AlignedScores) -> Iterable[Finding]:
        """Right order at each level, and at the deepest cut, which carries the verdict."""
        for level in self.noises:
            if level in scores.columns:
                order = scores.right_order([CLEAN], [level])
                yield Finding.of(scores.scored, f"{scores.slice}/{level}", "right_order_at_level", order)
        if self._deepest in scores.columns:
            yield from self.order(scores, scores.slice, [self._deepest])

    @property
    def _deepest(self) -> str:
        return f"{self.levels[-1]:g}"

    def compare(self, slices: Sequence[AlignedScores], findings: Sequence[Finding]) -> Iterable[Finding]:
        """How much more often each output of a metric is right than each of its siblings at the deepest
        cut."""
        several = (s for s in slices if s.scored.about.get("output") and self._deepest in s.columns)
        families = grouped(several, lambda s: (str(s.scored.about.get("signature")), s.slice))
        for first, second in (pair for outputs in families.values() for pair in combinations(outputs, 2)):
            orders = [[(s.decisions([CLEAN], [self._deepest]), s.clusters)] for s in (first, second)]
            gain = right_order_difference(*orders)
            name = second.scored.metric
            yield Finding.of(first.scored, first.slice, "order_difference", gain, versus=name)
