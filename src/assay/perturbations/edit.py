"""Small cuts in a text that heal: case, spacing, marks and a/an come out right, the rest is untouched."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import ceil
from random import Random
from typing import TypeVar

from assay.datasets.lexicon import CLASSES
from assay.models.nlp import Parse, Span, Token, parse_one

T = TypeVar("T")

_OPENING = frozenset("([{“‘«$£€#")
_CLOSING = frozenset(")]}”’».,;:!?%…")
_FINAL = frozenset(".!?…")
_PARTING = frozenset([",", ";", ":", "–", "—", "-"])
_IDLE = _OPENING | _PARTING | {"and", "or", "but"}  # behind these nothing is left to part
_PAIRS = {"(": ")", "[": "]", "{": "}", "“": "”", "‘": "’", "«": "»"}
_NAMES = frozenset(
    ["PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT", "LANGUAGE", "WORK_OF_ART"]
)
# Sound, not spelling, chooses the article: "an hour", "a unit", "an MP".
_SILENT_H = re.compile(r"(hour|honest|honou?r|heir)", re.IGNORECASE)
_SPOKEN_AS_YOU = re.compile(
    r"(uni(?!n|m)|unanim|us[aeiu]|u[bcfhjkqrst][aeiou]|eu|ewe|one(?!i)|once|ut[ei])", re.IGNORECASE
)
_VOWEL_LETTERS = frozenset("AEFHILMNORSX")


def article(word: str) -> str:
    """The indefinite article that a word takes.

    >>> [article(word) for word in ("apple", "pear", "hour", "university", "MP", "UN", "11", "180", "one")]
    ['an', 'a', 'an', 'a', 'an', 'a', 'an', 'a', 'a']
    """
    if word[:1].isdigit():
        return "an" if word[0] == "8" or re.match(r"1[18](\d{2,3})?(?!\d)", word) else "a"
    spelt = len(word) < 5 and word.isupper() and not re.search(r"[AEIOU].*[AEIOU]", word[1:])
    if spelt or re.match(r"[A-Z](-|$)", word):
        return "an" if word[0] in _VOWEL_LETTERS else "a"
    if _SILENT_H.match(word):
        return "an"
    return "an" if word[:1].lower() in tuple("aeiouáéíóúäöüåøæ") and not _SPOKEN_AS_YOU.match(word) else "a"


def like(word: str, model: str) -> str:
    """A word in the case of another: LOUD, Capital or as it is."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return capitalised(word) if model[:1].isupper() else word


def capitalised(text: str) -> str:
    """The text with its first letter in upper case, behind quotes and brackets too."""
    for index, letter in enumerate(text):
        if letter.isalnum():
            return text[:index] + letter.upper() + text[index + 1 :]
    return text


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


def word_indices(parse: Parse, span: Span | None = None) -> list[int]:
    """Where the words of a text or of a span stand."""
    start, end = (span.start, span.end) if span else (0, len(parse.tokens))
    return [index for index in range(start, end) if is_word(parse.tokens[index])]


def joined_word(parse: Parse, index: int) -> bool:
    """Whether a token is part of a longer written word: hyphenated, contracted, or cut out of one."""
    tokens = parse.tokens
    before = index > 0 and not tokens[index - 1].space and _sticks(tokens[index - 1])
    after = index + 1 < len(tokens) and not tokens[index].space and _sticks(tokens[index + 1])
    return before or after


def _sticks(token: Token) -> bool:
    return token.text in ("-", "–", "/", "’", "'", "_", "@", "&") or token.text[:1].isalnum() or (
        len(token.text) > 1 and token.text[0] in "'’"
    )  # fmt: skip


def sentence_of(parse: Parse, index: int) -> Span:
    """The sentence a token stands in."""
    return next(span for span in parse.sentences if span.start <= index < span.end)


def first_word(parse: Parse, sentence: Span) -> int | None:
    """Where a sentence's first word stands."""
    return next(iter(word_indices(parse, sentence)), None)


def body_and_end(sentence: str) -> tuple[str, str]:
    """A sentence and the marks that end it.

    >>> body_and_end('He said "no."')
    ('He said "no', '."')
    """
    body = sentence.rstrip(" .!?…\"'”’)]\n")
    return (body, sentence[len(body) :]) if body else (sentence, "")


def lowered(parse: Parse, sentence: Span) -> str:
    """A sentence as it would stand behind other words: no capital unless its first word has one always."""
    text, first = parse.piece(sentence), first_word(parse, sentence)
    if first is None or _always_capital(parse, first):
        return text
    at = parse.tokens[first].start - parse.tokens[sentence.start].start
    return text[:at] + text[at].lower() + text[at + 1 :]


