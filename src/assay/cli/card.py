"""`assay card RUN -m SPEC`: one page about one metric, for its README."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import options as o
from assay.errors import SpecError


def command(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    metric: Annotated[str, typer.Option("-m", "--metric", help="A metric of the run.")],
    format: o.FormatOption = o.Format.md,
) -> None:
    """Print the card of one metric as Markdown (default) or HTML."""
    from assay.report.card import as_html, as_markdown, make_card
    from assay.run.results import load_run

    makers = {o.Format.md: as_markdown, o.Format.html: as_html}
    if format not in makers:
        raise SpecError(f"a card has no format {format.value}; choose md or html")
    typer.echo(makers[format](make_card(load_run(run), metric)))
