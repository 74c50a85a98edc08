"""What the checklist measures: statistics, estimates over several rows, and people's penalties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from assay.audits.corpora import NOTICED_SHARE
from assay.audits.gap import CLEAN, UNIT
from assay.audits.slices import EVIDENCE, SliceScores, ends, moves
from assay.core import Case, Estimate, Finding, Floats, Statistic
from assay.datasets.rows import Row, read_rows
from assay.errors import suggest
from assay.perturbations.checklist.catalogue import TASKS, catalogue
from assay.statistics.intervals import bootstrap_mean
from assay.vocabulary import Rule

INVARIANCE = "invariance"  # the criterion of templates that should leave the score as it is


def _parts(finding: Finding) -> tuple[str, str]:
    task, _, template = finding.slice.split("/")
    return task, template


def _harm_sentence(finding: Finding) -> str:
    task, template = _parts(finding)
    change = moves(finding.value, falls="falls by only")
    return f"{finding.metric} hardly notices “{template}” in {task}: its score {change}."


def _invariance_sentence(finding: Finding) -> str:
    task, template = _parts(finding)
    change = moves(finding.value)
    return f"“{template}” changes nothing that matters in {task}, yet the score of {finding.metric} {change}."


def _people_sentence(finding: Finding) -> str:
    task, template = _parts(finding)
    side = "more lenient" if finding.value < 0 else "stricter"
    size = f"{abs(finding.value):.0%} of the scale"
    return f"{finding.metric} is {side} than people on “{template}” in {task}, by {size}."


_CHANGE = "Mean change of the score under the template: "
STATISTICS = (
    Statistic(
        "score_change", _CHANGE + "a harmful edit must lower it.",
        unit=UNIT, bad="high", margin="-margin", headline=True, sentence=_harm_sentence,
    ),
    Statistic(
        "score_change", _CHANGE + "a harmless edit must not move it.", within=INVARIANCE,
        unit=UNIT, bad="far", margin="tolerance", headline=True, sentence=_invariance_sentence,
    ),
    NOTICED_SHARE,
    Statistic(
        "human_deviation",
        "How far the fall of the score, as a share of the gap, is from how much people mind (Eq. 1): 0 is "
        "like people, below 0 the metric is more lenient.",
        unit="share of the scale", bad="far", margin="deviation", headline=True, sentence=_people_sentence,
    ),
    Statistic(
        "absolute_human_deviation", "Mean size of the deviation from people over items, whichever its side.",
        unit="share of the scale",
    ),
    Statistic("applied_share", "Share of the task's items that the template could change.", unit="share"),
    Statistic(
        "criterion_noticed",
        "Mean share of items on which a harmful edit lowers the score (ties count half), over the templates "
        "of a criterion, each counted alike.",
        unit="share", headline=True,
    ),
    Statistic(
        "complement_gain",
        "Share of harmful edits that at least one of two metrics notices, minus what the better of them "
        "notices alone.",
        unit="share",
    ),
)  # fmt: skip


def is_harmful(slice_: str) -> bool:
    """Whether the templates of a slice should lower the score."""
    return INVARIANCE not in slice_.split("/")


def criterion_profile(slices: Sequence[SliceScores], seed: int) -> Iterator[Finding]:
    """By metric and criterion, the share of items noticed, averaged over templates."""
    rows: dict[tuple[str, str], list[SliceScores]] = {}
    for scores in slices:
        if is_harmful(scores.slice) and not scores.scored.is_set:
            rows.setdefault((scores.scored.metric, scores.slice.split("/")[1]), []).append(scores)
    for (_, criterion), listed in rows.items():
        shares = np.concatenate([_noticed(scores) for scores in listed])
        weights = np.concatenate([np.full(scores.n, 1.0 / scores.n) for scores in listed])
        clusters = [cluster for scores in listed for cluster in scores.clusters]
        ci = ends(bootstrap_mean(shares, clusters=clusters, weights=weights, seed=seed))
        share = Estimate(float(np.average(shares, weights=weights)), shares.size, ci)
        yield Finding.of(listed[0].scored, criterion, "criterion_noticed", share)


def _noticed(scores: SliceScores) -> Floats:
    """1 where the clean text scores higher than the perturbed one, half for a tie."""
    change = scores.columns["perturbed"] - scores.columns[CLEAN]
    return np.where(np.abs(change) <= 1e-9 * scores.scale, 0.5, (change < 0).astype(np.float64))


def complements(slices: Sequence[SliceScores], seed: int) -> Iterator[Finding]:
    """For each pair of metrics, the share of harmful edits that either notices, minus the better one's."""
    noticed: dict[str, dict[str, tuple[float, str]]] = {}
    for scores in slices:
        if is_harmful(scores.slice) and not scores.scored.is_set and scores.gap.sensitive:
            rows = zip(scores.ids, _noticed(scores) == 1, scores.clusters, strict=True)
            table = noticed.setdefault(scores.scored.metric, {})
            table |= {case: (float(fell), cluster) for case, fell, cluster in rows}
    for first, second in combinations(noticed, 2):
        fell, fell_too = noticed[first], noticed[second]
        shared = [case for case in fell if case in fell_too]
        if not shared:
            continue
        left, right = (np.array([table[case][0] for case in shared]) for table in (fell, fell_too))
        gain = np.maximum(left, right) - (left if left.mean() >= right.mean() else right)
        ci = ends(bootstrap_mean(gain, clusters=[fell[case][1] for case in shared], seed=seed))
        missed = [case for case, gained in zip(shared, gain, strict=True) if gained][:EVIDENCE]
        estimate = Estimate(float(gain.mean()), len(shared), ci)
        yield Finding.of(first, "all", "complement_gain", estimate, versus=second, evidence=missed)


