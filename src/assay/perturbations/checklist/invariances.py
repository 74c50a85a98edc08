"""Invariances of writing: a parsed text to an equally good one in another spelling or in other words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from random import Random

from assay.datasets import lexicon
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.frames import listed, rewording_rows, stands_in
from assay.perturbations.edit import Text

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_RANGE_BEFORE = re.compile(r"(\d|and|to|or|between|of|[-–,/])\s*$")
_RANGE_AFTER = re.compile(rf"\s*([-–]|(and|to|or|until|till|through) (\d|{_MONTHS}))")


@edit.template("spelling", "invariance", expect="same")
def Spelling(parse: Text, rng: Random) -> Mapping[int, str]:
    """British spelling to American, or American to British, whichever the text uses more: colour, color."""
    changes: dict[str, dict[int, str]] = {"american": {}, "british": {}}
    for index, token in enumerate(parse.tokens):
        if _is_name(parse, index) or (token.text.lower().endswith("yses") and token.tag != "VBZ"):
            continue
        for dialect, table in _spellings().items():
            if other := table.get(token.text.lower()):
                changes[dialect][index] = lexicon.match_case(other, token.text)
    american = {row["american"] for row in lexicon.tsv_file("words", "spellings") if row["to"] != "both"}
    if changes["british"] and any(token.text.lower() in american for token in parse.tokens):
        changes["british"] = {}  # "program" has two British spellings
    return max(changes.values(), key=len)


@cache
def _spellings() -> Mapping[str, Mapping[str, str]]:
    """The dialect to write in, to a table of spellings."""
    rows = lexicon.tsv_file("words", "spellings")
    return {
        "american": {row["british"]: row["american"] for row in rows},
        "british": {row["american"]: row["british"] for row in rows if row["to"] == "both"},
    }


def _is_name(parse: Text, index: int) -> bool:
    """Whether a word is part of a name: the Labour Party, Boston Harbor."""
    token = parse.tokens[index]
    opens = index == parse.first_word(parse.sentence_of(index))
    capital = token.text[:1].isupper() and not opens and not edit.is_all_caps(parse.text)
    return capital or token.pos == "PROPN" or edit.is_address(token)


@edit.template("date-format", "invariance", expect="same")
def DateFormat(text: str, rng: Random) -> str:
    """Dates written in the other order: 12 May 2019, May 12, 2019."""
    for pattern, form in _date_patterns():
        matches = [match for match in re.finditer(pattern, text) if _is_single_date(text, match)]
        if matches:
            return edit.splice(text, [_date_cut(text, match, form) for match in matches])
    return text


@cache
def _date_patterns() -> list[tuple[str, str]]:
    """The listed patterns; `{free}` is a place with nothing joined before it."""
    parts = {"{months}": _MONTHS, "{free}": r"(?<![\w/.,–-])"}
    rows = lexicon.toml_file("checklist", "rewordings")["dates"]
    return [(re.sub(r"\{[a-z]+\}", lambda match: parts[match[0]], rule), form) for rule, form in rows]


def _is_single_date(text: str, match: re.Match[str]) -> bool:
    """Whether a date is no part of a range or list: 12 and 13 May, 10-12 May."""
    before, after = text[: match.start()], text[match.end() :]
    days = [int(group) for group in match.groups() if group.isdigit() and len(group) < 3]
    in_range = _RANGE_BEFORE.search(before) or _RANGE_AFTER.match(after)
    return not in_range and all(0 < day <= 31 for day in days)


def _date_cut(text: str, match: re.Match[str], form: str) -> tuple[int, int, str]:
    """The new form, with a comma after an American year where the sentence goes on."""
    new = match.expand(form)
    goes_on = re.match(r"\s+\w", text[match.end() :])
    return match.start(), match.end(), f"{new}," if "," in new and goes_on else new


@edit.template("abbreviations", "invariance", expect="same")
def Abbreviations(text: str, rng: Random) -> str:
    """Abbreviations written in another way: 5%, 5 percent; £3m, £3 million; 3pm, 3 p.m.; Mr, Mr."""
    if edit.is_all_caps(text):
        return text
    taken: list[tuple[int, int, str]] = []
    for pattern, form, kind in lexicon.toml_file("checklist", "rewordings")["abbreviations"]:
        matches = list(re.finditer(pattern, text))
        for match in matches if len(matches) == len(re.findall(kind, text)) else ():
            if not any(start < match.end() and match.start() < end for start, end, _ in taken):
                end = match.end() + (form.endswith("m.") and text[match.end() : match.end() + 1] == ".")
                taken.append((match.start(), end, match.expand(form)))
    return edit.splice(text, sorted(taken))


@edit.template("numerals-to-words", "invariance", expect="same")
def NumeralsToWords(parse: Text, rng: Random) -> Mapping[int, str]:
    """Whole numbers below a hundred that count things written out: 63 people, sixty-three people."""
    from num2words import num2words

    digits = [i for i, token in enumerate(parse.tokens) if token.text.isdecimal()]
    small = {i: int(parse.tokens[i].text) for i in digits if len(parse.tokens[i].text) < 4}
    counting = {i: n for i, n in small.items() if 2 <= n < 100 and stands_in("counting", parse, i)}
    shares = {i for i in small if parse.is_joined(i) or parse.word_at(i + 1) == "%"}
    apart = shares | {i for i in small if stands_in("beside-month", parse, i)}
    if counting.keys() != small.keys() - apart:  # all in words or none
        return {}
    opening = {parse.first_word(sentence) for sentence in parse.sentences}
    words = {i: num2words(number) for i, number in counting.items()}
    return {i: word.capitalize() if i in opening else word for i, word in words.items()}


@edit.template("quotation-style", "invariance", expect="same", languages=None)
def QuotationStyle(text: str, rng: Random) -> str:
    """Straight quotation marks and apostrophes become curly ones, or curly ones straight."""
    if re.search("[“”‘’]", text):
        return text.translate(str.maketrans("“”‘’", "\"\"''"))
    if text.count('"') % 2 or re.search(r"\d['\"]|(^|[\s(])'\d|``|''|\s['\"]\s|\b[A-Z] '\w", text):
        return text  # feet, decades, an unpaired mark, tokenised text
    opened = re.sub(r'(^|[\s(\[—–-])"', r"\1“", text)
    opened = re.sub(r"(^|[\s(\[—–“-])'(?!(?:tis|twas|em|til|cause|n)\b)", r"\1‘", opened)
    return opened.replace('"', "”").replace("'", "’")


@edit.template("optional-commas", "invariance", expect="same")
def OptionalCommas(parse: Text, rng: Random) -> Mapping[int, str]:
    """Commas that may stand or not: before the "and" of a list, after a short opening phrase, before too."""
    changes: dict[int, str] = {}
    lists: dict[int, str] = {}
    for sentence in parse.sentences:
        for index in range(sentence.start + 1, sentence.end - 1):
            lists |= _list_comma(parse, index)
            changes |= _comma_before_too(parse, index)
        changes |= _opening_comma(parse, sentence)
    # The lists of a text are all written in one way.
    closing = len(re.findall(r",(?= [^,.;:!?]{1,30}, (?:and|or)\b)", parse.text))
    alike = closing == sum(word == "" for word in lists.values()) and len({*map(bool, lists.values())}) < 2
    return changes | lists if alike else changes


def _list_comma(parse: Text, index: int) -> dict[int, str]:
    """The comma before the conjunction of a list of three or more."""
    token, tokens = parse.tokens[index], parse.tokens
    if token.text not in ("and", "or") or token.dep != "cc":
        return {}
    items = _list_items(parse, token.head)
    if len(items) < 3 or not items[-2] < index < items[-1] or items[-1] - items[0] > 5 * len(items):
        return {}
    inside, has_comma = tokens[items[0] : items[-1]], tokens[index - 1].text == ","
    gaps = [sum(t.text == "," for t in tokens[a:b]) for a, b in pairwise(items)]
    regular = gaps == [1] * (len(gaps) - 1) + [int(has_comma)]
    alike = {tokens[i].pos.replace("PROPN", "NOUN") for i in items} in ({"NOUN"}, {"ADJ"})
    marked = any(t.text in ';:(-–"“' for t in inside)
    nested = any(t.dep in ("relcl", "appos", "nsubj", "cc") for t in inside if t is not token)
    after = tokens[items[-1] + 1 : items[-1] + 2]
    # A subject behind an opening phrase: With Ann, Bob and Carl sang.
    root = parse.root_of(parse.sentence_of(index))
    before = root is not None and items[-1] < root
    divided = tokens[items[0]].dep == "pobj" and (before or any(t.pos in ("VERB", "AUX") for t in after))
    if not regular or not alike or marked or nested or divided:
        return {}
    return _toggled_comma(parse, index - 1 if has_comma else index)


def _toggled_comma(parse: Text, index: int) -> dict[int, str]:
    """The comma at an index left out, or one put in before the word there."""
    tokens = parse.tokens
    return {index: ""} if tokens[index].text == "," else {index - 1: f"{tokens[index - 1].text},"}


def _list_items(parse: Text, item: int) -> list[int]:
    """The heads of a list, in order, from one of them."""
    while parse.tokens[item].dep == "conj":
        item = parse.tokens[item].head
    items = [item]
    while (more := parse.child(items[-1], "conj")) is not None and more > items[-1]:
        items.append(more)
    return items


def _opening_comma(parse: Text, sentence: Span) -> dict[int, str]:
    """The comma after a short phrase of time or place that opens a sentence: In 2019, he; In 2019 he."""
    tokens, first = parse.tokens, sentence.start
    span, root = parse.subtree(first), tokens[first].head
    if tokens[first].text.lower() not in listed("openers") or tokens[first].dep != "prep" or span is None:
        return {}
    if not 2 <= span.end - first <= 4 or span.end + 1 >= sentence.end or root < span.end:
        return {}
    inside, has_comma = tokens[first + 1 : span.end], tokens[span.end].text == ","
    plain = all(t.pos in ("DET", "NOUN", "PROPN", "NUM", "ADJ") for t in inside)
    plain = plain and tokens[root].dep == "ROOT" and inside[-1].text not in ("time", "moment")
    follows = tokens[span.end + has_comma]
    subject = follows.dep in ("nsubj", "nsubjpass", "expl", "det") and follows.tag in ("PRP", "EX", "DT")
    dated = all(t.entity == "DATE" for t in inside)  # On one flight he made: a flight that he made
    return _toggled_comma(parse, span.end) if plain and subject and (dated or not has_comma) else {}


def _comma_before_too(parse: Text, index: int) -> dict[int, str]:
    """The comma before a final "too"."""
    tokens = parse.tokens
    if tokens[index].text != "too" or tokens[index + 1].text not in (".", "!") or index < 3:
        return {}
    at = index - 1 if tokens[index - 1].text == "," else index
    return _toggled_comma(parse, at) if edit.is_word(tokens[at - 1]) else {}


@edit.template("equal-phrases", "invariance", expect="same")
def EqualPhrases(parse: Text, rng: Random) -> Mapping[int, str]:
    """Phrases replaced by others of the same meaning: in spite of, despite; everyone, everybody."""
    changes: dict[int, str] = {}
    for start, end, other in _phrase_matches(parse):
        if start not in changes and f" {other.lower()} " not in f" {parse.text.lower()} ":
            changes |= dict.fromkeys(range(start + 1, end), "") | {start: other}
    return changes


def _phrase_matches(parse: Text) -> Iterator[tuple[int, int, str]]:
    """Where a listed phrase stands in its frame: start, end and what may replace it."""
    words = [token.text.lower() for token in parse.tokens]
    for start, word in enumerate(words):
        for phrase, other, frame in rewording_rows().get(word, ()):
            end = start + len(phrase)
            if tuple(words[start:end]) != phrase or parse.is_joined(start) or parse.is_joined(end - 1):
                continue
            if stands_in(frame, parse, start, end):
                yield start, end, other
                break


_FULL = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}


@edit.template("contractions", "invariance", expect="same")
def Contractions(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every pair of words contracted that may be: We are, we're; do not, don't."""
    changes: dict[int, str] = {}
    for index in range(len(parse.tokens) - 1):
        short = _contraction(parse, index)
        if short and index not in changes:
            changes[index], changes[index + 1] = short, ""
    return changes


