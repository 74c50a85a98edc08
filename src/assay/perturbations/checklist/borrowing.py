"""Words borrowed from other items of the corpus: nouns, verbs, and masked words (checklist, table 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import people, toml_file, word_list
from assay.models.nlp import Parse, Token, parse, parse_one
from assay.perturbations.checklist.meaning import stands_free
from assay.perturbations.edit import drawn, inflect, known_as, lemma_of, rewrite

PREDICTOR = "the word of the corpus whose neighbours are most alike, for want of a masked language model"
_TEXTS = 150  # of the corpus are read for words
_LISTED = ("animal", "vehicle", "place", "thing")
_VAGUE = (
    ("checklist", "nouns", "mass"),
    ("checklist", "nouns", "abstract"),
    ("checklist", "templates", "nouns_unfinished"),
    ("checklist", "templates", "collective"),
)
_LOOSE = frozenset(
    ["in", "at", "on", "during", "between", "near", "after", "before", "since", "under", "above"]
)


@dataclass(frozen=True, slots=True)
class Loan:
    """A word of another item in its dictionary form, with the words beside it."""

    lemma: str
    left: str
    right: str


@lru_cache(maxsize=8)
def _loans(others: tuple[str, ...]) -> Mapping[str, tuple[Loan, ...]]:
    """Words of a corpus by kind, each once."""
    table: dict[str, dict[str, Loan]] = defaultdict(dict)
    for text in parse(others[:_TEXTS]):
        for index, token in enumerate(text.tokens):
            loan = _loan(text, index)
            wide = token.pos == "VERB" and loan.lemma in word_list("checklist", "nouns", "wide_verbs")
            kind = "verb" if wide else _kind(text, index)
            if kind and (wide or kind != "verb"):
                table[kind].setdefault(loan.lemma, loan)
    return {kind: tuple(words.values()) for kind, words in table.items()}


def _loan(text: Parse, index: int) -> Loan:
    tokens = text.tokens
    left = tokens[index - 1].text.lower() if index else ""
    right = tokens[index + 1].text.lower() if index + 1 < len(tokens) else ""
    return Loan(lemma_of(tokens[index].text, "verb" if tokens[index].pos == "VERB" else "noun"), left, right)


def _kind(text: Parse, index: int) -> str | None:
    """What may stand in a word's place: a verb, or a noun of its kind; None where little else would do."""
    token = text.tokens[index]
    light = token.text in word_list("words", "stop_words", "words") or token.entity in ("DATE", "TIME")
    if (
        light
        or not token.text.islower()
        or not known_as(token.text, token.pos)
        or not stands_free(text, index)
    ):
        return None
    if token.pos == "VERB":
        return "verb" if _plain_object(text, index) else None
    kind = _noun_kind(token) if token.pos == "NOUN" and _plain_noun(text, index) else None
    return None if kind == "thing" and not _any_thing_fits(text, index) else kind


def _any_thing_fits(text: Parse, index: int) -> bool:
    """Whether other things would do as well: what one finds or repairs, or what stands in some place."""
    token = text.tokens[index]
    head = text.tokens[token.head]
    handled = any(
        lemma_of(head.text, "verb") in word_list("checklist", "nouns", name)
        for name in ("wide_verbs", "handling_verbs")
    )
    return (token.dep == "dobj" and handled) or (
        token.dep == "pobj" and head.text.lower() not in ("of", "from")
    )


def _plain_noun(text: Parse, index: int) -> bool:
    """Whether a noun stands alone in its phrase, with an article or owner where it is one thing."""
    token, tokens = text.tokens[index], text.tokens
    own = [t for t in tokens if t.head == index]
    fixed = any(t.dep in ("compound", "relcl", "acl", "appos", "prep") and t.text != "in" for t in own)
    single = token.tag == "NN" and not any(t.dep in ("det", "poss") for t in own)
    verbal = token.tag == "NN" and token.dep == "ROOT"  # did he train, misread
    return not (fixed or single or verbal) and token.dep not in ("compound", "nmod", "npadvmod", "conj")


def _noun_kind(token: Token) -> str | None:
    """Person, animal, vehicle, place or thing."""
    lemma = lemma_of(token.text, "noun")
    if lemma in people():
        return "person"
    for kind in _LISTED:
        if lemma in word_list("checklist", "nouns", kind):
            return kind
    return (
        "thing"
        if not any(lemma in word_list(*name) for name in _VAGUE) and not lemma.endswith(_endings())
        else None
    )


