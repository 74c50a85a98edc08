"""Findings to charts, for pages and files: those an audit declares, or bars of its headline statistics.

A chart is one or more panels, each a small Vega-Lite specification and the rows behind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.core import Chart
from assay.errors import unwritable
from assay.report.names import shown
from assay.report.tables import shown_rows
from assay.report.text import heading, in_words
from assay.report.verdicts import AuditInfo, Row, audits_of, beyond_margin, is_check, rows_of
from assay.run.results import Run
from assay.vocabulary import Verdict

Spec = dict[str, Any]
VERDICT_COLOURS: dict[Verdict, str] = {
    "fail": "#c8102e",
    "pass": "#1a7f5a",
    "inconclusive": "#8a8f98",
    "insensitive": "#b7791f",
    "not judged": "#5b7083",
}
MOST_BARS = 40  # in a panel
MOST_PANELS = 40  # of a chart that an audit declares, and of any other:
MOST_UNDECLARED = 12
_WHOLE_SLICE = 99  # parts: every slice has a panel of its own
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
_SCALE = 3.0  # pixels per point: sharp in print


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
        return self.spec | {"data": {"values": list(self.rows)}}

    @property
    def coloured_by(self) -> str:
        """The field that colours the marks; empty where none does."""
        views = [self.spec, *self.spec.get("layer", ())]
        colours = (view.get("encoding", {}).get("color", {}) for view in views)
        return next((colour["field"] for colour in colours if colour), "")


def panels(run: Run) -> list[Panel]:
    """Every chart the run has data for."""
    rows = [row for row in rows_of(run) if math.isfinite(row["value"])]
    drawn: list[Panel] = []
    for audit in audits_of(run).values():
        own = [row for row in rows if row["audit"] == audit.name]
        most = MOST_PANELS if audit.charts else MOST_UNDECLARED
        for chart in audit.charts or _undeclared(audit, own):
            drawn += _chosen(list(_DRAWN[chart.kind](audit, chart, own)), most)
            if chart.kind == "bars":
                drawn += _before_after(run, audit, [row for row in own if row["statistic"] == chart.value])
    return drawn


def _undeclared(audit: AuditInfo, rows: Iterable[Row]) -> list[Chart]:
    """Bars of the headline statistics that were judged, or of all where none was."""
    judged = {row["statistic"] for row in rows if is_check(row)}
    names = [name for name in audit.headlines if name in judged] or audit.headlines
    return [Chart("bars", name, depth=_WHOLE_SLICE) for name in names]


def _chosen(of_chart: list[Panel], most: int) -> list[Panel]:
    """The panels of a chart, or where there are too many those with most failures; their group says so."""
    if len(of_chart) <= most:
        return of_chart
    of_chart.sort(key=lambda panel: -sum(row["verdict"] == "fail" for row in panel.rows))
    note = f"({most} of {len(of_chart)}, most failures first)"
    return [replace(panel, group=f"{panel.group} {note}") for panel in of_chart[:most]]


def _by_panel(rows: Iterable[Row], depth: int) -> dict[str, list[Row]]:
    """Findings by the first `depth` parts of their slice."""
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault("/".join(row["slice"].split("/")[:depth]), []).append(row)
    return grouped


def _named(audit: AuditInfo, chart: Chart, path: str) -> tuple[str, str, str]:
    """The audit, group and title of a panel; panels of long paths are grouped by the path's first part."""
    group = chart.title or in_words(chart.value)
    first, _, rest = path.partition("/")
    if not rest or chart.depth == _WHOLE_SLICE:
        return audit.name, group, path
    return audit.name, f"{group}: {first}", rest.replace("-", " ")


def _verdicts(rows: Iterable[Row], statistic: str) -> dict[tuple[str, str], Verdict]:
    """The verdict on a statistic by metric and slice; a judged one where there are several."""
    named = [row for row in rows if row["statistic"] == statistic]
    named.sort(key=lambda row: row["verdict"] != "not judged")
    return {(row["metric"], row["slice"]): row["verdict"] for row in named}


def _tips(*fields: str) -> list[dict[str, str]]:
    return [{"field": name} for name in fields]


def _quantity(field: str, title: str | None = None) -> Spec:
    return {"field": field, "type": "quantitative", "title": title}


def _verdict_colour() -> Spec:
    scale = {"domain": list(VERDICT_COLOURS), "range": list(VERDICT_COLOURS.values())}
    return {"field": "verdict", "type": "nominal", "legend": None, "scale": scale}


