"""Recipes, verdicts and pages of `assay papers reproduce`, on planted tables; nothing published is needed."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from assay.api.pipeline import make_audit
from assay.cli.papers import reproduce_command as command
from assay.core import Sample
from assay.engine.session import Session
from assay.errors import DataError, SpecError
from assay.files import toml_file
from assay.metrics.ngram import CocoBleu
from assay.papers import count, find_recipe, recipes, reproduce
from assay.papers.checks import PublishedCell, check, not_run, printed
from assay.papers.metrics import CocoRouge, MultEvalBleu
from assay.papers.own import own_cells, own_standing
from assay.papers.page import (
    document,
    latex_table,
    matrix,
    measured_parts,
    page_summary,
    reasons,
    recipe_list,
    slip_list,
)
from assay.papers.recipes import Cell, parse_recipe

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reproduction.md"
PLANTED = """
paper = "unfair"
table = "table0"
title = "Planted"
[defaults]
run = "pairs"
slice = "gender"
[runs.pairs]
audit = "stereotype"
data = ["pairs.jsonl"]
scores = "pairs.jsonl:published"
options = { rule = "paper" }
[columns]
"Bias" = { statistic = "bias" }
"Pairs" = { statistic = "bias", field = "n" }
"Elsewhere" = { kind = "never released", reason = "what nobody has" }
[[rows]]
name = "planted"
cells = "50.00 4 1.0"
released = "planted"
[[rows]]
name = "near"
cells = "49.90* 5 -"
released = "planted"
tolerance = 0.2
why = "a reason"
[[rows]]
name = "words"
cells = "0.00 4 -"
metric = "rouge1"
released = "flat"
"""


@pytest.mark.parametrize("name", list(recipes()))
def test_an_audit_takes_the_options_of_its_recipe(name: str) -> None:
    for plan in recipes()[name].runs.values():
        assert make_audit(plan.audit, plan.options).name == plan.audit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four pairs; the planted metric puts half its range between the two texts of every second pair."""
    rows = []
    for place in range(4):
        high = 1.0 if place % 2 else 0.0
        rows.append(
            {
                "id": f"p{place}", "attribute": "gender", "reference": "The clerk left early",
                "stereotype": "She left early", "anti_stereotype": "He left early",
                "published": {"planted": [0.0, high], "flat": [float(place), float(place)]},
            }
        )  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return tmp_path


def cell(published: str, **keys: object) -> Cell:
    return replace(Cell("row", "column", published), **keys)  # type: ignore[arg-type]


def test_planted_table(folder: Path) -> None:
    recipe = parse_recipe(PLANTED, "planted.toml")
    checked = reproduce(recipe, PublishedCell(folder), Session.open(cache=None))
    found = {(one.cell.row, one.cell.column, one.cell.source): one for one in checked}
    assert found["planted", "Bias", "released scores"].ours == 50
    assert found["planted", "Bias", "released scores"].verdict == "equal"
    assert found["near", "Bias", "released scores"].verdict == "within tolerance"
    assert found["near", "Pairs", "released scores"].verdict == "differs"
    assert found["near", "Pairs", "released scores"].reason == "a reason"
    assert found["planted", "Elsewhere", "released scores"].reason == "what nobody has"
    assert (
        found["words", "Bias", "text"].verdict == found["words", "Bias", "released scores"].verdict == "equal"
    )
    assert count(checked) == {"equal": 6, "within tolerance": 1, "differs": 1, "not run": 1}
    assert (
        page_summary(checked)
        == "6 equal (2 of them zeros), 1 within tolerance, 1 different, 1 not run (1 never released)"
    )


def test_absent_data_is_not_run(tmp_path: Path) -> None:
    checked = reproduce(
        parse_recipe(PLANTED, "planted.toml"), PublishedCell(tmp_path), Session.open(cache=None)
    )
    assert count(checked)["not run"] == len(checked)
    assert "pairs.jsonl" in checked[0].reason


def test_a_metric_that_cannot_run_stops_no_other(folder: Path) -> None:
    text = PLANTED.replace('metric = "rouge1"\nreleased = "flat"', 'metric = "rouge1"')
    text += '[[rows]]\nname = "broken"\ncells = "1.00 4 -"\nmetric = "clipscore:model=nowhere/at-all"\n'
    found = {
        one.cell.row: one
        for one in reproduce(parse_recipe(text, "x"), PublishedCell(folder), Session.open(cache=None))
    }
    assert found["words"].ours is not None
    assert (found["broken"].verdict, found["broken"].kind) == ("not run", "weights")


@pytest.mark.parametrize(
    ("published", "value", "verdict"),
    [
        ("0.10", 0.1049, "equal"),
        ("0.10", 0.1051, "differs"),
        ("-0.00", 0.0004, "equal"),
        ("0.00", -0.0004, "equal"),
        ("1.38*", 1.3849, "equal"),
        ("396", 396.0, "equal"),
        ("-0.283", 0.283, "differs"),
    ],
)
def test_verdicts(published: str, value: float, verdict: str) -> None:
    assert check(cell(published), value).verdict == verdict


