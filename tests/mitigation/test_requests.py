"""What debias and mitigate refuse, they refuse before a model is loaded, and leave no folder behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.engine.session import Session
from assay.errors import AuditError, CacheError, DataError, SpecError, WeightsError
from assay.mitigation import train as module
from assay.mitigation.data import read_material
from assay.mitigation.methods import methods
from assay.mitigation.train import FEWEST_REQUESTS, Job, check_enough, debias
from assay.models.adapters import read_card
from assay.reading.results import check_writable


def pairs(path: Path, count: int, word: str = "big") -> Path:
    rows = [
        {"attribute": "shoe-size", "stereotype": f"He is {word}, {n}.", "anti_stereotype": f"He is small, {n}.",
         "reference": f"He is, {n}."}
        for n in range(count)
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job whose model and embedded pairs must not be touched."""

    def touched(*given: object) -> None:
        raise AssertionError("worked before it refused")

    monkeypatch.setattr(module.Differentiable, "load_copy", touched)
    monkeypatch.setattr("assay.mitigation.data.ordinary_pairs", touched)
    return Job("bertscore-f", ("shoe-size",), tmp_path / "deep" / "out")


def refused(job: Job, kind: type[AuditError], message: str, **fields: object) -> None:
    changed = {name: getattr(job, name) for name in Job.__slots__} | fields
    with pytest.raises(kind, match=message):
        debias(Job(**changed), Session.open(cache=None))
    assert not job.out.parent.exists()


def test_names_and_files_are_checked_first(
    asked: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked = "worked before it refused"
    monkeypatch.setattr("assay.mitigation.data.counterfactuals", lambda *given: pytest.fail(worked))
    nope, own = (tmp_path / "nope.jsonl",), (pairs(tmp_path / "own.jsonl", 3),)
    refused(asked, DataError, "'gendr'; did you mean gender", attributes=("gendr",))
    refused(
        asked, DataError, r"'gendr'; did you mean.*own.jsonl has no pair", attributes=("gendr",), data=own
    )
    refused(asked, DataError, "cannot read .*nope.jsonl", attributes=("gender",), data=nope)
    refused(asked, DataError, "cannot read .*nope.jsonl", attributes=("gender",), test=nope)
    refused(asked, DataError, "cannot read .*nope.jsonl", attributes=("gender",), human=nope)
    refused(asked, SpecError, "bleu has no backbone", spec="bleu", attributes=("gender",))


def test_files_in_the_run_folder_are_not_written_over(asked: Job, tmp_path: Path) -> None:
    (tmp_path / "mine" / "run").mkdir(parents=True)
    (tmp_path / "mine" / "run" / "notes.txt").write_text("keep me")
    refused(asked, CacheError, "'notes.txt' and no run.json", attributes=("gender",), out=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").rglob("*")] == ["run", "notes.txt"]
    assert (tmp_path / "mine" / "run" / "notes.txt").read_text() == "keep me"


def test_what_was_given_is_counted(asked: Job, tmp_path: Path) -> None:
    one, more = pairs(tmp_path / "one.jsonl", 1), pairs(tmp_path / "more.jsonl", 300)
    few = (
        "pairs to train on, 100 are the fewest; --data gave 1, .*more pairs of shoe-size: sentences help only"
    )
    refused(asked, DataError, few, data=(one,))
    refused(asked, DataError, few, data=(one,), test=(pairs(tmp_path / "test.jsonl", 1, "tall"),))
    refused(asked, SpecError, "nothing to prove shoe-size on: give other pairs", data=(more,))


def test_the_fewest_pairs_are_enough() -> None:
    job = Job("bertscore-f", ("gender",), Path("out"))
    check_enough(job, [], FEWEST_REQUESTS, {"a": []})
    with pytest.raises(DataError, match=r"99 counterfactual pairs .*add pairs or sentences"):
        check_enough(job, [], FEWEST_REQUESTS - 1, {"a": []})


def test_a_file_of_another_kind_is_told_what_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "ratings.jsonl"
    file.write_text("\n")
    with pytest.raises(DataError, match=r"is empty; give pairs .columns stereotype, anti_stereotype"):
        read_material(file, ("gender",))
    file.write_text(json.dumps({"id": "a", "hypothesis": "He left.", "human": 1}))
    with pytest.raises(DataError, match="has the columns id, hypothesis, human; give pairs"):
        read_material(file, ("gender",))
    plain = tmp_path / "plain.txt"
    plain.write_text("He left.\n")
    with pytest.raises(DataError, match=r"sentences help only .*gender.*; give pairs of shoe-size"):
        read_material(plain, ("shoe-size",))


def test_an_adapter_is_looked_at_before_anything_is_scored(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="is not an adapter's folder"):
        methods("no-such-metric", folders=[tmp_path], session=Session())
    card = {"model": "m", "metric": "m", "attributes": [], "bottleneck": 1, "places": 1, "fingerprint": []}
    (tmp_path / "card.json").write_text(json.dumps(card))
    with pytest.raises(WeightsError, match=r"has no adapter\.safetensors"):
        read_card(tmp_path)


def test_looking_at_a_folder_leaves_it_as_it_was(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "deep")
    check_writable(tmp_path)
    assert list(tmp_path.iterdir()) == []
