"""Mitigation methods side by side: what the audits find of each, the Pareto front, a recommendation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from assay.audits.slices import spread_out
from assay.datasets.pairs import Pair
from assay.datasets.templates import ATTRIBUTES
from assay.mitigation.data import counterfactuals
from assay.mitigation.methods import Method
from assay.mitigation.proof import Proof, prove
from assay.run.results import Run
from assay.run.session import Session

AGREEMENT = 0.005  # the share of agreement with people that a recommended method may cost
Verdicts = Mapping[tuple[str, str], bool | None]
Means = Mapping[str, float | None]  # by metric; None where nothing was measured


@dataclass(frozen=True, slots=True)
class Comparison:
    """Methods and the proof of all of them; the first method is the metric as it is."""

    methods: tuple[Method, ...]
    proof: Proof
    stress: Mapping[str, tuple[int, int]]  # by metric: failed verdicts, verdicts unlike the first metric's
    front: tuple[str, ...]
    recommended: str | None
    reason: str


def held_out_sets(attributes: Sequence[str], limit: int) -> dict[str, list[Pair]]:
    """Held-out pairs of these attributes, then of all others: does debiasing for one worsen another?"""
    ordered = [*attributes, *(name for name in ATTRIBUTES if name not in attributes)]
    sets = {}
    for name in ordered:
        pairs = counterfactuals([name])["test"]
        sets[name] = spread_out([pair.as_pair(n) for n, pair in enumerate(pairs)], limit)
    return sets


def compare(
    methods: Sequence[Method],
    sets: Mapping[str, Sequence[Pair]],
    targets: Sequence[str],
    human: Sequence[Path],
    folder: Path,
    session: Session,
    *,
    stress: bool = False,
    seed: int = 0,
) -> Comparison:
    """Run the audits on every method's metric; `targets` are the sets that were to be made fair."""
    measures = [method.measure for method in methods]
    proof = prove(measures, sets, human, folder, session, stress=stress, seed=seed)
    metrics = [measure.label for measure in measures]
    bias = {name: mean_bias(proof, name, targets) for name in metrics}
    agreement = {name: mean_agreement(proof, name) for name in metrics}
    best, reason = recommend(metrics, bias, agreement, proof.labels)
    counts = stress_counts(proof.run, metrics) if stress else {}
    return Comparison(tuple(methods), proof, counts, front(metrics, bias, agreement), best, reason)


def mean_bias(proof: Proof, metric: str, targets: Sequence[str]) -> float | None:
    """The mean bias over the sets that were to be made fair; None where the metric scored none of them."""
    values = [figure.value for figure in proof.of(metric, "bias") if figure.slice in targets]
    return fmean(values) if values else None


def mean_agreement(proof: Proof, metric: str) -> float | None:
    """The mean Spearman correlation with people; None without ratings."""
    values = [figure.value for figure in proof.of(metric, "spearman")]
    return fmean(values) if values else None


def front(metrics: Sequence[str], bias: Means, agreement: Means) -> tuple[str, ...]:
    """The metrics that no other beats in both bias and agreement.

    >>> front(["a", "b", "c"], {"a": 9, "b": 2, "c": 5}, {"a": 0.7, "b": 0.6, "c": 0.5})
    ('a', 'b')
    """
    # Lower is better in both; no agreement counts as 0, as for all metrics where there are no ratings.
    losses = {name: (value, -(agreement[name] or 0.0)) for name, value in bias.items() if value is not None}

    def is_beaten(loss: tuple[float, float]) -> bool:
        return any(o[0] <= loss[0] and o[1] <= loss[1] and o != loss for o in losses.values())

    return tuple(name for name in metrics if name in losses and not is_beaten(losses[name]))


def recommend(
    metrics: Sequence[str], bias: Means, agreement: Means, labels: Mapping[str, str]
) -> tuple[str | None, str]:
    """The least biased metric that blinds nothing and keeps agreement with people, and the reason."""
    old = agreement[metrics[0]]

    def agrees(name: str) -> bool:
        new = agreement[name]
        return old is None or new is None or new >= old - AGREEMENT * abs(old)

    fairer = {
        name: value
        for name in metrics[1:]
        if (value := bias[name]) is not None and labels[name] == "fairer" and agrees(name)
    }
    if not fairer:
        reason = "no method is fairer without blinding the metric or costing agreement: keep it, and say so"
        return None, reason
    best = min(fairer, key=lambda name: fairer[name])
    people = "agreement was not measured" if old is None else f"agreement {old:.4f} to {agreement[best]:.4f}"
    return best, f"bias {bias[metrics[0]]:.2f} to {fairer[best]:.2f}, {people}, and it still sees gender"


def stress_counts(run: Run, metrics: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Failed and changed verdicts of the stress audit by metric."""
    verdicts: dict[str, dict[tuple[str, str], bool | None]] = {name: {} for name in metrics}
    for row in run.findings.iter_rows(named=True):
        if row["audit"] == "stress" and row["metric"] in verdicts:
            verdicts[row["metric"]][row["slice"], row["statistic"]] = row["passed"]
    return {name: stress_changes(verdicts[metrics[0]], own) for name, own in verdicts.items()}


def stress_changes(first: Verdicts, other: Verdicts) -> tuple[int, int]:
    """Failed verdicts of a metric, and how many of its verdicts are not the first metric's.

    >>> stress_changes({("a", "s"): True, ("b", "s"): False}, {("a", "s"): False, ("b", "s"): False})
    (2, 1)
    """
    failed = sum(passed is False for passed in other.values())
    return failed, sum(first[key] != other.get(key) for key in first)


def document(comparison: Comparison) -> str:
    """What `--json` prints; no times in it."""
    content = {
        "methods": [{"kind": m.kind, "metric": m.measure.label} for m in comparison.methods],
        "figures": [asdict(figure) for figure in comparison.proof.figures],
        "labels": dict(comparison.proof.labels),
        "stress": {name: list(counts) for name, counts in comparison.stress.items()},
        "front": list(comparison.front),
        "recommended": comparison.recommended,
        "reason": comparison.reason,
    }
    return json.dumps(content, indent=1, ensure_ascii=False)
