"""Structure templates: sentences and phrases repeated, reordered, added or left out (checklist, table 5)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, gendered, people, template_words
from assay.files import word_list, word_set
from assay.language import full_stop, join_words
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.entities import PERSON, names

_NOUNS = ("NN", "NNS", "NNP", "NNPS")
_TELLING = ("NOUN", "PROPN", "VERB", "ADJ", "NUM")
_TIMES = ("DATE", "TIME")
_MARKS = frozenset(",;:.!?…")
_BRACKETS = frozenset('()[]"“”')
_QUOTES = ('"', "”", "'", "’")


@dataclass(frozen=True)
class ReorderSentences(Perturbation):
    """The sentences in another order, first one that refers to an earlier sentence, which is then missed."""

    name = "reorder-sentences"
    criterion = "structure and coherence"
    title = "sentences in the wrong order"
    tasks = ("summarisation", "data-to-text")

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
    """Whether a sentence opens with a pronoun or connective, or with "the" where "a" was said before."""
    first = parse.first_word(sentence)
    if first is None or len(parse.word_indices(sentence)) < 2:
        return False
    if parse.word_at(first) == "the":  # a lady; the lady
        head = next((parse.tokens[c.end - 1].text for c in parse.chunks if c.start == first), None)
        new = [c for c in parse.chunks if c.end <= first and parse.word_at(c.start) in ("a", "an")]
        return any(parse.tokens[c.end - 1].text == head for c in new)
    pronoun = parse.tokens[first].tag in ("PRP", "PRP$")
    leans = parse.word_at(first) in template_words("leaning_openings")
    return leans and (not pronoun or _has_antecedent(parse, sentence, first))


def _has_antecedent(parse: Text, sentence: Span, pronoun: int) -> bool:
    """Whether an earlier sentence says whom a pronoun means: a person for he, a plural for they."""
    word, earlier = parse.word_at(pronoun), parse.tokens[: sentence.start]
    if word[:2] in ("he", "hi", "sh"):
        persons = any(n.label == PERSON and n.end <= sentence.start for n in names(parse))
        return persons or any(t.tag == "NN" and (t.lemma in people() or gendered(t.lemma)) for t in earlier)
    if word[:3] == "the":
        return any(t.tag == "NNS" or t.dep == "conj" or t.lemma in people() for t in earlier)
    return word in ("it", "its") and not stands_in("dummy-it", parse, pronoun)


@dataclass(frozen=True)
class RepeatSentences(Perturbation):
    """A share of the sentences is repeated at the end of the text."""

    name = "repeat-sentences"
    criterion = "non-redundancy"
    title = "repeated sentences"
    tasks = ("summarisation",)
    languages = None

    share: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        repeated = edit.draw_share(edit.sentences(text, with_words=True), self.share, rng)
        return join_words([_ended(text), *repeated], text) if repeated else None


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
    title = "a clause that does not belong"
    tasks = ("translation", "data-to-text")
    reads = "others"

    def apply(self, record: Record, rng: Random) -> str | None:
        extra = _other_statement(record, rng)
        if extra is None or not record.gold.strip():
            return None
        body, end = edit.body_and_end(record.gold.rstrip())
        parse = edit.read(extra)
        if end != "." or '"' in extra or stands_in("title-opening", parse, 0):
            return f"{_ended(record.gold)} {extra}"
        return f"{body}, and {parse.uncapitalised(Span(0, len(parse.tokens)))}"


@dataclass(frozen=True)
class OffTopicSentence(Perturbation):
    """A sentence of another item among the text's own (ours: table 5 has no template for focus)."""

    name = "off-topic-sentence"
    criterion = "focus"
    title = "an off-topic sentence"
    tasks = ("summarisation",)
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
        if statements := [sentence for sentence in fresh if _is_statement(sentence)]:
            return rng.choice(statements)
    return None


def _is_statement(sentence: str) -> bool:
    """Whether a sentence is a statement of its own: not "And yet he came" nor "Careful, it's hot"."""
    if not 3 <= len(sentence.split()) <= 30 or not sentence.endswith("."):
        return False
    parse = edit.read(sentence)
    root = parse.root_of(Span(0, len(parse.tokens))) or 0
    return parse.child(root, *edit.SUBJECTS) is not None and stands_in("own-statement", parse, 0)


@dataclass(frozen=True)
class RandomText(Perturbation):
    """The text of another item in place of this one."""

    name = "random-text"
    criterion = "relevance"
    title = "an unrelated text"
    tasks = ("image-captioning", "data-to-text")
    reads = "others"
    languages = None

    def apply(self, record: Record, rng: Random) -> str | None:
        return edit.unrelated_text(record, rng)


