"""Properties that every verdict has: random simulated metrics over every audit, and cheap metrics of text."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "calibration"))
from worlds import asked
from zoo import measures

from assay.api.pipeline import make_audit
from assay.audits.gap import WORTHLESS
from assay.core import Audit, Case, Finding, Floats, Grid, Scored
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import declared, margin_of, settle

# Small data for every audit with a verdict. The attack audit searches, and human compares with people.
SMALL = {
    "stereotype": {"limit": 30, "only": ("gender", "religion")},
    "swap": {"limit": 120},
    "caption": {"limit": 8},
    "association": {"templates": 1, "only": ("C6-N", "C6-T", "C8-T")},
    "stress": {"limit": 30, "only": ("truncation", "token-drop", "negation"), "task": ("translation",), "seeds": 1},
    "checklist": {"limit": 30, "task": ("translation",), "only": ("jumble", "negate", "typo-swap", "synonyms")},
    "position": {"limit": 30, "task": ("summarisation",), "seeds": 1},
    "injection": {"limit": 30, "only": ("score-ten", "answer-good")},
    "repetition": {"limit": 30, "task": ("translation",)},
    "frequent-ngram": {"n": (3,), "top": (10,)},
    "copy-source": {"limit": 30, "task": ("summarisation",)},
    "truncation-direction": {"limit": 30, "task": ("translation",)},
    "identity-length": {"limit": 30},
    "self-preference": {"limit": None},
    "judge-bias": {"limit": 20, "only": ("verbosity", "bandwagon", "repeats")},
}  # fmt: skip
METRICS = 3  # random metrics per audit
EFFECTS = (0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 40.0)  # percent of the gap, around every margin


@cache
def work(name: str) -> tuple[Audit, Sequence[Case | Grid]]:
    options = dict(SMALL[name])
    if name in ("frequent-ngram", "self-preference"):
        options |= {"data": asked(name, Path(tempfile.mkdtemp()))["data"]}
    audit = make_audit(name, options)
    return audit, list(audit.cases())


def random_metric(name: str, seed: int) -> Scored:
    """A metric with a gap of 100, and effects of random sizes on every slice and role."""
    _, items = work(name)
    rng = np.random.default_rng([seed, len(name)])
    cases = [item for item in items if isinstance(item, Case)]
    level = 10 * rng.normal(size=len(cases))
    slices = np.array([case.slice for case in cases])
    noise = rng.choice([0.5, 3.0, 10.0])
    values: dict[str, Floats] = {}
    for role in dict.fromkeys(role for case in cases for role in case.samples):
        effects = {s: rng.choice(EFFECTS) * rng.choice([-1, -1, 1]) for s in dict.fromkeys(slices.tolist())}
        shift = np.array([effects[s] for s in slices.tolist()])
        values[role] = level + shift + noise * rng.normal(size=len(cases))
    if WORTHLESS in values:
        values[WORTHLESS] = level - 100 + 10 * rng.normal(size=len(cases))
    if name == "judge-bias":  # right against wrong answers are the gap
        values["base"] = np.where(slices == "quality", values["changed"] - 100, values["base"])
    there = {r: np.where([r in case.samples for case in cases], v, np.nan) for r, v in values.items()}
    grids = {
        item.id: rng.normal(size=(len(item.rows), len(item.columns)))
        for item in items
        if isinstance(item, Grid)
    }
    about = {"signature": "random", "name": f"random-{seed}", "backbone": "alpha"}
    return Scored(f"random-{seed}", cases, there, grids, about=about)


def neutral(name: str) -> list[Scored]:
    """The evaluator without a system of its own that self-preference compares with."""
    if name != "self-preference":
        return []
    answer = random_metric(name, 99)
    return [replace(answer, about={"signature": "neutral", "name": "neutral"})]


def verdicts(name: str, answer: Scored, *others: Scored) -> dict[tuple[str, str, str | None], Finding]:
    audit, _ = work(name)
    findings = settle(audit, audit.judge([answer, *others, *neutral(name)]))
    return {(f.slice, f.statistic, f.versus): f for f in findings if f.metric == answer.metric}


def transformed(answer: Scored, change: Callable[[Floats], Floats]) -> Scored:
    values = {role: change(column) for role, column in answer.values.items()}
    grids = {key: change(grid) for key, grid in answer.grids.items()}
    return replace(answer, values=values, grids=grids)


def _judged(findings: dict[tuple[str, str, str | None], Finding]) -> dict[tuple[str, str, str | None], str]:
    return {key: finding.verdict for key, finding in findings.items() if finding.verdict != "not judged"}


def _flips(before: dict[object, str], after: dict[object, str]) -> list[object]:
    return [key for key, verdict in before.items() if {verdict, after.get(key)} == {"pass", "fail"}]


@pytest.mark.parametrize("name", SMALL)
def test_a_verdict_is_where_its_interval_lies(name: str) -> None:
    audit, _ = work(name)
    judged = 0
    findings = [f for seed in range(2 * METRICS) for f in verdicts(name, random_metric(name, seed)).values()]
    for finding in findings:
        if finding.verdict not in ("pass", "fail"):
            continue
        judged += 1
        statistic, estimate = declared(audit, finding), finding.estimate
        assert estimate is not None
        interval = estimate.decisive or estimate.ci
        assert interval is not None
        margin = margin_of(audit, statistic)
        low, high = interval
        if statistic.bad == "far":
            low, high = low - statistic.centre, high - statistic.centre
            beyond = min(low, -high) if low <= 0 <= high else min(abs(low), abs(high))
            worst = max(abs(low), abs(high))
        else:
            beyond, worst = (low, high) if statistic.bad == "high" else (-high, -low)
            margin = margin if statistic.bad == "high" else -margin
        assert (beyond > margin) if finding.verdict == "fail" else (worst <= margin)
    assert judged > 0 or name == "association"  # a test of so few words can hardly be decided


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("change", [lambda x: 1000 * x, lambda x: 0.001 * x, lambda x: x + 1000],
                         ids=["x1000", "x.001", "+1000"])  # fmt: skip
def test_scale_and_shift_change_no_verdict(name: str, change: Callable[[Floats], Floats]) -> None:
    answer = random_metric(name, 1)
    assert _judged(verdicts(name, transformed(answer, change))) == _judged(verdicts(name, answer))


def _is_clear(finding: Finding, audit: Audit) -> bool:
    """Whether the interval stays well away from the margin, and one item less still leaves enough."""
    statistic, ci = declared(audit, finding), finding.ci
    if ci is None or finding.n <= 12:
        return False
    margin, width = margin_of(audit, statistic), ci[1] - ci[0]
    margins = (margin, -margin) if statistic.bad == "far" else (margin,)
    return all(abs(end - statistic.centre - edge) > 0.25 * width for end in ci for edge in margins)


# A grid has no items, and a judge fewer than fifty.
@pytest.mark.parametrize("name", [name for name in SMALL if name not in ("association", "judge-bias")])
def test_one_outlier_in_fifty_changes_no_verdict(name: str) -> None:
    audit, _ = work(name)
    for seed in range(METRICS):
        answer, rng = random_metric(name, seed), np.random.default_rng(seed)
        far = np.zeros(len(answer.cases), dtype=bool)
        slices = np.array([case.slice for case in answer.cases])
        for slice_ in set(slices.tolist()):
            rows = np.flatnonzero(slices == slice_)
            far[rng.choice(rows, max(int(rows.size >= 25), rows.size // 50), replace=False)] = True
        off = {
            role: column + far * rng.choice([-5000.0, 5000.0], far.size)
            for role, column in answer.values.items()
        }
        before, after = verdicts(name, answer), verdicts(name, replace(answer, values=off))
        assert not _flips(_judged(before), _judged(after))
        clear = {
            key: f.verdict for key, f in before.items() if f.verdict != "not judged" and _is_clear(f, audit)
        }
        assert clear == {key: after[key].verdict for key in clear}


def _to_unit(low: float, high: float) -> Callable[[Floats], Floats]:
    return lambda scores: (scores - low) / (high - low)


def test_monotone_transforms_turn_hardly_any_verdict_round() -> None:
    judged, flips = 0, 0
    for name in SMALL:
        for seed in range(METRICS):
            answer = random_metric(name, seed)
            columns = [np.ravel(values) for values in (*answer.values.values(), *answer.grids.values())]
            low, high = np.nanmin(np.concatenate(columns)), np.nanmax(np.concatenate(columns))
            unit = transformed(answer, _to_unit(low, high))
            before = _judged(verdicts(name, answer))
            for change in (np.sqrt, np.square, np.log1p):
                bent = transformed(unit, change)
                judged += len(before)
                flips += len(_flips(before, _judged(verdicts(name, bent))))
    assert flips <= 0.02 * judged


def text_findings(name: str, options: dict[str, object], *labels: str) -> dict[object, Finding]:
    """Findings on real texts by metrics of the zoo."""
    audit = make_audit(name, options)
    session = Session.open(cache=None)
    with session:
        scored, _ = score_all({name: audit}, {name: list(audit.cases())}, measures(labels), session)
    findings = settle(audit, audit.judge(scored[name]))
    return {(f.metric, f.slice, f.statistic, f.versus): f for f in findings if f.verdict != "not judged"}


# What is asked for, and a part of it.
PARTS = {
    "stereotype": ({"limit": 30, "only": ("religion", "race")}, {"limit": 30, "only": ("religion",)}),
    "caption": ({"limit": 8}, {"limit": 8, "only": ("activity",)}),
    "association": ({"templates": 1, "only": ("C6-N", "C8-T")}, {"templates": 1, "only": ("C6-N",)}),
    "checklist": (
        {"limit": 20, "task": ("translation",), "only": ("negate", "typo-swap", "synonyms")},
        {"limit": 20, "task": ("translation",), "only": ("typo-swap",)},
    ),
    "stress": (
        {"limit": 20, "task": ("translation",), "seeds": 1, "only": ("truncation", "token-drop")},
        {"limit": 20, "task": ("translation",), "seeds": 1, "only": ("truncation",)},
    ),
    "injection": ({"limit": 20, "only": ("score-ten", "answer-good")}, {"limit": 20, "only": ("score-ten",)}),
}


@pytest.mark.parametrize("name", PARTS)
def test_what_else_is_asked_for_changes_nothing(name: str) -> None:
    label = "captions-of-men" if name == "caption" else "letters-f"
    whole, part = (text_findings(name, options, label) for options in PARTS[name])
    shared = [key for key in part if key in whole and not (name == "caption" and key[1] == "all")]
    assert shared
    for key in shared:
        assert part[key].ci == pytest.approx(whole[key].ci, abs=1e-9)
        assert part[key].verdict == whole[key].verdict


@pytest.mark.parametrize("name", PARTS)
def test_other_metrics_change_nothing(name: str) -> None:
    options = PARTS[name][1]
    alone, beside = (
        text_findings(name, options, "token-f"),
        text_findings(name, options, "token-f", "random", "lcs"),
    )
    for key, finding in alone.items():
        assert (finding.ci, finding.verdict) == (beside[key].ci, beside[key].verdict)
