"""Meaning templates: edits that change the meaning and keep the grammar, and synonyms, which keep both.

Table 5 of *checklist*: negation, opposites and siblings should lower a score; synonyms should not. `negation`
is for other templates too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from random import Random

from assay.datasets import lexicon
from assay.perturbations import edit
from assay.perturbations.checklist.frames import synonym_rows, unframed_synonyms
from assay.perturbations.edit import Text
from assay.perturbations.negation import negation

_TIED = ("to", "from", "of", "with", "for", "into", "against", "about", "out")  # prepositions a verb chooses
_DENYING = frozenset(
    ["no", "not", "n't", "n’t", "never", "nobody", "nothing", "none", "neither", "nor", "without"]
)
_GRADING = ("however", "how", "so", "as", "less", "more")
_FULL = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}


# --- another meaning: words exchanged ---


@edit.template("antonyms", "adequacy")
def Antonyms(parse: Text, rng: Random, *, share: float = 0.5) -> Mapping[int, str]:
    """A share of the words replaced by their opposites, one per sentence: two may undo each other."""
    bound = {i for i in range(len(parse.tokens)) if _resists_opposite(parse, i)}
    return _exchanged(parse, lexicon.antonyms(), share, rng, skip=bound, single=True)


@edit.template("siblings", "correctness")
def Siblings(parse: Text, rng: Random, *, share: float = 0.5) -> Mapping[int, str]:
    """A share of the words replaced by others of their kind (the paper's hyponyms): musician, dancer."""
    return _exchanged(parse, lexicon.siblings(), share, rng)


def _resists_opposite(parse: Text, index: int) -> bool:
    """Whether an opposite would not fit: not always, not never; however often; for longer, for shorter."""
    token = parse.tokens[index]
    sentence = parse.sentence_of(index)
    words = {t.text.lower() for t in parse.tokens[sentence.start : sentence.end]}
    denied = bool(words & _DENYING)
    measured = index > 0 and any(map(str.isdigit, parse.tokens[index - 1].text))  # 100ft wide
    opens = token.pos == "ADV" and index == parse.first_word(sentence)  # Often there are, Rarely are there
    graded = token.pos == "ADV" and parse.word_at(index - 1) in _GRADING
    adjuncts = [t for t in parse.children(index) if t.dep in ("prep", "agent")]
    described = token.pos == "VERB" and len(adjuncts) > 1  # they say how it was done: built in the style of
    noun_like = token.pos == "ADJ" and token.dep in ("pobj", "pcomp", "nsubj", "dobj")
    return denied or measured or opens or graded or described or noun_like


def _exchanged(
    parse: Text,
    table: lexicon.Pairs,
    share: float,
    rng: Random,
    *,
    skip: Collection[int] = (),
    single: bool = False,
) -> dict[int, str]:
    """Exchange a share of the words in a table, in the form of the old ones.

    A repeated word is exchanged for the same word everywhere, never for one that the text has already. A word
    that must stay in one place stays in all. With `single`, only one word of a sentence changes.
    """
    indices = [i for i in range(len(parse.tokens)) if i not in skip]
    options = {i: forms for i in indices if (forms := _forms(parse, i, table))}
    places: dict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(parse.tokens):
        places[token.text.lower()].append(index)
    changes: dict[int, str] = {}
    for word in edit.draw_share([w for w in places if options.keys() >= set(places[w])], share, rng):
        fresh = [other for other in options[places[word][0]] if other.lower() not in places]
        changed = {*places[word], *changes}
        crowded = any(sum(s.start <= i < s.end for i in changed) > 1 for s in parse.sentences)
        if fresh and not (single and crowded):
            other = rng.choice(fresh)
            changes.update({i: lexicon.match_case(other, parse.tokens[i].text) for i in places[word]})
    return changes


def _forms(parse: Text, index: int, table: lexicon.Pairs) -> list[str]:
    """The words that the table gives for a word, in its form; empty where none would fit."""
    token = parse.tokens[index]
    known = edit.class_and_lemma(token)
    if known is None or not stands_free(parse, index) or not _is_replaceable(parse, index):
        return []
    word_class, lemma = known
    if token.tag in ("JJ", "RB", "NN", "VB") and lemma != token.text.lower():
        return []  # the tagger and the dictionary disagree on the form
    proper = (word_class, lemma.capitalize())
    if token.pos == "PROPN" and proper not in table:
        return []
    others = table.get((word_class, lemma), ())
    if not others and (token.pos == "PROPN" or lemma.capitalize() == token.text):
        others = table.get(proper, ())
    gender = lexicon.gendered(lemma)
    same_gender = [other for other in others if gender is None or lexicon.gendered(other) in (gender, None)]
    return [form for other in same_gender or others if (form := edit.inflect(other, token.tag))]


def _is_replaceable(parse: Text, index: int) -> bool:
    """Whether another word of the class fits the place: no neighbour asks for this very word.

    Sold it to her, bought it to her; a fire station, a fire harbour; 21 nautical yards; in airport.
    """
    token, tokens = parse.tokens[index], parse.tokens
    dependents = parse.children(index)
    if token.pos == "VERB":
        complement = any(t.dep in ("xcomp", "ccomp", "acomp", "oprd") for t in dependents)
        tied = any(t.dep == "prep" and t.text.lower() in _TIED for t in dependents)
        return not complement and not tied and token.dep != "amod"
    if token.pos not in ("NOUN", "PROPN"):
        return True
    if token.tag == "NN" and tokens[token.head].tag == "VBG" and token.head == index - 1:
        return False  # packaging film: a compound, whatever the parse says
    deps = {t.dep for t in dependents}
    place = tokens[token.head].text.lower() in ("in", "at", "to") and token.dep == "pobj"
    bare = place and token.tag == "NN" and not deps & {"det", "poss", "nummod"}
    return not (bare or token.dep == "compound" or "compound" in deps or {"nummod", "amod"} <= deps)


def stands_free(parse: Text, index: int) -> bool:
    """Whether a word is independent: no particle of its own, no part of a name or of a longer word."""
    token = parse.tokens[index]
    if parse.is_joined(index) or token.entity in ("PERSON", "ORG", "FAC", "WORK_OF_ART", "PRODUCT"):
        return False
    deps = {t.dep for t in parse.children(index)}
    if "npadvmod" in deps or (token.pos == "VERB" and deps & {"prt", "dative"}):  # 57 metres high
        return False
    beside = parse.neighbours(index)
    return not any(t.pos == "PROPN" and t.dep == "compound" and t.head == index for t in beside)


# --- another meaning: negation ---


@edit.template("negate", "adequacy")
def Negate(parse: Text, rng: Random, *, share: float = 0.5) -> Mapping[int, str]:
    """The main clause of a share of the sentences is negated, or loses its negation."""
    negated = [changes for sentence in parse.sentences if (changes := negation(parse, sentence))]
    drawn = edit.draw_share(negated, share, rng)
    return {index: word for changes in drawn for index, word in changes.items()}


# --- the same meaning ---


@edit.template("synonyms", "invariance", expect="same")
def Synonyms(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every word that has a synonym safe in its frame replaced by it: a large rock, a big rock."""
    table = {key: (synonym,) for key, (synonym, _) in synonym_rows().items()}
    return _exchanged(parse, table, 1.0, rng, skip=unframed_synonyms(parse))
