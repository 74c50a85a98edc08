"""Findings to charts: small Vega-Lite specifications and the rows behind them, one view a panel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.report.before_after import before_after
from assay.report.verdicts import Row, verdict_of
from assay.run.results import Run

Spec = dict[str, Any]
VERDICT_COLOURS = {"fail": "#c8102e", "pass": "#1a7f5a", "unclear": "#8a8f98"}


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: which audit it belongs to, its group and title, the specification and its rows."""

    audit: str
    group: str
    title: str
    spec: Spec
    rows: tuple[dict[str, Any], ...]

    @property
    def whole(self) -> Spec:
        """The specification with its data, for a renderer."""
        return self.spec | {"data": {"values": list(self.rows)}}


def panels(run: Run) -> list[Panel]:
    """Every chart the run has data for."""
    found = {name: list(group) for name, group in _by_audit(run).items()}
    return [
        *_bias(found.get("stereotype", [])),
        *(
            Panel("stereotype", "before and after mitigation", *chart)
            for chart in before_after(run, found.get("stereotype", []))
        ),
        *_concepts(run),
        *_curves(found.get("stress", [])),
        *_top(found.get("human", [])),
    ]


def _by_audit(run: Run) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in run.findings.iter_rows(named=True):
        found.setdefault(row["audit"], []).append(row)
    return found


def _tips(*fields: str) -> list[dict[str, str]]:
    """What a pointer tells."""
    return [{"field": name} for name in fields]


def _bias(rows: Sequence[Row]) -> Iterable[Panel]:
    """Bars with intervals, one panel an attribute, coloured by the verdict on the excess."""
    judged = {(r["metric"], r["slice"]): r for r in rows if r["statistic"] == "excess_bias"}
    bars: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["statistic"] == "bias" and "/" not in row["slice"]:
            excess = judged.get((row["metric"], row["slice"]))
            bars.setdefault(row["slice"], []).append(
                {
                    "metric": row["metric"], "bias": row["value"], "low": row["ci_low"],
                    "high": row["ci_high"], "n": row["n"],
                    "excess": None if excess is None else excess["value"],
                    "verdict": verdict_of(None if excess is None else excess["passed"]),
                }
            )  # fmt: skip
    for name, values in bars.items():
        yield Panel("stereotype", "bias by attribute", name, _bars("bias"), _largest_first(values, "bias"))


def _largest_first(rows: Iterable[dict[str, Any]], field: str) -> tuple[dict[str, Any], ...]:
    return tuple(sorted(rows, key=lambda row: -row[field]))


def _bars(field: str) -> Spec:
    order = {"field": "metric", "type": "nominal", "title": None, "sort": None}  # the rows are in order
    colour = {
        "field": "verdict", "type": "nominal", "legend": None,
        "scale": {"domain": list(VERDICT_COLOURS), "range": list(VERDICT_COLOURS.values())},
    }  # fmt: skip
    tips = _tips("metric", field, "low", "high", "excess", "n", "verdict")
    return {
        "height": {"step": 20},
        "layer": [
            {
                "mark": {"type": "bar", "opacity": 0.75},
                "encoding": {
                    "y": order, "x": {"field": field, "type": "quantitative", "title": "bias (0 to 100)"},
                    "color": colour, "tooltip": tips,
                },
            },
            {
                "mark": {"type": "rule", "strokeWidth": 1.5},
                "encoding": {
                    "y": order, "x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"},
                },
            },
        ],
    }  # fmt: skip


def _curves(rows: Sequence[Row]) -> Iterable[Panel]:
    """Blind fig. 4: score against noise-ratio, as change from the gold; failures are bold."""
    scores: dict[tuple[str, str], dict[str, float]] = {}
    ratios: dict[tuple[str, str], dict[str, float]] = {}
    failed = {
        (r["metric"], r["slice"])
        for r in rows
        if r["statistic"] in ("sensitivity", "insensitive") and r["passed"] is False
    }
    for row in rows:
        where, _, level = row["slice"].rpartition("/")
        if row["statistic"] in ("score", "noise_ratio") and where.count("/") == 1:
            table = scores if row["statistic"] == "score" else ratios
            table.setdefault((row["metric"], where), {})[level] = row["value"]
    points: dict[str, list[dict[str, Any]]] = {}
    for (metric, where), levels in scores.items():
        gold = levels.get("gold")
        if gold is None:
            continue
        for level, score in levels.items():
            ratio = 0.0 if level == "gold" else ratios.get((metric, where), {}).get(level)
            if ratio is not None:
                points.setdefault(where, []).append(
                    {
                        "metric": metric, "level": level, "noise": ratio, "score": score,
                        "change": 100.0 * (score - gold) / (abs(gold) or 1.0),
                        "verdict": "fail" if (metric, where) in failed else "not failed",
                    }
                )  # fmt: skip
    for where in sorted(points):
        task, _, noise = where.partition("/")
        yield Panel("stress", task, noise.replace("-", " "), _lines(), tuple(points[where]))


