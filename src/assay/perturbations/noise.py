"""The noises of *blind* (table 16, figure 9) but for BERT-diverge: fluency, consistency, switched parts.

`level` is a share of the words, or a number of sentences or pairs, as the paper has it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from operator import itemgetter
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised
from assay.files import word_set
from assay.language import full_stop, join_words, split_sentences_of, split_words
from assay.models.nlp import Span, Token, spacy_stop_words
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in, words_in
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.entities import ORGANISATION, PERSON, PLACE, is_title, name_spans, named
from assay.perturbations.negation import negation

# The release confuses these five marks.
_PUNCTUATION = {".": ",", ",": ".", "!": ",", "?": ",", ":": "."}
_PUNCTUATION |= {"。": "，", "，": "。", "！": "，", "？": "，", "：": "。", "،": ".", "؟": "،"}
_JAPANESE = {"。": "、", "、": "。", "！": "、", "？": "、"}  # the comma of Japanese is that of Chinese lists
_IN_LISTS = {",", "and", "or", "&", "/", "-", "'s", "’s", "'", "("}  # what may stand between two listed names
# The phrases of the release, which draws the article or "some".
_GENERIC = {PERSON: ("a", "person"), PLACE: ("a", "place"), ORGANISATION: ("an", "organization")}
# Footnote 14 names these four marks; one inside a figure or a name ends nothing: 40,000, x.org, Mr. Smith.
_SUB_SENTENCE = re.compile(r".+?(?:[,.?!]+[\"'”’)\]]*(?=\s|$)|[，。？！；،؟]+[”’」』）]*|$)", re.DOTALL)
_ABBREVIATED = re.compile(r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Prof|vs|No|e\.g|i\.e|(?:[A-Z]\.)+[A-Z])\.$")


@dataclass(frozen=True)
class Truncation(Perturbation):
    """The last floor(level x words) words are cut; the rest is closed with a full stop."""

    name = "truncation"
    criterion = "fluency"
    title = "a text cut off"
    levels = (0.1, 0.2, 0.3, 0.4, 0.5)
    languages = None
    seeded = False

    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        words = split_words(record.gold)
        cut = math.floor(len(words) * self.level + 1e-9)
        if not cut or cut == len(words):
            return None
        rest, stop = join_words(words[: len(words) - cut], record.gold), full_stop(record.gold)
        return rest if rest.endswith(stop) else rest + stop


@dataclass(frozen=True)
class ArticleRemoval(Perturbation):
    """A share of the articles is removed."""

    name = "article-removal"
    criterion = "fluency"
    title = "missing articles"
    levels = (0.5, 1.0)

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        articles, words = word_set("words", "articles"), record.gold.split()
        places = [place for place, word in enumerate(words) if word.lower() in articles]
        removed = set(edit.draw_each(places, self.level, rng))
        following = {place + 1 for place in removed if words[place][0].isupper() and _opens(words, place)}
        words = [capitalised(word) if place in following else word for place, word in enumerate(words)]
        kept = [word for place, word in enumerate(words) if place not in removed]
        return " ".join(kept) if removed else None


def _opens(words: Sequence[str], place: int) -> bool:
    """Whether a word opens the text or a sentence, by the word before it."""
    return place == 0 or words[place - 1].rstrip("\"')]”’").endswith((".", "!", "?"))


@dataclass(frozen=True)
class PrepositionRemoval(Perturbation):
    """A share of the prepositions is removed."""

    name = "preposition-removal"
    criterion = "fluency"
    title = "missing prepositions"
    levels = (0.4, 0.7, 1.0)

    level: float = 0.7

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        return _without(parse, parse.where(lambda token: token.pos == "ADP"), self.level, rng)


@dataclass(frozen=True)
class StopWordRemoval(Perturbation):
    """A share of the function words is removed, by spaCy's list as in the release."""

    name = "stop-word-removal"
    criterion = "fluency"
    title = "missing function words"
    levels = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)

    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        parse, stop_words = edit.read(record.gold), spacy_stop_words()
        places = parse.where(lambda token: token.text.lower() in stop_words)
        return _without(parse, places, self.level, rng)


