"""A run for people who work in Python: what the methods of `Run` hand over to, as run/ imports no report."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from assay.errors import SpecError
from assay.report import render
from assay.report.figures import Figure, figure_of
from assay.report.names import shown
from assay.report.plain import answer_rows, summary
from assay.run.results import Run, write_text

_FORMATS = {".html": "html", ".md": "md", ".tex": "latex", ".json": "json"}
_ORDER = ("fail", "inconclusive", "insensitive", "pass")


class View:
    """The verdicts, a summary, pages and figures of one run; `Run` says what each is."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def verdicts(self) -> pl.DataFrame:
        judged = shown(self.run).findings.filter(pl.col("verdict").is_in(_ORDER))
        order = pl.col("verdict").cast(pl.Enum(_ORDER))
        return judged.drop("passed", "mde", "evidence").sort(order, maintain_order=True)

    def summary(self) -> str:
        return summary(self.run)

    def html(self) -> str:
        """The answers of each metric in a table."""
        head, rows = answer_rows(shown(self.run))
        table = pl.DataFrame(rows, schema=dict.fromkeys(head, pl.String), orient="row")
        with pl.Config(fmt_str_lengths=1000, tbl_rows=-1, tbl_hide_dtype_separator=True) as config:
            config.set_tbl_hide_dataframe_shape(True).set_tbl_hide_column_data_types(True)
            return str(table._repr_html_())

    def write(self, path: Path | str) -> Path:
        target = Path(path)
        if target.suffix not in _FORMATS:
            raise SpecError(f"{target}: a report is written as one of {', '.join(_FORMATS)}")
        write_text(target, render(self.run, _FORMATS[target.suffix]))
        return target

    def plot(self, audit: str) -> Figure:
        return figure_of(self.run, audit)
