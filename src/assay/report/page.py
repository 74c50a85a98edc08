"""A run to one self-contained page: no network, nothing executed that we did not write.

The answer is in the page's own markup. Findings, examples and drawings are compressed JSON inside it, which
the page's script unpacks when they are needed and shows as text.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.errors import WeightsError, install
from assay.grouping import grouped
from assay.models.weights import build_folder, cache_folder
from assay.reading.answers import answers
from assay.reading.evidence import CASES_PER_FINDING, examples, explanations, pooled_case, wanted_roles
from assay.reading.history import history
from assay.reading.lines import EVERYTHING, Line, Ranking, caption, sources, unfair_to
from assay.reading.names import shown
from assay.reading.notes import grouped_notes, whose_texts
from assay.reading.ranking import rankings
from assay.reading.results import StoredRun
from assay.reading.text import (
    amount,
    expectation,
    interval,
    number,
    probability,
    sentence,
    sentence_of_all,
    statistic_in_words,
)
from assay.reading.verdicts import (
    QUESTION_TITLES,
    AuditInfo,
    JudgedRow,
    audits_of,
    gravest_failures,
    rows_of,
    rows_with,
    worst,
)
from assay.report.assets import asset
from assay.report.charts import VERDICT_COLOURS, Panel, can_draw, panels, study_panels
from assay.report.tables import PageTable, tables
from assay.vocabulary import Verdict

_SCRIPTS = ["dom", "explain", "load", "filters", "findings", "charts", "whom", "metric", "study", "start"]
_NAMES = ("metric", "audit", "slice", "statistic", "versus", "verdict")
_NUMBERS = ("value", "n", "ci_low", "ci_high", "p_value", "q_value", "settles")
_DECLARED = ("meaning", "unit", "bad")
_ORDER: tuple[Verdict, ...] = ("fail", "not covered", "inconclusive", "pass", "not judged")


@cache
def environment() -> Environment:
    """Templates that escape everything; a missing name is an error."""
    templates = Environment(loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined)
    templates.filters |= {"number": number, "words": statistic_in_words, "interval": interval}
    # A verdict as the name of a style is its slug.
    templates.filters |= {"probability": probability, "slug": lambda verdict: verdict.replace(" ", "-")}
    templates.globals |= {"amount": amount, "caption": caption, "sources": sources, "unfair_to": unfair_to}
    return templates


@cache
def vega() -> str:
    """Vega, Vega-Lite and vega-embed as one script, kept in the cache: bundling takes most of a second."""
    import vl_convert

    names = "window.vegaEmbed = vegaEmbed;"

    def bundle() -> str:
        return str(vl_convert.javascript_bundle(names))

    def build(folder: Path) -> None:
        folder.mkdir()
        (folder / "vega.js").write_text(bundle(), "utf-8")

    made_from = hashlib.sha256(f"{version('vl-convert-python')} {names}".encode()).hexdigest()
    home = cache_folder() / "vega" / made_from
    try:
        script = (build_folder(home, build) / "vega.js").read_text("utf-8")
    except (OSError, WeightsError):  # the cache cannot be written, or was damaged
        script = bundle()
    # "</script" inside a string of the bundle would end its element.
    inner = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"(() => {{{inner}\n}})();"  # its names stay its own


def page(run: StoredRun, earlier: Sequence[StoredRun] = ()) -> str:
    """The report of a run; with its history where earlier runs are given."""
    run = shown(run)
    ranked = rankings(run)
    run = _in_order(run, ranked)
    audits, charts = audits_of(run), panels(run) if can_draw() else []
    finite = [row for row in rows_of(run) if math.isfinite(row["value"])]  # others have no place on the page
    rows = ordered(finite)
    script = _script()
    study, drawn = _study(run)
    plot = vega() if charts or drawn else ""
    places = {id(row): place for place, row in enumerate(rows)}
    named = {_name(row): place for place, row in enumerate(rows)}
    return environment().get_template("report.html").render(
        about=run.about, study=study, metrics=run.metrics, notes=grouped_notes(run), texts=whose_texts(run),
        questions=QUESTION_TITLES, verdicts=_ORDER, answers=answers(run), rankings=ranked,
        place_of=lambda row: named.get(_name(row)),
        gravest=_gravest(rows, [ranking.task for ranking in ranked]),
        history=history([*earlier, run]) if earlier else {},
        sections=[_section(run, audit, finite) for audit in audits.values()],
        undrawn="" if can_draw() else install("figures"),
        style=Markup(asset("style.css")), script=Markup(script), policy=policy(plot, script),  # our own files
        data=Markup(inert(_core(run, ranked, named))),
        packed={
            "findings": _packed(_findings(rows)),
            "cases": _packed(_evidence(run, rows)),
            "drawings": _packed({a.name: _drawings(run, a, finite, charts, places) for a in audits.values()}),
            "study": _packed(drawn),
            "vega": _packed(plot),
        },
    )  # fmt: skip


def _script() -> str:
    """The page's own script; its names stay its own."""
    return "(() => {" + "\n".join(asset(f"{name}.js") for name in _SCRIPTS) + "})();"


