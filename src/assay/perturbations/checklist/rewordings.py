"""Invariances of grammar: a parsed text to one that says the same in another construction.

Active and passive, the order of clauses and of equal parts, "that" put in or left out, appositions, and the
forms that captions take. Each template changes at most one place per sentence and leaves doubtful ones alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from assay.core import Record
from assay.datasets import lexicon
from assay.models.nlp import Span, Token
from assay.perturbations import edit
from assay.perturbations.checklist.frames import listed
from assay.perturbations.checklist.meaning import garbled
from assay.perturbations.edit import Text

Changes = Mapping[int, str]
_THIRD_PERSON = frozenset(
    ["he", "she", "it", "they", "him", "her", "them", "his", "its", "their", "hers", "theirs", "this", "that",
     "himself", "herself", "itself", "themselves", "one", "so", "these", "those"]
)  # fmt: skip
_BE = {("VBD", True): "were", ("VBD", False): "was", ("VBZ", False): "is", ("VBP", True): "are"}
_QUOTES = ('"', "“", "”", "'", "‘", "’", "``", "''")


def _per_sentence(parse: Text, change: Callable[[Text, Span], Changes]) -> dict[int, str]:
    """The changes of every sentence that can be read with confidence."""
    changes: dict[int, str] = {}
    for sentence in parse.sentences:
        if not garbled(parse, sentence):
            changes |= change(parse, sentence)
    return changes


def _moved(parse: Text, sentence: Span, pieces: list[str]) -> dict[int, str]:
    """The changes that write a sentence's words anew, up to the mark that ends it."""
    end = _end(parse, sentence)
    words = " ".join(piece.strip() for piece in pieces if piece.strip()).replace(" ,", ",")
    return edit.dropped([Span(sentence.start, end)]) | {sentence.start: lexicon.capitalised(words)}


def _end(parse: Text, sentence: Span) -> int:
    """Where the words of a sentence end and its final marks begin."""
    return parse.word_indices(sentence)[-1] + 1


def _is_plain(parse: Text, sentence: Span, *, marks: str = ",-%$£€'’") -> bool:
    """Whether a sentence is a statement without quotations, brackets and other marks."""
    end = _end(parse, sentence) if parse.word_indices(sentence) else sentence.start
    inside = parse.tokens[sentence.start : end]
    plain = all(edit.is_word(token) or token.text in marks for token in inside)
    final = parse.piece(Span(end, sentence.end)).strip() if end < sentence.end else ""
    tokenised = any(t.space and n.text.startswith(("'", "n't")) for t, n in pairwise(inside))
    plain = plain and bool(inside) and _is_case_known(parse, sentence.start)
    return plain and len(inside) > 3 and final in (".", "!", "") and not tokenised


def _child(parse: Text, index: int, *deps: str) -> int | None:
    """The first dependent of a word with one of these relations."""
    return next((i for i, t in enumerate(parse.tokens) if t.head == index and i != index and t.dep in deps), None)


def _text(parse: Text, start: int, end: int, *, opens: bool = False) -> str:
    """The text of some tokens; without its capital where it opened the sentence."""
    if start >= end:
        return ""
    text, token = parse.piece(Span(start, end)), parse.tokens[start]
    return text if not opens or token.pos == "PROPN" or token.text == "I" else text[0].lower() + text[1:]


def _is_case_known(parse: Text, index: int) -> bool:
    """Whether a word that opens a sentence is surely a name or surely none: not Arsenal, tagged as a noun."""
    token = parse.tokens[index]
    if token.pos == "PROPN":
        return bool(token.entity) or not edit.known_classes(token.text)
    common = token.pos in ("DET", "PRON", "ADP", "SCONJ", "NUM", "ADV")
    return common or (token.tag == "NNS" and not token.entity)


def _is_plural(parse: Text, index: int) -> bool:
    token = parse.tokens[index]
    joined = any(t.dep == "conj" for t in parse.children(index))
    return token.tag in ("NNS", "NNPS") or joined or token.text.lower() in ("people", "police", "they", "these")


# --- active and passive ---


@edit.template("active-passive", "invariance", expect="same")
def ActivePassive(parse: Text, rng: Random) -> Changes:
    """A plain transitive clause becomes passive, or a passive one with its agent active."""
    return _per_sentence(parse, lambda text, span: _activated(text, span) or _passivised(text, span))


