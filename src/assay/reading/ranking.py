"""A run to the answer per task: one table of its metrics, and one recommendation.

Everything is counted in decisions, of 100: between a sound text and one with an error that changes its
meaning, between a sound rewording and the same error, and between two texts that people rate differently. A
metric stands behind those that decide surely better on the same items; metrics of one rank are tied.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePath
from typing import Any

import numpy as np

from assay.core import Estimate, Floats
from assay.files import toml_file
from assay.grouping import grouped
from assay.language import language_name
from assay.reading.agreement import Ratings
from assay.reading.answers import answers
from assay.reading.decisions import Against, Decisions, Order, decisions_of, mean_order
from assay.reading.lines import EVERYTHING, Kinds, Line, Ranking, task_name
from assay.reading.recommendation import COIN, FEWEST_METRICS, advised
from assay.reading.results import StoredRun
from assay.reading.verdicts import JudgedRow, Slice, checks, metric_of, rows_with
from assay.vocabulary import TASKS, Aspect

# With fewer of the kinds of error, or of the decisions, than the median metric made, a metric is not ranked:
# all are compared on what all decided, and it would leave the others little. At quick size a causal model
# reads a fifth of what an encoder reads.
READ_KINDS, READ = 0.5, 0.1
FEWEST_DECISIONS = 30  # that all metrics made: of fewer, a share is not sure to within 18 of 100
# Of the table: what an error changes, and which sound text stands against it.
_COLUMNS: dict[str, tuple[Aspect, Against]] = {
    "errors": ("meaning", "clean"),
    "reworded": ("meaning", "reworded"),
    "form": ("form", "clean"),
    "contrast": ("meaning", "far"),
}
_OMISSIONS = frozenset(toml_file("report", "words")["omissions"]["kinds"])
_NO_DATA = "()"  # how run.json writes that an audit was given no files
_RANKED_BY = ("errors", "reworded")  # of the columns, beside agreement with people


def rankings(run: StoredRun) -> list[Ranking]:
    """One ranking per task, the user's own data first; none where no audit asked about errors."""
    if "rankings" not in vars(run):
        vars(run)["rankings"] = advised(_tables(run))
    return list(vars(run)["rankings"])


def line_of(run: StoredRun, metric: str) -> Line | None:
    """The line of a metric in the first table of a run; None where it has no table."""
    lines = [line for ranking in rankings(run)[:1] for line in ranking.lines]
    return next((line for line in lines if line.metric == metric), None)


def _tables(run: StoredRun) -> list[Ranking]:
    """The table of every task without a recommendation; of all together where there are several."""
    owners = _owners(run)
    own = [start for start, is_own in owners.items() if is_own == {True}]
    tasks = [*own, *(task for task in TASKS if task in owners and task not in own)]
    facts, ratings = _facts(run), Ratings.of(run)
    tables = []
    for task in [*own, *([EVERYTHING] if len(tasks) > 1 else []), *tasks[len(own) :]]:
        compared = [metric for metric, line in facts.items() if line.can_be_ranked(task)]
        asked = owners.get(task) or set().union(*owners.values())
        people = ratings.on(task, compared, is_own=True in asked)
        lines = [replace(line, rated=people.get(metric)) for metric, line in facts.items()]
        table = _table(run, lines, compared, task)
        spoken = language_name(_embedded_language(run))
        tables.append(replace(table, is_own=task in own, texts=_texts(run, asked), language=spoken))
    return tables


def _owners(run: StoredRun) -> dict[str, set[bool]]:
    """The files and tasks that audits of robustness asked about, and whether on texts of the user's own."""
    paths = [PurePath(path) for path in run.about.get("data", {})]
    files = {name for path in paths for name in (path.stem, f"{path.parent.name}-{path.stem}")}
    options = {name: audit.get("options", {}) for name, audit in run.about["audits"].items()}
    owners: dict[str, set[bool]] = {}
    for row in checks(run, "robustness"):
        has_data = options.get(row["audit"], {}).get("data", _NO_DATA) != _NO_DATA
        if row.start in files or row.start in TASKS:
            owners.setdefault(row.start, set()).add(row.start in files or has_data)
    return owners


