"""Audits and metrics to a finished run: cases, scores, judgements, verdicts, explanations."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import assay.api.user_data as user_data
import assay.api.whose as whose
from assay.api.about import describe_run
from assay.api.runs import Run
from assay.api.scores import MOST_FAILURES, able_to_run, scored_anew
from assay.core import Audit, Case, Explanation, Finding, Grid, Measure, Metric, Sample, Scored
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
    readable,
    score_all,
)
from assay.engine.questions import UNLIMITED, Limits, fitted_to_limits, quick_limits
from assay.engine.scoring import explain_samples
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.engine.unfold import (
    describe_measure,
    note_sentences,
    unscored_roles,
)
from assay.errors import DataError, SpecError
from assay.names.registry import audit_class, names
from assay.names.spec import Specifiable, build, check_numbers, measure
from assay.reading.results import Explained, cases_frame, check_writable, findings_frame, scores_frame
from assay.vocabulary import COVERED

DEFAULT_METRICS = ("bleu", "rougeL", "chrf", "embedding-average", "bertscore-f", "gpt-ppl")
_EXPLAINED = 3  # cases that are explained per failed finding


def audit(
    metrics: Specifiable | Sequence[Specifiable] = DEFAULT_METRICS,
    *,
    only: Sequence[str] = (),
    size: str = "quick",
    session: Session | None = None,
    coverage: float = COVERED,
    also: Sequence[str] = (),
    **options: Any,
) -> Run:
    """Run every audit that fits (or `only` these), on `data` where it fits and on embedded data elsewhere.

    `data` is a path, a table (records, pandas, polars, a Hugging Face dataset) or a list of them; `map` names
    their columns, as in `map="hypothesis=summary"`. `fresh` takes texts made anew instead: by a seed, from a
    file or a folder. `also` names audits that are left out otherwise. A verdict needs scores of a share
    `coverage` of the texts that have what the metric needs.
    """
    session = session or Session.open()
    measures = list(map(measure, user_data.metric_list(metrics)))
    audits, limits = _planned(only, size, options, measures, session, also)
    left_out = [] if only else user_data.english_alone(audits)
    return execute(
        audits, metrics, session, size=size, embedded=len(audits) > 1, limits=limits, coverage=coverage,
        left_out=left_out,
    )  # fmt: skip


def _planned(
    only: Sequence[str],
    size: str,
    options: Mapping[str, Any],
    measures: Sequence[Measure],
    session: Session,
    also: Sequence[str] = (),
) -> tuple[dict[str, Audit], Limits]:
    """The audits of a run, and what slow or paid models may read there: all that is asked for by name."""
    judges = any(one.metric.paradigm == "judge" for one in measures)
    audits = choose_audits(only, size, options, judges=judges, also=also)
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
            fits, foreign = readable(one, chosen, fitting(one, chosen, work), session)
            part = affordable(one, chosen, beginning(one, chosen, fits) if size == "quick" else fits, limits)
            notes += [*foreign, *note_left_out(one, limits, fits, part)]
            further = {name: chosen[name].foreseen(describe_measure(one)) for name in part}
            parts.append((one, {name: [*items, *further[name]] for name, items in part.items()}))
        for name, audit in chosen.items():
            panel = panel_of(audit, measures)
            parts += [(one, panel_work(audit, spec, {name: work[name]})) for spec, one in panel.items()]
        return [cost(one, part, session.cache) for one, part in parts], notes


def choose_audits(
    only: Sequence[str],
    size: str,
    options: Mapping[str, Any],
    *,
    judges: bool = False,
    also: Sequence[str] = (),
) -> dict[str, Audit]:
    """The audits of a run: those named, or all that fit the size and `also` these; those of judges where
    there are any.
    """
    is_fresh = options.get("fresh") is not None
    given = user_data.resolved(options)
    if len(only) == 1 and not is_fresh:
        return {only[0]: make_audit(only[0], _quick_options(only[0], size) | given)}
    described = user_data.describe_all(given)
    given = user_data.with_language(given, described)
    language = given.get("language", "en")
    kinds = {name: audit_class(name) for name in only or names("audits")}
    own = {name: user_data.files_for(kind, described, given) for name, kind in kinds.items()}
    is_usual = partial(_is_usual, size=size, language=language, is_fresh=is_fresh, judges=judges)
    chosen = only or [name for name in kinds if name in also or is_usual(kinds[name], own=bool(own[name]))]
    audits = {
        name: make_audit(name, _quick_options(name, size) | given | {"data": own[name]}, strict=False)
        for name in chosen
    }
    if not (only and is_fresh):  # texts made anew are for all audits: one alone takes what it can use
        user_data.check_used(described, audits)
    return audits


def _quick_options(name: str, size: str) -> dict[str, Any]:
    """The options by which an audit reads less in a quick look; none at full size."""
    quick = audit_class(name).quick if size == "quick" else {}
    return {option: value for option, value in quick.items() if option != "skip"}


def _is_usual(
    kind: type[Audit], *, size: str, language: str, own: bool, is_fresh: bool, judges: bool
) -> bool:
    """Whether an audit that nobody named is run: on data of the user's `own`, or on embedded texts."""
    if kind.of_judges and not judges:
        return False
    if kind.needs_fresh:
        return is_fresh
    if kind.needs_data:
        return own
    is_long = size == "quick" and kind.quick.get("skip", False)
    return not is_long and (own or user_data.speaks(kind, language))


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
    left_out: Sequence[str] = (),
) -> Run:
    """Score, judge, settle and store; the folder is checked, and models are fetched, before the work begins.

    A verdict needs scores of a share `coverage` of the texts that have what the metric needs.
    With `embedded`, an audit that finds nothing to score in the user's data takes the embedded data instead,
    if there are texts of that language. `left_out` are notes on what the caller did not choose.
    Models that are slow or paid read within the `limits`; the dearest audits are left out.
    """
    began = time.perf_counter()
    session.phases.clear()
    if session.out:
        check_writable(session.out)
    measures, not_run = _able(metrics, imported)
    with session.phase("fetching"):
        absent = {name: reason for name, audit in audits.items() if (reason := audit.fetch())}
    not_run += [f"{name} was run without {reason}" for name, reason in absent.items()]
    with session.phase("making cases"):
        audits, work, changed = _work(audits, session.cache, embedded=embedded)
    first = partial(_show_first, audits, work, measures, session, size) if session.on_first else None
    with session:
        scored, silent, notes = score_all(
            audits, work, measures, session, limits, quick=size == "quick", before_slow=first
        )
        spent = session.bill.summary()
    _add_imported(imported, audits, work, scored)
    with session.phase("judging"):
        findings, remarks = _judged(audits, scored, _answered(work, scored, silent, coverage))
    with session.phase("explaining"):
        all_cases = {name: _all_cases(work[name], scored[name]) for name in audits}
        explained = _explain(findings, all_cases, measures, session.cache)
    session.cache.close()
    uses = whose.uses_of(audits)
    read = [note for use in uses for note in use.notes]
    on_texts = [*changed, *read, *notes, *remarks] if embedded else [*notes, *remarks, *read]
    on_scores = [*scored_anew(measures), *_scoring_notes(scored), *session.failures[:MOST_FAILURES]]
    about = describe_run(audits, measures, scored, session, size) | {
        "coverage": coverage, "texts": whose.texts_of_run(audits, uses),
        "notes": [*not_run, *left_out, *on_texts, *on_scores],
    }  # fmt: skip
    for name in absent.keys() & audits.keys():
        about["audits"][name]["absent"] = [absent[name]]
    if spent:
        about["spent"] = spent
    about["seconds"] |= {"phases": session.phases, "wall": time.perf_counter() - began}
    finished = Run(findings_frame(findings), cases_frame(all_cases), scores_frame(scored), explained, about)
    return finished.save(session.out) if session.out else finished


