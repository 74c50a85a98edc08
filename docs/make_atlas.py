"""Write docs/atlas.md from the atlas that the package ships; and, as a hook of the site, a page for each metric and edit.

`python docs/make_atlas.py` writes the page of the repository. mkdocs calls `on_files`, which adds the other pages to the
site: they are made from the same tables and stand nowhere else. The claims of the papers are in `docs/atlas_claims.py`.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from atlas_claims import (
    atlas,
    claim_lines,
    error_slices,
    outcomes,
    outcomes_of,
    percent,
    static_metrics,
    surface_metrics,
    task_rankings,
)

from assay.errors import AuditError
from assay.reading.answers import Answer, Slice, answers
from assay.reading.atlas import atlas_table, blind_together, load_atlas, options_of
from assay.reading.names import shown_names
from assay.reading.panel import choose_panel
from assay.reading.ranking import EVERYTHING, Line, Profile, Share, profiles
from assay.reading.text import interval, number, sentence
from assay.reading.verdicts import audits_of, checks, gravest_failures, rows_of
from assay.report.plain import markdown_table
from assay.vocabulary import Question

FOLDER = Path(__file__).parent
BUDGETS = {"any cost": 0.0, "at least 200 texts per second": 200.0, "at least 1,000 texts per second": 1000.0}
WARNING = (
    "Examples of unfairness quote stereotypes, which are offensive. Open them only if you want to read them."
)

INTRODUCTION = """# The atlas

Written by `python docs/make_atlas.py`.

What {count} metrics notice, what they miss and whom they treat worse, measured on the embedded texts with assay {version}.
Each metric can be measured again: `assay audit -m METRIC {options}` (dearer ones with fewer items, as the tables say; a few with
other options, as their pages say).
The numbers ship with the package: `assay atlas` prints them, and `assay.data/atlas` has them as Parquet tables
(findings, profile, cost, examples) with the versions and signatures they were made with.

**Your metric beside them.** `assay atlas -m length_ratio.py:LengthRatio` measures a metric and says where it stands in each
audit, which metrics share its blind spots, what only it notices, and whether a panel needs it. `assay compare RUN --atlas`
does so for a run that you have.

**How to read it.** Errors noticed: the share of harmful edits, one per slice (a task and a kind of edit), whose whole interval
lies on the right side of the margin. Slices that are inconclusive or insensitive count as not noticed, so that noise does
not help a metric. Brackets are 95% intervals over slices; metrics of one rank are tied. Stand-ins have names of their own,
and every metric on a pretrained model is shown with it: `bertscore-f [minilm]` says nothing of BERTScore on roberta-large.
"""

ADD = """## Add your metric

1. `assay audit -m mine.py:Mine {options} --out mine` on a released version of assay.
2. `assay atlas --check mine` says what stands in the way: other options, audits that were not run, a name that is taken.
3. Send the folder in a pull request, in `bench/contributed/`, with the file of the metric. `make atlas` adds it to the tables.

What is measured here, and with what, stands in `bench/atlas.toml`; `make atlas` runs it (hours on two cores, and it can be
stopped and started again at any time).
"""


@cache
def metric_profiles() -> dict[str, Profile]:
    return profiles(atlas())


@cache
def metric_answers() -> dict[tuple[str, Question], Answer]:
    return answers(atlas())


def slug(name: str) -> str:
    """The name of a page's file."""
    letters = name.lower().replace("+", "plus")
    return "".join(letter if letter.isalnum() else "-" for letter in letters).strip("-")


def speed_of(metric: str) -> str:
    """Texts per second; empty where they are unknown."""
    speed = metric_profiles()[metric].speed
    return "" if speed is None else f"{speed:,.0f}"


