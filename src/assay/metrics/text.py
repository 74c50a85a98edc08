"""Tokens, stems and n-gram counts of texts, each computed once per text and shared by all metrics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from inspect import signature
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast

import numpy as np

from assay.core import Floats, Sample, Scores
from assay.errors import SpecError, TextError
from assay.metrics.ptb import ptb_tokens
from assay.models.memory import BoundedCache

Tokenize = Literal[
    "split", "13a", "intl", "zh", "char", "ptb", "rouge", "unicode", "tercom", "ja-mecab", "ko-mecab",
    "flores101", "flores200",
]  # fmt: skip
Reduce = Literal["max", "mean"]  # over the references of a sample
Counts = Counter[tuple[str, ...]]
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Memo(Generic[_P, _T]):
    """A function of a text, or of several, that remembers its answers up to `budget` characters of text."""

    def __init__(self, make: Callable[_P, _T], budget: int) -> None:
        self._make, self._known = make, BoundedCache[_T](budget)
        self._defaults: tuple[Any, ...] = getattr(make, "__defaults__", None) or ()
        self._required = len(signature(make).parameters) - len(self._defaults)
        self.calls = 0  # how often `make` ran: tests count it

    def __call__(self, *given: _P.args, **named: _P.kwargs) -> _T:
        # With the defaults filled in, so that equal calls share one entry.
        key = (*given, *self._defaults[len(given) - self._required :], *named.items())
        value = self._known.get(key)
        if value is None:
            value = self._make(*given, **named)
            self.calls += 1
            text = cast("str | tuple[str, ...]", given[0])
            self._known.put(key, value, 1 + (len(text) if isinstance(text, str) else sum(map(len, text))))
        return value


def memo(budget: int) -> Callable[[Callable[_P, _T]], Memo[_P, _T]]:
    """Decorate a function of a text with a memory of `budget` characters."""
    return lambda make: Memo(make, budget)


@memo(budget=4_000_000)
def tokens(text: str, tokenize: Tokenize, lowercase: bool = False, stemmer: bool = False) -> tuple[str, ...]:
    """Return the words of a text; raises where the tokeniser cannot read the script."""
    if not text.isascii():
        _check_script(text, tokenize)
    words = _split(text.lower() if lowercase else text, tokenize)
    if stemmer:
        # Words of up to three letters stay as they are, as in ROUGE-1.5.5 and rouge-score.
        return tuple([stem(word) if len(word) > 3 else word for word in words])
    return tuple(words)


def _split(text: str, tokenize: Tokenize) -> Sequence[str]:
    own = _SPLITTERS.get(tokenize)
    return own(text) if own else cast(str, _sacrebleu_tokenizer(tokenize)(text.rstrip())).split()


# sacreBLEU's 13a (mteval-v13a.pl). Its patterns look no farther than the next character, so that they may be
# applied word by word, and each word but once.
_PATTERNS_13A = (
    (re.compile(r"([!-&(-+:-@/\[-`{-~])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def _tokens_13a(text: str) -> list[str]:
    line = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for entity, character in _ENTITIES:
            line = line.replace(entity, character)
    return [part for word in line.split() for part in ((word,) if word.isalnum() else _split_13a(word))]


_SPLITTERS: dict[Tokenize, Callable[[str], Sequence[str]]] = {
    "split": str.split,
    "rouge": lambda text: re.findall(r"[a-z0-9]+", text.lower()),
    "unicode": lambda text: re.findall(r"\w+", text.lower()),
    "ptb": ptb_tokens,
    "13a": lambda text: _tokens_13a(text.rstrip()),
}


@lru_cache(maxsize=200_000)
def _split_13a(word: str) -> tuple[str, ...]:
    line = f" {word} "
    for pattern, replacement in _PATTERNS_13A:
        line = pattern.sub(replacement, line)
    return tuple(line.split())


# Tokenisers of sacreBLEU that need more than the package, and what brings it.
_BROUGHT_BY = {
    "ja-mecab": "pip install 'sacrebleu[ja]'",
    "ko-mecab": "pip install 'sacrebleu[ko]'",
    "flores101": "pip install sentencepiece, and let sacreBLEU fetch its model once with a network",
    "flores200": "pip install sentencepiece, and let sacreBLEU fetch its model once with a network",
}


@cache
def _sacrebleu_tokenizer(name: str) -> Any:
    if name == "tercom":
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

        return TercomTokenizer()
    from sacrebleu.metrics.bleu import _get_tokenizer

    try:
        return _get_tokenizer(name)()
    except (ImportError, RuntimeError, OSError) as error:  # MeCab raises RuntimeError without a dictionary
        advice = _BROUGHT_BY.get(name)
        if advice is None:
            raise
        raise SpecError(f"tokenize={name} is not ready here ({type(error).__name__}): {advice}") from error


# Chinese, Japanese, Thai, Lao, Burmese and Khmer are written without spaces between words.
_UNSPACED = re.compile(r"[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_READS_UNSPACED = ("zh", "char", "ja-mecab", "flores101", "flores200")


def _check_script(text: str, tokenize: Tokenize) -> None:
    letters = sum(map(str.isalpha, text))
    if tokenize == "rouge":
        lost = 2 * sum(char.isascii() and char.isalpha() for char in text) < letters
        problem = f"keeps only a-z and 0-9 and loses most of {text[:40]!r}"
        advice = "give tokenize=unicode, or tokenize=char for text without spaces"
    else:
        lost = tokenize not in _READS_UNSPACED and 2 * len(_UNSPACED.findall(text)) > letters
        problem = f"needs spaces between words and {text[:40]!r} has none"
        advice = "give tokenize=char, zh for Chinese, ja-mecab for Japanese, or flores200 for any language"
    if lost:
        raise TextError(f"the tokeniser {tokenize!r} {problem}", advice, text)


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return Porter's stem with NLTK's extensions, as rouge-score and NLTK's METEOR use it."""
    return cast(str, _porter().stem(word))


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