def _without(parse: Text, places: Sequence[int], level: float, rng: Random) -> str | None:
    """The text without some of the tokens, each dropped with the probability `level`."""
    removed, stems = set(edit.draw_each(places, level, rng)), dict[int, str]()
    clitics = [end for end in parse.where(edit.is_clitic) if end and not parse.tokens[end - 1].space]
    for end in clitics:  # "is" takes "n't" with it; without "n't", "ca" is "can"
        if end - 1 in removed:
            removed.add(end)
        elif end in removed:
            stem = parse.word_at(end - 1)
            stems[end - 1] = edit.FULL_STEMS.get(stem, parse.text_at(end - 1))
    changes = stems | edit.dropped(removed)
    return " ".join(edit.rewrite(parse, changes, articles=False).split()) if removed else None


@dataclass(frozen=True)
class VerbLemmatisation(ParseEdit):
    """A share of the full verbs loses its inflection."""

    name = "verb-lemmatisation"
    criterion = "fluency"
    title = "verbs without endings"
    levels = (0.5, 1.0)
    repair = False

    level: float = 1.0

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        verbs = parse.where(lambda token: token.pos == "VERB" and token.text.isalpha())
        bases = {i: edit.base_form(parse.tokens[i]) for i in verbs}
        inflected = [i for i, base in bases.items() if base != parse.word_at(i)]
        return {i: bases[i] for i in edit.draw_each(inflected, self.level, rng)}


@dataclass(frozen=True)
class TokenDrop(Perturbation):
    """A share of the words is dropped, but never the last one left."""

    name = "token-drop"
    criterion = "fluency"
    title = "missing words"
    levels = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
    languages = None

    level: float = 0.2

    def apply(self, record: Record, rng: Random) -> str | None:
        words = split_words(record.gold)
        count = max(0, min(edit.share_count(len(words), self.level), len(words) - 1))
        absent = set(rng.sample(range(len(words)), count))
        return join_words([word for i, word in enumerate(words) if i not in absent], record.gold)


@dataclass(frozen=True)
class RepeatedToken(Perturbation):
    """A share of the words is repeated; a repeat may be repeated again, as in the release."""

    name = "repeated-token"
    criterion = "fluency"
    title = "repeated words"
    levels = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
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
    title = "neighbouring words swapped"
    levels = (0.05, 0.15, 0.3, 0.6)
    languages = None
    switched = True

    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        words = split_words(record.gold)
        if len(words) < 2:
            return None
        done: set[tuple[int, str, str]] = set()
        for _ in range(min(edit.share_count(len(words), self.level), len(words) - 1)):
            place = rng.randrange(len(words) - 1)
            while (swap := (place, words[place], words[place + 1])) in done:
                place = rng.randrange(
                    len(words) - 1
                )  # fewer swaps are done than there are places: one is free
            done.add(swap)
            words[place], words[place + 1] = words[place + 1], words[place]
        return join_words(words, record.gold)


@dataclass(frozen=True)
class MiddleSwap(Perturbation):
    """In `level` sentences the left and the right half change places."""

    name = "middle-swap"
    criterion = "fluency"
    title = "words swapped in the middle"
    levels = (1, 2, 3)
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
    """A share of the punctuation is confused: commas and colons become full stops, the other marks commas.

    Marks within numbers and addresses too: the release goes by characters, and so do its figures.
    """

    name = "noised-punctuation"
    criterion = "fluency"
    title = "wrong punctuation"
    levels = (0.5, 1.0)
    languages = None

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        marks = _PUNCTUATION | (_JAPANESE if record.language == "ja" else {})
        places = set(edit.draw_each([i for i, mark in enumerate(text) if mark in marks], self.level, rng))
        return "".join(marks[letter] if i in places else letter for i, letter in enumerate(text))


