"""Texts to tokens, stems and n-gram counts, each made once a text and shared by all metrics that ask."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import cache, lru_cache
from operator import add
from threading import Lock
from typing import Any, Generic, Literal, TypeVar, cast

from assay.errors import TextError
from assay.metrics.ptb import ptb_tokens

Tokenize = Literal["split", "13a", "intl", "zh", "char", "ptb", "rouge", "unicode", "tercom"]
Counts = Counter[tuple[str, ...]]
T = TypeVar("T")


class Memo(Generic[T]):
    """Remembers what was made of a text; the oldest go first once `budget` characters are held."""

    def __init__(self, make: Callable[..., T], budget: int) -> None:
        self._make, self._budget = make, budget
        # A plain dict would walk over all it has dropped to find its oldest.
        self._kept: OrderedDict[Hashable, tuple[int, T]] = OrderedDict()
        self._held = 0
        self._lock = Lock()
        self.made = 0  # how often `make` ran: tests count it

    def __call__(self, text: str | tuple[str, ...], *how: Hashable) -> T:
        """What `make` gives for the text, from memory where it was asked before."""
        key = (text, how)
        found = self._kept.get(key)
        if found is not None:
            return found[1]
        value = self._make(text, *how)
        size = 1 + (len(text) if isinstance(text, str) else sum(map(len, text)))
        with self._lock:
            self.made += 1
            if key not in self._kept:
                self._kept[key] = (size, value)
                self._held += size
            while self._held > self._budget and len(self._kept) > 1:
                self._held -= self._kept.popitem(last=False)[1][0]
        return value


def memo(budget: int) -> Callable[[Callable[..., T]], Memo[T]]:
    """Decorate a function of a text with a memory of `budget` characters."""
    return lambda make: Memo(make, budget)


def tokens(text: str, tokenize: Tokenize, lowercase: bool = False, stemmer: bool = False) -> tuple[str, ...]:
    """The words of a text; an error, never an empty answer, where the tokeniser cannot read the script."""
    return made_tokens(text, tokenize, lowercase, stemmer)


@memo(budget=4_000_000)
def made_tokens(text: str, tokenize: Tokenize, lowercase: bool, stemmer: bool) -> tuple[str, ...]:
    """Tokens from memory; all arguments are given, so that equal questions have one answer."""
    if not text.isascii():
        _check_script(text, tokenize)
    found = _split(text.lower() if lowercase else text, tokenize)
    if stemmer:
        # Words of up to three letters stay as they are, as in ROUGE-1.5.5 and rouge-score.
        return tuple([stem(word) if len(word) > 3 else word for word in found])
    return tuple(found)


def _split(text: str, tokenize: Tokenize) -> Sequence[str]:
    if tokenize == "split":
        return text.split()
    if tokenize == "rouge":
        return re.findall(r"[a-z0-9]+", text.lower())
    if tokenize == "unicode":
        return re.findall(r"\w+", text.lower())
    if tokenize == "ptb":
        return ptb_tokens(text)
    return cast(str, _sacrebleu_tokenizer(tokenize)(text.rstrip())).split()


@cache
def _sacrebleu_tokenizer(name: str) -> Any:
    if name == "tercom":
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

        return TercomTokenizer()
    from sacrebleu.metrics.bleu import _get_tokenizer

    return _get_tokenizer(name)()


# Chinese, Japanese, Thai, Lao, Burmese and Khmer are written without spaces between words.
_UNSPACED = re.compile(r"[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def _check_script(text: str, tokenize: Tokenize) -> None:
    letters = sum(map(str.isalpha, text))
    if tokenize == "rouge":
        latin = sum(char.isascii() and char.isalpha() for char in text)
        if 2 * latin < letters:
            raise TextError(
                f"the tokeniser 'rouge' keeps only a-z and 0-9 and loses most of {text[:40]!r}",
                "give tokenize=unicode, or tokenize=char for text without spaces",
                text,
            )
    elif tokenize not in ("zh", "char") and 2 * len(_UNSPACED.findall(text)) > letters:
        raise TextError(
            f"the tokeniser {tokenize!r} needs spaces between words and {text[:40]!r} has none",
            "give tokenize=char, or tokenize=zh for Chinese",
            text,
        )


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Porter's stem, with NLTK's extensions (what rouge-score and NLTK's METEOR use)."""
    return cast(str, _porter().stem(word))


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


def grams(words: Sequence[str], n: int) -> Counts:
    """How often each n-gram occurs."""
    return Counter(zip(*(words[start:] for start in range(n)), strict=False))


def word_counts(
    text: str, n: int, tokenize: Tokenize, lowercase: bool = False, stemmer: bool = False
) -> Counts:
    """The n-gram counts of a text."""
    return made_counts(text, n, tokenize, lowercase, stemmer)


@memo(budget=600_000)
def made_counts(text: str, n: int, tokenize: Tokenize, lowercase: bool, stemmer: bool) -> Counts:
    """Counts from memory."""
    return grams(made_tokens(text, tokenize, lowercase, stemmer), n)


def order_counts(text: str, n: int, tokenize: Tokenize, lowercase: bool = False) -> tuple[Counts, ...]:
    """The n-gram counts of the orders 1 to n."""
    return made_order_counts(text, n, tokenize, lowercase)


@memo(budget=400_000)
def made_order_counts(text: str, n: int, tokenize: Tokenize, lowercase: bool) -> tuple[Counts, ...]:
    """Counts of all orders from memory."""
    words = made_tokens(text, tokenize, lowercase, False)
    return tuple([grams(words, order) for order in range(1, n + 1)])


@memo(budget=100_000)
def character_counts(text: str, n: int, whitespace: bool = False) -> tuple[Counter[str], ...]:
    """Character n-gram counts of the orders 1 to n."""
    line = text if whitespace else "".join(text.split())
    found, counts = list(line), [Counter(line)]
    for order in range(1, n):
        found = list(map(add, found, line[order:]))  # each n-gram grows by the character after it
        counts.append(Counter(found))
    return tuple(counts)


def matches(one: Counter[Any], other: Counter[Any]) -> int:
    """How many n-grams two texts share, each counted as often as it is in both."""
    common = one.keys() & other.keys()
    return sum(map(min, map(one.__getitem__, common), map(other.__getitem__, common)))


def f_measure(precision: float, recall: float, beta: float = 1.0) -> float:
    """The weighted harmonic mean; 0 where both are 0."""
    weight = beta * beta
    total = weight * precision + recall
    return (1 + weight) * precision * recall / total if total > 0 else 0.0


def reduced(values: Sequence[float], how: Literal["max", "mean"]) -> float | None:
    """One score from a score a reference; absent without references."""
    if not values:
        return None
    return max(values) if how == "max" else sum(values) / len(values)


@cache
def _pipeline() -> Any:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10_000_000
    return pipeline


@lru_cache(maxsize=20_000)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, stripped; line ends part sentences too."""
    found = [
        span.text.strip() for line in text.splitlines() if line.strip() for span in _pipeline()(line).sents
    ]
    return tuple(sentence for sentence in found if sentence)
