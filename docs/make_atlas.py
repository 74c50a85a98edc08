"""Write docs/atlas.md from the atlas that the package ships; and, as a hook of the site, a page for each metric and edit.

`python docs/make_atlas.py` writes the page of the repository. mkdocs calls `on_files`, which adds the other pages to the
site: they are made from the same tables and stand nowhere else. The claims are in `docs/atlas_claims.py`.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from atlas_claims import atlas, claim_lines, outcomes, static_metrics, surface_metrics, task_rankings

from assay.core import Estimate
from assay.reading.answers import answers, subject_of
from assay.reading.atlas import blind_together, options_of
from assay.reading.lines import EVERYTHING, Line, counted, listed, unfair_to, with_interval
from assay.reading.names import shown_names
from assay.reading.shipped import atlas_table, load_atlas
from assay.reading.text import amount, interval, number
from assay.reading.verdicts import Slice, audits_of, checks
from assay.report.plain import markdown_table

FOLDER = Path(__file__).parent
PICTURE = "atlas-prices.svg"
PICTURE_STYLE = (
    "text{fill:#1c2026}circle{fill:#1a56b0}.line,.front{fill:none;stroke:#8a8f98}.front{stroke:#c8102e;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#e7eaee}circle{fill:#8ab8ff}.front{stroke:#ff8d98}}"
)
LEADERBOARD = (
    "rank", "metric", "errors", "rewordings", "other words", "form", "people", "unfair to (+ above others, - below them, in lost words)",
)  # fmt: skip
WARNING = (
    "Examples of unfairness quote stereotypes, which are offensive. Open them only if you want to read them."
)

INTRODUCTION = """# The atlas

Written by `python docs/make_atlas.py`.

How {count} metrics decide between texts, and whom they treat worse, measured on the English texts that come with assay
{version}. Each metric can be measured again: `assay audit -m METRIC {options}` (some with other options, as their pages say).
The numbers ship with the package: `assay atlas` prints them, and `assay.data/atlas` has them as Parquet tables
(findings, decisions, cost, examples) with the versions and signatures they were made with.

**Your metric beside them.** `assay atlas -m length_ratio.py:LengthRatio` measures a metric and says where it stands in each
task, which metrics share its blind spots and what only it notices.

**How to read it.** Numbers are right decisions of 100, with half the width of their 95% intervals; 50 is a coin ([What does
"84 of 100" mean?](reading.md)). *Errors*: a clean text against one with an error of meaning, one reference held out. *Rewordings*:
a sound rewording against the same error. *Other words*: a text that is right in quite other words against a false one in nearly
the same. *Form*: errors of form. *People*: of two texts that people rate differently, on public sets ([Human
ratings](human-ratings.md)). Metrics are ranked by the mean of errors, rewordings and, where all have it, people, on the
decisions that all of them made; metrics of one rank are tied. Whether this order is right is a question of its own: [Is the atlas right?](validity.md) Every metric on a pretrained
model is shown with it: `bertscore-f [minilm]` says nothing of BERTScore on roberta-large.
"""

ADD = """## Add your metric

1. `assay audit -m mine.py:Mine {options} --out mine` on a released version of assay.
2. `assay atlas --check mine` says what stands in the way: other options, audits that were not run, a name that is taken.
3. Send the folder in a pull request, in `bench/contributed/`, with the file of the metric. `make atlas` adds it to the tables.

What is measured here, and with what, stands in `bench/atlas.toml`, and which of its groups this atlas has; `make atlas` runs
them all (hours on two cores, and it can be stopped and started again at any time).
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
    lines = ["", "## Which metric decides best", ""]
    for ranking in task_rankings():
        lines += [f"### {ranking.name.capitalize()}", "", f"**{ranking.advice}.** {ranking.reason}", ""]
        if table := [leaderboard_cells(line, folder) for line in ranking.ranked]:
            lines += [f"{counted(ranking)}.", "", *without_empty_columns(LEADERBOARD, table), ""]
        if ranking.unnoticed:
            lines += [f"Every ranked metric is blind to {listed(ranking.unnoticed)}.", ""]
    return [*lines, *unranked()]


