"""Edit a parsed text: the tools that all perturbations share.

To change a text:
- `rewrite(parse, changes)` replaces or drops words by token index; `drop(parse, places)` drops tokens and
  spans. Both repair what the edit breaks: articles, capitals, spaces, commas and brackets that lose their
  purpose. With `repair=False` they only keep capitals, for the noises of *blind*, whose damage is wanted.
- `splice(text, cuts)` replaces stretches of characters.
- `WordEdit` is the base class of templates that change words; `unrelated_text` takes a text of another item.

To choose what to change: `draw_share` draws a fixed share of the targets, `draw_each` draws each target with
a probability; `shuffled` and `switch_pairs` reorder.

To look at a text: `sentences`, `word_indices`, `sentence_of`, `children`, `subtree`, `is_word`, `is_joined`
and so on. To look a word up: `inflect`, `lemma_of`, `class_and_lemma`, `known_word`, `known_as`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from random import Random
from typing import TypeVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import CLASSES, capitalised, indefinite_article, match_case
from assay.models.nlp import Parse, Span, Token, parse_one

T = TypeVar("T")

FINITE_TAGS = frozenset(["VBZ", "VBP", "VBD", "MD"])
QUESTION_TAGS = frozenset(["WDT", "WP", "WP$", "WRB"])
DO_FORMS: Mapping[str, str] = {"VBZ": "does", "VBP": "do", "VBD": "did"}
DO_TAGS: Mapping[str, str] = {form: tag for tag, form in DO_FORMS.items()}
FULL_STEMS: Mapping[str, str] = {"ca": "can", "wo": "will", "sha": "shall"}  # before n't

_OPENING = frozenset("([{“‘«$£€#")
_CLOSING = frozenset(")]}”’».,;:!?%…")
_FINAL = frozenset(".!?…")
_SEPARATORS = frozenset([",", ";", ":", "–", "—", "-"])
_NOTHING_BEFORE = _OPENING | _SEPARATORS | {"and", "or", "but"}  # after these a separator has no purpose
_PAIRS = {"(": ")", "[": "]", "{": "}", "“": "”", "‘": "’", "«": "»"}
_NAMES = frozenset(
    ["PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT", "LANGUAGE", "WORK_OF_ART"]
)


# --- changing a text ---


class WordEdit(Perturbation):
    """A perturbation that replaces or drops words of the text."""

    @abstractmethod
    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        """New words by token index ('' drops a word); empty where there is nothing to change."""

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = parse_one(record.gold)
        changes = self.changes(parse, rng)
        return rewrite(parse, changes) if changes else None


def rewrite(parse: Parse, changes: Mapping[int, str], *, repair: bool = True) -> str:
    """The text with the words at these indices replaced, or dropped where the new word is ''.

    A replacement is used as given, except that a sentence keeps its capital and a text in capitals stays so.
    With `repair`, articles before a change, spaces, and marks that a cut leaves without a purpose are
    corrected too. Nothing else changes.
    """
    if not changes:
        return parse.text
    words: list[str | None] = [changes.get(i, t.text) or None for i, t in enumerate(parse.tokens)]
    if repair:
        _drop_empty_sentences(parse, words)
        _drop_stray_marks(parse, words)
        _adapt_articles(parse, words)
    _keep_case(parse, words)
    return _join(parse, words) if repair else parse.replaced({i: word or "" for i, word in enumerate(words)})


def drop(parse: Parse, places: Iterable[int | Span], *, repair: bool = True) -> str:
    """The text without these tokens and spans."""
    spans = [Span(place, place + 1) if isinstance(place, int) else place for place in places]
    return rewrite(parse, {i: "" for span in spans for i in range(span.start, span.end)}, repair=repair)


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


def _drop_empty_sentences(parse: Parse, words: list[str | None]) -> None:
    """Drop the marks of a sentence that has lost all its words."""
    for sentence in parse.sentences:
        indices = word_indices(parse, sentence)
        if indices and not any(words[index] for index in indices):
            words[sentence.start : sentence.end] = [None] * (sentence.end - sentence.start)


def _drop_stray_marks(parse: Parse, words: list[str | None]) -> None:
    """Drop commas beside a cut that separate nothing any more, and brackets that hold nothing."""
    for index, word in enumerate(words):
        if word is None or is_word(parse.tokens[index]) or not _is_beside_cut(words, index):
            continue
        before, after = _next_left(words, index, -1), _next_left(words, index, 1)
        starts = before is None or before < sentence_of(parse, index).start
        left = None if before is None or starts else words[before]
        right = None if after is None else words[after]
        if word in _PAIRS and right == _PAIRS[word] and after is not None:
            words[index] = words[after] = None
        elif word in _SEPARATORS and (
            left is None or left in _NOTHING_BEFORE or right is None or right in _FINAL
        ):
            words[index] = None


def _is_beside_cut(words: Sequence[str | None], index: int) -> bool:
    return (index > 0 and words[index - 1] is None) or (index + 1 < len(words) and words[index + 1] is None)


def _next_left(words: Sequence[str | None], index: int, step: int) -> int | None:
    """The index of the next word in this direction that has not been dropped, or None."""
    index += step
    while 0 <= index < len(words) and words[index] is None:
        index += step
    return index if 0 <= index < len(words) else None


def _adapt_articles(parse: Parse, words: list[str | None]) -> None:
    """Choose between a and an again where the next word has changed."""
    for index, token in enumerate(parse.tokens):
        if words[index] != token.text or token.text.lower() not in ("a", "an") or token.tag != "DT":
            continue
        after = _next_left(words, index, 1)
        while after is not None and not is_word(parse.tokens[after]):
            after = _next_left(words, after, 1)
        if after is None or all(words[i] == parse.tokens[i].text for i in range(index + 1, after + 1)):
            continue
        following = (words[after] or "").lstrip("\"'“‘(")
        words[index] = match_case(indefinite_article(following), token.text)


def _keep_case(parse: Parse, words: list[str | None]) -> None:
    """Give new words the case of the text: a sentence keeps its capital, a text in capitals stays so."""
    for sentence in parse.sentences:
        first = first_word(parse, sentence)
        if first is None or not parse.tokens[first].text[:1].isupper():
            continue
        opening = next((i for i in word_indices(parse, sentence) if words[i]), None)
        if opening is not None and words[opening] != parse.tokens[first].text:
            words[opening] = capitalised(words[opening] or "")
    if is_all_caps(parse.text):
        words[:] = [word.upper() if word else None for word in words]


def _join(parse: Parse, words: Sequence[str | None]) -> str:
    tokens = parse.tokens
    out = [parse.text[: tokens[0].start]] if tokens else []
    previous: int | None = None
    for index, word in enumerate(words):
        if word is None:
            continue
        if previous is not None:
            out.append(_space_between(parse, previous, index))
        out.append(word)
        previous = index
    if tokens and previous is not None:
        out.append(tokens[-1].space if previous == len(tokens) - 1 else "")
    return "".join(out)


def _space_between(parse: Parse, left: int, right: int) -> str:
    """The white space between two tokens that are neighbours now."""
    tokens = parse.tokens
    if right == left + 1:
        return tokens[left].space
    mark = tokens[right].text
    closes = mark in _CLOSING or mark in "\"'" or is_clitic(tokens[right])
    if closes and not tokens[right - 1].space:
        return ""
    if not tokens[left].space and tokens[left].text in _OPENING | {'"', "'"}:
        return ""
    return " " if any(token.space for token in tokens[left:right]) else ""


# --- choosing what to change ---


def share_count(total: int, share: float) -> int:
    """How many of `total` a share stands for, rounded up as in the release of *blind*."""
    return math.ceil(total * share - 1e-9)


def draw_share(items: Sequence[T], share: float, rng: Random) -> list[T]:
    """A random share of the items, rounded up, in their order."""
    count = min(share_count(len(items), share), len(items))
    return [items[index] for index in sorted(rng.sample(range(len(items)), count))]


def draw_each(items: Sequence[T], probability: float, rng: Random) -> list[T]:
    """Each item with this probability; all of them at 1."""
    return [item for item in items if rng.random() < probability or probability >= 1]


def shuffled(items: Sequence[T], rng: Random) -> list[T] | None:
    """The items in another order, or None where all are equal."""
    if len(set(items)) < 2:
        return None
    order = list(items)
    while order == list(items):
        rng.shuffle(order)
    return order


def switch_pairs(items: list[T], count: int, rng: Random) -> list[T] | None:
    """Switch `count` random pairs, never the same pair twice in a row; None for two items or fewer."""
    if len(items) <= 2:
        return None
    moved, last = list(items), (-1, -1)
    for _ in range(count):
        pair = last
        while pair == last:
            first, second = sorted(rng.sample(range(len(moved)), 2))
            pair = (first, second)
        moved[pair[0]], moved[pair[1]] = moved[pair[1]], moved[pair[0]]
        last = pair
    return moved


# --- looking at a text ---


def sentences(text: str, *, with_words: bool = False) -> list[str]:
    """The sentences of a text; `with_words` leaves out those that are marks only."""
    pieces = [piece for piece in parse_one(text).sentence_texts() if piece]
    return [piece for piece in pieces if any(map(str.isalnum, piece))] if with_words else pieces


def word_at(parse: Parse, index: int) -> str:
    """The token at an index in lower case; '' beyond the text."""
    return parse.tokens[index].text.lower() if 0 <= index < len(parse.tokens) else ""


def word_indices(parse: Parse, span: Span | None = None) -> list[int]:
    """The indices of the words of a text or span, without marks."""
    start, end = (span.start, span.end) if span else (0, len(parse.tokens))
    return [index for index in range(start, end) if is_word(parse.tokens[index])]


def first_word(parse: Parse, sentence: Span) -> int | None:
    """The index of a sentence's first word, or None where it has none."""
    return next(iter(word_indices(parse, sentence)), None)


