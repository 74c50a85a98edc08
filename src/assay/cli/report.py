"""`assay report RUN`: the report of an earlier run, again or in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import options as o


def command(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    format: o.FormatOption = o.Format.html,
    figures: Annotated[
        Path | None, typer.Option(help="Write each chart as SVG and PNG into this folder.")
    ] = None,
) -> None:
    """Write report.html again, print the run as Markdown, JSON or LaTeX, or write its charts to files."""
    from assay.report import render, write_report
    from assay.run.results import load_run

    loaded = load_run(run)
    if figures is not None:
        from assay.report.charts import write_figures

        for path in write_figures(loaded, figures):
            typer.echo(path)
    elif format is o.Format.html:
        typer.echo(write_report(loaded))
    else:
        typer.echo(render(loaded, format.value))
