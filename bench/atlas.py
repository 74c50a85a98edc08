"""Make the atlas: run every group of metrics of atlas.toml, and pack the runs into the package.

    python -m bench.atlas [--work build/atlas] [--people FOLDER] [--only GROUP ...] [--limit N] [--out DIR] [--dry-run]
    python -m bench.atlas --add --only GROUP     keeps the metrics that are shipped, and adds those of a group

A group whose run is finished is not run again, and scores are cached: stop it and start it again at any time. A group
that fails is named at the end, and the others are packed without it. `--limit` and `--out` are for trying a group.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from shlex import join
from typing import Any

import polars as pl

from assay import __version__
from assay.api.people import people_findings
from assay.api.runs import Run, load_run
from assay.api.scores import score
from assay.core import Sample
from assay.datasets.records import embedded_records
from assay.engine.session import Session
from assay.names.spec import parse_spec
from assay.reading.atlas import merged
from assay.reading.evidence import examples
from assay.reading.ranking import speed_of
from assay.reading.results import FINDINGS, load_about
from assay.reading.shipped import atlas_table, condensed, load_atlas, packed, save_atlas
from assay.reading.text import sentence
from assay.reading.verdicts import rows_of, worst
from assay.vocabulary import Task

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "assay" / "data" / "atlas"
CONTRIBUTED = HERE / "contributed"  # run folders of metrics that cannot be run from a fresh installation
WORK = "{work}"  # in a group's words: the folder of the runs
GRAVEST = 4  # findings per metric that come with an example
PR_SET_PDEATHSIG = 1  # linux/prctl.h
VERSIONS = ("assay", "python", "packages", "weights", "machine", "size")


@dataclass(frozen=True, slots=True)
class Group:
    """Metrics that are scored together, with the options of their command."""

    name: str
    metrics: tuple[str, ...]
    size: str
    limit: int = 0  # items per dataset; 0: all that the size reads
    command: tuple[str, ...] = ("audit",)
    options: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()  # a command of assay whose files the metrics need
    prepared: str = ""  # the file that it writes last
    timed: int = 80  # texts that are scored to measure a metric's pace; 0: it reads more than texts
    timed_task: Task = "summarisation"
    rated: int = 8000  # texts of each set of ratings that are scored, at most; 0: none

    def words(self, work: Path, metrics: Sequence[str] = ()) -> list[str]:
        """The words after `assay` that measure the group, or some metrics of it, without --out."""
        named = [word for metric in metrics or self.metrics for word in ("-m", metric)]
        few = ["--limit", str(self.limit)] if self.limit else []
        words = [*self.command, *named, "--size", self.size, *few, *self.options]
        return [word.replace(WORK, str(work)) for word in words]

    def preparation(self, work: Path) -> list[str]:
        """The words after `assay` that prepare the group; none where nothing is to be done."""
        return [word.replace(WORK, str(work)) for word in self.prepare]

    def is_prepared(self, work: Path) -> bool:
        return not self.prepare or Path(self.prepared.replace(WORK, str(work))).is_file()


def read_groups(path: Path) -> list[Group]:
    """The groups of a file; what a group does not say is that of the whole file."""
    facts = tomllib.loads(path.read_text("utf-8"))
    common = {key: value for key, value in facts.items() if key != "groups"}
    known = {field.name for field in fields(Group)}
    groups = []
    for stated in facts["groups"]:
        if unknown := sorted(stated.keys() - known):
            raise SystemExit(f"{path}: the group {stated.get('name')} has unknown keys: {', '.join(unknown)}")
        values = {key: tuple(v) if isinstance(v, list) else v for key, v in (common | stated).items()}
        groups.append(Group(**values))
    return groups


def is_finished(folder: Path, words: Sequence[str]) -> bool:
    """Whether the folder holds the run of this command by this release of assay."""
    if not (folder / "run.json").is_file():
        return False
    about = load_about(folder)
    recorded = str(about.get("command", "")).split()
    releases = [version.partition(".dev")[0] for version in (about["assay"], __version__)]
    return releases[0] == releases[1] and sorted(recorded[1:-2]) == sorted(join(words).split())


def measure(group: Group, work: Path) -> None:
    """Run a group unless its run is finished."""
    folder, words = work / group.name, group.words(work)
    if is_finished(folder, words):
        return
    began = time.monotonic()
    if not group.is_prepared(work):
        call(group, group.preparation(work))
    call(group, [*words, "--out", str(folder)])
    print(f"{group.name}: {(time.monotonic() - began) / 60:,.1f} minutes", file=sys.stderr, flush=True)


def call(group: Group, words: Sequence[str]) -> None:
    print(f"{group.name}: assay {join(words)}", file=sys.stderr, flush=True)
    program = [sys.executable, "-m", "assay", *words]
    subprocess.run(program, check=True, stdout=subprocess.DEVNULL, preexec_fn=end_with_parent)


def end_with_parent() -> None:
    """Let a run end when this program is killed: started again, it would meet a second one in its folder."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def finished_runs(groups: Sequence[Group], work: Path) -> list[tuple[Group | None, Run]]:
    """The runs of the groups that are finished, and those that others contributed, which have no group."""
    own = [
        (each, load_run(work / each.name))
        for each in groups
        if is_finished(work / each.name, each.words(work))
    ]
    return [*own, *((None, load_run(path.parent)) for path in sorted(CONTRIBUTED.glob("*/run.json")))]


