"""A sentence to its negation, by the parse: auxiliaries, do-support, contractions; "not" is taken back."""

from __future__ import annotations

from assay.datasets.lexicon import word_list
from assay.models.nlp import Parse, Span, Token
from assay.perturbations.edit import inflect, lemma_of

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
    if root is None or tokens[root].pos not in ("VERB", "AUX") or garbled(parse, sentence):
        return None
    if tokens[sentence.end - 1].text == "?":  # a question with not asks the same
        return None
    children = [i for i in range(sentence.start, sentence.end) if tokens[i].head == root and i != root]
    negated = [i for i in children if tokens[i].dep == "neg"]
    words = {t.text.lower().replace("’", "'") for t in tokens[sentence.start : sentence.end]}
    if negated:
        bound = words & set(word_list("checklist", "templates", "negation_bound"))
        return None if bound else _affirmed(tokens, root, children, negated[0])
    if words & set(word_list("checklist", "templates", "negation_shy")) or _strays(tokens, sentence, root):
        return None
    return _denied(tokens, sentence, root, children)


def _denied(
    tokens: tuple[Token, ...], sentence: Span, root: int, children: list[int]
) -> dict[int, str] | None:
    """A "not" for the sentence that has none."""
    subject = _subject(tokens, children)
    if subject is not None and _unfit(tokens, subject, root):
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
    """Whether the parse contradicts itself: a finite complement, two subjects, a wrong number."""
    inside = range(sentence.start, sentence.end)
    tokens = parse.tokens
    subjects = [i for i in inside if tokens[i].dep in ("nsubj", "nsubjpass")]
    doubled = len({tokens[i].head for i in subjects}) < len(subjects)
    finite = any(tokens[i].dep in ("xcomp", "dep") and tokens[i].tag in ("VBD", "VBZ") for i in inside)
    return doubled or finite or any(_disagrees(tokens, i) for i in inside)


def _disagrees(tokens: tuple[Token, ...], index: int) -> bool:
    """A review examines warnings, read as "examines ignored warnings"; a singular noun before "warn"."""
    token = tokens[index]
    head = tokens[token.head]
    if token.dep == "det" and token.text.lower() in ("a", "an"):
        noun = tokens[head.head] if head.dep == "compound" else head
        return noun.tag in ("NNS", "NNPS")
    joined = any(t.head == index and t.dep == "conj" for t in tokens)
    return token.dep == "nsubj" and token.tag == "NN" and head.tag == "VBP" and not joined


def _strays(tokens: tuple[Token, ...], sentence: Span, root: int) -> bool:
    """Whether the opening or something loose behind the verb takes it for done: a medal, which he kept."""
    opening = tokens[sentence.start].text.lower()
    if opening in word_list("checklist", "templates", "negation_shy_openings"):
        return True
    for index in range(root + 1, sentence.end - 1):
        after = tokens[index + 1]
        relative = after.tag in ("WDT", "WP", "WP$", "WRB")
        participle = after.tag in ("VBG", "VBN") and after.dep in ("advcl", "acl")
        if tokens[index].text == "," and (relative or participle):
            return True
    return False


def _unfit(tokens: tuple[Token, ...], subject: int, root: int) -> bool:
    """Whether the subject counts, quantifies, asks or is new: "everyone did not", "a pipe did not burst"."""
    token, own = tokens[subject], [t for t in tokens if t.head == subject]
    if token.dep == "expl":  # there are not students
        shown = [i for i, t in enumerate(tokens) if t.head == root and t.dep == "attr"]
        return not any(t.head in shown and t.dep in ("det", "nummod") for t in tokens)
    quantifiers = word_list("checklist", "templates", "quantifiers")
    counted = any(t.dep == "nummod" or t.text.lower() in quantifiers for t in own)
    new = any(t.text.lower() in ("a", "an", "another") for t in own) and tokens[root].lemma != "be"
    odd = token.tag in ("WP", "WDT", "CD") or token.text.lower() in ("me", "him", "us", "them")
    return counted or new or odd or token.text.lower() in quantifiers


def _last_verb(tokens: tuple[Token, ...], root: int) -> int | None:
    """The last of the finite verbs that share the subject: a "not" before would reach over the others."""
    last = root
    for index in range(root + 1, len(tokens)):
        token = tokens[index]
        if token.dep != "conj" or token.head != last or token.pos not in ("VERB", "AUX"):
            continue
        own = [t for t in tokens if t.head == index]
        if any(t.dep.startswith("nsubj") or t.dep == "expl" for t in own):
            break
        if token.tag not in _FINITE and not any(_finite_auxiliary(t) for t in own):
            helped = any(t.head == root and _finite_auxiliary(t) for t in tokens)
            return last if helped else None  # will open and offer; the parse of "do, swap and sing" is off
        last = index
    return last


def _finite_auxiliary(token: Token) -> bool:
    helps = token.tag == "MD" or token.lemma in ("be", "have", "do") or token.text[0] in "'’"
    return token.dep in ("aux", "auxpass") and token.tag in _FINITE and helps


def _subject(tokens: tuple[Token, ...], children: list[int]) -> int | None:
    return next((i for i in children if tokens[i].dep in ("nsubj", "nsubjpass", "expl")), None)


def _after_auxiliary(tokens: tuple[Token, ...], finite: int, children: list[int]) -> dict[int, str] | None:
    word = tokens[finite].text.lower().replace("’", "'")
    subject = _subject(tokens, children)
    if subject is None:
        return None
    after = tokens[finite + 1].text.lower() if finite + 1 < len(tokens) else ""
    if subject > finite or after in word_list("checklist", "templates", "outer_adverbs"):
        return None  # only then did it stop; it has now stopped
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
        outer = word_list("checklist", "templates", "outer_adverbs")
        return None if after in outer else {root: _CLITICS.get(word, f"{token.text} not")}
    if subject > root or token.tag not in _DO:
        return None
    base = inflect(lemma_of(token.text, "verb"), "VB")
    return _supported(tokens, root, base or token.lemma)


def _supported(tokens: tuple[Token, ...], root: int, base: str) -> dict[int, str] | None:
    """Do-support before the verb, and before adverbs that lean on it."""
    at = root
    while at and tokens[at - 1].dep == "advmod" and tokens[at - 1].head == root:
        at -= 1
        if tokens[at].text.lower() in word_list("checklist", "templates", "outer_adverbs"):
            return None
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