def sentence_of(parse: Parse, index: int) -> Span:
    """The sentence that a token belongs to."""
    return next(span for span in parse.sentences if span.start <= index < span.end)


def root_of(parse: Parse, sentence: Span) -> int | None:
    """The index of a sentence's main verb (or other root), or None."""
    return next((i for i in range(sentence.start, sentence.end) if parse.tokens[i].dep == "ROOT"), None)


def children(parse: Parse, index: int) -> list[Token]:
    """The tokens that depend directly on a token."""
    return [token for i, token in enumerate(parse.tokens) if token.head == index and i != index]


def neighbours(parse: Parse, start: int, end: int | None = None) -> list[Token]:
    """The tokens right before and right after a token, or a stretch of them."""
    beside = (start - 1, start + 1 if end is None else end)
    return [parse.tokens[i] for i in beside if 0 <= i < len(parse.tokens)]


def subtree(parse: Parse, index: int) -> Span | None:
    """A word with everything that depends on it; None where that is not one stretch of text."""
    inside = {index}
    growing = True
    while growing:
        more = {i for i, t in enumerate(parse.tokens) if t.head in inside} - inside
        inside |= more
        growing = bool(more)
    start, end = min(inside), max(inside) + 1
    return Span(start, end) if end - start == len(inside) else None


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


