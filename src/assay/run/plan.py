"""The scoring plan of a run: each metric once over the cases of all audits, searches in rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.core import Audit, Case, Grid, Measure, Scored
from assay.errors import AuditError
from assay.names.spec import measure
from assay.run.cost import affordable
from assay.run.scoring import score_cases
from assay.run.session import Session
from assay.run.unfold import unusual

_ROUNDS = 200


def score_all(
    audits: Mapping[str, Audit],
    work: Mapping[str, list[Case | Grid]],
    measures: Sequence[Measure],
    session: Session,
    *,
    causal_tokens: int | None = None,
) -> tuple[dict[str, list[Scored]], list[str]]:
    """A metric at a time over all audits, so that one model is in memory and shared samples score once."""
    scored: dict[str, list[Scored]] = {name: [] for name in audits}
    notes: list[str] = []
    panels = {name: _panel(one, measures) for name, one in audits.items()}  # a wrong spec before the work
    for one in measures:
        asked = {name: items for name, items in work.items() if one.metric.needs or not audits[name].compares}
        notes += [_misfit(one, name) for name in work if name not in asked]
        mine = asked if causal_tokens is None else affordable(one, asked, causal_tokens)
        left_out = ", ".join(name for name in asked if name not in mine)
        if left_out:
            notes.append(f"{one.label} reads token by token; --size quick leaves out {left_out}")
        for fitted, names_ in _fits(one, mine):
            answers = score_cases(fitted, {name: work[name] for name in names_}, session)
            for name, answer in answers.items():
                complete = _search(audits[name], fitted, answer, session)
                if _says_something(complete):
                    scored[name].append(complete)
                else:
                    notes.append(_misfit(one, name, complete.notes))
    if measures and not any(scored.values()):
        raise AuditError("; ".join(notes) + "; choose another metric or other data")
    for name, one_audit in audits.items():
        final = list(one_audit.final(scored[name]))
        if scored[name] and (final or panels[name]):
            scored[name] = _panelled(name, scored[name], work[name], final, measures, panels[name], session)
    return scored, notes


def _misfit(one: Measure, name: str, counted: Mapping[str, int] | None = None) -> str:
    """Why no case of an audit had a score."""
    reason = one.metric.silence(counted or {}) or unusual(counted or {})
    if reason:
        return f"{one.label} gives {name} no score: {reason}"
    needs = ", ".join(sorted(one.metric.needs))
    reason = f"it needs {needs}, which no case has" if needs else "it compares a text with nothing"
    return f"{one.label} does not fit {name}: {reason}"


def _panel(one: Audit, measures: Sequence[Measure]) -> dict[str, Measure]:
    """The panel's metrics that were not asked for."""
    asked = {each.label for each in measures}
    return {spec: measure(spec) for spec in one.panel() if spec not in asked}


def _panelled(
    name: str,
    answers: list[Scored],
    items: list[Case | Grid],
    final: list[Case],
    measures: Sequence[Measure],
    extra: Mapping[str, Measure],
    session: Session,
) -> list[Scored]:
    """The answers with the final cases added, and those of the panel's metrics that were not asked for."""
    complete = {answer.metric: answer for answer in answers}
    for label, each in ({each.label: each for each in measures} | dict(extra)).items():
        fitted = _fits(each, {name: items})[0][0]
        if label in extra:
            complete[label] = score_cases(fitted, {name: items}, session)[name]
        # Sets are folded: a later case cannot join them.
        if final and label in complete and not complete[label].about.get("set"):
            complete[label] = _joined(complete[label], score_cases(fitted, {name: final}, session)[name])
    return list(complete.values())


def _fits(one: Measure, work: Mapping[str, Sequence[Case | Grid]]) -> list[tuple[Measure, list[str]]]:
    """The measure fitted to each audit's references, audits with equal fits together."""
    groups: dict[str, tuple[Measure, list[str]]] = {}
    for name, items in work.items():
        references = [
            refs
            for item in items
            if isinstance(item, Case)
            for refs in dict.fromkeys(s.references for s in item.samples.values() if s.references)
        ]
        fitted = replace(one, metric=one.metric.fitted(references)) if references else one
        key = "" if fitted.metric is one.metric else fitted.metric.signature
        groups.setdefault(key, (fitted, []))[1].append(name)
    return list(groups.values())


def _search(one: Audit, fitted: Measure, answer: Scored, session: Session) -> Scored:
    """Further rounds of a search, until the audit asks for no more."""
    for _ in range(_ROUNDS):
        new = list(one.more(answer))
        if not new:
            return answer
        answer = _joined(answer, score_cases(fitted, {one.name: new}, session)[one.name])
    return answer


def _joined(first: Scored, second: Scored) -> Scored:
    cases = [*first.cases, *second.cases]
    values = {}
    for role in dict.fromkeys([*first.values, *second.values]):
        halves = [half.values.get(role, np.full(len(half.cases), np.nan)) for half in (first, second)]
        values[role] = np.concatenate(halves)
    counted = {*first.notes, *second.notes}
    notes = {key: first.notes.get(key, 0) + second.notes.get(key, 0) for key in counted}
    return replace(first, cases=cases, values=values, notes=notes)


def _says_something(answer: Scored) -> bool:
    finite = any(np.isfinite(values).any() for values in answer.values.values())
    return finite or any(np.isfinite(values).any() for values in answer.grids.values())