def _texts(run: StoredRun, is_own: Collection[bool]) -> str:
    """Whose texts a table is about."""
    embedded = f"the {language_name(_embedded_language(run))} texts that come with assay"
    return " and ".join(["your texts"] * (True in is_own) + [embedded] * (False in is_own))


def _embedded_language(run: StoredRun) -> str:
    """The language of the run's embedded texts."""
    options = [audit["options"] for audit in run.about.get("audits", {}).values()]
    foreign = {values.get("language", "en") for values in options} - {"en"}
    return min(foreign, default="en")


def _facts(run: StoredRun) -> dict[str, Line]:
    """What is known of every metric whatever the task."""
    answered = answers(run)
    return {
        metric: Line(
            metric,
            unfair=answered[metric, "fairness"].failures,
            fairness=answered[metric, "fairness"],
            needs=frozenset(about["needs"]) if "needs" in about else None,
            made_for=tuple(about.get("made_for", ())),
            speed=speed_of(run, metric),
        )
        for metric, about in run.about["metrics"].items()
    }


def speed_of(run: StoredRun, metric: str) -> float | None:
    """Texts per second, where this run computed enough scores to tell."""
    computed = run.about.get("computed", {}).get(metric, 0)
    seconds = run.about.get("seconds", {}).get("scoring", {}).get(metric)
    return float(computed) / float(seconds) if seconds and computed >= 20 else None


def _table(run: StoredRun, lines: Sequence[Line], rankable: Collection[str], task: str) -> Ranking:
    """The table of a task, the best first."""
    everything = decisions_of(run)
    named = None if task == EVERYTHING else task
    columns = {name: everything.about(*which, task=named) for name, which in _COLUMNS.items()}
    compared = [metric for metric in _well_read(columns["errors"]) if metric in rankable]
    shared = columns["errors"].of(compared).shared().frame
    if not compared or shared.height < FEWEST_DECISIONS:
        columns, shared = {}, shared.clear()
    orders = {name: column.of(compared).order() for name, column in columns.items()}
    errors = _Errors.of(run, everything, task)
    completed = [_completed(line, orders, errors) for line in lines]
    ranked_by = [order for name, order in orders.items() if name in _RANKED_BY and order.n]
    kinds = {slice_.rpartition("/")[2] for slice_ in shared["slice"]}
    lines = _with_ranks(completed, ranked_by)
    unnoticed = errors.unnoticed(task, {line.metric for line in lines if line.rank is not None})
    return Ranking(task, False, lines, len(kinds), shared.height, unnoticed=unnoticed)


def _completed(line: Line, orders: Mapping[str, Order], errors: _Errors) -> Line:
    """A line with its right orders, which stand under the names of its fields, and its blind spots."""
    columns: dict[str, Any] = {name: order.estimates().get(line.metric) for name, order in orders.items()}
    return replace(line, **columns, kinds=errors.kinds(line.metric), rewarded=errors.rewarded(line.metric))


