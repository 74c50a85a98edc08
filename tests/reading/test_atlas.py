"""The atlas: what is stored, and where a metric stands in it, with numbers worked out by hand."""

from __future__ import annotations

import json
import runpy
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from assay.api.runs import Run
from assay.audits.memorised import Memorised
from assay.cli import app
from assay.core import Estimate, Finding, Judgement
from assay.engine.settle import describe, settle
from assay.errors import SpecError
from assay.reading import shipped
from assay.reading.atlas import blind_together, merged, objections, options_of, place
from assay.reading.decisions import decisions_of
from assay.reading.results import findings_frame
from assay.reading.shipped import FILES, condensed, load_atlas, packed, unpacked

from .decided import ITEMS, decided_run, share

ROOT = Path(__file__).parents[2]
KINDS = tuple(f"edit-{number}" for number in range(20))


def run_of(noticed: dict[str, int], *, seed: str = "0", version: str = "1", **about: Any) -> Run:
    """Metrics that notice the first so many of twenty edits, and toss a coin about the others."""
    gains = {
        metric: {kind: share(1.0 if place < count else 0.5, place) for place, kind in enumerate(KINDS)}
        for metric, count in noticed.items()
    }
    run = decided_run(gains, {"assay": version, "limit": None} | about)
    run.about["audits"]["checklist"]["options"] |= {"seed": seed}
    return run


def test_a_metric_stands_where_its_right_order_puts_it() -> None:
    known = run_of({"weak": 2, "middle": 10, "strong": 15, "equal": 12})
    (placement,), notes = place(run_of({"mine": 12}), known)
    (standing,) = placement.standings
    assert standing.line.errors is not None
    assert standing.line.errors.value == pytest.approx(100 * (12 + 8 / 2) / 20)
    assert (standing.percentile, standing.metrics) == (
        pytest.approx(100 * 2.5 / 4),
        4,
    )  # equal to one of four
    assert notes == []
    assert not placement.alone
    # Of 8 errors that mine or equal misses, both miss 8; with middle 8 of 10, with strong 5 of 8.
    near = [(neighbour.metric, neighbour.both, neighbour.either) for neighbour in placement.neighbours]
    assert near == [("middle", 8, 10), ("weak", 8, 18)]


def test_what_only_one_metric_notices_is_named() -> None:
    (placement,), _ = place(run_of({"mine": 18}), run_of({"weak": 2, "strong": 15}))
    alone = [slice_.rpartition("/")[2] for _, slice_ in placement.alone]
    assert alone == sorted(KINDS[15:18])


def test_a_metric_is_not_compared_with_itself() -> None:
    (placement,), _ = place(run_of({"weak": 2}), run_of({"weak": 2, "strong": 3}))
    assert [neighbour.metric for neighbour in placement.neighbours] == ["strong"]
    assert placement.standings[0].metrics == 1


def test_blind_spots_are_shared_among_what_either_misses() -> None:
    first = {
        ("a", name): outcome
        for name, outcome in zip("wxyz", ("pass", "fail", "fail", "inconclusive"), strict=True)
    }
    second = {
        ("a", name): outcome for name, outcome in zip("wxyv", ("fail", "fail", "pass", "fail"), strict=True)
    }
    near = blind_together(first, second, "other")
    assert (near.metric, near.both, near.either) == ("other", 1, 3)  # v and z were asked of one metric only


def test_other_options_are_not_compared() -> None:
    with pytest.raises(SpecError, match=r"seed 0 and 7.*--size quick"):
        place(run_of({"mine": 3}, seed="7"), run_of({"weak": 2}))


def test_objections_name_everything_that_stands_in_the_way() -> None:
    known = run_of({"weak": 2})
    assert objections(compared_run({"mine": 3}), known) == []
    assert objections(compared_run({"mine": 3}, version="1.dev0"), known) == []
    reasons = objections(run_of({"weak": 3}, seed="7", version="2"), known)
    assert reasons == [
        "made by assay 2, the atlas by 1",
        "checklist: seed 0 and 7",
        "weak is in the atlas already",
        "the audit memorised was not run: nobody can tell whether it knows the embedded texts",
    ]
    suspect = compared_run({"mine": 3}, gain=40.0)
    assert objections(suspect, known) == ["mine does not pass the audit memorised"]


