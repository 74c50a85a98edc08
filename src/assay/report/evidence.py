"""Findings to the examples behind them: cases, those of their texts that matter, and their scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from assay.report.verdicts import Row
from assay.run.results import Run

CASES_PER_FINDING = 3
ROLES_PER_CASE = 4
LONGEST = 1500  # characters of a text that are shown
BUDGET = 2_500_000  # characters of examples in a page
MAPS = 2_000_000  # and of explanations
REFERENCES = 3  # references of a text that are shown
WORTHLESS = "worthless"  # the role of the text at the lower end of the gap
_SEED = re.compile(r"/\d+$")

Key = tuple[str, str]  # audit, case


def wanted_roles(slice_: str, roles: Sequence[str]) -> list[str]:
    """The roles that a finding of this slice is about: the first (the base), then those its path names.

    The worthless text comes last: its score shows how large the gap is.

    >>> wanted_roles("wmt/truncation/0.5", ["gold", "0.1/1", "0.5/1", "0.5/2", "worthless"])
    ['gold', '0.5/1', '0.5/2', 'worthless']
    """
    base, *others = [role for role in roles if role != WORTHLESS] or roles
    worthless = [WORTHLESS] if WORTHLESS in roles and base != WORTHLESS else []
    named = [role for role in others if f"/{slice_}".endswith(("/" + role, "/" + _SEED.sub("", role)))]
    if not named:
        named = others if len(others) < ROLES_PER_CASE else others[-1:]
    return [base, *named[: ROLES_PER_CASE - 1], *worthless]


def examples(run: Run, rows: Iterable[Row]) -> dict[Key, dict[str, Any]]:
    """The cases that findings point to, gravest first, until the page is full."""
    texts = _texts(run, rows)
    chosen: dict[Key, dict[str, Any]] = {}
    spent = 0
    for row in rows:
        for case in (row["evidence"] or [])[: 1 if row["verdict"] == "pass" else CASES_PER_FINDING]:
            key = (row["audit"], case)
            if key not in texts or spent > BUDGET:
                continue
            known = chosen.get(key) or _case(case, texts[key])
            for role in wanted_roles(row["slice"], list(texts[key])):
                if role not in known["roles"]:
                    known["roles"][role] = _role(texts[key][role], known)
                    spent += len(known["roles"][role]["text"])
            chosen[key] = known
    _add_scores(run, chosen)
    return chosen


def _texts(run: Run, rows: Iterable[Row]) -> dict[Key, dict[str, Row]]:
    """Audit and case to its rows by role, for the cases that any finding names."""
    named = {case for row in rows for case in (row["evidence"] or [])[:CASES_PER_FINDING]}
    texts: dict[Key, dict[str, Row]] = {}
    for row in run.cases.filter(pl.col("case").is_in(list(named))).iter_rows(named=True):
        texts.setdefault((row["audit"], row["case"]), {})[row["role"]] = row
    return texts


def _case(case: str, roles: Mapping[str, Row]) -> dict[str, Any]:
    return {"id": case, **_scored_with(next(iter(roles.values()))), "roles": {}}


def _role(row: Row, case: Mapping[str, Any]) -> dict[str, Any]:
    """A text that was scored; with its own references and source where they are not those of the case."""
    own = {key: value for key, value in _scored_with(row).items() if value != case[key]}
    return {"text": _cut(row["hypothesis"]), "scores": {}, **own}


def _scored_with(row: Row) -> dict[str, Any]:
    references = row["references"] or []
    return {
        "references": [_cut(text) for text in references[:REFERENCES]],
        "more": max(0, len(references) - REFERENCES),  # references that are not shown
        "source": _cut(row["source"]) if row["source"] else None,
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def _add_scores(run: Run, chosen: Mapping[Key, dict[str, Any]]) -> None:
    cases = list({case for _, case in chosen})
    frame = run.scores.filter(pl.col("case").is_in(cases) & pl.col("score").is_not_null())
    places = {metric: place for place, metric in enumerate(run.metrics)}
    for audit, metric, case, role, score in frame.iter_rows():
        known = chosen.get((audit, case))
        if known and role in known["roles"] and metric in places:
            known["roles"][role]["scores"][places[metric]] = score


def pooled_case(case: Mapping[str, Any], texts: dict[str, int], metrics: int) -> dict[str, Any]:
    """A case whose texts are places in `texts`, which grows; a role's scores are listed by metric."""

    def pooled(part: Mapping[str, Any]) -> dict[str, Any]:
        shown = {key: value for key, value in part.items() if value not in (None, 0, [], {})}
        for key in ("text", "source"):
            if key in shown:
                shown[key] = texts.setdefault(shown[key], len(texts))
        if "references" in shown:
            shown["references"] = [texts.setdefault(text, len(texts)) for text in shown["references"]]
        if "scores" in shown:
            shown["scores"] = [part["scores"].get(place) for place in range(metrics)]
        return shown

    return pooled(case) | {"roles": {name: pooled(role) for name, role in case["roles"].items()}}


def explanations(run: Run, chosen: Mapping[Key, dict[str, Any]]) -> list[dict[str, Any]]:
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
