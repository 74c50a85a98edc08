"""Look at a parsed text (`read` gives a `Text`), look words up and change it: what perturbations share.

`rewrite` replaces words by token index and repairs what that breaks; a `ParseEdit` says which words; the
`draw_` functions choose what to change.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from operator import attrgetter
from random import Random
from typing import ClassVar, TypeVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import CLASSES, capitalised, indefinite_article, match_case
from assay.files import word_set
from assay.language import language_of, split_sentences_of
from assay.models.nlp import Parse, Span, Token, parse_one

_T = TypeVar("_T")

FINITE_TAGS = frozenset(["VBZ", "VBP", "VBD", "MD"])
_BASE_TAGS = frozenset(["NN", "NNP", "JJ", "RB", "VB", "RP", "IN"])
SUBJECTS = ("nsubj", "nsubjpass", "expl")
QUESTION_TAGS = frozenset(["WDT", "WP", "WP$", "WRB"])
DO_FORMS: Mapping[str, str] = {"VBZ": "does", "VBP": "do", "VBD": "did"}
DO_TAGS: Mapping[str, str] = {form: tag for tag, form in DO_FORMS.items()}
FULL_STEMS: Mapping[str, str] = {"ca": "can", "wo": "will", "sha": "shall"}  # before n't

APART = re.compile(r"\s['’]\s")  # It ’ s: the parser cannot read it

_OPENING = frozenset("([{“‘«$£€#")
_CLOSING = frozenset(")]}”’».,;:!?%…")
_STRAIGHT = frozenset("\"'")
_SEPARATORS = frozenset([",", ";", ":", "–", "—", "-"])
# After or before these a separator has no purpose; '' is the end of the sentence or text.
_NOTHING_BEFORE = _OPENING | _SEPARATORS | {"and", "or", "but", ""}
_NOTHING_BEHIND = {*".!?…", ""}
_PAIRS = {"(": ")", "[": "]", "{": "}", "“": "”", "‘": "’", "«": "»", '"': '"', "'": "'"}
_JOINING = ("-", "–", "/", "_", "@", "&")
_NAMES = {"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT", "LANGUAGE", "WORK_OF_ART"}


class Text(Parse):
    """A parsed text with the questions that perturbations ask about its words, by token index."""

    __slots__ = ()

    def text_at(self, index: int) -> str:
        """The token at an index as written; '' beyond the text."""
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def word_at(self, index: int) -> str:
        """The token at an index in lower case; '' beyond the text."""
        return self.text_at(index).lower()

    def word_indices(self, span: Span | None = None) -> list[int]:
        """The indices of the words of the text or of a span, without marks."""
        start, end = (span.start, span.end) if span else (0, len(self.tokens))
        return [index for index in range(start, end) if is_word(self.tokens[index])]

    def first_word(self, sentence: Span) -> int | None:
        """The index of a sentence's first word, or None where it has none."""
        return self._first(sentence, is_word)

    def sentence_of(self, index: int) -> Span:
        return self.sentences[bisect_right(self.sentences, index, key=attrgetter("start")) - 1]

    def root_of(self, sentence: Span) -> int | None:
        """The index of a sentence's main verb (or other root), or None."""
        return self._first(sentence, lambda token: token.dep == "ROOT")

    def _first(self, span: Span, passes: Callable[[Token], bool]) -> int | None:
        """The index of the first token of a span that passes a test, or None."""
        return next((i for i in range(span.start, span.end) if passes(self.tokens[i])), None)

    def dependents(self, index: int) -> Sequence[int]:
        """The indices of the tokens that depend directly on a token, in order."""
        return _tree(self.text).get(index, ())

    def children(self, index: int) -> list[Token]:
        """The tokens that depend directly on a token."""
        return [self.tokens[i] for i in self.dependents(index)]

    def child(self, index: int, *deps: str) -> int | None:
        """The index of the first dependent of a token with one of these relations, or None."""
        return next((i for i in self.dependents(index) if self.tokens[i].dep in deps), None)

    def subtree(self, index: int) -> Span | None:
        """A word with everything that depends on it; None where that is not one stretch of text."""
        inside = [index]
        for i in inside:  # grows while it is read
            inside += self.dependents(i)
        start, end = min(inside), max(inside) + 1
        return Span(start, end) if end - start == len(inside) else None

    def is_joined(self, index: int) -> bool:
        """Whether a token is part of a longer written word: hyphenated, contracted or otherwise joined."""
        tokens = self.tokens
        before = index > 0 and not tokens[index - 1].space and _joins(tokens[index - 1])
        after = index + 1 < len(tokens) and not tokens[index].space and _joins(tokens[index + 1])
        return before or after

    def is_compound_part(self, index: int) -> bool:
        """Whether a token is part of a longer word, not counting a possessive or contraction after it."""
        return self.is_joined(index) and self.word_at(index + 1)[:1] not in ("'", "’")

    def uncapitalised(self, span: Span) -> str:
        """A phrase as it would be written after other words: without the capital of a sentence, if it can."""
        text, first = self.piece(span), self.first_word(span)
        opens = span.start == self.sentence_of(span.start).start
        if not opens or first is None or self._is_always_capital(first):
            return text
        at = self.tokens[first].start - self.tokens[span.start].start
        return text[:at] + text[at].lower() + text[at + 1 :]

    def _is_always_capital(self, index: int) -> bool:
        """Names, acronyms and I. The tagger takes many first words for names, so the dictionary has a say."""
        token, following = self.tokens[index], self.tokens[min(index + 1, len(self.tokens) - 1)]
        if token.text == "I" or token.text[1:].lower() != token.text[1:]:
            return True
        if token.pos not in ("PROPN", "ADJ") and (token.pos == "DET" or token.entity not in _NAMES):
            return False
        after, known = self.text_at(index + 1), known_classes(token.text)
        if not known or token.entity == "NORP" or after[:1].isupper():
            return True
        alone = following.pos not in ("NOUN", "ADJ") and token.text in _listed_names()  # not: Wooden crates
        return token.pos == "PROPN" and (alone or token.entity == "PERSON" or after in ("'s", "’s"))

    def where(self, passes: Callable[[Token], bool]) -> list[int]:
        """The indices of the tokens that pass a test."""
        return [index for index, token in enumerate(self.tokens) if passes(token)]

    def places_of_words(self) -> dict[str, list[int]]:
        """The words of the text in lower case, each with the indices where it stands."""
        places: dict[str, list[int]] = {}
        for index, token in enumerate(self.tokens):
            places.setdefault(token.text.lower(), []).append(index)
        return places

    def cuts(self, spans: Iterable[Span], texts: Iterable[str]) -> list[tuple[int, int, str]]:
        """What `splice` needs to put these texts for these spans."""
        ends = ((self.tokens[span.start].start, self.tokens[span.end - 1].end) for span in spans)
        return [(start, end, text) for (start, end), text in zip(ends, texts, strict=True)]


