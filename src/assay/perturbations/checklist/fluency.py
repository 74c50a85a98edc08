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
from assay.models.nlp import Token
from assay.perturbations import edit
from assay.perturbations.edit import Text, WordEdit
from assay.vocabulary import Criterion

_BE = {"is": "are", "are": "is", "am": "is", "was": "were", "were": "was"}
_CONTRACTED = {"'s": " are", "'re": " is", "'m": " is", "'ve": " has"}
_PLAIN_WORD = re.compile(r"(?<!\S)\w+([-'’]\w+)*(?!\S)")  # touches no mark
_TRIES = 8  # at misspelling a word so that it is not another word


@dataclass(frozen=True)
class Jumble(Perturbation):
    """The words of each sentence in another order; words that touch a mark, and the first, stay.

    Whole written words move, so that the bag of words stays the same.
    """

    name = "jumble"
    criterion = "fluency"

    def apply(self, record: Record, rng: Random) -> str | None:
        parse, cuts = edit.read(record.gold), []
        for sentence in reversed(parse.sentences):
            start = parse.tokens[sentence.start].start
            free = [match for match in _PLAIN_WORD.finditer(parse.piece(sentence)) if match.start() > 0]
            words = [match[0] for match in free]
            order = list(words)
            while order == words and len(set(words)) > 1:
                rng.shuffle(order)
            if len(free) >= 3:
                places = [(start + match.start(), start + match.end()) for match in free]
                cuts += [(*place, word) for place, word in zip(places, order, strict=True)]
        return edit.splice(record.gold, sorted(cuts))


# --- agreement ---


