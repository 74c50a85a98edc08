"""Scores to what audits judge: one value per case and role, or one per set of texts with its resamples.

What a metric counted, and every sample without a score, stands beside the values with its reason.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from assay.core import Case, Floats, Measure, Metric, Sample, Scored, SetMetric
from assay.engine.cache import ScoreTable
from assay.engine.session import Session
from assay.engine.workers.batch import apart, as_numbers, call_metric
from assay.errors import MetricError
from assay.files import toml_file

RESAMPLES = 1000
ABSENT, FAILED = "absent", "failed"  # notes that scoring itself counts
_FEWEST_REFERENCES = 8  # two halves of four texts, which a band of scores is measured between
_SAMPLES_WITH = "samples with "  # before a note's name: in how many samples it was counted
_FACTS = toml_file("run", "run")
_LACKS: dict[str, str] = _FACTS["lacks"]
_REASONS: dict[str, str] = _FACTS["reasons"]
_SENTENCES: dict[str, str] = _FACTS["sentences"]


def unfold(measure: Measure, cases: Mapping[str, Sequence[Case]], table: ScoreTable) -> dict[str, Scored]:
    """Each audit's values by role, from the scores of all audits' samples in order."""
    scored: dict[str, Scored] = {}
    about = describe_measure(measure)
    column = table.values[:, measure.column]
    start = 0
    for name, listed in cases.items():
        samples = [sample for case in listed for sample in case.samples.values()]
        notes = count_notes(measure, samples, table, start)
        roles = dict.fromkeys(role for case in listed for role in case.samples)
        values = {role: np.full(len(listed), np.nan) for role in roles}
        for index, case in enumerate(listed):
            for role in case.samples:
                values[role][index] = column[start]
                start += 1
        scored[name] = Scored(measure.label, listed, values, notes=notes, about=about)
    return scored


def describe_measure(measure: Measure) -> dict[str, Any]:
    """What a run stores of a metric."""
    metric = measure.metric
    return {
        "paradigm": metric.paradigm,
        "backbone": metric.backbone,
        "served": bool(getattr(metric, "endpoint", "")),  # the model runs behind a server
        "parameters": metric.parameter_count,
        "signature": metric.signature,
        "set": isinstance(metric, SetMetric),
        "name": metric.name,
        "output": measure.output,
        "stand_in": bool(getattr(metric, "stand_in", False)),
        "reads_references": "references" in metric.needs,
        "needs": sorted(metric.needs),
        "made_for": list(metric.made_for),
    }


def unscored_roles(scored: Scored) -> dict[str, list[str]]:
    """By slice, the roles without any score, for slices where other roles have one: they give no finding."""
    slices: dict[str, dict[str, bool]] = {}
    for place, case in enumerate(scored.cases):
        roles = slices.setdefault(case.slice, {})
        for role in case.samples or case.meta.get("sizes", ()):
            if role in scored.values:
                roles[role] = roles.get(role, False) or bool(np.isfinite(scored.values[role][place]))
    return {
        slice_: [role for role, has_score in roles.items() if not has_score]
        for slice_, roles in slices.items()
        if any(roles.values()) and not all(roles.values())
    }


def score_sets(measure: Measure, metric: SetMetric, cases: Sequence[Case], session: Session) -> Scored:
    """One folded case per slice: the samples of one role in a slice are one set."""
    sets: dict[str, dict[str, list[Sample]]] = {}
    for case in cases:
        by_role = sets.setdefault(case.slice, {})
        for role, sample in case.samples.items():
            by_role.setdefault(role, []).append(sample)
    roles = dict.fromkeys(chain.from_iterable(sets.values()))
    values = {role: np.full(len(sets), np.nan) for role in roles}
    resamples = {role: np.full((len(sets), RESAMPLES), np.nan) for role in roles}
    failures = len(session.failures)
    began = time.perf_counter()
    with session.progress.task(measure.label, sum(map(len, sets.values()))) as counter:
        for index, (slice_, by_role) in enumerate(sets.items()):
            for role, samples in by_role.items():
                where = f"on the {len(samples)} samples of {slice_}, {role}"
                scores = _scores_of_set(measure, metric, samples, where, session)
                if scores is not None:
                    values[role][index], resamples[role][index] = scores
                counter.advance(1)
    session.spent(measure.label, began)
    folded = [_folded(metric, slice_, by_role) for slice_, by_role in sets.items()]
    notes = +Counter({f"{ABSENT}: {_REASONS[FAILED]}": len(session.failures) - failures})
    about = describe_measure(measure) | (_warn_of_small_sets(metric, sets) if metric.smallest else {})
    return Scored(measure.label, folded, values, resamples=resamples, notes=notes, about=about)


def _scores_of_set(
    measure: Measure, metric: SetMetric, samples: Sequence[Sample], where: str, session: Session
) -> tuple[float, Floats] | None:
    """The score of a set and of its resamples; None where it lacks something or failed."""
    if not _is_complete(metric, samples):
        return None
    try:
        call = partial(_score_set, metric, apart(metric, samples))
        return call_metric(metric, call, where, session.engine.timeout)
    except MetricError as error:
        if session.on_error != "skip":
            raise
        session.failures.append(f"{measure.label}: {where}: {error}")
        return None


def _folded(metric: SetMetric, slice_: str, by_role: Mapping[str, Sequence[Sample]]) -> Case:
    """The case that stands for the sets of a slice: their sizes, and which of them the metric can score."""
    sizes = {role: len(samples) for role, samples in by_role.items()}
    askable = [role for role, samples in by_role.items() if _is_complete(metric, samples)]
    return Case(slice_, {}, slice_, {"sizes": sizes, "askable": askable})


def _is_complete(metric: SetMetric, samples: Sequence[Sample]) -> bool:
    """Whether each sample has what the metric needs, or any of them where the metric pools the samples."""
    enough = any if metric.pools else all
    return all(enough(getattr(sample, need) for sample in samples) for need in metric.needs)


def _score_set(metric: SetMetric, samples: Sequence[Sample]) -> tuple[float, Floats]:
    """The set's score and its bootstrap: the same draws for sets of equal size, so that pairs stay pairs."""
    rows = metric.statistics(samples)
    if rows is None:
        value = float(as_numbers(metric, metric.score_set(samples)))
        if math.isinf(value):
            raise MetricError(f"{metric.name} returned {value} for a set of {len(samples)} samples")
        return value, np.full(RESAMPLES, np.nan)
    generator = np.random.default_rng(len(samples))
    weights = generator.multinomial(len(samples), np.full(len(samples), 1 / len(samples)), size=RESAMPLES)
    value = float(metric.from_statistics(rows.sum(axis=0)[None, :])[0])
    return value, metric.from_statistics(weights @ rows)