def compared_run(noticed: dict[str, int], *, gain: float = 0.0, **about: Any) -> Run:
    """The same run with the audit that compares embedded with fresh texts."""
    run, audit = run_of(noticed, **about), Memorised()
    estimate = Estimate(gain, 60, (gain - 3, gain + 3))
    found = [Finding.of(metric, "all", "embedded_gain", estimate) for metric in noticed]
    rows = findings_frame(settle(audit, Judgement(found)))
    run.about["audits"][audit.name] = describe(audit)
    return replace(run, findings=pl.concat([run.findings, rows]))


def test_merging_keeps_every_metric_and_the_first_description_of_an_audit() -> None:
    together = merged([run_of({"weak": 2}), run_of({"mine": 3}, seed="7")])
    assert together.metrics == ["weak", "mine"]
    assert together.about["audits"]["checklist"]["options"]["seed"] == "0"
    assert together.findings.height == 2 * len(KINDS)
    assert decisions_of(together).metrics == ("weak", "mine")


def test_stored_numbers_have_four_digits() -> None:
    run = run_of({"mine": 1})
    changed = run.findings.with_columns(value=pl.lit(1.234567))
    assert set(condensed(Run(changed, run.cases, run.scores, about=run.about))["value"]) == {1.235}


def test_packed_decisions_are_the_decisions() -> None:
    run = run_of({"weak": 2, "strong": 15})
    before, after = decisions_of(run), unpacked(packed(run))
    assert after.metrics == before.metrics
    assert after.frame.select(before.metrics).equals(before.frame.select(before.metrics))
    assert before.frame.height == len(KINDS) * ITEMS


def test_the_shipped_atlas_is_whole_and_small() -> None:
    known, folder = load_atlas(), Path(shipped.__file__).parents[1] / "data" / "atlas"
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 4_000_000
    assert {path.stem for path in folder.glob("*.parquet")} == set(FILES)
    assert set(known.findings["metric"]) <= set(known.metrics)
    assert len(known.metrics) >= 30
    for about in known.about["metrics"].values():
        assert about["signature"]
        assert about["command"].startswith("assay ")
    for name in ("numpy", "scipy", "spacy"):
        assert known.about["packages"][name]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What docs/make_atlas.py defines."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return runpy.run_path(str(ROOT / "docs" / "make_atlas.py"))


def test_the_page_is_up_to_date(site: dict[str, Any]) -> None:
    assert (ROOT / "docs" / "atlas.md").read_text("utf-8") == site["page"]()
    pages = site["site_pages"]()
    assert len([path for path in pages if path.startswith("atlas/metrics/")]) == len(load_atlas().metrics)


def test_the_command_prints_rankings_and_placements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner()
    printed = runner.invoke(app, ["atlas", "--task", "summarisation"])
    assert printed.exit_code == 0, printed.output
    assert "bertscore-f [minilm]" in printed.stdout
    assert "texts/s" in printed.stdout
    ranked = json.loads(runner.invoke(app, ["atlas", "--json"]).stdout)
    assert ranked["task"] == "all tasks"
    assert ranked["metrics"][0]["errors"]
    unknown = runner.invoke(app, ["atlas", "--task", "poetry"])
    assert "has no task 'poetry'" in str(unknown.exception)
    folder = compared_run({"mine": 18}).save(tmp_path / "mine").folder
    monkeypatch.setattr("assay.cli.atlas.load_atlas", lambda: run_of({"weak": 2, "strong": 15}))
    checked = runner.invoke(app, ["atlas", "--check", str(folder)])
    assert checked.exit_code == 0, checked.output
    assert "can be added to the atlas" in checked.stdout
    taken = run_of({"weak": 18}).save(tmp_path / "taken").folder
    refused = runner.invoke(app, ["atlas", "--check", str(taken)])
    assert refused.exit_code == 1
    assert "weak is in the atlas already" in refused.stderr