def _passivised(parse: Text, sentence: Span) -> Changes:
    """The committee approved the plan (on Monday): The plan was approved by the committee."""
    root = parse.root_of(sentence)
    subject_head, thing_head = (_child(parse, root or 0, dep) for dep in ("nsubj", "dobj"))
    if root is None or subject_head is None or thing_head is None or not _is_bare_clause(parse, sentence, root):
        return {}
    subject, thing = _full_phrase(parse, subject_head), _full_phrase(parse, thing_head)
    verb = parse.tokens[root]
    lemma = edit.lemma_of(verb.text, "verb")
    participle = edit.inflect(lemma, "VBN")
    if subject is None or thing is None or participle is None or lemma not in listed("passive_verbs"):
        return {}
    if not subject.end == root == thing.start - 1 or verb.tag not in ("VBD", "VBZ", "VBP"):
        return {}
    if not _is_loose_end(parse, thing.end, sentence):
        return {}
    plural = _is_plural(parse, thing_head)
    be = ("were" if plural else "was") if verb.tag == "VBD" else ("are" if plural else "is")
    pieces = [
        _text(parse, sentence.start, subject.start),
        _text(parse, thing.start, thing.end),
        f"{be} {participle} by",
        _text(parse, subject.start, subject.end, opens=subject.start == sentence.start),
        _text(parse, thing.end, _end(parse, sentence)),
    ]
    return _moved(parse, sentence, pieces)


def _activated(parse: Text, sentence: Span) -> Changes:
    """The plan was approved by the committee: The committee approved the plan."""
    root = parse.root_of(sentence)
    subject_head, agent, be = (_child(parse, root or 0, dep) for dep in ("nsubjpass", "agent", "auxpass"))
    actor = _child(parse, agent, "pobj") if agent is not None else None
    if root is None or subject_head is None or actor is None or be is None or agent != root + 1:
        return {}
    subject, phrase = _full_phrase(parse, subject_head), _full_phrase(parse, actor)
    auxiliary = parse.tokens[be].text.lower()
    if subject is None or phrase is None or not _is_bare_clause(parse, sentence, root):
        return {}
    tidy = subject.end == be and root in (be + 1, be + 2) and phrase.start == agent + 1
    if not tidy or auxiliary not in ("was", "were", "is", "are") or parse.word_at(be + 1) in ("being", "been", "n't"):
        return {}
    tag = "VBD" if auxiliary in ("was", "were") else "VBP" if _is_plural(parse, actor) else "VBZ"
    form = edit.inflect(edit.lemma_of(parse.tokens[root].text, "verb"), tag)
    if form is None or not _is_loose_end(parse, phrase.end, sentence):
        return {}
    pieces = [
        _text(parse, sentence.start, subject.start),
        _text(parse, phrase.start, phrase.end),
        _text(parse, be + 1, root),
        form,
        _text(parse, subject.start, subject.end, opens=subject.start == sentence.start),
        _text(parse, phrase.end, _end(parse, sentence)),
    ]
    return _moved(parse, sentence, pieces)


_COMPLEMENTS = frozenset(
    ["neg", "ccomp", "xcomp", "prt", "dative", "oprd", "conj", "cc", "advcl", "expl", "mark", "acomp", "aux"]
)


def _is_bare_clause(parse: Text, sentence: Span, root: int) -> bool:
    """Whether a sentence is one plain clause: no auxiliary, no second verb, no other complement."""
    verb = parse.tokens[root].pos == "VERB" and not {t.dep for t in parse.children(root)} & _COMPLEMENTS
    return verb and _is_plain(parse, sentence, marks=",-'’")


def _full_phrase(parse: Text, head: int) -> Span | None:
    """A short noun phrase that names its thing, with an article, an owner or a name: no pronoun, no clause."""
    span, noun = parse.subtree(head), parse.tokens[head]
    if span is None or span.end - span.start > 8 or noun.pos not in ("NOUN", "PROPN"):
        return None
    inside = parse.tokens[span.start : span.end]
    pronoun = any(t.tag in ("PRP", "PRP$", "WP", "WDT", "WP$", "EX") or t.pos == "VERB" for t in inside)
    vague = inside[0].text.lower() in ("this", "that", "these", "those", "no", "each", "other", "some", "any")
    measured = noun.entity in ("DATE", "TIME", "MONEY", "PERCENT", "QUANTITY", "CARDINAL")
    named = noun.pos == "PROPN" or noun.tag == "NNS" or any(t.dep in ("det", "poss") for t in parse.children(head))
    plain = all(edit.is_word(t) or t.text in "-'’" for t in inside) and not any(t.pos == "NUM" for t in inside)
    return span if plain and named and not (pronoun or vague or measured) else None


def _is_loose_end(parse: Text, at: int, sentence: Span) -> bool:
    """Whether what follows an object is a place or time that cannot belong to it alone."""
    rest = parse.tokens[at : sentence.end]
    loose = not rest or not edit.is_word(rest[0]) or rest[0].text.lower() in ("in", "on", "at", "during")
    bound = any(t.pos in ("VERB", "PRON") or t.text == "," or t.tag in edit.QUESTION_TAGS for t in rest)
    score = bool(rest) and any(letter.isdigit() for letter in rest[0].text)
    return loose and not bound and not score and not (rest and rest[0].text == "-")


