"""Charts to files for papers: SVG and PNG of every panel."""

from __future__ import annotations

import re
from pathlib import Path

from assay.errors import unwritable
from assay.report.charts import Spec, panels
from assay.run.results import Run

_SCALE = 3.0  # pixels a point: sharp in print


def write_figures(run: Run, folder: Path) -> list[Path]:
    """One SVG and one PNG a chart; their names say audit, group and title."""
    import vl_convert

    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for panel in panels(run):
            spec = _sized(panel.whole | {"title": panel.title})
            stem = re.sub(r"[^a-z0-9]+", "-", f"{panel.audit} {panel.group} {panel.title}".lower()).strip("-")
            svg, png = folder / f"{stem}.svg", folder / f"{stem}.png"
            svg.write_text(vl_convert.vegalite_to_svg(spec), "utf-8")
            png.write_bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))
            written += [svg, png]
    except OSError as error:
        raise unwritable(folder, error) from error
    return written


def _sized(spec: Spec) -> Spec:
    """As wide as a column, with the legend that the page draws itself."""
    made = spec | {"width": 260, "background": "white"}
    encoding = made.get("encoding", {})
    if encoding.get("color", {}).get("field") == "metric":
        made["encoding"] = encoding | {"color": {"field": "metric", "type": "nominal"}}
    return made