def _warn_of_small_sets(
    metric: SetMetric, sets: Mapping[str, Mapping[str, Sequence[Sample]]]
) -> dict[str, Any]:
    """The caution for readers of small sets, and whether verdicts are held back."""
    groups = [samples for by_role in sets.values() for samples in by_role.values()]
    references = {reference: None for group in groups for s in group for reference in s.references}
    if len(references) < _FEWEST_REFERENCES:
        return {"held_back": True, "caution": f"{len(references)} references are too few for a band"}
    smallest = min(map(len, groups))
    few = f"sets of {smallest} texts, fewer than {metric.smallest}: no verdicts"
    cautions = [few] if smallest < metric.smallest else []
    band = call_metric(metric, partial(metric.band, list(references)), "on its references")
    if band:
        between = f"{band[0]:.3f} to {band[1]:.3f}"
        cautions.append(f"halves of the references score {between}: differences within that mean nothing")
    return {"held_back": smallest < metric.smallest, "caution": "; ".join(cautions)}


def count_notes(
    measure: Measure, samples: Sequence[Sample], table: ScoreTable, start: int = 0
) -> Counter[str]:
    """What was counted in the samples whose rows begin at `start`; zeros are left out."""
    rows = slice(start, start + len(samples))
    columns = {name: counts[rows] for name, counts in table.notes.items()}
    totals: Counter[str] = Counter()
    for name, counts in columns.items():
        totals[name] += int(counts.sum())
        totals[_SAMPLES_WITH + name] += int(np.count_nonzero(counts))
    for row in np.flatnonzero(np.isnan(table.values[rows, measure.column])).tolist():
        noted = [name for name, counts in columns.items() if counts[row]]
        totals[ABSENT] += 1
        totals[f"{ABSENT}: {_reason(measure.metric, samples[row], noted)}"] += 1
    return +totals


def missing_field(metric: Metric | SetMetric, sample: Sample) -> str | None:
    """The first field that the metric needs and the sample lacks; None if there is none."""
    return next((need for need in _LACKS if need in metric.needs and not getattr(sample, need)), None)


def _reason(metric: Metric | SetMetric, sample: Sample, noted: Collection[str]) -> str:
    """Why a sample has no score: it lacks something, a text of it is empty, or what the metric noted."""
    need = missing_field(metric, sample)
    if need:
        return _LACKS[need]
    texts = _texts_read(metric, sample)
    if FAILED not in noted and not all(text.strip() for text in texts):
        return "empty text"
    for name, reason in _REASONS.items():
        if name in noted:
            return reason
    order = getattr(metric, "n", None)
    if isinstance(order, int) and len(sample.hypothesis.split()) < order:
        return f"fewer than {order} words"
    has_words = all(any(map(str.isalnum, text)) for text in texts)
    return "the metric defines none for such a text" if has_words else "no word in the text"


def _texts_read(metric: Metric | SetMetric, sample: Sample) -> list[str]:
    """The texts of a sample that a metric reads; of several references one with words is enough."""
    texts = {"references": "".join(sample.references), "source": sample.source, "rival": sample.rival}
    read = metric.needs | metric.optional
    return [sample.hypothesis, *(text for name, text in texts.items() if name in read and text)]


def unusual_reasons(counts: Mapping[str, int]) -> str:
    """Why there are no scores; empty if fields are missing and nothing else."""
    reasons = [name.removeprefix(f"{ABSENT}: ") for name in counts if name.startswith(f"{ABSENT}: ")]
    return "" if set(reasons) <= set(_LACKS.values()) else ", ".join(reasons)


def metric_notes(counts: Mapping[str, Mapping[str, int]], samples: int) -> list[str]:
    """What was counted for each metric, in words."""
    return [f"{label}: {text}" for label, own in counts.items() for text in note_sentences(own, samples)]


def note_sentences(counts: Mapping[str, int], samples: int) -> list[str]:
    """What was counted, in words; `samples` is how many samples there were."""
    sentences = []
    for name, count in counts.items():
        head, colon, reason = name.partition(": ")
        if head == ABSENT:
            if colon or not any(other.startswith(f"{ABSENT}: ") for other in counts):
                sentences.append(f"no score for {count:,} of {samples:,} samples{colon}{reason}")
        elif name in _SENTENCES:
            touched = counts[_SAMPLES_WITH + name]
            sentences.append(_SENTENCES[name].format(count=count, touched=touched, samples=samples))
        elif name not in _REASONS and not name.startswith(_SAMPLES_WITH):
            sentences.append(f"{count} {name}")
    return sentences
