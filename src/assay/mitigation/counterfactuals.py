"""Embedded corpora and lexicons to counterfactual pairs, split so that what is measured was never trained on.

A pair is two texts that differ in one identity, and a reference that names neither (unfair sec. 3.2).
Templates are split whole; identity words are split too, the first of each group apart, which every split may
use: a language has only so many pronouns. Texts that name an occupation of WinoBias are never trained on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, Literal

from assay.datasets.lexicon import indefinite_article, people, toml_file, word_list
from assay.datasets.pairs import embedded_pairs
from assay.datasets.records import embedded_records
from assay.datasets.swaps import embedded_swaps, swap_texts
from assay.datasets.templates import (
    ATTRIBUTES,
    Lexicon,
    TemplatePair,
    expand,
    load_lexicon,
    load_occupations,
    load_templates,
    render,
)
from assay.errors import DataError, suggest
from assay.recipe import digest, generator

Split = Literal["train", "validation", "test"]
_TAKE = 24  # expansions of a template
_FRAMES = 40  # occupation pairs a frame
_INSERTIONS = 3  # identities a sentence
_JOINTS = re.compile(r",? (?:because|since|as|for|when|although|even though|but|until|before|so that) ")
_CASES = ("he", "him", "his")


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Two texts that differ in whom they speak of, and a reference that does not tell."""

    attribute: str
    first: str
    second: str
    reference: str
    template: str  # what the text was made from: the unit that is split
    words: tuple[str, ...] = ()  # the identities in it

    @property
    def texts(self) -> tuple[str, str, str]:
        """All three."""
        return self.first, self.second, self.reference


def counterfactuals(attributes: Sequence[str], seed: int = 0) -> dict[Split, list[Counterfactual]]:
    """The embedded pairs of these attributes by split."""
    found: dict[Split, list[Counterfactual]] = {"train": [], "validation": [], "test": []}
    for name in attributes:
        check_attribute(name)
        for pair in _distinct(name, seed):
            part = split_of(pair)
            if part:
                found[part].append(pair)
    return found


def check_attribute(name: str, advice: str = "") -> None:
    """Refuse an attribute that assay has no words for; `advice` is what the command offers instead."""
    if name not in ATTRIBUTES:
        raise DataError(f"no lexicon for the attribute {name!r}{suggest(name, ATTRIBUTES)}{advice}")


@cache
def _distinct(name: str, seed: int) -> tuple[Counterfactual, ...]:
    return tuple(dict.fromkeys(_of_attribute(name, seed)))


def _of_attribute(name: str, seed: int) -> Iterator[Counterfactual]:
    lexicon = load_lexicon(name)
    for template in load_templates(name):
        yield from map(_plain, expand(replace(template, take=_TAKE), lexicon))
    hand = [pair for pair in embedded_pairs((name,)) if str(pair.meta["template"]).startswith("hand")]
    for pair in hand:
        words = (pair.meta["identity"], pair.meta["anti_identity"])
        unit = f"{name}-{pair.meta['template']}"
        yield Counterfactual(name, pair.stereotype, pair.anti_stereotype, pair.references[0], unit, words)
    if name == "gender":
        yield from occupation_pairs(seed)
        yield from swapped_pairs(sentences())
    else:
        yield from inserted_pairs(sentences(), lexicon, seed)


def _plain(pair: TemplatePair) -> Counterfactual:
    words = (pair.identity or "", pair.anti_identity or "")
    return Counterfactual(
        pair.attribute, pair.stereotype, pair.anti_stereotype, pair.reference, pair.template, words
    )


def split_of(pair: Counterfactual) -> Split | None:
    """Where a pair belongs; None where its template is trained on and a word of it is held out."""
    part = split_of_template(pair.template)
    if part == "test":
        return part
    if any(is_held_out(word, pair.attribute) for word in pair.words) or names_winobias(*pair.texts):
        return None
    return part


def split_of_template(template: str) -> Split:
    """By content: two in ten tested, one in ten validated; frames are joined within a split only."""
    return _SPLITS[int(digest("split", template.split("+")[0])[:8], 16) % 10]


_SPLITS: tuple[Split, ...] = ("test", "test", "validation", *("train",) * 7)


@cache
def is_held_out(word: str, attribute: str) -> bool:
    """Whether an identity word is kept for testing; a group's first words and pronouns never are."""
    if attribute not in ATTRIBUTES:
        return False
    known = load_lexicon(attribute)
    core = {text.lower() for text in _core(known)}
    return word.lower() not in core and int(digest("word", word.lower())[:8], 16) % 4 == 0


def _core(lexicon: Lexicon) -> Iterator[str]:
    for group in lexicon.groups.values():
        yield from group.adjectives[:1]
        yield from group.pronouns.slots().values()
        for noun in group.nouns[:1]:
            yield from (noun.singular, noun.plural)


def names_winobias(*texts: str) -> bool:
    """Whether a text names an occupation that WinoBias tests."""
    return any(_winobias().search(text) for text in texts)


