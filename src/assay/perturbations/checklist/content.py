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
from assay.files import toml_file, word_list, word_set
from assay.models.nlp import Span, Token, parse
from assay.perturbations import edit
from assay.perturbations.checklist.frames import has_framed_synonym, standing, stands_in, synonym_rows
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.negation import negation
from assay.vocabulary import CHECKLIST_TASKS

_TEXTS = 150  # of the corpus are searched for words


@dataclass(frozen=True)
class Antonyms(ParseEdit):
    """A share of the words replaced by their opposites, one per sentence: two may undo each other."""

    name = "antonyms"
    criterion = "adequacy"
    title = "words replaced by their opposites"
    tasks = ("translation", "summarisation", "data-to-text")

    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        among = [i for i in range(len(parse.tokens)) if _takes(parse, i, "takes-opposite")]
        things = [i for i in among if not _is_size_of_person(parse, i)]
        return _exchanged(parse, lexicon.antonyms(), self.share, rng, among=things, single=True)


@dataclass(frozen=True)
class Siblings(ParseEdit):
    """A share of the words replaced by others of their kind, one per sentence: violin, cello."""

    name = "siblings"
    criterion = "correctness"
    title = "words replaced by others of their kind"
    tasks = ("summarisation", "data-to-text")

    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        among = [i for i in range(len(parse.tokens)) if _takes(parse, i, "takes-sibling")]
        kinds = lexicon.siblings(interchangeable=True)
        return _exchanged(parse, kinds, self.share, rng, among=among, single=True)


def _takes(parse: Text, index: int, frame: str) -> bool:
    """Whether another word may take a word's place, whatever it says: no other word depends on it alone."""
    return stands_in(frame, parse, index) and stands_in("replaceable", parse, index)


def _is_size_of_person(parse: Text, index: int) -> bool:
    """Whether a word is a person's size: a little daughter."""
    token = parse.tokens[index]
    return token.lemma in ("small", "little", "large", "big") and _is_person(parse, token)


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
    options = {i: forms for i in among if (forms := _forms(parse, i, table))}
    places: dict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(parse.tokens):
        places[token.text.lower()].append(index)
    free = [word for word, indices in places.items() if options.keys() >= set(indices)]
    changes: dict[int, str] = {}
    for word in edit.draw_share(free, share, rng):
        taken = places.keys() | set(map(str.lower, changes.values()))
        fresh = [other for other in options[places[word][0]] if other.lower() not in taken]
        if fresh and not (single and _crowds(parse, {*places[word], *changes})):
            other = rng.choice(fresh)
            changes |= {i: lexicon.match_case(other, parse.tokens[i].text) for i in places[word]}
    return changes


def _crowds(parse: Text, indices: Collection[int]) -> bool:
    """Whether two of the words are in one sentence."""
    return len({parse.sentence_of(index) for index in indices}) < len(indices)


def _forms(parse: Text, index: int, table: lexicon.Pairs) -> list[str]:
    """The words that the table gives for a word, in its form; empty where none would fit."""
    token = parse.tokens[index]
    known = edit.class_and_lemma(token)
    if known is None or not stands_in("stands-free", parse, index):
        return []
    others, gender = _listed(token, known, table), lexicon.gendered(known[1])
    same_gender = [other for other in others if gender is None or lexicon.gendered(other) in (gender, None)]
    return [form for other in same_gender or others if (form := edit.inflect(other, token.tag))]


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
        among = [i for i in range(len(parse.tokens)) if has_framed_synonym(parse, i)]
        return _exchanged(parse, table, 1.0, rng, among=among)


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
    places = [i for i, token in enumerate(text.tokens) if token.pos == pos]
    options = {i: forms for i in places if (forms := _fitting(record, text, i))}

    changes: dict[int, str] = {}
    for index in edit.draw_share(list(options), share, rng):
        if free := [form for form in options[index] if form not in changes.values()]:
            changes[index] = rng.choice(free)
    return edit.rewrite(text, changes)


def _fitting(record: Record, text: Text, index: int) -> list[str]:
    """The words that may replace a word, in its form; none of them is in the text already."""
    kind = _kind(text, index)
    if kind is None:
        return []
    present = {other for t in text.tokens for other in (t.lemma.lower(), t.text.lower())}
    unfit = present | _unfit_verbs(text, index) if kind == "verb" else present
    lemmas = [lemma for lemma in _loans(tuple(record.others)).get(kind, ()) if lemma not in unfit]
    forms = [edit.inflect(lemma, text.tokens[index].tag) for lemma in lemmas]
    return list(dict.fromkeys(filter(None, forms)))


def _unfit_verbs(text: Text, index: int) -> set[str]:
    """Verbs too near in meaning to change much, and those that fit no place: borrow the cinema."""
    verb = edit.lemma_of(text.tokens[index].text, "verb")
    groups = toml_file("checklist", "nouns")["verbs_alike"]
    near = {other for group in groups if verb in group for other in group}
    place = any(t.dep == "dobj" and noun_kind(t.text) == "place" for t in text.children(index))
    return near | (word_set("checklist", "nouns", "portable_verbs") if place else set())


