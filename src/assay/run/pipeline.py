"""Audits and metrics to a finished run: cases, scores, judgements, verdicts, explanations."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib.metadata import version
from typing import Any

import polars as pl

from assay.core import Audit, Case, Finding, Grid, Measure, Metric, Sample, Scored
from assay.datasets.imported import ImportedScores, read_scores
from assay.errors import DataError
from assay.models.weights import file_digest
from assay.names.registry import audit_class, names
from assay.names.spec import Specifiable, build, check_numbers, measure
from assay.run.plan import QUICK_TOKENS, Cost, cost, score_all
from assay.run.results import Explained, Run, cases_frame, check_writable, findings_frame, scores_frame
from assay.run.scoring import explain_samples, score_samples
from assay.run.session import Session
from assay.run.settle import describe, settle
from assay.run.unfold import count_notes, note_sentences, unscored_roles

DEFAULT_METRICS = ("bleu", "rougeL", "chrf", "embedding-average", "bertscore-f", "gpt-ppl")
_EXPLAINED = 3  # cases that are explained per failed finding
_FAILURES = 100  # messages about samples on which a metric raised
_PACKAGES = ("numpy", "scipy", "polars", "sacrebleu", "spacy")


def audit(
    metrics: Sequence[Specifiable] = DEFAULT_METRICS,
    *,
    only: Sequence[str] = (),
    size: str = "quick",
    session: Session | None = None,
    **options: Any,
) -> Run:
    """Run every audit that fits (or `only` these), on embedded data unless `data` is given."""
    return execute(choose_audits(only, size, options), metrics, session or Session.open(), size=size)


def run(
    name: str,
    metrics: Sequence[Specifiable] = DEFAULT_METRICS,
    *,
    scores: str | None = None,
    session: Session | None = None,
    size: str = "full",
    **options: Any,
) -> Run:
    """Run one audit, on your data or ours; `scores` are judged beside (or instead of) metrics run here."""
    imported = read_scores(scores) if scores else None
    audits = choose_audits([name], size, options)
    return execute(audits, metrics, session or Session.open(), size=size, imported=imported)


def score(
    metrics: Sequence[Specifiable], samples: Sequence[Sample], *, session: Session | None = None
) -> pl.DataFrame:
    """Plain scores: one row per sample, one column per metric; absent scores are null."""
    return score_noted(metrics, samples, session=session)[0]


def score_noted(
    metrics: Sequence[Specifiable], samples: Sequence[Sample], *, session: Session | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Plain scores, and notes on them: what was counted, what is absent and why, what failed."""
    columns: dict[str, Any] = {}
    notes: list[str] = []
    references = [sample.references for sample in samples]
    with session or Session.open() as session:
        for given in map(measure, metrics):
            fitted = replace(given, metric=given.metric.fitted(references))
            table = score_samples(fitted, samples, session)
            columns[given.label] = table.values[:, fitted.column]
            counts = count_notes(fitted, samples, table)
            notes += [f"{given.label}: {note}" for note in note_sentences(counts, len(samples))]
    return pl.DataFrame(columns).fill_nan(None), [*notes, *session.failures[:_FAILURES]]


def estimate_cost(
    only: Sequence[str],
    metrics: Sequence[Specifiable],
    options: Mapping[str, Any],
    size: str,
    session: Session,
) -> list[Cost]:
    """What a run would cost, one row per metric; nothing is scored."""
    work = {name: list(chosen.cases()) for name, chosen in choose_audits(only, size, options).items()}
    with session:
        return [cost(given, work, session.cache) for given in map(measure, metrics)]


def choose_audits(only: Sequence[str], size: str, options: Mapping[str, Any]) -> dict[str, Audit]:
    """The audits of a run: those named, or all that `--size` has room for."""
    audits = {}
    for name in only or names("audits"):
        quick = dict(audit_class(name).quick()) if size == "quick" else {}
        skipped = quick.pop("skip", False) or (audit_class(name).needs_data and "data" not in options)
        if only or not skipped:
            audits[name] = make_audit(name, quick | dict(options), strict=len(only) == 1)
    return audits


def make_audit(name: str, options: Mapping[str, Any], *, strict: bool = True) -> Audit:
    """An audit with these options; unless `strict`, options it does not have are left out."""
    kind = audit_class(name)
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    chosen: Audit = build(kind, {key: options[key] for key in options if strict or key in known}, name)
    check_numbers(chosen)
    return chosen


