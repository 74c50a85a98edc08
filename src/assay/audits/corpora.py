"""What the blind-spot audits share: corpora (files or embedded data to records), cases, gains and notes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from assay.audits.base import SizedAudit
from assay.audits.gap import CLEAN, WORTHLESS, with_worthless
from assay.audits.slices import FEWEST, SliceScores, difference, read_slices, spread_out
from assay.core import Case, Finding, Judgement, Perturbation, Record, Scored
from assay.datasets.published.corpora import read_records
from assay.datasets.records import embedded_records, read_text_sets, task_named
from assay.language import language_name
from assay.vocabulary import DataKind, NonNegative, Question, Rule, Task

_NEAR = 0.05  # share of words by which two texts may differ in their likeness to references
_POOL = 20  # texts enough to borrow from


@dataclass(frozen=True, slots=True)
class Item:
    """A record, its texts by role, and what a report shows of it."""

    record: Record
    texts: Mapping[str, str]
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A dataset by name; `shared` are the references of open-ended text, which belong to no item."""

    name: str
    records: tuple[Record, ...]
    task: Task
    shared: tuple[str, ...] = ()

    def cases(self, slice_: str, items: Sequence[Item]) -> Iterator[Case]:
        """Items of one slice as cases, each with a worthless text beside its own.

        Shared references are given to the slice's first case only. A set metric finds them there; a metric
        that would compare a text with an unrelated reference has nothing to score.
        """
        for number, item in enumerate(items):
            record = item.record
            samples = {role: record.sample(text) for role, text in item.texts.items()}
            samples = with_worthless(samples, record.others, record.key)
            if self.shared and number == 0:
                samples = {role: replace(sample, references=self.shared) for role, sample in samples.items()}
            yield Case(f"{slice_}:{record.id}", samples, slice_, item.meta)


def could_matter(record: Record, *changed: str) -> bool:
    """Whether an edit changes a word that some reference has, or the order of words it shares with one.

    Where it does not, no comparison with the references can notice it, and nobody is to blame.
    """
    if not record.references:
        return True
    known = {word for reference in record.references for word in _words(reference)}
    clean = Counter(_words(record.gold))
    for text in changed:
        words = Counter(_words(text))
        edited = (clean - words) + (words - clean)
        if known & set(edited) or (not edited and len(known & set(clean)) > 1):
            return True
    return False


def equally_near(references: Sequence[str], *texts: str) -> bool:
    """Whether texts share about as many words with the references, with the nearest and in the mean.

    Else a comparison with the references may well tell which of two good texts is more like them.
    """
    words = [Counter(_words(reference)) for reference in references]
    shares = [
        [2 * (own & other).total() / max(1, own.total() + other.total()) for other in words]
        for own in (Counter(_words(text)) for text in texts)
    ]
    measured = [max(row, default=0.0) for row in shares], [sum(row) / max(1, len(row)) for row in shares]
    return all(max(values) - min(values) <= _NEAR for values in measured)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def corpora(
    data: Sequence[Path],
    references: Path | None,
    tasks: Sequence[str],
    default: Sequence[Task],
    limits: tuple[int | None, int | None],  # items per dataset: in general, and for open-ended text
) -> list[Corpus]:
    """The datasets of an audit: files, a pair of text files, or the embedded corpora of its tasks."""
    named = [task_named(task) for task in tasks]
    if not data:
        return [_corpus(task, embedded_records(task), limits) for task in named or default]
    by_name: dict[str, Corpus] = {}
    for path in data:
        if references is not None:
            records = read_text_sets(path, references, task=named[0] if named else "open-ended")
        else:
            records = read_records(path, task=named[0] if named else None)
        name = path.stem if path.stem not in by_name else f"{path.parent.name}-{path.stem}"
        by_name[name] = _corpus(name, records, limits)
    return list(by_name.values())


def _corpus(name: str, records: Sequence[Record], limits: tuple[int | None, int | None]) -> Corpus:
    task = records[0].task
    open_ended = task == "open-ended"
    chosen = spread_out(records, limits[1] if open_ended and limits[1] is not None else limits[0])
    if len(chosen) >= _POOL:
        # Noises that borrow from other items then need no parse of texts that were left out.
        golds = tuple(record.gold for record in chosen)
        chosen = [replace(record, others=golds) for record in chosen]
    if not open_ended:
        return Corpus(name, tuple(chosen), task)
    without = tuple(replace(record, references=()) for record in chosen)
    return Corpus(name, without, task, records[0].references)