def without_empty_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table without the columns in which nothing stands: each that is left fits a phone better."""
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    return markdown_table([head[place] for place in kept], [[row[place] for place in kept] for row in rows])


def unranked() -> list[str]:
    """The metrics that stand in no table, and why."""
    apart = [line for line in task_rankings()[0].lines if line.rank is None]
    alone = sorted(line.metric for line in apart if line.reads_text_alone)
    made_for = {line.metric: " and ".join(line.made_for) for line in apart if line.made_for}
    others = sorted(line.metric for line in apart if not line.reads_text_alone and not line.made_for)
    lines = ["### Not ranked", ""]
    if alone:
        lines += [f"They read a text alone, and cannot know what in it is false: {', '.join(alone)}.", ""]
    if made_for:
        named = ", ".join(
            f"{metric} ({tasks.replace('-', ' ')})" for metric, tasks in sorted(made_for.items())
        )
        lines += [f"They were made for one task, and stand in its table alone: {named}.", ""]
    if others:
        lines += [
            f"They read whole sets, other inputs or too few items to be compared: {', '.join(others)}.",
            "",
        ]
    return lines if apart else []


def leaderboard_cells(line: Line, folder: str) -> tuple[str, ...]:
    metric = line.metric
    nobody = "unknown" if line.fairness.is_unsettled else "nobody found"
    numbers = (line.errors, line.reworded, line.contrast, line.form, line.people)
    return (
        str(line.rank), f"[{metric}]({folder}/{slug(metric)}.md)" if folder else metric,
        *map(with_half_width, numbers), unfair_to(line, 1) or nobody * bool(line.fairness.settled),
    )  # fmt: skip


def with_half_width(estimate: Estimate | None) -> str:
    """Right order with half the width of its interval: `84 ±2`."""
    if estimate is None or estimate.ci is None:
        return ""
    return f"{estimate.value:.0f} ±{(estimate.ci[1] - estimate.ci[0]) / 2:.0f}"


def page() -> str:
    """The page of the repository."""
    facts = {"count": len(atlas().metrics), "version": atlas().about["assay"], "options": options_of(atlas())}
    return "\n".join([
        INTRODUCTION.format(**facts), *leaderboard(), prices(), *claim_lines(), ADD.format(**facts)
    ])  # fmt: skip


# What fairness costs.


@dataclass(frozen=True, slots=True)
class Price:
    """How well a metric decides, and of 100 questions of fairness how many it fails."""

    metric: str
    merit: float
    unfair: float

    def beats(self, other: Price) -> bool:
        """Whether it is at least as good in both, and better in one."""
        is_as_good = self.merit >= other.merit and self.unfair <= other.unfair
        return is_as_good and (self.merit, self.unfair) != (other.merit, other.unfair)


@cache
def priced() -> tuple[list[Price], list[Price]]:
    """Every ranked metric with its price, and those that no other beats in both, the fairest first."""
    asked = [line for line in task_rankings()[0].ranked if line.fairness.total]
    every = [
        Price(line.metric, line.merit, 100 * line.fairness.count("fail") / line.fairness.total)
        for line in asked
    ]
    front = [price for price in every if not any(other.beats(price) for other in every)]
    return every, sorted(front, key=lambda price: (price.unfair, -price.merit))


def prices() -> str:
    """The section on what fairness costs, with the picture."""
    _, front = priced()
    rows = [(price.metric, f"{price.merit:.0f}", f"{price.unfair:.0f}") for price in front]
    head = ("metric", "right decisions of 100", "unfair in, of 100 questions")
    return "\n".join([
        "## What fairness costs", "",
        "To the right: metrics that are unfair to more groups, words and pairs of words. Upwards: metrics that decide rightly",
        "more often, over all tasks. The line joins those that no other metric beats in both.", "",
        f"![Right decisions against unfairness, one point per metric]({PICTURE})", "",
        *markdown_table(head, rows), "",
    ])  # fmt: skip


def picture() -> str:
    """Right decisions against unfairness as SVG; names stand beside the metrics that no other beats."""
    every, front = priced()
    width, height, left, below = 760, 420, 56, 44
    most = max([1.0, *(price.unfair for price in every)])
    lowest, highest = 50.0, max([80.0, *(price.merit for price in every)]) + 2

    def at(price: Price) -> tuple[float, float]:
        across = left + (width - left - 150) * price.unfair / most
        up = (min(max(price.merit, lowest), highest) - lowest) / (highest - lowest)
        return round(across, 1), round(height - below - (height - below - 16) * up, 1)

    marks = []
    for price in every:
        x, y = at(price)
        marks.append(f'<circle cx="{x}" cy="{y}" r="4"><title>{html.escape(price.metric)}</title></circle>')
    path = " ".join(f"{x},{y}" for x, y in map(at, front))
    names = []
    level = 0.0
    for price in reversed(front):
        x, y = at(price)
        level = max(y, level + 14)  # no name covers another
        names.append(f'<text x="{x + 8}" y="{level + 4}">{html.escape(price.metric)}</text>')
    ticks = [
        f'<text x="8" y="{at(Price("", merit, 0))[1] + 4}">{merit:.0f}</text>'
        for merit in range(50, int(highest), 10)
    ]
    axis = f'<text x="{left + 8}" y="18">right decisions of 100</text>'
    axis += f'<text x="{left}" y="{height - 10}">fair</text>'
    axis += f'<text x="{width - 330}" y="{height - 10}">unfair in {most:.0f} of 100 questions →</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
        f"<style>{PICTURE_STYLE}</style>"
        f'<path d="M{left} 10V{height - below}H{width - 150}" class="line"/><polyline points="{path}" class="front"/>'
        f"{''.join([*marks, *names, *ticks, axis])}</svg>\n"
    )


# Pages of the site alone.


def metric_page(metric: str) -> str:
    """What one metric decides rightly and what not, whom it is unfair to, with examples, cost, backbone, citation."""
    about = atlas().about["metrics"][metric]
    lines = [f"# {metric}", "", f"`{about['command']}`", "", *fact_lines(metric, about), ""]
    return "\n".join([*lines, *decision_lines(metric), *unfairness_lines(metric), *example_lines(metric), ""])


def decision_lines(metric: str) -> list[str]:
    """Right decisions by task, and the kinds of error that the metric is blind to."""
    rows, blind = [], []
    for ranking in task_rankings():
        line = next(line for line in ranking.lines if line.metric == metric)
        numbers = (line.errors, line.reworded, line.contrast, line.form, line.people)
        cells = [with_interval(each) for each in numbers]
        if any(cells) or line.kinds.tried:
            rows.append((ranking.name, *cells, f"{len(line.kinds.blind)} of {line.kinds.tried}"))
        if line.kinds.blind and ranking.task != EVERYTHING:
            blind.append(f"- {ranking.name}: {', '.join(line.kinds.blind)}")
    head = ("right of 100", *LEADERBOARD[2:7], "blind to, kinds of error")
    table = ["## How often it decides rightly", "", *without_empty_columns(head, rows), ""] if rows else []
    return [*table, *(["## Blind to", "", *blind, ""] if blind else [])]


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
    if not answer.total:
        return []
    head = ("who or what", "of what", "size", "95% interval", "explained by")
    rows = [
        (subject_of(row), row["slice"].partition("/")[0].replace("-", " "), amount(row["value"], row.declared),
         interval(row).removeprefix("95% CI "), row["because"] or "")
        for row in sorted(answer.failures, key=lambda row: "/word/" in row["slice"])
    ]  # fmt: skip
    table = [*without_empty_columns(head, rows), ""] if rows else []
    settled = f"{answer.settled} of {answer.total} questions of fairness are settled."
    return ["## Unfair to", "", *table, settled if rows else f"Nobody was found; {settled}", ""]


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
    return lines if len(lines) > 2 else []


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
    (FOLDER / PICTURE).write_text(picture(), "utf-8")
