"""Write docs/calibration.md: power, false alarms and coverage on drawn scores, and the zoo of text metrics.

`make calibration` runs it. `python tests/calibration/page.py METRIC ...` prints the tables of some metrics of
the zoo.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import confusion
import constants
from coverage import coverage
from worlds import options_of, uncalibrated
from zoo import ZOO

from assay.api.pipeline import make_audit
from assay.papers.curve import Curve, operating_curve
from assay.papers.simulated import SIMULATED, Simulated

DRAWS = 40
ITEMS = {"stereotype": 120, "swap": 120, "caption": 120}  # of the others 60
COVERED = (12, 40, 150)
COVERAGE_DRAWS, MORE_DRAWS = 100, 400
COVERAGE_OF = ("repetition", "injection", "identity-length", "stereotype", "caption")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "calibration.md"
HEAD = """# Calibration

Every audit is an instrument, and an instrument is tested on things whose answer is known: simulated metrics, honest, empty
or with one defect of known size. Where an audit counts decisions the size of a defect is how many of 100 come out so; where
it judges fairness it is an effect in lost words. `make calibration` writes this page; `make soak` repeats it as tests.

What is promised, and measured below: a metric that takes half a lost word from a group, a word or an intersection fails in
95 of 100 audits, and so does one that decides by a coin. At the bar (a quarter of a lost word, 75 of 100) at most 5 in 100
fail. Intervals hold the true value in at least 92 of 100, with 12 items as with 150. An increasing transform of the scores
changes no right order and no verdict on it, an affine one no verdict of fairness: these two hold exactly, and tests check them
(`tests/calibration/test_verdict_properties.py`).
"""
CURVES = f"""
## Power

Scores are drawn, not computed: each item has a level of its own, each text some noise, a lost word costs 1 on average with a
standard deviation of a half, and where the data has contexts or documents, noise is shared within them. Each cell is the share
of {DRAWS} simulations in which what has the defect fails; **bold** sizes are those at the bar, where a failure is a false
alarm, and those that must be found. A defect in half of the contexts, in one form of four, or in one of six intersections
beyond its two parts shows as a half, a quarter and a third of its size. The last column is the share of all findings that fail
for the metric without the defect, the first of the sizes. `assay papers calibrate AUDIT --data FILE` draws the same for your
data.

| audit | a metric that | in | items | fails in, by size | without |
|---|---|---|---|---|---|
"""
COVERS = f"""
## Coverage

The share of 95% intervals that hold the true value: of a metric without the defect, and of one at the bar. They are those of all
rows of {COVERAGE_DRAWS} simulations, or of {MORE_DRAWS} where a simulation has few rows. No interval has width 0 or leaves its bounds.

| audit | a metric that | {" | ".join(f"{n} items" for n in COVERED)} |
|---|---|{"---|" * len(COVERED)}
"""
TEXTS = f"""
## Metrics that read text

{len(ZOO)} simulated metrics are scored on the embedded texts. Honest metrics are unfair to nobody: what fails in fairness is a
false alarm, unless the metric reads letters or rarity, and then the finding says that these explain it. A penalty is a part of
what a lost word costs the metric in the same contexts; what is measured should be what the metric shows *without it* and what
was *planted*. A metric that does not read an edit must decide by a coin there; one that does not in half of the items should
come out halfway between a coin and the honest metric *without the defect*.

"""

CONSTANTS = f"""
## Constants

How many verdicts turn when a constant of the code is halved or doubled, for {", ".join(constants.METRICS)} in the audits
of `assay audit` that it touches. The bars themselves (75 of 100, a quarter of a lost word) are options: they are what is asked.

"""


def main(labels: list[str]) -> None:
    """Write the page, or print the tables of the metrics named."""
    zoo = confusion.page(confusion.audit_zoo(labels))
    if labels:
        print(zoo)
        return
    with tempfile.TemporaryDirectory() as name:
        power, covered = "\n".join(power_rows(Path(name))), "\n".join(coverage_rows(Path(name)))
    decided = "\n".join(constants.table(*constants.scored_by(constants.METRICS))) + "\n"
    without = ", ".join(f"`{audit}`" for audit in uncalibrated())
    left_out = f"\nNot calibrated, since it judges nothing or counts decisions like the others: {without}.\n"
    PAGE.write_text(
        HEAD + CURVES + power + "\n" + left_out + COVERS + covered + "\n" + TEXTS + zoo + CONSTANTS + decided,
        "utf-8",
    )


def power_rows(folder: Path) -> Iterator[str]:
    """One line per defect."""
    for metric in SIMULATED:
        audit = make_audit(metric.audit, options_of(metric, folder, ITEMS.get(metric.audit, 60)))
        curve = operating_curve(metric, audit, list(audit.cases()), seeds=DRAWS)
        if curve is not None:
            yield _power_row(metric, curve)
        print(f"{metric.audit}: {metric.defect}", file=sys.stderr, flush=True)


def _power_row(metric: Simulated, curve: Curve) -> str:
    cells = []
    for point in curve.points:
        size = f"**{point.size:g}**" if point.size in (metric.harmless, metric.stated) else f"{point.size:g}"
        cells.append(f"{size}: {point.share:.0%}")
    alarms = f"{curve.alarms.share:.1%}"
    columns = (metric.audit, metric.defect, metric.unit, str(curve.n), ", ".join(cells), alarms)
    return f"| {' | '.join(columns)} |"


def coverage_rows(folder: Path) -> Iterator[str]:
    """One line per defect of the audits whose intervals are of different kinds."""
    for metric in SIMULATED:
        if metric.audit in COVERAGE_OF:
            cells = [_coverage_cell(metric, folder, n) for n in COVERED]
            yield f"| {metric.audit} | {metric.defect} | {' | '.join(cells)} |"


def _coverage_cell(metric: Simulated, folder: Path, n: int) -> str:
    audit = make_audit(metric.audit, options_of(metric, folder, n))
    items = list(audit.cases())
    sizes = (metric.sizes[0], metric.harmless)
    is_crossed = metric.audit == "stereotype" and metric.statistic == "lost_words"
    draws = COVERAGE_DRAWS if is_crossed else MORE_DRAWS
    shares = [coverage(metric, audit, items, size=size, draws=draws) for size in sizes]
    return ", ".join(f"{share:.3f}" for share in shares)


if __name__ == "__main__":
    main(sys.argv[1:])
