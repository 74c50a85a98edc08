"""Structure templates: sentences and phrases repeated, reordered, added or broken (checklist, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import word_list
from assay.models.nlp import Parse, Span, parse_one
from assay.perturbations.edit import body_and_end, capitalised, drawn, is_word, lowered, rewrite, word_indices


def sentences(text: str) -> list[str]:
    """The sentences of a text that hold a word."""
    parse = parse_one(text)
    return [parse.piece(span).strip() for span in parse.sentences if word_indices(parse, span)]


@dataclass(frozen=True)
class ReorderSentences(Perturbation):
    """The sentences in another order."""

    name = "reorder-sentences"
    criterion = "structure and coherence"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Shuffle so that another sentence opens the text; a text of one sentence has no order."""
        found = sentences(record.gold)
        openings = [i for i, sentence in enumerate(found) if sentence != found[0]]
        if not openings:
            return None
        opening = found.pop(rng.choice(openings))
        rng.shuffle(found)
        return " ".join([opening, *found])


@dataclass(frozen=True)
class RepeatSentences(Perturbation):
    """A sentence comes twice."""

    name = "repeat-sentences"
    criterion = "non-redundancy"
    share: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        """Say a share of the sentences again, behind the text."""
        found = sentences(record.gold)
        again = drawn(found, self.share, rng)
        return " ".join([_ended(record.gold), *again]) if again else None


def _ended(text: str) -> str:
    """The text with a mark at its end, so that another sentence can follow."""
    text = text.rstrip()
    last = max((place for place, letter in enumerate(text) if letter.isalnum()), default=-1)
    return text if any(mark in text[last + 1 :] for mark in ".!?…") else f"{text}."


@dataclass(frozen=True)
class RepeatPhrases(Perturbation):
    """A noun phrase said again at the end: My relatives are in town, my relatives."""

    name = "repeat-phrases"
    criterion = "avoiding repetition"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Repeat a phrase in a share of the sentences."""
        parse = parse_one(record.gold)
        found = [(s, p) for s in parse.sentences if (p := _phrases(parse, s))]
        changes = {}
        for sentence, phrases in drawn(found, self.share, rng):
            last = _last_word(parse, sentence)
            changes[last] = f"{parse.tokens[last].text}, {rng.choice(phrases)}"
        return rewrite(parse, changes) if changes else None


def _last_word(parse: Parse, sentence: Span) -> int:
    return max(i for i in range(sentence.start, sentence.end) if is_word(parse.tokens[i]))


def _phrases(parse: Parse, sentence: Span) -> list[str]:
    """The noun phrases of a sentence, as they would stand inside it; the main subject if it is one."""
    inside = [c for c in parse.chunks if sentence.start <= c.start and c.end <= sentence.end]
    named = [c for c in inside if _names(parse, c) and not _clings(parse, c)]
    main = [c for c in named if _main_subject(parse, c)]
    whole = [lowered(parse, c) if c.start == sentence.start else parse.piece(c) for c in main or named]
    return [phrase for phrase in whole if not set(phrase) & set('"“”()[],;:')]


def _main_subject(parse: Parse, chunk: Span) -> bool:
    head = parse.tokens[chunk.end - 1]
    return head.dep in ("nsubj", "nsubjpass") and parse.tokens[head.head].dep == "ROOT"


def _names(parse: Parse, chunk: Span) -> bool:
    """Whether a phrase stands by itself: not the fact of "in fact", nor the front of "in front of"."""
    head = parse.tokens[chunk.end - 1]
    bare = chunk.end - chunk.start == 1 and head.tag == "NN"
    part = head.text.lower() in word_list("checklist", "templates", "nouns_unfinished")
    apart = part or bare or head.entity in ("DATE", "TIME") or _title(parse, chunk.start)
    return head.pos in ("NOUN", "PROPN") and is_word(head) and not apart


def _title(parse: Parse, index: int) -> bool:
    """Whether "The" may belong to a title, which a small letter would spoil: The Salt Garden."""
    tokens = parse.tokens[index : index + 2]
    return tokens[0].text == "The" and len(tokens) > 1 and tokens[1].text[:1].isupper()


def _clings(parse: Parse, chunk: Span) -> bool:
    """Whether a phrase asks, lives on its context (any chance), or is a clause misread (tourists queue)."""
    tokens = parse.tokens[chunk.start : chunk.end]
    asks = any(token.tag in ("WDT", "WP", "WP$", "WRB") for token in tokens)
    misread = any(token.tag == "NNS" and token.dep == "compound" for token in tokens)
    return asks or misread or tokens[0].text.lower() in ("any", "no", "such")


def borrowed(record: Record, rng: Random) -> str | None:
    """A statement from another item of the corpus, of moderate length."""
    others = [other for other in record.others if other != record.gold]
    for other in rng.sample(others, min(len(others), 12)):
        found = [s for s in sentences(other) if s not in record.gold and _states(s)]
        if found:
            return rng.choice(found)
    return None


def _states(sentence: str) -> bool:
    """Whether a sentence is a statement of its own: not "And yet he came" nor "Careful, it's hot"."""
    if not 3 <= len(sentence.split()) <= 30 or not sentence.endswith("."):
        return False
    tokens = parse_one(sentence).tokens
    root = next((i for i, token in enumerate(tokens) if token.dep == "ROOT"), 0)
    whole = any(t.head == root and t.dep in ("nsubj", "nsubjpass", "expl") for t in tokens)
    goes_on = tokens[0].pos == "CCONJ" or tokens[0].text in ("So", "Then", "Yet", "Nor")
    calls = tokens[0].pos in ("ADJ", "INTJ") and tokens[1].text == ","
    return whole and not goes_on and not calls


@dataclass(frozen=True)
class AddText(Perturbation):
    """Wrong information added: the text goes on with a clause of another item."""

    name = "add-text"
    criterion = "adequacy"
    reads = "others"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Join the clause with "and" where the text ends in a full stop, else let it follow."""
        extra = borrowed(record, rng)
        if extra is None or not record.gold.strip():
            return None
        body, end = body_and_end(record.gold.rstrip())
        parse = parse_one(extra)
        if end != "." or '"' in extra or _title(parse, 0):
            return f"{_ended(record.gold)} {extra}"
        return f"{body}, and {lowered(parse, Span(0, len(parse.tokens)))}"