def about_of(runs: Sequence[tuple[Group | None, Run]], groups: Sequence[Group], work: Path) -> dict[str, Any]:
    """What run.json says of the atlas: versions, and for each metric its signature, cost and command."""
    everything = merged([run for _, run in runs])
    about = {key: everything.about[key] for key in VERSIONS} | {"notes": []}
    about |= {key: everything.about[key] for key in ("metrics", "audits", "computed", "seconds")}
    for group, run in runs:
        specs = (
            {parse_spec(spec.replace(WORK, str(work))).label: spec for spec in group.metrics} if group else {}
        )
        for metric in run.metrics:
            command = run.about["command"]
            if group and metric in specs:
                steps = [group.preparation(work), group.words(work, [specs[metric]])]
                command = " && ".join(join(["assay", *words]) for words in steps if words)
            about["metrics"][metric] |= {"command": command}
    return about


def paces(runs: Sequence[tuple[Group | None, Run]], work: Path) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds of a processor and texts scored per metric, on clean texts and with nothing cached.

    Of contributed metrics, those of their own runs.
    """
    seconds: dict[str, float] = {}
    computed: dict[str, int] = {}
    for group, run in runs:
        if group is None:
            seconds |= run.about["seconds"]["scoring"]
            computed |= run.about["computed"]
            continue
        for spec in group.metrics if group.timed else ():
            given, place = parse_spec(spec.replace(WORK, str(work))), len(seconds)
            samples = distinct_samples(group, place)
            with Session.open(cache=None) as session:
                score([given], samples[:2], session=session)  # loads
                began = time.process_time()  # what else the machine does must not make a metric slow
                score([given], samples, session=session)
            seconds[given.label], computed[given.label] = time.process_time() - began, len(samples)
    return seconds, computed


def distinct_samples(group: Group, place: int) -> list[Sample]:
    """Clean texts, other ones for each place, since metrics on one model share what it made of a text."""
    records = embedded_records(group.timed_task)[: group.timed]
    return [
        Sample(f"{record.gold} {place}", (f"{record.references[0]} {place}",), record.source)
        for record in records
    ]


def people_table(folder: Path | None, runs: Sequence[tuple[Group | None, Run]], work: Path) -> pl.DataFrame:
    """Agreement with people: measured where the folder is given, else as the shipped atlas has it.

    A metric that was measured before is not measured again: delete people.parquet to begin anew.
    """
    path = work / "people.parquet"
    known = pl.read_parquet(path) if path.is_file() else pl.DataFrame(schema=FINDINGS)
    if folder is None and not known.height:
        shipped = atlas_table("findings").filter(pl.col("audit") == "human")
        return shipped.with_columns(evidence=pl.lit([], dtype=pl.List(pl.String)))
    for group, run in runs if folder else ():
        specs = (
            {parse_spec(spec.replace(WORK, str(work))).label: spec for spec in group.metrics} if group else {}
        )
        new = [name for name in run.metrics if name not in set(known["metric"]) and name in specs]
        if new and group and group.rated:
            asked = [specs[name].replace(WORK, str(work)) for name in new]
            measured, notes = people_findings(folder, asked, group.rated)
            print("\n".join(notes), file=sys.stderr)
            known = pl.concat([known, measured])
            known.write_parquet(path)
    return known


def cost_table(run: Run) -> pl.DataFrame:
    """One row per metric: the samples that were scored, the seconds that took, and texts per second."""
    seconds, computed = run.about["seconds"]["scoring"], run.about["computed"]
    rows = [(name, computed.get(name), seconds.get(name), speed_of(run, name)) for name in run.metrics]
    schema = {"metric": pl.String, "samples": pl.Int64, "seconds": pl.Float64, "texts_per_second": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


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


def pack(
    runs: Sequence[tuple[Group | None, Run]],
    groups: Sequence[Group],
    work: Path,
    out: Path,
    people: pl.DataFrame,
) -> None:
    """Write the atlas of these runs, with their agreement with people."""
    about = about_of(runs, groups, work)
    seconds, computed = paces(runs, work)
    about |= {"seconds": {"scoring": seconds}, "computed": computed}
    findings = pl.concat([*(condensed(run) for _, run in runs), people.drop("evidence")])
    everything = merged([run for _, run in runs])
    tables = {
        "findings": findings, "decisions": packed(everything), "cost": cost_table(replace(everything, about=about)),
        "examples": example_table([run for _, run in runs]),
    }  # fmt: skip
    save_atlas(out, about, tables)
    size = sum(path.stat().st_size for path in out.iterdir())
    print(json.dumps({"metrics": len(about["metrics"]), "findings": findings.height, "bytes": size}))


def add(runs: Sequence[tuple[Group | None, Run]], groups: Sequence[Group], work: Path, out: Path) -> None:
    """Write the shipped atlas with the metrics of these runs added; agreement with people stays as it is."""
    shipped, about = load_atlas(), about_of(runs, groups, work)
    seconds, computed = paces(runs, work)
    about |= {"seconds": {"scoring": seconds}, "computed": computed}
    new = replace(merged([run for _, run in runs]), about=about)
    everything = merged([shipped, *(run for _, run in runs)])
    tables = {
        "findings": condensed(new), "cost": cost_table(new), "examples": example_table([run for _, run in runs]),
    }  # fmt: skip
    joined = {name: pl.concat([atlas_table(name), table]) for name, table in tables.items()}
    together = dict(shipped.about) | {
        "metrics": shipped.about["metrics"] | about["metrics"],
        "audits": shipped.about["audits"] | about["audits"] | shipped.about["audits"],
        "computed": shipped.about["computed"] | computed,
        "seconds": {"scoring": shipped.about["seconds"]["scoring"] | seconds},
    }
    save_atlas(out, together, joined | {"decisions": packed(everything)})


def print_bill(runs: Sequence[tuple[Group | None, Run]]) -> None:
    """The time of each metric and each group, the dearest first; scores that were cached cost nothing."""
    rows = [
        (seconds, run.about["computed"].get(metric, 0), metric)
        for _, run in runs
        for metric, seconds in run.about["seconds"]["scoring"].items()
    ]
    for seconds, computed, metric in sorted(rows, reverse=True):
        print(f"{seconds:8,.0f} s scoring  {computed:9,} samples  {metric}")
    walls = [(run.about["seconds"].get("wall", 0.0), group.name) for group, run in runs if group]
    for seconds, name in sorted(walls, reverse=True):
        print(f"{seconds:8,.0f} s in all, with judging and texts  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=Path("build/atlas"))
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--add", action="store_true", help="keep the shipped metrics, add those of --only")
    parser.add_argument("--leave-out", nargs="*", default=())
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, default=PACKAGE)
    parser.add_argument("--people", type=Path, help="folder of public ratings (docs/human-ratings.md)")
    parser.add_argument("--dry-run", action="store_true", help="print what each group would cost")
    given = parser.parse_args()
    groups = read_groups(HERE / "atlas.toml")
    if given.limit and given.out == PACKAGE:
        parser.error("--limit is for trying; give --out, so that the shipped atlas stays as it is")
    if unknown := {*given.only, *given.leave_out} - {group.name for group in groups}:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(g.name for g in groups)}")
    groups = [replace(group, limit=given.limit or group.limit) for group in groups]
    failed = []
    for group in groups:
        if group.name in given.leave_out or (given.only and group.name not in given.only):
            continue
        if given.dry_run:
            print(f"{group.name}: assay {join(group.words(given.work))}", flush=True)
            subprocess.run(
                [sys.executable, "-m", "assay", *group.words(given.work), "--dry-run"], check=False
            )
            continue
        try:
            measure(group, given.work)
        except subprocess.CalledProcessError as error:
            failed.append(f"{group.name}: {error}")
    runs = [] if given.dry_run else finished_runs(groups, given.work)
    if runs and given.add:
        new = [(group, run) for group, run in runs if group and group.name in given.only]
        add(new, groups, given.work, given.out)
    elif runs:
        pack(runs, groups, given.work, given.out, people_table(given.people, runs, given.work))
        print_bill(runs)
    if failed:
        raise SystemExit("\n".join(["not in the atlas:", *failed]))


if __name__ == "__main__":
    main()
