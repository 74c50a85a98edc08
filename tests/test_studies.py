"""Studies: tables with the paper's figures beside ours, claims judged by declared rules, the page on a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.engine.session import Session
from assay.errors import DataError, SpecError
from assay.files import toml_file
from assay.names.registry import audit_class
from assay.names.spec import measure
from assay.papers.cells import MEAN, Reading, score_runs
from assay.papers.claims import blind_spot_catalogue, check_claim, judge
from assay.papers.recipes import PAPERS, axes, find_recipe
from assay.papers.study import CAREFUL, study
from assay.papers.tables import CellPlace, Table, as_page, fill_table
from assay.report import write_report

STUDIES = {paper: toml_file("studies", paper) for paper in PAPERS}
TABLES = [(paper, table) for paper, plan in STUDIES.items() for table in plan["table"]]


def planted(**figures: dict[str, Reading]) -> Table:
    """A table of two places with these figures by metric."""
    places = tuple(CellPlace(label, "run", label, "bias") for label in ("left", "right"))
    return Table({"id": "t", "where": "Table 0"}, places, figures)


def claim(**rule: Any) -> dict[str, Any]:
    return {"text": "planted", "where": "nowhere", "table": "t", **rule}


SURE = Reading(5.0, 4.0, 6.0, 100)
NEAR = Reading(0.5, -0.5, 1.5, 100)
LOW = Reading(-3.0, -4.0, -2.0, 100)


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ({"places": "left"}, "holds"),
        ({"places": "left", "sign": "<"}, "does not hold here"),
        ({"places": "right"}, "cannot tell"),
        ({"places": "right", "exact": True}, "holds"),
        ({"metrics": "bare"}, "cannot tell"),  # a figure without an interval
        ({"metrics": "bare", "exact": True}, "holds"),
        ({}, "cannot tell"),  # every place, and one is open
        ({"share": "some"}, "holds"),
        ({"share": "none"}, "does not hold here"),
        ({"bound": 7}, "does not hold here"),
        ({"places": "left", "at_place": "right", "bound": 2}, "holds"),
        ({"places": "left", "at_place": "right", "bound": 4}, "cannot tell"),
        ({"metrics": "regression"}, "cannot tell"),
    ],
)
def test_a_claim_is_judged_by_intervals(rule: dict[str, Any], answer: str) -> None:
    table = planted(model={"left": SURE, "right": NEAR})
    if rule.get("metrics") == "bare":
        table = planted(bare={"left": Reading(5.0, n=100)})
    assert judge(claim(**rule), {"t": table}, {"model": "matching"})["answer"] == answer


def test_metrics_are_compared_with_the_mean_of_others() -> None:
    """5 less the mean of 0.5 and -3 is 6.25, whose interval adds up both."""
    table = planted(model={"left": SURE}, one={"left": NEAR}, two={"left": LOW})
    paradigms = {"model": "matching", "one": "n-gram", "two": "n-gram"}
    judged = judge(claim(metrics="matching", than="n-gram"), {"t": table}, paradigms)
    assert judged["answer"] == "holds"
    assert judged["number"] == "model, left 6.25 [4.84, 7.66]"


def test_the_rule_is_told_with_its_places_and_its_bound() -> None:
    rule = claim(metrics="m*", places="left", at_place="right", bound=-0.3, sign="<", **{"except": "mx"})
    said = "t: every figure of m* (not mx) at left lies surely below that at right less 0.3"
    assert judge(rule, {"t": planted()}, {})["rule"] == said
    margin = claim(places="left", within=0.2, share=0.9)
    said = "t: at least 90% of the figures of all metrics at left lie surely within 0.2 of 0"
    assert judge(margin, {"t": planted()}, {})["rule"] == said


def test_an_open_claim_says_how_many_items_would_tell() -> None:
    """Half a point with an interval of one: four times the items."""
    judged = judge(claim(places="right"), {"t": planted(model={"right": NEAR})}, {})
    assert judged["why"] == "0 of 1 as said, 0 against it, 1 undecided; about 400 items would tell"


def test_stars_count_significance_and_nothing_else() -> None:
    starred, plain = Reading(0.1, p_value=0.001), Reading(9.0, p_value=0.2)
    table = planted(model={"left": starred, "right": plain})
    assert judge(claim(stars=True, places="left"), {"t": table}, {})["answer"] == "holds"
    assert judge(claim(stars=True, places="right"), {"t": table}, {})["answer"] == "does not hold here"
    more = judge(claim(places="left", than_places="right"), {"t": table}, {})
    assert (more["answer"], more["number"]) == ("holds", "model: 100% against 0%, 1")


@pytest.mark.parametrize(
    ("starred", "share", "answer"),
    [(2, 0.5, "holds"), (1, 0.5, "does not hold here"), (1, 0.4, "holds"), (0, 0.4, "does not hold here")],
)
def test_a_share_of_stars_is_compared_with_a_number(starred: int, share: float, answer: str) -> None:
    """One star of two is not more than half of them."""
    figures = [Reading(1.0, p_value=0.001 if number < starred else 0.5) for number in range(2)]
    table = planted(model=dict(zip(("left", "right"), figures, strict=True)))
    assert judge(claim(places=["left", "right"], star_share=share), {"t": table}, {})["answer"] == answer
    assert judge(claim(places="absent", star_share=share), {"t": table}, {})["answer"] == "cannot tell"


CHANGED, UNCHANGED = Reading(-0.2, -0.3, -0.1, 50), Reading(0.1, -0.1, 0.3, 50)


@pytest.mark.parametrize(
    ("figure", "share", "answer"),
    [
        (CHANGED, "every", "holds"),
        (CHANGED, "none", "does not hold here"),
        (UNCHANGED, "every", "does not hold here"),
        (UNCHANGED, "none", "holds"),  # an interval that includes 0 is no significant change
        (Reading(0.0, n=50), "none", "holds"),  # nothing changed at all
        (Reading(0.1, n=50), "none", "cannot tell"),  # no interval
    ],
)
def test_significance_is_read_from_the_interval(figure: Reading, share: str, answer: str) -> None:
    table = planted(model={"left": figure})
    assert judge(claim(significant=True, share=share), {"t": table}, {})["answer"] == answer


@pytest.mark.parametrize(
    ("left", "answer"),
    [
        (Reading(5.1, 5.05, 5.15, 9), "holds"),
        (Reading(4.9, 4.85, 4.95, 9), "holds"),
        (Reading(5.2, 4.8, 5.6, 9), "cannot tell"),
        (Reading(6.0, 5.9, 6.1, 9), "does not hold here"),
        (Reading(4.0, 3.9, 4.1, 9), "does not hold here"),  # a difference the other way is one, too
    ],
)
def test_a_margin_has_two_sides(left: Reading, answer: str) -> None:
    table = planted(model={"left": left, "right": Reading(5.0, 4.95, 5.05, 9)})
    rule = claim(places="left", at_place="right", within=0.3)
    assert judge(rule, {"t": table}, {})["answer"] == answer


@pytest.mark.parametrize(
    ("figure", "answer"),
    [
        (Reading(0.0, -0.004, 0.004, 9), "holds"),
        (Reading(-0.005, -0.02, 0.01, 9), "cannot tell"),
        (Reading(-0.05, -0.06, -0.04, 9), "does not hold here"),
    ],
)
def test_an_unchanged_f_does_not_fall(figure: Reading, answer: str) -> None:
    """The F of *blind* does not fall if it surely keeps within the margin; it need not rise."""
    assert _judged("blind", "BERTScore's F", "bertscore-f", "50% cut", figure) == answer


@pytest.mark.parametrize(
    ("text", "metric", "place", "figure", "answer"),
    [
        ("ROUGE-2 and", "rouge2", "truncation", Reading(0.0, n=9), "holds"),  # no fall at one level
        ("ROUGE-2 and", "rouge2", "truncation", Reading(-0.1, n=9), "does not hold here"),
        ("ROUGE-2 and", "rouge1", "truncation", Reading(0.1, n=9), "cannot tell"),
        ("MAUVE on ELECTRA passes", "mauve:model=electra", "sentence switching", Reading(-0.1), "holds"),
        ("MAUVE on ELECTRA passes", "mauve:model=electra", "sentence switching", Reading(0.1), "does not hold here"),
        ("MAUVE on ELECTRA passes", "mauve:model=gpt2", "sentence switching", Reading(0.1), "cannot tell"),
        ("MAUVE on GPT-2 and", "mauve:model=gpt2", "sentence switching", Reading(0.1), "holds"),
        ("MAUVE on GPT-2 and", "mauve:model=gpt2", "sentence switching", Reading(-0.1), "does not hold here"),
        ("BERTScore's and", "bartscore-r", "difference", SURE, "holds"),
        ("BERTScore's and", "bartscore-r", "difference", LOW, "does not hold here"),
        ("BERTScore's and", "bartscore-r", "difference", NEAR, "cannot tell"),
    ],
)  # fmt: skip
def test_claims_of_blind_ask_whom_they_name(
    text: str, metric: str, place: str, figure: Reading, answer: str
) -> None:
    assert _judged("blind", text, metric, place, figure) == answer


def _judged(paper: str, text: str, metric: str, place: str, figure: Reading) -> str:
    """What is found of the claim of a paper that begins so, if a metric has this figure."""
    rule = next(one for one in STUDIES[paper]["claim"] if one["text"].startswith(text))
    spec = {"id": rule["table"], "where": "Figure"}
    table = Table(spec, (CellPlace(place, "run", "s", "score"),), {metric: {place: figure}})
    return str(judge(rule, {rule["table"]: table}, {})["answer"])


@pytest.mark.parametrize(
    ("encoder", "gpt2", "answer"),
    [(0.5, 0.95, "holds"), (0.8, 0.1, "does not hold here"), (None, 0.1, "cannot tell")],
)
def test_mauve_on_gpt2_is_no_encoder(encoder: float | None, gpt2: float, answer: str) -> None:
    """Only the encoder must lose .3 of .96; what GPT-2 loses is another claim."""
    rule = next(one for one in STUDIES["blind"]["claim"] if one["text"].startswith("MAUVE on an encoder"))
    values = {"mauve:model=roberta-large": encoder, "mauve:model=gpt2-large": gpt2}
    figures = {
        metric: {"Gold": Reading(0.96), "Shuffle-Start": Reading(value)}
        for metric, value in values.items()
        if value is not None
    }
    places = tuple(CellPlace(label, "run", "s", "score") for label in ("Gold", "Shuffle-Start"))
    table = Table({"id": "table 2", "where": "Table 2"}, places, figures)
    assert judge(rule, {"table 2": table}, {})["answer"] == answer


def test_an_adapter_is_compared_with_its_own_metric() -> None:
    """Not with another one that happens to be there."""
    rule = claim(metrics="*adapter=*", than_without="adapter", places="left", sign="<")
    figures = {"a:model=x": {"left": SURE}, "a:adapter=fair,model=x": {"left": LOW}, "b": {"left": LOW}}
    assert judge(rule, {"t": planted(**figures)}, {})["answer"] == "holds"
    swapped = {"a": {"left": LOW}, "a:adapter=fair": {"left": SURE}, "b": {"left": Reading(9.0, 8.9, 9.1)}}
    assert judge(rule, {"t": planted(**swapped)}, {})["answer"] == "does not hold here"
    near = {"a": {"left": SURE}, "a:adapter=fair": {"left": Reading(4.9, 3.9, 5.9, 100)}}
    assert judge(rule, {"t": planted(**near)}, {})["answer"] == "cannot tell"
    alone = planted(**{"a:adapter=fair": {"left": LOW}, "b": {"left": SURE}})
    assert "not measured" in judge(rule, {"t": alone}, {})["why"]


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ({"a": 5.0, "a:model=x": 6.0, "b": 9.0}, "holds"),  # paradigms 3.5 apart, backbones 1
        ({"a": 2.0, "a:model=x": 8.0, "b": 6.0}, "does not hold here"),  # paradigms 1, backbones 6
        ({"a": 5.0, "b": 9.0}, "cannot tell"),  # one backbone each
        ({"a": 5.0, "a:model=x": 6.0}, "cannot tell"),  # one paradigm
    ],
)
def test_paradigms_are_compared_with_backbones(values: dict[str, float], answer: str) -> None:
    table = planted(**{metric: {"left": Reading(value)} for metric, value in values.items()})
    paradigms = {"a": "matching", "a:model=x": "matching", "b": "regression"}
    assert judge(claim(than_backbones=True, places="left"), {"t": table}, paradigms)["answer"] == answer


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (Reading(0.1, 0.0, 0.2, 9), "holds"),  # low on one criterion at least
        (Reading(0.5, 0.4, 0.6, 9), "does not hold here"),
        (Reading(0.3, 0.2, 0.4, 9), "cannot tell"),
    ],
)
def test_a_metric_counts_by_one_place_that_is_as_claimed(right: Reading, answer: str) -> None:
    table = planted(model={"left": Reading(0.6, 0.5, 0.7, 9), "right": right})
    judged = judge(claim(any_place=True, bound=0.3, sign="<"), {"t": table}, {})
    assert judged["answer"] == answer
    assert judged["number"].startswith("model, right")


@pytest.mark.parametrize(
    ("near", "far", "answer"),
    [(3.0, 2.0, "holds"), (1.0, 2.0, "does not hold here"), (2.2, 2.0, "cannot tell")],
)
def test_places_are_compared_together(near: float, far: float, answer: str) -> None:
    """Two blocks near the token against one further away: half widths of .2 and .2 beside .1."""
    places = tuple(CellPlace(label, "run", label, "attention") for label in ("near", "nearer", "far"))
    figures = {
        "near": Reading(near / 2, near / 2 - 0.2, near / 2 + 0.2, 9),
        "far": Reading(far, far - 0.1, far + 0.1),
    }
    table = Table({"id": "t", "where": "Table 0"}, places, {"model": {**figures, "nearer": figures["near"]}})
    rule = claim(places="near*", than_sum=["far"])
    assert judge(rule, {"t": table}, {})["answer"] == answer


def test_a_share_and_an_exception_are_counted() -> None:
    """Nine of ten; METEOR's figure is left out."""
    figures = {f"m{number}": {"left": SURE if number else LOW} for number in range(10)}
    table = planted(**figures, meteor={"left": LOW})
    assert judge(claim(share=0.9, **{"except": "meteor*"}), {"t": table}, {})["answer"] == "holds"
    assert judge(claim(share=0.9), {"t": table}, {})["answer"] == "does not hold here"
    undecided = planted(**figures | {"m1": {"left": NEAR}})
    assert judge(claim(share=0.9), {"t": undecided}, {})["answer"] == "cannot tell"


