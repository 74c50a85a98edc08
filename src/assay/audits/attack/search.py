"""Small edits of a text: which ones a search may try, the texts they make, and the search itself.

Places are those of the clean text's words, so that edits at different places commute and a set of them is a
text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from random import Random
from typing import Literal

import numpy as np

from assay.core import Case, Scored
from assay.datasets.lexicon import antonyms, match_case, siblings, synonyms
from assay.models.fill import masked_words
from assay.models.nlp import Token, parse_one
from assay.models.vectors import embeddings
from assay.perturbations.edit import class_and_lemma
from assay.perturbations.ratio import edit_ratio
from assay.recipe import digest, generator

_Kind = Literal["delete", "replace", "insert", "swap"]
ATTACK_KINDS: tuple[_Kind, ...] = ("delete", "replace", "insert", "swap")
_COMMON = 50_000  # GloVe is sorted by frequency: rarer neighbours are typos and names


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """One edit: `word` replaces the word at `place` or is put before it; a swap takes the next word too."""

    place: int
    kind: _Kind
    word: str = ""

    @property
    def places(self) -> tuple[int, ...]:
        return (self.place, self.place + 1) if self.kind == "swap" else (self.place,)


Moves = tuple[Move, ...]


def apply(words: Sequence[str], moves: Sequence[Move]) -> str:
    """The text after the edits, which must not touch the same words.

    >>> apply("she went to the office".split(), [Move(0, "replace", "he"), Move(3, "delete")])
    'he went to office'
    """
    pieces = [[word] for word in words]
    for move in moves:
        old, following = pieces[move.place], pieces[move.place + 1 : move.place + 2]
        if move.kind == "swap":
            pieces[move.place : move.place + 2] = [*following, old]
        elif move.kind == "insert":
            pieces[move.place] = [move.word, *old]
        else:
            pieces[move.place] = [move.word] if move.word else []
    return " ".join(chain.from_iterable(pieces))


def free(moves: Sequence[Move], new: Move) -> bool:
    """Whether a new edit is apart from the others: neighbouring edits could undo each other."""
    taken = {place for move in moves for place in move.places}
    return not taken & set(range(min(new.places) - 1, max(new.places) + 2))


def edits_needed(words: Sequence[str], ratio: float) -> int:
    """How many edits bring a text to a noise-ratio.

    >>> edits_needed(["word"] * 22, 0.15), edits_needed(["word"] * 20, 0.15)
    (4, 3)
    """
    return max(1, math.ceil(ratio * len(words) - 1e-9))


def random_moves(words: Sequence[str], count: int, pool: Sequence[str], rng: Random) -> Moves:
    """Random edits of any kind, at any place, with any word of the corpus."""
    moves: list[Move] = []
    for _ in range(50 * count):
        if len(moves) == count:
            break
        kind, place = rng.choice(ATTACK_KINDS), rng.randrange(len(words))
        move = Move(place, kind, rng.choice(pool) if kind in ("replace", "insert") else "")
        if real(words, move) and free(moves, move):
            moves.append(move)
    return tuple(sorted(moves))


def real(words: Sequence[str], move: Move) -> bool:
    """Whether an edit changes more than case or punctuation."""
    old, new = core(words[move.place]), core(move.word)
    if move.kind == "insert":
        return bool(new)
    if move.kind == "swap":
        following = core("".join(words[move.place + 1 : move.place + 2]))
        return old != following and "" not in (old, following)
    return old not in ("", new)


def core(word: str) -> str:
    """A word in lower case without punctuation.

    >>> core('"Yes,"'), core("--")
    ('yes', '')
    """
    return "".join(letter for letter in word.lower() if letter.isalnum())


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text between spaces, with its first token that has a letter or digit, if any."""

    text: str
    token: Token | None


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[Word, ...]:
    """The words of a text between spaces."""
    parsed, words, end = parse_one(text), [], 0
    for piece in text.split():
        start = text.index(piece, end)
        end = start + len(piece)
        inside = [token for token in parsed.tokens if start <= token.start < end and core(token.text)]
        words.append(Word(piece, inside[0] if inside else None))
    return tuple(words)


