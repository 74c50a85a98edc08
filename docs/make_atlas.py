"""Write docs/atlas.md from the atlas that the package ships; and, as a hook of the site, a page for each metric and edit.

`python docs/make_atlas.py` writes the page of the repository. mkdocs calls `on_files`, which adds the other pages to the
site: they are made from the same tables and stand nowhere else.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay.errors import AuditError
from assay.report.answers import Outcome, Slice, answers, slice_outcomes
from assay.report.atlas import atlas_table, blind_together, load_atlas, options_of
from assay.report.names import shown
from assay.report.panel import choose_panel, error_checks
from assay.report.plain import markdown_table
from assay.report.ranking import EVERYTHING, Profile, Share, profiles, rankings
from assay.report.text import interval, number, sentence
from assay.report.verdicts import Row, audits_of, checks, gravest_failures, rows_of
from assay.run.results import Run

FOLDER = Path(__file__).parent
DRAWS = 2000  # of the slices, for the interval of a difference of shares
BUDGETS = {"any cost": 0.0, "at least 200 texts per second": 200.0, "at least 1,000 texts per second": 1000.0}
WARNING = (
    "Examples of unfairness quote stereotypes, which are offensive. Open them only if you want to read them."
)

INTRODUCTION = """# The atlas

Written by `python docs/make_atlas.py`.

What {count} metrics notice, what they miss and whom they treat worse, measured on the embedded texts with assay {version}.
Each metric can be measured again: `assay audit -m METRIC {options}` (dearer ones with fewer items, as the tables say).
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
def atlas() -> Run:
    return shown(load_atlas())


@cache
def outcomes() -> dict[str, dict[Slice, Outcome]]:
    return slice_outcomes(checks(atlas()))


@cache
def errors() -> frozenset[Slice]:
    return frozenset((row["audit"], row["slice"]) for row in error_checks(atlas()))


@cache
def known() -> dict[str, Profile]:
    return profiles(atlas())


def percent(share: Share) -> str:
    if not share.total:
        return ""
    low, high = share.ends
    return f"{share.value:.0%} [{100 * low:.0f}, {100 * high:.0f}] of {share.total}"


def slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower().replace("+", "plus")).strip(
        "-"
    )


def linked(name: str, folder: str) -> str:
    return f"[{name}]({folder}/{slug(name)}.md)" if folder else name


def leaderboard(folder: str = "") -> list[str]:
    """One table per task."""
    lines = ["", "## Which metric notices most", ""]
    for ranking in rankings(atlas()):
        lines += [f"### {ranking.task.capitalize()}", ""]
        rows = []
        for line in ranking.lines:
            profile, about = known()[line.metric], atlas().about["metrics"][line.metric]
            speed = "" if profile.speed is None else f"{profile.speed:,.0f}"
            cells = (str(line.rank), linked(line.metric, folder), percent(line.noticed), percent(line.steady))
            rows.append((*cells, profile.fairness.words, speed, str(about["limit"])))
        head = (
            "rank",
            "metric",
            "errors noticed",
            "harmless edits left alone",
            "fairness",
            "texts/s",
            "items",
        )
        lines += [*markdown_table(head, rows), ""]
        if ranking.panel:
            lines += [f"Use {ranking.panel}: {ranking.reason}.", ""]
        if ranking.unnoticed:
            lines += [f"Noticed by none: {', '.join(ranking.unnoticed)}.", ""]
    return lines


# Claims of the five papers, each with a rule that says what would support or contradict it.


def group(*paradigms: str) -> list[str]:
    about = atlas().about["metrics"]
    return [metric for metric in atlas().metrics if about[metric].get("paradigm") in paradigms]


def pretrained() -> list[str]:
    """Metrics that compare a text with references by a pretrained encoder, hybrids apart."""
    return [m for m in atlas().metrics if m.startswith(("bertscore-", "sentence-cosine"))]


