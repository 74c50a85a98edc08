"""What adapters are trained on: counterfactual pairs to score alike, ordinary pairs to score as before.

Both come from the embedded corpora and lexicons and from the user's files, split so that nothing that is
measured was ever trained on: templates and items are split whole, identity words are split too (except the
first of each group, which every split may use: a language has only so many pronouns), and texts that name an
occupation of WinoBias are never trained on.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar

from assay.datasets.files import SUFFIXES, read_text
from assay.datasets.lexicon import indefinite_article, people
from assay.datasets.pairs import StereotypePair, embedded_pairs, read_pair_files
from assay.datasets.records import embedded_records
from assay.datasets.rows import read_rows
from assay.datasets.swaps import Swapped, embedded_swaps, swap_texts
from assay.datasets.templates import ATTRIBUTES, Lexicon, fill_slots, load_lexicon, load_occupations
from assay.errors import DataError, suggest
from assay.files import toml_file, word_list
from assay.recipe import digest, generator
from assay.vocabulary import Task

Split = Literal["train", "validation", "test"]
_Items = Sequence[tuple[str, str]]  # texts, each with the item it comes from
_P = TypeVar("_P", "Counterfactual", "Ordinary")
# By content: two in ten tested, one in ten validated.
_SPLITS: tuple[Split, ...] = ("test", "test", "validation", *("train",) * 7)
_FRAMES = 40  # pairs of occupations per frame
_INSERTIONS = 3  # pairs of identities per sentence
_JOINTS = re.compile(r",? (?:because|since|as|for|when|although|even though|but|until|before|so that) ")
_SENTENCE_TASKS: tuple[Task, ...] = ("image-captioning", "translation", "dialogue", "question-generation")
_ORDINARY_TASKS: tuple[Task, ...] = (*_SENTENCE_TASKS, "data-to-text", "summarisation")
# The longest texts that are used, in words: longer ones cost most and teach least.
_LONGEST_SENTENCE, _LONGEST_ORDINARY, _LONGEST_FILE = 30, 45, 60


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Two texts that differ in one identity, and a reference that names neither (unfair sec. 3.2)."""

    attribute: str
    first: str
    second: str
    reference: str
    template: str  # what the text was made from: the unit that is split
    words: tuple[str, ...] = ()  # the identities in it

    @property
    def texts(self) -> tuple[str, str, str]:
        return self.first, self.second, self.reference

    def as_pair(self, number: int) -> StereotypePair:
        reference = (self.reference,)
        return StereotypePair(
            f"{self.template}-{number}", self.attribute, self.first, self.second, reference, reference,
            meta={"template": self.template},
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ordinary:
    """A text and a reference whose score is to stay (Eq. 5 of unfair)."""

    hypothesis: str
    reference: str
    template: str  # the item it comes from: the unit that is split

    @property
    def texts(self) -> tuple[str, str]:
        return self.hypothesis, self.reference


@dataclass(frozen=True, slots=True)
class Material:
    """Counterfactual and ordinary pairs by split."""

    pairs: dict[Split, list[Counterfactual]]
    ordinary: dict[Split, list[Ordinary]]

    def digest(self) -> str:
        texts = [text for pair in self.pairs["train"] for text in pair.texts]
        return digest(*texts, *("".join(pair.texts) for pair in self.ordinary["train"]))


def check_attribute(name: str, advice: str = "") -> None:
    """Refuse an attribute that assay has no words for; `advice` is what the command offers instead."""
    if name not in ATTRIBUTES:
        raise DataError(f"no lexicon for the attribute {name!r}{suggest(name, ATTRIBUTES)}{advice}")


def _by_split(pairs: Iterable[_P]) -> dict[Split, list[_P]]:
    """The pairs by split; those without one are left out."""
    parts: dict[Split, list[_P]] = {"train": [], "validation": [], "test": []}
    for pair in pairs:
        if split := split_of(pair):
            parts[split].append(pair)
    return parts


def split_of(pair: Counterfactual | Ordinary) -> Split | None:
    """The split of a pair; None where its template is trained on and what it names is held out."""
    split = split_of_template(pair.template)
    words = [is_held_out(w, pair.attribute) for w in pair.words] if isinstance(pair, Counterfactual) else []
    return split if split == "test" or not (any(words) or names_winobias(*pair.texts)) else None


def split_of_template(template: str) -> Split:
    """The split of a template or item; two joined frames have one, for they are joined within it only."""
    return _SPLITS[int(digest("split", template.split("+")[0])[:8], 16) % 10]


@cache
def is_held_out(word: str, attribute: str) -> bool:
    """Whether an identity word is kept for testing; pronouns and the first words of a group never are."""
    if attribute not in ATTRIBUTES:
        return False
    shared: set[str] = set()
    for group in load_lexicon(attribute).groups.values():
        nouns = [form for noun in group.nouns[:1] for form in (noun.singular, noun.plural)]
        shared.update(map(str.lower, [*group.adjectives[:1], *group.pronouns.slots().values(), *nouns]))
    return word.lower() not in shared and int(digest("word", word.lower())[:8], 16) % 4 == 0


def names_winobias(*texts: str) -> bool:
    """Whether a text names an occupation that WinoBias tests."""
    return any(_winobias().search(text) for text in texts)


@cache
def _winobias() -> re.Pattern[str]:
    names = "|".join(re.escape(o.name) for o in load_occupations() if o.winobias)
    return re.compile(rf"\b(?:{names})(?:s|es)?\b", re.IGNORECASE)


def counterfactuals(attributes: Sequence[str], seed: int = 0) -> dict[Split, list[Counterfactual]]:
    """The embedded pairs of these attributes by split."""
    for name in attributes:
        check_attribute(name)
    return _by_split(pair for name in attributes for pair in _pairs_of(name, seed))


@cache
def _pairs_of(name: str, seed: int) -> tuple[Counterfactual, ...]:
    """The distinct pairs of an attribute: written by hand, and made of their references and short texts."""
    written = embedded_pairs((name,))
    texts = [(pair.references[0], str(pair.meta.get("template", pair.id))) for pair in written]
    pairs = [
        _counterfactual(pair, f"{name}-{unit}", (pair.meta["identity"], pair.meta["anti_identity"]))
        for pair, (_, unit) in zip(written, texts, strict=True)
    ]
    if name == "gender":
        pairs += [*occupation_pairs(seed), *swapped_pairs(_sentences())]
    else:
        pairs += inserted_pairs((*texts, *_sentences()), load_lexicon(name), seed)
    return tuple(dict.fromkeys(pairs))


def _counterfactual(pair: StereotypePair, unit: str, words: tuple[str, ...] = ()) -> Counterfactual:
    texts = (pair.stereotype, pair.anti_stereotype, pair.references[0])
    return Counterfactual(pair.attribute, *texts, unit, words)


def occupation_pairs(seed: int = 0) -> Iterator[Counterfactual]:
    """Frames of two occupations and a pronoun; also one frame's first clause with another's last."""
    occupations = [o.name for o in load_occupations() if not o.winobias]
    pronouns = [load_lexicon("gender").groups[name].pronouns.slots() for name in ("female", "male")]
    for frame in _frames():
        case = next((slot for slot in ("he", "him", "his") if f"{{{slot}}}" in frame["text"]), None)
        if case is None:
            continue
        words = tuple(slots[case] for slots in pronouns)
        rng = generator(seed, "occupations", frame["id"])
        for _ in range(_FRAMES if "+" not in frame["id"] else 2):
            first, second = rng.sample(occupations, 2)
            person = f"the {(first, second)[frame['refers'] - 1]}" + ("'s" if case == "his" else "")
            one, other, reference = (
                fill_slots(frame["text"], {"first": first, "second": second, case: word})
                for word in (*words, person)
            )
            yield Counterfactual("gender", one, other, reference, frame["id"], words)


def _frames() -> Iterator[dict[str, Any]]:
    """The embedded frames, then those joined from two of one split."""
    plain = toml_file("stereotypes", "gender_occupation.templates")["template"]
    yield from plain
    joints = [(frame, _JOINTS.search(frame["text"])) for frame in plain]
    clauses = [(f, f["text"][: m.start()], m[0], f["text"][m.end() :]) for f, m in joints if m]
    for (head, clause, *_), (tail, _, joint, rest) in product(clauses, clauses):
        together = split_of_template(head["id"]) == split_of_template(tail["id"])
        without_people = clause.replace("{first}", "").replace("{second}", "")
        if together and head["id"] != tail["id"] and "{" not in without_people:
            yield {**tail, "id": f"{head['id']}+{tail['id']}", "text": f"{clause}{joint}{rest}"}


@cache
def _sentences() -> tuple[tuple[str, str], ...]:
    """Short texts of the embedded corpora, each with the item it comes from."""
    items: dict[str, str] = {}
    for task in _SENTENCE_TASKS:
        for record in embedded_records(task):
            for text in (record.gold, *record.references):
                if _words(text) <= _LONGEST_SENTENCE:
                    items.setdefault(text, record.id)
    return tuple(items.items())


def swapped_pairs(texts: _Items) -> Iterator[Counterfactual]:
    """Every gendered word swapped, against the text with neutral words (CDA, Zhao et al. 2018)."""
    swapped = swap_texts([text for text, _ in texts], embedded_swaps())
    for (text, item), other in zip(texts, swapped, strict=True):
        if other.turned and other.neutral and other.content != "both":
            words = tuple(word for turn in other.turned for word in turn)
            yield Counterfactual("gender", text, other.text, other.neutral, f"swap-{item}", words)


def inserted_pairs(texts: _Items, lexicon: Lexicon, seed: int = 0) -> Iterator[Counterfactual]:
    """Adjectives of two groups before the first person of a text, against the text without either."""
    groups = [group.adjectives for group in lexicon.groups.values() if group.adjectives]
    for text, item in texts:
        person = _person().search(text)
        if not person:
            continue
        rng = generator(seed, f"insert-{lexicon.attribute}", text)
        for _ in range(_INSERTIONS):
            words = tuple(rng.choice(group) for group in rng.sample(groups, 2))
            first, second = (_with_adjective(text, person, word) for word in words)
            yield Counterfactual(lexicon.attribute, first, second, text, f"{lexicon.attribute}-{item}", words)


def _with_adjective(text: str, person: re.Match[str], word: str) -> str:
    article = person["article"] or ""
    if article.lower() in ("a", "an"):
        fitting = indefinite_article(word)
        article = fitting.capitalize() if article[0].isupper() else fitting
    start = f"{article} {word} " if article else f"{word} "
    edited = text[: person.start()] + start + person["noun"] + text[person.end() :]
    return edited[:1].upper() + edited[1:]


@cache
def _person() -> re.Pattern[str]:
    """A person or people, with the word that stands before them."""
    known = {noun for name in people() for noun in (name, f"{name}s")}
    for group in load_lexicon("gender").groups.values():
        known |= {w for n in group.nouns for w in (n.singular, n.plural, n.neutral, n.neutral_plural)}
    nouns = known - set(word_list("words", "stop_words", "words"))
    listed = "|".join(sorted(map(re.escape, nouns), key=len, reverse=True))
    before = r"(?:(?P<article>a|an|the|two|three|some|his|her|our|my|their) )?"
    return re.compile(rf"\b{before}(?P<noun>{listed})\b(?! of\b)", re.IGNORECASE)


def ordinary_pairs(seed: int = 0) -> dict[Split, list[Ordinary]]:
    """The embedded ordinary pairs by split: good, damaged and wrong texts, and gendered ones.

    Gendered texts against gendered references are among them, right and wrong: equal scores for both genders
    could be learnt by no longer seeing gender at all, even where the reference states it.
    """
    distinct = dict.fromkeys(_ordinary(seed))
    return _by_split(pair for pair in distinct if _words(*pair.texts) <= _LONGEST_ORDINARY)


def _words(*texts: str) -> int:
    """The words of the longest text."""
    return max(len(text.split()) for text in texts)


def _ordinary(seed: int) -> Iterator[Ordinary]:
    """Good, damaged and wrong texts against the references, so that the whole scale is kept."""
    for record in (record for task in _ORDINARY_TASKS for record in embedded_records(task)):
        rng, item = generator(seed, "ordinary", record.key), f"{record.task}-{record.id}"
        others = [text for text in record.others if text != record.gold]
        for reference in record.references[:4]:
            yield Ordinary(record.gold, reference, item)
            yield Ordinary(damaged(record.gold, rng), reference, item)
            yield Ordinary(rng.choice(others), reference, item)
        for reference, following in pairwise(record.references):
            yield Ordinary(reference, following, item)
        yield Ordinary(damaged(record.gold, rng), record.gold, item)
    for record in embedded_records("image-captioning"):
        # Captions that state a gender against references that state the same one, and swapped captions.
        item = f"{record.task}-{record.id}"
        stated = stated_genders((record.gold, *record.references))
        for place, (text, swap) in enumerate(stated):
            yield Ordinary(swap.text, text, item)
            for reference, _ in stated[place + 1 :]:
                yield Ordinary(text, reference, item)
                yield Ordinary(swap.text, reference, item)


def damaged(text: str, rng: Random) -> str:
    """The text with words dropped, repeated, swapped with their neighbours, or cut from the end."""
    words = text.split()
    place = rng.randrange(max(1, len(words) - 1))
    kind = rng.choice(("drop", "repeat", "swap", "cut"))
    if kind == "drop":
        words = [word for word in words if rng.random() > 0.2]
    elif kind == "repeat":
        words = [copy for word in words for copy in [word] * (2 if rng.random() < 0.15 else 1)]
    elif kind == "swap":
        words = [*words[:place], *words[place : place + 2][::-1], *words[place + 2 :]]
    else:
        words = words[: max(1, len(words) * 3 // 4)]
    return " ".join(words) or text


def stated_genders(texts: Sequence[str]) -> list[tuple[str, Swapped]]:
    """The texts that state one gender, each with its swapped twin."""
    swapped = zip(texts, swap_texts(texts, embedded_swaps()), strict=True)
    return [(text, swap) for text, swap in swapped if swap.content in ("male", "female")]


_SENTENCES = ("sentence1", "sentence2")  # MultiNLI and STS-B
_PAIR_COLUMNS = ("anti_stereotype", "sent_more")
_PAIRS = " (columns stereotype, anti_stereotype, reference)"
_EXPECTED = (
    f"give pairs{_PAIRS}, sentence1 and sentence2 as in MultiNLI and STS-B, StereoSet's dev.json, "
    f"or sentences, one per line, in a .txt file"
)


def read_material(path: Path, attributes: Sequence[str]) -> Material:
    """What a user's file adds: pairs, or sentences that are turned into pairs as the embedded ones are."""
    text = read_text(path)
    if not text.strip():
        raise DataError(f"{path} is empty; {_EXPECTED}")
    ordinary: list[Ordinary] = []
    if any(name in text.lstrip()[:2000].splitlines()[0] for name in _PAIR_COLUMNS):
        read = read_pair_files([path])[0]
        pairs = [_counterfactual(pair, f"own-{pair.meta.get('template', pair.id)}") for pair in read]
    elif all(name in text.split("\n", 1)[0] for name in _SENTENCES):
        rows = list(_sentence_pairs(path, text))
        pairs = _augmented([(sentence, item) for item, *both in rows for sentence in both], attributes)
        ordinary = [Ordinary(first, second, item) for item, first, second in rows]
    else:
        pairs = _augmented(_single_sentences(path, text, attributes), attributes)
    if not pairs and not ordinary:
        raise _nothing_named(path, attributes)
    return Material(_by_split(pairs), _by_split(ordinary))


def _single_sentences(path: Path, text: str, attributes: Sequence[str]) -> _Items:
    """The sentences of StereoSet, or of a text with one per line; a table of other columns is refused."""
    if path.suffix == ".json":
        return _stereoset(path, text, attributes)
    if path.suffix in SUFFIXES:
        columns = ", ".join(read_rows(path)[0].values)
        raise DataError(f"{path} has the columns {columns}; {_EXPECTED}")
    lines = filter(None, map(str.strip, text.splitlines()))
    return [(line, f"{path.stem}-{number}") for number, line in enumerate(lines)]


def _nothing_named(path: Path, attributes: Sequence[str]) -> DataError:
    """The error for a file without anything to train on, with what would help."""
    names = " or ".join(attributes)
    if not set(attributes) & set(ATTRIBUTES):
        return DataError(
            f"{path}: sentences help only {', '.join(ATTRIBUTES)}; give pairs of {names}{_PAIRS}"
        )
    return DataError(f"{path}: no sentence names {names}; nothing to train on")


def _sentence_pairs(path: Path, text: str) -> Iterator[tuple[str, str, str]]:
    """(item, sentence1, sentence2) of JSON Lines or a tab-separated table with a header."""
    if text.lstrip().startswith("{"):
        rows: Iterator[dict[str, Any]] = (json.loads(line) for line in text.splitlines() if line.strip())
    else:
        # MultiNLI and STS-B are written without quoting: a quotation mark is a character like any other.
        rows = iter(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    for number, row in enumerate(rows):
        first, second = (str(row.get(name) or "").strip() for name in _SENTENCES)
        if first and second and _words(first, second) <= _LONGEST_FILE:
            yield f"{path.stem}-{number}", first, second


def _stereoset(path: Path, text: str, attributes: Sequence[str]) -> list[tuple[str, str]]:
    """The sentences of StereoSet's context association tests on these attributes, nonsense left out."""
    try:
        parts = json.loads(text)["data"]
        tests = [test for part in ("intrasentence", "intersentence") for test in parts.get(part, [])]
        about = [(f"{path.stem}-{t['id']}", t["sentences"]) for t in tests if t["bias_type"] in attributes]
        listed = [(sentence, item) for item, sentences in about for sentence in sentences]
        return [(text["sentence"], item) for text, item in listed if text["gold_label"] != "unrelated"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is not StereoSet ({error!r}); give its dev.json, or JSON Lines") from error


def _augmented(texts: _Items, attributes: Sequence[str], seed: int = 0) -> list[Counterfactual]:
    """Counterfactual data augmentation of sentences, for every attribute that has a lexicon."""
    pairs: list[Counterfactual] = []
    for name in attributes:
        if name == "gender":
            pairs += swapped_pairs(texts)
        elif name in ATTRIBUTES:
            pairs += inserted_pairs(texts, load_lexicon(name), seed)
    return pairs
