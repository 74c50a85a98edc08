"""Positioned errors (*blind* sec. 5.1): does a metric notice an error wherever it stands?

Ten words at the start, in the middle or at the end are shuffled, or replaced by words of the corpus. The
clean text must win at each position. By the paper's rule the mean must fall, and its change is also given as
a share of the clean score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal

from assay.audits.base import TextAudit, in_words, order_in_words
from assay.audits.corpora import MEAN_CHANGE, BlindSpot, right_order_statistic
from assay.audits.effects import BAR, CLEAN, AlignedScores
from assay.core import Finding, Perturbation, Record, Statistic
from assay.perturbations import degenerate
from assay.perturbations.degenerate import ERROR_KINDS, POSITIONS, PositionedError
from assay.perturbations.released import TokenError

_ERRORS = {"random": "random words", "shuffle": "shuffled words"}
_PLACES = {"start": "at the start", "middle": "in the middle", "end": "at the end"}


def _sentence(finding: Finding) -> str:
    corpus, kind, position = finding.slice.split("/")
    worse = f"one with {_ERRORS[kind]} {_PLACES[position]}"
    return order_in_words(finding, f"a clean text ({in_words(corpus)})", worse)


@dataclass(frozen=True)
class Position(BlindSpot, TextAudit):
    """Spans damaged at three positions, in two ways."""

    name = "position"
    title = "Errors at the start, in the middle, at the end"
    advice = "Do not trust it on long texts whose errors may stand where it does not notice them."
    wants = "an item needs a gold of three spans or more (--span, ten words each by default)"
    tasks = ("open-ended", "summarisation")
    quick: ClassVar[Mapping[str, Any]] = {"seeds": 1}
    statistics = (
        right_order_statistic("a clean text and one with an error at this position", "", sentence=_sentence),
        MEAN_CHANGE,
        Statistic(
            "relative_change", "The change of the mean as a share of the clean score (table 2).", "share"
        ),
    )

    seeds: int = 5
    task: tuple[str, ...] = ()
    span: int = 10
    unit: Literal["word", "token"] = (
        "word"  # token: as the release of *blind* does, from the whole vocabulary
    )
    tokenizer: str = "gpt2"  # whose tokens are meant
    bar: float = BAR

    def texts(self, record: Record) -> Mapping[str, str] | None:
        """Roles are KIND/POSITION/SEED; a text needs at least three spans."""
        if len(record.gold.split()) < 3 * self.span:
            return None
        texts = {CLEAN: record.gold}
        for kind, position in product(ERROR_KINDS, POSITIONS):
            noise = self._noise(position, kind)
            for number in range(1, self.seeds + 1):
                damaged = noise.perturb(record, self.seed + number)
                if damaged or self.rule == "paper":
                    texts[f"{kind}/{position}/{number}"] = damaged or record.gold
        return texts

    def _noise(self, position: degenerate.Where, kind: degenerate.ErrorKind) -> Perturbation:
        """What damages a span at a position: by words of the corpus, or by tokens of a model."""
        if self.unit == "token":
            return TokenError(self.span, position, kind, self.tokenizer)
        return PositionedError(self.span, position, kind)

    def slice_findings(self, scores: AlignedScores) -> Iterable[Finding]:
        """Whether the clean text wins at each position."""
        corpus = scores.slice.rpartition("/")[0]
        for kind, position in product(ERROR_KINDS, POSITIONS):
            roles = scores.roles(f"{kind}/{position}/")
            if roles:
                place = f"{corpus}/{kind}/{position}"
                yield from self.order(scores, place, roles)
                clean = scores.mean([CLEAN])
                share = (scores.mean(roles) - clean) / (abs(clean) or 1.0)
                yield Finding.of(scores.scored, place, "relative_change", share, n=scores.n)
