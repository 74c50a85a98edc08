"""From what was asked to a finished run: audits' cases, one scoring plan, judgements, explanations."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from assay.core import Audit, Case, Finding, Grid, Measure, Metric, Sample, Scored
from assay.datasets.imported import ImportedScores, read_scores
from assay.errors import DataError
from assay.models.weights import cache_folder, file_digest
from assay.names.registry import audit_class, names
from assay.names.spec import Specifiable, build, check_numbers, measure
from assay.run.cache import ScoreCache
from assay.run.cost import QUICK_TOKENS, Cost, cost
from assay.run.engine import OnError
from assay.run.engine.local import engine
from assay.run.plan import score_all
from assay.run.progress import Progress
from assay.run.results import Explained, Run, cases_frame, check_writable, findings_frame, scores_frame
from assay.run.scoring import Settings, explain_samples, score_samples
from assay.run.unfold import counted, told, unscored
from assay.statistics.estimates import benjamini_hochberg

DEFAULT_METRICS = ("bleu", "rougeL", "chrf", "embedding-average", "bertscore-f", "gpt-ppl")
_EXPLAINED = 3  # evidence cases explained a finding
_FAILURES = 100  # messages of samples on which a metric raised


@dataclass(frozen=True)
class Options:
    """How to run; nothing here changes a score."""

    out: Path | None = None
    cache: Path | None = field(default_factory=cache_folder)
    workers: int = 1
    ray: str | None = None
    on_error: OnError = "stop"
    quiet: bool = True
    timeout: float | None = None  # seconds a call of a metric may take

    def settings(self) -> Settings:
        """What scoring needs."""
        if self.ray:
            from assay.run.engine.ray import RayEngine

            chosen: Any = RayEngine(self.ray, self.workers, self.timeout)
        else:
            chosen = engine(self.workers, self.timeout)
        return Settings(ScoreCache(self.cache), chosen, Progress(self.quiet), self.on_error)


def audit(
    metrics: Sequence[Specifiable] = DEFAULT_METRICS,
    *,
    only: Sequence[str] = (),
    size: str = "quick",
    options: Options | None = None,
    **asked: Any,
) -> Run:
    """The main job: every audit that fits (or `only` these), on embedded data unless `data` is given."""
    return execute(chosen_audits(only, size, asked), metrics, options or Options(), size=size)


def chosen_audits(only: Sequence[str], size: str, asked: Mapping[str, Any]) -> dict[str, Audit]:
    """The audits of a run: those named, or all that `--size` has room for."""
    audits = {}
    for name in only or names("audits"):
        quick = dict(audit_class(name).quick()) if size == "quick" else {}
        skipped = quick.pop("skip", False) or (audit_class(name).needs_data and "data" not in asked)
        if only or not skipped:
            audits[name] = make_audit(name, quick | dict(asked), strict=len(only) == 1)
    return audits


def estimate(
    only: Sequence[str], metrics: Sequence[Specifiable], asked: Mapping[str, Any], size: str, options: Options
) -> list[Cost]:
    """What a run would cost, a row a metric; nothing is scored."""
    work = {name: list(one.cases()) for name, one in chosen_audits(only, size, asked).items()}
    with closing(ScoreCache(options.cache)) as cache:
        return [cost(one, work, cache) for one in map(measure, metrics)]


def run(
    name: str,
    metrics: Sequence[Specifiable] = DEFAULT_METRICS,
    *,
    scores: str | None = None,
    options: Options | None = None,
    size: str = "full",
    **asked: Any,
) -> Run:
    """One audit, on your data or ours; `scores` are judged beside (or instead of) metrics run here."""
    imported = read_scores(scores) if scores else None
    audits = chosen_audits([name], size, asked)
    return execute(audits, metrics, options or Options(), size=size, imported=imported)


def score(
    metrics: Sequence[Specifiable], samples: Sequence[Sample], *, options: Options | None = None
) -> pl.DataFrame:
    """Plain scores, a row a sample, a column a metric; absent ones are null."""
    return score_noted(metrics, samples, options=options)[0]


def score_noted(
    metrics: Sequence[Specifiable], samples: Sequence[Sample], *, options: Options | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Plain scores, and what a reader must know of them: what was counted, what is absent, what failed."""
    settings = (options or Options()).settings()
    columns: dict[str, Any] = {}
    notes: list[str] = []
    references = [sample.references for sample in samples]
    with closing(settings.cache):
        for one in map(measure, metrics):
            fitted = replace(one, metric=one.metric.fitted(references))
            table = score_samples(fitted, samples, settings)
            columns[one.label] = table.values[:, fitted.column]
            counts = counted(fitted, samples, table)
            notes += [f"{one.label}: {note}" for note in told(counts, len(samples))]
    return pl.DataFrame(columns).fill_nan(None), [*notes, *settings.failures[:_FAILURES]]


def compare(before: Run, after: Run) -> pl.DataFrame:
    """Findings of two runs side by side, by metric, audit, slice and statistic."""
    keys = ["metric", "audit", "slice", "statistic", "versus"]
    kept = [*keys, "value", "ci_low", "ci_high", "passed"]
    left, right = (frame.findings.select(kept) for frame in (before, after))
    both = left.join(right, on=keys, how="full", suffix="_after", coalesce=True, nulls_equal=True)
    return both.with_columns((pl.col("value_after") - pl.col("value")).alias("change"))


def make_audit(name: str, asked: Mapping[str, Any], *, strict: bool = True) -> Audit:
    """An audit with these options; without `strict`, options it does not have are left out."""
    kind = audit_class(name)
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    given = {key: value for key, value in asked.items() if strict or key in known}
    made: Audit = build(kind, given, name)
    check_numbers(made)
    return made


