"""Translation edit rate: how many edits and block shifts turn the hypothesis into a reference.

The search is Tercom's as sacreBLEU re-implements it, limits and order of preference included. Words are coded
as characters, so that rapidfuzz can measure the candidates; where sacreBLEU's beam could miss the true
distance, the beam is computed as well.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from assay.core import Metric, Sample
from assay.errors import SpecError
from assay.metrics.text import memo, tokens

# sacreBLEU's limits (lib_ter.py).
MAX_SHIFT_SIZE, MAX_SHIFT_DISTANCE, BEAM_WIDTH, MAX_CANDIDATES = 10, 50, 25, 1000
_FAR = 10**9
TerTokenize = Literal["tercom", "char", "zh", "13a"]


@dataclass(frozen=True, slots=True)
class Band:
    """One row of a beam-limited edit distance matrix: costs from column `start` on."""

    start: int
    costs: list[int]

    def at(self, column: int) -> int:
        """Return the cost in a column; outside of the band it is very large."""
        place = column - self.start
        return self.costs[place] if 0 <= place < len(self.costs) else _FAR


def beam(hypothesis: str, reference: str, known: Sequence[Band] = ()) -> list[Band]:
    """Return the matrix, row 0 first; `known` rows of a hypothesis with the same beginning are reused."""
    rows = list(known) or [Band(0, list(range(len(reference) + 1)))]
    ratio = len(reference) / len(hypothesis) if hypothesis else 1.0
    width = BEAM_WIDTH if ratio / 2 <= BEAM_WIDTH else math.ceil(ratio / 2 + BEAM_WIDTH)
    for row in range(len(rows), len(hypothesis) + 1):
        middle = math.floor(row * ratio)
        first = max(0, middle - width)
        last = len(reference) + 1 if row == len(hypothesis) else min(len(reference) + 1, middle + width)
        rows.append(_next_band(rows[-1], hypothesis[row - 1], reference, first, last))
    return rows


def _next_band(above: Band, word: str, reference: str, first: int, last: int) -> Band:
    # The row above as plain lists over the same columns: the cell above and the one to its left.
    held = len(above.costs)
    shift = first - above.start
    over = above.costs[max(shift, 0) : max(shift, 0) + last - first]
    over += [_FAR] * (last - first - len(over))
    if first:
        left, diagonal, costs = _FAR, above.costs[shift - 1] if 0 < shift <= held else _FAR, list[int]()
    else:
        left, diagonal, costs = over[0] + 1, over[0], [over[0] + 1]
    for up, other in zip(over[len(costs) :], reference[max(first - 1, 0) : last - 1], strict=True):
        cost = diagonal if word == other else diagonal + 1
        if up < cost:
            cost = up + 1 if up + 1 < cost else cost
        if left < cost:
            cost = left + 1 if left + 1 < cost else cost
        costs.append(cost)
        left, diagonal = cost, up
    return Band(first, costs)


@dataclass(frozen=True, slots=True)
class Alignment:
    """The place of each reference word in the hypothesis, and running counts of the words in error."""

    places: list[int]
    hypothesis_errors: list[int]
    reference_errors: list[int]


def align(rows: Sequence[Band], hypothesis: str, reference: str) -> Alignment:
    """Backtrack, preferring match or substitution, then an extra hypothesis word, then a missing one."""
    at, column = len(hypothesis), len(reference)
    places = [-1] * column
    wrong_mine, wrong_theirs = [0] * (at + 1), [0] * (column + 1)
    while at or column:
        cost = rows[at].at(column)
        differs = int(bool(at and column) and hypothesis[at - 1] != reference[column - 1])
        if at and column and rows[at - 1].at(column - 1) + differs == cost:
            at, column = at - 1, column - 1
            places[column] = at
            wrong_mine[at + 1], wrong_theirs[column + 1] = differs, differs
        elif at and rows[at - 1].at(column) + 1 == cost:
            at -= 1
            wrong_mine[at + 1] = 1
        else:
            column -= 1
            places[column] = at - 1
            wrong_theirs[column + 1] = 1
    return Alignment(places, list(accumulate(wrong_mine)), list(accumulate(wrong_theirs)))


def shifted_pairs(hypothesis: str, reference: str, errors: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Iterate in Tercom's order over equal word sequences: start in hypothesis, in reference, and length."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for at, word in enumerate(reference):
        places[word].append(at)
    for start, word in enumerate(hypothesis):
        if errors[min(start + MAX_SHIFT_SIZE, len(hypothesis))] == errors[start]:
            continue  # no word within reach is in error: there is nothing to shift
        for place in places.get(word, ()):
            if abs(place - start) > MAX_SHIFT_DISTANCE:
                continue
            most = min(MAX_SHIFT_SIZE, len(hypothesis) - start, len(reference) - place)
            length = 1
            yield start, place, length
            while length < most and hypothesis[start + length] == reference[place + length]:
                length += 1
                yield start, place, length


def shift(words: str, start: int, length: int, target: int) -> str:
    """Return the words with a block moved before the target."""
    block = words[start : start + length]
    if target < start:
        return words[:target] + block + words[target:start] + words[start + length :]
    if target > start + length:
        return words[:start] + words[start + length : target] + block + words[target:]
    return words[:start] + words[start + length : length + target] + block + words[length + target :]


def targets(aligned: Alignment, start: int, length: int) -> Iterator[int]:
    """Iterate over the places to try for a block that matches the reference at `start`."""
    before = -1
    for place in range(start - 1, start + length):
        if place >= len(aligned.places):
            return
        target = 0 if place == -1 else aligned.places[place] + 1
        if target != before:
            yield target
        before = target


def best_shift(hyp: str, ref: str, checked: int) -> tuple[int, str, int]:
    """Return the edits that the best shift saves, the shifted hypothesis, and the candidates checked."""
    rows = beam(hyp, ref)
    before = rows[-1].at(len(ref))
    aligned = align(rows, hyp, ref)
    best: tuple[int, int, int, int] | None = None
    result = hyp
    for start, start_reference, length in shifted_pairs(hyp, ref, aligned.hypothesis_errors):
        if not _worth_a_try(aligned, start, start_reference, length):
            continue
        for target in targets(aligned, start_reference, length):
            checked += 1
            rank = (length, -start, -target)
            # A shift must save more than the best so far, or as much and rank above it.
            least = 1 - _FAR if best is None else best[0] + (rank <= best[1:])
            moved = shift(hyp, start, length, target)
            saved = before - _distance(moved, ref, rows[: min(start, target) + 1], before - least)
            if saved >= least:
                best, result = (saved, *rank), moved
        if checked >= MAX_CANDIDATES:
            break
    return best[0] if best else 0, result, checked


def _distance(moved: str, ref: str, known: Sequence[Band], most: int) -> int:
    """Return the beam's distance, or any number above `most` where it is larger than that."""
    if most < 0:
        return 0
    exact = Levenshtein.distance(moved, ref, score_cutoff=min(most, len(moved) + len(ref)))
    # No path of that cost leaves the band: it is never farther from the diagonal than (cost + gap) / 2.
    if exact > most or exact + abs(len(moved) - len(ref)) <= 2 * (BEAM_WIDTH - 2):
        return exact
    return beam(moved, ref, known)[-1].at(len(ref))