@dataclass(frozen=True)
class SentenceReplacement(Perturbation):
    """`level` sentences are replaced by sentences of other items of the corpus."""

    name = "sentence-replacement"
    criterion = "consistency"
    title = "a sentence from another text"
    levels = (1, 2)
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
    """A share of the names of people, places and organisations becomes "a person", "some place" and so on.

    Names with nothing between them may be parts of one, and stay.
    """

    name = "generic-named-entity"
    criterion = "consistency"
    title = "names made generic"
    levels = (0.5, 1.0)

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        spans = name_spans(parse)
        touching = [pair for pair in pairwise(spans) if pair[0].end >= pair[1].start]
        apart = [name for name in spans if name not in chain(*touching)]
        drawn = edit.draw_each(apart, self.level, rng)
        return edit.splice(parse.text, [_generic_phrase(parse, name, rng) for name in drawn])


def _generic_phrase(parse: Text, name: Span, rng: Random) -> tuple[int, int, str]:
    """The cut that replaces a name, and an article before it, by a generic phrase.

    As in the release: "some" or "a" is drawn, and a noun or an adjective before the name takes no article.
    Nor does an owner or another determiner.
    """
    tokens, first = parse.tokens, name.start
    article, noun = _GENERIC[name.label]
    articles = word_set("words", "articles")
    while first and (is_title(tokens[first - 1].text) or parse.word_at(first - 1) in articles):
        first -= 1
    phrase = noun if stands_in("described", parse, first) else f"{rng.choice(('some', article))} {noun}"
    new = capitalised(phrase) if stands_in("opens-in-capitals", parse, first) else phrase
    return tokens[first].start, tokens[name.end - 1].end, new


@dataclass(frozen=True)
class Negation(Perturbation):
    """A share of the sentences is negated, or loses its negation; where that would be doubtful, it stays.

    On CNN/DM its noise-ratio is 1.02 of the released one at level 1. At level 0.5, where each sentence is
    drawn by itself, it is 1.01 to 1.12 by seed, and the release's own is .49 of its ratio at level 1.
    """

    name = "negation"
    criterion = "consistency"
    title = "an added negation"
    levels = (0.5, 1.0)

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        changes: dict[int, str] = {}
        for span in edit.draw_each(parse.sentences, self.level, rng):
            changes |= negation(parse, span, shy="negations", contract=True) or {}
        return " ".join(edit.rewrite(parse, changes).split()) if changes else None


@dataclass(frozen=True)
class SentenceSwitching(Perturbation):
    """`level` pairs of sentences change places; `last` says whether the last one may move."""

    name = "sentence-switching"
    criterion = "consistency"
    title = "switched sentences"
    levels = (1, 2)
    languages = None
    switched = True

    level: int = 1
    last: bool = True

    def apply(self, record: Record, rng: Random) -> str | None:
        pieces = edit.sentences(record.gold)
        free, fixed = (pieces, []) if self.last else (pieces[:-1], pieces[-1:])
        moved = free[::-1] if len(free) == 2 else edit.switch_pairs(free, self.level, rng)
        return join_words(moved + fixed, record.gold) if moved else None


@dataclass(frozen=True)
class SubSentenceSwitching(Perturbation):
    """`level` pairs of stretches between punctuation marks change places."""

    name = "sub-sentence-switching"
    criterion = "consistency"
    languages = None
    switched = True

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
class TokenSwitching(Perturbation):
    """`level` pairs of words change places."""

    name = "token-switching"
    criterion = "consistency"
    languages = None
    switched = True

    level: int = 5

    def apply(self, record: Record, rng: Random) -> str | None:
        return join_words(edit.switch_pairs(split_words(record.gold), self.level, rng), record.gold)


@dataclass(frozen=True)
class NounSwitching(ParseEdit):
    """`level` pairs of common nouns change places."""

    name = "noun-switching"
    criterion = "consistency"
    title = "switched nouns"
    levels = (2, 7)
    switched = True

    level: int = 2

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        switched = _switched_tokens(parse, "NOUN", self.level, rng)
        return {at: _cased(parse, at, noun.text) for at, noun in switched.items()}