def execute(
    audits: Mapping[str, Audit],
    metrics: Sequence[Specifiable],
    options: Options,
    *,
    size: str,
    imported: ImportedScores | None = None,
) -> Run:
    """Cases, scores, judgements; the folder is checked before the work and written after it."""
    began = time.perf_counter()
    if options.out:
        check_writable(options.out)
    measures = _distinct([] if imported and metrics == DEFAULT_METRICS else [measure(m) for m in metrics])
    settings = options.settings()
    work = {name: _cases_of(one) for name, one in audits.items()}
    tokens = QUICK_TOKENS if size == "quick" else None
    with closing(settings.cache):
        scored, notes = score_all(audits, work, measures, settings, causal_tokens=tokens)
    if imported:
        for name, one in audits.items():
            listed = [case for case in work[name] if isinstance(case, Case)]
            scored[name] += imported.judged(listed, one.roles, name)
    found = [f for name, one in audits.items() for f in _judge(one, scored[name])]
    cases = {name: _all_cases(work[name], scored[name]) for name in audits}
    explained = _explain(found, cases, measures)
    about = _about(audits, measures, scored, settings, size, began)
    about["notes"] = [*notes, *_notes(audits, scored), *settings.failures[:_FAILURES]]
    done = Run(findings_frame(found), cases_frame(cases), scores_frame(scored), explained, about)
    return done.save(options.out) if options.out else done


def _cases_of(one: Audit) -> list[Case | Grid]:
    cases = list(one.cases())
    if not cases:
        raise DataError(f"{one.name} found nothing to score in its data; {one.wants}")
    return cases


def _distinct(measures: Iterable[Measure]) -> list[Measure]:
    """Each metric once, by the name people gave it."""
    return list({one.label: one for one in measures}.values())


def _judge(one: Audit, scored: Sequence[Scored]) -> list[Finding]:
    """The audit's findings; q-values within one metric and audit, so that metrics do not sway each other."""
    found = one.judge(scored) if scored else []
    held = {answer.metric for answer in scored if answer.about.get("held_back")}
    found = [replace(finding, passed=None) if finding.metric in held else finding for finding in found]
    filled: list[Finding] = []
    for metric in dict.fromkeys(finding.metric for finding in found):
        mine = [finding for finding in found if finding.metric == metric]
        open_ = [f for f in mine if f.p_value is not None and f.q_value is None]
        q_values = dict(zip(map(id, open_), benjamini_hochberg([f.p_value for f in open_]), strict=True))
        filled += [replace(f, q_value=float(q_values[id(f)])) if id(f) in q_values else f for f in mine]
    return filled


def _all_cases(items: Sequence[Case | Grid], scored: Sequence[Scored]) -> list[Case]:
    """The audit's cases and those a search added."""
    cases = {item.id: item for item in items if isinstance(item, Case)}
    for answer in scored:
        cases |= {case.id: case for case in answer.cases if case.samples and case.id not in cases}
    return list(cases.values())


def _explain(
    found: Sequence[Finding], cases: Mapping[str, Sequence[Case]], measures: Sequence[Measure]
) -> list[Explained]:
    """Explain the evidence of failed findings; the report computes nothing (law 10)."""
    by_label = {one.label: one for one in measures if isinstance(one.metric, Metric)}
    known = {name: {case.id: case for case in listed} for name, listed in cases.items()}
    wanted: dict[tuple[str, str, str], None] = {}
    for finding in found:
        if finding.passed is False and finding.metric in by_label:
            for case in finding.evidence[:_EXPLAINED]:
                if case in known.get(finding.audit, {}):
                    wanted[finding.metric, finding.audit, case] = None
    explained: list[Explained] = []
    for metric, name, case in wanted:
        samples = known[name][case].samples
        reasons = explain_samples(by_label[metric], samples.values())
        explained += [
            Explained(metric, name, case, role, reason)
            for role, reason in zip(samples, reasons, strict=True)
            if reason is not None
        ]
    return explained


def _notes(audits: Mapping[str, Audit], scored: Mapping[str, Sequence[Scored]]) -> list[str]:
    notes = [f"{name}: {note}" for name, one in audits.items() for note in one.notes()]
    for name, answers in scored.items():
        for answer in answers:
            samples = sum(len(case.samples) for case in answer.cases)
            notes += [f"{name}: {answer.metric}: {note}" for note in told(answer.notes, samples)]
            notes += [
                f"{name}: {answer.metric}: nothing scored in {slice_} at {', '.join(roles)}: no finding there"
                for slice_, roles in unscored(answer).items()
            ]
            if answer.about.get("caution"):
                notes.append(f"{name}: {answer.metric}: {answer.about['caution']}")
    return notes


def _about(
    audits: Mapping[str, Audit],
    measures: Sequence[Measure],
    scored: Mapping[str, Sequence[Scored]],
    settings: Settings,
    size: str,
    began: float,
) -> dict[str, Any]:
    """run.json: everything needed to trust and repeat the run."""
    metrics = {answer.metric: dict(answer.about) for answers in scored.values() for answer in answers}
    order = [one.label for one in measures]
    shown = {label: metrics[label] for label in [*order, *metrics] if label in metrics}
    given = [path for one in audits.values() for path in getattr(one, "data", ())]
    packages = ("numpy", "scipy", "polars", "sacrebleu", "rouge-score", "spacy")
    return {
        "assay": version("assay"),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
        "size": size,
        "metrics": shown,
        "audits": {name: one.parameters_text | {"question": one.question} for name, one in audits.items()},
        "data": {str(path): file_digest(path) for path in given if path.is_file()},
        "seconds": {"wall": time.perf_counter() - began, "scoring": settings.seconds},
        "computed": settings.computed,
    }
