"""Published figures that must keep coming out, where the published data is at hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from assay.engine.session import Session
from assay.papers import Checked, PublishedCell, count, find_recipe, reproduce

pytestmark = pytest.mark.shared


def run(name: str, shared: Path, tmp_path: Path) -> list[Checked]:
    return reproduce(find_recipe(name), PublishedCell(shared), Session.open(cache=tmp_path))


def equal(checked: list[Checked]) -> set[tuple[str, str]]:
    return {(one.cell.row, one.cell.column) for one in checked if one.verdict == "equal"}


def test_unfair_tables(shared: Path, tmp_path: Path) -> None:
    """Sixty cells to the published precision; the three that differ are the known slips."""
    checked = run("unfair:table6", shared, tmp_path)
    assert count(checked)["equal"] == 63
    differ = {(one.cell.row, one.cell.column) for one in checked if one.verdict == "differs"}
    assert differ == {("METEOR", "Race"), ("METEOR", "Gender"), ("PRISM-p", "Gender")}
    assert len(equal([one for one in checked if one.cell.metric])) == 8
    assert count(run("unfair:table9", shared, tmp_path))["equal"] == 27
    assert count(run("unfair:table3", shared, tmp_path))["equal"] == 2


def test_examples_of_unfair(shared: Path, tmp_path: Path) -> None:
    """Table 1: BLEURT is RemBERT, the other metrics stand on a scale a little different."""
    checked = run("unfair:table1", shared, tmp_path)
    bleurt = [one for one in checked if one.cell.column == "BLEURT" and "difference" not in one.cell.row]
    assert [one.verdict for one in bleurt if one.verdict != "not run"] == ["equal"] * 8
    far = [one for one in checked if one.cell.column in ("BERTScore", "MoverScore", "PRISM")]
    assert all(abs(one.difference or 0) < 0.05 for one in far)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("rouge") is None, reason="needs the word list of py-rouge")
def test_rouge_between_systems(shared: Path, tmp_path: Path) -> None:
    found = equal(run("assoc:table7", shared, tmp_path))
    for criterion in ("Coherence", "Consistency", "Fluency", "Relevance"):
        assert ("ROUGE-2", f"{criterion} origin") in found