def read(text: str) -> Text:
    """Parse a text."""
    parse = parse_one(text)
    return Text(parse.text, parse.tokens, parse.sentences, parse.chunks, parse.entities)


@cache
def _listed_names() -> frozenset[str]:
    """Surnames, places and organisations of the gazetteer."""
    lists = [word_set("words", "gazetteer", kind) for kind in ("surnames", "places", "organisations")]
    return frozenset().union(*lists)


@lru_cache(maxsize=256)
def _tree(text: str) -> Mapping[int, list[int]]:
    """Each token's dependents: a search through all tokens for each would be quadratic in a text's length."""
    dependents = defaultdict(list)
    for index, token in enumerate(parse_one(text).tokens):
        if token.head != index:
            dependents[token.head].append(index)
    return dict(dependents)


def sentences(text: str, *, with_words: bool = False) -> list[str]:
    """The sentences of a text; `with_words` leaves out those that are marks only."""
    english = language_of(text) in ("", "en")
    pieces = [p for p in parse_one(text).sentence_texts() if p] if english else split_sentences_of(text)
    return [piece for piece in pieces if any(map(str.isalnum, piece))] if with_words else pieces


def is_word(token: Token) -> bool:
    """Whether a token has a letter or digit in it."""
    return token.text.isalnum() or any(letter.isalnum() for letter in token.text)


def is_clitic(token: Token) -> bool:
    """Whether a token is the end of a contraction or a possessive: 's, 'll, n't."""
    text = token.text.lower()
    return (len(text) > 1 and text[0] in "'’") or text in ("n't", "n’t")


def is_address(token: Token) -> bool:
    """Whether a token is a link or a mail address."""
    return len(token.text) > 1 and ("/" in token.text or "@" in token.text)


def _joins(token: Token) -> bool:
    return token.text in _JOINING or token.text[:1].isalnum() or token.text.startswith(("'", "’"))


def is_all_caps(text: str) -> bool:
    """Whether a text is in capitals throughout."""
    return text.isupper() and sum(map(str.isupper, text)) == sum(map(str.isalpha, text)) > 1


def body_and_end(sentence: str) -> tuple[str, str]:
    """A sentence and the marks that end it.

    >>> body_and_end('He said "no."')
    ('He said "no', '."')
    """
    body = sentence.rstrip(" .!?…\"'”’)]\n")
    return (body, sentence[len(body) :]) if body else (sentence, "")


