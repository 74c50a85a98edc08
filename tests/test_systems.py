"""Systems compared: equal to sacreBLEU's paired tests, planted differences found, bad data told."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

import assay
from assay.engine.session import Session
from assay.errors import DataError, MetricError
from assay.statistics.paired import compare_by_tests

WORDS = [
    "the",
    "a",
    "old",
    "new",
    "ferry",
    "bridge",
    "council",
    "museum",
    "closed",
    "opened",
    "left",
    "reached",
    "late",
    "early",
    "on",
    "in",
    "by",
    "near",
]
OURS = ("bleu:level=corpus", "chrf:level=corpus", "ter:level=corpus")


def texts(count: int = 150) -> tuple[list[str], dict[str, list[str]]]:
    """References, and three systems of which the first keeps more words than the others."""
    chance = random.Random(5)
    references = [" ".join(chance.choices(WORDS, k=chance.randint(6, 14))) for _ in range(count)]
    kept = {"good": 0.9, "fair": 0.75, "same": 0.75}
    outputs = {
        name: [
            " ".join(w if chance.random() < share else chance.choice(WORDS) for w in ref.split())
            for ref in references
        ]
        for name, share in kept.items()
    }
    return references, outputs


def rows(ids: str = "{n}") -> list[dict[str, Any]]:
    references, outputs = texts()
    return [
        {
            "id": ids.format(n=n, system=system),
            "system": system,
            "hypothesis": text,
            "references": [references[n]],
        }
        for system, listed in outputs.items()
        for n, text in enumerate(listed)
    ]


def fast() -> Session:
    return Session.open(cache=None)


@pytest.mark.parametrize(("test", "kind", "draws"), [("bootstrap", "bs", 1000), ("permutation", "ar", 2000)])
def test_equal_to_sacrebleus_paired_tests(
    test: str, kind: str, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    references, outputs = texts()
    tools = {"BLEU": BLEU(), "CHRF": CHRF(), "TER": TER()}
    theirs = PairedTest([*outputs.items()], tools, [references], test_type=kind, n_samples=draws)()[1]
    ours = assay.compare_systems(
        OURS, data=rows(), baseline="good", test=test, draws=draws, session=fast()
    )  # fmt: skip
    given = [listed for name, listed in theirs.items() if name != "System"]
    for label, listed, sign in zip(OURS, given, (1, 1, -1), strict=True):
        scores = ours.scores.filter(metric=label)
        assert scores["system"].to_list() == ["good", "fair", "same"]
        assert scores["score"].to_list() == pytest.approx([sign * each.score for each in listed], abs=1e-9)
        p_values = ours.pairs.filter(metric=label)["p"].to_list()
        # Their sums are of single precision: a tie may fall on the other side.
        assert p_values == pytest.approx([each.p_value for each in listed[1:]], abs=2.5 / draws)
        if kind == "bs":  # their interval is of the bootstrap too
            halves = (scores["high"] - scores["low"]) / 2
            assert halves.to_list() == pytest.approx([each.ci for each in listed], abs=1e-4)


def test_a_planted_difference_is_found_and_equal_systems_are_tied() -> None:
    done = assay.compare_systems(["bleu:level=corpus", "chrf"], data=rows(), session=fast())
    for label in ("bleu:level=corpus", "chrf"):
        clusters = dict(done.scores.filter(metric=label).select("system", "cluster").iter_rows())
        assert clusters["good"] == 1
        assert clusters["fair"] == clusters["same"] == 2
    assert (done.pairs["adjusted"] >= done.pairs["p"]).all()
    assert done.agreement["alike"][0] >= 2 / 3
    needed = done.metrics.filter(metric="chrf")["needed"][0]
    found = done.pairs.filter(metric="chrf")
    told = [abs(row["difference"]) > needed for row in found.to_dicts()]
    assert told == [row["p"] < 0.05 for row in found.to_dicts()]
    assert all(
        signature.endswith("|test:permutation|draws:10000|seed:12345")
        for signature in done.metrics["signature"]
    )


@pytest.mark.parametrize(("test", "least", "most"), [("permutation", 0, 20), ("bootstrap", 20, 60)])
def test_how_often_equal_systems_are_told_apart(test: Any, least: int, most: int) -> None:
    """5% of 200 and three standard deviations; sacreBLEU's bootstrap tells more apart, which its page says."""
    generator = np.random.default_rng(0)
    found = 0
    for _ in range(200):
        systems = [np.stack([generator.normal(size=60), np.ones(60)], axis=1) for _ in range(2)]
        pairs = compare_by_tests(systems, lambda sums: sums[:, 0] / sums[:, 1], draws=400, test=test)[2]
        found += pairs[0].p_value < 0.05
    assert least <= found <= most


def test_texts_pair_by_their_references_whatever_the_order_and_ids() -> None:
    listed = rows("{system}{n}")
    random.Random(1).shuffle(listed)
    expected = assay.compare_systems(OURS[:1], data=rows(), session=fast())
    given = assay.compare_systems(OURS[:1], data=listed, baseline="good", session=fast())
    before, after = (dict(each.scores.select("system", "score").iter_rows()) for each in (expected, given))
    assert after == pytest.approx(before)
    fewer = assay.compare_systems(
        OURS[:1], data=[row for row in listed if row["id"] != "fair3"], session=fast()
    )
    assert fewer.notes == ("compared on the 149 of 150 texts that every system has",)


def test_what_cannot_be_compared_is_told() -> None:
    with pytest.raises(DataError, match="holds the texts of one system"):
        assay.compare_systems(data=[row for row in rows() if row["system"] == "good"])
    with pytest.raises(DataError, match="no system is called 'god'; did you mean good"):
        assay.compare_systems(data=rows(), baseline="god")
    with pytest.raises(MetricError, match="sari gives no score to any text"):  # there is no source
        assay.compare_systems("sari", data=rows(), session=fast())


def test_the_command_says_which_is_better(tmp_path: Path) -> None:
    for system in ("good", "fair"):
        with (tmp_path / f"{system}.csv").open("w", newline="") as handle:
            writer = csv.DictWriter(handle, ["hypothesis", "reference"])
            writer.writeheader()
            chosen = [row for row in rows() if row["system"] == system]
            writer.writerows({"hypothesis": r["hypothesis"], "reference": r["references"][0]} for r in chosen)
    words = ["compare-systems", "--data", "good.csv", "--data", "fair.csv", "--cache", "none"]
    command = [sys.executable, "-c", "from assay.cli import main; main()", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bleu:level=corpus: differences of ")
    assert lines[1].split() == ["system", "score", "95%", "CI", "cluster"]
    assert any(line.startswith("good > fair") for line in lines)
    assert lines[-1] == "bleu:level=corpus and chrf:level=corpus order 100% of the pairs of systems alike"
    told = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert [row["system"] for row in json.loads(told.stdout)["scores"]] == ["good", "fair"] * 2