@dataclass(frozen=True, slots=True)
class _Errors:
    """What was judged about kinds of error, by metric: those that change the meaning, and those of form."""

    meaning: Mapping[str, Sequence[JudgedRow]]
    form: Mapping[str, Sequence[JudgedRow]]

    @classmethod
    def of(cls, run: StoredRun, decisions: Decisions, task: str) -> _Errors:
        """What a run judged in a task."""
        judged = [row for row in checks(run, "robustness") if task in (EVERYTHING, row.start)]
        meaning, form = decisions.about("meaning").places(), decisions.about("form").places()
        return cls(
            grouped((row for row in judged if row.place in meaning), metric_of),
            grouped((row for row in judged if row.place in form), metric_of),
        )

    def kinds(self, metric: str) -> Kinds:
        """The kinds of error that a metric was asked about."""
        return Kinds.of(self.meaning.get(metric, ()), self.form.get(metric, ()))

    def rewarded(self, metric: str) -> tuple[JudgedRow, ...]:
        """The false texts that a metric surely prefers to sound ones, worst first."""
        false = [row for row in self.meaning.get(metric, ()) if row.last not in _OMISSIONS]
        surely = [row for row in false if row["ci_high"] is not None and row["ci_high"] < COIN]
        return tuple(sorted(surely, key=lambda row: float(row["ci_high"])))

    def unnoticed(self, task: str, ranked: Set[str]) -> tuple[str, ...]:
        """The kinds of error to which every ranked metric is blind, with their tasks if there are several."""
        if len(ranked) < FEWEST_METRICS:
            return ()
        judged = chain(*self.meaning.values(), *self.form.values())
        failures = grouped(rows_with(judged, verdict="fail"), _place_of)
        shared = [rows[0] for rows in failures.values() if ranked <= {row["metric"] for row in rows}]
        shared.sort(key=lambda row: str(row["slice"]))
        return tuple(dict.fromkeys(_kind(row, task) for row in shared))


def _place_of(row: JudgedRow) -> Slice:
    return row.place


def _kind(row: JudgedRow, task: str) -> str:
    """A kind of error in words, with its task where the table is of all tasks."""
    return f"{row.kind} ({task_name(row.start)})" if task == EVERYTHING else row.kind


def _well_read(decisions: Decisions) -> list[str]:
    """The metrics that decided about enough of what the others decided to be compared with them."""
    kinds = decisions.kinds()
    if not kinds:
        return []
    read = {metric: decisions.frame[metric].count() for metric in decisions.metrics}
    least = max(1.0, READ * float(np.median(list(read.values()))))
    least_kinds = READ_KINDS * float(np.median(list(kinds.values())))
    return [metric for metric in read if read[metric] >= least and kinds[metric] >= least_kinds]


def _with_ranks(lines: Sequence[Line], orders: Sequence[Order]) -> tuple[Line, ...]:
    """The best first; a rank is one more than the number of metrics that are surely better.

    Agreement with people counts where every ranked metric has it: what some lack would favour the others.
    """
    if not orders:
        return tuple(lines)
    order = mean_order(orders)
    merits = 100 * order.shares
    gains, reach = order.gains()
    people = {line.metric: line.people for line in lines if line.people is not None}
    agreements = [people[metric] for metric in order.metrics if metric in people]
    if len(agreements) == len(order.metrics):
        theirs, apart, their_reach = _differences(agreements)
        weights = (len(orders), 1)
        merits = np.average([merits, theirs], axis=0, weights=weights)
        gains = np.average([gains, apart], axis=0, weights=weights)
        reach = np.hypot(len(orders) * reach, their_reach) / sum(weights)
    better = (gains - reach > 0).sum(axis=0)
    places = zip(order.metrics, better.tolist(), merits.tolist(), strict=True)
    standings = {metric: {"rank": 1 + ahead, "merit": merit} for metric, ahead, merit in places}
    placed = [replace(line, **standings.get(line.metric, {})) for line in lines]
    return tuple(sorted(placed, key=lambda line: (line.rank or np.inf, -line.merit)))


def _differences(agreements: Sequence[Estimate]) -> tuple[Floats, Floats, Floats]:
    """Agreements, by how much each is above each other, and how sure that is: as if other texts had been
    rated, so no less sure."""
    values = np.array([estimate.value for estimate in agreements])
    halves = np.diff([estimate.ci or (0.0, 100.0) for estimate in agreements])[:, 0] / 2
    return values, values[:, None] - values[None, :], np.hypot(halves[:, None], halves[None, :])
