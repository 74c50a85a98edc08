"""Tables of a study: what they show, filled with the figures of a run and of the paper.

A table is given by a recipe, whose places and printed figures it takes over, or by places of its own: a
place is one slice and statistic, such as an attribute, a test or a level of a noise. Figures are never
averaged over places; only a column that the paper itself calls an average is one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Any

from assay.errors import DataError
from assay.papers.cells import Findings, Reading
from assay.papers.recipes import Cell, TableRecipe, axes, find_recipe
from assay.reading.text import number

_Shown = Mapping[str, Mapping[str, Mapping[str, str]]]  # cells by metric and place
STAR = 0.01  # the papers mark p <= .01
_VERDICTS = {"fail": "fail", "pass": "pass", "inconclusive": "cannot tell", "not judged": "not asked"}
_KEYS = frozenset(
    {"id", "where", "heading", "found", "counts", "unit", "without", "careful"}  # what is said
    | {"run", "runs", "recipe", "only", "printed", "metrics", "captioners"}  # whose figures
    | {
        "places",
        "each",
        "by",
        "versus",
        "lines",
        "statistic",
        "slice",
        "scale",
        "average",
        "words",
    }  # which figures
    | {"rows", "stars", "unasked", "figure", "axis", "across", "curves"}  # how they are shown
)


@dataclass(frozen=True, slots=True)
class CellPlace:
    """Where one figure of every metric stands."""

    label: str
    run: str
    slice: str
    statistic: str
    versus: str | None = None
    scale: float = 1.0
    line: str = ""  # in a figure of lines: which of them it belongs to

    @property
    def level(self) -> float | None:
        """The number that the slice ends with: a level, a number of systems."""
        match = re.search(r"(\d+(?:\.\d+)?)$", self.slice)
        return float(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class Table:
    """A table with the figures of this run by metric and place, and those that the paper prints."""

    spec: Mapping[str, Any]
    places: tuple[CellPlace, ...]
    ours: Mapping[str, Mapping[str, Reading]]  # by metric and place
    printed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by the paper's metric and place
    why_empty: str = ""
    drawn: tuple[Mapping[str, Any], ...] = ()  # the marks of its figure, where it shows more than `ours`

    @property
    def name(self) -> str:
        return str(self.spec.get("id", self.spec["where"]))


def fill_table(spec: Mapping[str, Any], runs: Mapping[str, Findings], why_not: Mapping[str, str]) -> Table:
    """A table of the study with the figures of the runs; `why_not` has the runs that could not be made."""
    if unknown := spec.keys() - _KEYS:
        raise DataError(f"the table {spec['where']!r} of a study has unknown keys: {', '.join(unknown)}")
    places, printed = _places(spec, runs)
    ours = _figures(spec, places, runs)
    if "average" in spec:
        ours = {metric: _with_average(figures, spec, places) for metric, figures in ours.items()}
        places = (*places, replace(places[-1], label=spec["average"]))
    why_empty = "" if ours else _why_empty(spec, places, why_not)
    drawn = _drawn(spec, places, runs[spec["run"]]) if ours and "run" in spec else ()
    return Table(spec, places, ours, printed, why_empty, drawn)


def _drawn(
    spec: Mapping[str, Any], places: Sequence[CellPlace], findings: Findings
) -> tuple[Mapping[str, Any], ...]:
    """The marks of a figure that shows more than the table: curves of scores, or steps through a text."""
    if "curves" in spec:
        return tuple(_curves(spec["curves"], findings))
    shown = {place.slice.partition("/")[0] for place in places}
    return tuple(mark for mark in findings.drawn if mark["of"] in shown)


def _figures(
    spec: Mapping[str, Any], places: Sequence[CellPlace], runs: Mapping[str, Findings]
) -> dict[str, dict[str, Reading]]:
    """The figures of every metric that the table shows, by place."""
    ours: dict[str, dict[str, Reading]] = {}
    for place in (place for place in places if place.run in runs):
        findings = runs[place.run]
        for metric in _metrics_of(findings, spec):
            figure = findings.read(metric, place.slice, place.statistic, place.versus)
            if figure is not None:
                ours.setdefault(metric, {})[place.label] = figure.times(place.scale)
    return ours


def _why_empty(spec: Mapping[str, Any], places: Sequence[CellPlace], why_not: Mapping[str, str]) -> str:
    """Why a table has no figure: its run could not be made, or no metric gives one."""
    for run in (*(place.run for place in places), spec.get("run", "")):
        if run in why_not:
            return why_not[run]
    return str(spec.get("without", "none of these metrics gives a figure here"))


def _curves(data: str, findings: Findings) -> Iterator[dict[str, Any]]:
    """Scores over the levels of every noise, as shares of the score of the clean texts, by noise ratio."""
    levels = dict.fromkeys(slice_ for _, slice_, statistic, _ in findings.rows if statistic == "noise_ratio")
    for metric in findings.metrics:
        gold = findings.read(metric, f"{data}/gold", "score")
        if gold is None or not gold.value:
            continue
        started = set()
        for slice_ in levels:
            noise = slice_.split("/")[1].replace("-", " ")
            mark = {"panel": noise, "line": metric, "slice": metric}
            ratio, score = (findings.read(metric, slice_, name) for name in ("noise_ratio", "score"))
            if ratio is None or score is None:
                continue
            if noise not in started:
                started.add(noise)
                yield {**mark, "x": 0.0, "value": 1.0}
            share = 1 + (score.value - gold.value) / abs(gold.value)
            yield {**mark, "x": ratio.value, "value": share}


def _metrics_of(findings: Findings, spec: Mapping[str, Any]) -> list[str]:
    """The metrics of a run that a table shows; captioners are findings under names of their own."""
    others = [name for name in findings.named if name not in findings.metrics]
    named = others if spec.get("captioners") else findings.metrics
    return [name for name in named if fnmatchcase(name, spec.get("metrics", "*"))]


def _with_average(
    figures: Mapping[str, Reading], spec: Mapping[str, Any], places: Sequence[CellPlace]
) -> dict[str, Reading]:
    """The figures and their mean, as the paper prints it; where one is missing there is no mean."""
    if len(figures) < len(places):
        return dict(figures)
    halves = [figure.half for figure in figures.values() if figure.half is not None]
    mean = fmean(figure.value for figure in figures.values())
    half = math.hypot(*halves) / len(figures)
    ends = (mean - half, mean + half) if len(halves) == len(figures) else (None, None)
    return {**figures, spec["average"]: Reading(mean, *ends)}


def _places(
    spec: Mapping[str, Any], runs: Mapping[str, Findings]
) -> tuple[tuple[CellPlace, ...], dict[str, dict[str, str]]]:
    """The places of a table, and the paper's figures there by its own metrics."""
    own = _matching(spec, runs) if "each" in spec else _own_places(spec)
    if "recipe" not in spec:
        return tuple(own), spec.get("printed", {})
    places, printed = _places_of_recipe(find_recipe(spec["recipe"]), spec)
    return tuple(own) or places, printed


