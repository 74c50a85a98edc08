"""Audits and metrics to a finished run: cases, scores, judgements, verdicts, explanations."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

import assay.api.user_data as user_data
import assay.api.whose as whose
from assay import __version__
from assay.api.runs import Run
from assay.core import Audit, Case, Finding, Floats, Grid, Measure, Metric, Sample, Scored
from assay.datasets.imported import ImportedScores, read_scores
from assay.engine.cache import ScoreCache
from assay.engine.coverage import Answered, coverage_of
from assay.engine.kept import cases_of
from assay.engine.plan import (
    Cost,
    Work,
    affordable,
    beginning,
    cost,
    fitting,
    note_left_out,
    panel_of,
    panel_work,
    score_all,
)
from assay.engine.questions import UNLIMITED, Limits, fitted_to_limits, quick_limits
from assay.engine.scoring import explain_samples, score_samples
from assay.engine.session import Session
from assay.engine.settle import describe, settle
from assay.engine.unfold import (
    count_notes,
    describe_measure,
    metric_notes,
    note_sentences,
    unscored_roles,
)
from assay.errors import DataError, MetricError, SpecError
from assay.files import toml_file
from assay.models.weights import CARRIERS, present
from assay.names.inventory import lacking
from assay.names.registry import audit_class, names
from assay.names.spec import Specifiable, build, check_numbers, measure
from assay.reading.results import Explained, cases_frame, check_writable, findings_frame, scores_frame
from assay.vocabulary import COVERED

DEFAULT_METRICS = ("bleu", "rougeL", "chrf", "embedding-average", "bertscore-f", "gpt-ppl")
_EXPLAINED = 3  # cases that are explained per failed finding
_PROGRAMS = ("assay", "assay.exe", "__main__.py")
_FAILURES = 100  # messages about samples on which a metric raised


def audit(
    metrics: Specifiable | Sequence[Specifiable] = DEFAULT_METRICS,
    *,
    only: Sequence[str] = (),
    size: str = "quick",
    session: Session | None = None,
    coverage: float = COVERED,
    **options: Any,
) -> Run:
    """Run every audit that fits (or `only` these), on `data` where it fits and on embedded data elsewhere.

    `data` is a path, a table (records, pandas, polars, a Hugging Face dataset) or a list of them; `map` names
    their columns, as in `map="hypothesis=summary"`. A verdict needs scores of a share `coverage` of the texts
    that have what the metric needs.
    """
    session = session or Session.open()
    audits, limits = _planned(only, size, options, list(map(measure, user_data.listed(metrics))), session)
    embedded = len(audits) > 1
    return execute(audits, metrics, session, size=size, embedded=embedded, limits=limits, coverage=coverage)


def _planned(
    only: Sequence[str], size: str, options: Mapping[str, Any], measures: Sequence[Measure], session: Session
) -> tuple[dict[str, Audit], Limits]:
    """The audits of a run, and what slow or paid models may read there: all that is asked for by name."""
    judges = any(one.metric.paradigm == "judge" for one in measures)
    audits = choose_audits(only, size, options, judges=judges)
    limits = UNLIMITED if only or size != "quick" else quick_limits(measures, session)
    return {name: fitted_to_limits(chosen, measures, limits) for name, chosen in audits.items()}, limits


def run(
    name: str,
    metrics: Specifiable | Sequence[Specifiable] = DEFAULT_METRICS,
    *,
    scores: str | None = None,
    scores_from: Sequence[str] = (),
    session: Session | None = None,
    size: str = "full",
    coverage: float = COVERED,
    **options: Any,
) -> Run:
    """Run one audit, on `data` (as in `audit`) or embedded data.

    `scores` are judged beside (or instead of) metrics run here: a file of them, or with `scores_from`
    columns of the data itself, beside the ratings.
    """
    imported = read_scores(scores) if scores else None
    audits = choose_audits([name], size, options)
    if scores_from:
        if imported:
            raise SpecError("give --scores FILE or --scores-from COLUMN, not both")
        columns = [scores_from] if isinstance(scores_from, str) else scores_from
        imported = user_data.scores_in(audits[name], columns)
    session = session or Session.open()
    return execute(audits, metrics, session, size=size, imported=imported, coverage=coverage)


def score(
    metrics: Specifiable | Sequence[Specifiable],
    samples: Any = None,
    references: Sequence[str | Sequence[str]] | None = None,
    sources: Sequence[str] | None = None,
    *,
    data: Any = None,
    map: str | Mapping[str, str | Sequence[str]] | None = None,
    session: Session | None = None,
) -> pl.DataFrame:
    """Plain scores: one row per sample, one column per metric; absent scores are null.

    Give samples; or hypotheses, with references and sources; or `data`, as in `audit`.
    """
    chosen = [measure(given) for given in user_data.listed(metrics)]
    images = user_data.reads_images(chosen)
    given = user_data.samples_of(samples, references, sources, data, map, images=images)
    return score_chunks(chosen, [given], session=session)[0]


def score_chunks(
    metrics: Sequence[Specifiable], chunks: Iterable[Sequence[Sample]], *, session: Session | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Plain scores, and notes: what was counted, what is absent and why, what failed.

    A chunk of samples is forgotten when it is scored: not all need fit in memory.
    """
    total, frames, stream = 0, [], iter(chunks)
    with session or Session.open() as session:
        chosen = _installed(map(measure, metrics), required=True)[0]
        counts = {given.label: Counter[str]() for given in chosen}
        for samples in stream:
            fits = _fitted(chosen, samples)
            if any(fit.metric is not given.metric for fit, given in zip(fits, chosen, strict=True)):
                samples = [*samples, *(sample for chunk in stream for sample in chunk)]
                fits = _fitted(chosen, samples)  # to the references of all
            total += len(samples)
            columns, counted = score_counted(fits, samples, session)
            for label, noted in counted.items():
                counts[label].update(noted)
            frames.append(pl.DataFrame(columns).fill_nan(None))
    notes = [*metric_notes(counts, total), *scored_anew(chosen), *session.failures[:_FAILURES]]
    return pl.concat(frames), notes


