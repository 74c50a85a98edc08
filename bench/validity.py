"""Is the atlas right? Its order of metrics beside orders that it had no part in; writes docs/validity.md.

    python -m bench.validity [--challenge FILE ...]

External criteria are agreement with people on public ratings, whose figures the atlas ships, and right order on any
challenge set that is given (good, bad, references; see docs/formats.md), on which every metric of the atlas that can be
run here is scored.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import spearmanr

from assay.api.pipeline import run
from assay.engine.session import Session
from assay.reading.lines import EVERYTHING, Line
from assay.reading.ranking import AGREEMENT, rankings
from assay.reading.shipped import load_atlas
from assay.report.plain import markdown_table
from assay.vocabulary import TASKS

PAGE = Path(__file__).parent.parent / "docs" / "validity.md"
DRAWS = 2000
FEWEST = 5  # metrics below which an order says nothing
COLUMNS = {
    "errors": lambda line: line.errors,
    "rewordings": lambda line: line.reworded,
    "other words": lambda line: line.contrast,
    "form": lambda line: line.form,
}
TEXT = """# Is the atlas right?

Written by `make validity`. The atlas orders metrics by decisions on texts that were written for it. Here that order
stands beside criteria it had no part in: agreement with people on public ratings (docs/human-ratings.md) and, where they
are given, challenge sets that others made. A number is Spearman's correlation between two orders of the same metrics, with
the interval that 95 of 100 resamples of the metrics give; it says how well the atlas foretells which metric people would
agree with. 1 is the same order, 0 no relation.

The columns are right order on errors of meaning, the same against sound rewordings, right texts in quite other words
against false ones in nearly the same (contrast), errors of form, and the mean of the first two, by which the atlas ranks.
"""


def criteria(challenges: Sequence[Path]) -> dict[str, dict[str, float]]:
    """Each external criterion: a number per metric."""
    rows = load_atlas().findings.filter(pl.col("statistic") == AGREEMENT)
    found: dict[str, dict[str, float]] = {}
    for metric, slice_, value in rows.select("metric", "slice", "value").iter_rows():
        found.setdefault(slice_, {})[metric] = value
    for path in challenges:
        done = run("challenge", list(load_atlas().metrics), data=[path], session=Session.open(), size="full")
        chosen = done.findings.filter(pl.col("statistic") == "mean_right_order")
        for metric, slice_, value in chosen.select("metric", "slice", "value").iter_rows():
            found.setdefault(f"{path.stem}/{slice_}", {})[metric] = value
    return found


def mean_rank(found: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean rank of the metrics that every criterion has."""
    shared = set.intersection(*(set(values) for values in found.values())) if found else set()
    ranks = dict.fromkeys(sorted(shared), 0.0)
    for values in found.values():
        order = sorted(ranks, key=lambda metric: values[metric])
        for place, metric in enumerate(order):
            ranks[metric] += place / len(found)
    return ranks


def correlation(first: Mapping[str, float], second: Mapping[str, float]) -> str:
    """Spearman's correlation over the metrics that both have, with its interval over metrics."""
    shared = sorted(first.keys() & second.keys())
    if len(shared) < FEWEST:
        return "-"
    table = np.array([[values[metric] for metric in shared] for values in (first, second)])
    rng = np.random.default_rng(0)
    draws = [table[:, rng.integers(0, len(shared), len(shared))] for _ in range(DRAWS)]
    spread = [float(spearmanr(*draw).statistic) for draw in draws if min(np.ptp(draw, axis=1)) > 0]
    low, high = np.percentile(spread, [2.5, 97.5])
    return f"{spearmanr(*table).statistic:.2f} [{low:.2f}, {high:.2f}]"


def columns_of(lines: Sequence[Line]) -> dict[str, dict[str, float]]:
    """The numbers of a ranking by column, for the metrics that it ranks."""
    ranked = [line for line in lines if line.rank is not None]
    columns = {}
    for name, read in COLUMNS.items():
        numbers = {line.metric: read(line) for line in ranked}
        columns[name] = {metric: each.value for metric, each in numbers.items() if each is not None}
    both = [line for line in ranked if line.errors is not None and line.reworded is not None]
    columns["as ranked"] = {line.metric: (line.errors.value + line.reworded.value) / 2 for line in both}
    return columns


def page(challenges: Sequence[Path] = ()) -> str:
    """The page, from the atlas that is shipped."""
    atlas = load_atlas()
    found = criteria(challenges)
    orders = {ranking.task: columns_of(ranking.lines) for ranking in rankings(atlas)}
    names = [*COLUMNS, "as ranked"]
    rows = []
    for criterion, values in found.items():
        task = criterion.partition("/")[0]
        for where in dict.fromkeys((EVERYTHING, *((task,) if task in TASKS else ()))):
            cells = [correlation(orders[where][name], values) for name in names]
            rows.append((criterion, where, str(len(values)), *cells))
    if len(found) > 1:
        ranks = mean_rank(found)
        cells = [correlation(orders[EVERYTHING][name], ranks) for name in names]
        rows.append(("mean rank of all of them", EVERYTHING, str(len(ranks)), *cells))
    head = ("external criterion", "order of the atlas for", "metrics", *names)
    return "\n".join([TEXT, *markdown_table(head, rows), ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--challenge", type=Path, action="append", default=[])
    given = parser.parse_args()
    text = page(given.challenge)
    if not given.challenge:  # a page that anybody can write again
        PAGE.write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
