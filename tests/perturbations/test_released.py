"""Noises as the release of *blind* makes them: exact forms, and what sets them apart from the judged ones."""

from __future__ import annotations

from collections import Counter

import pytest

from assay.api.pipeline import make_audit
from assay.core import Record
from assay.models.weights import present
from assay.perturbations.noise import NamedEntitySwitching
from assay.perturbations.released import (
    ReleasedEntitySwitching,
    ReleasedGenericEntity,
    ReleasedNgrams,
    ReleasedNounSwitching,
    ReleasedRepetition,
    TokenError,
)

LISTED = "Anna Smith met Peter Jones and Mary Brown in Paris on Monday."


def record(text: str, task: str = "summarisation", others: tuple[str, ...] = ()) -> Record:
    return Record("a", text, task, others=others)  # type: ignore[arg-type]


def test_entities_of_any_kind_are_switched() -> None:
    """A day may stand where a person stood, which the judged noise never does."""
    made = {ReleasedEntitySwitching(1).perturb(record(LISTED), seed) for seed in range(20)}
    assert all(
        text and Counter(text.rstrip(".").split()) == Counter(LISTED.rstrip(".").split()) for text in made
    )
    assert any(text and not text.endswith("Monday.") for text in made)
    judged = {NamedEntitySwitching(level=1).perturb(record(LISTED), seed) for seed in range(20)}
    assert all(text is None or text.endswith("Monday.") for text in judged)


def test_two_entities_stay() -> None:
    assert ReleasedEntitySwitching(3).perturb(record("Anna Smith lives in Paris.")) is None


def test_nouns_keep_their_letters() -> None:
    text = "Dogs chase the cat, and a bird sings in the tree."
    made = {ReleasedNounSwitching(1).perturb(record(text), seed) for seed in range(20)}
    assert "cat chase the Dogs, and a bird sings in the tree." in made


def test_repetition_is_of_treebank_tokens_where_text_is_open_ended() -> None:
    text = "He said that it is hard to miss."
    assert ReleasedRepetition(2).perturb(record(text)) == text + " Is hard to miss." * 2
    assert ReleasedRepetition(2).perturb(record(text, "open-ended")) == (
        "He said that it is hard to miss. hard to miss. hard to miss."
    )


def test_ngrams_have_no_marks_and_fill_256_tokens() -> None:
    corpus = ("In the end , we go home .", "In the end , they stay .", "We go home in the end .")
    made = ReleasedNgrams(1, 3).perturb(record("gold", "open-ended", corpus))
    assert made == " ".join(["in the end"] * 85)
    assert ReleasedNgrams(1, 3).perturb(record("gold", "open-ended", (". . . .",))) is None


@pytest.mark.skipif(not present("smollm2"), reason="needs the weights of smollm2")
@pytest.mark.parametrize(
    ("position", "before", "after"), [("start", 0, 26), ("middle", 13, 13), ("end", 26, 0)]
)
def test_positioned_errors_are_of_tokens(position: str, before: int, after: int) -> None:
    """Thirty-six tokens of one letter each: ten of them change, where the release has them change."""
    words = list("abcdefghijklmnopqrstuvwxyzabcdefghij")
    for kind in ("shuffle", "random"):
        noise = TokenError(10, position, kind, "smollm2")  # type: ignore[arg-type]
        made = noise.perturb(record(" ".join(words), "open-ended"), 1)
        assert made is not None
        changed = made.split()
        assert changed[:before] == words[:before]
        assert after == 0 or changed[-after:] == words[-after:]
        span = "".join(changed[before : len(changed) - after])
        assert (sorted(span) == sorted(words[before : 36 - after])) == (kind == "shuffle")


def test_the_papers_rule_asks_for_them() -> None:
    signatures = {
        rule: {noise.name for noise in make_audit("repetition", {"rule": rule}).noises.values()}  # type: ignore[attr-defined]
        for rule in ("paper", "careful")
    }
    assert signatures == {"paper": {"repeated-ending-released"}, "careful": {"repeated-ending"}}


def test_entities_become_generic_phrases_without_their_article() -> None:
    """Two phrases of each kind; an article goes with the name that it stands before, a day stays."""
    made = {ReleasedGenericEntity(1.0).perturb(record(LISTED), seed) for seed in range(20)}
    assert all(text and text.count("person") == 3 and text.count("place") == 1 for text in made)
    assert all(text and text.endswith("on Monday.") for text in made)
    assert {str(text).split()[0] for text in made} == {"A", "Some"}
    by_river = ReleasedGenericEntity(1.0).perturb(record("She swam in the Danube."), 1)
    assert by_river is not None
    assert by_river.split()[:4] in (["She", "swam", "in", "a"], ["She", "swam", "in", "some"])
