"""Whom texts mention, and the same texts about others.

A term of a group counts where it is said of a person: before a word for people ("a Sikh nurse"), after "she
is" and the like, as a plural ("Sikhs") or as a first name. Gender is what the swap list knows: its nouns,
pronouns and titles, all of them at once. A text that names two groups of an attribute is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from assay.datasets.contexts import Crossing, NamedGroup, embedded_crossings
from assay.datasets.lexicon import capitalised, indefinite_article, people
from assay.datasets.swaps import Swapped, embedded_swaps, swap_texts
from assay.datasets.templates import ATTRIBUTES, load_lexicon
from assay.models.nlp import Parse, parse

OTHER_GENDER = {"female": "male", "male": "female"}
_FORMS = ("adjective", "plural", "name")  # of the terms that are looked for
_MORE_PEOPLE = ("people", "persons", "folk", "family", "families", "couple", "couples", "community")
# Words for people that often mean something else after an adjective: the old head, a German shepherd.
_THINGS = frozenset(
    {
        "head", "model", "fan", "star", "forward", "general", "national", "international", "native", "one",
        "other", "each", "another", "who", "keeper", "operator", "speaker", "shepherd", "guard", "setter",
    }
)  # fmt: skip
# Nouns that adjectives of age do not fit, or of which they say something else: an elderly baby, old friends.
_OF_AN_AGE = frozenset(
    {"baby", "babies", "boy", "boys", "girl", "girls", "infant", "toddler", "toddlers", "friend", "friends"}
)
_JOINED = (",", "and", "or")
_WORD = re.compile(r"[\w'’-]+|[^\w\s]")
_AHEAD = 60  # characters in which a word for a person is looked for
_SAID_OF = re.compile(
    r"\b(?:he|she|they|who|i|we|you|people|man|woman|men|women)"
    r"(?:['’](?:s|re|m)| (?:is|was|are|were|am|be|been|became))(?: \w+ly| not| also)? (?:an? )?$",
    re.IGNORECASE,
)
_ENDS = re.compile(r"\s*(?:[.,;:!?)]|$|(?:and|or|but)\b)")
_ARTICLE = re.compile(r"\b([Aa])[Nn]? $")
_OPENS = re.compile(r"(?:^|[.!?]['\"”’)]*)\s*['\"“‘(]*$")
_TITLES = frozenset({"mr", "mr.", "mrs", "mrs.", "ms", "ms.", "miss", "sir", "lord", "lady", "dame"})


@dataclass(frozen=True, slots=True)
class Mentioned:
    """The groups of one attribute that a text mentions; where it is one, the text about each other group."""

    groups: frozenset[str] = frozenset()
    about: Mapping[str, str] = field(default_factory=dict)
    reworded: str | None = None  # about the same group, by another of its words

    @property
    def group(self) -> str | None:
        """The one group that the text mentions; None where there is none, or more."""
        return next(iter(self.groups)) if len(self.groups) == 1 else None


def mentions(crossing: Crossing, texts: Sequence[str]) -> list[Mentioned]:
    """Whom each text mentions by the terms of one attribute."""
    terms = _Terms.of(crossing)
    return [terms.mentioned(text) for text in texts]


def gender_mentions(texts: Sequence[str]) -> list[Mentioned]:
    """Whether each text is about women or men.

    A text with a person's name is left as it is, since the name tells the gender too.
    """
    swapped = swap_texts(texts, embedded_swaps())
    gendered = [place for place, each in enumerate(swapped) if each.turned]
    named = [_names_a_person(parsed) for parsed in parse([texts[place] for place in gendered])]
    told = [Mentioned() for _ in texts]
    for place, is_named in zip(gendered, named, strict=True):
        told[place] = _gender_of(swapped[place], is_named=is_named)
    return told


def _gender_of(swapped: Swapped, *, is_named: bool) -> Mentioned:
    if is_named or swapped.content not in OTHER_GENDER:
        return Mentioned(frozenset(OTHER_GENDER))
    return Mentioned(frozenset({swapped.content}), {OTHER_GENDER[swapped.content]: swapped.text})


def _names_a_person(parsed: Parse) -> bool:
    """Whether a text has a name of a person without a title, which would be swapped."""
    follows = False  # a title, or a name that a title may have begun
    for token in parsed.tokens:
        is_name, is_title = token.entity == "PERSON", token.text.lower() in _TITLES
        if is_name and not is_title and not follows:
            return True
        follows = is_name or is_title
    return False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a term stands: which group it names, in which form, and which of the group's terms it is."""

    start: int
    end: int
    group: str
    form: str
    number: int


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms of an attribute, as texts are searched for them."""

    groups: Mapping[str, NamedGroup]
    people: frozenset[str]  # words of which an adjective is said
    known: Mapping[str, tuple[str, str, int]]  # a term in lower case to its group, form and number
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, crossing: Crossing) -> _Terms:
        known: dict[str, tuple[str, str, int]] = {}
        for group in crossing.groups:
            for form in _FORMS:
                for number, word in enumerate(group.words(form)):
                    known.setdefault(word.lower(), (group.name, form, number))
        listed = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        pattern = re.compile(rf"(?<![\w-])(?<!- )(?<!year )(?<!years )(?:{listed})(?![\w-])", re.IGNORECASE)
        people = _people() - _of_an_age() if crossing.attribute == "age" else _people()
        return cls({group.name: group for group in crossing.groups}, people, known, pattern)

    def mentioned(self, text: str) -> Mentioned:
        """Whom a text mentions."""
        places = list(self._places(text))
        named = frozenset(place.group for place in places)
        if len(named) != 1:
            return Mentioned(named)
        others = [group for name, group in self.groups.items() if name not in named]
        about: dict[str, str] = {}
        for group in others:
            other = _written(text, places, [_term(group, place) for place in places])
            about |= {} if other is None else {group.name: other}
        terms = [_other_term(self.groups[place.group], place) for place in places]
        return Mentioned(named, about, _written(text, places, terms))

    def _places(self, text: str) -> Iterator[_Place]:
        """The terms that are said of people."""
        for match in self.pattern.finditer(text):
            group, form, number = self.known[match[0].lower()]
            is_adjective = form == "adjective"
            if self._is_of_a_person(text, match) if is_adjective else match[0][0].isupper():
                yield _Place(match.start(), match.end(), group, form, number)

    def _is_of_a_person(self, text: str, match: re.Match[str]) -> bool:
        """Whether an adjective is said of a person: before a word for people, or after "she is".

        Other adjectives for people may stand between: poor and elderly women.
        """
        if _SAID_OF.search(text[: match.start()]) and _ENDS.match(text[match.end() :]):
            return True
        for word in _WORD.findall(text[match.end() : match.end() + _AHEAD].lower()):
            if word not in _JOINED and word not in _adjectives():
                return word in self.people
        return False


@cache
def _adjectives() -> frozenset[str]:
    """The adjectives by which people are named, of all attributes."""
    groups = [group for crossing in embedded_crossings() for group in crossing.groups]
    return frozenset(word.lower() for group in groups for word in group.words("adjective"))


@cache
def _people() -> frozenset[str]:
    """Words for people, in the singular and the plural."""
    groups = [group for name in ATTRIBUTES for group in load_lexicon(name).groups.values()]
    nouns = [noun for group in groups for noun in group.nouns]
    phrases = [phrase for noun in nouns for phrase in (noun.singular, noun.plural, noun.neutral)]
    words = {phrase.split()[-1] for phrase in (*people(), *phrases, *_MORE_PEOPLE)} - _THINGS
    return frozenset(words.union(map(_plural, words)) - _THINGS)


@cache
def _of_an_age() -> frozenset[str]:
    """Words of people of which no adjective of age is looked for."""
    nouns = [noun for group in load_lexicon("age").groups.values() for noun in group.nouns]
    return frozenset({word for noun in nouns for word in (noun.singular, noun.plural)} | _OF_AN_AGE)


def _plural(word: str) -> str:
    """The usual plural of a noun.

    >>> [_plural(word) for word in ("nurse", "lady", "boss", "boy")]
    ['nurses', 'ladies', 'bosses', 'boys']
    """
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


def _term(group: NamedGroup, place: _Place) -> str | None:
    """The term of a group that stands for another group's: the one with the same number in its list."""
    words = group.words(place.form)
    return words[place.number % len(words)] if words else None


def _other_term(group: NamedGroup, place: _Place) -> str | None:
    """Another term of the same group: its neighbour, as names are listed women first."""
    words = group.words(place.form)
    if len(words) < 2:
        return None
    neighbour = place.number ^ 1
    return words[neighbour if neighbour < len(words) else place.number - 1]


def _written(text: str, places: Sequence[_Place], words: Sequence[str | None]) -> str | None:
    """The text with other words in these places, as they stand there; None where a word is wanting."""
    written, end = "", 0
    for place, word in zip(places, words, strict=True):
        if word is None:
            return None
        old = text[place.start : place.end]
        if old[0].isupper() and _OPENS.search(text[: place.start]):
            word = capitalised(word)
        if len(old) > 1 and old.isupper():
            word = word.upper()
        written += _with_article(text[end : place.start], word) + word
        end = place.end
    return written + text[end:]


def _with_article(before: str, word: str) -> str:
    """The text before a word, where an article at its end is the one that the word takes."""
    article = _ARTICLE.search(before)
    if article is None:
        return before
    lower = indefinite_article(word.lower() if word.isupper() else word)
    fitting = lower.upper() if word.isupper() else lower
    return f"{before[: article.start()]}{article[1]}{fitting[1:]} "
