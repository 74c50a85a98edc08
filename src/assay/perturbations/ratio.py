"""A text and its noised form in: how much was changed (noise-ratio, *blind* Eq. 1), and what (alignment)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Levenshtein

EditKind = Literal["replace", "insert", "delete"]


@dataclass(frozen=True, slots=True)
class Edit:
    """Words of the gold, from `start` on, that became other words."""

    kind: EditKind
    start: int
    before: str
    after: str


def noise_ratio(gold: str, noised: str, *, switched: bool = False) -> float:
    """Word-level Levenshtein distance over the gold's length; halved where words only changed places.

    Levenshtein knows no switch and counts it twice (*blind*, footnote 7).

    >>> noise_ratio("she went to the office", "she went to")
    0.4
    >>> noise_ratio("a b c d", "b a c d", switched=True)
    0.25
    """
    words = gold.split()
    if not words:
        return 0.0
    ratio = Levenshtein.distance(words, noised.split()) / len(words)
    return ratio / 2 if switched else ratio


def alignment(gold: str, noised: str) -> tuple[Edit, ...]:
    """What changed, as the edits of a shortest word alignment.

    >>> [(edit.kind, edit.before, edit.after) for edit in alignment("she went out", "she did not go out")]
    [('insert', '', 'did not'), ('replace', 'went', 'go')]
    """
    before, after = gold.split(), noised.split()
    edits = []
    for op in Levenshtein.opcodes(before, after):
        kind = _KINDS.get(op.tag)
        if kind is not None:
            old = " ".join(before[op.src_start : op.src_end])
            edits.append(Edit(kind, op.src_start, old, " ".join(after[op.dest_start : op.dest_end])))
    return tuple(edits)


_KINDS: dict[str, EditKind] = {"replace": "replace", "insert": "insert", "delete": "delete"}