def leaderboard(folder: str = "") -> list[str]:
    """One table per task, with links to the pages of metrics in a folder, if given."""
    head = ("rank", "metric", "errors noticed", "harmless edits left alone", "fairness", "texts/s", "items")
    lines = ["", "## Which metric notices most", ""]
    for ranking in task_rankings():
        table = [leaderboard_cells(line, folder) for line in ranking.lines]
        lines += [f"### {ranking.task.capitalize()}", "", *markdown_table(head, table), ""]
        if ranking.panel:
            lines += [f"Use {ranking.panel}: {ranking.reason}.", ""]
        if ranking.unnoticed:
            lines += [f"Noticed by none: {', '.join(ranking.unnoticed)}.", ""]
    return lines


def leaderboard_cells(line: Line, folder: str) -> tuple[str, ...]:
    metric = line.metric
    return (
        "-" if line.rank is None else str(line.rank),
        f"[{metric}]({folder}/{slug(metric)}.md)" if folder else metric,
        percent(line.noticed),
        percent(line.steady),
        metric_profiles()[metric].fairness.words,
        speed_of(metric),
        str(atlas().about["metrics"][metric]["limit"]),
    )


def page() -> str:
    """The page of the repository."""
    facts = {"count": len(atlas().metrics), "version": atlas().about["assay"], "options": options_of(atlas())}
    return "\n".join([INTRODUCTION.format(**facts), *leaderboard(), *claim_lines(), ADD.format(**facts)])


# Pages of the site alone.


def metric_page(metric: str) -> str:
    """What one metric notices, what not, whom it is unfair to, with examples, cost, backbone, citation."""
    about, audits = atlas().about["metrics"][metric], audits_of(atlas())
    lines = [f"# {metric}", "", f"`{about['command']}`", "", *fact_lines(metric, about), ""]
    answered = [metric_answers()[metric, "fairness"], metric_answers()[metric, "robustness"]]
    lines += [f"- {answer.question}: {answer.words} ({answer.detail})" for answer in answered]
    lines += ["", *unfairness_lines(metric), *example_lines(metric)]
    own = outcomes().get(metric, {})
    sections = {"Errors it is blind to": "fail", "Harmless edits that move it": "over-sensitive",
                "Unknown": "inconclusive", "Errors it notices": "pass"}  # fmt: skip
    for title, wanted in sections.items():
        slices = sorted(
            place
            for place, outcome in own.items()
            if outcome == wanted and audits[place[0]].question == "robustness"
        )
        named = ", ".join(f"{slice_} ({audit})" for audit, slice_ in slices)
        lines += [f"## {title} ({len(slices)})", "", named or "None.", ""]
    return "\n".join([*lines, ""])


def fact_lines(metric: str, about: Mapping[str, Any]) -> list[str]:
    facts = {name: about.get(name) for name in ("paradigm", "backbone", "needs", "citation")}
    facts |= {"signature": f"`{about.get('signature')}`", "texts per second": speed_of(metric)}
    return [
        f"- {name}: {', '.join(value) if isinstance(value, list) else value}"
        for name, value in facts.items()
        if value
    ]


def unfairness_lines(metric: str) -> list[str]:
    """The failed checks of fairness, gravest first."""
    own = (row for row in rows_of(atlas()) if row["metric"] == metric)
    failed = gravest_failures(row for row in own if row.info.question == "fairness")
    sentences = [f"- {sentence(row)} ({interval(row)})" for row in failed]
    lines = ["## Unfair to whom", "", *sentences, ""]
    effect = metric_profiles()[metric].effect
    return lines if failed else [*lines, f"No slice failed. {effect[:1].upper()}{effect[1:]}", ""]


