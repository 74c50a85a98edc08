"""Structure templates: sentences and phrases repeated, reordered, added or left out (checklist, table 5)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, people, template_words, word_list
from assay.language import full_stop, join_words
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.edit import Text, WordEdit
from assay.perturbations.entities import PERSON, names
from assay.vocabulary import Criterion

_NOUNS = ("NN", "NNS", "NNP", "NNPS")
_TIMES = ("DATE", "TIME")
_MARKS = frozenset(",;:.!?…")
_POLITE = frozenset(["thank", "thanks", "welcome", "sorry", "bye"])
_BRACKETS = frozenset('()[]"“”')


# --- sentences ---


@dataclass(frozen=True)
class ReorderSentences(Perturbation):
    """The sentences in another order, first one that refers to an earlier sentence, which is then missed."""

    name = "reorder-sentences"
    criterion = "structure and coherence"

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        whole = _whole_sentences(parse)
        leaning = [i for i in range(1, len(whole)) if _leans(parse, whole[i])]
        if not leaning:
            return None
        rest = [parse.piece(span).strip() for span in whole]
        opening = rest.pop(rng.choice(leaning))
        rng.shuffle(rest)
        return " ".join([_ended(opening), *map(_ended, rest[:-1]), rest[-1]])


def _whole_sentences(parse: Text) -> list[Span]:
    """The sentences, each with what an opening without a full stop belongs to: READ: Falcao stays."""
    spans: list[Span] = []
    for span in parse.sentences:
        if spans and not re.search(r"[.!?…][\"'”’)\]]*$", parse.piece(spans[-1])):
            spans[-1] = Span(spans[-1].start, span.end)
        else:
            spans.append(span)
    return [span for span in spans if parse.word_indices(span)]


def _leans(parse: Text, sentence: Span) -> bool:
    """Whether a sentence refers to an earlier one, by its first words or by half of a name given before."""
    first = parse.first_word(sentence)
    if first is None or len(parse.word_indices(sentence)) < 2:
        return False
    token, word = parse.tokens[first], parse.word_at(first)
    if word in template_words("leaning_openings"):
        return not (word == "it" and parse.tokens[token.head].lemma in ("rain", "seem"))
    if word == "the":
        chunk = next((c for c in parse.chunks if c.start == first), None)
        head = None if chunk is None else parse.tokens[chunk.end - 1]
        earlier = {t.lemma.lower() for t in parse.tokens[: sentence.start] if t.pos == "NOUN"}
        common = head is not None and head.pos == "NOUN"
        return head is not None and common and (head.lemma in earlier or head.lemma in people())
    names_ = names(parse)
    mention = next((name for name in names_ if name.start == first), None)
    if mention is None or mention.end - mention.start > 1 or mention.label != PERSON:
        return False
    return any(n.end - n.start > 1 and n.end <= first and parse.word_at(n.end - 1) == word for n in names_)


@dataclass(frozen=True)
class RepeatSentences(Perturbation):
    """A share of the sentences is repeated at the end of the text."""

    name = "repeat-sentences"
    criterion = "non-redundancy"
    languages = None
    share: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        repeated = edit.draw_share(edit.sentences(record.gold, with_words=True), self.share, rng)
        return join_words([_ended(record.gold), *repeated], record.gold) if repeated else None


def _ended(text: str) -> str:
    """The text with a mark at its end, so that another sentence can follow."""
    text = text.rstrip()
    last = max((place for place, letter in enumerate(text) if letter.isalnum()), default=-1)
    return text if any(mark in text[last + 1 :] for mark in ".!?…。！？؟۔।") else text + full_stop(text)


@dataclass(frozen=True)
class AddText(Perturbation):
    """Wrong information added: a statement of another item, joined with "and" after a full stop."""

    name = "add-text"
    criterion = "adequacy"
    reads = "others"

    def apply(self, record: Record, rng: Random) -> str | None:
        extra = _other_statement(record, rng)
        if extra is None or not record.gold.strip():
            return None
        body, end = edit.body_and_end(record.gold.rstrip())
        parse = edit.read(extra)
        if end != "." or '"' in extra or _may_open_title(parse, 0):
            return f"{_ended(record.gold)} {extra}"
        return f"{body}, and {parse.uncapitalised(Span(0, len(parse.tokens)))}"


@dataclass(frozen=True)
class OffTopicSentence(Perturbation):
    """A sentence of another item among the text's own (ours: table 5 has no template for focus)."""

    name = "off-topic-sentence"
    criterion = "focus"
    reads = "others"

    def apply(self, record: Record, rng: Random) -> str | None:
        own, extra = edit.sentences(record.gold, with_words=True), _other_statement(record, rng)
        if extra is None or not own:
            return None
        at = rng.randrange(1, max(2, len(own)))
        own[at - 1] = _ended(own[at - 1])
        return " ".join([*own[:at], extra, *own[at:]])


