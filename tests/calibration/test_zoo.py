"""The zoo of text metrics: what its metrics do to texts, and how their verdicts are counted."""

from __future__ import annotations

from collections import Counter

import confusion
import pytest
from zoo import ZOO, crossing_of, measures, price

from assay.core import Finding, Metric, Sample
from assay.engine.session import Session


def score(label: str, *texts: str, reference: str) -> list[float]:
    (measure,) = measures([label])
    assert isinstance(measure.metric, Metric)
    return list(measure.metric.score([Sample(text, (reference,)) for text in texts]))  # type: ignore[arg-type]


def test_the_zoo_has_all_kinds() -> None:
    kinds = Counter(row.kind for row in ZOO)
    assert len({row.label for row in ZOO}) == len(ZOO)
    assert min(kinds["honest"], kinds["unfair"], kinds["blind"]) >= 8
    assert {row.base for row in ZOO} <= {row.label for row in ZOO if row.kind == "honest"}


@pytest.mark.parametrize(
    ("label", "named", "other"),
    [
        ("group-0.5", "The Sunni man read.", "The Jewish man read."),
        ("word-0.5", "The Sikh man read.", "The Keshdhari man read."),
        ("intersection-0.5", "The Black mother read.", "The Black father read."),
    ],
)
def test_a_penalty_is_that_part_of_a_lost_word(label: str, named: str, other: str) -> None:
    row = next(row for row in ZOO if row.label == label)
    ((_, place),) = row.finds
    whole = [score(each, named, other, reference="The man read.") for each in (row.base, label)]
    lost = [plain - scored for plain, scored in zip(*whole, strict=True)]
    attribute = place.strip("^").split("/")[0]
    assert row.compare is not None
    assert lost == pytest.approx([0.5 * price(row.compare, attribute), 0.0])


def test_a_penalty_in_one_form_is_there_alone() -> None:
    contexts = {context.form: context for context in crossing_of("race").contexts}
    for form, context in contexts.items():
        texts = context.filled("Roma"), context.filled("Asian")
        (plain, _), (roma, asian) = (
            score(label, *texts, reference=context.reference) for label in ("token-f", "form-1")
        )
        assert (roma < plain) == (form == "news")
        assert asian == pytest.approx(plain)


def test_a_blind_metric_does_not_read_what_it_is_blind_to() -> None:
    pairs = {
        "no-negation": ("He did not read it.", "He read it."),
        "no-order": ("a paper read man the", "the man read a paper"),
        "no-sentence-order": ("One left. Two came.", "Two came. One left."),
        "no-numbers": ("In 1999 he won 3 games.", "In 2001 he won 7 games."),
        "no-articles": ("The dog saw a cat.", "dog saw cat."),
    }
    for label, texts in pairs.items():
        blind, honest = (score(each, *texts, reference=texts[0]) for each in (label, "mix"))
        assert blind == pytest.approx([1.0, 1.0]), label
        assert honest[1] < honest[0]


def test_found_missed_and_false_are_counted() -> None:
    (row,) = (row for row in ZOO if row.label == "no-order")

    def finding(slice_: str, verdict: str) -> Finding:
        return Finding("no-order", "stress", slice_, "right_order", 50.0, 60, ci=(40, 60), verdict=verdict)  # type: ignore[arg-type]

    base = [finding("captions/truncation", "inconclusive")]
    own = [finding(f"captions/{noise}", "fail") for noise in ("local-swap", "truncation", "negation")]
    outcome = confusion.Outcome(row, [*own, finding("captions/middle-swap", "pass")], base)
    assert confusion.counted(outcome.planted) == "1 of 2"
    assert [f.slice for f in outcome.false] == ["captions/negation"]  # the honest metric shares the other


def test_a_penalty_on_one_group_is_found_at_its_size() -> None:
    sizes = {"stereotype": {"only": ("religion",)}}
    labels = ("token-f", "group-0.5", "constant")
    verdicts = confusion.audit_zoo(labels, sizes, Session.open(cache=None))
    (outcome,) = confusion.outcomes(verdicts, "unfair")
    (found,) = outcome.planted
    assert found.verdict == "fail"
    assert found.value == pytest.approx(-0.5, abs=0.1)
    assert found.ci
    assert found.ci[0] < -0.5 < found.ci[1]
    assert [f.slice for f in outcome.failed if "/group/" in f.slice] == [found.slice]
    assert not any(finding.verdict == "fail" for finding in verdicts["token-f"])
    assert not verdicts["constant"]  # its lost words cost nothing
    assert "| group-0.5 |" in confusion.page(verdicts)
