"""What `assay list KIND NAME` says of one thing."""

from __future__ import annotations

import pytest

from assay.errors import SpecError
from assay.names.about import about
from assay.names.registry import names


@pytest.mark.parametrize("name", names("metrics"))
def test_every_metric_can_be_explained(name: str) -> None:
    known = about(name)
    assert known["metric"] == name
    for field in ("what", "reads", "scale", "direction", "languages", "here", "citation"):
        assert known.get(field), f"{name} does not say its {field}"


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ("comet", "scale", "no bounds: as its model learnt them, perhaps below 0 or above 1"),
        ("comet", "reads", "the text, one or more references, the source"),
        ("comet", "weights", "Unbabel/wmt22-comet-da: 2.32 GB, licence Apache-2.0, from the hub"),
        ("comet", "languages", "those of XLM-RoBERTa, about 100"),
        ("ter", "scale", "up to 0"),
        ("ter", "direction", "higher is better: it is an error or a perplexity, and negated here"),
        ("gpt-ppl", "reads", "the text alone"),
        ("bertscore-f:rescale=embedded", "options", "rescale=embedded"),
        (
            "bertscore-f:model=their/model,layer=3",
            "weights",
            "their/model: size and licence as its owner says",
        ),
        ("rougeL-p", "languages", "letters a to z and digits; tokenize=unicode"),
        ("mauve", "reads", "all texts of a set, one or more references"),
    ],
)
def test_a_metric_in_words(spec: str, field: str, words: str) -> None:
    assert words in about(spec)[field]


def test_a_users_metric_says_what_is_known() -> None:
    known = about("rapidfuzz.fuzz:ratio")
    assert known["reads"] == "the text, one or more references"
    assert "languages" not in known
    assert "what" not in known
    with pytest.raises(SpecError, match="did you mean rougeL"):
        about("rougL")