def _other_statement(record: Record, rng: Random) -> str | None:
    """A statement of moderate length from another item of the corpus, or None."""
    others = edit.unrelated_texts(record)
    for other in rng.sample(others, min(len(others), 12)):
        fresh = [piece for piece in edit.sentences(other, with_words=True) if piece not in record.gold]
        statements = [sentence for sentence in fresh if _is_statement(sentence)]
        if statements:
            return rng.choice(statements)
    return None


def _is_statement(sentence: str) -> bool:
    """Whether a sentence is a statement of its own: not "And yet he came" nor "Careful, it's hot"."""
    if not 3 <= len(sentence.split()) <= 30 or not sentence.endswith("."):
        return False
    parse = edit.read(sentence)
    tokens, root = parse.tokens, parse.root_of(Span(0, len(parse.tokens))) or 0
    whole = any(t.dep in ("nsubj", "nsubjpass", "expl") for t in parse.children(root))
    continues = tokens[0].pos == "CCONJ" or tokens[0].text in ("So", "Then", "Yet", "Nor")
    calls = tokens[0].pos in ("ADJ", "INTJ") and tokens[1].text == ","
    return whole and not continues and not calls


@dataclass(frozen=True)
class RandomText(Perturbation):
    """The text of another item in place of this one."""

    name = "random-text"
    criterion = "relevance"
    reads = "others"
    languages = None

    def apply(self, record: Record, rng: Random) -> str | None:
        return edit.unrelated_text(record, rng)


@dataclass(frozen=True)
class AddNonsense(Perturbation):
    """A listed sentence without sense follows the text."""

    name = "add-nonsense"
    criterion = "making sense"

    def apply(self, record: Record, rng: Random) -> str | None:
        nonsense = rng.choice(word_list("checklist", "phrases", "nonsense"))
        return f"{_ended(record.gold)} {nonsense}" if record.gold.strip() else None


@edit.template("split-sentence", "text structure")
def SplitSentence(parse: Text, rng: Random, *, share: float = 0.5) -> Mapping[int, str]:
    """A full stop between subject and verb (ours: table 5 has no template for text structure)."""
    places = [place for s in parse.sentences if (place := _before_verb(parse, s)) is not None]
    changes: dict[int, str] = {}
    for place in edit.draw_share(places, share, rng):
        changes[place] = f"{parse.tokens[place].text}."
        changes[place + 1] = capitalised(parse.tokens[place + 1].text)
    return changes


def _before_verb(parse: Text, sentence: Span) -> int | None:
    """The last word before the main verb and its auxiliaries; None where the subject is not before them."""
    tokens, root = parse.tokens, parse.root_of(sentence)
    if root is None or tokens[root].pos not in ("VERB", "AUX"):
        return None
    dependents = [i for i in range(sentence.start, root) if tokens[i].head == root]
    verb = next((i for i in dependents if tokens[i].dep in ("aux", "auxpass")), root)
    subjects = [i for i in dependents if tokens[i].dep.startswith("nsubj")]
    before = verb - 1
    if not subjects or subjects[-1] > before or before < sentence.start:
        return None
    return before if edit.is_word(tokens[before]) and tokens[before].space else None


# --- phrases repeated ---


@edit.template("repeat-phrases", "avoiding repetition")
def RepeatPhrases(parse: Text, rng: Random, *, share: float = 0.5) -> Mapping[int, str]:
    """A noun phrase repeated at the end of a sentence: My relatives are in town, my relatives."""
    repeatable = [(s, phrases) for s in parse.sentences if (phrases := _noun_phrases(parse, s))]
    changes = {}
    for sentence, phrases in edit.draw_share(repeatable, share, rng):
        last = parse.word_indices(sentence)[-1]
        changes[last] = f"{parse.tokens[last].text}, {rng.choice(phrases)}"
    return changes


