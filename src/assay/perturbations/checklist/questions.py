"""Question templates: the question word dropped or changed, the question made a statement (table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import word_list
from assay.models.nlp import Parse, Span, parse_one
from assay.perturbations.edit import capitalised, dropped, inflect, lemma_of, lowered, rewrite
from assay.perturbations.phrases import subtree

_WH = ("WDT", "WP", "WP$", "WRB")
_ADVERBIAL = ("when", "where", "why", "how")
_PLACING = frozenset(["in", "at", "to", "on", "into", "inside", "from", "near", "around", "between", "above"])
_INDEFINITE = {
    "who": "someone", "whom": "someone", "what": "something", "when": "at some time", "where": "somewhere",
    "why": "for some reason", "how": "somehow",
}  # fmt: skip


def question_phrase(parse: Parse) -> Span | None:
    """The word or listed phrase that asks: When, How many, What kind of."""
    for index, token in enumerate(parse.tokens):
        if token.tag in _WH and token.text.lower() in word_list("words", "question_words", "words"):
            for length in (3, 2):
                words = " ".join(t.text.lower() for t in parse.tokens[index : index + length])
                if words in word_list("words", "question_words", "phrases"):
                    return Span(index, index + length)
            return Span(index, index + 1)
    return None


def _asks(record: Record) -> Parse | None:
    """The parsed text, where it is one question with a question word in its opening."""
    parse = parse_one(record.gold)
    found = question_phrase(parse)
    opening = found is not None and found.start <= 2
    return parse if opening and record.gold.rstrip().endswith("?") and len(parse.sentences) == 1 else None


@dataclass(frozen=True)
class DropQuestionWord(Perturbation):
    """When was he born? - Was he born?"""

    name = "drop-question-word"
    criterion = "answerability"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop the word or phrase that asks, and a preposition before it, where a question is left."""
        parse = _asks(record)
        found = question_phrase(parse) if parse else None
        if parse is None or found is None or not _asks_beside(parse, found):
            return None
        return dropped(parse, [_with_preposition(parse, found)])


def _with_preposition(parse: Parse, found: Span) -> Span:
    return Span(0 if found.start == 1 and parse.tokens[0].pos == "ADP" else found.start, found.end)


def _asks_beside(parse: Parse, found: Span) -> bool:
    """Whether the question asks for time, place, reason or manner, which the verb could do without."""
    led = _with_preposition(parse, found).start < found.start
    asking, after = parse.tokens[found.start], parse.tokens[found.end]
    beside = led or asking.text.lower() in _ADVERBIAL
    return beside and after.dep in ("aux", "auxpass") and not _takes_time(parse, found)


def _takes_time(parse: Parse, found: Span) -> bool:
    """How long does it take? The verb cannot do without the time."""
    words = [token.text.lower() for token in parse.tokens[found.start : found.end]]
    return words == ["how", "long"] and any(token.lemma in ("take", "last") for token in parse.tokens)


@dataclass(frozen=True)
class ChangeQuestionWord(Perturbation):
    """When was he born? - Where was he born?"""

    name = "change-question-word"
    criterion = "answerability"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Ask for something else with words of the same grammar."""
        parse = _asks(record)
        found = question_phrase(parse) if parse else None
        if parse is None or found is None:
            return None
        rivals = _rivals(parse, found)
        if not rivals:
            return None
        # An adverb needs no preposition: From whom did she learn? Why did she learn?
        span = _with_preposition(parse, found) if rivals[0] in _ADVERBIAL else found
        changes = dict.fromkeys(range(span.start, span.end), "") | {span.start: rng.choice(rivals)}
        return rewrite(parse, changes)


def _rivals(parse: Parse, found: Span) -> list[str]:
    """Words that fit where the asking phrase stands; none where that is not sure."""
    asking, after = parse.tokens[found.start], parse.tokens[found.end]
    word = asking.text.lower()
    if after.text.lower() == "of":
        return ["which"] if word == "how" else []
    if after.pos in ("NOUN", "ADJ", "PROPN"):
        return _before_noun(parse, found, word)
    if after.pos not in ("AUX", "VERB"):
        return []
    if _asks_beside(parse, found):
        return _adverbs(parse, found, word)
    if asking.dep in ("nsubj", "nsubjpass"):
        return _subjects(after.tag, after.lemma) if word == "who" else ["who"]
    if after.dep not in ("aux", "auxpass"):
        return ["where"] if after.lemma == "be" and word in ("how", "what") else []
    return {"what": ["how much"], "who": ["what"], "whom": ["what"]}.get(word, []) if found.start == 0 else []


def _before_noun(parse: Parse, found: Span, word: str) -> list[str]:
    noun = _asking_phrase(parse, found).end
    if noun >= len(parse.tokens) or parse.tokens[noun].text.lower() == "of" or found.start > 0:
        return []
    if word == "how":
        return ["which"] if parse.tokens[found.end - 1].text.lower() == "many" else []
    return ["what"] if word == "whose" else ["whose"]


def _subjects(tag: str, lemma: str) -> list[str]:
    """In the place of a person: how many people, where the verb shows no number."""
    return ["how many people"] if tag in ("VBD", "MD") and lemma != "be" else ["whose friend"]


def _adverbs(parse: Parse, found: Span, word: str) -> list[str]:
    """When not with a perfect, where not beside a place."""
    behind = {token.text.lower() for token in parse.tokens[found.end :]}
    barred = {word} | ({"when"} if parse.tokens[found.end].lemma == "have" else set())
    barred |= {"where"} if behind & _PLACING else set()
    return [other for other in _ADVERBIAL if other not in barred]


@dataclass(frozen=True)
class QuestionToStatement(Perturbation):
    """Who is the director? - Someone is the director. The asking word becomes an indefinite one."""

    name = "question-to-statement"
    criterion = "answerability"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Undo the inversion, and end with a full stop."""
        parse = _asks(record)
        found = question_phrase(parse) if parse else None
        if parse is None or found is None or found.start != 0:
            return None
        words = _statement(parse, found)
        return capitalised(" ".join(words)) + "." if words else None