def scored_anew(measures: Iterable[Measure]) -> list[str]:
    """A note on each metric whose scores are not kept, and why."""
    return [reason for given in measures if (reason := given.metric.anew)]


def score_counted(
    measures: Sequence[Measure], samples: Sequence[Sample], session: Session
) -> tuple[dict[str, Floats], dict[str, Counter[str]]]:
    """Scores, and what was counted (`unfold.count_notes`), by metric."""
    columns, counts = {}, {}
    for given in measures:
        table = score_samples(given, samples, session)
        columns[given.label] = table.values[:, given.column]
        counts[given.label] = count_notes(given, samples, table)
    return columns, counts


def _fitted(measures: Sequence[Measure], samples: Sequence[Sample]) -> list[Measure]:
    references = [sample.references for sample in samples]
    return [replace(given, metric=given.metric.fitted(references)) for given in measures]


def estimate_cost(
    only: Sequence[str],
    metrics: Sequence[Specifiable],
    options: Mapping[str, Any],
    size: str,
    session: Session,
) -> tuple[list[Cost], list[str]]:
    """What a run would cost, one row per metric, and notes on what is left out; nothing is scored."""
    measures = list(map(measure, metrics))
    chosen, limits = _planned(only, size, options, measures, session)
    with session:
        chosen, work, _ = _work(chosen, session.cache, embedded=len(chosen) > 1)
        parts: list[tuple[Measure, Work]] = []
        notes = []
        for one in measures:
            fits = fitting(one, chosen, work)
            part = affordable(one, chosen, beginning(one, chosen, fits) if size == "quick" else fits, limits)
            notes += note_left_out(one, limits, fits, part)
            further = {name: chosen[name].foreseen(describe_measure(one)) for name in part}
            parts.append((one, {name: [*items, *further[name]] for name, items in part.items()}))
        for name, audit in chosen.items():
            panel = panel_of(audit, measures)
            parts += [(one, panel_work(audit, spec, {name: work[name]})) for spec, one in panel.items()]
        return [cost(one, part, session.cache) for one, part in parts], notes