@dataclass(frozen=True)
class AddNonsense(Perturbation):
    """A listed sentence without sense follows the text."""

    name = "add-nonsense"
    criterion = "making sense"
    title = "an added nonsense sentence"
    tasks = ("dialogue",)

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        nonsense = rng.choice(word_list("checklist", "phrases", "nonsense"))
        return f"{_ended(text)} {nonsense}" if text.strip() else None


@dataclass(frozen=True)
class SplitSentence(ParseEdit):
    """A full stop between subject and verb (ours: table 5 has no template for text structure)."""

    name = "split-sentence"
    criterion = "text structure"
    title = "sentences broken in two"
    tasks = ("data-to-text",)

    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        places = [place for s in parse.sentences if (place := _before_verb(parse, s)) is not None]
        changes: dict[int, str] = {}
        for place in edit.draw_share(places, self.share, rng):
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
    is_after = bool(subjects) and subjects[-1] < verb
    return verb - 1 if is_after and stands_in("breakable", parse, verb - 1) else None


@dataclass(frozen=True)
class RepeatPhrases(ParseEdit):
    """A noun phrase repeated at the end of a sentence: My relatives are in town, my relatives."""

    name = "repeat-phrases"
    criterion = "avoiding repetition"
    title = "repeated phrases"
    tasks = ("translation", "summarisation", "dialogue", "data-to-text")

    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        repeatable = [(s, phrases) for s in parse.sentences if (phrases := _noun_phrases(parse, s))]
        changes = {}
        for sentence, phrases in edit.draw_share(repeatable, self.share, rng):
            last = parse.word_indices(sentence)[-1]
            if parse.word_at(last + 1) not in _QUOTES:  # not into a title: "New Year"
                changes[last] = f"{parse.tokens[last].text}, {rng.choice(phrases)}"
        return changes


def _noun_phrases(parse: Text, sentence: Span) -> list[str]:
    """The noun phrases of a sentence, as written inside one; only the main subject, if it is one."""
    inside = [c for c in parse.chunks if sentence.start <= c.start and c.end <= sentence.end]
    independent = [c for c in inside if stands_in("independent", parse, c.start, c.end)]
    chosen = [c for c in independent if stands_in("main-subject", parse, c.end - 1)] or independent
    phrases = [parse.uncapitalised(c) if c.start == sentence.start else parse.piece(c) for c in chosen]
    return [phrase for phrase in phrases if not set(phrase) & set('"“”()[],;:')]


@dataclass(frozen=True)
class DropPhrases(ParseEdit):
    """A share of the prepositional phrases, relative clauses, appositions and participles is left out."""

    name = "drop-phrases"
    criterion = "data coverage"
    title = "missing phrases"
    tasks = ("translation", "summarisation", "data-to-text")

    share: float = 0.5

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        return edit.dropped(within_half(parse, edit.draw_share(loose_phrases(parse), self.share, rng)))


@dataclass(frozen=True)
class DropObjects(ParseEdit):
    """Things left out with the words that introduce them: A small boy is playing (with a red ball).

    Table 5 drops the nouns alone ("A small playing with a red"), which breaks the grammar too, so that a
    metric's answer would not separate thoroughness from fluency.
    """

    name = "drop-objects"
    criterion = "thoroughness"
    title = "missing things"
    tasks = ("image-captioning",)

    share: float = 1.0

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        unseen = template_words("settings") | template_words("place_nouns")
        nouns = [i for i, t in enumerate(parse.tokens) if t.pos in ("NOUN", "PROPN")]
        things = [i for i in nouns if parse.word_at(i) not in unseen]
        objects = [s for s in loose_phrases(parse) if any(s.start <= i < s.end for i in things)]
        return edit.dropped(within_half(parse, edit.draw_share(objects, self.share, rng)))


@dataclass(frozen=True)
class DropModifiers(ParseEdit):
    """Adjectives and adverbs of manner left out: the sign, not the no-parking sign."""

    name = "drop-modifiers"
    criterion = "informativeness"
    title = "missing adjectives and adverbs"
    tasks = ("summarisation", "image-captioning")

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        loose = {i: t for i, t in enumerate(parse.tokens) if stands_in("loose-modifier", parse, i)}
        lemmas = Counter(token.lemma for token in parse.tokens)
        # Only of a word that occurs once, not: a man; the injured man.
        return edit.dropped(i for i, t in loose.items() if lemmas[parse.tokens[t.head].lemma] == 1)


