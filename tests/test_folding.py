"""Set metrics: one score per slice and role, resamples that stay paired, needs of the whole set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from assay.api.pipeline import execute
from assay.audits.corpora import right_order_statistic
from assay.audits.effects import read_slices
from assay.core import (
    Audit,
    Case,
    Finding,
    Judgement,
    Sample,
    Scored,
    SetMetric,
)
from assay.engine.scoring import score_cases
from assay.engine.session import Session
from assay.names.spec import measure, parse_spec

TEXTS = [
    "the cat sat on the mat",
    "a dog ran in the park",
    "birds fly over the sea",
    "it rained all day long",
]


def _cases(references: bool = True) -> list[Case]:
    return [
        Case(str(n), {"gold": Sample(t, (t + " again",) if references or n == 0 else ())}, "all")
        for n, t in enumerate(TEXTS)
    ]


def test_a_set_is_one_case_with_paired_resamples() -> None:
    scored = score_cases(parse_spec("bleu:level=corpus"), {"a": _cases()}, Session())["a"]
    assert [case.id for case in scored.cases] == ["all"]
    assert scored.cases[0].meta["sizes"] == {"gold": 4}
    draws = scored.resamples["gold"][0]
    assert draws.min() <= scored.values["gold"][0] <= draws.max()
    again = score_cases(parse_spec("bleu:level=corpus"), {"a": _cases()}, Session())["a"]
    assert np.array_equal(draws, again.resamples["gold"][0])


@dataclass(frozen=True)
class Judging(Audit):
    """Asks whether a set of texts beats one that scores as high, on `times` sets of two texts."""

    name = "judging"
    question = "robustness"
    statistics = (right_order_statistic("a text", "itself"),)
    bar: float = 101.0  # beyond what any decisions reach
    times: int = 2

    def cases(self) -> list[Case]:
        return [
            Case(f"{n}{t}", dict.fromkeys(("gold", "same"), Sample(t, (f"{t} {n}", f"{n} {t}"))), "all")
            for n in range(self.times)
            for t in TEXTS[:2]
        ]

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        return Judgement(
            [
                Finding.of(scores.scored, "all", "right_order", scores.right_order(["gold"], ["same"]))
                for scores in read_slices(scored)
            ]
        )


@dataclass(frozen=True)
class Wary(SetMetric):
    """Gives no verdict on fewer than five texts."""

    name = "wary"
    smallest: ClassVar[int] = 5

    def score_set(self, samples: Sequence[Sample]) -> float:
        return float(len(samples))

    def statistics(self, samples: Sequence[Sample]) -> np.ndarray:
        return np.ones((len(samples), 1))

    def band(self, texts: Sequence[str]) -> tuple[float, float]:
        return 0.25, len(texts) / 10


@pytest.mark.parametrize(("times", "held"), [(2, True), (3, False)])
def test_small_sets_hold_verdicts_back_and_always_report_the_band(times: int, held: bool) -> None:
    about = score_cases(measure(Wary()), {"a": Judging(times=times).cases()}, Session())["a"].about
    assert about["held_back"] is held
    assert f"halves of the references score 0.250 to {times * 0.4:.3f}" in about["caution"]
    assert ("sets of 4 texts, fewer than 5" in about["caution"]) is held


@pytest.mark.parametrize(("times", "verdicts"), [(2, {"not judged"}), (3, {"fail"})])
def test_a_run_holds_the_verdicts_of_small_sets_back(times: int, verdicts: set[str]) -> None:
    done = execute({"judging": Judging(times=times)}, [Wary()], Session(), size="full")
    assert set(done.findings["verdict"]) == verdicts


def test_a_set_some_of_whose_samples_lack_references_has_no_score() -> None:
    scored = score_cases(parse_spec("bleu:level=corpus"), {"a": _cases(references=False)}, Session())["a"]
    assert np.isnan(scored.values["gold"][0])
