"""Negate a parsed sentence: auxiliaries, do-support, contractions; a sentence with "not" loses it."""

from __future__ import annotations

from assay.datasets.lexicon import template_words
from assay.models.nlp import Parse, Span, Token
from assay.perturbations.edit import DO_FORMS, DO_TAGS, FINITE_TAGS, FULL_STEMS, inflect, lemma_of, root_of

# "I'll not" is rare: contracted auxiliaries are negated in the usual way.
_CLITICS = {
    "'ll": " won't",
    "'ve": " haven't",
    "'d": " wouldn't",
    "'re": " aren't",
    "'m": "'m not",
    "'s": "'s not",
}


def negation(parse: Parse, sentence: Span) -> dict[int, str] | None:
    """The changes that negate the sentence's main clause, or None where the result would be doubtful."""
    tokens, root = parse.tokens, root_of(parse, sentence)
    if root is None or tokens[root].pos not in ("VERB", "AUX") or garbled(parse, sentence):
        return None
    if tokens[sentence.end - 1].text == "?":  # a negated question asks the same
        return None
    children = [i for i in range(sentence.start, sentence.end) if tokens[i].head == root and i != root]
    negated = [i for i in children if tokens[i].dep == "neg"]
    words = {t.text.lower().replace("’", "'") for t in tokens[sentence.start : sentence.end]}
    if negated:
        bound = words & template_words("negation_bound")
        return None if bound else _affirm(tokens, root, children, negated[0])
    if words & template_words("negation_shy") or _is_presupposed(tokens, sentence, root):
        return None
    return _deny(tokens, sentence, root, children)


def _deny(tokens: tuple[Token, ...], sentence: Span, root: int, children: list[int]) -> dict[int, str] | None:
    """Add a "not" to a sentence that has none."""
    subject = _subject(tokens, children)
    if subject is not None and _resists(tokens, subject, root):
        return None
    last = _last_verb(tokens, root)
    if last is None:
        return None
    if last != root:
        root = last
        children = [i for i in range(root) if tokens[i].head == root] + ([] if subject is None else [subject])
    finite = next((i for i in children if i < root and _finite_auxiliary(tokens[i])), None)
    if finite is not None:
        return _after_auxiliary(tokens, finite, children)
    return _with_support(tokens, sentence, root, children)


def garbled(parse: Parse, sentence: Span) -> bool:
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
    if opening in template_words("negation_shy_openings"):
        return True
    for index in range(root + 1, sentence.end - 1):
        after = tokens[index + 1]
        relative = after.tag in ("WDT", "WP", "WP$", "WRB")
        participle = after.tag in ("VBG", "VBN") and after.dep in ("advcl", "acl")
        if tokens[index].text == "," and (relative or participle):
            return True
    return False


def _resists(tokens: tuple[Token, ...], subject: int, root: int) -> bool:
    """Whether a negation would be odd with this subject: "everyone did not", "a pipe did not burst"."""
    token, own = tokens[subject], [t for t in tokens if t.head == subject]
    if token.dep == "expl":  # there are not students
        shown = [i for i, t in enumerate(tokens) if t.head == root and t.dep == "attr"]
        return not any(t.head in shown and t.dep in ("det", "nummod") for t in tokens)
    quantifiers = template_words("quantifiers")
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
        if token.tag not in FINITE_TAGS and not any(_finite_auxiliary(t) for t in own):
            helped = any(t.head == root and _finite_auxiliary(t) for t in tokens)
            return last if helped else None  # "will open and offer" is fine, "do, swap and sing" is misread
        last = index
    return last


def _finite_auxiliary(token: Token) -> bool:
    helps = token.tag == "MD" or token.lemma in ("be", "have", "do") or token.text[0] in "'’"
    return token.dep in ("aux", "auxpass") and token.tag in FINITE_TAGS and helps


def _subject(tokens: tuple[Token, ...], children: list[int]) -> int | None:
    return next((i for i in children if tokens[i].dep in ("nsubj", "nsubjpass", "expl")), None)


def _after_auxiliary(tokens: tuple[Token, ...], finite: int, children: list[int]) -> dict[int, str] | None:
    word = tokens[finite].text.lower().replace("’", "'")
    subject = _subject(tokens, children)
    if subject is None:
        return None
    after = tokens[finite + 1].text.lower() if finite + 1 < len(tokens) else ""
    if subject > finite or after in template_words("outer_adverbs"):
        return None  # "only then did it stop"; "it has now stopped"
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
        after = tokens[root + 1].text.lower() if root + 1 < len(tokens) else ""
        outer = template_words("outer_adverbs")
        return None if after in outer else {root: _CLITICS.get(word, f"{token.text} not")}
    if subject > root or token.tag not in DO_FORMS:
        return None
    return _supported(tokens, root, lemma_of(token.text, "verb"))


def _supported(tokens: tuple[Token, ...], root: int, base: str) -> dict[int, str] | None:
    """Put do-support before the verb and before the adverbs that belong to it."""
    at = root
    while at and tokens[at - 1].dep == "advmod" and tokens[at - 1].head == root:
        at -= 1
        if tokens[at].text.lower() in template_words("outer_adverbs"):
            return None
    support = f"{DO_FORMS[tokens[root].tag]} not"
    if at == root:
        return {root: f"{support} {base}"}
    return {at: f"{support} {tokens[at].text}", root: base}


def _affirm(
    tokens: tuple[Token, ...], root: int, children: list[int], negative: int
) -> dict[int, str] | None:
    """Remove not, n't or never, and do-support with it."""
    changes = {negative: ""}
    before = negative - 1
    word = tokens[before].text.lower()
    subject = _subject(tokens, children)
    if tokens[negative].text.lower() == "never":
        return changes
    if subject is None or subject > negative:
        return None
    if word in FULL_STEMS:
        changes[before] = FULL_STEMS[word]
    if word in DO_TAGS and tokens[before].dep == "aux":
        form = inflect(lemma_of(tokens[root].text, "verb"), DO_TAGS[word])
        if form is None:
            return None
        changes.update({before: "", root: form})
    return changes