def content(parse: Text, spans: Sequence[Span]) -> set[str]:
    """The lemmas of the words in spans that say something: nouns, verbs, adjectives and numbers."""
    tokens = [t for span in spans for t in parse.tokens[span.start : span.end]]
    telling = [t for t in tokens if t.pos in _TELLING and t.text[0] not in "'’"]
    return {t.lemma.lower() for t in telling} - word_set("words", "stop_words")


def is_substantial(parse: Text, sentence: Span) -> bool:
    """Whether a sentence says something by itself: no question, not "Okay!" nor "You're welcome."."""
    root = parse.root_of(sentence)
    if root is None or len(parse.word_indices(sentence)) < 4 or "?" in parse.piece(sentence):
        return False
    return stands_in("says-something", parse, root)


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
    if not _is_separate(parse, index, span) or not _is_missed(parse, span):
        return None
    on_noun = parse.tokens[token.head].tag in _NOUNS
    if token.dep == "prep":
        on_it = stands_in("loose-on-noun", parse, index) if on_noun else _is_loose_on_verb(parse, index, span)
        loose = on_it and stands_in("complete", parse, index)
    else:
        loose = on_noun and _is_loose_clause(parse, index, span)
    return _with_commas(parse, index, span) if loose else None


def _is_missed(parse: Text, span: Span) -> bool:
    """Whether a phrase says what is said nowhere else: not "in this shop", nor a year given before."""
    rest = content(parse, [Span(0, span.start), Span(span.end, len(parse.tokens))])
    pointing = parse.word_at(span.start + 1) in ("this", "that", "these", "those")
    return bool(content(parse, [span]) - rest - template_words("empty_words")) and not pointing


def _is_separate(parse: Text, index: int, span: Span) -> bool:
    """Whether the neighbours surely do not belong to the phrase, whatever the parse says."""
    sentence, inside = parse.sentence_of(span.start), parse.tokens[span.start : span.end]
    bound = parse.word_at(span.start - 1) in template_words("phrase_bound_before")
    if bound or span.end > sentence.end or any(t.text in _BRACKETS for t in inside):
        return False
    if span.end == sentence.end:
        return True
    token, after = parse.tokens[index], parse.tokens[span.end]
    if not edit.is_word(after):
        named = parse.tokens[span.end + 1].pos in ("NOUN", "PROPN") if span.end + 1 < sentence.end else False
        return after.text in _MARKS and not (named and token.dep == "prep" and span.start > sentence.start)
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


def _is_loose_on_verb(parse: Text, index: int, span: Span) -> bool:
    """He sees people (in the morning), it was sold by her (in 1934): where and when."""
    if not stands_in("where-or-when", parse, index):
        return False
    if span.start == parse.sentence_of(index).start:
        return parse.word_at(span.end) == ","
    timed = any(t.entity in _TIMES for t in parse.tokens[span.start : span.end])
    complete = stands_in("complete-verb", parse, index) or (timed and stands_in("active-verb", parse, index))
    return complete and stands_in("last-on-verb", parse, index)


def _is_loose_clause(parse: Text, index: int, span: Span) -> bool:
    """Whether a relative clause, apposition or participle only adds to a noun that is clear without it."""
    token, first = parse.tokens[index], parse.tokens[span.start]
    between = [t.text for t in parse.tokens[token.head + 1 : span.start]]
    if between not in ([], [","]) or not stands_in("added-clause", parse, index):
        return False
    commas, closed = parse.word_at(span.start - 1) == ",", parse.word_at(span.end) in ("", *_MARKS)
    if token.dep == "appos":
        listed = any(t.text == "," for t in parse.tokens[span.start : span.end])
        return commas and closed and not listed and first.pos != "ADV"
    if first.tag not in edit.QUESTION_TAGS if token.dep == "relcl" else index != span.start:
        return False
    governor = parse.tokens[token.head].head
    cleft = any(t.head == governor and t.text.lower() == "it" for t in parse.tokens)  # it was a carrot that
    return closed if commas else not cleft and stands_in("clear-noun", parse, index)


def _with_commas(parse: Text, index: int, span: Span) -> Span:
    """The span with the comma before it, and with the one after it if both only set it off."""
    if parse.word_at(span.start - 1) != ",":
        return span
    after = parse.tokens[span.end + 1].pos if span.end + 1 < len(parse.tokens) else ""
    continues = after in ("AUX", "VERB", "ADV") if parse.tokens[index].dep == "prep" else after != "CCONJ"
    return Span(span.start - 1, span.end + (parse.word_at(span.end) == "," and continues))
