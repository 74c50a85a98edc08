"""The noises of *blind* (table 16, figure 9) but for BERT-diverge: fluency, consistency, switched parts.

`level` is a share of the words, or a number of sentences or pairs, as the paper has it.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, word_set
from assay.language import full_stop, join_words, split_sentences_of, split_words
from assay.models.nlp import Span, Token, spacy_stop_words
from assay.perturbations import edit
from assay.perturbations.edit import Text, WordEdit
from assay.perturbations.entities import ORGANISATION, PERSON, PLACE, is_title, names
from assay.perturbations.negation import negation
from assay.vocabulary import Criterion

# The release confuses these five marks.
_PUNCTUATION = {".": ",", ",": ".", "!": ",", "?": ",", ":": "."}
_PUNCTUATION |= {"。": "，", "，": "。", "！": "，", "？": "，", "：": "。", "،": ".", "؟": "،"}
# The phrases of the release, which draws one of the articles.
_GENERIC = {
    PERSON: (("some", "a"), "person"),
    PLACE: (("some", "a"), "place"),
    ORGANISATION: (("some", "an"), "organization"),
}
# Footnote 14 names these four marks; one inside a figure or a name ends nothing: 40,000, x.org, Mr. Smith.
_SUB_SENTENCE = re.compile(r".+?(?:[,.?!]+[\"'”’)\]]*(?=\s|$)|[，。？！；،؟]+[”’」』）]*|$)", re.DOTALL)
_ABBREVIATED = re.compile(r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Prof|vs|No|e\.g|i\.e|(?:[A-Z]\.)+[A-Z])\.$")


# --- fluency ---


@dataclass(frozen=True)
class Truncation(Perturbation):
    """The last floor(level x words) words are cut; the rest is closed with a full stop."""

    name = "truncation"
    criterion = "fluency"
    languages = None
    seeded = False
    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        words = split_words(record.gold)
        cut = math.floor(len(words) * self.level + 1e-9)
        if not cut or cut == len(words):
            return None
        rest = join_words(words[: len(words) - cut], record.gold)
        stop = full_stop(record.gold)
        return rest if rest.endswith(stop) else rest + stop


@dataclass(frozen=True)
class ArticleRemoval(Perturbation):
    """A share of the articles is removed."""

    name = "article-removal"
    criterion = "fluency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        articles, words = word_set("words", "articles"), record.gold.split()
        places = [place for place, word in enumerate(words) if word.lower() in articles]
        removed = set(edit.draw_each(places, self.level, rng))
        for place in removed:
            before = words[place - 1].rstrip("\"')]”’") if place else "."
            opens_sentence = words[place][0].isupper() and before.endswith((".", "!", "?"))
            if opens_sentence and place + 1 < len(words):
                words[place + 1] = capitalised(words[place + 1])
        return " ".join(word for place, word in enumerate(words) if place not in removed) if removed else None


class _Removal(Perturbation):
    """Some tokens of a kind are dropped, each with the probability `level`."""

    criterion: ClassVar[Criterion] = "fluency"
    level: float

    @abstractmethod
    def removes(self, token: Token) -> bool:
        """Whether a token is of the kind."""

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        tokens = parse.tokens
        removed = set(edit.draw_each([i for i, t in enumerate(tokens) if self.removes(t)], self.level, rng))
        stems = dict[int, str]()
        for place in sorted(removed):  # "is" takes "n't" with it; without "n't", "ca" is "can"
            if not tokens[place].space and place + 1 < len(tokens) and edit.is_clitic(tokens[place + 1]):
                removed.add(place + 1)
            stem = tokens[place - 1].text.lower() if place and edit.is_clitic(tokens[place]) else ""
            if stem in edit.FULL_STEMS:
                stems[place - 1] = edit.FULL_STEMS[stem]
        changes = stems | edit.dropped(removed)
        return " ".join(edit.rewrite(parse, changes, articles=False).split()) if removed else None


@dataclass(frozen=True)
class PrepositionRemoval(_Removal):
    """A share of the prepositions is removed."""

    name = "preposition-removal"
    level: float = 0.7

    def removes(self, token: Token) -> bool:
        return token.pos == "ADP"


@dataclass(frozen=True)
class StopWordRemoval(_Removal):
    """A share of the function words is removed, by spaCy's list as in the release."""

    name = "stop-word-removal"
    level: float = 0.3

    def removes(self, token: Token) -> bool:
        return token.text.lower() in spacy_stop_words()