def choose_audits(
    only: Sequence[str], size: str, options: Mapping[str, Any], *, judges: bool = False
) -> dict[str, Audit]:
    """The audits of a run: those named, or all that fit the size; those of judges where there are any."""
    given = user_data.resolved(options)
    described = [] if len(only) == 1 else user_data.describe_all(given)
    asked_for = given.get("language", "en")
    given = user_data.with_language(given, described)
    audits = {}
    for name in only or names("audits"):
        kind = audit_class(name)
        quick = dict(kind.quick) if size == "quick" else {}
        own = user_data.fitting(kind, described, given)
        skipped = quick.pop("skip", False) and not (own and kind.needs_data)
        skipped = skipped or not (own or user_data.speaks(kind, asked_for))
        skipped = skipped or (kind.of_judges and not judges)
        if only or not (skipped or (kind.needs_data and not own)):
            data = {} if len(only) == 1 else {"data": own}
            audits[name] = make_audit(name, quick | given | data, strict=len(only) == 1)
    user_data.check_used(described, audits)
    return audits


def make_audit(name: str, options: Mapping[str, Any], *, strict: bool = True) -> Audit:
    """An audit with these options; unless `strict`, options it does not have are left out."""
    kind, options = audit_class(name), user_data.resolved(options)
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    chosen: Audit = build(kind, {key: options[key] for key in options if strict or key in known}, name)
    check_numbers(chosen)
    return chosen


def execute(
    audits: Mapping[str, Audit],
    metrics: Specifiable | Sequence[Specifiable],
    session: Session,
    *,
    size: str,
    imported: ImportedScores | None = None,
    embedded: bool = False,
    limits: Limits = UNLIMITED,
    coverage: float = COVERED,
) -> Run:
    """Score, judge, settle and store; the folder is checked before the work begins.

    A verdict needs scores of a share `coverage` of the texts that have what the metric needs.

    With `embedded`, an audit that finds nothing to score in the user's data takes the embedded data instead.
    Models that are slow or paid read within the `limits`; the dearest audits are left out.
    """
    began = time.perf_counter()
    if session.out:
        check_writable(session.out)
    given = [] if imported and metrics is DEFAULT_METRICS else user_data.listed(metrics)
    measures, left_out = _installed(map(measure, given), required=metrics is not DEFAULT_METRICS)
    audits, work, changed = _work(audits, session.cache, embedded=embedded)
    first = partial(_show_first, audits, work, measures, session, size) if session.on_first else None
    with session:
        scored, silent, notes = score_all(
            audits, work, measures, session, limits, quick=size == "quick", before_slow=first
        )
        spent = session.bill.summary()
    for name in audits if imported else ():
        cases = [item for item in work[name] if isinstance(item, Case)]
        scored[name] += imported.judged(cases, audits[name].roles, name)  # type: ignore[union-attr]
    answered = {
        name: [coverage_of(each, work[name], coverage) for each in (*scored[name], *silent[name])]
        for name in audits
    }
    findings, remarks = _judged(audits, scored, answered)
    notes += remarks
    uses = whose.uses_of(audits)
    read = [note for use in uses for note in use.notes]
    notes = [*changed, *read, *notes] if len(audits) > 1 else [*notes, *read]
    all_cases = {name: _all_cases(work[name], scored[name]) for name in audits}
    explained = _explain(findings, all_cases, measures, session.cache)
    session.cache.close()
    about = _describe_run(audits, measures, scored, session, size) | ({"spent": spent} if spent else {})
    about["coverage"] = coverage
    about["texts"] = whose.whose_texts(audits, uses)
    about["seconds"]["wall"] = time.perf_counter() - began
    notes += scored_anew(measures)
    about["notes"] = [*left_out, *notes, *_scoring_notes(scored), *session.failures[:_FAILURES]]
    finished = Run(findings_frame(findings), cases_frame(all_cases), scores_frame(scored), explained, about)
    return finished.save(session.out) if session.out else finished


def _show_first(
    audits: Mapping[str, Audit],
    work: Mapping[str, Sequence[Case | Grid]],
    measures: Sequence[Measure],
    session: Session,
    size: str,
    scored: Mapping[str, Sequence[Scored]],
) -> None:
    """Judge the scores that there are so far, for whoever waits for the rest."""
    about = _describe_run(audits, measures, scored, session, size) | {"notes": []}
    findings = findings_frame(_judged(audits, scored, {})[0])
    cases = cases_frame({name: _all_cases(work[name], scored[name]) for name in audits})
    if session.on_first:
        session.on_first(Run(findings, cases, scores_frame(scored), about=about))