def is_joined(parse: Parse, index: int) -> bool:
    """Whether a token is part of a longer written word: hyphenated, contracted or otherwise joined."""
    tokens = parse.tokens
    before = index > 0 and not tokens[index - 1].space and _joins(tokens[index - 1])
    after = index + 1 < len(tokens) and not tokens[index].space and _joins(tokens[index + 1])
    return before or after


def is_compound_part(parse: Parse, index: int) -> bool:
    """Whether a token is part of a longer word, not counting a possessive or contraction after it."""
    return is_joined(parse, index) and word_at(parse, index + 1)[:1] not in ("'", "’")


def _joins(token: Token) -> bool:
    marks = ("-", "–", "/", "’", "'", "_", "@", "&")
    return token.text in marks or token.text[:1].isalnum() or (len(token.text) > 1 and token.text[0] in "'’")


def is_all_caps(text: str) -> bool:
    """Whether a text is in capitals throughout."""
    letters = [letter for letter in text if letter.isalpha()]
    return len(letters) > 1 and all(letter.isupper() for letter in letters)


def uncapitalised(parse: Parse, span: Span) -> str:
    """A sentence or phrase as it would be written after other words: without its first capital, if it can."""
    text, first = parse.piece(span), first_word(parse, span)
    if first is None or _is_always_capital(parse, first):
        return text
    at = parse.tokens[first].start - parse.tokens[span.start].start
    return text[:at] + text[at].lower() + text[at + 1 :]


