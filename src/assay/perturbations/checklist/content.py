"""Templates that change what words say and keep the grammar, and synonyms, which keep both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
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
from assay.perturbations.checklist.frames import stands_in, synonym_rows, unframed_synonyms
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
        sizes = {i for i, t in enumerate(parse.tokens) if t.lemma in ("small", "little", "large", "big")}
        bound = {i for i in sizes if _is_person(parse, parse.tokens[i])}  # a little daughter
        bound |= {i for i in range(len(parse.tokens)) if not _takes(parse, i, "takes-opposite")}
        return _exchanged(parse, lexicon.antonyms(), self.share, rng, skip=bound, single=True)


@dataclass(frozen=True)
class Siblings(ParseEdit):
    """A share of the words replaced by others of their kind, one per sentence: violin, cello."""

    name = "siblings"
    criterion = "correctness"
    title = "words replaced by others of their kind"
    tasks = ("summarisation", "data-to-text")

    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        bound = {i for i in range(len(parse.tokens)) if not _takes(parse, i, "takes-sibling")}
        return _exchanged(
            parse, lexicon.siblings(interchangeable=True), self.share, rng, skip=bound, single=True
        )


def _takes(parse: Text, index: int, frame: str) -> bool:
    """Whether another word may take a word's place, whatever it says: no other word depends on it alone."""
    return stands_in(frame, parse, index) and stands_in("replaceable", parse, index)


def _exchanged(
    parse: Text, table: lexicon.Pairs, share: float, rng: Random, *, skip: set[int], single: bool = False
) -> dict[int, str]:
    """Exchange a share of the words in a table, in the form of the old ones.

    A repeated word is exchanged for the same word everywhere, never for one that the text has or was given.
    A word that must stay in one place stays in all. With `single`, only one word of a sentence changes.
    """
    indices = [i for i in range(len(parse.tokens)) if i not in skip]
    options = {i: forms for i in indices if (forms := _forms(parse, i, table))}

    places: dict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(parse.tokens):
        places[token.text.lower()].append(index)
    changes: dict[int, str] = {}
    for word in edit.draw_share([w for w in places if options.keys() >= set(places[w])], share, rng):
        taken = places.keys() | {new.lower() for new in changes.values()}
        fresh = [other for other in options[places[word][0]] if other.lower() not in taken]
        changed = {*places[word], *changes}
        crowded = any(sum(s.start <= i < s.end for i in changed) > 1 for s in parse.sentences)
        if fresh and not (single and crowded):
            other = rng.choice(fresh)
            changes.update({i: lexicon.match_case(other, parse.tokens[i].text) for i in places[word]})
    return changes


def _forms(parse: Text, index: int, table: lexicon.Pairs) -> list[str]:
    """The words that the table gives for a word, in its form; empty where none would fit."""
    token = parse.tokens[index]
    known = edit.class_and_lemma(token)
    if known is None or not stands_in("stands-free", parse, index):
        return []
    word_class, lemma = known
    if token.tag in ("JJ", "RB", "NN", "VB") and lemma != token.text.lower():
        return []  # the tagger and the dictionary disagree on the form
    proper = (word_class, lemma.capitalize())
    if token.pos == "PROPN" and proper not in table:
        return []
    others = table.get((word_class, lemma), ())
    if not others and (token.pos == "PROPN" or lemma.capitalize() == token.text):
        others = table.get(proper, ())
    gender = lexicon.gendered(lemma)
    same_gender = [other for other in others if gender is None or lexicon.gendered(other) in (gender, None)]
    return [form for other in same_gender or others if (form := edit.inflect(other, token.tag))]


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
        return _exchanged(parse, table, 1.0, rng, skip=unframed_synonyms(parse))


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
    forms = dict.fromkeys(edit.inflect(lemma, text.tokens[index].tag) for lemma in lemmas)
    return [form for form in forms if form and form not in present]


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
    listed = lemma in lexicon.people() or lemma in ("people", "kid") or lexicon.gendered(lemma) is not None
    return listed or noun.entity == "PERSON" or noun_kind(noun.text) == "person"


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
        chunks, words = _phrases(parse, "object-phrase", parse.chunks), parse.word_indices()
        counted = _phrases(parse, "counted-phrase", chunks[:-1] or chunks)
        # A part of a longer phrase on either side would not be clear: a slice of the bread.
        whole = [c for c in counted if "of" not in (parse.word_at(c.start - 1), parse.word_at(c.end))]
        if not whole or chunks[-1].end - 1 != words[-1]:
            return {}
        repeated = rng.choice(whole)
        phrase = parse.uncapitalised(repeated) if repeated.start == 0 else parse.piece(repeated)
        return {words[-1]: f"{parse.tokens[words[-1]].text} and {phrase}"}


def _phrases(parse: Text, frame: str, chunks: Sequence[Span]) -> list[Span]:
    return [chunk for chunk in chunks if stands_in(frame, parse, chunk.start, chunk.end)]


def _swappable(parse: Text) -> list[tuple[Span, Span]]:
    """Neighbouring phrases of the main clause, equal in number, whose first no pronoun refers to."""
    chunks = _phrases(parse, "object-phrase", parse.chunks)
    things = [(chunk, whole) for chunk in chunks if (whole := _whole_phrase(parse, chunk))]
    pronouns = [i for i, t in enumerate(parse.tokens) if t.tag in ("PRP", "PRP$")]
    pairs = [
        (first, second)
        for (chunk, first), (other, second) in pairwise(things)
        if len({parse.tokens[c.end - 1].tag in ("NNS", "NNPS") for c in (chunk, other)}) == 1
        if first.end <= second.start and len(_phrases(parse, "counted-phrase", (chunk, other))) == 2
        if all(first.start <= i < first.end for i in pronouns)  # not: a man beside his dog
        if parse.piece(first).lower() != parse.piece(second).lower()
        if (first.label, second.label) != ("pobj", "pobj")  # around a bend on a racetrack
    ]
    return [pair for pair in pairs if pair[0].label == "nsubj"] or pairs


def _whole_phrase(parse: Text, chunk: Span) -> Span | None:
    """A noun phrase and all its dependents, labelled with its part in the main clause, or None."""
    head = chunk.end - 1
    token, span = parse.tokens[head], parse.subtree(head)
    if span is None or span.start != chunk.start or not _phrases(parse, "plain-phrase", [span]):
        return None
    up = parse.tokens[token.head]
    while up.dep == "prep" or (up.dep == "pobj" and up.text.lower() in lexicon.template_words("place_nouns")):
        up = parse.tokens[up.head]
    is_part = up.dep == "ROOT" and stands_in("single-thing", parse, head)
    return Span(span.start, span.end, token.dep) if is_part else None
