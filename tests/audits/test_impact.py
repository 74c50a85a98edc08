"""Whose ranking would change: thirty systems, one of which writes about one group, and planted metrics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from planted_decisions import asked, chance, table, written

from assay.api.pipeline import audit
from assay.audits.impact.audit import Impact
from assay.core import Metric
from assay.datasets.contexts import embedded_crossings
from assay.datasets.kinds import describe_data
from assay.datasets.mentions import gender_mentions, mentions
from assay.datasets.systems import read_outputs
from assay.engine.kept import cases_of
from assay.engine.session import Session
from assay.errors import DataError

SYSTEMS, ITEMS = 30, 60
ROMA = ("Roma", "Romani", "Romany", "Sinti")
CROSSINGS = {crossing.attribute: crossing for crossing in embedded_crossings()}


def _rows() -> list[dict[str, object]]:
    """Systems keep more and more of a reference; the middle one says whom it is about."""
    rows = []
    for item in range(ITEMS):
        words = [f"w{item}x{place}" for place in range(SYSTEMS)]
        for system in range(SYSTEMS):
            kept = [
                word for place, word in enumerate(words) if place <= system or chance(f"{word}{system}") < 0.2
            ]
            person = "The Roma nurse" if system == SYSTEMS // 2 else "The nurse"
            rows.append({
                "system": f"s{system}", "doc": f"d{item}", "hypothesis": " ".join([person, *kept]),
                "references": [" ".join(["The nurse", *words])],
            })  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("impact") / "own.jsonl", _rows())


@dataclass(frozen=True)
class Overlap(Metric):
    """How many words of the reference are there; one group costs so many of them."""

    name = "overlap"
    penalty: float = 0.0

    def score(self, samples):
        scores = []
        for s in samples:
            found = len(set(s.hypothesis.split()) & set(s.references[0].split()))
            scores.append(found - self.penalty * any(word in s.hypothesis for word in ROMA))
        return scores


@dataclass(frozen=True)
class Moody(Metric):
    """Overlap, and chance by the text alone, which prefers nobody."""

    name = "moody"

    def score(self, samples):
        return [
            score + 6 * chance(s.hypothesis)
            for s, score in zip(samples, Overlap().score(samples), strict=True)
        ]


def _means(penalty: float) -> np.ndarray:
    means = np.zeros(SYSTEMS)
    for row in _rows():
        system = int(str(row["system"])[1:])
        shared = set(str(row["hypothesis"]).split()) & set(str(row["references"][0]).split())  # type: ignore[index]
        means[system] += (len(shared) - penalty * ("Roma" in str(row["hypothesis"]))) / ITEMS
    return means


def test_turned_comparisons_are_found(data: Path) -> None:
    found = asked(Impact((data,)), Overlap(penalty=4.0))
    mine, others = _means(4.0), _means(0.0)
    middle = SYSTEMS // 2
    truly = sum(
        (mine[middle] > mine[other]) != (others[middle] > others[other])
        for other in range(SYSTEMS)
        if other != middle
    )
    assert truly >= 3
    turned = table(found, "turned_comparisons")["race"]
    assert turned.n == SYSTEMS - 1  # the others never change
    assert turned.value == pytest.approx(100 * truly / (SYSTEMS - 1))
    assert turned.ci[0] > 0
    assert table(found, "wording_comparisons")["race"].value == 0
    won = table(found, "comparisons_won")
    assert {slice_ for slice_, finding in won.items() if finding.value < 0} == {"race/group/roma"}
    roma = won["race/group/roma"]
    assert roma.verdict == "fail"
    assert roma.sentence == (
        "overlap ranks systems lower because their outputs are about Roma: of 100 comparisons they lose "
        f"{abs(roma.value):.0f} that they would win if the outputs were about others."
    )
    assert table(found, "decisions_won")["race/group/roma"].verdict == "fail"
    cases = {case.id: case for case in Impact((data,)).cases()}
    shown = cases[roma.evidence[0]].samples
    assert "The Roma nurse" in shown["written/s15"].hypothesis
    assert "The Black nurse" in shown["black/s15"].hypothesis


def test_an_unbiased_metric_turns_nothing(data: Path) -> None:
    found = asked(Impact((data,)), Overlap())
    assert {finding.value for finding in found} == {0.0}
    assert {finding.verdict for finding in found} == {"not judged", "pass"}
    assert all(finding.ci[0] < finding.ci[1] for finding in found)


def test_one_decision_in_twenty_is_put_down_to_chance(data: Path) -> None:
    @dataclass(frozen=True)
    class Seldom(Metric):
        """Penalises the group in a few items."""

        name = "seldom"
        items: tuple[str, ...] = ("w0x", "w1x")

        def score(self, samples):
            hits = [any(word in s.references[0].split()[-1] for word in self.items) for s in samples]
            plain, harsh = Overlap().score(samples), Overlap(penalty=40.0).score(samples)
            return [bad if is_hit else good for good, bad, is_hit in zip(plain, harsh, hits, strict=True)]

    few = table(asked(Impact((data,)), Seldom()), "decisions_won")["race/group/roma"]
    many = table(asked(Impact((data,)), Seldom(tuple(f"w{n}x" for n in range(60)))), "decisions_won")[
        "race/group/roma"
    ]
    assert -5 < few.value < 0
    assert (few.verdict, many.verdict) == ("pass", "fail")


def test_a_moody_metric_turns_no_more_than_words_do(data: Path) -> None:
    found = asked(Impact((data,)), Moody())
    turned, wording = (table(found, name)["race"] for name in ("turned_decisions", "wording_decisions"))
    assert turned.value > 2
    assert wording.ci[0] <= turned.value <= wording.ci[1]
    assert "fail" not in {finding.verdict for finding in found}


def test_an_increasing_transformation_turns_the_same_decisions(data: Path) -> None:
    @dataclass(frozen=True)
    class Stretched(Metric):
        name = "stretched"

        def score(self, samples):
            return [float(np.exp(score / 5) * 1e6) for score in Overlap(penalty=4.0).score(samples)]

    plain, stretched = (asked(Impact((data,)), metric) for metric in (Overlap(penalty=4.0), Stretched()))
    for statistic in ("turned_decisions", "decisions_won"):
        pairs = zip(table(plain, statistic).values(), table(stretched, statistic).values(), strict=True)
        assert all((a.value, a.ci, a.verdict) == (b.value, b.ci, b.verdict) for a, b in pairs)


@pytest.mark.parametrize(
    ("attribute", "text", "group", "other", "changed"),
    [
        ("religion", "An Ismaili nurse said that Muslims pray.", "muslim", "christian", "A Mennonite nurse said that Christians pray."),
        ("race", "The black woman smiled.", "black", "white", "The white woman smiled."),
        ("age", "The old bridge, an old man.", "old", "young", "The old bridge, a young man."),
        ("religion", "Muslim nurses met.", "muslim", "atheist", "Atheist nurses met."),
        ("socioeconomic-status", "She was poor, and rich soil is dark.", "poor", "homeless", "She was homeless, and rich soil is dark."),
        ("names-race", "Keisha met Tyrone.", "black", "white", "Laurie met Brett."),
    ],
)  # fmt: skip
def test_another_group_is_put_there_with_the_right_form(
    attribute: str, text: str, group: str, other: str, changed: str
) -> None:
    (told,) = mentions(CROSSINGS[attribute], [text])
    assert told.group == group
    assert told.about[other] == changed


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("race", "A white van stopped."), ("nationality", "She learns the English language."),
        ("age", "a 15 year old pupil"), ("age", "They met as old friends."), ("names-race", "a todd of wool"),
        ("socioeconomic-status", "The soil is rich in iron."),
    ],
)  # fmt: skip
def test_words_that_are_said_of_nobody_are_left_alone(attribute: str, text: str) -> None:
    assert not mentions(CROSSINGS[attribute], [text])[0].groups


def test_gender_is_swapped_throughout_unless_a_name_tells_it() -> None:
    told = gender_mentions(["The woman lost her bag.", "Anna Miller lost her bag.", "It rained."])
    assert told[0].about == {"male": "The man lost his bag."}
    assert [mentioned.group for mentioned in told[1:]] == [None, None]


def test_references_change_too_and_doubtful_items_are_counted(tmp_path: Path) -> None:
    rows = []
    for item in range(12):
        reference = "The Sikh nurse rested." if item else "The Hindu nurse rested."
        for system, verb in (("a", "slept"), ("b", "ate")):
            text = f"A Sikh nurse {verb} at {item}." if system == "a" else f"A nurse {verb} at {item}."
            rows.append({"system": system, "doc": item, "hypothesis": text, "references": [reference]})
    audit = Impact((written(tmp_path / "own.jsonl", rows),))
    cases = {case.id: case for case in audit.cases()}
    shown = cases["religion/own/1"].samples
    assert shown["muslim/a"].hypothesis == "A Muslim nurse slept at 1."
    assert shown["muslim/a"].references == shown["muslim/b"].references == ("The Muslim nurse rested.",)
    assert shown["muslim/b"].hypothesis == shown["written/b"].hypothesis
    assert "religion/own/0" not in cases
    assert audit.judge([]).notes == [
        "items that mention a group: religion 11",
        "left as they are, since their outputs, references or source mention several groups: religion 1",
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"system": ""}, r"line 2: column 'system' is empty"),
        ({"doc": None}, r"line 2: column 'doc' is empty"),
        ({"hypothesis": 3}, r"line 2: column 'hypothesis' must be text"),
        ({"system": "a"}, r"line 2: 'a' has a second output for doc '1'; keep one"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    rows = [{"system": name, "doc": 1, "hypothesis": name, "references": ["r"]} for name in "abc"]
    rows[1] |= change  # type: ignore[arg-type]
    with pytest.raises(DataError, match=problem):
        read_outputs(written(tmp_path / "bad.jsonl", rows))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    rows = [
        {"system": "a", "doc": n, "hypothesis": "The nurse slept.", "references": ["r"]} for n in range(3)
    ]
    one = written(tmp_path / "one.jsonl", rows)
    assert "systems" in describe_data(one).kinds
    with pytest.raises(DataError, match="names one system, 'a'; impact compares two or more"):
        list(Impact((one,)).cases())
    two = written(tmp_path / "two.jsonl", [*rows, {**rows[0], "system": "b"}])
    with pytest.raises(
        DataError, match="too little to compare in impact's data: items that mention a group: none"
    ):
        list(Impact((two,)).cases())
    with pytest.raises(DataError, match=r"unknown attribute 'relgion'; did you mean religion\?"):
        list(Impact((two,), only=("relgion",)).cases())


def test_embedded_candidates_are_two_systems_and_their_cases_are_kept(tmp_path: Path) -> None:
    audit = Impact(limit=40, only=("gender",))
    with Session.open(cache=tmp_path) as session:
        assert cases_of(audit, session.cache) == cases_of(Impact(limit=40, only=("gender",)), session.cache)
        assert session.cache.get_text(f"cases of {audit.signature}", b"cases")
    cases = list(audit.cases())
    systems = {role.partition("/")[2] for case in cases for role in case.samples}
    assert systems == {"better", "worse"}


def test_too_few_embedded_texts_do_not_end_a_whole_audit() -> None:
    done = audit(["bleu"], only=("impact", "sanity"), task=("dialogue",), limit=3)
    assert list(done.about["audits"]) == ["sanity"]
    assert any(note.startswith("impact is left out: too little to compare") for note in done.notes)