def _bars(audit: AuditInfo, chart: Chart, rows: Sequence[Row]) -> Iterable[Panel]:
    """One bar per metric with its interval; worst first, and only the worst where there are very many."""
    verdicts = _verdicts(rows, chart.colour or "")
    named = [row for row in rows if row["statistic"] == chart.value]
    at_depth = [row for row in named if row["slice"].count("/") + 1 == chart.depth]
    for path, listed in _by_panel(shown_rows(at_depth or named), chart.depth).items():
        worst = sorted(listed, key=lambda row: -_badness(audit, row))[:MOST_BARS]
        several = len({row["versus"] for row in worst}) > 1
        bars = tuple(
            {
                "label": _label(row, path, several=several), "metric": row["metric"], "value": row["value"],
                "low": row["ci_low"], "high": row["ci_high"], "n": row["n"],
                "verdict": verdicts.get((row["metric"], row["slice"]), "not judged") if chart.colour
                else row["verdict"],
            }
            for row in worst
        )  # fmt: skip
        yield Panel(*_named(audit, chart, path), _bar_spec(heading(audit.statistic(worst[0]))), bars)


def _badness(audit: AuditInfo, row: Row) -> float:
    """By how far the value itself lies on the bad side; by its size where no side is bad."""
    statistic = audit.statistic(row)
    value = float(row["value"])
    return value if statistic.bad is None else beyond_margin(value, value, statistic)


def _label(row: Row, path: str, *, several: bool) -> str:
    rest = row["slice"].removeprefix(path).strip("/")
    return " · ".join(part for part in (row["metric"], rest, row["versus"] if several else None) if part)


def _bar_spec(title: str) -> Spec:
    label = {"field": "label", "type": "nominal", "title": None, "sort": None}  # the rows are in order
    tips = _tips("label", "value", "low", "high", "n", "verdict")
    bars = {"x": _quantity("value", title), "color": _verdict_colour(), "tooltip": tips}
    rules = {"x": _quantity("low", title), "x2": {"field": "high"}}
    return _layers(20, {"y": label}, ({"opacity": 0.75}, bars), ({"strokeWidth": 1.5}, rules))


def _layers(step: int, where: Spec, bars: tuple[Spec, Spec], rules: tuple[Spec, Spec]) -> Spec:
    """Bars, and their intervals as rules: for each the look of the mark, and the encoding."""
    kinds = {"bar": bars, "rule": rules}
    layer = [
        {"mark": {"type": kind, **look}, "encoding": where | encoding}
        for kind, (look, encoding) in kinds.items()
    ]
    return {"height": {"step": step}, "layer": layer}


def _curve(audit: AuditInfo, chart: Chart, rows: Sequence[Row]) -> Iterable[Panel]:
    """One line per metric; a thick line is one that fails.

    A point without a value of `chart.x` is where its line starts (the unchanged text, at 0). Lines that have
    a start are drawn as change from it in percent, since the scales of metrics differ.
    """
    across = {(row["metric"], row["slice"]): row["value"] for row in rows if row["statistic"] == chart.x}
    named = [row for row in rows if row["statistic"] == chart.value]
    deeper = [row for row in named if row["slice"].count("/") >= chart.depth]
    for path, listed in _by_panel(deeper, chart.depth).items():
        points = _points(chart, listed, across, _failed(chart, rows, path))
        starts = {point["metric"]: point["value"] for point in points if point["x"] is None}
        if starts:
            points = [_from_start(p, starts[p["metric"]]) for p in points if p["metric"] in starts]
        if points:
            title = heading(audit.statistic(listed[0]))
            spec = _line_spec(in_words(chart.x or ""), title, relative=bool(starts))
            yield Panel(*_named(audit, chart, path), spec, tuple(points))


def _points(
    chart: Chart, rows: Iterable[Row], across: Mapping[tuple[str, str], float], failed: set[str]
) -> list[dict[str, Any]]:
    """The points of a panel; `x` is None at the start of a line."""
    points = []
    for row in rows:
        last = row["slice"].rpartition("/")[2]
        number = _NUMBER.search(last)  # 3 of `top-3`
        own = float(number[0]) if number else None
        x = across.get((row["metric"], row["slice"])) if chart.x else own
        verdict = "fail" if row["metric"] in failed else "not failed"
        point = {"metric": row["metric"], "at": last, "x": x, "value": row["value"], "verdict": verdict}
        if chart.x or x is not None:
            points.append(point)
    return points


def _failed(chart: Chart, rows: Iterable[Row], path: str) -> set[str]:
    """Metrics that fail: in the colouring statistic at the panel's slice, else at a point of their line."""
    judged = chart.colour or chart.value
    return {
        row["metric"]
        for row in rows
        if row["statistic"] == judged
        and row["verdict"] == "fail"
        and (row["slice"] == path if chart.colour else f"{row['slice']}/".startswith(f"{path}/"))
    }


def _from_start(point: dict[str, Any], start: float) -> dict[str, Any]:
    change = 100.0 * (point["value"] - start) / (abs(start) or 1.0)
    return point | {"x": point["x"] or 0.0, "change": change}


def _line_spec(across: str, title: str, *, relative: bool) -> Spec:
    y = _quantity("change", "change, % of start") if relative else _quantity("value", title)
    thickness = {"domain": ["fail", "not failed"], "range": [3.5, 1.2]}
    return {
        "height": 150,
        "mark": {"type": "line", "point": {"size": 25}},
        "encoding": {
            "x": _quantity("x", across) | {"axis": {"tickCount": 5}},
            "y": y,
            "color": {"field": "metric", "type": "nominal", "legend": None},
            "strokeWidth": {"field": "verdict", "type": "ordinal", "legend": None, "scale": thickness},
            "tooltip": _tips("metric", "at", "x", "value", *(["change"] if relative else []), "verdict"),
        },
    }


