"""The study of a paper on a user's metrics: its tables under its own rule, the careful reading, its claims.

A study is a data file, `data/studies/PAPER.toml`. Its `runs` follow the paper's protocol, on the published
data where a folder has them and on embedded data elsewhere; its `audits` are the careful audits of the same
questions, and what the report shows below the study. Its tables and claims read both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.api.pipeline import execute, make_audit
from assay.audits.attention import Attention
from assay.core import Audit
from assay.engine.questions import fitted_to_limits, quick_limits
from assay.engine.session import Session
from assay.errors import AuditError, SpecError, suggest
from assay.files import toml_file, with_tuples
from assay.names.registry import audit_class
from assay.names.spec import measure, parse_spec
from assay.papers.cells import Findings, figures_of
from assay.papers.claims import blind_spot_catalogue, judge
from assay.papers.pictures import attention_map, next_tokens
from assay.papers.recipes import PAPERS
from assay.papers.tables import Table, as_page, fill_table, words_page
from assay.reading.names import shown_names
from assay.reading.results import StoredRun, check_writable

CAREFUL = "careful"  # the run of the careful audits, as tables name it


@dataclass(frozen=True, slots=True)
class Planned:
    """One run of a study: its audit, and what its slices are called where it takes embedded data."""

    audit: Audit
    renamed: Mapping[str, str]
    metrics: tuple[str, ...]  # where the run has metrics of its own


def study(
    paper: str,
    metrics: Sequence[str] = (),
    folder: Path | None = None,
    *,
    session: Session,
    limit: int | None = None,
) -> StoredRun:
    """Run the studies' audits, on the paper's data where `folder` has it and on embedded data elsewhere."""
    if paper not in PAPERS:
        raise SpecError(f"no study {paper!r}{suggest(paper, PAPERS)}; known: {', '.join(PAPERS)}")
    plan = toml_file("studies", paper)
    out, session.out = session.out, None  # saved below, with the study on top
    if out:
        check_writable(out)
    chosen = list(metrics) or list(plan["metrics"])
    careful, why_not = _careful_audits(plan.get("audits", {}), folder, limit)
    measures = [measure(spec) for spec in chosen]
    limits = quick_limits(measures, session)
    careful = {name: fitted_to_limits(audit, measures, limits) for name, audit in careful.items()}
    done = execute(careful, chosen, session, size="quick", embedded=True, limits=limits)
    runs, not_made = _paper_runs(plan["runs"], chosen, folder, limit, session)
    runs |= {CAREFUL: Findings.of(done), **dict(_pictures(plan, chosen, runs, folder, session))}
    session.out = out
    finished = replace(done, about={**done.about, "study": _page(paper, plan, runs, why_not | not_made)})
    return finished.save(out) if out else finished


def _paper_runs(
    listed: Mapping[str, Any], chosen: Sequence[str], folder: Path | None, limit: int | None, session: Session
) -> tuple[dict[str, Findings], dict[str, str]]:
    """The runs by the paper's rule that can be made, and why others cannot."""
    runs, why_not = {}, {}
    for name, given in listed.items():
        planned, lack = _planned(given, folder, limit)
        if planned is None:
            why_not[name] = lack
            continue
        try:
            runs[name] = _run(planned, [*chosen, *planned.metrics], session)
        except AuditError as error:
            why_not[name] = str(error)
    return runs, why_not


def _pictures(
    plan: Mapping[str, Any],
    chosen: Sequence[str],
    runs: Mapping[str, Findings],
    folder: Path | None,
    session: Session,
) -> Iterator[tuple[str, Findings]]:
    """What no audit measures: a captioner's training, where backbones look, how likely each token is."""
    if "propagation" in plan:
        yield "propagation", _propagated(plan["propagation"], session)
    if "attention" in plan:
        yield "attention", _attention(plan["attention"], chosen, folder)
    if "steps" in plan:
        readers = [measure(spec) for spec in _with(plan["steps"], chosen)]
        yield "steps", next_tokens(plan["steps"]["text"], runs, readers)


def _careful_audits(
    listed: Mapping[str, Any], folder: Path | None, limit: int | None
) -> tuple[dict[str, Audit], dict[str, str]]:
    """The careful audits that can run, at quick size, and why others cannot."""
    audits, why_not = {}, {}
    for name, given in listed.items():
        planned, lack = _planned({"audit": name, **given}, folder, limit, size="quick")
        if planned is None:
            why_not[name] = lack
        else:
            audits[name] = planned.audit
    return audits, why_not


def _planned(
    given: Mapping[str, Any], folder: Path | None, limit: int | None, size: str = "full"
) -> tuple[Planned | None, str]:
    """A run on the files that the folder has, or on embedded data; or why it cannot be made."""
    kind = audit_class(given["audit"])
    here, extra = _files(given, folder)
    if not here and (given.get("only_with_files") or kind.needs_data):
        return None, f"it needs {', '.join(given['files'])} in a folder given with --data"
    quick = {key: value for key, value in kind.quick.items() if key != "skip"} if size == "quick" else {}
    options = quick | with_tuples(given.get("options", {})) | extra
    options |= {"data": here} if here else with_tuples(given.get("embedded", {}))
    options |= {"limit": limit} if limit else {}
    renamed = {} if here else given.get("renamed", {})
    own = (*given.get("metrics", ()), *(given.get("metrics_on_files", ()) if here else ()))
    return Planned(make_audit(given["audit"], options, strict=False), renamed, own), ""


