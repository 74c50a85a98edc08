"""What the audits of robustness share: corpora, cases, decisions between sound and damaged texts, and
notes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from rapidfuzz.distance import Levenshtein

from assay.audits.base import order_in_words, spread_out
from assay.audits.effects import BAR, CLEAN, REWORDED, AlignedScores, read_slices, right_order
from assay.core import Audit, Case, Estimate, Finding, Judgement, Perturbation, Record, Scored, Statistic
from assay.datasets.published.corpora import read_records
from assay.datasets.records import ONLY_REFERENCE, embedded_records, read_text_sets, task_named
from assay.errors import DataError
from assay.language import is_unspaced, language_name, split_words
from assay.names.registry import perturbation_classes
from assay.vocabulary import DataKind, Language, NonNegative, Question, Rule, Task

_ELSEWHERE: tuple[Task, ...] = ("translation",)  # the embedded texts of other languages than English
_POOL = 20  # texts enough to borrow from
_EQUAL = 1e-12  # means that differ by less are equal: the papers ask that one be lower, or not lower


def right_order_statistic(better: str, worse: str, **more: Any) -> Statistic:
    """The declaration of right order: of two texts, how often the better one scores higher.

    Where `better` names both texts, `worse` is empty.
    """
    both = " and ".join(filter(None, [better, worse]))
    return Statistic(
        "right_order",
        f"Of 100 decisions between {both}, how many are right (ties count half): 50 is a coin.",
        "of 100", bad="low", bar="bar", headline=True,
        **{"sentence": lambda finding: order_in_words(finding, better, worse)} | more,
    )  # fmt: skip


REWORDED_STATISTIC = Statistic(
    "right_order_reworded",
    "The same decisions with a sound rewording in place of the clean text, where it has about as many "
    "edited words.",
    "of 100", headline=True,
)  # fmt: skip
MEAN_CHANGE = Statistic(
    "mean_change",
    "By the paper's rule: the change of the mean score, in the metric's own unit; it must be below 0.",
    "score", bad="high", bar=-_EQUAL,
)  # fmt: skip
MEAN_KEPT = Statistic(
    "mean_kept",
    "By the paper's rule: the change of the mean score where it should not fall, in the metric's own unit; "
    "it must not be below 0.",
    "score", bad="low", bar=-_EQUAL,
)  # fmt: skip


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
    circular: int = 0  # texts left out because their only reference is the text itself

    @property
    def is_english(self) -> bool:
        """Whether most of its texts are English, or too short to tell."""
        english = sum(record.language in ("", "en") for record in self.records)
        return 2 * english >= len(self.records)

    def cases(self, slice_: str, items: Sequence[Item]) -> Iterator[Case]:
        """Items of one slice as cases.

        Shared references are given to the slice's first case only. A set metric finds them there; a metric
        that would compare a text with an unrelated reference has nothing to score.
        """
        for number, item in enumerate(items):
            record = item.record
            samples = {role: record.sample(text) for role, text in item.texts.items()}
            if self.shared and number == 0:
                samples = {role: replace(sample, references=self.shared) for role, sample in samples.items()}
            meta = {"cluster": str(record.meta.get("doc", record.id)), **item.meta}
            yield Case(f"{slice_}:{record.id}", samples, slice_, meta)


def corpora(
    data: Sequence[Path],
    references: Path | None,
    tasks: Sequence[str],
    default: Sequence[Task],
    limit: int | None,
    *,
    rule: Rule = "careful",
    language: Language = "en",
) -> list[Corpus]:
    """The datasets of an audit: files, a pair of text files, or the embedded corpora of its tasks.

    In other languages than English the embedded texts are translations, whatever the audit's tasks. Except
    under the paper's rule, each item keeps one of its references: all together they hide errors.
    """
    named = [task_named(task) for task in tasks]
    if data:
        read = {path: _read(path, references, named) for path in data}
        names = _names_of(data)
        return [_corpus(names[path], records, limit, rule) for path, records in read.items()]
    chosen = named or (default if language == "en" else _ELSEWHERE)
    return [_corpus(task, embedded_records(task, language), limit, rule) for task in chosen]


def _read(path: Path, references: Path | None, tasks: Sequence[Task]) -> list[Record]:
    """The records of a file, or of a file of texts with its file of references."""
    task = tasks[0] if tasks else None
    if references is not None:
        return read_text_sets(path, references, task=task or "open-ended")
    return read_records(path, task=task)


def _names_of(paths: Sequence[Path]) -> dict[Path, str]:
    """The names of files without their endings, with their folders where two are the same."""
    names: dict[Path, str] = {}
    for path in paths:
        is_taken = path.stem in names.values()
        names[path] = f"{path.parent.name}-{path.stem}" if is_taken else path.stem
    return names


def _corpus(name: str, records: Sequence[Record], limit: int | None, rule: Rule) -> Corpus:
    task, n_read = records[0].task, len(records)
    if rule == "careful":
        records = apart_from_references(name, records)
    circular = n_read - len(records)
    chosen = in_content_order(spread_out(records, limit)) if rule == "careful" else spread_out(records, limit)
    if len(chosen) >= _POOL:
        # Noises that borrow from other items then need no parse of texts that were left out.
        golds = tuple(record.gold for record in chosen)
        chosen = [replace(record, others=golds) for record in chosen]
    if task == "open-ended":
        without = tuple(replace(record, references=()) for record in chosen)
        return Corpus(name, without, task, records[0].references, circular)
    if rule == "careful":
        chosen = [with_one_reference(record) for record in chosen]
    return Corpus(name, tuple(chosen), task, circular=circular)


def apart_from_references(name: str, records: Sequence[Record]) -> list[Record]:
    """The records, none of which has its own text as a reference; one that has no other is left out.

    A text compared with itself is perfect by every metric, and each edit of it is noticed: that tests
    nothing.
    """
    apart = []
    for record in records:
        others = tuple(text for text in record.references if text.strip() != record.gold.strip())
        if others or not record.references:
            apart.append(replace(record, references=others))
    if not apart:
        raise DataError(f"{name}: {ONLY_REFERENCE}")
    return apart


def in_content_order(records: Sequence[Record]) -> list[Record]:
    """Records in an order that depends on their content alone, so that any beginning of it is a fair
    sample."""
    return sorted(records, key=lambda record: record.key)


def with_one_reference(record: Record) -> Record:
    """The record with one of its references, drawn by its content: the same one for every metric."""
    if len(record.references) < 2:
        return record
    return replace(record, references=(record.references[int(record.key, 16) % len(record.references)],))


def edited_words(before: str, after: str) -> int:
    """How many words must be changed, removed or added to make one text the other.

    >>> edited_words("the red car stops", "the blue car stops now")
    2
    """
    words = [_words_of(text.lower()) for text in (before, after)]
    return int(Levenshtein.distance(*words))


def _words_of(text: str) -> list[str]:
    """The words of a text, or its characters where no spaces part words."""
    return split_words(text) if is_unspaced(text) else re.findall(r"\w+", text)


def matched_rewording(record: Record, changed: str) -> str | None:
    """The sound rewording that differs from the clean text in about as many words as the damaged one; None
    where none does: a decision between a light edit and a heavy one would be about their size.
    """
    size = edited_words(record.gold, changed)
    sizes = {text: edited_words(record.gold, text) for text in record.reworded if text != changed}
    near = [
        text for text in sizes if sizes[text] and sizes[text] <= 2 * size + 1 and size <= 2 * sizes[text] + 1
    ]
    return min(near, key=lambda text: abs(sizes[text] - size), default=None)


class BlindSpot(Audit):
    """An audit that makes texts worse and asks whether a metric notices, one slice per corpus.

    A subclass takes its fields from DataAudit or TextAudit, and adds `task`.
    """

    question: ClassVar[Question] = "robustness"
    reads: ClassVar[DataKind] = "records"
    tasks: ClassVar[tuple[Task, ...]] = ("summarisation",)  # the embedded corpora used without --data
    part: ClassVar[str] = ""  # the part of a slice that follows the corpus; the audit's name, if empty

    data: tuple[Path, ...]
    references: Path | None = None
    rule: Rule
    seed: NonNegative
    limit: int | None
    task: tuple[str, ...]
    language: Language = "en"
    bar: float = BAR

    @cached_property
    def corpora(self) -> list[Corpus]:
        return corpora(
            self.data, self.references, self.task, self.tasks, self.limit,
            rule=self.rule, language=self.language,
        )  # fmt: skip

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
        slices = [scores for scores in read_slices(scored) if CLEAN in scores.columns]
        findings = [finding for scores in slices for finding in self.slice_findings(scores)]
        return Judgement([*findings, *self.compare(slices, findings)], self.remarks())

    def slice_findings(self, scores: AlignedScores) -> Iterable[Finding]:
        """The findings of one metric on one slice: whether each worse text loses against the clean one."""
        for role in scores.columns:
            if role not in (CLEAN, REWORDED):
                yield from self.order(scores, f"{scores.slice.rpartition('/')[0]}/{role}", [role])

    def compare(self, slices: Sequence[AlignedScores], findings: Sequence[Finding]) -> Iterable[Finding]:
        """Findings that need all slices, or all findings, at once."""
        return ()

    def remarks(self) -> list[str]:
        """Notes on texts that are their own only reference, and on texts of other languages."""
        notes = [circular_note(c.name, c.circular, len(c.records)) for c in self.corpora if c.circular]
        for corpus in self.corpora:
            notes += language_notes(corpus.name, corpus.records, self.noises.values())
        return notes

    def order(self, scores: AlignedScores, slice_: str, worse: Sequence[str]) -> Iterable[Finding]:
        """How often the clean text scores above the worse ones; by the paper's rule, whether the mean
        falls."""
        if self.rule == "paper":
            yield mean_change(scores, slice_, worse)
            return
        wrong = 1 - scores.decisions([CLEAN], worse)
        estimate = scores.right_order([CLEAN], worse)
        yield Finding.of(
            scores.scored, slice_, "right_order", estimate, versus=CLEAN, evidence=scores.largest(wrong)
        )


def mean_change(
    scores: AlignedScores, slice_: str, worse: Sequence[str], better: Sequence[str] = (CLEAN,)
) -> Finding:
    """The change of the mean score, which the papers' rule looks at alone."""
    change = scores.mean(worse) - scores.mean(better)
    estimate = Estimate(change, scores.n, (change, change))
    return Finding.of(scores.scored, slice_, "mean_change", estimate, versus=better[0])