class ParseEdit(Perturbation):
    """A perturbation that changes words of a parsed text, and leaves the writing of it to `rewrite`."""

    repair: ClassVar[bool] = True  # whether articles, spaces and marks are put right

    @abstractmethod
    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        """New words by token index; '' drops a word."""

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = read(record.gold)
        return rewrite(parse, self.changes(parse, rng), repair=self.repair)


def rewrite(parse: Text, changes: Mapping[int, str], *, repair: bool = True, articles: bool = True) -> str:
    """The text with the words at these indices replaced, or dropped where the new word is ''.

    A replacement is used as given, except that a sentence keeps its capital and a text in capitals stays so.
    With `repair`, articles before a change (unless `articles` is false), spaces, and marks that a cut leaves
    without a purpose are corrected too. Nothing else changes.
    """
    if not changes:
        return parse.text
    words = [changes.get(index, token.text) for index, token in enumerate(parse.tokens)]
    if repair:
        _drop_empty_sentences(parse, words)
        _drop_stray_marks(parse, words)
    if repair and articles:
        _adapt_articles(parse, words)
    _keep_case(parse, words)
    return _joined(parse, words) if repair else parse.replaced(dict(enumerate(words)))


def dropped(places: Iterable[int | Span]) -> dict[int, str]:
    """The changes that drop these tokens and spans."""
    spans = [Span(place, place + 1) if isinstance(place, int) else place for place in places]
    return {i: "" for span in spans for i in range(span.start, span.end)}


def in_case(parse: Text, words: Mapping[int, str]) -> dict[int, str]:
    """New words by token index, each in the case of the word whose place it takes."""
    return {index: match_case(word, parse.tokens[index].text) for index, word in words.items()}


def replaced_alike(
    parse: Text, indices: Iterable[int], options: Callable[[int], Sequence[str]], rng: Random
) -> dict[int, str]:
    """Each of these words replaced by one of its options, and by the same one wherever it occurs.

    Options that the text has, or that another word was given, are left out unless there are no others; a word
    without options stays.
    """
    taken, chosen = {token.text for token in parse.tokens}, dict[str, str]()
    for index in indices:
        word = parse.tokens[index].text
        if word not in chosen:
            others = options(index)
            fresh = [other for other in others if other not in taken]
            chosen[word] = rng.choice(fresh or others or [word])
            taken.add(chosen[word])
    return in_case(parse, {index: chosen[parse.tokens[index].text] for index in indices})


def splice(text: str, cuts: Sequence[tuple[int, int, str]]) -> str:
    """The text with stretches of characters (start, end, new text; in order) replaced."""
    out, at = [], 0
    for start, end, new in cuts:
        out += [text[at:start], new]
        at = end
    return "".join([*out, text[at:]])


def unrelated_texts(record: Record) -> list[str]:
    """The clean texts of the other items of the corpus."""
    return [other for other in record.others if other != record.gold]


def unrelated_text(record: Record, rng: Random) -> str | None:
    """The clean text of another item, or None where there is none."""
    others = unrelated_texts(record)
    return rng.choice(others) if others else None


def _drop_empty_sentences(parse: Text, words: list[str]) -> None:
    """Drop the marks of a sentence that has lost all its words."""
    for sentence in parse.sentences:
        if "" in words[sentence.start : sentence.end]:
            indices = parse.word_indices(sentence)
            if indices and not any(words[index] for index in indices):
                words[sentence.start : sentence.end] = [""] * (sentence.end - sentence.start)


def _drop_stray_marks(parse: Text, words: list[str]) -> None:
    """Drop commas beside a cut that separate nothing any more, and brackets that hold nothing."""
    for index, word in enumerate(words):
        beside_cut = "" in words[max(0, index - 1) : index + 2]
        if not beside_cut or not word or is_word(parse.tokens[index]):
            continue
        _, left = _first(words, range(index - 1, parse.sentence_of(index).start - 1, -1))
        after, right = _first(words, range(index + 1, len(words)))
        if right == _PAIRS.get(word):
            words[index] = words[after] = ""
        elif word in _SEPARATORS and (left in _NOTHING_BEFORE or right in _NOTHING_BEHIND):
            words[index] = ""


def _first(words: Sequence[str], indices: Iterable[int]) -> tuple[int, str]:
    """The first of the words at these indices that is not dropped; '' where all are."""
    return next(((index, words[index]) for index in indices if words[index]), (-1, ""))


def _adapt_articles(parse: Text, words: list[str]) -> None:
    """Choose between a and an again where the next word has changed."""
    for index, token in enumerate(parse.tokens):
        if token.tag != "DT" or token.text.lower() not in ("a", "an") or words[index] != token.text:
            continue
        after, following = _first(words, parse.word_indices(Span(index + 1, len(words))))
        changed = "" in words[index + 1 : after] or not following.startswith(parse.text_at(after))
        if following and changed:
            words[index] = match_case(indefinite_article(following.lstrip("\"'“‘(")), token.text)