# --- order ---


@edit.template("clause-order", "invariance", expect="same")
def ClauseOrder(parse: Text, rng: Random) -> Changes:
    """A clause or date moves to the other end of its sentence: When it rains, we read; We read when it rains."""
    return _per_sentence(parse, lambda text, sentence: _fronted(text, sentence) or _postponed(text, sentence))


def _adverbial(parse: Text, root: int, sentence: Span, *, opening: bool) -> Span | None:
    """The clause with a movable conjunction, or the date, that opens or closes a sentence."""
    for index in range(sentence.start, sentence.end):
        token = parse.tokens[index]
        if token.head != root or token.dep not in ("advcl", "prep"):
            continue
        span = parse.subtree(index)
        at_edge = span is not None and (
            span.start == sentence.start if opening else span.end == _end(parse, sentence)
        )
        if span is not None and at_edge and _is_movable(parse, span, index):
            return span
    return None


def _is_movable(parse: Text, span: Span, head: int) -> bool:
    first, inside = parse.tokens[span.start], parse.tokens[span.start : span.end]
    if parse.tokens[head].dep == "prep":
        dated = all(t.entity == "DATE" or t.pos == "DET" for t in inside[1:])
        certain = any(t.text[:1].isupper() or len(t.text) == 4 and t.text.isdigit() for t in inside[1:])
        return dated and certain and first.text.lower() in ("in", "on") and 2 <= len(inside) <= 5
    subject = any(t.dep in ("nsubj", "nsubjpass", "expl") for t in parse.children(head))
    conjunction = first.text.lower() in listed("movable_clauses") and first.dep in ("mark", "advmod")
    return conjunction and subject and 3 <= len(inside) <= 12 and not any(t.text == "," for t in inside)


def _is_single_clause(parse: Text, start: int, end: int, root: int) -> bool:
    """Whether the main clause has one verb, so that nothing else could take the adverbial."""
    verbs = [i for i in range(start, end) if parse.tokens[i].pos == "VERB" and i != root]
    joined = any(t.dep in ("conj", "ccomp") and t.head == root for t in parse.tokens)
    subject = any(t.dep in ("nsubj", "nsubjpass", "expl") for t in parse.children(root))
    odd = any(t.text.lower() in (",", "however", "also", "only", "just", "then") for t in parse.tokens[start:end])
    return not verbs and not joined and subject and not odd


def _refers(parse: Text, span_start: int, span_end: int) -> bool:
    return any(t.text.lower() in _THIRD_PERSON for t in parse.tokens[span_start:span_end])


def _names(parse: Text, start: int, end: int) -> bool:
    return any(t.pos in ("NOUN", "PROPN") for t in parse.tokens[start:end])


def _postponed(parse: Text, sentence: Span) -> Changes:
    """When X, Y: Y when X."""
    root, end = parse.root_of(sentence), _end(parse, sentence) if parse.word_indices(sentence) else 0
    if root is None or not _is_plain(parse, sentence):
        return {}
    span = _adverbial(parse, root, sentence, opening=True)
    if span is None or parse.tokens[span.end].text != ",":
        return {}
    main = span.end + 1
    verb = parse.tokens[root].tag
    backwards = parse.tokens[span.start].dep != "prep" and (
        _refers(parse, main, end) and _names(parse, span.start, span.end)
    )
    long_date = parse.tokens[span.start].dep == "prep" and end - main > 16
    ordered = parse.tokens[main].text.lower() in ("then", "so", "yet", "and", "but")
    if not _is_single_clause(parse, main, end, root) or backwards or verb == "VB" or long_date or ordered:
        return {}
    if parse.word_at(end - 1) in ("too", "then", "ago") or any(t.entity == "DATE" for t in parse.tokens[main:end]):
        return {}
    moved = _text(parse, span.start, span.end, opens=True)
    return _moved(parse, sentence, [_text(parse, main, end), moved])


