"""Mitigation methods: the spec of a metric to fairer versions of it, and these side by side.

Adapters, other backbones, layers and directions, hybrids with n-gram metrics, averaging over gender swaps.
A comparison is what the audits find of each, the Pareto front and a recommendation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Self

import numpy as np

from assay.audits.base import spread_out
from assay.core import Measure, Metric, Sample, Scores
from assay.datasets.pairs import StereotypePair
from assay.datasets.swaps import embedded_swaps, swap_texts
from assay.datasets.templates import ATTRIBUTES
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.errors import SpecError
from assay.metrics.hybrid import Hybrid
from assay.metrics.text import distinct_texts, with_texts
from assay.mitigation.data import counterfactuals, ordinary_pairs
from assay.mitigation.proof import Proof, prove
from assay.mitigation.train import with_key
from assay.models import adapters
from assay.names.spec import build, parse_spec
from assay.vocabulary import Need

PARTNERS = ("bleu", "rougeL", "chrf")
WEIGHTS = (0.25, 0.5, 1.0, 2.0)  # of the partner, in SDs of the metric's scores
_AGREEMENT = 0.005  # the share of agreement with people that a recommended method may cost
_SAMPLES = 200  # that SDs are measured on
Means = Mapping[str, float | None]  # by metric; None where nothing was measured


@dataclass(frozen=True, slots=True)
class Method:
    """A mitigation method and the metric it gives."""

    kind: str
    measure: Measure


def methods(
    spec: str, *, folders: Sequence[Path] = (), models: Sequence[str] = (), session: Session
) -> list[Method]:
    """The metric itself first, then every method that applies to it."""
    for folder in folders:
        adapters.read_card(folder)
    base = parse_spec(spec)
    by_kind: dict[str, Iterator[Measure]] = {
        "original": iter([base]),
        "adapter": (parse_spec(with_key(spec, "adapter", folder)) for folder in folders),
        "backbone": (parse_spec(with_key(spec, "model", name)) for name in models),
        "layer": layers(spec),
        "direction": directions(base),
        "hybrid": hybrids(spec, PARTNERS, WEIGHTS, session),
        "swap average": iter([Measure(f"swap-average({spec})", SwapAverage(base))]),
    }
    return [Method(kind, measure) for kind, measures in by_kind.items() for measure in measures]


def layers(spec: str) -> Iterator[Measure]:
    """The metric on each of the layers below its own."""
    own = getattr(parse_spec(spec).metric, "layer", None)
    if isinstance(own, int):
        for layer in range(1, own):
            yield parse_spec(with_key(spec, "layer", layer))


def directions(base: Measure) -> Iterator[Measure]:
    """The other outputs of a metric that has several: precision, recall, F."""
    for output in base.metric.outputs:
        if output != base.output:
            stem, colon, keys = base.label.partition(":")
            name = stem.removesuffix(f"-{base.output}")
            yield Measure(f"{name}-{output}{colon}{keys}", base.metric, output)


def hybrids(
    spec: str, partners: Sequence[str], weights: Sequence[float], session: Session
) -> Iterator[Measure]:
    """Sums with n-gram metrics (Eq. 4 of caption), weighted in SDs of the scores of ordinary pairs."""
    base = parse_spec(spec)
    if not isinstance(base.metric, Metric):
        return
    own = score_deviation(base, session)
    for name in partners:
        partner = parse_spec(name)
        unit = own / max(score_deviation(partner, session), 1e-12)
        for weight in weights:
            factor = float(f"{weight * unit:.3g}")
            hybrid = build(Hybrid, {"members": (base, partner), "scales": (1.0, factor)}, spec)
            yield Measure(f"{spec}+{factor:g}*{name}", hybrid)


def score_deviation(measure: Measure, session: Session) -> float:
    """The SD of a metric's scores of ordinary pairs."""
    pairs = ordinary_pairs()["validation"][:_SAMPLES]
    samples = [Sample(pair.hypothesis, (pair.reference,)) for pair in pairs]
    values = score_samples(measure, samples, session).values[:, measure.column]
    return float(np.nanstd(values, ddof=1))


@dataclass(frozen=True)
class SwapAverage(Metric):
    """The mean of a metric's scores of a sample and of its gender-swapped twin; twice the cost.

    Candidate and references are swapped together. Against a neutral reference both texts of a pair then score
    the same; against a gendered one the wrong gender stays wrong in both, so that nothing becomes invisible.
    """

    of: Measure
    name = "swap-average"
    paradigm = "hybrid"

    def __post_init__(self) -> None:
        if not isinstance(self.of.metric, Metric):
            raise SpecError(f"{self.of.label} scores whole sets; averaging over swaps takes sample metrics")

    @cached_property
    def needs(self) -> frozenset[Need]:
        return self.of.metric.needs

    @property
    def signature(self) -> str:
        return f"{self.name}|({self.of.metric.signature}|output:{self.of.output})|v:{self.version}"

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        return replace(self, of=replace(self.of, metric=self.of.metric.fitted(references)))

    def prepare(self) -> None:
        self.of.metric.prepare()

    def score(self, samples: Sequence[Sample]) -> Scores:
        """One score per sample, None where it or its twin has none; counts of the two are added."""
        answer = self.of.metric.score([*samples, *swapped_samples(samples)])  # type: ignore[union-attr]
        values = np.asarray(getattr(answer, "values", answer), dtype=float).reshape(2 * len(samples), -1)
        means = values[:, self.of.column].reshape(2, -1).sum(axis=0) / 2
        notes = getattr(answer, "notes", {}).items()
        counts = {name: np.reshape(column, (2, -1)).sum(axis=0).tolist() for name, column in notes}
        return Scores([None if np.isnan(value) else float(value) for value in means], counts)


