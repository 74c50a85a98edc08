"""Is the atlas right? Its order of metrics beside orders that it had no part in; writes docs/validity.md.

    python -m bench.validity [--challenge FILE ...] [--ratings FILE ...]

External criteria are agreement with people on public ratings, whose figures the atlas ships, agreement on ratings that
are given, and right order on challenge sets that are given (good, bad, references; see docs/formats.md). Metrics of the
atlas that cannot be run here are left out of sets that are given.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import rankdata, spearmanr

from assay.api.people import agreements
from assay.api.pipeline import run
from assay.core import Estimate
from assay.engine.session import Session
from assay.errors import AuditError
from assay.reading.decisions import decisions_of, remember
from assay.reading.lines import EVERYTHING, Line, listed
from assay.reading.names import shown_names
from assay.reading.ranking import rankings
from assay.reading.results import StoredRun
from assay.reading.shipped import AGREEMENT, load_atlas
from assay.report.plain import markdown_table
from assay.vocabulary import TASKS

PAGE = Path(__file__).parent.parent / "docs" / "validity.md"
DRAWS = 2000
FEWEST = 5  # metrics below which an order says nothing
RIGHT = ("mean_right_order", "right_order")  # of a challenge set, over its kinds of error and of each
RATED = 1000  # texts of a given set of ratings that are scored, at most
AS_RANKED = "errors and rewordings"
NAMED = (
    "SummEval",
    "Flickr8k-Expert",
    "TED zh-en",
)  # a set of each task, whose mean rank stands for people at large
COLUMNS = {
    "errors": lambda line: line.errors,
    "rewordings": lambda line: line.reworded,
    "other words": lambda line: line.contrast,
    "form": lambda line: line.form,
}
INTRODUCTION = """# Is the atlas right?

Written by `make validity`. The atlas orders metrics by decisions on texts that were written for it. Here that order
stands beside criteria it had no part in: agreement with people on public ratings ([Human ratings](human-ratings.md)) and,
where they are given, other ratings and challenge sets. A number is Spearman's correlation between two orders of the same
metrics, with the interval that 95 of 100 resamples of the metrics give: 1 is the same order, 0 no relation.

The columns: right order on errors of meaning; the same against sound rewordings; right texts in quite other words against
false ones in nearly the same; errors of form; and *errors and rewordings*, their mean, by which the atlas ranks. It adds
agreement with people where all metrics have it, but not here: a criterion must not judge itself.
"""
ONE_TASK = """## Metrics that were made for one task

{metrics} are ranked in the task that their authors made them for and in no other: whether a question can be answered says
nothing of a caption. **This rule was written when the figures were known**, and it makes them better; whoever does not
accept it reads the columns on the right, where those metrics are ranked wherever they decided enough. All ranked metrics are
compared on the decisions that all of them made, so a metric that reads little (SARI needs a source) leaves less of them.
"""
OTHERS = """## Other sets