@dataclass(frozen=True)
class VerbLemmatisation(WordEdit):
    """A share of the full verbs loses its inflection."""

    name = "verb-lemmatisation"
    criterion = "fluency"
    repair = False
    level: float = 1.0

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        verbs = {
            i: edit.base_form(t) for i, t in enumerate(parse.tokens) if t.pos == "VERB" and t.text.isalpha()
        }
        inflected = [i for i, base in verbs.items() if base != parse.tokens[i].text.lower()]
        return {i: verbs[i] for i in edit.draw_each(inflected, self.level, rng)}


@dataclass(frozen=True)
class TokenDrop(Perturbation):
    """A share of the words is dropped, but never the last one left."""

    name = "token-drop"
    criterion = "fluency"
    languages = None
    level: float = 0.2

    def apply(self, record: Record, rng: Random) -> str | None:
        words = split_words(record.gold)
        count = max(0, min(edit.share_count(len(words), self.level), len(words) - 1))
        absent = set(rng.sample(range(len(words)), count))
        rest = [word for i, word in enumerate(words) if i not in absent]
        return join_words(rest, record.gold) if absent else None


@dataclass(frozen=True)
class RepeatedToken(Perturbation):
    """A share of the words is repeated; a repeat may be repeated again, as in the release."""

    name = "repeated-token"
    criterion = "fluency"
    languages = None
    level: float = 0.2

    def apply(self, record: Record, rng: Random) -> str | None:
        words = split_words(record.gold)
        for _ in range(edit.share_count(len(words), self.level)):
            place = rng.randrange(len(words))
            words.insert(place, words[place])
        return join_words(words, record.gold)


@dataclass(frozen=True)
class LocalSwap(Perturbation):
    """A share of the words changes places with the next word.

    As in the release, no swap of the same two words at the same place is made twice; it may be undone.
    """

    name = "local-swap"
    criterion = "fluency"
    languages = None
    switched = True
    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        words = split_words(record.gold)
        if len(words) < 2:
            return None
        done: set[tuple[int, str, str]] = set()
        for _ in range(min(edit.share_count(len(words), self.level), len(words) - 1)):
            while (swap := _swap_at(rng.randrange(len(words) - 1), words)) in done:
                pass  # fewer swaps are done than there are places, so that one is free
            done.add(swap)
            place, left, right = swap
            words[place], words[place + 1] = right, left
        return join_words(words, record.gold)


def _swap_at(place: int, words: list[str]) -> tuple[int, str, str]:
    return place, words[place], words[place + 1]


@dataclass(frozen=True)
class MiddleSwap(Perturbation):
    """In `level` sentences the left and the right half change places."""

    name = "middle-swap"
    criterion = "fluency"
    languages = None
    switched = True
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        if record.language not in ("", "en"):
            return _swap_halves_of_any(record.gold, self.level, rng)
        parse = edit.read(record.gold)
        spans = parse.sentences
        turned = set(rng.sample(range(len(spans)), min(self.level, len(spans))))
        pieces = [_swap_halves(parse, s) if i in turned else parse.piece(s) for i, s in enumerate(spans)]
        return " ".join(piece.strip() for piece in pieces)


def _swap_halves_of_any(text: str, level: int, rng: Random) -> str:
    """The halves of some sentences in any language, by words or characters; final marks stay last."""
    pieces = split_sentences_of(text)
    for place in rng.sample(range(len(pieces)), min(level, len(pieces))):
        body = pieces[place].rstrip(" .!?…。！？؟۔।")
        words, end = split_words(body), pieces[place][len(body) :]
        middle = math.ceil(len(words) / 2)
        pieces[place] = join_words(words[middle:] + words[:middle], text) + end
    return join_words(pieces, text)


def _swap_halves(parse: Text, span: Span) -> str:
    """The right half of a sentence before its left half; the final mark stays last."""
    tokens = parse.tokens[span.start : span.end]
    last = tokens[-1]
    body = tokens[:-1] if last.pos == "PUNCT" else tokens
    middle = math.ceil(len(tokens) / 2)
    while 0 < middle < len(body) and not body[middle - 1].space:  # never inside "don't" or before a comma
        middle += 1
    if not 0 < middle < len(body):
        return parse.piece(span)
    start, cut, end = body[0].start, body[middle].start, body[-1].end
    left, right = parse.text[start:cut].strip(" ,;"), parse.text[cut:end].strip(" ,;")
    if body[0].pos != "PROPN" and body[0].text != "I" and not edit.is_all_caps(parse.text):
        left = left[:1].lower() + left[1:]
    ended = body is tokens or (last.text == "." and left.endswith("."))  # the U.S.
    return f"{right[:1].upper()}{right[1:]} {left}{'' if ended else last.text}"