def _fronted(parse: Text, sentence: Span) -> Changes:
    """Y when X: When X, Y."""
    root, end = parse.root_of(sentence), _end(parse, sentence) if parse.word_indices(sentence) else 0
    if root is None or not _is_plain(parse, sentence):
        return {}
    span = _adverbial(parse, root, sentence, opening=False)
    if span is None or span.start <= root or parse.tokens[span.start - 1].text in (",", "and", "just", "only", "even"):
        return {}
    opening, subject = parse.tokens[sentence.start], _child(parse, root, "nsubj", "nsubjpass", "expl")
    if subject is None or not _is_single_clause(parse, sentence.start, span.start, root):
        return {}
    phrase = parse.subtree(subject)
    first = phrase is not None and phrase.start == sentence.start
    clause = parse.tokens[span.start].dep != "prep"
    forwards = _refers(parse, span.start, span.end) and _names(parse, sentence.start, span.start)
    denied = any(t.dep == "neg" for t in parse.children(root))  # not because
    dated = not clause and (_last_is_noun(parse, span.start - 1) or parse.tokens[root].lemma == "be")
    if not first or forwards or denied or dated or opening.tag in edit.QUESTION_TAGS:
        return {}
    main = _text(parse, sentence.start, span.start, opens=True)
    return _moved(parse, sentence, [f"{_text(parse, span.start, span.end)},", main])


def _last_is_noun(parse: Text, index: int) -> bool:
    """Whether a date stands behind a noun that it may belong to: the elections in 2019."""
    token = parse.tokens[index]
    return token.pos == "NOUN" and token.dep in ("dobj", "pobj", "attr", "nsubj")


@edit.template("conjunct-order", "invariance", expect="same")
def ConjunctOrder(parse: Text, rng: Random) -> Changes:
    """Two equal parts change places: a man and a woman, a woman and a man."""
    return _per_sentence(parse, _swapped_conjuncts)


def _swapped_conjuncts(parse: Text, sentence: Span) -> Changes:
    tokens = parse.tokens
    for index in range(sentence.start + 1, sentence.end - 1):
        if tokens[index].text != "and" or tokens[index].dep != "cc":
            continue
        first, second = tokens[index].head, _child(parse, tokens[index].head, "conj")
        if second is None or not first < index < second or tokens[first].dep == "conj":
            continue
        left, right = _conjunct(parse, first, index), _conjunct(parse, second, second + 1)
        if left is None or right is None or right.start != index + 1 or not _are_equal(parse, left, right):
            continue
        opens = left.start == sentence.start
        here = _text(parse, right.start, right.end)
        there = _text(parse, left.start, left.end, opens=opens)
        return edit.dropped([left, right]) | {
            left.start: lexicon.capitalised(here) if opens else here,
            right.start: there,
        }
    return {}


def _conjunct(parse: Text, head: int, end: int) -> Span | None:
    """A noun with article, numeral, adjectives or compounds before it, and nothing behind it."""
    tokens = parse.tokens
    own = [i for i, t in enumerate(tokens) if t.head == head and i != head and t.dep not in ("cc", "conj")]
    before = [i for i in own if i < head]
    behind = [i for i in own if i > head and i < end or i > head and tokens[i].dep != "punct"]
    plain = all(tokens[i].dep in ("det", "amod", "compound", "nummod") and not parse.children(i) for i in before)
    start = min([*before, head])
    whole = start + len(before) == head
    noun = tokens[head].tag in ("NN", "NNS")
    return Span(start, head + 1) if plain and whole and not behind and noun else None


def _are_equal(parse: Text, left: Span, right: Span) -> bool:
    """Both with an article or number, or both bare plurals; no fixed pair; nothing behind that one may own."""
    tokens = parse.tokens
    sides = [tokens[span.start : span.end] for span in (left, right)]
    determined = [side[0].tag in ("DT", "CD") for side in sides]
    bare = [len(side) == 1 and side[0].tag == "NNS" for side in sides]
    words = {t.text.lower() for side in sides for t in side}
    pronoun = tokens[left.start - 1].tag in ("PRP$", "DT", "JJ", "CD", "POS", "NN") if left.start else False
    follows = parse.word_at(right.end)
    owned = follows in ("in", "with", "of", "who", "that", "which", "for", "from", "and", "or", ",", "to", "on", "'s")
    heads = {sides[0][-1].text.lower(), sides[1][-1].text.lower()}
    same_article = sides[0][0].text.lower() == "the" and sides[1][0].text.lower() != "the"
    return (
        (all(determined) or (all(bare) and not pronoun)) and len(heads) == 2
        and not words & listed("fixed_pairs") and not owned and not same_article
        and all(t.text.islower() or i == left.start for i, t in zip(range(left.start, left.end), sides[0], strict=True))
    )  # fmt: skip


