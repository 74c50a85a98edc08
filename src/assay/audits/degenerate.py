"""Texts that no reader would accept: repetition (*blind* app. E), frequent n-grams (5.3), copied sources (D).

The clean text must win against each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal
from unicodedata import name as unicode_name

from assay.audits.base import DataAudit, TextAudit, in_words, order_in_words, spread_out
from assay.audits.corpora import MEAN_CHANGE, BlindSpot, Corpus, corpora, right_order_statistic
from assay.audits.effects import BAR, AlignedScores
from assay.core import Finding, Perturbation, Record, Statistic
from assay.datasets.records import CORPORA, embedded_records
from assay.errors import DataError
from assay.language import language_of
from assay.perturbations.degenerate import CopiedSource, FrequentNgrams, RepeatedEnding
from assay.perturbations.released import ReleasedNgrams, ReleasedRepetition
from assay.vocabulary import DataKind, Language

_LENGTH_BAND = 2.0  # a hypothesis more than twice, or less than half, as long as the references is suspect


def _repeats(finding: Finding) -> str:
    corpus, copies = finding.slice.split("/")
    worse = f"one that repeats its last words {copies.removeprefix('rep-')} times"
    return order_in_words(finding, f"a clean text ({in_words(corpus)})", worse)


def _frequent(finding: Finding) -> str:
    corpus = in_words(finding.slice.partition("/")[0])
    return order_in_words(finding, f"a clean text ({corpus})", "a string of frequent n-grams")


def _copies(finding: Finding) -> str:
    corpus = in_words(finding.slice.partition("/")[0])
    return order_in_words(finding, f"a clean text ({corpus})", "a copy of the source")


@dataclass(frozen=True)
class Repetition(BlindSpot, TextAudit):
    """The last words repeated ten, twenty, thirty times."""

    name = "repetition"
    title = "Repetition"
    advice = "Report a repetition rate (`rep-4gram`) beside it."
    tasks = ("open-ended", "summarisation", "translation")
    quick: ClassVar[Mapping[str, Any]] = {"copies": (10, 30)}
    statistics = (
        right_order_statistic("a clean text and one that repeats its last words", "", sentence=_repeats),
        MEAN_CHANGE,
    )

    task: tuple[str, ...] = ()
    language: Language = "en"  # of the embedded texts
    copies: tuple[int, ...] = (10, 20, 30)
    bar: float = BAR

    @property
    def noises(self) -> Mapping[str, Perturbation]:
        if self.rule == "paper":
            return {f"rep-{copies}": ReleasedRepetition(copies) for copies in self.copies}
        return {f"rep-{copies}": RepeatedEnding(copies) for copies in self.copies}


@dataclass(frozen=True)
class FrequentNgram(BlindSpot, TextAudit):
    """Strings of the most frequent n-grams of a corpus."""

    name = "frequent-ngram"
    title = "Strings of frequent n-grams"
    advice = "Do not optimise it directly: strings of frequent n-grams win."
    tasks = ("open-ended",)
    quick: ClassVar[Mapping[str, Any]] = {"top": (10, 100), "n": (4,)}
    statistics = (
        right_order_statistic("a clean text and a string of frequent n-grams", "", sentence=_frequent),
        MEAN_CHANGE,
    )

    task: tuple[str, ...] = ()
    top: tuple[int, ...] = (10, 50, 100)
    n: tuple[int, ...] = (4, 3)
    bar: float = BAR

    @cached_property
    def corpora(self) -> list[Corpus]:
        """The datasets; their records borrow from the texts that n-grams are counted in."""
        return [self._with_pool(corpus) for corpus in super().corpora]

    def _with_pool(self, corpus: Corpus) -> Corpus:
        """A dataset whose n-grams are counted in its own texts; in all embedded English if it is embedded."""
        pool = _texts_of(corpus) if self.data else _english()
        return replace(corpus, records=tuple(replace(record, others=pool) for record in corpus.records))

    @property
    def noises(self) -> Mapping[str, Perturbation]:
        sizes = [(n, top) for n in self.n for top in self.top]
        if self.rule == "paper":  # 256 tokens; else as long as the clean text, so that length tells nothing
            return {f"{n}-gram/top-{top}": ReleasedNgrams(top, n) for n, top in sizes}
        return {f"{n}-gram/top-{top}": FrequentNgrams(top, n) for n, top in sizes}


@dataclass(frozen=True)
class CopySource(BlindSpot, DataAudit):
    """The source submitted as the answer, and the checks of length and language that would stop it."""

    name = "copy-source"
    title = "Copied sources"
    advice = "Report the overlap with the source beside it: copying wins."
    reads: ClassVar[DataKind] = "sources"
    tasks = ("summarisation", "translation")
    statistics = (
        right_order_statistic("a clean text and a copy of the source", "", sentence=_copies),
        MEAN_CHANGE,
        Statistic("copy_caught", "Share of copied sources that this check would stop.", "share"),
    )

    task: tuple[str, ...] = ()
    language: Language = "en"  # of the embedded texts
    scripts: Literal["latin", "all"] = "latin"  # word metrics refuse hypotheses in other scripts
    bar: float = BAR

    @cached_property
    def corpora(self) -> list[Corpus]:
        """The datasets, with only the records that have a source to copy."""
        copied = []
        for corpus in corpora(
            self.data, None, self.task, self.tasks, None, rule=self.rule, language=self.language
        ):
            records = [record for record in corpus.records if record.source and self._readable(record.source)]
            if not records:
                raise DataError(
                    f"{corpus.name} has no sources to copy; give the records a column 'source', "
                    f"or --scripts all for sources in another script than Latin"
                )
            copied.append(replace(corpus, records=tuple(spread_out(records, self.limit))))
        return copied

    def _readable(self, source: str) -> bool:
        letters = [letter for letter in source if letter.isalpha()]
        latin = sum("LATIN" in unicode_name(letter, "") for letter in letters)
        return self.scripts == "all" or 2 * latin >= len(letters)

    @property
    def noises(self) -> Mapping[str, Perturbation]:
        return {"copy-source": CopiedSource()}

    def compare(self, slices: Sequence[AlignedScores], findings: Sequence[Finding]) -> Iterable[Finding]:
        """What simple checks would stop, beside each metric that copies fool."""
        checks = {f"{corpus.name}/copy-source": caught(corpus.records) for corpus in self.corpora}
        for order in (finding for finding in findings if finding.statistic == "right_order"):
            for check, share in checks[order.slice].items() if order.value < self.bar else ():
                yield Finding.of(order.metric, order.slice, "copy_caught", share, n=order.n, versus=check)

    def remarks(self) -> list[str]:
        """The checks worth having, whatever the metric."""
        checks = [(corpus.name, *row) for corpus in self.corpora for row in caught(corpus.records).items()]
        notes = [f"{name}: a {check} stops {share:.0%} of copied sources" for name, check, share in checks]
        return super().remarks() + notes


def _texts_of(corpus: Corpus) -> tuple[str, ...]:
    """The texts of a dataset, references first: they are what a metric was shown."""
    texts = [text for record in corpus.records for text in (*record.references, record.gold)]
    return tuple(dict.fromkeys([*corpus.shared, *texts, *corpus.records[0].others]))


def caught(records: Sequence[Record]) -> dict[str, float]:
    """The share of sources that a check of length, or of language, would refuse as a hypothesis."""
    copied = [record for record in records if record.source]
    too_long = [_off_length(record) for record in copied]
    foreign = [_is_foreign(record) for record in copied]
    return {"length check": sum(too_long) / len(copied), "language check": sum(foreign) / len(copied)}


def _is_foreign(record: Record) -> bool:
    """Whether the source is in another language than the texts it is the source of."""
    return language_of(str(record.source)) != language_of(" ".join((record.gold, *record.references)))


def _off_length(record: Record) -> bool:
    texts = record.references or (record.gold,)
    usual = sum(len(text.split()) for text in texts) / len(texts)
    ratio = len(str(record.source).split()) / max(usual, 1)
    return ratio > _LENGTH_BAND or ratio < 1 / _LENGTH_BAND


def _english() -> tuple[str, ...]:
    """All embedded English: a small corpus alone has no frequent 4-grams."""
    texts: dict[str, None] = {}
    for task in CORPORA:
        for record in embedded_records(task):
            texts |= dict.fromkeys((record.gold, *record.references))
            if task == "summarisation" and record.source:
                texts[record.source] = None
    return tuple(texts)
