"""A run to the answer per task: one table of its metrics, and one recommendation.

Everything is counted in decisions, of 100: between a sound text and one with an error that changes its
meaning, between a sound rewording and the same error, and between two texts that people rate differently. A
metric stands behind those that decide surely better on the same items; metrics of one rank are tied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, get_args

import numpy as np

from assay.core import Estimate
from assay.files import toml_file
from assay.grouping import grouped
from assay.language import language_name
from assay.reading.answers import answers
from assay.reading.decisions import Against, Decisions, Order, decisions_of, mean_order
from assay.reading.lines import EVERYTHING, Kinds, Line, People, Ranking
from assay.reading.recommendation import COIN, FEWEST_METRICS, over_all, recommended
from assay.reading.results import StoredRun
from assay.reading.shipped import AGREEMENT, identity, public_ratings
from assay.reading.verdicts import JudgedRow, checks, rows_of
from assay.vocabulary import TASKS, Aspect

# With fewer of the kinds of error, or of the decisions, than the median metric made, a metric is not ranked:
# all are compared on what all decided, and it would leave the others little. At quick size a causal model
# reads a fifth of what an encoder reads.
READ_KINDS, READ = 0.5, 0.1
FEWEST_DECISIONS = 30  # that all metrics made: of fewer, a share is not sure to within 18 of 100
_COLUMNS: dict[
    str, tuple[Aspect, Against]
] = {  # of the table: what an error changes, and which sound text stands against it
    "errors": ("meaning", "clean"),
    "reworded": ("meaning", "reworded"),
    "form": ("form", "clean"),
    "contrast": ("meaning", "far"),
}
_OMISSIONS = frozenset(toml_file("report", "words")["omissions"]["kinds"])
_RANKED_BY = ("errors", "reworded")  # of the columns, beside agreement with people


def rankings(run: StoredRun) -> list[Ranking]:
    """One ranking per task, the user's own data first; none where no audit asked about errors."""
    if "rankings" not in vars(run):
        vars(run)["rankings"] = _rankings(run)
    return list(vars(run)["rankings"])


def _rankings(run: StoredRun) -> list[Ranking]:
    own, embedded = _tasks(run)
    several = len({*own, *embedded}) > 1
    tasks = [*own, *([EVERYTHING] if several else []), *embedded]
    facts, rated = _facts(run), _Rated(run)
    tables = []
    for task in tasks:
        compared = [metric for metric, line in facts.items() if line.can_be_ranked(task)]
        people = rated.on(task, compared, is_own=task in own)
        lines = [replace(line, rated=people.get(metric)) for metric, line in facts.items()]
        starts = (*own, *embedded) if task == EVERYTHING else (task,)
        tables.append(replace(_ranked(run, lines, task), is_own=task in own, texts=_whose(run, own, starts)))
    whole = [line for table in tables if table.task == EVERYTHING for line in table.lines]
    overall = {line.metric: line.rank for line in whole if line.rank is not None}
    advised = [recommended(table, overall) for table in tables]
    by_task = [table for table in advised if table.task != EVERYTHING]
    return [over_all(table, by_task) if table.task == EVERYTHING else table for table in advised]


def _tasks(run: StoredRun) -> tuple[list[str], list[str]]:
    """The user's own files and the tasks of embedded texts that audits of robustness asked about."""
    starts = dict.fromkeys(_start(row) for row in checks(run, "robustness"))
    paths = [PurePath(path) for path in run.about.get("data", {})]
    files = {name for path in paths for name in (path.stem, f"{path.parent.name}-{path.stem}")}
    own = [start for start in starts if start in files]
    return own, [task for task in TASKS if task in starts and task not in own]


def _last(row: JudgedRow) -> str:
    """The last part of a finding's slice: a kind of error, a group."""
    return str(row["slice"]).rpartition("/")[2]


def _start(row: JudgedRow) -> str:
    """The first part of a finding's slice: a task, a file of the user's, an attribute."""
    return str(row["slice"]).partition("/")[0]


def _whose(run: StoredRun, own: Sequence[str], starts: Sequence[str]) -> str:
    """Whose texts slices that start so are about."""
    embedded = f"embedded {language_name(_embedded_language(run))} texts"
    whose = {start in own: "your texts" if start in own else embedded for start in starts}
    return " and ".join(whose[is_own] for is_own in sorted(whose, reverse=True))


def _embedded_language(run: StoredRun) -> str:
    """The language of the run's embedded texts."""
    options = [audit["options"] for audit in run.about.get("audits", {}).values()]
    spoken = [values.get("language", "en") for values in options]
    return next((code for code in spoken if code != "en"), "en")


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