def _able(
    metrics: Specifiable | Sequence[Specifiable], imported: ImportedScores | None
) -> tuple[list[Measure], list[str]]:
    """The metrics that can run here, and notes on the others; by default none beside imported scores."""
    is_default = metrics is DEFAULT_METRICS
    chosen = [] if imported and is_default else user_data.metric_list(metrics)
    return able_to_run(map(measure, chosen), required=not is_default)


def _answered(
    work: Mapping[str, Sequence[Case | Grid]],
    scored: Mapping[str, Sequence[Scored]],
    silent: Mapping[str, Sequence[Scored]],
    coverage: float,
) -> dict[str, list[Answered]]:
    """How much of each audit's texts every metric scored, those that scored none included."""
    answers = {name: [*scored[name], *silent.get(name, ())] for name in scored}
    return {
        name: [coverage_of(each, work[name], coverage) for each in listed] for name, listed in answers.items()
    }


def _add_imported(
    imported: ImportedScores | None,
    audits: Mapping[str, Audit],
    work: Mapping[str, Sequence[Case | Grid]],
    scored: dict[str, list[Scored]],
) -> None:
    """Put scores that were computed elsewhere, if there are any, beside those of each audit."""
    for name, chosen in audits.items() if imported else ():
        cases = [item for item in work[name] if isinstance(item, Case)]
        scored[name] += imported.judged(cases, chosen.roles, name)  # type: ignore[union-attr]


