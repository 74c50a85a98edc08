"""The null space of bias: directions in which two identities differ are taken out of the last layer's states.

After Bolukbasi et al. (2016) and Ravfogel et al. (2020), on contextual states: the directions are the main
components of the differences between the tokens that tell a pair apart. Saved and used as an adapter is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import DataError
from assay.mitigation.counterfactuals import Counterfactual, counterfactuals
from assay.mitigation.differentiable import trainable
from assay.models import adapters
from assay.models.trainable import framed_ids, states
from assay.names.spec import parse
from assay.recipe import generator

if TYPE_CHECKING:
    import torch

_PAIRS = 300  # that the directions are taken from
_BATCH = 32
FEWEST = 10


@dataclass(frozen=True, slots=True)
class Subspace:
    """Orthonormal directions and the share of the differences that they hold."""

    basis: torch.Tensor  # (directions, width)
    share: float


def subspace(differences: torch.Tensor, directions: int) -> Subspace:
    """The main components of differences, (n, width); they are about zero, so nothing is centred."""
    import torch

    _, sizes, rows = torch.linalg.svd(differences, full_matrices=False)
    kept = rows[:directions].contiguous()
    return Subspace(kept, float(sizes[:directions].square().sum() / sizes.square().sum()))


def differences(metric: Any, pairs: Sequence[Counterfactual]) -> torch.Tensor:
    """States of the tokens in which the two texts of a pair differ, one less the other."""
    import torch

    found = []
    for start in range(0, len(pairs), _BATCH):
        some = pairs[start : start + _BATCH]
        with torch.no_grad():
            hidden, _ = states(metric.loaded, [p.first for p in some] + [p.second for p in some])
        ids = _ids(metric.loaded, some)
        for row, (one, other) in enumerate(ids):
            if len(one) == len(other):
                places = [n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
                found.append(hidden[row, places] - hidden[row + len(some), places])
    return torch.cat(found) if found else torch.empty(0)


def _ids(loaded: Any, pairs: Sequence[Counterfactual]) -> list[tuple[list[int], list[int]]]:
    firsts, seconds = ([p.first for p in pairs], [p.second for p in pairs])
    return list(zip(framed_ids(loaded, firsts), framed_ids(loaded, seconds), strict=True))


def fit(spec: str, attributes: Sequence[str], out: Path, *, directions: int = 2, seed: int = 0) -> Subspace:
    """Find the directions on training pairs and save them as an adapter's folder."""
    measure = parse(spec)
    pairs = counterfactuals(attributes, seed)["train"]
    metric = trainable(measure)
    chosen = generator(seed, "projection", "").sample(pairs, min(_PAIRS, len(pairs)))
    moved = differences(metric, chosen)
    if len(moved) < FEWEST:
        raise DataError(f"{len(moved)} pairs differ in words of equal length; at least {FEWEST} are needed")
    found = subspace(moved, directions)
    model: Any = metric.loaded.model
    card = adapters.Card(
        str(getattr(measure.metric, "model", "")), measure.label, tuple(attributes), directions,
        len(adapters.places(model)), adapters.fingerprint(model),
        {"pairs": len(chosen), "share": found.share}, kind="projection",
    )  # fmt: skip
    adapters.write({"basis": found.basis}, out, card)
    return found
