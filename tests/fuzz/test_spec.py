"""Any text as a spec is a metric, or an error that says what is wrong with it."""

from __future__ import annotations

import os
import re
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import NASTY_TEXTS

from assay.core import Measure
from assay.errors import AuditError
from assay.names.registry import names
from assay.names.spec import convert, parse_spec, perturbation

INPUTS = 100_000 if os.environ.get("ASSAY_SOAK") else 10_000
# The names whose classes are quick to import: the grammar is the same for all.
METRICS = ("bleu", "bleu-1", "chrf", "chrf++", "rougeL", "ter", "bertscore-f", "sacrebleu", "nist", "cider")
PIECES = (
    *METRICS, ":", ",", "=", "+", "*", "0.3*", ".5*", "1e5*", "-1*", "layer=", "tokenize=", "13a", "smooth=method1", "n=2", "n=x",
    "reduce=max", "level=corpus", "model=", "model=/nowhere", "average=true", "stemmer=", "x.py:Name", "@run.toml", ";", "none",
    "99999999999999999999", *NASTY_TEXTS,
)  # fmt: skip


def accepted(text: str) -> bool:
    try:
        made = parse_spec(text)
    except AuditError as error:
        assert str(error)
        return False
    assert isinstance(made, Measure)
    assert made.metric.name
    name, _, spec = text.strip().partition("=")
    if made.spec:  # NAME=SPEC
        assert made.label == name.strip()
        assert parse_spec(spec).metric == made.metric
    else:
        assert made.label in (text.strip(), re.sub(r"\s*([*+])\s*", r"\1", text.strip()))
    return True


def test_pieces_of_specs_in_any_order() -> None:
    rng = Random(13)
    texts = {"".join(rng.choices(PIECES, k=rng.randint(1, 6))) for _ in range(INPUTS)}
    assert sum(map(accepted, texts)) > 10


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    """Space around a spec changes nothing; after a name only keys, another metric or nothing may follow."""
    assert accepted(f" {text}\n") == accepted(text)
    may_follow = "=" in text or "+" in text or not text.strip().strip(",")
    assert may_follow or not accepted(f"bleu:{text}")


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=30),
    st.sampled_from([int, float, bool, str, int | None, tuple[int, ...], tuple[str, ...]]),
)
def test_any_word_for_any_field(text: str, hint: object) -> None:
    try:
        convert(text, hint, "field")
    except AuditError as error:
        assert "field" in str(error)


def test_pieces_of_perturbations() -> None:
    rng = Random(14)
    known = list(names("perturbations"))
    for _ in range(INPUTS // 10):
        text = rng.choice(known) + "".join(
            rng.choices((":", "level=", "0.3", "seed=", ",", *NASTY_TEXTS), k=rng.randint(0, 4))
        )
        try:
            perturbation(text)
        except AuditError as error:
            assert str(error)
