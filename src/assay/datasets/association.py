"""Association tests at word and sentence level: the embedded ones, and published ones read from files.

A test has two target sets and two attribute sets. Each text carries its *unit*, the word it was
made from, so that an audit can permute words rather than the sentences that repeat them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from assay.datasets.files import read_json
from assay.datasets.lexicon import indefinite_article
from assay.errors import DataError
from assay.files import data_path, toml_file, word_set
from assay.grouping import repeated

_Level = Literal["word", "sentence", "unbleached"]
SET_KEYS = ("targ1", "targ2", "attr1", "attr2")
LONGEST_UNIT = 3  # in tokens: "Cape Verdean American", "woman of color"
Frame = tuple[tuple[str, ...], tuple[str, ...]]  # the tokens before and after a gap


@dataclass(frozen=True, slots=True)
class WordSet:
    """Texts of one category, each with the word it was made from."""

    category: str
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AssociationTest:
    """Two target sets and two attribute sets; `label` is the one the paper's tables use."""

    name: str
    label: str
    level: _Level
    targ1: WordSet
    targ2: WordSet
    attr1: WordSet
    attr2: WordSet


def word_tests() -> dict[str, AssociationTest]:
    """The embedded tests at word level, by name, in the order of the labels."""
    names = toml_file("association", "tests")["labels"]
    return {name: _as_words(name, _read_sets(data_path("association", f"{name}.json"))) for name in names}


def sentence_tests(templates_per_word: int | None = None) -> dict[str, AssociationTest]:
    """Every word in each frame of its class (or the first few), and the unbleached tests."""
    if templates_per_word is not None and templates_per_word < 1:
        raise DataError(f"templates_per_word is {templates_per_word}; give 1 or more, or None for all")
    frames = toml_file("association", "templates")
    by_word = {word: frames[name] for word, name in _classes().items()}
    tests = {}
    for name, test in word_tests().items():
        sets = [_in_frames(getattr(test, key), by_word, templates_per_word) for key in SET_KEYS]
        tests[f"sent-{name}"] = AssociationTest(f"sent-{name}", test.label, "sentence", *sets)
    return tests | unbleached_tests(templates_per_word)


def unbleached_tests(templates_per_word: int | None = None) -> dict[str, AssociationTest]:
    """The double-bind tests in sentences that carry meaning of their own."""
    words, tests = word_tests(), {}
    for name, entry in toml_file("association", "tests")["unbleached"].items():
        sets = []
        for key in SET_KEYS:
            source: WordSet = getattr(words[entry["words"]], key)
            frames = entry["targets" if key.startswith("targ") else "attributes"]
            sets.append(_in_frames(source, {word: frames for word, _ in source.items}, templates_per_word))
        tests[name] = AssociationTest(name, entry["label"], "unbleached", *sets)
    return tests


def read_published(path: Path) -> list[AssociationTest]:
    """Read the tests of a file in the SEAT form, or of every such file in a folder, sorted by name.

    At word level a text is its own unit. The unit of a sentence of `sent-X.json` is the longest word
    of the same set of `X.json` that occurs in it, in any inflection, ignoring case. Without `X.json`
    it is the part in which the sentences of the set differ (see `_varying_part`); a plural is then a
    unit of its own.
    """
    paths = sorted(path.glob("*.json")) if path.is_dir() else [path] * path.exists()
    if not paths:
        what = "no .json file in this folder" if path.is_dir() else "no such file"
        raise DataError(f"{path}: {what}; give a file or folder in the SEAT form")
    return [_read_test(file) for file in paths]


@cache
def _classes() -> dict[str, str]:
    return {word: name for name, words in toml_file("association", "word_classes").items() for word in words}


def _in_frames(words: WordSet, frames: Mapping[str, Sequence[str]], limit: int | None) -> WordSet:
    """Each word in each of its frames (or the first few), with the word as the unit."""
    items = [
        (frame.format(word=word, a_word=f"{indefinite_article(word)} {word}"), word)
        for word, _ in words.items
        for frame in frames[word][:limit]
    ]
    return WordSet(words.category, tuple(items))


def _read_sets(path: Path) -> dict[str, tuple[str, list[str]]]:
    """Category and examples of each set, or an error that names the file and the key."""
    document = read_json(path)
    if not isinstance(document, dict):
        raise DataError(f"{path}: not a JSON object; the SEAT form has the keys {', '.join(SET_KEYS)}")
    return {key: _read_set(f"{path}: key '{key}", document.get(key)) for key in SET_KEYS}


def _read_set(where: str, entry: object) -> tuple[str, list[str]]:
    if not isinstance(entry, dict):
        raise DataError(f"{where}' is missing or no object; it needs 'category' and 'examples'")
    category, examples = entry.get("category"), entry.get("examples")
    if not isinstance(category, str):
        raise DataError(f"{where}.category' is missing or no string")
    if not isinstance(examples, list) or not all(isinstance(text, str) for text in examples):
        raise DataError(f"{where}.examples' is missing or no list of strings")
    if not examples or not all(text.strip() for text in examples):
        raise DataError(f"{where}.examples' is empty or has an empty text; give it some words")
    twice = repeated(examples)
    if twice:  # a repeated text would count twice and shrink the p-value
        raise DataError(f"{where}.examples' has {twice[0]!r} twice; leave one out")
    return category, examples