def execute(
    audits: Mapping[str, Audit],
    metrics: Sequence[Specifiable],
    session: Session,
    *,
    size: str,
    imported: ImportedScores | None = None,
) -> Run:
    """Score, judge, settle and store; the folder is checked before the work begins."""
    began = time.perf_counter()
    if session.out:
        check_writable(session.out)
    measures = [] if imported and metrics is DEFAULT_METRICS else [measure(given) for given in metrics]
    measures = list({given.label: given for given in measures}.values())
    work = {name: _cases_of(chosen) for name, chosen in audits.items()}
    tokens = QUICK_TOKENS if size == "quick" else None
    with session:
        scored, notes = score_all(audits, work, measures, session, causal_tokens=tokens)
        spent = session.bill.summary()
    if imported:
        for name, chosen in audits.items():
            cases = [item for item in work[name] if isinstance(item, Case)]
            scored[name] += imported.judged(cases, chosen.roles, name)
    findings: list[Finding] = []
    for name, chosen in audits.items():
        judgement = chosen.judge(scored[name])
        held_back = [answer.metric for answer in scored[name] if answer.about.get("held_back")]
        findings += settle(chosen, judgement, held_back=held_back)
        notes += [f"{name}: {note}" for note in judgement.notes]
    all_cases = {name: _all_cases(work[name], scored[name]) for name in audits}
    explained = _explain(findings, all_cases, measures)
    about = _describe_run(audits, measures, scored, session, size) | ({"spent": spent} if spent else {})
    about["seconds"]["wall"] = time.perf_counter() - began
    about["notes"] = [*notes, *_scoring_notes(scored), *session.failures[:_FAILURES]]
    finished = Run(findings_frame(findings), cases_frame(all_cases), scores_frame(scored), explained, about)
    return finished.save(session.out) if session.out else finished


def _cases_of(audit: Audit) -> list[Case | Grid]:
    cases = list(audit.cases())
    if not cases:
        raise DataError(f"{audit.name} found nothing to score in its data; {audit.wants}")
    return cases


def _all_cases(items: Sequence[Case | Grid], scored: Sequence[Scored]) -> list[Case]:
    """The audit's cases and those a search added."""
    cases = {item.id: item for item in items if isinstance(item, Case)}
    for answer in scored:
        cases |= {case.id: case for case in answer.cases if case.samples and case.id not in cases}
    return list(cases.values())


def _explain(
    findings: Sequence[Finding], cases: Mapping[str, Sequence[Case]], measures: Sequence[Measure]
) -> list[Explained]:
    """Explanations of the evidence of failed findings, made now because the report computes nothing."""
    by_label = {given.label: given for given in measures if isinstance(given.metric, Metric)}
    by_id = {name: {case.id: case for case in listed} for name, listed in cases.items()}
    wanted = {
        (finding.metric, finding.audit, case): None
        for finding in findings
        if finding.verdict == "fail" and finding.metric in by_label
        for case in finding.evidence[:_EXPLAINED]
        if case in by_id.get(finding.audit, {})
    }
    explained: list[Explained] = []
    for metric, name, case in wanted:
        samples = by_id[name][case].samples
        reasons = explain_samples(by_label[metric], samples.values())
        explained += [
            Explained(metric, name, case, role, reason)
            for role, reason in zip(samples, reasons, strict=True)
            if reason is not None
        ]
    return explained


def _scoring_notes(scored: Mapping[str, Sequence[Scored]]) -> list[str]:
    """What a reader must know about the scores: what was counted, roles without any score, cautions."""
    notes = []
    for name, answers in scored.items():
        for answer in answers:
            samples = sum(len(case.samples) for case in answer.cases)
            listed = note_sentences(answer.notes, samples)
            listed += [
                f"nothing scored in {slice_} at {', '.join(roles)}: no finding there"
                for slice_, roles in unscored_roles(answer).items()
            ]
            listed += [answer.about["caution"]] if answer.about.get("caution") else []
            notes += [f"{name}: {answer.metric}: {note}" for note in listed]
    return notes


def _describe_run(
    audits: Mapping[str, Audit],
    measures: Sequence[Measure],
    scored: Mapping[str, Sequence[Scored]],
    session: Session,
    size: str,
) -> dict[str, Any]:
    """run.json: everything needed to trust and repeat the run."""
    metrics = {answer.metric: dict(answer.about) for answers in scored.values() for answer in answers}
    order = [given.label for given in measures]
    files = [path for chosen in audits.values() for path in getattr(chosen, "data", ()) if path.is_file()]
    return {
        "assay": version("assay"),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
        "size": size,
        "metrics": {label: metrics[label] for label in [*order, *metrics] if label in metrics},
        "audits": {name: describe(chosen) for name, chosen in audits.items()},
        "data": {str(path): file_digest(path) for path in files},
        "seconds": {"scoring": dict(session.seconds)},
        "computed": dict(session.computed),
    }