def _paradigm(spec: str) -> str:
    """The paradigm that the papers give a metric: FrugalScore's is generation."""
    return "generation" if spec.startswith("frugalscore") else measure(spec).metric.paradigm


@pytest.mark.parametrize(
    ("recipe", "name", "at_least"),
    [
        ("assoc:table3", "tables 3 and 8", 4),
        ("assoc:table8", "tables 3 and 8", 2),
        ("assoc:table5", "table 5", 4),
        ("unfair:table6", "table 6", 4),
        ("unfair:table6", "table 6, embedded pairs", 5),
        ("unfair:table9", "table 9", 1),
        ("checklist:figure7b", "figure 7b", 4),
    ],
)
def test_claims_hold_on_the_papers_own_figures(recipe: str, name: str, at_least: int) -> None:
    """A claim that the table of its own paper refutes says more than the paper does."""
    published = find_recipe(recipe)
    line, across = axes(published)
    specs = {
        getattr(cell, line): cell.metric.removeprefix("multeval-").replace("py-rouge-l", "rougeL")
        for cell in published.cells
        if cell.metric and not cell.of
    }
    figures: dict[str, dict[str, Reading]] = {}
    for cell in published.cells:
        if spec := specs.get(getattr(cell, line)):
            p_value = 0.001 if cell.published.endswith("*") else 0.5
            exactly = Reading(cell.number, cell.number, cell.number, 100, p_value)
            figures.setdefault(spec, {})[getattr(cell, across)] = exactly
    labels = dict.fromkeys(label for found in figures.values() for label in found)
    places = tuple(CellPlace(label, "run", label, "score") for label in labels)
    table = Table({"id": name, "where": name}, places, figures)
    paradigms = {spec: _paradigm(spec) for spec in figures}
    claims = [one for one in STUDIES[published.paper]["claim"] if one["table"] == name]
    judged = {one["text"]: judge(one, {name: table}, paradigms) for one in claims}
    assert [text for text, found in judged.items() if found["answer"] == "does not hold here"] == []
    assert sum(found["answer"] == "holds" for found in judged.values()) >= at_least


