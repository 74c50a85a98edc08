"""Content templates: other nouns and verbs, another gender, other attributes, objects swapped or repeated.

Table 5 of *checklist*; the last four are for captions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.datasets import lexicon
from assay.datasets.swaps import embedded_swaps
from assay.models.nlp import Span, Token, parse
from assay.perturbations import edit
from assay.perturbations.checklist.meaning import stands_free
from assay.perturbations.edit import Text
from assay.vocabulary import Criterion

_TEXTS = 150  # of the corpus are searched for words
_LISTED_KINDS = ("animal", "vehicle", "place", "thing")
_LOOSE = {"in", "at", "on", "during", "between", "near", "after", "before", "since", "under", "above"}


# --- nouns and verbs of other items ---


class _Exchange(Perturbation):
    """A share of the words of some classes is exchanged for words of other items."""

    criterion: ClassVar[Criterion] = "relevance"
    classes: ClassVar[Collection[str]]
    share: float

    def apply(self, record: Record, rng: Random) -> str | None:
        text = edit.read(record.gold)
        places = [i for i, token in enumerate(text.tokens) if token.pos in self.classes]
        options = {i: forms for i in places if (forms := _fitting(record, text, i))}
        changes: dict[int, str] = {}
        for index in edit.draw_share(list(options), self.share, rng):
            free = [form for form in options[index] if form not in changes.values()]
            if free:
                changes[index] = rng.choice(free)
        return edit.rewrite(text, changes)


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


def _fitting(record: Record, text: Text, index: int) -> dict[str, int]:
    """The words that may replace a word, in its form, with the number of neighbours they have in common.

    None of them is in the text already.
    """
    token, kind = text.tokens[index], _kind(text, index)
    if kind is None:
        return {}
    here = (text.word_at(index - 1), text.word_at(index + 1))
    present = {other for t in text.tokens for other in (t.lemma.lower(), t.text.lower())}
    unfit = present | _unfit_verbs(text, index) if kind == "verb" else present
    loans = _loans(tuple(record.others)).get(kind, {})
    forms = {edit.inflect(lemma, token.tag): beside for lemma, beside in loans.items() if lemma not in unfit}
    return {
        form: sum(word == other for word, other in zip(here, beside, strict=True))
        for form, beside in forms.items()
        if form and form not in present
    }


def _unfit_verbs(text: Text, index: int) -> set[str]:
    """Verbs too near in meaning to change much, and those that fit no place: borrow the cinema."""
    verb = edit.lemma_of(text.tokens[index].text, "verb")
    groups = lexicon.toml_file("checklist", "nouns")["verbs_alike"]
    near = {other for group in groups if verb in group for other in group}
    place = any(t.dep == "dobj" and _noun_kind(t.text) == "place" for t in text.children(index))
    return near | (lexicon.word_set("checklist", "nouns", "portable_verbs") if place else set())


@lru_cache(maxsize=8)
def _loans(others: tuple[str, ...]) -> Mapping[str, Mapping[str, tuple[str, str]]]:
    """The words of a corpus by kind, each once: its dictionary form and the words beside it."""
    table: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for text in map(Text.of, parse(others[:_TEXTS])):
        for index, token in enumerate(text.tokens):
            lemma = edit.lemma_of(token.text, "verb" if token.pos == "VERB" else "noun")
            wide = token.pos == "VERB" and lemma in lexicon.word_set("checklist", "nouns", "wide_verbs")
            kind = "verb" if wide else _kind(text, index)
            vague = kind == "thing" and lemma not in lexicon.word_set("checklist", "nouns", "thing")
            if kind and not vague and (wide or kind != "verb"):
                table[kind].setdefault(lemma, (text.word_at(index - 1), text.word_at(index + 1)))
    return table


def _kind(text: Text, index: int) -> str | None:
    """The kind of words that may replace a word: verb, person, animal and so on; None where few would fit."""
    token = text.tokens[index]
    stop_word = token.text in lexicon.word_set("words", "stop_words")
    if stop_word or token.entity in ("DATE", "TIME") or not token.text.islower():
        return None
    if token.pos not in edit.known_classes(token.text) or not stands_free(text, index):
        return None
    if token.pos == "VERB":
        return "verb" if _has_plain_object(text, index) else None
    kind = _noun_kind(token.text) if token.pos == "NOUN" and _is_plain_noun(text, index) else None
    return None if kind == "thing" and not _any_thing_fits(text, index) else kind


def _any_thing_fits(text: Text, index: int) -> bool:
    """Whether other things fit as well: what one finds or repairs, or what is in some place."""
    token = text.tokens[index]
    head = text.tokens[token.head]
    if token.dep == "dobj":
        verbs = [lexicon.word_set("checklist", "nouns", key) for key in ("wide_verbs", "handling_verbs")]
        return any(edit.lemma_of(head.text, "verb") in words for words in verbs)
    return token.dep == "pobj" and head.text.lower() not in ("of", "from")


def _is_plain_noun(text: Text, index: int) -> bool:
    """Whether a noun is alone in its phrase, with an article or owner if it is singular."""
    token, dependents = text.tokens[index], text.children(index)
    fixed = any(t.dep in ("compound", "relcl", "acl", "appos", "prep") and t.text != "in" for t in dependents)
    bare = token.tag == "NN" and not any(t.dep in ("det", "poss") for t in dependents)
    verbal = token.tag == "NN" and token.dep == "ROOT"  # did he train, misread
    return not (fixed or bare or verbal) and token.dep not in ("compound", "nmod", "npadvmod", "conj")


@cache
def _noun_kind(noun: str) -> str | None:
    """Person, animal, vehicle, place or thing; None for what cannot be touched or counted."""
    lemma = edit.lemma_of(noun, "noun")
    if lemma in lexicon.people():
        return "person"
    for kind in _LISTED_KINDS:
        if lemma in lexicon.word_set("checklist", "nouns", kind):
            return kind
    nouns = [lexicon.word_set("checklist", "nouns", key) for key in ("mass", "abstract")]
    nouns += [lexicon.template_words(key) for key in ("nouns_unfinished", "collective")]
    abstract = lexicon.word_list("checklist", "nouns", "abstract_endings")
    endings = (*abstract, *lexicon.word_list("checklist", "templates", "person_endings"))
    return None if lemma.endswith(endings) or any(lemma in words for words in nouns) else "thing"


def _has_plain_object(text: Text, index: int) -> bool:
    """Whether a verb has an object one can touch, and no other complement but a place or time."""
    dependents = text.children(index)
    bound = any(t.dep in ("dative", "xcomp", "ccomp", "oprd", "prt") for t in dependents)
    loose = all(t.text.lower() in _LOOSE for t in dependents if t.dep == "prep")
    objects = [t for t in dependents if t.dep == "dobj"]
    # Penguins take no photographs.
    animal = any(t.dep == "nsubj" and _noun_kind(t.text) == "animal" for t in dependents)
    return loose and not bound and not animal and len(objects) == 1 and _is_touchable(objects[0])


def _is_touchable(token: Token) -> bool:
    lemma = edit.lemma_of(token.text, "noun")
    mass, abstract = (lexicon.word_set("checklist", "nouns", key) for key in ("mass", "abstract"))
    listed = any(lemma in lexicon.word_set("checklist", "nouns", kind) for kind in _LISTED_KINDS)
    return token.pos == "NOUN" and (listed or (lemma in mass and lemma not in abstract))


# --- gender and attributes ---


@edit.template("change-gender", "correctness")
def ChangeGender(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every gendered word becomes its counterpart: two girls, two boys."""
    # Words in capitals are tagged as names: read the tags of the text in lower case.
    lower = edit.read(parse.text.lower()) if edit.is_all_caps(parse.text) else parse
    tagged = lower if len(lower.tokens) == len(parse.tokens) else parse
    changes = {}
    for index, token in enumerate(parse.tokens):
        counterpart = embedded_swaps().tagged.get((token.text.lower(), tagged.tokens[index].tag))
        if counterpart and not parse.is_compound_part(index):
            changes[index] = lexicon.match_case(counterpart.other, token.text)
    return {} if _only_turned(parse, changes) else changes