def pooled_order(name: str, statistic: str, kinds: Sequence[tuple[AlignedScores, Any]]) -> Finding | None:
    """Right order over kinds of error that weigh the same; None where there are none."""
    told = [(decisions, scores.clusters) for scores, decisions in kinds if not scores.scored.is_set]
    if not told:
        return None
    return Finding.of(kinds[0][0].scored, name, statistic, right_order(told))


def circular_note(name: str, circular: int, kept: int) -> str:
    """How many texts of a dataset were left out because they would be compared with themselves."""
    return f"{circular:,} of {circular + kept:,} texts of {name} left out: {ONLY_REFERENCE}"


def titles() -> dict[str, str]:
    """What edits do to a text, in words, by their names."""
    return {name: kind.title for name, kind in perturbation_classes().items() if kind.title}


def language_notes(
    dataset: str, records: Sequence[Record], perturbations: Iterable[Perturbation], what: str = "noises"
) -> list[str]:
    """One note per dataset with texts that some of the perturbations do not understand."""
    edits = {edit.name: edit for edit in perturbations}.values()
    refused = [edit for edit in edits if not all(map(edit.understands, records))]
    if not refused:
        return []
    languages = {language_name(code) for edit in refused for code in edit.languages or ()}
    foreign = Counter(record.language for record in records if not refused[0].understands(record))
    (code, count), *_ = foreign.most_common(1)
    texts = "the texts" if count == len(records) else f"{count} of {len(records)} texts"
    named = f"{refused[0].name} needs" if len(refused) == 1 else f"{len(refused)} {what} need"
    needed = " or ".join(sorted(languages))
    return [f"{named} {needed}; {texts} of {dataset} look {language_name(code)}: not applied"]
