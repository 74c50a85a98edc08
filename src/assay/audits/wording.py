"""What the words of a text explain: its letters, how rare its words are, or neither.

Words that differ in these show what one more letter and one more doubling of rarity do to a score. What that
predicts of an effect stands beside it as a remark, and never changes a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from assay.core import Finding, Floats
from assay.datasets.lexicon import rarity

_REASONS = ("letters", "frequency")
_EXPLAINED = 0.5  # the share of an effect from which the words are said to explain it
FEWEST_NEUTRAL = 10  # neutral texts, below which letters and frequency cannot be told apart
_WORD = re.compile(r"[\w'’-]+")


def features(text: str) -> tuple[float, float]:
    """The letters of a text, and the rarity of its words, added up.

    >>> features("the the") == (7.0, 0.0)
    True
    """
    return float(len(text)), sum(map(rarity, _WORD.findall(text)))


def slopes(texts: Floats, scores: Floats) -> Floats | None:
    """What one more letter and one more doubling of rarity do to a score, by least squares over texts.

    `texts` has a row of features for each. None where too few have a score, or they are all worded alike.
    """
    finite = np.isfinite(scores)
    design = np.column_stack([np.ones(len(texts)), texts])[finite]
    if finite.sum() < FEWEST_NEUTRAL or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    return np.asarray(np.linalg.lstsq(design, scores[finite], rcond=None)[0][1:])


def because(predicted: Sequence[float] | Floats, effect: float) -> str:
    """Which of letters and frequency explains an effect, from what each of them predicts.

    >>> because([0.1, 0.3], 0.5), because([0.1, 0.1], 0.5)
    ('frequency', 'neither')
    """
    shares = np.asarray(predicted) / effect
    return _REASONS[int(shares.argmax())] if shares.sum() >= _EXPLAINED else "neither"


def reason(finding: Finding) -> str:
    """What ends the sentence on an effect that the words themselves explain; nothing for others."""
    return f" (explained by {finding.because})" if finding.because in _REASONS else ""
