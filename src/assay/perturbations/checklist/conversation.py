"""Templates for replies and questions (checklist, table 5).

Replies contradict, repeat, dodge or do not belong; question words are dropped or changed; questions become
statements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, replies, word_list, word_set
from assay.models.nlp import Parse, Span, parse_one
from assay.perturbations.edit import (
    DO_TAGS,
    QUESTION_TAGS,
    drop,
    inflect,
    lemma_of,
    rewrite,
    sentences,
    subtree,
    uncapitalised,
    unrelated_text,
)
from assay.perturbations.negation import negation

# Beside these a negation is clumsy, or denies only half of what was said.
_UNDENIED = frozenset(["please", "even", "too", "still", "nearly", "but", "so", "would", "'d", "’d", "again"])
_SPEAKER = re.compile(r"^\s*([\w .'’-]{1,20}):\s+")
_ADVERBIAL = ("when", "where", "why", "how")
_PLACING = frozenset(["in", "at", "to", "on", "into", "inside", "from", "near", "around", "between", "above"])
_INDEFINITE = {
    "who": "someone", "whom": "someone", "what": "something", "when": "at some time", "where": "somewhere",
    "why": "for some reason", "how": "somehow",
}  # fmt: skip


# --- replies ---


@dataclass(frozen=True)
class Contradict(Perturbation):
    """The speaker says the contrary of an earlier turn of their own."""

    name = "contradict"
    criterion = "making sense"
    reads = "context"

    def apply(self, record: Record, rng: Random) -> str | None:
        for turn in reversed(_own_turns(record.context)):
            statements = sentences(turn, with_words=True)
            contraries = [negated for sentence in statements if (negated := _contrary(sentence))]
            if contraries:
                return rng.choice(contraries)
        return None


def _own_turns(context: Sequence[str]) -> list[str]:
    """Earlier turns of the speaker who replies: by their label, else every second turn from the end."""
    labels = [match[1] if (match := _SPEAKER.match(turn)) else None for turn in context]
    turns = [_SPEAKER.sub("", turn).strip() for turn in context]
    if all(labels):
        return [turn for turn, label in zip(turns, labels, strict=True) if label != labels[-1]]
    return turns[-2::-2][::-1]


def _contrary(sentence: str) -> str | None:
    parse = parse_one(sentence)
    short = len(sentence.split()) < 4 or sentence.lower().startswith(("yes", "no,"))
    if short or not sentence.endswith((".", "!")) or len(parse.sentences) != 1 or not _is_one_claim(parse):
        return None
    changes = negation(parse, parse.sentences[0])
    imperative = changes is not None and any(word.startswith("Do not") for word in changes.values())
    return rewrite(parse, changes) if changes and not imperative else None


def _is_one_claim(parse: Parse) -> bool:
    """Whether to deny the main verb is to deny the sentence."""
    joined = any(t.dep == "conj" and parse.tokens[t.head].dep == "ROOT" for t in parse.tokens)
    return not joined and not {t.text.lower() for t in parse.tokens} & _UNDENIED


@dataclass(frozen=True)
class RepeatTurn(Perturbation):
    """The speaker repeats an earlier turn of their own."""

    name = "repeat-turn"
    criterion = "avoiding repetition"
    reads = "context"
    languages = None

    def apply(self, record: Record, rng: Random) -> str | None:
        earlier = _own_turns(record.context)
        return rng.choice(earlier) if earlier else None


@dataclass(frozen=True)
class BackOff(Perturbation):
    """A listed reply that takes up nothing of what was said: Could you say that again?"""

    name = "back-off"
    criterion = "listening"

    def apply(self, record: Record, rng: Random) -> str | None:
        return rng.choice(replies("back_off")) if record.gold.strip() else None


@dataclass(frozen=True)
class GenericReply(Perturbation):
    """A listed reply that would fit nearly any turn (sec. 5.2; ours for engagingness)."""

    name = "generic-reply"
    criterion = "engagingness"

    def apply(self, record: Record, rng: Random) -> str | None:
        return rng.choice(replies("generic")) if record.gold.strip() else None


@dataclass(frozen=True)
class RandomResponse(Perturbation):
    """The reply of another dialogue."""

    name = "random-response"
    criterion = "relevance"
    reads = "others"
    languages = None

    def apply(self, record: Record, rng: Random) -> str | None:
        return unrelated_text(record, rng)


@dataclass(frozen=True)
class DropQuestions(Perturbation):
    """The questions of a reply left out (ours: table 5 has no template for inquisitiveness).

    A reply of questions only becomes a generic one that asks nothing.
    """

    name = "drop-questions"
    criterion = "inquisitiveness"

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = parse_one(record.gold)
        questions = [span for span in parse.sentences if "?" in parse.piece(span)]
        if not questions:
            return None
        if len(questions) == len(parse.sentences):
            return rng.choice([reply for reply in replies("generic") if "?" not in reply])
        return drop(parse, questions).strip()


@dataclass(frozen=True)
class MachineTalk(Perturbation):
    """A sentence that only a machine would say before the reply (ours: table 5 has none for humanness)."""

    name = "machine-talk"
    criterion = "humanness"

    def apply(self, record: Record, rng: Random) -> str | None:
        if not record.gold.strip():
            return None
        return f"{rng.choice(word_list('checklist', 'phrases', 'machine_talk'))} {record.gold.strip()}"


# --- questions ---


def _question(record: Record) -> tuple[Parse, Span] | None:
    """The parse and the asking words, or None where the text is not one question that opens with them."""
    parse = parse_one(record.gold)
    asking = _asking_words(parse)
    whole = record.gold.rstrip().endswith("?") and len(parse.sentences) == 1
    return (parse, asking) if whole and asking is not None and asking.start <= 2 else None


def _asking_words(parse: Parse) -> Span | None:
    """The question word or listed phrase: When, How many, What kind of."""
    for index, token in enumerate(parse.tokens):
        if token.tag in QUESTION_TAGS and token.text.lower() in word_set("words", "question_words"):
            for length in (3, 2):
                words = " ".join(t.text.lower() for t in parse.tokens[index : index + length])
                if words in word_set("words", "question_words", "phrases"):
                    return Span(index, index + length)
            return Span(index, index + 1)
    return None


@dataclass(frozen=True)
class DropQuestionWord(Perturbation):
    """When was he born? - Was he born? A preposition before the question word goes with it."""

    name = "drop-question-word"
    criterion = "answerability"

    def apply(self, record: Record, rng: Random) -> str | None:
        question = _question(record)
        if question is None or not _asks_adverbially(*question):
            return None
        return drop(question[0], [_with_preposition(*question)])


def _with_preposition(parse: Parse, asking: Span) -> Span:
    return Span(0 if asking.start == 1 and parse.tokens[0].pos == "ADP" else asking.start, asking.end)


def _asks_adverbially(parse: Parse, asking: Span) -> bool:
    """Whether the question asks for time, place, reason or manner, which the verb could do without."""
    led = _with_preposition(parse, asking).start < asking.start
    word, after = parse.tokens[asking.start].text.lower(), parse.tokens[asking.end]
    adverbial = led or word in _ADVERBIAL
    return adverbial and after.dep in ("aux", "auxpass") and not _takes_time(parse, asking)


def _takes_time(parse: Parse, asking: Span) -> bool:
    """Whether the verb needs the time asked for: How long does it take?"""
    words = [token.text.lower() for token in parse.tokens[asking.start : asking.end]]
    return words == ["how", "long"] and any(token.lemma in ("take", "last") for token in parse.tokens)


@dataclass(frozen=True)
class ChangeQuestionWord(Perturbation):
    """When was he born? - Where was he born?"""

    name = "change-question-word"
    criterion = "answerability"

    def apply(self, record: Record, rng: Random) -> str | None:
        question = _question(record)
        if question is None:
            return None
        parse, asking = question
        rivals = _rivals(parse, asking)
        if not rivals:
            return None
        # An adverb needs no preposition: From whom did she learn? Why did she learn?
        span = _with_preposition(parse, asking) if rivals[0] in _ADVERBIAL else asking
        changes = dict.fromkeys(range(span.start, span.end), "") | {span.start: rng.choice(rivals)}
        return rewrite(parse, changes)


def _rivals(parse: Parse, asking: Span) -> list[str]:
    """Other asking words with the same grammar; empty where that is not certain."""
    token, after = parse.tokens[asking.start], parse.tokens[asking.end]
    word = token.text.lower()
    if after.text.lower() == "of":
        return ["which"] if word == "how" else []
    if after.pos in ("NOUN", "ADJ", "PROPN"):
        return _rivals_before_noun(parse, asking, word)
    if after.pos not in ("AUX", "VERB"):
        return []
    if _asks_adverbially(parse, asking):
        return _rival_adverbs(parse, asking, word)
    if token.dep in ("nsubj", "nsubjpass"):
        # In place of a person: how many people, if the verb shows no number.
        numberless = after.tag in ("VBD", "MD") and after.lemma != "be"
        return ["who"] if word != "who" else ["how many people"] if numberless else ["whose friend"]
    if after.dep not in ("aux", "auxpass"):
        return ["where"] if after.lemma == "be" and word in ("how", "what") else []
    objects = {"what": ["how much"], "who": ["what"], "whom": ["what"]}
    return objects.get(word, []) if asking.start == 0 else []


def _rivals_before_noun(parse: Parse, asking: Span, word: str) -> list[str]:
    noun = _asking_phrase(parse, asking).end
    if noun >= len(parse.tokens) or parse.tokens[noun].text.lower() == "of" or asking.start > 0:
        return []
    if word == "how":
        return ["which"] if parse.tokens[asking.end - 1].text.lower() == "many" else []
    return ["what"] if word == "whose" else ["whose"]


def _rival_adverbs(parse: Parse, asking: Span, word: str) -> list[str]:
    """The other adverbs, without "when" before a perfect and "where" beside a place."""
    later = {token.text.lower() for token in parse.tokens[asking.end :]}
    barred = {word} | ({"when"} if parse.tokens[asking.end].lemma == "have" else set())
    barred |= {"where"} if later & _PLACING else set()
    return [other for other in _ADVERBIAL if other not in barred]


@dataclass(frozen=True)
class QuestionToStatement(Perturbation):
    """Who is the director? - Someone is the director. The asking word becomes an indefinite one."""

    name = "question-to-statement"
    criterion = "answerability"

    def apply(self, record: Record, rng: Random) -> str | None:
        question = _question(record)
        if question is None or question[1].start != 0:
            return None
        words = _statement(*question)
        return capitalised(" ".join(words)) + "." if words else None


def _statement(parse: Parse, asking: Span) -> list[str] | None:
    """The parts of the statement in order, or None where the question is too complex."""
    tokens = parse.tokens
    last = len(tokens) - 1  # the question mark
    phrase = _asking_phrase(parse, asking)
    indefinite, after = _indefinite(parse, asking, phrase), phrase.end
    if indefinite is None or after >= last:
        return None
    if tokens[after].pos in ("VERB", "AUX") and _asks_subject(parse, phrase):
        # Do-support never follows the subject: then the parse is wrong.
        misread = tokens[after].dep == "aux" and tokens[after].lemma == "do"
        return None if misread else [indefinite, parse.piece(Span(after, last))]
    subject = _subject_after(parse, after)
    if (tokens[after].pos != "AUX" and tokens[after].lemma != "be") or subject is None:
        return None
    return _uninverted(parse, after, subject, indefinite, asking)


def _asking_phrase(parse: Parse, asking: Span) -> Span:
    """The asking words with the noun they ask about: How many capital cities."""
    for chunk in parse.chunks:
        if chunk.start <= asking.start < chunk.end and chunk.end > asking.end:
            return Span(asking.start, chunk.end)
    if asking.end - asking.start > 1 and parse.tokens[asking.end - 1].text.lower() == "of":
        later = next((c for c in parse.chunks if c.start == asking.end), None)
        return Span(asking.start, later.end) if later else asking
    return asking


def _indefinite(parse: Parse, asking: Span, phrase: Span) -> str | None:
    """The indefinite words for what is asked, or None where there are none."""
    words = [t.text.lower() for t in parse.tokens[asking.start : asking.end]]
    if phrase.end > asking.end:
        noun = parse.piece(Span(asking.end, phrase.end))
        kind = " ".join(words[1:]) if words[-1] == "of" else ""
        return f"some {kind} {noun}".replace("  ", " ") if words[0] in ("what", "which", "how") else None
    if len(words) > 1:
        return {"long": "for some time", "often": "sometimes", "much": "something"}.get(words[1])
    return _INDEFINITE.get(words[0])


def _asks_subject(parse: Parse, phrase: Span) -> bool:
    inside = parse.tokens[phrase.start : phrase.end]
    return any(t.dep in ("nsubj", "nsubjpass") and not phrase.start <= t.head < phrase.end for t in inside)


def _subject_after(parse: Parse, auxiliary: int) -> Span | None:
    """The subject right after the auxiliary, or None."""
    for index, token in enumerate(parse.tokens):
        if token.dep in ("nsubj", "nsubjpass") and index > auxiliary:
            span = subtree(parse, index)
            return span if span and span.start == auxiliary + 1 else None
    return None


def _uninverted(
    parse: Parse, auxiliary: int, subject: Span, indefinite: str, asking: Span
) -> list[str] | None:
    tokens, last = parse.tokens, len(parse.tokens) - 1
    who, support = uncapitalised(parse, subject), tokens[auxiliary].text.lower()
    if subject.end >= last:  # Who is the director? The director is someone. But how much is it?
        plain = tokens[auxiliary].lemma == "be" and asking.end - asking.start == 1
        return [who, support, indefinite] if plain else None
    verb = tokens[subject.end]
    if support in DO_TAGS and tokens[auxiliary].dep == "aux":
        lasting = indefinite == "for some time" and verb.lemma in ("take", "last")
        usable = verb.tag == "VB" and not lasting
        finite = inflect(lemma_of(verb.text, "verb"), DO_TAGS[support]) if usable else None
        if finite is None:
            return None
        opening = [who, finite]
    else:
        opening = [who, support, verb.text]
    return [*opening, *_placed(parse, Span(subject.end + 1, last), indefinite, asking)]


def _placed(parse: Parse, rest: Span, indefinite: str, asking: Span) -> list[str]:
    """The rest, with the indefinite words after what governs them; an adverb at the end."""
    tokens = parse.tokens
    governor = tokens[asking.start].head
    while tokens[governor].head != governor and (
        asking.start <= governor < asking.end
        or (tokens[governor].pos == "NOUN" and governor < rest.start - 1)
    ):
        governor = tokens[governor].head
    adverb = tokens[asking.start].text.lower() in _ADVERBIAL and not indefinite.startswith("some ")
    inside = rest.start <= governor < rest.end
    at = rest.end if adverb else governor + 1 if inside else rest.start
    before, after = Span(rest.start, at), Span(at, rest.end)
    parts = [parse.piece(span) if span.end > span.start else "" for span in (before, after)]
    return [part for part in (parts[0], indefinite, parts[1]) if part]