@dataclass(frozen=True)
class OffTopicSentence(Perturbation):
    """A sentence of another item among the text's own (ours: table 5 has no template for focus)."""

    name = "off-topic-sentence"
    criterion = "focus"
    reads = "others"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Put it behind a sentence other than the last, where there is one."""
        found, extra = sentences(record.gold), borrowed(record, rng)
        if extra is None or not found:
            return None
        at = rng.randrange(1, max(2, len(found)))
        found[at - 1] = _ended(found[at - 1])
        return " ".join([*found[:at], extra, *found[at:]])


@dataclass(frozen=True)
class RandomText(Perturbation):
    """The text of another item in place of this one."""

    name = "random-text"
    criterion = "relevance"
    reads = "others"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Take another gold of the corpus."""
        others = [other for other in record.others if other != record.gold]
        return rng.choice(others) if others else None


@dataclass(frozen=True)
class AddNonsense(Perturbation):
    """A sentence without sense follows."""

    name = "add-nonsense"
    criterion = "making sense"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Add one of the listed sentences."""
        nonsense = rng.choice(word_list("checklist", "phrases", "nonsense"))
        return f"{_ended(record.gold)} {nonsense}" if record.gold.strip() else None


@dataclass(frozen=True)
class SplitSentence(Perturbation):
    """A full stop between subject and verb (ours: table 5 has no template for text structure)."""

    name = "split-sentence"
    criterion = "text structure"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Break a share of the sentences before their main verb."""
        parse = parse_one(record.gold)
        spots = [spot for s in parse.sentences if (spot := _before_verb(parse, s)) is not None]
        changes: dict[int, str] = {}
        for spot in drawn(spots, self.share, rng):
            changes[spot] = f"{parse.tokens[spot].text}."
            changes[spot + 1] = capitalised(parse.tokens[spot + 1].text)
        return rewrite(parse, changes) if changes else None


def _before_verb(parse: Parse, sentence: Span) -> int | None:
    """The last word before the main verb and its auxiliaries, where its subject stands before them."""
    tokens = parse.tokens
    root = next((i for i in range(sentence.start, sentence.end) if tokens[i].dep == "ROOT"), None)
    if root is None or tokens[root].pos not in ("VERB", "AUX"):
        return None
    parts = [
        i
        for i in range(sentence.start, root + 1)
        if i == root or (tokens[i].head == root and tokens[i].dep in ("aux", "auxpass"))
    ]
    subject = [
        i for i in range(sentence.start, root) if tokens[i].head == root and tokens[i].dep.startswith("nsubj")
    ]
    before = parts[0] - 1
    if not subject or subject[-1] > before or before < sentence.start:
        return None
    return before if is_word(tokens[before]) and tokens[before].space else None
