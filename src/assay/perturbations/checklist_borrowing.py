"""Words borrowed from other items of the corpus: nouns, verbs, and masked words (checklist, table 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from assay.core import Perturbation, Record
from assay.nlp import Parse, parse, parse_one
from assay.perturbations.checklist_meaning import stands_free
from assay.perturbations.choice import drawn
from assay.perturbations.inflection import known_as
from assay.perturbations.lexicon import word_list
from assay.perturbations.surgery import rewrite

PREDICTOR = "the word of the corpus whose neighbours are most alike, for want of a masked language model"
_CONTENT = ("NOUN", "VERB", "ADJ")
_TEXTS = 150  # of the corpus are read for words


@dataclass(frozen=True, slots=True)
class Loan:
    """A word of another item, with the words beside it."""

    word: str
    left: str
    right: str
    governs: bool  # a verb with an object, a noun with an article or owner
    simple: bool  # a verb with a plain object and no more


@lru_cache(maxsize=8)
def _loans(others: tuple[str, ...]) -> Mapping[str, tuple[Loan, ...]]:
    """Content words of a corpus by tag, each once."""
    table: dict[str, dict[str, Loan]] = defaultdict(dict)
    for text in parse(others[:_TEXTS]):
        for index, token in enumerate(text.tokens):
            if token.pos in _CONTENT and _lends(text, index) and not _misread(text, index):
                table[token.tag].setdefault(token.text, _loan(text, index))
    return {tag: tuple(words.values()) for tag, words in table.items()}


def _lends(text: Parse, index: int) -> bool:
    """Whether a word is worth borrowing: a content word that the dictionary knows in this class."""
    token = text.tokens[index]
    light = token.text in word_list("words", "stop_words", "words") or token.entity in ("DATE", "TIME")
    plain = token.text.islower() and token.tag not in ("JJR", "JJS") and known_as(token.text, token.pos)
    return plain and not light and stands_free(text, index)


def _loan(text: Parse, index: int) -> Loan:
    tokens = text.tokens
    left = tokens[index - 1].text.lower() if index else ""
    right = tokens[index + 1].text.lower() if index + 1 < len(tokens) else ""
    governs = any(
        token.head == index and token.dep in ("dobj", "ccomp", "xcomp", "dative", "det", "poss")
        for token in tokens
    )
    return Loan(tokens[index].text, left, right, governs, _simple_object(text, index))


def _simple_object(text: Parse, index: int) -> bool:
    own = {token.dep for token in text.tokens if token.head == index}
    return "dobj" in own and not own & {"dative", "xcomp", "ccomp", "oprd", "prt"}


def _targets(text: Parse, classes: tuple[str, ...]) -> list[int]:
    """Content words that stand free; light verbs like have carry too little to be missed."""
    how = [i + 1 for i, token in enumerate(text.tokens) if token.text.lower() == "how"]  # how old
    return [
        i
        for i, token in enumerate(text.tokens)
        if token.pos in classes and i not in how and _lends(text, i) and not _misread(text, i)
    ]


def _misread(text: Parse, index: int) -> bool:
    """A noun where a verb must stand, as the tagger sometimes has it: did he train."""
    token = text.tokens[index]
    helped = any(t.text.lower() in ("do", "does", "did") for t in text.tokens[:index])
    verbless = not any(t.pos == "VERB" and t.dep == "ROOT" for t in text.tokens)
    last = index + 2 >= len(text.tokens) or text.tokens[index - 1].pos in ("PROPN", "PUNCT")
    return token.pos == "NOUN" and (token.dep == "ROOT" or (helped and verbless and last))


def _fresh(record: Record, text: Parse, index: int) -> list[Loan]:
    """Loans in the same form that the text does not have."""
    present = {token.lemma.lower() for token in text.tokens} | {token.text.lower() for token in text.tokens}
    loans = _loans(tuple(record.others)).get(text.tokens[index].tag, ())
    return [loan for loan in loans if loan.word not in present]


@dataclass(frozen=True)
class ChangeNouns(Perturbation):
    """Nouns replaced by nouns of other items: the school, the market."""

    name = "change-nouns"
    criterion = "relevance"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Keep the number, change the thing."""
        text = parse_one(record.gold)
        changes = {}
        for index in drawn(_targets(text, ("NOUN",)), self.share, rng):
            governs = _loan(text, index).governs
            loans = [loan for loan in _fresh(record, text, index) if loan.governs == governs]
            if loans:
                changes[index] = rng.choice(loans).word
        return rewrite(text, changes) if changes else None


@dataclass(frozen=True)
class ChangeVerbs(Perturbation):
    """Verbs replaced by verbs of other items in the same form."""

    name = "change-verbs"
    criterion = "relevance"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Keep the tense; only verbs with a plain object change places, for others bind their own words."""
        text = parse_one(record.gold)
        changes = {}
        simple = [i for i in _targets(text, ("VERB",)) if _simple_object(text, i)]
        for index in drawn(simple, self.share, rng):
            loans = [loan for loan in _fresh(record, text, index) if loan.simple]
            if loans:
                changes[index] = rng.choice(loans).word
        return rewrite(text, changes) if changes else None


@dataclass(frozen=True)
class MaskedWords(Perturbation):
    """A few words masked and filled anew from their context, by `PREDICTOR`."""

    name = "masked-words"
    criterion = "relevance"
    share: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        """Fill each gap with the loan whose neighbours match best, chance deciding between equals."""
        text = parse_one(record.gold)
        changes = {}
        for index in drawn(_targets(text, _CONTENT), self.share, rng):
            here = _loan(text, index)
            loans = [loan for loan in _fresh(record, text, index) if loan.governs == here.governs]
            if loans:
                best = max(_alike(here, loan) for loan in loans)
                changes[index] = rng.choice([loan for loan in loans if _alike(here, loan) == best]).word
        return rewrite(text, changes) if changes else None


def _alike(one: Loan, other: Loan) -> int:
    return (one.left == other.left) + (one.right == other.right)