def _lines() -> Spec:
    return {
        "height": 150,
        "mark": {"type": "line", "point": {"size": 25}},
        "encoding": {
            "x": {"field": "noise", "type": "quantitative", "title": "noise ratio", "axis": {"tickCount": 5}},
            "y": {"field": "change", "type": "quantitative", "title": "change, % of gold"},
            "color": {"field": "metric", "type": "nominal", "legend": None},
            "strokeWidth": {
                "field": "verdict", "type": "ordinal", "legend": None,
                "scale": {"domain": ["fail", "not failed"], "range": [3.5, 1.2]},
            },
            "tooltip": _tips("metric", "level", "noise", "score", "change", "verdict"),
        },
    }  # fmt: skip


def _concepts(run: Run) -> Iterable[Panel]:
    """Caption fig. 3: a concept's accuracy for one group against the other's; the diagonal is fair."""
    gaps = {
        (row["metric"], row["slice"]): row
        for row in run.findings.iter_rows(named=True)
        if row["audit"] == "caption" and row["statistic"] == "accuracy_gap"
    }
    if not gaps:
        return
    groups = str(next(iter(gaps.values()))["versus"] or "a - b").split(" - ")
    accuracy = _accuracies(run)
    points: dict[str, list[dict[str, Any]]] = {}
    for (metric, path), row in gaps.items():
        both = [accuracy.get((metric, path, group)) for group in groups]
        if None in both:
            continue
        real = row["q_value"] is not None and row["q_value"] < 0.05
        side = groups[0] if row["value"] > 0 else groups[1]
        points.setdefault(metric, []).append(
            {
                "concept": path, groups[0]: both[0], groups[1]: both[1], "gap": row["value"],
                "q": row["q_value"], "bias": f"{side} does better" if real else "not significant",
            }
        )  # fmt: skip
    for metric, values in points.items():
        yield Panel("caption", "accuracy by concept", metric, _scatter(groups), tuple(values))


def _accuracies(run: Run) -> dict[tuple[str, str, str], float]:
    """Share of right answers by metric, concept and group, as Eq. 1 counts them: a tie is wrong."""
    cases = run.cases.filter((pl.col("audit") == "caption") & (pl.col("role") == "good"))
    about = {}
    for case, meta in cases.select("case", "meta").iter_rows():
        known = json.loads(meta or "{}")
        if known.get("concept") and known.get("group"):
            about[case] = (
                f"{known.get('category')}/{known['concept']}",
                known["group"],
                known.get("count", 1),
            )
    mine = run.scores.filter((pl.col("audit") == "caption") & pl.col("role").is_in(["good", "bad"]))
    wide = mine.pivot(on="role", index=["metric", "case"], values="score") if mine.height else mine
    totals: dict[tuple[str, str, str], list[float]] = {}
    for row in wide.iter_rows(named=True):
        if row["case"] in about and row.get("good") is not None and row.get("bad") is not None:
            path, group, count = about[row["case"]]
            total = totals.setdefault((row["metric"], path, group), [0.0, 0.0])
            total[0] += count * (row["good"] > row["bad"])
            total[1] += count
    return {key: right / seen for key, (right, seen) in totals.items() if seen}


def _scatter(groups: Sequence[str]) -> Spec:
    one, two = groups[0], groups[1]
    sides = [f"{one} does better", f"{two} does better", "not significant"]
    diagonal = {"values": [{"a": 0, "b": 0}, {"a": 1, "b": 1}]}
    return {
        "height": 240,
        "layer": [
            {
                "data": diagonal,
                "mark": {"type": "line", "strokeDash": [4, 4], "opacity": 0.6},
                "encoding": {
                    "x": {"field": "a", "type": "quantitative"},
                    "y": {"field": "b", "type": "quantitative"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.7},
                "encoding": {
                    "x": {"field": one, "type": "quantitative", "title": f"accuracy, {one}"},
                    "y": {"field": two, "type": "quantitative", "title": f"accuracy, {two}"},
                    "color": {
                        "field": "bias", "type": "nominal", "title": None,
                        "scale": {"domain": sides, "range": ["#2b6cb0", "#2f855a", "#dd8a1a"]},
                        "legend": {"orient": "bottom", "columns": 1},
                    },
                    "tooltip": _tips("concept", one, two, "gap", "q", "bias"),
                },
            },
        ],
    }  # fmt: skip


def _top(rows: Sequence[Row]) -> Iterable[Panel]:
    """Assoc fig. 1: agreement over the systems that people like best."""
    points: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        parts = row["slice"].split("/")
        if len(parts) == 3 and parts[2].startswith("top-"):
            points.setdefault(parts[1], []).append(
                {"metric": row["metric"], "systems": int(parts[2][4:]), "agreement": row["value"]}
            )
    for criterion, values in points.items():
        spec = _lines() | {
            "encoding": {
                "x": {"field": "systems", "type": "quantitative", "title": "best systems kept"},
                "y": {"field": "agreement", "type": "quantitative", "title": "correlation with people"},
                "color": {"field": "metric", "type": "nominal", "legend": None},
                "tooltip": _tips("metric", "systems", "agreement"),
            }
        }
        yield Panel("human", "agreement on the best systems", criterion, spec, tuple(values))
