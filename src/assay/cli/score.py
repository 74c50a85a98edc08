"""`assay score`: plain scores of a file, a column a metric."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import options as o
from assay.errors import DataError, suggest

if TYPE_CHECKING:
    from assay.core import Measure, Sample


def command(
    data: Annotated[Path, typer.Option("--data", help="Records with hypothesis, references, source.")],
    metric: o.Metrics = None,
    limit: o.Limit = None,
    cache: o.Cache = None,
    workers: o.Workers = 1,
    ray: o.Ray = None,
    on_error: o.OnErrorOption = o.OnErrorName.stop,
    timeout: o.Timeout = None,
    skip_missing: o.SkipMissing = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score a file; prints CSV, or JSON with --json."""
    from assay.cli.finish import print_notes
    from assay.datasets.ratings import read_samples
    from assay.names.spec import measure
    from assay.run.pipeline import DEFAULT_METRICS, score_noted
    from assay.run.session import Session

    measures = [measure(spec) for spec in metric or DEFAULT_METRICS]
    seen = any("image" in one.metric.needs | one.metric.optional for one in measures)
    items = read_samples(data, skip_missing=skip_missing or not seen)[:limit]
    session = Session.open(
        cache=o.cache_path(cache),
        workers=workers,
        ray=ray,
        on_error=on_error.value,
        quiet=quiet,
        timeout=timeout,
    )
    samples = [item.sample for item in items]
    _check_fields(measures, samples, data)
    frame, notes = score_noted(measures, samples, session=session)
    named = frame.insert_column(0, _ids([item.id for item in items]))
    if json:
        document = {"scores": named.to_dicts(), "notes": notes}
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        typer.echo(named.write_csv(), nl=False)
    print_notes(notes, quiet=quiet)


def _check_fields(measures: Sequence[Measure], samples: Sequence[Sample], data: Path) -> None:
    """Refuse a metric that can score no row at all for want of a field."""
    from assay.run.unfold import lacked

    for one in measures:
        needs = {lacked(one.metric, sample) for sample in samples}
        if None not in needs:
            raise DataError(f"{one.label} needs {_missing(sorted(filter(None, needs)), data)}")


def _missing(needs: Sequence[str], data: Path) -> str:
    """Why the rows of a file lack what is needed: a column that is not there, or one without values."""
    from assay.datasets.ratings import KNOWN
    from assay.datasets.rows import read_rows

    columns = list(dict.fromkeys(column for row in read_rows(data) for column in row.values))
    unknown = [column for column in columns if column not in KNOWN]
    absent = [need for need in needs if need not in columns and need.rstrip("s") not in columns]
    if not absent:
        empty = "the files are missing, or the column is empty" if "image" in needs else "the column is empty"
        return f"{' and '.join(needs)}, which no row of {data} has: {empty}; fill it, or take another metric"
    meant = [hint for column in unknown if " mean " in (hint := suggest(column, absent))]
    advice = meant[0] if meant else f"; add a column {absent[0]}, or take another metric"
    return f"{' and '.join(needs)}; {data} has columns {', '.join(columns)}{advice}"


def _ids(ids: list[str]):  # type: ignore[no-untyped-def]
    import polars as pl

    # A cell that starts like a formula is quoted: spreadsheets run it otherwise.
    return pl.Series("id", [f"'{one}" if one[:1] in "=+-@" else one for one in ids])
