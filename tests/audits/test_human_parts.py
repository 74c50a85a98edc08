"""Datasets and language pairs are kept apart and averaged; a limit spreads over systems and documents."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from simulated_ratings import WORDS, judge, one, quality, write_ratings

from assay.audits.human.audit import Human
from assay.audits.human.compare import agreement_notes
from assay.engine.scoring import score_cases
from assay.engine.session import Session
from assay.names.spec import measure


def write_campaign(folder: Path) -> list[Path]:
    """WMT's folders: five systems whose order is reversed in the second language pair, rated by errors."""
    for name in ("sources", "references", "human-scores"):
        (folder / name).mkdir()
    paths = []
    for pair, order in (("cs-en", range(5)), ("de-en", range(5)[::-1])):
        rng = np.random.default_rng(sum(map(ord, pair)))
        outputs = folder / "system-outputs" / pair
        outputs.mkdir(parents=True)
        sentences = [rng.choice(WORDS, 12).tolist() for _ in range(20)]
        text = "".join(" ".join(words) + "\n" for words in sentences)
        (folder / "sources" / f"{pair}.txt").write_text(text, "utf-8")
        (folder / "references" / f"{pair}.refA.txt").write_text(text, "utf-8")
        scores = []
        for system, errors in enumerate(order):
            damaged = [words[: 12 - 2 * errors] + ["xyz"] * 2 * errors for words in sentences]
            lines = "".join(" ".join(words) + "\n" for words in damaged)
            (outputs / f"s{system}.txt").write_text(lines, "utf-8")
            scores += [f"s{system}\t{100 - 15 * errors + rng.normal(0, 5):.3f}" for _ in sentences]
        path = folder / "human-scores" / f"{pair}.da.seg.score"
        path.write_text("\n".join(scores) + "\n", "utf-8")
        paths.append(path)
    return paths


def test_two_language_pairs_never_become_one(tmp_path: Path) -> None:
    paths = write_campaign(tmp_path)
    chrf = measure("chrf")

    def pearson(*files: Path) -> dict[str, float]:
        audit = Human(data=files, resamples=100, details=False)
        answer = score_cases(chrf, {"human": list(audit.cases())}, Session())["human"]
        judgement = audit.judge([answer])
        return {
            f.slice: f.value for f in judgement.findings
            if f.metric == "chrf" and f.statistic == "pearson" and f.slice.startswith("system/")
        }  # fmt: skip

    alone = [pearson(path)["system/da"] for path in paths]
    both = pearson(*paths)
    assert min(alone) > 0.98
    assert both == {
        "system/cs-en:da": pytest.approx(alone[0]), "system/de-en:da": pytest.approx(alone[1]),
        "system/average:da": pytest.approx(np.mean(alone)),
    }  # fmt: skip


def two_languages(folder: Path, *, column: str = "language_pair") -> Path:
    """One file; people's order of systems is reversed in the second language pair."""
    rng = np.random.default_rng(1)
    rows = []
    for pair, sign in (("cs-en", 1), ("de-en", -1)):
        for system in range(6):
            for document in range(15):
                level = sign * system / 2 + rng.normal(0, 0.7)
                rows.append(
                    {"hypothesis": " ".join(rng.choice(WORDS, rng.integers(3, 15))), "doc": document,
                     "references": ["a dog"], "system": f"s{system}", column: pair, "quality": level,
                     "human": {"overall": [level + rng.normal(0, 0.5) for _ in range(2)]}}
                )  # fmt: skip
    path = folder / "both.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize("column", ["language_pair", "lp", "dataset"])
