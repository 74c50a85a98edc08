"""A browser, and a small run whose every number is known: planted texts try to break out of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core import Case, Explanation, Finding, Sample, Scored
from assay.run.results import Explained, Run, cases_frame, findings_frame, scores_frame

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
HOSTILE = "</script><script>window.broken=1</script><img src=x onerror='window.broken=1'>"
METRICS = ("soft", "keen", "plain")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by playwright; skipped only where there is none."""
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


def planted_findings() -> list[Finding]:
    """Soft is unfair to gender and blind to truncation; keen is fair and sees it; plain sees negation."""
    found = []
    for metric, bias, passed in (("soft", 20.0, False), ("keen", 1.0, True), ("plain", 2.0, True)):
        ci = (bias - 1, bias + 1)
        found += [
            Finding(metric, "stereotype", "gender", "bias", bias + 3, 40, ci=(bias + 2, bias + 4)),
            Finding(
                metric, "stereotype", "gender", "excess_bias", bias, 40, versus="controls", ci=ci, passed=passed,
                evidence=("pair-1", "pair-2"),
            ),
        ]  # fmt: skip
        found.append(
            Finding(
                metric, "association", "weat6", "effect_size", 1.2 if metric == "soft" else 0.1, 16,
                versus="C6: MaleNames, FemaleNames | Career, Family", ci=(0.9, 1.5) if metric == "soft" else (0, 0.2),
                p_value=0.004, q_value=0.008, passed=metric != "soft", evidence=("John ~ career",),
            )
        )  # fmt: skip
        for noise, good in (("truncation", "keen"), ("negation", "plain"), ("jumble", "nobody")):
            slope = 1.0 if metric == good else -0.5
            where = f"translation/{noise}"
            found.append(
                Finding(
                    metric, "stress", where, "sensitivity", slope, 30, ci=(slope - 0.2, slope + 0.2), p_value=0.01,
                    q_value=0.02, mde=0.3, passed=metric == good, evidence=() if metric == good else (f"{where}:1",),
                )
            )  # fmt: skip
            found.append(Finding(metric, "stress", f"{where}/gold", "score", 0.8, 30))
            for level, ratio in (("0.1", 0.1), ("0.5", 0.5)):
                found.append(Finding(metric, "stress", f"{where}/{level}", "score", 0.8 - slope * ratio, 30))
                found.append(Finding(metric, "stress", f"{where}/{level}", "noise_ratio", ratio, 30))
    return found


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
        "python": "3.11",
        "packages": {},
        "size": "quick",
        "metrics": {m: {"paradigm": "other", "backbone": None, "signature": f"{m}|v:1"} for m in METRICS},
        "audits": {
            "stereotype": {"question": "fairness", "excess_margin": "5.0"},
            "association": {"question": "fairness"},
            "stress": {"question": "robustness"},
        },
        "seconds": {"scoring": {"soft": 1.0, "keen": 5.0, "plain": 2.0}},
        "computed": {"soft": 100, "keen": 100, "plain": 100},
        "notes": [f"stereotype: {HOSTILE}"],
    }
    return Run(findings_frame(planted_findings()), cases_frame(work), scores_frame(scored), explained, about)


@pytest.fixture
def planted(tmp_path: Path) -> Run:
    """The planted run in a folder of its own."""
    return planted_run().save(tmp_path / "run")
