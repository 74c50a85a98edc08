"""Association tests: word sets in, word and sentence tests out, ours or the published ones.

A test has two target and two attribute sets. Each text carries its *unit*, the word it was
made from, so that an audit can permute words rather than the sentences that repeat them.
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from assay.datasets.rows import json_value
from assay.errors import DataError

Level = Literal["word", "sentence", "unbleached"]
KEYS = ("targ1", "targ2", "attr1", "attr2")
LONGEST_UNIT = 3  # tokens: "Cape Verdean American", "woman of color"
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
    level: Level
    targ1: WordSet
    targ2: WordSet
    attr1: WordSet
    attr2: WordSet


def word_tests() -> dict[str, AssociationTest]:
    """The embedded tests at word level, by name, in the order of the labels."""
    folder = files("assay") / "data" / "association"
    labels = _toml("tests.toml")["labels"]
    return {
        name: _as_words(name, _parse(f"{name}.json", (folder / f"{name}.json").read_text("utf-8")))
        for name in labels
    }


def sentence_tests(templates_per_word: int | None = None) -> dict[str, AssociationTest]:
    """Every word in each frame of its class, and the unbleached tests; the first frames if limited."""
    if templates_per_word is not None and templates_per_word < 1:
        raise DataError(f"templates_per_word is {templates_per_word}; give 1 or more, or None for all")
    frames = _toml("templates.toml")
    tests = {}
    for name, test in word_tests().items():
        sets = [_in_frames(_words_of(test, key), frames, templates_per_word) for key in KEYS]
        tests[f"sent-{name}"] = AssociationTest(f"sent-{name}", test.label, "sentence", *sets)
    return tests | unbleached_tests(templates_per_word)


def unbleached_tests(templates_per_word: int | None = None) -> dict[str, AssociationTest]:
    """The double bind in sentences that say more, and so carry meaning of their own."""
    words, tests = word_tests(), {}
    for name, entry in _toml("tests.toml")["unbleached"].items():
        frames = {"targ": entry["targets"], "attr": entry["attributes"]}
        sets = []
        for key in KEYS:
            source = _words_of(words[entry["words"]], key)
            items = _fill(frames[key[:4]][:templates_per_word], [word for word, _ in source.items])
            sets.append(WordSet(source.category, tuple(items)))
        tests[name] = AssociationTest(name, entry["label"], "unbleached", *sets)
    return tests


def read_published(path: Path) -> list[AssociationTest]:
    """The tests of a file in the SEAT form, or of every such file in a folder, by name.

    At word level a text is its own unit. At sentence level the unit is the longest word, in
    any inflection, of the same set of `X.json` that stands in the sentence of `sent-X.json`,
    case ignored; where `X.json` does not lie beside it, the token or tokens in which the
    sentences of the set vary (see `_varying_part`), where a plural is a unit of its own.
    """
    paths = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not paths:
        raise DataError(f"{path}: no .json file in this folder; give a file or folder in the SEAT form")
    return [_read_test(file) for file in paths]


# --- the embedded sets ---


@cache
def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((files("assay") / "data" / "association" / name).read_text("utf-8"))


@cache
def _classes() -> dict[str, str]:
    lists = {key: words for key, words in _toml("word_classes.toml").items() if key != "article"}
    return {word: name for name, words in lists.items() for word in words}


def _article(word: str) -> str:
    irregular = _toml("word_classes.toml")["article"]
    for article in ("a", "an"):
        if word in irregular[article]:
            return article
    return "an" if word[0].lower() in "aeiou" else "a"


def _fill(frames: Iterable[str], words: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Each word in each frame, with the word as the unit."""
    listed = tuple(frames)
    for word in words:
        for frame in listed:
            yield frame.format(word=word, a_word=f"{_article(word)} {word}"), word


def _in_frames(words: WordSet, frames: dict[str, list[str]], limit: int | None) -> WordSet:
    items: list[tuple[str, str]] = []
    for word, _ in words.items:
        items.extend(_fill(frames[_classes()[word]][:limit], [word]))
    return WordSet(words.category, tuple(items))


# --- the SEAT form ---


