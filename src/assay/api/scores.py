"""Texts to plain scores: one row per text and one column per metric, without an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from assay.api import user_data
from assay.core import Floats, Measure, Metric, Sample
from assay.engine.languages import foreign_to, spoken_by
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.engine.unfold import count_notes, metric_notes
from assay.errors import MetricError
from assay.names.inventory import lacking
from assay.names.spec import Specifiable, measure

MOST_FAILURES = 100  # messages about samples on which a metric raised


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
    chosen = [measure(given) for given in user_data.metric_list(metrics)]
    images = user_data.need_images(chosen)
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
        chosen = able_to_run(map(measure, metrics), required=True)[0]
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
    notes = [*metric_notes(counts, total), *scored_anew(chosen), *session.failures[:MOST_FAILURES]]
    return pl.concat(frames), notes


def scored_anew(measures: Iterable[Measure]) -> list[str]:
    """A note on each metric whose scores are not kept, and why."""
    return [reason for given in measures if (reason := given.metric.anew)]


def score_counted(
    measures: Sequence[Measure], samples: Sequence[Sample], session: Session
) -> tuple[dict[str, Floats], dict[str, Counter[str]]]:
    """Scores, and what was counted (`unfold.count_notes`), by metric.

    A metric whose model does not read the texts' language is refused, unless the session takes any.
    """
    columns, counts = {}, {}
    spoken = spoken_by(samples)
    for given in measures:
        foreign = foreign_to(given, spoken)
        if foreign and not session.any_language:
            advice = "take another metric, or score them all the same with --any-language"
            raise MetricError(f"{given.label}: {foreign}; {advice} (Session.open(any_language=True))")
        table = score_samples(given, samples, session)
        columns[given.label] = table.values[:, given.column]
        counts[given.label] = count_notes(given, samples, table)
        if foreign:
            counts[given.label]["texts in a language that its model does not read"] = len(samples)
    return columns, counts


def _fitted(measures: Sequence[Measure], samples: Sequence[Sample]) -> list[Measure]:
    references = [sample.references for sample in samples]
    return [replace(given, metric=given.metric.fitted(references)) for given in measures]


def able_to_run(measures: Iterable[Measure], *, required: bool) -> tuple[list[Measure], list[str]]:
    """The measures that can run, each once, and a note on those that cannot: an error if `required`."""
    by_label = {given.label: given for given in measures}
    needs = {label: need for label, given in by_label.items() if (need := _lacking(given))}
    if not needs:
        return list(by_label.values()), []
    problem = f"packages are missing for {', '.join(needs)}; {' and '.join(dict.fromkeys(needs.values()))}"
    if required:
        raise MetricError(problem)
    return [given for label, given in by_label.items() if label not in needs], [f"not run: {problem}"]


def _lacking(given: Measure) -> str | None:
    """What must be installed for a metric, or for the last part of a hybrid that lacks something."""
    parts = given.metric.parts if isinstance(given.metric, Metric) else ()
    needs = [lacking(part.metric) for part in parts or (given,)]
    return next(filter(None, reversed(needs)), None)
