"""Scores of one round in, texts of the next out: beam search over edits, one metric at a time.

The whole state of a search is in the cases scored so far, so that a run killed at any moment continues from
the score cache, and equal scores lead to equal texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assay.audits.attack.edits import Move, Moves, Source, apply, free
from assay.core import Case, Scored
from assay.perturbations.ratio import edit_ratio
from assay.recipe import digest, generator

QUERY = "attack"  # the role of a tried text
_BRANCH = 60  # single edits, the best ones, that a text of the beam is tried with


@dataclass(frozen=True, slots=True)
class Plan:
    """How to search; `beam` 1 is greedy."""

    beam: int
    queries: int  # texts tried per item, at most
    source: Source
    seed: int


@dataclass(slots=True)
class Search:
    """One item, and what was tried on it: for each round, pairs of score and edits."""

    case: Case
    tried: list[list[tuple[float, Moves]]] = field(default_factory=list)

    @property
    def gold(self) -> str:
        """The clean text that is attacked."""
        return self.case.samples["gold"].hypothesis

    @property
    def target(self) -> int:
        """How many edits reach the noise-ratio."""
        return int(self.case.meta["edits"])

    @property
    def used(self) -> int:
        """How many texts were tried."""
        return sum(map(len, self.tried))

    def ranked(self, number: int) -> list[tuple[float, Moves]]:
        """The texts of one round, the highest score first."""
        return sorted(self.tried[number], key=lambda pair: (-pair[0], pair[1])) if self.tried else []

    @property
    def found(self) -> tuple[float, Moves] | None:
        """The best text at the noise-ratio; None before the search has reached it."""
        return next(iter(self.ranked(-1)), None) if len(self.tried) == self.target else None


def searches(scored: Scored) -> dict[str, Search]:
    """The state of every item's search, by the id of its case."""
    values = scored.values.get(QUERY, np.full(len(scored.cases), np.nan))
    state = {case.id: Search(case) for case in scored.cases if "edits" in case.meta}
    for case, value in zip(scored.cases, values, strict=True):
        if "moves" not in case.meta or case.meta["item"] not in state:
            continue
        rounds, number = state[case.meta["item"]].tried, int(case.meta["round"])
        while len(rounds) < number:
            rounds.append([])
        if np.isfinite(value):
            rounds[number - 1].append((float(value), tuple(Move(*move) for move in case.meta["moves"])))
    return state


def next_round(scored: Scored, plan: Plan) -> list[Case]:
    """The texts to try next, of all items at once, so that each round is one call."""
    return [
        _query(item, search, moves, scored.metric)
        for item, search in searches(scored).items()
        if len(search.tried) < search.target
        for moves in _proposals(search, plan)
    ]


def _query(item: str, search: Search, moves: Moves, metric: str) -> Case:
    text = apply(search.gold.split(), moves)
    edits = [[move.place, move.kind, move.word] for move in moves]
    sample = replace(search.case.samples["gold"], hypothesis=text)
    meta = {"item": item, "round": len(moves), "moves": edits}
    return Case(f"{item}/try/{digest(metric, text)[:12]}", {QUERY: sample}, search.case.slice, meta)


def _proposals(search: Search, plan: Plan) -> list[Moves]:
    """Single edits at first, then the beam's texts with one more of the best single edits."""
    gold = search.gold
    if not search.tried:
        singles = plan.source.moves(gold)
        room = plan.queries if search.target == 1 else max(1, plan.queries // 2)
        if len(singles) > room:
            singles = sorted(generator(plan.seed, "attack", gold).sample(singles, room))
        return _distinct(gold, [(move,) for move in singles])
    share = (plan.queries - search.used) // (search.target - len(search.tried))  # queries of this round
    beam = search.ranked(-1)[: min(plan.beam, max(1, share))]
    if share < 1 or not beam:
        return []
    branch = min(_BRANCH, max(1, share // len(beam)))
    singles = [moves[0] for _, moves in search.ranked(0)]
    proposals: list[Moves] = []
    for _, moves in beam:
        clear = [move for move in singles if free(moves, move)]
        proposals += [tuple(sorted((*moves, move))) for move in clear[:branch]]
    return _distinct(gold, list(dict.fromkeys(proposals)))[:share]


def _distinct(gold: str, proposals: Sequence[Moves]) -> list[Moves]:
    """One proposal per text, if its distance is the number of its edits, so that none undoes another."""
    words = gold.split()
    by_text: dict[str, Moves] = {}
    for moves in proposals:
        text = apply(words, moves)
        if text and text not in by_text and round(edit_ratio(gold, text) * len(words)) == len(moves):
            by_text[text] = moves
    return list(by_text.values())
