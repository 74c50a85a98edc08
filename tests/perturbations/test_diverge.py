"""Words filled in by the causal language model: where they go, how many they are, and without a model."""

from __future__ import annotations

import pytest

from assay.core import Record
from assay.models import fill
from assay.models.weights import present
from assay.names.registry import perturbation_class
from assay.perturbations.checklist.content import noun_kind
from assay.perturbations.diverge import is_alternative
from assay.perturbations.edit import read
from assay.perturbations.ratio import noise_ratio

GOLD = (
    "The council closed the old bridge after heavy rain damaged a wooden pillar. Engineers will inspect the river "
    "next week, and the mayor promised that local farmers would receive money for the long journey to the market."
)
needs_model = pytest.mark.skipif(not present("smollm2"), reason="the weights smollm2 are not here")


@pytest.mark.parametrize(
    ("old", "tag", "word", "fits"),
    [
        ("bridge", "NN", "tunnel", True),
        ("bridge", "NN", "tunnels", False),
        ("closed", "VBD", "opened", True),
        ("closed", "VBD", "open", False),
        ("closed", "VBD", "closes", False),
        ("buy", "VB", "purchase", False),
        ("market", "NN", "left", False),
        ("old", "JJ", "said", False),
        ("slowly", "RB", "quickly", True),
    ],
)
def test_only_words_of_the_same_form_and_another_meaning_fit(
    old: str, tag: str, word: str, fits: bool
) -> None:
    assert is_alternative(old, tag, word) is fits


@needs_model
@pytest.mark.parametrize(("level", "ratio"), [(0.1, 0.037), (0.4, 0.154)])
def test_lm_diverge_changes_as_much_as_the_release(level: float, ratio: float) -> None:
    noise = perturbation_class("bert-diverge")(level=level)  # type: ignore[call-arg]
    assert noise.method == "lm-diverge, with the causal language model smollm2"
    texts = [noise.perturb(Record("x", GOLD, "summarisation"), seed) for seed in range(4)]
    assert all(text is not None and len(text.split()) == len(GOLD.split()) for text in texts)
    mean = sum(noise_ratio(GOLD, text or "") for text in texts) / len(texts)
    assert ratio * 0.6 <= mean <= ratio * 1.4


@needs_model
def test_new_words_keep_the_form_of_the_old() -> None:
    noise = perturbation_class("bert-diverge")(level=0.4)  # type: ignore[call-arg]
    noised = noise.perturb(Record("x", GOLD, "summarisation"), 3)
    assert noised == noise.perturb(Record("x", GOLD, "summarisation"), 3)
    pairs = [
        (a, b) for a, b in zip(read(GOLD).tokens, read(noised or "").tokens, strict=True) if a.text != b.text
    ]
    assert pairs
    for old, new in pairs:
        assert old.pos in ("NOUN", "VERB", "ADJ", "ADV")
        assert is_alternative(old.text, old.tag, new.text)


@needs_model
def test_masked_words_are_nouns_of_the_same_kind() -> None:
    template = perturbation_class("masked-words")()
    assert template.method.startswith("causal language model smollm2")
    question = "When did the teacher open the letter?"
    texts = {template.perturb(Record("x", question, "question-generation"), seed) for seed in range(6)}
    assert texts != {None}
    for text in texts - {None}:
        words = [(a, b) for a, b in zip(question.split(), (text or "").split(), strict=True) if a != b]
        assert words
        assert all(noun_kind(a.strip("?")) == noun_kind(b.strip("?")) for a, b in words)


@needs_model
@pytest.mark.parametrize("question", ["Are you out of your mind?", "Where is the party?"])
def test_no_masked_word_in_an_idiom_or_of_another_kind(question: str) -> None:
    record = Record("x", question, "question-generation")
    assert {perturbation_class("masked-words")().perturb(record, seed) for seed in range(6)} == {None}


@pytest.mark.parametrize("name", ["bert-diverge", "masked-words"])
def test_without_the_model_nothing_is_changed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill, "present", lambda _: False)
    assert "smollm2" in (fill.missing() or "smollm2")
    assert fill.missing() is not None
    assert perturbation_class(name)().perturb(Record("x", GOLD, "summarisation"), 1) is None
