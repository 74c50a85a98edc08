"""The parts of the attack audit: random edits and proposed words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audits.attack.search import (
    Move,
    Source,
    apply,
    edits_needed,
    free,
    random_moves,
    words_of,
)
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
