"""The commands that score: audit, run, score and perturb."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from assay.cli import options as o
from assay.cli.output import finish, print_cost, print_first, print_json, print_notes, print_profile
from assay.errors import SpecError
from assay.files import toml_file

if TYPE_CHECKING:
    from assay.core import Perturbation, Record
    from assay.reading.results import StoredRun

_LACKS: dict[str, str] = toml_file("help", "commands")["lacks"]


@o.with_request(size="quick", out=Path("assay-run"))
def audit_command(request: o.Request, only: list[str] | None = None) -> None:
    """Audit metrics on embedded data (or yours) and write report.html.

    This is the quick look: a few minutes on part of the data. --size full takes the papers' protocol, and
    assay run goes through one audit at full size.
    """
    from assay.api.pipeline import audit

    _perform(request, only or [], request.fields(), partial(audit, only=tuple(only or ())))


@o.with_request(out=Path("assay-run"))
def run_command(
    context: typer.Context,
    audit: str,
    request: o.Request,
    scores: str | None = None,
    scores_from: list[str] | None = None,
    only: list[str] | None = None,
) -> None:
    """Run one audit at full size, which can take long; --size quick takes part of the data.

    assay run AUDIT --help shows the options of that audit, assay list audits the names of all.
    """
    from assay.api.pipeline import run

    given = o.audit_fields(context, audit, request.fields(only))
    _perform(
        request, [audit], given, partial(run, audit, scores=scores, scores_from=tuple(scores_from or ()))
    )


def _perform(
    request: o.Request, audits: list[str], fields: dict[str, Any], execute: Callable[..., StoredRun]
) -> None:
    """Run and finish, or with --dry-run print what it would cost. `execute` takes metrics and a session."""
    from assay.api.pipeline import DEFAULT_METRICS
    from assay.reading.gate import parse_gates

    gates = parse_gates(request.fail_on or (), "--fail-on")  # a mistake is found before anything is scored
    if request.verbose:
        logging.getLogger().setLevel(logging.INFO)
    session = request.session()
    metrics = o.read_specs(request.metric) or DEFAULT_METRICS
    if request.dry_run:
        print_cost(audits, metrics, fields, request.size, session)
        return
    form = "json" if request.json else request.format
    if form == "html" and len(audits) != 1 and not request.quiet:
        session.on_first = print_first
    run = execute(metrics, size=request.size, session=session, coverage=request.coverage, **fields)
    began = time.perf_counter()
    finish(run, form=form, fail_on=gates, quiet=request.quiet)
    if request.profile:
        print_profile(run, reporting=time.perf_counter() - began)


@o.with_request(
    "data", "metric", "map", "limit", "cache", "workers", "ray", "on_error", "timeout", "skip_missing", "out",
    "any_language", "json", "quiet", data=typer.Option(...), out=None,
)  # fmt: skip
def score_command(request: o.Request) -> None:
    """Score a file; prints CSV, or JSON with --json.

    With --out, --data takes many files (quote a pattern) of any size: each is read in blocks, and its
    scores go to a Parquet file of the same name. Started again, it goes on with the files that are missing.
    """
    from assay.api.bulk import Part, parts_of, score_file, score_parts
    from assay.api.pipeline import DEFAULT_METRICS
    from assay.api.user_data import need_images
    from assay.datasets.columns import as_data, parse_map
    from assay.names.spec import measure

    measures = [measure(spec) for spec in request.metric or DEFAULT_METRICS]
    columns, files = parse_map(",".join(request.map or ())), _expand(request.data or ())
    skip = request.skip_missing or not need_images(measures)
    if out := request.out:
        template = Part(out, out, columns, skip, request.on_error, request.timeout, request.any_language)
        notes = score_parts(measures, parts_of(files, out, template), request.session()).sentences()
    elif len(files) > 1:
        raise SpecError(f"--data names {len(files)} files; --out FOLDER scores many, each into a file there")
    else:
        (file,) = as_data(files, columns)
        frame, notes = score_file(measures, file, request.session(), skip_missing=skip, limit=request.limit)
        if request.json:
            print_json({"scores": frame.to_dicts(), "notes": notes})
        else:  # a cell that starts like a formula is quoted: spreadsheets run it otherwise
            names = frame["id"].str.replace(r"^([=+\-@\t\r])", "'${1}")
            typer.echo(frame.with_columns(names).write_csv(), nl=False)
    print_notes(notes, quiet=request.quiet)


def _expand(patterns: Sequence[Path]) -> list[Path]:
    """The files that paths and patterns like part-*.parquet name, each once."""
    files: list[Path] = []
    for pattern in patterns:
        path = pattern.expanduser()
        matching = [path] if path.exists() else sorted(map(Path, glob(str(path))))
        files += matching or [path]  # the reader says what is wrong with it
    return list(dict.fromkeys(files))


@o.with_request("map", "seed", "limit", "json", seed=0)
def perturb_command(
    name: str,
    request: o.Request,
    text: str | None = None,
    data: Path | None = None,
    task: str = "translation",
) -> None:
    """Change a text, or the clean texts of a file, and print the result."""
    from assay.names.spec import perturbation

    if name == "list":
        from assay.cli.inspect import list_command

        list_command("perturbations", json=request.json)
        return
    changer = perturbation(name)
    records = _clean_texts(text, data, task, request)
    if data is None and (lack := _lack(changer, records[0])):
        raise SpecError(f"{name} cannot change this: {lack}; give a text, or records with --data")
    changes = ((record, changer.perturb(record, request.seed or 0)) for record in records)
    if request.json:
        rows = [{"id": record.id, "gold": record.gold, "perturbed": changed} for record, changed in changes]
        print_json({"texts": rows})
        return
    for record, changed in changes:
        lack = _lack(changer, record)
        typer.echo(changed or f"(does not apply here{f': {lack}' if lack else ''})")


def _clean_texts(text: str | None, data: Path | None, task: str, request: o.Request) -> list[Record]:
    """The text as a record, or the records of the file."""
    from assay.core import Record
    from assay.datasets.columns import as_data, parse_map
    from assay.datasets.published.corpora import read_records
    from assay.datasets.records import task_named

    if text is not None and data is not None:
        raise SpecError("--text and --data exclude each other: give one of them")
    if text is not None:
        return [Record("text", text, task_named(task))]
    if data is None:
        raise SpecError("nothing to change: give --text TEXT or --data FILE")
    (file,) = as_data(data, parse_map(",".join(request.map or ())))
    return read_records(file)[: request.limit]


def _lack(changer: Perturbation, record: Record) -> str:
    """Which fields a record lacks for the perturbation; empty if it has all of them."""
    if not record.gold.strip():
        return "the text is empty"
    return "" if not changer.reads or getattr(record, changer.reads) else _LACKS[changer.reads]