def _files(given: Mapping[str, Any], folder: Path | None) -> tuple[tuple[Path, ...], dict[str, Path]]:
    """The files of the folder that a run takes as data, and those that an option names."""
    if folder is None:
        return (), {}
    here = tuple(folder / path for path in given.get("files", ()) if (folder / path).exists())
    options = {key: folder / path for key, path in given.get("file_options", {}).items()}
    return here, {key: path for key, path in options.items() if here and path.exists()}


def _run(planned: Planned, metrics: Sequence[str], session: Session) -> Findings:
    """The run, its slices named as on the published data."""
    done = execute({planned.audit.name: planned.audit}, list(dict.fromkeys(metrics)), session, size="full")
    for embedded, published in planned.renamed.items():
        column = pl.col("slice").str.replace(f"^{embedded}(/|$)", f"{published}$1")
        cases = pl.col("case").str.replace(f"^{embedded}(/|:|$)", f"{published}$1")
        done = replace(
            done, findings=done.findings.with_columns(column), scores=done.scores.with_columns(cases)
        )
    return Findings.of(done)


def _propagated(given: Mapping[str, Any], session: Session) -> Findings:
    """What a captioner becomes when it is trained on each reward, as figures of the rewards."""
    from assay.papers.propagate import Experiment, propagate, rendered_world

    rewards, columns = ([parse_spec(spec) for spec in given[key]] for key in ("rewards", "columns"))
    effects = propagate(
        rewards, range(given["seeds"]), Experiment(), rendered_world(given["scenes"]), session,
        methods=given["methods"], columns=columns,
    )  # fmt: skip
    rows = dict(row for effect in effects for row in figures_of(effect))
    return Findings(tuple(dict.fromkeys(effect.reward for effect in effects)), rows)


def _attention(given: Mapping[str, Any], chosen: Sequence[str], folder: Path | None) -> Findings:
    """Where the backbones of the chosen metrics and of the study's own look."""
    planned, _ = _planned(given, folder, None)
    assert planned is not None  # it runs on embedded data too
    assert isinstance(planned.audit, Attention)
    return attention_map(planned.audit, [measure(spec) for spec in _with(given, chosen)])


def _with(given: Mapping[str, Any], chosen: Sequence[str]) -> list[str]:
    """The chosen metrics and those that a part of the study has beside them."""
    return list(dict.fromkeys([*chosen, *given.get("metrics", ())]))


def _page(
    paper: str, plan: Mapping[str, Any], runs: Mapping[str, Findings], why_not: Mapping[str, str]
) -> dict[str, Any]:
    """Tables in the paper's order, each with its careful reading, and the claims that they test."""
    names: dict[str, str] = {}
    paradigms: dict[str, str] = {}
    for findings in runs.values():
        if findings.run is None:
            continue
        names |= shown_names(findings.run)
        paradigms |= {spec: about["paradigm"] for spec, about in findings.run.about["metrics"].items()}
    tables: dict[str, Table] = {}
    parts = []
    for spec in plan["table"]:
        if "words" in spec:
            parts.append(words_page(spec, runs, names))
            continue
        table = fill_table(spec, runs, why_not)
        tables[table.name] = table
        part = as_page(table, names)
        if "careful" in spec:
            part["careful"] = as_page(fill_table(_careful_spec(spec), runs, why_not), names)
        parts.append(part)
    claims = [judge(claim, tables, paradigms) for claim in plan["claim"]]
    if spots := blind_spot_catalogue(plan.get("spot", ()), tables):
        parts.insert(0, _catalogue_page(spots, names))
    return {
        "paper": paper, "title": PAPERS[paper], "question": plan["question"], "parts": parts,
        "claims": claims, "answers": dict(_counted(claims)),
    }  # fmt: skip


def _catalogue_page(spots: Mapping[str, Mapping[str, str]], names: Mapping[str, str]) -> dict[str, Any]:
    """Which blind spots each metric has here, as the paper's catalogue lists them."""
    metrics = dict.fromkeys(metric for answers in spots.values() for metric in answers)
    lines = [
        {"name": spot, "cells": [_spot_cell(answers.get(metric)) for metric in metrics]}
        for spot, answers in spots.items()
    ]
    return {
        "where": "Table 1", "heading": "A catalogue of blind spots",
        "found": "MAUVE on GPT-2: positioned errors, truncation, switched sentences; UniEval: injections; "
        "perplexity: frequent n-grams, repetition; BERTScore precision and F, BARTScore, ROUGE: truncation.",
        "counts": "from the tables below", "unit": "whether the worse text surely scores no lower",
        "columns": [names.get(metric, metric) for metric in metrics], "lines": lines, "empty": "",
        "figure": None,
    }  # fmt: skip


def _spot_cell(answer: str | None) -> dict[str, str] | None:
    words = {"holds": "confirmed", "does not hold here": "not", "cannot tell": "cannot tell"}
    return None if answer is None else {"text": words[answer], "small": ""}


def _careful_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The careful table beside a table of the paper."""
    return {"run": CAREFUL, "where": spec["where"], **spec["careful"]}


def _counted(claims: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """How many claims have each answer."""
    answers = [claim["answer"] for claim in claims]
    for answer in ("holds", "does not hold here", "cannot tell"):
        yield answer, answers.count(answer)
