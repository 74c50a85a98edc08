"""Invariances of grammar: a parsed text to one that says the same in another construction.

Active and passive, the order of clauses and of equal parts, "that" put in or left out, and appositions. Each
template changes at most one place per sentence and leaves doubtful ones alone.
"""

from __future__ import annotations

from random import Random

from assay.datasets import lexicon
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.clauses import (
    COMPLEMENTS,
    Changes,
    child,
    full_phrase,
    is_plain,
    is_plural,
    moved,
    per_sentence,
    piece,
    words_end,
)
from assay.perturbations.checklist.frames import listed
from assay.perturbations.edit import Text

_THIRD_PERSON = frozenset(
    ["he", "she", "it", "they", "him", "her", "them", "his", "its", "their", "hers", "theirs", "this", "that",
     "himself", "herself", "itself", "themselves", "one", "so", "these", "those"]
)  # fmt: skip
_STATES = frozenset(["situate", "locate", "dress", "surround", "cover"])  # participles of a lasting state
_QUOTES = ('"', "“", "”", "'", "‘", "’", "``", "''")


# --- active and passive ---


@edit.template("active-passive", "invariance", expect="same")
def ActivePassive(parse: Text, rng: Random) -> Changes:
    """A plain transitive clause becomes passive, or a passive one with its agent active."""
    return per_sentence(parse, lambda text, span: _activated(text, span) or _passivised(text, span))


def _passivised(parse: Text, sentence: Span) -> Changes:
    """The committee approved the plan (on Monday): The plan was approved by the committee."""
    root = parse.root_of(sentence)
    subject_head, thing_head = (child(parse, root or 0, dep) for dep in ("nsubj", "dobj"))
    if (
        root is None
        or subject_head is None
        or thing_head is None
        or not _is_bare_clause(parse, sentence, root)
    ):
        return {}
    subject, thing = full_phrase(parse, subject_head), full_phrase(parse, thing_head)
    verb = parse.tokens[root]
    lemma = edit.lemma_of(verb.text, "verb")
    participle = edit.inflect(lemma, "VBN")
    if subject is None or thing is None or participle is None or lemma not in listed("passive_verbs"):
        return {}
    if not subject.end == root == thing.start - 1 or verb.tag not in ("VBD", "VBZ", "VBP"):
        return {}
    if not _is_loose_end(parse, thing.end, sentence):
        return {}
    plural = is_plural(parse, thing_head)
    be = ("were" if plural else "was") if verb.tag == "VBD" else ("are" if plural else "is")
    pieces = [
        piece(parse, sentence.start, subject.start),
        piece(parse, thing.start, thing.end),
        f"{be} {participle} by",
        piece(parse, subject.start, subject.end, opens=subject.start == sentence.start),
        piece(parse, thing.end, words_end(parse, sentence)),
    ]
    return moved(parse, sentence, pieces)


def _activated(parse: Text, sentence: Span) -> Changes:
    """The plan was approved by the committee: The committee approved the plan."""
    root = parse.root_of(sentence)
    subject_head, agent, be = (child(parse, root or 0, dep) for dep in ("nsubjpass", "agent", "auxpass"))
    actor = child(parse, agent, "pobj") if agent is not None else None
    if root is None or subject_head is None or actor is None or be is None or agent != root + 1:
        return {}
    subject, phrase = full_phrase(parse, subject_head), full_phrase(parse, actor)
    auxiliary = parse.tokens[be].text.lower()
    if subject is None or phrase is None or not _is_bare_clause(parse, sentence, root):
        return {}
    tidy = subject.end == be and root in (be + 1, be + 2) and phrase.start == agent + 1
    if (
        not tidy
        or auxiliary not in ("was", "were", "is", "are")
        or parse.word_at(be + 1) in ("being", "been", "n't")
    ):
        return {}
    tag = "VBD" if auxiliary in ("was", "were") else "VBP" if is_plural(parse, actor) else "VBZ"
    form = edit.inflect(edit.lemma_of(parse.tokens[root].text, "verb"), tag)
    if form is None or not _is_loose_end(parse, phrase.end, sentence):
        return {}
    pieces = [
        piece(parse, sentence.start, subject.start),
        piece(parse, phrase.start, phrase.end),
        piece(parse, be + 1, root),
        form,
        piece(parse, subject.start, subject.end, opens=subject.start == sentence.start),
        piece(parse, phrase.end, words_end(parse, sentence)),
    ]
    return moved(parse, sentence, pieces)


