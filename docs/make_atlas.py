"""Write docs/atlas.md from the atlas that the package ships; and, as a hook of the site, a page for each metric and edit.

`python docs/make_atlas.py` writes the page of the repository. mkdocs calls `on_files`, which adds the other pages to the
site: they are made from the same tables and stand nowhere else. The claims are in `docs/atlas_claims.py`.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from atlas_claims import atlas, claim_lines, outcomes, static_metrics, surface_metrics, task_rankings

from assay.reading.answers import Slice, answers
from assay.reading.atlas import blind_together, options_of
from assay.reading.lines import Line, caption, table_rows, unfair_to, with_interval
from assay.reading.names import shown_names
from assay.reading.shipped import atlas_table, load_atlas
from assay.reading.text import interval, number, sentence
from assay.reading.verdicts import audits_of, checks
from assay.report.plain import markdown_table

FOLDER = Path(__file__).parent
WARNING = (
    "Examples of unfairness quote stereotypes, which are offensive. Open them only if you want to read them."
)

INTRODUCTION = """# The atlas

Written by `python docs/make_atlas.py`.

How {count} metrics decide between texts, and whom they treat worse, measured on the embedded English texts with assay
{version}. Each metric can be measured again: `assay audit -m METRIC {options}` (some with other options, as their pages say).
The numbers ship with the package: `assay atlas` prints them, and `assay.data/atlas` has them as Parquet tables
(findings, decisions, cost, examples) with the versions and signatures they were made with.

**Your metric beside them.** `assay atlas -m length_ratio.py:LengthRatio` measures a metric and says where it stands in each
task, which metrics share its blind spots and what only it notices. `assay compare RUN --atlas` does so for a run that you have.

**How to read it.** Numbers are right decisions of 100; 50 is a coin ([What does "84 of 100" mean?](reading.md)). *Errors*: a clean
text against one with an error of meaning, one reference held out. *Rewordings*: a sound rewording against the same error.
*Other words*: a text that is right in quite other words against a false one in nearly the same. *Form*: errors of form.
*People*: of two texts that people rate differently on public sets ([Human ratings](human-ratings.md)). Metrics are ranked by
the mean of errors, rewordings and, where all have it, people, on the decisions that all of them made; metrics of one rank
are tied. Whether this order is right is a question of its own: [Is the atlas right?](validity.md) Every metric on a pretrained
model is shown with it: `bertscore-f [minilm]` says nothing of BERTScore on roberta-large.
"""

ADD = """## Add your metric

1. `assay audit -m mine.py:Mine {options} --out mine` on a released version of assay.
2. `assay atlas --check mine` says what stands in the way: other options, audits that were not run, a name that is taken.
3. Send the folder in a pull request, in `bench/contributed/`, with the file of the metric. `make atlas` adds it to the tables.

What is measured here, and with what, stands in `bench/atlas.toml`; `make atlas` runs it (hours on two cores, and it can be
stopped and started again at any time).
"""


def slug(name: str) -> str:
    """The name of a page's file."""
    letters = name.lower().replace("+", "plus")
    return "".join(letter if letter.isalnum() else "-" for letter in letters).strip("-")


@cache
def speeds() -> dict[str, float | None]:
    """Texts per second of each metric."""
    names = shown_names(load_atlas())
    return {
        names[metric]: speed for metric, _, _, speed in atlas_table("cost").iter_rows() if metric in names
    }


def leaderboard(folder: str = "") -> list[str]:
    """One table per task, with links to the pages of metrics in a folder, if given."""
    head = ("rank", "metric", "errors", "rewordings", "other words", "form", "people", "unfair to, in lost words",
            "texts/s")  # fmt: skip
    lines = ["", "## Which metric decides best", ""]
    for ranking in task_rankings():
        compared = [line for line in ranking.lines if line.rank is not None]
        table = [leaderboard_cells(line, folder) for line in compared]
        lines += [f"### {ranking.task.replace('-', ' ').capitalize()}", "", f"{caption(ranking)}.", ""]
        lines += [*markdown_table(head, table), "", f"{ranking.advice}. {ranking.reason}", ""]
        if ranking.unnoticed:
            lines += [f"Every metric is blind to: {', '.join(ranking.unnoticed)}.", ""]
    apart = sorted(line.metric for line in task_rankings()[0].lines if line.rank is None)
    if apart:
        lines += [
            f"Not ranked, since they read a text alone, whole sets or few items: {', '.join(apart)}.",
            "",
        ]
    return lines


def leaderboard_cells(line: Line, folder: str) -> tuple[str, ...]:
    metric = line.metric
    speed = speeds().get(metric)
    nobody = f"nobody found ({line.fairness.settled} of {line.fairness.total} settled)"
    return (
        str(line.rank), f"[{metric}]({folder}/{slug(metric)}.md)" if folder else metric,
        with_interval(line.errors), with_interval(line.reworded), with_interval(line.contrast),
        with_interval(line.form), with_interval(line.people),
        unfair_to(line) or (nobody if line.fairness.total else ""), "" if speed is None else f"{speed:,.0f}",
    )  # fmt: skip


