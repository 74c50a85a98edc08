"""The significance matrix: equal to trying every swap on small data, right under the null, found where there is a difference."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from simulated_ratings import judge

from assay.audits.human.audit import Human
from assay.core import Finding, Scored


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
    return Human(data=(path,), resamples=5000, details=False, over="documents")


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


def simulated(folder: Path, seed: int, *, systems: int, documents: int, agreements: list[float]) -> tuple:
    """Metrics with effects of their own on systems, as large as those on texts."""
    rng = np.random.default_rng(seed)
    quality, texts = rng.normal(size=(systems, 1)), rng.normal(size=(systems, documents))

    def rate(agreement: float) -> np.ndarray:
        noise = np.sqrt(1 - agreement**2)
        level = agreement * quality + noise * rng.normal(size=quality.shape)
        return (level + agreement * texts + noise * rng.normal(size=texts.shape)).ravel()

    rows = [
        {"hypothesis": "w " * int(rng.integers(3, 17)), "system": f"s{s}", "doc": d,
         "human": {"overall": float(quality[s, 0] + texts[s, d])}}
        for s in range(systems)
        for d in range(documents)
    ]  # fmt: skip
    path = folder / "simulated.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return Human(data=(path,), resamples=100, details=False), [rate(value) for value in agreements]


def test_effects_on_systems_make_no_clusters_and_no_verdicts(tmp_path: Path) -> None:
    """Two equally good metrics share a cluster, and one that knows nothing of quality gets no verdict."""
    runs, apart, verdicts = 40, Counter[str](), Counter[str]()
    for seed in range(runs):
        audit, (a, b, blind) = simulated(tmp_path, seed, systems=8, documents=12, agreements=[0.7, 0.7, 0.0])
        found = judge(audit, a=a, b=b, blind=blind).findings
        for slice_ in ("example/overall", "example/overall/by-document", "system/overall"):
            clusters = {f.metric: f.value for f in found if (f.slice, f.statistic) == (slice_, "cluster")}
            apart[slice_] += clusters["a"] != clusters["b"]
            (over,) = [
                f for f in found if (f.metric, f.slice, f.statistic) == ("blind", slice_, "over_sentinel")
            ]
            verdicts[slice_] += over.verdict != "inconclusive"
    assert max(apart.values()) / runs <= 0.06
    assert max(verdicts.values()) / runs <= 0.05


@pytest.mark.parametrize("texts", [20, 60])
def test_a_metric_at_the_margin_rarely_gets_a_verdict(tmp_path: Path, texts: int) -> None:
    false = 0
    for seed in range(100):
        audit, (blind,) = simulated(tmp_path, seed, systems=1, documents=texts, agreements=[0.0])
        (over,) = [f for f in judge(audit, blind=blind).findings if f.statistic == "over_sentinel"]
        false += over.verdict != "inconclusive"
    assert false / 100 <= 0.05