def _cased(parse: Text, at: int, noun: str) -> str:
    """A noun without the capital of the sentence that it opened, or with that of the one it opens."""
    if noun[1:].lower() != noun[1:]:  # TV, iPhone
        return noun
    return capitalised(noun) if stands_in("opens-in-capitals", parse, at) else noun.lower()


@dataclass(frozen=True)
class VerbSwitching(ParseEdit):
    """`level` pairs of full verbs change places, each inflected for its new place."""

    name = "verb-switching"
    criterion = "consistency"
    title = "switched verbs"
    levels = (8,)
    switched = True
    repair = False

    level: int = 8

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        switched = _switched_tokens(parse, "VERB", self.level, rng)
        return {at: _inflected_for(parse.tokens[at], verb) for at, verb in switched.items()}


def _inflected_for(place: Token, verb: Token) -> str:
    """A verb in the form of the one whose place it takes, as far as the dictionary has that form."""
    form = verb.text.lower()
    if verb.tag != place.tag:
        inflected = edit.inflect(edit.base_form(verb), place.tag) or ""
        form = inflected if edit.known_classes(inflected) else form  # not: swammed
    return form.capitalize() if place.text[:1].isupper() else form


def _switched_tokens(parse: Text, pos: str, count: int, rng: Random) -> dict[int, Token]:
    """Index to its new token, after switching words of a kind (the tagger takes emoji for nouns too)."""
    places = words_in("movable", parse, parse.where(lambda token: token.pos == pos))
    moved = edit.switch_pairs(places, count, rng)
    return {at: parse.tokens[other] for at, other in zip(places, moved, strict=False) if at != other}


@dataclass(frozen=True)
class NamedEntitySwitching(Perturbation):
    """`level` pairs of names change places, each with another of its kind: people, places, organisations.

    Names that are listed side by side stay: "A and B" says the same as "B and A". So do an owner and what it
    owns, and a name and its short form. A league or a cup changes places with another.
    """

    name = "named-entity-switching"
    criterion = "consistency"
    title = "switched names"
    levels = (1, 3)
    switched = True

    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        spans = name_spans(parse)
        texts, pairs, last = [parse.piece(span) for span in spans], _switchable(parse, spans), None
        for _ in range(self.level):
            fitting = [pair for pair in pairs if pair != last and _differ(texts, pair)]
            if not fitting:
                break
            first, second = last = rng.choice(fitting)
            texts[first], texts[second] = texts[second], texts[first]
        return edit.splice(parse.text, parse.cuts(spans, texts))


def _switchable(parse: Text, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """The pairs of names, by their numbers, that are of one kind and not beside each other in a list.

    A name with an article only changes places with another that has one: the Arctic, South America.
    """
    between = [set(map(parse.word_at, range(left.end, right.start))) for left, right in pairwise(spans)]
    in_list = [words <= _IN_LISTS for words in between]  # whether the next name continues a list
    contests = named("competition_words")
    kinds = [
        (span.label, parse.tokens[span.end - 1].text in contests, parse.word_at(span.start - 1) == "the")
        for span in spans
    ]
    pairs = sorted(combinations(range(len(spans)), 2), key=itemgetter(1))
    return [(i, j) for i, j in pairs if kinds[i] == kinds[j] and not all(in_list[i:j])]


def _differ(texts: Sequence[str], pair: tuple[int, int]) -> bool:
    """Whether two names have no word in common, nor will stand beside themselves after the switch."""
    first, second = pair
    left, right = texts[first], texts[second]
    rest = [*texts[:first], "", *texts[first + 1 : second], "", *texts[second + 1 :], ""]
    beside_first, beside_second = ((rest[at - 1], rest[at + 1]) for at in pair)
    return (
        set(left.split()).isdisjoint(right.split())
        and right not in beside_first
        and left not in beside_second
    )
