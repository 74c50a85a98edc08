"""Scores of samples, and what was counted with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Table:
    """Scores of samples: (n, outputs), nan = absent; and what was counted, a number a sample."""

    values: Floats
    notes: dict[str, Integers] = field(default_factory=dict)

    def fill(self, places: Integers, values: Floats, notes: Mapping[str, Integers]) -> None:
        """Write the rows at `places`."""
        self.values[places] = values
        for name, counts in notes.items():
            self.notes.setdefault(name, np.zeros(len(self.values), dtype=np.int64))[places] = counts