@dataclass(frozen=True, slots=True)
class Source:
    """Where candidate edits come from: neighbours by word vectors, and a masked language model if named."""

    embeddings: str = "glove"
    neighbours: int = 8  # the paper's k2
    model: str | None = None
    masked: int = 8  # the paper's k1
    kinds: tuple[_Kind, ...] = ATTACK_KINDS

    def moves(self, text: str) -> list[Move]:
        """Every edit a search may make to a text, place by place."""
        words = words_of(text)
        proposed = masked_words(self.model, text, self.masked) if self.model else [()] * len(words)
        moves: list[Move] = []
        for place, (word, extra) in enumerate(zip(words, proposed, strict=True)):
            substitutes = dict.fromkeys([*self.substitutes(word), *extra])
            moves += [Move(place, "delete"), Move(place, "swap")]
            moves += [Move(place, "replace", dressed(word.text, new)) for new in substitutes]
            bare = word.text.strip(".,;:!?\"'()")  # the word once more, and a negation
            moves += [Move(place, "insert", new) for new in (bare, "not") if core(bare)]
        plain = [word.text for word in words]
        return [move for move in dict.fromkeys(moves) if move.kind in self.kinds and real(plain, move)]

    def substitutes(self, word: Word) -> list[str]:
        """Words near this one with another meaning; synonyms are left out, as they would paraphrase."""
        if word.token is None:
            return []
        key = class_and_lemma(word.token) or ("", "")  # which no list has
        same = set(map(core, synonyms().get(key, ())))
        listed = [*antonyms().get(key, ())[:2], *siblings().get(key, ())[:2]]
        near = neighbours(self.embeddings, word.token.text.lower(), self.neighbours + len(same) + 4)
        different = [new for new in [*listed, *near] if _differs(word, new, same)]
        return different[: self.neighbours + len(listed)]


def _differs(word: Word, new: str, same: set[str]) -> bool:
    old = core(word.text)
    is_number = old.isdigit() or (word.token is not None and word.token.pos == "NUM")
    respelt = old.isdigit() != new.isdigit() and is_number  # 7 and seven are one number
    return " " not in new and bool(core(new)) and core(new) not in same | {old} and not respelt


def dressed(old: str, new: str) -> str:
    """A new word with the case and punctuation of the old one.

    >>> dressed('"Seven,', "eight")
    '"Eight,'
    """
    start = next((i for i, letter in enumerate(old) if letter.isalnum()), 0)
    end = next((i for i in range(len(old), 0, -1) if old[i - 1].isalnum()), len(old))
    return old[:start] + match_case(new, old[start:end]) + old[end:]


@lru_cache(maxsize=50_000)
def neighbours(model: str, word: str, count: int) -> tuple[str, ...]:
    """The nearest common words by cosine, nearest first; nothing for a word without a vector."""
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
    table = embeddings(model)
    names = [word for word in list(table.rows)[:_COMMON] if word.isalnum()]
    matrix = np.asarray(table.matrix[[table.rows[word] for word in names]], dtype=np.float32)
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    return unit, dict(zip(names, unit, strict=True)), names


ATTACK = "attack"  # the role of a tried text
_BRANCH = 60  # single edits, the best ones, that a text of the beam is tried with


@dataclass(frozen=True, slots=True)
class AttackPlan:
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
        return self.case.samples["gold"].hypothesis

    @property
    def target(self) -> int:
        """How many edits reach the noise-ratio."""
        return int(self.case.meta["edits"])

    @property
    def used(self) -> int:
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
    values = scored.values.get(ATTACK, np.full(len(scored.cases), np.nan))
    state = {case.id: Search(case) for case in scored.cases if "edits" in case.meta}
    pairs = zip(scored.cases, values, strict=True)
    tried = [(case, value) for case, value in pairs if "moves" in case.meta and case.meta["item"] in state]
    for case, value in tried:
        rounds, number = state[case.meta["item"]].tried, int(case.meta["round"])
        rounds += [[] for _ in range(number - len(rounds))]
        if np.isfinite(value):
            rounds[number - 1].append((float(value), tuple(Move(*move) for move in case.meta["moves"])))
    return state


def next_round(scored: Scored, plan: AttackPlan) -> list[Case]:
    """The texts to try next, of all items at once, so that each round is one call."""
    searching = [(item, s) for item, s in searches(scored).items() if len(s.tried) < s.target]
    tries = [(item, search, moves) for item, search in searching for moves in _proposals(search, plan)]
    return [_query(item, search, moves, scored.metric) for item, search, moves in tries]


def _query(item: str, search: Search, moves: Moves, metric: str) -> Case:
    text = apply(search.gold.split(), moves)
    edits = [[move.place, move.kind, move.word] for move in moves]
    sample = replace(search.case.samples["gold"], hypothesis=text)
    meta = {"item": item, "round": len(moves), "moves": edits}
    return Case(f"{item}/try/{digest(metric, text)[:12]}", {ATTACK: sample}, search.case.slice, meta)


def _proposals(search: Search, plan: AttackPlan) -> list[Moves]:
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