def _own_places(spec: Mapping[str, Any]) -> list[CellPlace]:
    """Places that the study names: a slice alone, or a table of what differs from place to place."""
    common = {
        "run": spec.get("run", ""), "scale": spec.get("scale", 1.0), "statistic": spec.get("statistic", ""),
        "slice": spec.get("slice", ""),
    }  # fmt: skip
    return [
        CellPlace(label, **common | ({"slice": given} if isinstance(given, str) else dict(given)))
        for label, given in spec.get("places", {}).items()
    ]


def _matching(spec: Mapping[str, Any], runs: Mapping[str, Findings]) -> list[CellPlace]:
    """A place for every slice of the statistic that matches a pattern, in the order of the findings."""
    findings = runs.get(spec["run"])
    if findings is None:
        return []
    listed = spec.get("by", spec["statistic"])  # the statistic whose slices are taken
    slices = dict.fromkeys(slice_ for _, slice_, statistic, _ in findings.rows if statistic == listed)
    matching = [slice_ for slice_ in slices if any(_fits(slice_, part) for part in patterns_of(spec["each"]))]
    return [
        CellPlace(
            f"{_label(slice_, spec)} {line}".strip(), spec["run"], slice_, spec["statistic"],
            spec.get("versus") or line or None, line=line,
        )
        for line in spec.get("lines", [""])
        for slice_ in matching
    ]  # fmt: skip


def patterns_of(wanted: str | Sequence[str]) -> Sequence[str]:
    """The patterns that a data file gives, one or several."""
    return [wanted] if isinstance(wanted, str) else wanted


def fits(name: str, wanted: str | Sequence[str]) -> bool:
    """Whether a name matches one of the patterns that a data file gives."""
    return any(fnmatchcase(name, pattern) for pattern in patterns_of(wanted))


