"""Several runs, the earliest first, to what each metric did in them and what changed from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.reading.compare import Change, Comparison, Direction, compare
from assay.reading.names import shown
from assay.reading.ranking import rankings
from assay.reading.results import StoredRun

_NAMED = 5  # changes in each direction that are named


def history(runs: Sequence[StoredRun]) -> dict[str, list[dict[str, Any]]]:
    """Each metric of the last run with one entry per run that has it, as the page shows them."""
    named = [shown(run) for run in runs]
    entries: dict[str, list[dict[str, Any]]] = {metric: [] for metric in named[-1].metrics}
    for place, run in enumerate(named):
        before = named[place - 1] if place else run
        comparison = compare(before, run) if place else Comparison((), 0, 0)
        lines = {line.metric: line for ranking in rankings(run)[:1] for line in ranking.lines}
        for metric in entries.keys() & set(run.metrics):
            entries[metric].append(
                {
                    "run": run.folder.name if run.folder else f"run {place + 1}",
                    "date": str(run.about.get("date", ""))[:16].replace("T", " "),
                    "about": f"assay {run.about.get('assay')}, size {run.about.get('size', 'full')}",
                    "line": lines.get(metric),
                    "changes": _changes(comparison, metric),
                    "notes": [*_another_signature(before, run, metric), *_not_compared(comparison)],
                }
            )
    return entries


def _another_signature(before: StoredRun, after: StoredRun, metric: str) -> list[str]:
    """A note where a metric of one name is not the same metric in two runs."""
    signatures = {run.about["metrics"].get(metric, {}).get("signature") for run in (before, after)}
    return ["the metric itself changed (another signature)"] if len(signatures) > 1 else []


def _not_compared(comparison: Comparison) -> list[str]:
    return [note for note in comparison.notes if " is not compared: " in note]


def _changes(comparison: Comparison, metric: str) -> dict[str, Any]:
    """What became worse and better for a metric: how many findings, and the largest changes."""
    own = replace(comparison, shared=tuple(each for each in comparison.shared if each.key[0] == metric))
    ways: dict[Direction, list[Change]] = {"worse": own.of("worse"), "better": own.of("better")}
    return {way: (len(listed), listed[:_NAMED]) for way, listed in ways.items() if listed}
