"""Standard data of any size for each audit: what the stated sizes and the page of operating curves refer to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from assay.names.registry import names
from assay.papers.simulated import SIMULATED, Simulated

WORDS = (
    "river", "cloud", "stone", "garden", "letter", "winter", "harbour", "table", "market", "window", "bridge",
    "forest", "song", "lamp",
)  # fmt: skip
FORMS = ("caption", "news", "dialogue", "review")
Paths = tuple[Path, ...]


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Paths:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return (path,)


def _text(rng: Random, words: int = 40) -> str:
    return " ".join(rng.choice(WORDS) + str(rng.randrange(90)) for _ in range(words)) + "."


def _reference(text: str) -> str:
    """What says the same in other words: a text is no reference of itself."""
    return f"As reported, {text}"


def texts(folder: Path, n: int) -> Paths:
    """Texts with a reference and a source."""
    rng = Random(1)
    golds = [_text(rng) for _ in range(n)]
    rows = [
        {
            "id": f"t{number}", "gold": gold, "references": [_reference(gold)],
            "source": f"{gold} {_text(rng, 80)}",
        }
        for number, gold in enumerate(golds)
    ]  # fmt: skip
    return _write(folder / f"texts-{n}.jsonl", rows)


def _contexts(folder: Path, name: str, n: int, groups: Mapping[str, Sequence[str]]) -> Paths:
    """Contexts of four forms, half of them with a stereotype, and groups of three terms."""
    rng, names = Random(3), list(groups)
    rows = []
    for number in range(n):
        about = " ".join(rng.choice(WORDS) for _ in range(5))
        rows.append(
            {
                "id": f"c{number}", "slot": "noun", "form": FORMS[number % 4],
                "text": f"The {{term}} saw the {about} {number}.", "reference": f"Someone saw the {about} {number}.",
                "stereotype_of": names[number // 2 % len(names)] if number % 2 else None,
            }
        )  # fmt: skip
    lines = [f'attribute = "{name}"']
    for group, axes in groups.items():
        terms = ", ".join(
            f'{{ noun = "{group.replace("-", "")}{ending}" }}' for ending in ("er", "ist", "ian")
        )
        lines += ["[[group]]", f'name = "{group}"', f"terms = [{terms}]", f"axes = {json.dumps(list(axes))}"]
    (folder / f"{name}-{n}.toml").write_text("\n".join(lines), "utf-8")
    return _write(folder / f"{name}-{n}.jsonl", rows)


def contexts(folder: Path, n: int) -> Paths:
    """Contexts of an attribute with four groups."""
    return _contexts(folder, "guild", n, dict.fromkeys(("bak", "wav", "min", "smith"), ()))


def crossed_contexts(folder: Path, n: int) -> Paths:
    """Contexts of an attribute whose groups are intersections."""
    groups = {f"{trade}-{town}": (trade, town) for trade in ("bak", "wav", "min") for town in ("nor", "sud")}
    return _contexts(folder, "guild-and-town", n, groups)


def pairs(folder: Path, n: int) -> Paths:
    """Pairs of texts against one reference."""
    rng = Random(5)
    rows = []
    for number in range(n):
        rest = f"saw the {' '.join(rng.choice(WORDS) for _ in range(5))} {number}."
        sides = {"stereotype": f"The baker {rest}", "anti_stereotype": f"The weaver {rest}"}
        rows.append({"id": f"p{number}", "attribute": "guild", "reference": f"Someone {rest}"} | sides)
    return _write(folder / f"pairs-{n}.jsonl", rows)


def rated(folder: Path, n: int) -> Paths:
    """Rated texts, each of its own document, half of them about a man, half about a woman."""
    rng = Random(2)
    rows = []
    for number in range(n):
        rest = f"saw the {rng.choice(WORDS)} {number}."
        row = {"id": f"r{number}", "doc": f"d{number}", "human": round(rng.gauss(3, 1), 2)}
        texts = {"hypothesis": f"{'She' if number % 2 else 'He'} {rest}", "references": [f"Someone {rest}"]}
        rows.append(row | texts)
    return _write(folder / f"rated-{n}.jsonl", rows)


def captions(folder: Path, n: int) -> Paths:
    """Concepts with one caption of either group."""
    rng = Random(6)
    rows = []
    for number in range(n):
        concept = f"{rng.choice(WORDS)}-{number}"
        for group, other in (("man", "woman"), ("woman", "man")):
            good, bad = (f"One {name} beside the {concept} yesterday." for name in (group, other))
            row = {"id": f"{concept}-{group}", "group": group, "category": "places", "concept": concept}
            rows.append(
                row | {"good": good, "bad": bad, "references": [f"The {group} beside the {concept}."]}
            )
    return _write(folder / f"captions-{n}.jsonl", rows)


def outputs(folder: Path, n: int) -> Paths:
    """Outputs of two systems for each document."""
    rng = Random(4)
    rows = [
        {
            "id": f"{system}-{doc}",
            "system": system,
            "doc": f"d{doc}",
            "hypothesis": _text(rng, 8),
            "references": ["a"],
        }
        for doc in range(n)
        for system in ("alpha", "beta")
    ]
    return _write(folder / f"outputs-{n}.jsonl", rows)


def contrasts(folder: Path, n: int) -> Paths:
    """Texts with a sound rewording and a false near-copy."""
    rng = Random(7)
    rows = []
    for number in range(n):
        gold = _text(rng, 12)
        wrong = {"text": f"{gold} No.", "kind": "negation", "severity": "major"}
        row = {
            "id": f"t{number}",
            "gold": gold,
            "references": [_reference(gold)],
            "reworded": [_text(rng, 12)],
            "wrong": wrong,
        }
        rows.append(row)
    return _write(folder / f"contrasts-{n}.jsonl", rows)


def questions(folder: Path, n: int) -> Paths:
    """Questions with a right answer, an equally good one and a wrong one."""
    rng = Random(8)
    rows = [
        {
            "question": f"Where is the {_text(rng, 3)}",
            "answer": _text(rng, 12),
            "equal": _text(rng, 12),
            "wrong": "No.",
        }
        for _ in range(n)
    ]
    return _write(folder / f"questions-{n}.jsonl", rows)


# An audit to the options that keep its simulations short; nothing here alters a verdict's rule.
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "stress": {"seeds": 1, "depth": "ends", "only": ("truncation", "token-drop", "local-swap")},
    "position": {"seeds": 1},
    "injection": {"only": ("score-ten", "answer-good")},
    "repetition": {"copies": (10,)},
    "frequent-ngram": {"n": (3,), "top": (10,)},
    "checklist": {"only": ("jumble", "typo-swap")},
    "judge-bias": {"only": ("verbosity", "sentiment", "author")},
    "human": {"level": "example"},
    "association": {"templates": 2, "only": ("C6-N", "C6-T", "C7-T", "C8-T")},
}


_MAKERS: Mapping[str, Callable[[Path, int], Paths]] = {
    "stereotype": contexts, "swap": rated, "human": rated, "caption": captions, "self-preference": outputs,
    "contrast": contrasts, "judge-bias": questions,
}  # fmt: skip


def options_of(simulated: Simulated, folder: Path, n: int) -> dict[str, Any]:
    """The options of an audit on so many standard items; association tests have a size of their own."""
    options = dict(OPTIONS.get(simulated.audit, {}))
    if simulated.audit == "association":
        return options
    make = _MAKERS.get(simulated.audit, texts)
    if "intersection" in simulated.defect:
        make = crossed_contexts
    if "pair" in simulated.defect:
        make = pairs
    return {"data": make(folder, n), "limit": None} | options


def uncalibrated() -> list[str]:
    """Audits without a simulated defect."""
    return [name for name in names("audits") if name not in {metric.audit for metric in SIMULATED}]
