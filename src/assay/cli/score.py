"""`assay score`: plain scores of a file, a column a metric."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import options as o


def command(
    data: Annotated[Path, typer.Option("--data", help="Records with hypothesis, references, source.")],
    metric: o.Metrics = None,
    limit: o.Limit = None,
    cache: o.Cache = None,
    workers: o.Workers = 1,
    ray: o.Ray = None,
    on_error: o.OnErrorOption = o.OnErrorName.stop,
    timeout: o.Timeout = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score a file; prints CSV, or JSON with --json."""
    from assay.datasets.ratings import read_samples
    from assay.pipeline import DEFAULT_METRICS, Options, score

    items = read_samples(data)[:limit]
    options = Options(None, o.cache_path(cache), workers, ray, on_error.value, quiet, timeout)
    frame = score(tuple(metric or DEFAULT_METRICS), [item.sample for item in items], options=options)
    named = frame.insert_column(0, _ids([item.id for item in items]))
    if json:
        typer.echo(json_module.dumps({"scores": named.to_dicts()}, ensure_ascii=False, indent=1))
    else:
        typer.echo(named.write_csv(), nl=False)


def _ids(ids: list[str]):  # type: ignore[no-untyped-def]
    import polars as pl

    # A cell that starts like a formula is quoted: spreadsheets run it otherwise.
    return pl.Series("id", [f"'{one}" if one[:1] in "=+-@" else one for one in ids])