def surface() -> list[str]:
    about = atlas().about["metrics"]
    return [m for m in atlas().metrics if not about[m].get("backbone") and m not in static() and "+" not in m]


def static() -> list[str]:
    return [m for m in atlas().metrics if m.split(" ")[0] in STATIC]


STATIC = ("embedding-average", "vector-extrema", "greedy-matching", "wmd", "wmd-relaxed", "sms")


def difference(
    first: Sequence[str], second: Sequence[str], places: Sequence[Slice], good: str = "pass"
) -> tuple[float, float, float]:
    """Mean over slices of the share of the first metrics that come out so minus that of the second, with its interval."""

    def share(metrics: Sequence[str], place: Slice) -> float | None:
        listed = [outcomes()[m][place] for m in metrics if place in outcomes().get(m, {})]
        listed = [outcome for outcome in listed if outcome != "insensitive"]
        return sum(outcome == good for outcome in listed) / len(listed) if listed else None

    pairs = [(share(first, place), share(second, place)) for place in sorted(places)]
    gaps = np.array([a - b for a, b in pairs if a is not None and b is not None])
    if not gaps.size:
        return np.nan, np.nan, np.nan
    draws = np.random.default_rng(0).choice(gaps, (DRAWS, len(gaps))).mean(axis=1)
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(gaps.mean()), float(low), float(high)


def verdict(low: float, high: float) -> str:
    if np.isnan(low):
        return "not measured"
    return "supported" if low > 0 else "contradicted" if high < 0 else "not settled"


def rows(audit: str, statistic: str, metric: str | None = None) -> list[Row]:
    named = [row for row in rows_of(atlas()) if (row["audit"], row["statistic"]) == (audit, statistic)]
    return [row for row in named if metric in (None, row["metric"])]


def figure(row: Row) -> str:
    low, high = number(row["ci_low"]), number(row["ci_high"])
    return f"{row['metric']} {number(row['value'])} [{low}, {high}] ({row['slice']}, {row['verdict']})"


def bracket(estimate: tuple[float, float, float], unit: str = " points") -> str:
    value, low, high = (100 * number_ for number_ in estimate)
    return f"{value:+.0f} [{low:.0f}, {high:.0f}]{unit}"


def fairer() -> tuple[str, str]:
    judged = {(r["audit"], r["slice"]) for r in checks(atlas(), "fairness")}
    estimate = difference(pretrained(), surface(), sorted(judged), good="fail")
    counts = {name: (sum(o == "fail" for m in ms for p, o in outcomes().get(m, {}).items() if p in judged),
                     sum(p in judged for m in ms for p in outcomes().get(m, {})))
              for name, ms in (("pretrained", pretrained()), ("surface", surface()))}  # fmt: skip
    said = "; ".join(
        f"{name}: {bad} of {total} fairness slices failed" for name, (bad, total) in counts.items()
    )
    return verdict(*estimate[1:]), f"{said}; difference of the shares {bracket(estimate)}."


def blinder() -> tuple[str, str]:
    estimate = difference(pretrained(), surface(), sorted(errors()))
    return verdict(
        *estimate[1:]
    ), f"share of errors noticed, pretrained minus surface metrics: {bracket(estimate)}."


def of_rows(listed: Sequence[Row], is_so: Callable[[Row], str]) -> tuple[str, str]:
    votes = [is_so(row) for row in listed]
    if not votes:
        return "not measured", "no metric here was asked."
    answer = (
        "supported"
        if "yes" in votes and "no" not in votes
        else "contradicted"
        if "no" in votes and "yes" not in votes
        else "mixed"
    )
    answer = "not settled" if set(votes) == {"unknown"} else answer
    return answer, "; ".join(figure(row) for row in listed) + "."


def above(row: Row, margin: float = 0.0) -> str:
    if row["ci_low"] is None:
        return "unknown"
    return "yes" if row["ci_low"] > margin else "no" if row["ci_high"] < margin else "unknown"