def test_a_blind_spot_is_confirmed_where_the_worse_text_surely_scores_no_lower() -> None:
    table = planted(a={"left": SURE}, b={"left": LOW}, c={"left": NEAR})
    found = blind_spot_catalogue([{"name": "spot", "table": "t", "places": "left"}], {"t": table})
    assert found == {"spot": {"a": "holds", "b": "does not hold here", "c": "cannot tell"}}


def test_wrong_keys_of_a_study_are_errors() -> None:
    with pytest.raises(DataError, match="unknown keys: shares"):
        check_claim(claim(shares="most"))
    with pytest.raises(DataError, match="share is one of"):
        check_claim(claim(share="many"))
    with pytest.raises(DataError, match="unknown keys: heding"):
        fill_table({"where": "Table 0", "heding": "x"}, {}, {})


def test_a_difference_of_roles_is_paired_and_finds_gold_beside_its_noise() -> None:
    """Scores rise by 1 and by 3 on two items: 2, with the standard error of two differences."""
    rows = [("d/gold:a", "gold", 1.0), ("d/gold:b", "gold", 5.0)]
    rows += [("d/noise:a", "0.5/1", 2.0), ("d/noise:b", "0.5/1", 8.0)]
    scores = pl.DataFrame(rows, schema=["case", "role", "score"], orient="row")
    figure = score_runs(scores, "d/noise", MEAN, "0.5 - gold")
    assert figure is not None
    half = 1.959964 * np.std([1, 3], ddof=1) / np.sqrt(2)
    assert (figure.value, figure.n) == (2.0, 2)
    assert (figure.low, figure.high) == pytest.approx((2 - half, 2 + half))


