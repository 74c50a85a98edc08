"""A sentence to its negation, by the parse: auxiliaries, do-support, contractions; "not" is taken back."""

from __future__ import annotations

from assay.nlp import Parse, Span, Token
from assay.perturbations.inflection import inflect, lemma_of
from assay.perturbations.lexicon import toml_file, word_list

_FINITE = ("VBZ", "VBP", "VBD", "MD")
# "I'll not" is rare: contracted auxiliaries are negated in the usual way.
_CLITICS = {
    "'ll": " won't",
    "'ve": " haven't",
    "'d": " wouldn't",
    "'re": " aren't",
    "'m": "'m not",
    "'s": "'s not",
}
_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
_DO = {"VBZ": "does not", "VBP": "do not", "VBD": "did not"}


def negation(parse: Parse, sentence: Span) -> dict[int, str] | None:
    """The changes that negate the sentence's main clause; None where that cannot be done well."""
    tokens = parse.tokens
    root = next((i for i in range(sentence.start, sentence.end) if tokens[i].dep == "ROOT"), None)
    if root is None or tokens[root].pos not in ("VERB", "AUX"):
        return None
    children = [i for i in range(sentence.start, sentence.end) if tokens[i].head == root and i != root]
    negated = [i for i in children if tokens[i].dep == "neg"]
    words = {t.text.lower().replace("’", "'") for t in tokens[sentence.start : sentence.end]}
    if negated:
        bound = set(word_list("checklist", "templates", "negation_bound"))
        if tokens[negated[0]].text.lower() != "never" and words & bound:
            return None
        return _affirmed(tokens, root, children, negated[0])
    if words & set(word_list("checklist", "templates", "negation_shy")):
        return None
    auxiliaries = [i for i in children if tokens[i].dep in ("aux", "auxpass") and i < root]
    finite = next((i for i in auxiliaries if tokens[i].tag in _FINITE), None)
    if finite is not None:
        return _after_auxiliary(tokens, finite, children)
    return _with_support(tokens, sentence, root, children)


def _subject(tokens: tuple[Token, ...], children: list[int]) -> int | None:
    return next((i for i in children if tokens[i].dep in ("nsubj", "nsubjpass", "expl")), None)


def _after_auxiliary(tokens: tuple[Token, ...], finite: int, children: list[int]) -> dict[int, str] | None:
    word = tokens[finite].text.lower().replace("’", "'")
    subject = _subject(tokens, children)
    if subject is None:
        return None
    if subject > finite:  # a question: Does it stop? Doesn't it stop?
        contracted = toml_file("checklist", "templates")["negated"].get(word)
        return {finite: contracted} if contracted else None
    if finite + 1 < len(tokens) and tokens[finite + 1].text.lower() in ("rather", "better"):
        return {finite + 1: f"{tokens[finite + 1].text} not"}
    if word in _CLITICS:
        return {finite: _clitic(tokens, finite, word)}
    return {finite: "cannot" if word == "can" else f"{tokens[finite].text} not"}


def _clitic(tokens: tuple[Token, ...], finite: int, word: str) -> str:
    head = tokens[tokens[finite].head]
    if word == "'d" and head.tag == "VBN":
        return " hadn't"
    if word == "'s" and tokens[finite].dep == "aux" and head.tag == "VBN":
        return " hasn't"
    return _CLITICS[word]


def _with_support(
    tokens: tuple[Token, ...], sentence: Span, root: int, children: list[int]
) -> dict[int, str] | None:
    token, subject = tokens[root], _subject(tokens, children)
    word = token.text.lower().replace("’", "'")
    if subject is None:
        imperative = token.tag == "VB" and all(t.dep == "punct" for t in tokens[sentence.start : root])
        return {root: f"Do not {token.text.lower()}"} if imperative and token.text.lower() != "let" else None
    if word in ("is", "are", "was", "were", "am", "'s", "'re", "'m"):
        contracted = toml_file("checklist", "templates")["negated"].get(word)
        if subject > root and tokens[subject].dep != "expl" and tokens[sentence.end - 1].text == "?":
            return {root: contracted} if contracted else None
        return {root: _CLITICS.get(word, f"{token.text} not")}
    if subject > root or token.tag not in _DO:
        return None
    base = inflect(lemma_of(token.text, "verb"), "VB")
    return _supported(tokens, root, base or token.lemma)


def _supported(tokens: tuple[Token, ...], root: int, base: str) -> dict[int, str]:
    """Do-support before the verb, and before adverbs that lean on it."""
    at = root
    outer = word_list("checklist", "templates", "outer_adverbs")
    while (
        tokens[at - 1].dep == "advmod"
        and tokens[at - 1].head == root
        and tokens[at - 1].text.lower() not in outer
    ):
        at -= 1
    support = _DO[tokens[root].tag]
    if at == root:
        return {root: f"{support} {base}"}
    return {at: f"{support} {tokens[at].text}", root: base}


def _affirmed(
    tokens: tuple[Token, ...], root: int, children: list[int], negative: int
) -> dict[int, str] | None:
    """The sentence without its not, n't or never; do-support goes with it."""
    changes = {negative: ""}
    before = negative - 1
    word = tokens[before].text.lower()
    subject = _subject(tokens, children)
    if tokens[negative].text.lower() == "never":
        return changes
    if subject is None or subject > negative:
        return None
    if word in _STEMS:
        changes[before] = _STEMS[word]
    if word in ("do", "does", "did") and tokens[before].dep == "aux":
        tag = {"do": "VBP", "does": "VBZ", "did": "VBD"}[word]
        form = inflect(lemma_of(tokens[root].text, "verb"), tag)
        if form is None:
            return None
        changes.update({before: "", root: form})
    return changes
