"""How metrics agree with people on public ratings: figures for the atlas, from a folder that has the texts.

    python -m bench.people FOLDER -m METRIC [-m METRIC ...]

The folder holds the files of docs/human-ratings.md under the names below; a file that is not there is left out, and
said so. Texts stay outside: only right order, its interval and the number of pairs are kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from assay.api.pipeline import DEFAULT_METRICS, run
from assay.engine.session import Session
from assay.errors import AuditError
from assay.reading.results import FINDINGS
from assay.vocabulary import Task

SETS: dict[str, tuple[Task, str]] = {
    "summeval.jsonl": ("summarisation", "SummEval"),
    "realsumm.jsonl": ("summarisation", "REALSumm"),
    "flickr8k_expert.jsonl": ("image-captioning", "Flickr8k-Expert"),
    "ted_zh_en.jsonl": ("translation", "TED zh-en"),
    "ted_en_de.jsonl": ("translation", "TED en-de"),
}
AGREEMENT = "agreement_order"


def people_findings(folder: Path, metrics: Sequence[str], limit: int | None = None) -> pl.DataFrame:
    """One finding per metric and set of ratings, as the audit `human` gives them, under TASK/SET."""
    tables = [pl.DataFrame(schema=FINDINGS)]
    for file, (task, name) in SETS.items():
        if not (folder / file).is_file():
            print(f"left out: {name}, there is no {folder / file}", file=sys.stderr)
            continue
        for metric in metrics:
            try:
                tables.append(_of_set(folder / file, f"{task}/{name}", metric, limit))
            except AuditError as error:
                print(f"left out: {metric} on {name}: {error}", file=sys.stderr)
    return pl.concat(tables)


def _of_set(path: Path, slice_: str, metric: str, limit: int | None) -> pl.DataFrame:
    """The agreement of one metric with one set: the mean over its criteria, within texts of one source."""
    session = Session.open()
    done = run("human", [metric], data=[path], session=session, size="quick", limit=limit)
    rows = done.findings.filter(pl.col("statistic") == AGREEMENT, pl.col("versus").is_null())
    rows = rows.filter(pl.col("metric") == done.metrics[0], pl.col("slice").str.starts_with("example/"))
    within = rows.filter(pl.col("slice").str.ends_with("/by-document"))
    chosen = within if within.height else rows
    mean = chosen.group_by("metric", "audit", "statistic").agg(
        pl.col("value", "ci_low", "ci_high").mean(), pl.col("n").sum(), verdict=pl.lit("not judged")
    )
    return mean.with_columns(slice=pl.lit(slice_)).select(
        (pl.col(name) if name in mean.columns or name == "slice" else pl.lit(None, kind).alias(name)).cast(
            kind
        )
        for name, kind in FINDINGS.items()
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("-m", "--metric", action="append")
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    table = people_findings(given.folder, given.metric or DEFAULT_METRICS, given.limit)
    for row in table.iter_rows(named=True):
        print(
            f"{row['metric']:24} {row['slice']:36} {row['value']:6.1f} [{row['ci_low']:.1f}, {row['ci_high']:.1f}]"
        )


if __name__ == "__main__":
    main()