def _in_order(run: StoredRun, ranked: Sequence[Ranking]) -> StoredRun:
    """The run with its metrics in the order of the first table, which the whole page keeps."""
    first = [line.metric for ranking in ranked[:1] for line in ranking.lines]
    metrics = {name: run.about["metrics"][name] for name in dict.fromkeys([*first, *run.metrics])}
    return replace(run, about=dict(run.about) | {"metrics": metrics})


def _study(run: StoredRun) -> tuple[dict[str, Any], dict[int, list[dict[str, Any]]]]:
    """The study that a run belongs to, and the charts of its figures by the place of their table."""
    study = run.about.get("study", {})
    parts = [part | {"chart": bool(part.get("figure")) and can_draw()} for part in study.get("parts", ())]
    drawn = {place: study_panels(part["figure"]) for place, part in enumerate(parts) if part["chart"]}
    return (study | {"parts": parts} if study else {}), drawn


def policy(*scripts: str) -> str:
    """A content security policy: these scripts by their digests, no connection to anywhere."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts if text)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def ordered(rows: Sequence[JudgedRow]) -> list[JudgedRow]:
    """Findings as the page lists them: failures first, gravest first."""
    others = (row for row in rows if row["verdict"] != "fail")
    return [*gravest_failures(rows), *sorted(others, key=lambda row: _ORDER.index(row["verdict"]))]


def _gravest(rows: Sequence[JudgedRow], tasks: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The gravest findings of each task; fairness is measured for all tasks together."""
    places = {id(row): place for place, row in enumerate(rows)}
    by_task = {}
    for task in tasks or [EVERYTHING]:
        others = {*tasks} - {task, EVERYTHING}
        about = [row for row in rows if task == EVERYTHING or row["slice"].partition("/")[0] not in others]
        by_task[task] = [_with_example(row, rows, places[id(row)]) for row in worst(about)]
    return by_task


def _with_example(row: JudgedRow, rows: Sequence[JudgedRow], place: int) -> dict[str, Any]:
    """A finding as a card shows it."""
    return {
        "row": row, "place": place, "title": row.info.title, "sentence": sentence_of_all(row, rows),
        "expected": expectation(row), "offensive": row.info.question == "fairness",
        "measured": amount(row["value"], row.declared),
    }  # fmt: skip


def _section(run: StoredRun, audit: AuditInfo, rows: Sequence[JudgedRow]) -> dict[str, Any]:
    """What the page's markup says of an audit; charts and tables are drawn when a reader opens it."""
    own = rows_with(rows, audit=audit.name)
    reported = {row["statistic"] for row in own}
    return {
        "name": audit.name,
        "title": audit.title,
        "question": QUESTION_TITLES[audit.question],
        "counts": Counter(row["verdict"] for row in own),
        "options": audit.options,
        "notes": [note.partition(": ")[2] for note in run.notes if note.startswith(f"{audit.name}: ")],
        "glossary": [known for known in audit.statistics if known.name in reported],
    }


def _drawings(
    run: StoredRun,
    audit: AuditInfo,
    rows: Sequence[JudgedRow],
    charts: Sequence[Panel],
    places: Mapping[int, int],
) -> dict[str, Any]:
    """The charts and tables of an audit; a chart with nothing to see is only named."""
    own = [panel for panel in charts if panel.audit == audit.name]
    drawn = grouped((panel for panel in own if not panel.is_flat), lambda panel: panel.group)
    flat = grouped((panel for panel in own if panel.is_flat), lambda panel: panel.group)
    return {
        "groups": {group: list(map(_panel, of_group)) for group, of_group in drawn.items()},
        "flat": {group: [panel.title for panel in of_group] for group, of_group in flat.items()},
        "tables": [
            _table(table, places) for table in tables(audit, rows_with(rows, audit=audit.name), run.metrics)
        ],
    }  # fmt: skip


def _table(table: PageTable, places: Mapping[int, int]) -> dict[str, Any]:
    """A table whose cells are the places of their findings."""
    return {
        "title": table.title, "meaning": table.meaning, "columns": table.columns,
        "left_out": table.left_out, "labels": [label for label, _ in table.lines],
        "cells": [[row and places[id(row)] for row in cells] for _, cells in table.lines],
        "starred": table.is_starred,
    }  # fmt: skip


def _panel(panel: Panel) -> dict[str, Any]:
    return {"title": panel.title, "start": panel.start, "spec": panel.spec, "rows": panel.rows}


