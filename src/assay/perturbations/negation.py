"""Negate the main clause of a sentence, or take its negation away."""

from __future__ import annotations

from assay.datasets.lexicon import template_words
from assay.files import toml_file
from assay.models.nlp import Span, Token
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in, words_in
from assay.perturbations.edit import Text

_Changes = dict[int, str] | None  # new words by token index; None where the result would be doubtful


def negation(parse: Text, sentence: Span, *, shy: str = "negation_shy", contract: bool = False) -> _Changes:
    """The changes that negate the sentence's main clause, or None where the result would be doubtful.

    Sentences with a word of the list `shy` are left alone: one more "not" would be wrong or clumsy there.
    `contract` writes hasn't for has, as the release of *blind* does.
    """
    root = parse.root_of(sentence)
    if root is None or not stands_in("claims", parse, root) or garbled(parse, sentence):
        return None
    words = {parse.word_at(i).replace("’", "'") for i in range(sentence.start, sentence.end)}
    negated = parse.child(root, "neg")
    if negated is not None:
        return None if words & template_words("negation_bound") else _affirm(parse, root, negated)
    if words & template_words(shy) or _is_presupposed(parse, sentence, root):
        return None
    return _denied(parse, sentence, root, contract)


def _denied(parse: Text, sentence: Span, root: int, contract: bool) -> _Changes:
    """Put a "not" to the last verb that shares the subject of the main one."""
    subject, verb = parse.child(root, *edit.SUBJECTS), _last_verb(parse, root)
    if verb is None or (subject is not None and _resists(parse, subject)):
        return None
    helpers = words_in("finite-auxiliary", parse, parse.dependents(verb))
    if not helpers:
        return _with_support(parse, sentence, verb, subject)
    short: dict[str, str] = toml_file("checklist", "templates")["negated_auxiliaries"]
    if contract and (contracted := short.get(parse.word_at(helpers[0]))):
        return {helpers[0]: contracted}
    if subject is None or subject > helpers[0] or not stands_in("takes-not", parse, helpers[0]):
        return None  # "only then did it stop"; "it has now stopped"; "he's gone"
    return {helpers[0]: _negated(parse.tokens[helpers[0]])}


def garbled(parse: Text, sentence: Span) -> bool:
    """Whether the parse is inconsistent: a finite complement, two subjects of one verb, a wrong number."""
    inside = range(sentence.start, sentence.end)
    heads = [parse.tokens[i].head for i in words_in("subject-of-verb", parse, inside)]
    return len(set(heads)) < len(heads) or any(stands_in("misread", parse, i) for i in inside)


def _is_presupposed(parse: Text, sentence: Span, root: int) -> bool:
    """Whether the opening or a clause after the verb takes it for a fact: won a medal, which he kept."""
    opens = parse.word_at(sentence.start) in template_words("negation_shy_openings")
    return opens or bool(words_in("tells-more", parse, range(root + 2, sentence.end)))


def _resists(parse: Text, subject: int) -> bool:
    """Whether a negation would be odd with this subject: "everyone did not", "a pipe did not burst"."""
    if parse.tokens[subject].dep == "expl":  # there are not students
        return not words_in("counted-predicate", parse, parse.dependents(parse.tokens[subject].head))
    return stands_in("odd-when-negated", parse, subject)


def _last_verb(parse: Text, root: int) -> int | None:
    """The last finite verb that shares the subject, since an earlier "not" would negate the others too.

    None where the parse of the joined verbs is doubtful.
    """
    last, joined = root, _joined_verb(parse, root)
    while joined is not None:
        if not stands_in(
            "finite", parse, joined
        ):  # "will open and offer" is fine, "do, swap and sing" is misread
            return last if stands_in("has-finite-auxiliary", parse, root) else None
        last, joined = joined, _joined_verb(parse, joined)
    return last


def _joined_verb(parse: Text, verb: int) -> int | None:
    """The verb that is joined to another and has no subject of its own."""
    verbs = words_in("joined-verb", parse, parse.dependents(verb))
    return verbs[0] if verbs and parse.child(verbs[0], *edit.SUBJECTS) is None else None


def _negated(token: Token) -> str:
    """An auxiliary with its "not"."""
    clitics: dict[str, str] = toml_file("checklist", "templates")["negated_clitics"]
    return clitics.get(token.text.lower().replace("’", "'"), f"{token.text} not")


def _with_support(parse: Text, sentence: Span, root: int, subject: int | None) -> _Changes:
    """Negate a verb without auxiliary: after a form of "be", else with do-support."""
    tokens, token = parse.tokens, parse.tokens[root]
    if subject is None:
        is_command = stands_in("imperative", parse, root)
        return {root: f"Do not {parse.word_at(root)}"} if is_command else None
    if stands_in("form-of-be", parse, root):
        return {root: _negated(token)} if stands_in("takes-not", parse, root) else None
    if subject > root or token.tag not in edit.DO_FORMS:
        return None
    at = root
    while tokens[at - 1].dep == "advmod" and tokens[at - 1].head == root:
        at -= 1  # before the adverbs that belong to the verb
    if words_in("outer-adverb", parse, range(at, root)):
        return None
    support, base = f"{edit.DO_FORMS[token.tag]} not", edit.lemma_of(token.text, "verb")
    return {root: f"{support} {base}"} if at == root else {at: f"{support} {tokens[at].text}", root: base}


def _affirm(parse: Text, root: int, negative: int) -> _Changes:
    """Remove not, n't or never, and do-support with it."""
    before, verb = negative - 1, parse.tokens[root].text
    word = parse.word_at(before)
    if parse.child(root, *edit.SUBJECTS) is None:
        return None
    if word in edit.DO_TAGS and before != root:
        base = edit.lemma_of(verb, "verb")
        return {negative: "", before: "", root: edit.inflect(base, edit.DO_TAGS[word]) or verb}
    return {negative: "", before: edit.FULL_STEMS.get(word, parse.text_at(before))}
