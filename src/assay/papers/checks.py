"""Running recipes beside the printed figures; what a cell lacks is found when it should run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, get_args

from assay.api.pipeline import run
from assay.core import Measure
from assay.datasets.columns import DataFile
from assay.datasets.rows import read_rows
from assay.engine.session import Session
from assay.errors import AuditError
from assay.files import toml_file
from assay.models.weights import CARRIERS, on_disk
from assay.names.inventory import lacking
from assay.names.spec import measure
from assay.papers.cells import Findings
from assay.papers.metrics import DIALECTS
from assay.papers.recipes import DATA, Cell, Plan, RecipeKind, TableRecipe
from assay.reading.results import StoredRun

_Verdict = Literal["equal", "within tolerance", "differs", "not run"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A cell with our figure (None: not run) and what to make of it."""

    cell: Cell
    ours: float | None
    verdict: _Verdict | None  # None: a user's metric, which no figure is printed for
    reason: str = ""
    kind: RecipeKind | None = None  # of the reason, where it was not run

    @property
    def shown(self) -> str:
        """Our figure, as precise as the published one and two digits more where they differ."""
        if self.ours is None:
            return ""
        extra = 2 if self.verdict in ("differs", "within tolerance") else 0
        return printed(self.ours, self.cell.decimals + extra)

    @property
    def difference(self) -> float | None:
        return None if self.ours is None else self.ours - self.cell.number


def printed(value: float, decimals: int) -> str:
    """As a paper prints it; there is no minus before a zero."""
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if not float(text) else text


def check(cell: Cell, value: float) -> Checked:
    """Our figure, scaled as the paper's, against the cell."""
    ours = (abs(value) if cell.absolute else value) * cell.scale
    if cell.own:
        return Checked(cell, ours, None)
    if printed(ours, cell.decimals) == printed(cell.number, cell.decimals):
        return Checked(cell, ours, "equal")
    if abs(ours - cell.number) <= cell.tolerance:
        return Checked(cell, ours, "within tolerance", cell.why)
    return Checked(cell, ours, "differs", cell.why or "no reason known")


def not_run(cell: Cell, kind: RecipeKind, reason: str) -> Checked:
    """A cell that something is missing for; nothing is guessed."""
    return Checked(cell, None, "not run", reason, kind)


def count(checked: Iterable[Checked]) -> dict[_Verdict, int]:
    """How many cells of each verdict."""
    counts = Counter(item.verdict for item in checked)
    return {verdict: counts[verdict] for verdict in get_args(_Verdict)}


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """Where a recipe runs: the data folder, and what may be fetched or take long."""

    folder: Path
    hub: bool = False  # weights may be fetched from the hub
    long: bool = False  # cells that take hours are run too

    @cache  # noqa: B019 - one place per command
    def measure(self, spec: str) -> Measure:
        """The metric of a spec; it keeps the spec as its name, whatever the data folder."""
        if spec in DIALECTS:
            return Measure(spec, DIALECTS[spec])
        return replace(measure(spec.replace(DATA, str(self.folder))), label=spec)

    def parts(self, spec: str) -> Sequence[Measure]:
        """The metrics that a spec adds up; most are one."""
        given = self.measure(spec)
        return getattr(given.metric, "parts", ()) or [given]

    def missing(self, plan: Plan, cell: Cell) -> tuple[RecipeKind, str] | None:
        """What a cell lacks here: data, time, packages, or weights."""
        absent = next((path for path in plan.paths if not (self.folder / path).exists()), None)
        if absent is not None:
            kind, what = self.source(absent)
            return kind, f"{absent} in the data folder{f' ({what})' if what else ''}"
        if cell.hours and not self.long:
            return "time", f"takes about {cell.hours:g} hours: give --long"
        parts = self.parts(cell.metric) if cell.metric else ()
        for part in parts:
            if command := lacking(part.metric) or part.metric.absent():
                return "package", f"{part.metric.name}: {command}"
        masked = [str(plan.options["masked_lm"])] if "masked_lm" in plan.options else []
        named = [*masked, *chain.from_iterable(map(self.weights_of, parts))]
        return next(filter(None, map(self._lacking_weights, named)), None)

    def weights_of(self, given: Measure) -> list[str]:
        """The names and paths of a metric's weights."""
        named = fields(given.metric)  # type: ignore[arg-type]
        values = {field.name: getattr(given.metric, field.name) for field in named}
        chosen = given.metric.weights
        return [v for k, v in values.items() if isinstance(v, str) and (k in chosen or v.startswith("/"))]

    def _lacking_weights(self, name: str) -> tuple[RecipeKind, str] | None:
        """Why weights cannot be had: their file is not there, or they would have to be fetched."""
        if name.startswith("/"):
            path = name.removeprefix(f"{self.folder}/")
            return None if Path(name).exists() else ("weights", f"{path} ({self.source(path)[1]})")
        is_here = name in CARRIERS or on_disk(name) or self.hub
        return None if is_here else ("weights", f"{name}, which --weights hub fetches")

    def source(self, path: str) -> tuple[RecipeKind, str]:
        """Where a file of the data folder comes from, and of which kind its absence is."""
        known = toml_file("recipes", "sources").get(path, {})
        return known.get("kind", "data"), known.get("what", "")