def test_a_column_keeps_parts_apart(tmp_path: Path, column: str) -> None:
    audit = Human(data=(two_languages(tmp_path, column=column),), resamples=200)
    rng = np.random.default_rng(2)
    judgement = judge(
        audit, good=quality(audit) + rng.normal(0, 0.5, 180), weak=quality(audit) + rng.normal(0, 9, 180)
    )
    found = judgement.findings
    assert "kept apart, and averaged: cs-en, de-en" in judgement.notes
    assert not [f for f in found if f.slice.split("/")[1] == "overall"]  # nothing mixes the two
    for level in ("example/{}", "example/{}/by-document", "system/{}"):
        for statistic in ("agreement_order", "spearman", "kendall_b", "pairwise_accuracy", "over_sentinel"):
            parts = [
                [
                    f
                    for f in found
                    if (f.metric, f.slice, f.statistic) == ("good", level.format(name), statistic)
                ]
                for name in ("cs-en:overall", "de-en:overall", "average:overall")
            ]
            if statistic == "pairwise_accuracy" and not level.endswith("by-document"):
                assert parts == [[], [], []]
                continue
            (first,), (second,), (average,) = parts
            assert average.value == pytest.approx((first.value + second.value) / 2)
            assert average.n == first.n + second.n
            assert average.ci is not None
            assert average.ci[0] < average.value <= average.ci[1]
            widths = [f.ci[1] - f.ci[0] for f in (first, second) if f.ci is not None]
            assert average.ci[1] - average.ci[0] < max(widths)
    assert one(found, "good", "example/average:overall", "over_sentinel").verdict == "pass"
    assert one(found, "good", "example/average:overall", "cluster").value == 1
    assert one(found, "weak", "example/average:overall", "cluster").value > 1
    assert {f.slice for f in found if f.statistic == "krippendorff_alpha"} == {
        "annotators/cs-en:overall", "annotators/de-en:overall",
    }  # fmt: skip
    (note,) = (note for note in agreement_notes(found) if note.startswith("example/average:overall: "))
    assert note.startswith("example/average:overall: best is good (orders ")
    assert "weak" not in note


def test_one_language_is_no_part(tmp_path: Path) -> None:
    path = write_ratings(tmp_path, documents=5)
    rows = [json.loads(line) | {"language": "en"} for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = judge(Human(data=(path,), resamples=50), any=np.arange(30.0)).findings
    assert one(found, "any", "system/overall", "spearman").n == 6


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    files = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = write_ratings(folder, documents=4, seed=number)
        rows = [
            json.loads(line) | {"id": f"{number}-{n}"}
            for n, line in enumerate(path.read_text("utf-8").splitlines())
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        files.append(path)
    assert set(Human(data=tuple(files)).items.places) == {"ratings-1", "ratings-2"}


def test_a_set_metric_scores_the_systems_of_every_part(tmp_path: Path) -> None:
    audit = Human(data=(two_languages(tmp_path),), resamples=50, details=False)
    answer = score_cases(measure("bleu:level=corpus"), {"human": list(audit.cases())}, Session())["human"]
    assert len(answer.cases) == 12
    found = [f for f in audit.judge([answer]).findings if f.metric == "bleu:level=corpus"]
    for part, rows in (("cs-en", slice(0, 6)), ("de-en", slice(6, 12))):
        items = audit.items.by_part[part]
        means = items.table(items.human("overall")).mean(axis=1)
        value = one(found, "bleu:level=corpus", f"system/{part}:overall", "spearman").value
        assert value == pytest.approx(stats.spearmanr(answer.values["hypothesis"][rows], means).statistic)
    assert one(found, "bleu:level=corpus", "system/average:overall", "spearman").n == 12


def test_a_limit_takes_the_same_documents_of_every_system(tmp_path: Path) -> None:
    audit = Human(data=(write_ratings(tmp_path, systems=6, documents=30),), limit=60)
    assert Counter(audit.items.systems) == {f"s{n}": 10 for n in range(6)}
    by_system = {
        name: [item.doc for item in audit.items.rated if item.system == name]
        for name in audit.items.system_names
    }
    assert len({tuple(documents) for documents in by_system.values()}) == 1
    documents = [int(document) for document in by_system["s0"]]
    assert documents == sorted(documents)
    assert documents[-1] >= 27  # not the first ones of the file
    assert one(judge(audit, good=quality(audit)).findings, "good", "system/overall", "spearman").n == 6


@pytest.mark.parametrize(("limit", "size"), [(1, 1), (4, 4), (13, 12), (179, 174), (180, 180), (None, 180)])
def test_a_limit_is_never_exceeded(tmp_path: Path, limit: int | None, size: int) -> None:
    audit = Human(data=(write_ratings(tmp_path, systems=6, documents=30),), limit=limit)
    assert len(audit.items) == size
