"""Scores of one round in, texts of the next out: beam search over edits, a metric at a time.

The whole state of a search is in the cases scored so far, so that a run killed anywhere goes on from the
score cache, and equal scores lead to equal texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from assay.audits.attack.edits import KINDS, Kind, Move, Moves, apply, core, edit_ratio, free, real
from assay.core import Case, Sample, Scored
from assay.datasets.lexicon import antonyms, match_case, siblings, synonyms, word_set
from assay.models.nlp import Parse, Token, parse_one
from assay.names.registry import load
from assay.perturbations.edit import class_and_lemma
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


_EMBEDDINGS = "assay.metrics.static:embeddings"  # by name: audits do not import metrics
_MASKED = "assay.models.generate:masked_words"
_COMMON = 50_000  # GloVe is sorted by frequency: rarer neighbours are typos and names
_ENTITIES = frozenset(["PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT", "WORK_OF_ART"])
_DEMONSTRATIVES = frozenset(["this", "these", "that", "those"])
_CATEGORIES: Mapping[str, str] = {
    "PRON": "pronoun", "NUM": "number", "PROPN": "name", "ADP": "preposition", "AUX": "auxiliary",
    "VERB": "verb", "NOUN": "noun", "ADJ": "adjective", "ADV": "adverb", "CCONJ": "conjunction",
    "SCONJ": "conjunction", "PART": "particle", "DET": "determiner",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text between spaces, with the token that carries its meaning."""

    text: str
    token: Token | None

    @property
    def category(self) -> str:
        """The kind of word, as a reader names it."""
        token, lower = self.token, core(self.text)
        if token is None or not lower:
            return "mark"
        if lower in word_set("words", "articles"):
            return "article"
        if token.dep == "neg" or lower in ("not", "no", "never", "cannot") or "n't" in self.text.lower():
            return "negation"
        if lower.isdigit():
            return "number"
        if token.tag in ("PRP$", "WP$") or (token.pos == "DET" and lower in _DEMONSTRATIVES):
            return "pronoun"
        if token.entity in _ENTITIES and token.pos == "PROPN":
            return "name"
        return _CATEGORIES.get(token.pos, "other")


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[Word, ...]:
    """The words between spaces, each with its first token that has a letter or digit."""
    parsed: Parse = parse_one(text)
    found, at = [], 0
    for piece in text.split():
        start = text.index(piece, at)
        at = start + len(piece)
        inside = [t for t in parsed.tokens if start <= t.start < at and core(t.text)]
        found.append(Word(piece, inside[0] if inside else None))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Source:
    """Where candidates come from: `neighbours` by embedding, and a masked model where one is named."""

    embeddings: str = "glove"
    neighbours: int = 8  # the paper's k2
    model: str | None = None
    masked: int = 8  # the paper's k1
    kinds: tuple[Kind, ...] = KINDS

    def moves(self, text: str) -> list[Move]:
        """Every edit a search may make to a text, place by place."""
        words = words_of(text)
        plain = [word.text for word in words]
        proposed = self._masked(text) if self.model else [()] * len(words)
        found: dict[Move, None] = {}
        for place, (word, extra) in enumerate(zip(words, proposed, strict=True)):
            found[Move(place, "delete")] = None
            found[Move(place, "swap")] = None
            for new in dict.fromkeys([*self.substitutes(word), *extra]):
                found[Move(place, "replace", dressed(word.text, new))] = None
            for new in _insertions(word):
                found[Move(place, "insert", new)] = None
        return [move for move in found if move.kind in self.kinds and real(plain, move)]

    def substitutes(self, word: Word) -> list[str]:
        """Words near this one that mean something else: a listed synonym would be a paraphrase."""
        if word.token is None:
            return []
        key = class_and_lemma(word.token)
        same = {core(other) for other in synonyms().get(key, ())} if key else set()
        listed = [*antonyms().get(key, ())[:2], *siblings().get(key, ())[:2]] if key else []
        near = neighbours(self.embeddings, word.token.text.lower(), self.neighbours + len(same) + 4)
        kept = [new for new in [*listed, *near] if self._differs(word, new, same)]
        return kept[: self.neighbours + len(listed)]

    @staticmethod
    def _differs(word: Word, new: str, same: set[str]) -> bool:
        old = core(word.text)
        spelt = old.isdigit() != new.isdigit() and word.category == "number"  # 7 and seven are one number
        return " " not in new and bool(core(new)) and core(new) not in same | {old} and not spelt

    def _masked(self, text: str) -> Sequence[Sequence[str]]:
        propose: Any = load(_MASKED)
        found: Sequence[Sequence[str]] = propose(str(self.model), text, self.masked)
        return found


def _insertions(word: Word) -> list[str]:
    """The word said twice, and a negation before it."""
    bare = word.text.strip(".,;:!?\"'()")
    return [bare, "not"] if core(bare) else []


def dressed(old: str, new: str) -> str:
    """A new word in the case and between the marks of the old one.

    >>> dressed('"Seven,', "eight")
    '"Eight,'
    """
    start = next((i for i, letter in enumerate(old) if letter.isalnum()), 0)
    end = next((i for i in range(len(old), 0, -1) if old[i - 1].isalnum()), len(old))
    return old[:start] + match_case(new, old[start:end]) + old[end:]


@lru_cache(maxsize=50_000)
def neighbours(model: str, word: str, count: int) -> tuple[str, ...]:
    """The nearest common words by cosine, nearest first; none for a word without a vector."""
    unit, index, names = _table(model)
    row = index.get(word)
    if row is None:
        return ()
    near = unit @ row
    best = np.argpartition(-near, count + 1)[: count + 1]
    ordered = best[np.argsort(-near[best], kind="stable")]
    return tuple(names[place] for place in ordered if names[place] != word)[:count]


@lru_cache(maxsize=2)
def _table(model: str) -> tuple[np.ndarray, Mapping[str, np.ndarray], list[str]]:
    open_table: Any = load(_EMBEDDINGS)
    table = open_table(model)
    every = list(table.rows)
    names = [word for word in every[:_COMMON] if word.isalnum()]
    matrix = np.asarray(table.matrix[[table.rows[word] for word in names]], dtype=np.float32)
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    return unit, dict(zip(names, unit, strict=True)), names