def _is_bare_clause(parse: Text, sentence: Span, root: int) -> bool:
    """Whether a sentence is one plain clause: no auxiliary, no second verb, no other complement."""
    verb = parse.tokens[root].pos == "VERB" and not {t.dep for t in parse.children(root)} & COMPLEMENTS
    return verb and is_plain(parse, sentence, marks=",-'’")


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
    """A clause or date moves to the other end of its sentence: When it rains, we read; We read when..."""
    return per_sentence(parse, lambda text, sentence: _fronted(text, sentence) or _postponed(text, sentence))


def _adverbial(parse: Text, root: int, sentence: Span, *, opening: bool) -> Span | None:
    """The clause with a movable conjunction, or the date, that opens or closes a sentence."""
    for index in range(sentence.start, sentence.end):
        token = parse.tokens[index]
        if token.head != root or token.dep not in ("advcl", "prep"):
            continue
        span = parse.subtree(index)
        at_edge = span is not None and (
            span.start == sentence.start if opening else span.end == words_end(parse, sentence)
        )
        if span is not None and at_edge and _is_movable(parse, span, index):
            return span
    return None


def _is_movable(parse: Text, span: Span, head: int) -> bool:
    first, inside = parse.tokens[span.start], parse.tokens[span.start : span.end]
    if parse.tokens[head].dep == "prep":
        dated = all(t.entity == "DATE" or t.pos == "DET" for t in inside[1:])
        certain = any(t.text[:1].isupper() or (len(t.text) == 4 and t.text.isdigit()) for t in inside[1:])
        return dated and certain and first.text.lower() in ("in", "on") and 2 <= len(inside) <= 5
    subject = any(t.dep in ("nsubj", "nsubjpass", "expl") for t in parse.children(head))
    conjunction = first.text.lower() in listed("movable_clauses") and first.dep in ("mark", "advmod")
    return conjunction and subject and 3 <= len(inside) <= 12 and not any(t.text == "," for t in inside)


def _is_single_clause(parse: Text, start: int, end: int, root: int) -> bool:
    """Whether the main clause has one verb, so that nothing else could take the adverbial."""
    verbs = [i for i in range(start, end) if parse.tokens[i].pos == "VERB" and i != root]
    joined = any(t.dep in ("conj", "ccomp") and t.head == root for t in parse.tokens)
    subject = any(t.dep in ("nsubj", "nsubjpass", "expl") for t in parse.children(root))
    odd = any(
        t.text.lower() in (",", "however", "also", "only", "just", "then") for t in parse.tokens[start:end]
    )
    return not verbs and not joined and subject and not odd


def _refers(parse: Text, span_start: int, span_end: int) -> bool:
    return any(t.text.lower() in _THIRD_PERSON for t in parse.tokens[span_start:span_end])


def _names(parse: Text, start: int, end: int) -> bool:
    return any(t.pos in ("NOUN", "PROPN") for t in parse.tokens[start:end])


def _postponed(parse: Text, sentence: Span) -> Changes:
    """When X, Y: Y when X."""
    root = parse.root_of(sentence)
    if root is None or not is_plain(parse, sentence):
        return {}
    end = words_end(parse, sentence)
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
    if parse.word_at(end - 1) in ("too", "then", "ago") or any(
        t.entity == "DATE" for t in parse.tokens[main:end]
    ):
        return {}
    last = piece(parse, span.start, span.end, opens=True)
    return moved(parse, sentence, [piece(parse, main, end), last])


