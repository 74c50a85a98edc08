"""Every set of words has a full card that tells its true size."""

import tomllib

import pytest
from word_data import DATA, lines, table

CARD_KEYS = ("title", "what", "how_written", "language", "size", "licence", "date", "limits")


def data_files() -> list[str]:
    found = [
        f"{folder}/{path.name.split('.')[0]}"
        for folder in ("words", "caption_concepts")
        for path in (DATA / folder).iterdir()
        if not path.name.endswith(".card.toml")
    ]
    return [*sorted(found), "association/association"]


@pytest.mark.parametrize("name", data_files())
def test_every_set_has_a_full_card(name: str) -> None:
    card = tomllib.loads((DATA / f"{name}.card.toml").read_text("utf-8"))
    assert tuple(card) == CARD_KEYS
    assert all(value.strip() for value in card.values())
    assert card["licence"] in ("CC BY 4.0", "PDDL 1.0 (public domain)")


@pytest.mark.parametrize(
    "name",
    [
        "antonyms",
        "synonyms",
        "spellings",
        "siblings",
        "contractions",
        "first_names",
        "surnames",
        "places",
        "generic_replies",
    ],
)
def test_cards_tell_the_true_size(name: str) -> None:
    card = tomllib.loads((DATA / "words" / f"{name}.card.toml").read_text("utf-8"))
    rows = lines(name) if name in {"siblings", "generic_replies"} else table(name)
    assert card["size"].split()[0] == str(len(rows))
