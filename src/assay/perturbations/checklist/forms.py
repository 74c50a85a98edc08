"""Invariances of form: questions and captions asked and written in another usual way."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from assay.core import Record
from assay.models.nlp import Span, Token
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

# --- questions ---

_FRONTING = ("during", "after", "before", "in", "at")


@edit.template("question-form", "invariance", expect="same")
def QuestionForm(parse: Text, rng: Random) -> Changes:
    """A question asked in another form: How much are the apples, how much do the apples cost."""
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
    start, end = sentence.start, words_end(parse, sentence)
    opening = _opening(parse, sentence, 3)
    if opening[:2] != ["how", "much"] or opening[2] not in ("is", "are") or parse.tokens[end].text != "?":
        return {}
    rest = parse.tokens[start + 3 : end]
    plain = rest and all(
        t.pos in ("DET", "NOUN", "ADJ", "PRON", "PROPN", "ADP") and t.text != "it" for t in rest
    )
    if not plain or listed("prices") & {t.text.lower() for t in rest} or end + 1 < sentence.end:
        return {}
    return {start + 2: "does" if opening[2] == "is" else "do", end - 1: f"{parse.tokens[end - 1].text} cost"}


def _please_last(parse: Text, sentence: Span) -> Changes:
    """Could you please help me: Could you help me, please."""
    opening, end = _opening(parse, sentence, 3), words_end(parse, sentence)
    asks = opening[0] in ("could", "can", "would", "will", "may") and opening[1] in ("you", "i", "we")
    alone = not any(t.text in (",", "and", "?") for t in parse.tokens[sentence.start : end])
    if not asks or opening[2] != "please" or not alone or end - sentence.start < 5:
        return {}
    return {sentence.start + 2: "", end - 1: f"{parse.tokens[end - 1].text}, please"}


def _for_how_long(parse: Text, sentence: Span) -> Changes:
    """How long did she train: For how long did she train."""
    opening = _opening(parse, sentence, 3)
    root = parse.root_of(sentence)
    if opening[:2] != ["how", "long"] or opening[2] not in (
        "did",
        "has",
        "have",
        "had",
        "will",
        "can",
        "must",
    ):
        return {}
    spends = root is not None and edit.lemma_of(parse.tokens[root].text, "verb") in (
        "take",
        "last",
        "spend",
        "be",
    )
    return {} if spends or root is None else {sentence.start: "For how"}


def _passive_question(parse: Text, sentence: Span) -> Changes:
    """Where did the crew find the letter: Where was the letter found by the crew."""
    root, end = parse.root_of(sentence), words_end(parse, sentence)
    opening = _opening(parse, sentence, 2)
    if root is None or opening[0] not in ("when", "where", "why", "how") or opening[1] != "did":
        return {}
    subject_head, thing_head = (child(parse, root, dep) for dep in ("nsubj", "dobj"))
    if subject_head is None or thing_head is None:
        return {}
    subject, thing = full_phrase(parse, subject_head), full_phrase(parse, thing_head)
    lemma = edit.lemma_of(parse.tokens[root].text, "verb")
    participle = edit.inflect(lemma, "VBN")
    deps = {t.dep for t in parse.children(root)}
    if subject is None or thing is None or participle is None or lemma not in listed("passive_verbs"):
        return {}
    tidy = subject.start == sentence.start + 2 and subject.end == root == thing.start - 1
    if (
        not tidy
        or deps & (COMPLEMENTS - {"aux"})
        or any(t.pos in ("VERB", "PRON") for t in parse.tokens[thing.end : end])
    ):
        return {}
    be = "were" if is_plural(parse, thing_head) else "was"
    pieces = [
        parse.tokens[sentence.start].text,
        be,
        parse.piece(thing),
        f"{participle} by",
        parse.piece(subject),
    ]
    return moved(parse, sentence, [*pieces, piece(parse, thing.end, end)])


def _adjunct_first(parse: Text, sentence: Span) -> Changes:
    """What landed there during the match: During the match, what landed there."""
    root, end = parse.root_of(sentence), words_end(parse, sentence)
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
        timed = token.text in ("during", "after", "before") or any(
            t.entity in ("DATE", "EVENT") for t in inside
        )
        before = parse.tokens[index - 1]
        plain = (
            timed
            and not any(t.pos in ("PRON", "VERB") or t.text == "," for t in inside)
            and before.text != ","
        )
        if plain and first.text.lower() != "when":
            return moved(
                parse, sentence, [f"{parse.piece(span)},", piece(parse, sentence.start, index, opens=True)]
            )
    return {}


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
        return per_sentence(
            parse, lambda text, sentence: _without_there(text, sentence) or _other_tense(text, sentence)
        )


def _without_there(parse: Text, sentence: Span) -> Changes:
    """There is a dog running: A dog is running."""
    tokens, start = parse.tokens, sentence.start
    words = [parse.word_at(start), parse.word_at(start + 1)]
    if words[0] != "there" or words[1] not in ("is", "are") or sentence.end - start < 5:
        return {}
    noun = child(parse, start + 1, "attr")
    verb = child(parse, noun, "acl") if noun is not None else None
    if (
        noun is None
        or verb is None
        or tokens[verb].tag != "VBG"
        or is_plural(parse, noun) != (words[1] == "are")
    ):
        return {}
    phrase = Span(start + 2, verb)
    whole = all(
        start + 2 <= t.head < verb or i == noun for i, t in enumerate(tokens[start + 2 : verb], start + 2)
    )
    if not whole or any(not edit.is_word(t) for t in tokens[phrase.start : phrase.end]):
        return {}
    return {start: "", start + 1: "", verb: f"{words[1]} {tokens[verb].text}"}


def _other_tense(parse: Text, sentence: Span) -> Changes:
    """A dog runs and jumps: A dog is running and jumping; and back; a dog running: a dog is running."""
    tokens, root = parse.tokens, parse.root_of(sentence)
    if root is None or not is_plain(parse, sentence, marks=",-'’"):
        return {}
    if tokens[root].pos == "NOUN":
        return _fragment_to_sentence(parse, sentence, root)
    subject = child(parse, root, "nsubj")
    if subject is None or tokens[subject].pos not in ("NOUN", "PRON") or tokens[subject].head != root:
        return {}
    verbs = [
        root,
        *(i for i, t in enumerate(tokens) if t.dep == "conj" and t.head == root and t.pos == "VERB"),
    ]
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
    if any(
        t.dep in ("aux", "auxpass", "mark", "ccomp", "xcomp") for verb in verbs for t in parse.children(verb)
    ):
        return {}
    be = "is" if tokens[root].tag == "VBZ" else "are"
    forms = {verb: edit.inflect(lemma, "VBG") for verb, lemma in zip(verbs, lemmas, strict=True)}
    certain = {verb: form for verb, form in forms.items() if form}
    return certain | {root: f"{be} {certain[root]}"} if len(certain) == len(verbs) else {}


def _fragment_to_sentence(parse: Text, sentence: Span, noun: int) -> Changes:
    """A dog running on grass: A dog is running on grass."""
    verb = child(parse, noun, "acl")
    if (
        verb is None
        or parse.tokens[verb].tag != "VBG"
        or parse.word_at(sentence.start) in ("there", "this", "it")
    ):
        return {}
    others = [t for t in parse.children(noun) if t.dep in ("conj", "cc", "relcl", "appos")]
    # "goggles snowboards": a verb taken for a noun
    misread = any(t.dep == "compound" and t.tag == "NNS" for t in parse.tokens[verb : sentence.end])
    finite = misread or any(t.tag in edit.FINITE_TAGS for t in parse.tokens[sentence.start : sentence.end])
    lemma = edit.lemma_of(parse.tokens[verb].text, "verb")
    before = parse.tokens[verb - 1]
    if others or finite or before.text == "," or lemma in listed("stative") or not edit.is_word(before):
        return {}
    counted = parse.tokens[sentence.start].tag in ("DT", "CD") or parse.tokens[noun].tag == "NNS"
    be = "are" if is_plural(parse, noun) else "is"
    return {verb: f"{be} {parse.tokens[verb].text}"} if counted and verb - noun < 6 else {}


@edit.template("in-or-wearing", "invariance", expect="same")
def InOrWearing(parse: Text, rng: Random) -> Changes:
    """Someone in a red shirt, someone wearing a red shirt."""
    changes: dict[int, str] = {}
    for index, token in enumerate(parse.tokens):
        person = parse.tokens[token.head].text.lower() in listed("wearers")
        garment = child(parse, index, "pobj", "dobj")
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
    clothes = edit.lemma_of(token.text, "noun") in listed("clothes") or token.text.lower() in listed(
        "clothes"
    )
    plain = span is not None and span.start == index + 1 and span.end <= noun + 1
    return clothes and plain and (token.tag == "NNS" or (span is not None and span.end - span.start > 1))