def _fronted(parse: Text, sentence: Span) -> Changes:
    """Y when X: When X, Y."""
    root = parse.root_of(sentence)
    if root is None or not is_plain(parse, sentence):
        return {}
    span = _adverbial(parse, root, sentence, opening=False)
    if (
        span is None
        or span.start <= root
        or parse.tokens[span.start - 1].text in (",", "and", "just", "only", "even")
    ):
        return {}
    opening, subject = parse.tokens[sentence.start], child(parse, root, "nsubj", "nsubjpass", "expl")
    if subject is None or not _is_single_clause(parse, sentence.start, span.start, root):
        return {}
    phrase = parse.subtree(subject)
    first = phrase is not None and phrase.start == sentence.start
    clause = parse.tokens[span.start].dep != "prep"
    forwards = _refers(parse, span.start, span.end) and _names(parse, sentence.start, span.start)
    denied = any(t.dep == "neg" for t in parse.children(root))  # not because
    other = any(t.entity == "DATE" for t in parse.tokens[sentence.start : span.start])
    dated = not clause and (other or _last_is_noun(parse, span.start - 1) or parse.tokens[root].lemma == "be")
    if not first or forwards or denied or dated or opening.tag in edit.QUESTION_TAGS:
        return {}
    main = piece(parse, sentence.start, span.start, opens=True)
    return moved(parse, sentence, [f"{piece(parse, span.start, span.end)},", main])


def _last_is_noun(parse: Text, index: int) -> bool:
    """Whether a date stands behind a noun that it may belong to: the elections in 2019."""
    token = parse.tokens[index]
    return token.pos == "NOUN" and token.dep in ("dobj", "pobj", "attr", "nsubj")


@edit.template("conjunct-order", "invariance", expect="same")
def ConjunctOrder(parse: Text, rng: Random) -> Changes:
    """Two equal parts change places: a man and a woman, a woman and a man."""
    return per_sentence(parse, _swapped_conjuncts)


def _swapped_conjuncts(parse: Text, sentence: Span) -> Changes:
    tokens = parse.tokens
    for index in range(sentence.start + 1, sentence.end - 1):
        if tokens[index].text != "and" or tokens[index].dep != "cc":
            continue
        first, second = tokens[index].head, child(parse, tokens[index].head, "conj")
        if second is None or not first < index < second or tokens[first].dep == "conj":
            continue
        left, right = _conjunct(parse, first, index), _conjunct(parse, second, second + 1)
        if left is None or right is None or right.start != index + 1 or not _are_equal(parse, left, right):
            continue
        opens = left.start == sentence.start
        here = piece(parse, right.start, right.end)
        there = piece(parse, left.start, left.end, opens=opens)
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
    behind = [i for i in own if (i > head and i < end) or (i > head and tokens[i].dep != "punct")]
    plain = all(
        tokens[i].dep in ("det", "amod", "compound", "nummod") and not parse.children(i) for i in before
    )
    start = min([*before, head])
    whole = start + len(before) == head
    noun = tokens[head].tag in ("NN", "NNS")
    return Span(start, head + 1) if plain and whole and not behind and noun else None


def _are_equal(parse: Text, left: Span, right: Span) -> bool:
    """Both with an article or number, or both bare plurals; no fixed pair; nothing behind for one of them."""
    tokens = parse.tokens
    sides = [tokens[span.start : span.end] for span in (left, right)]
    determined = [side[0].tag in ("DT", "CD") for side in sides]
    bare = [len(side) == 1 and side[0].tag == "NNS" for side in sides]
    words = {t.text.lower() for side in sides for t in side}
    pronoun = tokens[left.start - 1].tag in ("PRP$", "DT", "JJ", "CD", "POS", "NN") if left.start else False
    follows = parse.word_at(right.end)
    owned = follows in (
        "in",
        "with",
        "of",
        "who",
        "that",
        "which",
        "for",
        "from",
        "and",
        "or",
        ",",
        "to",
        "on",
        "'s",
    )
    heads = {sides[0][-1].text.lower(), sides[1][-1].text.lower()}
    same_article = sides[0][0].text.lower() == "the" and sides[1][0].text.lower() != "the"
    return (
        (all(determined) or (all(bare) and not pronoun)) and len(heads) == 2
        and not words & listed("fixed_pairs") and not owned and not same_article
        and all(t.text.islower() for t in sides[0][1:])
    )  # fmt: skip


