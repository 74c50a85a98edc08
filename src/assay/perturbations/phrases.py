"""Phrases that a sentence can lose and still stand: by the parse, and shy where the parse may be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from assay.datasets.lexicon import word_list
from assay.models.nlp import Parse, Span, Token
from assay.perturbations.edit import is_word, sentence_of, word_indices

_NOUNS = ("NN", "NNS", "NNP", "NNPS")
_MARKS = frozenset(",;:.!?…")
_TIMES = ("DATE", "TIME")
_FINITE = ("VBZ", "VBD", "VBP", "MD")
_QUOTES = frozenset('()[]"“”')


def loose_phrases(parse: Parse) -> list[Span]:
    """The phrases a text can lose, in order, none within another, with the commas that go with them."""
    found = [span for index in range(len(parse.tokens)) for span in _loose(parse, index)]
    found = [span for span in found if within_half(parse, [span])]
    found.sort(key=lambda span: span.start - span.end)  # the longest first
    kept: list[Span] = []
    for span in found:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return sorted(kept, key=lambda span: span.start)


def within_half(parse: Parse, spans: Sequence[Span]) -> list[Span]:
    """As many of the spans as leave every sentence half of its words."""
    gone: dict[int, int] = {}
    kept = []
    for span in spans:
        sentence = sentence_of(parse, span.start)
        more = gone.get(sentence.start, 0) + len(word_indices(parse, span))
        if more <= len(word_indices(parse, sentence)) / 2:
            gone[sentence.start] = more
            kept.append(span)
    return kept


def subtree(parse: Parse, index: int) -> Span | None:
    """A word with all that hangs on it, where that is one stretch of text."""
    inside = {index}
    grown = True
    while grown:
        more = {i for i, t in enumerate(parse.tokens) if t.head in inside} - inside
        inside |= more
        grown = bool(more)
    start, end = min(inside), max(inside) + 1
    return Span(start, end) if end - start == len(inside) else None


def _loose(parse: Parse, index: int) -> Iterator[Span]:
    token = parse.tokens[index]
    if token.dep not in ("prep", "relcl", "appos", "acl"):
        return
    whole = subtree(parse, index)
    span = _trimmed(parse, whole) if whole else None
    if span is None or span.end - span.start < 2 or not _stands_apart(parse, index, span):
        return
    head = parse.tokens[token.head]
    if token.dep == "prep":
        of_noun = head.tag in _NOUNS
        if _full(parse, index) and (_of_noun(parse, index) if of_noun else _of_verb(parse, index, span)):
            yield _with_commas(parse, index, span)
    elif head.tag in _NOUNS and _describes(parse, index, span):
        yield _with_commas(parse, index, span)


def _trimmed(parse: Parse, span: Span) -> Span:
    """Without the marks at either end, which belong to the sentence."""
    words = word_indices(parse, span)
    return Span(words[0], words[-1] + 1) if words else Span(span.start, span.start)


def _stands_apart(parse: Parse, index: int, span: Span) -> bool:
    """Whether its neighbours are sure not to belong to it, whatever the parse says."""
    sentence, inside = sentence_of(parse, span.start), parse.tokens[span.start : span.end]
    if span.end > sentence.end or _text(parse, span.start - 1) in _words("phrase_bound_before"):
        return False
    if any(t.text in _QUOTES for t in inside):
        return False
    if span.end == sentence.end:
        return True
    after = parse.tokens[span.end]
    if not is_word(after):
        return after.text in _MARKS
    if after.pos in ("AUX", "VERB"):  # its subject may hide in the phrase
        listed = any(t.text == "," or t.dep == "cc" for t in inside)
        return parse.tokens[parse.tokens[index].head].tag in _NOUNS and not listed and after.tag in _FINITE
    second = parse.tokens[span.end + 1].tag if after.pos == "CCONJ" and span.end + 1 < sentence.end else ""
    if second in ("JJ", "NN", "NNS", "PRP$", "CD"):
        return False  # in a leather jacket and striped shirt
    if after.pos == "ADP" and parse.tokens[index].dep == "prep" and parse.tokens[index].head == index - 1:
        return False  # a man with a baby in a sling
    return after.pos in ("CCONJ", "ADP", "SCONJ") and after.text.lower() not in _words("phrase_bound_behind")


def _text(parse: Parse, index: int) -> str:
    return parse.tokens[index].text.lower() if 0 <= index < len(parse.tokens) else ""


def _children(parse: Parse, index: int) -> list[Token]:
    return [token for token in parse.tokens if token.head == index and token is not parse.tokens[index]]


def _of_noun(parse: Parse, index: int) -> bool:
    """The roof (of the shed), a pensioner (from Halle): a noun that is known without it."""
    token = parse.tokens[index]
    noun, on_noun, of = parse.tokens[token.head], _children(parse, token.head), token.text.lower() == "of"
    if token.head != index - 1 or noun.lemma.lower() in _words("nouns_unfinished"):
        return False
    if of and (noun.tag != "NN" or noun.entity or noun.dep in ("attr", "pobj", "appos", "conj")):
        return False
    picky = any(
        t.lemma.lower() in _words("determiners_unfinished") or t.tag in ("JJS", "RBS") for t in on_noun
    )
    shown = any(t.dep in ("det", "poss", "compound", "amod", "nummod") for t in on_noun)
    known = token.text.lower() in _words("noun_prepositions")
    return known and not picky and (shown or noun.tag in ("NNS", "NNP", "NNPS"))


def _of_verb(parse: Parse, index: int, span: Span) -> bool:
    """He sees people (in the morning), it was sold by her (in 1934): where and when."""
    token = parse.tokens[index]
    verb, on_verb = parse.tokens[token.head], _children(parse, token.head)
    if verb.pos != "VERB" or verb.dep in ("acl", "amod", "pcomp") or verb.lemma in _words("verbs_unfinished"):
        return False
    if token.text.lower() not in _words("verb_prepositions"):
        return False
    if span.start == sentence_of(parse, index).start:
        return _text(parse, span.end) == ","
    others = {t.dep for t in on_verb if t is not token}
    last = all(t.start <= token.start for t in on_verb if t.dep == "prep")
    time = any(t.entity in _TIMES for t in parse.tokens[span.start : span.end])
    if not last or others & {"neg", "prt", "acomp", "oprd"} or token.head > index:
        return False
    return (
        "dobj" in others or bool(others & {"agent", "prep", "advmod"})
        if "nsubjpass" in others
        else ("dobj" in others or time)
    )


def _full(parse: Parse, index: int) -> bool:
    """Whether a preposition has its noun behind it and no twin beside it (from July to October)."""
    twins = {t.text.lower() for t in _children(parse, parse.tokens[index].head) if t.dep == "prep"}
    objects = [t for t in _children(parse, index) if t.dep == "pobj" and t.start > parse.tokens[index].start]
    return len(objects) == 1 and objects[0].tag not in ("WDT", "WP", "PRP") and not {"from", "to"} <= twins


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(word_list("checklist", "templates", name))


def _describes(parse: Parse, index: int, span: Span) -> bool:
    """Whether a relative clause, apposition or participle says more of a noun known without it."""
    token = parse.tokens[index]
    noun, on_noun = parse.tokens[token.head], _children(parse, token.head)
    between = parse.tokens[token.head + 1 : span.start]
    commas = _text(parse, span.start - 1) == ","
    if [t.text for t in between] not in ([], [","]) or any(t.dep in ("conj", "cc") for t in on_noun):
        return False
    closed = _text(parse, span.end) in ("", *_MARKS)
    if token.dep == "appos":
        listed = any(t.text == "," for t in parse.tokens[span.start : span.end])
        listed |= sum(t.dep == "appos" for t in on_noun) > 1
        return commas and closed and not listed and parse.tokens[span.start].pos != "ADV"
    if token.dep == "relcl" and parse.tokens[span.start].tag not in ("WDT", "WP", "WP$", "WRB"):
        return False
    if token.dep == "acl" and (index != span.start or token.tag not in ("VBN", "VBG")):
        return False
    if commas:
        return closed
    cleft = any(t.head == noun.head and t.text.lower() == "it" for t in parse.tokens)  # it was a carrot that
    vague = cleft or noun.lemma.lower() in _words("nouns_unfinished")
    shown = any(t.dep in ("det", "amod", "compound") and t.lemma.lower() in ("a", "an") for t in on_noun)
    return not vague and (shown or (noun.tag == "NNS" and any(t.dep == "amod" for t in on_noun)))


def _with_commas(parse: Parse, index: int, span: Span) -> Span:
    """The span with the comma before it, and the one behind it where both only set it off."""
    if _text(parse, span.start - 1) != ",":
        return span
    behind = parse.tokens[span.end + 1].pos if span.end + 1 < len(parse.tokens) else ""
    goes_on = behind in ("AUX", "VERB", "ADV") if parse.tokens[index].dep == "prep" else behind != "CCONJ"
    return Span(span.start - 1, span.end + (_text(parse, span.end) == "," and goes_on))
