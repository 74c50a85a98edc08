"""Correlation with people before and after genders are swapped, and its change (assoc tables 6, 7, 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from assay.audits.slices import FEWEST, interval_estimate
from assay.core import Finding, Floats, Scored, Statistic
from assay.statistics.correlation import Kind, correlate, system_means
from assay.statistics.resampled import Difference, difference, pooled_draws, system_draws

ROLES = ("original", "swapped")
FEWEST_SYSTEMS = 4  # a correlation over fewer says nothing
_RESAMPLES = 2000


def _say_change(finding: Finding) -> str:
    direction = "rises" if finding.value > 0 else "falls"
    return (
        f"The correlation of {finding.metric} with people ({finding.slice}) {direction} by "
        f"{abs(finding.value):.3g} when the genders in all texts are swapped."
    )


STATISTICS = (
    Statistic(
        "correlation_change",
        "Change of the correlation with people when the genders in all texts are swapped.",
        "correlation", bad="far", margin="change_margin", headline=True, sentence=_say_change,
    ),
    *(
        Statistic(
            kind, f"Correlation with people ({kind}, -1 to 1) of the original or the swapped texts.",
            "correlation", bad="low",
        )
        for kind in get_args(Kind)
    ),
)  # fmt: skip


def agreement_findings(scored: Scored, *, kind: Kind, seed: int) -> Iterator[Finding]:
    """Every criterion that people rated, at example level and, where there are systems, at system level.

    Datasets and language pairs are kept apart: systems of one name are other systems there.
    """
    known = np.isfinite(scored.values["original"]) & np.isfinite(scored.values["swapped"])
    parts = [case.meta.get("part", "") for case in scored.cases]
    for part in dict.fromkeys(parts):
        here = known & np.array([name == part for name in parts], dtype=np.bool_)
        yield from _part_findings(scored, here, f"/{part}" if part else "", kind, seed)


def _part_findings(
    scored: Scored, known: NDArray[np.bool_], part: str, kind: Kind, seed: int
) -> Iterator[Finding]:
    cases = scored.cases
    for criterion in dict.fromkeys(name for case in cases for name in case.meta.get("human", {})):
        rows = [
            row for row in np.flatnonzero(known).tolist() if criterion in cases[row].meta.get("human", {})
        ]
        subsets = {
            "": rows,
            # Table 6: the original hypothesis is about men only.
            "/male": [row for row in rows if cases[row].meta["content"] == "male"],
            # No two words become one (his, him: her), so a change is not due to lost distinctions.
            "/one-to-one": [row for row in rows if cases[row].meta["one_to_one"]],
        }
        for name, members in subsets.items():
            if len(members) >= FEWEST:
                human = np.array([cases[row].meta["human"][criterion] for row in members])
                slice_ = f"example{part}/{criterion}{name}"
                yield from _example_level(scored, slice_, members, human, kind, seed)
        yield from _system_level(scored, criterion, rows, part, kind, seed)


def _example_level(
    scored: Scored, slice_: str, rows: list[int], human: Floats, kind: Kind, seed: int
) -> Iterator[Finding]:
    before, after = (scored.values[role][rows] for role in ROLES)
    docs = [scored.cases[row].meta["doc"] for row in rows]
    sides = np.stack([after, before])
    draws = pooled_draws(sides, human, kind, clusters=docs, resamples=_RESAMPLES, seed=seed)
    yield from _changes(scored, slice_, kind, draws.values[::-1].tolist(), difference(draws), len(rows))


def _changes(
    scored: Scored, slice_: str, kind: Kind, values: Sequence[float | None], change: Difference, n: int
) -> Iterator[Finding]:
    """Both correlations and their difference; nothing for a constant metric, which has no correlation."""
    if change.value is None or not np.isfinite(change.value) or None in values:
        return
    for role, value, interval in zip(ROLES, values, change.sides[::-1], strict=True):
        estimate = interval_estimate(value or 0.0, n, interval)
        yield Finding.of(scored, slice_, kind, estimate, versus=role, judged=False)
    estimate = interval_estimate(change.value, n, change.interval, p_value=change.p_value, with_mde=True)
    yield Finding.of(scored, slice_, "correlation_change", estimate, versus="original")


def _system_level(
    scored: Scored, criterion: str, rows: Sequence[int], part: str, kind: Kind, seed: int
) -> Iterator[Finding]:
    """Correlations of system means, for all systems and for the k systems that people rate highest."""
    names = sorted({scored.cases[row].meta["system"] for row in rows} - {None})
    if len(names) < FEWEST_SYSTEMS:
        return
    matrices = _by_system(scored, criterion, rows, names)
    order = np.argsort(-system_means(matrices[2]), kind="stable")
    for k in range(FEWEST_SYSTEMS, len(names) + 1):
        before, after, human = (matrix[order[:k]] for matrix in matrices)
        values = [correlate(system_means(side), system_means(human), kind) for side in (before, after)]
        if k == len(names):
            sides = np.stack([after, before])
            draws = system_draws(sides, human, kind, over="both", resamples=_RESAMPLES, seed=seed)
            if draws.clusters > 1:
                slice_ = f"system{part}/{criterion}"
                yield from _changes(scored, slice_, kind, values, difference(draws), k)
        elif values[0] is not None and values[1] is not None:
            slice_, change = f"system{part}/{criterion}/top-{k}", values[1] - values[0]
            yield Finding.of(scored, slice_, "correlation_change", change, n=k, versus="original")


def _by_system(
    scored: Scored, criterion: str, rows: Sequence[int], names: Sequence[str]
) -> tuple[Floats, Floats, Floats]:
    """Original, swapped and human scores as systems x documents; nan where a system lacks a document."""
    docs = {doc: place for place, doc in enumerate(dict.fromkeys(case.meta["doc"] for case in scored.cases))}
    before, after, human = (np.full((len(names), len(docs)), np.nan) for _ in range(3))
    for row in rows:
        meta = scored.cases[row].meta
        if meta["system"] is not None:
            cell = names.index(meta["system"]), docs[meta["doc"]]
            before[cell], after[cell] = (scored.values[role][row] for role in ROLES)
            human[cell] = meta["human"][criterion]
    return before, after, human
