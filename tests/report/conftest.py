"""A browser, and a small run whose every number is known; its texts try to break out of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.api.runs import Run
from assay.core import (
    Audit,
    Case,
    Chart,
    Estimate,
    Explanation,
    Finding,
    Judgement,
    Sample,
    Scored,
    Statistic,
)  # fmt: skip
from assay.engine.settle import describe, settle
from assay.reading.results import Explained, cases_frame, findings_frame, scores_frame

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
HOSTILE = "</script><script>window.broken=1</script><img src=x onerror='window.broken=1'>"
METRICS = ("soft", "keen", "plain")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright; skipped only where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no chromium here: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield made
        made.close()


@pytest.fixture(scope="session")
def screenshot() -> Any:
    """Write a picture into docs/screenshots, only where ASSAY_SCREENSHOTS asks for it."""

    def take(page: Any, name: str) -> None:
        if os.environ.get("ASSAY_SCREENSHOTS"):
            folder = Path(__file__).resolve().parents[2] / "docs" / "screenshots"
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{name}.png")

    return take


def _apart(finding: Finding) -> str:
    return f"{finding.metric} scores sentences that differ only in {finding.slice} apart by {finding.value:g} points."


def _rises(finding: Finding) -> str:
    return f"The score of {finding.metric} rises as {finding.slice.rpartition('/')[2]} damages translation texts."


class _Declared(Audit):
    """Declarations are all that the report needs of an audit."""

    def cases(self):
        return ()

    def judge(self, scored):
        return Judgement()


@dataclass(frozen=True)
class Stereotype(_Declared):
    """As the audit of that name; `bias` is drawn, `excess_bias` is judged."""

    name = "stereotype"
    question = "fairness"
    title = "Stereotype pairs"
    advice = "Measure the bias on your own pairs."
    statistics = (
        Statistic("bias", "Mean score difference within a pair.", "points of 100"),
        Statistic(
            "excess_bias", "Bias over that of harmless edits.", "points of 100", bad="high", bar="margin", headline=True,
            sentence=_apart,
        ),
    )  # fmt: skip
    charts = (Chart("bars", "bias", title="bias by attribute", colour="excess_bias"),)
    margin: float = 5.0


@dataclass(frozen=True)
class Association(_Declared):
    """As the audit of that name: no title, no chart and no sentence of its own."""

    name = "association"
    question = "fairness"
    statistics = (
        Statistic("effect_size", "Association d.", "SD", bad="far", bar=0.5, headline=True),
    )  # fmt: skip


@dataclass(frozen=True)
class Stress(_Declared):
    """As the audit of that name: curves of scores over noise."""

    name = "stress"
    question = "robustness"
    title = "Stress tests"
    statistics = (
        Statistic("score", "The mean score.", "score"),
        Statistic("noise_ratio", "How much of the text was changed.", "share"),
        Statistic(
            "sensitivity", "How far the score falls per unit of noise.", "SD of clean scores", bad="low", bar=0.1,
            headline=True, sentence=_rises,
        ),
    )  # fmt: skip
    charts = (
        Chart("curve", "score", title="score by noise", x="noise_ratio", colour="sensitivity", depth=2),
    )


AUDITS = (Stereotype(), Association(), Stress())


def _around(value: float, half: float, n: int, p_value: float | None = None) -> Estimate:
    return Estimate(value, n, (value - half, value + half), p_value)


def planted_findings() -> dict[str, list[Finding]]:
    """Soft is unfair to gender and blind to truncation; keen is fair and notices it; plain notices negation."""
    pairs, tests, noises = [], [], []
    for metric, bias in (("soft", 20.0), ("keen", 1.0), ("plain", 2.0)):
        pairs.append(Finding.of(metric, "gender", "bias", _around(bias + 3, 1, 40)))
        evidence = ("pair-1", "pair-2")
        excess = _around(bias, 1, 40)
        pairs.append(
            Finding.of(metric, "gender", "excess_bias", excess, versus="controls", evidence=evidence)
        )
        size = _around(1.2, 0.3, 16, 0.004) if metric == "soft" else _around(0.1, 0.1, 16, 0.004)
        sets = "C6: MaleNames, FemaleNames | Career, Family"
        tests.append(
            Finding.of(metric, "weat6", "effect_size", size, versus=sets, evidence=("John ~ career",))
        )
        for noise, noticed_by in (("truncation", "keen"), ("negation", "plain"), ("jumble", "nobody")):
            slope = 1.0 if metric == noticed_by else -0.5
            where = f"translation/{noise}"
            estimate = _around(slope, 0.2, 30, 0.01)
            noises.append(Finding.of(metric, where, "sensitivity", estimate, evidence=(f"{where}:1",)))
            noises.append(Finding.of(metric, f"{where}/gold", "score", 0.8, n=30))
            for level, ratio in (("0.1", 0.1), ("0.5", 0.5)):
                noises.append(Finding.of(metric, f"{where}/{level}", "score", 0.8 - slope * ratio, n=30))
                noises.append(Finding.of(metric, f"{where}/{level}", "noise_ratio", ratio, n=30))
    listed = dict(zip((audit.name for audit in AUDITS), (pairs, tests, noises), strict=True))
    return {audit.name: settle(audit, Judgement(listed[audit.name])) for audit in AUDITS}


@dataclass(frozen=True)
class Checklist(_Declared):
    """Errors that must be noticed, and edits that must not matter."""

    name = "checklist"
    question = "robustness"
    title = "Checklist"
    statistics = (
        Statistic("change", "How far the score moves.", "points", bad="high", bar=-1.0, headline=True),
        Statistic("rise", "Largest rise.", "points", bad="high", bar=1.0),
        Statistic("deviation", "Distance from people.", "share", bad="far", bar=0.2),
        Statistic("caught", "Described, never judged.", "points"),
    )  # fmt: skip


@dataclass(frozen=True)
class Groups(_Declared):
    """Groups within attributes, each judged."""

    name = "groups"
    question = "fairness"
    statistics = (
        Statistic(
            "group_effect", "How much higher the group scores.", "of a lost word", bad="far", bar=2.0, headline=True,
            sentence=lambda f: f"{f.metric} scores texts about {f.slice.rpartition('/')[2]} people {f.value:g}% apart.",
        ),
        Statistic("excess_bias", "Bias over controls.", "of a lost word", bad="high", bar=2.0),
    )  # fmt: skip


def judged_run(listed: dict[Audit, list[Finding]], about: dict[str, dict[str, Any]] | None = None) -> Run:
    """A run of these findings alone; `about` describes metrics beside those that findings name."""
    settled = [f for audit, findings in listed.items() for f in settle(audit, Judgement(findings))]
    metrics = {finding.metric: {"signature": finding.metric} for finding in settled}
    described = {
        "assay": "0.1.0", "size": "quick", "metrics": metrics | (about or {}), "notes": [],
        "audits": {audit.name: describe(audit) for audit in listed},
    }  # fmt: skip
    return Run(findings_frame(settled), cases_frame({}), scores_frame({}), [], described)


def effect(
    metric: str,
    slice_: str,
    statistic: str,
    value: float,
    *,
    half: float = 0.5,
    n: int = 40,
) -> Finding:
    """A finding around a value."""
    estimate = Estimate(value, n, (value - half, value + half), 0.01)
    return Finding.of(metric, slice_, statistic, estimate)


def planted_run() -> Run:
    """The findings with cases, scores and an explanation."""
    pairs = [
        Case(
            f"pair-{n}",
            {
                "stereotype": Sample(f"The nurse said she was tired {HOSTILE}", ("The nurse was tired.",)),
                "anti_stereotype": Sample(
                    f"The nurse said he was tired {HOSTILE}", ("The nurse was tired.",)
                ),
            },
            "gender",
            {"group": "<b>women</b>"},
        )
        for n in (1, 2)
    ]
    texts = {"gold": "A dog ran home.", "0.1/1": "A dog ran.", "0.5/1": "A dog."}
    noised = [
        Case(f"translation/{noise}:1", {r: Sample(t, ("The dog ran home.",)) for r, t in texts.items()}, f"translation/{noise}")
        for noise in ("truncation", "negation", "jumble")
    ]  # fmt: skip
    work = {"stereotype": pairs, "stress": noised}
    scored = {
        audit: [Scored(m, cases, {r: np.full(len(cases), 0.5) for r in cases[0].samples}) for m in METRICS]
        for audit, cases in work.items()
    }
    reason = Explanation("matching", ("the", "nurse"), ("the", "nurse"), ((0.9, 0.1), (0.2, 0.8)))
    tokens = Explanation("tokens", ("A", "dog"), ("probability",), ((0.5,), (0.000012,)))
    explained = [
        Explained("soft", "stereotype", "pair-1", "stereotype", reason),
        Explained("soft", "stress", "translation/truncation:1", "gold", tokens),
    ]
    about = {
        "assay": "0.1.0",
        "date": "2026-01-02T03:04:05+00:00",
        "python": "3.11",
        "packages": {},
        "size": "quick",
        "metrics": {m: {"paradigm": "other", "backbone": None, "signature": f"{m}|v:1"} for m in METRICS},
        "audits": {audit.name: describe(audit) for audit in AUDITS},
        "seconds": {"scoring": {"soft": 1.0, "keen": 5.0, "plain": 2.0}},
        "computed": {"soft": 100, "keen": 100, "plain": 100},
        "notes": [f"stereotype: {HOSTILE}"],
    }
    findings = [finding for listed in planted_findings().values() for finding in listed]
    return Run(findings_frame(findings), cases_frame(work), scores_frame(scored), explained, about)


@pytest.fixture
def planted(tmp_path: Path) -> Run:
    """The run in a folder of its own."""
    return planted_run().save(tmp_path / "run")
