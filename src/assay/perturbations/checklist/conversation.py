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
from assay.datasets.lexicon import capitalised, replies, template_words, word_list, word_set
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.structure import RandomText, is_substantial
from assay.perturbations.edit import Text
from assay.perturbations.negation import negation
from assay.vocabulary import Criterion

_SPEAKER = re.compile(r"^\s*([\w .'’-]{1,20}):\s+")
_ADVERBIAL = ("when", "where", "why", "how")
_PLACING = frozenset(["in", "at", "to", "on", "into", "inside", "from", "near", "around", "between", "above"])
_FULL_BE = {"'s": "is", "'re": "are", "'m": "am"}  # an end of a contraction cannot stand apart
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
    apart = re.search(r"\s['’]\s", sentence) is not None  # It ’ s: the parser cannot read it
    undenied = joined or apart or any(t.text.lower() in template_words("undenied") for t in parse.tokens)
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
    """A listed reply that fits any turn of the last one's kind (sec. 5.2; ours for engagingness)."""

    name = "generic-reply"
    criterion = "engagingness"

    def apply(self, record: Record, rng: Random) -> str | None:
        if not record.gold.strip():
            return None
        last = _SPEAKER.sub("", record.context[-1]) if record.context else ""
        own = re.sub(r"\W+", " ", record.gold.lower()).strip()
        options = replies("generic", _kind_of_turn(last))
        return rng.choice([o for o in options if re.sub(r"\W+", " ", o.lower()).strip() != own])


_LEAD = r"(so|and|but|then|well|oh|okay|ok|now|really)?[ ,]*((in|at|on|for|from|to|with|by) )?"
_ASKING = r"(who|whom|whose|what|which|where|when|why|how)\b"
# What a turn's last sentence asks for, by how it begins or what it holds; the first that matches counts.
_TURNS = (
    (
        "wellbeing",
        r"how('s| is| are| have| do) (you( (doing|been|today|do|feeling))?|it going|things|life)[^a-z]*$",
    ),
    ("mind", r"(do|would) you mind\b"),
    ("choice", rf"(?!{_ASKING})[^?]*\bor\b(?! (so|not|something|anything)\b)[^?]*\?"),
    ("request", r"(can|could|may|might|shall|would|will|should) (you|i|we)\b[^?]*\?"),
    ("request", r"[^?]*\b(would you|could you|shall we|okay|all right)\?"),
    ("question", rf"{_LEAD}{_ASKING}[^?]*\?"),
    ("question", rf".*[,.] *{_ASKING}[^?]*\?"),
    ("yes-no", r".*\?"),
    ("wish", r"(oh, |well, |certainly, |sure, )?here (you are|you go|it is|they are)"),
    ("thanks", r".*\b(thanks?|thank you|grateful|appreciate)\b"),
    ("apology", r"(oh |i'?m |i am )?(so |very |really |terribly )*(sorry|excuse me|my apologies)\b"),
    ("farewell", r".*\b(good ?bye|bye|good ?night|see you|take care)\b"),
    ("greeting", r"(hello|hi|hey|good (morning|afternoon|evening)|welcome|nice to (see|meet) you)\b"),
    (
        "request",
        r"(please|let's|let me|give|tell|show|wait|take|come|try|don't|i'd like|i want|i need)\b",
    ),
    (
        "wish",
        r".*\b(congratulations|good luck|have a (nice|good|great)|happy birthday|enjoy your|best wishes)\b",
    ),
)


def _kind_of_turn(turn: str) -> str:
    """The kind of replies that fit a turn, by its last sentence."""
    text = re.sub(r"\s+([.,!?])", r"\1", turn.replace("’", "'")).strip().lower()
    pieces = [piece.strip() for piece in re.split(r"(?<=[.!?])\s+", text) if any(map(str.isalpha, piece))]
    last = pieces[-1] if pieces else ""
    return next((kind for kind, pattern in _TURNS if re.match(pattern, last)), "statement")


@dataclass(frozen=True)
class RandomResponse(RandomText):
    """The reply of another dialogue."""

    name = "random-response"


