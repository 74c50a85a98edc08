"""Other roads: projection, swap averages, hybrids, the comparison and its recommendation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.core import Measure, Metric, Sample
from assay.datasets.pairs import Pair
from assay.errors import SpecError
from assay.mitigation.compare import compare, document, mean_bias
from assay.mitigation.differentiable import trainable
from assay.mitigation.evaluation import Evaluation, evaluate
from assay.mitigation.page import page, points
from assay.mitigation.projection import subspace
from assay.mitigation.roads import Road, directions, hybrids, layers
from assay.mitigation.seeing import CAPTIONS, CHECKLIST, seeing_cases
from assay.mitigation.swapping import SwapAverage, swapped_samples
from assay.models import adapters
from assay.names.spec import parse
from assay.run.scoring import Settings


@dataclass(frozen=True)
class Sexist(Metric):
    """A planted metric: words shared with the reference, and `extra` for each he."""

    name = "sexist"
    extra: float = 0.2

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [self._one(s.hypothesis.lower().split(), s.references[0].lower().split()) for s in samples]

    def _one(self, words: list[str], reference: list[str]) -> float:
        shared = len(set(words) & set(reference)) / len(set(words) | set(reference))
        return shared + self.extra * sum(word in ("he", "man") for word in words) / len(words)


@dataclass(frozen=True)
class Blind(Metric):
    """A planted metric that is fair because it sees nothing."""

    name = "blind"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [float(len(s.hypothesis.split())) for s in samples]


def pairs(count: int = 30) -> list[Pair]:
    made = []
    for n in range(count):
        words = f"met {n} sailors and " + "then " * (n % 4) + "left"
        reference = (f"the captain {words}",)
        made.append(Pair(f"p{n}", "gender", f"he {words}", f"she {words}", reference, reference))
    return made


@pytest.fixture(scope="module")
def tested() -> Evaluation:
    base = Measure("sexist", Sexist())
    mended = [Measure("swap", SwapAverage(base)), Measure("blind", Blind())]
    return evaluate([base, *mended], {"gender": pairs()}, {}, Settings())


def test_averaging_over_swaps_makes_a_planted_bias_vanish_and_keeps_sight(tested: Evaluation) -> None:
    assert tested.figure("sexist", "bias", "gender").value > 5
    found = tested.figure("swap", "bias", "gender")
    assert found.value == pytest.approx(0.0, abs=1e-9)
    assert found.change == pytest.approx(1.0)
    assert tested.figure("swap", "seeing", CAPTIONS).value == 100.0
    assert tested.labels["swap"] == "fairer"


def test_fairness_by_blindness_is_called_so(tested: Evaluation) -> None:
    assert tested.figure("blind", "bias", "gender").value == 0.0
    assert tested.figure("blind", "seeing", CAPTIONS).value == 50.0
    assert tested.labels["blind"] == "blinded"


def test_bias_is_the_papers_and_its_interval_holds_it(tested: Evaluation) -> None:
    both = tested.pairs["sexist"]["gender"]
    expected = 100 * np.abs(both[:, 0] - both[:, 1]).mean() / np.ptp(both)
    figure = tested.figure("sexist", "bias", "gender")
    assert figure.value == pytest.approx(expected)
    assert figure.ci is not None
    assert figure.ci[0] < expected < figure.ci[1]


def test_the_least_biased_road_that_still_sees_is_recommended() -> None:
    base = Measure("sexist", Sexist())
    found = [
        Road("original", base),
        Road("other", Measure("less", Sexist(extra=0.05))),
        Road("swap average", Measure("swap", SwapAverage(base))),
        Road("other", Measure("blind", Blind())),
    ]
    done = compare(found, {"gender": pairs()}, ["gender"], {}, Settings())
    assert done.recommended == "swap"
    assert mean_bias(done.tested, "less", ["gender"]) < mean_bias(done.tested, "sexist", ["gender"])
    assert json.loads(document(done))["labels"] == {"less": "fairer", "swap": "fairer", "blind": "blinded"}


def test_seeing_has_both_tests_and_only_gendered_references() -> None:
    cases = seeing_cases()
    counts = {name: sum(case.slice == name for case in cases) for name in (CAPTIONS, CHECKLIST)}
    assert counts[CAPTIONS] == 358
    assert counts[CHECKLIST] > 20
    assert all(case.samples["good"].hypothesis != case.samples["bad"].hypothesis for case in cases)


def test_swapping_turns_hypothesis_and_references_together() -> None:
    (turned,) = swapped_samples([Sample("He left.", ("A man left.", "The dog left."))])
    assert turned == Sample("She left.", ("A woman left.", "The dog left."))


def test_projection_takes_a_planted_direction_out(tiny: Path) -> None:
    model = trainable(parse(f"bertscore-f:model={tiny}")).loaded.model
    planted = torch.nn.functional.normalize(torch.randn(32), dim=0)
    noise = 0.01 * torch.randn(40, 32)
    found = subspace(torch.randn(40, 1) * planted + noise, 1)
    assert abs(float(found.basis[0] @ planted)) > 0.99
    assert found.share > 0.9
    adapters.install_projection(model, found.basis)
    with torch.no_grad():
        states = model(input_ids=torch.tensor([[2, 7, 8, 3]]))[0]
    assert float((states @ found.basis[0]).abs().max()) < 1e-4


def test_a_saved_projection_is_used_like_an_adapter(tiny: Path, tmp_path: Path) -> None:
    spec = f"bertscore-f:model={tiny}"
    model = trainable(parse(spec)).loaded.model
    basis = torch.linalg.qr(torch.randn(32, 2)).Q.T.contiguous()
    mark = adapters.fingerprint(model)
    adapters.write(
        {"basis": basis}, tmp_path, adapters.Card(str(tiny), spec, (), 2, 2, mark, kind="projection")
    )
    metric = parse(f"{spec},adapter={tmp_path}").metric
    sample = [Sample("The baker saw the pilot.", ("The pilot left.",))]
    plain = parse(spec).metric.score(sample).values[0]
    assert np.abs(np.array(metric.score(sample).values[0]) - np.array(plain)).max() > 1e-4


def test_roads_of_a_spec() -> None:
    assert [one.label for one in layers("bertscore-f:layer=3")] == [
        "bertscore-f:layer=1",
        "bertscore-f:layer=2",
    ]
    assert list(layers("bleu")) == []
    assert [one.label for one in directions(parse("bertscore-f:layer=3"))] == [
        "bertscore-p:layer=3",
        "bertscore-r:layer=3",
    ]


def test_hybrid_weights_are_in_spreads() -> None:
    one, two = hybrids("chrf", ["rougeL"], [1.0, 2.0], Settings())
    assert two.metric.scales[1] == pytest.approx(2 * one.metric.scales[1], rel=0.01)
    assert parse(one.label).metric.scales == one.metric.scales


def test_the_page_escapes_and_shows_a_point_a_pair(tested: Evaluation) -> None:
    html = page(tested)
    assert html.count("<circle") == 3 * 30
    assert points(np.array([[0.0, 0.0], [1.0, 1.0]])) == [(6.0, 254.0), (254.0, 6.0)]


def test_set_metrics_cannot_be_averaged() -> None:
    with pytest.raises(SpecError, match="whole sets"):
        SwapAverage(parse("bleu:level=corpus"))
