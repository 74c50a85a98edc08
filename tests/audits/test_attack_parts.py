"""The parts of the attack audit: random edits, proposed words, judges and the gain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audits.attack.audit import confirmed, gain, losses
from assay.audits.attack.search import (
    Move,
    Source,
    apply,
    edits_needed,
    free,
    random_moves,
    words_of,
)
from assay.core import Case, Sample, Scored
from assay.perturbations.ratio import edit_ratio
from assay.recipe import generator


@given(st.integers(4, 30), st.integers(0, 1000))
def test_random_edits_are_as_far_as_they_are_many(length: int, seed: int) -> None:
    words = [f"w{n}" for n in range(length)]
    moves = random_moves(words, edits_needed(words, 0.15), ["x", "y", "z"], generator(seed, "t", "k"))
    assert len(moves) == edits_needed(words, 0.15)
    assert edit_ratio(" ".join(words), apply(words, moves)) == pytest.approx(len(moves) / length)


def test_neighbours_stay_apart() -> None:
    assert not free([Move(3, "swap")], Move(5, "delete"))
    assert not free([Move(3, "swap")], Move(2, "delete"))
    assert free([Move(3, "swap")], Move(6, "delete"))


def test_paraphrases_are_not_proposed() -> None:
    from assay.datasets.lexicon import synonyms

    words = words_of("The big dog began to run.")
    big = words[1]
    proposed = Source().substitutes(big)
    assert proposed
    assert not {core.lower() for core in proposed} & set(synonyms().get(("adj", "big"), ()))
    assert "big" not in proposed


def test_a_judge_falls_by_its_own_measure() -> None:
    ids = ["a", "b"]
    cases = [Case(one, {"gold": Sample("x")}, "s") for one in ids]
    values = {"gold": [1.0, 1.0], "attack": [0.7, 0.95], "random/0": [0.5, 0.5]}

    def judge(name: str, paradigm: str) -> Scored:
        arrays = {role: np.array(column) for role, column in values.items()}
        return Scored(name, cases, arrays, about={"paradigm": paradigm, "name": name})

    pair = [judge("one", "edit"), judge("two", "matching")]
    assert confirmed(pair, ids, 0.5).tolist() == [True, False]
    assert confirmed(pair[:1], ids, 0.5).tolist() == [False, False]
    assert confirmed([judge("nli", "other")], ids, 0.5).tolist() == [True, False]  # entailment suffices


def test_gain_is_the_share_of_the_loss_avoided() -> None:
    cases = [Case(str(n), {"gold": Sample("x")}, "s") for n in range(12)]
    values = {"gold": np.ones(12), "attack": np.full(12, 0.9), "random/0": np.linspace(0.45, 0.55, 12)}
    found = gain(losses(Scored("m", cases, values), [case.id for case in cases]), 0.75, 0)
    assert found is not None
    assert found.value == pytest.approx(0.8)
    assert found.ci[0] < 0.8 < found.ci[1]
    assert found.p_value < 0.01