@pytest.mark.parametrize(
    ("paper", "spec"), TABLES, ids=lambda one: one if isinstance(one, str) else one["id"]
)
def test_a_table_names_what_there_is(paper: str, spec: dict[str, Any]) -> None:
    """Its run, its statistics, its recipe, and keys that are known."""
    plan = STUDIES[paper]
    runs = {name: run["audit"] for name, run in plan["runs"].items()} | {"propagation": None, CAREFUL: None}
    filled = fill_table(spec, {}, {}) if "words" not in spec else None
    for place in filled.places if filled else ():
        assert place.run in runs, place
        kind = runs[place.run] and audit_class(runs[place.run])
        known = {one.name for one in kind.statistics} | {MEAN} if kind else {place.statistic}
        assert place.statistic in known, place
    if "recipe" in spec:
        assert find_recipe(spec["recipe"]).paper == paper
    if "careful" in spec:
        asked = spec["careful"].get("run", CAREFUL)
        audits = [runs[asked]] if asked != CAREFUL else list(plan["audits"])
        assert any(
            spec["careful"]["statistic"] in {s.name for s in audit_class(a).statistics} for a in audits
        )


@pytest.mark.parametrize("paper", PAPERS)
def test_a_study_has_claims_on_its_own_tables(paper: str) -> None:
    plan = STUDIES[paper]
    names = {table["id"] for table in plan["table"]}
    assert len(plan["claim"]) >= 8
    for one in plan["claim"]:
        check_claim(one)
        assert one["table"] in names, one
    for spot in plan.get("spot", ()):
        assert spot["table"] in names


