"""A run to one self-contained page: no network, nothing executed that we did not write."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.report.charts import Panel, panels
from assay.report.matrices import matrices
from assay.report.packing import document, inert, ordered
from assay.report.verdicts import QUESTIONS, answers, checks, question_of, worst
from assay.report.words import MEANING, audit_title, number, question_title, sentence, statistic_words
from assay.run.results import Run

_SCRIPTS = ("dom.js", "explain.js", "filters.js", "charts.js", "findings.js", "start.js")


@cache
def environment() -> Environment:
    """Templates that escape everything; a missing name is an error."""
    made = Environment(loader=PackageLoader("assay.report"), autoescape=True, undefined=StrictUndefined)
    made.filters |= {"number": number, "words": statistic_words}
    return made


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
    listed = checks(run)
    rows = ordered(run)
    places = {_key(row): place for place, row in enumerate(rows)}
    gravest = [
        {
            "row": row,
            "sentence": sentence(row),
            "place": places[_key(row)],
            "offensive": _offends(run, row["audit"]),
        }
        for row in worst(run, listed)
        if _key(row) in places  # a value that is not finite has no place on the page
    ]
    charts = panels(run)
    script = "(() => {" + "\n".join(asset(name) for name in _SCRIPTS) + "})();"
    plot = vega() if charts else ""
    return environment().get_template("report.html").render(
        about=run.about,
        metrics=run.metrics,
        notes=run.notes,
        questions=[(name, question_title(name)) for name in QUESTIONS],
        answers=answers(run, listed),
        gravest=gravest,
        failures=sum(row["passed"] is False for row in rows),
        sections=[_section(run, name, charts) for name in _audits(run)],
        glossary={name: MEANING[name] for name in MEANING if any(row["statistic"] == name for row in rows)},
        style=Markup(asset("style.css")),  # our own files, as are the next two
        vega=Markup(plot),
        script=Markup(script),
        policy=policy(plot, script),
        data=Markup(inert(document(run, listed))),
        charts=Markup(inert([_packed(panel) for panel in charts])),
    )  # fmt: skip


def policy(*scripts: str) -> str:
    """A content security policy: these scripts by their digests, no connection to anywhere."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts if text)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _key(row: Any) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("metric", "audit", "slice", "statistic", "versus"))


def _offends(run: Run, audit: str) -> bool:
    """Stereotypes are offensive by nature."""
    return question_of(run, audit) == "fairness"


def _audits(run: Run) -> list[str]:
    """Audits by question, in the order run."""
    named = list(dict.fromkeys(run.findings["audit"].to_list()))
    return sorted(named, key=lambda name: QUESTIONS.index(question_of(run, name)))


def _section(run: Run, audit: str, charts: Sequence[Panel]) -> dict[str, Any]:
    mine = [(place, panel) for place, panel in enumerate(charts) if panel.audit == audit]
    groups: dict[str, list[int]] = {}
    for place, panel in mine:
        groups.setdefault(panel.group, []).append(place)
    options = {
        key: value for key, value in run.about.get("audits", {}).get(audit, {}).items() if key != "question"
    }
    return {
        "name": audit,
        "title": audit_title(audit),
        "question": question_title(question_of(run, audit)),
        "offensive": _offends(run, audit),
        "matrices": matrices(run, audit),
        "groups": [
            (name, [(place, charts[place].title) for place in places]) for name, places in groups.items()
        ],
        "options": options,
        "notes": [note.partition(": ")[2] for note in run.notes if note.startswith(f"{audit}: ")],
    }


def _packed(panel: Panel) -> dict[str, Any]:
    """A chart's rows by column: names are written once."""
    columns = list(panel.rows[0]) if panel.rows else []
    cells = [[_shortened(row[column]) for row in panel.rows] for column in columns]
    return {
        "audit": panel.audit, "group": panel.group, "title": panel.title, "spec": panel.spec,
        "columns": columns, "cells": cells,
    }  # fmt: skip


def _shortened(value: Any) -> Any:
    """Five significant digits; what is not finite is absent."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.5g}") if math.isfinite(value) else None