class BlindSpot(SizedAudit):
    """An audit that makes texts worse and asks whether a metric notices, one slice per corpus.

    A subclass takes its fields from DataAudit or TextAudit, and adds `task`.
    """

    question: ClassVar[Question] = "robustness"
    reads: ClassVar[DataKind] = "records"
    tasks: ClassVar[tuple[Task, ...]] = ("summarisation",)  # the embedded corpora used without --data
    part: ClassVar[str] = ""  # the part of a slice that follows the corpus; the audit's name, if empty
    quick_options: ClassVar[Mapping[str, Any]] = {"limit": 20}  # field values of --size quick

    data: tuple[Path, ...]
    references: Path | None = None
    rule: Rule
    seed: NonNegative
    limit: int | None
    open_limit: int | None = None
    task: tuple[str, ...]

    @cached_property
    def corpora(self) -> list[Corpus]:
        return corpora(self.data, self.references, self.task, self.tasks, (self.limit, self.open_limit))

    def cases(self) -> Iterable[Case]:
        """One case per item, with the roles that `texts` gives it."""
        for corpus in self.corpora:
            texts = [(record, self.texts(record)) for record in corpus.records]
            items = [Item(record, by_role) for record, by_role in texts if by_role is not None]
            yield from corpus.cases(f"{corpus.name}/{self.part or self.name}", items)

    @property
    def noises(self) -> Mapping[str, Perturbation]:
        """What makes the worse texts, by role."""
        return {}

    def texts(self, record: Record) -> Mapping[str, str] | None:
        """The clean text and its worse versions by role; None where one of them cannot be made."""
        texts = {CLEAN: record.gold}
        for role, noise in self.noises.items():
            text = noise.perturb(record, self.seed)
            if text is None:
                return None
            texts[role] = text
        return texts

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        slices = list(read_slices(scored, self.seed, self.rule))
        findings = [finding for scores in slices for finding in self.slice_findings(scores)]
        notes = [*self.remarks(), *outlier_notes(slices)]
        return Judgement([*findings, *self.compare(slices, findings)], notes)

    def slice_findings(self, scores: SliceScores) -> Iterable[Finding]:
        """The findings of one metric on one slice: what each worse text gains over the clean one."""
        for role in scores.columns:
            if role not in (CLEAN, WORTHLESS):
                yield from self.gain(scores, f"{scores.dataset}/{role}", role)

    def compare(self, slices: Sequence[SliceScores], findings: Sequence[Finding]) -> Iterable[Finding]:
        """Findings that need all slices, or all findings, at once."""
        return ()

    def remarks(self) -> list[str]:
        """Notes on texts of other languages and on datasets too small for a verdict (by the careful rule)."""
        notes = [n for c in self.corpora for n in language_notes(c.name, c.records, self.noises.values())]
        counts = {corpus.name: len(corpus.records) for corpus in self.corpora}
        small = [f"{name} ({count})" for name, count in counts.items() if count < FEWEST]
        if not small or self.rule == "paper":
            return notes
        return [*notes, f"fewer than {FEWEST} items, too few for a verdict: {', '.join(small)}"]

    def judges(self, scores: SliceScores) -> bool:
        """Whether there are enough items, and worthless texts, for a verdict; the paper needs neither."""
        return self.rule == "paper" or (scores.n >= FEWEST and WORTHLESS in scores.columns)

    def gain(self, scores: SliceScores, slice_: str, role: str) -> Iterable[Finding]:
        """What a worse text gains over the clean one, and on how many items the clean text scores higher."""
        change = scores.contrast([role])  # the paper asks only that the mean be lower
        yield Finding.of(
            scores.scored, slice_, self.statistics[0].name, replace(change, paper=change.value < 0),
            versus=CLEAN, evidence=scores.top_items(difference([role])), judged=self.judges(scores),
        )  # fmt: skip
        yield from scores.noticed(slice_, [role], self.seed)


def outlier_notes(slices: Iterable[SliceScores]) -> list[str]:
    """How many texts each metric's verdicts leave out because their scores lie far off."""
    counts = Counter[str]()
    for scores in slices:
        counts[scores.scored.metric] += scores.outliers
    reason = "a score lies far outside those of clean and worthless texts"
    return [f"{metric}: {count} items left out: {reason}" for metric, count in counts.items() if count]


def language_notes(
    dataset: str, records: Sequence[Record], perturbations: Iterable[Perturbation], what: str = "noises"
) -> list[str]:
    """One note per dataset with texts that some of the perturbations do not understand."""
    edits = {edit.name: edit for edit in perturbations}
    refused = [edit for edit in edits.values() if not all(map(edit.understands, records))]
    if not refused:
        return []
    needed = sorted({language_name(code) for edit in refused for code in edit.languages or ()})
    (code, count), *_ = Counter(r.language for r in records if not refused[0].understands(r)).most_common(1)
    texts = "the texts" if count == len(records) else f"{count} of {len(records)} texts"
    number = refused[0].name if len(refused) == 1 else f"{len(refused)} {what}"
    need = "needs" if len(refused) == 1 else "need"
    return [
        f"{number} {need} {' or '.join(needed)}; {texts} of {dataset} look {language_name(code)}: not applied"
    ]
