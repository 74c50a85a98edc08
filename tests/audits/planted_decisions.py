"""Planted metrics for audits that ask for decisions, and how they are asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from assay.core import Audit, Finding, Measure, Metric, SetMetric
from assay.engine.scoring import score_cases
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.recipe import digest

FLAWS = {
    "slightly": 1.0,
    "badly": 4.0,
    "fatally": 9.0,
}  # the words that planted errors bring in, and their cost


def chance(text: str) -> float:
    """A number from 0 to 1 of the text's own, which says nothing of it."""
    return int(digest(text)[:6], 16) / 0xFFFFFF


def flaws(text: str) -> float:
    return sum(cost for word, cost in FLAWS.items() if word in text.split())


@dataclass(frozen=True)
class Reader(Metric):
    """Knows what is wrong, whatever the words; graver flaws cost more. Items differ in level."""

    name = "reader"
    kind: Literal["reader", "light", "blind"] = "reader"

    def score(self, samples):
        level = {"reader": 1.0, "light": -1.0, "blind": 0.0}[self.kind]
        found = [flaws(s.hypothesis) for s in samples]
        costs = [10 * bool(cost) + level * cost for cost in found]
        return [5 * chance(s.references[0]) - cost for s, cost in zip(samples, costs, strict=True)]


@dataclass(frozen=True)
class WordCount(Metric):
    """The share of words that are in the first reference."""

    name = "word-count"

    def score(self, samples):
        known = [set(s.references[0].split()) for s in samples]
        return [
            np.mean([w in ours for w in s.hypothesis.split()]) for s, ours in zip(samples, known, strict=True)
        ]


@dataclass(frozen=True)
class Constant(Metric):
    name = "constant"

    def score(self, samples):
        return [0.5 for _ in samples]


@dataclass(frozen=True)
class Stretched(Metric):
    """An increasing transformation of the reader."""

    name = "stretched"

    def score(self, samples):
        return [float(np.exp(value / 3) * 1e6 + 1e4) for value in Reader().score(samples)]


@dataclass(frozen=True)
class MeanReader(SetMetric):
    """The reader over a set, which can be resampled."""

    name = "mean-reader"

    def statistics(self, samples):
        return np.array([[value, 1.0] for value in Reader().score(samples)])

    def from_statistics(self, totals):
        return totals[:, 0] / totals[:, 1]

    def score_set(self, samples):
        return float(np.mean(Reader().score(samples)))


def asked(audit: Audit, *metrics: Metric | SetMetric) -> list[Finding]:
    """What the audit finds, settled."""
    cases = list(audit.cases())
    measures = [Measure(metric.name, metric) for metric in metrics]
    scored = [score_cases(measure, {audit.name: cases}, Session())[audit.name] for measure in measures]
    return settle(audit, audit.judge(scored))


def table(findings: Sequence[Finding], statistic: str) -> dict[str, Finding]:
    return {finding.slice: finding for finding in findings if finding.statistic == statistic}


def written(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path
