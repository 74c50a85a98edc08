"""The proof of a mitigation is an ordinary run: its figures are findings, and blindness is called so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner

from assay.api.runs import load_run
from assay.core import Image, Measure, Metric, Sample
from assay.datasets.pairs import StereotypePair, read_pair_files
from assay.engine.session import Session
from assay.errors import DataError
from assay.mitigation.data import counterfactuals
from assay.mitigation.methods import Method, SwapAverage, compare_methods, comparison_page, mean_value
from assay.mitigation.proof import (
    CAPTIONS,
    CHANGE_GENDER,
    SEES_GENDER,
    Proof,
    ProofFigure,
    check_ratings,
    gendered_captions,
    prove,
    read_test_pairs,
)
from assay.mitigation.train import HELD_OUT
from assay.report import write_report
from assay.report.charts import panels


@dataclass(frozen=True)
class Sexist(Metric):
    """A simulated metric: words shared with the reference, and `extra` for each he."""

    name = "sexist"
    extra: float = 0.2

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [self._score(s.hypothesis.lower().split(), s.references[0].lower().split()) for s in samples]

    def _score(self, words: list[str], reference: list[str]) -> float:
        shared = len(set(words) & set(reference)) / len(set(words) | set(reference))
        return shared + self.extra * sum(word in ("he", "man") for word in words) / len(words)


@dataclass(frozen=True)
class Blind(Metric):
    """A simulated metric that is fair because it sees nothing."""

    name = "blind"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [float(len(s.hypothesis.split())) for s in samples]


def pairs(count: int = 30) -> list[StereotypePair]:
    rows = []
    for n in range(count):
        words = f"met {n} sailors and " + "then " * (n % 4) + "left"
        reference = (f"the captain {words}",)
        rows.append(StereotypePair(f"p{n}", "gender", f"he {words}", f"she {words}", reference, reference))
    return rows


def ratings(path: Path, criterion: str, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    rows = [
        {
            "id": f"t{n}",
            "doc": f"d{n // 3}",
            "hypothesis": " ".join(rng.choice(["he", "she", "left", "met", "a", "dog", "home"], 5)),
            "references": ["she left home and met a dog"],
            "human": {criterion: float(rng.normal())},
        }
        for n in range(30)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def only(proof: Proof, metric: str, statistic: str, slice_: str) -> ProofFigure:
    (figure,) = [f for f in proof.of(metric, statistic) if f.slice == slice_]
    return figure


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    folder = tmp_path_factory.mktemp("proof")
    base = Measure("sexist", Sexist())
    measures = [base, Measure("swap", SwapAverage(base)), Measure("blind", Blind())]
    people = [ratings(folder / "one.jsonl", "overall", 1), ratings(folder / "two.jsonl", "overall", 2)]
    reversed_pairs = [
        replace(
            pair, id=f"{pair.id}-reversed", stereotype=pair.anti_stereotype, anti_stereotype=pair.stereotype
        )
        for pair in pairs()
    ]
    sets = {"gender": pairs(), "gender, reversed": reversed_pairs}
    return prove(measures, sets, people, folder / "run", Session.open(cache=None))


def test_averaging_over_swaps_removes_a_simulated_bias_and_still_sees_gender(proof: Proof) -> None:
    assert only(proof, "sexist", "bias", "gender").value > 5
    swap = only(proof, "swap", "bias", "gender")
    assert swap.value == pytest.approx(0.0, abs=1e-9)
    assert swap.change == pytest.approx(1.0)
    captions = [f for f in proof.of("swap", "accuracy") if f.slice == f"{SEES_GENDER}/{CAPTIONS}"]
    assert {f.versus: (f.value, f.n) for f in captions} == {"man": (1.0, 179), "woman": (1.0, 179)}
    assert proof.labels["swap"] == "fairer"


def test_lost_words_and_right_order_stand_before_and_after(proof: Proof) -> None:
    """The metric surely favours he; averaging over swaps leaves nothing of it."""
    for slice_ in ("gender", "preference/both"):
        before, after = (only(proof, name, "lost_words", slice_) for name in ("sexist", "swap"))
        assert before.ci is not None
        assert before.ci[0] > 0.1
        assert after.value == pytest.approx(0.0, abs=1e-9)
        assert after.change == pytest.approx(-before.value)
    orders = {
        name: only(proof, name, "mean_right_order", "all/meaning") for name in ("sexist", "swap", "blind")
    }
    assert all(orders[name].ci and orders[name].ci[0] > 60 for name in ("sexist", "swap"))
    assert orders["blind"].ci
    assert orders["blind"].ci[1] < 60
    assert only(proof, "blind", "mean_right_order", "all/form")


def test_fairness_by_blindness_is_called_so(proof: Proof) -> None:
    assert only(proof, "blind", "bias", "gender").value == 0.0
    accuracies = {f.value for f in proof.of("blind", "accuracy") if f.slice.endswith(CAPTIONS)}
    assert accuracies == {0.5}
    assert proof.labels["blind"] == "blinded"


def test_figures_are_findings_of_an_ordinary_run(proof: Proof) -> None:
    assert proof.run.folder is not None
    saved = load_run(proof.run.folder).findings
    for figure in proof.figures:
        row = saved.filter(
            (pl.col("metric") == figure.metric)
            & (pl.col("statistic") == figure.statistic)
            & (pl.col("slice") == figure.slice)
            & pl.col("versus").eq_missing(pl.lit(figure.versus))
        )
        assert row["value"].to_list() == [figure.value]
    assert "stereotype" in write_report(proof.run).read_text("utf-8")


def test_bias_is_the_papers_and_its_change_is_paired(proof: Proof) -> None:
    scores = proof.run.scores.filter((pl.col("audit") == "stereotype") & (pl.col("metric") == "sexist"))
    both = np.array(
        [
            scores.filter((pl.col("role") == role) & pl.col("case").str.starts_with("gender/"))["score"]
            for role in ("stereotype", "anti_stereotype")
        ]
    )
    expected = 100 * np.abs(both[0] - both[1]).mean() / np.ptp(both)
    figure = only(proof, "sexist", "bias", "gender")
    assert figure.value == pytest.approx(expected)
    assert figure.ci is not None
    assert figure.ci[0] < expected < figure.ci[1]
    assert only(proof, "blind", "bias", "gender").change_ci == (1.0, 1.0)


def test_several_files_of_ratings_are_not_pooled(proof: Proof, tmp_path: Path) -> None:
    slices = [figure.slice for figure in proof.of("sexist", "spearman")]
    assert slices == ["example/one:overall", "example/two:overall"]
    for name, seed in (("one", 1), ("two", 2)):
        rows = [json.loads(line) for line in ratings(tmp_path / "x", "overall", seed).read_text().split("\n")]
        scores = Sexist().score([Sample(row["hypothesis"], tuple(row["references"])) for row in rows])
        expected = spearmanr(scores, [row["human"]["overall"] for row in rows]).statistic
        before, after = (only(proof, m, "spearman", f"example/{name}:overall") for m in ("sexist", "swap"))
        assert before.value == pytest.approx(expected, abs=1e-12)
        assert after.change == pytest.approx(after.value - before.value)
        assert after.change_ci is not None
        assert after.change_ci[0] <= after.change <= after.change_ci[1]


def test_both_tests_of_sight_have_only_gendered_references() -> None:
    rows = list(gendered_captions())
    counts = {name: sum(row["concept"] == name for row in rows) for name in (CAPTIONS, CHANGE_GENDER)}
    assert counts[CAPTIONS] == 358
    assert counts[CHANGE_GENDER] > 20
    assert all(row["good"] != row["bad"] for row in rows)
    assert {row["group"] for row in rows} == {"man", "woman"}


def test_the_least_biased_method_that_still_sees_is_recommended(tmp_path: Path) -> None:
    base = Measure("sexist", Sexist())
    methods = [
        Method("original", base),
        Method("other", Measure("less", Sexist(extra=0.05))),
        Method("swap average", Measure("swap", SwapAverage(base))),
        Method("other", Measure("blind", Blind())),
    ]
    comparison = compare_methods(
        methods, {"gender": pairs()}, ["gender"], (), tmp_path / "run", Session.open(cache=None)
    )
    assert comparison.recommended == "swap"
    biases = [mean_value(comparison.proof, name, "bias", ["gender"]) for name in ("swap", "less", "sexist")]
    assert biases == sorted(biases)
    content = json.loads(comparison_page(comparison))
    assert content["labels"] == {"less": "fairer", "swap": "fairer", "blind": "blinded"}
    shown = {row["statistic"] for row in content["figures"]}
    assert shown == {"bias", "lost_words", "mean_right_order", "accuracy"}


def test_images_are_copied_beside_the_data(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"not read by a text metric")
    image = Image(str(picture), hashlib.sha256(picture.read_bytes()).hexdigest())
    shown = [replace(pair, image=image) for pair in pairs(10)]
    measure = Measure("sexist", Sexist())
    done = prove([measure], {"gender": shown}, (), tmp_path / "run", Session.open(cache=None))
    images = {pair.image for pair in read_pair_files([tmp_path / "run" / "data" / "pairs.jsonl"])[0]}
    assert [copy.digest for copy in images if copy] == [image.digest]
    assert done.labels == {}


def test_files_are_refused_before_the_work(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
        (folder / "own.jsonl").write_text(json.dumps({"hypothesis": "He left."}))
    with pytest.raises(DataError, match="two files are called 'own'"):
        read_test_pairs([folder / "own.jsonl" for folder in folders])
    with pytest.raises(DataError, match="no text has a rating"):
        check_ratings([folders[0] / "own.jsonl"])


@pytest.fixture(scope="module")
def adapter(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter's folder, trained for a step by the command line."""
    from assay.cli import app

    out = tmp_path_factory.mktemp("debias") / "out"
    asked = ["debias", "-m", f"bertscore-f:model={tiny},layer=2", "--attribute", "gender", "--out", str(out)]
    done = CliRunner().invoke(app, [*asked, "--steps", "1", "--cache", "none", "--json", "-q"])
    assert done.exit_code == 0, done.output
    (out / "printed.json").write_text(done.stdout)
    return out


