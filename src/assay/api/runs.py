"""A finished run as `import assay` hands it out: its tables, with verdicts, summaries, pages and figures."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from assay.errors import SpecError
from assay.reading import results
from assay.reading.names import shown
from assay.reading.results import StoredRun, write_text
from assay.report import render
from assay.report.figures import Figure, figure_of
from assay.report.plain import answer_rows, summary

_FORMATS = {".html": "html", ".md": "md", ".tex": "latex", ".json": "json"}
_ORDER = ("fail", "not covered", "inconclusive", "pass")


class Run(StoredRun):
    """A stored run that can be shown."""

    @property
    def verdicts(self) -> pl.DataFrame:
        """The findings that were judged, failures first, metrics under the names that reports show."""
        judged = shown(self).findings.filter(pl.col("verdict").is_in(_ORDER))
        order = pl.col("verdict").cast(pl.Enum(_ORDER))
        return judged.drop("evidence").sort(order, maintain_order=True)

    def summary(self) -> str:
        """The answers of each metric and the gravest findings in words, in Markdown."""
        return summary(self)

    def report(self, path: Path | str) -> Path:
        """Write the report as .html, .md, .tex or .json, by the ending of the path."""
        target = Path(path)
        if target.suffix not in _FORMATS:
            raise SpecError(f"{target}: a report is written as one of {', '.join(_FORMATS)}")
        write_text(target, render(self, _FORMATS[target.suffix]))
        return target

    def plot(self, audit: str) -> Figure:
        """All charts of one audit as a figure; notebooks show it, and `save(path)` writes SVG, PDF or PNG."""
        return figure_of(self, audit)

    def _repr_html_(self) -> str:
        """The answers of each metric in a table, for notebooks."""
        head, rows = answer_rows(shown(self))
        table = pl.DataFrame(rows, schema=dict.fromkeys(head, pl.String), orient="row")
        with pl.Config(fmt_str_lengths=1000, tbl_rows=-1, tbl_hide_dtype_separator=True) as config:
            config.set_tbl_hide_dataframe_shape(True).set_tbl_hide_column_data_types(True)
            return str(table._repr_html_())


def load_run(folder: Path | str) -> Run:
    """Read a run from its folder; its files must be those that run.json has the digests of."""
    stored = results.load_run(folder)
    return Run(**vars(stored))
