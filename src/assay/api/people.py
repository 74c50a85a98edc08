"""How metrics agree with people on public ratings, from a folder that has the texts.

The folder holds the files of docs/human-ratings.md under the names below; a file that is not there is left
out, and said so. Texts stay outside: only right order, Kendall's tau, their intervals and numbers are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.api.pipeline import run
from assay.core import Finding
from assay.engine.session import Session
from assay.errors import DataError
from assay.grouping import grouped
from assay.names.spec import Specifiable, measure
from assay.reading.agreement import mean_of
from assay.reading.results import findings_frame
from assay.reading.shipped import AGREEMENT, PEOPLE, TAU
from assay.reading.verdicts import rows_of
from assay.vocabulary import Task

_RESAMPLES = 300  # enough for an interval that is shown in whole numbers
_LOWEST = {AGREEMENT: 0.0, TAU: -1.0}  # what is kept of a set, with the lowest value it can have
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
    """Agreement of each metric with each set of ratings under TASK/SET, and notes on what was left out."""
    present = {file: named for file, named in SETS.items() if (folder / file).is_file()}
    if not present:
        wanted = ", ".join(SETS)
        raise DataError(f"{folder} has none of {wanted}; docs/human-ratings.md says how to make them")
    notes = [f"{SETS[file][1]} is left out: there is no {file}" for file in SETS if file not in present]
    labels = [measure(metric).label for metric in metrics]
    findings: list[Finding] = []
    for file, (task, name) in present.items():
        measured = agreements(folder / file, f"{task}/{name}", metrics, limit)
        scored = {finding.metric for finding in measured}
        notes += [
            f"{label} is left out on {name}: it has no score there" for label in labels if label not in scored
        ]
        findings += [finding for finding in measured if finding.metric in labels]
    return findings_frame(findings), notes


def agreements(path: Path, slice_: str, metrics: Sequence[Specifiable], limit: int | None) -> list[Finding]:
    """How metrics agree with the people of a set: means over its criteria, within texts of one source."""
    options: dict[str, Any] = {"level": "example", "over": "documents", "tau": "b", "details": False}
    options |= {"limit": limit, "resamples": _RESAMPLES}
    # At full size every metric reads all of these texts: at quick size a model would read the beginning.
    # The atlas shows how English models do on German too: its readers choose among them there.
    session = Session.open(any_language=True)
    done = run(PEOPLE, metrics, data=[path], session=session, size="full", **options)
    texts = [row for row in rows_of(done) if row["slice"].startswith("example/") and row["versus"] is None]
    within = [row for row in texts if row["slice"].endswith("/by-document")] or texts
    findings = []
    for (metric, statistic), rows in grouped(within, lambda row: (row["metric"], row["statistic"])).items():
        if statistic in _LOWEST:
            mean = mean_of(rows, _LOWEST[statistic])
            findings.append(replace(Finding.of(metric, slice_, statistic, mean), audit=PEOPLE))
    return findings
