"""What only judges have: is a grade moved by place, length, style, names, authors or requests?

Pairs of answers differ in one thing that must not matter. `judge_effect` is how far it moves a judge: in
spreads of its grades over right and wrong answers where it grades one text at a time, as a net preference
(-1 to 1, over both orders) where it compares two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, ClassVar

import numpy as np

from assay.audits.judge_bias.effects import (
    Margins,
    effect,
    panel_of,
    position,
    quality_gap,
    repeats,
    scale_use,
)
from assay.audits.judge_bias.mitigation import changes, check_mendable, variants
from assay.audits.judge_bias.pairs import (
    Bias,
    Item,
    biases,
    embedded_items,
    own_name_cases,
    own_text_cases,
    pair_case,
    read_items,
)
from assay.audits.slices import spread_out
from assay.core import Audit, Case, Finding, Sample, Scored
from assay.datasets.ratings import Rated, read_samples
from assay.errors import DataError, suggest
from assay.vocabulary import Question, Rule

_POSITION, _QUALITY, _REPEATS, _SELF = "position", "quality", "repeats", "self-preference"
_SCALE = "scale"


@dataclass(frozen=True)
class JudgeBias(Audit):
    """Pairs of answers that differ in what must not matter to a judge."""

    name: ClassVar[str] = "judge-bias"
    question: ClassVar[Question] = "fairness"
    roles: ClassVar[tuple[str, ...]] = ("base", "changed", "alone")

    data: tuple[Path, ...] = ()  # your own items: question, answer, equal, wrong
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = 20  # items a bias
    only: tuple[str, ...] = ()  # biases, or one of a family: style, style/list
    draws: int = 3  # repeats of one question
    outputs: Path | None = None  # rated outputs: own against others' that people rated the same
    own: str = ""  # the judge's own system there; by default the one named like its model
    mitigate: str = ""  # a judge's spec: measure remedies on it
    spread_margin: float = 0.2  # pointwise
    preference_margin: float = 0.1  # pairwise, -1..1
    consistency_margin: float = 0.8  # share of pairs with one winner in both orders
    scale_margin: float = 0.25  # share of the scale

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """A judge takes minutes."""
        return {"skip": True}

    @cached_property
    def items(self) -> list[Item]:
        """The questions, at most `limit`."""
        return spread_out(read_items(self.data) if self.data else embedded_items(), self.limit)

    @cached_property
    def _biases(self) -> list[Bias]:
        known = biases()
        names = {_POSITION, _REPEATS, _SELF, _SCALE, *(bias.slice for bias in known)}
        names |= {name.partition("/")[0] for name in names}
        for wrong in set(self.only) - names:
            raise DataError(f"unknown bias {wrong!r}{suggest(wrong, names)}")
        return [bias for bias in known if self._asked(bias.slice)]

    @cached_property
    def _rated(self) -> list[Rated]:
        """The rated outputs, read before the first question is paid for."""
        return read_samples(self.outputs) if self.outputs else []

    @cached_property
    def _heard(self) -> dict[str, None]:
        """What judging came upon: notes for the reader."""
        return {}

    def _asked(self, slice_: str) -> bool:
        return not self.only or bool({slice_, slice_.partition("/")[0]} & set(self.only))

    def cases(self) -> Iterable[Case]:
        """A case an item and bias; right against wrong answers always, as the yardstick."""
        if self.draws < 2:
            raise DataError(f"--draws {self.draws}: repeats need at least two")
        if self.mitigate:
            check_mendable(self.mitigate)
        if self.outputs and not any(one.system and one.doc for one in self._rated):
            raise DataError(
                f"--outputs {self.outputs}: no row has system and doc, by which own texts are found"
            )
        for number, item in enumerate(self.items):
            yield pair_case(_QUALITY, item, item.wrong, item.answer)
            if self._asked(_POSITION):
                yield pair_case(_POSITION, item, item.answer, item.equal, ())
            for bias in self._biases:
                yield pair_case(bias.slice, item, *bias.make(item, number))
            if self._asked(_REPEATS):
                yield self._repeated(item)

    def _repeated(self, item: Item) -> Case:
        samples = {
            role: Sample(item.answer, (item.equal,), item.question, rival=item.wrong, draw=draw)
            for draw, role in enumerate(self._draws)
        }
        return Case(f"{_REPEATS}/{item.id}", samples, _REPEATS, {"item": item.id})

    @property
    def _draws(self) -> tuple[str, ...]:
        return tuple(f"draw-{number}" for number in range(1, self.draws + 1))

    def more(self, scored: Scored) -> Sequence[Case]:
        """Once a judge is known: answers under its own name, and its own outputs."""
        backbone = scored.about.get("backbone")
        if not backbone or not self._asked(_SELF):
            return ()
        if any(case.slice.startswith(f"{_SELF}/") for case in scored.cases):
            return ()
        own = self.own or PurePath(str(backbone)).name
        found = list(own_name_cases(self.items, own))
        return [*found, *own_text_cases(self._rated, own)]

    def panel(self) -> Sequence[str]:
        """The judge to be mended, and its remedies."""
        return list(variants(self.mitigate)) if self.mitigate else []

    def final(self, scored: Sequence[Scored]) -> Sequence[Case]:
        """Nothing is searched for."""
        return ()

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Each judge on each bias, then what the remedies changed."""
        self._heard.clear()
        single = [one for one in scored if not one.about.get("set")]
        found = [finding for one in single for finding in self._judged(one)]
        if self.mitigate:
            found += changes([panel_of(one, _QUALITY) for one in single], self._primacy(single), self)
        return found

    @property
    def margins(self) -> Margins:
        """The smallest differences that matter."""
        sizes = (self.spread_margin, self.preference_margin)
        return Margins(*sizes, self.consistency_margin, self.scale_margin)

    def _judged(self, one: Scored) -> list[Finding]:
        panel, margins, seed = panel_of(one, _QUALITY), self.margins, self.seed
        found = [quality_gap(panel, _QUALITY, margins, seed)]
        found += [effect(panel, b.slice, b.worse, margins, seed, b.versus) for b in self._biases]
        found += [
            effect(panel, f"{_SELF}/{kind}", "above", margins, seed, "own - other")
            for kind in ("name", "text")
        ]
        if panel.pairwise and self._asked(_POSITION):
            found += position(one, _POSITION, margins, seed)
        elif _POSITION in self.only:
            self._heard[f"{one.metric} grades one text at a time: position needs mode=pairwise"] = None
        found += repeats(one, panel, _REPEATS, self._draws, margins, seed)
        if not panel.pairwise and one.about.get("paradigm") == "judge" and self._asked(_SCALE):
            found += scale_use(one, _QUALITY, margins, seed)
        return [finding for finding in found if finding is not None]

    @staticmethod
    def _primacy(scored: Sequence[Scored]) -> dict[str, Mapping[str, float]]:
        """The pull of the first place an item, of judges that compare."""
        found: dict[str, Mapping[str, float]] = {}
        for one in scored:
            listed = [place for place, case in enumerate(one.cases) if case.slice == _POSITION]
            pull = {
                str(one.cases[place].meta["item"]): float(
                    one.values["base"][place] + one.values["changed"][place] - 1.0
                )
                for place in listed
            }
            if panel_of(one, _QUALITY).pairwise:
                found[one.metric] = {item: value for item, value in pull.items() if np.isfinite(value)}
        return found

    def notes(self) -> list[str]:
        """How to read it."""
        notes = [
            "a judge that grades is read in spreads of its grades over right and wrong answers; one that "
            "compares, as a net preference from -1 to 1 over both orders; first group less second group"
        ]
        if self.rule == "paper":
            notes.append("judge-bias follows no single paper: --rule paper changes nothing here")
        if self.data and len(self.items) < 10:
            notes.append(f"{len(self.items)} items are too few for a verdict")
        return [*notes, *self._heard]