@edit.template("speech-order", "invariance", expect="same")
def SpeechOrder(parse: Text, rng: Random) -> Changes:
    """The speaker before or behind "said": said the owner, the owner said."""
    changes: dict[int, str] = {}
    for index, token in enumerate(parse.tokens):
        if token.text != "said" or index == 0 or parse.is_joined(index):
            continue
        subject = _child(parse, index, "nsubj")
        span = _full_phrase(parse, subject) if subject is not None else None
        if span is None:
            continue
        quoted = parse.tokens[index - 1].text in _QUOTES or parse.tokens[index - 1].text == ","
        before = parse.tokens[span.start - 1].text if span.start else ""
        if span.start == index + 1 and quoted and parse.word_at(span.end) in (".", ",", ""):
            changes |= edit.dropped([Span(index, span.end)]) | {index: f"{parse.piece(span)} said"}
        elif span.end == index and before in (*_QUOTES, ",") and parse.word_at(index + 1) in (".", ",", ""):
            changes |= edit.dropped([Span(span.start, index + 1)]) | {span.start: f"said {parse.piece(span)}"}
    return changes


# --- questions ---

_FRONTING = ("during", "after", "before", "in", "at")


@edit.template("question-form", "invariance", expect="same")
def QuestionForm(parse: Text, rng: Random) -> Changes:
    """A question asked in another form: How much is it, how much does it cost; Who won after the war; After..."""
    changes: dict[int, str] = {}
    for sentence in parse.sentences:
        if parse.tokens[sentence.end - 1].text == "?" and sentence.end - sentence.start > 4:
            for form in (_price, _please_last, _for_how_long, _passive_question, _adjunct_first):
                if change := form(parse, sentence):
                    changes |= change
                    break
    return changes


def _opening(parse: Text, sentence: Span, count: int) -> list[str]:
    return [parse.word_at(i) for i in range(sentence.start, sentence.start + count)]


def _price(parse: Text, sentence: Span) -> Changes:
    """How much is the ticket: How much does the ticket cost."""
    start, end = sentence.start, _end(parse, sentence)
    opening = _opening(parse, sentence, 3)
    if opening[:2] != ["how", "much"] or opening[2] not in ("is", "are") or parse.tokens[end].text != "?":
        return {}
    rest = parse.tokens[start + 3 : end]
    plain = rest and all(t.pos in ("DET", "NOUN", "ADJ", "PRON", "PROPN", "ADP") and t.text != "it" for t in rest)
    price = {"rent", "fee", "price", "cost", "deposit", "fare", "charge", "tax", "tuition", "bill", "total", "rate",
             "interest", "salary", "that", "left", "worth", "expensive", "postage"}  # fmt: skip
    if not plain or price & {t.text.lower() for t in rest} or end + 1 < sentence.end:
        return {}
    return {start + 2: "does" if opening[2] == "is" else "do", end - 1: f"{parse.tokens[end - 1].text} cost"}


def _please_last(parse: Text, sentence: Span) -> Changes:
    """Could you please help me: Could you help me, please."""
    opening, end = _opening(parse, sentence, 3), _end(parse, sentence)
    asks = opening[0] in ("could", "can", "would", "will", "may") and opening[1] in ("you", "i", "we")
    alone = not any(t.text in (",", "and", "?") for t in parse.tokens[sentence.start : end])
    if not asks or opening[2] != "please" or not alone or end - sentence.start < 5:
        return {}
    return {sentence.start + 2: "", end - 1: f"{parse.tokens[end - 1].text}, please"}


def _for_how_long(parse: Text, sentence: Span) -> Changes:
    """How long did she train: For how long did she train."""
    opening = _opening(parse, sentence, 3)
    root = parse.root_of(sentence)
    if opening[:2] != ["how", "long"] or opening[2] not in ("did", "has", "have", "had", "will", "can", "must"):
        return {}
    spends = root is not None and edit.lemma_of(parse.tokens[root].text, "verb") in ("take", "last", "spend", "be")
    return {} if spends or root is None else {sentence.start: "For how"}


def _passive_question(parse: Text, sentence: Span) -> Changes:
    """Where did the crew find the letter: Where was the letter found by the crew."""
    root, end = parse.root_of(sentence), _end(parse, sentence)
    opening = _opening(parse, sentence, 2)
    if root is None or opening[0] not in ("when", "where", "why", "how") or opening[1] != "did":
        return {}
    subject_head, thing_head = (_child(parse, root, dep) for dep in ("nsubj", "dobj"))
    if subject_head is None or thing_head is None:
        return {}
    subject, thing = _full_phrase(parse, subject_head), _full_phrase(parse, thing_head)
    lemma = edit.lemma_of(parse.tokens[root].text, "verb")
    participle = edit.inflect(lemma, "VBN")
    deps = {t.dep for t in parse.children(root)}
    if subject is None or thing is None or participle is None or lemma not in listed("passive_verbs"):
        return {}
    tidy = subject.start == sentence.start + 2 and subject.end == root == thing.start - 1
    if not tidy or deps & (_COMPLEMENTS - {"aux"}) or any(t.pos in ("VERB", "PRON") for t in parse.tokens[thing.end : end]):
        return {}
    be = "were" if _is_plural(parse, thing_head) else "was"
    pieces = [parse.tokens[sentence.start].text, be, parse.piece(thing), f"{participle} by", parse.piece(subject)]
    return _moved(parse, sentence, [*pieces, _text(parse, thing.end, end)])