def _show_first(
    audits: Mapping[str, Audit],
    work: Mapping[str, Sequence[Case | Grid]],
    measures: Sequence[Measure],
    session: Session,
    size: str,
    scored: Mapping[str, Sequence[Scored]],
) -> None:
    """Judge the scores that there are so far, for whoever waits for the rest."""
    with session.phase("first answers"):
        about = describe_run(audits, measures, scored, session, size) | {"notes": []}
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
    language = user_data.language_of_run(audits)
    for name, audit in audits.items():
        try:
            work[name] = cases_of(audit, scores)
        except DataError as error:
            if not embedded or audit.needs_data:
                raise
            if not getattr(audit, "data", ()) or not user_data.speaks(type(audit), language):
                del chosen[name]
                notes.append(f"{name} is left out: {error}")
                continue
            chosen[name] = replace(audit, data=())  # type: ignore[type-var]
            work[name] = cases_of(chosen[name], scores)
            notes.append(f"{name} takes embedded data: {error}")
    return chosen, work, notes


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
    shown = _shown([finding for finding in findings if finding.metric in by_label], cases)
    reasons = {label: _reasons(measure, shown, cache) for label, measure in by_label.items()}
    return [
        Explained(label, name, case.id, role, why)
        for label, name, case in shown
        for role, sample in case.samples.items()
        if (why := reasons[label][sample]) is not None
    ]


def _shown(findings: Sequence[Finding], cases: Mapping[str, Sequence[Case]]) -> list[tuple[str, str, Case]]:
    """The evidence of failed findings that a report shows: metric, audit and case."""
    by_id = {(name, case.id): case for name, listed in cases.items() for case in listed}
    failed = [finding for finding in findings if finding.verdict == "fail"]
    evidence = dict.fromkeys((f.metric, f.audit, case) for f in failed for case in f.evidence[:_EXPLAINED])
    return [(label, name, by_id[name, id_]) for label, name, id_ in evidence if (name, id_) in by_id]


def _reasons(
    measure: Measure, shown: Iterable[tuple[str, str, Case]], cache: ScoreCache
) -> dict[Sample, Explanation | None]:
    """Why a metric scores each text of its cases as it does; None where it cannot tell."""
    samples = dict.fromkeys(
        sample for label, _, case in shown if label == measure.label for sample in case.samples.values()
    )
    return dict(zip(samples, explain_samples(measure, samples, cache), strict=True))


def _scoring_notes(scored: Mapping[str, Sequence[Scored]]) -> list[str]:
    """What a reader must know about the scores, for each audit and metric."""
    answers = [(name, answer) for name, listed in scored.items() for answer in listed]
    return [f"{name}: {answer.metric}: {note}" for name, answer in answers for note in _notes_on(answer)]


def _notes_on(answer: Scored) -> list[str]:
    """What was counted while a metric scored, roles without any score, and its own caution."""
    samples = sum(len(case.samples) for case in answer.cases)
    silent = [
        f"nothing scored in {slice_} at {', '.join(roles)}: no finding there"
        for slice_, roles in unscored_roles(answer).items()
    ]
    caution = answer.about.get("caution")
    return [*note_sentences(answer.notes, samples), *silent, *filter(None, [caution])]