def _always_capital(parse: Parse, index: int) -> bool:
    """Names, acronyms and I; a tagger takes many a first word for a name, so the dictionary is asked too."""
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


def is_loud(text: str) -> bool:
    """Whether a text is in capitals throughout."""
    letters = [letter for letter in text if letter.isalpha()]
    return len(letters) > 1 and all(letter.isupper() for letter in letters)


def keep_case(parse: Parse, words: list[str | None]) -> None:
    """Give new words the case of the text: a sentence keeps its capital, and loud text stays loud."""
    _keep_capitals(parse, words)
    if is_loud(parse.text):
        words[:] = [word.upper() if word else None for word in words]


def rewrite(parse: Parse, changes: Mapping[int, str]) -> str:
    """The text with the words at these indices replaced, or dropped where the new word is ''.

    A replacement stands as it is given, except that a sentence keeps its capital and loud text stays loud.
    Articles before a change, spaces, and marks that a cut orphans are put right; nothing else moves.
    """
    if not changes:
        return parse.text
    words: list[str | None] = [changes.get(i, t.text) or None for i, t in enumerate(parse.tokens)]
    _drop_emptied(parse, words)
    _drop_orphans(parse, words)
    _mend_articles(parse, words)
    keep_case(parse, words)
    return _spaced(parse, words)


def dropped(parse: Parse, spans: Sequence[Span]) -> str:
    """The text without these spans."""
    return rewrite(parse, {index: "" for span in spans for index in range(span.start, span.end)})


def _drop_emptied(parse: Parse, words: list[str | None]) -> None:
    """Take away the marks of a sentence that has lost all its words."""
    for sentence in parse.sentences:
        found = word_indices(parse, sentence)
        if found and not any(words[index] for index in found):
            words[sentence.start : sentence.end] = [None] * (sentence.end - sentence.start)


def _drop_orphans(parse: Parse, words: list[str | None]) -> None:
    """Take away commas and empty brackets that stand beside a cut and have nothing left to part or hold."""
    tokens = parse.tokens
    for index, word in enumerate(words):
        if word is None or is_word(tokens[index]) or not _beside_cut(words, index):
            continue
        before, after = _kept(words, index, -1), _kept(words, index, 1)
        left = None if before is None or _starts(parse, index, before) else words[before]
        right = None if after is None else words[after]
        if word in _PAIRS and right == _PAIRS[word] and after is not None:
            words[index] = words[after] = None
        elif word in _PARTING and (left is None or left in _IDLE or right is None or right in _FINAL):
            words[index] = None


def _beside_cut(words: Sequence[str | None], index: int) -> bool:
    return (index > 0 and words[index - 1] is None) or (index + 1 < len(words) and words[index + 1] is None)


def _kept(words: Sequence[str | None], index: int, step: int) -> int | None:
    index += step
    while 0 <= index < len(words) and words[index] is None:
        index += step
    return index if 0 <= index < len(words) else None


def _starts(parse: Parse, index: int, before: int) -> bool:
    """Whether nothing of the token's own sentence is left before it."""
    return before < sentence_of(parse, index).start


def _mend_articles(parse: Parse, words: list[str | None]) -> None:
    """Choose a or an anew where the word behind it has changed."""
    for index, token in enumerate(parse.tokens):
        if words[index] != token.text or token.text.lower() not in ("a", "an") or token.tag != "DT":
            continue
        after = _kept(words, index, 1)
        while after is not None and not is_word(parse.tokens[after]):
            after = _kept(words, after, 1)
        if after is None or all(words[i] == parse.tokens[i].text for i in range(index + 1, after + 1)):
            continue
        words[index] = like(article((words[after] or "").lstrip("\"'“‘(")), token.text)


def _keep_capitals(parse: Parse, words: list[str | None]) -> None:
    for sentence in parse.sentences:
        first = first_word(parse, sentence)
        if first is None or not parse.tokens[first].text[:1].isupper():
            continue
        kept = next((i for i in word_indices(parse, sentence) if words[i]), None)
        if kept is not None and words[kept] != parse.tokens[first].text:
            words[kept] = capitalised(words[kept] or "")


