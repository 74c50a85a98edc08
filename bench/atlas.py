"""Make the atlas: run every group of metrics of atlas.toml, and pack the runs into the package.

    python -m bench.atlas [--work build/atlas] [--only GROUP ...]

A group whose run is finished is not run again, and scores are cached: stop it and start it again at any time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import join, quote
from typing import Any

import polars as pl

from assay.core import Sample
from assay.datasets.records import embedded_records
from assay.report.atlas import condensed, merged, save_atlas
from assay.report.evidence import examples
from assay.report.names import shown
from assay.report.ranking import profiles, rankings
from assay.report.text import sentence
from assay.report.verdicts import rows_of, worst
from assay.run.pipeline import score
from assay.run.results import FINDINGS, Run, load_about, load_run
from assay.run.session import Session

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "assay" / "data" / "atlas"
CONTRIBUTED = HERE / "contributed"  # run folders of metrics that cannot be run from a fresh installation
TIMED = 80  # texts that are scored to measure a metric's pace
SLOW = ("gpt-ppl",)
GRAVEST = 4  # findings per metric that come with an example
KEPT = ("assay", "python", "packages", "weights", "machine", "size")


def command(
    group: Mapping[str, Any], facts: Mapping[str, Any], metrics: Sequence[str], out: Path
) -> list[str]:
    """The options of `assay` that measure some metrics of a group."""
    named = [word for metric in metrics for word in ("-m", metric)]
    limit = str(group.get("limit", facts["limit"]))
    return ["audit", *named, "--size", facts["size"], "--limit", limit, "--out", str(out)]


def is_finished(folder: Path, words: Sequence[str]) -> bool:
    """Whether the folder holds the run of this command."""
    if not (folder / "run.json").is_file():
        return False
    recorded = str(load_about(folder).get("command", ""))
    return sorted(recorded.split()[1:-2]) == sorted(join(words).split()[:-2])


def measure(facts: Mapping[str, Any], work: Path, only: Sequence[str]) -> list[Run]:
    """The runs of all groups, each run that is missing first made."""
    runs = []
    for group in facts["groups"]:
        folder = work / group["name"]
        words = command(group, facts, group["metrics"], folder)
        if (not only or group["name"] in only) and not is_finished(folder, words):
            began = time.monotonic()
            print(f"{group['name']}: assay {join(words)}", file=sys.stderr, flush=True)
            subprocess.run([sys.executable, "-m", "assay", *words], check=True, stdout=subprocess.DEVNULL)
            print(f"{group['name']}: {time.monotonic() - began:,.0f} s", file=sys.stderr, flush=True)
        if is_finished(folder, words):
            runs.append(load_run(folder))
    return runs + [load_run(path.parent) for path in sorted(CONTRIBUTED.glob("*/run.json"))]


def about_of(runs: Sequence[Run], facts: Mapping[str, Any]) -> dict[str, Any]:
    """What run.json says of the atlas: versions, and for each metric its signature, cost and command."""
    everything = merged(runs)
    about = {key: runs[0].about[key] for key in KEPT} | {"limit": facts["limit"], "notes": []}
    about |= {key: everything.about[key] for key in ("metrics", "audits", "computed", "seconds")}
    limits = {
        name: group.get("limit", facts["limit"]) for group in facts["groups"] for name in group["metrics"]
    }
    for run in runs:
        for metric in run.metrics:
            limit = limits.get(metric, facts["limit"])
            options = ["assay", "audit", "-m", quote(metric), "--size", facts["size"], "--limit", str(limit)]
            about["metrics"][metric] |= {"command": " ".join(options), "limit": limit}
    return about


def profile_table(run: Run) -> pl.DataFrame:
    """One row per metric and task: the errors it notices and the harmless edits it leaves alone."""
    rows = []
    for ranking in rankings(run):
        for line in ranking.lines:
            ends = (*line.noticed.ends, *line.steady.ends)
            rows.append(
                (line.metric, ranking.task, line.rank, line.noticed.good, line.noticed.bad,
                 line.noticed.total, *ends[:2], line.steady.good, line.steady.bad, line.steady.total, *ends[2:])
            )  # fmt: skip
    names = ("noticed", "blind", "errors", "noticed_low", "noticed_high")
    names += ("steady", "over_sensitive", "harmless", "steady_low", "steady_high")
    return pl.DataFrame(rows, schema=["metric", "task", "rank", *names], orient="row")


def cost_table(run: Run) -> pl.DataFrame:
    """One row per metric: the samples that were scored, the seconds that took, and texts per second."""
    seconds, computed = run.about["seconds"]["scoring"], run.about["computed"]
    known = profiles(run)
    rows = [(name, computed.get(name), seconds.get(name), known[name].speed) for name in run.metrics]
    schema = {"metric": pl.String, "samples": pl.Int64, "seconds": pl.Float64, "texts_per_second": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def timed(metrics: Sequence[str]) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds of scoring and texts scored per metric, on clean texts and with nothing cached."""
    records = embedded_records("summarisation")[:TIMED]
    seconds, computed = {}, {}
    for place, metric in enumerate(metrics):
        # Other texts for each, since metrics on one model share what it made of a text.
        texts = [(f"{record.gold} {place}", f"{record.references[0]} {place}") for record in records]
        samples = [
            Sample(text, (reference,), record.source)
            for (text, reference), record in zip(texts, records, strict=True)
        ]
        with Session.open(cache=None) as session:
            score([metric], samples[:1], session=session)  # loads
            few = samples[: TIMED // 10] if metric in SLOW else samples
            began = time.perf_counter()
            score([metric], few, session=session)
        seconds[metric], computed[metric] = time.perf_counter() - began, len(few)
    return seconds, computed


def example_table(runs: Sequence[Run]) -> pl.DataFrame:
    """The gravest findings of each metric with the texts and scores of one case."""
    rows = []
    for run in runs:
        places = {metric: place for place, metric in enumerate(run.metrics)}
        for metric in run.metrics:
            own = [row for row in rows_of(run) if row["metric"] == metric]
            for row in worst(own, GRAVEST):
                for (_, case), known in list(examples(run, [row]).items())[:1]:
                    for role, text in known["roles"].items():
                        rows.append(
                            (metric, row["audit"], row["slice"], sentence(row), case,
                             role, text["text"], known["references"], text["scores"][places[metric]] if text["scores"] else None)
                        )  # fmt: skip
    texts = dict.fromkeys(("metric", "audit", "slice", "sentence", "case", "role", "text"), pl.String)
    schema = {**texts, "references": pl.List(pl.String), "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("build/atlas"))
    parser.add_argument("--only", nargs="*", default=())
    given = parser.parse_args()
    facts = tomllib.loads((HERE / "atlas.toml").read_text("utf-8"))
    runs = measure(facts, given.work, given.only)
    about = about_of(runs, facts)
    seconds, computed = timed(list(about["metrics"]))
    about |= {"seconds": {"scoring": seconds}, "computed": computed}
    light = [
        Run(condensed(run).pipe(whole), run.cases.clear(), run.scores.clear(), about=run.about)
        for run in runs
    ]
    everything = Run(pl.concat([run.findings for run in light]), light[0].cases, light[0].scores, about=about)
    named = shown(everything)
    tables = {
        "findings": pl.concat([condensed(run) for run in runs]), "profile": profile_table(named),
        "cost": cost_table(named), "examples": example_table(runs),
    }  # fmt: skip
    save_atlas(PACKAGE, about, tables)
    size = sum(path.stat().st_size for path in PACKAGE.iterdir())
    print(
        json.dumps(
            {"metrics": len(everything.metrics), "findings": everything.findings.height, "bytes": size}
        )
    )
    for metric, seconds in sorted(about["seconds"]["scoring"].items(), key=lambda pair: -pair[1]):
        print(f"{seconds:8,.0f} s  {about['computed'].get(metric, 0):9,} samples  {metric}")


def whole(findings: pl.DataFrame) -> pl.DataFrame:
    """Condensed findings with the columns of a run's table again."""
    filled = findings.with_columns(passed=pl.lit(None), evidence=pl.lit([], dtype=pl.List(pl.String)))
    return filled.select(pl.col(name).cast(kind) for name, kind in FINDINGS.items())


if __name__ == "__main__":
    main()