def _fits(slice_: str, pattern: str) -> bool:
    """Whether a slice matches part by part: a star stands for one part."""
    return slice_.count("/") == pattern.count("/") and fnmatchcase(slice_, pattern)


def _label(slice_: str, spec: Mapping[str, Any]) -> str:
    """A slice without the parts that all places of the table share; in a grid, the slice as it is."""
    if spec.get("rows") == "grid":
        return slice_
    pattern = spec["each"] if isinstance(spec["each"], str) else ""
    fixed = [part for part in pattern.split("/") if "*" not in part]
    return " ".join(part for part in slice_.split("/") if part not in fixed).replace("-", " ")


def _places_of_recipe(
    recipe: TableRecipe, spec: Mapping[str, Any]
) -> tuple[tuple[CellPlace, ...], dict[str, dict[str, str]]]:
    """The places of a published table, and its figures: the recipe says how each place is measured."""
    line, across = axes(recipe)
    wanted = spec.get("places")
    places: dict[str, CellPlace] = {}
    printed: dict[str, dict[str, str]] = {}
    for cell in recipe.cells:
        metric, label = getattr(cell, line), getattr(cell, across)
        if (wanted is None or label in wanted) and fnmatchcase(metric, spec.get("only", "*")):
            printed.setdefault(metric, {})[label] = cell.published
            if label not in places and not cell.of and not cell.kind:
                places[label] = _place(label, cell, spec)
    return tuple(places.values()), printed


def _place(label: str, cell: Cell, spec: Mapping[str, Any]) -> CellPlace:
    run = spec.get("run") or spec.get("runs", {}).get(cell.run, cell.run)
    return CellPlace(label, run, cell.slice, cell.statistic, cell.versus, cell.scale)


def as_page(table: Table, names: Mapping[str, str]) -> dict[str, Any]:
    """A table as the page and the terminal print it: lines of cells, each with its small print."""
    spec = table.spec
    text = {key: spec.get(key, "") for key in ("where", "heading", "found", "counts", "unit")}
    if not table.ours:
        return {**text, "lines": [], "columns": [], "empty": f"Not run: {table.why_empty}."}
    ours = {
        names.get(metric, metric): {label: _cell(figure, spec) for label, figure in figures.items()}
        for metric, figures in table.ours.items()
    }
    printed = {
        f"{metric} (paper)": {label: {"text": value, "small": ""} for label, value in figures.items()}
        for metric, figures in table.printed.items()
    }
    columns, lines = _lines(table, ours, printed)
    return {
        **text, "columns": columns, "lines": lines, "empty": "", "counted": _counted(table, names),
        "stars": STAR if spec.get("stars") else None, "figure": _figure(table, names),
    }  # fmt: skip


def _lines(table: Table, ours: _Shown, printed: _Shown) -> tuple[list[str], list[dict[str, Any]]]:
    """Columns and lines: one line per metric and then per printed metric, or one per place."""
    labels, by_metric = [place.label for place in table.places], {**ours, **printed}
    if table.spec.get("rows") == "grid":
        return _grid(labels, ours)
    if table.spec.get("rows") == "places":
        return [*by_metric], [
            _line(label, [line.get(label) for line in by_metric.values()]) for label in labels
        ]
    return labels, [
        _line(name, [figures.get(label) for label in labels], is_printed=name in printed)
        for name, figures in by_metric.items()
    ]


def _grid(labels: Sequence[str], ours: _Shown) -> tuple[list[str], list[dict[str, Any]]]:
    """Places named ROW/COLUMN as one line per metric and row."""
    rows, columns = (
        list(dict.fromkeys(names)) for names in zip(*(label.split("/") for label in labels), strict=True)
    )
    return columns, [
        _line(f"{name}, {row}", [figures.get(f"{row}/{column}") for column in columns])
        for name, figures in ours.items()
        for row in rows
    ]


def _line(name: str, cells: Sequence[object], *, is_printed: bool = False) -> dict[str, Any]:
    return {"name": name, "cells": cells, "paper": is_printed}


