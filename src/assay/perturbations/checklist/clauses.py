"""What the rewording templates share: the parts of a clause, and how to write them in another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from assay.datasets import lexicon
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.meaning import garbled
from assay.perturbations.edit import Text

Changes = Mapping[int, str]
# Relations that a clause of subject, verb and object alone does not have.
COMPLEMENTS = frozenset(
    ["neg", "ccomp", "xcomp", "prt", "dative", "oprd", "conj", "cc", "advcl", "expl", "mark", "acomp", "aux"]
)


def per_sentence(parse: Text, change: Callable[[Text, Span], Changes]) -> dict[int, str]:
    """The changes of every sentence that can be read with confidence."""
    changes: dict[int, str] = {}
    for sentence in parse.sentences:
        if not garbled(parse, sentence):
            changes |= change(parse, sentence)
    return changes


def moved(parse: Text, sentence: Span, pieces: list[str]) -> dict[int, str]:
    """The changes that write a sentence's words anew, up to the mark that ends it."""
    end = words_end(parse, sentence)
    words = " ".join(piece.strip() for piece in pieces if piece.strip()).replace(" ,", ",")
    return edit.dropped([Span(sentence.start, end)]) | {sentence.start: lexicon.capitalised(words)}


def words_end(parse: Text, sentence: Span) -> int:
    """Where the words of a sentence end and its final marks begin."""
    return parse.word_indices(sentence)[-1] + 1


def is_plain(parse: Text, sentence: Span, *, marks: str = ",-%$£€'’") -> bool:
    """Whether a sentence is a statement without quotations, brackets and other marks."""
    end = words_end(parse, sentence) if parse.word_indices(sentence) else sentence.start
    inside = parse.tokens[sentence.start : end]
    plain = all(edit.is_word(token) or token.text in marks for token in inside)
    final = parse.piece(Span(end, sentence.end)).strip() if end < sentence.end else ""
    tokenised = any(t.space and n.text.startswith(("'", "n't")) for t, n in pairwise(inside))
    plain = plain and bool(inside) and _is_case_known(parse, sentence.start)
    return plain and len(inside) > 3 and final in (".", "!", "") and not tokenised


def child(parse: Text, index: int, *deps: str) -> int | None:
    """The first dependent of a word with one of these relations."""
    return next(
        (i for i, t in enumerate(parse.tokens) if t.head == index and i != index and t.dep in deps), None
    )


def piece(parse: Text, start: int, end: int, *, opens: bool = False) -> str:
    """The text of some tokens; without its capital where it opened the sentence."""
    if start >= end:
        return ""
    text, token = parse.piece(Span(start, end)), parse.tokens[start]
    return text if not opens or token.pos == "PROPN" or token.text == "I" else text[0].lower() + text[1:]


def _is_case_known(parse: Text, index: int) -> bool:
    """Whether a word that opens a sentence is surely a name or surely none: not Arsenal, tagged as a noun."""
    token = parse.tokens[index]
    if token.pos == "PROPN":
        follows = parse.tokens[index + 1].text if index + 1 < len(parse.tokens) else ""
        return bool(token.entity) or follows[:1].isupper() or not edit.known_classes(token.text)
    common = token.pos in ("DET", "PRON", "ADP", "SCONJ", "NUM", "ADV")
    return common or (token.tag == "NNS" and not token.entity)


def is_plural(parse: Text, index: int) -> bool:
    """Whether a noun takes a plural verb."""
    token = parse.tokens[index]
    joined = any(t.dep == "conj" for t in parse.children(index))
    return (
        token.tag in ("NNS", "NNPS") or joined or token.text.lower() in ("people", "police", "they", "these")
    )


def full_phrase(parse: Text, head: int) -> Span | None:
    """A short noun phrase with an article, an owner or a name: no pronoun, no clause."""
    span, noun = parse.subtree(head), parse.tokens[head]
    if span is None or span.end - span.start > 8 or noun.pos not in ("NOUN", "PROPN"):
        return None
    inside = parse.tokens[span.start : span.end]
    pronoun = any(t.tag in ("PRP", "PRP$", "WP", "WDT", "WP$", "EX") or t.pos == "VERB" for t in inside)
    vague = inside[0].text.lower() in ("this", "that", "these", "those", "no", "each", "other", "some", "any")
    measured = noun.entity in ("DATE", "TIME", "MONEY", "PERCENT", "QUANTITY", "CARDINAL")
    named = (
        noun.pos == "PROPN"
        or noun.tag == "NNS"
        or any(t.dep in ("det", "poss") for t in parse.children(head))
    )
    plain = all(edit.is_word(t) or t.text in "-'’" for t in inside) and not any(
        t.pos == "NUM" for t in inside
    )
    return span if plain and named and not (pronoun or vague or measured) else None
