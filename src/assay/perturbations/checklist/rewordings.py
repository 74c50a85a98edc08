"""Invariances of grammar: a text to one that says the same in another construction or wording."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets import lexicon
from assay.files import toml_file, word_list, word_set
from assay.language import language_of, split_words
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.negation import garbled
from assay.vocabulary import CHECKLIST_TASKS

Changes = Mapping[int, str]
SHORTEST, LONGEST = 0.6, 1.7  # words of an alternative, as a multiple of the text's own
LEAST_RECALL = 0.65  # of a text's content words that an alternative must have
LEAST_KNOWN = 0.75  # of an alternative's content words that the text or another reference must have
STEM = 4  # letters that two forms of a word have in common
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"n['’]t\b|\w+?(?=n['’]t\b|\b)")
REWORDINGS = word_list("checklist", "rewordings", "rewordings")  # that `rewording` draws from
_ARTICLE = re.compile(r"\b([Aa]n?) (\w+)")
_QUOTES = ('"', "“", "”", "'", "‘", "’", "``", "''")


@dataclass(frozen=True)
class OptionalThat(ParseEdit):
    """An optional "that" put in or left out: I think (that) it works."""

    name = "optional-that"
    criterion = "invariance"
    title = "an optional “that”"
    tasks = ("translation", "summarisation", "question-generation", "dialogue")
    expect = "same"

    def changes(self, parse: Text, rng: Random) -> Changes:
        changes: dict[int, str] = {}
        for sentence in parse.sentences:
            for index in range(sentence.start + 1, sentence.end):
                changes |= _clause_that(parse, index, sentence)
        return changes


def _clause_that(parse: Text, index: int, sentence: Span) -> Changes:
    """The conjunction between a verb of saying or thinking and its clause."""
    tokens, clause = parse.tokens, parse.tokens[index]
    governor = clause.head
    if clause.dep != "ccomp" or clause.pos not in ("VERB", "AUX") or governor >= index:
        return {}
    asked = any(t.tag in edit.QUESTION_TAGS for t in tokens[sentence.start : index])
    subject = parse.child(index, *edit.SUBJECTS)
    span = parse.subtree(subject) if subject is not None else None
    if asked or span is None or not stands_in("takes-clause", parse, governor):
        return {}
    at = governor + 1
    if tokens[at].tag == "PRP" and tokens[at].dep in ("dative", "dobj"):
        at += 1  # told me that
    first, mark = tokens[span.start], parse.child(index, "mark")
    if tokens[at - 1].tag == "VBG" or first.text.lower() in ("that", "this", "those", "so", "what"):
        return {}
    if mark is not None:
        bare = tokens[mark].text == "that" and mark == at and span.start == mark + 1
        return {mark: ""} if bare and span.end - span.start <= 3 else {}
    helpers = [t for t in parse.children(index) if t.dep in ("aux", "auxpass")]
    finite = any(t.tag in edit.FINITE_TAGS for t in (clause, *helpers))  # not: may I know your order please
    stranded = tokens[parse.word_indices(sentence)[-1]].tag == "IN"  # tell me the bill would come to
    speech = tokens[governor - 1].text in (*_QUOTES, ",") if governor else False  # ”, said the owner
    lemma = edit.lemma_of(tokens[governor].text, "verb")
    clipped = lemma in ("guess", "hope", "wish") and sentence.end - index < 3
    to_nobody = lemma == "tell" and at == governor + 1
    plain = span.start == at and first.tag in ("PRP", "DT", "EX", "PRP$")
    if not plain or speech or clipped or to_nobody or stranded or not finite:
        return {}
    return {at: f"that {parse.uncapitalised(Span(at, at + 1))}"}


@dataclass(frozen=True)
class CaptionForm(Perturbation):
    """A caption in another of the usual forms: A dog runs; A dog is running; A dog running."""

    name = "caption-form"
    criterion = "invariance"
    title = "another usual form of a caption"
    tasks = ("image-captioning",)
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        if record.task != "image-captioning":
            return None
        parse, changes = edit.read(record.gold), dict[int, str]()
        for sentence in parse.sentences:
            inside = parse.tokens[sentence.start : sentence.end - 1]
            plain = all(edit.is_word(token) or token.text in ",-'’" for token in inside)
            if plain and not garbled(parse, sentence):
                changes |= _other_tense(parse, sentence)
        return edit.rewrite(parse, changes)


def _other_tense(parse: Text, sentence: Span) -> Changes:
    """A dog runs and jumps: A dog is running and jumping; and back; a dog running: a dog is running."""
    tokens, root = parse.tokens, parse.root_of(sentence)
    if root is None or tokens[root].pos == "NOUN":
        return _fragment_to_sentence(parse, sentence, root) if root is not None else {}
    subject = parse.child(root, "nsubj")
    if subject is None or subject > root or tokens[subject].pos not in ("NOUN", "PRON"):
        return {}
    joined = [i for i, t in enumerate(tokens) if t.dep == "conj" and t.head == root and t.pos == "VERB"]
    lemmas = {verb: edit.lemma_of(tokens[verb].text, "verb") for verb in (root, *joined)}
    denied = any(t.dep in ("neg", "nsubjpass") for t in parse.children(root))
    if denied or word_set("checklist", "rewordings", "stative") & set(lemmas.values()):
        return {}
    return _to_simple(parse, root, lemmas) or _to_progressive(parse, root, lemmas)


def _to_simple(parse: Text, root: int, lemmas: Mapping[int, str]) -> Changes:
    tokens = parse.tokens
    helpers = [i for i, t in enumerate(tokens) if t.dep == "aux" and t.head in lemmas]
    if len(helpers) != 1 or helpers[0] > root or tokens[helpers[0]].text not in ("is", "are"):
        return {}
    if lemmas[root] == "go" or any(tokens[verb].tag != "VBG" for verb in lemmas):
        return {}
    forms = _inflected(lemmas, "VBZ" if tokens[helpers[0]].text == "is" else "VBP")
    return {helpers[0]: "", **forms} if forms else {}


def _to_progressive(parse: Text, root: int, lemmas: Mapping[int, str]) -> Changes:
    tokens = parse.tokens
    present = all(tokens[verb].tag in ("VBZ", "VBP") and tokens[verb - 1].dep != "advmod" for verb in lemmas)
    complements = {t.dep for verb in lemmas for t in parse.children(verb)}
    forms = _inflected(lemmas, "VBG")
    if not present or not forms or complements & {"aux", "auxpass", "mark", "ccomp", "xcomp"}:
        return {}
    return forms | {root: f"{'is' if tokens[root].tag == 'VBZ' else 'are'} {forms[root]}"}


def _inflected(lemmas: Mapping[int, str], tag: str) -> dict[int, str]:
    """Every verb in the form of a tag; empty where one form is unknown."""
    forms = {verb: form for verb, lemma in lemmas.items() if (form := edit.inflect(lemma, tag))}
    return forms if len(forms) == len(lemmas) else {}


def _fragment_to_sentence(parse: Text, sentence: Span, noun: int) -> Changes:
    """A dog running on grass: A dog is running on grass."""
    tokens, verb = parse.tokens, parse.child(noun, "acl")
    counted = tokens[sentence.start].tag in ("DT", "CD") or tokens[noun].tag == "NNS"
    if verb is None or not 0 < verb - noun < 6 or not counted or not stands_in("fragment-verb", parse, verb):
        return {}
    several = tokens[noun].tag in ("NNS", "NNPS") or tokens[noun].text.lower() == "people"
    several |= any(t.dep == "conj" for t in parse.children(noun))
    return {verb: f"{'are' if several else 'is'} {tokens[verb].text}"}


@dataclass(frozen=True)
class AlternativeReference(Perturbation):
    """A reference of like length takes the text's place (fig. 4), and is scored against those that remain.

    It must agree with the text and with the other references in most of its content words, since some
    references err or tell of other things; of those that do, it is the one that agrees best.
    """

    name = "alternative-reference"
    criterion = "invariance"
    title = "another text that people wrote for the same input"
    tasks = ("translation", "question-generation", "data-to-text")
    expect = "same"
    reads = "references"
    languages = None
    seeded = False

    def apply(self, record: Record, rng: Random) -> str | None:
        # Another reference must be left to compare with; two good replies or summaries seldom say the same.
        if len(set(record.references)) < 2 or record.task in (
            "dialogue",
            "summarisation",
            "image-captioning",
        ):
            return None
        equal = [text for text in dict.fromkeys(record.references) if _is_equal(record, text)]
        shared = {
            text: content_recall(record.gold, text) + content_recall(text, record.gold) for text in equal
        }
        return max(shared, key=shared.__getitem__) if shared else None


def _is_equal(record: Record, text: str) -> bool:
    gold, other = len(record.gold.split()), len(text.split())
    if text.strip() == record.gold.strip() or not SHORTEST * gold <= other <= LONGEST * gold:
        return False
    rest = [record.gold, *(reference for reference in record.references if reference != text)]
    known = " ".join([*rest, *record.context[-1:]])
    source = f"{known} {record.source or ''}".lower()
    exact = [w.lower() for w in _WORD.findall(text) if w[0].isupper() or w[0].isdigit()]
    sure = all(w in source for w in exact if w in content_words(text))
    if not sure or content_recall(text, known) < LEAST_KNOWN or _errs(text):
        return False
    return content_recall(record.gold, text) >= LEAST_RECALL and not _conflict(record.gold, text)


def _conflict(gold: str, text: str) -> bool:
    """Whether a text names another gender, thing, direction, posture or colour, or one of them denies."""
    words = [set(_TOKEN.findall(version.lower())) for version in (gold, text)]
    genders = [{lexicon.gendered(word) for word in version} for version in words]
    looks = [version & lexicon.template_words("attributes_safe") for version in words]
    alone, other = words[0] - words[1], words[1] - words[0]
    data = toml_file("checklist", "rewordings")
    turned = any(a in alone and b in other for pair in data["directions"] for a, b in (pair, pair[::-1]))
    claims = [lexicon.template_words("denying"), *map(set, data["postures"])]
    unlike = any(words[0].isdisjoint(claim) != words[1].isdisjoint(claim) for claim in claims)
    unlike |= any(not other.isdisjoint(lexicon.siblings().get(("noun", word), ())) for word in alone)
    recoloured = bool(looks[0]) and not looks[1] <= looks[0]
    return not genders[1] <= {*genders[0], None} or turned or unlike or recoloured


def _errs(text: str) -> bool:
    """Whether a text in English is no whole sentence or has a slip of grammar that its parse shows."""
    if text[:1].islower() or text.rstrip()[-1] not in '.!?"”。！？؟۔।':
        return True
    if language_of(text) not in ("en", ""):
        return False
    parse, articles = edit.read(text), _ARTICLE.findall(text)
    misfit = any(lexicon.indefinite_article(word) != article.lower() for article, word in articles)
    return misfit or any(garbled(parse, sentence) for sentence in parse.sentences)


def content_recall(gold: str, text: str) -> float:
    """The share of a text's content words that another has, in some form."""
    wanted, found = ({w[:STEM] for w in content_words(" ".join(split_words(t)))} for t in (gold, text))
    return len(wanted & found) / len(wanted) if wanted else 0.0


def content_words(text: str) -> set[str]:
    """The words of a text in lower case, without function words."""
    return set(_WORD.findall(text.lower())) - word_set("words", "stop_words")


@dataclass(frozen=True)
class Rewording(Perturbation):
    """One of the invariances that apply, drawn at random: most texts have at least one other wording."""

    name = "rewording"
    criterion = "invariance"
    title = "a small change of wording, spelling or format"
    tasks = CHECKLIST_TASKS
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        from assay.names.registry import perturbation_class

        written = record.task == "data-to-text"  # where contractions are out of style
        names = [name for name in REWORDINGS if not (written and name == "contractions")]
        for name in rng.sample(names, len(names)):
            changed = perturbation_class(name)().apply(record, rng)
            if changed and changed != record.gold:
                return changed
        return None
