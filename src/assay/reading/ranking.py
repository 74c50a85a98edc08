"""A run to the answer per task: one table of its metrics, and one recommendation.

Everything is counted in decisions, of 100: between a sound text and one with an error that changes its
meaning, between a sound rewording and the same error, and between two texts that people rate differently. A
metric stands behind those that decide surely better on the same items; metrics of one rank are tied. Whom a
metric is unfair to is its price, which tells tied metrics apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from assay.audits.effects import BAR, UNIT
from assay.core import Estimate
from assay.grouping import grouped
from assay.reading.answers import Answer, answers, subject_of
from assay.reading.decisions import Decisions, Order, decisions_of, mean_order
from assay.reading.results import StoredRun
from assay.reading.text import amount, number
from assay.reading.verdicts import Row, checks, gravest_failures, rows_of
from assay.vocabulary import TASKS

EVERYTHING = "all tasks"
FEWEST_KINDS = 5  # kinds of error below which nothing is recommended: one paper's table has more
FEWEST_METRICS = 2  # to recommend one of them
READ = 0.5  # of the items that the median metric read: with fewer, a metric is not ranked
COIN = 50.0  # right order of a metric that tosses a coin
AGREEMENT = "agreement_order"  # the statistic that counts decisions of people
NAMED = 2  # blind spots and groups that a line names
_NOT_ASKED = Answer("fairness", {})


@dataclass(frozen=True, slots=True)
class Line:
    """A metric in the table of a task, in decisions of 100; metrics that share a rank are tied."""

    metric: str
    errors: Estimate | None = None  # errors that change what a text means
    reworded: Estimate | None = None  # the same errors against a sound rewording
    form: Estimate | None = None  # errors of form
    contrast: Estimate | None = None  # other words and right against nearly the same words and wrong
    rated: tuple[Row, ...] = ()  # its agreement with people, by dataset
    people: Estimate | None = None  # that of this task: of two texts rated differently, the better one
    blind: tuple[Row, ...] = ()  # errors it fails to notice, gravest first
    rewarded: tuple[Row, ...] = ()  # errors of meaning that it surely prefers to a sound text
    asked: int = 0  # kinds of error that were judged
    unfair: tuple[Row, ...] = ()  # whom it is unfair to, gravest first
    fairness: Answer = _NOT_ASKED
    speed: float | None = None  # texts per second
    rank: int | None = None  # None where too little was read to rank it

    @property
    def merit(self) -> float:
        """The mean of errors, rewordings and people, of what was measured; below every number without any."""
        measured = (self.errors, self.reworded, self.people)
        shares = [each.value for each in measured if each is not None]
        return float(np.mean(shares)) if shares else -1.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """A task with its table, the best first, and the recommendation."""

    task: str
    is_own: bool
    lines: tuple[Line, ...]
    kinds: int  # of errors that change the meaning, decided by every ranked metric
    items: int  # decisions about them
    best: str = ""  # the metric to use; empty where none can be recommended
    reason: str = ""  # why, in full sentences
    unnoticed: tuple[str, ...] = ()  # kinds of error to which every metric is blind
    texts: str = "embedded English texts"  # whose texts the decisions are about

    @property
    def advice(self) -> str:
        """The recommendation in a few words."""
        name = self.task.replace("-", " ")
        return f"Use {self.best} for {name}" if self.best else f"No metric is recommended for {name}"


def rankings(run: StoredRun) -> list[Ranking]:
    """One ranking per task, the user's own data first; none where no audit asked about errors."""
    if "rankings" not in vars(run):
        vars(run)["rankings"] = list(_rankings(run))
    return list(vars(run)["rankings"])


def _rankings(run: StoredRun) -> Iterator[Ranking]:
    starts = dict.fromkeys(row["slice"].partition("/")[0] for row in checks(run, "robustness"))
    paths = [PurePath(path) for path in run.about.get("data", {})]
    files = {name for path in paths for name in (path.stem, f"{path.parent.name}-{path.stem}")}
    own = [start for start in starts if start in files]
    embedded = [task for task in TASKS if task in starts]
    tasks = [*own, *([EVERYTHING] if starts and len({*own, *embedded}) != 1 else []), *embedded]
    facts = _facts(run)
    for task in tasks:
        starts_of_task = (*own, *embedded) if task == EVERYTHING else (task,)
        ranking = _ranked(run, facts, task, is_own=task in own)
        yield _recommended(replace(ranking, texts=_whose(own, starts_of_task)))


def _whose(own: Sequence[str], starts: Sequence[str]) -> str:
    """Whose texts slices that start so are about."""
    whose = {start in own: "your texts" if start in own else "embedded English texts" for start in starts}
    return " and ".join(whose[is_own] for is_own in sorted(whose, reverse=True))


