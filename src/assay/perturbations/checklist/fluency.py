"""Fluency templates: word order, agreement, function words, punctuation and spelling (checklist, table 5)."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import key_neighbours, template_words, word_set
from assay.models.nlp import Parse, Span, Token, parse_one
from assay.perturbations.edit import (
    WordEdit,
    children,
    draw_share,
    inflect,
    is_clitic,
    is_joined,
    is_word,
    known_word,
    lemma_of,
    shuffled,
    word_indices,
)
from assay.vocabulary import Criterion

_BE = {"is": "are", "are": "is", "am": "is", "was": "were", "were": "was"}
_CONTRACTED = {"'s": " are", "'re": " is", "'m": " is", "'ve": " has"}
_TRIES = 8  # at misspelling a word so that it is not another word


@dataclass(frozen=True)
class Jumble(Perturbation):
    """The words of each sentence in another order; words that touch a mark, and the first, stay.

    Whole written words move, so that the bag of words stays the same.
    """

    name = "jumble"
    criterion = "fluency"

    def apply(self, record: Record, rng: Random) -> str | None:
        parse, text = parse_one(record.gold), record.gold
        for sentence in reversed(parse.sentences):
            text = _jumble(parse, sentence, text, rng)
        return text if text != record.gold else None


def _jumble(parse: Parse, sentence: Span, text: str, rng: Random) -> str:
    start = parse.tokens[sentence.start].start
    end = parse.tokens[sentence.end - 1].end
    written = [m for m in re.finditer(r"\S+", text[start:end]) if re.fullmatch(r"\w+([-'’]\w+)*", m[0])]
    free = [m for m in written if m.start() > 0]
    order = shuffled([m[0] for m in free], rng)
    if order is None or len(free) < 3:
        return text
    piece = text[start:end]
    for match, word in reversed(list(zip(free, order, strict=True))):
        piece = piece[: match.start()] + word + piece[match.end() :]
    return text[:start] + piece + text[end:]


# --- agreement ---


@dataclass(frozen=True)
class Agreement(WordEdit):
    """Every verb in the present tense, and was and were, disagree with their subject."""

    name = "agreement"
    criterion = "fluency"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        changes = {}
        for index, token in enumerate(parse.tokens):
            # An auxiliary carries the verb's number, whatever the tagger says: did he have.
            has_auxiliary = any(t.dep in ("aux", "auxpass") for t in children(parse, index))
            other = None if has_auxiliary else _other_number(token)
            if other and _subject(parse, index) is not None:
                changes[index] = other
        return changes


def _other_number(token: Token) -> str | None:
    """The verb in the other number, or None for other words and forms that show no number."""
    word = token.text.lower().replace("’", "'")
    if token.pos not in ("VERB", "AUX") or token.tag not in ("VBZ", "VBP", "VBD"):
        return None
    if word in _CONTRACTED or word in _BE:
        return _CONTRACTED.get(word) or _BE[word]
    if token.tag == "VBD" or not word.isalpha():
        return None
    return inflect(lemma_of(word, "verb"), "VBP" if token.tag == "VBZ" else "VBZ")


def _subject(parse: Parse, index: int) -> Token | None:
    """The subject a finite verb agrees with; None where there is none or either number is right."""
    tokens = parse.tokens
    head = tokens[index].head if tokens[index].dep in ("aux", "auxpass") else index
    dependents = children(parse, head)
    if any(t.dep == "mark" and t.text.lower() in ("if", "though") for t in dependents):
        return None  # "if it were" is right in either number
    subjects = [t for t in dependents if t.dep in ("nsubj", "nsubjpass", "expl")]
    if not subjects and tokens[head].dep == "conj" and tokens[head].head < head:
        return _subject(parse, tokens[head].head)
    return subjects[0] if len(subjects) == 1 and not _takes_either_number(subjects[0]) else None


def _takes_either_number(subject: Token) -> bool:
    """Whether a singular and a plural verb are both right: "the team are" is British."""
    word = subject.text.lower()
    collective = word in template_words("collective") or word in word_set("checklist", "nouns", "groups")
    return collective or subject.entity in ("ORG", "NORP") or subject.tag == "CD"


# --- function words ---


@dataclass(frozen=True)
class DropArticles(WordEdit):
    """Articles left out, where one of them is missed."""

    name = "drop-articles"
    criterion = "fluency"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        known = word_set("words", "articles")
        articles = [i for i, t in enumerate(parse.tokens) if t.tag == "DT" and t.text.lower() in known]
        outside = [i for i in articles if not _opens_title(parse, i)]
        return _dropped(parse, outside) if any(_is_missed(parse, i) for i in outside) else {}


def _opens_title(parse: Parse, index: int) -> bool:
    """Whether an article belongs to a title: The Salt Garden."""
    token, after = parse.tokens[index], parse.tokens[index + 1 : index + 2]
    return token.text == "The" and token.entity == "WORK_OF_ART" and bool(after) and after[0].pos == "PROPN"


def _is_missed(parse: Parse, index: int) -> bool:
    """Whether a noun needs its article: not "the bats", "the water" or "a stew", which are fine without."""
    noun = parse.tokens[parse.tokens[index].head]
    return noun.tag == "NN" and noun.text.lower() not in word_set("checklist", "nouns", "mass")


@dataclass(frozen=True)
class DropPrepositions(WordEdit):
    """Prepositions left out, where one of them is missed."""

    name = "drop-prepositions"
    criterion = "fluency"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        known = word_set("words", "prepositions")
        prepositions = [
            i
            for i, t in enumerate(parse.tokens)
            if t.dep in ("prep", "agent", "dative") and t.pos == "ADP" and t.text.lower() in known
        ]
        return _dropped(parse, prepositions) if any(_is_needed(parse, i) for i in prepositions) else {}


def _is_needed(parse: Parse, index: int) -> bool:
    """Whether the words after a preposition need it: not (on) silent, (on) Monday, half (of) the cake."""
    token = parse.tokens[index]
    objects = [t for t in children(parse, index) if t.dep == "pobj" and t.pos != "ADJ"]
    time = token.text.lower() in ("on", "for") and all(t.entity in ("DATE", "TIME") for t in objects)
    return bool(objects) and not time and parse.tokens[token.head].text.lower() not in ("all", "both", "half")


@dataclass(frozen=True)
class DropStopWords(WordEdit):
    """Function words left out; in a question the question word goes too (table 5, answerability)."""

    name = "drop-stop-words"
    criterion = "fluency"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        known = word_set("words", "stop_words")
        targets: list[int] = []
        for index, token in enumerate(parse.tokens):
            # The end of a contraction goes with its stem.
            follows = bool(targets) and targets[-1] == index - 1 and _ends_contraction(parse, index)
            if follows or (token.text.lower() in known and not _is_inside_name(token)):
                targets.append(index)
        rest = set(word_indices(parse)) - set(targets)
        return _dropped(parse, targets, contractions=True) if rest else {}


def _is_inside_name(token: Token) -> bool:
    """Whether a word is part of a name: The Copper Kettle, Mark Can."""
    return token.pos == "PROPN" or (token.entity in ("ORG", "WORK_OF_ART", "FAC") and token.text[0].isupper())


def _ends_contraction(parse: Parse, index: int) -> bool:
    token = parse.tokens[index]
    return not parse.tokens[index - 1].space and (token.text[0] in "'’" or is_clitic(token))


def _dropped(parse: Parse, targets: list[int], *, contractions: bool = False) -> dict[int, str]:
    """Drop the targets that are whole words, and whole contractions if asked."""
    whole = [i for i in targets if (contractions and _is_contracted(parse, i)) or not is_joined(parse, i)]
    return dict.fromkeys(whole, "")


def _is_contracted(parse: Parse, index: int) -> bool:
    """Whether a token is the stem or the end of a contraction, a possessive apart."""
    tokens = parse.tokens
    stem = index + 1 < len(tokens) and _ends_contraction(parse, index + 1) and tokens[index + 1].tag != "POS"
    return stem or (index > 0 and _ends_contraction(parse, index) and tokens[index].tag != "POS")


# --- punctuation ---


@dataclass(frozen=True)
class MisplacedPunctuation(WordEdit):
    """Commas dropped, question marks turned into full stops, and commas where none belongs."""

    name = "misplaced-punctuation"
    criterion = "fluency"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for sentence in parse.sentences:
            wrong = [i for i in range(sentence.start, sentence.end - 1) if _is_inseparable(parse, i)]
            for index in draw_share(wrong, 0.15, rng):
                changes[index] = f"{parse.tokens[index].text},"
        for index, token in enumerate(parse.tokens):
            if token.text in (",", ";") and token.space:
                changes[index] = ""
            elif token.text in ("?", "!"):
                changes[index] = "."
        return changes


def _is_inseparable(parse: Parse, index: int) -> bool:
    """Whether no comma may follow: after an article, preposition or auxiliary, before a word."""
    token, after = parse.tokens[index], parse.tokens[index + 1]
    closed = token.pos in ("DET", "ADP", "AUX") or token.tag in ("TO", "PRP$")
    return closed and bool(token.space) and is_word(after) and not is_joined(parse, index)


# --- spelling ---


class _Typo(WordEdit):
    """A share of the longer words misspelt, at a place inside the word; none becomes another word."""

    criterion: ClassVar[Criterion] = "fluency"
    shortest: ClassVar[int] = 4  # letters of a word that may be misspelt
    share: float

    @abstractmethod
    def misspell(self, word: str, at: int, rng: Random) -> str:
        """The word with a slip at a letter."""

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        changes = {}
        long_words = [i for i in range(len(parse.tokens)) if self._may_change(parse, i)]
        for index in draw_share(long_words, self.share, rng):
            attempts = (self._attempt(parse.tokens[index].text, rng) for _ in range(_TRIES))
            wrong = next((word for word in attempts if word), None)
            if wrong:
                changes[index] = wrong
        return changes

    def _may_change(self, parse: Parse, index: int) -> bool:
        """Whether a reader would see a slip as one; in a name it might pass for another name."""
        token = parse.tokens[index]
        word = token.text
        name = token.pos == "PROPN" or (word[:1].isupper() and not known_word(word))
        plain = len(word) >= self.shortest and word.isascii() and word.isalpha()
        return plain and not name and not is_joined(parse, index)

    def _attempt(self, word: str, rng: Random) -> str | None:
        wrong = self.misspell(word, rng.randrange(1, len(word) - 1), rng)
        known = known_word(wrong) or wrong.lower() in word_set("words", "stop_words")
        return None if known or wrong == word else wrong


@dataclass(frozen=True)
class TypoSwap(_Typo):
    """Two letters change places: frist."""

    name = "typo-swap"
    share: float = 0.15

    def misspell(self, word: str, at: int, rng: Random) -> str:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


@dataclass(frozen=True)
class TypoDrop(_Typo):
    """A letter is left out: evry."""

    name = "typo-drop"
    shortest = 5  # too many strings of three letters are words: boat, bot
    share: float = 0.15

    def misspell(self, word: str, at: int, rng: Random) -> str:
        return word[:at] + word[at + 1 :]


@dataclass(frozen=True)
class TypoDouble(_Typo):
    """A letter is typed twice: everry."""

    name = "typo-double"
    share: float = 0.15

    def misspell(self, word: str, at: int, rng: Random) -> str:
        return word[: at + 1] + word[at:]


@dataclass(frozen=True)
class TypoNeighbour(_Typo):
    """The key beside the right one is hit: ebery."""

    name = "typo-neighbour"
    share: float = 0.15

    def misspell(self, word: str, at: int, rng: Random) -> str:
        beside = rng.choice(key_neighbours()[word[at].lower()])
        return word[:at] + (beside.upper() if word[at].isupper() else beside) + word[at + 1 :]