def _is_always_capital(parse: Parse, index: int) -> bool:
    """Names, acronyms and I. The tagger takes many first words for names, so the dictionary has a say."""
    token = parse.tokens[index]
    if token.text == "I" or token.text[1:].lower() != token.text[1:]:
        return True
    if token.pos == "DET":
        return False
    if token.pos not in ("PROPN", "ADJ") and token.entity not in _NAMES:
        return False
    after = parse.tokens[index + 1].text if index + 1 < len(parse.tokens) else ""
    person = token.entity == "PERSON" and token.pos == "PROPN"
    return person or after[:1].isupper() or not known_word(token.text) or token.entity == "NORP"


def body_and_end(sentence: str) -> tuple[str, str]:
    """A sentence and the marks that end it.

    >>> body_and_end('He said "no."')
    ('He said "no', '."')
    """
    body = sentence.rstrip(" .!?…\"'”’)]\n")
    return (body, sentence[len(body) :]) if body else (sentence, "")


# --- the dictionary ---

_BASE_TAGS = frozenset(["NN", "NNP", "JJ", "RB", "VB", "RP", "IN"])
_UPOS = {"noun": "NOUN", "adj": "ADJ", "adv": "ADV", "verb": "VERB"}


@cache
def inflect(lemma: str, tag: str) -> str | None:
    """The lemma in the form of a Penn tag, or None; of several words, the one that can be inflected changes.

    >>> inflect("city", "NNS"), inflect("give up", "VBD"), inflect("big", "JJR")
    ('cities', 'gave up', 'bigger')
    """
    from lemminflect import getInflection

    if tag in _BASE_TAGS:
        return lemma
    head, gap, tail = lemma.partition(" ")
    if gap:
        if tag[0] == "N":
            front, _, last = lemma.rpartition(" ")
            return f"{front} {inflect(last, tag)}"
        return f"{inflect(head, tag)} {tail}"
    forms = getInflection(lemma, {"NNPS": "NNS"}.get(tag, tag))
    if not forms:
        return None
    if tag in ("JJR", "JJS", "RBR", "RBS") and len(lemma) > 6 and not lemma.endswith("y"):
        return f"{'more' if tag.endswith('R') else 'most'} {lemma}"
    return str(forms[0])


@cache
def lemma_of(text: str, word_class: str) -> str:
    """The dictionary form of a word of a class; more reliable than the parser's for rare words."""
    from lemminflect import getLemma

    lemmas = getLemma(text.lower(), _UPOS[word_class])
    return str(lemmas[0]) if lemmas else text.lower()


def class_and_lemma(token: Token) -> tuple[str, str] | None:
    """The word class and lemma under which the word lists know a token; None for other classes."""
    word_class = CLASSES.get(token.pos)
    if word_class is None:
        return None
    return word_class, token.text.lower() if word_class == "prep" else lemma_of(token.text, word_class)


@cache
def _classes_of(text: str) -> frozenset[str]:
    from lemminflect import getAllLemmas

    return frozenset(getAllLemmas(text.lower()))


def known_word(text: str) -> bool:
    """Whether the dictionary knows the word."""
    return bool(_classes_of(text))


def known_as(text: str, pos: str) -> bool:
    """Whether the dictionary knows the word in this class: NOUN, VERB, ADJ or ADV."""
    return pos in _classes_of(text)