@edit.template("agreement", "fluency")
def Agreement(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every verb in the present tense, and was and were, disagree with their subject."""
    changes = {}
    for index, token in enumerate(parse.tokens):
        # An auxiliary carries the verb's number, whatever the tagger says: did he have.
        has_auxiliary = any(t.dep in ("aux", "auxpass") for t in parse.children(index))
        other = None if has_auxiliary else _other_number(token)
        if other and _has_certain_number(parse, index):
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
    return edit.inflect(edit.lemma_of(word, "verb"), "VBP" if token.tag == "VBZ" else "VBZ")


def _has_certain_number(parse: Text, index: int) -> bool:
    """Whether a finite verb has a subject, and only one number is right for it."""
    token = parse.tokens[index]
    head = token.head if token.dep in ("aux", "auxpass") else index
    dependents, governor = parse.children(head), parse.tokens[head]
    if any(t.dep == "mark" and t.text.lower() in ("if", "though") for t in dependents):
        return False  # "if it were" is right in either number
    subjects = [t for t in dependents if t.dep in ("nsubj", "nsubjpass", "expl")]
    if not subjects and governor.dep == "conj" and governor.head < head:
        return _has_certain_number(parse, governor.head)
    if len(subjects) != 1 or subjects[0].entity in ("ORG", "NORP") or subjects[0].tag == "CD":
        return False
    collective = template_words("collective") | word_set("checklist", "nouns", "groups")
    return subjects[0].text.lower() not in collective  # "the team are" is British


# --- function words ---


@edit.template("drop-articles", "fluency")
def DropArticles(parse: Text, rng: Random) -> Mapping[int, str]:
    """Articles left out, where one of them is missed."""
    known, mass = word_set("words", "articles"), word_set("checklist", "nouns", "mass")
    articles = [i for i, t in enumerate(parse.tokens) if t.tag == "DT" and t.text.lower() in known]
    outside = [i for i in articles if not _opens_title(parse, i)]
    nouns = [parse.tokens[parse.tokens[i].head] for i in outside]
    # "The bats", "the water" and "a stew" are fine without.
    missed = any(noun.tag == "NN" and noun.text.lower() not in mass for noun in nouns)
    return edit.dropped(i for i in outside if missed and not parse.is_joined(i))


def _opens_title(parse: Text, index: int) -> bool:
    """Whether an article belongs to a title: The Salt Garden."""
    token, after = parse.tokens[index], parse.tokens[index + 1 : index + 2]
    return token.text == "The" and token.entity == "WORK_OF_ART" and bool(after) and after[0].pos == "PROPN"


@edit.template("drop-prepositions", "fluency")
def DropPrepositions(parse: Text, rng: Random) -> Mapping[int, str]:
    """Prepositions left out, where one of them is missed."""
    known = word_set("words", "prepositions")
    adpositions = {i: t for i, t in enumerate(parse.tokens) if t.pos == "ADP" and t.text.lower() in known}
    places = [i for i, t in adpositions.items() if t.dep in ("prep", "agent", "dative")]
    missed = any(_is_needed(parse, i) for i in places)
    return edit.dropped(i for i in places if missed and not parse.is_joined(i))


def _is_needed(parse: Text, index: int) -> bool:
    """Whether the words after a preposition need it: not (on) silent, (on) Monday, half (of) the cake."""
    token = parse.tokens[index]
    objects = [t for t in parse.children(index) if t.dep == "pobj" and t.pos != "ADJ"]
    time = token.text.lower() in ("on", "for") and all(t.entity in ("DATE", "TIME") for t in objects)
    return bool(objects) and not time and parse.word_at(token.head) not in ("all", "both", "half")


@edit.template("drop-stop-words", "fluency")
def DropStopWords(parse: Text, rng: Random) -> Mapping[int, str]:
    """Function words left out; in a question the question word goes too (table 5, answerability).

    Words that deny stay: without them the text would say the contrary, which is no error of fluency.
    """
    known = word_set("words", "stop_words") - template_words("negations")
    targets: list[int] = []
    for index, token in enumerate(parse.tokens):
        # The end of a contraction goes with its stem; a name stays whole: The Copper Kettle, Mark Can.
        follows = targets[-1:] == [index - 1] and _ends_contraction(parse, index)
        in_title = token.entity in ("ORG", "WORK_OF_ART", "FAC") and token.text[0].isupper()
        if follows or (token.text.lower() in known and token.pos != "PROPN" and not in_title):
            targets.append(index)
    whole = [i for i in targets if _is_contracted(parse, i) or not parse.is_joined(i)]
    return edit.dropped(whole) if set(parse.word_indices()) - set(targets) else {}


def _ends_contraction(parse: Text, index: int) -> bool:
    token = parse.tokens[index]
    return not parse.tokens[index - 1].space and (token.text[0] in "'’" or edit.is_clitic(token))


def _is_contracted(parse: Text, index: int) -> bool:
    """Whether a token is the stem or the end of a contraction, a possessive apart."""
    tokens = parse.tokens
    stem = index + 1 < len(tokens) and _ends_contraction(parse, index + 1) and tokens[index + 1].tag != "POS"
    return stem or (index > 0 and _ends_contraction(parse, index) and tokens[index].tag != "POS")


# --- punctuation ---


@edit.template("misplaced-punctuation", "fluency")
def MisplacedPunctuation(parse: Text, rng: Random) -> Mapping[int, str]:
    """Commas dropped, question marks turned into full stops, and commas where none belongs."""
    changes: dict[int, str] = {}
    for sentence in parse.sentences:
        wrong = [i for i in range(sentence.start, sentence.end - 1) if _is_inseparable(parse, i)]
        for index in edit.draw_share(wrong, 0.15, rng):
            changes[index] = f"{parse.tokens[index].text},"
    for index, token in enumerate(parse.tokens):
        if token.text in (",", ";") and token.space:
            changes[index] = ""
        elif token.text in ("?", "!"):
            changes[index] = "."
    return changes


def _is_inseparable(parse: Text, index: int) -> bool:
    """Whether no comma may follow: after an article, preposition or auxiliary, before a word."""
    token, after = parse.tokens[index], parse.tokens[index + 1]
    closed = token.pos in ("DET", "ADP", "AUX") or token.tag in ("TO", "PRP$")
    return closed and bool(token.space) and edit.is_word(after) and not parse.is_joined(index)


# --- spelling ---


@dataclass(frozen=True)
class _Typo(WordEdit):
    """A share of the longer words misspelt, at a place inside the word; none becomes another word."""

    criterion: ClassVar[Criterion] = "fluency"
    shortest: ClassVar[int] = 4  # letters of a word that may be misspelt
    share: float = 0.15

    @abstractmethod
    def misspell(self, word: str, at: int, rng: Random) -> str:
        """The word with a slip at a letter."""

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes = {}
        long_words = [i for i in range(len(parse.tokens)) if self._may_change(parse, i)]
        for index in edit.draw_share(long_words, self.share, rng):
            word = parse.tokens[index].text
            for _ in range(_TRIES):
                wrong = self.misspell(word, rng.randrange(1, len(word) - 1), rng)
                known = edit.known_classes(wrong) or wrong.lower() in word_set("words", "stop_words")
                if wrong != word and not known:
                    changes[index] = wrong
                    break
        return changes

    def _may_change(self, parse: Text, index: int) -> bool:
        """Whether a reader would see a slip as one; in a name it might pass for another name."""
        token = parse.tokens[index]
        word = token.text
        name = token.pos == "PROPN" or (word[:1].isupper() and not edit.known_classes(word))
        plain = len(word) >= self.shortest and word.isascii() and word.isalpha()
        return plain and not name and not parse.is_joined(index)


@dataclass(frozen=True)
class TypoSwap(_Typo):
    """Two letters change places: frist."""

    name = "typo-swap"

    def misspell(self, word: str, at: int, rng: Random) -> str:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


@dataclass(frozen=True)
class TypoDrop(_Typo):
    """A letter is left out: evry."""

    name = "typo-drop"
    shortest = 5  # too many strings of three letters are words: boat, bot

    def misspell(self, word: str, at: int, rng: Random) -> str:
        return word[:at] + word[at + 1 :]


@dataclass(frozen=True)
class TypoDouble(_Typo):
    """A letter is typed twice: everry."""

    name = "typo-double"

    def misspell(self, word: str, at: int, rng: Random) -> str:
        return word[: at + 1] + word[at:]


@dataclass(frozen=True)
class TypoNeighbour(_Typo):
    """The key beside the right one is hit: ebery."""

    name = "typo-neighbour"

    def misspell(self, word: str, at: int, rng: Random) -> str:
        beside = rng.choice(key_neighbours()[word[at].lower()])
        return word[:at] + (beside.upper() if word[at].isupper() else beside) + word[at + 1 :]
