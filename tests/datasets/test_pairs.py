"""Pairs in the published forms: metric-fairness tables, CrowS-Pairs, WinoBias."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.datasets.pairs import read_pair_files
from assay.datasets.published.pairs import read_winobias
from assay.errors import DataError

SHARED = Path(__file__).parents[3] / "shared" / "data"
shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the published data folder is not there")


def test_the_metric_fairness_table_is_read_with_its_quotes(tmp_path: Path) -> None:
    path = tmp_path / "religion.tsv"
    path.write_text(
        'candidate\treference\tBLEU\t\n"She said ""no"", he left."\tr\t.5\t\nb\tr\t.4\t\n', "utf-8"
    )
    pairs, _ = read_pair_files((path,))
    assert pairs[0].stereotype == 'She said "no", he left.'
    assert pairs[0].anti_stereotype == "b"
    assert pairs[0].attribute == "religion"
    assert pairs[0].references == ("r",)
    path.write_text("candidate\treference\na\tr\n", "utf-8")
    with pytest.raises(DataError, match="two lines"):
        read_pair_files((path,))


def test_crows_pairs_are_neutralised_by_drop_replace_and_abstract(tmp_path: Path) -> None:
    path = tmp_path / "crows.csv"
    rows = [
        ("An old man slept.", "A young man slept.", "age"),
        ("The women laughed.", "The men laughed.", "gender"),
        ("Jamal stole the wood.", "Connor stole the wood.", "race-color"),
        ("He lived in a trailer.", "He lived in a mansion.", "socioeconomic"),
    ]
    lines = [f"{n},{a},{b},stereo,{kind}" for n, (a, b, kind) in enumerate(rows)]
    path.write_text("\n".join([",sent_more,sent_less,stereo_antistereo,bias_type", *lines]), "utf-8")
    pairs, notes = read_pair_files((path,))
    assert [(p.references[0], p.meta["construction"]) for p in pairs] == [
        ("A man slept.", "drop"),
        ("The people laughed.", "replace"),
        ("The person stole the wood.", "abstract"),
    ]
    assert [pair.attribute for pair in pairs] == ["age", "gender", "race"]
    assert "3 of 4 pairs (no neutral word known: 1)" in notes[0]


def test_winobias_brackets_give_the_reference(tmp_path: Path) -> None:
    for name, pronouns in (("pro", ("he", "her")), ("anti", ("she", "his"))):
        lines = [
            f"1 [The cook] ran because [{pronouns[0]}] was late.",
            f"2 The cook met [the maid] in [{pronouns[1]}] car.",
        ]
        (tmp_path / f"{name}_stereotyped_type1.txt.dev").write_text("\n".join(lines), "utf-8")
    pairs, _ = read_pair_files((tmp_path,))
    assert pairs[0].references == ("The cook ran because the cook was late.",)
    assert pairs[1].references == ("The cook met the maid in the maid's car.",)
    assert [pair.meta["group"] for pair in pairs] == ["male", "female"]


@shared
def test_winobias_references_reproduce() -> None:
    folder = SHARED / "published" / "winobias" / "data"
    built = read_winobias(folder / "pro_stereotyped_type1.txt.dev")
    lines = (SHARED / "stereotype_pairs" / "gender.jsonl").read_text("utf-8").splitlines()
    published = [json.loads(line)["reference"].rstrip(". ") for line in lines]
    texts = [
        (row.text(column), reference)
        for column in ("reference", "anti_reference")
        for row, reference in zip(built, published, strict=True)
    ]
    assert sum(mine.rstrip(". ") == theirs for mine, theirs in texts) >= 750
