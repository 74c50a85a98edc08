"""Content templates: other nouns and verbs, another gender, other attributes, objects swapped or repeated.

Table 5 of *checklist*; the last four are for captions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import (
    attributes,
    capitalised,
    match_case,
    people,
    template_words,
    toml_file,
    word_list,
    word_set,
)
from assay.datasets.swaps import embedded_swaps
from assay.models.nlp import Parse, Span, Token, parse, parse_one
from assay.perturbations.checklist.meaning import stands_free
from assay.perturbations.edit import (
    WordEdit,
    children,
    draw_share,
    inflect,
    is_all_caps,
    is_compound_part,
    is_joined,
    is_word,
    known_as,
    lemma_of,
    neighbours,
    rewrite,
    subtree,
    uncapitalised,
    word_at,
    word_indices,
)
from assay.vocabulary import Criterion

_TEXTS = 150  # of the corpus are searched for words
_LISTED_KINDS = ("animal", "vehicle", "place", "thing")
_LOOSE = frozenset(
    ["in", "at", "on", "during", "between", "near", "after", "before", "since", "under", "above"]
)


# --- nouns and verbs of other items ---


@dataclass(frozen=True, slots=True)
class _Loan:
    """A word of another item in its dictionary form, with the words beside it."""

    lemma: str
    left: str
    right: str


class _Exchange(Perturbation):
    """A share of the nouns or verbs exchanged for words of other items, in the same form."""

    criterion: ClassVar[Criterion] = "relevance"
    classes: ClassVar[tuple[str, ...]]
    alike: ClassVar[bool] = False  # take only the words whose neighbours are most alike
    share: float

    def apply(self, record: Record, rng: Random) -> str | None:
        text = parse_one(record.gold)
        places = [i for i, token in enumerate(text.tokens) if token.pos in self.classes]
        options = {i: loans for i in places if (loans := _fitting(record, text, i))}
        changes: dict[int, str] = {}
        for index in draw_share(list(options), self.share, rng):
            free = {form: loan for form, loan in options[index].items() if form not in changes.values()}
            if self.alike:
                free = _most_alike(free, _loan(text, index))
            if free:
                changes[index] = rng.choice(list(free))
        return rewrite(text, changes) if changes else None


@dataclass(frozen=True)
class ChangeNouns(_Exchange):
    """Nouns replaced by nouns of other items, of the same kind and number: the school, the market."""

    name = "change-nouns"
    classes = ("NOUN",)
    share: float = 0.5


@dataclass(frozen=True)
class ChangeVerbs(_Exchange):
    """Verbs replaced by verbs of other items in the same form; only verbs with a plain object change."""

    name = "change-verbs"
    classes = ("VERB",)
    share: float = 0.5


@dataclass(frozen=True)
class MaskedWords(_Exchange):
    """Nouns and verbs replaced by the word of another item whose neighbours are most alike.

    It stands in for the masked language model of the paper; chance decides between equals.
    """

    name = "masked-words"
    classes = ("NOUN", "VERB")
    alike = True
    share: float = 0.3


def _most_alike(loans: Mapping[str, _Loan], here: _Loan) -> dict[str, _Loan]:
    """The loans that share most neighbours with the word here."""
    shared = {form: (loan.left == here.left) + (loan.right == here.right) for form, loan in loans.items()}
    return {form: loan for form, loan in loans.items() if shared[form] == max(shared.values())}


def _fitting(record: Record, text: Parse, index: int) -> dict[str, _Loan]:
    """The words that may replace a word, in its form, none of them in the text already."""
    token, kind = text.tokens[index], _kind(text, index)
    if kind is None:
        return {}
    present = {other for t in text.tokens for other in (t.lemma.lower(), t.text.lower())}
    unfit = _unfit_verbs(text, index) if kind == "verb" else set()
    loans = [loan for loan in _loans(tuple(record.others)).get(kind, ()) if loan.lemma not in unfit]
    forms = {inflect(loan.lemma, token.tag): loan for loan in loans if loan.lemma not in present}
    return {form: loan for form, loan in forms.items() if form and form not in present}


def _unfit_verbs(text: Parse, index: int) -> set[str]:
    """Verbs too near in meaning to change much, and those that fit no place: borrow the cinema."""
    verb = _loan(text, index).lemma
    groups = toml_file("checklist", "nouns")["verbs_alike"]
    near = {other for group in groups if verb in group for other in group}
    place = any(t.dep == "dobj" and _noun_kind(t) == "place" for t in children(text, index))
    return near | (word_set("checklist", "nouns", "portable_verbs") if place else set())


@lru_cache(maxsize=8)
def _loans(others: tuple[str, ...]) -> Mapping[str, tuple[_Loan, ...]]:
    """The words of a corpus by kind, each once."""
    table: dict[str, dict[str, _Loan]] = defaultdict(dict)
    for text in parse(others[:_TEXTS]):
        for index, token in enumerate(text.tokens):
            loan = _loan(text, index)
            wide = token.pos == "VERB" and loan.lemma in word_set("checklist", "nouns", "wide_verbs")
            kind = "verb" if wide else _kind(text, index)
            if kind and (wide or kind != "verb"):
                table[kind].setdefault(loan.lemma, loan)
    return {kind: tuple(words.values()) for kind, words in table.items()}


def _loan(text: Parse, index: int) -> _Loan:
    token = text.tokens[index]
    lemma = lemma_of(token.text, "verb" if token.pos == "VERB" else "noun")
    return _Loan(lemma, word_at(text, index - 1), word_at(text, index + 1))


def _kind(text: Parse, index: int) -> str | None:
    """The kind of words that may replace a word: verb, person, animal and so on; None where few would fit."""
    token = text.tokens[index]
    if token.text in word_set("words", "stop_words") or token.entity in ("DATE", "TIME"):
        return None
    if not token.text.islower() or not known_as(token.text, token.pos) or not stands_free(text, index):
        return None
    if token.pos == "VERB":
        return "verb" if _has_plain_object(text, index) else None
    kind = _noun_kind(token) if token.pos == "NOUN" and _is_plain_noun(text, index) else None
    return None if kind == "thing" and not _any_thing_fits(text, index) else kind


def _any_thing_fits(text: Parse, index: int) -> bool:
    """Whether other things fit as well: what one finds or repairs, or what is in some place."""
    token = text.tokens[index]
    head = text.tokens[token.head]
    if token.dep == "dobj":
        verb = lemma_of(head.text, "verb")
        return any(verb in word_set("checklist", "nouns", name) for name in ("wide_verbs", "handling_verbs"))
    return token.dep == "pobj" and head.text.lower() not in ("of", "from")


def _is_plain_noun(text: Parse, index: int) -> bool:
    """Whether a noun is alone in its phrase, with an article or owner if it is singular."""
    token, dependents = text.tokens[index], children(text, index)
    fixed = any(t.dep in ("compound", "relcl", "acl", "appos", "prep") and t.text != "in" for t in dependents)
    bare = token.tag == "NN" and not any(t.dep in ("det", "poss") for t in dependents)
    verbal = token.tag == "NN" and token.dep == "ROOT"  # did he train, misread
    return not (fixed or bare or verbal) and token.dep not in ("compound", "nmod", "npadvmod", "conj")


def _noun_kind(token: Token) -> str | None:
    """Person, animal, vehicle, place or thing; None for what cannot be touched."""
    lemma = lemma_of(token.text, "noun")
    if lemma in people():
        return "person"
    for kind in _LISTED_KINDS:
        if lemma in word_set("checklist", "nouns", kind):
            return kind
    return None if lemma in _vague_nouns() or lemma.endswith(_vague_endings()) else "thing"


@cache
def _vague_nouns() -> frozenset[str]:
    """Nouns for what cannot be touched or counted."""
    mass, abstract = (word_set("checklist", "nouns", key) for key in ("mass", "abstract"))
    return mass | abstract | template_words("nouns_unfinished") | template_words("collective")


@cache
def _vague_endings() -> tuple[str, ...]:
    """Endings of nouns for what cannot be touched, or for what may be a person."""
    abstract = word_list("checklist", "nouns", "abstract_endings")
    return (*abstract, *word_list("checklist", "templates", "person_endings"))


def _has_plain_object(text: Parse, index: int) -> bool:
    """Whether a verb has an object one can touch, and no other complement but a place or time."""
    dependents = children(text, index)
    bound = any(t.dep in ("dative", "xcomp", "ccomp", "oprd", "prt") for t in dependents)
    loose = all(t.text.lower() in _LOOSE for t in dependents if t.dep == "prep")
    objects = [t for t in dependents if t.dep == "dobj"]
    # Penguins take no photographs.
    animal = any(t.dep == "nsubj" and _noun_kind(t) == "animal" for t in dependents)
    return loose and not bound and not animal and len(objects) == 1 and _is_touchable(objects[0])


def _is_touchable(token: Token) -> bool:
    if token.pos != "NOUN":
        return token.text.lower() == "what"
    lemma = lemma_of(token.text, "noun")
    mass, abstract = (word_set("checklist", "nouns", key) for key in ("mass", "abstract"))
    return _noun_kind(token) in _LISTED_KINDS or (lemma in mass and lemma not in abstract)


# --- gender and attributes ---


@dataclass(frozen=True)
class ChangeGender(WordEdit):
    """Every gendered word becomes its counterpart: two girls, two boys."""

    name = "change-gender"
    criterion = "correctness"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        # Words in capitals are tagged as names: read the tags of the text in lower case.
        lower = parse_one(parse.text.lower()) if is_all_caps(parse.text) else parse
        tagged = lower if len(lower.tokens) == len(parse.tokens) else parse
        changes = {}
        for index, token in enumerate(parse.tokens):
            counterpart = embedded_swaps().tagged.get((token.text.lower(), tagged.tokens[index].tag))
            if counterpart and not is_compound_part(parse, index):
                changes[index] = match_case(counterpart.other, token.text)
        return changes


@dataclass(frozen=True)
class ChangeAttributes(WordEdit):
    """Colours, sizes, materials and patterns changed, the same everywhere: a red ball, a green ball."""

    name = "change-attributes"
    criterion = "correctness"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        present = {token.text.lower() for token in parse.tokens}
        chosen: dict[str, str] = {}
        changes = {}
        for index, token in enumerate(parse.tokens):
            taken = present | set(chosen.values())
            others = [o for o in attributes().get(token.text.lower(), ()) if o not in taken]
            if others and _modifies(parse, index):
                word = chosen.get(token.text.lower()) or rng.choice(others)
                chosen[token.text.lower()] = word
                changes[index] = match_case(word, token.text)
        return changes


def _modifies(parse: Parse, index: int) -> bool:
    token = parse.tokens[index]
    attributive = token.dep in ("amod", "compound", "conj", "acomp", "nmod")
    return attributive and token.pos in ("ADJ", "NOUN", "VERB", "PROPN") and not is_joined(parse, index)


# --- objects ---


@dataclass(frozen=True)
class SwapObjects(WordEdit):
    """Two things change places, with all that is said of them: a tree is standing in front of the man."""

    name = "swap-objects"
    criterion = "correctness"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        pairs = _swappable(parse)
        if not pairs:
            return {}
        first, second = rng.choice(pairs)
        opens = first.start == 0
        here = capitalised(parse.piece(second)) if opens else parse.piece(second)
        there = uncapitalised(parse, first) if opens else parse.piece(first)
        changes = {i: "" for span in (first, second) for i in range(span.start, span.end)}
        return changes | {first.start: here, second.start: there}


@dataclass(frozen=True)
class RepeatObject(WordEdit):
    """An object appears twice: A lady riding a horse and a lady. The text must end in a noun phrase."""

    name = "repeat-object"
    criterion = "thoroughness"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        chunks, words = _object_chunks(parse), word_indices(parse)
        countable = [c for c in chunks[:-1] or chunks if _is_counted(parse, c) and not _is_part(parse, c)]
        if not countable or chunks[-1].end - 1 != words[-1]:
            return {}
        repeated = rng.choice(countable)
        phrase = uncapitalised(parse, repeated) if repeated.start == 0 else parse.piece(repeated)
        return {words[-1]: f"{parse.tokens[words[-1]].text} and {phrase}"}


def _object_chunks(parse: Parse) -> list[Span]:
    """Noun phrases of things and people, without marks."""
    return [c for c in parse.chunks if _names_object(parse, c) and _has_no_marks(parse, c)]


def _names_object(parse: Parse, chunk: Span) -> bool:
    """Whether a phrase is whole and names a thing: not the front of "in front of", no misread verb."""
    head = parse.tokens[chunk.end - 1]
    cut = chunk.start > 0 and parse.tokens[chunk.start - 1].pos in ("ADJ", "DET", "NUM")
    singular = word_at(parse, chunk.start) in ("a", "an")
    verb = head.tag == "NNS" and (head.dep == "ROOT" or singular)
    place = head.text.lower() in template_words("place_nouns")
    return head.pos in ("NOUN", "PROPN") and not cut and not verb and not place


def _has_no_marks(parse: Parse, chunk: Span) -> bool:
    return all(is_word(t) or t.text == "-" for t in parse.tokens[chunk.start : chunk.end])


def _swappable(parse: Parse) -> list[tuple[Span, Span]]:
    """Neighbouring phrases of the main clause, equal in number, whose first no pronoun refers to."""
    things = [(chunk, whole) for chunk in _object_chunks(parse) if (whole := _whole_phrase(parse, chunk))]
    pairs = [
        (first, second)
        for (chunk, first), (other, second) in pairwise(things)
        if _is_plural(parse, chunk) == _is_plural(parse, other) and first.end <= second.start
        if _is_counted(parse, chunk) and _is_counted(parse, other) and not _has_pronoun_outside(parse, first)
        if parse.piece(first).lower() != parse.piece(second).lower()
    ]
    return [pair for pair in pairs if pair[0].label == "nsubj"] or pairs


def _whole_phrase(parse: Parse, chunk: Span) -> Span | None:
    """A noun phrase and all its dependents, labelled with its part in the main clause, or None."""
    head = chunk.end - 1
    token, span = parse.tokens[head], subtree(parse, head)
    if span is None or span.start != chunk.start or not _has_no_marks(parse, span):
        return None
    up = parse.tokens[token.head]
    while up.dep == "prep" or (up.dep == "pobj" and up.text.lower() in template_words("place_nouns")):
        up = parse.tokens[up.head]
    joined = any(t.dep == "conj" for t in children(parse, head))
    part = token.dep in ("nsubj", "dobj", "pobj") and up.dep == "ROOT" and not joined
    return Span(span.start, span.end, token.dep) if part else None


def _is_plural(parse: Parse, chunk: Span) -> bool:
    return parse.tokens[chunk.end - 1].tag in ("NNS", "NNPS")


def _is_counted(parse: Parse, chunk: Span) -> bool:
    """Whether a phrase has an article or a number: a loaf, not bread."""
    return parse.tokens[chunk.start].tag in ("DT", "CD")


def _is_part(parse: Parse, chunk: Span) -> bool:
    """Whether a phrase is part of a longer one on either side: a slice of the bread."""
    return any(t.text.lower() == "of" for t in neighbours(parse, chunk.start, chunk.end))


def _has_pronoun_outside(parse: Parse, phrase: Span) -> bool:
    """Whether a pronoun outside the phrase may refer to it: a man beside his dog."""
    return any(
        token.tag in ("PRP", "PRP$") and not phrase.start <= index < phrase.end
        for index, token in enumerate(parse.tokens)
    )