def _parse(where: str, text: str) -> dict[str, tuple[str, list[str]]]:
    """Category and examples of each set, or an error that names the file and the key."""
    try:
        document = json_value(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON ({error}); give a file in the SEAT form") from error
    if not isinstance(document, dict):
        raise DataError(f"{where}: not a JSON object; the SEAT form has the keys {', '.join(KEYS)}")
    return {key: _parse_set(where, key, document.get(key)) for key in KEYS}


def _parse_set(where: str, key: str, entry: object) -> tuple[str, list[str]]:
    if not isinstance(entry, dict):
        raise DataError(f"{where}: key '{key}' is missing or no object; it needs 'category' and 'examples'")
    category, examples = entry.get("category"), entry.get("examples")
    if not isinstance(category, str):
        raise DataError(f"{where}: key '{key}.category' is missing or no string")
    if not isinstance(examples, list) or not all(isinstance(text, str) for text in examples):
        raise DataError(f"{where}: key '{key}.examples' is missing or no list of strings")
    if not examples or not all(text.strip() for text in examples):
        raise DataError(f"{where}: key '{key}.examples' is empty or has an empty text; give it some words")
    if len(set(examples)) < len(examples):  # a text that counts twice makes the others look surer
        twice = next(text for text in examples if examples.count(text) > 1)
        raise DataError(f"{where}: key '{key}.examples' has {twice!r} twice; leave one out")
    return category, examples


def _as_words(name: str, sets: dict[str, tuple[str, list[str]]]) -> AssociationTest:
    parts = [WordSet(category, tuple((word, word) for word in words)) for category, words in sets.values()]
    return AssociationTest(name, _label(name), "word", *parts)


def _words_of(test: AssociationTest, key: str) -> WordSet:
    return {"targ1": test.targ1, "targ2": test.targ2, "attr1": test.attr1, "attr2": test.attr2}[key]


def _label(name: str) -> str:
    labels: dict[str, str] = _toml("tests.toml")["labels"]
    stem = name.removeprefix("sent-")
    if stem.startswith("heilman_double_bind_"):
        stem = "_".join(stem.split("_")[:4]) + "_one_word"
    return labels.get(stem, stem)


def _level(name: str, sets: dict[str, tuple[str, list[str]]]) -> Level:
    if name.startswith("sent-"):
        return "sentence"
    if name.startswith("heilman_double_bind_") and not name.endswith("_one_word"):
        return "unbleached"
    is_sentence = all(text.rstrip().endswith((".", "!", "?")) for _, texts in sets.values() for text in texts)
    return "sentence" if is_sentence else "word"


def _read_test(path: Path) -> AssociationTest:
    sets = _parse(str(path), _read_text(path))
    level = _level(path.stem, sets)
    if level == "word":
        return _as_words(path.stem, sets)
    beside = path.with_name(path.name.removeprefix("sent-"))
    words = _parse(str(beside), _read_text(beside)) if beside != path and beside.exists() else None
    parts = []
    for key, (category, texts) in sets.items():
        units = _units_by_words(texts, words[key][1]) if words else _varying_part(texts)
        parts.append(WordSet(category, tuple(zip(texts, units, strict=True))))
    return AssociationTest(path.stem, _label(path.stem), level, *parts)


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; give a file or folder in the SEAT form") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error}); save it as UTF-8") from error


# --- the unit of a published sentence ---


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(token.strip(".,;:!?\"'()") for token in text.split())


def _holds(sentence: Sequence[str], phrase: Sequence[str]) -> bool:
    size = len(phrase)
    return any(sentence[at : at + size] == phrase for at in range(len(sentence) - size + 1))


def _inflections(token: str) -> set[str]:
    """Every form of a token: poppy, poppies; equations, equation; woman, women."""
    from lemminflect import getAllInflections, getAllLemmas  # loads its tables: not at import

    lemmas = {token, *(lemma for group in getAllLemmas(token).values() for lemma in group)}
    forms = {form for lemma in lemmas for group in getAllInflections(lemma).values() for form in group}
    # Rules give the plural of words its tables lack (teargas, blackfly).
    return lemmas | forms | {token + "s", token + "es", token.removesuffix("y") + "ies"}


def _forms(word: str) -> set[tuple[str, ...]]:
    """The word as tokens, one of them in any inflection: woman of color, women of color."""
    tokens = _tokens(word.lower())
    return {
        (*tokens[:at], form, *tokens[at + 1 :])
        for at, token in enumerate(tokens)
        for form in _inflections(token)
    }


def _units_by_words(texts: Sequence[str], words: Sequence[str]) -> list[str]:
    """The longest word of the list in each text; a text that has none is its own unit."""
    longest_first = sorted(words, key=len, reverse=True)
    exact = [(_tokens(word.lower()), word) for word in longest_first]
    inflected = [(form, word) for word in longest_first for form in _forms(word)]
    units = []
    for text in texts:
        tokens = _tokens(text.lower())
        found = (word for phrase, word in [*exact, *inflected] if _holds(tokens, phrase))
        units.append(next(found, text))
    return units


def _gaps(tokens: tuple[str, ...]) -> list[tuple[Frame, tuple[str, ...]]]:
    """Each way to cut a unit out of a sentence: content words at both ends, else one token."""
    stop = [token.lower() in _stop_words() for token in tokens]
    starts = range(len(tokens))
    spans = [(i, j) for i in starts for j in starts[i : i + LONGEST_UNIT] if not stop[i] and not stop[j]]
    if not spans:  # "This is mine.": only function words
        spans = [(i, i) for i in starts]
    plain = tuple("a" if token.lower() == "an" else token.lower() for token in tokens)
    return [((plain[:i], plain[j + 1 :]), tokens[i : j + 1]) for i, j in spans]


def _varying_part(texts: Sequence[str]) -> list[str]:
    """The part of each text that varies most over the texts that are otherwise the same.

    "This is John." and "This is Paul." share the frame "This is _", which John and Paul fill;
    the more fillers a frame has, the surer it is the template. Of equals the shortest part
    wins. Where no other text shares a frame, the only content word is the unit, else the text.
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


@cache
def _stop_words() -> frozenset[str]:
    """Words of templates. Those that are words of a test (he, hers, always) are not among them."""
    text = (files("assay") / "data" / "words" / "stop_words.toml").read_text("utf-8")
    return frozenset(tomllib.loads(text)["words"]) - _classes().keys()