def _facts(run: StoredRun) -> dict[str, Line]:
    """What is known of every metric whatever the task."""
    answered = answers(run)
    rated = grouped(rows_of(run), lambda row: (row["metric"], row["statistic"]))
    return {
        metric: Line(
            metric,
            rated=tuple(rated.get((metric, AGREEMENT), [])),
            unfair=answered[metric, "fairness"].failures,
            fairness=answered[metric, "fairness"],
            speed=speed_of(run, metric),
        )
        for metric in run.metrics
    }


def _people(rows: Sequence[Row], task: str, *, is_own: bool) -> Estimate | None:
    """Agreement with people on texts of a task; the mean where there are several criteria or sets of ratings.

    Figures of public ratings are kept by task (`captions/flickr8k`). Ratings of a user's own file speak for
    that file and for all tasks together.
    """
    alone = [row for row in rows if row["versus"] is None]
    public = [row for row in alone if row["slice"].partition("/")[0] in TASKS]
    if task == EVERYTHING and public:
        return _mean_of(public)
    if of_task := [row for row in public if row["slice"].startswith(f"{task}/")]:
        return _mean_of(of_task)
    if not is_own and task != EVERYTHING:
        return None
    texts = [row for row in alone if row["slice"].startswith("example/")]
    within = [row for row in texts if row["slice"].endswith("/by-document")]
    return _mean_of(within or texts)


def _mean_of(rows: Sequence[Row]) -> Estimate | None:
    """The mean of agreements, as sure as they are on average: sets may share texts or raters."""
    if not rows:
        return None
    value = float(np.mean([row["value"] for row in rows]))
    ends = [(row["ci_low"], row["ci_high"]) for row in rows]
    if any(low is None for low, _ in ends):
        return Estimate(value, sum(row["n"] for row in rows))
    half = float(np.mean([(high - low) / 2 for low, high in ends]))
    return Estimate(value, sum(row["n"] for row in rows), (value - half, value + half))


def speed_of(run: StoredRun, metric: str) -> float | None:
    """Texts per second, where this run computed enough scores to tell."""
    computed = run.about.get("computed", {}).get(metric, 0)
    seconds = run.about.get("seconds", {}).get("scoring", {}).get(metric)
    return float(computed) / float(seconds) if seconds and computed >= 20 else None


def _ranked(run: StoredRun, facts: Mapping[str, Line], task: str, *, is_own: bool) -> Ranking:
    """The table of a task, the best first, without a recommendation."""
    named = None if task == EVERYTHING else task
    decisions = decisions_of(run)
    errors = decisions.about("meaning", task=named)
    enough = _well_read(errors)
    orders = {
        name: table.of(enough).order() if enough else None
        for name, table in {
            "errors": errors,
            "reworded": decisions.about("meaning", "reworded", task=named),
            "form": decisions.about("form", task=named),
            "contrast": decisions.about("meaning", "far", task=named),
        }.items()
    }
    numbers = {name: order.estimates() if order else {} for name, order in orders.items()}
    with_column = set(decisions.about("meaning", "far").frame["audit"])  # which names no blind spots too
    judged = grouped(
        (
            row
            for row in checks(run, "robustness")
            if named in (None, row["slice"].partition("/")[0]) and row["audit"] not in with_column
        ),
        lambda row: row["metric"],
    )
    of_meaning = set(errors.frame.select("audit", "slice").unique().iter_rows())
    lines = []
    for metric, line in facts.items():
        rows = judged.get(metric, [])
        blind = tuple(gravest_failures(rows))
        preferred = [row for row in blind if row["ci_high"] is not None and row["ci_high"] < COIN]
        rewarded = [row for row in preferred if (row["audit"], row["slice"]) in of_meaning]
        people = _people(line.rated, task, is_own=is_own)
        kinds_asked = len({row["slice"] for row in rows})
        line = replace(
            line, errors=numbers["errors"].get(metric), reworded=numbers["reworded"].get(metric),
            form=numbers["form"].get(metric), contrast=numbers["contrast"].get(metric),
            people=people, blind=blind, rewarded=tuple(rewarded), asked=kinds_asked,
        )  # fmt: skip
        lines.append(line)
    measured = [orders[name] for name in ("errors", "reworded")]
    ranked = _with_ranks(lines, [order for order in measured if order is not None and order.n])
    kinds = max(errors.of(enough).shared().kinds().values(), default=0) if enough else 0
    items = orders["errors"].n if orders["errors"] else 0
    return Ranking(task, is_own, ranked, kinds, items, unnoticed=_unnoticed(ranked, task))


