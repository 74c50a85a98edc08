"""What only judges have: is a grade moved by place, length, style, names, authors or requests?

Pairs of answers differ in one thing that must not matter. `judge_effect` is how far it moves a judge, in
percent of the gap between its answers on right and on wrong texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath

from assay.audits.base import DataAudit, check_known, declared
from assay.audits.judge_bias import effects, pairs
from assay.audits.judge_bias.pairs import POSITION, QUALITY, REPEATS, SCALE, SELF, Bias, Item, pair_case
from assay.audits.slices import FEWEST, spread_out
from assay.core import Case, Finding, Judgement, Sample, Scored
from assay.datasets.ratings import Rated, read_samples
from assay.errors import DataError


@declared()
@dataclass(frozen=True)
class JudgeBias(DataAudit):
    """Pairs of answers that differ in what must not matter to a judge."""

    name = "judge-bias"
    roles = ("base", "changed", "alone")

    data: tuple[Path, ...] = ()  # your own items: question, answer, equal, wrong
    limit: int | None = 20  # items per bias
    only: tuple[str, ...] = ()  # biases, or one of a family: style, style/list
    draws: int = 3  # repeats of one question
    outputs: Path | None = None  # rated outputs: own against others' that people rated the same
    own: str = ""  # the judge's own system there; by default the one named like its model
    mitigate: str = ""  # a judge's spec: measure mitigations on it
    margin: float = 10.0  # percent of the gap between right and wrong answers
    consistency_margin: float = 0.8  # share of pairs with one winner in both orders
    scale_margin: float = 0.25  # share of the scale

    @cached_property
    def items(self) -> list[Item]:
        return spread_out(pairs.read_items(self.data) if self.data else pairs.embedded_items(), self.limit)

    @cached_property
    def _biases(self) -> list[Bias]:
        known = pairs.biases()
        names = {POSITION, REPEATS, SELF, SCALE, *(bias.slice for bias in known)}
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
        """One case per item and bias; right against wrong answers always, as the unit of effects."""
        if self.draws < 2:
            raise DataError(f"--draws {self.draws}: repeats need at least two")
        if self.mitigate:
            effects.check_mitigable(self.mitigate)
        if self.outputs and not any(rated.system and rated.doc for rated in self._rated):
            raise DataError(
                f"--outputs {self.outputs}: no row has system and doc, by which own texts are found"
            )
        for number, item in enumerate(self.items):
            yield pair_case(QUALITY, item, item.wrong, item.answer)
            if self._wanted(POSITION):
                yield pair_case(POSITION, item, item.answer, item.equal, ())
            for bias in self._biases:
                yield pair_case(bias.slice, item, *bias.make(item, number))
            if self._wanted(REPEATS):
                shown = Sample(item.answer, (item.equal,), item.question, rival=item.wrong)
                samples = {role: replace(shown, draw=draw) for draw, role in enumerate(self._draws)}
                yield Case(f"{REPEATS}/{item.id}", samples, REPEATS, {"item": item.id})

    @property
    def _draws(self) -> tuple[str, ...]:
        return tuple(f"draw-{number}" for number in range(1, self.draws + 1))

    def more(self, scored: Scored) -> Sequence[Case]:
        """Once a judge is known: answers under its own name, and its own outputs."""
        backbone = scored.about.get("backbone")
        asked = any(case.slice.startswith(f"{SELF}/") for case in scored.cases)
        if asked or not backbone or not self._wanted(SELF):
            return ()
        own = self.own or PurePath(str(backbone)).name
        return [*pairs.own_name_cases(self.items, own), *pairs.own_text_cases(self._rated, own)]

    def panel(self) -> Sequence[str]:
        return list(effects.variants(self.mitigate)) if self.mitigate else []

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Each judge on each bias, then what the mitigations changed."""
        judges = [effects.judge_of(answer) for answer in scored if not answer.is_set]
        findings = [finding for judge in judges for finding in self._findings(judge)]
        if self.mitigate:
            findings += effects.mitigation_changes(judges, self.mitigate, self.seed)
        grading = [judge.scored.metric for judge in judges if POSITION in self.only and not judge.compares]
        needed = "grades one text at a time: position needs mode=pairwise"
        notes = [
            "effects are in percent of the gap between right and wrong answers; always the first group minus "
            "the second"
        ]
        if self.rule == "paper":
            notes.append("judge-bias follows no single paper: nothing is judged under --rule paper")
        if self.data and len(self.items) < FEWEST:
            notes.append(f"{len(self.items)} items are too few for a verdict")
        return Judgement(findings, [*notes, *(f"{name} {needed}" for name in grading)])

    def _findings(self, judge: effects.Judge) -> list[Finding]:
        findings = effects.quality(judge, self)
        for bias in self._biases:
            findings += effects.effect(judge, bias.slice, self, bias.versus)
        for kind in ("name", "text"):
            findings += effects.effect(judge, f"{SELF}/{kind}", self, "own - other")
        findings += effects.position(judge, self)
        findings += effects.repeats(judge, self._draws, self)
        if not judge.compares and judge.scored.about.get("paradigm") == "judge" and self._wanted(SCALE):
            findings += effects.scale_use(judge, self)
        return findings
