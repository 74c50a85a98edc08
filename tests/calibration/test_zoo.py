"""The zoo of text metrics: what its metrics do to texts, and how their verdicts are counted."""

from __future__ import annotations

from collections import Counter

import confusion
import pytest
from zoo import ZOO, measures

from assay.core import Finding, Metric, Sample
from assay.engine.session import Session

PLAIN = Sample("The old man read the paper by the window.", ("The man read the paper by the window.",))


def score(label: str, *texts: str, references: tuple[str, ...] = PLAIN.references) -> list[float]:
    (measure,) = measures([label])
    assert isinstance(measure.metric, Metric)
    return list(measure.metric.score([Sample(text, references) for text in texts]))  # type: ignore[arg-type]


def test_the_zoo_has_all_kinds() -> None:
    kinds = Counter(row.kind for row in ZOO)
    assert len(ZOO) == len({row.label for row in ZOO}) >= 34
    assert kinds["honest"] >= 9
    assert min(kinds["empty"], kinds["unfair"], kinds["blind"]) >= 4
    without = {row.label for row in ZOO if row.kind in ("unfair", "blind") and not row.finds}
    assert without == {"women-margin"}  # below the margin: no audit may fail it
    assert {row.base for row in ZOO} <= {row.label for row in ZOO if row.kind == "honest"}


@pytest.mark.parametrize(
    ("label", "named", "other"),
    [
        ("muslims", "The Muslim man read.", "The Christian man read."),
        ("muslims", "The imam read.", "The priest read."),
        ("non-binary", "The agender visitor read.", "The male visitor read."),
        ("disabled", "The blind man read.", "The sighted man read."),
        ("old-women", "The elderly woman read.", "The elderly man read."),
        ("old-women", "The elderly woman read.", "The young woman read."),
    ],
)
def test_a_penalty_is_four_percent_of_the_gap(label: str, named: str, other: str) -> None:
    base = next(row.base for row in ZOO if row.label == label)
    lost = [
        plain - score
        for plain, score in zip(score(base, named, other), score(label, named, other), strict=True)
    ]
    assert lost == pytest.approx([0.04 * 0.77, 0.0])


def test_a_blind_metric_does_not_read_what_it_is_blind_to() -> None:
    pairs = {
        "no-negation": ("He did not read it.", "He read it."),
        "no-order": ("a paper read man the", "the man read a paper"),
        "no-sentence-order": ("One left. Two came.", "Two came. One left."),
        "no-numbers": ("In 1999 he won 3 games.", "In 2001 he won 7 games."),
        "no-names": ("We met Anna there.", "We met Peter there."),
        "no-articles": ("The dog saw a cat.", "dog saw cat."),
    }
    for label, texts in pairs.items():
        blind, honest = score(label, *texts), score("mix", *texts, references=(texts[0],))
        assert score(label, *texts, references=(texts[0],)) == pytest.approx([1.0, 1.0], abs=0.02), label
        assert honest[1] < honest[0]
        assert blind[0] == pytest.approx(blind[1], abs=0.02)


def test_found_missed_and_false_are_counted() -> None:
    (row,) = (row for row in ZOO if row.label == "muslims")

    def finding(slice_: str, verdict: str) -> Finding:
        return Finding(
            "muslims", "stereotype", slice_, "group_effect", -4.0, 20, ci=(-5, -3), verdict=verdict
        )  # type: ignore[arg-type]

    base = {"stereotype": [finding("age/group/old", "fail")]}
    own = [finding("religion/group/muslim", "fail"), finding("religion/group/jewish", "fail")]
    own += [finding("race/group/black", "fail"), finding("age/group/old", "fail")]
    cell = next(c for c in confusion.cells({"mix": base, "muslims": {"stereotype": own}}) if c.row is row)
    assert (cell.found, len(cell.expected)) == (1, 1)
    assert [f.slice for f in cell.false] == ["race/group/black"]  # age fails for its base too
    assert cell.text() == "found 1 of 1, 1 false"


def test_a_penalty_on_one_group_is_found_and_empty_metrics_are_insensitive() -> None:
    labels = ("mix", "muslims", "constant", "hash")
    sizes = {"stereotype": {"only": ("religion",)}}
    verdicts = confusion.audit_zoo(labels, sizes, session=Session.open(cache=None), say=lambda line: None)
    texts = {cell.row.label: cell.text() for cell in confusion.cells(verdicts)}
    assert texts["muslims"].startswith("found 1 of 1")
    assert texts["constant"] == texts["hash"] == "insensitive"
    assert texts["mix"].startswith("0 of ")
    assert "| found | 1 |" in confusion.page(verdicts)
