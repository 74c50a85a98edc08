"""Set metrics: one score a slice and role, resamples that stay paired, needs of the whole set."""

from __future__ import annotations

import numpy as np

from assay.core import Case, Sample
from assay.scoring import Settings, score_cases
from assay.spec import parse

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
    scored = score_cases(parse("bleu:level=corpus"), {"a": _cases()}, Settings())["a"]
    assert [case.id for case in scored.cases] == ["all"]
    assert scored.cases[0].meta["sizes"] == {"gold": 4}
    draws = scored.resamples["gold"][0]
    assert draws.min() <= scored.values["gold"][0] <= draws.max()
    again = score_cases(parse("bleu:level=corpus"), {"a": _cases()}, Settings())["a"]
    assert np.array_equal(draws, again.resamples["gold"][0])


def test_a_set_some_of_whose_samples_lack_references_has_no_score() -> None:
    scored = score_cases(parse("bleu:level=corpus"), {"a": _cases(references=False)}, Settings())["a"]
    assert np.isnan(scored.values["gold"][0])