def _as_words(name: str, sets: dict[str, tuple[str, list[str]]]) -> AssociationTest:
    parts = [WordSet(category, tuple((word, word) for word in words)) for category, words in sets.values()]
    return AssociationTest(name, _label(name), "word", *parts)


def _label(name: str) -> str:
    labels: dict[str, str] = toml_file("association", "tests")["labels"]
    stem = name.removeprefix("sent-")
    if stem.startswith("heilman_double_bind_"):
        stem = "_".join(stem.split("_")[:4]) + "_one_word"
    return labels.get(stem, stem)


def _level(name: str, sets: dict[str, tuple[str, list[str]]]) -> _Level:
    if name.startswith("sent-"):
        return "sentence"
    if name.startswith("heilman_double_bind_") and not name.endswith("_one_word"):
        return "unbleached"
    is_sentence = all(text.rstrip().endswith((".", "!", "?")) for _, texts in sets.values() for text in texts)
    return "sentence" if is_sentence else "word"


def _read_test(path: Path) -> AssociationTest:
    sets = _read_sets(path)
    level = _level(path.stem, sets)
    if level == "word":
        return _as_words(path.stem, sets)
    beside = path.with_name(path.name.removeprefix("sent-"))
    words = _read_sets(beside) if beside != path and beside.exists() else None
    parts = []
    for key, (category, texts) in sets.items():
        units = _units_by_words(texts, words[key][1]) if words else _varying_part(texts)
        parts.append(WordSet(category, tuple(zip(texts, units, strict=True))))
    return AssociationTest(path.stem, _label(path.stem), level, *parts)


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(token.strip(".,;:!?\"'()") for token in text.split())


def _inflections(token: str) -> set[str]:
    """Every form of a token: poppy, poppies; equations, equation; woman, women."""
    from lemminflect import getAllInflections, getAllLemmas  # loads its tables: not at import

    lemmas = {token, *(lemma for group in getAllLemmas(token).values() for lemma in group)}
    forms = {form for lemma in lemmas for group in getAllInflections(lemma).values() for form in group}
    # Rules give the plural of words its tables lack (teargas, blackfly).
    return lemmas | forms | {token + "s", token + "es", token.removesuffix("y") + "ies"}


def _forms(word: str) -> set[tuple[str, ...]]:
    """The word as tokens, with one token in any inflection: woman of color, women of color."""
    tokens = _tokens(word.lower())
    forms = [(at, form) for at, token in enumerate(tokens) for form in _inflections(token)]
    return {(*tokens[:at], form, *tokens[at + 1 :]) for at, form in forms}


def _units_by_words(texts: Sequence[str], words: Sequence[str]) -> list[str]:
    """The longest word of the list in each text; a text that has none is its own unit."""
    longest_first = sorted(words, key=len, reverse=True)
    exact = [(_padded(_tokens(word.lower())), word) for word in longest_first]
    inflected = [(_padded(form), word) for word in longest_first for form in _forms(word)]
    phrases = [*exact, *inflected]
    units = []
    for text in texts:
        padded = _padded(_tokens(text.lower()))
        units.append(next((word for phrase, word in phrases if phrase in padded), text))
    return units


def _padded(tokens: Sequence[str]) -> str:
    """Tokens with a space on every side, in which whole phrases can be looked for."""
    return f" {' '.join(tokens)} "


def _gaps(tokens: tuple[str, ...]) -> list[tuple[Frame, tuple[str, ...]]]:
    """Each way to cut a unit out of a sentence: it begins and ends with a content word, or is one token."""
    stop_words = word_set("words", "stop_words") - _classes().keys()  # he, hers, always are words of a test
    content = [place for place, token in enumerate(tokens) if token.lower() not in stop_words]
    spans = [(i, j) for i in content for j in content if i <= j < i + LONGEST_UNIT]
    # "This is mine.": only function words.
    spans = spans or [(place, place) for place in range(len(tokens))]
    plain = tuple("a" if token.lower() == "an" else token.lower() for token in tokens)
    return [((plain[:i], plain[j + 1 :]), tokens[i : j + 1]) for i, j in spans]


def _varying_part(texts: Sequence[str]) -> list[str]:
    """The part of each text that varies most among texts that are otherwise the same.

    "This is John." and "This is Paul." share the frame "This is _", filled by John and Paul. The frame
    with the most fillers is taken for the template; of equals, the one with the shortest part. If no
    other text shares a frame, the unit is the only content word, or else the whole text.
    """
    cuts = [_gaps(_tokens(text)) for text in texts]
    fillers: dict[Frame, set[tuple[str, ...]]] = defaultdict(set)
    for frame, gap in (cut for options in cuts for cut in options):
        fillers[frame].add(gap)
    units = []
    for text, options in zip(texts, cuts, strict=True):
        able = [(len(fillers[frame]), -len(gap), gap) for frame, gap in options if any(frame)]
        support, _, gap = max(able, key=lambda option: option[:2], default=(1, 0, ()))
        units.append(" ".join(gap) if support > 1 or len(options) == 1 else text)
    return units
