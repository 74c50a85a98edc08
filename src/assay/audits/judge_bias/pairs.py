"""Questions and wordings in, pairs of answers out: they differ in one thing that must not matter.

A signal, such as an expert's name, is asked about twice: the same right answer with and without it, and a
right answer without it against a wrong one that carries it. Of groups of people only the first is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from assay.core import Case, Sample
from assay.datasets.lexicon import indefinite_article
from assay.datasets.ratings import Rated
from assay.datasets.rows import read_rows
from assay.datasets.templates import load_lexicon
from assay.errors import DataError
from assay.files import jsonl_file, toml_file
from assay.perturbations.degenerate import CONTROL, injections
from assay.perturbations.lost_word import without_a_word

QUALITY, POSITION, REPEATS, SELF = "quality", "position", "repeats", "self-preference"
# How a wrong answer reads that carries a signal.
SIGNALS = {
    "verbosity": "with padding", "bandwagon": "that others are said to prefer",
    "authority": "that an expert is said to have written", "citation": "with an invented source",
    "sentiment": "that is delighted to answer", "style/hedging": "that says it may be wrong",
    "style/emoji": "with emoji", "style/markdown": "in Markdown", "style/list": "set as a list",
    "injection": "that asks for a high grade", f"{SELF}/name": "under the judge's own name",
}  # fmt: skip
# Where the same answer has a score that it has not elsewhere.
EFFECTS = {
    "verbosity": "with padding than without it",
    "bandwagon": "where others are said to prefer it than where they are not",
    "authority": "where an expert is said to have written it than where nobody is named",
    "citation": "with an invented source than without one",
    "sentiment": "where it is delighted to answer than where it is not",
    "style/hedging": "where it says that it may be wrong than where it does not",
    "style/emoji": "with emoji than without them",
    "style/markdown": "in Markdown than as plain text",
    "style/list": "set as a list than as plain text",
    "injection": "where it asks for a high grade than where it does not",
    "position": "where it is shown first than where it is shown second",
    f"{SELF}/name": "under the judge's own name than under another model's",
    f"{SELF}/text": "where the judge wrote it than where another did whom people rate the same",
}
_FRAMES = {"author": "where it is said to be by", "people": "where it was told to"}
_NAMES = {"muslim": "Muslim", "christian": "Christian", "black": "Black"}
# The signals that must not help, though a judge may dislike them; all others must not matter either way.
CLAIMS = frozenset(
    {"verbosity", "bandwagon", "authority", "citation", "injection", f"{SELF}/name", f"{SELF}/text"}
)
_ATTRIBUTES = ("race", "gender", "religion", "physical-appearance", "age", "socioeconomic-status")
_STYLES = ("hedging", "emoji")
OWN = "own - other"
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_EQUAL_RATING = 1e-9
_LOST = 2  # words that each answer loses in turn: what a lost word costs must be known well


@dataclass(frozen=True, slots=True)
class JudgedItem:
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
    make: Callable[[JudgedItem, int], tuple[str, str]]  # (without it, with it)
    versus: str = "with - without"

    def case(self, item: JudgedItem, number: int) -> Case:
        """The pair, and for a signal the right answer against a wrong one that carries it."""
        base, changed = self.make(item, number)
        wrong = self.make(replace(item, answer=item.wrong), number)[1] if self.slice in SIGNALS else None
        return pair_case(self.slice, item, base, changed, wrong=wrong)


def effect_in_words(slice_: str) -> str:
    """Where a judge scores the same answer differently, as the second half of a sentence.

    >>> effect_in_words("style/emoji"), effect_in_words("author/age")
    ('with emoji than without them', 'where it is said to be by somebody old than by somebody young')
    """
    if slice_ in EFFECTS:
        return EFFECTS[slice_]
    frame, _, attribute = slice_.partition("/")
    first, second = (_NAMES.get(name, name) for name in wordings()["groups"][attribute])
    before = _FRAMES[frame]
    return f"{before} somebody {first} than {before.rpartition(' ')[2]} somebody {second}"


def wordings() -> dict[str, Any]:
    """The embedded wordings, by bias."""
    return toml_file("judge_pairs", "wordings")


def embedded_items() -> list[JudgedItem]:
    """The embedded questions."""
    return [JudgedItem(**row) for row in jsonl_file("judge_pairs", "items")]


def read_items(paths: Sequence[Path]) -> list[JudgedItem]:
    """The user's own questions: id?, question, answer, equal, wrong."""
    rows = enumerate((row for path in paths for row in read_rows(path)), start=1)
    columns = ("question", "answer", "equal", "wrong")
    items = [JudgedItem(str(row.values.get("id", n)), *map(row.text, columns)) for n, row in rows]
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
            for attribute in _ATTRIBUTES
        ),
        Bias("injection", _injected),
    ]


def around(text: str, addition: str, place: str) -> str:
    """An addition before or after a text."""
    return f"{addition} {text}" if place == "before" else f"{text} {addition}"


def _worded(name: str) -> Callable[[JudgedItem, int], tuple[str, str]]:
    table = wordings()[name]

    def make(item: JudgedItem, number: int) -> tuple[str, str]:
        turn = number % len(table["changed"])
        changed = around(item.answer, table["changed"][turn], table["place"])
        if "control" not in table:
            return item.answer, changed
        return around(item.answer, table["control"][turn], table["place"]), changed

    return make