def share_noticing(name: str, metrics: Sequence[str]) -> tuple[list[Slice], Share]:
    places = [place for place in sorted(errors()) if name in place[1].split("/")]
    listed = [outcomes()[m][p] for m in metrics for p in places if p in outcomes().get(m, {})]
    return places, Share(sum(o == "pass" for o in listed), sum(o == "fail" for o in listed), len(listed))


def truncation() -> tuple[str, str]:
    listed = [
        r for r in rows("truncation-direction", "direction_change") if r["metric"].startswith("bertscore-p")
    ]
    return of_rows(listed, above)


def directions() -> tuple[str, str]:
    names = [[m for m in atlas().metrics if m.startswith(f"bertscore-{way}")][:1] for way in "rp"]
    places = [
        p for p in sorted(errors()) if p[0] in ("stress", "truncation-direction", "checklist", "repetition")
    ]
    dropped = [p for p in places if any(word in p[1] for word in ("truncation", "drop", "removal"))]
    estimate = difference(*names, dropped)
    said = f"share of {len(dropped)} omissions noticed, recall minus precision of BERTScore: {bracket(estimate)}."
    return verdict(*estimate[1:]), said


def perplexity(audit: str, statistic: str) -> tuple[str, str]:
    listed = [r for r in rows(audit, statistic) if r["metric"].startswith("gpt-ppl")]
    return of_rows(listed, above)


def single() -> tuple[str, str]:
    first = rankings(atlas())[0]
    asked = [line for line in first.lines if line.noticed.total >= 50]
    best = max(asked, key=lambda line: line.noticed.value)
    panel = choose_panel(atlas())
    whole = f"the smallest fair panel has {len(panel.members)} metrics and notices {len(panel.covered)} of {len(panel.spots)}"
    answer = (
        "supported"
        if best.noticed.ends[1] < 1.0 and best.noticed.good < best.noticed.total
        else "contradicted"
    )
    return answer, f"the best, {best.metric}, notices {percent(best.noticed)} kinds of error; {whole}."


def order() -> tuple[str, str]:
    _, share = share_noticing("sentence-switching", pretrained() + surface())
    low, high = share.ends
    return verdict(
        0.5 - high, 0.5 - low
    ), f"sentence switching is noticed in {percent(share)} pairs of metric and task; below half supports it."


def negation() -> tuple[str, str]:
    metrics = [m for m in atlas().metrics if m.startswith(("bertscore-f [", "sentence-cosine ["))]
    listed = []
    for metric in metrics:
        own = {r["slice"]: r for r in rows("checklist", "score_change", metric)}
        for slice_, row in own.items():
            typo = own.get(
                slice_.rpartition("/")[0].replace("correctness", "fluency") + "/typo-swap"
            ) or own.get(f"{slice_.split('/')[0]}/fluency/typo-swap")
            if slice_.endswith("/negate") and typo and row["value"] < 0:
                listed.append((metric, slice_.split("/")[0], typo["value"] / row["value"]))
    ratios = sorted(ratio for *_, ratio in listed)
    if not ratios:
        return "not measured", "no metric here was asked."
    middle = float(np.median(ratios))
    draws = np.median(np.random.default_rng(0).choice(ratios, (DRAWS, len(ratios))), axis=1)
    low, high = np.quantile(draws, (0.025, 0.975))
    return (
        verdict(low - 1, high - 1),
        f"a typing error costs {middle:.1f} times [{low:.1f}, {high:.1f}] what a negation does (median over {len(ratios)} tasks and metrics).",
    )


def stereotypes() -> tuple[str, str]:
    listed = [
        r for r in rows("association", "effect_size") if r["slice"] == "weat6" and r["metric"] in static()
    ]
    return of_rows(listed, above)


