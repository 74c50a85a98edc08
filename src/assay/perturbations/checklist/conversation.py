"""Templates for replies and questions (checklist, table 5).

Replies contradict, repeat, dodge or do not belong; question words are dropped or changed; questions become
statements.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, replies, word_list, word_set
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.structure import RandomText
from assay.perturbations.edit import Text
from assay.perturbations.negation import negation
from assay.vocabulary import Criterion

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
            statements = edit.sentences(turn, with_words=True)
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
    """The sentence negated; None where that does not deny all of it, or the sentence is no plain claim."""
    parse = edit.read(sentence)
    short = len(sentence.split()) < 4 or sentence.lower().startswith(("yes", "no,"))
    joined = any(t.dep == "conj" and parse.tokens[t.head].dep == "ROOT" for t in parse.tokens)
    undenied = joined or any(t.text.lower() in _UNDENIED for t in parse.tokens)
    if short or not sentence.endswith((".", "!")) or len(parse.sentences) != 1 or undenied:
        return None
    changes = negation(parse, parse.sentences[0])
    imperative = changes is not None and any(word.startswith("Do not") for word in changes.values())
    return edit.rewrite(parse, changes) if changes and not imperative else None


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
class RandomResponse(RandomText):
    """The reply of another dialogue."""

    name = "random-response"


@dataclass(frozen=True)
class DropQuestions(Perturbation):
    """The questions of a reply left out (ours: table 5 has no template for inquisitiveness).

    A reply of questions only becomes a generic one that asks nothing.
    """

    name = "drop-questions"
    criterion = "inquisitiveness"

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        questions = [span for span in parse.sentences if "?" in parse.piece(span)]
        if not questions:
            return None
        if len(questions) == len(parse.sentences):
            return rng.choice([reply for reply in replies("generic") if "?" not in reply])
        return edit.rewrite(parse, edit.dropped(questions)).strip()


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


class _QuestionEdit(Perturbation):
    """An edit of a text that is one question, with the words that ask at its start."""

    criterion: ClassVar[Criterion] = "answerability"

    @abstractmethod
    def edited(self, parse: Text, asking: Span, rng: Random) -> str | None:
        """The edited question, or None where the edit does not apply."""

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        asking = _asking_words(parse)
        whole = record.gold.rstrip().endswith("?") and len(parse.sentences) == 1
        return self.edited(parse, asking, rng) if whole and asking and asking.start <= 2 else None


def _asking_words(parse: Text) -> Span | None:
    """The question word or listed phrase: When, How many, What kind of."""
    for index, token in enumerate(parse.tokens):
        if token.tag in edit.QUESTION_TAGS and token.text.lower() in word_set("words", "question_words"):
            for length in (3, 2):
                words = " ".join(t.text.lower() for t in parse.tokens[index : index + length])
                if words in word_set("words", "question_words", "phrases"):
                    return Span(index, index + length)
            return Span(index, index + 1)
    return None


@dataclass(frozen=True)
class DropQuestionWord(_QuestionEdit):
    """When was he born? - Was he born? A preposition before the question word goes with it."""

    name = "drop-question-word"

    def edited(self, parse: Text, asking: Span, rng: Random) -> str | None:
        if not _asks_adverbially(parse, asking):
            return None
        return edit.rewrite(parse, edit.dropped([_with_preposition(parse, asking)]))


def _with_preposition(parse: Text, asking: Span) -> Span:
    return Span(0 if asking.start == 1 and parse.tokens[0].pos == "ADP" else asking.start, asking.end)


def _asks_adverbially(parse: Text, asking: Span) -> bool:
    """Whether the question asks for time, place, reason or manner, which the verb could do without."""
    words = [token.text.lower() for token in parse.tokens[asking.start : asking.end]]
    if words == ["how", "long"] and any(token.lemma in ("take", "last") for token in parse.tokens):
        return False  # How long does it take?
    led = _with_preposition(parse, asking).start < asking.start
    return (led or words[0] in _ADVERBIAL) and parse.tokens[asking.end].dep in ("aux", "auxpass")


@dataclass(frozen=True)
class ChangeQuestionWord(_QuestionEdit):
    """When was he born? - Where was he born?"""

    name = "change-question-word"

    def edited(self, parse: Text, asking: Span, rng: Random) -> str | None:
        rivals = _rivals(parse, asking)
        if not rivals:
            return None
        # An adverb needs no preposition: From whom did she learn? Why did she learn?
        span = _with_preposition(parse, asking) if rivals[0] in _ADVERBIAL else asking
        return edit.rewrite(parse, edit.dropped([span]) | {span.start: rng.choice(rivals)})


def _rivals(parse: Text, asking: Span) -> list[str]:
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
        later = {t.text.lower() for t in parse.tokens[asking.end :]}
        barred = {word, "when"} if after.lemma == "have" else {word}  # no "when" before a perfect
        barred |= {"where"} if later & _PLACING else set()
        return [other for other in _ADVERBIAL if other not in barred]
    if token.dep in ("nsubj", "nsubjpass"):
        # In place of a person: how many people, if the verb shows no number.
        numberless = after.tag in ("VBD", "MD") and after.lemma != "be"
        return ["who"] if word != "who" else ["how many people"] if numberless else ["whose friend"]
    if after.dep not in ("aux", "auxpass"):
        return ["where"] if after.lemma == "be" and word in ("how", "what") else []
    objects = {"what": ["how much"], "who": ["what"], "whom": ["what"]}
    return objects.get(word, []) if asking.start == 0 else []


def _rivals_before_noun(parse: Text, asking: Span, word: str) -> list[str]:
    noun = _asking_phrase(parse, asking).end
    if noun >= len(parse.tokens) or parse.tokens[noun].text.lower() == "of" or asking.start > 0:
        return []
    if word == "how":
        return ["which"] if parse.tokens[asking.end - 1].text.lower() == "many" else []
    return ["what"] if word == "whose" else ["whose"]


@dataclass(frozen=True)
class QuestionToStatement(_QuestionEdit):
    """Who is the director? - Someone is the director. The asking word becomes an indefinite one."""

    name = "question-to-statement"

    def edited(self, parse: Text, asking: Span, rng: Random) -> str | None:
        words = _statement(parse, asking) if asking.start == 0 else None
        return capitalised(" ".join(words)) + "." if words else None


def _statement(parse: Text, asking: Span) -> list[str] | None:
    """The parts of the statement in order, or None where the question is too complex."""
    tokens = parse.tokens
    last = len(tokens) - 1  # the question mark
    phrase = _asking_phrase(parse, asking)
    indefinite, after = _indefinite(parse, asking, phrase), phrase.end
    if indefinite is None or after >= last:
        return None
    inside = range(phrase.start, phrase.end)
    subjects = [tokens[i] for i in inside if tokens[i].dep in ("nsubj", "nsubjpass")]
    if tokens[after].pos in ("VERB", "AUX") and any(t.head not in inside for t in subjects):
        # Do-support never follows the subject: then the parse is wrong.
        misread = tokens[after].dep == "aux" and tokens[after].lemma == "do"
        return None if misread else [indefinite, parse.piece(Span(after, last))]
    heads = (i for i, t in enumerate(tokens) if i > after and t.dep in ("nsubj", "nsubjpass"))
    head = next(heads, None)
    subject = None if head is None else parse.subtree(head)
    auxiliary = tokens[after].pos == "AUX" or tokens[after].lemma == "be"
    if not auxiliary or subject is None or subject.start != after + 1:
        return None
    return _uninverted(parse, after, subject, indefinite, asking)


def _asking_phrase(parse: Text, asking: Span) -> Span:
    """The asking words with the noun they ask about: How many capital cities."""
    for chunk in parse.chunks:
        if chunk.start <= asking.start < chunk.end and chunk.end > asking.end:
            return Span(asking.start, chunk.end)
    if asking.end - asking.start > 1 and parse.tokens[asking.end - 1].text.lower() == "of":
        later = next((c for c in parse.chunks if c.start == asking.end), None)
        return Span(asking.start, later.end) if later else asking
    return asking


def _indefinite(parse: Text, asking: Span, phrase: Span) -> str | None:
    """The indefinite words for what is asked, or None where there are none."""
    words = [t.text.lower() for t in parse.tokens[asking.start : asking.end]]
    if phrase.end > asking.end:
        noun = parse.piece(Span(asking.end, phrase.end))
        kind = " ".join(words[1:]) if words[-1] == "of" else ""
        return f"some {kind} {noun}".replace("  ", " ") if words[0] in ("what", "which", "how") else None
    if len(words) > 1:
        return {"long": "for some time", "often": "sometimes", "much": "something"}.get(words[1])
    return _INDEFINITE.get(words[0])


def _uninverted(
    parse: Text, auxiliary: int, subject: Span, indefinite: str, asking: Span
) -> list[str] | None:
    tokens, last = parse.tokens, len(parse.tokens) - 1
    who, support = parse.uncapitalised(subject), tokens[auxiliary].text.lower()
    if subject.end >= last:  # Who is the director? The director is someone. But how much is it?
        plain = tokens[auxiliary].lemma == "be" and asking.end - asking.start == 1
        return [who, support, indefinite] if plain else None
    verb = tokens[subject.end]
    if support in edit.DO_TAGS and tokens[auxiliary].dep == "aux":
        lasting = indefinite == "for some time" and verb.lemma in ("take", "last")
        usable = verb.tag == "VB" and not lasting
        finite = edit.inflect(edit.lemma_of(verb.text, "verb"), edit.DO_TAGS[support]) if usable else None
        if finite is None:
            return None
        opening = [who, finite]
    else:
        opening = [who, support, verb.text]
    return [*opening, *_placed(parse, Span(subject.end + 1, last), indefinite, asking)]


def _placed(parse: Text, rest: Span, indefinite: str, asking: Span) -> list[str]:
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