def test_places_and_printed_figures_come_from_the_recipe() -> None:
    """All 38 tests of table 3, Double Bind and ABW-N among them, with the paper's stars."""
    spec = next(table for table in STUDIES["assoc"]["table"] if table["id"] == "tables 3 and 8")
    table = fill_table(spec, {}, {})
    labels = [place.label for place in table.places]
    assert len(labels) == 38
    assert {"DB:C sent (u)", "ABW-N word"} <= set(labels)
    assert table.printed["BERTS"]["ABW-N word"] == "1.70*"


def test_a_table_that_cannot_run_says_why() -> None:
    spec = next(table for table in STUDIES["blind"]["table"] if table["id"] == "table 10")
    page = as_page(fill_table(spec, {}, {"webtext": "it needs human/webtext.jsonl"}), {})
    assert page["empty"] == "Not run: it needs human/webtext.jsonl."


def test_a_study_is_a_run_with_a_page_on_top(tmp_path: Path) -> None:
    done = study("unfair", ["rouge1", "chrf"], session=Session.open(tmp_path / "run", None), limit=12)
    page = done.about["study"]
    first, *_, last = page["parts"]
    assert first["columns"][0] == "Race"
    assert [row["name"] for row in first["lines"]][:3] == ["rouge1", "chrf", "BLEU (paper)"]
    assert first["lines"][0]["cells"][0]["small"].endswith("n 12")
    assert last["empty"] == "Not run: it needs human/wmt20.jsonl in a folder given with --data."
    assert sum(page["answers"].values()) == len(STUDIES["unfair"]["claim"])
    html = write_report(done).read_text("utf-8")
    assert html.index('id="study"') < html.index('id="claims"') < html.index('id="answer"')
    assert page["claims"][0]["text"] in html
    with pytest.raises(SpecError, match="did you mean blind"):
        study("blnd", session=Session.open(cache=None))


