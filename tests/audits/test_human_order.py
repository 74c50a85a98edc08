"""Agreement in order: pairs counted one by one, what cannot change it, and what its interval covers."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from simulated_ratings import judge, one, quality, write_ratings

from assay.audits.human.audit import Human
from assay.core import Finding

# Four systems by five segments, with ties on both sides; people see no difference in the third segment.
RATINGS = [[-1, -5, 0, -2, 0], [-1, -1, 0, -6, 0], [-6, -5, 0, 0, 0], [-2, 0, 0, -1, -25]]
SCORES = [
    [0.61, 0.32, 0.80, 0.55, 0.91],
    [0.42, 0.50, 0.79, 0.58, 0.90],
    [0.44, 0.32, 0.93, 0.71, 0.90],
    [0.58, 0.29, 0.80, 0.57, 0.93],
]


def counted(scores: list[float], ratings: list[float], epsilon: float = 0.0) -> dict[str, int]:
    """The counts behind every Kendall of mt-metrics-eval, where scores within epsilon tie."""
    counts = dict.fromkeys(("right", "wrong", "people tie", "metric ties", "both tie"), 0)
    for i, j in combinations(range(len(scores)), 2):
        gap, preferred = scores[i] - scores[j], ratings[i] - ratings[j]
        if preferred == 0:
            counts["both tie" if abs(gap) <= epsilon else "people tie"] += 1
        elif abs(gap) <= epsilon:
            counts["metric ties"] += 1
        else:
            counts["right" if (gap > 0) == (preferred > 0) else "wrong"] += 1
    return counts


def order(scores: list[float], ratings: list[float]) -> float | None:
    counts = counted(scores, ratings)
    decided = counts["right"] + counts["wrong"] + counts["metric ties"]
    return 100 * (counts["right"] + counts["metric ties"] / 2) / decided if decided else None


def accuracy(scores: list[float], ratings: list[float], epsilon: float) -> float:
    """acc23: a tie is right where people tie."""
    counts = counted(scores, ratings, epsilon)
    return (counts["right"] + counts["both tie"]) / sum(counts.values())


@pytest.fixture
def campaign(tmp_path: Path) -> Human:
    rows = [
        {"hypothesis": f"{s} {d}", "system": f"s{s}", "doc": d, "human": {"mqm": RATINGS[s][d]}}
        for s in range(4)
        for d in range(5)
    ]
    path = tmp_path / "campaign.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return Human(data=(path,), resamples=50, details=False)


def test_pairs_are_counted_as_by_hand(campaign: Human) -> None:
    """Within segments (3, 2, 4 and 0 right of 5, 5, 6 and 3), over all pairs, and between systems."""
    found = judge(campaign, metric=np.ravel(SCORES)).findings
    within = one(found, "metric", "example/mqm/by-document", "agreement_order")
    assert within.value == pytest.approx(100 * (3 / 5 + 2 / 5 + 4 / 6 + 0 / 3) / 4)
    assert within.n == 4  # people prefer no text of the third segment
    pooled = one(found, "metric", "example/mqm", "agreement_order")
    assert pooled.value == pytest.approx(100 * (101 + 2 / 2) / 145)
    assert pooled.n == 20
    segments = [([row[d] for row in SCORES], [row[d] for row in RATINGS]) for d in range(5)]
    orders = [value for value in (order(*segment) for segment in segments) if value is not None]
    assert within.value == pytest.approx(np.mean(orders))
    assert pooled.value == pytest.approx(order(np.ravel(SCORES).tolist(), np.ravel(RATINGS).tolist()))
    means = [np.mean(table, axis=1).tolist() for table in (SCORES, RATINGS)]
    assert one(found, "metric", "system/mqm", "agreement_order").value == pytest.approx(order(*means))


def test_ties_of_people_are_counted_as_the_metrics_task_does(campaign: Human) -> None:
    """The best of all thresholds for a tie, the same for every segment; their mean accuracy is .5333."""
    found = judge(campaign, metric=np.ravel(SCORES)).findings
    segments = [([row[d] for row in SCORES], [row[d] for row in RATINGS]) for d in range(5)]
    gaps = {abs(x - y) for scores, _ in segments for x, y in combinations(scores, 2)}
    best = max(np.mean([accuracy(*segment, epsilon) for segment in segments]) for epsilon in {0.0, *gaps})
    value = one(found, "metric", "example/mqm/by-document", "pairwise_accuracy").value
    assert value == pytest.approx(best)
    assert value == pytest.approx(8 / 15)


def orders(found: list[Finding]) -> dict[str, tuple[float, tuple[float, float] | None, str]]:
    named = [f for f in found if f.statistic in ("agreement_order", "over_sentinel") and f.metric == "metric"]
    return {f"{f.slice} {f.statistic}": (f.value, f.ci, f.verdict) for f in named}


def test_no_increasing_transform_changes_it(tmp_path: Path) -> None:
    """Of the scores of texts; those of systems are means, which are not the same in another unit."""
    audit = Human(data=(write_ratings(tmp_path),), resamples=50, level="example", details=False)
    scores = np.round(quality(audit) + np.random.default_rng(1).normal(0, 0.7, 180), 1)
    plain = orders(list(judge(audit, metric=scores).findings))
    assert len(plain) == 4
    for transform in (
        np.exp,
        np.cbrt,
        lambda x: 1e6 * x + 1e4,
        lambda x: np.unique(x, return_inverse=True)[1],
    ):
        assert orders(list(judge(audit, metric=transform(scores)).findings)) == plain


def test_a_coin_and_a_constant_are_right_half_of_the_time(tmp_path: Path) -> None:
    audit = Human(data=(write_ratings(tmp_path),), resamples=100, details=False)
    coin = np.random.default_rng(5).normal(size=180)
    found = judge(audit, constant=np.ones(180), coin=coin, worse=-quality(audit)).findings
    for slice_ in ("example/overall", "example/overall/by-document", "system/overall"):
        assert one(found, "constant", slice_, "agreement_order").value == 50.0
        ends = one(found, "coin", slice_, "agreement_order").ci
        assert ends is not None
        assert ends[0] < 50 < ends[1]
        assert one(found, "worse", slice_, "agreement_order").value < 25
    assert one(found, "worse", "example/overall", "over_sentinel").verdict == "fail"
    assert not [f for f in found if f.metric != "worse" and f.verdict in ("pass", "fail")]


@pytest.mark.parametrize("documents", [3, 12, 40])
def test_an_interval_has_a_width_and_stays_in_its_range(tmp_path: Path, documents: int) -> None:
    audit = Human(data=(write_ratings(tmp_path, documents=documents),), resamples=60, details=False)
    human = audit.items.human("overall")
    found = judge(audit, perfect=human, reversed=-human, constant=np.zeros(human.size)).findings
    intervals = [f.ci for f in found if f.statistic == "agreement_order" and f.ci is not None]
    assert len(intervals) >= 9
    for low, high in intervals:
        assert 0 <= low < high <= 100
    values = {
        f.metric: f.value for f in found if (f.slice, f.statistic) == ("example/overall", "agreement_order")
    }
    assert (values["perfect"], values["reversed"], values["constant"]) == (100, 0, 50)


def test_intervals_cover(tmp_path: Path) -> None:
    """Normal scores that correlate at .5 with people order two of three pairs as they do: 50 + 100 asin(.5) / pi."""
    missed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        human, noise = rng.normal(size=(2, 40))
        rows = [{"hypothesis": f"text {n}", "human": {"overall": x}} for n, x in enumerate(human)]
        path = tmp_path / "normal.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        audit = Human(data=(path,), resamples=100, details=False, level="example")
        found = judge(audit, metric=0.5 * human + np.sqrt(0.75) * noise).findings
        ends = one(found, "metric", "example/overall", "agreement_order").ci
        assert ends is not None
        missed += not ends[0] <= 200 / 3 <= ends[1]
    assert missed <= 6  # 5% of 60 is 3; more than 6 happens in 3 of 100
