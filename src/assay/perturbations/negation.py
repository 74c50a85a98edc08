"""Negate the main clause of a sentence, or take its negation away."""

from __future__ import annotations

from itertools import pairwise

from assay.datasets.lexicon import template_words
from assay.files import toml_file
from assay.models.nlp import Span, Token
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in
from assay.perturbations.edit import Text

Changes = dict[int, str] | None  # new words by token index; None where the result would be doubtful


def negation(parse: Text, sentence: Span, *, shy: str = "negation_shy", contract: bool = False) -> Changes:
    """The changes that negate the sentence's main clause, or None where the result would be doubtful.

    Sentences with a word of the list `shy` are left alone: one more "not" would be wrong or clumsy there.
    `contract` writes hasn't for has, as the release of *blind* does.
    """
    tokens, root = parse.tokens, parse.root_of(sentence)
    if root is None or tokens[root].pos not in ("VERB", "AUX") or garbled(parse, sentence):
        return None
    if tokens[sentence.end - 1].text == "?":  # a negated question asks the same
        return None
    subject, negated = parse.child(root, *edit.SUBJECTS), parse.child(root, "neg")
    words = {t.text.lower().replace("’", "'") for t in tokens[sentence.start : sentence.end]}
    if negated is not None:
        return None if words & template_words("negation_bound") else _affirm(parse, root, subject, negated)
    if words & template_words(shy) or _is_presupposed(tokens, sentence, root):
        return None
    verb = _last_verb(parse, root)
    if verb is None or (subject is not None and _resists(parse, subject)):
        return None
    finite = next((i for i in parse.dependents(verb) if i < verb and _finite_auxiliary(tokens[i])), None)
    if finite is not None:
        short: dict[str, str] = toml_file("checklist", "templates")["negated_auxiliaries"]
        contracted = short.get(tokens[finite].text.lower()) if contract else None
        return {finite: contracted} if contracted else _after_auxiliary(parse, finite, subject)
    return _with_support(parse, sentence, verb, subject)


def garbled(parse: Text, sentence: Span) -> bool:
    """Whether the parse is inconsistent: a finite complement, two subjects of one verb, a wrong number."""
    inside = range(sentence.start, sentence.end)
    tokens = parse.tokens
    subjects = [i for i in inside if tokens[i].dep in ("nsubj", "nsubjpass")]
    doubled = len({tokens[i].head for i in subjects}) < len(subjects)
    return doubled or any(stands_in("misread", parse, i) for i in inside)


def _is_presupposed(tokens: tuple[Token, ...], sentence: Span, root: int) -> bool:
    """Whether the opening or a clause after the verb takes it for a fact: won a medal, which he kept."""
    opening = tokens[sentence.start].text.lower()
    clauses = [t for comma, t in pairwise(tokens[root + 1 : sentence.end]) if comma.text == ","]
    participles = [t for t in clauses if t.tag in ("VBG", "VBN") and t.dep in ("advcl", "acl")]
    relative = any(t.tag in edit.QUESTION_TAGS for t in clauses)
    return opening in template_words("negation_shy_openings") or relative or bool(participles)


def _resists(parse: Text, subject: int) -> bool:
    """Whether a negation would be odd with this subject: "everyone did not", "a pipe did not burst"."""
    tokens, root = parse.tokens, parse.tokens[subject].head
    if tokens[subject].dep == "expl":  # there are not students
        shown = (i for i in parse.dependents(root) if tokens[i].dep == "attr")
        return all(parse.child(i, "det", "nummod") is None for i in shown)
    return stands_in("odd-when-negated", parse, subject)


def _last_verb(parse: Text, root: int) -> int | None:
    """The last finite verb that shares the subject, since an earlier "not" would negate the others too.

    None where the parse of the joined verbs is doubtful.
    """
    tokens, last = parse.tokens, root
    while True:
        later = (i for i in parse.dependents(last) if i > last and tokens[i].pos in ("VERB", "AUX"))
        index = next((i for i in later if tokens[i].dep == "conj"), None)
        if index is None or parse.child(index, *edit.SUBJECTS) is not None:
            return last
        own, shared = (any(map(_finite_auxiliary, parse.children(i))) for i in (index, root))
        if tokens[index].tag not in edit.FINITE_TAGS and not own:
            return last if shared else None  # "will open and offer" is fine, "do, swap and sing" is misread
        last = index


def _finite_auxiliary(token: Token) -> bool:
    helps = token.tag == "MD" or token.lemma in ("be", "have", "do") or token.text[0] in "'’"
    return token.dep in ("aux", "auxpass") and token.tag in edit.FINITE_TAGS and helps


def _after_auxiliary(parse: Text, finite: int, subject: int | None) -> Changes:
    """Put the "not" after an auxiliary, or contract the two."""
    token, after = parse.tokens[finite], parse.word_at(finite + 1)
    if subject is None or subject > finite or after in template_words("outer_adverbs"):
        return None  # "only then did it stop"; "it has now stopped"
    if after in ("rather", "better"):
        return {finite + 1: f"{parse.tokens[finite + 1].text} not"}
    word = token.text.lower().replace("’", "'")
    if parse.tokens[token.head].tag == "VBN" and (word == "'d" or (word == "'s" and token.dep == "aux")):
        return {finite: " hadn't" if word == "'d" else " hasn't"}
    return {finite: "cannot" if word == "can" else _negated(token)}


def _negated(token: Token) -> str:
    """An auxiliary with its "not"."""
    clitics: dict[str, str] = toml_file("checklist", "templates")["negated_clitics"]
    return clitics.get(token.text.lower().replace("’", "'"), f"{token.text} not")


def _with_support(parse: Text, sentence: Span, root: int, subject: int | None) -> Changes:
    """Negate a verb without auxiliary: after a form of "be", else with do-support."""
    tokens, token, outer = parse.tokens, parse.tokens[root], template_words("outer_adverbs")
    word = token.text.lower().replace("’", "'")
    if subject is None:
        imperative = token.tag == "VB" and all(t.dep == "punct" for t in tokens[sentence.start : root])
        return {root: f"Do not {token.text.lower()}"} if imperative and token.text.lower() != "let" else None
    if word in ("is", "are", "was", "were", "am", "'s", "'re", "'m"):
        return None if parse.word_at(root + 1) in outer else {root: _negated(token)}
    if subject > root or token.tag not in edit.DO_FORMS:
        return None
    at = root
    while at and tokens[at - 1].dep == "advmod" and tokens[at - 1].head == root:
        at -= 1  # before the adverbs that belong to the verb
    if any(t.text.lower() in outer for t in tokens[at:root]):
        return None
    support, base = f"{edit.DO_FORMS[token.tag]} not", edit.lemma_of(token.text, "verb")
    return {root: f"{support} {base}"} if at == root else {at: f"{support} {tokens[at].text}", root: base}


def _affirm(parse: Text, root: int, subject: int | None, negative: int) -> Changes:
    """Remove not, n't or never, and do-support with it."""
    tokens, changes = parse.tokens, {negative: ""}
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