`python -m bench.validity --ratings FILE` adds a set of human ratings, `--challenge FILE` a set of pairs of a good and a bad
text, with an order for every kind of error in it (both in the forms of [File formats](formats.md), and repeatable). Every
metric of the atlas that runs on your machine is scored on them; the page is printed, and this one stays as it is.
`make atlas PEOPLE=FOLDER` measures the public sets again.
"""


@dataclass(frozen=True, slots=True)
class Criterion:
    """What a set that the atlas had no part in says of metrics."""

    task: str
    name: str
    numbers: Mapping[str, Estimate]

    @property
    def values(self) -> dict[str, float]:
        return {metric: estimate.value for metric, estimate in self.numbers.items()}

    @property
    def half_width(self) -> float:
        """Half the width of the interval of one metric, on average."""
        halves = [(estimate.ci[1] - estimate.ci[0]) / 2 for estimate in self.numbers.values() if estimate.ci]
        return float(np.mean(halves)) if halves else 0.0

    @property
    def is_narrow(self) -> bool:
        """Whether the intervals of the first and the last metric reach half of the way to each other."""
        values = self.values.values()
        return max(values) - min(values) < 4 * self.half_width


def public_criteria() -> list[Criterion]:
    """Agreement of the metrics of the atlas with people, one criterion per public set."""
    rows = load_atlas().findings.filter(pl.col("statistic") == AGREEMENT)
    found: dict[str, dict[str, Estimate]] = {}
    for metric, slice_, value, n, low, high in rows.select(
        "metric", "slice", "value", "n", "ci_low", "ci_high"
    ).iter_rows():
        found.setdefault(slice_, {})[metric] = Estimate(value, n, (low, high))
    return [Criterion(*slice_.split("/", 1), numbers) for slice_, numbers in found.items()]


def given_criteria(challenges: Sequence[Path], ratings: Sequence[Path]) -> list[Criterion]:
    """What files say of the metrics of the atlas that can be run here."""
    found: dict[tuple[str, str], dict[str, Estimate]] = {}
    for metric in load_atlas().metrics:
        try:
            findings = [
                finding for path in ratings for finding in agreements(path, path.stem, [metric], RATED)
            ]
            for path in challenges:
                done = run("challenge", [metric], data=[path], session=Session.open())
                findings += [finding for finding in done if finding.statistic in RIGHT]
        except AuditError as error:
            print(f"{metric} is left out: {error}", file=sys.stderr)
            continue
        for finding in findings:
            if finding.statistic != "kendall_b":
                found.setdefault(("", finding.slice), {})[metric] = Estimate(
                    finding.value, finding.n, finding.ci
                )
    return [Criterion(task, name, numbers) for (task, name), numbers in found.items()]


def among(criterion: Criterion, metrics: Collection[str]) -> Criterion:
    """The criterion for some metrics."""
    numbers = {metric: number for metric, number in criterion.numbers.items() if metric in metrics}
    return replace(criterion, numbers=numbers)


def ranked_metrics(run: StoredRun) -> list[str]:
    """The metrics that are ranked over all tasks: others have no place to compare."""
    return [line.metric for line in rankings(run)[0].ranked]


def for_any_task(atlas: StoredRun) -> StoredRun:
    """The atlas as it were if no metric was made for one task."""
    metrics = {
        name: {key: fact for key, fact in facts.items() if key != "made_for"}
        for name, facts in atlas.about["metrics"].items()
    }
    changed = replace(atlas, about=dict(atlas.about) | {"metrics": metrics})
    remember(changed, decisions_of(atlas))
    return changed


def mean_rank(criteria: Sequence[Criterion]) -> dict[str, float]:
    """The mean rank of the metrics that all of these criteria have."""
    shared = sorted(set.intersection(*(set(criterion.numbers) for criterion in criteria)))
    ranks = [rankdata([criterion.values[metric] for metric in shared]) for criterion in criteria]
    return dict(zip(shared, np.mean(ranks, axis=0).tolist(), strict=True))


def correlation(first: Mapping[str, float], second: Mapping[str, float]) -> str:
    """Spearman's correlation over the metrics that both have, with its interval over metrics."""
    shared = sorted(first.keys() & second.keys())
    if len(shared) < FEWEST:
        return ""
    table = np.array([[values[metric] for metric in shared] for values in (first, second)])
    drawn = np.random.default_rng(0).integers(0, len(shared), (DRAWS, len(shared)))
    ranks = rankdata(table[:, drawn], axis=-1)
    centred = ranks - ranks.mean(axis=-1, keepdims=True)
    sizes = np.sqrt((centred**2).sum(axis=-1)).prod(axis=0)
    spread = (centred[0] * centred[1]).sum(axis=-1)[sizes > 0] / sizes[sizes > 0]
    low, high = np.percentile(spread, [2.5, 97.5])
    return f"{spearmanr(*table).statistic:.2f} [{low:.2f}, {high:.2f}]"


def columns_of(lines: Sequence[Line]) -> dict[str, dict[str, float]]:
    """The numbers of a ranking by column, for the metrics that it ranks."""
    ranked = [line for line in lines if line.rank is not None]
    columns = {}
    for name, read in COLUMNS.items():
        numbers = {line.metric: read(line) for line in ranked}
        columns[name] = {metric: each.value for metric, each in numbers.items() if each is not None}
    errors, reworded = columns["errors"], columns["rewordings"]
    columns[AS_RANKED] = {
        metric: (errors[metric] + reworded[metric]) / 2 for metric in errors if metric in reworded
    }
    return columns


def spread(criterion: Criterion) -> str:
    """Where the metrics lie on a criterion, and how sure one of them is."""
    values = criterion.values.values()
    return f"{min(values):.0f} to {max(values):.0f}, each ±{criterion.half_width:.0f}"