def _adjunct_first(parse: Text, sentence: Span) -> Changes:
    """What landed there during the match: During the match, what landed there."""
    root, end = parse.root_of(sentence), _end(parse, sentence)
    first = parse.tokens[sentence.start]
    if root is None or first.tag not in edit.QUESTION_TAGS or parse.tokens[root].pos != "VERB":
        return {}
    for index in range(root + 2, end):
        span = parse.subtree(index)
        token = parse.tokens[index]
        adjunct = token.dep == "prep" and token.head == root and token.text in _FRONTING
        if span is None or not adjunct or span.end != end or not 2 < span.end - span.start < 9:
            continue
        inside = parse.tokens[span.start : span.end]
        timed = token.text in ("during", "after", "before") or any(t.entity in ("DATE", "EVENT") for t in inside)
        before = parse.tokens[index - 1]
        plain = timed and not any(t.pos in ("PRON", "VERB") or t.text == "," for t in inside) and before.text != ","
        if plain and first.text.lower() != "when":
            return _moved(parse, sentence, [f"{parse.piece(span)},", _text(parse, sentence.start, index, opens=True)])
    return {}


# --- that ---


@edit.template("optional-that", "invariance", expect="same")
def OptionalThat(parse: Text, rng: Random) -> Changes:
    """A "that" that may stand or not is put in or left out: I think (that) it works; the book (that) I read."""
    changes: dict[int, str] = {}
    for sentence in parse.sentences:
        for index in range(sentence.start + 1, sentence.end):
            changes |= _clause_that(parse, index, sentence) or _relative_that(parse, index)
    return changes


def _clause_that(parse: Text, index: int, sentence: Span) -> Changes:
    """The conjunction between a verb of saying or thinking and its clause."""
    clause, tokens = parse.tokens[index], parse.tokens
    governor = tokens[clause.head]
    if clause.dep != "ccomp" or clause.pos not in ("VERB", "AUX") or clause.head >= index:
        return {}
    verb = governor.pos == "VERB" and edit.lemma_of(governor.text, "verb") in listed("clause_verbs")
    adjective = governor.dep == "acomp" and governor.text.lower() in listed("clause_adjectives")
    asked = any(t.tag in edit.QUESTION_TAGS for t in tokens[sentence.start : index])
    subject = _child(parse, index, "nsubj", "nsubjpass", "expl")
    span = parse.subtree(subject) if subject is not None else None
    if not (verb or adjective) or asked or span is None or governor.text.lower() in ("say", "guess") and adjective:
        return {}
    mark = _child(parse, index, "mark")
    at = clause.head + 1
    if verb and parse.tokens[at].tag == "PRP" and parse.tokens[at].dep in ("dative", "dobj"):
        at += 1  # told me that
    if mark is not None:
        bare = tokens[mark].text == "that" and mark == at and span.start == mark + 1
        bare = bare and span.end - span.start <= 3 and tokens[at - 1].tag != "VBG"
        return {mark: ""} if bare and tokens[span.start].text not in ("that", "this", "those") else {}
    speech = clause.head > 0 and tokens[clause.head - 1].text in (*_QUOTES, ",")  # ”, said the owner
    if span.start != at or speech or tokens[at - 1].tag == "VBG" or tokens[span.start].text.lower() in ("that", "so", "what"):
        return {}
    told = edit.lemma_of(governor.text, "verb") == "tell"
    pronoun = tokens[span.start].tag in ("PRP", "DT", "EX", "PRP$")
    short = governor.text.lower() in ("guess", "hope", "wish") and sentence.end - index < 3
    plain = pronoun and not short and (not told or at == clause.head + 2)
    return {span.start: f"that {parse.uncapitalised(Span(span.start, span.start + 1))}"} if plain else {}


def _relative_that(parse: Text, index: int) -> Changes:
    """The relative pronoun that is an object: the book (that) I read."""
    verb, tokens = parse.tokens[index], parse.tokens
    if verb.dep != "relcl" or tokens[verb.head].pos not in ("NOUN", "PRON") or verb.head >= index:
        return {}
    subject = _child(parse, index, "nsubj")
    if subject is None or tokens[subject].tag != "PRP":
        return {}
    before = tokens[subject - 1]
    objects = [t for t in parse.children(index) if t.dep in ("dobj", "ccomp")]
    if before.text == "that" and before.tag == "WDT" and subject - 2 == verb.head and before.dep in ("dobj", "pobj"):
        return {subject - 1: ""} if all(t is before for t in objects) else {}
    bare = subject - 1 == verb.head and not any(t.tag in edit.QUESTION_TAGS for t in parse.children(index))
    fits = tokens[verb.head].tag in ("NN", "NNS") and before.text.lower() not in ("way", "time", "reason", "day")
    return {subject: f"that {tokens[subject].text}"} if bare and fits else {}


