"""Scores of one round in, texts of the next out: beam search over edits, a metric at a time.

The whole state of a search is in the cases scored so far, so that a run killed anywhere goes on from the
score cache, and equal scores lead to equal texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.audits._attack_edits import Move, Moves, apply, edit_ratio, free
from assay.audits._attack_words import Source
from assay.core import Case, Sample, Scored
from assay.recipe import digest, generator

QUERY = "attack"  # the role of a tried text
_BRANCH = 60  # edits that a text of the beam is tried with: the best ones on their own


@dataclass(frozen=True, slots=True)
class Plan:
    """How to search; `beam` 1 is greedy."""

    beam: int
    queries: int  # texts tried an item, at most
    source: Source
    seed: int


@dataclass(slots=True)
class Search:
    """One item: its texts so far, a list of (score, edits) a round."""

    case: Case
    tried: list[list[tuple[float, Moves]]] = field(default_factory=list)

    @property
    def gold(self) -> str:
        """The text attacked."""
        return self.case.samples["gold"].hypothesis

    @property
    def target(self) -> int:
        """Edits that reach the noise-ratio."""
        return int(self.case.meta["edits"])

    @property
    def used(self) -> int:
        """Texts tried."""
        return sum(map(len, self.tried))

    def best(self, count: int) -> list[tuple[float, Moves]]:
        """The best texts of the last round."""
        return sorted(self.tried[-1], key=lambda pair: (-pair[0], pair[1]))[:count] if self.tried else []

    @property
    def found(self) -> tuple[float, Moves] | None:
        """The best text at the noise-ratio, once the search has reached it."""
        return next(iter(self.best(1)), None) if len(self.tried) == self.target else None


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
            rounds[number - 1].append((float(value), read_moves(case.meta)))
    return state


def read_moves(meta: Mapping[str, Any]) -> Moves:
    """The edits that a case's meta tells of."""
    return tuple(Move(*move) for move in meta["moves"])


def next_round(scored: Scored, plan: Plan) -> list[Case]:
    """The texts to try next, of all items at once: one call a round."""
    cases = []
    for item, search in searches(scored).items():
        if len(search.tried) < search.target:
            cases += [
                _query(item, search, moves, len(moves), scored.metric) for moves in _proposals(search, plan)
            ]
    return cases


def _query(item: str, search: Search, moves: Moves, number: int, metric: str) -> Case:
    text = apply(search.gold.split(), moves)
    told = [[move.place, move.kind, move.word] for move in moves]
    meta = {"item": item, "round": number, "moves": told}
    return Case(
        f"{item}/try/{digest(metric, text)[:12]}", {QUERY: tried(search.case, text)}, search.case.slice, meta
    )


def tried(case: Case, text: str) -> Sample:
    """Another text in the place of the gold."""
    gold = case.samples["gold"]
    return Sample(text, gold.references, gold.source)


def _proposals(search: Search, plan: Plan) -> list[Moves]:
    """Single edits at first, then the beam's texts with one more of the best single edits."""
    gold = search.gold
    if not search.tried:
        singles = plan.source.moves(gold)
        room = plan.queries if search.target == 1 else max(1, plan.queries // 2)
        if len(singles) > room:
            singles = sorted(generator(plan.seed, "attack", gold).sample(singles, room))
        return _distinct(gold, [(move,) for move in singles])
    left = search.target - len(search.tried)
    share = (plan.queries - search.used) // left  # queries of this round
    beam = search.best(min(plan.beam, max(1, share)))
    if share < 1 or not beam:
        return []
    branch = min(_BRANCH, max(1, share // len(beam)))
    singles = [moves[0] for _, moves in sorted(search.tried[0], key=lambda pair: (-pair[0], pair[1]))]
    found = []
    for _, moves in beam:
        clear = [move for move in singles if free(moves, move)]
        found += [tuple(sorted((*moves, move))) for move in clear[:branch]]
    return _distinct(gold, list(dict.fromkeys(found)))[:share]


def _distinct(gold: str, proposals: Sequence[Moves]) -> list[Moves]:
    """Proposals with texts of their own whose distance is the number of their edits: none undoes another."""
    words = gold.split()
    kept: dict[str, Moves] = {}
    for moves in proposals:
        text = apply(words, moves)
        if text and text not in kept and round(edit_ratio(gold, text) * len(words)) == len(moves):
            kept[text] = moves
    return list(kept.values())
