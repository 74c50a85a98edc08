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
from assay.perturbations.checklist.frames import stands_in, words_in
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.negation import garbled
from assay.vocabulary import CHECKLIST_TASKS

_Changes = Mapping[int, str]
SHORTEST, LONGEST = 0.6, 1.7  # words of an alternative, as a multiple of the text's own
LEAST_RECALL = 0.65  # of a text's content words that an alternative must have
LEAST_KNOWN = 0.75  # of an alternative's content words that the text or another reference must have
STEM = 4  # letters that two forms of a word have in common
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"n['’]t\b|\w+?(?=n['’]t\b|\b)")
REWORDINGS = word_list("checklist", "rewordings", "rewordings")  # that `rewording` draws from
_ARTICLE = re.compile(r"\b([Aa]n?) (\w+)")
_ENDS = tuple('.!?"”。！？؟۔।')


@dataclass(frozen=True)
class OptionalThat(ParseEdit):
    """An optional "that" put in or left out: I think (that) it works."""

    name = "optional-that"
    criterion = "invariance"
    title = "an optional “that”"
    tasks = ("translation", "summarisation", "question-generation", "dialogue")
    expect = "same"

    def changes(self, parse: Text, rng: Random) -> _Changes:
        changes: dict[int, str] = {}
        for clause in words_in("told-clause", parse):
            changes |= _clause_that(parse, clause)
        return changes


def _clause_that(parse: Text, clause: int) -> _Changes:
    """The conjunction between a verb of saying or thinking and its clause, put in or left out."""
    subject, mark = parse.child(clause, *edit.SUBJECTS), parse.child(clause, "mark")
    span = None if subject is None else parse.subtree(subject)
    if span is None or stands_in("not-after-that", parse, span.start):
        return {}
    told = parse.tokens[clause].head + 1
    at = told + 1 if stands_in("told-person", parse, told) else told  # told me that
    if mark is not None:
        is_plain = mark == at == span.start - 1 and span.end - span.start <= 3
        return {mark: ""} if is_plain and parse.word_at(mark) == "that" else {}
    follows = span.start == at and stands_in("after-that", parse, at)
    states = follows and stands_in("states", parse, clause)
    return {at: f"that {parse.uncapitalised(Span(at, at + 1))}"} if states else {}


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
            root = parse.root_of(sentence)
            if root is not None and stands_in("plain-caption", parse, root) and not garbled(parse, sentence):
                changes |= _other_tense(parse, root)
        return edit.rewrite(parse, changes)


def _other_tense(parse: Text, root: int) -> _Changes:
    """A dog runs and jumps: A dog is running and jumping; and back; a dog running: a dog is running."""
    if stands_in("is-noun", parse, root):
        return _fragment_to_sentence(parse, root)
    verbs = [root, *words_in("joined-verb", parse, parse.dependents(root))]
    lemmas = {verb: edit.lemma_of(parse.tokens[verb].text, "verb") for verb in verbs}
    if not stands_in("captions-verb", parse, root) or words_in("stative-verb", parse, verbs):
        return {}
    return _to_simple(parse, root, lemmas) or _to_progressive(parse, root, lemmas)


def _to_simple(parse: Text, root: int, lemmas: Mapping[int, str]) -> _Changes:
    """A dog is running: A dog runs."""
    helper = parse.child(root, "aux")
    going_on = words_in("going-on", parse, lemmas)
    if helper is None or len(going_on) < len(lemmas) or not stands_in("has-one-helper", parse, root):
        return {}
    tag = "VBZ" if parse.text_at(helper) == "is" else "VBP"
    return {helper: "", **_inflected(lemmas, tag)}


def _to_progressive(parse: Text, root: int, lemmas: Mapping[int, str]) -> _Changes:
    """A dog runs: A dog is running."""
    if len(words_in("plain-present", parse, lemmas)) < len(lemmas):
        return {}
    forms = _inflected(lemmas, "VBG")
    return forms | {root: f"{'is' if parse.tokens[root].tag == 'VBZ' else 'are'} {forms[root]}"}