@cache
def _endings() -> tuple[str, ...]:
    """How nouns end that name no thing one can touch, or perhaps a person."""
    abstract = word_list("checklist", "nouns", "abstract_endings")
    return (*abstract, *word_list("checklist", "templates", "person_endings"))


def _plain_object(text: Parse, index: int) -> bool:
    """Whether a verb has something one can touch for its object and binds no more but a place or time."""
    own = [t for t in text.tokens if t.head == index]
    bound = any(t.dep in ("dative", "xcomp", "ccomp", "oprd", "prt") for t in own)
    loose = all(t.text.lower() in _LOOSE for t in own if t.dep == "prep")
    objects = [t for t in own if t.dep == "dobj"]
    animal = any(t.dep == "nsubj" and _noun_kind(t) == "animal" for t in own)  # penguins take no photographs
    return loose and not bound and not animal and len(objects) == 1 and _touchable(objects[0])


def _touchable(token: Token) -> bool:
    if token.pos != "NOUN":
        return token.text.lower() == "what"
    lemma = lemma_of(token.text, "noun")
    mass, abstract = word_list("checklist", "nouns", "mass"), word_list("checklist", "nouns", "abstract")
    return _noun_kind(token) in _LISTED or (lemma in mass and lemma not in abstract)


def _fitting(record: Record, text: Parse, index: int) -> dict[str, Loan]:
    """The words that may stand in a word's place, in its form, none of them in the text already."""
    kind, token = _kind(text, index), text.tokens[index]
    present = {other for t in text.tokens for other in (t.lemma.lower(), t.text.lower())}
    wrong = _unfit(text, index) if kind == "verb" else set()
    loans = [loan for loan in _loans(tuple(record.others)).get(kind or "", ()) if loan.lemma not in wrong]
    forms = {inflect(loan.lemma, token.tag): loan for loan in loans if loan.lemma not in present}
    return {form: loan for form, loan in forms.items() if form and form not in present}


def _unfit(text: Parse, index: int) -> set[str]:
    """Verbs so near in meaning that little would change, and those that suit no place: borrow the cinema."""
    verb = _loan(text, index).lemma
    groups = toml_file("checklist", "nouns")["verbs_alike"]
    near = {other for group in groups if verb in group for other in group}
    place = any(t.head == index and t.dep == "dobj" and _noun_kind(t) == "place" for t in text.tokens)
    return near | set(word_list("checklist", "nouns", "portable_verbs") if place else ())


def _exchanged(
    record: Record, classes: tuple[str, ...], share: float, rng: Random, *, alike: bool
) -> str | None:
    """The text with a share of its nouns or verbs exchanged, for the most alike in neighbours or for any."""
    text = parse_one(record.gold)
    options = {
        i: fitting
        for i, token in enumerate(text.tokens)
        if token.pos in classes and _kind(text, i) and (fitting := _fitting(record, text, i))
    }
    changes: dict[int, str] = {}
    for index in drawn(list(options), share, rng):
        free = {form: loan for form, loan in options[index].items() if form not in changes.values()}
        if alike:
            free = _likest(free, _loan(text, index))
        if free:
            changes[index] = rng.choice(list(free))
    return rewrite(text, changes) if changes else None


def _likest(loans: Mapping[str, Loan], here: Loan) -> dict[str, Loan]:
    """The loans that share most neighbours with the word here."""
    shared = {form: (loan.left == here.left) + (loan.right == here.right) for form, loan in loans.items()}
    return {form: loan for form, loan in loans.items() if shared[form] == max(shared.values())}


@dataclass(frozen=True)
class ChangeNouns(Perturbation):
    """Nouns replaced by nouns of other items: the school, the market."""

    name = "change-nouns"
    criterion = "relevance"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Keep the number and the kind, change the thing."""
        return _exchanged(record, ("NOUN",), self.share, rng, alike=False)


@dataclass(frozen=True)
class ChangeVerbs(Perturbation):
    """Verbs replaced by verbs of other items in the same form."""

    name = "change-verbs"
    criterion = "relevance"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Keep the tense; only verbs with a plain object change, for others bind their own words."""
        return _exchanged(record, ("VERB",), self.share, rng, alike=False)


@dataclass(frozen=True)
class MaskedWords(Perturbation):
    """A few words masked and filled anew from their context, by `PREDICTOR`."""

    name = "masked-words"
    criterion = "relevance"
    share: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        """Fill each gap with the loan whose neighbours match best, chance deciding between equals."""
        return _exchanged(record, ("NOUN", "VERB"), self.share, rng, alike=True)
