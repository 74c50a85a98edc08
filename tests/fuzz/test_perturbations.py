"""Every perturbation on every nasty text: a changed text, or None; never an exception, never the same text.

Two hundred texts by default, two thousand with ASSAY_SOAK=1. Those that ask a language model get fewer.
"""

from __future__ import annotations

import os
from functools import cache
from random import Random

import pytest
from nasty import CORPUS, nasty_text

from assay.core import Record
from assay.errors import AuditError
from assay.models.weights import present
from assay.names.registry import load_class, names
from assay.vocabulary import TASKS

TEXTS = 2_000 if os.environ.get("ASSAY_SOAK") else 200
MODELS = {"bert-diverge": 10, "masked-words": 10}  # texts: seconds each
NAMES = list(names("perturbations"))


@cache
def records() -> tuple[Record, ...]:
    rng = Random(21)
    texts = list(CORPUS)
    while len(texts) < TEXTS:
        texts.append(nasty_text(rng))
    others = tuple(texts[:30])
    return tuple(
        Record(
            f"r{n}",
            text,
            TASKS[n % len(TASKS)],
            (text, rng.choice(texts)),
            rng.choice(texts),
            (rng.choice(texts),) * (n % 3),
            others,
        )
        for n, text in enumerate(texts)
        if text.strip()
    )


@pytest.mark.parametrize("name", NAMES)
def test_no_text_makes_a_perturbation_fall_over(name: str) -> None:
    if name in MODELS and not present("smollm2"):
        pytest.skip("weights smollm2 are not here")
    made = load_class(names("perturbations")[name][0])()
    for record in records()[: MODELS.get(name)]:
        try:
            changed = made.perturb(record, 7)
        except AuditError as error:
            assert str(error)
            continue
        except Exception as error:
            error.add_note(f"{name}: {record.gold!r} {record.task}")
            raise
        assert changed is None or isinstance(changed, str)
        assert changed != record.gold
        if record.id in ("r0", "r1"):
            assert made.perturb(record, 7) == changed, "the same seed gave another text"