@edit.template("speech-order", "invariance", expect="same")
def SpeechOrder(parse: Text, rng: Random) -> Changes:
    """The speaker before or behind "said": said the owner, the owner said."""
    changes: dict[int, str] = {}
    for index, token in enumerate(parse.tokens):
        if token.text != "said" or index == 0 or parse.is_joined(index):
            continue
        subject = child(parse, index, "nsubj")
        span = full_phrase(parse, subject) if subject is not None else None
        if span is None:
            continue
        quoted = parse.tokens[index - 1].text in _QUOTES or parse.tokens[index - 1].text == ","
        before = parse.tokens[span.start - 1].text if span.start else ""
        if span.start == index + 1 and quoted and parse.word_at(span.end) in (".", ",", ""):
            changes |= edit.dropped([Span(index, span.end)]) | {index: f"{parse.piece(span)} said"}
        elif span.end == index and before in (*_QUOTES, ",") and parse.word_at(index + 1) in (".", ",", ""):
            changes |= edit.dropped([Span(span.start, index + 1)]) | {span.start: f"said {parse.piece(span)}"}
    return changes


# --- that ---


@edit.template("optional-that", "invariance", expect="same")
def OptionalThat(parse: Text, rng: Random) -> Changes:
    """An optional "that" put in or left out: I think (that) it works; the book (that) I read."""
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
    subject = child(parse, index, "nsubj", "nsubjpass", "expl")
    span = parse.subtree(subject) if subject is not None else None
    if (
        not (verb or adjective)
        or asked
        or span is None
        or (governor.text.lower() in ("say", "guess") and adjective)
    ):
        return {}
    mark = child(parse, index, "mark")
    at = clause.head + 1
    if verb and parse.tokens[at].tag == "PRP" and parse.tokens[at].dep in ("dative", "dobj"):
        at += 1  # told me that
    if mark is not None:
        bare = tokens[mark].text == "that" and mark == at and span.start == mark + 1
        bare = bare and span.end - span.start <= 3 and tokens[at - 1].tag != "VBG"
        return {mark: ""} if bare and tokens[span.start].text not in ("that", "this", "those") else {}
    speech = clause.head > 0 and tokens[clause.head - 1].text in (*_QUOTES, ",")  # ”, said the owner
    if (
        span.start != at
        or speech
        or tokens[at - 1].tag == "VBG"
        or tokens[span.start].text.lower() in ("that", "so", "what")
    ):
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
    subject = child(parse, index, "nsubj")
    if subject is None or tokens[subject].tag != "PRP":
        return {}
    before = tokens[subject - 1]
    objects = [t for t in parse.children(index) if t.dep in ("dobj", "ccomp")]
    if (
        before.text == "that"
        and before.tag == "WDT"
        and subject - 2 == verb.head
        and before.dep in ("dobj", "pobj")
    ):
        spoken = tokens[tokens[tokens[verb.head].head].head].lemma in listed(
            "speech_verbs"
        )  # told the board that
        return {subject - 1: ""} if all(t is before for t in objects) and not spoken else {}
    bare = subject - 1 == verb.head and not any(t.tag in edit.QUESTION_TAGS for t in parse.children(index))
    fits = tokens[verb.head].tag in ("NN", "NNS") and before.text.lower() not in (
        "way",
        "time",
        "reason",
        "day",
    )
    return {subject: f"that {tokens[subject].text}"} if bare and fits else {}


# --- appositions ---


@edit.template("apposition", "invariance", expect="same")
def Apposition(parse: Text, rng: Random) -> Changes:
    """An apposition becomes a relative clause, or the reverse: Ana, (who is) a nurse, lives here."""
    changes: dict[int, str] = {}
    for index in range(len(parse.tokens)):
        changes |= _shortened(parse, index) or _lengthened(parse, index)
    return changes


def _shortened(parse: Text, index: int) -> Changes:
    """Ana, who is a nurse, lives here: Ana, a nurse, lives here."""
    tokens, verb = parse.tokens, parse.tokens[index]
    attribute, subject = child(parse, index, "attr"), child(parse, index, "nsubj")
    if verb.dep != "relcl" or verb.lemma != "be" or attribute is None or subject != index - 1:
        return {}
    span, clause = parse.subtree(attribute), parse.subtree(index)
    opens = (
        subject is not None and tokens[subject].text in ("who", "which") and tokens[subject - 1].text == ","
    )
    if span is None or clause is None or clause.end != span.end or not opens or span.start != index + 1:
        return {}
    ends = parse.word_at(span.end) in (",", ".") and parse.word_at(span.end + 1) not in ("and", "or")
    framed = ends and tokens[verb.head].pos == "PROPN" and verb.head == index - 3
    return {index - 1: "", index: ""} if framed and tokens[span.start].tag == "DT" else {}


