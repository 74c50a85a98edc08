"""Specs: names longest first, keys by type, hybrids, plug-ins; wrong ones say how to mend them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import assay
from assay.api.pipeline import make_audit
from assay.errors import SpecError
from assay.metrics.ngram import Chrf
from assay.names.registry import find, names
from assay.names.spec import measure, parse_spec, perturbation, range_of
from assay.vocabulary import NonNegative, Range, Share

PLUGIN = """from dataclasses import dataclass
from assay import Metric

@dataclass(frozen=True)
class LengthRatio(Metric):
    name = "length-ratio"
    def score(self, samples):
        return [len(s.hypothesis) / len(s.references[0]) for s in samples]

def overlap(hypotheses, references):
    return [float(len(set(h.split()) & set(r[0].split()))) for h, r in zip(hypotheses, references)]
"""


def test_keys_become_fields() -> None:
    bleu = parse_spec("bleu:tokenize=split,smooth=method1")
    assert (bleu.metric.tokenize, bleu.metric.smooth) == ("split", "method1")
    assert bleu.metric == parse_spec("bleu").metric
    assert bleu.label == "bleu:tokenize=split,smooth=method1"


def test_outputs_read_one_column() -> None:
    assert [parse_spec(f"bertscore-{o}").column for o in "prf"] == [0, 1, 2]
    assert parse_spec("bertscore-p").metric.signature == parse_spec("bertscore-f").metric.signature


def test_names_match_longest_first_then_hybrids() -> None:
    assert parse_spec("chrf++").metric.name == "chrf++"
    hybrid = parse_spec("0.3*chrf+++bleu:smooth=method1")
    assert [part.label for part in hybrid.metric.parts] == ["chrf++", "bleu:smooth=method1"]
    assert hybrid.metric.scales == (0.3, 1.0)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("blue", "did you mean bleu?"),
        ("bleu:tokenise=split", "did you mean tokenize?"),
        ("bleu:tokenize=words", "is not one of"),
        ("bleu:tokenize", "is not key=value"),
        ("bleu:tokenize=split,tokenize=13a", "given twice"),
        ("bertscore-f:layer=five", "not a whole number"),
        ("bleu+blue", "did you mean bleu?"),
        ("BLEU", "did you mean bleu?"),
        ("bleu+Chrf", "did you mean chrf?"),
        ("", "an empty metric"),
        ("bleu+", r"a part of 'bleu\+' is empty"),
        ("nowhere.py:Metric", "cannot read"),
        ("nowhere.py", "write nowhere.py:NAME"),
    ],
)
def test_wrong_specs_say_how_to_mend_them(spec: str, message: str) -> None:
    with pytest.raises(SpecError, match=message.replace("?", r"\?")):
        parse_spec(spec)


@pytest.mark.parametrize(
    ("audit", "option", "value", "least"),
    [
        ("human", "resamples", "0", 40),
        ("human", "resamples", -5, 40),
        ("human", "sentinel_margin", "-1", 0),
        ("human", "sentinel_margin", "nan", 0),
        ("association", "margin", -0.1, 0),
        ("stress", "bar", "inf", 0),
        ("stress", "seed", -1, 0),
        ("stress", "seeds", "0", 1),
        ("stereotype", "limit", 0, 1),
        ("attack", "queries", "0", 1),
        ("attention", "block", -2, 1),
    ],
)
def test_numbers_of_audits_have_a_least(audit: str, option: str, value: str | int, least: int) -> None:
    with pytest.raises(SpecError, match=rf"^--{option.replace('_', '-')} .* at least {least}$"):
        make_audit(audit, {option: value})
    assert getattr(make_audit(audit, {option: least}), option) == least


@pytest.mark.parametrize(
    ("audit", "option", "given", "message"),
    [
        ("repetition", "copies", "10;0", "--copies 0 of repetition: give a number, at least 1"),
        ("repetition", "copies", "ten", "'ten' is not a whole number"),
        ("identity-length", "lengths", "8;-16", "--lengths -16"),
        ("truncation-direction", "levels", "0.5;2", "at least 0 and at most 1"),
        ("attack", "ratio", "5", "at least 0 and at most 1"),
    ],
)
def test_each_number_of_a_list_and_each_share_is_checked(
    audit: str, option: str, given: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        make_audit(audit, {option: given})


@pytest.mark.parametrize("spec", ["chrf:beta=-1", "bleu:n=0", "cider+chrf:n=-2", "clipscore:w=inf"])
def test_numbers_of_metrics_have_a_range(spec: str) -> None:
    with pytest.raises(SpecError, match="out of range; give a number, at least"):
        parse_spec(spec)
    assert parse_spec("bertscore-f:layer=-2").metric.layer == -2


def test_the_range_of_a_number_stands_on_its_field() -> None:
    ranges = [range_of(hint) for hint in (int, float, int | None, tuple[float, ...], NonNegative | None)]
    assert ranges == [Range(1), Range(0), Range(1), Range(0), Range(0)]
    assert [range_of(hint) for hint in (Share, tuple[Share, ...])] == [Range(0, 1)] * 2


def test_a_plug_in_knows_its_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass(frozen=True)
    class Shifted(Chrf):
        offset: float = -1.0

    monkeypatch.setattr("assay.names.spec.find", lambda kind, name: (Shifted, None))
    assert parse_spec("chrf:offset=-2").metric.offset == -2


def test_a_file_of_seven_lines_is_a_metric(tmp_path: Path) -> None:
    path = tmp_path / "length_ratio.py"
    path.write_text(PLUGIN)
    ratio = parse_spec(f"{path}:LengthRatio")
    assert ratio.metric.score([assay.Sample("ab", ("abcd",))]) == [0.5]
    before = ratio.metric.signature
    path.write_text(PLUGIN.replace("len(s.hypothesis) /", "2 * len(s.hypothesis) /"))
    assert (
        parse_spec(f"{path}:LengthRatio").metric.signature != before
    )  # law 1: the source is in the signature


def test_an_error_lists_what_a_file_holds_without_running_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN + "def _hidden(): ...\nraise RuntimeError\n")
    for spec in (str(path), f"{path}:"):
        with pytest.raises(
            SpecError, match=r"write .*mine\.py:NAME, a class or function in it; known: LengthRatio, overlap$"
        ):
            parse_spec(spec)


def test_a_plain_function_is_a_metric(tmp_path: Path) -> None:
    path = tmp_path / "functions.py"
    path.write_text(PLUGIN)
    assert parse_spec(f"{path}:overlap").metric.score([assay.Sample("a b", ("b c",))]) == [1.0]
    with pytest.raises(SpecError, match="did you mean overlap"):
        parse_spec(f"{path}:overlop")


def test_wrap_turns_distances_round() -> None:
    words = {"name": "length", "higher_is_better": False, "check": False}
    wrapped = assay.wrap(lambda h, r: [float(len(x)) for x in h], **words)
    assert measure(wrapped).label == "length"
    assert wrapped.score([assay.Sample("abc", ("x",))]) == [-3.0]


def test_two_references_where_one_is_required_are_an_error() -> None:
    wrapped = assay.wrap(lambda h, r: [float(len(x)) for x in r], name="one", one_reference=True)
    assert assay.score([wrapped], [assay.Sample("a", ("abc",))])["one"].to_list() == [3.0]
    with pytest.raises(assay.AuditError, match=r"takes one reference, the sample .* has 2"):
        assay.score([wrapped], [assay.Sample("a", ("b", "c"))])


@pytest.mark.parametrize("name", names("perturbations"))
def test_amounts_out_of_range_are_refused(name: str) -> None:
    for field in dataclasses.fields(find("perturbations", name)[0]):
        if field.type not in ("int", "float"):
            continue
        share = field.type == "float"
        for wrong in ("-3", "99999", *(("0", "1.5", "nan", "inf") if share else ())):
            with pytest.raises(
                SpecError, match=f"{field.name} in .*give (more than 0|a whole number from 1)"
            ):
                perturbation(f"{name}:{field.name}={wrong}")
        assert getattr(perturbation(f"{name}:{field.name}=1"), field.name) == 1


def test_flags_and_defaults_of_a_perturbation_are_no_amounts() -> None:
    assert perturbation("sentence-switching:last=false").signature.startswith(
        "sentence-switching|level:1|last:f"
    )
    assert perturbation("frequent-ngrams:length=0") == perturbation("frequent-ngrams")


def test_the_package_of_runs_can_be_called_like_the_function() -> None:
    import assay
    import assay.api.pipeline  # from here on the name is the package's

    done = assay.run(
        "stereotype", ["bleu"], only=("gender",), limit=2, session=assay.Session.open(cache=None)
    )
    assert done.metrics == ["bleu"]