def harmless() -> tuple[str, str]:
    places = {(r["audit"], r["slice"]) for r in checks(atlas(), "robustness")} - errors()
    listed = [o for m in outcomes() for p, o in outcomes()[m].items() if p in places and o != "insensitive"]
    bad = Share(sum(o == "over-sensitive" for o in listed), sum(o == "steady" for o in listed), len(listed))
    return (
        ("supported" if bad.good else "contradicted"),
        f"{percent(bad)} pairs of metric and harmless edit surely move by more than 5% of the gap; {sum(o == 'steady' for o in listed)} surely do not.",
    )


CLAIMS: tuple[tuple[str, str, Callable[[], tuple[str, str]]], ...] = (
    ("Metrics on pretrained models are less fair than n-gram metrics", "unfair, table 1", fairer),
    ("N-gram metrics notice fewer errors than metrics on pretrained models", "checklist, section 5", blinder),
    ("No single metric notices every error; a panel is needed", "blind, section 6; checklist, section 6", single),
    ("Precision rises as texts are cut off", "blind, section 5.5", truncation),
    ("The direction matters: recall notices omissions that precision misses", "blind, section 5.5; unfair, figure 5", directions),
    ("A language model's perplexity prefers strings of frequent n-grams to real texts", "blind, section 5.3", lambda: perplexity("frequent-ngram", "frequent_gain")),
    ("Switched sentences go unnoticed", "blind, section 5.5", order),
    ("A typing error costs more than a negation", "checklist, section 5", negation),
    ("Word vectors put men closer to career and women to family", "assoc, table 3", stereotypes),
    ("Harmless edits move scores that should stay", "checklist, section 5", harmless),
)  # fmt: skip


def claims() -> list[str]:
    lines = [
        "", "## What the papers found, on these metrics", "",
        "Each claim has a rule: *supported* or *contradicted* where the whole 95% interval says so, *not settled* where it does "
        "not, *mixed* where rows disagree. The numbers are those of the small models measured here, not of the papers' models.", "",
    ]  # fmt: skip
    for place, (claim, source, rule) in enumerate(CLAIMS, 1):
        answer, numbers = rule()
        lines += [f"{place}. **{claim}** ({source}): **{answer}.** {numbers[0].upper()}{numbers[1:]}"]
    return [*lines, ""]


def page() -> str:
    """The page of the repository."""
    facts = {"count": len(atlas().metrics), "version": atlas().about["assay"], "options": options_of(atlas())}
    parts = [INTRODUCTION.format(**facts), *leaderboard(), *claims(), ADD.format(**facts)]
    return "\n".join(parts)


# Pages of the site alone.


def metric_page(metric: str) -> str:
    """What one metric notices, what not, whom it is unfair to, with examples, cost, backbone, citation."""
    about, profile = atlas().about["metrics"][metric], known()[metric]
    audits, own = audits_of(atlas()), [row for row in rows_of(atlas()) if row["metric"] == metric]
    lines = [f"# {metric}", "", f"`{about['command']}`", ""]
    facts = {"paradigm": about.get("paradigm"), "backbone": about.get("backbone"), "needs": about.get("needs"),
             "citation": about.get("citation"), "signature": f"`{about.get('signature')}`",
             "texts per second": None if profile.speed is None else f"{profile.speed:,.0f}"}  # fmt: skip
    lines += [
        f"- {name}: {value if not isinstance(value, list) else ', '.join(value)}"
        for name, value in facts.items()
        if value
    ]
    answered = answers(atlas())
    lines += [
        "",
        *(
            f"- {q}: {answered[metric, q].words} ({answered[metric, q].detail})"
            for q in ("fairness", "robustness")
        ),
        "",
    ]
    places = outcomes().get(metric, {})
    failed = gravest_failures(row for row in own if row.info.question == "fairness")
    lines += [
        "## Unfair to whom",
        "",
        *[f"- {sentence(r)} ({interval(r)})" for r in failed],
        "",
    ]
    if not failed:
        lines += [f"No slice failed. {known()[metric].effect[:1].upper()}{known()[metric].effect[1:]}", ""]
    lines += example_lines(about, metric)
    for title, wanted in (("Errors it is blind to", "fail"), ("Harmless edits that move it", "over-sensitive"),
                          ("Unknown", "inconclusive"), ("Errors it notices", "pass")):  # fmt: skip
        listed = sorted(p for p, o in places.items() if o == wanted and audits[p[0]].question == "robustness")
        lines += [
            f"## {title} ({len(listed)})",
            "",
            ", ".join(f"{slice_} ({audit})" for audit, slice_ in listed) or "None.",
            "",
        ]
    return "\n".join([*lines, ""])