def _noun_phrases(parse: Text, sentence: Span) -> list[str]:
    """The noun phrases of a sentence, as written inside one; only the main subject, if it is one."""
    inside = [c for c in parse.chunks if sentence.start <= c.start and c.end <= sentence.end]
    independent = {c: parse.tokens[c.end - 1] for c in inside if _is_independent(parse, c)}
    subjects = [c for c, head in independent.items() if head.dep in ("nsubj", "nsubjpass")]
    main = [c for c in subjects if parse.tokens[independent[c].head].dep == "ROOT"]
    chosen = main or independent
    phrases = [parse.uncapitalised(c) if c.start == sentence.start else parse.piece(c) for c in chosen]
    return [phrase for phrase in phrases if not set(phrase) & set('"“”()[],;:')]


def _is_independent(parse: Text, chunk: Span) -> bool:
    """Whether a phrase names something by itself.

    Not the fact of "in fact", nor the front of "in front of"; no question, nothing that depends on its
    context (any chance), no misread clause (tourists queue).
    """
    tokens = parse.tokens[chunk.start : chunk.end]
    head = tokens[-1]
    bare = len(tokens) == 1 and head.tag == "NN"
    part = head.text.lower() in template_words("nouns_unfinished") or head.entity in _TIMES
    asks = any(token.tag in edit.QUESTION_TAGS for token in tokens)
    misread = any(token.tag == "NNS" and token.dep == "compound" for token in tokens)
    bound = asks or misread or tokens[0].text.lower() in ("any", "no", "such")
    excluded = bare or part or bound or _may_open_title(parse, chunk.start)
    return head.pos in ("NOUN", "PROPN") and edit.is_word(head) and not excluded


def _may_open_title(parse: Text, index: int) -> bool:
    """Whether "The" may belong to a title, which a small letter would spoil: The Salt Garden."""
    tokens = parse.tokens[index : index + 2]
    return tokens[0].text == "The" and len(tokens) > 1 and tokens[1].text[:1].isupper()


# --- phrases and modifiers left out ---


@dataclass(frozen=True)
class DropPhrases(WordEdit):
    """A share of the prepositional phrases, relative clauses, appositions and participles is left out."""

    name = "drop-phrases"
    criterion: ClassVar[Criterion] = "data coverage"
    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        return edit.dropped(within_half(parse, edit.draw_share(loose_phrases(parse), self.share, rng)))


@dataclass(frozen=True)
class DropObjects(DropPhrases):
    """Things left out with the words that introduce them: A small boy is playing (with a red ball).

    Table 5 drops the nouns alone ("A small playing with a red"), which breaks the grammar too, so that a
    metric's answer would not separate thoroughness from fluency.
    """

    name = "drop-objects"
    criterion: ClassVar[Criterion] = "thoroughness"
    share: float = 1.0


@edit.template("drop-modifiers", "informativeness")
def DropModifiers(parse: Text, rng: Random) -> Mapping[int, str]:
    """Adjectives and adverbs of manner left out: the sign, not the no-parking sign."""
    return edit.dropped(i for i in range(len(parse.tokens)) if _is_loose_modifier(parse, i))


@dataclass(frozen=True)
class DropDetails(Perturbation):
    """Only the first full statement left, without loose phrases and modifiers (ours, for interestingness)."""

    name = "drop-details"
    criterion = "interestingness"

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        first = next((span for span in parse.sentences if is_substantial(parse, span)), None)
        if first is None:
            return None
        places: list[int | Span] = [span for span in parse.sentences if span != first]
        places += [
            span for span in loose_phrases(parse) if first.start <= span.start and span.end <= first.end
        ]
        places += [i for i in range(first.start, first.end) if _is_loose_modifier(parse, i)]
        return edit.rewrite(parse, edit.dropped(places)).strip() if places else None


def is_substantial(parse: Text, sentence: Span) -> bool:
    """Whether a sentence says something by itself: no question, not "Okay!" nor "You're welcome."."""
    root = parse.root_of(sentence)
    if root is None or len(parse.word_indices(sentence)) < 4 or "?" in parse.piece(sentence):
        return False
    polite = {t.lemma.lower() for t in parse.tokens[sentence.start : sentence.end]} & _POLITE
    stated = any(token.dep in ("nsubj", "nsubjpass", "expl") for token in parse.children(root))
    return parse.tokens[root].pos in ("VERB", "AUX") and stated and not polite


