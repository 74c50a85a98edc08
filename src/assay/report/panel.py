"""Which metrics to use together: the smallest fair set that covers what they notice.

A spot is one slice of a robustness audit; a metric notices it by passing a check there and failing none. Set
cover is solved exactly (integer programming), fewest metrics first and the cheapest of those, so
that the answer does not depend on their order. What no metric passes is the residue: no panel can help there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy.optimize import Bounds, LinearConstraint, milp

from assay.errors import AuditError
from assay.report.verdicts import Check, Row, checks
from assay.run.results import Run

Spot = tuple[str, str, str]  # audit, slice, versus
Key = tuple[Spot, str]  # and the statistic
# The side on which a value in spreads is good: what a hybrid's parts can make up for each other.
_GOOD_BELOW = ("injection_gain", "frequent_gain", "repetition_gain", "copy_gain", "attack_gain")
_GOOD_ABOVE = ("sensitivity",)
_BASES = ("gold", "stereotype", "good", "hypothesis")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A metric as a member: what it sees, whom it is unfair to, what it costs."""

    metric: str
    sees: frozenset[Spot]
    unfair: tuple[str, ...]  # audit/slice of failed fairness checks
    seconds: float | None  # a thousand samples

    @property
    def fair(self) -> bool:
        """No fairness check failed."""
        return not self.unfair


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Two metrics added: the spec to run, and the spots it is predicted to see."""

    spec: str
    sees: frozenset[Spot]
    gained: frozenset[Spot]  # seen by neither part alone


@dataclass(frozen=True, slots=True)
class Panel:
    """The chosen members and what remains unseen."""

    members: tuple[str, ...]
    covered: frozenset[Spot]
    spots: frozenset[Spot]
    residue: frozenset[Spot]  # that no metric of the run sees
    unfair_only: frozenset[Spot]  # that only unfair metrics see
    curve: tuple[tuple[tuple[str, ...], int], ...]  # the best set of each size, and how much it sees
    hybrid: Hybrid | None
    candidates: tuple[Candidate, ...]


def choose_panel(run: Run, *, fair: bool = True) -> Panel:
    """The panel of a run; `fair=False` lets metrics in that failed a fairness check."""
    listed = checks(run)
    everyone = candidates(run, listed)
    spots = frozenset(_spot(check.row) for check in listed if check.question == "robustness")
    if not spots:
        raise AuditError("this run asked no metric what it sees; run assay audit first")
    members = [one for one in everyone if one.fair or not fair]
    reachable = frozenset[Spot]().union(*(one.sees for one in members))
    seen = frozenset[Spot]().union(*(one.sees for one in everyone))
    chosen = smallest_cover(members, reachable)
    curve = tuple(_best_of_size(members, reachable, size) for size in range(1, len(chosen) + 1))
    return Panel(
        tuple(one.metric for one in chosen), reachable, spots, spots - seen,
        seen - reachable, curve, best_hybrid(run, listed, members), tuple(everyone),
    )  # fmt: skip


def candidates(run: Run, listed: Sequence[Check]) -> list[Candidate]:
    """Every metric of the run as a possible member."""
    sees: dict[str, set[Spot]] = {}
    missed: dict[str, set[Spot]] = {}
    unfair: dict[str, list[str]] = {}
    for check in listed:
        if check.question == "robustness" and check.verdict in ("pass", "fail"):
            table = sees if check.verdict == "pass" else missed
            table.setdefault(check.row["metric"], set()).add(_spot(check.row))
        if check.question == "fairness" and check.verdict == "fail":
            unfair.setdefault(check.row["metric"], []).append(f"{check.row['audit']}/{check.row['slice']}")
    return [
        Candidate(
            metric, frozenset(sees.get(metric, set()) - missed.get(metric, set())),
            tuple(dict.fromkeys(unfair.get(metric, ()))), _cost(run, metric),
        )
        for metric in run.metrics
    ]  # fmt: skip


def _spot(row: Row) -> Spot:
    return row["audit"], row["slice"], row["versus"] or ""


def _cost(run: Run, metric: str) -> float | None:
    """Seconds a thousand samples, where this run computed enough of them to tell."""
    computed = run.about.get("computed", {}).get(metric, 0)
    seconds = run.about.get("seconds", {}).get("scoring", {}).get(metric)
    return 1000.0 * float(seconds) / computed if seconds is not None and computed >= 20 else None


def _weights(members: Sequence[Candidate]) -> np.ndarray:
    """One a metric, and a share of a half by cost: size decides, cost breaks ties; unknown is dear."""
    known = [one.seconds for one in members if one.seconds is not None]
    dearest = max(known, default=1.0)
    costs = np.array([dearest if one.seconds is None else one.seconds for one in members])
    total = float(costs.sum())
    return np.asarray(1.0 + (0.5 * costs / total if total > 0 else 0.0 * costs))


def smallest_cover(members: Sequence[Candidate], spots: frozenset[Spot]) -> list[Candidate]:
    """The exact minimum: fewest metrics that see all these spots, the cheapest of equal sets."""
    if not spots:
        return []
    table = _table(members, sorted(spots))
    solved = milp(
        _weights(members),
        constraints=LinearConstraint(table, lb=1.0),
        integrality=np.ones(len(members)),
        bounds=Bounds(0, 1),
    )
    return [one for one, taken in zip(members, solved.x, strict=True) if taken > 0.5]


def _table(members: Sequence[Candidate], spots: Sequence[Spot]) -> np.ndarray:
    """(spots, members): 1 where the member sees the spot."""
    return np.array([[float(spot in one.sees) for one in members] for spot in spots])


def _best_of_size(
    members: Sequence[Candidate], spots: frozenset[Spot], size: int
) -> tuple[tuple[str, ...], int]:
    """The set of at most `size` metrics that sees most: exact maximum coverage."""
    listed = sorted(spots)
    table = _table(members, listed)
    n, m = len(members), len(listed)
    # Variables: which members are taken, then which spots are seen. The small price breaks ties by cost.
    price = np.concatenate([1e-3 * _weights(members) / (2 * n), -np.ones(m)])
    seen_by = LinearConstraint(np.hstack([table, -np.eye(m)]), lb=0.0)
    few = LinearConstraint(np.concatenate([np.ones(n), np.zeros(m)])[None, :], ub=size)
    solved = milp(price, constraints=[seen_by, few], integrality=np.ones(n + m), bounds=Bounds(0, 1))
    taken = [one for one, chosen in zip(members, solved.x[:n], strict=True) if chosen > 0.5]
    covered = frozenset[Spot]().union(*(one.sees for one in taken))
    return tuple(one.metric for one in taken), len(covered)


def best_hybrid(run: Run, listed: Sequence[Check], members: Sequence[Candidate]) -> Hybrid | None:
    """The pair whose sum should see most, by adding the parts' intervals; None where no pair gains.

    Changes in spreads add up when the parts are weighted by one over their spread. Adding intervals assumes
    the worst about how the errors of the parts go together; but one weight serves all slices, whose spreads
    differ, so this is a prediction to be checked by a run, not a finding.
    """
    rows: dict[str, dict[Key, Row]] = {}
    for check in listed:
        if check.question == "robustness":
            key = (_spot(check.row), check.row["statistic"])
            rows.setdefault(check.row["metric"], {})[key] = check.row
    spreads = _spreads(run)
    usable = [one for one in members if spreads.get(one.metric)]
    best: Hybrid | None = None
    for one, two in combinations(usable, 2):
        seen = _together(rows.get(one.metric, {}), rows.get(two.metric, {}))
        if seen and (best is None or len(seen) > len(best.sees)):
            spec = f"{one.metric}+{spreads[one.metric] / spreads[two.metric]:.3g}*{two.metric}"
            best = Hybrid(spec, seen, seen - one.sees - two.sees)
    alone = max((len(one.sees) for one in members), default=0)
    return best if best is not None and len(best.sees) > alone else None


def _together(one: Mapping[Key, Row], two: Mapping[Key, Row]) -> frozenset[Spot]:
    """Spots all of whose shared checks the sum passes."""
    passed: dict[Spot, bool] = {}
    for key in one.keys() & two.keys():
        passed[key[0]] = passed.get(key[0], True) and _sum_passes(one[key], two[key])
    return frozenset(spot for spot, good in passed.items() if good)


def _sum_passes(one: Row, two: Row) -> bool:
    """Whether the sum of two intervals lies on the good side; else both parts must pass."""
    both = one["passed"] is True and two["passed"] is True
    if both or one["ci_low"] is None or two["ci_low"] is None:
        return both
    if one["statistic"] in _GOOD_BELOW:
        return bool(one["ci_high"] + two["ci_high"] < 0)
    # Twice the margin of the stress audit: the sum's own spread is at most twice a part's.
    return one["statistic"] in _GOOD_ABOVE and bool(one["ci_low"] + two["ci_low"] > 0.2)


def _spreads(run: Run) -> dict[str, float]:
    """The standard deviation of each metric's scores of unchanged texts."""
    base = run.scores.filter(pl.col("role").is_in(_BASES) & pl.col("score").is_not_null())
    grouped = base.group_by("metric", maintain_order=True).agg(pl.col("score").std(ddof=1).alias("spread"))
    return {metric: float(spread) for metric, spread in grouped.iter_rows() if spread}