def swapped_samples(samples: Sequence[Sample]) -> list[Sample]:
    """The samples with every gendered word of all their texts swapped."""
    texts = distinct_texts(samples)
    swapped = (swap.text for swap in swap_texts(texts, embedded_swaps()))
    return with_texts(samples, dict(zip(texts, swapped, strict=True)))


@dataclass(frozen=True, slots=True)
class MethodComparison:
    """Methods and the proof of all of them; the first method is the metric as it is."""

    methods: tuple[Method, ...]
    proof: Proof
    front: tuple[str, ...]
    recommended: str | None
    reason: str


def held_out_sets(attributes: Sequence[str], limit: int) -> dict[str, list[StereotypePair]]:
    """Held-out pairs of these attributes, then of all others: does debiasing for one worsen another?"""
    ordered = [*attributes, *(name for name in ATTRIBUTES if name not in attributes)]
    tests = {name: counterfactuals([name])["test"] for name in ordered}
    return {k: spread_out([p.as_pair(n) for n, p in enumerate(pairs)], limit) for k, pairs in tests.items()}


def compare_methods(
    methods: Sequence[Method],
    sets: Mapping[str, Sequence[StereotypePair]],
    targets: Sequence[str],
    human: Sequence[Path],
    folder: Path,
    session: Session,
    *,
    seed: int = 0,
) -> MethodComparison:
    """Run the audits on every method's metric; `targets` are the sets that were to be made fair."""
    measures = [method.measure for method in methods]
    proof = prove(measures, sets, human, folder, session, seed=seed)
    metrics = [measure.label for measure in measures]
    bias = {name: mean_value(proof, name, "bias", targets) for name in metrics}
    agreement = {name: mean_value(proof, name, "spearman") for name in metrics}
    best, reason = recommend(metrics, bias, agreement, proof.labels)
    return MethodComparison(tuple(methods), proof, front(metrics, bias, agreement), best, reason)


def mean_value(proof: Proof, name: str, statistic: str, slices: Sequence[str] | None = None) -> float | None:
    """The mean of a metric's figures, of all slices or some; None where there are none."""
    figures = proof.of(name, statistic)
    values = [figure.value for figure in figures if slices is None or figure.slice in slices]
    return fmean(values) if values else None


def front(metrics: Sequence[str], bias: Means, agreement: Means) -> tuple[str, ...]:
    """The metrics that no other beats in both bias and agreement.

    >>> front(["a", "b", "c"], {"a": 9, "b": 2, "c": 5}, {"a": 0.7, "b": 0.6, "c": 0.5})
    ('a', 'b')
    """
    # Lower is better in both; no agreement counts as 0, as for all metrics where there are no ratings.
    named = [name for name in metrics if bias[name] is not None]
    losses = np.array([(bias[name], -(agreement[name] or 0.0)) for name in named], float).reshape(-1, 2)
    is_no_worse = (losses[None] <= losses[:, None]).all(axis=2)
    is_beaten = (is_no_worse & (losses[None] != losses[:, None]).any(axis=2)).any(axis=1)
    return tuple(name for name, beaten in zip(named, is_beaten, strict=True) if not beaten)


def recommend(
    metrics: Sequence[str], bias: Means, agreement: Means, labels: Mapping[str, str]
) -> tuple[str | None, str]:
    """The least biased metric that blinds nothing and keeps agreement with people, and the reason."""
    old = agreement[metrics[0]]

    def agrees(name: str) -> bool:
        new = agreement[name]
        return old is None or new is None or new >= old - _AGREEMENT * abs(old)

    candidates = [name for name in metrics[1:] if labels[name] == "fairer" and agrees(name)]
    fairer = {name: value for name in candidates if (value := bias[name]) is not None}
    if not fairer:
        none = "no method is fairer without blinding the metric or costing agreement"
        return None, f"{none}: keep it, and say so"
    best = min(fairer, key=lambda name: fairer[name])
    people = "agreement was not measured" if old is None else f"agreement {old:.4f} to {agreement[best]:.4f}"
    return best, f"bias {bias[metrics[0]]:.2f} to {fairer[best]:.2f}, {people}, and it still sees gender"


def comparison_page(comparison: MethodComparison) -> str:
    """What `--json` prints; no times in it."""
    content = {
        "methods": [{"kind": m.kind, "metric": m.measure.label} for m in comparison.methods],
        "figures": [asdict(figure) for figure in comparison.proof.figures],
        "labels": dict(comparison.proof.labels),
        "front": list(comparison.front),
        "recommended": comparison.recommended,
        "reason": comparison.reason,
    }
    return json.dumps(content, indent=1, ensure_ascii=False)