@dataclass(frozen=True)
class DropQuestions(Perturbation):
    """The questions of a reply left out, where a statement remains (ours, for inquisitiveness)."""

    name = "drop-questions"
    criterion = "inquisitiveness"

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        questions = [span for span in parse.sentences if _asks(parse, span)]
        rest = [span for span in parse.sentences if span not in questions]
        if not questions or not any(is_substantial(parse, span) for span in rest):
            return None
        return edit.rewrite(parse, edit.dropped(questions)).strip()


def _asks(parse: Text, span: Span) -> bool:
    """Whether a sentence is a question, by its mark or by its first words."""
    first = parse.first_word(span)
    opens = first is not None and parse.tokens[first].tag in edit.QUESTION_TAGS
    return "?" in parse.piece(span) or (opens and parse.word_at(span.end - 1) not in ("!", "…"))


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
    verbs = {token.lemma for token in parse.tokens[asking.end :]}
    if words == ["how", "long"] and verbs & {"take", "last"}:
        return False  # How long does it take?
    if words[1:] == ["much"] or words[1:] == ["many"]:
        return False  # How much does it cost?
    root = parse.root_of(parse.sentences[0])
    predicate = None if root is None else parse.tokens[root].lemma
    if predicate == "be" or (words[0] == "how" and predicate in template_words("how_predicates")):
        return False  # How are you feeling? When will the flight be?
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
    if any(t.dep == "neg" for t in parse.tokens[asking.end : asking.end + 3]):
        return []  # Why don't you come?
    if _asks_adverbially(parse, asking):
        return _other_adverbs(parse, asking, word)
    if token.dep in ("nsubj", "nsubjpass"):
        # In place of a person: how many people, if the verb shows no number.
        numberless = after.tag in ("VBD", "MD") and after.lemma != "be"
        return ["who"] if word != "who" else ["how many people"] if numberless else ["whose friend"]
    if after.dep not in ("aux", "auxpass"):
        named = asking.end + 1 < len(parse.tokens) and parse.tokens[asking.end + 1].tag in (
            "DT",
            "PRP$",
            "NNP",
        )
        return ["where"] if after.lemma == "be" and word in ("how", "what") and named else []
    verb = edit.lemma_of(parse.tokens[token.head].text, "verb")
    if asking.start > 0 or token.dep != "dobj":
        return []
    return (
        ["what"]
        if word in ("who", "whom")
        else ["who"]
        if verb in template_words("person_object_verbs")
        else []
    )


def _other_adverbs(parse: Text, asking: Span, word: str) -> list[str]:
    """Other adverbs that may ask; why and how are too near to stand for each other."""
    later = parse.tokens[asking.end :]
    words = {t.text.lower() for t in later}
    barred = {word, *({"why", "how"} if word in ("why", "how") else ())}
    if later[0].lemma == "have" or any(t.entity in ("DATE", "TIME") for t in later):
        barred.add("when")  # no "when" before a perfect, or beside a date
    if words & (_PLACING | {"there", "here", "home"}):
        barred.add("where")
    stative = any(
        edit.lemma_of(t.text, "verb") in template_words("state_verbs") for t in later if t.dep == "ROOT"
    )
    return [] if stative else [other for other in _ADVERBIAL if other not in barred]


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
        plain = asking.start == 0 and not any(t.text in (",", ";", ":") for t in parse.tokens)
        words = _statement(parse, asking) if plain else None
        return capitalised(re.sub(r" (?=['’]\w)", "", " ".join(words))) + "." if words else None


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
    quality = indefinite == "somehow" and tokens[after].lemma == "be" and tokens[after].dep == "ROOT"
    if not auxiliary or quality or subject is None or subject.start != after + 1:
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
    who = parse.uncapitalised(subject)
    support = _FULL_BE.get(tokens[auxiliary].text.lower().replace("’", "'"), tokens[auxiliary].text.lower())
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
    amount = tokens[asking.end - 1].text.lower() == "much"  # how much did it cost: it cost something
    if amount:
        governor = rest.start - 1
    adverb = (
        tokens[asking.start].text.lower() in _ADVERBIAL and not indefinite.startswith("some ") and not amount
    )
    inside = rest.start <= governor < rest.end
    at = rest.end if adverb else governor + 1 if inside else rest.start
    before, after = Span(rest.start, at), Span(at, rest.end)
    parts = [parse.piece(span) if span.end > span.start else "" for span in (before, after)]
    return [part for part in (parts[0], indefinite, parts[1]) if part]
