"""Structure templates: sentences and phrases repeated, reordered, added or left out (checklist, table 5)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, template_words
from assay.files import word_list, word_set
from assay.language import full_stop, join_words
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.frames import standing, stands_in, words_in
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.entities import PERSON, name_spans

_TELLING = ("NOUN", "PROPN", "VERB", "ADJ", "NUM")
_NO_PHRASE = frozenset('"“”()[],;:')  # marks that a repeated phrase may not have
_FULL_STOP = re.compile(r"[.!?…][\"'”’)\]]*$")
_ENDED = re.compile(r"[.!?…。！？؟۔।][\W_]*\Z")
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
    starts = [0, *(span.end for span in parse.sentences if _FULL_STOP.search(parse.piece(span)))]
    ends = [*starts[1:], len(parse.tokens)]
    spans = [Span(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
    return [span for span in spans if parse.word_indices(span)]


def _leans(parse: Text, sentence: Span) -> bool:
    """Whether a sentence opens with a pronoun or connective, or with "the" where "a" was said before."""
    words = parse.word_indices(sentence)
    if len(words) < 2:
        return False
    if parse.word_at(words[0]) == "the":
        return _is_named_again(parse, words[0])
    if stands_in("pronoun", parse, words[0]) and not _has_antecedent(parse, sentence, words[0]):
        return False
    return parse.word_at(words[0]) in template_words("leaning_openings")


def _is_named_again(parse: Text, start: int) -> bool:
    """Whether the phrase that starts here takes up one with "a": a lady; the lady."""
    heads = {chunk.start: parse.text_at(chunk.end - 1) for chunk in parse.chunks}
    new = [chunk for chunk in parse.chunks if parse.word_at(chunk.start) in ("a", "an")]
    before = [parse.text_at(chunk.end - 1) for chunk in new if chunk.end <= start]
    return heads.get(start) in before


def _has_antecedent(parse: Text, sentence: Span, pronoun: int) -> bool:
    """Whether an earlier sentence says whom a pronoun means: a person for he, a plural for they."""
    word = parse.word_at(pronoun)
    if word[:2] in ("he", "hi", "sh"):
        persons = [name.end for name in name_spans(parse) if name.label == PERSON]
        is_named = min(persons, default=sentence.end) <= sentence.start
        return is_named or stands_in("after-person", parse, sentence.start)
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
    return text if _ENDED.search(text) else text + full_stop(text)


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
        statements = [piece for piece in edit.sentences(other, with_words=True) if _is_statement(piece)]
        if fresh := [statement for statement in statements if statement not in record.gold]:
            return rng.choice(fresh)
    return None


def _is_statement(sentence: str) -> bool:
    """Whether a sentence is a statement of its own: not "And yet he came" nor "Careful, it's hot"."""
    if not 3 <= len(sentence.split()) <= 30 or not sentence.endswith("."):
        return False
    parse = edit.read(sentence)
    return bool(words_in("states-something", parse)) and stands_in("own-statement", parse, 0)


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
    verb = min([root, *words_in("auxiliary", parse, parse.dependents(root))])
    subjects = words_in("subject-of-verb", parse, [i for i in parse.dependents(root) if i < root])
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
    phrases = map(parse.uncapitalised, subjects or independent)
    return [phrase for phrase in phrases if _NO_PHRASE.isdisjoint(phrase)]


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
        heads = {i: parse.tokens[parse.tokens[i].head].lemma for i in words_in("loose-modifier", parse)}
        lemmas = Counter(token.lemma for token in parse.tokens)
        # Only of a word that occurs once, not: a man; the injured man.
        return edit.dropped(i for i, head in heads.items() if lemmas[head] == 1)


def content(parse: Text, spans: Sequence[Span]) -> set[str]:
    """The lemmas of the words in spans that say something: nouns, verbs, adjectives and numbers."""
    lemmas = _telling_lemmas(parse.text)
    return set().union(*(lemmas[span.start : span.end] for span in spans)) - {""}


@lru_cache(maxsize=256)
def _telling_lemmas(text: str) -> tuple[str, ...]:
    """The lemma of each word of a text that says something, '' for the others."""
    tokens, stop_words = edit.read(text).tokens, word_set("words", "stop_words")
    lemmas = [t.lemma.lower() if t.pos in _TELLING and t.text[0] not in "'’" else "" for t in tokens]
    return tuple(lemma if lemma not in stop_words else "" for lemma in lemmas)


def is_substantial(parse: Text, sentence: Span) -> bool:
    """Whether a sentence says something by itself: no question, not "Okay!" nor "You're welcome."."""
    if len(parse.word_indices(sentence)) < 4 or "?" in parse.piece(sentence):
        return False
    root = parse.root_of(sentence)
    return root is not None and stands_in("says-something", parse, root)


def loose_phrases(parse: Text) -> list[Span]:
    """The phrases a text can lose, in order and without overlap, with the commas that go with them."""
    phrases = (_loose_phrase(parse, index) for index in words_in("heads-phrase", parse))
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
    whole = parse.subtree(index)
    words = parse.word_indices(whole) if whole else []
    if len(words) < 2:
        return None
    span = Span(words[0], words[-1] + 1)  # marks at either end belong to the sentence
    is_separate = stands_in("separate", parse, span.start, span.end)
    if not is_separate or not stands_in("separate-by-head", parse, index, span.end):
        return None  # the neighbours may belong to the phrase, whatever the parse says
    is_preposition = parse.tokens[index].dep == "prep"
    is_loose = _is_loose_preposition if is_preposition else _is_loose_clause
    is_lost = is_loose(parse, index, span) and _is_missed(parse, span)
    return _with_commas(parse, index, span) if is_lost else None


def _is_missed(parse: Text, span: Span) -> bool:
    """Whether a phrase says what is said nowhere else: not "in this shop", nor a year given before."""
    rest = content(parse, [Span(0, span.start), Span(span.end, len(parse.tokens))])
    new = content(parse, [span]) - rest - template_words("empty_words")
    return bool(new) and not stands_in("points", parse, span.start)


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
    is_time = stands_in("timed", parse, span.start, span.end)
    return stands_in("last-time-on-verb" if is_time else "last-place-on-verb", parse, index)


def _is_loose_clause(parse: Text, index: int, span: Span) -> bool:
    """Whether a relative clause, apposition or participle only adds to a noun that is clear without it."""
    noun = parse.tokens[parse.tokens[index].head]
    between = parse.text[noun.end : parse.tokens[span.start].start].strip()
    if between not in ("", ",") or not stands_in("added-clause", parse, index):
        return False
    if parse.tokens[index].dep == "appos":
        return stands_in("apposition", parse, span.start, span.end)
    if not stands_in("opens-clause", parse, span.start):
        return False
    if between:
        return stands_in("ends-at-mark", parse, span.start, span.end)
    return stands_in("clear-noun", parse, index)


def _with_commas(parse: Text, index: int, span: Span) -> Span:
    """The span with the comma before it, and with the one after it if both only set it off."""
    if parse.word_at(span.start - 1) != ",":
        return span
    goes_on = "comma-and-verb" if parse.tokens[index].dep == "prep" else "comma-and-no-joint"
    return Span(span.start - 1, span.end + stands_in(goes_on, parse, span.start, span.end))
