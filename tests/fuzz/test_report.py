"""A run with any content is shown, never run: each page parses, and no text of it becomes markup."""

from __future__ import annotations

import json
import math
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import get_args

import numpy as np
import pyarrow.parquet as pq
import pytest
from mutations import NASTY_TEXTS, mutate

from assay.api.runs import Run, load_run
from assay.core import Case, Explanation, Finding, Sample, Scored
from assay.errors import AuditError
from assay.reading.compare import compare
from assay.reading.results import Explained, cases_frame, findings_frame, scores_frame
from assay.report import render
from assay.report.card import as_badge, as_markdown, as_shields, make_card
from assay.vocabulary import Verdict

SOAK = bool(os.environ.get("ASSAY_SOAK"))
PAGES, FOLDERS = (100_000, 20_000) if SOAK else (400, 600)
AUDITS = ("stereotype", "swap", "caption", "stress", "human", "of a plug-in")
STATISTICS = ("bias", "excess_bias", "effect_size", "score", "noise_ratio", "sensitivity", "pearson")
SIDES = ("high", "low", "far", None)
NUMBERS = (0.0, -0.0, 1.0, -1e308, 1e308, 5e-324, math.nan, math.inf, -math.inf, 0.1, 3.0)
BREAKOUT = "</script><script>planted()</script><img src=x onerror=planted()>"


def _text(rng: Random) -> str:
    """As it may come out of a frame: no lone surrogates, which Parquet cannot hold."""
    text = rng.choice((*NASTY_TEXTS, BREAKOUT, "plain"))
    return text.encode("utf-8", "replace").decode()


def _slice(rng: Random) -> str:
    return "/".join(_text(rng) or "x" for _ in range(rng.randint(1, 4)))


def _number(rng: Random) -> float:
    return rng.choice(NUMBERS) if rng.random() < 0.5 else rng.gauss(0, 10)


def _finding(rng: Random, metrics: list[str], ids: list[str]) -> Finding:
    maybe = lambda value: value if rng.random() < 0.5 else None  # noqa: E731
    return Finding(
        rng.choice(metrics), rng.choice(AUDITS), _slice(rng), rng.choice(STATISTICS), _number(rng), rng.randint(0, 99),
        versus=maybe(rng.choice((_text(rng), *metrics))), ci=maybe((_number(rng), _number(rng))),
        p_value=maybe(abs(_number(rng))), q_value=maybe(abs(_number(rng))), settles=maybe(rng.randint(0, 9999)),
        verdict=rng.choice(get_args(Verdict)), sentence=_text(rng),
        evidence=tuple(rng.sample(ids, rng.randint(0, len(ids)))),
    )  # fmt: skip


def _audit(rng: Random) -> dict[str, object]:
    """What an audit declared, with any text and number; some declare nothing."""
    if rng.random() < 0.2:
        return {"question": "fairness", _text(rng): _text(rng)}
    statistics = [
        {
            "name": name, "meaning": _text(rng), "unit": _text(rng), "bad": rng.choice(SIDES), "margin": _number(rng),
            "centre": _number(rng), "headline": rng.random() < 0.5, "within": "",
        }
        for name in STATISTICS
    ]  # fmt: skip
    charts = [
        {
            "kind": kind, "value": rng.choice(STATISTICS), "title": _text(rng), "x": rng.choice((None, *STATISTICS)),
            "colour": rng.choice((None, *STATISTICS)), "depth": rng.randint(1, 3),
        }
        for kind in ("bars", "curve", "scatter")
        if rng.random() < 0.5
    ]  # fmt: skip
    return {
        "question": "robustness", "title": _text(rng), "options": {_text(rng): _text(rng)}, "advice": _text(rng),
        "statistics": statistics, "charts": charts,
    }  # fmt: skip


def made_run(rng: Random) -> Run:
    metrics = list(dict.fromkeys([_text(rng) or "m", "plain"]))
    audit = rng.choice(AUDITS)
    ids = [f"{_text(rng)}{n}" for n in range(3)]
    cases = [
        Case(
            i,
            {"gold": Sample(_text(rng), (_text(rng),), _text(rng)), "stereotype": Sample(_text(rng))},
            _slice(rng),
            {"x": _text(rng)},
        )
        for i in ids
    ]
    scored = [
        Scored(m, cases, {"gold": np.array([0.1, np.nan, 2.0]), "stereotype": np.zeros(3)}) for m in metrics
    ]
    reason = Explanation("matching", (_text(rng),), (_text(rng),), ((0.5,),))
    about = {
        "assay": "0.3.0", "python": "3", "packages": {}, "size": "quick",
        "metrics": {m: {"paradigm": _text(rng), "backbone": None, "signature": _text(rng)} for m in metrics},
        "audits": {name: _audit(rng) for name in AUDITS},
        "seconds": {"scoring": {}}, "computed": {}, "notes": [f"{audit}: {_text(rng)}", _text(rng)],
    }  # fmt: skip
    found = [_finding(rng, metrics, ids) for _ in range(rng.randint(0, 6))]
    explained = [Explained(metrics[0], audit, ids[0], "gold", reason)]
    return Run(
        findings_frame(found), cases_frame({audit: cases}), scores_frame({audit: scored}), explained, about
    )