@cache
def _winobias() -> re.Pattern[str]:
    named = "|".join(re.escape(o.name) for o in load_occupations() if o.winobias)
    return re.compile(rf"\b(?:{named})(?:s|es)?\b", re.IGNORECASE)


def occupation_pairs(seed: int = 0) -> Iterator[Counterfactual]:
    """Frames of two occupations and a pronoun; also one frame's first clause with another's last."""
    frames = list(_frames())
    others = [o.name for o in load_occupations() if not o.winobias]
    for frame in frames:
        rng = generator(seed, "occupations", frame["id"])
        for _ in range(_FRAMES if "+" not in frame["id"] else 2):
            yield from _filled(frame, rng.sample(others, 2))


def _frames() -> Iterator[dict[str, Any]]:
    plain = toml_file("stereotypes", "gender_occupation.templates")["template"]
    yield from plain
    halves = [(frame, _JOINTS.search(frame["text"])) for frame in plain]
    cut = [(f, f["text"][: m.start()], m[0], f["text"][m.end() :]) for f, m in halves if m]
    for one, other in product(cut, cut):
        together = split_of_template(one[0]["id"]) == split_of_template(other[0]["id"])
        if together and one[0]["id"] != other[0]["id"] and "{" not in _without_people(one[1]):
            text = f"{one[1]}{other[2]}{other[3]}"
            yield {**other[0], "id": f"{one[0]['id']}+{other[0]['id']}", "text": text}


def _without_people(clause: str) -> str:
    return clause.replace("{first}", "").replace("{second}", "")


def _filled(frame: dict[str, Any], names: Sequence[str]) -> Iterator[Counterfactual]:
    case = next((slot for slot in _CASES if f"{{{slot}}}" in frame["text"]), None)
    if case is None:
        return
    groups = load_lexicon("gender").groups
    slots = {"first": names[0], "second": names[1]}
    whom = f"the {names[frame['refers'] - 1]}" + ("'s" if case == "his" else "")
    words = [groups[name].pronouns.slots()[case] for name in ("female", "male")]
    first, second, reference = (render(frame["text"], {**slots, case: word}) for word in (*words, whom))
    yield Counterfactual("gender", first, second, reference, frame["id"], tuple(words))


@cache
def sentences() -> tuple[tuple[str, str], ...]:
    """Texts of the embedded corpora with the item each comes from; long ones are left out."""
    tasks = ("image-captioning", "translation", "dialogue", "question-generation")
    found: dict[str, str] = {}
    for task in tasks:
        for record in embedded_records(task):  # type: ignore[arg-type]
            for text in (record.gold, *record.references):
                if len(text.split()) <= 30:
                    found.setdefault(text, record.id)
    return tuple(found.items())


def swapped_pairs(texts: Iterable[tuple[str, str]]) -> Iterator[Counterfactual]:
    """Every gendered word turned, against the text with neutral words (CDA, Zhao et al. 2018)."""
    listed = list(texts)
    swapped = swap_texts([text for text, _ in listed], embedded_swaps())
    for (text, item), other in zip(listed, swapped, strict=True):
        if other.turned and other.neutral and other.content != "both":
            words = tuple(word for turn in other.turned for word in turn)
            yield Counterfactual("gender", text, other.text, other.neutral, f"swap-{item}", words)


def inserted_pairs(
    texts: Iterable[tuple[str, str]], lexicon: Lexicon, seed: int = 0
) -> Iterator[Counterfactual]:
    """An adjective of one group, or of another, before the first person of a text, its own reference."""
    groups = [group.adjectives for group in lexicon.groups.values() if group.adjectives]
    for text, item in texts:
        found = _person().search(text)
        if not found:
            continue
        rng = generator(seed, f"insert-{lexicon.attribute}", text)
        for _ in range(_INSERTIONS):
            words = tuple(rng.choice(group) for group in rng.sample(groups, 2))
            first, second = (_with_adjective(text, found, word) for word in words)
            unit = f"{lexicon.attribute}-{item}"
            yield Counterfactual(lexicon.attribute, first, second, text, unit, words)


def _with_adjective(text: str, found: re.Match[str], word: str) -> str:
    article = found["article"] or ""
    if article.lower() in ("a", "an"):
        fitting = indefinite_article(word)
        article = fitting.capitalize() if article[0].isupper() else fitting
    start = f"{article} {word} " if article else f"{word} "
    made = text[: found.start()] + start + found["noun"] + text[found.end() :]
    return made[:1].upper() + made[1:]


@cache
def _person() -> re.Pattern[str]:
    """A person or people, with the word before them that stays in front."""
    known = {noun for name in people() for noun in (name, f"{name}s")}
    for group in load_lexicon("gender").groups.values():
        known |= {w for n in group.nouns for w in (n.singular, n.plural, n.neutral, n.neutral_plural)}
    nouns = known - set(word_list("words", "stop_words", "words"))
    listed = "|".join(sorted(map(re.escape, nouns), key=len, reverse=True))
    before = r"(?:(?P<article>a|an|the|two|three|some|his|her|our|my|their) )?"
    return re.compile(rf"\b{before}(?P<noun>{listed})\b(?! of\b)", re.IGNORECASE)