def _is_loose_modifier(parse: Text, index: int) -> bool:
    """Whether a token is a plain adjective before its noun, or an adverb in -ly by its verb."""
    token = parse.tokens[index]
    if parse.is_joined(index) or any(t.head == index for t in parse.tokens) or token.entity:
        return False
    if token.text.lower() in template_words("modifiers_needed"):
        return False
    manner = token.dep == "advmod" and token.pos == "ADV" and token.text.endswith("ly")
    return _is_adjective(parse, index) or (manner and parse.tokens[token.head].pos == "VERB")


def _is_adjective(parse: Text, index: int) -> bool:
    token, noun = parse.tokens[index], parse.tokens[parse.tokens[index].head]
    if token.dep != "amod" or noun.pos != "NOUN" or index > token.head or token.tag in ("JJS", "JJR"):
        return False
    if not all(edit.is_word(t) and t.dep != "cc" for t in parse.tokens[max(0, index - 1) : index + 2]):
        return False  # one in a row of them: black, cream and red
    if noun.lemma.lower() in template_words("nouns_needing_modifier"):
        return False
    if token.pos == "ADJ":
        return "ADJ" in edit.known_classes(token.text)
    return token.pos == "VERB" and index > 0 and parse.tokens[index - 1].pos in ("DET", "ADJ")


# --- which phrases a sentence can lose, by the parse; cautious where the parse may be wrong ---


def loose_phrases(parse: Text) -> list[Span]:
    """The phrases a text can lose, in order and without overlap, with the commas that go with them."""
    phrases = [_loose_phrase(parse, index) for index in range(len(parse.tokens))]
    spans = [span for span in phrases if span and within_half(parse, [span])]
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start - span.end):  # the longest first
        if all(span.end <= other.start or other.end <= span.start for other in chosen):
            chosen.append(span)
    return sorted(chosen, key=lambda span: span.start)


def within_half(parse: Text, spans: Sequence[Span]) -> list[Span]:
    """As many of the spans, from the first on, as leave every sentence half of its words."""
    lost: dict[int, int] = {}
    chosen = []
    for span in spans:
        sentence = parse.sentence_of(span.start)
        more = lost.get(sentence.start, 0) + len(parse.word_indices(span))
        if more <= len(parse.word_indices(sentence)) / 2:
            lost[sentence.start] = more
            chosen.append(span)
    return chosen


def _loose_phrase(parse: Text, index: int) -> Span | None:
    """The phrase that a token heads, if its sentence can lose it."""
    token = parse.tokens[index]
    if token.dep not in ("prep", "relcl", "appos", "acl"):
        return None
    whole = parse.subtree(index)
    words = parse.word_indices(whole) if whole else []
    if not words or words[-1] == words[0]:
        return None
    span = Span(words[0], words[-1] + 1)  # marks at either end belong to the sentence
    if not _is_separate(parse, index, span):
        return None
    on_noun = parse.tokens[token.head].tag in _NOUNS
    if token.dep == "prep":
        on_it = _is_loose_on_noun(parse, index) if on_noun else _is_loose_on_verb(parse, index, span)
        loose = on_it and _is_complete(parse, index)
    else:
        loose = on_noun and _is_loose_clause(parse, index, span)
    return _with_commas(parse, index, span) if loose else None


def _is_separate(parse: Text, index: int, span: Span) -> bool:
    """Whether the neighbours surely do not belong to the phrase, whatever the parse says."""
    sentence, inside = parse.sentence_of(span.start), parse.tokens[span.start : span.end]
    if span.end > sentence.end or parse.word_at(span.start - 1) in template_words("phrase_bound_before"):
        return False
    if any(t.text in _BRACKETS for t in inside):
        return False
    if span.end == sentence.end:
        return True
    token, after = parse.tokens[index], parse.tokens[span.end]
    if not edit.is_word(after):
        return after.text in _MARKS
    if after.pos in ("AUX", "VERB"):  # its subject may be in the phrase
        listed = any(t.text == "," or t.dep == "cc" for t in inside)
        return parse.tokens[token.head].tag in _NOUNS and not listed and after.tag in edit.FINITE_TAGS
    second = parse.tokens[span.end + 1].tag if after.pos == "CCONJ" and span.end + 1 < sentence.end else ""
    if second in ("JJ", "NN", "NNS", "PRP$", "CD"):
        return False  # in a leather jacket and striped shirt
    if after.pos == "ADP" and token.dep == "prep" and token.head == index - 1:
        return False  # a man with a baby in a sling
    bound = after.text.lower() in template_words("phrase_bound_behind")
    return after.pos in ("CCONJ", "ADP", "SCONJ") and not bound


