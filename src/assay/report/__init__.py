"""Results to pages: reads a run, computes nothing."""

from __future__ import annotations

from pathlib import Path

from assay.errors import CacheError, SpecError
from assay.run.results import Run, write_text


def write_report(run: Run) -> Path:
    """report.html in the run's folder."""
    from assay.report.page import page

    if run.folder is None:
        raise CacheError("this run has no folder; save it first")
    path = run.folder / "report.html"
    write_text(path, page(run))
    return path.resolve()


def render(run: Run, format: str) -> str:
    """The run as html, md, json or latex."""
    from assay.report import page, plain

    makers = {"html": page.page, "md": plain.markdown, "latex": plain.latex, "json": Run.json}
    if format not in makers:
        raise SpecError(f"unknown format {format!r}; known: {', '.join(makers)}")
    return makers[format](run)