def _scatter(audit: AuditInfo, chart: Chart, rows: Sequence[Row]) -> Iterable[Panel]:
    """One point per slice: the statistic's value for one group against that for the other.

    The groups are the first two that findings name in `versus`; points on the diagonal treat them alike.
    """
    named = [row for row in rows if row["statistic"] == chart.value and row["versus"]]
    groups = list(dict.fromkeys(row["versus"] for row in named))[:2]
    if len(groups) < 2:
        return
    verdicts = _verdicts(rows, chart.colour or chart.value)
    values = {(row["metric"], row["slice"], row["versus"]): row["value"] for row in named}
    for metric in dict.fromkeys(row["metric"] for row in named):
        points = [
            {
                "metric": metric, "slice": slice_, "x": x, "y": y,
                "verdict": verdicts.get((metric, slice_), "not judged"),
            }
            for slice_ in dict.fromkeys(row["slice"] for row in named)
            if (x := values.get((metric, slice_, groups[0]))) is not None
            and (y := values.get((metric, slice_, groups[1]))) is not None
        ]  # fmt: skip
        if points:
            spec = _point_spec(points, [f"{in_words(chart.value)}, {group}" for group in groups])
            yield Panel(audit.name, chart.title or in_words(chart.value), metric, spec, tuple(points))


def _point_spec(points: Sequence[dict[str, Any]], titles: Sequence[str]) -> Spec:
    values = [point[axis] for point in points for axis in ("x", "y")]
    ends = [{"x": value, "y": value} for value in (min(0.0, *values), max(0.0, *values))]
    axes = {"x": _quantity("x", titles[0]), "y": _quantity("y", titles[1])}
    tips = _tips("slice", "x", "y", "verdict")
    return {
        "height": 240,
        "layer": [
            {
                "data": {"values": ends},
                "mark": {"type": "line", "strokeDash": [4, 4], "opacity": 0.6},
                "encoding": axes,
            },
            {
                "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.7},
                "encoding": axes | {"color": _verdict_colour(), "tooltip": tips},
            },
        ],
    }


_DRAWN: dict[str, Callable[[AuditInfo, Chart, Sequence[Row]], Iterable[Panel]]] = {
    "bars": _bars,
    "curve": _curve,
    "scatter": _scatter,
}


def write_figures(run: Run, folder: Path) -> list[Path]:
    """One SVG and one PNG per chart; their names say audit, group and title."""
    import vl_convert

    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for panel in panels(shown(run)):
            spec = _printed(panel.whole | {"title": panel.title})
            stem = re.sub(r"[^a-z0-9]+", "-", f"{panel.audit} {panel.group} {panel.title}".lower()).strip("-")
            svg, png = folder / f"{stem}.svg", folder / f"{stem}.png"
            svg.write_text(vl_convert.vegalite_to_svg(spec), "utf-8")
            png.write_bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))
            written += [svg, png]
    except OSError as error:
        raise unwritable(folder, error) from error
    return written


def _printed(spec: Spec) -> Spec:
    """As wide as a column of a paper, with the legend that the page draws by itself."""
    sized = _with_legend(spec) | {"width": 260, "background": "white"}
    return sized | ({"layer": [_with_legend(view) for view in spec["layer"]]} if "layer" in spec else {})


def _with_legend(view: Spec) -> Spec:
    encoding = view.get("encoding", {})
    if "color" not in encoding:
        return view
    colour = {key: value for key, value in encoding["color"].items() if key != "legend"}
    return view | {"encoding": encoding | {"color": colour}}


_WITHOUT = "adapter:None"


def _before_after(run: Run, audit: AuditInfo, rows: Sequence[Row]) -> Iterator[Panel]:
    """One statistic per slice, without and with each adapter (unfair table 4)."""
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
            spec, title = _change_bars(in_words(rows[0]["statistic"])), f"{before} to {after}"
            yield Panel(audit.name, "before and after mitigation", title, spec, points)


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


def _change_bars(title: str) -> Spec:
    colour = {
        "field": "when", "type": "nominal", "title": None, "legend": {"orient": "bottom"},
        "scale": {"domain": ["before", "after"], "range": ["#b7791f", "#2b6cb0"]},
    }  # fmt: skip
    where = {
        "y": {"field": "slice", "type": "nominal", "title": None},
        "yOffset": {"field": "when", "sort": ["before", "after"]},
    }
    tips = _tips("slice", "when", "value", "low", "high")
    bars = {"color": colour, "tooltip": tips, "x": _quantity("value", title)}
    rules = {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}}
    return _layers(14, where, ({"opacity": 0.8}, bars), ({}, rules))
