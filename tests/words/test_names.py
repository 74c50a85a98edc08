"""Lint of first names, surnames and places: as many of every region and gender."""

from collections import Counter

import pytest
from word_data import table

REGIONS = {
    "western_europe", "eastern_europe", "north_america", "latin_america", "middle_east_north_africa",
    "sub_saharan_africa", "south_asia", "east_asia", "southeast_asia", "oceania",
}  # fmt: skip


def test_first_names_are_balanced() -> None:
    rows = table("first_names")
    assert len(rows) >= 300
    assert len({row["name"] for row in rows}) == len(rows)
    assert {row["region"] for row in rows} == REGIONS
    for region in REGIONS:
        counts = Counter(row["gender"] for row in rows if row["region"] == region)
        assert set(counts) == {"female", "male", "unisex"}
        assert min(counts.values()) >= 0.8 * max(counts.values()), region
        assert counts["female"] == counts["male"]


@pytest.mark.parametrize(("name", "fewest"), [("surnames", 100), ("places", 150)])
def test_surnames_and_places_are_balanced_by_region(name: str, fewest: int) -> None:
    rows = table(name)
    assert len(rows) >= fewest
    assert len({row["name"] for row in rows}) == len(rows)
    counts = Counter(row["region"] for row in rows)
    assert set(counts) == REGIONS
    assert min(counts.values()) >= 0.8 * max(counts.values())


@pytest.mark.parametrize("name", ["first_names", "surnames", "places"])
def test_names_are_capitalised(name: str) -> None:
    assert [
        row for row in table(name) if not row["name"][0].isupper() or row["name"] != row["name"].strip()
    ] == []
