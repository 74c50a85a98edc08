"""Which metrics to use together: the smallest fair set that covers what they notice.

A spot is one slice of a robustness audit that asks whether an error is noticed, on which some metric tells
clean from worthless texts; edits that should not move the score are no spots. A metric notices a spot by
passing all checks there, as summaries count it. Set cover is solved exactly (integer programming), fewest
metrics first and the cheapest of those, so that the answer does not depend on their order. Metrics that are
insensitive nearly everywhere are no candidates. No panel can help with spots that no metric passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
import scipy  # scipy.optimize takes 0.2 s to import, so it is loaded on first use

from assay.core import Statistic
from assay.engine.settle import by_interval
from assay.errors import AuditError
from assay.reading.answers import Slice, answers, asks_for_change, slice_outcomes
from assay.reading.evidence import WORTHLESS
from assay.reading.names import empty_metrics
from assay.reading.results import StoredRun
from assay.reading.verdicts import Row, checks, grouped

Spot = Slice


@dataclass(frozen=True, slots=True)
class Candidate:
    """A metric as a possible member: what it notices, whom it is unfair to, what it costs."""

    metric: str
    notices: frozenset[Spot]
    unfair: tuple[str, ...]  # audit/slice of failed fairness checks
    seconds: float | None  # per thousand samples
    fairness: str = "not measured"  # the verdict of its fairness checks
    is_unsettled: bool = False  # none failed, but most of them say nothing


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Two metrics added: the spec to run, and the spots it is predicted to notice."""

    spec: str
    notices: frozenset[Spot]
    gained: frozenset[Spot]  # noticed by neither part alone


@dataclass(frozen=True, slots=True)
class Panel:
    """The chosen members and what remains unnoticed."""

    members: tuple[str, ...]
    covered: frozenset[Spot]
    spots: frozenset[Spot]
    unnoticed: frozenset[Spot]  # by every metric of the run
    unfair_only: frozenset[Spot]  # that only unfair metrics notice
    curve: tuple[tuple[tuple[str, ...], int], ...]  # the best set of each size, and how much it notices
    hybrid: Hybrid | None
    candidates: tuple[Candidate, ...]
    empty: int  # metrics left out, since they do not tell clean from worthless texts

    @property
    def is_fair(self) -> bool:
        """Whether the fairness of every member was measured and none failed."""
        known = {candidate.metric: candidate.fairness for candidate in self.candidates}
        return bool(self.members) and all(known[member] == "pass" for member in self.members)


def choose_panel(run: StoredRun, *, fair: bool = True) -> Panel:
    """The panel of a run; `fair=False` lets metrics in that failed a fairness check."""
    judged = error_checks(run)
    if not judged:
        raise AuditError("no audit of this run asked which errors a metric notices; run assay audit first")
    everyone = candidates(run, judged)
    names = {candidate.metric for candidate in everyone}
    known = [row for row in judged if row["verdict"] != "insensitive" and row["metric"] in names]
    spots = frozenset((row["audit"], row["slice"]) for row in known)
    members = [candidate for candidate in everyone if not candidate.unfair or not fair]
    reachable = frozenset[Spot]().union(*(member.notices for member in members))
    noticed = frozenset[Spot]().union(*(candidate.notices for candidate in everyone))
    chosen = smallest_cover(members, reachable)
    curve = tuple(_best_of_size(members, reachable, size) for size in range(1, len(chosen) + 1))
    return Panel(
        tuple(member.metric for member in chosen), reachable, spots, spots - noticed,
        noticed - reachable, curve, best_hybrid(run, judged, members), tuple(everyone),
        len(run.metrics) - len(everyone),
    )  # fmt: skip


def error_checks(run: StoredRun) -> list[Row]:
    """The checks that ask whether an error is noticed."""
    return [row for row in checks(run, "robustness") if asks_for_change(row.declared)]


def candidates(run: StoredRun, judged: Sequence[Row]) -> list[Candidate]:
    """The metrics of the run as possible members, without empty ones; `judged` are checks of errors."""
    outcomes, answered, empty = slice_outcomes(judged), answers(run), empty_metrics(run)
    unfair: dict[str, dict[str, None]] = {}  # in order, each once
    for row in checks(run, "fairness"):
        if row["verdict"] == "fail":
            unfair.setdefault(row["metric"], {})[f"{row['audit']}/{row['slice']}"] = None
    return [
        Candidate(
            metric, frozenset(spot for spot, known in outcomes.get(metric, {}).items() if known == "pass"),
            tuple(unfair.get(metric, ())), _cost(run, metric), answered[metric, "fairness"].verdict,
            answered[metric, "fairness"].is_unsettled,
        )
        for metric in run.metrics
        if metric not in empty
    ]  # fmt: skip


def _cost(run: StoredRun, metric: str) -> float | None:
    """Seconds per thousand samples, where this run computed enough of them to tell."""
    computed = run.about.get("computed", {}).get(metric, 0)
    seconds = run.about.get("seconds", {}).get("scoring", {}).get(metric)
    return 1000.0 * float(seconds) / computed if seconds is not None and computed >= 20 else None


def _weights(members: Sequence[Candidate]) -> np.ndarray:
    """One per metric plus up to a half for its cost, so that cost breaks ties; an unknown cost is dear."""
    known = [member.seconds for member in members if member.seconds is not None]
    dearest = max(known, default=1.0)
    costs = np.array([dearest if member.seconds is None else member.seconds for member in members])
    total = float(costs.sum())
    return np.asarray(1.0 + (0.5 * costs / total if total > 0 else 0.0 * costs))