def _inflected(lemmas: Mapping[int, str], tag: str) -> dict[int, str]:
    """Every verb in the form of a tag; as it is where that form is unknown."""
    return {verb: edit.inflect(lemma, tag) or lemma for verb, lemma in lemmas.items()}


def _fragment_to_sentence(parse: Text, noun: int) -> _Changes:
    """A dog running on grass: A dog is running on grass."""
    verb = parse.child(noun, "acl")
    if verb is None or not 0 < verb - noun < 6:
        return {}
    if not stands_in("counted-noun", parse, noun) or not stands_in("fragment-verb", parse, verb):
        return {}
    be = "are" if stands_in("several-or-joined", parse, noun) else "is"
    return {verb: f"{be} {parse.tokens[verb].text}"}


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
        if len(set(record.references)) < 2 or record.task not in self.tasks:
            return None

        def agreement(text: str) -> float:
            return content_recall(record.gold, text) + content_recall(text, record.gold)

        equal = [text for text in dict.fromkeys(record.references) if _is_equal(record, text)]
        return max(equal, key=agreement, default=None)


def _is_equal(record: Record, text: str) -> bool:
    """Whether a reference is about as long as the text and says the same, as far as words show it."""
    gold, other = len(record.gold.split()), len(text.split())
    if text.strip() == record.gold.strip() or not SHORTEST * gold <= other <= LONGEST * gold:
        return False
    others = [reference for reference in record.references if reference != text]
    rest = " ".join([record.gold, *others, *record.context[-1:]])
    is_known = content_recall(text, rest) >= LEAST_KNOWN
    agrees = content_recall(record.gold, text) >= LEAST_RECALL and not _conflict(record.gold, text)
    return is_known and agrees and not _names_more(text, f"{rest} {record.source or ''}") and not _errs(text)


def _names_more(text: str, rest: str) -> bool:
    """Whether a text has a name or a figure that the rest does not have."""
    exact = {word.lower() for word in _WORD.findall(text) if word[0].isupper() or word[0].isdigit()}
    return any(word not in rest.lower() for word in content_lemmas(text) & exact)


def _conflict(gold: str, text: str) -> bool:
    """Whether a text names another gender, thing, direction, posture or colour, or one of them denies."""
    data = toml_file("checklist", "rewordings")
    words, others = (set(_TOKEN.findall(version.lower())) for version in (gold, text))
    added, lost = others - words, words - others
    genders, other_genders = (set(map(lexicon.gendered, version)) for version in (words, others))
    claims = [lexicon.template_words("denying"), *map(set, data["postures"])]
    siblings = {other for word in lost for other in lexicon.siblings().get(("noun", word), ())}
    colours = lexicon.template_words("attributes_safe")
    return (
        not other_genders <= {*genders, None}
        or any(lost.intersection(pair) and added.intersection(pair) for pair in data["directions"])
        or any(words.isdisjoint(claim) != others.isdisjoint(claim) for claim in claims)
        or not added.isdisjoint(siblings)
        or bool(words & colours and added & colours)
    )


def _errs(text: str) -> bool:
    """Whether a text in English is no whole sentence or has a slip of grammar that its parse shows."""
    if text[:1].islower() or not text.rstrip().endswith(_ENDS):
        return True
    if language_of(text) not in ("en", ""):
        return False
    articles = _ARTICLE.findall(text)
    misfit = any(lexicon.indefinite_article(word) != article.lower() for article, word in articles)
    parse = edit.read(text)
    return misfit or any(garbled(parse, sentence) for sentence in parse.sentences)


def content_recall(gold: str, text: str) -> float:
    """The share of a text's content words that another has, in some form."""
    wanted, found = ({w[:STEM] for w in content_lemmas(" ".join(split_words(t)))} for t in (gold, text))
    return len(wanted & found) / len(wanted) if wanted else 0.0


def content_lemmas(text: str) -> set[str]:
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

        out_of_style = {"contractions"} if record.task == "data-to-text" else set[str]()
        names = [name for name in REWORDINGS if name not in out_of_style]
        drawn = (perturbation_class(name)().apply(record, rng) for name in rng.sample(names, len(names)))
        return next((text for text in drawn if text not in (None, "", record.gold)), None)
