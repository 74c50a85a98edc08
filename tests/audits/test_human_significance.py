"""The significance matrix: equal to trying every swap on small data, right under the null, found where there is a difference."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.audits.human.audit import Human
from assay.core import Finding, Scored
from assay.statistics.intervals import interval_of
from assay.statistics.pairwise import soft_pairwise_accuracy, system_accuracy
from assay.statistics.resampled import (
    Clusters,
    grouped_draws,
    pooled_draws,
    soft_accuracy_draws,
    system_accuracy_draws,
    system_draws,
)


def every_swap(first: np.ndarray, second: np.ndarray, human: np.ndarray, statistic) -> float:
    """The two-sided p-value by definition: standardise, swap each subset of cells, compare."""
    one, two = ((side - side.mean()) / side.std() for side in (first, second))
    observed = abs(statistic(one, human) - statistic(two, human))
    hits = 0
    for swaps in product([False, True], repeat=one.size):
        mask = np.reshape(swaps, one.shape)
        changed = statistic(np.where(mask, two, one), human) - statistic(np.where(mask, one, two), human)
        hits += abs(changed) >= observed - 1e-12
    return hits / 2**one.size


def small(folder: Path, systems: int, documents: int) -> Human:
    rng = np.random.default_rng(5)
    rows = [
        {"hypothesis": f"text {s} {d}", "system": f"s{s}", "doc": d, "human": {"overall": rng.normal() + s}}
        for s in range(systems)
        for d in range(documents)
    ]
    path = folder / "small.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return Human(data=(path,), resamples=5000, details=False)


def difference(audit: Human, slice_: str, statistic: str, **columns: np.ndarray) -> Finding:
    cases = list(audit.cases())
    scored = [Scored(name, cases, {"hypothesis": values}) for name, values in columns.items()]
    found = audit.judge(scored).findings
    (finding,) = [
        f for f in found if (f.slice, f.statistic, f.metric, f.versus) == (slice_, statistic, "a", "b")
    ]
    return finding


def test_between_systems_equals_every_swap(tmp_path: Path) -> None:
    audit = small(tmp_path, 4, 3)
    rng = np.random.default_rng(6)
    human = audit.items.human("overall")
    a, b = human + rng.normal(0, 0.5, 12), rng.normal(size=12)

    def spearman(scores: np.ndarray, judged: np.ndarray) -> float:
        means = scores.reshape(4, 3).mean(axis=1), judged.reshape(4, 3).mean(axis=1)
        return float(stats.spearmanr(*means).statistic)

    finding = difference(audit, "system/overall", "spearman_difference", a=a, b=b)
    assert finding.value == pytest.approx(spearman(a, human) - spearman(b, human))
    assert finding.p_value == pytest.approx(every_swap(a, b, human, spearman))


def test_over_all_texts_equals_every_swap_of_documents(tmp_path: Path) -> None:
    audit = small(tmp_path, 2, 10)
    rng = np.random.default_rng(7)
    human = audit.items.human("overall")
    ranks = stats.rankdata(human)
    a, b = human + rng.normal(0, 0.7, 20), human + rng.normal(0, 2.0, 20)
    one, two = ((r - r.mean()) / r.std() for r in (stats.rankdata(a), stats.rankdata(b)))
    observed = np.corrcoef(one, ranks)[0, 1] - np.corrcoef(two, ranks)[0, 1]
    hits = 0
    for swaps in product([False, True], repeat=10):
        mask = np.tile(swaps, 2)  # rows run by system, then document: both texts of a document move together
        x, y = np.where(mask, two, one), np.where(mask, one, two)
        hits += abs(np.corrcoef(x, ranks)[0, 1] - np.corrcoef(y, ranks)[0, 1]) >= abs(observed) - 1e-12
    finding = difference(audit, "example/overall", "spearman_difference", a=a, b=b)
    assert finding.value == pytest.approx(observed)
    assert finding.p_value == pytest.approx(hits / 2**10)


def test_equal_metrics_are_rarely_told_apart(tmp_path: Path) -> None:
    audit = small(tmp_path, 8, 12)
    human = audit.items.human("overall")
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        a, b = (human + rng.normal(0, 1.5, human.size) for _ in "ab")
        quick = Human(data=audit.data, resamples=200, details=False, level="system")
        p = difference(quick, "system/overall", "spearman_difference", a=a, b=b).p_value
        alarms += p is not None and p < 0.05
    assert alarms <= 8  # 5% of 60 is 3; more than 8 happens once in 400 times


def test_a_real_difference_is_found(tmp_path: Path) -> None:
    audit = small(tmp_path, 8, 25)
    human = audit.items.human("overall")
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, b = human + rng.normal(0, 0.5, human.size), human + rng.normal(0, 6.0, human.size)
        quick = Human(data=audit.data, resamples=200, details=False, level="example")
        p = difference(quick, "example/overall", "spearman_difference", a=a, b=b).p_value
        found += p is not None and p < 0.05
    assert found >= 19


def test_draws_agree_with_the_plain_statistics() -> None:
    rng = np.random.default_rng(8)
    human = rng.normal(size=(6, 20)) + np.arange(6)[:, None] / 3
    metrics = np.stack([human + rng.normal(0, 1, human.shape), rng.normal(size=human.shape)])
    accuracy = system_accuracy_draws(metrics, human, over="both", resamples=50, seed=0)
    for value, scores in zip(accuracy.values, metrics, strict=True):
        assert value == pytest.approx(system_accuracy(scores, human).accuracy)
    soft = soft_accuracy_draws(metrics[0], human, resamples=500, seed=0)
    assert soft.values[0] == pytest.approx(soft_pairwise_accuracy(metrics[0], human, resamples=500, seed=0))
    means = system_draws(metrics, human, "kendall_b", over="documents", resamples=50, seed=0)
    expected = stats.kendalltau(metrics[1].mean(axis=1), human.mean(axis=1)).statistic
    assert means.values[1] == pytest.approx(expected)


def test_clustered_intervals_cover_where_rows_mislead() -> None:
    """Texts of a document share their level: rows as clusters are too sure, documents are not."""
    covered = {"documents": 0, "rows": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(20), 10)
        shared, other = rng.normal(size=(2, 20))
        metric, human = shared[labels] + rng.normal(0, 0.1, 200), other[labels] + rng.normal(0, 0.1, 200)
        for name, documents in {"documents": labels, "rows": None}.items():
            draws = pooled_draws(
                metric, human, "pearson", clusters=Clusters.of(200, documents), resamples=200, seed=seed
            )
            interval = interval_of(draws.draws[0], n_clusters=draws.clusters)
            covered[name] += interval is not None and 0.0 in interval
    assert covered["documents"] >= 52  # of 60; nominal 57
    assert covered["rows"] < 40


def test_groups_without_a_value_are_left_out() -> None:
    draws = grouped_draws([[0.2, np.nan, 0.6], [np.nan, np.nan, np.nan]], resamples=100, seed=0)
    assert draws.values[0] == pytest.approx(0.4)
    assert np.isnan(draws.values[1])
    assert draws.sizes.tolist() == [2, 0]
