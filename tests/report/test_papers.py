"""What goes into papers, notebooks and READMEs: figures, tables, BibTeX, badges, and the methods of a run."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import polars as pl
import pytest

import assay
from assay.api.runs import Run
from assay.errors import SpecError
from assay.reading.signature import cited, signature_of
from assay.reading.verdicts import rows_of
from assay.report.card import as_badge, as_shields, make_card
from assay.report.cite import bibtex
from assay.report.figures import figure_of, figures, write_figures
from assay.report.plain import latex


def test_figures_are_written_for_print(planted: Run, tmp_path) -> None:
    paths = write_figures(planted, tmp_path / "figures")
    names = {path.name for path in paths}
    assert {f"stereotype.{kind}" for kind in ("svg", "pdf", "png")} <= names
    assert all(path.stat().st_size > 500 for path in paths)
    assert (tmp_path / "figures" / "stress.pdf").read_bytes().startswith(b"%PDF")
    assert "keen" in (tmp_path / "figures" / "stress.svg").read_text()
    assert "not judged" in (tmp_path / "figures" / "stereotype.svg").read_text()
    captions = (tmp_path / "figures" / "figures.tex").read_text()
    assert r"\includegraphics[width=\linewidth]{stereotype.pdf}" in captions
    assert "Stereotype pairs. bias by attribute: Mean score difference within a pair." in captions
    assert captions.count(r"\label{fig:") == captions.count(r"\caption{") == len(figures(planted))


def test_a_figure_has_a_panel_per_slice(planted: Run) -> None:
    panels = [view["title"] for row in figure_of(planted, "stress").spec["vconcat"] for view in row["concat"]]
    assert {"truncation", "negation", "jumble"} <= set(panels)
    with pytest.raises(SpecError, match="no chart of 'stres'; did you mean stress"):
        figure_of(planted, "stres")


def test_a_figure_is_saved_by_its_ending(planted: Run, tmp_path) -> None:
    figure = planted.plot("stereotype")
    assert figure.save(str(tmp_path / "bias.png")).read_bytes().startswith(b"\x89PNG")
    assert figure._repr_svg_().startswith("<svg")
    with pytest.raises(SpecError, match=r"written as .svg, .pdf, .png"):
        figure.save("bias.gif")


def test_latex_tables_have_captions_labels_and_every_number(planted: Run) -> None:
    text = latex(planted)
    assert text.count(r"\caption{") == text.count(r"\label{tab:assay-") == text.count(r"\toprule") == 2
    row = next(line for line in text.splitlines() if line.startswith("soft & stereotype & gender & excess"))
    assert row == r"soft & stereotype & gender & excess\_bias & 20 & 19 to 21 & 40 &  & FAIL \\"
    row = next(line for line in text.splitlines() if line.startswith("soft & association"))
    assert row.endswith(r"1.2 & 0.9 to 1.5 & 16 & 0.004 & FAIL \\")
    assert "size quick, audits: stereotype" in text


def test_verdicts_summary_and_html_of_a_run(planted: Run) -> None:
    verdicts = planted.verdicts
    assert isinstance(verdicts, pl.DataFrame)
    assert set(verdicts["verdict"]) <= {"pass", "fail", "inconclusive"}
    assert verdicts["verdict"][0] == "fail"
    assert verdicts.height == planted.findings.filter(pl.col("verdict") != "not judged").height
    summary = planted.summary()
    assert "| metric | unfair to (in lost words, + above others, - below them) |" in summary
    assert "- soft scores sentences that differ only in gender apart by 20 points." in summary
    html = planted._repr_html_()
    assert re.search(r"<td>soft</td><td>[^<]*gender", html.replace("&quot;", ""))
    hostile = planted.about["metrics"] | {"<b>": {}}
    assert "<td><b>" not in replace(planted, about={**planted.about, "metrics": hostile})._repr_html_()


def test_a_run_is_written_by_ending_and_read_by_text(planted: Run, tmp_path) -> None:
    starts = {
        "html": "<!doctype html>",
        "md": "translation: too few planted errors",
        "tex": "% needs",
        "json": "{",
    }
    for ending, start in starts.items():
        path = planted.report(str(tmp_path / f"page.{ending}"))
        assert path.read_text().lower().startswith(start)
    with pytest.raises(SpecError, match=r"one of \.html"):
        planted.report("page.doc")
    saved = planted.save(str(tmp_path / "again"))
    assert assay.load_run(str(tmp_path / "again")).findings.equals(saved.findings)


def test_pandas_is_asked_for_when_it_is_used(planted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(planted.to_pandas()["metric"]) == planted.findings["metric"].to_list()
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SpecError, match="pip install pandas"):
        planted.to_pandas()


def test_compare_takes_folders_and_refuses_runs_without_anything_in_common(planted: Run, tmp_path) -> None:
    planted.save(tmp_path / "one")
    comparison = assay.compare(str(tmp_path / "one"), planted)
    assert {change.direction for change in comparison.shared} <= {"unchanged", "not compared"}
    other = replace(planted, findings=planted.findings.with_columns(metric=pl.lit("other")))
    with pytest.raises(SpecError, match="the runs share no metric: keen, plain, soft and other"):
        assay.compare(planted, other)


@pytest.mark.parametrize(
    ("metric", "message", "colour"),
    [("soft", "unfair", "#c8102e"), ("keen", "no unfairness found", "#1a7f5a")],
)
def test_badges(metric: str, message: str, colour: str, planted: Run) -> None:
    planted = replace(planted, findings=planted.findings.filter(pl.col("audit") == "stereotype"))
    known = json.loads(as_shields(make_card(planted, metric)))
    assert known == {"schemaVersion": 1, "label": metric, "message": message, "color": colour}
    picture = ElementTree.fromstring(as_badge(make_card(planted, metric)))
    assert picture.get("aria-label") == f"{metric}: {message}"
    assert colour in as_badge(make_card(planted, metric))


def test_citations_become_bibtex(planted: Run) -> None:
    metrics = {
        "bleu": {"citation": "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation, P02-1040"},
        "bleu-2": {"citation": "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation, P02-1040"},
        "cider": {"citation": "Vedantam et al. 2015, CIDEr: Consensus & more, arXiv:1411.5726"},
        "bs": {"citation": "Zhang et al. 2020, BERTScore: cheaper, lighter and faster, ICLR"},
        "two": {"citation": "Rei et al. 2020, COMET, EMNLP; Guerreiro et al. 2024, xCOMET: errors, TACL"},
        "none": {},
    }
    about = {**planted.about, "metrics": metrics, "data": {"/home/x/rated.csv": "abc"}}
    text = bibtex(replace(planted, about=about))
    entries = re.findall(r"^@(\w+)\{([\w-]+),$", text, re.M)
    assert len(entries) == len(set(entries)) == 1 + 3 + 5 + 1
    assert ("software", "assay") in entries
    assert ("misc", "papineni2002bleu") in entries
    assert "% for bleu, bleu-2\n" in text
    assert "  author = {Papineni and others},\n" in text
    assert "url = {https://aclanthology.org/P02-1040}" in text
    assert "eprint = {1411.5726}" in text
    assert "title = {{BERTScore: cheaper, lighter and faster}}" in text
    assert "booktitle = {ICLR}" in text
    assert "Sun, Tianxiang and He, Junliang" in text
    assert "/home/x" not in text


def test_every_citation_of_a_metric_can_be_read() -> None:
    from assay.names.registry import audit_class, load_class, names

    citations = {load_class(where).citation for where, _ in names("metrics").values()}
    stub = pl.DataFrame()
    about = {
        "audits": {name: {} for name in names("audits")},
        "metrics": {c: {"citation": c} for c in citations},
    }
    text = bibtex(Run(stub, stub, stub, (), about))
    assert len(re.findall("^@", text, re.M)) > 50
    without_year = [entry for entry in text.split("\n\n") if "year" not in entry]
    assert [re.findall(r"@\w+\{([\w-]+)", entry)[0] for entry in without_year if entry.strip()] == [
        "assay", "as-in-liu-et-al-2016-d16-1230",
    ]  # fmt: skip
    assert all(audit_class(name) for name in names("audits"))
    assert all(f"{name}" in text for name in names("audits"))


def test_a_finding_is_cited_with_its_signature(planted: Run) -> None:
    lines = cited(planted)
    assert any("scores sentences that differ only in gender apart by 20 points" in line for line in lines)
    (line,) = [line for line in cited(planted, "gender") if "soft" in line and "excess_bias" in line]
    for part in ("audit:stereotype[quick]", "of:gender", "data:", "coverage:", "seed:0", "assay:0.1.0"):
        assert part in line
    assert "95% CI 19 to 21, n = 40" in line
    passed = planted.findings.filter(pl.col("verdict") == "pass")
    assert cited(replace(planted, findings=passed))  # what nobody fails is cited too
    assert "\n" not in line


def test_another_text_seed_weight_or_version_is_another_signature(planted: Run) -> None:
    (row,) = [row for row in rows_of(planted) if row["metric"] == "soft" and row["slice"] == "weat6"]
    about = planted.about
    metrics = about["metrics"] | {"soft": about["metrics"]["soft"] | {"signature": "soft|sha256:1"}}
    audits = about["audits"] | {"association": about["audits"]["association"] | {"options": {"seed": "1"}}}
    case = planted.cases.head(1).with_columns(pl.lit("association").alias("audit"))
    others = [
        replace(planted, about={**about, "assay": "9.9.9"}),
        replace(planted, about={**about, "metrics": metrics}),
        replace(planted, about={**about, "audits": audits}),
        replace(planted, about={**about, "size": "full"}),
        replace(planted, cases=pl.concat([planted.cases, case])),
    ]
    signatures = {signature_of(run, row) for run in (planted, planted, *others)}
    assert len(signatures) == 1 + len(others)
