"""A task's table to the recommendation: which metric to use, why, and at which price; or why none.

Metrics that are tied in a task are told apart by their order over all tasks, which rests on many more
decisions; those that are tied there too by whom they are unfair to, then by their numbers, then by speed.
Nothing is recommended that an expert of the task would not accept: not on few kinds of error, not from one
metric, not where it prefers a false text to a sound one, cannot be told from a coin, or where one good text
says little about another and agreement with people is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.audits.effects import BAR, UNIT
from assay.core import Estimate
from assay.files import toml_file
from assay.grouping import grouped
from assay.reading.answers import subject_of
from assay.reading.lines import EVERYTHING, Line, Ranking, listed, unfair_to

FEWEST_KINDS = 5  # kinds of error below which nothing is recommended: one paper's table has more
FEWEST_METRICS = 2  # to recommend one of them
COIN = 50.0  # right order of a metric that tosses a coin
_ALIKE = 1.0  # of 100 decisions: a difference that nobody would notice
_MOST_TIED = 3  # tied metrics that are named
_TASKS: Mapping[str, Mapping[str, str]] = toml_file("report", "tasks")


def advised(tables: Sequence[Ranking]) -> list[Ranking]:
    """The tables of a run, each with its recommendation."""
    together = [table for table in tables if table.task == EVERYTHING]
    overall = {line.metric: line.rank or 0 for table in together for line in table.ranked}
    rankings = [recommended(table, overall) for table in tables]
    by_task = [ranking for ranking in rankings if ranking.task != EVERYTHING]
    return [over_all(one, by_task) if one.task == EVERYTHING else one for one in rankings]


def recommended(ranking: Ranking, overall: Mapping[str, int]) -> Ranking:
    """The ranking with its recommendation; `overall` has the rank of metrics over all tasks."""
    if objection := _too_little(ranking):
        return _unknown(ranking, objection)
    top = _Top(ranking)
    if not top.fit:
        return _refused(ranking, top)
    best = min(top.fit, key=lambda line: _preference(line, overall))
    reasons = [
        f"{'Best over all tasks: ' if ranking.task == EVERYTHING else ''}{_praise(best)}",
        _tied(best, [line for line in top.fit if line is not best], overall),
        *map(_passed_over, top.unsafe),
        _misled(best),
        _unread(best, ranking.task),
        _unfair(best, f" on {ranking.language} texts" if ranking.is_own else ""),
    ]
    reason = " ".join(filter(None, reasons))
    return replace(ranking, best=best.metric, advice=_advice(ranking, best), reason=reason)


@dataclass(frozen=True)
class _Top:
    """The metrics of a task that no other surely beats, and what is held against them."""

    ranking: Ranking

    @cached_property
    def unsafe(self) -> list[Line]:
        """Those that prefer false texts, which bars them in a single task."""
        top = [line for line in self.ranking.ranked if line.rank == 1]
        return [line for line in top if line.rewarded] if self.ranking.task != EVERYTHING else []

    @cached_property
    def safe(self) -> list[Line]:
        return [line for line in self.ranking.ranked if line.rank == 1 and line not in self.unsafe]

    @cached_property
    def good(self) -> list[Line]:
        """Of the safe ones those that decide well enough."""
        return [line for line in self.safe if not _shortcoming(line)]

    @cached_property
    def fit(self) -> list[Line]:
        """Of the good ones those that can be recommended: in some tasks only where people were asked."""
        is_open = "open" in _TASKS.get(self.ranking.task, {})
        return [line for line in self.good if line.people is not None or not is_open]


def _refused(ranking: Ranking, top: _Top) -> Ranking:
    """The ranking of a task for which none of the metrics at its top can be recommended."""
    if not top.safe:
        return _not_good_enough(ranking, _highest(top.unsafe), _nobody_is_safe(ranking, top.unsafe))
    if not top.good:
        leader = _highest(top.safe)
        return _not_good_enough(ranking, leader, f"{_shortcoming(leader)} {_praise(leader)}")
    why = f"without it no score says much here: {_TASKS[ranking.task]['open']}"
    on_errors = f"On errors alone, {_praise(_highest(top.good))}"
    return _unknown(ranking, f"Agreement with people was not measured, and {why}. {on_errors}")


def over_all(ranking: Ranking, tasks: Sequence[Ranking]) -> Ranking:
    """The ranking of all tasks, which says for which tasks to use which metric, and for which none."""
    served = grouped(tasks, lambda task: (task.best, bool(task.closest)))
    weak, unknown = served.pop(("", True), []), served.pop(("", False), [])
    uses = [_use(metric, of_metric) for (metric, _), of_metric in served.items()]
    nearest = [f"{task.name} (the best: {task.closest})" for task in weak]
    parts = {
        f"use {'; '.join(uses)}": uses,
        f"for {listed(nearest)} none of these metrics is good enough alone": weak,
        f"for {_names(unknown)} too little is known to recommend one": unknown,
    }
    advice = "; ".join(words for words, about in parts.items() if about)
    return replace(ranking, best=ranking.best if uses else "", advice=advice[:1].upper() + advice[1:])


def _use(metric: str, tasks: Sequence[Ranking]) -> str:
    """For which tasks a metric is recommended, and for which of them on errors alone."""
    alone = [task for task in tasks if _is_on_errors_alone(task)]
    rated = [task for task in tasks if task not in alone]
    parts = [f"for {_names(rated)}"] * bool(rated) + [f"on errors alone for {_names(alone)}"] * bool(alone)
    return f"{metric} {', and '.join(parts)}"


def _names(tasks: Sequence[Ranking]) -> str:
    return listed([task.name for task in tasks])


def _is_on_errors_alone(ranking: Ranking) -> bool:
    """Whether nothing is known of how the recommended metric agrees with people."""
    return any(line.metric == ranking.best and line.people is None for line in ranking.lines)


def _advice(ranking: Ranking, best: Line) -> str:
    """The recommendation in one sentence, which says on what it rests."""
    alone = ", on errors alone: whether it agrees with people was not measured" if best.people is None else ""
    return f"Of these {len(ranking.ranked)} metrics use {best.metric} for {ranking.name}{alone}"


def _unknown(ranking: Ranking, reason: str) -> Ranking:
    """The ranking of a task of which too little is known to recommend a metric."""
    return replace(ranking, advice=f"No metric is recommended for {ranking.name}", reason=reason)


def _not_good_enough(ranking: Ranking, leader: Line, reason: str) -> Ranking:
    """The ranking of a task for which even the best metric decides too badly."""
    advice = f"None of these {len(ranking.ranked)} metrics is good enough alone for {ranking.name}"
    return replace(
        ranking, closest=leader.metric, advice=f"{advice}; the best of them is {leader.metric}", reason=reason
    )


def _highest(lines: Sequence[Line]) -> Line:
    return max(lines, key=lambda line: line.merit)


def _too_little(ranking: Ranking) -> str:
    """Why the table says too little to recommend anything; empty where it says enough."""
    ranked = ranking.ranked
    if len(ranking.lines) < FEWEST_METRICS:
        alone = "There is one metric here, and nothing to compare it with."
        return " ".join([alone, *map(_praise, ranked)])
    if len(ranked) < FEWEST_METRICS:
        count = f"{len(ranked) or 'none'} of these {len(ranking.lines)} metrics"
        return f"On errors of meaning {count} decided enough to be compared."
    if ranking.kinds < FEWEST_KINDS:
        kinds = f"{ranking.kinds} kind{'' if ranking.kinds == 1 else 's'} of error"
        return f"Only {kinds} of meaning could be tried; fewer than {FEWEST_KINDS} say too little."
    if _decide_alike(ranked):
        return f"These {len(ranked)} metrics decide alike, and nothing else tells them apart."
    return ""


def _decide_alike(ranked: Sequence[Line]) -> bool:
    """Whether all metrics are tied, and none is better or fairer than another by anything worth a word."""
    merits = [line.merit for line in ranked]
    is_level = max(merits) - min(merits) < _ALIKE
    return is_level and {line.rank for line in ranked} == {1} and len(set(map(_unfairness, ranked))) == 1


def _preference(line: Line, overall: Mapping[str, int]) -> tuple[Any, ...]:
    """By what tied metrics are told apart, the smallest first: the surest evidence stands first."""
    return overall.get(line.metric, np.inf), _unfairness(line), -line.merit, -(line.speed or 0.0)


def _unfairness(line: Line) -> tuple[bool, float, int]:
    """How unfair a metric is, in an order: one of which little is known comes after all others."""
    is_unknown = line.fairness.total > 0 and line.fairness.verdict == "inconclusive"
    sizes = [abs(row["value"]) for row in line.unfair if row.declared.unit == UNIT]
    return is_unknown, sum(sizes), len(line.unfair) - len(sizes)


def _nobody_is_safe(ranking: Ranking, top: Sequence[Line]) -> str:
    """Why nothing is recommended where all that nobody beats prefer an error of meaning to a sound text."""
    best = _highest(top)
    parts = [f"{best.metric} decides best, but {_prefers(best)}.", _praise(best)]
    if other := next((line for line in ranking.ranked if not line.rewarded), None):
        behind = f"{best.merit - other.merit:.0f} of 100 decisions behind"
        parts.append(f"{other.metric}, the best that prefers no error, is surely {behind}.")
    else:
        parts.append("So does every other metric here.")
    return " ".join(parts)


def _prefers(line: Line) -> str:
    share = 100 - line.rewarded[0]["value"]
    return f"prefers texts with {subject_of(line.rewarded[0])} to sound ones in {share:.0f} of 100 cases"


def _passed_over(line: Line) -> str:
    """Why a metric at the top is not recommended."""
    return f"{line.metric} is passed over: it {_prefers(line)}."


def _shortcoming(best: Line) -> str:
    """Why one of the best metrics is not to be recommended; empty where nothing is held against it."""
    if _end(best.errors, 1) < BAR:
        return (
            "Even the best is right in fewer than three of four decisions where an error changes the meaning."
        )
    coins = {
        "where an error changes the meaning": best.errors,
        "where the sound text is reworded": best.reworded,
        "when it decides between texts that people rated": best.people,
    }
    tossed = [words for words, order in coins.items() if order is not None and _end(order, 0) <= COIN]
    if tossed:
        return f"Even the best cannot be told from a coin {listed(tossed)}."
    return ""


def _end(order: Estimate | None, side: int) -> float:
    """The lower (0) or upper (1) end of a right order; what nothing is known of may be anything."""
    if order is None or order.ci is None:
        return (0.0, 100.0)[side]
    return order.ci[side]


def _praise(line: Line) -> str:
    """What a metric decides rightly, of 100."""
    parts = []
    if line.errors is not None:
        parts.append(f"{line.errors.value:.0f} of 100 decisions where an error changes the meaning")
    if line.reworded is not None:
        parts.append(f"{line.reworded.value:.0f} where the sound text is reworded too")
    if line.rated is not None:
        sets = f" ({listed(line.rated.sets)})" if line.rated.is_public else ""
        parts.append(f"{line.rated.order.value:.0f} between texts that people rated{sets}")
    return f"{line.metric} is right in {listed(parts)}." if parts else ""


def _tied(best: Line, others: Sequence[Line], overall: Mapping[str, int]) -> str:
    """With whom a metric is tied, and what tells it from them."""
    if not others:
        return ""
    names = [line.metric for line in others[:_MOST_TIED]]
    names += [f"{len(others) - _MOST_TIED} more"] if len(others) > _MOST_TIED else []
    ranks = [overall.get(line.metric, np.inf) for line in others]
    if overall.get(best.metric, np.inf) < min(ranks):
        how = "over all tasks it decides better"
    elif all(_unfairness(best) < _unfairness(line) for line in others):
        how = "it is the fairest of them"
    else:
        how = "little tells them apart"
    return f"Here it is tied with {listed(names)}; {how}."


def _misled(line: Line) -> str:
    """The warning where a false text in nearly the same words wins against a right one in other words."""
    if line.contrast is None or line.contrast.ci is None or line.contrast.ci[1] >= COIN:
        return ""
    share = 100 - line.contrast.value
    which = "a false near-copy to a right text in quite other words"
    return f"Beware: it prefers {which} in {share:.0f} of 100 cases."


def _unread(line: Line, task: str) -> str:
    """What the metric does not read, so that nothing is checked against it."""
    source = _TASKS.get(task, {}).get("source")
    if source is None or not line.needs or line.needs & {"source", "image"}:
        return ""
    return f"It does not read {source}: what the references leave out goes unchecked."


def _unfair(line: Line, where: str) -> str:
    """The price of a metric: whom it is unfair to, and `where` that was measured."""
    if not line.fairness.total:
        return "Whom it is unfair to was not measured."
    settled = f"{line.fairness.settled} of {line.fairness.total} questions of fairness{where} are settled"
    if not line.unfair:
        return f"It was found unfair to nobody{where}; {settled}."
    return f"Its price, in lost words{where}: it is unfair to {unfair_to(line)}; {settled}."