def words_page(
    spec: Mapping[str, Any], runs: Mapping[str, Findings], names: Mapping[str, str]
) -> dict[str, Any]:
    """Which slices of a category each metric puts on either side, by the p-value of the paper's rule."""
    text = {key: spec.get(key, "") for key in ("where", "heading", "found", "counts", "unit")}
    findings, (first, second) = runs.get(spec["run"]), spec["words"]["sides"]
    lines = []
    for metric in _metrics_of(findings, spec) if findings else ():
        for category in spec["words"]["categories"]:
            sides = _sides(findings, metric, category, spec)  # type: ignore[arg-type]
            cells = [{"text": ", ".join(side) or "none", "small": f"{len(side)} words"} for side in sides]
            lines += (
                [{"name": f"{names.get(metric, metric)}, {category}", "cells": cells}] if any(sides) else []
            )
    empty = "" if lines else f"Not run: {spec['without']}."
    return {**text, "columns": [first, second], "lines": lines, "empty": empty, "figure": None}


def _sides(
    findings: Findings, metric: str, category: str, spec: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """The words of a category whose gap is significant, above 0 and below it."""
    above: list[str] = []
    below: list[str] = []
    asked = [slice_ for _, slice_, statistic, _ in findings.rows if statistic == spec["statistic"]]
    for slice_ in dict.fromkeys(slice_ for slice_ in asked if slice_.startswith(f"{category}/")):
        gap = findings.read(metric, slice_, spec["statistic"])
        tested = findings.read(metric, slice_, spec["words"]["p_value"])
        if gap and tested and tested.value < spec["words"]["alpha"]:
            (above if gap.value > 0 else below).append(slice_.partition("/")[2])
    return above, below


def _cell(figure: Reading, spec: Mapping[str, Any]) -> dict[str, str]:
    """A figure with its interval and number of items; a star where the paper would set one."""
    starred = spec.get("stars") and figure.p_value is not None and figure.p_value <= STAR
    if spec.get("rows") == "grid":  # many small figures, which the map shows
        return {"text": number(figure.value), "small": ""}
    parts = [] if figure.low is None else [f"[{number(figure.low)}, {number(figure.high)}]"]
    parts += [] if figure.n is None else [f"n {figure.n:,}"]
    return {"text": number(figure.value) + ("*" if starred else ""), "small": " ".join(parts)}


def _counted(table: Table, names: Mapping[str, str]) -> str:
    """How many figures of each metric fail, pass, cannot be told or were not asked; nothing is left out."""
    slices = {place.label: place.slice for place in table.places}
    said = []
    for metric, figures in table.ours.items():
        counts = Counter(_verdict(figure, slices[label], table.spec) for label, figure in figures.items())
        if set(counts) != {"not asked"}:
            words = [f"{counts[word]} {word}" for word in _VERDICTS.values() if counts[word]]
            said.append(f"{names.get(metric, metric)}: {', '.join(words)}")
    return "; ".join(said)


def _verdict(figure: Reading, slice_: str, spec: Mapping[str, Any]) -> str:
    """The verdict on a figure; one that was asked for and is too small to pass tells nothing."""
    is_asked = "unasked" in spec and slice_ not in spec["unasked"] and figure.value
    if figure.verdict == "not judged" and is_asked:
        return "cannot tell"
    return _VERDICTS.get(figure.verdict, figure.verdict)


def _figure(table: Table, names: Mapping[str, str]) -> dict[str, Any] | None:
    """The figure of a table, as rows that the page draws; None where the paper has no figure here."""
    kind = table.spec.get("figure")
    rows = [_renamed(mark, names) for mark in table.drawn] or [
        _mark(names.get(metric, metric), place, figure, str(kind))
        for metric, figures in table.ours.items()
        for place in table.places
        if (figure := figures.get(place.label)) is not None
    ]
    if not kind or not rows:
        return None
    title, across = table.spec.get("axis", table.spec.get("unit", "")), table.spec.get("across", "")
    return {"kind": kind, "title": title, "across": across, "rows": rows}


def _renamed(mark: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A mark with its metric as readers know it."""
    return {**mark, **({"line": names.get(mark["line"], mark["line"])} if "line" in mark else {})}


def _mark(metric: str, place: CellPlace, figure: Reading, kind: str) -> dict[str, Any]:
    """One mark of a figure: dots have a panel per place, lines and grids one per metric, heat maps one."""
    mark = {"value": figure.value, "low": figure.low, "high": figure.high, "n": figure.n}
    if kind == "lines":
        return {**mark, "panel": metric, "slice": metric, "x": place.level, "line": place.line}
    if kind == "grid":
        row, _, column = place.label.partition("/")
        return {**mark, "panel": metric, "label": row, "metric": column}
    if kind == "dots":
        return {**mark, "panel": place.label, "label": metric, "verdict": "not judged"}
    return {**mark, "panel": "", "metric": metric, "label": place.label, "verdict": "not judged"}
