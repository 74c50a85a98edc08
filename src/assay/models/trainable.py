"""What `Metric.differentiable()` returns: a metric's score of pairs of texts as a tensor, with gradients.

Each metric's form follows its score up to rounding, for one reference per hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.models.torch import Loaded, clean_text, content_ids, padded

if TYPE_CHECKING:
    import torch

Texts = Sequence[tuple[str, str]]  # hypothesis, reference
Form = Callable[[Loaded, Texts], "torch.Tensor"]  # (n, outputs)


@dataclass(frozen=True, slots=True)
class Differentiable:
    """How a metric's model is loaded, and how it scores pairs with gradients."""

    load: Callable[[], Loaded]
    score: Form

    def trainable(self) -> Trainable:
        """Load a copy of the model, apart from the one that scores."""
        loaded = self.load()
        return Trainable(replace(loaded, model=deepcopy(loaded.model)), self.score)


@dataclass(frozen=True, slots=True)
class Trainable:
    """A model to train, and how it scores pairs."""

    loaded: Loaded
    score: Form

    def __call__(self, pairs: Texts) -> torch.Tensor:
        """Return the scores of pairs, (n, outputs), with gradients."""
        return self.score(self.loaded, pairs)


def framed_ids(loaded: Loaded, texts: Sequence[str]) -> list[list[int]]:
    """Return the framed ids of texts, cut at the model's limit."""
    return [loaded.framed(ids[: loaded.room]) for ids in content_ids(loaded, texts)]


def states(loaded: Loaded, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the last states of texts, (texts, length, width), and their mask."""
    ids, mask = padded(framed_ids(loaded, texts), loaded.pad, loaded.device)
    return loaded.model(input_ids=ids, attention_mask=mask)[0].float(), mask


@dataclass(frozen=True, slots=True)
class Encoded:
    """States and mask of the distinct texts of some pairs, and where each side of a pair is among them."""

    states: torch.Tensor
    mask: torch.Tensor
    hypotheses: list[int]
    references: list[int]


def encode_pairs(loaded: Loaded, pairs: Texts) -> Encoded:
    """Run the model once over each distinct text of the pairs."""
    clean = [(clean_text(first, loaded), clean_text(second, loaded)) for first, second in pairs]
    place = {text: index for index, text in enumerate(dict.fromkeys(t for pair in clean for t in pair))}
    hidden, mask = states(loaded, list(place))
    return Encoded(hidden, mask, [place[first] for first, _ in clean], [place[second] for _, second in clean])
