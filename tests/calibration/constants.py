"""Verdicts that turn when a constant of the code is halved or doubled.

`python tests/calibration/constants.py` prints the table of docs/calibration.md. Bars are options and not
listed: they are what is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from assay.api.pipeline import choose_audits
from assay.core import Audit, Scored
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.names.spec import measure

METRICS = ("bleu", "embedding-average")
FAIR = ("stereotype", "swap", "caption")
ORDERS = (
    "sanity", "stress", "position", "injection", "frequent-ngram", "repetition", "copy-source",
    "truncation-direction", "identity-length", "checklist", "contrast",
)  # fmt: skip
Verdicts = Mapping[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of a module, what it does, and the audits whose verdicts it may touch."""

    module: str
    name: str
    about: str
    audits: Sequence[str]


CONSTANTS = (
    Constant("audits.effects", "ROUNDED", "scores that differ by less, as a part of their size, are equal", ORDERS),
    Constant("audits.effects", "RESOLUTION", "the same for models, as a part of the range of their scores", ORDERS),
    Constant("audits.effects", "SURE", "standard errors by which a lost word must cost something", FAIR),
    Constant("audits.effects", "_ONE_MORE", "the effect that one more text might have shown: the least reach of an interval", FAIR),
    Constant("audits.effects", "_ROUNDING", "what is less, in lost words, is no effect", FAIR),
    Constant("audits.effects", "_LEAST_UNEXPLAINED", "the least part of a score that contexts and terms leave open", FAIR),
    Constant("audits.severity", "_WORTH", "how many pairs of errors tell as much as one independent pair", ("contrast",)),
    Constant("audits.impact.turns", "_DRAWS", "resamples behind the standard errors of turned comparisons", ("impact",)),
    Constant("audits.impact.audit", "_FEWEST", "items of an attribute, below which nothing is judged", ("impact",)),
)  # fmt: skip


def verdicts(
    audits: Mapping[str, Audit], scored: Mapping[str, Sequence[Scored]], names: Sequence[str]
) -> Verdicts:
    """The verdict of every judged finding of these audits."""
    found = {}
    for name in names:
        for finding in settle(audits[name], audits[name].judge(scored[name])):
            key = (name, finding.metric, finding.slice, finding.statistic, str(finding.versus))
            found[key] = finding.verdict
    return found


@contextmanager
def moved(constant: Constant, factor: float) -> Iterator[None]:
    """The constant times a factor, wherever it was imported."""
    value = getattr(sys.modules[f"assay.{constant.module}"], constant.name)
    own = sys.modules[f"assay.{constant.module}"]
    users = [own]
    if not constant.name.startswith("_"):
        named = [module for name, module in sys.modules.items() if name.startswith("assay.")]
        users = [module for module in named if vars(module).get(constant.name) is value]
    for module in users:
        setattr(module, constant.name, type(value)(value * factor))
    try:
        yield
    finally:
        for module in users:
            setattr(module, constant.name, value)


def table(audits: Mapping[str, Audit], scored: Mapping[str, Sequence[Scored]]) -> Iterator[str]:
    """One line per constant: how many verdicts turn when it is halved, and when it is doubled."""
    yield "| constant | what it does | judged | turn at half | turn at double |"
    yield "|---|---|---|---|---|"
    for constant in CONSTANTS:
        before = verdicts(audits, scored, constant.audits)
        turned = []
        for factor in (0.5, 2.0):
            with moved(constant, factor):
                after = verdicts(audits, scored, constant.audits)
            keys = before.keys() | after.keys()
            turned.append(sum(before.get(key, "not judged") != after.get(key, "not judged") for key in keys))
        judged = sum(verdict != "not judged" for verdict in before.values())
        value = getattr(sys.modules[f"assay.{constant.module}"], constant.name)
        name = f"`{constant.module}.{constant.name}` = {value:g}"
        yield f"| {name} | {constant.about} | {judged} | {turned[0]} | {turned[1]} |"


def scored_by(metrics: Sequence[str]) -> tuple[dict[str, Audit], dict[str, list[Scored]]]:
    """The default audits at quick size, and what these metrics say to them."""
    audits = choose_audits((), "quick", {})
    work = {name: list(audit.cases()) for name, audit in audits.items()}
    with Session.open() as session:
        scored, *_ = score_all(audits, work, list(map(measure, metrics)), session, quick=True)
    return audits, scored


if __name__ == "__main__":
    print("\n".join(table(*scored_by(METRICS))))