def _only_turned(parse: Text, changes: Mapping[int, str]) -> bool:
    """Whether the changes only turn a list round: a boy and a girl, a girl and a boy."""
    words = [parse.word_at(i) for i in changes]
    if not changes or sorted(words) != sorted(word.lower() for word in changes.values()):
        return False
    between = {parse.word_at(i) for i in range(min(changes), max(changes)) if i not in changes}
    return between <= {"and", "or", "&", ",", "/", "a", "an", "the", "one", "two", "three", "young", "little"}


@edit.template("change-attributes", "correctness")
def ChangeAttributes(parse: Text, rng: Random) -> Mapping[int, str]:
    """Colours, sizes, materials and patterns changed, the same everywhere: a red ball, a green ball."""
    present = {token.text.lower() for token in parse.tokens}
    chosen: dict[str, str] = {}
    changes = {}
    for index, token in enumerate(parse.tokens):
        attributive = token.dep in ("amod", "compound", "conj", "acomp", "nmod")
        modifies = attributive and token.pos in ("ADJ", "NOUN", "VERB", "PROPN")
        if _is_person(parse, token):
            continue  # the colour of a person is no attribute to be exchanged
        taken = present | set(chosen.values())
        others = [o for o in lexicon.attributes().get(token.text.lower(), ()) if o not in taken]
        if others and modifies and not parse.is_joined(index):
            word = chosen.get(token.text.lower()) or rng.choice(others)
            chosen[token.text.lower()] = word
            changes[index] = lexicon.match_case(word, token.text)
    return changes


