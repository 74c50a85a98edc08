"""Results to pages: reads a run, computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import CacheError, SpecError
from assay.reading.results import REPORT, StoredRun, load_about, locked, write_text


def write_report(run: StoredRun, earlier: Sequence[StoredRun] = ()) -> Path:
    """report.html in the run's folder; with the history of its metrics where earlier runs are given."""
    from assay.report.page import page

    if run.folder is None:
        raise CacheError("this run has no folder; save it first")
    path, text = run.folder / REPORT, page(run, earlier)
    with locked(run.folder):
        # Another run may have been saved here since; it writes its own report.
        if load_about(run.folder).get("files") == run.about.get("files"):
            write_text(path, text)
    return path.absolute()


def render(run: StoredRun, format: str) -> str:
    """The run as html, md, json or latex."""
    from assay.report import page, plain

    makers = {"html": page.page, "md": plain.markdown, "latex": plain.latex, "json": plain.as_json}
    if format not in makers:
        raise SpecError(f"unknown format {format!r}; known: {', '.join(makers)}")
    return makers[format](run)