def _is_complete(parse: Text, index: int) -> bool:
    """Whether a preposition has its noun after it and no twin beside it (from July to October)."""
    token = parse.tokens[index]
    twins = {t.text.lower() for t in parse.children(token.head) if t.dep == "prep"}
    objects = [t for t in parse.children(index) if t.dep == "pobj" and t.start > token.start]
    return len(objects) == 1 and objects[0].tag not in ("WDT", "WP", "PRP") and not {"from", "to"} <= twins


def _is_loose_on_noun(parse: Text, index: int) -> bool:
    """The roof (of the shed), a pensioner (from Halle): the noun is clear without the phrase."""
    token = parse.tokens[index]
    noun, on_noun, of = parse.tokens[token.head], parse.children(token.head), token.text.lower() == "of"
    if token.head != index - 1 or noun.lemma.lower() in template_words("nouns_unfinished"):
        return False
    if of and (noun.tag != "NN" or noun.entity or noun.dep in ("attr", "pobj", "appos", "conj")):
        return False
    unfinished = template_words("determiners_unfinished")
    selects = any(t.lemma.lower() in unfinished or t.tag in ("JJS", "RBS") for t in on_noun)
    described = any(t.dep in ("det", "poss", "compound", "amod", "nummod") for t in on_noun)
    known = token.text.lower() in template_words("noun_prepositions")
    return known and not selects and (described or noun.tag in ("NNS", "NNP", "NNPS"))


def _is_loose_on_verb(parse: Text, index: int, span: Span) -> bool:
    """He sees people (in the morning), it was sold by her (in 1934): where and when."""
    token = parse.tokens[index]
    verb, on_verb = parse.tokens[token.head], parse.children(token.head)
    unfinished = verb.lemma in template_words("verbs_unfinished")
    if verb.pos != "VERB" or verb.dep in ("acl", "amod", "pcomp") or unfinished:
        return False
    if token.text.lower() not in template_words("verb_prepositions"):
        return False
    if span.start == parse.sentence_of(index).start:
        return parse.word_at(span.end) == ","
    others = {t.dep for t in on_verb if t is not token}
    last = all(t.start <= token.start for t in on_verb if t.dep == "prep")
    if not last or others & {"neg", "prt", "acomp", "oprd"} or token.head > index:
        return False
    if "nsubjpass" in others:
        return bool(others & {"dobj", "agent", "prep", "advmod"})
    return "dobj" in others or any(t.entity in _TIMES for t in parse.tokens[span.start : span.end])


def _is_loose_clause(parse: Text, index: int, span: Span) -> bool:
    """Whether a relative clause, apposition or participle only adds to a noun that is clear without it."""
    token = parse.tokens[index]
    noun, on_noun = parse.tokens[token.head], parse.children(token.head)
    between = parse.tokens[token.head + 1 : span.start]
    commas = parse.word_at(span.start - 1) == ","
    if [t.text for t in between] not in ([], [","]) or any(t.dep in ("conj", "cc") for t in on_noun):
        return False
    closed = parse.word_at(span.end) in ("", *_MARKS)
    first = parse.tokens[span.start]
    if token.dep == "appos":
        listed = any(t.text == "," for t in parse.tokens[span.start : span.end])
        listed |= sum(t.dep == "appos" for t in on_noun) > 1
        return commas and closed and not listed and first.pos != "ADV"
    if token.dep == "relcl" and first.tag not in edit.QUESTION_TAGS:
        return False
    if token.dep == "acl" and (index != span.start or token.tag not in ("VBN", "VBG")):
        return False
    if commas:
        return closed
    cleft = any(t.head == noun.head and t.text.lower() == "it" for t in parse.tokens)  # it was a carrot that
    vague = cleft or noun.lemma.lower() in template_words("nouns_unfinished")
    new = any(t.dep in ("det", "amod", "compound") and t.lemma.lower() in ("a", "an") for t in on_noun)
    return not vague and (new or (noun.tag == "NNS" and any(t.dep == "amod" for t in on_noun)))


def _with_commas(parse: Text, index: int, span: Span) -> Span:
    """The span with the comma before it, and with the one after it if both only set it off."""
    if parse.word_at(span.start - 1) != ",":
        return span
    after = parse.tokens[span.end + 1].pos if span.end + 1 < len(parse.tokens) else ""
    continues = after in ("AUX", "VERB", "ADV") if parse.tokens[index].dep == "prep" else after != "CCONJ"
    return Span(span.start - 1, span.end + (parse.word_at(span.end) == "," and continues))
