"""The figures of the WMT metrics task: equal to its own formulas on a simulated campaign."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from simulated_ratings import judge, one

from assay.audits.human.audit import Human
from assay.core import Finding
from assay.statistics.significance import swapped_soft_accuracies

SYSTEMS, SEGMENTS = 7, 30


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> tuple[Human, dict[str, np.ndarray]]:
    """Two language pairs with tied ratings, and metrics of falling quality (pairs x systems x segments)."""
    rng = np.random.default_rng(3)
    quality = rng.normal(size=(2, SYSTEMS, 1)) * 0.7 + rng.normal(size=(2, SYSTEMS, SEGMENTS))
    human = np.round(quality + rng.normal(0, 0.3, quality.shape))
    rows = [
        {"hypothesis": f"text {n}", "lp": pair, "system": f"s{s}", "doc": f"{pair}/{d}",
         "human": {"mqm": human[p, s, d]}}
        for p, pair in enumerate(("en-de", "zh-en"))
        for s in range(SYSTEMS)
        for d, n in enumerate(range(SEGMENTS))
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("wmt") / "campaign.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    metrics = {
        name: quality + rng.normal(0, noise, quality.shape) for name, noise in (("a", 0.2), ("b", 5.0))
    }
    return Human(data=(path,), resamples=1000), {"human": human, **metrics}


@pytest.fixture(scope="module")
def findings(campaign: tuple[Human, dict[str, np.ndarray]]) -> list[Finding]:
    audit, tables = campaign
    columns = {name: table.ravel() for name, table in tables.items() if name != "human"}
    return list(judge(audit, **columns).findings)


def accuracy_with_ties(metric: np.ndarray, human: np.ndarray) -> float:
    """KendallWithTiesOpt, acc23, averaged by item: the best threshold among all gaps, tried one by one."""
    pairs = list(combinations(range(SYSTEMS), 2))
    gaps = np.array([metric[i] - metric[j] for i, j in pairs])  # pairs x segments
    human_gaps = np.array([human[i] - human[j] for i, j in pairs])
    best = 0.0
    for epsilon in [0.0, *np.abs(gaps).ravel()]:
        tied = np.abs(gaps) <= epsilon
        right = np.where(tied, human_gaps == 0, (human_gaps != 0) & (np.sign(gaps) == np.sign(human_gaps)))
        best = max(best, float(right.mean(axis=0).mean()))
    return best


def p_values(scores: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """compute_pairwise_p_values of Thompson's release: sums of segments, random signs."""
    moved, total = signs @ scores.T, scores.sum(axis=1)
    return np.array(
        [
            np.mean(moved[:, i] - moved[:, j] >= total[i] - total[j])
            for i, j in combinations(range(len(scores)), 2)
        ]
    )


def soft_accuracy(metric: np.ndarray, human: np.ndarray, signs: np.ndarray) -> float:
    return 1.0 - float(np.mean(np.abs(p_values(human, signs) - p_values(metric, signs))))


def test_every_figure_is_that_of_the_task(
    campaign: tuple[Human, dict[str, np.ndarray]], findings: list[Finding]
) -> None:
    _, tables = campaign
    signs = np.random.default_rng(4).integers(2, size=(4000, SEGMENTS)) * 2.0 - 1.0
    for name in ("a", "b"):
        values: dict[str, list[float]] = {
            "pearson": [],
            "pairwise_accuracy": [],
            "soft_pairwise_accuracy": [],
        }
        for metric, human in zip(tables[name], tables["human"], strict=True):
            values["pearson"].append(stats.pearsonr(metric.mean(axis=1), human.mean(axis=1)).statistic)
            values["pairwise_accuracy"].append(accuracy_with_ties(metric, human))
            values["soft_pairwise_accuracy"].append(soft_accuracy(metric, human, signs))
        for statistic, (first, second) in values.items():
            place = "example/{}:mqm/by-document" if statistic == "pairwise_accuracy" else "system/{}:mqm"
            near = 0.015 if statistic.startswith("soft") else 1e-9  # 1000 random signs against 4000
            for part, value in (("en-de", first), ("zh-en", second), ("average", (first + second) / 2)):
                finding = one(findings, name, place.format(part), statistic)
                assert finding.value == pytest.approx(value, abs=near), (name, part, statistic)
                assert finding.ci is not None


def test_swapped_soft_accuracies_are_permutation_both(campaign: tuple[Human, dict[str, np.ndarray]]) -> None:
    _, tables = campaign
    human = tables["human"][0]
    ours = swapped_soft_accuracies(
        [tables["a"][0], tables["b"][0]], human, resamples=300, patterns=400, seed=1
    )[:, 0]
    first, second = (stats.zscore(tables[name][0], axis=None) for name in ("a", "b"))
    rng = np.random.default_rng(0)
    signs = rng.integers(2, size=(400, SEGMENTS)) * 2.0 - 1.0
    observed = soft_accuracy(first, human, signs) - soft_accuracy(second, human, signs)
    theirs = []
    for _ in range(300):
        swap = rng.integers(2, size=first.shape).astype(bool)
        x, y = np.where(swap, second, first), np.where(swap, first, second)
        theirs.append(soft_accuracy(x, human, signs) - soft_accuracy(y, human, signs))
    assert ours[0] == pytest.approx(observed, abs=0.03)
    assert ours[1:].std() == pytest.approx(np.std(theirs), rel=0.15)
    assert abs(ours[1:].mean()) < 0.02
    assert np.mean(ours[1:] >= ours[0]) == pytest.approx(np.mean(np.array(theirs) >= observed), abs=0.06)


def test_the_task_has_clusters_for_pairs_and_their_average(findings: list[Finding]) -> None:
    clusters = {(f.metric, f.slice): f.value for f in findings if f.statistic == "soft_cluster"}
    assert {slice_ for _, slice_ in clusters} == {
        f"system/{part}:mqm" for part in ("en-de", "zh-en", "average")
    }
    assert clusters["a", "system/average:mqm"] == 1
    assert clusters["b", "system/average:mqm"] == 2
    same = np.random.default_rng(0).normal(size=(2, 5, 12))
    deltas = swapped_soft_accuracies([same[0], same[0]], same[1], resamples=50, patterns=50, seed=0)
    assert deltas == pytest.approx(0.0)  # a metric does not differ from itself
