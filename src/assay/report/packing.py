"""A run to the document that the page carries: findings by column, names once, nothing executable."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from assay.report.evidence import examples, explanations
from assay.report.verdicts import Check, Row, margins_of, question_of, severity
from assay.report.words import audit_title, meaning, question_title, sentence
from assay.run.results import Run

_NAMES = ("metric", "audit", "slice", "statistic", "versus")
_NUMBERS = ("value", "ci_low", "ci_high", "p_value", "q_value", "mde")


def document(run: Run, listed: Sequence[Check]) -> dict[str, Any]:
    """Everything the page's script reads."""
    rows = ordered(run)
    cases = examples(run, rows)
    places = {key: place for place, key in enumerate(cases)}
    packed: dict[str, Any] = {name: _indexed(row[name] for row in rows) for name in _NAMES}
    for name in _NUMBERS:
        packed[name] = [_short(row[name]) for row in rows]
    packed["n"] = [row["n"] for row in rows]
    checked = {id(row) for row in _same(rows, listed)}
    packed["passed"] = [_state(row, id(row) in checked) for row in rows]
    packed["evidence"] = [
        [places.get((row["audit"], case), case) for case in (row["evidence"] or [])[:3]] for row in rows
    ]
    statistics = sorted({row["statistic"] for row in rows})
    return {
        "assay": run.about.get("assay"),
        "metrics": run.metrics,
        "audits": {name: _audit(run, name) for name in dict.fromkeys(row["audit"] for row in rows)},
        "meaning": {name: meaning(name) for name in statistics if meaning(name)},
        "sentences": {place: sentence(row) for place, row in enumerate(rows) if row["passed"] is False},
        "findings": packed,
        "cases": list(cases.values()),
        "explanations": explanations(run, cases),
    }


def ordered(run: Run) -> list[Row]:
    """Findings as the page lists them: failures first, gravest first, then inconclusive, then passes."""
    margins = margins_of(run)
    rank = {False: 0, None: 1, True: 2}
    rows = [row for row in run.findings.iter_rows(named=True) if math.isfinite(row["value"])]
    return sorted(
        rows, key=lambda row: (rank[row["passed"]], -severity(row, margins) * (not rank[row["passed"]]))
    )


def _same(rows: Sequence[Row], listed: Iterable[Check]) -> list[Row]:
    """Those of the rows that are checks; the two lists come from different reads of one frame."""
    keys = {_key(check.row) for check in listed}
    return [row for row in rows if _key(row) in keys]


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _NAMES)


def _state(row: Row, checked: bool) -> int:
    """1 pass, 0 fail, 2 inconclusive, -1 not judged."""
    if row["passed"] is None:
        return 2 if checked else -1
    return int(row["passed"])


def _audit(run: Run, name: str) -> dict[str, str]:
    question = question_of(run, name)
    return {"question": question, "asks": question_title(question), "title": audit_title(name)}


def _indexed(values: Iterable[str | None]) -> dict[str, Any]:
    names: dict[str | None, int] = {}
    places = [names.setdefault(value, len(names)) for value in values]
    return {"names": list(names), "at": places}


def _short(value: float | None) -> float | None:
    """Four significant digits; what is not finite is absent."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.4g}")


def inert(thing: Any) -> str:
    """JSON that cannot end its script element, whatever texts it carries."""
    text = json.dumps(thing, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