def test_debias_leaves_an_adapter_and_an_ordinary_run(tiny: Path, adapter: Path) -> None:
    spec = f"bertscore-f:model={tiny},layer=2"
    printed = json.loads((adapter / "printed.json").read_text())
    assert printed["spec"] == f"{spec},adapter={adapter}"
    run = load_run(adapter / "run")
    assert run.metrics == [spec, printed["spec"]]
    assert set(run.about["audits"]) == {"stereotype", "caption", "swap", "stress"}
    drawn = [{row["metric"] for row in panel.rows} for panel in panels(run) if panel.audit == "stereotype"]
    assert {spec, printed["spec"]} in drawn  # both stand in one chart
    card = json.loads((adapter / "card.json").read_text())
    assert card["results"]["figures"] == printed["figures"]
    slices = {row["slice"]: row["n"] for row in printed["figures"] if row["statistic"] == "bias"}
    assert slices[f"gender, {HELD_OUT}"] == len(counterfactuals(["gender"])["test"])


@pytest.mark.parametrize(("pairs", "is_shown"), [(1, False), (2, True)])
def test_the_bias_of_one_pair_is_not_shown(pairs: int, is_shown: bool) -> None:
    """Eq. 1 divides by the range of the set, which is the difference of the one pair: 100 whatever it is."""
    from assay.mitigation.proof import _is_shown

    row = {"audit": "stereotype", "statistic": "bias", "slice": "planted", "n": pairs}
    assert _is_shown(row, {"planted": []}) is is_shown
