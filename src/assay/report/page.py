"""A run to one self-contained page: no network, nothing executed that we did not write.

Verdicts and tables are in the page's own markup. Findings, examples and charts are JSON inside it, which the
page's script shows as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.report.answers import answers
from assay.report.charts import VERDICT_COLOURS, Panel, panels
from assay.report.evidence import CASES_PER_FINDING, examples, explanations
from assay.report.names import shown
from assay.report.tables import tables
from assay.report.text import in_words, interval, number, probability, sentence
from assay.report.verdicts import (
    QUESTION_TITLES,
    AuditInfo,
    Row,
    audits_of,
    gravest_first,
    rows_of,
    worst,
)
from assay.run.results import Run
from assay.vocabulary import Verdict

_SCRIPTS = ("dom.js", "explain.js", "filters.js", "charts.js", "findings.js", "start.js")
_NAMES = ("metric", "audit", "slice", "statistic", "versus", "verdict")
_NUMBERS = ("value", "ci_low", "ci_high", "p_value", "q_value", "mde")
_ORDER: tuple[Verdict, ...] = ("fail", "inconclusive", "insensitive", "pass", "not judged")


@cache
def environment() -> Environment:
    """Templates that escape everything; a missing name is an error."""
    templates = Environment(loader=PackageLoader("assay.report"), autoescape=True, undefined=StrictUndefined)
    templates.filters |= {"number": number, "words": in_words, "interval": interval}
    # A verdict as the name of a style is its slug.
    templates.filters |= {"probability": probability, "slug": lambda verdict: verdict.replace(" ", "-")}
    return templates


def asset(name: str) -> str:
    """A file beside the templates."""
    return files("assay.report").joinpath("templates", name).read_text("utf-8")


@cache
def vega() -> str:
    """Vega, Vega-Lite and vega-embed as one script."""
    import vl_convert

    # "</script" inside a string of the bundle would end its element.
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    inner = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"(() => {{{inner}\n}})();"  # its names stay its own


def page(run: Run) -> str:
    """The report."""
    run = shown(run)
    audits, charts = audits_of(run), panels(run)
    finite = [row for row in rows_of(run) if math.isfinite(row["value"])]  # others have no place on the page
    rows = ordered(run, finite)
    script = "(() => {" + "\n".join(asset(name) for name in _SCRIPTS) + "})();"
    plot = vega() if charts else ""
    return environment().get_template("report.html").render(
        about=run.about,
        metrics=run.metrics,
        notes=run.notes,
        questions=QUESTION_TITLES,
        answers=answers(run),
        gravest=_gravest(run, audits, rows),
        failures=sum(row["verdict"] == "fail" for row in rows),
        verdicts=_ORDER,
        sections=[_section(run, audit, finite, charts) for audit in audits.values()],
        style=Markup(asset("style.css")),  # our own files, as are the next two
        vega=Markup(plot),
        script=Markup(script),
        policy=policy(plot, script),
        data=Markup(inert(document(run, audits, rows))),
        charts=Markup(inert([_packed(panel) for panel in charts])),
    )  # fmt: skip


def policy(*scripts: str) -> str:
    """A content security policy: these scripts by their digests, no connection to anywhere."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts if text)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def ordered(run: Run, rows: Sequence[Row]) -> list[Row]:
    """Findings as the page lists them: failures first, gravest first."""
    failed = gravest_first(run, (row for row in rows if row["verdict"] == "fail"))
    others = (row for row in rows if row["verdict"] != "fail")
    return [*failed, *sorted(others, key=lambda row: _ORDER.index(row["verdict"]))]


def _gravest(run: Run, audits: dict[str, AuditInfo], rows: Sequence[Row]) -> list[dict[str, Any]]:
    places = [(row, audits[row["audit"]]) for row in worst(run, rows)]
    return [
        {"row": row, "sentence": sentence(audit, row), "place": rows.index(row), "offensive": _offends(audit)}
        for row, audit in places
    ]


def _offends(audit: AuditInfo) -> bool:
    """Stereotypes are offensive by nature."""
    return audit.question == "fairness"


def _section(run: Run, audit: AuditInfo, rows: Sequence[Row], charts: Sequence[Panel]) -> dict[str, Any]:
    own = [row for row in rows if row["audit"] == audit.name]
    groups: dict[str, list[tuple[int, str]]] = {}
    for place, panel in enumerate(charts):
        if panel.audit == audit.name:
            groups.setdefault(panel.group, []).append((place, panel.title))
    reported = {row["statistic"] for row in own}
    return {
        "name": audit.name,
        "title": audit.title,
        "question": QUESTION_TITLES[audit.question],
        "tables": tables(audit, own, run.metrics),
        "groups": list(groups.items()),
        "options": audit.options,
        "notes": [note.partition(": ")[2] for note in run.notes if note.startswith(f"{audit.name}: ")],
        "glossary": [known for known in audit.statistics if known.name in reported],
    }


def document(run: Run, audits: dict[str, AuditInfo], rows: Sequence[Row]) -> dict[str, Any]:
    """Everything the page's script reads: findings by column, each name written once."""
    cases = examples(run, rows)
    places = {key: place for place, key in enumerate(cases)}
    declared = [audits[row["audit"]].statistic(row) for row in rows]
    packed: dict[str, Any] = {name: _indexed(row[name] for row in rows) for name in _NAMES}
    packed |= {name: [_short(row[name]) for row in rows] for name in _NUMBERS}
    packed["n"] = [row["n"] for row in rows]
    packed["meaning"] = _indexed(statistic.meaning for statistic in declared)
    packed["unit"] = _indexed(statistic.unit for statistic in declared)
    packed["evidence"] = [
        [places.get((row["audit"], case), case) for case in (row["evidence"] or [])[:CASES_PER_FINDING]]
        for row in rows
    ]
    failed = [(place, row) for place, row in enumerate(rows) if row["verdict"] == "fail"]
    return {
        "assay": run.about.get("assay"),
        "metrics": run.metrics,
        "offensive": [name for name, audit in audits.items() if _offends(audit)],
        "sentences": {place: sentence(audits[row["audit"]], row) for place, row in failed},
        "colours": VERDICT_COLOURS,
        "findings": packed,
        "cases": list(cases.values()),
        "explanations": explanations(run, cases),
    }


def _indexed(values: Iterable[str | None]) -> dict[str, Any]:
    names: dict[str | None, int] = {}
    places = [names.setdefault(value, len(names)) for value in values]
    return {"names": list(names), "at": places}


def _packed(panel: Panel) -> dict[str, Any]:
    """A chart's rows by column: names are written once."""
    columns = list(panel.rows[0]) if panel.rows else []
    cells = [[_short(row[column], 5) for row in panel.rows] for column in columns]
    return {
        "audit": panel.audit, "group": panel.group, "title": panel.title, "spec": panel.spec,
        "colouredBy": panel.coloured_by, "columns": columns, "cells": cells,
    }  # fmt: skip


def _short(value: Any, digits: int = 4) -> Any:
    """A number in few significant digits; one that is not finite is absent."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def inert(thing: Any) -> str:
    """JSON that cannot end its script element, whatever texts it carries."""
    text = json.dumps(thing, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