def example_lines(about: dict[str, Any], metric: str) -> list[str]:
    """The gravest findings with their texts, folded where they quote stereotypes."""
    spec = next(spec for spec, name in names().items() if name == metric)
    table, lines = atlas_table("examples").filter(pl.col("metric") == spec), ["## Examples", ""]
    for (audit, _), part in table.group_by("audit", "slice", maintain_order=True):
        first = part.row(0, named=True)
        texts = [
            f"<li>{html.escape(r['role'])}: {html.escape(r['text'])} ({number(r['score'])})</li>"
            for r in part.iter_rows(named=True)
        ]
        references = [f"<li>reference: {html.escape(text)}</li>" for text in first["references"] or ()]
        fair = audits_of(atlas())[str(audit)].question == "fairness"
        lines += [f"{html.escape(first['sentence'])}", ""]
        lines += [
            f"<details><summary>{WARNING if fair else 'Texts and scores'}</summary><ul>{''.join(references + texts)}</ul></details>",
            "",
        ]
    return lines if len(lines) > 2 else [*lines, "No finding failed.", ""]


@cache
def names() -> dict[str, str]:
    from assay.report.names import shown_names

    return shown_names(load_atlas())


def edits() -> dict[str, list[Slice]]:
    """Kinds of edit by name, with their slices."""
    kinds: dict[str, list[Slice]] = {}
    judged = {(r["audit"], r["slice"]) for r in checks(atlas(), "robustness")}
    for audit, slice_ in sorted(judged):
        parts = slice_.split("/")
        kinds.setdefault(parts[-1] if audit in ("stress", "checklist") else audit, []).append((audit, slice_))
    return kinds


def edit_page(name: str, places: Sequence[Slice]) -> str:
    """Who notices one kind of edit, by task."""
    lines = [
        f"# {name.replace('-', ' ').capitalize()}",
        "",
        f"`assay perturb {name} --text ...` shows it, if it is an edit of texts.",
        "",
    ]
    rows_ = []
    for metric in atlas().metrics:
        own = [outcomes().get(metric, {}).get(place, "") for place in places]
        if any(own):
            rows_.append((f"[{metric}](../metrics/{slug(metric)}.md)", *own))
    return "\n".join([*lines, *markdown_table(("metric", *(f"{s} ({a})" for a, s in places)), rows_), ""])


def panels_page() -> str:
    """The recommended panels per task under a cost budget."""
    lines = [
        "# Panels",
        "",
        "The fewest metrics that together notice what can be noticed, among those that are fair and fast enough.",
        "",
    ]
    fair = [n for n, audit in audits_of(atlas()).items() if audit.question == "fairness"]
    for ranking in rankings(atlas()):
        table = []
        for budget, least in BUDGETS.items():
            quick = [m for m in atlas().metrics if least == 0 or (known()[m].speed or 0.0) >= least]
            here = (
                pl.col("slice").str.starts_with(f"{ranking.task}/")
                | pl.col("audit").is_in(fair)
                | pl.lit(ranking.task == EVERYTHING)
            )
            about = dict(atlas().about) | {"metrics": {m: atlas().about["metrics"][m] for m in quick}}
            part = replace(
                atlas(), about=about, findings=atlas().findings.filter(here & pl.col("metric").is_in(quick))
            )
            try:
                panel = choose_panel(part)
            except AuditError:
                continue
            table.append(
                (budget, " + ".join(panel.members) or "none", f"{len(panel.covered)} of {len(panel.spots)}")
            )
        lines += [
            f"## {ranking.task.capitalize()}",
            "",
            *markdown_table(("budget", "panel", "kinds of error noticed"), table),
            "",
        ]
    return "\n".join(lines)