def _is_person(parse: Text, token: Token) -> bool:
    """Whether an attribute, or one of a row of them, is a person's."""
    noun = parse.tokens[token.head]
    while noun.dep in ("amod", "conj", "compound") and parse.tokens[noun.head].pos in (
        "ADJ",
        "NOUN",
        "PROPN",
    ):
        noun = parse.tokens[noun.head]
    lemma = edit.lemma_of(noun.text, "noun")
    listed = lemma in lexicon.people() or lemma in ("people", "kid") or lexicon.gendered(lemma) is not None
    return listed or noun.entity == "PERSON" or _noun_kind(noun.text) == "person"


# --- objects ---


@edit.template("swap-objects", "correctness")
def SwapObjects(parse: Text, rng: Random) -> Mapping[int, str]:
    """Two things change places, with all that is said of them: a tree is standing in front of the man."""
    pairs = _swappable(parse)
    if not pairs:
        return {}
    first, second = rng.choice(pairs)
    opens = first.start == 0
    here = lexicon.capitalised(parse.piece(second)) if opens else parse.piece(second)
    there = parse.uncapitalised(first) if opens else parse.piece(first)
    return edit.dropped([first, second]) | {first.start: here, second.start: there}


@edit.template("repeat-object", "thoroughness")
def RepeatObject(parse: Text, rng: Random) -> Mapping[int, str]:
    """An object appears twice: A lady riding a horse and a lady. The text must end in a noun phrase."""
    chunks, words = [c for c in parse.chunks if _names_object(parse, c)], parse.word_indices()
    counted = [c for c in chunks[:-1] or chunks if _is_counted(parse, c)]
    # A part of a longer phrase on either side would not be clear: a slice of the bread.
    whole = [c for c in counted if "of" not in (parse.word_at(c.start - 1), parse.word_at(c.end))]
    if not whole or chunks[-1].end - 1 != words[-1]:
        return {}
    repeated = rng.choice(whole)
    phrase = parse.uncapitalised(repeated) if repeated.start == 0 else parse.piece(repeated)
    return {words[-1]: f"{parse.tokens[words[-1]].text} and {phrase}"}


def _names_object(parse: Text, chunk: Span) -> bool:
    """Whether a phrase is whole and names a thing: not the front of "in front of", no verb, no marks."""
    head = parse.tokens[chunk.end - 1]
    cut = chunk.start > 0 and parse.tokens[chunk.start - 1].pos in ("ADJ", "DET", "NUM")
    singular = parse.word_at(chunk.start) in ("a", "an")
    verb = head.tag == "NNS" and (head.dep == "ROOT" or singular)
    vague = head.text.lower() in lexicon.template_words("place_nouns") | lexicon.template_words("settings")
    return head.pos in ("NOUN", "PROPN") and not (cut or verb or vague) and _has_no_marks(parse, chunk)


def _has_no_marks(parse: Text, chunk: Span) -> bool:
    return all(edit.is_word(t) or t.text == "-" for t in parse.tokens[chunk.start : chunk.end])


def _swappable(parse: Text) -> list[tuple[Span, Span]]:
    """Neighbouring phrases of the main clause, equal in number, whose first no pronoun refers to."""
    chunks = [chunk for chunk in parse.chunks if _names_object(parse, chunk)]
    things = [(chunk, whole) for chunk in chunks if (whole := _whole_phrase(parse, chunk))]
    pronouns = [i for i, t in enumerate(parse.tokens) if t.tag in ("PRP", "PRP$")]
    pairs = [
        (first, second)
        for (chunk, first), (other, second) in pairwise(things)
        if _is_plural(parse, chunk) == _is_plural(parse, other) and first.end <= second.start
        if _is_counted(parse, chunk) and _is_counted(parse, other)
        if all(first.start <= i < first.end for i in pronouns)  # not: a man beside his dog
        if parse.piece(first).lower() != parse.piece(second).lower()
    ]
    return [pair for pair in pairs if pair[0].label == "nsubj"] or pairs


def _whole_phrase(parse: Text, chunk: Span) -> Span | None:
    """A noun phrase and all its dependents, labelled with its part in the main clause, or None."""
    head = chunk.end - 1
    token, span = parse.tokens[head], parse.subtree(head)
    if span is None or span.start != chunk.start or not _has_no_marks(parse, span):
        return None
    up = parse.tokens[token.head]
    while up.dep == "prep" or (up.dep == "pobj" and up.text.lower() in lexicon.template_words("place_nouns")):
        up = parse.tokens[up.head]
    joined = any(t.dep == "conj" for t in parse.children(head))
    part = token.dep in ("nsubj", "dobj", "pobj") and up.dep == "ROOT" and not joined
    return Span(span.start, span.end, token.dep) if part else None


def _is_plural(parse: Text, chunk: Span) -> bool:
    return parse.tokens[chunk.end - 1].tag in ("NNS", "NNPS")


def _is_counted(parse: Text, chunk: Span) -> bool:
    """Whether a phrase has an article or a number: a loaf, not bread."""
    return parse.tokens[chunk.start].tag in ("DT", "CD")
