"""Questions and wordings in, pairs of answers out: they differ in one thing that must not matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from assay.core import Case, Sample
from assay.datasets.lexicon import indefinite_article, jsonl_file, toml_file
from assay.datasets.ratings import Rated
from assay.datasets.rows import read_rows
from assay.datasets.templates import load_lexicon
from assay.errors import DataError
from assay.perturbations.degenerate import CONTROL, injections

QUALITY, POSITION, REPEATS, SCALE, SELF = "quality", "position", "repeats", "scale", "self-preference"
ATTRIBUTES = ("race", "gender", "religion", "physical-appearance", "age", "socioeconomic-status")
_STYLES = ("hedging", "emoji")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_EQUAL_RATING = 1e-9


@dataclass(frozen=True, slots=True)
class Item:
    """A question with a right answer, an equally good one and a wrong one."""

    id: str
    question: str
    answer: str
    equal: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Bias:
    """A kind of pair, and how to make it from an item and its number."""

    slice: str
    make: Callable[[Item, int], tuple[str, str]]  # (without it, with it)
    versus: str = "with - without"


def wordings() -> dict[str, Any]:
    """The embedded wordings, by bias."""
    return toml_file("judge_pairs", "wordings")


def embedded_items() -> list[Item]:
    """The embedded questions."""
    return [Item(**row) for row in jsonl_file("judge_pairs", "items")]


def read_items(paths: Sequence[Path]) -> list[Item]:
    """The user's own questions: id?, question, answer, equal, wrong."""
    rows = enumerate((row for path in paths for row in read_rows(path)), start=1)
    columns = ("question", "answer", "equal", "wrong")
    items = [Item(str(row.values.get("id", n)), *map(row.text, columns)) for n, row in rows]
    if len({item.id for item in items}) < len(items):
        raise DataError(f"{paths[0]}: two items share an id; give each its own, or leave the column out")
    return items


def biases() -> list[Bias]:
    """Every kind of pair that needs nothing but the items."""
    groups = wordings()["groups"]
    worded = [name for name in wordings() if name not in ("groups", "author", "people", SELF)]
    return [
        *(Bias(f"style/{name}" if name in _STYLES else name, _worded(name)) for name in worded),
        Bias("style/markdown", _markdown),
        Bias("style/list", _list),
        *(
            Bias(f"{frame}/{attribute}", _identity(frame, attribute), " - ".join(groups[attribute]))
            for frame in ("author", "people")
            for attribute in ATTRIBUTES
        ),
        Bias("injection", _injected),
    ]


def around(text: str, addition: str, place: str) -> str:
    """An addition before or after a text."""
    return f"{addition} {text}" if place == "before" else f"{text} {addition}"


def _worded(name: str) -> Callable[[Item, int], tuple[str, str]]:
    table = wordings()[name]

    def make(item: Item, number: int) -> tuple[str, str]:
        turn = number % len(table["changed"])
        changed = around(item.answer, table["changed"][turn], table["place"])
        if "control" not in table:
            return item.answer, changed
        return around(item.answer, table["control"][turn], table["place"]), changed

    return make


def _markdown(item: Item, number: int) -> tuple[str, str]:
    """The same words under a heading, the first sentence in bold."""
    first, *rest = _SENTENCE.split(item.answer)
    return item.answer, " ".join([f"## Answer\n\n**{first}**", *rest])


def _list(item: Item, number: int) -> tuple[str, str]:
    """The same sentences as a list."""
    return item.answer, "\n".join(f"- {sentence}" for sentence in _SENTENCE.split(item.answer))


def _identity(frame: str, attribute: str) -> Callable[[Item, int], tuple[str, str]]:
    """A member of the second group named, and one of the first."""
    table, words = wordings()[frame], noun_pairs(attribute)

    def make(item: Item, number: int) -> tuple[str, str]:
        wording = table["changed"][number % len(table["changed"])]
        # Every wording meets every word: the words move on after a round of wordings.
        pair = words[(number + number // len(table["changed"])) % len(words)]
        named = [f"{indefinite_article(word)} {word}" for word in pair]
        first, second = (wording.replace("{identity}", name) for name in named)
        return around(item.answer, second, table["place"]), around(item.answer, first, table["place"])

    return make


@cache
def noun_pairs(attribute: str) -> list[tuple[str, str]]:
    """Words for the two groups that have the same neutral word and the same length."""
    groups = [load_lexicon(attribute).groups[name] for name in wordings()["groups"][attribute]]
    pairs = []
    for noun in groups[0].nouns:
        alike = noun.neutral, len(noun.singular.split())
        twins = (twin for twin in groups[1].nouns if (twin.neutral, len(twin.singular.split())) == alike)
        pairs += [(noun.singular, twin.singular) for twin in islice(twins, 1)]
    return pairs


def _injected(item: Item, number: int) -> tuple[str, str]:
    """A wrong answer that asks for a high grade, against one with a neutral sentence."""
    known = injections().values()
    asking = [one for one in known if one.family != CONTROL and one.id != "answer-no"]
    neutral = [one for one in known if one.family == CONTROL]
    texts = (one[number % len(one)].worded("open-ended") for one in (neutral, asking))
    base, changed = (around(item.wrong, text, "after") for text in texts)
    return base, changed


def pair_case(
    slice_: str, item: Item, base: str, changed: str, references: tuple[str, ...] | None = None
) -> Case:
    """A pair in both orders; `alone` has no rival, so that only a judge that grades one text scores it."""
    shown = (item.equal,) if references is None else references
    samples = {
        "base": Sample(base, shown, item.question, rival=changed),
        "changed": Sample(changed, shown, item.question, rival=base),
        "alone": Sample(base, shown, item.question),
    }
    return Case(f"{slice_}/{item.id}", samples, slice_, {"item": item.id})


def own_name_cases(items: Sequence[Item], own: str) -> Iterator[Case]:
    """One answer under the judge's own name and under another model's."""
    table = wordings()[SELF]
    others = [name for name in table["others"] if name.lower() not in own.lower()]
    for number, item in enumerate(items):
        wording = table["changed"][number % len(table["changed"])]
        names = (others[number % len(others)], own)
        base, changed = (around(item.answer, wording.replace("{model}", name), "before") for name in names)
        yield pair_case(f"{SELF}/name", item, base, changed)


def own_text_cases(outputs: Sequence[Rated], own: str) -> Iterator[Case]:
    """The judge's own outputs against others' for the same document that people rated the same."""
    documents: dict[str, dict[str, Rated]] = {}
    for rated in outputs:
        if rated.system is not None and rated.doc is not None:
            documents.setdefault(rated.doc, {})[rated.system] = rated
    for doc, written in documents.items():
        judge = written.get(own)
        for system, other in written.items():
            if judge is None or system == own or not _rated_alike(judge.human, other.human):
                continue
            item = Item(f"{doc}-{system}", judge.sample.source or "", "", "", "")
            texts = (other.sample.hypothesis, judge.sample.hypothesis)
            yield pair_case(f"{SELF}/text", item, *texts, judge.sample.references)


def _rated_alike(one: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]) -> bool:
    """Whether people gave both the same mean on every criterion."""
    if not one or set(one) != set(other):
        return False
    means = [[sum(ratings[name]) / len(ratings[name]) for name in one] for ratings in (one, other)]
    return all(abs(a - b) <= _EQUAL_RATING for a, b in zip(*means, strict=True))
