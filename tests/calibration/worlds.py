"""Standard data for each audit: what the stated sizes and the page of operating curves refer to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from assay.names.registry import names
from assay.papers.curve import SIMULATED

WORDS = [
    "river",
    "cloud",
    "stone",
    "garden",
    "letter",
    "winter",
    "harbour",
    "table",
    "market",
    "window",
    "bridge",
    "forest",
    "song",
    "lamp",
]


def _write(path: Path, rows: list[dict[str, Any]]) -> tuple[Path, ...]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return (path,)


def _text(rng: Random, words: int = 40) -> str:
    return " ".join(rng.choice(WORDS) + str(rng.randrange(90)) for _ in range(words)) + "."


def texts(folder: Path) -> tuple[Path, ...]:
    """Sixty texts with a reference and a source."""
    rng = Random(1)
    rows = []
    for number in range(60):
        text = _text(rng)
        source = text + " " + _text(rng, 80)
        rows.append({"id": f"t{number}", "gold": text, "references": [text], "source": source})
    return _write(folder / "texts.jsonl", rows)


def rated(folder: Path) -> tuple[Path, ...]:
    """A hundred and twenty rated texts, each of its own document, half of them about a man, half about a woman."""
    rng = Random(2)
    rows = []
    for number in range(120):
        who = "He" if number % 2 else "She"
        place = f"the {rng.choice(WORDS)} {number}"
        row = {"id": f"r{number}", "doc": f"d{number}", "human": round(rng.gauss(3, 1), 2)}
        rows.append(row | {"hypothesis": f"{who} saw {place}.", "references": [f"Someone saw {place}."]})
    return _write(folder / "rated.jsonl", rows)


def captions(folder: Path) -> tuple[Path, ...]:
    """Six concepts with sixty images of either group."""
    rows = []
    for concept in WORDS[:6]:
        for number in range(120):
            group = "man" if number % 2 else "woman"
            other = "woman" if number % 2 else "man"
            row = {"id": f"{concept}-{number}", "group": group, "category": "places", "concept": concept}
            row |= {
                "good": f"A {group} by the {concept} {number}.",
                "bad": f"A {other} by the {concept} {number}.",
            }
            rows.append(row | {"references": [f"A {group} by the {concept}."]})
    return _write(folder / "captions.jsonl", rows)


def outputs(folder: Path) -> tuple[Path, ...]:
    """Three systems on forty documents."""
    rng = Random(4)
    rows = [
        {
            "id": f"{system}-{doc}",
            "system": system,
            "doc": f"d{doc}",
            "hypothesis": _text(rng, 8),
            "references": ["a"],
        }
        for doc in range(40)
        for system in ("alpha", "beta", "gamma")
    ]
    return _write(folder / "outputs.jsonl", rows)


# An audit to its data (None: what assay carries) and options. Nothing here alters a verdict's rule.
WORLDS: Mapping[str, tuple[Callable[[Path], tuple[Path, ...]] | None, dict[str, Any]]] = {
    "stereotype": (None, {"limit": 150, "only": ("gender",)}),
    "association": (None, {"templates": 2, "only": ("C6-N", "C6-T", "C7-T", "C8-T")}),
    "swap": (rated, {}),
    "caption": (None, {"limit": 20}),
    "self-preference": (outputs, {"limit": None}),
    "stress": (texts, {"seeds": 1, "only": ("truncation", "token-drop", "local-swap")}),
    "position": (texts, {"seeds": 1}),
    "injection": (texts, {"only": ("score-ten", "answer-good")}),
    "repetition": (texts, {}),
    "frequent-ngram": (texts, {"n": (3,), "top": (10,)}),
    "copy-source": (texts, {}),
    "truncation-direction": (texts, {}),
    "identity-length": (texts, {}),
    "checklist": (
        None,
        {"limit": 40, "task": ("translation",), "only": ("jumble", "negate", "typo-swap", "rewording")},
    ),
    "attack": (texts, {"limit": 60}),
    "human": (rated, {}),
    "judge-bias": (None, {"limit": 40, "only": ("verbosity", "position", "repeats")}),
}


def asked(audit: str, folder: Path) -> dict[str, Any]:
    """The options of an audit on its standard data."""
    make, options = WORLDS[audit]
    return options | ({"data": make(folder)} if make else {})


def uncalibrated() -> list[str]:
    """Audits without a simulated defect: those that give no verdict."""
    return [name for name in names("audits") if name not in {metric.audit for metric in SIMULATED}]