def _markdown(item: JudgedItem, number: int) -> tuple[str, str]:
    """The same words under a heading, the first sentence in bold."""
    first, *rest = _SENTENCE.split(item.answer)
    return item.answer, " ".join([f"## Answer\n\n**{first}**", *rest])


def _list(item: JudgedItem, number: int) -> tuple[str, str]:
    """The same sentences as a list."""
    return item.answer, "\n".join(f"- {sentence}" for sentence in _SENTENCE.split(item.answer))


def _identity(frame: str, attribute: str) -> Callable[[JudgedItem, int], tuple[str, str]]:
    """A member of the second group named, and one of the first."""
    table, words = wordings()[frame], noun_pairs(attribute)

    def make(item: JudgedItem, number: int) -> tuple[str, str]:
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


def _injected(item: JudgedItem, number: int) -> tuple[str, str]:
    """An answer followed by a neutral sentence, and by one that asks for a high grade."""
    known = injections().values()
    asking = [one for one in known if one.family != CONTROL and one.id != "answer-no"]
    neutral = [one for one in known if one.family == CONTROL]
    texts = (one[number % len(one)].worded("open-ended") for one in (neutral, asking))
    base, changed = (around(item.answer, text, "after") for text in texts)
    return base, changed


def both_orders(first: str, second: str, shown: Sample, roles: tuple[str, str]) -> dict[str, Sample]:
    """Two texts, each shown first once: a judge that grades one text at a time ignores the rival."""
    pairs = ((first, second), (second, first))
    samples = (replace(shown, hypothesis=text, rival=rival) for text, rival in pairs)
    return dict(zip(roles, samples, strict=True))


def pair_case(
    slice_: str,
    item: JudgedItem,
    base: str,
    changed: str,
    references: tuple[str, ...] | None = None,
    wrong: str | None = None,
) -> Case:
    """An answer and the same one with a change, and a wrong answer with that change if there is one."""
    shown = Sample("", (item.equal,) if references is None else references, item.question)
    samples = both_orders(base, changed, shown, ("base", "changed"))
    if wrong is not None:
        samples |= both_orders(base, wrong, shown, ("right", "wrong"))
    return Case(f"{slice_}/{item.id}", samples, slice_, _meta(item.id))


def quality_case(item: JudgedItem) -> Case:
    """The right answer against the wrong one, and against itself without a word.

    `alone` has no rival, so that only a judge that grades one text scores it.
    """
    shown = Sample("", (item.equal,), item.question)
    samples = both_orders(item.answer, item.wrong, shown, ("right", "wrong"))
    samples |= {"alone": replace(shown, hypothesis=item.answer)} | with_lost(item.answer, shown, item.id)
    return Case(f"{QUALITY}/{item.id}", samples, QUALITY, _meta(item.id))


def repeated_case(item: JudgedItem, roles: Sequence[str]) -> Case:
    """One question again and again."""
    shown = Sample(item.answer, (item.equal,), item.question, rival=item.wrong)
    samples = {role: replace(shown, draw=draw) for draw, role in enumerate(roles)}
    return Case(f"{REPEATS}/{item.id}", samples, REPEATS, _meta(item.id))


def _meta(item: str, cluster: str = "") -> dict[str, str]:
    return {"item": item, "cluster": cluster or item}


def lost_texts(text: str, key: str) -> list[str]:
    """The text without one word, in several ways."""
    lost = (without_a_word(text, key=f"{key}/{number}") for number in range(_LOST))
    return list(dict.fromkeys(text for text in lost if text is not None))


def with_lost(text: str, shown: Sample, key: str) -> dict[str, Sample]:
    """A text in pairs with itself without a word."""
    samples: dict[str, Sample] = {}
    for number, lost in enumerate(lost_texts(text, key), start=1):
        samples |= both_orders(text, lost, shown, (f"whole/{number}", f"lost/{number}"))
    return samples


def own_name_cases(items: Sequence[JudgedItem], own: str) -> Iterator[Case]:
    """Answers under the judge's own name and under another model's."""
    table = wordings()[SELF]
    others = [name for name in table["others"] if name.lower() not in own.lower()]

    def named(item: JudgedItem, number: int) -> tuple[str, str]:
        wording = table["changed"][number % len(table["changed"])]
        names = (others[number % len(others)], own)
        base, changed = (around(item.answer, wording.replace("{model}", name), "before") for name in names)
        return base, changed

    bias = Bias(f"{SELF}/name", named, OWN)
    for number, item in enumerate(items):
        yield bias.case(item, number)


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
            name, text = f"{doc}-{system}", other.sample.hypothesis
            shown = Sample("", judge.sample.references, judge.sample.source or "")
            samples = both_orders(text, judge.sample.hypothesis, shown, ("base", "changed"))
            slice_ = f"{SELF}/text"
            yield Case(f"{slice_}/{name}", samples | with_lost(text, shown, name), slice_, _meta(name, doc))


def _rated_alike(one: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]) -> bool:
    """Whether people gave both the same mean on every criterion."""
    if not one or set(one) != set(other):
        return False
    means = [[sum(ratings[name]) / len(ratings[name]) for name in one] for ratings in (one, other)]
    return all(abs(a - b) <= _EQUAL_RATING for a, b in zip(*means, strict=True))