def reproduce(recipe: TableRecipe, place: PublishedCell, session: Session) -> list[Checked]:
    """Every cell of the recipe, in its order."""
    checked = {cell: not_run(cell, cell.kind, cell.reason) for cell in recipe.cells if cell.kind}
    for name, plan in recipe.runs.items():
        wanted = [cell for cell in recipe.runnable if cell.run == name and not cell.of]
        checked |= {item.cell: item for item in _run_what_can(plan, wanted, place, session)}
    by_place = {(cell.row, cell.source, cell.column): item for cell, item in checked.items()}
    return [_mean(cell, by_place) if cell.of else checked[cell] for cell in recipe.cells]


def _run_what_can(
    plan: Plan, wanted: Sequence[Cell], place: PublishedCell, session: Session
) -> Iterator[Checked]:
    """The cells of a run, those that something is missing for first."""
    runnable = []
    for cell in wanted:
        lack = place.missing(plan, cell)
        if lack is None:
            runnable.append(cell)
        else:
            yield not_run(cell, *lack)
    if runnable:
        yield from _run_plan(plan, runnable, place, session)


def _mean(cell: Cell, by_place: Mapping[tuple[str, str, str], Checked]) -> Checked:
    """The mean of other cells of the row, where all of them were run."""
    parts = [by_place[cell.row, cell.source, name] for name in cell.of]
    for part in parts:
        if part.ours is None:
            return not_run(cell, part.kind or "no figure", f"{part.cell.column}: {part.reason}")
    return check(cell, fmean(part.ours or 0.0 for part in parts))


def _run_plan(plan: Plan, cells: Sequence[Cell], place: PublishedCell, session: Session) -> list[Checked]:
    released = [cell for cell in cells if cell.released]
    computed = [cell for cell in cells if cell.metric]
    checked: list[Checked] = []
    options = plan_options(plan, place.folder)
    if plan.each_judgement or plan.first_reference:
        options["data"] = tuple(_prepared(plan, path) for path in options["data"])
    if released:
        scores = str(place.folder / str(plan.scores))
        checked += _read(run(plan.audit, (), scores=scores, session=session, **options), released)
    return checked + (_computed(plan, computed, options, place, session) if computed else [])


def plan_options(plan: Plan, folder: Path) -> dict[str, Any]:
    """The options of a run."""
    data = [folder / path for path in plan.data]
    files = {
        key: folder / given if isinstance(given, str) else tuple(folder / path for path in given)
        for key, given in plan.files.items()
    }
    return {**({"data": tuple(data)} if data else {}), **plan.options, **files}


def _prepared(plan: Plan, path: Path) -> Path:
    """The data as the recipe wants it, in memory; equal samples are still scored once."""
    records: list[dict[str, Any]] = []
    for row in read_rows(path):
        record = dict(row.values)
        if plan.first_reference:
            record["references"] = record["references"][:1]
        ratings = record["human"] if plan.each_judgement else {}
        for place in range(max(map(len, ratings.values()))) if ratings else ():
            human = {name: given[place] for name, given in ratings.items() if place < len(given)}
            records.append({**record, "id": f"{record['id']}/{place}", "human": human})
        records += [] if ratings else [record]
    return DataFile.of(path, {}, records)


def _computed(
    plan: Plan, cells: Sequence[Cell], options: Mapping[str, Any], place: PublishedCell, session: Session
) -> list[Checked]:
    """All metrics at once; where one cannot run here, one at a time, so that it stops no other."""
    specs = list(dict.fromkeys(str(cell.metric) for cell in cells))
    try:
        return _read(run(plan.audit, [*map(place.measure, specs)], session=session, **options), cells)
    except AuditError as error:
        if len(specs) == 1:
            return [not_run(cell, "no figure", str(error)) for cell in cells]
    checked: list[Checked] = []
    for spec in specs:
        checked += _computed(plan, [cell for cell in cells if cell.metric == spec], options, place, session)
    return checked


def _read(done: StoredRun, cells: Sequence[Cell]) -> list[Checked]:
    """The figure of every cell, or why the audit gives none."""
    findings = Findings.of(done)
    checked = []
    for cell in cells:
        label = cell.label or str(cell.metric or cell.released)
        figure = findings.read(label, cell.slice, cell.statistic, cell.versus)
        value = None if figure is None else getattr(figure, cell.field)
        if value is None:
            checked.append(not_run(cell, "no figure", _why_no_figure(done, cell, label)))
        else:
            checked.append(check(cell, float(value)))
    return checked


def _why_no_figure(done: StoredRun, cell: Cell, label: str) -> str:
    """Why a run has no figure for a cell: no such scores were released, or the audit gives none."""
    if cell.released and label not in done.metrics:
        return f"the released tables have no column {label}"
    where = f"{cell.statistic} of {label} in {cell.slice}"
    about = next((note for note in done.notes if label in note and "no score" in note), where)
    return f"the audit gives no figure here: {about}"
