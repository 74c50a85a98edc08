"""Findings to the examples behind them: cases, those of their texts that matter, and their scores."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from assay.reading.results import StoredRun
from assay.reading.verdicts import JudgedRow

CASES_PER_FINDING = 3
ROLES_PER_CASE = 4
LONGEST = 1500  # characters of a text that are shown
BUDGET = 2_500_000  # characters of examples in a page
MAPS = 2_000_000  # and of explanations
REFERENCES = 3  # references of a text that are shown
_SEED = re.compile(r"/\d+$")
_ASIDE = ("lost/", "neutral", "reworded")  # texts that a finding is measured by, and not about

_Key = tuple[str, str]  # audit, case


def wanted_roles(slice_: str, roles: Sequence[str], versus: str | None = None) -> list[str]:
    """The roles that a finding of this slice is about: the base, then those that its path names.

    The base is what the finding compares with, where that is a role, else the first role; of texts about
    groups, the first that is about another group.

    >>> wanted_roles("wmt/truncation/0.5", ["gold", "0.1/1", "0.5/1", "0.5/2", "reworded"])
    ['gold', '0.5/1', '0.5/2']
    >>> wanted_roles("religion/group/sikh", ["term/sikh/Sikh", "term/hindu/Hindu", "lost/sikh/Sikh"])
    ['term/hindu/Hindu', 'term/sikh/Sikh']
    >>> wanted_roles("translation/contrast", ["gold", "far", "wrong"], "far")
    ['far', 'wrong']
    """
    base, *others = [role for role in roles if not role.startswith(_ASIDE)] or roles
    if versus in others:  # it stands in the place of the first role, which the finding is not about
        base = str(versus)
        others.remove(base)
    named = _named_by(slice_, base, others)
    if base in named:
        base = next((role for role in others if role not in named), base)
    if not named:
        named = others if len(others) < ROLES_PER_CASE else others[-1:]
    return [base, *named[: ROLES_PER_CASE - 1]]


def _named_by(slice_: str, base: str, others: Sequence[str]) -> list[str]:
    """The roles that a slice ends with, seeds apart; else those of the group or word that it ends with."""
    at_its_end = [role for role in others if f"/{slice_}".endswith(("/" + role, "/" + _SEED.sub("", role)))]
    name = slice_.rpartition("/")[2]
    return at_its_end or [role for role in (base, *others) if name in role.split("/")[1:]]


def examples(run: StoredRun, rows: Iterable[JudgedRow]) -> dict[_Key, dict[str, Any]]:
    """The cases that findings point to, gravest first, until the page is full; scores by metric, in order."""
    named = [(row, (row["audit"], case)) for row in rows for case in _named_cases(row)]
    cases = {case for _, (_, case) in named}
    texts = _texts(run, cases)
    scores = _scores(run, cases)
    chosen: dict[_Key, dict[str, Any]] = {}
    spent = 0
    for row, key in named:
        if key not in texts or spent > BUDGET:
            continue
        of_case = texts[key]
        example = chosen.setdefault(
            key, {"id": key[1], **_scored_with(next(iter(of_case.values()))), "roles": {}}
        )
        roles = wanted_roles(row["slice"], list(of_case), row["versus"])
        for role in (role for role in roles if role not in example["roles"]):
            # Its own references and source where they are not those of the case.
            beside = {
                name: value for name, value in _scored_with(of_case[role]).items() if value != example[name]
            }
            text = _cut(of_case[role]["hypothesis"])
            example["roles"][role] = {"text": text, "scores": scores.get((*key, role), []), **beside}
            spent += len(text)
    for key, example in chosen.items():  # findings that share a case named its roles in any order
        example["roles"] = {role: example["roles"][role] for role in texts[key] if role in example["roles"]}
    return chosen


def _named_cases(row: JudgedRow) -> list[str]:
    """The cases that a finding points to: one where it passed."""
    cases: list[str] = row["evidence"] or []
    return cases[: 1 if row["verdict"] == "pass" else CASES_PER_FINDING]


def _texts(run: StoredRun, cases: Collection[str]) -> dict[_Key, dict[str, Mapping[str, Any]]]:
    """The texts of these cases by role."""
    texts: dict[_Key, dict[str, Mapping[str, Any]]] = {}
    for stored in run.cases.filter(pl.col("case").is_in(list(cases))).iter_rows(named=True):
        texts.setdefault((stored["audit"], stored["case"]), {})[stored["role"]] = stored
    return texts


def _scores(run: StoredRun, cases: Iterable[str]) -> dict[tuple[str, str, str], list[float | None]]:
    """Audit, case and role to the score of each metric of the run."""
    frame = run.scores.filter(pl.col("case").is_in(list(cases)) & pl.col("score").is_not_null())
    places = {metric: place for place, metric in enumerate(run.metrics)}
    table: dict[tuple[str, str, str], list[float | None]] = {}
    for audit, metric, case, role, score in frame.filter(pl.col("metric").is_in(run.metrics)).iter_rows():
        table.setdefault((audit, case, role), [None] * len(places))[places[metric]] = score
    return table


def _scored_with(row: Mapping[str, Any]) -> dict[str, Any]:
    references = row["references"] or []
    return {
        "references": [_cut(text) for text in references[:REFERENCES]],
        "more": max(0, len(references) - REFERENCES),  # references that are not shown
        "source": _cut(row["source"]) if row["source"] else None,
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def pooled_case(case: Mapping[str, Any], texts: dict[str, int]) -> dict[str, Any]:
    """A case whose texts are places in `texts`, which grows; without what is empty."""

    def at(text: str) -> int:
        return texts.setdefault(text, len(texts))

    def pooled(part: Mapping[str, Any]) -> dict[str, Any]:
        shown = {key: value for key, value in part.items() if value not in (None, 0, [], {})}
        shown |= {key: at(shown[key]) for key in ("text", "source") if key in shown}
        return shown | {key: list(map(at, shown[key])) for key in ("references",) if key in shown}

    return pooled(case) | {"roles": {name: pooled(role) for name, role in case["roles"].items()}}


def explanations(run: StoredRun, chosen: Mapping[_Key, dict[str, Any]]) -> list[dict[str, Any]]:
    """Matching maps and token probabilities of the chosen cases."""
    shown, spent = [], 0
    for explained in run.explanations:
        known = chosen.get((explained.audit, explained.case))
        if known is None or explained.role not in known["roles"]:
            continue
        reason = explained.explanation
        cells = len(reason.rows) * max(1, len(reason.columns))
        if cells > 3000 or spent > MAPS:  # a map too large to be read, or a page too full
            continue
        spent += 5 * cells
        shown.append(
            {key: getattr(explained, key) for key in ("metric", "audit", "case", "role")}
            | {key: getattr(reason, key) for key in ("kind", "rows", "columns", "values")}
        )
    return shown
