"""Runs whose decisions are planted: which metric gets which item of which kind of error right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.api.runs import Run
from assay.audits.corpora import right_order_statistic
from assay.audits.effects import CLEAN, right_order
from assay.core import Audit, Case, Finding, Floats, Judgement, Sample, Scored
from assay.engine.settle import describe, settle
from assay.reading.results import cases_frame, findings_frame, scores_frame

ITEMS = 40
DAMAGED = "damaged"


@dataclass(frozen=True)
class Errors(Audit):
    """Declarations are all that reading needs of an audit."""

    name = "checklist"
    question = "robustness"
    statistics = (right_order_statistic("a clean text", "one with an error"),)
    bar: float = 75.0

    def cases(self):
        return ()

    def judge(self, scored):
        return Judgement()


def decided_run(
    gains: Mapping[str, Mapping[str, Floats]],
    about: Mapping[str, Any] | None = None,
    task: str = "translation",
) -> Run:
    """A run of one audit; `gains` has, by metric and kind of error, how much the clean texts of the items gain.

    Nan is an item that the metric did not read.
    """
    kinds = list(dict.fromkeys(kind for of_metric in gains.values() for kind in of_metric))
    slices = {kind: kind if "/" in kind else f"{task}/adequacy/{kind}" for kind in kinds}
    cases = {
        kind: [
            Case(
                f"{slices[kind]}:{item}",
                {role: Sample(f"{role} {item}", ("reference",)) for role in (CLEAN, DAMAGED)},
                slices[kind],
                {"aspect": "meaning", "cluster": f"item-{item}"},
            )
            for item in range(ITEMS)
        ]
        for kind in kinds
    }
    findings, scored = [], []
    for metric, of_metric in gains.items():
        for kind, gain in of_metric.items():
            decisions = np.where(np.isnan(gain), np.nan, (gain > 0) + 0.5 * (gain == 0))
            order = right_order([(decisions, range(ITEMS))])
            findings.append(Finding.of(metric, slices[kind], "right_order", order))
            scored.append(
                Scored(metric, cases[kind], {CLEAN: gain, DAMAGED: np.where(np.isnan(gain), np.nan, 0.0)})
            )
    settled = settle(Errors(), Judgement(findings))
    described = {
        "assay": "0.3.0", "size": "quick", "metrics": {metric: {"signature": metric} for metric in gains},
        "notes": [], "audits": {"checklist": describe(Errors())}, "date": "2026-01-02T03:04:05+00:00",
    }  # fmt: skip
    work = {"checklist": [case for listed in cases.values() for case in listed]}
    frames = cases_frame(work), scores_frame({"checklist": scored})
    return Run(findings_frame(settled), *frames, [], described | dict(about or {}))


def share(right: float, seed: int = 0) -> Floats:
    """Gains of which this share is positive; which items are right depends on the seed."""
    order = np.random.default_rng(seed).permutation(ITEMS)
    return np.where(order < right * ITEMS, 1.0, -1.0)


def alike(right: float, kinds: int = 8, seed: int = 0) -> dict[str, Floats]:
    """The same share of right decisions for several kinds of error."""
    return {f"kind-{kind}": share(right, seed + kind) for kind in range(kinds)}