def _statement(parse: Parse, found: Span) -> list[str] | None:
    """The words of the statement, in order."""
    tokens = parse.tokens
    last = len(tokens) - 1  # the question mark
    phrase = _asking_phrase(parse, found)
    asked = _indefinite(parse, found, phrase)
    after = phrase.end
    if asked is None or after >= last:
        return None
    head = tokens[tokens[found.start].head]
    subject_asked = tokens[after].pos in ("VERB", "AUX") and _asks_subject(parse, phrase)
    if subject_asked and tokens[after].dep == "aux" and tokens[after].lemma == "do":
        return None  # the parse is wrong: do-support never follows the subject
    if subject_asked:
        return [asked, parse.piece(Span(after, last))]
    subject = _subject_after(parse, after)
    if (tokens[after].pos != "AUX" and tokens[after].lemma != "be") or subject is None or head is None:
        return None
    return _uninverted(parse, after, subject, last, asked, found)


def _asking_phrase(parse: Parse, found: Span) -> Span:
    """The asking words with the noun they ask about: How many capital cities."""
    for chunk in parse.chunks:
        if chunk.start <= found.start < chunk.end and chunk.end > found.end:
            return Span(found.start, chunk.end)
    if found.end - found.start > 1 and parse.tokens[found.end - 1].text.lower() == "of":
        later = next((c for c in parse.chunks if c.start == found.end), None)
        return Span(found.start, later.end) if later else found
    return found


def _indefinite(parse: Parse, found: Span, phrase: Span) -> str | None:
    words = [t.text.lower() for t in parse.tokens[found.start : found.end]]
    if phrase.end > found.end:
        noun = parse.piece(Span(found.end, phrase.end))
        kind = " ".join(words[1:]) if words[-1] == "of" else ""
        return f"some {kind} {noun}".replace("  ", " ") if words[0] in ("what", "which", "how") else None
    if len(words) > 1:
        return {"long": "for some time", "often": "sometimes", "much": "something"}.get(words[1])
    return _INDEFINITE.get(words[0])


def _asks_subject(parse: Parse, phrase: Span) -> bool:
    inside = parse.tokens[phrase.start : phrase.end]
    return any(t.dep in ("nsubj", "nsubjpass") and not phrase.start <= t.head < phrase.end for t in inside)


def _subject_after(parse: Parse, auxiliary: int) -> Span | None:
    """The subject, where it stands right behind the auxiliary."""
    for index, token in enumerate(parse.tokens):
        if token.dep in ("nsubj", "nsubjpass") and index > auxiliary:
            span = subtree(parse, index)
            return span if span and span.start == auxiliary + 1 else None
    return None


def _uninverted(
    parse: Parse, auxiliary: int, subject: Span, last: int, asked: str, found: Span
) -> list[str] | None:
    tokens = parse.tokens
    who = lowered(parse, subject)
    support = tokens[auxiliary].text.lower()
    if subject.end >= last:  # Who is the director? The director is someone. But how much is it?
        plain = tokens[auxiliary].lemma == "be" and found.end - found.start == 1
        return [who, support, asked] if plain else None
    verb = tokens[subject.end]
    if support in ("do", "does", "did") and tokens[auxiliary].dep == "aux":
        tag = {"do": "VBP", "does": "VBZ", "did": "VBD"}[support]
        lasting = asked == "for some time" and verb.lemma in ("take", "last")
        finite = inflect(lemma_of(verb.text, "verb"), tag) if verb.tag == "VB" and not lasting else None
        if finite is None:
            return None
        opening = [who, finite]
    else:
        opening = [who, support, verb.text]
    return _placed(parse, opening, Span(subject.end + 1, last), asked, found)


def _placed(parse: Parse, opening: list[str], rest: Span, asked: str, found: Span) -> list[str]:
    """The indefinite word behind the verb or preposition that governs it; an adverb at the end."""
    tail = parse.piece(rest) if rest.end > rest.start else ""
    governor = parse.tokens[found.start].head
    while found.start <= governor < found.end or (
        parse.tokens[governor].pos == "NOUN" and governor < rest.start - 1
    ):
        governor = parse.tokens[governor].head
    adverb = parse.tokens[found.start].text.lower() in _ADVERBIAL and not asked.startswith("some ")
    if adverb:
        return [*opening, *([tail] if tail else []), asked]
    if rest.start <= governor < rest.end:
        before, behind = Span(rest.start, governor + 1), Span(governor + 1, rest.end)
        return [
            *opening,
            parse.piece(before),
            asked,
            *([parse.piece(behind)] if behind.end > behind.start else []),
        ]
    return [*opening, asked, *([tail] if tail else [])]
