"""The atlas as it is shipped: a run of every metric that could be run, without texts and scores.

What remains of the scores is which decisions were right, and how metrics agree with people on public ratings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import DataError
from assay.reading.decisions import KEYS, Decisions, decisions_of, remember
from assay.reading.results import CASES, FINDINGS, SCORES, TABLES, StoredRun
from assay.reading.verdicts import JudgedRow, rows_of
from assay.vocabulary import TASKS

FILES = ("findings", "decisions", "cost", "examples")  # Parquet tables beside run.json
PEOPLE = "human"  # the audit that figures of public ratings are filed under
AGREEMENT = "agreement_order"  # of its statistics, the one that counts decisions
TAU = "kendall_b"
_DIGITS = 4  # of the numbers that are kept
_RIGHT = 200  # what stands for a right decision in a column of small whole numbers, so that a half is 100


@cache
def load_atlas() -> StoredRun:
    """The atlas that this version of assay ships."""
    about = _about()
    findings = whole(atlas_table("findings"))
    atlas = StoredRun(findings, pl.DataFrame(schema=CASES), pl.DataFrame(schema=SCORES), about=about)
    remember(atlas, unpacked(atlas_table("decisions")))
    return atlas


def _about() -> dict[str, Any]:
    """The run.json of the atlas."""
    folder = files("assay.data") / "atlas"
    absent = [name for name in FILES if not (folder / f"{name}.parquet").is_file()]
    if absent or not (folder / "run.json").is_file():
        raise DataError("this installation has no atlas; make atlas measures one from a checkout")
    about: dict[str, Any] = json.loads((folder / "run.json").read_text("utf-8"))
    return about


@cache
def public_ratings() -> dict[str, list[JudgedRow]]:
    """How metrics agree with people on public ratings, by identity; nothing without an atlas to read."""
    try:
        about = _about()
        table = atlas_table("findings")
    except DataError:
        return {}
    table = table.filter(pl.col("audit") == PEOPLE, pl.col("statistic") == AGREEMENT)
    no_cases, no_scores = pl.DataFrame(schema=CASES), pl.DataFrame(schema=SCORES)
    figures = rows_of(StoredRun(whole(table), no_cases, no_scores, about=about))
    known = {metric: identity(facts) for metric, facts in about["metrics"].items()}
    rated: dict[str, list[JudgedRow]] = {}
    for row in figures:
        if row["slice"].partition("/")[0] in TASKS and row["versus"] is None and row["metric"] in known:
            rated.setdefault(known[row["metric"]], []).append(row)
    return rated


def identity(about: Mapping[str, Any]) -> str:
    """What tells a metric from every other: its signature, and which of its outputs it is."""
    return f"{about.get('signature')}|{about.get('output')}"


def atlas_table(name: str) -> pl.DataFrame:
    """One of the tables that the atlas is stored in."""
    with as_file(files("assay.data") / "atlas" / f"{name}.parquet") as path:
        return pl.read_parquet(path)


def condensed(run: StoredRun) -> pl.DataFrame:
    """The findings that the atlas keeps: judged ones and headlines, in rounded numbers."""
    headlines = [
        declared["name"]
        for audit in run.about["audits"].values()
        for declared in audit["statistics"]
        if declared["headline"]
    ]
    kept = (pl.col("verdict") != "not judged") | pl.col("statistic").is_in(headlines)
    numbers = [name for name, kind in TABLES["findings"].items() if kind == pl.Float64]
    rows = run.findings.filter(kept).drop("evidence")
    return rows.with_columns(pl.col(name).round_sig_figs(_DIGITS) for name in numbers)


def whole(findings: pl.DataFrame) -> pl.DataFrame:
    """Condensed findings with the columns of a run's table again."""
    filled = findings.with_columns(evidence=pl.lit([], dtype=pl.List(pl.String)))
    return filled.select(pl.col(name).cast(kind) for name, kind in FINDINGS.items())


def packed(run: StoredRun) -> pl.DataFrame:
    """The decisions of a run in small whole numbers."""
    decisions = decisions_of(run)
    columns = [(pl.col(name) * _RIGHT).round().cast(pl.UInt8) for name in decisions.metrics]
    return decisions.frame.with_columns(columns)


def unpacked(table: pl.DataFrame) -> Decisions:
    """The decisions that were packed."""
    metrics = tuple(name for name in table.columns if name not in KEYS)
    return Decisions(table.with_columns(pl.col(name) / _RIGHT for name in metrics), metrics)


def save_atlas(folder: Path, about: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
    """Write the files of an atlas."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        tables[name].write_parquet(folder / f"{name}.parquet", compression="zstd", compression_level=19)
    (folder / "run.json").write_text(json.dumps(about, indent=1, default=str) + "\n", "utf-8")
