"""Agreement with people on simulated data: values against scipy, and verdicts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from simulated_ratings import judge, one, quality, write_ratings

from assay.audits.human.audit import Human
from assay.core import Judgement


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Human, np.ndarray, Judgement]:
    audit = Human(data=(write_ratings(tmp_path_factory.mktemp("human")),), resamples=200)
    noisy = quality(audit) + np.random.default_rng(1).normal(0, 0.5, len(audit.items))
    worse = quality(audit) + np.random.default_rng(2).normal(0, 3.0, len(audit.items))
    return audit, noisy, judge(audit, good=noisy, weak=worse)


def test_example_level_equals_scipy(judged: tuple[Human, np.ndarray, Judgement]) -> None:
    audit, noisy, judgement = judged
    found = judgement.findings
    human = audit.items.human("overall")
    expected = {
        "pearson": stats.pearsonr(noisy, human).statistic,
        "spearman": stats.spearmanr(noisy, human).statistic,
        "kendall_b": stats.kendalltau(noisy, human).statistic,
        "kendall_c": stats.kendalltau(noisy, human, variant="c").statistic,
    }
    for statistic, value in expected.items():
        finding = one(found, "good", "example/overall", statistic)
        assert finding.value == pytest.approx(value, abs=1e-12)
        assert finding.n == 180
        assert finding.ci is not None
        assert finding.ci[0] < value < finding.ci[1]


def test_grouped_and_system_level_equal_scipy(judged: tuple[Human, np.ndarray, Judgement]) -> None:
    audit, noisy, judgement = judged
    found = judgement.findings
    metric, human = (audit.items.table(values) for values in (noisy, audit.items.human("overall")))
    by_document = [stats.kendalltau(metric[:, d], human[:, d]).statistic for d in range(30)]
    grouped = one(found, "good", "example/overall/by-document", "kendall_b")
    assert (grouped.value, grouped.n) == (pytest.approx(np.mean(by_document), abs=1e-12), 30)
    means = metric.mean(axis=1), human.mean(axis=1)
    system = one(found, "good", "system/overall", "pearson")
    assert (system.value, system.n) == (pytest.approx(stats.pearsonr(*means).statistic, abs=1e-12), 6)


def test_the_better_metric_wins_its_cluster(judged: tuple[Human, np.ndarray, Judgement]) -> None:
    _, _, judgement = judged
    found = judgement.findings
    for statistic, least in (("agreement_order", 15.0), ("spearman", 0.3)):
        difference = one(found, "good", "example/overall", f"{statistic}_difference", "weak")
        assert difference.value > least
        assert difference.p_value == 2**-5  # the smallest that six systems allow
        assert difference.ci is not None
        assert difference.ci[0] > 0
    assert one(found, "good", "example/overall", "cluster").value == 1
    assert one(found, "weak", "example/overall", "cluster").value > 1
    assert any(note.startswith("example/overall: best is good") for note in judgement.notes)


def test_sentinels_stand_in_every_table(judged: tuple[Human, np.ndarray, Judgement]) -> None:
    found = judged[2].findings
    for slice_ in ("example/overall", "example/overall/by-document", "system/overall"):
        names = {f.metric for f in found if f.slice == slice_ and f.statistic == "agreement_order"}
        assert names >= {"good", "weak", "sentinel-length", "sentinel-hypothesis"}
    # No source in the data: no baseline on it.
    assert not [f for f in found if f.metric == "sentinel-source"]
    assert one(found, "good", "example/overall", "over_sentinel").verdict == "pass"


def test_a_metric_below_a_sentinel_fails(tmp_path: Path) -> None:
    path = write_ratings(tmp_path, human=lambda quality, length, rng: [length + rng.normal(0, 1)])
    audit = Human(data=(path,), resamples=200, details=False)
    noise = np.random.default_rng(3).normal(size=len(audit.items))
    found = judge(audit, noise=noise).findings
    verdict = one(found, "noise", "example/overall", "over_sentinel")
    assert verdict.verdict == "fail"
    assert verdict.value < -25
    assert verdict.sentence.startswith(
        "noise agrees with people on overall less than sentinel-length, a base"
    )
    paper = judge(replace(audit, rule="paper"), noise=noise).findings  # the papers know no such verdict
    assert {f.verdict for f in paper} == {"not judged"}


def test_a_verdict_follows_from_its_interval_alone(tmp_path: Path) -> None:
    """Weak metrics on few documents, some surely above the baselines and some not."""
    verdicts = []
    for seed in range(12):
        path = write_ratings(tmp_path, systems=4, documents=12, seed=seed)
        audit = Human(data=(path,), resamples=100, details=False)
        weak = quality(audit) + np.random.default_rng(seed).normal(0, 1.3, len(audit.items))
        for over in (f for f in judge(audit, weak=weak).findings if f.statistic == "over_sentinel"):
            if over.slice.startswith("system/"):
                assert (over.ci, over.verdict) == (None, "not judged")  # four systems
            else:
                assert over.ci is not None
                assert over.ci[0] <= over.value <= over.ci[1]
                expected = "pass" if over.ci[0] >= 0 else "fail" if over.ci[1] < 0 else "inconclusive"
                assert over.verdict == expected
                verdicts.append(over.verdict)
    assert {"pass", "inconclusive"} <= set(verdicts)


def test_a_baseline_is_at_least_a_constant(tmp_path: Path) -> None:
    """Twenty texts whose length runs against people: a metric is not better for standing above that."""
    path = tmp_path / "twenty.jsonl"
    rng = np.random.default_rng(4)
    ratings = rng.permutation(20).astype(float)
    rows = [
        {"hypothesis": "w " * int(30 - rating + rng.integers(0, 12)), "human": {"overall": rating}}
        for rating in ratings
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    audit = Human(data=(path,), resamples=500, details=False)
    judgement = judge(audit, weak=ratings + rng.normal(0, 14, 20))
    length = one(judgement.findings, "sentinel-length", "example/overall", "agreement_order")
    weak = one(judgement.findings, "weak", "example/overall", "agreement_order")
    assert length.value < 35
    assert 50 < weak.value < 65
    over = one(judgement.findings, "weak", "example/overall", "over_sentinel")
    assert over.value == pytest.approx(weak.value - 50)
    assert (over.versus, over.verdict) == ("constant", "inconclusive")
    assert not [note for note in judgement.notes if "best is" in note]
    (note,) = [note for note in judgement.notes if note.startswith("example/overall:")]
    assert note.startswith("example/overall: no metric surely agrees with people; closest is weak (orders ")


def test_few_texts_get_no_verdict_and_no_sure_interval(tmp_path: Path) -> None:
    """Four texts in two documents, in the order of people: perfect, and next to nothing."""
    path = tmp_path / "four.jsonl"
    rows = [
        {"hypothesis": "w " * (n + 1), "system": "AB"[n % 2], "doc": n // 2, "human": {"adequacy": 4 - n}}
        for n in range(4)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    audit = Human(data=(path,), resamples=300)
    found = judge(audit, perfect=[4.0, 3.0, 2.0, 1.0], other=[1.0, 4.0, 2.0, 3.0]).findings
    assert one(found, "perfect", "example/adequacy", "spearman").value == pytest.approx(1.0)
    for finding in found:
        assert finding.verdict == "not judged"
        if finding.ci is not None and finding.statistic != "label_gain":
            wide = 15 if finding.statistic.startswith("agreement_order") else 0.3
            assert finding.ci[1] - finding.ci[0] > wide
        assert finding.p_value is None or finding.p_value >= 0.5


def test_a_perfect_order_of_systems_is_not_certain(tmp_path: Path) -> None:
    path = write_ratings(tmp_path, systems=8, human=lambda quality, length, rng: [quality])
    audit = Human(data=(path,), resamples=200, level="system", details=False)
    finding = one(judge(audit, perfect=quality(audit)).findings, "perfect", "system/overall", "spearman")
    assert finding.value == pytest.approx(1.0)
    assert finding.ci is not None
    assert finding.ci[0] == pytest.approx(0.85, abs=0.02)
    assert finding.ci[1] == pytest.approx(1.0)


def test_a_margin_is_what_agreement_must_exceed(tmp_path: Path) -> None:
    path = write_ratings(tmp_path)
    verdicts = []
    for margin in (0.0, 45.0):
        audit = Human(data=(path,), resamples=100, details=False, level="example", sentinel_margin=margin)
        noisy = quality(audit) + np.random.default_rng(1).normal(0, 0.5, len(audit.items))
        found = judge(audit, good=noisy).findings
        verdicts.append(one(found, "good", "example/overall/by-document", "over_sentinel").verdict)
    assert verdicts == ["pass", "fail"]


def test_a_good_metric_is_never_failed(tmp_path: Path) -> None:
    one_rating = lambda quality, length, rng: [quality + rng.normal(0, 0.2)]  # noqa: E731
    for seed in range(12):
        path = write_ratings(tmp_path, systems=5, documents=12, seed=seed, human=one_rating)
        audit = Human(data=(path,), resamples=100, details=False)
        good = quality(audit) + np.random.default_rng(seed).normal(0, 0.3, len(audit.items))
        assert not [f for f in judge(audit, good=good).findings if f.verdict == "fail"]


def test_each_judgement_is_a_row(tmp_path: Path) -> None:
    audit = Human(
        data=(write_ratings(tmp_path),),
        resamples=50,
        each_judgement=True,
        tau="c",
        level="example",
        details=False,
    )
    metric = np.round(quality(audit), 1)
    ratings = np.array([item.human["overall"] for item in audit.items.rated])
    finding = one(judge(audit, good=metric).findings, "good", "example/overall", "kendall_c")
    expected = stats.kendalltau(np.repeat(metric, 3), ratings.ravel(), variant="c").statistic
    assert (finding.value, finding.n) == (pytest.approx(expected, abs=1e-12), 540)


def test_tau_and_level_choose_what_is_reported(tmp_path: Path) -> None:
    audit = Human(data=(write_ratings(tmp_path),), resamples=50, level="system", tau="b", details=False)
    found = judge(audit, good=quality(audit)).findings
    assert not [f for f in found if f.slice.startswith("example/") or f.statistic == "kendall_c"]
    assert one(found, "good", "system/overall", "over_sentinel").n == 6


def test_equal_seeds_give_equal_findings(judged: tuple[Human, np.ndarray, Judgement]) -> None:
    audit, noisy, _ = judged
    quick = replace(audit, details=False, resamples=50)
    assert judge(quick, good=noisy) == judge(quick, good=noisy)


def test_top_systems(judged: tuple[Human, np.ndarray, Judgement]) -> None:
    audit, noisy, judgement = judged
    found = judgement.findings
    human, metric = (
        audit.items.table(values).mean(axis=1) for values in (audit.items.human("overall"), noisy)
    )
    best = np.argsort(-human)[:4]
    top = one(found, "good", "system/overall/top-4", "spearman")
    assert top.value == pytest.approx(stats.spearmanr(metric[best], human[best]).statistic)


def test_few_labels_correct_a_biased_metric(tmp_path: Path) -> None:
    path = write_ratings(
        tmp_path, human=lambda quality, length, rng: [3 + quality] if rng.random() < 0.3 else []
    )
    audit = Human(data=(path,), resamples=50)
    truth = 3 + quality(audit)
    judgement = judge(audit, biased=truth - 5)  # right up to a constant: a mean that is 5 too low
    found = judgement.findings
    mean = one(found, "biased", "mean/overall", "ppi_mean")
    assert mean.value == pytest.approx(truth.mean(), abs=0.02)
    assert mean.ci is not None
    assert mean.ci[0] < truth.mean() < mean.ci[1]
    assert one(found, "biased", "mean/overall", "label_gain").value > 2
    assert any("have no rating" in note for note in judgement.notes)


def test_annotators_and_criteria(judged: tuple[Human, np.ndarray, Judgement]) -> None:
    found = judged[2].findings
    kappa = one(found, "people", "annotators/overall", "split_half_kendall")
    assert 0.3 < kappa.value < 0.9
    assert kappa.ci is not None
    assert 0.5 < one(found, "people", "annotators/overall", "krippendorff_alpha").value < 0.95