def _spaced(parse: Parse, words: Sequence[str | None]) -> str:
    tokens = parse.tokens
    out = [parse.text[: tokens[0].start]] if tokens else []
    previous: int | None = None
    for index, word in enumerate(words):
        if word is None:
            continue
        if previous is not None:
            out.append(_gap(parse, previous, index))
        out.append(word)
        previous = index
    if tokens and previous is not None:
        out.append(tokens[-1].space if previous == len(tokens) - 1 else "")
    return "".join(out)


def _gap(parse: Parse, left: int, right: int) -> str:
    """The white space between two tokens that are now neighbours."""
    tokens = parse.tokens
    between = tokens[left:right]
    if right == left + 1:
        return tokens[left].space
    clings = tokens[right].text
    closing = clings in _CLOSING or is_clitic(tokens[right])
    if not tokens[right - 1].space and (closing or clings in "\"'"):
        return ""
    if not tokens[left].space and tokens[left].text in _OPENING | {'"', "'"}:
        return ""
    return " " if any(token.space for token in between) else ""


@cache
def word_list(name: str, key: str = "words") -> frozenset[str]:
    """A list of the embedded word data, by file and key."""
    text = (files("assay.data") / "words" / f"{name}.toml").read_text("utf-8")
    return frozenset(tomllib.loads(text)[key])


def share(count: int, level: float) -> int:
    """How many of `count` a level stands for, rounded up as in the release of *blind*."""
    return math.ceil(count * level - 1e-9)


def chosen(items: Sequence[T], level: float, rng: Random) -> list[T]:
    """Each item with the probability `level`; all of them at 1."""
    return [item for item in items if rng.random() < level or level >= 1]


def rewritten(parsed: Parse, changes: Mapping[int, str]) -> str:
    """The text with words replaced or dropped; sentences keep their capital, and loud text stays loud."""
    words: list[str | None] = [changes.get(i, token.text) for i, token in enumerate(parsed.tokens)]
    keep_case(parsed, words)
    return parsed.replaced({i: word or "" for i, word in enumerate(words)})


def without(parsed: Parse, dropped: Iterable[int]) -> str:
    """The text less some of its tokens, spaces mended."""
    return " ".join(rewritten(parsed, dict.fromkeys(dropped, "")).split())


def spliced(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """The text with stretches (start, end, in order) replaced."""
    out, at = [], 0
    for start, end, new in changes:
        out += [text[at:start], new]
        at = end
    return "".join([*out, text[at:]])


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [piece for piece in parse_one(text).sentence_texts() if piece]


def switch_pairs(items: list[T], count: int, rng: Random) -> list[T] | None:
    """Switch `count` random pairs in turn, never the same pair twice running; None where two or fewer."""
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


def drawn(targets: Sequence[T], share: float, rng: Random) -> list[T]:
    """A share of the targets, rounded up, in their order."""
    wanted = ceil(share * len(targets))
    kept = sorted(rng.sample(range(len(targets)), min(wanted, len(targets))))
    return [targets[index] for index in kept]


def shuffled(things: Sequence[T], rng: Random) -> list[T] | None:
    """The things in another order; None where there is none."""
    if len(set(things)) < 2:
        return None
    order = list(things)
    while order == list(things):
        rng.shuffle(order)
    return order


_BASE = {"NN": "noun", "NNP": "noun", "JJ": "adj", "RB": "adv", "VB": "verb"}
_UPOS = {"noun": "NOUN", "adj": "ADJ", "adv": "ADV", "verb": "VERB"}


@cache
def inflect(lemma: str, tag: str) -> str | None:
    """The lemma in the form of a Penn tag; of several words, the one that carries the ending changes.

    >>> inflect("city", "NNS"), inflect("give up", "VBD"), inflect("big", "JJR")
    ('cities', 'gave up', 'bigger')
    """
    from lemminflect import getInflection

    if tag in _BASE or tag in ("RP", "IN"):
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

    found = getLemma(text.lower(), _UPOS[word_class])
    return str(found[0]) if found else text.lower()


def class_and_lemma(token: Token) -> tuple[str, str] | None:
    """The word class and lemma under which the lists know a token."""
    word_class = CLASSES.get(token.pos)
    if word_class is None:
        return None
    return word_class, token.text.lower() if word_class == "prep" else lemma_of(token.text, word_class)


@cache
def known_word(text: str) -> bool:
    """Whether the dictionary knows the word in any class."""
    from lemminflect import getAllLemmas

    return bool(getAllLemmas(text.lower()))


@cache
def known_as(text: str, pos: str) -> bool:
    """Whether the dictionary knows the word in this class: NOUN, VERB, ADJ or ADV."""
    from lemminflect import getAllLemmas

    return pos in getAllLemmas(text.lower())