@dataclass(frozen=True)
class NoisedPunctuation(Perturbation):
    """A share of the punctuation is confused: commas become full stops, and the reverse.

    Marks within numbers and addresses too: the release goes by characters, and so do its figures.
    """

    name = "noised-punctuation"
    criterion = "fluency"
    languages = None
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        marks = [i for i, letter in enumerate(text) if letter in _PUNCTUATION]
        places = set(edit.draw_each(marks, self.level, rng))
        return "".join(_PUNCTUATION[letter] if i in places else letter for i, letter in enumerate(text))


# --- consistency ---


@dataclass(frozen=True)
class SentenceReplacement(Perturbation):
    """`level` sentences are replaced by sentences of other items of the corpus."""

    name = "sentence-replacement"
    criterion = "consistency"
    reads = "others"
    languages = None
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        others, pieces = edit.unrelated_texts(record), edit.sentences(record.gold)
        if not others or not pieces:
            return None
        for place in rng.sample(range(len(pieces)), min(self.level, len(pieces))):
            sentence = rng.choice(edit.sentences(rng.choice(others)) or [pieces[place]])
            if sentence not in record.gold:
                pieces[place] = sentence
        return join_words(pieces, record.gold)


@dataclass(frozen=True)
class GenericNamedEntity(Perturbation):
    """A share of the names of people, places and organisations becomes "a person", "some place" and so on."""

    name = "generic-named-entity"
    criterion = "consistency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        drawn = edit.draw_each(names(parse), self.level, rng)
        return edit.splice(record.gold, [_generic_phrase(parse, name, rng) for name in drawn])


def _generic_phrase(parse: Text, name: Span, rng: Random) -> tuple[int, int, str]:
    """The cut that replaces a name, and an article before it, by a generic phrase.

    As in the release: "some" or "a" is drawn, and a noun or an adjective before the name takes no article.
    Nor does an owner or another determiner.
    """
    tokens, first = parse.tokens, name.start
    articles, noun = _GENERIC[name.label]
    while first and (
        is_title(tokens[first - 1].text) or tokens[first - 1].text.lower() in word_set("words", "articles")
    ):
        first -= 1
    before = tokens[first - 1] if first and tokens[first - 1].space else None
    bound = before is not None and (
        before.pos in ("ADJ", "NOUN", "DET", "NUM") or before.tag in ("POS", "PRP$")
    )
    phrase = noun if bound else f"{rng.choice(articles)} {noun}"
    if tokens[first].text[:1].isupper() and first == parse.first_word(parse.sentence_of(first)):
        phrase = capitalised(phrase)
    return tokens[first].start, tokens[name.end - 1].end, phrase


@dataclass(frozen=True)
class Negation(Perturbation):
    """A share of the sentences is negated, or loses its negation; where that would be doubtful, it stays."""

    name = "negation"
    criterion = "consistency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        changes: dict[int, str] = {}
        for span in edit.draw_each(parse.sentences, self.level, rng):
            changes |= negation(parse, span, shy="negations", contract=True) or {}
        return " ".join(edit.rewrite(parse, changes).split()) if changes else None


# --- switched parts ---


class _Switching(Perturbation):
    """`level` pairs of parts of the text change places."""

    criterion: ClassVar[Criterion] = "consistency"
    switched = True
    level: int


@dataclass(frozen=True)
class SentenceSwitching(_Switching):
    """`level` pairs of sentences change places; `last` says whether the last one may move."""

    name = "sentence-switching"
    languages = None
    level: int = 1
    last: bool = True

    def apply(self, record: Record, rng: Random) -> str | None:
        pieces = edit.sentences(record.gold)
        free, fixed = (pieces, []) if self.last else (pieces[:-1], pieces[-1:])
        moved = free[::-1] if len(free) == 2 else edit.switch_pairs(free, self.level, rng)
        return join_words(moved + fixed, record.gold) if moved else None


@dataclass(frozen=True)
class SubSentenceSwitching(_Switching):
    """`level` pairs of stretches between punctuation marks change places."""

    name = "sub-sentence-switching"
    languages = None
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        return join_words(edit.switch_pairs(_sub_sentences(record.gold), self.level, rng), record.gold)


def _sub_sentences(text: str) -> list[str]:
    """The stretches of a text that end in a mark."""
    pieces: list[str] = []
    for piece in _SUB_SENTENCE.findall(text):
        if pieces and _ABBREVIATED.search(pieces[-1]):
            pieces[-1] += piece
        elif piece.strip():
            pieces.append(piece.strip())
    return pieces


