"""Fluency templates: word order, agreement, spelling, punctuation, function words (checklist, table 5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import word_list
from assay.models.nlp import Parse, Span, Token, parse_one
from assay.perturbations.edit import (
    drawn,
    inflect,
    is_word,
    joined_word,
    lemma_of,
    rewrite,
    shuffled,
    word_indices,
)

_BE = {"is": "are", "are": "is", "am": "is", "was": "were", "were": "was"}
_CLITICS = {"'s": " are", "'re": " is", "'m": " is", "'ve": " has"}


@dataclass(frozen=True)
class Jumble(Perturbation):
    """The words of each sentence in another order; words that touch a mark, and the first, stay."""

    name = "jumble"
    criterion = "fluency"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Move whole written words, so that the bag of words does not change."""
        parse = parse_one(record.gold)
        text = record.gold
        for sentence in reversed(parse.sentences):
            text = _jumbled(parse, sentence, text, rng)
        return text if text != record.gold else None


def _jumbled(parse: Parse, sentence: Span, text: str, rng: Random) -> str:
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


@dataclass(frozen=True)
class Agreement(Perturbation):
    """Every verb in the present tense, and was and were, disagree with their subject."""

    name = "agreement"
    criterion = "fluency"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Change the number of each finite verb that has a subject of its own."""
        parse = parse_one(record.gold)
        changes = {}
        for index, token in enumerate(parse.tokens):
            other = None if _helped(parse, index) else _disagreeing(token)
            if other and _subject(parse, index) is not None:
                changes[index] = other
        return rewrite(parse, changes) if changes else None


def _helped(parse: Parse, index: int) -> bool:
    """Whether an auxiliary carries the verb's number, whatever the tagger says: did he have."""
    return any(t.head == index and t.dep in ("aux", "auxpass") for t in parse.tokens)


def _disagreeing(token: Token) -> str | None:
    """The verb in the other number."""
    word = token.text.lower().replace("’", "'")
    if token.pos not in ("VERB", "AUX") or token.tag not in ("VBZ", "VBP", "VBD"):
        return None
    if word in _CLITICS or word in _BE:
        return _CLITICS.get(word) or _BE[word]
    if token.tag == "VBD" or not word.isalpha():
        return None
    return inflect(lemma_of(word, "verb"), "VBP" if token.tag == "VBZ" else "VBZ")


def _subject(parse: Parse, index: int) -> Token | None:
    """The subject a finite verb agrees with, unless either number would do."""
    tokens = parse.tokens
    head = tokens[index].head if tokens[index].dep in ("aux", "auxpass") else index
    if any(t.head == head and t.dep == "mark" and t.text.lower() in ("if", "though") for t in tokens):
        return None  # "if it were" is right in either number
    subjects = [t for t in tokens if t.head == head and t.dep in ("nsubj", "nsubjpass", "expl")]
    if not subjects and tokens[head].dep == "conj" and tokens[head].head < head:
        return _subject(parse, tokens[head].head)
    return subjects[0] if len(subjects) == 1 and not _either_number(subjects[0]) else None


def _either_number(subject: Token) -> bool:
    """Whether a singular and a plural verb would do: "the team are" is British."""
    lists = (("checklist", "templates", "collective"), ("checklist", "nouns", "groups"))
    grouped = any(subject.text.lower() in word_list(*name) for name in lists)
    return grouped or subject.entity in ("ORG", "NORP") or subject.tag == "CD"


@dataclass(frozen=True)
class DropArticles(Perturbation):
    """Articles left out."""

    name = "drop-articles"
    criterion = "fluency"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop a, an and the, where one of them is missed."""
        parse = parse_one(record.gold)
        known = word_list("words", "articles", "words")
        articles = [i for i, t in enumerate(parse.tokens) if t.tag == "DT" and t.text.lower() in known]
        outside = [i for i in articles if not _title(parse, i)]
        return _without(parse, outside) if any(_missed(parse, i) for i in outside) else None


def _title(parse: Parse, index: int) -> bool:
    """Whether an article belongs to a title: The Salt Garden."""
    token, after = parse.tokens[index], parse.tokens[index + 1 : index + 2]
    return token.text == "The" and token.entity == "WORK_OF_ART" and bool(after) and after[0].pos == "PROPN"


def _missed(parse: Parse, index: int) -> bool:
    """Whether a noun needs its article: not "the bats", "the water" or "a stew", which are good without."""
    noun = parse.tokens[parse.tokens[index].head]
    return noun.tag == "NN" and noun.text.lower() not in word_list("checklist", "nouns", "mass")


@dataclass(frozen=True)
class DropPrepositions(Perturbation):
    """Prepositions left out."""

    name = "drop-prepositions"
    criterion = "fluency"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop the words that the parse calls prepositions and the list knows, where one is missed."""
        parse = parse_one(record.gold)
        known = word_list("words", "prepositions", "words")
        found = [
            i
            for i, t in enumerate(parse.tokens)
            if t.dep in ("prep", "agent", "dative") and t.pos == "ADP" and t.text.lower() in known
        ]
        return _without(parse, found) if any(_governs(parse, i) for i in found) else None