def smallest_cover(members: Sequence[Candidate], spots: frozenset[Spot]) -> list[Candidate]:
    """The exact minimum: fewest metrics that notice all these spots, the cheapest of equal sets."""
    if not spots:
        return []
    chosen = _cheapest(_weights(members), (_table(members, sorted(spots)), 1.0, np.inf))
    return [member for member, is_taken in zip(members, chosen, strict=True) if is_taken]


def _cheapest(price: np.ndarray, *rules: tuple[np.ndarray, float, float]) -> np.ndarray:
    """Which to take at the least price, so that the sums of each rule lie between its two bounds."""
    solver = scipy.optimize
    limits = [solver.LinearConstraint(*rule) for rule in rules]
    whole = {"integrality": np.ones(len(price)), "bounds": solver.Bounds(0, 1)}
    return np.asarray(solver.milp(price, constraints=limits, **whole).x > 0.5)


def _table(members: Sequence[Candidate], spots: Sequence[Spot]) -> np.ndarray:
    """(spots, members): 1 where the member notices the spot."""
    return np.array([[float(spot in member.notices) for member in members] for spot in spots])


def _best_of_size(
    members: Sequence[Candidate], spots: frozenset[Spot], size: int
) -> tuple[tuple[str, ...], int]:
    """The set of at most `size` metrics that notices most: exact maximum coverage."""
    listed = sorted(spots)
    table = _table(members, listed)
    n, m = len(members), len(listed)
    # Variables: which members are taken, then which spots are noticed. The small price breaks ties by cost.
    price = np.concatenate([1e-3 * _weights(members) / (2 * n), -np.ones(m)])
    noticed_by = np.hstack([table, -np.eye(m)]), 0.0, np.inf
    few = np.concatenate([np.ones(n), np.zeros(m)])[None, :], -np.inf, float(size)
    chosen = _cheapest(price, noticed_by, few)[:n]
    taken = [member for member, is_taken in zip(members, chosen, strict=True) if is_taken]
    covered = frozenset[Spot]().union(*(member.notices for member in taken))
    return tuple(member.metric for member in taken), len(covered)


def best_hybrid(run: StoredRun, judged: Sequence[Row], members: Sequence[Candidate]) -> Hybrid | None:
    """The pair whose sum should notice most, by averaging the parts' intervals; None where no pair gains.

    An effect of the sum, in percent of its gap, is the mean of the parts' effects if each part is divided by
    its own gap. Averaging intervals assumes the worst about how the errors of the parts go together; but one
    weight serves all slices, whose gaps differ, so this is a prediction to be checked by a run.
    """
    gaps = _gaps(run)
    by_place = grouped(judged, lambda row: (row["audit"], row["slice"], row["statistic"], row["versus"]))
    listed = [
        ({row["metric"]: row for row in rows}, rows[0].declared, (audit, slice_))
        for (audit, slice_, *_), rows in by_place.items()
    ]
    best: Hybrid | None = None
    for first, second in combinations((member for member in members if gaps.get(member.metric, 0.0) > 0), 2):
        passed: dict[Spot, bool] = {}
        for rows, statistic, spot in listed:
            if first.metric in rows and second.metric in rows:
                passes = _sum_passes(rows[first.metric], rows[second.metric], statistic)
                passed[spot] = passed.get(spot, True) and passes
        noticed = frozenset(spot for spot, passes in passed.items() if passes)
        if noticed and (best is None or len(noticed) > len(best.notices)):
            weight = gaps[first.metric] / gaps[second.metric]
            parts = [run.about["metrics"][m.metric].get("spec") or m.metric for m in (first, second)]
            spec = f"{parts[0]}+{weight:.3g}*{parts[1]}"
            best = Hybrid(spec, noticed, noticed - first.notices - second.notices)
    alone = max((len(member.notices) for member in members), default=0)
    return best if best is not None and len(best.notices) > alone else None


def _sum_passes(first: Row, second: Row, statistic: Statistic) -> bool:
    """Whether both parts pass, or the mean of two intervals on which their verdicts rest alone.

    Verdicts rest on more under `--rule paper`, and where one place of a text is compared with another.
    """
    if first["verdict"] == second["verdict"] == "pass":
        return True
    intervals = [(row["ci_low"], row["ci_high"]) for row in (first, second)]
    verdicts = [_verdict(interval, statistic) for interval in intervals]
    if verdicts != [first["verdict"], second["verdict"]]:
        return False
    low, high = ((ends[0] + ends[1]) / 2 for ends in zip(*intervals, strict=True))
    return _verdict((low, high), statistic) == "pass"


def _verdict(interval: tuple[float | None, float | None], statistic: Statistic) -> str:
    low, high = interval
    if low is None or high is None or statistic.bad is None:
        return "no interval"
    return by_interval((low, high), statistic, float(statistic.margin or 0.0))


def _gaps(run: StoredRun) -> dict[str, float]:
    """Each metric's mean score of unchanged texts (the first role of a case) minus that of worthless ones.

    Metrics whose effects are computed on a log scale are left out: their scores do not add up.
    """
    keys = ["audit", "case"]
    first = run.cases.group_by(keys, maintain_order=True).agg(pl.col("role").first())
    scores = run.scores.drop_nulls("score")
    clean = scores.join(first, on=[*keys, "role"])
    worthless = scores.filter(pl.col("role") == WORTHLESS).drop("role").rename({"score": "low"})
    both = clean.join(worthless, on=["metric", *keys])
    grouped = both.group_by("metric", maintain_order=True).agg((pl.col("score") - pl.col("low")).mean())
    logged = {metric for metric, about in run.about["metrics"].items() if about.get("heavy_tailed")}
    return {metric: float(gap) for metric, gap in grouped.iter_rows() if metric not in logged}
