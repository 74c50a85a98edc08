"""Meaning templates: edits that change the meaning and keep the grammar, and synonyms, which keep both.

Table 5 of *checklist*: negation, opposites and siblings should lower a score; synonyms should not. `negation`
is for other templates too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise
from random import Random

from assay.datasets import lexicon
from assay.models.nlp import Span, Token
from assay.perturbations import edit
from assay.perturbations.checklist.frames import synonym_rows, unframed_synonyms
from assay.perturbations.edit import Text

_TIED = ("to", "from", "of", "with", "for", "into", "against", "about", "out")  # prepositions a verb chooses
_GRADING = ("however", "how", "so", "as", "less", "more")
# "I'll not" is rare: contracted auxiliaries are negated in the usual way.
_CLITICS = {
    "'ll": " won't",
    "'ve": " haven't",
    "'d": " wouldn't",
    "'re": " aren't",
    "'m": "'m not",
    "'s": "'s not",
}


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
    verb = {"ADV": token.head, "ADJ": token.head, "VERB": index}.get(token.pos)
    denied = verb is not None and any(t.dep == "neg" for t in parse.children(verb))
    graded = token.pos == "ADV" and parse.word_at(index - 1) in _GRADING
    adjuncts = [t for t in parse.children(index) if t.dep in ("prep", "agent")]
    described = token.pos == "VERB" and len(adjuncts) > 1  # they say how it was done: built in the style of
    noun_like = token.pos == "ADJ" and token.dep in ("pobj", "pcomp", "nsubj", "dobj")
    return denied or graded or described or noun_like


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


def negation(parse: Text, sentence: Span) -> dict[int, str] | None:
    """The changes that negate the sentence's main clause, or None where the result would be doubtful."""
    tokens, root = parse.tokens, parse.root_of(sentence)
    if root is None or tokens[root].pos not in ("VERB", "AUX") or garbled(parse, sentence):
        return None
    if tokens[sentence.end - 1].text == "?":  # a negated question asks the same
        return None
    children = [i for i in range(sentence.start, sentence.end) if tokens[i].head == root and i != root]
    subject = next((i for i in children if tokens[i].dep in ("nsubj", "nsubjpass", "expl")), None)
    negated = next((i for i in children if tokens[i].dep == "neg"), None)
    words = {t.text.lower().replace("’", "'") for t in tokens[sentence.start : sentence.end]}
    if negated is not None:
        bound = words & lexicon.template_words("negation_bound")
        return None if bound else _affirm(tokens, root, subject, negated)
    if words & lexicon.template_words("negation_shy") or _is_presupposed(tokens, sentence, root):
        return None
    verb = _last_verb(tokens, root)
    if verb is None or (subject is not None and _resists(tokens, subject, root)):
        return None
    finite = next((i for i, t in enumerate(tokens[:verb]) if t.head == verb and _finite_auxiliary(t)), None)
    if finite is not None:
        return _after_auxiliary(parse, finite, subject)
    return _with_support(parse, sentence, verb, subject)


def garbled(parse: Text, sentence: Span) -> bool:
    """Whether the parse is inconsistent: a finite complement, two subjects of one verb, a wrong number."""
    inside = range(sentence.start, sentence.end)
    tokens = parse.tokens
    subjects = [i for i in inside if tokens[i].dep in ("nsubj", "nsubjpass")]
    doubled = len({tokens[i].head for i in subjects}) < len(subjects)
    finite = any(tokens[i].dep in ("xcomp", "dep") and tokens[i].tag in ("VBD", "VBZ") for i in inside)
    return doubled or finite or any(_disagrees(tokens, i) for i in inside)


