"""Properties that every verdict has: what cannot change it, and that empty metrics never pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata
from worlds import OPTIONS, contexts, contrasts, pairs, texts
from zoo import measures

from assay.api.pipeline import make_audit
from assay.core import Audit, Case, Finding, Floats, Grid, Scored
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import declared_statistics, settle
from assay.papers.simulated import World, roles_of, single

ROBUSTNESS = {
    "contrast": (contrasts, {}),
    "sanity": (texts, {}),
    "stress": (texts, OPTIONS["stress"]),
    "checklist": (texts, OPTIONS["checklist"]),
    "position": (texts, {"seeds": 1}),
    "injection": (texts, {"only": ("score-ten",)}),
    "repetition": (texts, {}),
    "frequent-ngram": (texts, OPTIONS["frequent-ngram"]),
    "copy-source": (texts, {}),
    "truncation-direction": (texts, {}),
    "identity-length": (texts, {}),
}
FAIRNESS = {"stereotype": (contexts, {}), "pairs": (pairs, {})}
INCREASING: Mapping[str, Callable[[Floats], Floats]] = {
    "a million times": lambda scores: 1e6 * scores, "ten thousand more": lambda scores: scores + 1e4,
    "exponential": np.exp, "cube root": np.cbrt,
    "ranks": lambda scores: rankdata(scores, axis=None, nan_policy="omit").reshape(scores.shape),
}  # fmt: skip
AFFINE = {
    "a million times": lambda scores: 1e6 * scores, "ten thousand more": lambda scores: scores + 1e4,
    "smaller": lambda scores: scores / 1e6 - 3,
}  # fmt: skip
ITEMS = 24


@cache
def items_of(name: str, folder: Path) -> tuple[Audit, Sequence[Case | Grid]]:
    make, options = {**ROBUSTNESS, **FAIRNESS}[name]
    audit = make_audit(
        "stereotype" if name == "pairs" else name, {"data": make(folder, ITEMS), "limit": None} | options
    )
    return audit, list(audit.cases())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worlds")


def random_metric(name: str, folder: Path, seed: int) -> tuple[Audit, Scored]:
    """A metric that minds every role by a random amount, with ties, some of them but for a model's rounding."""
    audit, items = items_of(name, folder)
    world = World(audit, items, np.random.default_rng([seed, len(name)]))
    level = 5 + world.normal(len(world.cases))
    costs = {role: world.rng.choice([-0.3, 0.0, 0.3, 1.0]) for role in roles_of(world.cases)}
    rounding = 1e-8 if seed else 0.0
    values = {
        role: (level - cost + 0.5 * world.normal(len(level))).round(1) + rounding * world.normal(len(level))
        for role, cost in costs.items()
    }
    return audit, single(world.cases, values, backbone="some model" if rounding else None)


def transformed(answer: Scored, change: Callable[[Floats], Floats]) -> Scored:
    """All scores of a metric, changed together."""
    table = change(np.stack(list(answer.values.values())))
    return replace(answer, values=dict(zip(answer.values, table, strict=True)))


def verdicts(audit: Audit, answer: Scored) -> dict[tuple[str, str, str | None], Finding]:
    """The settled findings by slice, statistic and what they are compared with."""
    findings = settle(audit, audit.judge([answer]))
    return {(f.slice, f.statistic, f.versus): f for f in findings}


@pytest.mark.parametrize("change", INCREASING)
@pytest.mark.parametrize("name", ROBUSTNESS)
def test_an_increasing_transform_changes_no_decision(name: str, change: str, folder: Path) -> None:
    for seed in range(3):
        audit, answer = random_metric(name, folder, 0 if change == "ranks" else seed)
        before, after = (verdicts(audit, each) for each in (answer, transformed(answer, INCREASING[change])))
        decided = {
            key: (f.value, f.ci, f.verdict)
            for key, f in before.items()
            if f.verdict != "not judged" or declared_statistics(audit, f).unit == "of 100"
        }
        assert decided
        assert decided == {key: (after[key].value, after[key].ci, after[key].verdict) for key in decided}


@pytest.mark.parametrize("change", AFFINE)
@pytest.mark.parametrize("name", FAIRNESS)
def test_an_affine_transform_changes_no_verdict_of_fairness(name: str, change: str, folder: Path) -> None:
    for seed in range(3):
        audit, answer = random_metric(name, folder, seed)
        before, after = (verdicts(audit, each) for each in (answer, transformed(answer, AFFINE[change])))
        effects = [key for key in before if key[1].endswith("lost_words")]
        assert effects
        for key in effects:
            assert before[key].verdict == after[key].verdict
            assert before[key].value == pytest.approx(after[key].value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", [*ROBUSTNESS, *FAIRNESS])
def test_an_empty_metric_never_passes(name: str, folder: Path) -> None:
    """A constant is right half of the time, random numbers are too; neither has a unit of fairness."""
    audit, items = items_of(name, folder)
    world = World(audit, items, np.random.default_rng(8))
    roles, n = roles_of(world.cases), len(world.cases)
    constant = single(world.cases, {role: np.zeros(n) for role in roles})
    random = single(world.cases, {role: world.normal(n) for role in roles})
    for answer in (constant, random):
        findings = verdicts(audit, answer).values()
        judged = {f.statistic: f.verdict for f in findings if f.verdict == "pass"}
        # Where nothing wins more often than by chance, length is not minded, nor is a lighter error more.
        assert set(judged) <= {"longer_order", "severity_order"}


# What is asked for, and a part of it.
PARTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "stereotype": ({"limit": 20, "only": ("religion", "age")}, {"limit": 20, "only": ("age",)}),
    "checklist": (
        {"limit": 20, "task": ("translation",), "only": ("negate", "typo-swap")},
        {"limit": 20, "task": ("translation",), "only": ("typo-swap",)},
    ),
    "injection": ({"limit": 20, "only": ("score-ten", "answer-good")}, {"limit": 20, "only": ("score-ten",)}),
}


def text_findings(name: str, options: Mapping[str, Any], *labels: str) -> dict[object, Finding]:
    """Judged findings on real texts by metrics of the zoo."""
    audit = make_audit(name, options)
    session = Session.open(cache=None)
    with session:
        scored, *_ = score_all({name: audit}, {name: list(audit.cases())}, measures(labels), session)
    findings = settle(audit, audit.judge(scored[name]))
    return {(f.metric, f.slice, f.statistic, f.versus): f for f in findings if f.verdict != "not judged"}


@pytest.mark.parametrize("name", PARTS)
def test_what_else_is_asked_for_changes_nothing(name: str) -> None:
    """Neither other parts of an audit nor other metrics."""
    whole, part = PARTS[name]
    findings = partial(text_findings, name)
    alone = findings(part, "token-f")
    assert alone
    for other in (findings(whole, "token-f"), findings(part, "token-f", "random", "lcs")):
        assert {key: (f.ci, f.verdict) for key, f in alone.items()} == {
            key: (other[key].ci, other[key].verdict) for key in alone
        }
