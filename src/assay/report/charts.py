"""Findings to charts, for pages and files: those an audit declares, or bars of its headline statistics.

A chart is one or more panels, each a small Vega-Lite specification and the rows behind it.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from assay.core import Chart, Statistic
from assay.files import toml_file
from assay.grouping import grouped
from assay.reading.recommendation import COIN
from assay.reading.results import StoredRun
from assay.reading.text import heading, number, statistic_in_words
from assay.reading.verdicts import AuditInfo, JudgedRow, audits_of, badness, is_check, rows_of, rows_with
from assay.report.assets import asset
from assay.report.tables import shown_rows
from assay.vocabulary import Verdict

Spec = dict[str, Any]
_Place = tuple[str, str]  # metric, slice
VERDICT_COLOURS: dict[Verdict, str] = toml_file("report", "words")["colours"]
BAND = "neutral_band"  # the statistic whose interval is drawn behind groups: words that name nobody
MOST_BARS = 60  # dots in a panel
MOST_PANELS = 40  # of a chart that an audit declares, and of any other:
MOST_UNDECLARED = 12
MOST_POINTS = 200  # of cases, at even distances
_WHOLE_SLICE = 99  # parts: every slice has a panel of its own
_OF_GROUPS = "/group/"  # in slices of groups; words and interactions stand in tables
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def can_draw() -> bool:
    """Whether the package that draws is installed, which the extra `figures` brings."""
    return importlib.util.find_spec("vl_convert") is not None


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: which audit it belongs to, its group and title, the specification and its rows."""

    audit: str
    group: str
    title: str
    spec: Spec
    rows: tuple[dict[str, Any], ...]
    start: str = ""  # the first part of its slices: a task, an attribute

    @property
    def whole(self) -> Spec:
        return self.spec | {"data": {"values": list(self.rows)}}

    @property
    def legend(self) -> str:
        """What its lines and bands are."""
        return str(self.spec.get("usermeta", {}).get("legend", ""))

    @property
    def is_flat(self) -> bool:
        """Whether all marks lie on one spot or one level, so that there is nothing to see."""
        drawn = ("x", "y") if self.rows and "y" in self.rows[0] else ("value",)
        return len(self.rows) > 1 and len({tuple(row[axis] for axis in drawn) for row in self.rows}) == 1


def panels(run: StoredRun) -> list[Panel]:
    """Every chart the run has data for."""
    order = {metric: place for place, metric in enumerate(run.metrics)}  # one order in all charts
    finite = (row for row in rows_of(run) if math.isfinite(row["value"]))
    rows = sorted(finite, key=lambda row: order.get(row["metric"], len(order)))
    drawn: list[Panel] = []
    for audit in audits_of(run).values():
        own = rows_with(rows, audit=audit.name)
        most = MOST_PANELS if audit.charts else MOST_UNDECLARED
        for chart in audit.charts or _undeclared(audit, own):
            draw = partial(_cases, run) if chart.kind == "cases" else _DRAWN[chart.kind]
            drawn += _chosen(list(draw(audit, chart, own)), most)
    return drawn