def _name(row: JudgedRow) -> tuple[str | None, ...]:
    """What tells a finding from every other of a run."""
    return tuple(row[column] for column in ("metric", "audit", "slice", "statistic", "versus"))


def _core(run: StoredRun, ranked: Sequence[Ranking], places: Mapping[Any, int]) -> dict[str, Any]:
    """What the script needs at once."""
    audits = audits_of(run)
    first = ranked[0].lines if ranked else ()
    return {
        "metrics": run.metrics,
        "speeds": {line.metric: line.speed for line in first if line.speed},
        "questions": {name: audit.question for name, audit in audits.items()},
        "titles": {name: audit.title for name, audit in audits.items()},
        "colours": VERDICT_COLOURS,
        "tasks": [
            {
                "task": table.task,
                "name": table.name,
                "lines": {line.metric: _numbers(line, places) for line in table.lines},
            }
            for table in ranked
        ],
    }


def _numbers(line: Line, places: Mapping[Any, int]) -> dict[str, Any]:
    """The right orders of a metric with their intervals, how much is settled, and its gravest blind spots."""
    orders = ("errors", "reworded", "form", "contrast", "people")
    measured = {name: estimate for name in orders if (estimate := getattr(line, name)) is not None}
    shares: dict[str, Any] = {
        name: [estimate.value, *(estimate.ci or (None, None))] for name, estimate in measured.items()
    }
    gravest = [places[name] for name in map(_name, line.kinds.gravest) if name in places]
    blind = [gravest, line.kinds.tried, line.kinds.unknown]
    return shares | {"blind": blind, "fairness": [line.fairness.settled, line.fairness.total]}


def _findings(rows: Sequence[JudgedRow]) -> dict[str, Any]:
    """Findings by column, each name written once."""
    columns: dict[str, Any] = {name: _indexed(map(itemgetter(name), rows)) for name in _NAMES}
    columns |= {name: list(map(itemgetter(name), rows)) for name in _NUMBERS}
    declared = [row.declared for row in rows]
    columns |= {name: _indexed(map(attrgetter(name), declared)) for name in _DECLARED}
    failed = {place: row for place, row in enumerate(rows) if row["verdict"] == "fail"}
    expected = {place: expectation(row) for place, row in failed.items()}
    columns["expected"] = _indexed(expected.get(place, "") for place in range(len(rows)))
    columns["sentences"] = {place: sentence(row) for place, row in failed.items()}
    return columns


def _evidence(run: StoredRun, rows: Sequence[JudgedRow]) -> dict[str, Any]:
    """The examples behind findings, each text written once, and where each finding's examples are."""
    cases = examples(run, rows)
    places = {key: place for place, key in enumerate(cases)}
    named = [
        [places.get((row["audit"], case), case) for case in (row["evidence"] or [])[:CASES_PER_FINDING]]
        for row in rows
    ]
    texts: dict[str, int] = {}
    pooled = [pooled_case(case, texts) for case in cases.values()]
    brief = {place: _in_brief(row, cases) for place, row in enumerate(rows)}
    return {
        "of": {place: listed for place, listed in enumerate(named) if listed},
        "brief": {place: roles for place, roles in brief.items() if roles},
        "texts": list(texts), "cases": pooled, "explanations": explanations(run, cases),
    }  # fmt: skip


def _in_brief(row: JudgedRow, cases: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    """The two roles that a finding compares: what it starts from, and the strongest change, the last."""
    keys = [(row["audit"], case) for case in row["evidence"] or []]
    known = [list(cases[key]["roles"]) for key in keys if key in cases]
    if not known:
        return []
    base, *others = wanted_roles(row["slice"], known[0], row["versus"])
    return [base, *others[-1:]]


def _indexed(values: Iterable[str | None]) -> dict[str, Any]:
    names: dict[str | None, int] = {}
    places = [names.setdefault(value, len(names)) for value in values]
    return {"names": list(names), "at": places}


def inert(thing: Any) -> str:
    """JSON that cannot end its script element, whatever texts it carries."""
    text = _short_json(thing, ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _packed(thing: Any) -> str:
    """JSON, compressed and in letters that no markup has a use for; equal things give equal text."""
    compressed = gzip.compress(_short_json(thing).encode("utf-8", "surrogatepass"), mtime=0)
    return base64.b64encode(compressed).decode("ascii")


def _short_json(thing: Any, *, ascii: bool = False) -> str:
    """JSON with four significant digits, and with null for numbers that JSON does not have."""
    text = json.dumps(thing)
    short = json.loads(text, parse_float=lambda x: float(f"{float(x):.4g}"), parse_constant=lambda _: None)
    return json.dumps(short, ensure_ascii=ascii, separators=(",", ":"), allow_nan=False)
