"""A clean text and its edited form: how much was changed (noise-ratio, *blind* Eq. 1), and what (alignment).

`noise_ratio` is the paper's; `edit_ratio` is for texts with edits of several kinds, swaps among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from rapidfuzz.distance import OSA, Levenshtein

from assay.language import split_words


@dataclass(frozen=True, slots=True)
class Edit:
    """Words of the clean text, from word `start` on, and the words they became; either may be none."""

    start: int
    before: str
    after: str


def noise_ratio(gold: str, noised: str, *, switched: bool = False) -> float:
    """Word-level Levenshtein distance over the clean text's length; halved where words only changed places.

    Levenshtein has no edit for a switch and counts it twice (*blind*, footnote 7).

    >>> noise_ratio("she went to the office", "she went to")
    0.4
    >>> noise_ratio("a b c d", "b a c d", switched=True)
    0.25
    """
    words = split_words(gold)
    if not words:
        return 0.0
    ratio = Levenshtein.distance(words, split_words(noised)) / len(words)
    return ratio / 2 if switched else ratio


def edit_ratio(gold: str, edited: str) -> float:
    """The noise-ratio with two neighbouring words that changed places counted as one edit.

    The paper halves the ratio of switches; in a text with edits of several kinds the same is done by the
    restricted Damerau distance. It is never above the plain ratio.

    >>> edit_ratio("a b c d", "b a c d"), edit_ratio("a b c d", "a c")
    (0.25, 0.5)
    """
    words = split_words(gold)
    return OSA.distance(words, split_words(edited)) / len(words) if words else 0.0


def alignment(gold: str, noised: str) -> tuple[Edit, ...]:
    """The edits of a shortest word alignment.

    >>> [(edit.before, edit.after) for edit in alignment("she went out", "she did not go out")]
    [('', 'did not'), ('went', 'go')]
    """
    before, after = split_words(gold), split_words(noised)
    changed = [op for op in Levenshtein.opcodes(before, after) if op.tag != "equal"]
    old = [" ".join(before[op.src_start : op.src_end]) for op in changed]
    new = [" ".join(after[op.dest_start : op.dest_end]) for op in changed]
    return tuple(Edit(op.src_start, *words) for op, *words in zip(changed, old, new, strict=True))