class Page(HTMLParser):
    """Collects what would run, and the names of metrics that are shown."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts = 0
        self.active: list[str] = []
        self.metrics: set[str | None] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.metrics |= {value for name, value in attributes if name == "data-metric"}
        self.active += [name for name, _ in attributes if name.startswith("on")]
        self.active += [
            tag for name, value in attributes if name in ("src", "href") and "script:" in (value or "")
        ]
        if tag in ("iframe", "object", "embed", "base"):
            self.active.append(tag)


def test_texts_stay_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.report.page.vega", lambda: "0;")  # a megabyte that no text can alter
    rng = Random(3)
    usual = Page()
    usual.feed(
        render(
            Run(findings_frame([]), cases_frame({}), scores_frame({}), (), {"notes": []} | _about()), "html"
        )
    )
    for number in range(PAGES):
        run = made_run(rng)
        shown = _checked(render(run, "html"), usual.scripts)
        assert shown.metrics >= set(run.metrics), "a name is not shown as it was written"
        if number % 10 == 0:
            assert run.document().items() <= json.loads(render(run, "json")).items()
            assert not re.search("<(script|img)", render(run, "md"))
            card = make_card(run, run.metrics[0])
            assert not re.search("<(script|img)", as_markdown(card).partition("## Signature")[0])
            assert "<script" not in as_badge(card)
            assert json.loads(as_shields(card))["label"] == card.metric
            assert compare(run, run).of("worse") == []
            lines = run.findings.height + len(run.metrics) + 4  # two tables with a caption and a heading each
            assert render(run, "latex").count(r"\\") == lines, "a text ended a row"


def _about() -> dict[str, object]:
    return {
        "assay": "0.3.0",
        "python": "3",
        "packages": {},
        "size": "quick",
        "metrics": {},
        "audits": {},
        "seconds": {"scoring": {}},
        "computed": {},
    }


def _checked(text: str, scripts: int) -> Page:
    page = Page()
    page.feed(text)
    assert page.scripts <= scripts + 1, (
        "a text became a script"
    )  # the charts' library, where there is a chart
    assert page.active == [], "a text became active markup"
    assert not re.search(r"<img src=x", text)
    return page


def test_a_damaged_run_folder_is_refused(tmp_path: Path) -> None:
    rng = Random(5)
    made_run(rng).save(tmp_path)
    names = ("run.json", "findings.parquet", "cases.parquet", "scores.parquet", "explanations.jsonl")
    whole = {name: (tmp_path / name).read_bytes() for name in names}
    refused = 0
    for _ in range(FOLDERS):
        name = rng.choice(names)
        (tmp_path / name).write_bytes(mutate(whole[name], rng))
        try:
            load_run(tmp_path)
        except AuditError:
            refused += 1
        (tmp_path / name).write_bytes(whole[name])
    assert refused


@pytest.mark.parametrize("name", ["findings.parquet", "run.json", "explanations.jsonl"])
def test_a_truncated_file_is_named(name: str, tmp_path: Path) -> None:
    made_run(Random(6)).save(tmp_path)
    body = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(body[: len(body) // 2])
    with pytest.raises(AuditError, match=f"{name} is damaged: .*; run the audit again"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("run.json", "{}", "it has no 'assay'"),
        ("run.json", '{"schema": 99}', "it has no 'assay'"),
        ("run.json", "[]", "it is not that of a run"),
        ("run.json", '{"assay": "0.3.0", "metrics": [], "audits": {}, "notes": []}', "its 'metrics' is not"),
        (
            "run.json",
            '{"assay": "0.3.0", "metrics": {}, "audits": {}, "notes": [1]}',
            "its notes are not texts",
        ),
        ("run.json", "", "Expecting value"),
        ("explanations.jsonl", "{}", "it has no 'explanation'"),
    ],
)
def test_a_file_that_is_not_of_a_run_is_named(name: str, text: str, problem: str, tmp_path: Path) -> None:
    made_run(Random(6)).save(tmp_path)
    without_digests(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(AuditError, match=f"{name} is damaged: {problem}"):
        load_run(tmp_path)


def without_digests(folder: Path) -> None:
    """Whoever changes a file can change the digests in run.json, too."""
    about = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({key: about[key] for key in about if key != "files"}))


def test_damaged_metadata_of_a_table_are_not_read(tmp_path: Path) -> None:
    """Polars panics where they are no text; the columns are whole."""
    made = made_run(Random(7))
    made.save(tmp_path)
    path = tmp_path / "scores.parquet"
    table = pq.read_table(path).replace_schema_metadata({b"\x81": b"\x82"})
    pq.write_table(table, path)
    with pytest.raises(AuditError, match="not the file that this run saved"):
        load_run(tmp_path)
    without_digests(tmp_path)
    assert load_run(tmp_path).scores.equals(made.scores)