def grams(words: Sequence[str], n: int) -> Counts:
    """Count each n-gram."""
    return Counter(zip(*(words[start:] for start in range(n)), strict=False))


@memo(budget=600_000)
def word_counts(
    text: str, n: int, tokenize: Tokenize, lowercase: bool = False, stemmer: bool = False
) -> Counts:
    """Return the n-gram counts of a text."""
    return grams(tokens(text, tokenize, lowercase, stemmer), n)


def f_measure(precision: float, recall: float, beta: float = 1.0) -> float:
    """Return the weighted harmonic mean, 0 where both are 0."""
    weight = beta * beta
    total = weight * precision + recall
    return (1 + weight) * precision * recall / total if total > 0 else 0.0


def reduced(values: Sequence[float] | Floats, reduce: Reduce) -> float | None:
    """Return the best or the mean of one sample's scores; None where there are none."""
    if not len(values):
        return None
    return float(max(values) if reduce == "max" else np.mean(values))


def compare_references(
    samples: Sequence[Sample],
    compare: Callable[[str, str], float | None],
    reduce: Reduce,
    **counts: Callable[[str], int],
) -> Scores:
    """Return one score per sample from the pairs that have one, and counts summed over a sample's texts."""
    values = []
    for sample in samples:
        pairs = (compare(sample.hypothesis, text) for text in sample.references)
        values.append(reduced([value for value in pairs if value is not None], reduce))
    texts = [(sample.hypothesis, *sample.references) for sample in samples]
    return Scores(values, {name: [sum(map(count, row)) for row in texts] for name, count in counts.items()})


def distinct_texts(samples: Iterable[Sample]) -> list[str]:
    """Return each hypothesis and reference of the samples once."""
    return list(dict.fromkeys(text for sample in samples for text in (sample.hypothesis, *sample.references)))


def reference_pairs(samples: Iterable[Sample]) -> list[tuple[str, str]]:
    """Return each hypothesis with each of its references."""
    return [(sample.hypothesis, text) for sample in samples for text in sample.references]


def by_reference(samples: Iterable[Sample]) -> Iterator[slice]:
    """Iterate over the places that the pairs of each sample have among `reference_pairs`."""
    return segments(len(sample.references) for sample in samples)


def with_texts(samples: Iterable[Sample], texts: Mapping[str, str]) -> list[Sample]:
    """Return the samples with each hypothesis and reference replaced as `texts` says."""
    return [
        replace(s, hypothesis=texts[s.hypothesis], references=tuple(texts[text] for text in s.references))
        for s in samples
    ]


def segments(lengths: Iterable[int]) -> Iterator[slice]:
    """Iterate over consecutive slices of these lengths."""
    start = 0
    for length in lengths:
        yield slice(start, start + length)
        start += length
