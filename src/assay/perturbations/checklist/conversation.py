"""Templates for replies that contradict, repeat, dodge or do not belong, and for questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import takewhile
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, replies, template_words
from assay.files import jsonl_file, toml_file, word_list, word_set
from assay.language import split_words
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in, words_in
from assay.perturbations.checklist.rewordings import STEM, content_lemmas
from assay.perturbations.checklist.structure import content, is_substantial
from assay.perturbations.edit import Text
from assay.perturbations.negation import negation

Parts = list[str]  # of a statement, in order
_SPEAKER = re.compile(r"^\s*([\w .'’-]{1,20}):\s+")
_CONTRACTED = re.compile(r"\w+n['’]t\b|['’]\w+")
_ADVERBIAL = ("when", "where", "why", "how")
# Four words or more, no answer alone, and an end that asks nothing.
_CLAIM = re.compile(r"(?s)(?!(?i:yes|no,))\S+(\s+\S+){3,}(?<=[.!])")
_TELLING = 5  # words of a reply that says more than a generic one
_MATTERS = (
    3  # content words of a reply that names matters of its own; one that points ("that") needs one more
)
_ENOUGH = 200  # replies to draw from: 300 draws give 155 different ones
_OPENING = re.compile(r"\s*([A-Za-z'’]+)\b[^.,!?…;]{0,14}[.,!?…;]+\s+(?=\S)")  # Yes, sir. Oh!
_FULL_BE = {"'s": "is", "'re": "are", "'m": "am"}  # an end of a contraction cannot stand apart


@dataclass(frozen=True)
class Contradict(Perturbation):
    """The speaker says the contrary of an earlier turn of their own."""

    name = "contradict"
    criterion = "making sense"
    title = "a reply that contradicts its speaker"
    tasks = ("dialogue",)
    reads = "context"

    def apply(self, record: Record, rng: Random) -> str | None:
        for turn in reversed(_own_turns(record.context)):
            contraries = list(filter(None, map(_contrary, edit.sentences(turn, with_words=True))))
            if contraries:
                return rng.choice(contraries)
        return None


def _own_turns(context: Sequence[str]) -> list[str]:
    """Earlier turns of the speaker who replies: by their label, else every second turn from the end."""
    matches = [_SPEAKER.match(turn) for turn in context]
    turns = [_SPEAKER.sub("", turn).strip() for turn in context]
    labels = [match[1] for match in matches if match]
    if len(labels) < len(turns):
        return turns[-2::-2][::-1]
    return [turn for turn, label in zip(turns, labels, strict=True) if label != labels[-1]]


def _contrary(sentence: str) -> str | None:
    """The sentence negated; None where that does not deny all of it, or the sentence is no plain claim."""
    if not _CLAIM.fullmatch(sentence) or edit.APART.search(sentence):
        return None
    parse = edit.read(sentence)
    if words_in("joined-to-main", parse) or not stands_in("lasting-claim", parse, 0):
        return None
    changes = negation(parse, parse.sentences[0])
    is_command = "Do not" in " ".join((changes or {}).values())
    return edit.rewrite(parse, changes) if changes and not is_command else None


@dataclass(frozen=True)
class RepeatTurn(Perturbation):
    """The speaker repeats an earlier turn of their own."""

    name = "repeat-turn"
    criterion = "avoiding repetition"
    title = "a reply that repeats an earlier turn"
    tasks = ("dialogue",)
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
    title = "an evasive reply"
    tasks = ("dialogue",)

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        return rng.choice(replies("back_off")) if text.strip() else None


@dataclass(frozen=True)
class GenericReply(Perturbation):
    """A listed reply that fits any turn of the last one's kind (sec. 5.2; ours for engagingness).

    Not where such a reply would be as good as any, after thanks or for a text that says little beyond what
    was said before, nor where it would not fit: to "When is your birthday?" or to a compliment.
    """

    name = "generic-reply"
    criterion = "engagingness"
    title = "a generic reply"
    tasks = ("dialogue",)

    def apply(self, record: Record, rng: Random) -> str | None:
        last = _SPEAKER.sub("", next(reversed(record.context), ""))
        options = replies("generic", _kind_of_turn(last))
        new = _told(record.gold) - _told(" ".join(record.context))
        is_telling = len(record.gold.split()) >= _TELLING and len(new) > 2
        is_thanks = "thank" in record.gold.lower()
        return rng.choice(options) if options and is_telling and not is_thanks else None


@cache
def _turns() -> tuple[tuple[str, str], ...]:
    table = toml_file("checklist", "templates")
    parts = {"{lead}": table["turn_lead"], "{asking}": table["turn_asking"]}
    return tuple((kind, re.sub(r"\{\w+\}", lambda m: parts[m[0]], rule)) for kind, rule in table["turns"])


def _kind_of_turn(turn: str) -> str:
    """The kind of replies that fit a turn, by its last sentence."""
    plain = re.sub(r"\s*'\s*(?=(?:t|s|m|re|ve|ll|d)\b)", "'", turn.replace("’", "'"))  # don ’ t
    text = re.sub(r"\s+([.,!?])", r"\1", plain).strip().lower()
    pieces = [piece.strip() for piece in re.split(r"(?<=[.!?])\s+", text) if any(map(str.isalpha, piece))]
    last = next(reversed(pieces), "")
    if "?" in text and "?" not in last:
        return ""  # the question still waits for its answer
    return next((kind for kind, pattern in _turns() if re.match(pattern, last)), "statement")


@dataclass(frozen=True)
class RandomResponse(Perturbation):
    """What another dialogue says, where it names matters of its own: not "Certainly!", which fits anywhere.

    A corpus in English whose replies are few or short borrows turns of the embedded dialogues.
    """

    name = "random-response"
    criterion = "relevance"
    title = "an unrelated reply"
    tasks = ("dialogue",)
    reads = "others"
    languages = None

    def apply(self, record: Record, rng: Random) -> str | None:
        told = _told(" ".join([record.gold, *record.context, *record.references]))
        replies = list(filter(None, map(_own_matter, edit.unrelated_texts(record))))
        if len(replies) < _ENOUGH and record.language in ("", "en"):
            replies += _embedded_turns()
        fitting = [reply for reply in dict.fromkeys(replies) if told.isdisjoint(_told(reply))]
        return rng.choice(fitting) if fitting else None


@cache
def _embedded_turns() -> tuple[str, ...]:
    dialogues = jsonl_file("corpora", "dialogue")
    turns = [_SPEAKER.sub("", turn) for row in dialogues for turn in (*row["context"], row["gold"])]
    return tuple(dict.fromkeys(filter(None, map(_own_matter, turns))))


@lru_cache(maxsize=4096)
def _own_matter(text: str) -> str | None:
    """A reply without the words that take up what was said before; None where the rest might fit anywhere."""
    openings, rest = template_words("reply_openings"), text.strip()
    while (opening := _OPENING.match(rest)) and opening[1].lower() in openings:
        rest = rest[opening.end() :]
    words = [word.strip(",.!?") for word in split_words(rest.lower())]
    least = _MATTERS + (not template_words("pointing_words").isdisjoint(words))
    is_telling = openings.isdisjoint(words[:1]) and len(_told(rest)) >= least
    return capitalised(rest) if is_telling else None


@lru_cache(maxsize=4096)
def _told(text: str) -> frozenset[str]:
    """The first letters of the words of a text of any language that are neither function words nor empty."""
    words = content_lemmas(_CONTRACTED.sub(" ", " ".join(split_words(text)))) - template_words("empty_words")
    return frozenset(word[:STEM] for word in words)


@dataclass(frozen=True)
class DropQuestions(Perturbation):
    """The questions that end a reply left out, where a statement remains (ours, for inquisitiveness)."""

    name = "drop-questions"
    criterion = "inquisitiveness"
    title = "missing questions"
    tasks = ("dialogue",)

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        asked = list(takewhile(partial(_asks, parse), reversed(parse.sentences)))
        rest = parse.sentences[: len(parse.sentences) - len(asked)]
        lost = content(parse, asked) - content(parse, rest) - template_words("empty_words")
        remains = any(is_substantial(parse, span) for span in rest)
        return parse.piece(Span(0, rest[-1].end)) if lost and remains else None


def _asks(parse: Text, span: Span) -> bool:
    """Whether a sentence is a question, by its mark or by its first words."""
    opens = words_in("asking-word", parse, [parse.first_word(span) or span.start])
    return "?" in parse.piece(span) or (bool(opens) and parse.word_at(span.end - 1) not in ("!", "…"))


@dataclass(frozen=True)
class MachineTalk(Perturbation):
    """A sentence that only a machine would say before the reply (ours: table 5 has none for humanness)."""

    name = "machine-talk"
    criterion = "humanness"
    title = "robotic phrases"
    tasks = ("dialogue",)

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        told = word_list("checklist", "phrases", "machine_talk")
        return f"{rng.choice(told)} {text.strip()}" if text.strip() else None


def _asked(parse: Text) -> Span | None:
    """The words that ask at the start of a text that is one question: When, How many, What kind of."""
    asking = words_in("question-word", parse, range(min(3, len(parse.tokens))))
    if not asking or not parse.text.rstrip().endswith("?") or len(parse.sentences) != 1:
        return None
    phrases, start = word_set("words", "question_words", "phrases"), asking[0]
    spans = [Span(start, start + length) for length in (3, 2)]
    longest = (span for span in spans if " ".join(map(parse.word_at, range(span.start, span.end))) in phrases)
    return next(longest, Span(start, start + 1))


@dataclass(frozen=True)
class DropQuestionWord(Perturbation):
    """When was he born? - Was he born? A preposition before the question word goes with it."""

    name = "drop-question-word"
    criterion = "answerability"
    title = "a missing question word"
    tasks = ("question-generation",)

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold

        def drop(parse: Text, asking: Span) -> Mapping[int, str]:
            whole = stands_in("droppable-question", parse, asking.start, asking.end)
            adverbial = whole and _asks_adverbially(parse, asking)
            return edit.dropped([_with_preposition(parse, asking)]) if adverbial else {}

        return _with_last_question(text, drop)


def _with_last_question(text: str, change: Callable[[Text, Span], Mapping[int, str]]) -> str:
    """The text with a change of its last sentence, where that asks: I see. When was he born?"""
    last = next(reversed(edit.sentences(text)), "")
    parse = edit.read(last)
    asking = _asked(parse)
    if asking is None or parse.is_joined(asking.end - 1):  # Where's
        return text
    return text.rstrip().removesuffix(last) + edit.rewrite(parse, change(parse, asking))


def _asks_adverbially(parse: Text, asking: Span) -> bool:
    led = _with_preposition(parse, asking).start < asking.start
    adverb = led or parse.word_at(asking.start) in _ADVERBIAL
    return adverb and stands_in("asks-adverbially", parse, asking.start, asking.end)


def _with_preposition(parse: Text, asking: Span) -> Span:
    return Span(0 if asking.start == 1 and parse.tokens[0].pos == "ADP" else asking.start, asking.end)


@dataclass(frozen=True)
class ChangeQuestionWord(Perturbation):
    """When was he born? - Where was he born?"""

    name = "change-question-word"
    criterion = "answerability"
    title = "a question that asks for something else"
    tasks = ("question-generation",)

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold

        def change(parse: Text, asking: Span) -> Mapping[int, str]:
            rivals = _rivals(parse, asking)
            # An adverb needs no preposition: From whom did she learn? Why did she learn?
            adverb = bool(rivals) and rivals[0] in _ADVERBIAL
            span = _with_preposition(parse, asking) if adverb else asking
            return edit.dropped([span]) | {span.start: rng.choice(rivals)} if rivals else {}

        return _with_last_question(text, change)


def _rivals(parse: Text, asking: Span) -> list[str]:
    """Other asking words with the same grammar; empty where that is not certain."""
    word, after = parse.word_at(asking.start), parse.tokens[asking.end]
    if after.text.lower() == "of":
        return ["which"] if word == "how" else []
    if after.pos in ("NOUN", "ADJ", "PROPN"):
        return _rivals_before_noun(parse, asking, word)
    frames: dict[str, str] = toml_file("checklist", "templates")["rivals"]
    if _asks_adverbially(parse, asking):
        frames = {adverb: f"asks-{adverb}" for adverb in _ADVERBIAL if adverb != word}
    return [rival for rival, frame in frames.items() if stands_in(frame, parse, asking.start, asking.end)]


def _rivals_before_noun(parse: Text, asking: Span, word: str) -> list[str]:
    if asking.start > 0 or parse.word_at(_asking_phrase(parse, asking).end) in ("", "of"):
        return []
    if word == "how":
        return ["which"] if parse.word_at(asking.end - 1) == "many" else []
    return ["what"] if word == "whose" else ["whose"]


@dataclass(frozen=True)
class QuestionToStatement(Perturbation):
    """Who is the director? - Someone is the director. The asking word becomes an indefinite one."""

    name = "question-to-statement"
    criterion = "answerability"
    title = "a statement in place of the question"
    tasks = ("question-generation",)

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        asking = _asked(parse)
        if asking is None or asking.start or not stands_in("states-plainly", parse, 0, asking.end):
            return None
        words = _statement(parse, asking)
        return capitalised(re.sub(r" (?=['’]\w)", "", " ".join(words))) + "." if words else None


def _statement(parse: Text, asking: Span) -> Parts | None:
    """The parts of the statement in order, or None where the question is too complex."""
    phrase, last = _asking_phrase(parse, asking), len(parse.tokens) - 1  # the question mark
    indefinite, after = _indefinite(parse, asking, phrase), phrase.end
    if indefinite is None or after >= last:
        return None
    if stands_in("asks-as-subject", parse, phrase.start, phrase.end):
        plain = stands_in("follows-subject", parse, after)
        return [indefinite, parse.piece(Span(after, last))] if plain else None
    subject = _inverted_subject(parse, after)
    return None if subject is None else _uninverted(parse, after, subject, indefinite, asking)


def _inverted_subject(parse: Text, auxiliary: int) -> Span | None:
    """The subject that follows an auxiliary; None where the parse shows none."""
    heads = words_in("subject-of-verb", parse, range(auxiliary + 1, len(parse.tokens)))
    subject = parse.subtree(heads[0]) if heads else None
    if subject is None or subject.start != auxiliary + 1:
        return None
    return subject if stands_in("inverted", parse, auxiliary, subject.end) else None


def _asking_phrase(parse: Text, asking: Span) -> Span:
    """The asking words with the noun they ask about: How many capital cities; What kind of music."""
    is_open = parse.word_at(asking.end - 1) == "of"
    around = [chunk.end for chunk in parse.chunks if chunk.start <= asking.start and chunk.end > asking.end]
    behind = [chunk.end for chunk in parse.chunks if is_open and chunk.start == asking.end]
    return Span(asking.start, next(iter([*around, *behind]), asking.end))


def _indefinite(parse: Text, asking: Span, phrase: Span) -> str | None:
    """The indefinite words for what is asked, or None where there are none."""
    words = list(map(parse.word_at, range(asking.start, asking.end)))
    if phrase.end == asking.end:
        indefinite: dict[str, str] = toml_file("checklist", "templates")["indefinite"]
        return indefinite.get(" ".join(words))
    kind = words[1:] if words[-1] == "of" else []
    some = " ".join(["some", *kind, parse.piece(Span(asking.end, phrase.end))])
    return some if words[0] in ("what", "which", "how") else None


def _uninverted(parse: Text, auxiliary: int, subject: Span, indefinite: str, asking: Span) -> Parts | None:
    """The subject before its auxiliary, with do-support taken away: did she learn, she learned."""
    last, verb = len(parse.tokens) - 1, parse.tokens[subject.end]
    helper = parse.word_at(auxiliary).replace("’", "'")
    support = _FULL_BE.get(helper, helper)
    if subject.end >= last or (support in edit.DO_TAGS and verb.tag != "VB"):
        return None
    words = [support, verb.text]
    if support in edit.DO_TAGS:
        base = edit.lemma_of(verb.text, "verb")
        words = [edit.inflect(base, edit.DO_TAGS[support]) or base]
    placed = _placed(parse, Span(subject.end + 1, last), indefinite, asking)
    return [parse.uncapitalised(subject), *words, *placed]


def _placed(parse: Text, rest: Span, indefinite: str, asking: Span) -> Parts:
    """The rest, with the indefinite words after what governs them; an adverb at the end."""
    governor = _governor(parse, asking)
    at = rest.start
    if indefinite in template_words("indefinite_adverbs"):
        at = rest.end
    elif rest.start <= governor < rest.end and parse.word_at(asking.end - 1) != "much":
        at = governor + 1  # but: how much did it cost them, it cost something them
    before, after = parse.piece(Span(rest.start, at)), parse.piece(Span(at, rest.end))
    return list(filter(None, [before, indefinite, after]))


def _governor(parse: Text, asking: Span) -> int:
    """The word that the asking words depend on, whatever noun is between."""
    governor = parse.tokens[asking.start].head
    while parse.tokens[governor].pos == "NOUN" or asking.start <= governor < asking.end:
        if parse.tokens[governor].head == governor:
            break
        governor = parse.tokens[governor].head
    return governor
