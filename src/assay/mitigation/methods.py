"""Mitigation methods: the spec of a metric to fairer versions of it.

Adapters, other backbones, layers and directions, hybrids with n-gram metrics, averaging over gender swaps,
and projection: removing from the embeddings the directions in which two identities differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from assay.core import Measure, Metric, Sample, Scores
from assay.datasets.swaps import embedded_swaps, swap_texts
from assay.errors import DataError, SpecError
from assay.metrics.hybrid import Hybrid
from assay.mitigation.data import Counterfactual, counterfactuals, ordinary_pairs
from assay.mitigation.train import trainable, with_adapter
from assay.models import adapters
from assay.models.trainable import framed_ids, states
from assay.names.spec import build, parse
from assay.recipe import generator
from assay.run.scoring import score_samples
from assay.run.session import Session
from assay.vocabulary import Need

if TYPE_CHECKING:
    import torch

PARTNERS = ("bleu", "rougeL", "chrf")
WEIGHTS = (0.25, 0.5, 1.0, 2.0)  # of the partner, in SDs of the metric's scores
_SAMPLES = 200  # that SDs are measured on
_PAIRS = 300  # that the directions of a projection are taken from
_BATCH = 32
FEWEST = 10  # differences below which no direction can be found


@dataclass(frozen=True, slots=True)
class Method:
    """A mitigation method and the metric it gives."""

    kind: str
    measure: Measure


def methods(
    spec: str,
    *,
    folders: Sequence[Path] = (),
    models: Sequence[str] = (),
    partners: Sequence[str] = PARTNERS,
    session: Session,
) -> list[Method]:
    """The metric itself first, then every method that applies to it."""
    for folder in folders:
        adapters.check_folder(folder)
    base = parse(spec)
    by_kind: dict[str, Iterator[Measure]] = {
        "original": iter([base]),
        "adapter": (parse(with_adapter(spec, folder)) for folder in folders),
        "backbone": (parse(_with_key(spec, "model", name)) for name in models),
        "layer": layers(spec),
        "direction": directions(base),
        "hybrid": hybrids(spec, partners, WEIGHTS, session),
        "swap average": iter([Measure(f"swap-average({spec})", SwapAverage(base))]),
    }
    return [Method(kind, measure) for kind, measures in by_kind.items() for measure in measures]


def _with_key(spec: str, key: str, value: str) -> str:
    """The spec with a key set, whatever it was before."""
    name, _, tail = spec.partition(":")
    others = [pair for pair in tail.split(",") if pair and pair.partition("=")[0] != key]
    return f"{name}:{','.join([*others, f'{key}={value}'])}"


def layers(spec: str) -> Iterator[Measure]:
    """The metric on each of the layers below its own."""
    own = getattr(parse(spec).metric, "layer", None)
    if isinstance(own, int):
        for layer in range(1, own):
            yield parse(_with_key(spec, "layer", str(layer)))


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
    base = parse(spec)
    if not isinstance(base.metric, Metric):
        return
    own = score_deviation(base, session)
    for name in partners:
        partner = parse(name)
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
        """Refuse set metrics, which have no score per sample."""
        if not isinstance(self.of.metric, Metric):
            raise SpecError(f"{self.of.label} scores whole sets; averaging over swaps takes sample metrics")

    @cached_property
    def needs(self) -> frozenset[Need]:
        return self.of.metric.needs

    @property
    def signature(self) -> str:
        """The signature of the metric inside, and what is done with it."""
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
        counts = {
            name: np.reshape(column, (2, -1)).sum(axis=0).tolist()
            for name, column in getattr(answer, "notes", {}).items()
        }
        return Scores([None if np.isnan(value) else float(value) for value in means], counts)


def swapped_samples(samples: Sequence[Sample]) -> list[Sample]:
    """The samples with every gendered word of all their texts swapped."""
    texts = list(dict.fromkeys(t for s in samples for t in (s.hypothesis, *s.references)))
    swapped = dict(zip(texts, (s.text for s in swap_texts(texts, embedded_swaps())), strict=True))
    return [
        replace(s, hypothesis=swapped[s.hypothesis], references=tuple(swapped[t] for t in s.references))
        for s in samples
    ]


@dataclass(frozen=True, slots=True)
class Subspace:
    """Orthonormal directions and the share of the differences that they hold."""

    basis: torch.Tensor  # (directions, width)
    share: float


def fit_projection(
    spec: str, attributes: Sequence[str], out: Path, *, directions: int = 2, seed: int = 0
) -> Subspace:
    """Find the directions in which identities differ on training pairs, and save them as an adapter's folder.

    Linear projection after Bolukbasi et al. (2016) and Ravfogel et al. (2020), on contextual states of the
    last layer: the directions are the main components of the differences between the tokens that differ.
    """
    measure = parse(spec)
    pairs = counterfactuals(attributes, seed)["train"]
    metric = trainable(measure)
    chosen = generator(seed, "projection", "").sample(pairs, min(_PAIRS, len(pairs)))
    differences = state_differences(metric, chosen)
    if len(differences) < FEWEST:
        raise DataError(
            f"{len(differences)} pairs differ in words of equal length; at least {FEWEST} are needed"
        )
    space = subspace(differences, directions)
    model: Any = metric.loaded.model
    card = adapters.Card(
        str(getattr(measure.metric, "model", "")), measure.label, tuple(attributes), directions,
        len(adapters.places(model)), adapters.fingerprint(model),
        {"pairs": len(chosen), "share": space.share}, kind="projection",
    )  # fmt: skip
    adapters.write({"basis": space.basis}, out, card)
    return space


def subspace(differences: torch.Tensor, directions: int) -> Subspace:
    """The main components of differences, (n, width); they are about zero, so nothing is centred."""
    import torch

    _, sizes, rows = torch.linalg.svd(differences, full_matrices=False)
    share = float(sizes[:directions].square().sum() / sizes.square().sum())
    return Subspace(rows[:directions].contiguous(), share)


def state_differences(metric: Any, pairs: Sequence[Counterfactual]) -> torch.Tensor:
    """States of the tokens in which the two texts of a pair differ, one less the other."""
    import torch

    differences = []
    for start in range(0, len(pairs), _BATCH):
        batch = pairs[start : start + _BATCH]
        texts = [p.first for p in batch] + [p.second for p in batch]
        with torch.no_grad():
            hidden, _ = states(metric.loaded, texts)
        ids = framed_ids(metric.loaded, texts)
        for row, (first, second) in enumerate(zip(ids, ids[len(batch) :], strict=False)):
            if len(first) == len(second):
                places = [n for n, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
                differences.append(hidden[row, places] - hidden[row + len(batch), places])
    return torch.cat(differences) if differences else torch.empty(0)