class _Rated:
    """Agreement of the metrics of a run with people: measured in the run, or on public ratings."""

    def __init__(self, run: StoredRun) -> None:
        alone = [row for row in rows_of(run) if row["statistic"] == AGREEMENT and row["versus"] is None]
        texts = [row for row in alone if row["slice"].startswith("example/")]
        within = [row for row in texts if row["slice"].endswith("/by-document")]
        self.own = grouped(within or texts, lambda row: str(row["metric"]))
        # The atlas has the figures of public ratings among its own findings; for any other run it is asked.
        public = [row for row in alone if _start(row) in TASKS]
        self.public = grouped(public, lambda row: str(row["metric"])) or {
            metric: public_ratings().get(identity(about), [])
            for metric, about in run.about["metrics"].items()
        }

    def on(self, task: str, compared: Sequence[str], *, is_own: bool) -> dict[str, People]:
        """The agreement of every metric that has one on the texts of a task.

        Ratings of the user's own stand for the user's file, and for all tasks together.
        """
        if self.own and (is_own or task == EVERYTHING):
            return _on_shared(self.own, compared, is_public=False)
        if is_own:
            return {}
        chosen = {
            metric: [row for row in rows if task in (EVERYTHING, _start(row))]
            for metric, rows in self.public.items()
        }
        return _on_shared(chosen, compared, is_public=True)


def _on_shared(
    rated: Mapping[str, Sequence[JudgedRow]], compared: Sequence[str], *, is_public: bool
) -> dict[str, People]:
    """The mean agreement of each metric over the ratings that all metrics to be compared have."""
    by_set = {metric: {row["slice"]: row for row in rows} for metric, rows in rated.items() if rows}
    asked = [set(rows) for metric, rows in by_set.items() if metric in compared]
    shared = set.intersection(*asked) if asked else set()
    people = {}
    for metric, rows in by_set.items():
        chosen = {slice_: row for slice_, row in rows.items() if slice_ in shared} or rows
        sets = tuple(slice_.partition("/")[2] for slice_ in chosen)
        people[metric] = People(mean_of(list(chosen.values())), sets, is_public)
    return people


def mean_of(rows: Sequence[JudgedRow], lowest: float = 0.0) -> Estimate:
    """The mean of agreements, as sure as they are on average: sets may share texts or raters."""
    value, n = float(np.mean([row["value"] for row in rows])), sum(row["n"] for row in rows)
    ends = [(row["ci_low"], row["ci_high"]) for row in rows]
    if any(low is None for low, _ in ends):
        return Estimate(value, n)
    half = float(np.mean([(high - low) / 2 for low, high in ends]))
    return Estimate(value, n, (max(lowest, value - half), min(100.0, value + half)))


def _ranked(run: StoredRun, lines: Sequence[Line], task: str) -> Ranking:
    """The table of a task, the best first, without a recommendation."""
    decisions = decisions_of(run)
    named = None if task == EVERYTHING else task
    tables = {name: decisions.about(*which, task=named) for name, which in _COLUMNS.items()}
    fitting = {line.metric for line in lines if line.can_be_ranked(task)}
    compared = [metric for metric in _well_read(tables["errors"]) if metric in fitting]
    shared = tables["errors"].of(compared).shared().frame
    if shared.height < FEWEST_DECISIONS:
        compared, shared = [], shared.clear()
    orders = {name: table.of(compared).order() for name, table in tables.items()} if compared else {}
    numbers = {name: order.estimates() for name, order in orders.items()}
    asked = _Asked(run, decisions, task)
    completed = [_completed(line, numbers, asked) for line in lines]
    measured = [order for name, order in orders.items() if name in _RANKED_BY and order.n]
    ranked = _with_ranks(completed, measured)
    kinds = len({slice_.rpartition("/")[2] for slice_ in shared["slice"]})
    return Ranking(task, False, ranked, kinds, shared.height, unnoticed=asked.by_nobody())


def _completed(line: Line, numbers: Mapping[str, Mapping[str, Estimate]], asked: _Asked) -> Line:
    """A line with its right orders, which stand under the names of its fields, and its blind spots."""
    metric = line.metric
    columns: dict[str, Any] = {name: of_column.get(metric) for name, of_column in numbers.items()}
    return replace(line, **columns, kinds=asked.kinds(metric), rewarded=asked.rewarded(metric))


