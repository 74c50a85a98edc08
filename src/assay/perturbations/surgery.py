"""Small cuts in a text that heal: case, spacing, marks and a/an come out right, the rest is untouched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.nlp import Parse, Span, Token
from assay.perturbations.inflection import known_word

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
