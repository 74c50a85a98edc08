"""A metric and its debiased versions in one run to charts of their bias before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.report.verdicts import Row
from assay.run.results import Run

_WITHOUT = "adapter:None"


def before_after(
    run: Run, rows: Sequence[Row]
) -> Iterator[tuple[str, dict[str, Any], tuple[dict[str, Any], ...]]]:
    """One statistic per slice, without and with each adapter (unfair table 4): title, chart and its rows."""
    values = {(row["metric"], row["slice"]): row for row in rows if "/" not in row["slice"]}
    for before, after in adapter_pairs(run):
        points = tuple(
            {
                "slice": slice_, "when": "before" if metric == before else "after",
                "value": row["value"], "low": row["ci_low"], "high": row["ci_high"],
            }
            for (metric, slice_), row in values.items()
            if metric in (before, after) and (before, slice_) in values and (after, slice_) in values
        )  # fmt: skip
        if points:
            yield f"{before} to {after}", _bars(rows[0]["statistic"].replace("_", " ")), points


def adapter_pairs(run: Run) -> list[tuple[str, str]]:
    """Metrics that differ in their adapter alone: (without, with)."""
    families: dict[str, list[tuple[str, str]]] = {}
    for metric, about in run.about.get("metrics", {}).items():
        parts = str(about.get("signature", "")).split("|")
        rest = [part for part in parts if not part.startswith("adapter:")]
        adapter = next((part for part in parts if part.startswith("adapter:")), None)
        if adapter is not None:
            families.setdefault(f"{'|'.join(rest)}|{about.get('output')}", []).append((metric, adapter))
    return [
        (plain, debiased)
        for members in families.values()
        for plain, first in members
        for debiased, second in members
        if first == _WITHOUT and second != _WITHOUT
    ]


def _bars(title: str) -> dict[str, Any]:
    colour = {
        "field": "when", "type": "nominal", "title": None, "legend": {"orient": "bottom"},
        "scale": {"domain": ["before", "after"], "range": ["#b7791f", "#2b6cb0"]},
    }  # fmt: skip
    where = {"field": "slice", "type": "nominal", "title": None}
    beside = {"field": "when", "sort": ["before", "after"]}
    tips = [{"field": name} for name in ("slice", "when", "value", "low", "high")]
    return {
        "height": {"step": 14},
        "layer": [
            {
                "mark": {"type": "bar", "opacity": 0.8},
                "encoding": {
                    "y": where, "yOffset": beside, "color": colour, "tooltip": tips,
                    "x": {"field": "value", "type": "quantitative", "title": title},
                },
            },
            {
                "mark": {"type": "rule"},
                "encoding": {
                    "y": where, "yOffset": beside, "x": {"field": "low", "type": "quantitative"},
                    "x2": {"field": "high"},
                },
            },
        ],
    }  # fmt: skip
