"""Scores of one metric to changes on each row of the checklist, and estimates over several rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.audits.slices import EVIDENCE, FEWEST, SD, ends, moves, slices
from assay.core import Case, Estimate, Finding, Floats, Scored, Statistic
from assay.datasets.rows import Row, read_rows
from assay.errors import suggest
from assay.perturbations.checklist.catalogue import TASKS, catalogue
from assay.statistics.estimates import mde_interval, mde_mean, proportion_interval
from assay.statistics.intervals import bootstrap_mean
from assay.vocabulary import Rule

INVARIANCE = "invariance"  # the criterion of templates that should leave the score as it is
_ROUNDING = 1e-9  # of the scores' size: smaller changes come from the arithmetic, not from the metric


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


def _rate_sentence(finding: Finding) -> str:
    task, template = _parts(finding)
    passes = "stays about the same" if INVARIANCE in finding.slice.split("/") else "falls"
    share = f"only {finding.value:.0%} of items"
    return f"Under “{template}” in {task}, the score of {finding.metric} {passes} on {share}."


def _people_sentence(finding: Finding) -> str:
    task, template = _parts(finding)
    side = "more lenient" if finding.value < 0 else "stricter"
    size = f"{abs(finding.value):.0%} of the scale"
    return f"{finding.metric} is {side} than people on “{template}” in {task}, by {size}."


_CHANGE = "Mean change of the score under the template: "
_RATE = "Share of items on which the score does what it should: "
STATISTICS = (
    Statistic(
        "score_change", _CHANGE + "a harmful edit must lower it.",
        unit=SD, bad="high", margin="-margin", headline=True, sentence=_harm_sentence,
    ),
    Statistic(
        "score_change", _CHANGE + "a harmless edit must not move it.", within=INVARIANCE,
        unit=SD, bad="far", margin="tolerance", headline=True, sentence=_invariance_sentence,
    ),
    Statistic(
        "pass_rate", _RATE + "fall under a harmful edit.",
        unit="share", bad="low", margin="least_lower", sentence=_rate_sentence,
    ),
    Statistic(
        "pass_rate", _RATE + "stay within the tolerance under a harmless edit.", within=INVARIANCE,
        unit="share", bad="low", margin="least_same", sentence=_rate_sentence,
    ),
    Statistic(
        "human_deviation",
        "How far the fall of the score is from how much people mind (Eq. 1): 0 is like people, below 0 the "
        "metric is more lenient.",
        unit="share of the scale", bad="far", margin="deviation", headline=True, sentence=_people_sentence,
    ),
    Statistic(
        "absolute_human_deviation", "Mean size of the deviation from people over items, whichever its side.",
        unit="share of the scale",
    ),
    Statistic("applied_share", "Share of the task's items that the template could change.", unit="share"),
    Statistic(
        "criterion_pass_rate", "Mean pass rate over the templates of a criterion, each counted alike.",
        unit="share", headline=True,
    ),
    Statistic(
        "complement_gain",
        "Share of harmful edits that at least one of two metrics notices, minus what the better of them "
        "notices alone.",
        unit="share",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changes:
    """The items of a row (one template of one task) that have both scores."""

    slice: str
    cases: tuple[Case, ...]
    clean: Floats
    change: Floats  # perturbed minus clean
    sd: float  # of the clean scores

    @property
    def n(self) -> int:
        """How many items were used."""
        return len(self.cases)

    @property
    def task(self) -> str:
        """The first part of the slice."""
        return self.slice.split("/")[0]

    @property
    def clusters(self) -> list[str]:
        """What was really sampled: documents, else items."""
        return [str(case.meta["cluster"]) for case in self.cases]

    @property
    def is_harmful(self) -> bool:
        """Whether the template should lower the score."""
        return is_harmful(self.slice)

    def passes(self, tolerance: float) -> NDArray[np.bool_]:
        """Item by item: the score fell, or a harmless edit moved it by no more than the tolerance."""
        steady: NDArray[np.bool_] = np.abs(self.change) <= tolerance * self.sd + 1e-15
        return self.change < 0 if self.is_harmful else steady

    def pass_rate(self, tolerance: float, seed: int) -> Estimate:
        """The share of items that pass: Wilson's interval where every item is its own cluster."""
        hits = self.passes(tolerance)
        if len(set(self.clusters)) == self.n:
            interval = proportion_interval(int(hits.sum()), self.n)
        else:
            interval = bootstrap_mean(hits.astype(np.float64), clusters=self.clusters, seed=seed)
        return Estimate(float(hits.mean()), self.n, ends(interval), mde=mde_interval(interval))

    def evidence(self, wrong: Floats, positions: Sequence[int] | None = None) -> tuple[str, ...]:
        """Ids of the cases where `wrong` (one value per position) is highest."""
        order = np.argsort(-wrong, kind="stable")[:EVIDENCE]
        return tuple(self.cases[place if positions is None else positions[place]].id for place in order)


