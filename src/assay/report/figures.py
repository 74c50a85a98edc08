"""The charts of a run as figures for papers and notebooks: one per audit, and one per chart of it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import SpecError, install, suggest, unwritable
from assay.grouping import grouped
from assay.reading.names import shown
from assay.reading.results import StoredRun, write_text
from assay.reading.text import statistic_in_words
from assay.reading.verdicts import AuditInfo, audits_of
from assay.report.assets import asset
from assay.report.charts import Panel, Spec, can_draw, panels
from assay.report.plain import as_latex

_WIDTH, _COLUMNS = 260, 2  # points of a panel, panels side by side: the width of a page
_FORMATS = (".svg", ".pdf", ".png")


@dataclass(frozen=True, slots=True)
class Figure:
    """One picture: a Vega-Lite specification with its data, and a caption; notebooks show it."""

    name: str
    caption: str
    spec: Spec

    def save(self, path: Path | str) -> Path:
        """Write it as SVG, PDF or PNG, by the ending of the path."""
        vl_convert = drawing()
        target = Path(path)
        if target.suffix not in _FORMATS:
            raise SpecError(f"{target}: a figure is written as {', '.join(_FORMATS)}")
        sharp = {"scale": 3.0} if target.suffix == ".png" else {}  # pixels per point
        drawn = getattr(vl_convert, f"vegalite_to_{target.suffix[1:]}")(self.spec, **sharp)
        try:
            target.write_bytes(drawn.encode() if isinstance(drawn, str) else drawn)
        except OSError as error:
            raise unwritable(target, error) from error
        return target

    def _repr_svg_(self) -> str:
        return str(drawing().vegalite_to_svg(self.spec))


def drawing() -> Any:
    """The package that draws; an error that says how to get it where it is not installed."""
    if not can_draw():
        raise SpecError(f"figures are drawn by vl-convert: {install('figures')}")
    return importlib.import_module("vl_convert")


def figures(run: StoredRun) -> dict[str, Figure]:
    """One figure per audit, and one per chart where an audit has several, by name."""
    run = shown(run)
    audits, drawn = audits_of(run), panels(run)
    listed = []
    for name, own in grouped(drawn, lambda panel: panel.audit).items():
        parts = grouped(own, lambda panel: panel.group)
        listed.append(_figure(audits[name], own))
        listed += [_figure(audits[name], part, group) for group, part in parts.items() if len(parts) > 1]
    return {figure.name: figure for figure in listed}


def figure_of(run: StoredRun, audit: str) -> Figure:
    """All charts of one audit in one figure."""
    drawn = figures(run)
    if audit not in drawn:
        raise SpecError(f"this run has no chart of {audit!r}{suggest(audit, drawn)}")
    return drawn[audit]


def write_figures(run: StoredRun, folder: Path) -> list[Path]:
    """Every figure as SVG, PDF and PNG, and figures.tex with their captions and labels."""
    drawn, captions = figures(run).values(), folder / "figures.tex"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    pages = [asset("figure.tex") % (f.name, as_latex(f.caption), f.name) for f in drawn]
    write_text(captions, "\n".join(pages))
    return [each.save(folder / f"{each.name}{form}") for each in drawn for form in _FORMATS] + [captions]


def _figure(audit: AuditInfo, drawn: Sequence[Panel], group: str = "") -> Figure:
    """Panels side by side, in rows per chart; each chart keeps the colours of its own legend."""
    groups = grouped(drawn, lambda panel: panel.group)
    views = {title: [_printed(panel) for panel in part] for title, part in groups.items()}
    rows = [{"concat": v, "columns": _COLUMNS, "title": title} for title, v in views.items()]
    spec = {"vconcat": rows, "background": "white", "resolve": {"scale": {"color": "independent"}}}
    name = re.sub(r"[^a-z0-9]+", "-", f"{audit.name} {group}".lower()).strip("-")
    lines = [f"{title}: {_meaning(audit, title)}".rstrip(": ") for title in groups]
    legends = dict.fromkeys(panel.legend for panel in drawn if panel.legend)
    marks = "; ".join(["Lines show 95% intervals", *legends])
    return Figure(name, f"{audit.title.rstrip('.')}. {' '.join(lines)} {marks}.", spec)


def _meaning(audit: AuditInfo, title: str) -> str:
    """What the statistic means that a chart with this title shows."""
    names = {chart.title or statistic_in_words(chart.value): chart.value for chart in audit.charts}
    names |= {statistic_in_words(statistic.name): statistic.name for statistic in audit.statistics}
    shown_name = next((names[start] for start in names if title.startswith(start)), "")
    return {statistic.name: statistic.meaning for statistic in audit.statistics}.get(shown_name, "")


def _printed(panel: Panel) -> Spec:
    """As wide as half a page, with the legend that the page draws by itself."""
    spec = _with_legend(panel.whole) | {"width": _WIDTH, "title": panel.title}
    if "layer" in spec:
        spec["layer"] = list(map(_with_legend, spec["layer"]))
    return spec


def _with_legend(view: Spec) -> Spec:
    encoding = view.get("encoding", {})
    if "color" not in encoding:
        return view
    colour = {key: value for key, value in encoding["color"].items() if key != "legend"}
    return view | {"encoding": encoding | {"color": colour}}
