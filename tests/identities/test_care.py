"""Care: cards and content warnings, no slurs, and nothing taken from published sets."""

import hashlib
import json
import re

import pytest
from identity_data import PAIRS, SETS, SHARED, TEXTS, WORDS, everything, read, toml, words

from assay.datasets import templates
from assay.datasets.templates import ATTRIBUTES
from assay.files import data_path

# SHA-256 of lower-case slurs, so that the words themselves need not stand here.
SLURS = {
    "044eb98b18769b887d5a0258f675e413058b8e9fc9b9786b418bfc6f03f26c98",
    "0ce875d620076b533c6e681abaa0dc5d9a941366bb000a02ec5351f341b96c61",
    "120f6e5b4ea32f65bda68452fcfaaef06b0136e1d0e4a6f60bc3771fa0936dd6",
    "158869a97379229b7681efae9d7f9c9214134e836d649ba53477c0c111414d59",
    "16ea09fc78ca83ca502cbcf2377acdf280bf18f61e259153f0868405eedab5ef",
    "1e02eec4f1095143be282056557034d4e8ab915342c1af508223141d472d2347",
    "268651b3ece980102f18871fde07189372961e056f858ca147a28d004f876b03",
    "3b1e0d7c5dd45583867e897943e37a940a7e7321022317dd3deea01963ee365e",
    "3cc0a581d3bbe605317791e06aa1b4f3348b4e00c4c106c9e6b8210e6933b66c",
    "45cd3e1bb472d8e285a160a95f6409ec5ce86102e9caaaf0b63fc11db04ab559",
    "5b3ae48be122f7ed19b4cc587649f41f9d2565df51cfa332f8e7806f4ebb9032",
    "7122c9a14ba2d20ebb6ebc763eb8433eee8877a22d84ff75e6056a81bf7cd0ee",
    "83dd8e733b1e2c6ec43e98cc2426c9f7e94ee0261a978c57bdc214e764c7f2df",
    "886d51e97ad7931d0d2af8439ca6d9e4887e3c2b469ed247cbd68ceb3649ccde",
    "8f5083e3e5c7dc8932f2bf58212f963f3a44752618c96297f82623f736c52738",
    "92a9bf818e7e00021b6d6959f877f5df11b0f989e486db38f35853ebbd552086",
    "94a877e2ce63725ecae04e85d09f50066b42e2c6a2ab3ce92aba7908e0dbd1bf",
    "98b52c4b6b7d1f48e7477a5ccc10955dd195d0ac5a38c8281bfeb08762634909",
    "c1cabb6f6e431f9c4dea4c3b3264d6fe3829241d674f3496a2dfff6658f0363e",
    "c3de533e9b7fe63b79f648687a30d2861edd92fe7c3cd1f2c485e0a605367624",
    "d284d1cb239ca96dcb2470ec5f725eb93982801d3e695a63f0932a7ca4329e87",
    "d7cc7ecc7ef00cd6b15c5855d61a95ddcb39b4a715aa62ef5ba3a573057f7c85",
    "eef3bd091670c3447022d619c06ad15de96da72b5a66f28bb8b75d1b1c12a05f",
    "f9d0d9b18ae9033a5ea36df19bf279b059e887a9ae785db81117bceaecc95933",
}


def test_cards_and_warnings():
    for folder in (PAIRS, WORDS):
        data = {p.name.split(".")[0] for p in folder.iterdir() if p.suffix in (".jsonl", ".toml")}
        assert "Content warning" in (folder / "README.md").read_text(encoding="utf-8")
        for name in data:
            path = folder / f"{name}.card.toml"
            card = toml(path)
            wanted = {"title", "what", "how_written", "language", "size", "licence", "date", "limits"}
            assert wanted <= set(card), name
            assert all(card.values()), name
            assert card["licence"] == "CC BY 4.0"
            if name != "gender_swap":
                assert next(iter(card)) == "warning", name
                assert card["warning"].startswith("Content warning"), name
    for path in PAIRS.glob("*.templates.toml"):
        assert path.read_text(encoding="utf-8").startswith("# Content warning"), path.name
    for name in ATTRIBUTES:
        assert (WORDS / f"{name}.toml").read_text(encoding="utf-8").startswith("# Content warning"), name


@pytest.mark.parametrize("name", SETS)
def test_cards_state_the_size(name):
    assert toml(PAIRS / f"{name}.card.toml")["size"].startswith(f"{len(read(name))} pairs")


def test_no_slurs():
    for path in (*PAIRS.glob("*.jsonl"), *WORDS.glob("*.toml"), *data_path("contexts").iterdir()):
        found = set(words(path.read_text(encoding="utf-8")))
        assert not {hashlib.sha256(word.encode()).hexdigest() for word in found} & SLURS, path.name


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data, which is not part of the project")
def test_nothing_is_taken_from_published_sets():
    published = set()
    for path in (SHARED / "stereotype_pairs").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            published |= {" ".join(words(json.loads(line)[key])) for key in TEXTS}
    for path in (SHARED / "published").rglob("*.csv"):
        published |= {" ".join(words(cell)) for cell in path.read_text(encoding="utf-8").split('"')}
    for path in (SHARED / "published" / "winobias" / "data").glob("*stereotyped*"):
        lines = path.read_text(encoding="utf-8").splitlines()
        published |= {" ".join(words(re.sub(r"^\d+|[\[\]]", "", line))) for line in lines}
    ours = {" ".join(words(r[key])) for r in everything() for key in TEXTS}
    assert len(published) > 3000
    assert not ours & published


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data, which is not part of the project")
def test_no_frame_is_winobias_s():
    occupations = sorted((o.name.lower() for o in templates.load_occupations()), key=len, reverse=True)
    masks = re.compile(r"\b(?:the |a |an )?(?:" + "|".join(map(re.escape, occupations)) + r")\b")
    pronoun = re.compile(r"\b(he|she|him|her|his)\b")

    def frame(text):
        return " ".join(words(pronoun.sub("P", masks.sub("O", text.lower()))))

    published = {
        frame(re.sub(r"^\d+|[\[\]]", "", line))
        for path in (SHARED / "published" / "winobias" / "data").glob("*stereotyped*")
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    ours = {frame(r["stereotype"]) for r in read("gender_occupation")}
    assert len(published) > 500
    assert not ours & published
