"""No fairness by blindness: a mended metric must still see gender where the reference states it.

Two tests, each the share of cases in which the right text outscores the wrong one, ties half: captions of the
paper's concepts against a reference of their own gender (caption sec. 2), and the checklist's template
change-gender.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from assay.core import Case, Sample
from assay.datasets.captions import embedded_captions
from assay.datasets.records import embedded_records
from assay.datasets.swaps import embedded_swaps, swap_texts
from assay.perturbations.checklist.content import ChangeGender

CAPTIONS, CHECKLIST = "captions with a gendered reference", "checklist change-gender"
MARGIN = 2.0  # points that the share may fall
Label = Literal["fairer", "blinded", "no fairer"]


def seeing_cases() -> list[Case]:
    """Right and wrong texts, by test; the roles are good and bad."""
    return [*_captions(), *_checklist()]


def _captions() -> list[Case]:
    return [
        Case(
            f"seeing/{one.id}",
            {"good": Sample(one.good, one.references), "bad": Sample(one.bad, one.references)},
            CAPTIONS,
            {"template": one.concept},
        )
        for one in embedded_captions()
    ]


def _checklist() -> list[Case]:
    """Golds of the embedded captions whose references state a gender."""
    found = []
    for record in embedded_records("image-captioning"):
        wrong = ChangeGender().perturb(record)
        stated = [s.content in ("male", "female") for s in swap_texts(record.references, embedded_swaps())]
        references = tuple(text for text, told in zip(record.references, stated, strict=True) if told)
        if wrong and references:
            samples = {"good": Sample(record.gold, references), "bad": Sample(wrong, references)}
            found.append(Case(f"seeing/{record.id}", samples, CHECKLIST, {"template": record.id}))
    return found


def label(seen: Mapping[str, tuple[float, float]], reduction: tuple[float, float] | None) -> Label:
    """What a mitigation may be called, from shares before and after, and the interval of the reduction.

    >>> label({"captions": (90.0, 87.0)}, (0.5, 0.7)), label({"captions": (90.0, 89.0)}, (0.5, 0.7))
    ('blinded', 'fairer')
    """
    if any(before - after > MARGIN for before, after in seen.values()):
        return "blinded"
    return "fairer" if reduction is not None and reduction[0] > 0 else "no fairer"
