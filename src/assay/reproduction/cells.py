"""A published figure and ours to a verdict: equal as printed, within tolerance, different, not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from assay.reproduction.recipes import Cell

Verdict = Literal["equal", "within tolerance", "differs", "not run"]
VERDICTS: tuple[Verdict, ...] = ("equal", "within tolerance", "differs", "not run")


@dataclass(frozen=True, slots=True)
class Checked:
    """A cell with our figure (None: not run) and what to make of it."""

    cell: Cell
    ours: float | None
    verdict: Verdict
    reason: str = ""

    @property
    def shown(self) -> str:
        """Our figure, as precise as the published one and two digits more where they differ."""
        if self.ours is None:
            return ""
        more = 0 if self.verdict == "equal" else 2
        return printed(self.ours, self.cell.decimals + more)

    @property
    def difference(self) -> float | None:
        """Ours less the published figure."""
        return None if self.ours is None else self.ours - self.cell.number


def printed(value: float, decimals: int) -> str:
    """As a paper prints it; there is no minus before a zero."""
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if not float(text) else text


def check(cell: Cell, value: float) -> Checked:
    """Our figure, scaled as the paper's, against the cell."""
    ours = (abs(value) if cell.absolute else value) * cell.scale
    if printed(ours, cell.decimals) == printed(cell.number, cell.decimals):
        return Checked(cell, ours, "equal")
    if abs(ours - cell.number) <= cell.tolerance:
        return Checked(cell, ours, "within tolerance", cell.why)
    return Checked(cell, ours, "differs", cell.why or "no reason known")


def not_run(cell: Cell, needs: str) -> Checked:
    """A cell that something is missing for; nothing is guessed."""
    return Checked(cell, None, "not run", f"needs {needs}")


def count(checked: Iterable[Checked]) -> dict[Verdict, int]:
    """How many cells of each verdict."""
    counts = Counter(one.verdict for one in checked)
    return {verdict: counts[verdict] for verdict in VERDICTS}