@cache
def _short_forms() -> dict[str, str]:
    """Full forms to contractions; of two with the same full form the first listed is taken."""
    return {full: short for short, full in reversed(list(lexicon.contractions().items()))}


def _contraction(parse: Text, index: int) -> str | None:
    """The contraction of a word and the next, or None where they may not be contracted."""
    first, second = parse.tokens[index], parse.tokens[index + 1]
    pair = f"{first.text} {second.text}".lower().replace("can not", "cannot")
    short = _short_forms().get(pair)
    if not short or not (first.space or pair == "cannot"):
        return None
    if second.text == "not":
        return first.text[0] + short[1:] if first.pos == "AUX" and _is_plain_not(parse, index + 1) else None
    personal = first.tag in ("PRP", "EX")
    asking = parse.word_at(index) in listed("contracted_with")
    known = personal or (asking and second.text.lower() in ("is", "will"))
    helping = second.pos == "AUX" and (second.lemma == "be" or second.dep in ("aux", "auxpass"))
    stranded = index + 2 >= len(parse.tokens) or not edit.is_word(parse.tokens[index + 2]) or not second.space
    if not known or not helping or stranded or _is_elliptic(parse, index + 1):
        return None
    if second.lemma != "be" and parse.word_at(index + 2) == "not":
        return None  # they wouldn't, not they'd not
    spoken = first.tag != "PRP" or first.text.lower() == "it"
    if spoken and second.text.lower() in ("will", "would", "had"):
        return None  # it'll is for speech alone
    return first.text + short[len(first.text) :]