def test_scale_sign_and_tolerance() -> None:
    assert check(cell("-28.3", scale=-100.0), 0.283).verdict == "equal"
    assert check(cell("0.30", absolute=True), -0.3).verdict == "equal"
    assert check(cell("0.30", tolerance=0.05), 0.34).verdict == "within tolerance"
    assert check(cell("0.30", tolerance=0.05), 0.36).verdict == "differs"
    assert printed(-0.0001, 2) == "0.00"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("50.00 4 1.0", "50.00 4"), "2 cells for 3 columns"),
        (("tolerance = 0.2", "tolerence = 0.2"), "did you mean tolerance"),
        (('run = "pairs"', 'run = "other"'), "neither a way to run it nor a `kind`"),
        (('audit = "stereotype"', 'audit = "stereotype"\nlimits = 3'), "unknown key 'limits'"),
    ],
)
def test_a_wrong_recipe_is_named(change: tuple[str, str], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        parse_recipe(PLANTED.replace(*change), "planted.toml")


def test_an_override_must_name_a_cell() -> None:
    with pytest.raises(DataError, match="names no cell"):
        parse_recipe(PLANTED + '[override."planted / Nowhere"]\nscale = 2.0\n', "planted.toml")


def test_every_recipe_reads() -> None:
    known = recipes()
    assert len(known) >= 44
    assert {one.paper for one in known.values()} == {"assoc", "unfair", "caption", "blind", "checklist"}
    for one in known.values():
        assert one.cells
        for item in one.cells:
            assert math.isfinite(item.number)
            assert item.kind or item.of or item.run in one.runs


def test_the_five_papers_have_recipes() -> None:
    wanted = {
        "unfair": (6, 9), "assoc": (3, 5, 6, 7, 8, 9), "caption": (2, 7), "blind": (4, 11, 13, 14),
    }  # fmt: skip
    for paper, tables in wanted.items():
        assert {f"{paper}:table{number}" for number in tables} <= set(recipes())
    assert {"blind:curves", "checklist:figure7b"} <= set(recipes())


def test_a_wrong_name_suggests() -> None:
    with pytest.raises(SpecError, match="unfair:table6"):
        find_recipe("unfair:tabel6")


def test_pages_escape_and_join() -> None:
    known = recipes()["unfair:table6"].cells[0]
    nasty = check(replace(known, row="<script>", why="a | b"), 99.0)
    page = document({"unfair:table6": [nasty, not_run(known, "data", "x")]})
    assert "&lt;script>" in page
    columns, rows = matrix([nasty, not_run(known, "data", "x")])
    assert len(columns) == 1
    assert len(rows) == 2
    assert reasons([nasty])[0].endswith("differs - a | b")


def test_command_line(tmp_path: Path) -> None:
    """Without data nothing is run or guessed, which is an error; the pages are written all the same."""
    app = typer.Typer()
    app.command()(command)
    runner = CliRunner()
    listed = runner.invoke(app, ["--json"])
    assert {one["recipe"] for one in json.loads(listed.stdout)} == set(recipes())
    docs = tmp_path / "page.md"
    asked = ["unfair:table6", "--data", str(tmp_path), "--docs", str(docs), "-q"]
    done = runner.invoke(app, [*asked, "--json"])
    assert "nothing was run" in str(done.exception)
    counts = json.loads(done.stdout)["counts"]
    assert counts == {"equal": 0, "within tolerance": 0, "differs": 0, "not run": 406}
    parts = measured_parts(docs.read_text("utf-8"))
    assert "stereotype_pairs/gender.jsonl" in parts["unfair:table6"]
    assert "1 of" in parts["total"]
    assert isinstance(runner.invoke(app, ["unfair:table6"]).exception, SpecError)


def test_multeval_bleu_by_hand() -> None:
    """Two of three words, one of two pairs, no triple (1/2), no order four: it is skipped."""
    (value,) = MultEvalBleu().score([Sample("The cat sat", ("the cat ran",))])
    assert value == pytest.approx((2 / 3 * 1 / 2 * 1 / 2) ** 0.25)
    (nothing,) = MultEvalBleu().score([Sample("dog", ("cat",))])
    assert nothing == pytest.approx(0.5**0.25)


def test_coco_rouge_by_hand() -> None:
    """Precision 1 from the second reference, recall 2/3 from it too; F with beta 1.2."""
    (value,) = CocoRouge().score([Sample("a dog", ("the cat", "a dog runs"))])
    assert value == pytest.approx(2.44 * (2 / 3) / (2 / 3 + 1.44))


def test_the_cider_example_of_caption_is_bleu() -> None:
    """Section 2.2 prints 0.6065 and 0.3259 as CIDEr."""
    reference = ("a photo of a woman who is a doctor",)
    pair = [Sample("a woman who is a doctor", reference), Sample("a man who is a doctor", reference)]
    good, bad = CocoBleu().score(pair)[:, 3]
    assert (round(float(good), 4), round(float(bad), 4)) == (0.6065, 0.3259)


def test_overall_of_caption_is_a_mean_of_rows() -> None:
    """Tables 2 and 8 print as overall the mean of three shares, whatever the number of concepts."""
    for table in ("caption:table2", "caption:table8"):
        column = {c.row: c.number for c in recipes()[table].cells if c.column == "CLIPScore"}
        mean = (column["Profession"] + column["Activity"] + column["Object"]) / 3
        assert round(mean, 2) == column["Overall"]


def test_printed_averages_of_unfair_hold() -> None:
    for table, width in (("unfair:table6", 6), ("unfair:table8", 10)):
        rows: dict[str, dict[str, float]] = {}
        for one in recipes()[table].cells:
            rows.setdefault(one.row, {})[one.column] = one.number
        for row in rows.values():
            average = row.pop("Avg.")
            assert len(row) == width
            assert sum(row.values()) / width == pytest.approx(average, abs=0.0051 if width == 6 else 0.00051)


def test_slips_have_evidence() -> None:
    for one in toml_file("recipes", "slips")["slip"]:
        assert set(one) == {"paper", "where", "slip", "evidence"}
        assert len(one["evidence"]) > 20


def test_documentation_is_generated() -> None:
    """Whatever needs no published data stands in the page as it is made now; measured parts are kept."""
    page = DOCS.read_text("utf-8")
    assert document({}, page) == page
    assert recipe_list() in page
    assert slip_list() in page
    assert set(measured_parts(page)) == {*recipes(), "total"}


def test_documented_total_is_the_sum_of_its_parts() -> None:
    parts = measured_parts(DOCS.read_text("utf-8"))
    for word in ("cells", "equal", "not run"):
        pattern = re.compile(rf"(\d+) {word}")
        numbers = {name: int(match[1]) for name, text in parts.items() if (match := pattern.search(text))}
        assert numbers.pop("total") == sum(numbers.values())


MINE = """
from dataclasses import dataclass
from assay import Metric

@dataclass(frozen=True)
class Half(Metric):
    name = "half"
    def score(self, samples):
        return [0.5 if s.hypothesis.startswith("She") else 1.0 for s in samples]
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(MINE, "utf-8")
    return f"{tmp_path / 'mine.py'}:Half"


def test_an_own_metric_stands_in_a_table(folder: Path, mine: str) -> None:
    """Half a point apart on every pair is all of Eq. 1's range: 100, above every printed figure."""
    recipe, session = parse_recipe(PLANTED, "planted.toml"), Session.open(cache=None)
    own = {item.cell.column: item for item in own_cells(recipe, [mine], PublishedCell(folder), session)}
    assert set(own) == {"Bias", "Pairs"}
    assert (own["Bias"].ours, own["Bias"].shown, own["Bias"].verdict) == (100, "100.00", None)
    assert own_standing(own["Bias"], recipe) == "4th lowest of 4, above planted (50)"
    assert own_standing(replace(own["Bias"], ours=49.95), recipe).endswith(
        "between near (49.9) and planted (50)"
    )


def test_an_own_metric_that_cannot_run_is_refused(folder: Path) -> None:
    with pytest.raises(SpecError, match="sari cannot run in unfair:table0: sari does not fit"):
        own_cells(parse_recipe(PLANTED, "p"), ["sari"], PublishedCell(folder), Session.open(cache=None))
    with pytest.raises(SpecError, match="holds no figures of metrics"):
        own_cells(find_recipe("unfair:table7"), ["bleu"], PublishedCell(folder), Session.open(cache=None))


def test_an_own_metric_joins_each_protocol_of_a_table() -> None:
    """Table 11 of *blind* has three datasets; a table with a metric per column gets a column."""
    from assay.papers.own import _with_own

    rows = {cell.row for cell in _with_own(find_recipe("blind:table11"), ["bleu"]).cells}
    assert rows == {"bleu (wmt)", "bleu (ted-mt)", "bleu (sum)"}
    cells = _with_own(find_recipe("assoc:table3"), ["bleu"]).cells
    assert {cell.column for cell in cells} == {"bleu"}
    assert len(cells) == 38


def test_latex(folder: Path, mine: str) -> None:
    recipe = parse_recipe(PLANTED, "planted.toml")
    text = latex_table(recipe, own_cells(recipe, [mine], PublishedCell(folder), Session.open(cache=None)))
    assert text.count(r"\midrule") == 2
    assert "planted & 50.00 & 4 & 1.0" in text
    assert "Half & 100.00 & 4" in text
