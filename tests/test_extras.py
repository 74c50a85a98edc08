"""Without an extra: default metrics that need it are left out with one note, metrics asked for are refused."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import assay
from assay.errors import MetricError, SpecError, install
from assay.names.registry import load_class, names

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    absent = ("torch", "transformers", "ot")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else real(name))


@pytest.mark.usefixtures("without_torch")
def test_the_default_audit_leaves_out_what_cannot_run() -> None:
    run = assay.audit(only=["repetition"], limit=12, session=assay.Session.open(cache=None))
    assert run.metrics == ["bleu", "rougeL", "chrf", "embedding-average"]
    notes = [note for note in run.notes if "pip install" in note]
    assert notes == [
        "not run: packages are missing for bertscore-f, gpt-ppl; pip install 'nlg-assay[neural]'"
    ]


@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize("spec", ["bertscore-f", "wmd", "0.3*chrf+bertscore-f"])
def test_a_metric_that_was_asked_for_is_refused_before_anything_is_scored(spec: str) -> None:
    sample = assay.Sample("A text.", ("A text.",))
    for act in (
        lambda: assay.run("repetition", ["bleu", spec], limit=12),
        lambda: assay.score(["bleu", spec], [sample]),
    ):
        with pytest.raises(
            MetricError, match=re.escape(f"packages are missing for {spec}; {install('neural')}")
        ):
            act()


@pytest.mark.usefixtures("without_torch")
def test_the_relaxed_distance_needs_no_solver() -> None:
    scores = assay.score(["wmd-relaxed"], [assay.Sample("A text.", ("A text.",))])
    assert scores["wmd-relaxed"].to_list() == [0.0]


def test_without_figures_the_report_has_its_tables_and_says_what_draws_charts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = assay.run("repetition", ["bleu"], limit=12, session=assay.Session.open(tmp_path / "run", None))
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "vl_convert" else real(name)
    )
    page = run.report(tmp_path / "report.html").read_text("utf-8")
    assert "Charts are left out, the tables below have their numbers." in page
    assert "pip install &#39;nlg-assay[figures]&#39;" in page
    with pytest.raises(SpecError, match=re.escape(f"figures are drawn by vl-convert: {install('figures')}")):
        run.plot("repetition").save(tmp_path / "repetition.svg")
    monkeypatch.undo()
    assert "Charts are left out" not in run.report(tmp_path / "report.html").read_text("utf-8")


def test_every_extra_that_is_named_exists() -> None:
    declared = {load_class(where).extra for where, _ in names("metrics").values()} - {None}
    texts = [path.read_text("utf-8") for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("**/*.md")]]
    hinted = {
        extra
        for text in texts
        for listed in re.findall(r"nlg-assay\[([a-z,]+)\]|install\(['\"](\w+)['\"]\)", text)
        for extra in ",".join(filter(None, listed)).split(",")
    }
    assert declared | hinted <= set(PROJECT["optional-dependencies"])
    assert not [text for text in texts if re.search(r"install '?assay\[", text)]


def test_all_is_every_extra_for_users() -> None:
    extras = PROJECT["optional-dependencies"]
    (combined,) = extras["all"]
    assert set(re.findall(r"[a-z]+", combined.partition("[")[2])) == set(extras) - {
        "all", "bench", "dev", "docs", "fuzz",
    }  # fmt: skip
