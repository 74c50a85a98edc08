"""What there is, and whether it can run here: the rows of `assay list`."""

from __future__ import annotations

import dataclasses
import importlib.util
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from typing import Any

from assay.errors import SpecError, install, suggest
from assay.models.weights import CARRIERS, hub_answers, on_disk, present
from assay.names.registry import Kind, load_class, names

Rows = Iterator[dict[str, Any]]
_CARD = ".card.toml"


def inventory(kind: str) -> list[dict[str, Any]]:
    """The rows of one list."""
    makers: dict[str, Callable[[], Rows]] = {
        "metrics": _metrics,
        "audits": _audits,
        "perturbations": _perturbations,
        "datasets": _datasets,
        "weights": _weights,
        "formats": _formats,
    }
    if kind not in makers:
        raise SpecError(f"unknown list {kind!r}{suggest(kind, makers)}")
    return list(makers[kind]())


def _classes(kind: Kind) -> Iterable[tuple[str, Any]]:
    return ((name, load_class(where)) for name, (where, _) in names(kind).items())


def _metrics() -> Rows:
    for name, metric in sorted(_classes("metrics"), key=lambda pair: pair[0]):
        low, high = ("?" if bound is None else f"{bound:g}" for bound in metric.range)
        yield {
            "name": name,
            # The name with its backbone, where a metric rests on one.
            "shown": metric().shown if isinstance(getattr(metric, "shown", None), property) else None,
            "paradigm": metric.paradigm,
            "needs": ", ".join(sorted(_needs(metric))),
            "range": f"{low}..{high}",
            "direction": "higher is better" if metric.original == "higher" else "lower was better, negated",
            **readiness(metric),
            "citation": metric.citation,
        }


def _needs(metric: Any) -> Iterable[str]:
    """What a metric's class declares, else what an instance with the default fields needs."""
    if isinstance(metric.needs, frozenset):
        return metric.needs
    try:
        return metric().needs  # type: ignore[no-any-return]
    except TypeError:  # a field without a default
        return ("depends on its fields",)


def readiness(metric: Any) -> dict[str, str]:
    """Whether a class of metrics runs with its defaults: now, after a command, or never here, and why."""
    absent = _absent_weights(metric)
    beyond = {field: name for field, name in absent.items() if name not in CARRIERS}
    if beyond and not hub_answers():  # no command helps
        carried = f"no package carries {' and '.join(beyond.values())}, and the hub does not answer"
        return {"runs": "never", "state": f"never here: {carried}; give {'=PATH, '.join(beyond)}=PATH"}
    fetched = f"; fetches {' and '.join(absent.values())} at first use" if absent else ""
    if command := lacking(metric):
        return {"runs": "after", "state": f"after: {command}{fetched}"}
    if reason := metric.absent():
        return {"runs": "never", "state": f"never here: {reason}"}
    return {"runs": "now", "state": f"now{fetched}"}


def _absent_weights(metric: Any) -> dict[str, str]:
    """The weights that the defaults name and that are not on this machine, by field."""
    named = {field: getattr(metric, field, None) for field in (*metric.weights, "tokenizer")}
    return {field: name for field, name in named.items() if name and not _is_here(name)}


def _is_here(name: str) -> bool:
    return present(name) if name in CARRIERS else on_disk(name)


def lacking(metric: Any) -> str | None:
    """The command that installs what a metric or a class of metrics needs; None where all of it is here."""
    absent = [package for package in metric.packages if importlib.util.find_spec(package) is None]
    command = install(metric.extra) if metric.extra else f"pip install {' '.join(absent)}"
    return command if absent else None


def _audits() -> Rows:
    for name, audit in _classes("audits"):
        row = {"name": name, "question": audit.question, "title": audit.title, "what": _summary(audit)}
        options = [field.name.replace("_", "-") for field in dataclasses.fields(audit)]
        yield row | {"options": ", ".join(options)}


def _perturbations() -> Rows:
    for name, kind in _classes("perturbations"):
        yield {"name": name, "criterion": kind.criterion, "expect": kind.expect, "what": _summary(kind)}


def _summary(kind: Any) -> str:
    return (kind.__doc__ or "").strip().split("\n")[0]


def _datasets() -> Rows:
    folders = [folder for folder in files("assay.data").iterdir() if folder.is_dir()]
    cards = [(folder.name, card.name, card) for folder in folders for card in folder.iterdir()]
    for folder, name, card in sorted(card for card in cards if card[1].endswith(_CARD)):
        about = tomllib.loads(card.read_text("utf-8"))
        row = {"name": f"{folder}/{name.removesuffix(_CARD)}"}
        yield row | {key: about.get(key) for key in ("title", "size", "language", "licence", "what")}


def _formats() -> Rows:
    from assay.datasets.published.formats import form_rows  # loads numpy, which other lists do without

    yield from form_rows()


def _weights() -> Rows:
    for carrier in CARRIERS.values():
        yield {
            "name": carrier.name,
            "what": carrier.what,
            "megabytes": carrier.megabytes,
            "carrier": ", ".join(requirement for requirement, _ in carrier.packages),
            "sha256": carrier.packages[0][1],
            "here": "yes" if present(carrier.name) else "no",
        }
