"""Every road side by side: bias, sight, agreement; the front of bias against agreement, a recommendation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from assay.audits.slices import spread_out
from assay.datasets.pairs import Pair, read_pair_files
from assay.datasets.ratings import Rated
from assay.datasets.templates import ATTRIBUTES
from assay.mitigation.counterfactuals import counterfactuals
from assay.mitigation.debias import as_pair
from assay.mitigation.evaluation import Evaluation, evaluate
from assay.mitigation.roads import Road
from assay.run.session import Session

AGREEMENT = 0.005  # the share of agreement with people that a recommended road may cost
Verdicts = Mapping[tuple[str, str], bool | None]


@dataclass(frozen=True, slots=True)
class Compared:
    """The roads, what they lead to, which none beats, and which to take."""

    roads: tuple[Road, ...]
    tested: Evaluation
    targets: tuple[str, ...]  # the sets that were to be made fair
    stress: Mapping[str, tuple[int, int]]  # metric -> failed verdicts, verdicts that changed
    front: tuple[str, ...]
    recommended: str | None
    reason: str


def untouched_sets(attributes: Sequence[str], limit: int) -> dict[str, list[Pair]]:
    """Held-out pairs of the attributes asked for, then of all others: does mending one worsen another?"""
    ordered = [*attributes, *(name for name in ATTRIBUTES if name not in attributes)]
    found = {}
    for name in ordered:
        held = counterfactuals([name])["test"]
        found[name] = spread_out([as_pair(one, n) for n, one in enumerate(held)], limit)
    return found


def file_sets(paths: Sequence[Path]) -> dict[str, list[Pair]]:
    """Pairs of the user's files, a set an attribute."""
    found: dict[str, list[Pair]] = {}
    for path in paths:
        for pair in read_pair_files([path])[0]:
            found.setdefault(f"{path.stem}/{pair.attribute}", []).append(pair)
    return found


def compare(
    found: Sequence[Road],
    sets: Mapping[str, Sequence[Pair]],
    targets: Sequence[str],
    rated: Mapping[str, Sequence[Rated]],
    settings: Session,
    *,
    stress: Mapping[str, tuple[int, int]] | None = None,
    seed: int = 0,
) -> Compared:
    """Measure every road; the first is the metric as it is."""
    tested = evaluate([road.measure for road in found], sets, rated, settings, seed=seed)
    labels = [road.measure.label for road in found]
    bias = {name: mean_bias(tested, name, targets) for name in labels}
    agreement = {name: mean_agreement(tested, name) for name in labels}
    best, reason = recommend(labels, bias, agreement, tested)
    return Compared(
        tuple(found), tested, tuple(targets), stress or {}, front(labels, bias, agreement), best, reason
    )  # fmt: skip


def mean_bias(tested: Evaluation, metric: str, targets: Sequence[str]) -> float:
    """The mean bias over the sets that were to be made fair."""
    return float(np.mean([tested.figure(metric, "bias", name).value for name in targets]))


def mean_agreement(tested: Evaluation, metric: str) -> float | None:
    """The mean Spearman correlation with people; None without ratings."""
    found = [f.value for f in tested.figures if f.metric == metric and f.kind == "spearman"]
    return float(np.mean(found)) if found else None


def front(
    labels: Sequence[str], bias: Mapping[str, float], agreement: Mapping[str, float | None]
) -> tuple[str, ...]:
    """The metrics that no other beats in both bias and agreement.

    >>> front(["a", "b", "c"], {"a": 9, "b": 2, "c": 5}, {"a": 0.7, "b": 0.6, "c": 0.5})
    ('a', 'b')
    """

    def beaten(one: str) -> bool:
        mine = (bias[one], -(agreement[one] or 0.0))
        others = ((bias[name], -(agreement[name] or 0.0)) for name in labels if name != one)
        return any(o[0] <= mine[0] and o[1] <= mine[1] and o != mine for o in others)

    return tuple(name for name in labels if not beaten(name))


def recommend(
    labels: Sequence[str],
    bias: Mapping[str, float],
    agreement: Mapping[str, float | None],
    tested: Evaluation,
) -> tuple[str | None, str]:
    """The least biased road that blinds nothing and keeps agreement with people."""
    old = agreement[labels[0]]

    def keeps(name: str) -> bool:
        new = agreement[name]
        return old is None or new is None or new >= old - AGREEMENT * abs(old)

    fit = [name for name in labels[1:] if tested.labels[name] == "fairer" and keeps(name)]
    if not fit:
        return None, "no road is fairer without blinding the metric or costing agreement: keep it, and say so"
    best = min(fit, key=lambda name: bias[name])
    kept = "agreement was not measured" if old is None else f"agreement {old:.4f} to {agreement[best]:.4f}"
    return best, f"bias {bias[labels[0]]:.2f} to {bias[best]:.2f}, {kept}, and it still sees gender"


def stress_changes(first: Verdicts, other: Verdicts) -> tuple[int, int]:
    """Failed verdicts of a metric, and how many of its verdicts are not the first metric's.

    >>> stress_changes({("a", "s"): True, ("b", "s"): False}, {("a", "s"): False, ("b", "s"): False})
    (2, 1)
    """
    failed = sum(passed is False for passed in other.values())
    return failed, sum(first[key] != other.get(key) for key in first)


def document(done: Compared) -> str:
    """What `--json` prints; no times in it."""
    return json.dumps(
        {
            "roads": [{"kind": road.kind, "metric": road.measure.label} for road in done.roads],
            "figures": [asdict(figure) for figure in done.tested.figures],
            "labels": dict(done.tested.labels),
            "stress": {name: list(counts) for name, counts in done.stress.items()},
            "front": list(done.front),
            "recommended": done.recommended,
            "reason": done.reason,
        },
        indent=1,
        ensure_ascii=False,
    )
