"""What there is, and whether it can run here: the rows of `assay list`."""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Callable, Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from assay.errors import SpecError
from assay.models.weights import CARRIERS, present
from assay.names.registry import load, names

Rows = list[dict[str, Any]]


def inventory(kind: str) -> Rows:
    """Rows of one list."""
    makers: dict[str, Callable[[], Rows]] = {
        "metrics": _metrics,
        "audits": _audits,
        "perturbations": _perturbations,
        "datasets": _datasets,
        "weights": _weights,
    }
    if kind not in makers:
        raise SpecError(f"unknown list {kind!r}; known: {', '.join(makers)}")
    return makers[kind]()


def _metrics() -> Rows:
    rows = []
    for name, (where, _) in sorted(names("metrics").items()):
        kind = load(where)
        low, high = ("?" if bound is None else f"{bound:g}" for bound in kind.range)
        row = {
            "name": name,
            "paradigm": kind.paradigm,
            "needs": ", ".join(sorted(_needs(kind))),
            "range": f"{low}..{high}",
            "direction": "higher is better" if kind.original == "higher" else "lower was better, negated",
            "state": state(kind),
            "citation": kind.citation,
        }
        rows.append(row)
    return rows


def _needs(kind: Any) -> Iterable[str]:
    """What a metric's class declares, else what an instance with the default fields needs."""
    if isinstance(kind.needs, frozenset):
        return kind.needs
    try:
        return kind().needs  # type: ignore[no-any-return]
    except TypeError:  # a field without a default
        return ("depends on its fields",)


def state(kind: Any) -> str:
    """Ready, or what to do first."""
    absent = [package for package in kind.packages if importlib.util.find_spec(package) is None]
    if absent:
        return f"needs the extra: pip install 'assay[{kind.extra}]'" if kind.extra else f"needs {absent[0]}"
    for field in kind.weights:
        named = getattr(kind, field, None)
        if named is None:
            return f"needs weights: give {field}=PATH or a hub name"
        if named in CARRIERS and not present(named):
            return f"ready; fetches {named} at first use"
        if named not in CARRIERS:
            return f"needs weights: {named} from the hub, or {field}=PATH"
    return kind.absent() or "ready"


def _audits() -> Rows:
    import dataclasses

    rows = []
    for name, (where, _) in names("audits").items():
        kind = load(where)
        options = [f.name.replace("_", "-") for f in dataclasses.fields(kind)]
        summary = (kind.__doc__ or "").strip().split("\n")[0]
        row = {"name": name, "question": kind.question, "title": kind.title, "what": summary}
        rows.append(row | {"options": ", ".join(options)})
    return rows


def _perturbations() -> Rows:
    rows = []
    for name, (where, _) in names("perturbations").items():
        kind = load(where)
        summary = (kind.__doc__ or "").strip().split("\n")[0]
        rows.append({"name": name, "criterion": kind.criterion, "expect": kind.expect, "what": summary})
    return rows


def _datasets() -> Rows:
    """Every embedded set that has a card."""
    rows = []
    for folder in sorted(files("assay.data").iterdir(), key=lambda entry: entry.name):
        if folder.is_dir():
            cards = [entry for entry in folder.iterdir() if entry.name.endswith(".card.toml")]
            rows += [_card(folder, card) for card in sorted(cards, key=lambda entry: entry.name)]
    return rows


def _card(folder: Traversable, card: Traversable) -> dict[str, Any]:
    about = tomllib.loads(card.read_text("utf-8"))
    return {
        "name": f"{folder.name}/{card.name.removesuffix('.card.toml')}",
        "title": about.get("title"),
        "size": about.get("size"),
        "language": about.get("language"),
        "licence": about.get("licence"),
        "what": about.get("what"),
    }


def _weights() -> Rows:
    return [
        {
            "name": carrier.name,
            "what": carrier.what,
            "megabytes": carrier.megabytes,
            "carrier": ", ".join(requirement for requirement, _ in carrier.packages),
            "sha256": carrier.packages[0][1],
            "here": "yes" if present(carrier.name) else "no",
        }
        for carrier in CARRIERS.values()
    ]
