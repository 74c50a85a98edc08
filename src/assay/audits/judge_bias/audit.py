"""What only judges have: is a grade moved by place, length, style, names, authors or requests?

Answers differ in one thing that must not matter. A signal, such as an expert's name, must not make a wrong
answer beat a right one (`right_order`); how far it, or a group of people, moves the grade of one and the same
answer is given in lost words: divided by what the loss of one content word costs the same judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, ClassVar

from assay.audits.base import DataAudit, check_known, order_in_words, spread_out
from assay.audits.corpora import right_order_statistic
from assay.audits.effects import BAR, MARGIN, UNIT
from assay.audits.judge_bias import effects, pairs
from assay.audits.judge_bias.mitigation import (
    REMEDIES,
    check_mitigable,
    compared,
    mitigation_changes,
    variants,
)
from assay.audits.judge_bias.pairs import (
    OWN,
    POSITION,
    QUALITY,
    REPEATS,
    SELF,
    SIGNALS,
    Bias,
    JudgedItem,
    effect_in_words,
    pair_case,
)
from assay.core import Case, Finding, Grid, Judgement, Measure, Scored, Statistic
from assay.datasets.ratings import Rated, read_samples
from assay.errors import DataError
from assay.vocabulary import DataKind, Question

# Of 100 pairs: about as often as two people prefer the same one of two answers (81%, Zheng et al. 2023).
_CONSISTENT = 80.0


def _order(finding: Finding) -> str:
    """A wrong answer that wins too often, and by what."""
    place = finding.slice.removeprefix(f"{POSITION}/")
    how = SIGNALS.get(finding.slice, "" if finding.slice == QUALITY else f"that is shown {place}")
    return order_in_words(finding, "a right answer", f"a wrong one {how}".rstrip())


def _effect(finding: Finding) -> str:
    side = "higher" if finding.value > 0 else "lower"
    where = effect_in_words(finding.slice)
    return f"{finding.metric} scores the same answer {_in_lost_words(finding.value)} {side} {where}."


def _in_lost_words(value: float) -> str:
    """A size in lost words, as people say it."""
    return f"{abs(value):.2f} {UNIT}" if abs(value) < 1 else f"{abs(value):.1f} lost words"


def _inconsistency(finding: Finding) -> str:
    return (
        f"{finding.metric} answers one question differently each time: the SD is "
        f"{_in_lost_words(finding.value)}."
    )


def _consistency(finding: Finding) -> str:
    return f"{finding.metric} prefers the same text in both orders in only {finding.value:.0f} of 100 pairs."


def _worse(finding: Finding) -> str:
    remedy = REMEDIES[finding.slice.rpartition("/")[2]]
    return f"{remedy} makes the biases of {finding.versus} larger, by {_in_lost_words(finding.value)}."


@dataclass(frozen=True)
class JudgeBias(DataAudit):
    """Pairs of answers that differ in what must not matter to a judge."""

    name = "judge-bias"
    title = "Biases of LLM judges"
    question: ClassVar[Question] = "fairness"
    advice = "Measure what its biases change in your ranking; --mitigate SPEC tries ways to reduce them."
    reads: ClassVar[DataKind] = "questions"
    roles = ("base", "changed", "right", "wrong", "alone")
    of_judges = True
    quick_items = 500  # a judge that is asked at all reads the same items at every size
    statistics = (
        right_order_statistic("a right answer and a wrong one that carries the signal", "", sentence=_order),
        Statistic(
            "lost_words",
            "How far something that must not matter moves the score of the same answer, in lost words.",
            UNIT, bad="far", bar="margin", headline=True, sentence=_effect,
        ),
        Statistic(
            "signal_gain",
            "How far a signal that must not help raises the score of the same answer, in lost words.",
            UNIT, bad="high", bar="margin", headline=True, sentence=_effect,
        ),
        Statistic(
            "swap_consistency",
            "Position consistency: of 100 pairs, in how many one text wins in both orders.",
            "of 100", bad="low", bar="consistency_bar", headline=True, sentence=_consistency,
        ),
        Statistic(
            "inconsistency",
            "SD of a judge's answers to one and the same question, in lost words.",
            UNIT, bad="high", bar="margin", headline=True, sentence=_inconsistency,
        ),
        Statistic(
            "scale_use", "Share of its scale that a judge uses over right and wrong answers.", "share"
        ),
        Statistic(
            "effect_change",
            "Mean size of a judge's effects with a mitigation minus without; below 0 it helps.",
            UNIT, bad="high", bar=0.0, headline=True, sentence=_worse,
        ),
    )  # fmt: skip

    data: tuple[Path, ...] = ()  # your own items: question, answer, equal, wrong
    limit: int | None = 20  # items per bias
    only: tuple[str, ...] = ()  # biases, or one of a family: style, style/list
    draws: int = 3  # repeats of one question
    outputs: Path | None = None  # rated outputs: own against others' that people rated the same
    own: str = ""  # the judge's own system there; by default the one named like its model
    mitigate: str = ""  # a judge's spec: measure mitigations on it
    bar: float = BAR
    margin: float = MARGIN  # of a lost word
    consistency_bar: float = _CONSISTENT

    @cached_property
    def items(self) -> list[JudgedItem]:
        return spread_out(pairs.read_items(self.data) if self.data else pairs.embedded_items(), self.limit)

    @cached_property
    def _biases(self) -> list[Bias]:
        known = pairs.biases()
        names = {QUALITY, POSITION, REPEATS, SELF, *(bias.slice for bias in known)}
        names |= {name.partition("/")[0] for name in names}
        check_known("unknown bias", self.only, names)
        return [bias for bias in known if self._wanted(bias.slice)]

    @cached_property
    def _rated(self) -> list[Rated]:
        """The rated outputs, read before the first question is paid for."""
        return read_samples(self.outputs) if self.outputs else []

    def _wanted(self, slice_: str) -> bool:
        return not self.only or bool({slice_, slice_.partition("/")[0]} & set(self.only))

    def cases(self) -> Iterable[Case]:
        """One case per item and bias; right against wrong answers always, and what a lost word costs."""
        if self.draws < 2:
            raise DataError(f"--draws {self.draws}: repeats need at least two")
        if self.mitigate:
            check_mitigable(self.mitigate)
        if self.outputs and not any(rated.system and rated.doc for rated in self._rated):
            raise DataError(
                f"--outputs {self.outputs}: no row has system and doc, by which own texts are found"
            )
        for number, item in enumerate(self.items):
            yield pairs.quality_case(item)
            if self._wanted(POSITION):
                yield pair_case(POSITION, item, item.answer, item.equal, ())
            for bias in self._biases:
                yield bias.case(item, number)
            if self._wanted(REPEATS):
                yield pairs.repeated_case(item, self._draws)

    @property
    def _draws(self) -> tuple[str, ...]:
        return tuple(f"draw-{number}" for number in range(1, self.draws + 1))

    def more(self, scored: Scored) -> Sequence[Case]:
        """Once a judge is known: answers under its own name, and its own outputs."""
        asked = any(case.slice.startswith(f"{SELF}/") for case in scored.cases)
        return () if asked else self.foreseen(scored.about)

    def foreseen(self, about: Mapping[str, Any]) -> Sequence[Case]:
        """Answers under a judge's own name, and its own outputs."""
        backbone = about.get("backbone")
        if not backbone or not self._wanted(SELF):
            return ()
        own = self.own or PurePath(str(backbone)).name
        return [*pairs.own_name_cases(self.items, own), *pairs.own_text_cases(self._rated, own)]

    def panel(self) -> Sequence[str]:
        return list(variants(self.mitigate)) if self.mitigate else []

    def companions(self, measures: Sequence[Measure]) -> Sequence[str]:
        """For each judge that grades one text at a time the same one comparing two: only that has places."""
        specs = [compared(one) for one in measures] if self._wanted(POSITION) else []
        return [spec for spec in specs if spec]

    def companion_cases(self, cases: Sequence[Case | Grid]) -> Sequence[Case | Grid]:
        """What is asked about place: equal answers, right against wrong ones, what a lost word costs."""
        return [case for case in cases if case.slice in (POSITION, QUALITY)]

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Each judge on each bias, then what the mitigations changed."""
        judges = [effects.JudgeScores(answer) for answer in scored if not answer.is_set]
        findings = [finding for judge in judges for finding in self._findings(judge)]
        if self.mitigate:
            findings += mitigation_changes(judges, self.mitigate, self.seed)
        if self.rule == "paper":
            findings = [replace(finding, ci=None) for finding in findings]
        return Judgement(findings, list(self._notes(judges)))

    def _findings(self, judge: effects.JudgeScores) -> Iterator[Finding]:
        """Everything one judge shows."""
        yield from effects.order(judge, QUALITY)
        yield from effects.scale_use(judge)
        own = [(f"{SELF}/name", OWN), (f"{SELF}/text", OWN)]
        for name, versus in [*((bias.slice, bias.versus) for bias in self._biases), *own]:
            yield from effects.order(judge, name)
            yield from effects.effect(judge, name, versus)
        yield from effects.position(judge)
        yield from effects.repeats(judge, self._draws)

    def _notes(self, judges: Sequence[effects.JudgeScores]) -> Iterator[str]:
        """What was not judged, and why."""
        if self.rule == "paper":
            yield "judge-bias follows no single paper: nothing is judged under --rule paper"
        for judge in judges:
            name = judge.scored.metric
            if POSITION in self.only and not judge.compares:
                yield f"{name} grades one text at a time: position needs mode=pairwise"
            if not judge.has_unit:
                yield (
                    f"{name} does not surely score an answer with a word missing lower, so that no effect "
                    f"can be given in lost words; more items may show it (--limit)"
                )
