"""How metrics agree with people on public ratings, from a folder that has the texts.

The folder holds the files of docs/human-ratings.md under the names below; a file that is not there is left
out, and said so. Texts stay outside: only right order, its interval and the number of pairs are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from assay.api.pipeline import run
from assay.core import Finding
from assay.engine.session import Session
from assay.errors import AuditError, DataError
from assay.names.spec import Specifiable
from assay.reading.ranking import AGREEMENT, mean_of
from assay.reading.results import findings_frame
from assay.reading.shipped import PEOPLE
from assay.reading.verdicts import rows_of
from assay.vocabulary import Task

SETS: dict[str, tuple[Task, str]] = {
    "summeval.jsonl": ("summarisation", "SummEval"),
    "realsumm.jsonl": ("summarisation", "REALSumm"),
    "flickr8k_expert.jsonl": ("image-captioning", "Flickr8k-Expert"),
    "ted_zh_en.jsonl": ("translation", "TED zh-en"),
    "ted_en_de.jsonl": ("translation", "TED en-de"),
}


def people_findings(
    folder: Path, metrics: Sequence[Specifiable], limit: int | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """One finding per metric and set of ratings under TASK/SET, and notes on what was left out."""
    present = {file: named for file, named in SETS.items() if (folder / file).is_file()}
    if not present:
        wanted = ", ".join(SETS)
        raise DataError(f"{folder} has none of {wanted}; docs/human-ratings.md says how to make them")
    notes = [f"{SETS[file][1]} is left out: there is no {file}" for file in SETS if file not in present]
    findings = []
    for file, (task, name) in present.items():
        for metric in metrics:
            try:
                findings.append(_agreement(folder / file, f"{task}/{name}", metric, limit))
            except AuditError as error:
                notes.append(f"{metric} is left out on {name}: {error}")
    return findings_frame(findings), notes


def _agreement(path: Path, slice_: str, metric: Specifiable, limit: int | None) -> Finding:
    """The agreement of one metric with one set: the mean over its criteria, within texts of one source."""
    done = run("human", [metric], data=[path], session=Session.open(), size="quick", limit=limit)
    rows = [row for row in rows_of(done) if row["statistic"] == AGREEMENT and row["versus"] is None]
    texts = [row for row in rows if row["slice"].startswith("example/") and row["metric"] == done.metrics[0]]
    within = [row for row in texts if row["slice"].endswith("/by-document")]
    if not texts:
        raise AuditError("no text of it has a score and a rating")
    finding = Finding.of(done.metrics[0], slice_, AGREEMENT, mean_of(within or texts))
    return replace(finding, audit=PEOPLE)
