"""Texts no reader would take for the gold: repetition (*blind* app. E), frequent n-grams (5.3), copies (D).

Each must score below the gold. A metric fails where it surely prefers the worthless text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal
from unicodedata import name as unicode_name

from assay.audits.corpora import Corpus, Item, corpora, too_few
from assay.audits.slices import judged_gain, slice_scores, slices, spread_out
from assay.core import Audit, Case, Finding, Perturbation, Record, Scored
from assay.datasets.lexicon import word_set
from assay.datasets.records import CORPORA, embedded_records
from assay.errors import DataError
from assay.perturbations.degenerate import CopiedSource, FrequentNgrams, RepeatedEnding
from assay.vocabulary import Question, Rule, Task

_ENGLISH_SHARE = 0.15  # running English has about 0.45 function words; German, French and Spanish under 0.1
_LENGTH_BAND = 2.0  # a hypothesis more than twice, or less than half, as long as the references is suspect


@dataclass(frozen=True)
class Repetition(Audit):
    """The last words said again: ten, twenty, thirty times."""

    name: ClassVar[str] = "repetition"
    question: ClassVar[Question] = "robustness"

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None
    open_limit: int | None = None
    task: tuple[str, ...] = ()
    copies: tuple[int, ...] = (10, 20, 30)

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Fewest and most copies."""
        return {"limit": 20, "open_limit": 12, "copies": (10, 30)}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        tasks: tuple[Task, ...] = ("open-ended", "summarisation", "translation")
        return corpora(self.data, self.references, self.task, tasks, (self.limit, self.open_limit))

    def cases(self) -> Iterable[Case]:
        """A case an item, a role a number of copies."""
        for corpus in self._corpora:
            noises = {f"rep-{copies}": RepeatedEnding(copies) for copies in self.copies}
            yield from _degenerate_cases(corpus, "repetition", noises, self.seed)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """The gain over the gold, a finding a number of copies."""
        return _judged(self.name, "repetition_gain", scored, self.rule, self.seed)

    def notes(self) -> list[str]:
        """Datasets that are too small."""
        return too_few(self._corpora, self.rule)


@dataclass(frozen=True)
class FrequentNgram(Audit):
    """Strings of the most frequent n-grams of a corpus."""

    name: ClassVar[str] = "frequent-ngram"
    question: ClassVar[Question] = "robustness"

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None
    open_limit: int | None = None
    task: tuple[str, ...] = ()
    top: tuple[int, ...] = (10, 50, 100)
    n: tuple[int, ...] = (4, 3)

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """4-grams, fewest and most."""
        return {"limit": 20, "open_limit": 12, "top": (10, 100), "n": (4,)}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        return corpora(self.data, self.references, self.task, ("open-ended",), (self.limit, self.open_limit))

    @property
    def _length(self) -> int:
        """The paper's 256 words; else as long as the gold, so that length is not what a metric sees."""
        return 256 if self.rule == "paper" else 0

    def cases(self) -> Iterable[Case]:
        """A case an item, a role a kind of n-gram."""
        for corpus in self._corpora:
            noises = {
                f"{n}-gram/top-{top}": FrequentNgrams(top, n, self._length)
                for n in self.n
                for top in self.top
            }
            pool = _english() if not self.data else _texts_of(corpus)
            yield from _degenerate_cases(corpus, "frequent-ngram", noises, self.seed, pool)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """The gain over the gold, a finding a kind of n-gram."""
        return _judged(self.name, "frequent_gain", scored, self.rule, self.seed)

    def notes(self) -> list[str]:
        """Datasets that are too small."""
        return too_few(self._corpora, self.rule)


@dataclass(frozen=True)
class CopySource(Audit):
    """The source handed in as the answer; checks of length and language that would catch it."""

    name: ClassVar[str] = "copy-source"
    question: ClassVar[Question] = "robustness"

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None
    task: tuple[str, ...] = ()
    scripts: Literal["latin", "all"] = "latin"  # word metrics refuse hypotheses in other scripts

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Twenty items a task."""
        return {"limit": 20}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        found = []
        for corpus in corpora(self.data, None, self.task, ("summarisation", "translation"), (None, None)):
            kept = [record for record in corpus.records if record.source and self._readable(record.source)]
            if not kept:
                raise DataError(
                    f"{corpus.name} has no sources to copy; give the records a column 'source', "
                    f"or --scripts all for sources in another script than Latin"
                )
            found.append(replace(corpus, records=tuple(spread_out(kept, self.limit))))
        return found

    def _readable(self, source: str) -> bool:
        letters = [letter for letter in source if letter.isalpha()]
        latin = sum("LATIN" in unicode_name(letter, "") for letter in letters)
        return self.scripts == "all" or 2 * latin >= len(letters)

    def cases(self) -> Iterable[Case]:
        """A case an item that has a source."""
        for corpus in self._corpora:
            yield from _degenerate_cases(corpus, "copy-source", {"copy-source": CopiedSource()}, self.seed)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """The gain over the gold; for metrics that fall for it, what share simple checks would stop."""
        found = _judged(self.name, "copy_gain", scored, self.rule, self.seed)
        checks = {f"{corpus.name}/copy-source": caught(corpus.records) for corpus in self._corpora}
        stopped = [
            Finding(one.metric, self.name, one.slice, "copy_caught", share, one.n, check)
            for one in found
            if one.passed is False
            for check, share in checks[one.slice].items()
        ]
        return found + stopped

    def notes(self) -> list[str]:
        """The checks worth having, whatever the metric."""
        return too_few(self._corpora, self.rule) + [
            f"{corpus.name}: a {check} stops {share:.0%} of copied sources"
            for corpus in self._corpora
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


def _degenerate_cases(
    corpus: Corpus,
    family: str,
    noises: Mapping[str, Perturbation],
    seed: int,
    pool: tuple[str, ...] | None = None,
) -> list[Case]:
    """Items that every noise of the family applies to."""
    items = []
    for record in corpus.records:
        seen = record if pool is None else replace(record, others=pool)
        texts = {role: noise.perturb(seen, seed) for role, noise in noises.items()}
        whole = {role: text for role, text in texts.items() if text is not None}
        if len(whole) == len(noises):
            items.append(Item(record, {"gold": record.gold, **whole}, {}))
    return corpus.cases(f"{corpus.name}/{family}", items)


def _judged(audit: str, statistic: str, scored: Sequence[Scored], rule: Rule, seed: int) -> list[Finding]:
    found = []
    for answer in scored:
        for slice_, places in slices(answer).items():
            scores = slice_scores(answer, places, "gold", seed)
            dataset = slice_.rpartition("/")[0]
            for role in scores.columns if scores is not None else ():
                if scores is not None and role != "gold":
                    where = f"{dataset}/{role}"
                    found.append(judged_gain(answer.metric, audit, where, statistic, scores, [role], rule))
    return found


def _texts_of(corpus: Corpus) -> tuple[str, ...]:
    """The corpus itself: references first, they are what a metric was shown."""
    own = [text for record in corpus.records for text in (*record.references, record.gold)]
    return tuple(dict.fromkeys([*corpus.shared, *own, *corpus.records[0].others]))


def _english() -> tuple[str, ...]:
    """All embedded English: a small corpus alone has no frequent 4-grams."""
    found: dict[str, None] = {}
    for task in CORPORA:
        for record in embedded_records(task):
            found |= dict.fromkeys((record.gold, *record.references))
            if task == "summarisation" and record.source:
                found[record.source] = None
    return tuple(found)
