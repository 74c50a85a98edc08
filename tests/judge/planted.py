"""Planted judges: one that is fair and sees, and ones with a single bias of known size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from assay.audits.judge_bias.pairs import biases, embedded_items, lost_texts, own_name_cases
from assay.core import Metric
from assay.recipe import digest

OWN = "planted-model"
NOISE = 0.02  # either way: a standard deviation of 0.012 a grade
LOST = 0.1  # what a lost word costs


@cache
def changed_texts(slice_: str) -> frozenset[str]:
    """Every text that carries what the bias is about."""
    items = embedded_items()
    if slice_ == "self-preference/name":
        turned = [items[n:] + items[:n] for n in range(4)]  # an item may meet any of the wordings
        cases = [case for order in turned for case in own_name_cases(order, OWN)]
    else:
        bias = next(one for one in biases() if one.slice == slice_)
        cases = [bias.case(item, number) for number in range(len(items)) for item in items]
    roles = ("changed", "wrong")
    return frozenset(
        case.samples[role].hypothesis for case in cases for role in roles if role in case.samples
    )


@cache
def wrong_sentences() -> tuple[str, ...]:
    """A sentence of each wrong answer that no right one has; no change of an answer hides it."""
    right = "\n".join(item.answer for item in embedded_items())
    return tuple(
        next(sentence for sentence in item.wrong.split(". ") if sentence not in right)
        for item in embedded_items()
    )


@cache
def incomplete_answers() -> frozenset[str]:
    """Every right answer that lost a word."""
    return frozenset(text for item in embedded_items() for text in lost_texts(item.answer, item.id))


@dataclass(frozen=True)
class Planted(Metric):
    """Right answers 0.7, wrong ones 0.2, a lost word 0.1 less; `size` more for what `bias` is about."""

    name = "planted"
    paradigm = "judge"
    citation = "planted"
    range = (0.0, 1.0)
    model: str = OWN
    mode: str = "pointwise"
    bias: str = ""
    size: float = 0.0
    primacy: float = 0.0
    noise: float = NOISE
    jitter: float = 0.0  # between repeats
    squeeze: float = 1.0  # share of the scale it uses
    curved: bool = False  # an increasing transform of its grades
    sees: bool = True
    seed: int = 0
    anchored: bool = False  # halves the bias
    blind: bool = False  # ends it
    swap: bool = False

    @property
    def needs(self):
        return frozenset({"rival"}) if self.mode == "pairwise" else frozenset()

    @property
    def optional(self):
        return frozenset({"source", "references"})

    @property
    def stochastic(self) -> bool:
        return self.jitter > 0

    def _chance(self, *parts: str) -> float:
        """From -1 to 1, the same for the same texts."""
        return int(digest(str(self.seed), *parts)[:6], 16) / 0xFFFFFF * 2 - 1

    def _grade(self, text: str, draw: int) -> float:
        wrong = any(sentence in text for sentence in wrong_sentences())
        value = 0.2 if wrong and self.sees else 0.7
        if self.bias and not self.blind and text in changed_texts(self.bias):
            value += self.size / (2 if self.anchored else 1)
        value -= LOST * (self.sees and text in incomplete_answers())
        value += self.noise * self._chance(text) + self.jitter * self._chance(text, str(draw))
        return value**3 if self.curved else 0.5 + (value - 0.5) * self.squeeze

    def _prefers(self, one: str, other: str, draw: int) -> float:
        """P(one is better), shown first."""
        gap = self._grade(one, draw) - self._grade(other, draw)
        return min(1.0, max(0.0, 0.5 + (gap + self.primacy) / 2))

    def score(self, samples):
        if self.mode == "pointwise":
            return [self._grade(s.hypothesis, s.draw) for s in samples]
        found = []
        for s in samples:
            first = self._prefers(s.hypothesis, s.rival, s.draw)
            second = self._prefers(s.rival, s.hypothesis, s.draw)
            found.append((first + 1 - second) / 2 if self.swap else first)
        return found
