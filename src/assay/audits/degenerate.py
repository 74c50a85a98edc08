"""Texts that no reader would accept: repetition (*blind* app. E), frequent n-grams (5.3), copied sources (D).

Each must score below the clean text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal
from unicodedata import name as unicode_name

from assay.audits.corpora import NOTICED_SHARE, BlindSpot, Corpus, corpora, gain_statistic
from assay.audits.slices import SliceScores, spread_out
from assay.core import Finding, Perturbation, Record, Statistic
from assay.datasets.lexicon import word_set
from assay.datasets.records import CORPORA, embedded_records
from assay.errors import DataError
from assay.perturbations.degenerate import CopiedSource, FrequentNgrams, RepeatedEnding
from assay.vocabulary import NonNegative, Rule

_ENGLISH_SHARE = 0.15  # running English has about 0.45 function words; German, French and Spanish under 0.1
_LENGTH_BAND = 2.0  # a hypothesis more than twice, or less than half, as long as the references is suspect


@dataclass(frozen=True)
class Repetition(BlindSpot):
    """The last words repeated ten, twenty, thirty times."""

    name = "repetition"
    title = "Repetition"
    advice = "Report a repetition rate (`rep-4gram`) beside it."
    statistics = (gain_statistic("repetition_gain", "a text that repeats its last words"), NOTICED_SHARE)
    tasks = ("open-ended", "summarisation", "translation")
    quick_options = {"limit": 20, "open_limit": 12, "copies": (10, 30)}

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None
    open_limit: int | None = None
    task: tuple[str, ...] = ()
    copies: tuple[int, ...] = (10, 20, 30)

    @property
    def noises(self) -> Mapping[str, Perturbation]:
        return {f"rep-{copies}": RepeatedEnding(copies) for copies in self.copies}


@dataclass(frozen=True)
class FrequentNgram(BlindSpot):
    """Strings of the most frequent n-grams of a corpus."""

    name = "frequent-ngram"
    title = "Strings of frequent n-grams"
    advice = "Do not optimise it directly: strings of frequent n-grams win."
    statistics = (gain_statistic("frequent_gain", "a string of frequent n-grams"), NOTICED_SHARE)
    tasks = ("open-ended",)
    quick_options = {"limit": 20, "open_limit": 12, "top": (10, 100), "n": (4,)}

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None
    open_limit: int | None = None
    task: tuple[str, ...] = ()
    top: tuple[int, ...] = (10, 50, 100)
    n: tuple[int, ...] = (4, 3)

    @cached_property
    def corpora(self) -> list[Corpus]:
        """The datasets; their records borrow from the texts that n-grams are counted in."""
        pooled = []
        for corpus in super().corpora:
            pool = _texts_of(corpus) if self.data else _english()
            records = tuple(replace(record, others=pool) for record in corpus.records)
            pooled.append(replace(corpus, records=records))
        return pooled

    @property
    def noises(self) -> Mapping[str, Perturbation]:
        # The paper's 256 words; else as long as the clean text, so that length is not what a metric sees.
        length = 256 if self.rule == "paper" else 0
        return {f"{n}-gram/top-{top}": FrequentNgrams(top, n, length) for n in self.n for top in self.top}


@dataclass(frozen=True)
class CopySource(BlindSpot):
    """The source submitted as the answer, and the checks of length and language that would stop it."""

    name = "copy-source"
    title = "Copied sources"
    advice = "Report the overlap with the source beside it: copying wins."
    statistics = (
        gain_statistic("copy_gain", "a copy of the source"),
        NOTICED_SHARE,
        Statistic(
            "copy_caught", "Share of copied sources that this check would stop; given where copies do not "
            "score below the clean text.", unit="share",
        ),
    )  # fmt: skip
    tasks = ("summarisation", "translation")

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None
    task: tuple[str, ...] = ()
    scripts: Literal["latin", "all"] = "latin"  # word metrics refuse hypotheses in other scripts

    @cached_property
    def corpora(self) -> list[Corpus]:
        """The datasets, with only the records that have a source to copy."""
        copied = []
        for corpus in corpora(self.data, None, self.task, self.tasks, (None, None)):
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

    def compare(self, slices: Sequence[SliceScores], findings: Sequence[Finding]) -> Iterable[Finding]:
        """What simple checks would stop, beside each metric that scores copies no lower."""
        checks = {f"{corpus.name}/copy-source": caught(corpus.records) for corpus in self.corpora}
        gains = [finding for finding in findings if finding.statistic == "copy_gain"]
        for gain in gains:
            for check, share in checks[gain.slice].items() if gain.value >= 0 else ():
                yield Finding.of(gain.metric, gain.slice, "copy_caught", share, n=gain.n, versus=check)

    def remarks(self) -> list[str]:
        """The checks worth having, whatever the metric."""
        return super().remarks() + [
            f"{corpus.name}: a {check} stops {share:.0%} of copied sources"
            for corpus in self.corpora
            for check, share in caught(corpus.records).items()
        ]


def caught(records: Sequence[Record]) -> dict[str, float]:
    """The share of sources that a check of length, or of language, would refuse as a hypothesis."""
    copied = [record for record in records if record.source]
    too_long = [_off_length(record) for record in copied]
    foreign = [_english_share(str(record.source)) < _ENGLISH_SHARE for record in copied]
    return {"length check": sum(too_long) / len(copied), "language check": sum(foreign) / len(copied)}


def _off_length(record: Record) -> bool:
    texts = record.references or (record.gold,)
    usual = sum(len(text.split()) for text in texts) / len(texts)
    ratio = len(str(record.source).split()) / max(usual, 1)
    return ratio > _LENGTH_BAND or ratio < 1 / _LENGTH_BAND


def _english_share(text: str) -> float:
    words = text.lower().split()
    return sum(word.strip(".,;:!?\"'()") in word_set("words", "stop_words") for word in words) / max(
        len(words), 1
    )


def _texts_of(corpus: Corpus) -> tuple[str, ...]:
    """All texts of the corpus, references first: they are what a metric was shown."""
    own = [text for record in corpus.records for text in (*record.references, record.gold)]
    return tuple(dict.fromkeys([*corpus.shared, *own, *corpus.records[0].others]))


def _english() -> tuple[str, ...]:
    """All embedded English: a small corpus alone has no frequent 4-grams."""
    texts: dict[str, None] = {}
    for task in CORPORA:
        for record in embedded_records(task):
            texts |= dict.fromkeys((record.gold, *record.references))
            if task == "summarisation" and record.source:
                texts[record.source] = None
    return tuple(texts)