def _disagrees(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether a noun has the wrong number for its article or verb, so that the parse must be wrong."""
    token = tokens[index]
    head = tokens[token.head]
    if token.dep == "det" and token.text.lower() in ("a", "an"):
        noun = tokens[head.head] if head.dep == "compound" else head
        return noun.tag in ("NNS", "NNPS")
    joined = any(t.head == index and t.dep == "conj" for t in tokens)
    return token.dep == "nsubj" and token.tag == "NN" and head.tag == "VBP" and not joined


def _is_presupposed(tokens: tuple[Token, ...], sentence: Span, root: int) -> bool:
    """Whether the opening or a clause after the verb takes it for a fact: won a medal, which he kept."""
    opening = tokens[sentence.start].text.lower()
    clauses = [t for comma, t in pairwise(tokens[root + 1 : sentence.end]) if comma.text == ","]
    participles = [t for t in clauses if t.tag in ("VBG", "VBN") and t.dep in ("advcl", "acl")]
    relative = any(t.tag in edit.QUESTION_TAGS for t in clauses)
    return opening in lexicon.template_words("negation_shy_openings") or relative or bool(participles)


def _resists(tokens: tuple[Token, ...], subject: int, root: int) -> bool:
    """Whether a negation would be odd with this subject: "everyone did not", "a pipe did not burst"."""
    token, own = tokens[subject], [t for t in tokens if t.head == subject]
    if token.dep == "expl":  # there are not students
        shown = [i for i, t in enumerate(tokens) if t.head == root and t.dep == "attr"]
        return not any(t.head in shown and t.dep in ("det", "nummod") for t in tokens)
    quantifiers = lexicon.template_words("quantifiers")
    counted = any(t.dep == "nummod" or t.text.lower() in quantifiers for t in own)
    new = any(t.text.lower() in ("a", "an", "another") for t in own) and tokens[root].lemma != "be"
    odd = token.tag in ("WP", "WDT", "CD") or token.text.lower() in ("me", "him", "us", "them")
    return counted or new or odd or token.text.lower() in quantifiers


def _last_verb(tokens: tuple[Token, ...], root: int) -> int | None:
    """The last finite verb that shares the subject, since an earlier "not" would negate the others too.

    None where the parse of the joined verbs is doubtful.
    """
    last = root
    for index in range(root + 1, len(tokens)):
        token = tokens[index]
        if token.dep != "conj" or token.head != last or token.pos not in ("VERB", "AUX"):
            continue
        own = [t for t in tokens if t.head == index]
        if any(t.dep.startswith("nsubj") or t.dep == "expl" for t in own):
            break
        if token.tag not in edit.FINITE_TAGS and not any(_finite_auxiliary(t) for t in own):
            helped = any(t.head == root and _finite_auxiliary(t) for t in tokens)
            return last if helped else None  # "will open and offer" is fine, "do, swap and sing" is misread
        last = index
    return last


def _finite_auxiliary(token: Token) -> bool:
    helps = token.tag == "MD" or token.lemma in ("be", "have", "do") or token.text[0] in "'’"
    return token.dep in ("aux", "auxpass") and token.tag in edit.FINITE_TAGS and helps


def _after_auxiliary(parse: Text, finite: int, subject: int | None) -> dict[int, str] | None:
    """Put the "not" after an auxiliary, or contract the two."""
    token, after = parse.tokens[finite], parse.word_at(finite + 1)
    if subject is None or subject > finite or after in lexicon.template_words("outer_adverbs"):
        return None  # "only then did it stop"; "it has now stopped"
    if after in ("rather", "better"):
        return {finite + 1: f"{parse.tokens[finite + 1].text} not"}
    word = token.text.lower().replace("’", "'")
    if parse.tokens[token.head].tag == "VBN" and (word == "'d" or (word == "'s" and token.dep == "aux")):
        return {finite: " hadn't" if word == "'d" else " hasn't"}
    return {finite: "cannot" if word == "can" else _CLITICS.get(word, f"{token.text} not")}


def _with_support(parse: Text, sentence: Span, root: int, subject: int | None) -> dict[int, str] | None:
    """Negate a verb without auxiliary: after a form of "be", else with do-support."""
    tokens, token, outer = parse.tokens, parse.tokens[root], lexicon.template_words("outer_adverbs")
    word = token.text.lower().replace("’", "'")
    if subject is None:
        imperative = token.tag == "VB" and all(t.dep == "punct" for t in tokens[sentence.start : root])
        return {root: f"Do not {token.text.lower()}"} if imperative and token.text.lower() != "let" else None
    if word in ("is", "are", "was", "were", "am", "'s", "'re", "'m"):
        after = parse.word_at(root + 1)
        return None if after in outer else {root: _CLITICS.get(word, f"{token.text} not")}
    if subject > root or token.tag not in edit.DO_FORMS:
        return None
    at = root
    while at and tokens[at - 1].dep == "advmod" and tokens[at - 1].head == root:
        at -= 1  # before the adverbs that belong to the verb
    if any(t.text.lower() in outer for t in tokens[at:root]):
        return None
    support, base = f"{edit.DO_FORMS[token.tag]} not", edit.lemma_of(token.text, "verb")
    if at == root:
        return {root: f"{support} {base}"}
    return {at: f"{support} {tokens[at].text}", root: base}


def _affirm(
    tokens: tuple[Token, ...], root: int, subject: int | None, negative: int
) -> dict[int, str] | None:
    """Remove not, n't or never, and do-support with it."""
    changes = {negative: ""}
    if tokens[negative].text.lower() == "never":
        return changes
    if subject is None or subject > negative:
        return None
    before = negative - 1
    word = tokens[before].text.lower()
    if word in edit.FULL_STEMS:
        changes[before] = edit.FULL_STEMS[word]
    if word in edit.DO_TAGS and tokens[before].dep == "aux":
        form = edit.inflect(edit.lemma_of(tokens[root].text, "verb"), edit.DO_TAGS[word])
        if form is None:
            return None
        changes.update({before: "", root: form})
    return changes


# --- the same meaning ---


@edit.template("synonyms", "invariance", expect="same")
def Synonyms(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every word that has a synonym safe in its frame replaced by it: a large rock, a big rock."""
    table = {key: (synonym,) for key, (synonym, _) in synonym_rows().items()}
    return _exchanged(parse, table, 1.0, rng, skip=unframed_synonyms(parse))