def test_both_curves_of_figure_1_and_the_swapped_preference(tmp_path: Path) -> None:
    """Systems of planted ratings: both correlations of the best systems are drawn, dashed lines included."""
    import json

    folder = tmp_path / "human"
    folder.mkdir()
    rows = [
        {
            "id": f"{system}-{document}", "system": f"s{system}", "document": f"d{document}",
            "hypothesis": " ".join(["he said word"] * (1 + (system + document) % 6)),
            "references": ["he said word he said word"],
            "human": {"litepyramid_recall": system / 10 + document / 50},
        }
        for system in range(6)
        for document in range(8)
    ]  # fmt: skip
    (folder / "realsumm.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = study("assoc", ["rouge1"], tmp_path, session=Session.open(None, None), limit=8)
    figure = next(part for part in done.about["study"]["parts"] if part["where"] == "Figure 1")
    assert figure["empty"] == ""
    assert {row["line"] for row in figure["figure"]["rows"]} == {"original", "swapped"}
    assert {row["x"] for row in figure["figure"]["rows"]} == {4.0, 5.0}


def test_attention_is_a_map_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two texts; half of what the first token leaves goes to either block, and the map has a line per block."""
    from types import SimpleNamespace

    from assay.papers import pictures

    shares = np.full((2, 2, 3), np.nan)
    shares[0] = [[0.6, 0.4, 0.0], [0.2, 0.4, 0.4]]
    shares[1, 0] = [0.4, 0.6, 0.0]  # a short text has no second block
    monkeypatch.setattr(pictures, "attention_blocks", lambda *_, **__: shares.copy())
    corpus = SimpleNamespace(records=[SimpleNamespace(gold="a"), SimpleNamespace(gold="b")])
    audit: Any = SimpleNamespace(corpora=[corpus], block=20, length=40)
    metrics: Any = [
        SimpleNamespace(metric=SimpleNamespace(backbone=name, paradigm=kind), label=kind)
        for name, kind in (("deep", "matching"), ("deep", "generation"), ("words", "static-embedding"))
    ]
    found = pictures.attention_map(audit, metrics)
    assert found.metrics == ("matching",)
    spec = {"where": "Figure 2", "run": "r", "statistic": "attention", "each": "*/*", "rows": "grid"}
    page = as_page(fill_table({**spec, "figure": "grid"}, {"r": found}, {}), {})
    assert page["columns"] == ["first token", "1-20", "21-40"]
    assert [line["name"] for line in page["lines"]] == ["matching, 1-20", "matching, 21-40"]
    assert [cell["text"] for cell in page["lines"][1]["cells"]] == ["0.2", "0.5", "0.5"]
    assert (
        page["figure"]["rows"][0] | {"panel": "matching", "label": "1-20", "metric": "first token"}
        == (page["figure"]["rows"][0])
    )


def test_steps_are_grouped_by_their_words_place_in_the_n_gram_and_by_copies() -> None:
    """Tokens after a space begin words; the mean of each place, and a picture of the first text."""
    from types import SimpleNamespace

    from assay.core import Explanation, Metric
    from assay.papers.cells import Findings
    from assay.papers.pictures import next_tokens

    tokens = ("in", " th", "e", " in", " the")

    class Reader(Metric):
        needs = frozenset()

        def score(self, samples: Any) -> list[float]:
            return [0.0 for _ in samples]

        def explain(self, sample: Any) -> Explanation:
            values = ((0.1,), (0.4,), (0.6,), (0.3,), (0.8,))
            return Explanation("tokens", tokens, ("probability",), values)

    cases = pl.DataFrame(
        [("c", "gold", "in the"), ("c", "2-gram/top-10/1", "in the in the"), ("c", "rep", "in the in the")],
        schema=["case", "role", "hypothesis"], orient="row",
    )  # fmt: skip
    runs: Any = {"r": Findings((), {}, SimpleNamespace(cases=cases))}  # type: ignore[arg-type]
    texts = [
        {"name": "2-gram", "title": "2-grams", "run": "r", "role": "2-gram/top-10", "n": 2, "most": 1},
        {"name": "copy", "title": "copies", "run": "r", "role": "rep", "copies": 1, "most": 1},
        {"name": "other", "title": "others", "run": "absent", "role": "rep", "n": 2, "most": 1},
    ]
    metric: Any = SimpleNamespace(label="reader", metric=Reader())
    found = next_tokens(texts, runs, [metric])
    means = {slice_: row["value"] for (_, slice_, _, _), row in found.rows.items()}
    assert means == pytest.approx({"2-gram/1": 0.2, "2-gram/2": 0.6, "copy/1": 0.55})
    assert [mark["turn"] for mark in found.drawn if mark["of"] == "2-gram"] == [0, 0, 0, 1, 1]
    assert [mark["label"] for mark in found.drawn if mark["of"] == "copy"][-1] == "5 the"
