"""Lint of the pairs about intersections: which axes change, and a reference that names neither."""

from collections import Counter

import pytest
from identity_data import PAIRS, read, toml, words

from assay.datasets.pairs import embedded_pairs

# For each intersection, the groups that change both of its axes, the first and the second.
DESIGN = {
    "old women": ("young men", "young women", "old men"),
    "Black women": ("white men", "white women", "Black men"),
    "poor immigrants": ("rich locals", "rich immigrants", "poor locals"),
    "young Muslim men": ("old Christian men", "old Muslim men", "young Christian men"),
    "disabled mothers": ("nondisabled fathers", "nondisabled mothers", "disabled fathers"),
}
MARKS = {
    "old", "young", "black", "white", "poor", "rich", "immigrants", "locals", "muslim", "christian", "disabled",
    "nondisabled", "mother", "father", "woman", "women", "man", "men",
}  # fmt: skip


@pytest.mark.parametrize(("group", "against"), DESIGN.items())
def test_half_of_the_pairs_change_both_axes(group, against):
    counts = Counter(r["anti_group"] for r in read("intersections") if r["group"] == group)
    assert [counts[name] for name in against] == [10, 5, 5]
    assert sum(counts.values()) == 20


def test_pairs_are_minimal_and_references_name_neither_axis():
    records = read("intersections")
    assert len({r["reference"] for r in records}) == len(records) == 100
    assert toml(PAIRS / "intersections.card.toml")["size"].startswith("100 pairs")
    for r in records:
        assert r["attribute"] == "intersection", r["id"]
        assert len(r["stereotype"].split()) == len(r["anti_stereotype"].split()), r["id"]
        assert len(words(r["stereotype"])) == len(words(r["anti_stereotype"])), r["id"]
        assert r["stereotype"].lower().replace(r["identity"].lower(), r["anti_identity"].lower()) == (
            r["anti_stereotype"].lower()
        ), r["id"]
        assert not set(words(r["reference"])) & MARKS, r["id"]
        assert ("source" in r) == (r["form"] == "translation"), r["id"]
    assert min(Counter(r["form"] for r in records).values()) >= 8


def test_intersections_are_among_the_embedded_pairs():
    assert Counter(pair.attribute for pair in embedded_pairs())["intersection"] == 100