def test_options_of_the_atlas_are_those_of_the_command_line() -> None:
    assert options_of(run_of({"weak": 2})) == "--size quick"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench import atlas

    return atlas


def test_a_group_says_how_it_is_run(bench: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "groups.toml"
    path.write_text(
        'size = "quick"\nlimit = 9\n[[groups]]\nname = "a"\nmetrics = ["bleu"]\n'
        '[[groups]]\nname = "b"\nlimit = 3\nmetrics = ["x=clipscore:model={work}/m"]\n'
        'command = ["run", "caption"]\noptions = ["--scenes", "2"]\n'
    )
    plain, own = bench.read_groups(path)
    assert plain.words(Path("w")) == ["audit", "-m", "bleu", "--size", "quick", "--limit", "9"]
    metric = ["-m", "x=clipscore:model=w/m"]
    limits = ["--size", "quick", "--limit", "3", "--scenes", "2"]
    assert own.words(Path("w")) == ["run", "caption", *metric, *limits]
    path.write_text('size = "quick"\nlimit = 9\n[[groups]]\nname = "a"\nmetrics = []\nlimits = 3\n')
    with pytest.raises(SystemExit, match="the group a has unknown keys: limits"):
        bench.read_groups(path)


def test_every_group_of_the_atlas_can_be_read(bench: ModuleType) -> None:
    groups = bench.read_groups(ROOT / "bench" / "atlas.toml")
    labels = [bench.parse_spec(spec).label for group in groups for spec in group.metrics]
    assert len(set(labels)) == len(labels)
    assert len({group.name for group in groups}) == len(groups)
    assert groups[0].command == ("audit",)


def test_a_finished_group_is_not_run_again(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Sequence[str]] = []
    run = subprocess.run

    def counted(words: Sequence[str], **options: Any) -> Any:
        calls.append(words)
        return run([*words, "--cache", "none", "--quiet"], **options)

    monkeypatch.setattr(bench.subprocess, "run", counted)
    monkeypatch.setattr(bench, "CONTRIBUTED", tmp_path / "contributed")
    only = ("--only", "copy-source")
    group = bench.Group("small", ("bleu", "mine=chrf"), "quick", 2, options=only, timed=2)
    folder = tmp_path / "small"
    assert bench.finished_runs([group], tmp_path) == []
    bench.measure(group, tmp_path)
    # The words that this test adds are recorded too: the rest is the command of the group.
    about = json.loads((folder / "run.json").read_text())
    about["command"] = about["command"].removesuffix(" --cache none --quiet")
    (folder / "run.json").write_text(json.dumps(about))
    bench.measure(group, tmp_path)
    assert len(calls) == 1
    runs = bench.finished_runs([group], tmp_path)
    bench.pack(runs, [group], tmp_path, tmp_path / "atlas", bench.people_table(None, [], tmp_path))
    packed = json.loads((tmp_path / "atlas" / "run.json").read_text())
    expected = "assay audit -m mine=chrf --size quick --limit 2 --only copy-source"
    assert packed["metrics"]["mine"]["command"] == expected
    assert packed["computed"] == {"bleu": 2, "mine": 2}
    bench.measure(replace(group, limit=3), tmp_path)
    assert len(calls) == 2


def test_contributed_runs_keep_their_command_and_their_pace(bench: ModuleType, tmp_path: Path) -> None:
    group = bench.Group("a", ("bleu",), "quick", 150, timed=0)
    cost = {"seconds": {"scoring": {"mine": 4.0}}, "computed": {"mine": 100}}
    details = dict.fromkeys(("python", "packages", "weights", "machine"), "")
    details["command"] = "assay audit -m mine"
    both = run_of({"bleu": 2}), run_of({"mine": 3})
    own, sent = (replace(run, about=run.about | cost | details) for run in both)
    runs = [(group, own), (None, sent)]
    about = bench.about_of(runs, [group], tmp_path)
    assert about["metrics"]["mine"] == {"signature": "mine", "command": "assay audit -m mine"}
    assert bench.paces(runs, tmp_path) == ({"mine": 4.0}, {"mine": 100})