def _judged(
    audits: Mapping[str, Audit],
    scored: Mapping[str, Sequence[Scored]],
    answered: Mapping[str, Sequence[Answered]],
) -> tuple[list[Finding], list[str]]:
    """Settled findings and notes of all audits."""
    findings: list[Finding] = []
    notes: list[str] = []
    for name, chosen in audits.items():
        judgement = chosen.judge(scored[name])
        findings += settle(chosen, judgement, answered.get(name, ()))
        notes += [f"{name}: {note}" for note in judgement.notes]
    return findings, notes


def _work(
    audits: Mapping[str, Audit], scores: ScoreCache, *, embedded: bool
) -> tuple[dict[str, Audit], dict[str, list[Case | Grid]], list[str]]:
    """The audits as they are run, their cases, and notes on those that could not use the user's data."""
    chosen, work, notes = dict(audits), {}, []
    for name, audit in audits.items():
        try:
            work[name] = cases_of(audit, scores)
        except DataError as error:
            if not embedded or audit.needs_data or not getattr(audit, "data", ()):
                raise
            chosen[name] = replace(audit, data=())  # type: ignore[type-var]
            work[name] = cases_of(chosen[name], scores)
            notes.append(f"{name} takes embedded data: {error}")
    return chosen, work, notes


def _installed(measures: Iterable[Measure], *, required: bool) -> tuple[list[Measure], list[str]]:
    """The measures that can run, each once, and a note on those that cannot: an error if `required`."""
    by_label = {given.label: given for given in measures}
    whole = {label: getattr(given.metric, "parts", ()) or [given] for label, given in by_label.items()}
    needs = {label: need for label in whole for part in whole[label] if (need := lacking(part.metric))}
    if not needs:
        return list(by_label.values()), []
    problem = f"packages are missing for {', '.join(needs)}; {' and '.join(dict.fromkeys(needs.values()))}"
    if required:
        raise MetricError(problem)
    return [given for label, given in by_label.items() if label not in needs], [f"not run: {problem}"]


def _all_cases(items: Sequence[Case | Grid], scored: Sequence[Scored]) -> list[Case]:
    """The audit's cases and those a search added."""
    cases = {item.id: item for item in items if isinstance(item, Case)}
    for answer in scored:
        cases |= {case.id: case for case in answer.cases if case.samples and case.id not in cases}
    return list(cases.values())


def _explain(
    findings: Sequence[Finding],
    cases: Mapping[str, Sequence[Case]],
    measures: Sequence[Measure],
    cache: ScoreCache,
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
        reasons = explain_samples(by_label[metric], samples.values(), cache)
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
    order = [label for label in dict.fromkeys([*(m.label for m in measures), *metrics]) if label in metrics]
    specs = {given.label: {"spec": given.spec} for given in measures if given.spec}
    return {
        **_provenance(),
        "size": size,
        "metrics": {label: metrics[label] | specs.get(label, {}) for label in order},
        "audits": {name: describe(chosen) for name, chosen in audits.items()},
        "data": user_data.data_digests(audits),
        "seconds": {"scoring": dict(session.seconds)},
        "computed": dict(session.computed),
    }


def _provenance() -> dict[str, Any]:
    """The first entries of run.json: date, command, machine, and every version that can change a number.

    Packages and weights that are not installed are left out.
    """
    program = Path(sys.argv[0]).name if sys.argv else ""
    command = shlex.join(["assay", *sys.argv[1:]]) if program in _PROGRAMS else "a Python program"
    weights = [carrier for carrier in CARRIERS.values() if present(carrier.name)]
    return {
        "assay": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "python": platform.python_version(),
        "packages": {
            name: number for name in toml_file("run", "run")["packages"] if (number := version_of(name))
        },
        "weights": {each.name: f"{each.packages[0][0]} sha256:{each.pin}" for each in weights},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def version_of(package: str) -> str:
    """The installed version of a package; empty where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