def _worth_a_try(aligned: Alignment, start: int, start_reference: int, length: int) -> bool:
    """Whether both blocks hold an error and the block would not move within itself."""
    hyp, ref = aligned.hypothesis_errors, aligned.reference_errors
    return (
        hyp[start + length] > hyp[start]
        and ref[start_reference + length] > ref[start_reference]
        and not start <= aligned.places[start_reference] < start + length
    )


class TerText(NamedTuple):
    """How texts become words before they are compared; the last four are options of Tercom's tokeniser."""

    tokenize: TerTokenize = "tercom"
    case_sensitive: bool = False
    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False

    def words(self, text: str) -> Sequence[str]:
        if self.tokenize != "tercom":
            return tokens(text, self.tokenize, not self.case_sensitive)
        if self == TerText():
            return tokens(text, "tercom", True)
        return str(_tercom(self)(text.rstrip())).split()


@cache
def _tercom(how: TerText) -> Any:
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    return TercomTokenizer(how.normalized, how.no_punct, how.asian_support, how.case_sensitive)


@dataclass(frozen=True)
class TerOptions:
    """The options of sacreBLEU's TER, for sentences and for corpora."""

    tokenize: TerTokenize = "tercom"
    case_sensitive: bool = False
    normalized: bool = False  # punctuation and entities as Tercom's -N
    no_punct: bool = False
    asian_support: bool = False

    def __post_init__(self) -> None:
        """Refuse options of Tercom's tokeniser for another."""
        if self.tokenize != "tercom" and (self.normalized or self.no_punct or self.asian_support):
            raise SpecError(
                f"tokenize={self.tokenize} takes no normalized, no_punct or asian_support; tercom does"
            )
        if self.asian_support and not (self.normalized or self.no_punct):
            raise SpecError(
                "asian_support changes nothing by itself: give normalized=true or no_punct=true too"
            )

    @property
    def text(self) -> TerText:
        """How texts become words."""
        return TerText(self.tokenize, self.case_sensitive, self.normalized, self.no_punct, self.asian_support)


@memo(budget=2_000_000)
def edits(texts: tuple[str, str], how: TerText) -> tuple[int, int]:
    """Return the edits from hypothesis to reference, shifts included, and the reference's length in words."""
    hyp, ref = map(how.words, texts)
    code: dict[str, str] = {}
    for word in (*hyp, *ref):
        code.setdefault(word, chr(len(code)))
    hypothesis, reference = ("".join([code[word] for word in words]) for words in (hyp, ref))
    if not hypothesis or not reference or hypothesis == reference:
        return (0 if hypothesis == reference else len(hypothesis) + len(reference)), len(reference)
    shifts = checked = 0
    while True:
        saved, moved, checked = best_shift(hypothesis, reference, checked)
        if checked >= MAX_CANDIDATES or saved <= 0:
            break
        hypothesis = moved
        shifts += 1
    return shifts + beam(hypothesis, reference)[-1].at(len(reference)), len(reference)


def ter_statistics(sample: Sample, how: TerText) -> tuple[float, float]:
    """Return the fewest edits over the references, and the mean length of the references."""
    pairs = [edits((sample.hypothesis, reference), how) for reference in sample.references]
    return min(count for count, _ in pairs), sum(length for _, length in pairs) / len(pairs)


def edit_rate(count: float, length: float) -> float:
    """Return the edits per reference word, in percent; without reference words any edit is 100."""
    return 100 * count / length if length > 0 else 100.0 if count > 0 else 0.0


@dataclass(frozen=True)
class Ter(TerOptions, Metric):
    """Translation edit rate, negated: 0 is perfect, -100 is as many edits as words."""

    name = "ter"
    paradigm = "edit"
    range = (None, 0.0)
    original = "lower"
    identity_highest = True
    citation = (
        "Snover et al. 2006, A Study of Translation Edit Rate with Targeted Human Annotation, "
        "2006.amta-papers.25"
    )

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        return [-edit_rate(*ter_statistics(sample, self.text)) for sample in samples]
