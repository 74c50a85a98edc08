"""Structure templates: sentences and phrases repeated, reordered, added or left out (checklist, table 5)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, template_words
from assay.files import word_list, word_set
from assay.language import full_stop, join_words
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.frames import standing, stands_in
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.entities import PERSON, name_spans

_TELLING = ("NOUN", "PROPN", "VERB", "ADJ", "NUM")
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
    if parse.word_at(first) == "the":
        return _is_named_again(parse, first)
    leans = parse.word_at(first) in template_words("leaning_openings")
    return leans and (not stands_in("pronoun", parse, first) or _has_antecedent(parse, sentence, first))


def _is_named_again(parse: Text, start: int) -> bool:
    """Whether the phrase that starts here takes up one with "a": a lady; the lady."""
    head = {chunk.start: parse.tokens[chunk.end - 1].text for chunk in parse.chunks}.get(start)
    new = [chunk for chunk in parse.chunks if parse.word_at(chunk.start) in ("a", "an")]
    return any(chunk.end <= start and parse.tokens[chunk.end - 1].text == head for chunk in new)


def _has_antecedent(parse: Text, sentence: Span, pronoun: int) -> bool:
    """Whether an earlier sentence says whom a pronoun means: a person for he, a plural for they."""
    word = parse.word_at(pronoun)
    if word[:2] in ("he", "hi", "sh"):
        persons = [name.end for name in name_spans(parse) if name.label == PERSON]
        named = min(persons, default=sentence.end) <= sentence.start
        return named or stands_in("after-person", parse, sentence.start)
    if word[:3] == "the":
        return stands_in("after-several", parse, sentence.start)
    return not stands_in("dummy-it", parse, pronoun)


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
    root = parse.root_of(sentence)
    if root is None or not stands_in("is-verb", parse, root):
        return None
    helper = parse.child(root, "aux", "auxpass")
    verb = root if helper is None else min(root, helper)
    subjects = [i for i in parse.dependents(root) if i < root and parse.tokens[i].dep.startswith("nsubj")]
    is_before = max(subjects, default=verb) < verb
    return verb - 1 if is_before and stands_in("breakable", parse, verb - 1) else None


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
    inside = [chunk for chunk in parse.chunks if parse.sentence_of(chunk.start) == sentence]
    independent = standing("independent", parse, inside)
    subjects = [chunk for chunk in independent if stands_in("main-subject", parse, chunk.end - 1)]
    phrases = []
    for chunk in subjects or independent:
        opens = chunk.start == sentence.start
        phrases.append(parse.uncapitalised(chunk) if opens else parse.piece(chunk))
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
        objects = standing("holds-thing", parse, loose_phrases(parse))
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
    whole = parse.subtree(index) if stands_in("heads-phrase", parse, index) else None
    words = parse.word_indices(whole) if whole else []
    if len(words) < 2:
        return None
    span = Span(words[0], words[-1] + 1)  # marks at either end belong to the sentence
    if not _is_separate(parse, index, span) or not _is_missed(parse, span):
        return None
    is_preposition = parse.tokens[index].dep == "prep"
    is_loose = _is_loose_preposition if is_preposition else _is_loose_clause
    return _with_commas(parse, index, span) if is_loose(parse, index, span) else None


def _is_missed(parse: Text, span: Span) -> bool:
    """Whether a phrase says what is said nowhere else: not "in this shop", nor a year given before."""
    rest = content(parse, [Span(0, span.start), Span(span.end, len(parse.tokens))])
    pointing = parse.word_at(span.start + 1) in ("this", "that", "these", "those")
    return bool(content(parse, [span]) - rest - template_words("empty_words")) and not pointing


def _is_separate(parse: Text, index: int, span: Span) -> bool:
    """Whether the neighbours surely do not belong to the phrase, whatever the parse says."""
    separate = stands_in("separate", parse, span.start, span.end)
    return separate and stands_in("separate-by-head", parse, index, span.end)


def _is_loose_preposition(parse: Text, index: int, span: Span) -> bool:
    """Whether a phrase only adds to its noun, or says of its verb where or when: people (in the morning)."""
    if not stands_in("complete", parse, index):
        return False
    if stands_in("on-noun", parse, index):
        return stands_in("loose-on-noun", parse, index)
    if not stands_in("where-or-when", parse, index):
        return False
    if span.start == parse.sentence_of(index).start:
        return parse.word_at(span.end) == ","
    timed = stands_in("timed", parse, span.start, span.end) and stands_in("active-verb", parse, index)
    return stands_in("last-on-verb", parse, index) and (timed or stands_in("complete-verb", parse, index))


def _is_loose_clause(parse: Text, index: int, span: Span) -> bool:
    """Whether a relative clause, apposition or participle only adds to a noun that is clear without it."""
    noun = parse.tokens[index].head
    between = [token.text for token in parse.tokens[noun + 1 : span.start]]
    if between not in ([], [","]) or not stands_in("added-clause", parse, index):
        return False
    if parse.tokens[index].dep == "appos":
        return stands_in("apposition", parse, span.start, span.end)
    if not stands_in("opens-clause", parse, span.start):
        return False
    if between:
        return stands_in("ends-at-mark", parse, span.start, span.end)
    governor = parse.tokens[noun].head
    cleft = any(parse.word_at(i) == "it" for i in parse.dependents(governor))  # it was a carrot that
    return not cleft and stands_in("clear-noun", parse, index)


def _with_commas(parse: Text, index: int, span: Span) -> Span:
    """The span with the comma before it, and with the one after it if both only set it off."""
    if parse.word_at(span.start - 1) != ",":
        return span
    after = parse.tokens[span.end + 1].pos if span.end + 1 < len(parse.tokens) else ""
    continues = after in ("AUX", "VERB", "ADV") if parse.tokens[index].dep == "prep" else after != "CCONJ"
    return Span(span.start - 1, span.end + (parse.word_at(span.end) == "," and continues))