def _is_plain_not(parse: Text, index: int) -> bool:
    """Whether a "not" denies its verb alone: not "not only", "or not", "do not!"."""
    after = parse.word_at(index + 1)
    return after not in ("only", "just", "least", "merely", "so") and after[:1].isalnum()


def _is_elliptic(parse: Text, index: int) -> bool:
    """Whether the verb's complement is before it: what it is worth."""
    token = parse.tokens[index]
    later = {t.dep for i, t in enumerate(parse.tokens) if i > index and t.head in (index, token.head)}
    complements = later & {"attr", "acomp", "prep", "advmod", "neg", "nsubj"}
    return token.dep not in ("aux", "auxpass") and not complements


@edit.template("expansions", "invariance", expect="same")
def Expansions(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every contraction written out whose full form is certain and as usual: We're, we are; don't, do not."""
    changes = [_expansion(parse, index) for index in range(1, len(parse.tokens))]
    return {index: word for change in changes for index, word in change.items()}


def _expansion(parse: Text, index: int) -> dict[int, str]:
    token, before = parse.tokens[index], parse.tokens[index - 1]
    word = token.text.lower().replace("’", "'")
    follows = parse.tokens[index + 1] if index + 1 < len(parse.tokens) else None
    if before.space or follows is None or not token.space or not edit.is_word(follows):
        return {}
    if follows.text[:1].isupper() and follows.pos != "PROPN" and follows.text != "I":
        return {}  # a title
    if word == "n't":
        return _expanded_not(parse, index)
    if token.pos not in ("AUX", "VERB") or follows.text.lower() in ("up", "about"):  # What's up?
        return {}
    full = _FULL.get(word)
    if word in ("'s", "'d"):
        known = word == "'d" or before.text.lower() in listed("before_clitic")
        full = (_is_or_has(parse, index) if word == "'s" else _had_or_would(parse, index)) if known else None
    return {index: f" {full}"} if full else {}


def _expanded_not(parse: Text, index: int) -> dict[int, str]:
    """n't to not, in statements: "Why do you not come" is no invitation, "Do not worry" no comfort."""
    stem, after = parse.tokens[index - 1], parse.tokens[index + 1]
    full = edit.FULL_STEMS.get(stem.text.lower(), stem.text)
    if stem.text.lower() not in edit.FULL_STEMS and stem.text.lower() + "n't" not in lexicon.contractions():
        return {}
    verb = stem.head if stem.dep in ("aux", "auxpass") else index - 1
    subject = parse.child(verb, "nsubj", "nsubjpass", "expl")
    if subject is None or subject > index or after.tag == "PRP":
        return {}
    cased = full if stem.text[0].islower() else full.capitalize()
    return {index - 1: cased, index: "not" if cased.lower() == "can" else " not"}


def _is_or_has(parse: Text, index: int) -> str | None:
    token = parse.tokens[index]
    perfect = "been" in (parse.word_at(index + 1), parse.word_at(index + 2))
    if perfect or (token.dep == "aux" and parse.tokens[token.head].tag == "VBN"):
        return "has"
    beside = [t for t in parse.tokens if t.head == token.head]
    if token.dep == "auxpass" and any(t.text == "been" for t in beside):
        return "has"
    doubtful = parse.word_at(index - 1) == "who" and parse.tokens[token.head].tag == "VBN"  # who's tried
    if doubtful and not any(t.dep == "agent" for t in beside):
        return None
    if token.dep == "auxpass" and any(t.dep in ("dobj", "dative") for t in beside):  # he's owed me a shift
        return "has" if any(t.tag == "PRP" and t.dep == "dative" for t in beside) else None
    return "is" if token.tag == "VBZ" else None


def _had_or_would(parse: Text, index: int) -> str | None:
    head, after = parse.tokens[parse.tokens[index].head], parse.word_at(index + 1)
    if after == "better" or (head.tag == "VBN" and after != "have"):
        return "had"
    return "would" if head.tag == "VB" or after == "have" else None
