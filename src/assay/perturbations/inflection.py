"""Lemmas to the form a tag asks for, and whether a string is a word at all."""

from __future__ import annotations

from functools import cache

from assay.nlp import Token
from assay.perturbations.lexicon import CLASSES

_BASE = {"NN": "noun", "NNP": "noun", "JJ": "adj", "RB": "adv", "VB": "verb"}
_UPOS = {"noun": "NOUN", "adj": "ADJ", "adv": "ADV", "verb": "VERB"}


@cache
def inflect(lemma: str, tag: str) -> str | None:
    """The lemma in the form of a Penn tag; of several words, the one that carries the ending changes.

    >>> inflect("city", "NNS"), inflect("give up", "VBD"), inflect("big", "JJR")
    ('cities', 'gave up', 'bigger')
    """
    from lemminflect import getInflection

    if tag in _BASE or tag in ("RP", "IN"):
        return lemma
    head, gap, tail = lemma.partition(" ")
    if gap:
        if tag[0] == "N":
            front, _, last = lemma.rpartition(" ")
            return f"{front} {inflect(last, tag)}"
        return f"{inflect(head, tag)} {tail}"
    forms = getInflection(lemma, {"NNPS": "NNS"}.get(tag, tag))
    if not forms:
        return None
    if tag in ("JJR", "JJS", "RBR", "RBS") and len(lemma) > 6 and not lemma.endswith("y"):
        return f"{'more' if tag.endswith('R') else 'most'} {lemma}"
    return str(forms[0])


@cache
def lemma_of(text: str, word_class: str) -> str:
    """The dictionary form of a word of a class; more reliable than the parser's for rare words."""
    from lemminflect import getLemma

    found = getLemma(text.lower(), _UPOS[word_class])
    return str(found[0]) if found else text.lower()


def class_and_lemma(token: Token) -> tuple[str, str] | None:
    """The word class and lemma under which the lists know a token."""
    word_class = CLASSES.get(token.pos)
    if word_class is None:
        return None
    return word_class, token.text.lower() if word_class == "prep" else lemma_of(token.text, word_class)


@cache
def known_word(text: str) -> bool:
    """Whether the dictionary knows the word in any class."""
    from lemminflect import getAllLemmas

    return bool(getAllLemmas(text.lower()))


@cache
def known_as(text: str, pos: str) -> bool:
    """Whether the dictionary knows the word in this class: NOUN, VERB, ADJ or ADV."""
    from lemminflect import getAllLemmas

    return pos in getAllLemmas(text.lower())
