"""One line that says where a finding comes from, to quote in a paper, and the finding in a sentence with it.

    chrf|v:1 audit:stress[quick] of:translation/negation right_order data:8f3a1c0d2b4e coverage:100% ...

Equal lines stand for equal numbers: the metric's signature has the digests of its weights, and `data` is the
digest of all texts that the audit asked about.
"""

from __future__ import annotations

import hashlib

import polars as pl

from assay.reading.names import shown_names
from assay.reading.results import StoredRun
from assay.reading.text import interval, number
from assay.reading.text import sentence as told
from assay.reading.verdicts import JudgedRow, is_check, rows_of, rows_with, worst

_DATA = ("slice", "case", "role", "hypothesis", "references", "source")
_DIGITS = 12  # of a digest: enough that no two sets of texts share it
_MOST = 3  # findings per metric that are cited where none are named


def signature_of(run: StoredRun, row: JudgedRow) -> str:
    """The signature of one finding of a run, on one line."""
    about = run.about["audits"].get(row["audit"], {})
    options = about.get("options", {})
    versus = [f"versus:{row['versus']}"] if row["versus"] else []
    absent = [f"without:{name.partition(':')[0]}" for name in about.get("absent", ())]
    parts = [
        str(run.about["metrics"].get(row["metric"], {}).get("signature", row["metric"])),
        f"audit:{row['audit']}[{run.about.get('size', 'full')}]",
        f"of:{row['slice']}",
        str(row["statistic"]),
        *versus,
        f"data:{_data(run, row['audit'])}",
        f"coverage:{_coverage(run, row):.0%}",
        f"seed:{options.get('seed', 0)}",
        *absent,
        f"assay:{run.about['assay']}",
    ]
    return " ".join(" ".join(part.split()) for part in parts)


def _data(run: StoredRun, audit: str) -> str:
    """The digest of all texts that an audit asked about."""
    texts = run.cases.filter(pl.col("audit") == audit).select(_DATA)
    content = hashlib.sha256()
    for row in texts.iter_rows():
        content.update(f"{row!r}\n".encode())
    return content.hexdigest()[:_DIGITS]


def _coverage(run: StoredRun, row: JudgedRow) -> float:
    """The share of an audit's texts to which the metric gave a score."""
    scores = run.scores.filter(pl.col("audit") == row["audit"], pl.col("metric") == row["metric"])
    return 1.0 - scores["score"].null_count() / scores.height if scores.height else 0.0


def cited(run: StoredRun, slice_: str | None = None) -> list[str]:
    """The findings to cite, each as a sentence with its numbers and its signature.

    Those of a slice where one is named, else right order on errors of meaning and the gravest failures.
    """
    names = shown_names(run)
    lines = []
    for metric in run.metrics:
        rows = rows_with(rows_of(run), metric=metric)
        chosen = rows_with(rows, slice=slice_) if slice_ else _telling(rows)
        for row in chosen:
            facts = ", ".join(
                part for part in (number(row["value"]), interval(row), f"n = {row['n']}") if part
            )
            plain = told(row).replace(metric, names[metric])
            lines.append(f"{plain} [{row['statistic']} {facts}] ({signature_of(run, row)})")
    return lines


def _telling(rows: list[JudgedRow]) -> list[JudgedRow]:
    """Right order over all kinds of error, where the run has it, and the gravest failures; else checks."""
    means = rows_with(rows, statistic="mean_right_order", slice="all/meaning")
    return [*means, *worst(rows, _MOST)] or list(filter(is_check, rows))[:_MOST]