def _keep_case(parse: Text, words: list[str]) -> None:
    """Give new words the case of the text: a sentence keeps its capital, a text in capitals stays so."""
    for sentence in parse.sentences:
        first = parse.first_word(sentence)
        if first is not None and parse.tokens[first].text[:1].isupper():
            opening, word = _first(words, parse.word_indices(sentence))
            words[opening] = capitalised(word) if word else words[opening]
    if is_all_caps(parse.text):
        words[:] = [word.upper() for word in words]


def _joined(parse: Text, words: Sequence[str]) -> str:
    """The words as one text, with the white space that now belongs between them."""
    kept = [index for index, word in enumerate(words) if word]
    spaces = [_space_between(parse, left, right) for left, right in pairwise(kept)]
    end = parse.tokens[-1].space if words[-1] else ""
    return "".join(words[index] + space for index, space in zip(kept, [*spaces, end], strict=False))


def _space_between(parse: Text, left: int, right: int) -> str:
    """The white space between two tokens that are neighbours now."""
    tokens = parse.tokens
    if right == left + 1:
        return tokens[left].space
    closes = tokens[right].text in _CLOSING | _STRAIGHT or is_clitic(tokens[right])
    opens = tokens[left].text in _OPENING | _STRAIGHT
    if (closes and not tokens[right - 1].space) or (opens and not tokens[left].space):
        return ""
    return " " if any(token.space for token in tokens[left:right]) else ""


def share_count(total: int, share: float) -> int:
    """How many of `total` a share stands for, rounded up as in the release of *blind*."""
    return math.ceil(total * share - 1e-9)


def draw_share(items: Sequence[_T], share: float, rng: Random) -> list[_T]:
    """A random share of the items, rounded up, in their order."""
    count = min(share_count(len(items), share), len(items))
    return [items[index] for index in sorted(rng.sample(range(len(items)), count))]


def draw_each(items: Sequence[_T], probability: float, rng: Random) -> list[_T]:
    """Each item with this probability; all of them at 1."""
    return [item for item in items if rng.random() < probability]


def switch_pairs(items: Sequence[_T], count: int, rng: Random) -> list[_T]:
    """Switch `count` random pairs, never the same pair twice in a row; empty for two items or fewer."""
    if len(items) <= 2:
        return []
    moved, last = list(items), [-1, -1]
    for _ in range(count):
        while (pair := sorted(rng.sample(range(len(moved)), 2))) == last:
            pass
        first, second = last = pair
        moved[first], moved[second] = moved[second], moved[first]
    return moved


@cache
def inflect(lemma: str, tag: str) -> str | None:
    """The lemma in the form of a Penn tag, or None; of several words, the first changes.

    >>> inflect("city", "NNS"), inflect("give up", "VBD"), inflect("big", "JJR")
    ('cities', 'gave up', 'bigger')
    """
    from lemminflect import getInflection

    if tag in _BASE_TAGS:
        return lemma
    head, gap, tail = lemma.partition(" ")
    if gap:
        return f"{inflect(head, tag)} {tail}"
    forms = getInflection(lemma, {"NNPS": "NNS"}.get(tag, tag))
    if not forms:
        return None
    if tag in ("JJR", "JJS", "RBR", "RBS") and len(lemma) > 6:
        return f"{'more' if tag.endswith('R') else 'most'} {lemma}"
    return str(forms[0])


def inflections(lemmas: Iterable[str], tag: str) -> list[str]:
    """The lemmas in the form of a Penn tag, without those that have no such form."""
    return [form for lemma in lemmas if (form := inflect(lemma, tag))]


@cache
def lemma_of(text: str, word_class: str) -> str:
    """The dictionary form of a word of a class; more reliable than the parser's for rare words."""
    from lemminflect import getLemma

    lemmas = getLemma(text.lower(), word_class.upper())
    return str(lemmas[0]) if lemmas else text.lower()


def base_form(verb: Token) -> str:
    """The dictionary form of a verb; a base form, by its tag, is its own: found, not find."""
    word = verb.text.lower()
    is_base = verb.tag in ("VB", "VBP") and word not in ("are", "am")
    return word if is_base else lemma_of(word, "verb")


def class_and_lemma(token: Token) -> tuple[str, str] | None:
    """The word class and lemma under which the word lists know a token; None for other classes."""
    if (word_class := CLASSES.get(token.pos)) is None:
        return None
    return word_class, token.text.lower() if word_class == "prep" else lemma_of(token.text, word_class)


@cache
def known_classes(text: str) -> frozenset[str]:
    """The classes in which the dictionary knows a word: NOUN, VERB, ADJ or ADV; empty for unknown words."""
    from lemminflect import getAllLemmas

    return frozenset(getAllLemmas(text.lower()))