# --- appositions ---


@edit.template("apposition", "invariance", expect="same")
def Apposition(parse: Text, rng: Random) -> Changes:
    """An apposition becomes a relative clause, or the other way round: Ana, (who is) a nurse, lives here."""
    changes: dict[int, str] = {}
    for index in range(len(parse.tokens)):
        changes |= _shortened(parse, index) or _lengthened(parse, index)
    return changes


def _shortened(parse: Text, index: int) -> Changes:
    """Ana, who is a nurse, lives here: Ana, a nurse, lives here."""
    tokens, verb = parse.tokens, parse.tokens[index]
    attribute, subject = _child(parse, index, "attr"), _child(parse, index, "nsubj")
    if verb.dep != "relcl" or verb.lemma != "be" or attribute is None or subject != index - 1:
        return {}
    span, clause = parse.subtree(attribute), parse.subtree(index)
    opens = subject is not None and tokens[subject].text in ("who", "which") and tokens[subject - 1].text == ","
    if span is None or clause is None or clause.end != span.end or not opens or span.start != index + 1:
        return {}
    framed = parse.word_at(span.end) in (",", ".") and tokens[verb.head].pos == "PROPN" and verb.head == index - 3
    return {index - 1: "", index: ""} if framed and tokens[span.start].tag == "DT" else {}


def _lengthened(parse: Text, index: int) -> Changes:
    """Ana, a nurse, lives here: Ana, who is a nurse, lives here. In the present tense alone."""
    tokens, noun = parse.tokens, parse.tokens[index]
    head = tokens[noun.head]
    span = parse.subtree(index)
    if noun.dep != "appos" or noun.tag != "NN" or head.pos != "PROPN" or span is None:
        return {}
    framed = tokens[span.start - 1].text == "," and noun.head == span.start - 2 and parse.word_at(span.end) == ","
    verb = tokens[head.head]
    present = head.dep in ("nsubj", "nsubjpass") and (verb.tag in ("VBZ", "VBP") or any(
        t.tag in ("VBZ", "MD", "VBP") for t in parse.children(head.head) if t.dep in ("aux", "auxpass")))  # fmt: skip
    article = tokens[span.start].text.lower() in ("a", "an", "the")
    person = noun.text.lower() in lexicon.people()
    place = head.entity == "GPE" and noun.text.lower() in ("capital", "city", "town", "village", "port")
    if not (framed and present and article and (person or place)):
        return {}
    return {span.start: f"{'who' if person else 'which'} is {tokens[span.start].text}"}


# --- captions ---


@dataclass(frozen=True)
class CaptionForm(edit.WordEdit):
    """A caption in another of the usual forms: A dog runs; A dog is running; There is a dog running."""

    name = "caption-form"
    criterion = "invariance"
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        return super().apply(record, rng) if record.task == "image-captioning" else None

    def changes(self, parse: Text, rng: Random) -> Changes:
        return _per_sentence(parse, lambda text, sentence: _without_there(text, sentence) or _other_tense(text, sentence))


def _without_there(parse: Text, sentence: Span) -> Changes:
    """There is a dog running: A dog is running."""
    tokens, start = parse.tokens, sentence.start
    words = [parse.word_at(start), parse.word_at(start + 1)]
    if words[0] != "there" or words[1] not in ("is", "are") or sentence.end - start < 5:
        return {}
    noun = _child(parse, start + 1, "attr")
    verb = _child(parse, noun, "acl") if noun is not None else None
    if noun is None or verb is None or tokens[verb].tag != "VBG" or _is_plural(parse, noun) != (words[1] == "are"):
        return {}
    phrase = Span(start + 2, verb)
    whole = all(start + 2 <= t.head < verb or i == noun for i, t in enumerate(tokens[start + 2 : verb], start + 2))
    if not whole or any(not edit.is_word(t) for t in tokens[phrase.start : phrase.end]):
        return {}
    return {start: "", start + 1: "", verb: f"{words[1]} {tokens[verb].text}"}