def example_lines(metric: str) -> list[str]:
    """The gravest findings with their texts, folded where they quote stereotypes."""
    spec = next(spec for spec, name in shown_names(load_atlas()).items() if name == metric)
    table, lines = atlas_table("examples").filter(pl.col("metric") == spec), ["## Examples", ""]
    for (audit, _), part in table.group_by("audit", "slice", maintain_order=True):
        first = part.row(0, named=True)
        texts = [f"reference: {html.escape(text)}" for text in first["references"] or ()]
        texts += [
            f"{html.escape(row['role'])}: {html.escape(row['text'])} ({number(row['score'])})"
            for row in part.iter_rows(named=True)
        ]
        is_fairness = audits_of(atlas())[str(audit)].question == "fairness"
        summary = WARNING if is_fairness else "Texts and scores"
        items = "".join(f"<li>{text}</li>" for text in texts)
        lines += [html.escape(first["sentence"]), ""]
        lines += [f"<details><summary>{summary}</summary><ul>{items}</ul></details>", ""]
    return lines if len(lines) > 2 else [*lines, "No finding failed.", ""]


def slices_by_edit() -> dict[str, list[Slice]]:
    """Kinds of edit by name, with their slices."""
    edits: dict[str, list[Slice]] = {}
    for audit, slice_ in sorted({(row["audit"], row["slice"]) for row in checks(atlas(), "robustness")}):
        name = slice_.split("/")[-1] if audit in ("stress", "checklist") else audit
        edits.setdefault(name, []).append((audit, slice_))
    return edits


def edit_page(name: str, slices: Sequence[Slice]) -> str:
    """Who notices one kind of edit, by task."""
    shown_by = f"`assay perturb {name} --text ...` shows it, if it is an edit of texts."
    table = []
    for metric in atlas().metrics:
        cells = [outcomes().get(metric, {}).get(place, "") for place in slices]
        if any(cells):
            table.append((f"[{metric}](../metrics/{slug(metric)}.md)", *cells))
    head = ("metric", *(f"{slice_} ({audit})" for audit, slice_ in slices))
    title = f"# {name.replace('-', ' ').capitalize()}"
    return "\n".join([title, "", shown_by, "", *markdown_table(head, table), ""])


def edits_page() -> str:
    """The list of edits, with the share of metrics and tasks that notice each."""
    lines = ["# Edits: who notices them", ""]
    for name, slices in slices_by_edit().items():
        known = outcomes_of(list(outcomes()), slices)
        noticed = percent(Share.of(known))
        lines.append(f"- [{name}](edits/{slug(name)}.md): noticed in {noticed} pairs of metric and task")
    return "\n".join([*lines, ""])


def panels_page() -> str:
    """The recommended panels per task under a cost budget."""
    aim = "The fewest metrics that together notice what can be noticed, among those that are fair and fast enough."
    head = ("budget", "panel", "kinds of error noticed")
    lines = ["# Panels", "", aim, ""]
    for ranking in task_rankings():
        table = panel_rows(ranking.task)
        lines += [f"## {ranking.task.capitalize()}", "", *markdown_table(head, table), ""]
    return "\n".join(lines)


def panel_rows(task: str) -> list[tuple[str, ...]]:
    """The panel for a task under each budget; none where no error was asked about."""
    fair = [name for name, audit in audits_of(atlas()).items() if audit.question == "fairness"]
    here = pl.col("slice").str.starts_with(f"{task}/") | pl.col("audit").is_in(fair)
    table = []
    for budget, slowest in BUDGETS.items():
        fast = [
            name
            for name, profile in metric_profiles().items()
            if slowest == 0 or (profile.speed or 0.0) >= slowest
        ]
        about = {**atlas().about, "metrics": {name: atlas().about["metrics"][name] for name in fast}}
        chosen = pl.col("metric").is_in(fast) & (here | pl.lit(task == EVERYTHING))
        try:
            panel = choose_panel(replace(atlas(), about=about, findings=atlas().findings.filter(chosen)))
        except AuditError:
            continue
        covered = f"{len(panel.covered)} of {len(panel.spots)}"
        table.append((budget, " + ".join(panel.members) or "none", covered))
    return table