class _Asked:
    """The judged kinds of error of a task: findings about errors of meaning or of form, metric by metric."""

    def __init__(self, run: StoredRun, decisions: Decisions, task: str) -> None:
        aspects = {
            place: aspect
            for aspect in get_args(Aspect)
            for place in decisions.about(aspect).frame.select("audit", "slice").unique().iter_rows()
        }
        judged = [row for row in checks(run, "robustness") if task in (EVERYTHING, _start(row))]
        self.task = task
        self.aspects = aspects
        self.judged = grouped(
            (row for row in judged if (row["audit"], row["slice"]) in aspects), lambda row: str(row["metric"])
        )

    def is_of_meaning(self, row: JudgedRow) -> bool:
        """Whether a finding is about an error that changes what a text means."""
        return bool(self.aspects[row["audit"], row["slice"]] == "meaning")

    def kinds(self, metric: str) -> Kinds:
        """The kinds of error that a metric was asked about."""
        rows = self.judged.get(metric, [])
        return Kinds.of(rows, map(self.is_of_meaning, rows))

    def rewarded(self, metric: str) -> tuple[JudgedRow, ...]:
        """The false texts that a metric surely prefers to sound ones, worst first."""
        rows = [row for row in self.judged.get(metric, []) if row["ci_high"] is not None]
        false = [row for row in rows if self.is_of_meaning(row) and _last(row) not in _OMISSIONS]
        surely = [row for row in false if row["ci_high"] < COIN]
        return tuple(sorted(surely, key=lambda row: float(row["ci_high"])))

    def by_nobody(self) -> tuple[str, ...]:
        """The kinds of error to which every metric is blind, with their task where there are several."""
        if len(self.judged) < FEWEST_METRICS:
            return ()
        blind = [
            {(row["audit"], row["slice"]): row for row in rows if row["verdict"] == "fail"}
            for rows in self.judged.values()
        ]
        shared = sorted(set[tuple[str, str]].intersection(*map(set, blind)), key=lambda place: place[1])
        return tuple(dict.fromkeys(_kind(blind[0][place], self.task) for place in shared))


def _kind(row: JudgedRow, task: str) -> str:
    """A kind of error in words, with its task where the ranking is of all tasks."""
    first, _, _ = str(row["slice"]).partition("/")
    return f"{row.kind} ({first.replace('-', ' ')})" if task == EVERYTHING else row.kind


def _well_read(decisions: Decisions) -> list[str]:
    """The metrics that decided about enough of what the others decided to be compared with them."""
    read = {metric: decisions.frame[metric].count() for metric in decisions.metrics}
    kinds = decisions.kinds()
    if not read:
        return []
    least, least_kinds = READ * np.median(list(read.values())), READ_KINDS * np.median(list(kinds.values()))
    asked = [metric for metric, count in read.items() if count and count >= least]
    return [metric for metric in asked if kinds[metric] >= least_kinds]


def _with_ranks(lines: Sequence[Line], orders: Sequence[Order]) -> tuple[Line, ...]:
    """The best first; a rank is one more than the number of metrics that are surely better.

    Agreement with people counts where every ranked metric has it: what some lack would favour the others.
    """
    if not orders:
        return tuple(lines)
    order = mean_order(orders)
    gains, reach = order.gains()
    people = {line.metric: line.people for line in lines if line.people is not None}
    shares = 100 * order.shares
    if all(metric in people for metric in order.metrics):
        agreements = [people[metric] for metric in order.metrics]
        gains, reach = _with_people(gains, reach, agreements, len(orders))
        theirs = np.array([agreement.value for agreement in agreements])
        shares = (len(orders) * shares + theirs) / (len(orders) + 1)
    behind = dict(zip(order.metrics, (gains - reach > 0).sum(axis=0).tolist(), strict=True))
    merits = dict(zip(order.metrics, shares.tolist(), strict=True))
    ranked = [
        replace(line, rank=1 + behind[line.metric], merit=merits[line.metric])
        for line in lines
        if line.metric in behind
    ]
    ranked.sort(key=_place)
    return (*ranked, *(line for line in lines if line.metric not in behind))


def _place(line: Line) -> tuple[float, float]:
    return line.rank or np.inf, -line.merit


def _with_people(
    gains: np.ndarray, reach: np.ndarray, agreements: Iterable[Estimate], n_orders: int
) -> tuple[np.ndarray, np.ndarray]:
    """Differences of the mean that counts agreement with people like each of the other right orders."""
    agreements = list(agreements)
    values = np.array([estimate.value for estimate in agreements])
    ends = [estimate.ci or (0.0, 100.0) for estimate in agreements]
    halves = np.array([(high - low) / 2 for low, high in ends])
    theirs = values[:, None] - values[None, :]
    apart = np.hypot(halves[:, None], halves[None, :])  # as if other texts had been rated: no less sure
    whole = n_orders + 1
    return (n_orders * gains + theirs) / whole, np.hypot(n_orders * reach, apart) / whole