def _other_tense(parse: Text, sentence: Span) -> Changes:
    """A dog runs and jumps: A dog is running and jumping; and back; a dog running: a dog is running."""
    tokens, root = parse.tokens, parse.root_of(sentence)
    if root is None or not _is_plain(parse, sentence, marks=",-'’"):
        return {}
    if tokens[root].pos == "NOUN":
        return _fragment_to_sentence(parse, sentence, root)
    subject = _child(parse, root, "nsubj")
    if subject is None or tokens[subject].pos not in ("NOUN", "PRON") or tokens[subject].head != root:
        return {}
    verbs = [root, *(i for i, t in enumerate(tokens) if t.dep == "conj" and t.head == root and t.pos == "VERB")]
    lemmas = [edit.lemma_of(tokens[verb].text, "verb") for verb in verbs]
    if set(lemmas) & listed("stative") or any(t.dep in ("neg", "nsubjpass") for t in parse.children(root)):
        return {}
    return _to_simple(parse, verbs, lemmas, subject) or _to_progressive(parse, verbs, lemmas, subject)


def _to_simple(parse: Text, verbs: list[int], lemmas: list[str], subject: int) -> Changes:
    tokens, root = parse.tokens, verbs[0]
    helpers = [i for i, t in enumerate(tokens) if t.dep == "aux" and t.head in verbs]
    if len(helpers) != 1 or tokens[helpers[0]].text not in ("is", "are") or not subject < helpers[0] < root:
        return {}
    if any(tokens[verb].tag != "VBG" for verb in verbs) or lemmas[0] == "go":
        return {}
    tag = "VBZ" if tokens[helpers[0]].text == "is" else "VBP"
    forms = {verb: edit.inflect(lemma, tag) for verb, lemma in zip(verbs, lemmas, strict=True)}
    certain = {verb: form for verb, form in forms.items() if form}
    return {helpers[0]: "", **certain} if len(certain) == len(verbs) else {}


def _to_progressive(parse: Text, verbs: list[int], lemmas: list[str], subject: int) -> Changes:
    tokens, root = parse.tokens, verbs[0]
    if any(tokens[verb].tag not in ("VBZ", "VBP") or tokens[verb - 1].dep == "advmod" for verb in verbs):
        return {}
    if not subject < root:
        return {}
    if any(t.dep in ("aux", "auxpass", "mark", "ccomp", "xcomp") for verb in verbs for t in parse.children(verb)):
        return {}
    be = "is" if tokens[root].tag == "VBZ" else "are"
    forms = {verb: edit.inflect(lemma, "VBG") for verb, lemma in zip(verbs, lemmas, strict=True)}
    certain = {verb: form for verb, form in forms.items() if form}
    return certain | {root: f"{be} {certain[root]}"} if len(certain) == len(verbs) else {}


def _fragment_to_sentence(parse: Text, sentence: Span, noun: int) -> Changes:
    """A dog running on grass: A dog is running on grass."""
    verb = _child(parse, noun, "acl")
    if verb is None or parse.tokens[verb].tag != "VBG" or parse.word_at(sentence.start) in ("there", "this", "it"):
        return {}
    others = [t for t in parse.children(noun) if t.dep in ("conj", "cc", "relcl", "appos")]
    finite = any(t.tag in edit.FINITE_TAGS for t in parse.tokens[sentence.start : sentence.end])
    lemma = edit.lemma_of(parse.tokens[verb].text, "verb")
    before = parse.tokens[verb - 1]
    if others or finite or before.text == "," or lemma in listed("stative") or not edit.is_word(before):
        return {}
    counted = parse.tokens[sentence.start].tag in ("DT", "CD") or parse.tokens[noun].tag == "NNS"
    be = "are" if _is_plural(parse, noun) else "is"
    return {verb: f"{be} {parse.tokens[verb].text}"} if counted and verb - noun < 6 else {}


@edit.template("in-or-wearing", "invariance", expect="same")
def InOrWearing(parse: Text, rng: Random) -> Changes:
    """Someone in a red shirt, someone wearing a red shirt."""
    changes: dict[int, str] = {}
    for index, token in enumerate(parse.tokens):
        person = parse.tokens[token.head].text.lower() in listed("wearers")
        garment = _child(parse, index, "pobj", "dobj")
        close = person and index == token.head + 1
        if garment is None or not close or not _is_garment(parse, index, garment):
            continue
        if token.text == "in" and token.dep == "prep":
            changes[index] = "wearing"
        elif token.text == "wearing" and token.dep == "acl":
            changes[index] = "in"
    return changes


def _is_garment(parse: Text, index: int, noun: int) -> bool:
    """A single garment with an article or adjective: no list of things worn, no clause behind it."""
    token: Token = parse.tokens[noun]
    span = parse.subtree(noun)
    clothes = edit.lemma_of(token.text, "noun") in listed("clothes") or token.text.lower() in listed("clothes")
    plain = span is not None and span.start == index + 1 and span.end <= noun + 1
    return clothes and plain and (token.tag == "NNS" or span is not None and span.end - span.start > 1)