@lru_cache(maxsize=8)
def _loans(others: tuple[str, ...]) -> Mapping[str, Mapping[str, None]]:
    """The words of a corpus by kind, each once, in their dictionary form."""
    table: dict[str, dict[str, None]] = defaultdict(dict)
    parse(others[:_TEXTS])  # all at once, which is faster
    for text in map(edit.read, others[:_TEXTS]):
        for index, token in enumerate(text.tokens):
            lemma = edit.lemma_of(token.text, "verb" if token.pos == "VERB" else "noun")
            wide = token.pos == "VERB" and lemma in word_set("checklist", "nouns", "wide_verbs")
            kind = "verb" if wide else _kind(text, index)
            vague = kind == "thing" and lemma not in word_set("checklist", "nouns", "thing")
            if kind and not vague and (wide or kind != "verb"):
                table[kind][lemma] = None
    return table


def _kind(text: Text, index: int) -> str | None:
    """The kind of words that may replace a word: verb, person, animal and so on; None where few would fit."""
    token = text.tokens[index]
    if token.pos not in edit.known_classes(token.text) or not stands_in("loan", text, index):
        return None
    if token.pos == "VERB":
        return "verb" if stands_in("plain-object", text, index) else None
    kind = noun_kind(token.text) if token.pos == "NOUN" and stands_in("plain-noun", text, index) else None
    return None if kind == "thing" and not stands_in("any-thing-fits", text, index) else kind


@cache
def noun_kind(noun: str) -> str | None:
    """Person, animal, vehicle, place or thing; None for what cannot be touched or counted."""
    lemma = edit.lemma_of(noun, "noun")
    if lemma in lexicon.people():
        return "person"
    for kind in ("animal", "vehicle", "place", "thing"):
        if lemma in word_set("checklist", "nouns", kind):
            return kind
    nouns = [word_set("checklist", "nouns", key) for key in ("mass", "abstract")]
    nouns += [lexicon.template_words(key) for key in ("nouns_unfinished", "collective")]
    abstract = word_list("checklist", "nouns", "abstract_endings")
    endings = (*abstract, *word_list("checklist", "templates", "person_endings"))
    return None if lemma.endswith(endings) or any(lemma in words for words in nouns) else "thing"


@dataclass(frozen=True)
class ChangeGender(ParseEdit):
    """Every gendered word becomes its counterpart: two girls, two boys."""

    name = "change-gender"
    criterion = "correctness"
    title = "the wrong gender"
    tasks = ("image-captioning",)

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
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


@dataclass(frozen=True)
class ChangeAttributes(ParseEdit):
    """Colours, sizes, materials and patterns changed, the same everywhere: a red ball, a green ball."""

    name = "change-attributes"
    criterion = "correctness"
    title = "wrong colours, sizes and shapes"
    tasks = ("image-captioning",)

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        present = {token.text.lower() for token in parse.tokens}
        chosen: dict[str, str] = {}
        changes = {}
        for index, token in enumerate(parse.tokens):
            if _is_person(parse, token):
                continue  # the colour of a person is no attribute to be exchanged
            taken = present | set(chosen.values())
            others = [o for o in lexicon.attributes().get(token.text.lower(), ()) if o not in taken]
            if others and stands_in("attributive", parse, index):
                word = chosen.get(token.text.lower()) or rng.choice(others)
                chosen[token.text.lower()] = word
                changes[index] = lexicon.match_case(word, token.text)
        return changes


def _is_person(parse: Text, token: Token) -> bool:
    """Whether an attribute, or one of a row of them, is a person's."""
    noun = parse.tokens[token.head]
    above = parse.tokens[noun.head]
    while noun.dep in ("amod", "conj", "compound") and above.pos in ("ADJ", "NOUN", "PROPN"):
        noun, above = above, parse.tokens[above.head]
    lemma = edit.lemma_of(noun.text, "noun")
    listed = lemma in {*lexicon.people(), *lexicon.genders(), "people", "kid"}
    return listed or noun.entity == "PERSON"


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
        opens = first.start == 0
        here = lexicon.capitalised(parse.piece(second)) if opens else parse.piece(second)
        there = parse.uncapitalised(first) if opens else parse.piece(first)
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
        counted = standing("counted-phrase", parse, chunks[:-1] or chunks)
        # A part of a longer phrase on either side would not be clear: a slice of the bread.
        whole = [c for c in counted if "of" not in (parse.word_at(c.start - 1), parse.word_at(c.end))]
        if not whole or chunks[-1].end - 1 != words[-1]:
            return {}
        repeated = rng.choice(whole)
        phrase = parse.uncapitalised(repeated) if repeated.start == 0 else parse.piece(repeated)
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
