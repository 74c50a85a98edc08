"""A run to one self-contained page."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, select_autoescape

from assay.results import Run


def page(run: Run) -> str:
    """The scoreboard: a row a finding, failures first; everything escaped."""
    environment = Environment(loader=PackageLoader("assay.report"), autoescape=select_autoescape())
    rows = run.findings.sort("passed", descending=False, nulls_last=True, maintain_order=True).to_dicts()
    return environment.get_template("report.html").render(run=run, rows=rows, about=run.about)
