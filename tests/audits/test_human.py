"""Agreement with people on planted data: values against scipy, verdicts, and what is said of bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.audits._human_people import interval_alpha
from assay.audits.human import Human
from assay.core import Finding, Scored
from assay.errors import DataError
from assay.scoring import Settings, score_cases
from assay.spec import measure
from assay.statistics.agreement import krippendorff_alpha

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "seven",
    "old",
    "men",
    "watch",
    "it",
    "from",
    "their",
    "porch",
]


def plant(folder: Path, *, systems: int = 6, documents: int = 30, seed: int = 0, human=None) -> Path:
    """Texts of systems of rising quality; `human(quality, length, rng)` rates them (three noisy raters)."""
    rng = np.random.default_rng(seed)
    path = folder / "planted.jsonl"
    rows = []
    for system in range(systems):
        for document in range(documents):
            quality = system / systems + rng.normal(0, 0.5)
            length = int(rng.integers(3, 17))
            rated = human(quality, length, rng) if human else [quality + rng.normal(0, 0.3) for _ in range(3)]
            rows.append(
                {"hypothesis": " ".join(rng.choice(WORDS, length)), "references": ["a dog"], "doc": document,
                 "system": f"s{system}", "human": {"overall": rated}, "quality": quality}
            )  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def scored(audit: Human, **columns: np.ndarray) -> list[Scored]:
    cases = list(audit.cases())
    return [
        Scored(name, cases, {"hypothesis": np.asarray(values, float)}) for name, values in columns.items()
    ]


def quality(audit: Human) -> np.ndarray:
    return np.array([item.meta["quality"] for item in audit.items.rated])


def one(found: list[Finding], metric: str, slice_: str, statistic: str, versus: str | None = None) -> Finding:
    (finding,) = [
        f for f in found if (f.metric, f.slice, f.statistic) == (metric, slice_, statistic)
        and (versus is None or f.versus == versus)
    ]  # fmt: skip
    return finding


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Human, np.ndarray, list[Finding]]:
    audit = Human(data=(plant(tmp_path_factory.mktemp("human")),), resamples=200)
    noisy = quality(audit) + np.random.default_rng(1).normal(0, 0.5, len(audit.items))
    worse = quality(audit) + np.random.default_rng(2).normal(0, 3.0, len(audit.items))
    return audit, noisy, audit.judge(scored(audit, good=noisy, weak=worse))


def test_example_level_equals_scipy(judged: tuple[Human, np.ndarray, list[Finding]]) -> None:
    audit, noisy, found = judged
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


def test_grouped_and_system_level_equal_scipy(judged: tuple[Human, np.ndarray, list[Finding]]) -> None:
    audit, noisy, found = judged
    metric, human = (audit.items.table(values) for values in (noisy, audit.items.human("overall")))
    by_document = [stats.kendalltau(metric[:, d], human[:, d]).statistic for d in range(30)]
    grouped = one(found, "good", "example/overall/by-document", "kendall_b")
    assert (grouped.value, grouped.n) == (pytest.approx(np.mean(by_document), abs=1e-12), 30)
    means = metric.mean(axis=1), human.mean(axis=1)
    system = one(found, "good", "system/overall", "pearson")
    assert (system.value, system.n) == (pytest.approx(stats.pearsonr(*means).statistic, abs=1e-12), 6)
    assert one(found, "good", "system/overall", "pairwise_accuracy").n == 15


def test_the_better_metric_wins_its_cluster(judged: tuple[Human, np.ndarray, list[Finding]]) -> None:
    audit, _, found = judged
    difference = one(found, "good", "example/overall", "spearman_difference", "weak")
    assert difference.value > 0.3
    assert difference.p_value is not None
    assert difference.p_value < 0.01
    assert one(found, "good", "example/overall", "cluster").value == 1
    assert one(found, "weak", "example/overall", "cluster").value > 1
    assert any(note.startswith("example/overall: best is good") for note in audit.notes())


def test_sentinels_stand_in_every_table(judged: tuple[Human, np.ndarray, list[Finding]]) -> None:
    _, _, found = judged
    for slice_ in ("example/overall", "example/overall/by-document", "system/overall"):
        names = {f.metric for f in found if f.slice == slice_ and f.statistic == "spearman"}
        assert names >= {"good", "weak", "sentinel-length", "sentinel-hypothesis"}
    # No source in the data: no baseline on it.
    assert not [f for f in found if f.metric == "sentinel-source"]
    assert one(found, "good", "example/overall", "over_sentinel").passed is True


def test_a_metric_below_a_sentinel_fails(tmp_path: Path) -> None:
    path = plant(tmp_path, human=lambda quality, length, rng: [length + rng.normal(0, 1)])
    audit = Human(data=(path,), resamples=200, details=False)
    noise = np.random.default_rng(3).normal(size=len(audit.items))
    found = audit.judge(scored(audit, noise=noise))
    verdict = one(found, "noise", "example/overall", "over_sentinel")
    assert verdict.passed is False
    assert verdict.value < -0.5
    paper = replace(audit, rule="paper").judge(scored(audit, noise=noise))  # the papers know no such verdict
    assert one(paper, "noise", "example/overall", "over_sentinel").passed is None


def test_a_good_metric_is_never_failed(tmp_path: Path) -> None:
    one_rating = lambda quality, length, rng: [quality + rng.normal(0, 0.2)]  # noqa: E731
    for seed in range(12):
        path = plant(tmp_path, systems=5, documents=12, seed=seed, human=one_rating)
        audit = Human(data=(path,), resamples=100, details=False)
        good = quality(audit) + np.random.default_rng(seed).normal(0, 0.3, len(audit.items))
        assert not [f for f in audit.judge(scored(audit, good=good)) if f.passed is False]


def test_each_judgement_is_a_row(tmp_path: Path) -> None:
    audit = Human(
        data=(plant(tmp_path),), resamples=50, each_judgement=True, tau="c", level="example", details=False
    )
    metric = np.round(quality(audit), 1)
    ratings = np.array([item.human["overall"] for item in audit.items.rated])
    finding = one(audit.judge(scored(audit, good=metric)), "good", "example/overall", "kendall_c")
    expected = stats.kendalltau(np.repeat(metric, 3), ratings.ravel(), variant="c").statistic
    assert (finding.value, finding.n) == (pytest.approx(expected, abs=1e-12), 540)


def test_tau_and_level_choose_what_is_reported(tmp_path: Path) -> None:
    audit = Human(data=(plant(tmp_path),), resamples=50, level="system", tau="b", details=False)
    found = audit.judge(scored(audit, good=quality(audit)))
    assert not [f for f in found if f.slice.startswith("example/") or f.statistic == "kendall_c"]
    assert one(found, "good", "system/overall", "over_sentinel").n == 6


def test_equal_seeds_give_equal_findings(judged: tuple[Human, np.ndarray, list[Finding]]) -> None:
    audit, noisy, _ = judged
    quick = replace(audit, details=False, resamples=50)
    assert quick.judge(scored(quick, good=noisy)) == quick.judge(scored(quick, good=noisy))


def test_top_systems_and_difference_curves(judged: tuple[Human, np.ndarray, list[Finding]]) -> None:
    audit, noisy, found = judged
    human, metric = (
        audit.items.table(values).mean(axis=1) for values in (audit.items.human("overall"), noisy)
    )
    best = np.argsort(-human)[:4]
    top = one(found, "good", "system/overall/top-4", "spearman")
    assert top.value == pytest.approx(stats.spearmanr(metric[best], human[best]).statistic)
    curve = [f for f in found if f.metric == "good" and f.statistic == "people_agree"]
    assert sum(f.n for f in curve) == 15
    right = sum(f.n * f.value for f in curve) / 15
    assert right == pytest.approx(one(found, "good", "system/overall", "pairwise_accuracy").value)


def test_few_labels_correct_a_biased_metric(tmp_path: Path) -> None:
    path = plant(tmp_path, human=lambda quality, length, rng: [3 + quality] if rng.random() < 0.3 else [])
    audit = Human(data=(path,), resamples=50)
    truth = 3 + quality(audit)
    found = audit.judge(scored(audit, biased=truth - 5))  # right up to a constant: a mean that is 5 too low
    mean = one(found, "biased", "mean/overall", "ppi_mean")
    assert mean.value == pytest.approx(truth.mean(), abs=0.02)
    assert mean.ci is not None
    assert mean.ci[0] < truth.mean() < mean.ci[1]
    assert one(found, "biased", "mean/overall", "label_gain").value > 2
    assert any("have no rating" in note for note in audit.notes())


def test_annotators_and_criteria(judged: tuple[Human, np.ndarray, list[Finding]]) -> None:
    _, _, found = judged
    kappa = one(found, "people", "annotators/overall", "split_half_kendall")
    assert 0.3 < kappa.value < 0.9
    assert kappa.ci is not None
    assert 0.5 < one(found, "people", "annotators/overall", "krippendorff_alpha").value < 0.95


def test_interval_alpha_equals_the_coincidence_matrix() -> None:
    table = np.random.default_rng(0).integers(0, 6, (3, 40)).astype(float)
    table[0, ::5] = table[1, ::5] = table[2, ::10] = np.nan  # items with two, one and no ratings
    assert interval_alpha(table) == pytest.approx(krippendorff_alpha(table, "interval"), abs=1e-12)


def test_criteria_apart_are_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "hypothesis": f"text {n}",
            "human": {"fluency": float(a), "adequacy": float(b), "crowd:fluency": 1.0 + a},
        }
        for n, (a, b) in enumerate(rng.normal(size=(200, 2)))
    ]
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    audit = Human(data=(path,), resamples=100, details=False)
    found = audit.judge(scored(audit, any=rng.normal(size=200)))
    pair = one(found, "people", "criteria/fluency", "kendall_b", "adequacy")
    assert pair.value == pytest.approx(
        stats.kendalltau(audit.items.human("fluency"), audit.items.human("adequacy")).statistic
    )
    assert any(note.startswith("one score cannot stand for these criteria") for note in audit.notes())
    # Another group's ratings are not set against these.
    assert not [f for f in found if f.slice == "criteria/fluency" and f.versus == "crowd:fluency"]


def test_constant_sides_are_said(tmp_path: Path) -> None:
    path = plant(tmp_path, human=lambda quality, length, rng: [4])
    audit = Human(data=(path,), resamples=50)
    assert not [f for f in audit.judge(scored(audit, good=quality(audit))) if f.metric == "good"]
    assert "overall: people gave every text 4; nothing can correlate with that" in audit.notes()
    varied = Human(data=(plant(tmp_path),), resamples=50, details=False)
    found = varied.judge(scored(varied, flat=np.ones(180), good=quality(varied)))
    assert not [f for f in found if f.metric == "flat" or f.versus == "flat"]
    assert all(np.isfinite(f.value) for f in found)
    assert "system/overall: flat does not vary there, so it has no correlation" in varied.notes()


def test_few_systems_repeats_and_unequal_counts_are_said(tmp_path: Path) -> None:
    rows = [
        {
            "hypothesis": f"w {n}",
            "doc": n // 2,
            "system": "ab"[n % 2],
            "human": {"overall": [n % 5] * (1 + n % 3)},
        }
        for n in range(40)
    ]
    rows.append({**rows[0], "hypothesis": "again"})
    path = tmp_path / "few.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    audit = Human(data=(path,), resamples=50)
    audit.judge(scored(audit, any=np.arange(41.0)))
    notes = "\n".join(audit.notes())
    assert "system/overall: 2 systems; at least 3" in notes
    assert "1 texts repeat a (doc, system)" in notes
    assert "1 to 3 ratings a text" in notes
    table = audit.items.table(np.arange(41.0))
    assert table[0, 0] == 20.0  # texts 0 and 40 share a cell


def test_missing_scores_leave_their_rows_out(tmp_path: Path) -> None:
    audit = Human(data=(plant(tmp_path),), resamples=50, details=False)
    holes = quality(audit)
    holes[::4] = np.nan
    found = audit.judge(scored(audit, holes=holes, good=quality(audit)))
    kept = np.isfinite(holes)
    finding = one(found, "holes", "example/overall", "pearson")
    expected = stats.pearsonr(holes[kept], audit.items.human("overall")[kept]).statistic
    assert (finding.value, finding.n) == (pytest.approx(expected), 135)
    assert one(found, "good", "example/overall", "pearson").n == 180


def test_no_data_no_ratings_unknown_criterion(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="human needs ratings"):
        list(Human().cases())
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"hypothesis": "a"}\n', "utf-8")
    with pytest.raises(DataError, match="no text has a rating"):
        list(Human(data=(bare,)).cases())
    with pytest.raises(DataError, match="nobody judged 'overal'; did you mean overall"):
        Human(data=(plant(tmp_path),), only=("overal",)).judge([])


def test_self_references_are_dropped(tmp_path: Path) -> None:
    rows = [
        {"hypothesis": t, "references": ["a b", "c"], "human": {"overall": 1}} for t in ("a b ", "x", "c")
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    audit = Human(data=(path,), drop_self_references=True)
    assert [case.samples["hypothesis"].hypothesis for case in audit.cases()] == ["x"]
    assert "2 texts that are among their own references were dropped" in audit.notes()


def test_a_set_metric_is_judged_between_systems(tmp_path: Path) -> None:
    audit = Human(data=(plant(tmp_path),), resamples=50, details=False)
    answer = score_cases(measure("bleu:level=corpus"), {"human": list(audit.cases())}, Settings())["human"]
    found = [f for f in audit.judge([answer]) if f.metric == "bleu:level=corpus"]
    means = audit.items.table(audit.items.human("overall")).mean(axis=1)
    value = one(found, "bleu:level=corpus", "system/overall", "spearman").value
    assert value == pytest.approx(stats.spearmanr(answer.values["hypothesis"], means).statistic)


def test_preferences_become_strengths(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for n in range(300):
        a, b = rng.choice(4, 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(-(a - b)))
        rows.append(
            {"doc": n % 20, "system_a": f"s{a}", "system_b": f"s{b}", "hypothesis_a": f"text {n % 20} {a}",
             "hypothesis_b": f"text {n % 20} {b}", "preference": "a" if won else "b"}
        )  # fmt: skip
    path = tmp_path / "prefer.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    audit = Human(data=(path,), resamples=50)
    strength = {item.system: item.human["overall"][0] for item in audit.items.rated}
    values = [strength[f"s{n}"] for n in range(4)]
    assert values == sorted(values)
    assert values[3] - values[0] == pytest.approx(3.0, abs=0.8)  # planted: one logit a step
    found = audit.judge(scored(audit, good=[float(item.system[1]) for item in audit.items.rated]))
    assert one(found, "good", "system/overall", "spearman").value == pytest.approx(1.0)