def page() -> str:
    """The page of the repository."""
    facts = {"count": len(atlas().metrics), "version": atlas().about["assay"], "options": options_of(atlas())}
    return "\n".join([
        INTRODUCTION.format(**facts), *leaderboard(), front_of_prices(), *claim_lines(), ADD.format(**facts)
    ])  # fmt: skip


def front_of_prices() -> str:
    """Who decides well at which price: the metrics that no other beats in both."""
    ranked = [line for line in task_rankings()[0].lines if line.rank is not None and line.fairness.total]
    priced = [(line.merit, len(line.unfair), line.metric) for line in ranked]
    front = [
        (merit, unfair, metric)
        for merit, unfair, metric in priced
        if not any(m >= merit and u <= unfair and (m, u) != (merit, unfair) for m, u, _ in priced)
    ]
    lines = [
        "## What fairness costs",
        "",
        "The metrics that no other beats both in decisions and in fairness:",
        "",
    ]
    rows = [(metric, f"{merit:.0f}", str(unfair)) for merit, unfair, metric in sorted(front)]
    head = ("metric", "right decisions of 100", "groups, words and tests it is unfair to")
    return "\n".join([*lines, *markdown_table(head, rows), ""])


# Pages of the site alone.


def metric_page(metric: str) -> str:
    """What one metric decides rightly and what not, whom it is unfair to, with examples, cost, backbone, citation."""
    about = atlas().about["metrics"][metric]
    lines = [f"# {metric}", "", f"`{about['command']}`", "", *fact_lines(metric, about), ""]
    rows = []
    for ranking in task_rankings():
        rows += [{"task": ranking.task} | row for row in table_rows(ranking) if row["metric"] == metric]
    if rows:
        lines += [*markdown_table(list(rows[0]), [list(row.values()) for row in rows]), ""]
    lines += [*unfairness_lines(metric), *example_lines(metric)]
    own = outcomes().get(metric, {})
    titles = {"Errors it is blind to": "fail", "Unknown": "inconclusive", "Errors it notices": "pass"}
    for title, wanted in titles.items():
        slices = sorted(place for place, outcome in own.items() if outcome == wanted)
        named = ", ".join(f"{slice_} ({audit})" for audit, slice_ in slices)
        lines += [f"## {title} ({len(slices)})", "", named or "None.", ""]
    return "\n".join([*lines, ""])


def fact_lines(metric: str, about: Mapping[str, Any]) -> list[str]:
    facts = {name: about.get(name) for name in ("paradigm", "backbone", "needs", "citation")}
    speed = speeds().get(metric)
    facts |= {
        "signature": f"`{about.get('signature')}`",
        "texts per second": f"{speed:,.0f}" if speed else "",
    }
    return [
        f"- {name}: {', '.join(value) if isinstance(value, list) else value}"
        for name, value in facts.items()
        if value
    ]


def unfairness_lines(metric: str) -> list[str]:
    """The failed checks of fairness, gravest first."""
    answer = answers(atlas())[metric, "fairness"]
    sentences = [f"- {sentence(row)} ({interval(row)})" for row in answer.failures]
    lines = ["## Unfair to whom", "", *sentences, *([""] if sentences else [])]
    return [*lines, f"{answer.words[:1].upper()}{answer.words[1:]}: {answer.detail}.", ""]


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
    """The list of edits, with how often each is noticed."""
    lines = ["# Edits: who notices them", ""]
    for name, slices in slices_by_edit().items():
        settled = [own[place] for own in outcomes().values() for place in slices if place in own]
        noticed = f"{settled.count('pass')} of {len(settled)}"
        lines.append(f"- [{name}](edits/{slug(name)}.md): noticed in {noticed} pairs of metric and task")
    return "\n".join([*lines, ""])


def map_page() -> str:
    """Metrics on a plane: near where they fail to notice the same errors."""
    asked = [name for name in atlas().metrics if outcomes().get(name)]
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
        near = blind_together(outcomes()[first], outcomes()[second], second)
        return 1.0 - near.share if near.either else 1.0

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
    pages |= {"atlas/edits.md": edits_page(), "atlas/map.md": map_page()}
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
        "map": "a map of shared blind spots",
    }
    more = "\n".join(f"- [{what}](atlas/{name}.md)" for name, what in links.items())
    return markdown.replace("**Your metric beside them.**", f"{more}\n\n**Your metric beside them.**", 1)


if __name__ == "__main__":
    (FOLDER / "atlas.md").write_text(page(), "utf-8")