def study_panels(figure: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The charts of one figure of a study, one per panel that its marks name."""
    spec = _spec(f"study-{figure['kind']}", title=figure["title"], across=figure["across"])
    parts = grouped(figure["rows"], lambda row: row["panel"])
    return [{"title": title, "spec": spec, "rows": part} for title, part in parts.items()]


def _undeclared(audit: AuditInfo, rows: Iterable[JudgedRow]) -> list[Chart]:
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


def _start(chart: Chart) -> Callable[[JudgedRow], str]:
    """What names the panel of a finding: the first parts of its slice."""
    return lambda row: "/".join(row["slice"].split("/")[: chart.depth])


def _named(audit: AuditInfo, chart: Chart, path: str) -> tuple[str, str, str]:
    """The audit, group and title of a panel; panels of long paths are grouped by the path's first part."""
    group = chart.title or statistic_in_words(chart.value)
    first, _, rest = path.partition("/")
    if not rest or chart.depth == _WHOLE_SLICE:
        return audit.name, group, path
    return audit.name, f"{group}: {first}", rest.replace("-", " ")


def _verdicts(rows: Iterable[JudgedRow], statistic: str) -> dict[_Place, Verdict]:
    """The verdict on a statistic by metric and slice; a judged one where there are several."""
    named = rows_with(rows, statistic=statistic)
    named.sort(key=lambda row: row["verdict"] != "not judged")
    return {_place(row): row["verdict"] for row in named}


def _spec(kind: str, **values: object) -> Spec:
    """The specification of a kind of chart from templates/charts.json, with `{title}` and so on filled in."""
    colours = {"domain": list(VERDICT_COLOURS), "range": list(VERDICT_COLOURS.values())}
    places = {f"{{{name}}}": value for name, value in values.items()} | {"{verdicts}": colours}

    def fill(view: Spec) -> Spec:
        return {key: places.get(part, part) if isinstance(part, str) else part for key, part in view.items()}

    specs: dict[str, Spec] = json.loads(asset("charts.json"), object_hook=fill)
    return specs[kind]


def _dots(audit: AuditInfo, chart: Chart, rows: Sequence[JudgedRow]) -> Iterable[Panel]:
    """One dot per metric with its interval, in one order everywhere; only the worst of very many.

    Where the verdict rests on another statistic than the one named, that one is drawn: a colour must say
    something about the number that it colours.
    """
    named = rows_with(rows, statistic=chart.colour or chart.value)
    bands = {_place(row): (row["ci_low"], row["ci_high"]) for row in rows_with(rows, statistic=BAND)}
    for path, of_panel in grouped(shown_rows(_drawable(named, chart)), _start(chart)).items():
        several = len({row["versus"] for row in of_panel}) > 1
        dots = tuple(
            _dot(row, _label(row, path, several=several), bands.get((row["metric"], path)))
            for row in _worst_in_order(of_panel)
        )
        spec = _dots_spec(of_panel[0].declared, has_band=any("from" in dot for dot in dots))
        yield Panel(*_named(audit, chart, path), spec, dots, path.partition("/")[0])


def _drawable(rows: Sequence[JudgedRow], chart: Chart) -> Sequence[JudgedRow]:
    """The findings that have a dot: groups alone where there are any, else those of the chart's depth."""
    of_groups = [row for row in rows if _OF_GROUPS in row["slice"]]
    at_depth = [row for row in rows if row["slice"].count("/") + 1 == chart.depth]
    return of_groups or at_depth or rows


def _worst_in_order(rows: Sequence[JudgedRow]) -> list[JudgedRow]:
    """The findings of a panel, slice by slice; of very many only the worst."""
    slices = {slice_: place for place, slice_ in enumerate(dict.fromkeys(row["slice"] for row in rows))}
    worst = {id(row) for row in sorted(rows, key=lambda row: -badness(row))[:MOST_BARS]}
    return sorted((row for row in rows if id(row) in worst), key=lambda row: slices[row["slice"]])


def _dot(row: JudgedRow, label: str, band: tuple[float, float] | None) -> dict[str, Any]:
    """A dot with its interval, and with the grey band behind it where there is one."""
    ends = {"low": row["ci_low"], "high": row["ci_high"], "n": row["n"], "verdict": row["verdict"]}
    dot = {"label": label, "metric": row["metric"], "value": row["value"], **ends}
    return dot if band is None else dot | {"from": band[0], "to": band[1]}


def _dots_spec(statistic: Statistic, *, has_band: bool) -> Spec:
    """The specification of a chart of dots, with the layer of bands where there are any."""
    legend = _legend(statistic)
    if has_band:
        legend += "; grey: words that name nobody"
    spec = _spec("dots", title=heading(statistic), marks=_marks(statistic), legend=legend)
    if not has_band:
        del spec["layer"][0]
    return spec


def _marks(statistic: Statistic | None) -> list[dict[str, float]]:
    """Where the bars of a judged statistic lie, two where either side is bad; and a coin below the bar."""
    if statistic is None or statistic.bad is None:
        return []
    bar, centre = float(statistic.bar or 0.0), statistic.centre
    if statistic.bad == "far":
        return [{"at": centre - bar}, {"at": centre + bar}]
    return [{"at": COIN}, {"at": bar}] if _has_coin(statistic) else [{"at": bar}]


def _has_coin(statistic: Statistic) -> bool:
    """Whether a number counts right decisions, of which a coin has half."""
    return statistic.unit == "of 100" and statistic.bad == "low" and float(statistic.bar or 0.0) > COIN


def _legend(statistic: Statistic | None) -> str:
    """What the dashed lines of a chart are."""
    places = [number(mark["at"]) for mark in _marks(statistic)]
    if statistic is None or not places:
        return ""
    if _has_coin(statistic):
        return f"dashed: {places[0]}, a coin, and {places[1]}, the bar"
    return f"dashed: {' and '.join(places)}, the bar{'s' * (len(places) - 1)}"


def _label(row: JudgedRow, path: str, *, several: bool) -> str:
    """What a dot is about: a group, a “word” or the rest of its slice, then the metric."""
    rest = row["slice"].removeprefix(path).strip("/").removeprefix("group/")
    if rest.startswith("word/"):
        rest = f"“{rest.removeprefix('word/')}”"
    return " · ".join(part for part in (rest, row["metric"], row["versus"] if several else None) if part)


def _curve(audit: AuditInfo, chart: Chart, rows: Sequence[JudgedRow]) -> Iterable[Panel]:
    """One line per metric, coloured by its verdict, over the bar of that verdict."""
    judging = next((known for known in audit.statistics if known.name == chart.colour), None)
    places = _places_across(chart, rows)
    own = [row for row in rows_with(rows, statistic=chart.value) if row["slice"].count("/") >= chart.depth]
    drawn = [row for row in own if _place(row) in places]
    for path, of_panel in grouped(drawn, _start(chart)).items():
        verdicts = _line_verdicts(chart, rows, path)
        points = tuple(
            {"metric": row["metric"], "at": row.last, "x": places[_place(row)], "value": row["value"],
             "verdict": verdicts.get(row["metric"], "not judged")}
            for row in of_panel
        )  # fmt: skip
        spec = _spec(
            "curve", across=statistic_in_words(chart.x or ""), title=heading(of_panel[0].declared),
            marks=_marks(judging), legend=_legend(judging),
        )  # fmt: skip
        yield Panel(*_named(audit, chart, path), spec, points, of_panel[0].start)


def _places_across(chart: Chart, rows: Iterable[JudgedRow]) -> dict[_Place, float]:
    """Where points lie from left to right: by a statistic, else by the number at a slice's end (`top-3`)."""
    if chart.x:
        return {_place(row): row["value"] for row in rows_with(rows, statistic=chart.x)}
    digits = {_place(row): _NUMBER.search(row.last) for row in rows}
    return {place: float(match[0]) for place, match in digits.items() if match}


def _place(row: JudgedRow) -> _Place:
    return row["metric"], row["slice"]


def _line_verdicts(chart: Chart, rows: Iterable[JudgedRow], path: str) -> dict[str, Verdict]:
    """Each line's verdict: of the colouring statistic at the panel's slice, else a failure at some point."""
    if chart.colour:
        known = _verdicts(rows, chart.colour)
        return {metric: verdict for (metric, slice_), verdict in known.items() if slice_ == path}
    own = rows_with(rows, statistic=chart.value, verdict="fail")
    return {row["metric"]: "fail" for row in own if f"{row['slice']}/".startswith(f"{path}/")}


def _scatter(audit: AuditInfo, chart: Chart, rows: Sequence[JudgedRow]) -> Iterable[Panel]:
    """One point per slice: the statistic's value for one group against that for the other.

    The groups are the first two that findings name in `versus`; points on the diagonal treat them alike.
    """
    named = [row for row in rows_with(rows, statistic=chart.value) if row["versus"]]
    groups = list(dict.fromkeys(row["versus"] for row in named))[:2]
    if len(groups) < 2:
        return
    verdicts = _verdicts(rows, chart.colour or chart.value)
    across, title = (f"{statistic_in_words(chart.value)}, {group}" for group in groups)
    for metric, points in grouped(_points_of(named, groups, verdicts), lambda point: point["metric"]).items():
        ends = _diagonal(points)
        spec = _spec("scatter", across=across, title=title, diagonal=ends, legend="dashed: both groups alike")
        yield Panel(audit.name, chart.title or statistic_in_words(chart.value), metric, spec, tuple(points))


def _points_of(
    rows: Sequence[JudgedRow], groups: Sequence[str], verdicts: Mapping[_Place, Verdict]
) -> list[dict[str, Any]]:
    """A point for every metric and slice that has a value for both groups."""
    points = []
    for place, of_place in grouped(rows, _place).items():
        values = {row["versus"]: row["value"] for row in of_place}
        if set(groups) <= set(values):
            verdict = verdicts.get(place, "not judged")
            x, y = (values[group] for group in groups)
            points.append({"metric": place[0], "slice": place[1], "x": x, "y": y, "verdict": verdict})
    return points


def _diagonal(points: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """The ends of the line on which both groups are treated alike, from 0 on."""
    sizes = [0.0, *(point[axis] for point in points for axis in ("x", "y"))]
    return [{"x": value, "y": value} for value in (min(sizes), max(sizes))]


def _cases(run: StoredRun, audit: AuditInfo, chart: Chart, rows: Sequence[JudgedRow]) -> Iterable[Panel]:
    """One point per case: its place by `meta["at"]` against its score; one panel per slice and metric."""
    own = run.cases.filter(pl.col("audit") == audit.name).select("case", "meta").iter_rows()
    places = {case: json.loads(meta).get("at", {}) for case, meta in own if meta}
    verdicts = _verdicts(rows, chart.colour or chart.value)
    scored = run.scores.filter((pl.col("audit") == audit.name) & pl.col("score").is_not_null())
    for metric, slice_ in _verdicts(rows, chart.value):
        scores = scored.filter(pl.col("metric") == metric).select("case", "score").iter_rows()
        points = [
            {"metric": metric, "case": case, "x": places[case][slice_], "value": score}
            for case, score in scores
            if slice_ in places.get(case, {})
        ]
        step = math.ceil(len(points) / MOST_POINTS) or 1
        verdict = {"verdict": verdicts.get((metric, slice_), "not judged")}
        if points:
            group, shown = f"{chart.title}: {slice_}", tuple(point | verdict for point in points[::step])
            spec = _spec("cases", title=chart.title)
            yield Panel(audit.name, group, metric, spec, shown, slice_.partition("/")[0])


_Drawer = Callable[[AuditInfo, Chart, Sequence[JudgedRow]], Iterable[Panel]]
_DRAWN: dict[str, _Drawer] = {"bars": _dots, "curve": _curve, "scatter": _scatter}
