"""Simulated ratings by people, and what the human audit concludes from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assay.audits.human.audit import Human
from assay.core import Finding, Judgement, Scored
from assay.engine.settle import settle

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "seven",
    "old",
    "men",
    "watch",
    "it",
    "from",
    "their",
    "porch",
]


def write_ratings(folder: Path, *, systems: int = 6, documents: int = 30, seed: int = 0, human=None) -> Path:
    """Texts of systems of rising quality; `human(quality, length, rng)` rates them (three noisy raters)."""
    rng = np.random.default_rng(seed)
    path = folder / "ratings.jsonl"
    rows = []
    for system in range(systems):
        for document in range(documents):
            quality = system / systems + rng.normal(0, 0.5)
            length = int(rng.integers(3, 17))
            rated = human(quality, length, rng) if human else [quality + rng.normal(0, 0.3) for _ in range(3)]
            rows.append(
                {"hypothesis": " ".join(rng.choice(WORDS, length)), "references": ["a dog"], "doc": document,
                 "system": f"s{system}", "human": {"overall": rated}, "quality": quality}
            )  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def scored(audit: Human, **columns: np.ndarray) -> list[Scored]:
    cases = list(audit.cases())
    return [
        Scored(name, cases, {"hypothesis": np.asarray(values, float)}) for name, values in columns.items()
    ]


def judge(audit: Human, **columns: np.ndarray) -> Judgement:
    """Settled findings, and notes."""
    judgement = audit.judge(scored(audit, **columns))
    return Judgement(settle(audit, judgement), judgement.notes)


def quality(audit: Human) -> np.ndarray:
    return np.array([item.meta["quality"] for item in audit.items.rated])


def one(
    found: Sequence[Finding], metric: str, slice_: str, statistic: str, versus: str | None = None
) -> Finding:
    (finding,) = [
        f for f in found if (f.metric, f.slice, f.statistic) == (metric, slice_, statistic)
        and (versus is None or f.versus == versus)
    ]  # fmt: skip
    return finding