@dataclass(frozen=True)
class TokenSwitching(_Switching):
    """`level` pairs of words change places."""

    name = "token-switching"
    languages = None
    level: int = 5

    def apply(self, record: Record, rng: Random) -> str | None:
        return join_words(edit.switch_pairs(split_words(record.gold), self.level, rng), record.gold)


@dataclass(frozen=True)
class NounSwitching(_Switching):
    """`level` pairs of common nouns change places."""

    name = "noun-switching"
    level: int = 2

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        switched = _switched_tokens(parse, "NOUN", self.level, rng)
        return (
            edit.rewrite(parse, {at: _cased(parse, at, t) for at, t in switched.items()})
            if switched
            else None
        )


def _cased(parse: Text, at: int, word: Token) -> str:
    """A noun without the capital of the sentence that it opened, or with that of the one it opens."""
    opens = parse.tokens[at].text[:1].isupper() and at == parse.first_word(parse.sentence_of(at))
    if word.text[1:].lower() != word.text[1:]:  # TV, iPhone
        return word.text
    return capitalised(word.text) if opens else word.text.lower()


@dataclass(frozen=True)
class VerbSwitching(_Switching, WordEdit):
    """`level` pairs of full verbs change places, each inflected for its new place."""

    name = "verb-switching"
    repair = False
    level: int = 8

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes = {}
        for at, verb in _switched_tokens(parse, "VERB", self.level, rng).items():
            here, form = parse.tokens[at], verb.text.lower()
            if verb.tag != here.tag:
                form = edit.inflect(edit.base_form(verb), here.tag) or form
            changes[at] = form.capitalize() if here.text[:1].isupper() else form
        return changes


def _switched_tokens(parse: Text, pos: str, count: int, rng: Random) -> dict[int, Token]:
    """Index to its new token, after switching words of a kind (the tagger takes emoji for nouns too)."""
    places = [i for i, token in enumerate(parse.tokens) if token.pos == pos and _is_movable(parse, i)]
    moved = edit.switch_pairs(places, count, rng)
    return {at: parse.tokens[other] for at, other in zip(places, moved, strict=False) if at != other}


def _is_movable(parse: Text, index: int) -> bool:
    """Whether a word is whole: no part of a compound, a hyphenated word or an address."""
    token = parse.tokens[index]
    if not edit.is_word(token) or edit.is_address(token) or parse.is_joined(index):
        return False
    beside = [i for i in (index - 1, index + 1) if 0 <= i < len(parse.tokens)]
    compound = token.dep == "compound" or any(
        parse.tokens[i].dep == "compound" and parse.tokens[i].head == index for i in beside
    )
    return token.pos != "NOUN" or not compound


@dataclass(frozen=True)
class NamedEntitySwitching(_Switching):
    """`level` pairs of names change places, each with another of its kind: people, places, organisations.

    Names that are listed side by side stay: "A and B" says the same as "B and A".
    """

    name = "named-entity-switching"
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        spans = names(parse)
        texts, pairs = [parse.piece(span) for span in spans], _switchable(parse, spans)
        last = None
        for _ in range(self.level):
            fitting = [pair for pair in pairs if pair != last and _differ(texts, pair)]
            if not fitting:
                break
            first, second = last = rng.choice(fitting)
            texts[first], texts[second] = texts[second], texts[first]
        places = [(parse.tokens[span.start].start, parse.tokens[span.end - 1].end) for span in spans]
        return edit.splice(record.gold, [(*place, text) for place, text in zip(places, texts, strict=True)])


def _switchable(parse: Text, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """The pairs of names, by their numbers, that are of one kind and not beside each other in a list.

    A name with an article only changes places with another that has one: the Arctic, South America.
    """
    listed = set[int]()  # numbers of names that a list continues after
    for number, (left, right) in enumerate(pairwise(spans)):
        between = {token.text.lower() for token in parse.tokens[left.end : right.start]}
        if between <= {",", "and", "or", "&", "/", "-"}:
            listed.add(number)
    kinds = [(span.label, parse.word_at(span.start - 1) == "the") for span in spans]
    return [
        (i, j)
        for j in range(len(spans))
        for i in range(j)
        if kinds[i] == kinds[j] and not listed >= set(range(i, j))
    ]


def _differ(texts: Sequence[str], pair: tuple[int, int]) -> bool:
    """Whether two names have no word in common, nor will stand beside themselves after the switch."""
    first, second = pair
    beside = {texts[i] for i in (first - 1, first + 1) if 0 <= i < len(texts) and i != second}
    other = {texts[i] for i in (second - 1, second + 1) if 0 <= i < len(texts) and i != first}
    common = set(texts[first].split()) & set(texts[second].split())
    return not common and texts[second] not in beside and texts[first] not in other