def orders_table(criteria: Sequence[Criterion]) -> list[str]:
    """Correlations of every criterion with the orders of the atlas over all tasks, and in its own task."""
    orders = {ranking.task: columns_of(ranking.lines) for ranking in rankings(load_atlas())}
    rows = []
    for criterion in criteria:
        tasks = [EVERYTHING, *([criterion.task] if criterion.task in TASKS else [])]
        for task in tasks:
            cells = [correlation(order, criterion.values) for order in orders[task].values()]
            shared = criterion.values.keys() & orders[task]["errors"].keys()
            rows.append((criterion.name, task, str(len(shared)), spread(criterion), *cells))
    for name, chosen in together(criteria).items():
        ranks = mean_rank(chosen)
        cells = [correlation(order, ranks) for order in orders[EVERYTHING].values()]
        shared = ranks.keys() & orders[EVERYTHING]["errors"].keys()
        rows.append((f"mean rank: {name}", EVERYTHING, str(len(shared)), "", *cells))
    head = (
        "criterion",
        "order of the atlas for",
        "metrics",
        "the metrics lie at",
        *orders[EVERYTHING],
    )
    return markdown_table(head, rows)


def made_for_one_task(criteria: Sequence[Criterion]) -> list[str]:
    """How the atlas agrees with the criteria if metrics that were made for one task are ranked everywhere."""
    columns = {}
    for name, atlas in (("in their task alone", load_atlas()), ("everywhere", for_any_task(load_atlas()))):
        orders, metrics = columns_of(rankings(atlas)[0].lines), ranked_metrics(atlas)
        chosen = [among(criterion, metrics) for criterion in criteria]
        ranks = {criterion.name: criterion.values for criterion in chosen}
        ranks |= {f"mean rank: {names}": mean_rank(sets) for names, sets in together(chosen).items()}
        for order in ("errors", AS_RANKED):
            head = f"{order}, ranked {name} ({len(metrics)} metrics, {rankings(atlas)[0].items:,} decisions)"
            columns[head] = {of: correlation(orders[order], values) for of, values in ranks.items()}
    criteria_named = dict.fromkeys(of for cells in columns.values() for of in cells)
    rows = [(of, *(cells.get(of, "") for cells in columns.values())) for of in criteria_named]
    return markdown_table(("criterion", *columns), rows)


def together(criteria: Sequence[Criterion]) -> dict[str, list[Criterion]]:
    """Sets of criteria whose mean rank stands for people at large."""
    named = [criterion for criterion in criteria if criterion.name in NAMED]
    most = max(len(criterion.numbers) for criterion in criteria)
    whole = [criterion for criterion in criteria if len(criterion.numbers) == most]
    return {
        listed([criterion.name for criterion in chosen]): chosen
        for chosen in (named, whole)
        if len(chosen) > 1
    }


def disagreements(criteria: Sequence[Criterion]) -> list[str]:
    """For every criterion, the metrics that it places quite otherwise than the atlas, and whether it can."""
    order = columns_of(rankings(load_atlas())[0].lines)[AS_RANKED]
    names = shown_names(load_atlas())
    lines = []
    for criterion in criteria:
        shared = sorted(order.keys() & criterion.numbers.keys())
        if len(shared) < FEWEST:
            continue
        ranks = [rankdata([-values[metric] for metric in shared]) for values in (order, criterion.values)]
        moved = sorted(zip(shared, *ranks, strict=True), key=lambda each: -abs(each[1] - each[2]))[:3]
        told = "; ".join(
            f"{names[metric]} is {theirs:.0f} here and {ours:.0f} in the atlas"
            for metric, ours, theirs in moved
        )
        chance = (
            f" The metrics lie close together, and each within ±{criterion.half_width:.0f}: the order of neighbours is"
            " hardly more than chance there."
            if criterion.is_narrow
            else ""
        )
        lines.append(f"- **{criterion.name}**, of {len(shared)} metrics: {told}.{chance}")
    return lines


def page(found: Sequence[Criterion]) -> str:
    """The page, from the atlas that is shipped."""
    ranked = ranked_metrics(load_atlas())
    criteria = [among(criterion, ranked) for criterion in found]
    made_for = [name for name, facts in load_atlas().about["metrics"].items() if facts.get("made_for")]
    return "\n".join([
        INTRODUCTION, *orders_table(criteria), "", "## What does not agree", "", *disagreements(criteria), "",
        ONE_TASK.format(metrics=listed(made_for)), *made_for_one_task(found), "", OTHERS,
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--challenge", type=Path, action="append", default=[])
    parser.add_argument("--ratings", type=Path, action="append", default=[])
    options = parser.parse_args()
    found = [*public_criteria(), *given_criteria(options.challenge, options.ratings)]
    text = page(found)
    if not options.challenge and not options.ratings:  # a page that anybody can write again
        PAGE.write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