def map_page() -> str:
    """Metrics on a plane: near where they fail to notice the same errors (classical scaling)."""
    metrics = [m for m in atlas().metrics if any(p in errors() for p in outcomes().get(m, {}))]
    distance = np.array(
        [
            [
                1.0 - blind_together(outcomes()[a], outcomes()[b], errors()).value if a != b else 0.0
                for b in metrics
            ]
            for a in metrics
        ]
    )
    n = len(metrics)
    centred = -0.5 * (np.eye(n) - 1 / n) @ distance**2 @ (np.eye(n) - 1 / n)
    values, vectors = np.linalg.eigh(centred)
    points = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    kept = float(np.maximum(values[::-1][:2], 0).sum() / np.maximum(values, 0).sum())
    low, high = points.min(axis=0), points.max(axis=0)
    spots = 40 + (points - low) / np.maximum(high - low, 1e-9) * np.array([760.0, 520.0])
    marks, taken = [], []
    for metric, (x, y) in sorted(zip(metrics, spots, strict=True), key=lambda pair: pair[1][1]):
        level = y
        while any(abs(level - other) < 12 and abs(x - at) < 170 for at, other in taken):
            level += 12
        taken.append((x, level))
        colour = "#2f855a" if metric in static() else "#2b6cb0" if metric in surface() else "#b5651d"
        marks.append(
            f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{x + 6:.0f}" y2="{level:.0f}" stroke="{colour}" stroke-width=".5"/><circle cx="{x:.0f}" cy="{y:.0f}" r="4" fill="{colour}"/><text x="{x + 7:.0f}" y="{level + 4:.0f}" font-size="11" fill="currentColor">{html.escape(metric)}</text>'
        )
    height = max(600, int(max(level for _, level in taken)) + 30)
    said = f"Two metrics are near where they miss the same errors; the plane keeps {kept:.0%} of the distances. Blue: surface metrics; green: static word vectors; brown: pretrained models and hybrids with them."
    svg = f'<svg viewBox="0 0 1000 {height}" role="img" aria-label="Map of metrics by shared blind spots" width="100%">{"".join(marks)}</svg>'
    return f"# Map of metrics by shared blind spots\n\n{said}\n\n{svg}\n"


def site_pages() -> dict[str, str]:
    """Every page that the site has beside docs/atlas.md, by its place."""
    pages = {f"atlas/metrics/{slug(metric)}.md": metric_page(metric) for metric in atlas().metrics}
    pages |= {f"atlas/edits/{slug(name)}.md": edit_page(name, places) for name, places in edits().items()}
    listed = [
        f"- [{name}](edits/{slug(name)}.md): noticed in {percent(share_noticing_places(places))} pairs of metric and task"
        for name, places in edits().items()
    ]
    pages["atlas/edits.md"] = "\n".join(["# Edits: who notices them", "", *listed, ""])
    pages |= {"atlas/panels.md": panels_page(), "atlas/map.md": map_page()}
    pages["atlas/metrics.md"] = "\n".join(["# Metrics, one page each", *leaderboard("metrics")])
    return pages


def share_noticing_places(places: Sequence[Slice]) -> Share:
    listed = [outcomes()[m][p] for m in outcomes() for p in places if p in outcomes()[m]]
    good, bad = (sum(o in side for o in listed) for side in (("pass", "steady"), ("fail", "over-sensitive")))
    return Share(good, bad, len(listed))


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