def _well_read(decisions: Decisions) -> list[str]:
    """The metrics that read enough of what the others read to be compared with them."""
    read = {metric: decisions.frame[metric].count() for metric in decisions.metrics}
    middle = float(np.median(list(read.values()))) if read else 0.0
    return [metric for metric, count in read.items() if count and count >= READ * middle]


def _with_ranks(lines: Sequence[Line], orders: Sequence[Order]) -> tuple[Line, ...]:
    """The best first; a rank is one more than the number of metrics that are surely better."""
    if not orders:
        return tuple(sorted(lines, key=lambda line: -line.merit))
    order = mean_order(orders)
    gains, reach = order.gains()
    people = {line.metric: line.people for line in lines if line.people is not None}
    if all(metric in people for metric in order.metrics):
        gains, reach = _with_people(gains, reach, [people[metric] for metric in order.metrics], len(orders))
    behind = dict(zip(order.metrics, (gains - reach > 0).sum(axis=0).tolist(), strict=True))
    ranked = [replace(line, rank=1 + behind[line.metric]) for line in lines if line.metric in behind]
    others = [line for line in lines if line.metric not in behind]
    return (
        *sorted(ranked, key=lambda line: (line.rank, -line.merit)),
        *sorted(others, key=lambda line: -line.merit),
    )


def _with_people(
    gains: np.ndarray, reach: np.ndarray, agreements: Sequence[Estimate], n_orders: int
) -> tuple[np.ndarray, np.ndarray]:
    """Differences of the mean that counts agreement with people like each of the other right orders."""
    values = np.array([estimate.value for estimate in agreements])
    ends = [estimate.ci or (0.0, 100.0) for estimate in agreements]
    halves = np.array([(high - low) / 2 for low, high in ends])
    theirs = values[:, None] - values[None, :]
    apart = np.hypot(halves[:, None], halves[None, :])  # as if other texts had been rated: no less sure
    whole = n_orders + 1
    return (n_orders * gains + theirs) / whole, np.hypot(n_orders * reach, apart) / whole


def _unnoticed(lines: Sequence[Line], task: str) -> tuple[str, ...]:
    """The kinds of error to which every metric of the table is blind."""
    asked = [line for line in lines if line.asked]
    if len(asked) < FEWEST_METRICS:
        return ()
    first, *others = ({(row["audit"], row["slice"]) for row in line.blind} for line in asked)
    slices = sorted(slice_ for _, slice_ in first.intersection(*others))
    return tuple(dict.fromkeys(_kind(slice_, task) for slice_ in slices))


def _kind(slice_: str, task: str) -> str:
    """A kind of error in words: `fluency: agreement`, with its task where the ranking is of all tasks."""
    first, _, rest = slice_.replace("-", " ").partition("/")
    name = rest.replace("/", ": ")
    return f"{name} ({first})" if task == EVERYTHING else name


def _recommended(ranking: Ranking) -> Ranking:
    """The ranking with its recommendation: of the metrics tied at the top the fairest, then the best.

    A metric that is surely blind to errors of meaning as a whole is not recommended, whatever the others are.
    """
    ranked = [line for line in ranking.lines if line.rank is not None]
    if len(ranked) < FEWEST_METRICS:
        return replace(ranking, reason="There are no two metrics here that can be compared.")
    if ranking.kinds < FEWEST_KINDS:
        return replace(
            ranking, reason=f"Only {ranking.kinds} kinds of error were tried: too few to say more."
        )
    safe = [line for line in ranked if ranking.task == EVERYTHING or not line.rewarded]
    top = [line for line in ranked if line.rank == 1]
    if not safe:
        return replace(
            ranking, reason=f"Every metric here prefers some error to a sound text. {_praise(top[0])}"
        )
    best = min((line for line in safe if line.rank == min(each.rank or 1 for each in safe)), key=_price)
    if best.errors is not None and best.errors.ci is not None and best.errors.ci[1] < BAR:
        return replace(ranking, reason=f"None is right at least three times in four. {_praise(best)}")
    parts = [
        _praise(best),
        _tied(best, [line.metric for line in safe if line.rank == best.rank and line is not best]),
        *(_passed_over(line) for line in top if line not in safe),
        _on_what(best, len(ranked)),
        _unfair(best),
    ]
    return replace(ranking, best=best.metric, reason=" ".join(filter(None, parts)))


def _price(line: Line) -> tuple[float, ...]:
    """What tied metrics are told apart by: whom they are unfair to, how good they are, how fast."""
    is_unknown = line.fairness.total > 0 and line.fairness.verdict == "inconclusive"
    sizes = [abs(row["value"]) for row in line.unfair if row.declared.unit == UNIT]
    others = len(line.unfair) - len(sizes)
    return (float(is_unknown), sum(sizes), others, -line.merit, -(line.speed or 0.0))


