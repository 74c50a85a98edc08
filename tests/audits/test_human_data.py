"""Agreement with people on awkward data: what is said of it, what is left out, and preferences as ratings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from simulated_ratings import judge, one, quality, write_ratings

from assay.audits.human.audit import Human
from assay.engine.scoring import score_cases
from assay.engine.session import Session
from assay.errors import DataError
from assay.names.spec import measure


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
    judgement = judge(audit, any=rng.normal(size=200))
    found = judgement.findings
    pair = one(found, "people", "criteria/fluency", "kendall_b", "adequacy")
    assert pair.value == pytest.approx(
        stats.kendalltau(audit.items.human("fluency"), audit.items.human("adequacy")).statistic
    )
    assert any(note.startswith("one score cannot stand for these criteria") for note in judgement.notes)
    # Another group's ratings are not set against these.
    assert not [f for f in found if f.slice == "criteria/fluency" and f.versus == "crowd:fluency"]


def test_constant_sides_are_said(tmp_path: Path) -> None:
    path = write_ratings(tmp_path, human=lambda quality, length, rng: [4])
    audit = Human(data=(path,), resamples=50)
    constant = judge(audit, good=quality(audit))
    assert not [f for f in constant.findings if f.metric == "good"]
    assert "overall: people gave every text 4; nothing can correlate with that" in constant.notes
    varied = Human(data=(write_ratings(tmp_path),), resamples=50, details=False)
    judgement = judge(varied, flat=np.ones(180), good=quality(varied))
    found = judgement.findings
    assert all(np.isfinite(f.value) for f in found)
    of_flat = [f for f in found if "flat" in (f.metric, f.versus)]
    orders = ("agreement_order", "agreement_order_difference", "cluster", "over_sentinel")
    assert {f.statistic for f in of_flat} == set(orders)
    assert {f.value for f in of_flat if f.statistic == "agreement_order"} == {50.0}
    assert not [f for f in of_flat if f.verdict == "pass"]
    assert "system/overall: flat does not vary there, so it has no correlation" in judgement.notes


@pytest.mark.parametrize("level", ["example", "system"])
def test_a_single_metric_is_compared_with_a_constant_only(tmp_path: Path, level: str) -> None:
    """One word each: the length of the texts is no baseline, for it does not vary."""
    words = iter(range(10_000))
    path = write_ratings(tmp_path, documents=4, human=lambda quality, length, rng: [quality])
    rows = [json.loads(line) | {"hypothesis": f"word{next(words)}"} for line in path.read_text().splitlines()]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    audit = Human(data=(path,), resamples=50, level=level, details=False)  # type: ignore[arg-type]
    for scores, correlations in ((np.ones(24), 0), (quality(audit), 1)):
        found = judge(audit, any=scores).findings
        assert {f.statistic for f in found if f.versus} == {"over_sentinel"}
        assert {f.versus for f in found if f.versus} == {"constant"}
        spearman = [f for f in found if (f.slice, f.statistic) == (f"{level}/overall", "spearman")]
        assert len(spearman) == correlations


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
    notes = "\n".join(judge(audit, any=np.arange(41.0)).notes)
    assert "system/overall: 2 systems; at least 3" in notes
    assert "1 texts repeat a (doc, system)" in notes
    assert "1 to 3 ratings per text" in notes
    bare = [row | {"human": None} if n % 2 else row for n, row in enumerate(rows)]  # nobody judged b
    path.write_text("\n".join(map(json.dumps, bare)), "utf-8")
    half = Human(data=(path,), resamples=50)
    notes = judge(half, any=np.arange(41.0)).notes
    assert any(note.startswith("system/overall: 1 systems; at least 3") for note in notes)
    table = audit.items.table(np.arange(41.0))
    assert table[0, 0] == 20.0  # texts 0 and 40 share a cell


def test_missing_scores_leave_their_rows_out(tmp_path: Path) -> None:
    audit = Human(data=(write_ratings(tmp_path),), resamples=50, details=False)
    holes = quality(audit)
    holes[::4] = np.nan
    found = judge(audit, holes=holes, good=quality(audit)).findings
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
    bare.write_text('{"hypothesis": "a", "Judged": {"overall": 1}}\n', "utf-8")
    with pytest.raises(DataError, match=r"no text has a rating; .*; columns not used: Judged"):
        list(Human(data=(bare,)).cases())
    with pytest.raises(DataError, match="nobody judged 'overal'; did you mean overall"):
        Human(data=(write_ratings(tmp_path),), only=("overal",)).judge([])


def test_self_references_are_dropped(tmp_path: Path) -> None:
    rows = [
        {"hypothesis": t, "references": ["a b", "c"], "human": {"overall": 1}} for t in ("a b ", "x", "c")
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    audit = Human(data=(path,), drop_self_references=True)
    assert [case.samples["hypothesis"].hypothesis for case in audit.cases()] == ["x"]
    assert "2 texts that are among their own references were dropped" in audit.judge([]).notes


def test_a_set_metric_is_judged_between_systems(tmp_path: Path) -> None:
    audit = Human(data=(write_ratings(tmp_path),), resamples=50, details=False)
    answer = score_cases(measure("bleu:level=corpus"), {"human": list(audit.cases())}, Session())["human"]
    found = [f for f in audit.judge([answer]).findings if f.metric == "bleu:level=corpus"]
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
    assert values[3] - values[0] == pytest.approx(3.0, abs=0.8)  # simulated: one logit per step
    found = judge(audit, good=[float(item.system[1]) for item in audit.items.rated]).findings
    assert one(found, "good", "system/overall", "spearman").value == pytest.approx(1.0)
