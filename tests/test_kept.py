"""Cases kept between runs: equal to those made anew, remade when anything changes, never a user's texts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from assay.api.pipeline import run
from assay.audits.checklist.audit import Checklist
from assay.audits.stress.audit import Stress
from assay.audits.swap.audit import Swap
from assay.core import Case, Judgement, MadeOnce, Sample, Scored
from assay.engine import kept
from assay.engine.cache import ScoreCache
from assay.engine.kept import cases_of
from assay.engine.session import Session

SMALL: dict[str, MadeOnce] = {
    "checklist": Checklist(task=("translation",), limit=3),
    "stress": Stress(task=("translation",), limit=3, seeds=1, depth="ends"),
    "swap": Swap(limit=6),
}


def again(audit: MadeOnce) -> MadeOnce:
    """An equal audit that has made nothing yet."""
    return type(audit)(**{each.name: getattr(audit, each.name) for each in fields(audit)})  # type: ignore[arg-type]


def forbid(monkeypatch: pytest.MonkeyPatch, audit: MadeOnce) -> None:
    def fail(self: MadeOnce) -> None:
        raise AssertionError("cases were made again")

    monkeypatch.setattr(type(audit), "make_cases", fail)


@pytest.mark.parametrize("name", SMALL)
def test_what_is_kept_is_what_was_made(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = again(SMALL[name])
    made = cases_of(audit, ScoreCache(tmp_path))
    forbid(monkeypatch, audit)
    found = cases_of(again(audit), ScoreCache(tmp_path))
    assert found == made
    assert [[s.id for s in case.samples.values()] for case in found] == [
        [s.id for s in case.samples.values()] for case in made
    ]


def test_a_run_on_kept_cases_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"task": ("translation",), "limit": 12, "seeds": 1, "depth": "ends", "size": "quick"}
    first = run("stress", ["chrf"], session=Session.open(None, tmp_path), **options)
    forbid(monkeypatch, Stress())
    second = run("stress", ["chrf"], session=Session.open(None, tmp_path), **options)
    assert second.json() == first.json()
    assert second.cases.equals(first.cases)


@pytest.mark.parametrize("change", ["another version", "a damaged row", "other options"])
def test_cases_are_made_again_where_they_may_differ(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = again(SMALL["swap"])
    made = cases_of(audit, ScoreCache(tmp_path))
    if change == "another version":
        monkeypatch.setattr(kept, "_maker", lambda: "other code")
    elif change == "a damaged row":
        with sqlite3.connect(tmp_path / "scores.sqlite") as connection:
            connection.execute("UPDATE scores SET notes = replace(notes, 'a', 'e')")
    other = Swap(limit=5) if change == "other options" else again(audit)
    forbid(monkeypatch, audit)
    with pytest.raises(AssertionError, match="made again"):
        cases_of(other, ScoreCache(tmp_path))
    assert made == audit.made


def test_a_users_texts_are_never_kept(tmp_path: Path) -> None:
    data = tmp_path / "mine.jsonl"
    rows = [
        {"hypothesis": f"His uncle met somebody {n}.", "references": ["Somebody met somebody."]}
        for n in range(4)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    audit = Swap(data=(data,))
    assert not audit.is_own
    run("swap", ["chrf"], data=data, session=Session.open(None, tmp_path / "cache"))
    with sqlite3.connect(tmp_path / "cache" / "scores.sqlite") as connection:
        notes = [text for (text,) in connection.execute("SELECT notes FROM scores")]
    assert notes
    assert not any("uncle" in text for text in notes)


def test_a_masked_model_of_the_users_is_not_the_packages() -> None:
    assert Stress().is_own
    assert not Stress(masked_lm="my-model").is_own


def test_every_file_of_the_package_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "code.py").write_text("a = 1")
    (tmp_path / "data" / "words.txt").write_text("one")
    monkeypatch.setattr(kept.assay, "__file__", str(tmp_path / "__init__.py"))
    makers = []
    for file, text in (("code.py", "a = 2"), ("data/words.txt", "two"), ("data/more.txt", "x")):
        kept._maker.cache_clear()
        makers.append(kept._maker())
        (tmp_path / file).write_text(text)
    kept._maker.cache_clear()
    makers.append(kept._maker())
    kept._maker.cache_clear()
    assert len(set(makers)) == 4


@dataclass(frozen=True)
class Paired(MadeOnce):
    """Puts a pair into `meta`, which JSON would give back as a list."""

    name = "paired"
    question = "robustness"

    def make_cases(self) -> list[Case]:
        return [Case("one", {"text": Sample("a text")}, "slice", {"pair": (1, 2)})]

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        return Judgement()


def test_what_json_cannot_hold_is_not_kept(tmp_path: Path) -> None:
    for _ in range(2):
        (case,) = cases_of(Paired(), ScoreCache(tmp_path))
        assert case.meta == {"pair": (1, 2)}
    with sqlite3.connect(tmp_path / "scores.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM scores").fetchone() == (0,)