def is_harmful(slice_: str) -> bool:
    """Whether the templates of a slice should lower the score."""
    return INVARIANCE not in slice_.split("/")


def changes_by_slice(scored: Scored) -> list[Changes]:
    """Every slice that has at least one item with both scores, in order."""
    sds = _task_sds(scored)
    rows = [_changes(scored, name, positions, sds) for name, positions in slices(scored).items()]
    return [row for row in rows if row is not None]


def _changes(
    scored: Scored, slice_: str, positions: Sequence[int], sds: Mapping[str, float]
) -> Changes | None:
    clean, perturbed = (scored.values[role][positions] for role in ("gold", "perturbed"))
    complete = np.isfinite(clean) & np.isfinite(perturbed)
    if not complete.any():
        return None
    cases = tuple(scored.cases[position] for position in np.asarray(positions)[complete])
    clean, perturbed = clean[complete], perturbed[complete]
    change = perturbed - clean
    change[np.abs(change) <= _ROUNDING * max(np.abs(clean).max(), np.abs(perturbed).max())] = 0.0
    # A few items say little about the SD: it is then taken over all items of the task.
    own = _sd(clean) if len(cases) >= FEWEST else None
    return Changes(slice_, cases, clean, change, own or sds[slice_.split("/")[0]])


def _task_sds(scored: Scored) -> dict[str, float]:
    """The SD of each task's clean scores, every item counted once; 1 where they are all equal."""
    by_task: dict[str, dict[str, float]] = {}
    for case, value in zip(scored.cases, scored.values["gold"], strict=True):
        if np.isfinite(value):
            items = by_task.setdefault(case.slice.split("/")[0], {})
            items.setdefault(str(case.meta["item"]), float(value))
    return {task: _sd(np.array(list(items.values()))) or 1.0 for task, items in by_task.items()}


def _sd(values: Floats) -> float | None:
    """The standard deviation (ddof 1); None for fewer than two values, or equal ones."""
    if values.size < 2:
        return None
    sd = float(values.std(ddof=1))
    return sd if sd > _ROUNDING * np.abs(values).max() else None


def mean_estimate(values: Floats, clusters: Sequence[str], seed: int) -> Estimate:
    """The mean of one value per item, resampled by cluster."""
    ci = ends(bootstrap_mean(values, clusters=clusters, seed=seed))
    return Estimate(float(values.mean()), values.size, ci, mde=mde_mean(values, clusters=clusters))


def criterion_profile(
    scored: Scored, rows: Sequence[Changes], tolerance: float, seed: int
) -> Iterator[Finding]:
    """The mean pass rate of each criterion's templates: what a metric notices, and what not."""
    by_criterion: dict[str, list[Changes]] = {}
    for row in rows:
        by_criterion.setdefault(row.slice.split("/")[1], []).append(row)
    for criterion, listed in by_criterion.items():
        hits = np.concatenate([row.passes(tolerance) for row in listed]).astype(np.float64)
        weights = np.concatenate([np.full(row.n, 1.0 / row.n) for row in listed])
        clusters = [cluster for row in listed for cluster in row.clusters]
        ci = ends(bootstrap_mean(hits, clusters=clusters, weights=weights, seed=seed))
        rate = Estimate(float(np.average(hits, weights=weights)), hits.size, ci)
        yield Finding.of(scored, criterion, "criterion_pass_rate", rate)


def complements(rows: Sequence[tuple[Scored, Sequence[Changes]]], seed: int) -> Iterator[Finding]:
    """For each pair of metrics, the share of harmful edits that either notices, minus the better one's."""
    noticed = [(scored, _noticed(listed)) for scored, listed in rows]
    for (first, fell), (second, fell_too) in combinations(noticed, 2):
        shared = [case for case in fell if case in fell_too]
        if not shared:
            continue
        left, right = (np.array([table[case][0] for case in shared]) for table in (fell, fell_too))
        gain = np.maximum(left, right) - (left if left.mean() >= right.mean() else right)
        ci = ends(bootstrap_mean(gain, clusters=[fell[case][1] for case in shared], seed=seed))
        missed = [case for case, gained in zip(shared, gain, strict=True) if gained][:EVIDENCE]
        estimate = Estimate(float(gain.mean()), len(shared), ci)
        yield Finding.of(first, "all", "complement_gain", estimate, versus=second.metric, evidence=missed)


def _noticed(rows: Sequence[Changes]) -> dict[str, tuple[float, str]]:
    """Whether the score fell (1 or 0) and the cluster, for every case that should lower it."""
    return {
        case.id: (float(change < 0), cluster)
        for row in rows
        if row.is_harmful
        for case, change, cluster in zip(row.cases, row.change, row.clusters, strict=True)
    }


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
