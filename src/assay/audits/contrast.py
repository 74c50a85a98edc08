"""Far right against near wrong: does a metric go by what a text says, or by its words?

Each item has a text that is right in quite other words and one that copies the clean text but for a few
words, which make it false. People decide for the first nearly always; a metric that counts words decides for
the second. The same decisions are asked with the clean text in place of the right one, which shows whether
the error is noticed at all, and whether graver errors cost more. Where an item has two imperfect candidates,
the better one must beat the worse one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from assay.audits.base import DataAudit, in_words, left_out, order_in_words
from assay.audits.corpora import (
    Corpus,
    Item,
    corpora,
    matched_rewording,
    pooled_order,
    right_order_statistic,
)
from assay.audits.effects import BAR, CLEAN, REWORDED, AlignedScores, largest, read_slices, right_order
from assay.audits.severity import SEVERITY_ORDER, costs_of, severity_order
from assay.core import Case, Finding, Floats, Judgement, Record, Scored, Statistic
from assay.datasets.challenges import kind_name
from assay.errors import suggest
from assay.grouping import grouped
from assay.vocabulary import DataKind, Language, Question, Task

FAR, WRONG = "far", "wrong"  # right in other words, and false in nearly the same
BETTER, WORSE = "better", "worse"
CANDIDATES = "candidates"
EVERYWHERE = "all"
# What is false in the embedded texts.
KINDS = (
    "entity", "hallucination", "negation", "number", "omission", "place", "relation", "role", "time",
)  # fmt: skip
_TASKS: tuple[Task, ...] = (
    "translation", "summarisation", "dialogue", "question-generation", "image-captioning", "data-to-text",
)  # fmt: skip
_RIGHT = "a right text in other words"
_FALSE = "a false text in nearly the same words"


def _sentence(finding: Finding) -> str:
    where, what = finding.slice.split("/")
    texts = "all tasks" if where == EVERYWHERE else in_words(where)
    if what == CANDIDATES:
        return order_in_words(finding, f"a better candidate ({texts})", "a worse one")
    kind = "" if what == Contrast.name else f" ({in_words(what)})"
    return order_in_words(finding, f"{_RIGHT} ({texts})", f"{_FALSE}{kind}")


@dataclass(frozen=True)
class Contrast(DataAudit):
    """Texts that are right in other words, texts that are false in nearly the same, and candidates."""

    name = "contrast"
    title = "Far right against near wrong"
    question: ClassVar[Question] = "robustness"
    reads: ClassVar[DataKind] = "contrasts"
    advice = (
        "Do not compare systems by it that word things differently: it goes by words, not by what is said."
    )
    quick_items = 40  # of each task: 240 items over all tasks
    wants = "an item needs `reworded` and `wrong`, or `candidates` (docs/formats.md)"
    statistics = (
        right_order_statistic(
            f"{_RIGHT} and {_FALSE}, or between two candidates",
            "", sentence=_sentence,
        ),
        Statistic(
            "right_order_clean",
            "The same decisions with the clean text in place of the one in other words.",
            "of 100",
        ),
        Statistic(
            "right_order_reworded",
            "The same decisions with a sound rewording that changes about as many words as the error does.",
            "of 100",
        ),
        Statistic(
            "mean_right_order",
            "Right order averaged over tasks that weigh the same; people are right in nearly all cases.",
            "of 100", headline=True,
        ),
        SEVERITY_ORDER,
    )  # fmt: skip

    task: tuple[str, ...] = ()
    language: Language = "en"  # of the embedded texts
    bar: float = BAR

    @cached_property
    def corpora(self) -> list[Corpus]:
        return corpora(self.data, None, self.task, _TASKS, self.limit, language=self.language)

    def cases(self) -> Iterable[Case]:
        """One case per item with both texts, then one per item with candidates."""
        for corpus in self.corpora:
            for part, make_item in ((self.name, _contrast), (CANDIDATES, _candidates)):
                items = filter(None, map(make_item, corpus.records))
                yield from corpus.cases(f"{corpus.name}/{part}", list(items))

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        slices = list(read_slices(scored))
        findings = [finding for scores in slices for finding in _task_findings(scores)]
        for rows in grouped(slices, lambda scores: scores.scored.metric).values():
            findings += _findings_of_all(rows)
        return Judgement(findings, [note for corpus in self.corpora for note in _notes(corpus)])


def _contrast(record: Record) -> Item | None:
    """The far right and the near wrong text of a record; None without them, or where two are the same."""
    if not record.reworded or record.wrong is None:
        return None
    clean, far, wrong = record.gold, record.reworded[-1], record.wrong
    if len({clean.strip(), far.strip(), wrong.text.strip()}) < 3:
        return None
    near = matched_rewording(record, wrong.text)
    reworded = {} if near is None else {REWORDED: near}
    meta = {"aspect": "meaning", "kind": kind_name(wrong.kind), "severity": wrong.severity}
    return Item(record, {CLEAN: clean, **reworded, FAR: far, WRONG: wrong.text}, meta)


def _candidates(record: Record) -> Item | None:
    """The two candidates of a record; None where it has none, or they are the same."""
    if record.candidates is None or len(set(record.candidates)) < 2:
        return None
    return Item(record, dict(zip((BETTER, WORSE), record.candidates, strict=True)))


def _notes(corpus: Corpus) -> list[str]:
    """How many items have no texts to ask about, and kinds of error that the embedded texts do not have."""
    contrasts = [_contrast(record) for record in corpus.records]
    candidates = [_candidates(record) for record in corpus.records]
    same = "or the same text twice"
    reasons = {
        f"no reworded and wrong text, {same}": contrasts.count(None),
        f"no candidates, {same}": candidates.count(None),
    }
    notes = left_out(corpus.name, len(corpus.records), reasons)
    unknown = sorted({item.meta["kind"] for item in contrasts if item} - set(KINDS))
    if unknown:
        named = ", ".join(f"{kind}{suggest(kind, KINDS)}" for kind in unknown)
        notes.append(f"{corpus.name}: kinds of error of your own, with rows of their own: {named}")
    return notes


def _task_findings(scores: AlignedScores) -> Iterator[Finding]:
    """What one metric says of one task: decisions in other words, and with the clean text."""
    if scores.slice.endswith(f"/{CANDIDATES}"):
        yield from _order(scores, "right_order", BETTER, WORSE)
        return
    yield from _order(scores, "right_order", FAR, WRONG)
    yield from _order(scores, "right_order_clean", CLEAN, WRONG)
    yield from _order(scores, "right_order_reworded", REWORDED, WRONG)
    yield from _severity([scores], scores.slice.partition("/")[0])


def _order(scores: AlignedScores, statistic: str, better: str, worse: str) -> Iterator[Finding]:
    """How often the better text scores above the worse one."""
    if {better, worse} <= set(scores.columns):
        wrong = 1 - scores.decisions([better], [worse])
        order = scores.right_order([better], [worse])
        evidence = scores.largest(wrong * _clearness(scores.cases, worse))
        yield Finding.of(scores.scored, scores.slice, statistic, order, versus=better, evidence=evidence)


def _clearness(cases: Sequence[Case], role: str) -> Floats:
    """How clear an example each case is, from 1 to 1.25: most where the text has the words of a reference."""
    return np.array([1 + _shared_words(case, role) / 4 for case in cases])


def _shared_words(case: Case, role: str) -> float:
    """The share of words that a text has in common with the reference nearest to it; 0 for a set of texts."""
    if role not in case.samples:
        return 0.0
    words = set(case.samples[role].hypothesis.lower().split())
    references = [set(reference.lower().split()) for reference in case.samples[role].references]
    return max((len(words & others) / max(1, len(words | others)) for others in references), default=0.0)


def _findings_of_all(slices: Sequence[AlignedScores]) -> Iterator[Finding]:
    """What one metric says over all tasks: right order by kind of error, the means, and severities."""
    contrasts, candidates = _with_roles(slices, FAR, WRONG), _with_roles(slices, BETTER, WORSE)
    yield from _mean(contrasts, Contrast.name, FAR, WRONG)
    yield from _mean(candidates, CANDIDATES, BETTER, WORSE)
    if contrasts:
        yield from _kinds(contrasts)
    yield from _severity(contrasts, EVERYWHERE)


def _with_roles(slices: Sequence[AlignedScores], *roles: str) -> list[AlignedScores]:
    """The slices of a metric of single texts that have scores in all of these roles."""
    return [s for s in slices if set(roles) <= set(s.columns) and not s.scored.is_set]


def _mean(slices: Sequence[AlignedScores], part: str, better: str, worse: str) -> Iterator[Finding]:
    """Right order over tasks that weigh the same."""
    tasks = [(scores, scores.decisions([better], [worse])) for scores in slices]
    mean = pooled_order(f"{EVERYWHERE}/{part}", "mean_right_order", tasks)
    if mean is not None:
        yield mean


def _kinds(slices: Sequence[AlignedScores]) -> Iterator[Finding]:
    """Right order by kind of error, over the items of all tasks."""
    cases = [case for scores in slices for case in scores.cases]
    clusters = [(scores.slice, label) for scores in slices for label in scores.clusters]
    decisions = np.concatenate([scores.decisions([FAR], [WRONG]) for scores in slices])
    kinds = np.array([case.meta["kind"] for case in cases])
    for kind in dict.fromkeys(kinds.tolist()):
        of_kind = np.where(kinds == kind, decisions, np.nan)
        order = right_order([(of_kind, clusters)])
        evidence = largest([case.id for case in cases], (1 - of_kind) * _clearness(cases, WRONG))
        slice_ = f"{EVERYWHERE}/{kind}"
        yield Finding.of(slices[0].scored, slice_, "right_order", order, versus=FAR, evidence=evidence)


def _severity(slices: Sequence[AlignedScores], where: str) -> Iterator[Finding]:
    """Whether graver errors cost more, where two differ in severity."""
    told = _with_roles(slices, CLEAN, WRONG)
    order = severity_order([costs_of([scores], CLEAN, WRONG) for scores in told])
    if order is not None:
        yield Finding.of(told[0].scored, f"{where}/severity", "severity_order", order)