def map_page() -> str:
    """Metrics on a plane: near where they fail to notice the same errors."""
    asked = [name for name in atlas().metrics if outcomes().get(name, {}).keys() & error_slices()]
    points, share = scaled(distances(asked))
    explanation = (
        f"Two metrics are near where they miss the same errors; the plane keeps {share:.0%} of the distances. "
        "Blue: surface metrics; green: static word vectors; brown: pretrained models and hybrids with them."
    )
    return f"# Map of metrics by shared blind spots\n\n{explanation}\n\n{drawn_map(asked, points)}\n"


def distances(metrics: Sequence[str]) -> np.ndarray:
    """Of the errors that either of two metrics misses, the share that one of them notices."""

    def distance(first: str, second: str) -> float:
        if first == second:
            return 0.0
        return 1.0 - blind_together(outcomes()[first], outcomes()[second], error_slices()).value

    return np.array([[distance(first, second) for second in metrics] for first in metrics])


def scaled(distance: np.ndarray) -> tuple[np.ndarray, float]:
    """Points on a plane by classical scaling, and the share of the distances that they keep."""
    count = len(distance)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    largest = np.maximum(values[::-1][:2], 0.0)
    return vectors[:, ::-1][:, :2] * np.sqrt(largest), float(largest.sum() / np.maximum(values, 0).sum())


def drawn_map(metrics: Sequence[str], points: np.ndarray) -> str:
    """The points as SVG, each name moved down until it covers no other."""
    low, high = points.min(axis=0), points.max(axis=0)
    places = 40 + (points - low) / np.maximum(high - low, 1e-9) * np.array([760.0, 520.0])
    static, surface = static_metrics(), surface_metrics()
    marks: list[str] = []
    labels: list[tuple[float, float]] = []
    for metric, (x, y) in sorted(zip(metrics, places, strict=True), key=lambda pair: pair[1][1]):
        level = y
        while any(abs(level - other) < 12 and abs(x - left) < 170 for left, other in labels):
            level += 12
        labels.append((x, level))
        colour = "#2f855a" if metric in static else "#2b6cb0" if metric in surface else "#b5651d"
        marks += [
            f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{x + 6:.0f}" y2="{level:.0f}" stroke="{colour}" stroke-width=".5"/>',
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="4" fill="{colour}"/>',
            f'<text x="{x + 7:.0f}" y="{level + 4:.0f}" font-size="11" fill="currentColor">{html.escape(metric)}</text>',
        ]
    height = max(600, int(max(level for _, level in labels)) + 30)
    label = 'role="img" aria-label="Map of metrics by shared blind spots"'
    return f'<svg viewBox="0 0 1000 {height}" {label} width="100%">{"".join(marks)}</svg>'


def site_pages() -> dict[str, str]:
    """Every page that the site has beside docs/atlas.md, by its place."""
    pages = {f"atlas/metrics/{slug(metric)}.md": metric_page(metric) for metric in atlas().metrics}
    for name, slices in slices_by_edit().items():
        pages[f"atlas/edits/{slug(name)}.md"] = edit_page(name, slices)
    pages |= {"atlas/edits.md": edits_page(), "atlas/panels.md": panels_page(), "atlas/map.md": map_page()}
    pages["atlas/metrics.md"] = "\n".join(["# Metrics, one page each", *leaderboard("metrics")])
    return pages


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the atlas to the site (a hook of mkdocs)."""
    from mkdocs.structure.files import File, InclusionLevel

    for path, text in site_pages().items():
        files.append(File.generated(config, path, content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link the generated pages from the page of the atlas."""
    if page.file.src_uri != "atlas.md":
        return markdown
    links = {
        "metrics": "one page per metric",
        "edits": "who notices which edit",
        "panels": "panels under a cost budget",
        "map": "a map of shared blind spots",
    }
    more = "\n".join(f"- [{what}](atlas/{name}.md)" for name, what in links.items())
    return markdown.replace("**Your metric beside them.**", f"{more}\n\n**Your metric beside them.**", 1)


if __name__ == "__main__":
    (FOLDER / "atlas.md").write_text(page(), "utf-8")