def _praise(line: Line) -> str:
    """What a metric decides rightly, of 100."""
    parts = []
    if line.errors is not None:
        parts.append(f"{line.errors.value:.0f} of 100 decisions against errors of meaning")
    if line.reworded is not None:
        parts.append(f"{line.reworded.value:.0f} where the sound text is reworded")
    if line.people is not None:
        parts.append(f"{line.people.value:.0f} as people decide")
    return f"{line.metric} is right in {_listed(parts)}."


def _tied(best: Line, others: Sequence[str]) -> str:
    if not others:
        return ""
    how = "it is the fairest of them" if best.fairness.total else "its numbers are the best of them"
    shown = others if len(others) <= 3 else [*others[:3], f"{len(others) - 3} more"]
    return f"It is tied with {_listed(shown)}; {how}."


def _passed_over(line: Line) -> str:
    """Why a metric at the top is not recommended."""
    return f"{line.metric} is passed over: it prefers texts with {subject_of(line.rewarded[0])}."


def _on_what(best: Line, metrics: int) -> str:
    """What the recommendation rests on."""
    if best.people is not None:
        return f"It is chosen from {metrics} metrics, by errors, rewordings and agreement with people."
    return f"It is chosen from {metrics} metrics on errors alone: agreement with people was not measured."


def _unfair(line: Line) -> str:
    """The price of a metric: whom it is unfair to."""
    if not line.fairness.total:
        return "Whom it is unfair to was not measured."
    settled = f"{line.fairness.settled} of {line.fairness.total} questions of fairness are settled"
    if not line.unfair:
        return f"No unfairness was found; {settled}."
    return f"Its price: it is unfair to {unfair_to(line)}; {settled}."


def unfair_to(line: Line, most: int = NAMED) -> str:
    """Whom a metric is unfair to, gravest first: Roma -0.54, Sikh -0.47, 6 more and 15 words.

    Groups stand before single words, and effects in lost words before those in other units.
    """
    sizes: dict[str, str] = {}
    for row in sorted(line.unfair, key=lambda row: row.declared.unit != UNIT):
        sizes.setdefault(subject_of(row), _size(row))
    words = [name for name in sizes if name.startswith("“")]
    groups = [name for name in sizes if name not in words]
    named = groups or words
    parts = [f"{name} {sizes[name]}" for name in named[:most]]
    if len(named) > most:
        parts.append(f"{len(named) - most} more")
    if groups and words:
        parts.append(f"{len(words)} word{'' if len(words) == 1 else 's'}")
    return _listed(parts) if parts else ""


def nobody_found(fairness: Answer) -> str:
    """What stands in place of groups where a metric is unfair to none: how much of it is known."""
    if not fairness.total:
        return ""
    settled = f"{fairness.settled} of {fairness.total} settled"
    return f"nobody found ({settled})" if fairness.settled else f"unknown ({settled})"


def _size(row: Row) -> str:
    """An effect with its sign; in lost words the number alone, as the column says its unit."""
    return f"{row['value']:+.2f}" if row.declared.unit == UNIT else amount(row["value"], row.declared)


def blind_to(line: Line, most: int = NAMED) -> str:
    """The worst blind spots of a metric by name, and how many more of how many there are."""
    names = list(dict.fromkeys(subject_of(row) for row in line.blind))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def with_interval(estimate: Estimate | None) -> str:
    """Right order with its interval: `84 [82, 86]`."""
    if estimate is None or estimate.ci is None:
        return ""
    low, high = estimate.ci
    return f"{estimate.value:.0f} [{low:.0f}, {high:.0f}]"


def table_rows(ranking: Ranking) -> list[dict[str, str]]:
    """The one table, as every page and terminal shows it."""
    rows = [
        {
            "metric": line.metric,
            "errors": with_interval(line.errors),
            "rewordings": with_interval(line.reworded),
            "other words": with_interval(line.contrast),
            "people": with_interval(line.people),
            "blind to": blind_to(line) or ("nothing found" if line.asked else ""),
            "unfair to (in lost words)": unfair_to(line) or nobody_found(line.fairness),
            "texts/s": number(line.speed),
        }
        for line in ranking.lines
    ]
    empty = [name for name in rows[0] if not any(row[name] for row in rows)] if rows else []
    return [{name: cell for name, cell in row.items() if name not in empty} for row in rows]


def caption(ranking: Ranking) -> str:
    """What the numbers of the table are, of what and how many."""
    task = ranking.task.replace("-", " ")
    return (
        f"{task}: right decisions of 100 (50 is a coin) between a sound text and one with an error of "
        f"meaning; {ranking.items:,} decisions on {ranking.texts}, {ranking.kinds} kinds of error"
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