Key = tuple[str, str]  # task, template
LIMIT = 10.0
OURS = (
    "human_deviation rests on assay's own severity defaults (docs/catalogue.md), not on people's penalties; "
    "give --human FILE to measure against people"
)


@dataclass(frozen=True, slots=True)
class Penalties:
    """Mean penalties on the scale of 0 to 10, by template and by item."""

    templates: Mapping[Key, float]
    items: Mapping[tuple[str, str, str], float]
    by_people: bool

    def of(self, case: Case, rule: Rule) -> float | None:
        """A case's penalty: its own, else its template's; the paper asked about templates only."""
        task, template, item = (str(case.meta[key]) for key in ("task", "template", "item"))
        own = self.items.get((task, template, item)) if rule == "careful" else None
        return own if own is not None else self.templates.get((task, template))


def default_penalties() -> Penalties:
    """The catalogue's severities."""
    return Penalties({(entry.task, entry.template): entry.severity for entry in catalogue()}, {}, False)


def read_penalties(path: Path) -> Penalties:
    """Rows of `task, template, penalty, item?`; a penalty is a number, or a list with one per person."""
    templates = [entry.template for entry in catalogue()]
    by_item: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    by_template: dict[Key, list[float]] = defaultdict(list)
    for row in read_rows(path):
        task, template = _known(row, "task", TASKS), _known(row, "template", templates)
        penalties = _penalties(row)
        by_template[task, template] += penalties
        if row.has("item"):
            by_item[task, template, row.text("item")] += penalties
    return Penalties(
        {key: float(np.mean(penalties)) for key, penalties in by_template.items()},
        {key: float(np.mean(penalties)) for key, penalties in by_item.items()},
        True,
    )


def _known(row: Row, column: str, names: Sequence[str]) -> str:
    value = row.text(column)
    if value not in names:
        raise row.fail(f"unknown {column} {value!r}{suggest(value, set(names))}")
    return value


def _penalties(row: Row) -> list[float]:
    value = row.values.get("penalty")
    given = value if isinstance(value, list) else [row.number("penalty")]
    numbers = [float(item) for item in given if isinstance(item, int | float) and not isinstance(item, bool)]
    if len(numbers) != len(given) or not numbers or not all(0.0 <= item <= LIMIT for item in numbers):
        raise row.fail(f"column 'penalty' must be a number from 0 to {LIMIT:g}, or a list of them")
    return numbers