def _governs(parse: Parse, index: int) -> bool:
    """Whether the words behind a preposition need it: not (on) silent, (on) Monday, half (of) the cake."""
    token = parse.tokens[index]
    timely = token.text.lower() in ("on", "for")
    objects = [t for t in parse.tokens if t.head == index and t.dep == "pobj" and t.pos != "ADJ"]
    free = timely and all(t.entity in ("DATE", "TIME") for t in objects)
    return bool(objects) and not free and parse.tokens[token.head].text.lower() not in ("all", "both", "half")


@dataclass(frozen=True)
class DropStopWords(Perturbation):
    """Function words left out; in a question the question word goes too (table 5, answerability)."""

    name = "drop-stop-words"
    criterion = "fluency"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop listed words, and contractions made of them whole."""
        parse = parse_one(record.gold)
        known = frozenset(word_list("words", "stop_words", "words"))
        targets: list[int] = []
        for index, token in enumerate(parse.tokens):
            follows = bool(targets) and targets[-1] == index - 1 and _clitic(parse, index)
            if follows or (token.text.lower() in known and not _inside_name(parse, index)):
                targets.append(index)
        left = set(word_indices(parse)) - set(targets)
        return _without(parse, targets, clitics=True) if left else None


def _clitic(parse: Parse, index: int) -> bool:
    token = parse.tokens[index]
    return not parse.tokens[index - 1].space and (
        token.text[0] in "'’" or token.text.lower() in ("n't", "n’t")
    )


def _inside_name(parse: Parse, index: int) -> bool:
    """Whether a word is part of a name: The Copper Kettle, Mark Can."""
    token = parse.tokens[index]
    return token.pos == "PROPN" or (token.entity in ("ORG", "WORK_OF_ART", "FAC") and token.text[0].isupper())


def _without(parse: Parse, targets: list[int], *, clitics: bool = False) -> str | None:
    kept = [i for i in targets if (clitics and _contracted(parse, i)) or not joined_word(parse, i)]
    return rewrite(parse, dict.fromkeys(kept, "")) if kept else None


def _contracted(parse: Parse, index: int) -> bool:
    """Whether a token and its clitic are dropped together."""
    tokens = parse.tokens
    after = index + 1 < len(tokens) and _clitic(parse, index + 1) and tokens[index + 1].tag != "POS"
    return after or (index > 0 and _clitic(parse, index) and tokens[index].tag != "POS")


@dataclass(frozen=True)
class MisplacedPunctuation(Perturbation):
    """Marks missing, and commas where none belongs."""

    name = "misplaced-punctuation"
    criterion = "fluency"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop commas, turn question marks into full stops, and part words that belong together."""
        parse = parse_one(record.gold)
        changes: dict[int, str] = {}
        for sentence in parse.sentences:
            wrong = [i for i in range(sentence.start, sentence.end - 1) if _inseparable(parse, i)]
            for index in drawn(wrong, 0.15, rng):
                changes[index] = f"{parse.tokens[index].text},"
        for index, token in enumerate(parse.tokens):
            if token.text in (",", ";") and token.space:
                changes[index] = ""
            elif token.text in ("?", "!"):
                changes[index] = "."
        return rewrite(parse, changes) if changes else None


def _inseparable(parse: Parse, index: int) -> bool:
    """Whether no comma may follow: after an article, preposition or auxiliary, before a word."""
    token, after = parse.tokens[index], parse.tokens[index + 1]
    closed = token.pos in ("DET", "ADP", "AUX") or token.tag in ("TO", "PRP$")
    return closed and bool(token.space) and is_word(after) and not joined_word(parse, index)
