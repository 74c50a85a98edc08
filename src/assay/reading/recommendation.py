"""A task's table to the recommendation: which metric to use, why, and at which price; or why none.

Metrics that are tied in a task are told apart by their order over all tasks, which rests on many more
decisions; those that are tied there too by whom they are unfair to, then by their numbers, then by speed.
Nothing is recommended that an expert of the task would not accept: not on few kinds of error, not from one
metric, not where it prefers a false text to a sound one or cannot be told from a coin, and not where its
agreement with people was not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.audits.effects import BAR, UNIT
from assay.core import Estimate
from assay.files import toml_file
from assay.grouping import grouped
from assay.reading.answers import subject_of
from assay.reading.lines import EVERYTHING, SIGNS, Line, Ranking, fairness_of, listed

FEWEST_KINDS = 5  # kinds of error below which nothing is recommended: one paper's table has more
FEWEST_METRICS = 2  # to recommend one of them
COIN = 50.0  # right order of a metric that tosses a coin
_ALIKE = 1.0  # of 100 decisions: a difference that nobody would notice
_MOST_TIED = 8  # tied metrics that are named
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
    top = _Top(ranking)
    if objection := _too_little(ranking):
        return _unknown(ranking, objection, top.lines)
    if not top.fit:
        return _refused(ranking, top)
    criteria = _criteria(overall)
    best = min(top.fit, key=lambda line: tuple(value_of(line) for value_of in criteria.values()))
    reasons = [
        f"{'Best over all tasks: ' if ranking.task == EVERYTHING else ''}{_praise(best)}",
        _tied(best, top.good, criteria),
        *map(_passed_over, top.unsafe),
        _warnings([best], ranking),
    ]
    advice = f"Of these {len(ranking.ranked)} metrics use {best.metric} for {ranking.name}"
    return replace(ranking, best=best.metric, advice=advice, reason=_sentences(reasons))


@dataclass(frozen=True)
class _Top:
    """The metrics of a task that no other surely beats, and what is held against them."""

    ranking: Ranking

    @cached_property
    def lines(self) -> list[Line]:
        return [line for line in self.ranking.ranked if line.rank == 1]

    @cached_property
    def unsafe(self) -> list[Line]:
        """Those that prefer false texts, which bars them in a single task."""
        return [line for line in self.lines if line.rewarded and self.ranking.task != EVERYTHING]

    @cached_property
    def safe(self) -> list[Line]:
        return [line for line in self.lines if line not in self.unsafe]

    @cached_property
    def good(self) -> list[Line]:
        """Of the safe ones those that decide well enough."""
        return [line for line in self.safe if not _shortcoming(line)]

    @cached_property
    def fit(self) -> list[Line]:
        """Of the good ones those that can be recommended: how they agree with people was measured."""
        return [line for line in self.good if line.people is not None]


def _refused(ranking: Ranking, top: _Top) -> Ranking:
    """The ranking of a task for which none of the metrics at its top can be recommended."""
    if not top.safe:
        return _not_good_enough(ranking, top.unsafe, [_nobody_is_safe(ranking, top.unsafe)])
    if not top.good:
        leader = _highest(top.safe)
        by_merit = {"it stands first by the mean of these figures": _merit}
        reasons = [_shortcoming(leader), _praise(leader), _tied(leader, top.safe, by_merit)]
        return _not_good_enough(ranking, top.safe, reasons)
    many = _TASKS.get(ranking.task, {}).get("open", "")
    return _unknown(ranking, f"Agreement with people was not measured{many}. {_leading(top.good)}", top.good)


def over_all(ranking: Ranking, tasks: Sequence[Ranking]) -> Ranking:
    """The ranking of all tasks, which says for which tasks to use which metric, and for which none."""
    served = grouped(tasks, lambda task: (task.best, bool(task.closest)))
    weak, unknown = served.pop(("", True), []), served.pop(("", False), [])
    uses = [f"{metric} for {_names(of_metric)}" for (metric, _), of_metric in served.items()]
    nearest = [f"{task.name} (the best: {task.closest})" for task in weak]
    parts = {
        f"use {'; '.join(uses)}": uses,
        f"for {listed(nearest)} none of these metrics is good enough alone": weak,
        f"for {_names(unknown)} too little is known to recommend one": unknown,
    }
    advice = "; ".join(words for words, about in parts.items() if about)
    return replace(ranking, best=ranking.best if uses else "", advice=advice[:1].upper() + advice[1:])


def _names(tasks: Sequence[Ranking]) -> str:
    return listed([task.name for task in tasks])


def _unknown(ranking: Ranking, reason: str, top: Sequence[Line]) -> Ranking:
    """The ranking of a task of which too little is known to recommend a metric."""
    reason = _sentences([reason, _warnings(top, ranking)])
    return replace(ranking, advice=f"No metric is recommended for {ranking.name}", reason=reason)


def _not_good_enough(ranking: Ranking, top: Sequence[Line], reasons: Sequence[str]) -> Ranking:
    """The ranking of a task for which even the best metric decides too badly."""
    leader, others = _highest(top), len(top) - 1
    advice = f"None of these {len(ranking.ranked)} metrics is good enough alone for {ranking.name}"
    advice += f"; the best of them is {leader.metric}"
    advice += f", tied with {others} other{'' if others == 1 else 's'}" if others else ""
    reason = _sentences([*reasons, _warnings([leader], ranking)])
    return replace(ranking, closest=leader.metric, advice=advice, reason=reason)


def _sentences(parts: Sequence[str]) -> str:
    return " ".join(filter(None, parts))


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


def _criteria(overall: Mapping[str, int]) -> dict[str, Callable[[Line], Any]]:
    """By what tied metrics are told apart, the surest evidence first; the smallest value wins."""
    return {
        "over all tasks it decides better": lambda line: overall.get(line.metric, np.inf),
        "what decides is fairness": _unfairness,
        "it stands first by the mean of these figures": _merit,
        "it is the fastest of them": lambda line: -(line.speed or 0.0),
    }


def _merit(line: Line) -> float:
    return -line.merit


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
        few = "surely fewer than three of four decisions"
        return f"It is right in {few} where a planted error changes the meaning."
    coins = {
        "where a planted error changes the meaning": best.errors,
        "where the sound text is reworded": best.reworded,
        "when it decides between texts that people rated": best.people,
    }
    tossed = [words for words, order in coins.items() if order is not None and _end(order, 0) <= COIN]
    return f"It cannot be told from a coin {listed(tossed)}." if tossed else ""


def _end(order: Estimate | None, side: int) -> float:
    """The lower (0) or upper (1) end of a right order; what nothing is known of may be anything."""
    if order is None or order.ci is None:
        return (0.0, 100.0)[side]
    return order.ci[side]


def _praise(line: Line) -> str:
    """What a metric decides rightly, of 100."""
    parts = []
    if line.errors is not None:
        parts.append(f"{line.errors.value:.0f} of 100 decisions where a planted error changes the meaning")
    if line.reworded is not None:
        parts.append(f"{line.reworded.value:.0f} where the sound text is reworded too")
    if line.rated is not None:
        sets = f" ({listed(line.rated.sets)})" if line.rated.is_public else ""
        parts.append(f"{line.rated.order.value:.0f} between texts that people rated{sets}")
    return f"{line.metric} is right in {listed(parts)}." if parts else ""


def _figures(line: Line) -> str:
    """What a metric decides rightly, as numbers: `97 and 75`."""
    known = [order for order in (line.errors, line.reworded, line.people) if order is not None]
    return listed([f"{order.value:.0f}" for order in known])


def _with_figures(lines: Sequence[Line]) -> str:
    """Metrics with their figures; of many, how many more there are."""
    named = [f"{line.metric} ({_figures(line)})" for line in lines[:_MOST_TIED]]
    rest = len(lines) - len(named)
    return listed([*named, *([f"{rest} more"] if rest else [])])


def _leading(lines: Sequence[Line]) -> str:
    """Which metrics lead on planted errors, where nothing is known of people."""
    if len(lines) == 1:
        return f"On planted errors {lines[0].metric} leads. {_praise(lines[0])}"
    counted = (
        "of 100 decisions where a planted error changes the meaning, and where the sound text is reworded too"
    )
    return f"On planted errors {len(lines)} metrics are tied (right {counted}): {_with_figures(lines)}."


def _tied(best: Line, top: Sequence[Line], criteria: Mapping[str, Callable[[Line], Any]]) -> str:
    """With whom a metric is tied, and the first criterion that tells it from all of them."""
    others = [line for line in top if line is not best]
    if not others:
        return ""
    deciding = [
        words
        for words, value_of in criteria.items()
        if all(value_of(best) < value_of(line) for line in others)
    ]
    how = next(iter(deciding), "little tells them apart")
    if how == "what decides is fairness":
        theirs = listed([_lost(line) for line in others[:_MOST_TIED]])
        how += f": in lost words its unfair effects add up to {_lost(best)}, theirs to {theirs}"
    return f"By these figures it is tied with {_with_figures(others)}; {how}."


def _lost(line: Line) -> str:
    """The sum of unfair effects in lost words, where enough is known of them."""
    is_unknown, lost, _ = _unfairness(line)
    return "an unknown sum" if is_unknown else f"{lost:.1f}"


def _warnings(lines: Sequence[Line], ranking: Ranking) -> str:
    """What a reader of a verdict must know of the metrics that it names."""
    where = f" on {ranking.language} texts" if ranking.is_own else ""
    return _sentences([_misled(lines), _unread(lines, ranking.task), _unfair(lines, where)])


def _who(some: Sequence[Line], lines: Sequence[Line]) -> str:
    """Some of the metrics that a verdict names, as the subject of a sentence."""
    return f"{len(some)} of them" if len(some) < len(lines) else "it" if len(lines) == 1 else "they"


def _misled(lines: Sequence[Line]) -> str:
    """The warning where a false text in nearly the same words wins against a right one in other words."""
    misled = [line for line in lines if _end(line.contrast, 1) < COIN]
    if not misled:
        return ""
    shares = [100 - line.contrast.value for line in misled if line.contrast is not None]
    cases = " to ".join(dict.fromkeys(f"{share:.0f}" for share in (min(shares), max(shares))))
    prefer = f"{_who(misled, lines)} prefer{'s' if len(misled) == 1 else ''}"
    return f"Beware: {prefer} a false near-copy to a right text in quite other words in {cases} of 100 cases."


def _unread(lines: Sequence[Line], task: str) -> str:
    """What the metrics do not read, so that nothing is checked against it."""
    source = _TASKS.get(task, {}).get("source")
    unread = [line for line in lines if line.needs and not line.needs & {"source", "image"}]
    if source is None or not unread:
        return ""
    who, do = _who(unread, lines), "does" if len(unread) == 1 else "do"
    unchecked = (
        "what the references leave out goes unchecked, and a right detail that none has counts against a text"
    )
    return f"{who.capitalize()} {do} not read {source}: {unchecked}."


def _unfair(lines: Sequence[Line], where: str) -> str:
    """The price of metrics: whom they are unfair to, and `where` that was measured."""
    most = 2 if len(lines) == 1 else 1
    priced = grouped(lines[:_MOST_TIED], lambda line: fairness_of(line, most) or "not measured")
    if not priced:
        return ""
    (first, *others) = priced
    named = [f"{words} for {listed([line.metric for line in those])}" for words, those in priced.items()]
    price = "; ".join(named) if others else first
    return f"Price in fairness, in lost words{where} ({SIGNS}): {price}."
