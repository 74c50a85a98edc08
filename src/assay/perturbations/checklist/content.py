"""Templates that change what words say and keep the grammar, and synonyms, which keep both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from random import Random

from assay.core import Perturbation, Record
from assay.datasets import lexicon
from assay.datasets.swaps import embedded_swaps
from assay.files import toml_file, word_set
from assay.models.nlp import Span, Token, parse
from assay.perturbations import edit
from assay.perturbations.checklist.frames import (
    standing,
    stands_in,
    synonym_rows,
    words_in,
    words_with_synonyms,
)
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.negation import negation
from assay.vocabulary import CHECKLIST_TASKS

_TEXTS = 150  # of the corpus are searched for words
_IN_LISTS = ("and", "or", "&", ",", "/", "a", "an", "the", "one", "two", "three", "young", "little")


@dataclass(frozen=True)
class Antonyms(ParseEdit):
    """A share of the words replaced by their opposites, one per sentence: two may undo each other."""

    name = "antonyms"
    criterion = "adequacy"
    title = "words replaced by their opposites"
    tasks = ("translation", "summarisation", "data-to-text")

    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        among = words_in("takes-opposite", parse)
        return _exchanged(parse, lexicon.antonyms(), self.share, rng, among=among, single=True)


@dataclass(frozen=True)
class Siblings(ParseEdit):
    """A share of the words replaced by others of their kind, one per sentence: violin, cello."""

    name = "siblings"
    criterion = "correctness"
    title = "words replaced by others of their kind"
    tasks = ("summarisation", "data-to-text")

    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        among, kinds = words_in("takes-sibling", parse), lexicon.siblings(interchangeable=True)
        return _exchanged(parse, kinds, self.share, rng, among=among, single=True)


def _exchanged(
    parse: Text,
    table: lexicon.Pairs,
    share: float,
    rng: Random,
    *,
    among: Sequence[int],
    single: bool = False,
) -> dict[int, str]:
    """Exchange a share of the words in a table, in the form of the old ones.

    A repeated word is exchanged for the same word everywhere, never for one that the text has or was given.
    A word that is not `among` those to be exchanged in one place stays in all. With `single`, only one word
    of a sentence changes.
    """
    options = {i: _forms(parse.tokens[i], table) for i in words_in("stands-free", parse, among)}
    places = parse.places_of_words()
    free = [word for word, indices in places.items() if all(map(options.get, indices))]
    changes: dict[int, str] = {}
    for word in edit.draw_share(free, share, rng):
        indices, taken = places[word], places.keys() | set(map(str.lower, changes.values()))
        fresh = [form for form in options[indices[0]] if form.lower() not in taken]
        crowded = single and _share_sentence(parse, {*indices, *changes})
        if fresh and not crowded:
            changes |= edit.in_case(parse, dict.fromkeys(indices, rng.choice(fresh)))
    return changes


def _share_sentence(parse: Text, indices: Collection[int]) -> bool:
    """Whether two of the words are in one sentence."""
    return len({parse.sentence_of(index) for index in indices}) < len(indices)


def _crowds(parse: Text, indices: Collection[int]) -> bool:
    """Whether two of the words are in one sentence."""
    return len({parse.sentence_of(index) for index in indices}) < len(indices)


def _forms(token: Token, table: lexicon.Pairs) -> list[str]:
    """The words that the table gives for a word, in its form, of its gender if there are such."""
    class_and_lemma = edit.class_and_lemma(token)
    if class_and_lemma is None:
        return []
    others = _listed(token, class_and_lemma, table)
    if gender := lexicon.gendered(class_and_lemma[1]):
        others = [other for other in others if lexicon.gendered(other) in (gender, None)] or others
    return edit.inflections(others, token.tag)


def _listed(token: Token, known: tuple[str, str], table: lexicon.Pairs) -> Sequence[str]:
    """The words that the table gives for a word or a name; none where tagger and dictionary disagree."""
    word_class, lemma = known
    name = (word_class, lemma.capitalize())
    if token.tag in ("JJ", "RB", "NN", "VB") and lemma != token.text.lower():
        return ()
    if token.pos == "PROPN":
        return table.get(known, table[name]) if name in table else ()
    return table.get(known) or (table.get(name, ()) if token.text == name[1] else ())


@dataclass(frozen=True)
class Negate(ParseEdit):
    """The main clause of a share of the sentences is negated, or loses its negation."""

    name = "negate"
    criterion = "adequacy"
    title = "a negated main clause"
    tasks = ("translation", "summarisation", "data-to-text")

    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        negated = [changes for sentence in parse.sentences if (changes := negation(parse, sentence))]
        drawn = edit.draw_share(negated, self.share, rng)
        return {index: word for changes in drawn for index, word in changes.items()}


@dataclass(frozen=True)
class Synonyms(ParseEdit):
    """Every word that has a synonym safe in its frame replaced by it: a large rock, a big rock."""

    name = "synonyms"
    criterion = "invariance"
    title = "a synonym"
    tasks = CHECKLIST_TASKS
    expect = "same"

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        table = {key: (synonym,) for key, (synonym, _) in synonym_rows().items()}
        return _exchanged(parse, table, 1.0, rng, among=words_with_synonyms(parse))


@dataclass(frozen=True)
class ChangeNouns(Perturbation):
    """Nouns replaced by nouns of other items, of the same kind and number: the school, the market."""

    name = "change-nouns"
    criterion = "relevance"
    title = "replaced nouns"
    tasks = ("question-generation",)

    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        return _borrowed(record, "NOUN", self.share, rng)


@dataclass(frozen=True)
class ChangeVerbs(Perturbation):
    """Verbs replaced by verbs of other items in the same form; only verbs with a plain object change."""

    name = "change-verbs"
    criterion = "relevance"
    title = "replaced verbs"
    tasks = ("question-generation",)

    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        return _borrowed(record, "VERB", self.share, rng)


def _borrowed(record: Record, pos: str, share: float, rng: Random) -> str:
    """The text with a share of the words of a class exchanged for words of other items."""
    text = edit.read(record.gold)
    fitting = {i: _fitting(record, text, i) for i, token in enumerate(text.tokens) if token.pos == pos}
    changes: dict[int, str] = {}
    for index in edit.draw_share([i for i, forms in fitting.items() if forms], share, rng):
        if free := [form for form in fitting[index] if form not in changes.values()]:
            changes[index] = rng.choice(free)
    return edit.rewrite(text, changes)


def _fitting(record: Record, text: Text, index: int) -> list[str]:
    """The words that may replace a word, in its form; none of them is in the text already."""
    kind = _kind(text, index)
    if kind is None:
        return []
    unfit = text.places_of_words().keys() | {token.lemma.lower() for token in text.tokens}
    if kind == "verb":
        unfit |= _unfit_verbs(text, index)
    lemmas = [lemma for lemma in _loans(tuple(record.others)).get(kind, ()) if lemma not in unfit]
    return list(dict.fromkeys(edit.inflections(lemmas, text.tokens[index].tag)))


def _unfit_verbs(text: Text, index: int) -> set[str]:
    """Verbs too near in meaning to change much, and those that fit no place: borrow the cinema."""
    verb = edit.lemma_of(text.tokens[index].text, "verb")
    alike = [group for group in toml_file("checklist", "nouns")["verbs_alike"] if verb in group]
    portable = word_set("checklist", "nouns", "portable_verbs")
    return set().union(*alike, portable if stands_in("place-object", text, index) else ())


@lru_cache(maxsize=8)
def _loans(others: tuple[str, ...]) -> Mapping[str, Mapping[str, None]]:
    """The words of a corpus by kind, each once, in their dictionary form; only listed verbs and things."""
    listed = {"verb": word_set("checklist", "nouns", "wide_verbs")}
    listed["thing"] = word_set("checklist", "nouns", "thing")
    loans: dict[str, dict[str, None]] = defaultdict(dict)
    parse(others[:_TEXTS])  # all at once, which is faster
    for text in map(edit.read, others[:_TEXTS]):
        for index, token in enumerate(text.tokens):
            kind = "verb" if token.pos == "VERB" else _kind(text, index)
            lemma = edit.lemma_of(token.text, "verb" if kind == "verb" else "noun")
            if kind and lemma in listed.get(kind, (lemma,)):
                loans[kind][lemma] = None
    return loans


def _kind(text: Text, index: int) -> str | None:
    """The kind of words that may replace a word: verb, person, animal and so on; None where few would fit."""
    token = text.tokens[index]
    if token.pos == "VERB":
        return "verb" if stands_in("lent-verb", text, index) else None
    kind = noun_kind(token.text) if stands_in("lent-noun", text, index) else None
    return None if kind == "thing" and not stands_in("any-thing-fits", text, index) else kind


@cache
def noun_kind(noun: str) -> str | None:
    """Person, animal, vehicle, place or thing; None for what cannot be touched or counted."""
    lemma = edit.lemma_of(noun, "noun")
    endings = word_set("checklist", "nouns", "abstract_endings") | lexicon.template_words("person_endings")
    vague = lemma.endswith(tuple(endings)) or lemma in _vague_nouns()
    return _listed_kinds().get(lemma, None if vague else "thing")


@cache
def _listed_kinds() -> Mapping[str, str]:
    """Nouns to their kinds, by the lists; of several kinds a noun has the first."""
    words = {kind: word_set("checklist", "nouns", kind) for kind in ("thing", "place", "vehicle", "animal")}
    listed = {noun: kind for kind, nouns in words.items() for noun in nouns}
    return listed | dict.fromkeys(lexicon.people(), "person")


@cache
def _vague_nouns() -> frozenset[str]:
    """Nouns that name nothing one can touch or count: water, freedom, the front of a house, a team."""
    lists = [word_set("checklist", "nouns", key) for key in ("mass", "abstract")]
    return frozenset().union(*lists, *map(lexicon.template_words, ("nouns_unfinished", "collective")))


@dataclass(frozen=True)
class ChangeGender(ParseEdit):
    """Every gendered word becomes its counterpart: two girls, two boys."""

    name = "change-gender"
    criterion = "correctness"
    title = "the wrong gender"
    tasks = ("image-captioning",)

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        # Words in capitals are tagged as names: read the tags of the text in lower case.
        tagged = edit.read(parse.text.lower()) if edit.is_all_caps(parse.text) else parse
        swaps, others = embedded_swaps().tagged, dict[int, str]()
        for index, token in enumerate(tagged.tokens):
            counterpart = swaps.get((token.text.lower(), token.tag))
            if counterpart and not parse.is_compound_part(index):
                others[index] = counterpart.other
        changes = edit.in_case(parse, others)
        return {} if _only_turned(parse, changes) else changes


def _only_turned(parse: Text, changes: Mapping[int, str]) -> bool:
    """Whether the changes only turn a list round: a boy and a girl, a girl and a boy."""
    words = [parse.word_at(i) for i in changes]
    if sorted(words) != sorted(word.lower() for word in changes.values()):
        return False
    stretch = range(min(changes, default=0), max(changes, default=0))
    return set(map(parse.word_at, stretch)) <= {*words, *_IN_LISTS}


@dataclass(frozen=True)
class ChangeAttributes(ParseEdit):
    """Colours, sizes, materials and patterns changed, the same everywhere: a red ball, a green ball.

    The colour of a person is no attribute to be exchanged.
    """

    name = "change-attributes"
    criterion = "correctness"
    title = "wrong colours, sizes and shapes"
    tasks = ("image-captioning",)

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        others = lexicon.attributes()
        listed = [i for i in range(len(parse.tokens)) if parse.word_at(i) in others]
        free = words_in("attributive", parse, listed)
        return edit.replaced_alike(parse, free, lambda index: others[parse.word_at(index)], rng)


@dataclass(frozen=True)
class SwapObjects(ParseEdit):
    """Two things change places, with all that is said of them: a tree is standing in front of the man."""

    name = "swap-objects"
    criterion = "correctness"
    title = "things that have changed places"
    tasks = ("image-captioning",)

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        if not (pairs := _swappable(parse)):
            return {}
        first, second = rng.choice(pairs)
        here, there = parse.piece(second), parse.uncapitalised(first)
        here = lexicon.capitalised(here) if first.start == 0 else here
        return edit.dropped([first, second]) | {first.start: here, second.start: there}


@dataclass(frozen=True)
class RepeatObject(ParseEdit):
    """An object appears twice: A lady riding a horse and a lady. The text must end in a noun phrase."""

    name = "repeat-object"
    criterion = "thoroughness"
    title = "a thing named twice"
    tasks = ("image-captioning",)

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        chunks, words = standing("object-phrase", parse, parse.chunks), parse.word_indices()
        repeatable = standing("repeatable-phrase", parse, chunks[:-1] or chunks)
        if not repeatable or chunks[-1].end - 1 != words[-1]:
            return {}
        phrase = parse.uncapitalised(rng.choice(repeatable))
        return {words[-1]: f"{parse.tokens[words[-1]].text} and {phrase}"}


def _swappable(parse: Text) -> list[tuple[Span, Span]]:
    """Neighbouring phrases of the main clause, equal in number, whose first no pronoun refers to."""
    chunks = standing("object-phrase", parse, parse.chunks)
    things = [(chunk, whole) for chunk in chunks if (whole := _whole_phrase(parse, chunk))]
    pairs = []
    for (chunk, first), (other, second) in pairwise(things):
        alike = len(standing("plural-phrase", parse, (chunk, other))) != 1
        counted = len(standing("counted-phrase", parse, (chunk, other))) == 2
        two_places = first.label == second.label == "pobj"  # around a bend on a racetrack
        if alike and counted and not two_places and stands_in("has-pronouns", parse, first.start, first.end):
            pairs.append((first, second))
    return [pair for pair in pairs if pair[0].label == "nsubj"] or pairs


def _whole_phrase(parse: Text, chunk: Span) -> Span | None:
    """A noun phrase and all its dependents, labelled with its part in the main clause, or None."""
    head = chunk.end - 1
    token, span = parse.tokens[head], parse.subtree(head)
    if span is None or not stands_in("plain-phrase", parse, span.start, span.end):
        return None
    up = parse.tokens[token.head]
    while up.dep == "prep" or (up.dep == "pobj" and up.text.lower() in lexicon.template_words("place_nouns")):
        up = parse.tokens[up.head]
    is_part = up.dep == "ROOT" and stands_in("single-thing", parse, head)
    return Span(span.start, span.end, token.dep) if is_part else None
