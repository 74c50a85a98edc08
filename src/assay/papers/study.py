"""The study of a paper on a user's metrics: its tables in its order, what it found and what this run found.

A study is a data file, `data/studies/PAPER.toml`: the audits with their options and the published files that
they take where a folder has them, and one `part` per table with its statistic and slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from statistics import fmean
from typing import Any

from assay.api.pipeline import execute, make_audit
from assay.core import Audit
from assay.engine.session import Session
from assay.errors import SpecError, suggest
from assay.files import data_path, toml_file, with_tuples
from assay.names.registry import audit_class
from assay.papers.recipes import PAPERS
from assay.reading.names import shown_names
from assay.reading.results import StoredRun, check_writable
from assay.reading.text import number

_VERDICTS = ("fail", "pass")


def study(
    paper: str,
    metrics: Sequence[str] = (),
    folder: Path | None = None,
    *,
    session: Session,
    limit: int | None = None,
) -> StoredRun:
    """Run the audits of a paper, on its data where `folder` has it and on embedded data elsewhere."""
    if paper not in PAPERS:
        raise SpecError(f"no study {paper!r}{suggest(paper, PAPERS)}; known: {', '.join(PAPERS)}")
    plan = toml_file("studies", paper)
    audits, left_out = _audits(plan["audits"], folder, limit)
    out = session.out
    if out:
        check_writable(out)
    session.out = None  # saved below, with its study page
    done = execute(audits, list(metrics) or _metrics(plan), session, size="quick", embedded=True)
    session.out = out
    parts = [_part(given, done, left_out) for given in plan["part"]]
    page = {"paper": paper, "title": PAPERS[paper], "question": plan["question"], "parts": parts}
    finished = replace(done, about={**done.about, "study": page})
    return finished.save(out) if out else finished


def _metrics(plan: Mapping[str, Any]) -> list[str]:
    """The study's own metrics; one that needs a folder of assay's data is left out where there is none."""
    optional = plan.get("optional", {})
    return [*plan["metrics"], *(spec for spec, needs in optional.items() if data_path(needs).is_dir())]


def _audits(
    given: Mapping[str, Any], folder: Path | None, limit: int | None
) -> tuple[dict[str, Audit], dict[str, str]]:
    """The audits that can run, and why others cannot."""
    audits, left_out = {}, {}
    for name, table in given.items():
        options = with_tuples(table)
        files = options.pop("files", ())
        here = tuple(folder / path for path in files if folder and (folder / path).exists())
        kind = audit_class(name)
        if options.pop("only_with_files", kind.needs_data) and not here:
            left_out[name] = f"it needs {', '.join(table['files'])} in a folder given with --data"
            continue
        quick = {key: value for key, value in kind.quick.items() if key != "skip"}
        asked = {key: value for key, value in (("data", here), ("limit", limit)) if value}
        audits[name] = make_audit(name, {**quick, **options, **asked}, strict=False)
    return audits, left_out


def _part(given: Mapping[str, Any], done: StoredRun, left_out: Mapping[str, str]) -> dict[str, Any]:
    """One table: a row per metric, a column per pattern of slices, the mean over the slices it matches."""
    names, patterns = shown_names(done), given["columns"].values()
    wanted = [
        row
        for row in done.findings.iter_rows(named=True)
        if (row["audit"], row["statistic"]) == (given["audit"], given["statistic"])
        and (row["metric"] in names) != given.get("captioners", False)
        and given.get("versus") in (None, row["versus"])
        and fnmatch(row["metric"], given.get("metrics", "*"))
        and any(fnmatch(row["slice"], pattern) for pattern in patterns)
    ]
    heads = [row for row in wanted if row["versus"] is None]  # beside them stand comparisons with others
    wanted = wanted if given.get("versus") else heads or wanted
    rows: dict[str, list[float | None]] = {}
    shown: list[list[str]] = []
    for metric in dict.fromkeys([*done.metrics, *(row["metric"] for row in wanted)]):
        matched = [
            [row for row in wanted if row["metric"] == metric and fnmatch(row["slice"], pattern)]
            for pattern in patterns
        ]
        if any(matched):
            name = names.get(metric, metric)
            rows[name] = [fmean(row["value"] for row in cell) if cell else None for cell in matched]
            shown.append([name, *map(_figure, matched, rows[name])])
    text = {key: given[key] for key in ("where", "heading", "found")}
    if not rows:
        without = given.get("without", "none of these metrics gives a figure here")
        reason = left_out.get(given["audit"], without)
        return {**text, "ours": f"Not run: {reason}.", "columns": [], "rows": []}
    named = audit_class(given["audit"]).statistics
    units = dict.fromkeys(one.unit.strip() for one in named if one.name == given["statistic"])
    facts = _facts(rows, [row for row in wanted if row["verdict"] in _VERDICTS], given)
    judged = "; {failed} of {checks} fail" if facts["checks"] else ""
    flat = f"All figures are {{low_value}}{judged}."
    ours = (flat if facts["low_value"] == facts["high_value"] else given["ours"]).format(**facts)
    unit = ", ".join([given["statistic"], *filter(None, units)])
    return {**text, "ours": ours, "columns": list(given["columns"]), "rows": shown, "unit": unit}


def _figure(findings: Sequence[Mapping[str, Any]], value: float | None) -> str:
    """A cell: a finding with its interval, or the mean of several."""
    if len(findings) != 1 or findings[0]["ci_low"] is None:
        return number(value)
    return f"{number(value)} [{number(findings[0]['ci_low'])}, {number(findings[0]['ci_high'])}]"


def _facts(
    rows: Mapping[str, Sequence[float | None]], judged: Sequence[Mapping[str, Any]], given: Mapping[str, Any]
) -> dict[str, Any]:
    """What the sentence about this run may name."""
    means = {name: fmean(v for v in values if v is not None) for name, values in rows.items()}
    ranked = sorted(means, key=lambda name: means[name])
    cells = {
        f"{name} on {column}": value
        for name, values in rows.items()
        for column, value in zip(given["columns"], values, strict=True)
        if value is not None
    }
    low, high = min(cells, key=cells.__getitem__), max(cells, key=cells.__getitem__)
    return {
        "metrics": len(rows), "checks": len(judged),
        "low_value": number(cells[low]), "high_value": number(cells[high]),
        "low_cell": f"{low} ({number(cells[low])})", "high_cell": f"{high} ({number(cells[high])})",
        "lowest": f"{ranked[0]} ({number(means[ranked[0]])})",
        "highest": f"{ranked[-1]} ({number(means[ranked[-1]])})",
        "failed": sum(row["verdict"] == "fail" for row in judged),
        "rising": sum(value > 0 for value in cells.values()), "cells": len(cells),
    }  # fmt: skip