def _lengthened(parse: Text, index: int) -> Changes:
    """Ana, a nurse, lives here: Ana, who is a nurse, lives here. In the present tense alone."""
    tokens, noun = parse.tokens, parse.tokens[index]
    head = tokens[noun.head]
    span = parse.subtree(index)
    if noun.dep != "appos" or noun.tag != "NN" or head.pos != "PROPN" or span is None:
        return {}
    framed = (
        tokens[span.start - 1].text == "," and noun.head == span.start - 2 and parse.word_at(span.end) == ","
    )
    verb = tokens[head.head]
    tags = {verb.tag, *(t.tag for t in parse.children(head.head) if t.dep in ("aux", "auxpass"))}
    present = head.dep in ("nsubj", "nsubjpass") and bool(tags & {"VBZ", "VBP", "MD"})
    article = tokens[span.start].text.lower() in ("a", "an", "the")
    person = noun.text.lower() in lexicon.people()
    place = head.entity == "GPE" and noun.text.lower() in ("capital", "city", "town", "village", "port")
    if not (framed and present and article and (person or place)):
        return {}
    return {span.start: f"{'who' if person else 'which'} is {tokens[span.start].text}"}


# --- reduced relative clauses ---


@edit.template("reduced-relatives", "invariance", expect="same")
def ReducedRelatives(parse: Text, rng: Random) -> Changes:
    """A relative clause reduced to its participle, or the reverse: a bridge (that was) built by him."""
    changes: dict[int, str] = {}
    for index in range(1, len(parse.tokens)):
        changes |= _reduced(parse, index) or _unreduced(parse, index)
    return changes


def _reduced(parse: Text, index: int) -> Changes:
    """A bridge that was built by him: a bridge built by him."""
    verb, tokens = parse.tokens[index], parse.tokens
    if verb.dep != "relcl" or index < 3 or verb.tag not in ("VBN", "VBG"):
        return {}
    be, pronoun, noun = tokens[index - 1], tokens[index - 2], tokens[index - 3]
    helped = (
        be.text.lower() in ("is", "are", "was", "were") and be.head == index and be.dep in ("aux", "auxpass")
    )
    relative = (
        pronoun.text in ("that", "which", "who") and pronoun.tag in ("WDT", "WP") and pronoun.head == index
    )
    behind = verb.head == index - 3 and noun.pos == "NOUN"
    complete = index + 1 < len(tokens) and tokens[index + 1].pos in ("ADP", "DET", "NOUN", "PROPN")
    plain = not {t.dep for t in parse.children(index)} & {"neg", "conj", "xcomp", "ccomp", "oprd", "prt"}
    known = verb.tag == "VBG" or edit.lemma_of(verb.text, "verb") in listed("event_verbs")
    return (
        {index - 2: "", index - 1: ""}
        if helped and relative and behind and complete and plain and known
        else {}
    )


def _unreduced(parse: Text, index: int) -> Changes:
    """A bridge built by him: a bridge that was built by him. With an agent or a year, so that it is past."""
    verb, tokens = parse.tokens[index], parse.tokens
    noun = tokens[verb.head]
    if verb.dep != "acl" or verb.tag != "VBN" or verb.head != index - 1 or noun.tag not in ("NN", "NNS"):
        return {}
    follows = parse.tokens[index + 1 : index + 3]
    agent = bool(follows) and follows[0].text == "by" and "agent" in {t.dep for t in parse.children(index)}
    dated = (
        len(follows) == 2
        and follows[0].text == "in"
        and follows[1].text.isdigit()
        and len(follows[1].text) == 4
    )
    lemma = edit.lemma_of(verb.text, "verb")
    known = lemma in listed("event_verbs") and lemma not in _STATES and not parse.is_joined(index)
    quoted = any(t.text in _QUOTES for t in tokens[index - 1 : index + 3])
    if not (agent or dated) or not known or quoted:
        return {}
    lemma = edit.lemma_of(noun.text, "noun")
    pronoun = "who" if lemma in lexicon.people() or lexicon.gendered(lemma) or lemma == "people" else "that"
    return {index: f"{pronoun} {'were' if is_plural(parse, verb.head) else 'was'} {verb.text}"}
