"""The language of a text, its words where no spaces part them, and its sentences by the marks of its script.

Words are split at spaces. In Chinese, Japanese and Thai every character counts as a word, and stretches of
Latin letters or digits count as one.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from assay.files import toml_file

_TABLE = toml_file("words", "languages")
_ENGLISH = frozenset(_TABLE["english"])  # words that few other languages have
_COMMON = [frozenset(words) for words in _TABLE["common"].values()]  # of languages with the same letters
_SCRIPTS: dict[str, str] = _TABLE["scripts"]
_NAMES: dict[str, str] = _TABLE["names"]
_ENOUGH = 0.15  # a share of these words that no other language reaches; a third of it without accents
_CERTAIN = 0.4  # probability of the identifier; English texts of a few words got up to .34 for others
_FEWEST = 3  # words by which other languages than English can be told
_READ = 600  # characters that are looked at
_SHARES = {"ja": 0.125}  # of the letters that are kana in Japanese; of other scripts more than half
_MARKS = ".,;:!?\"'“”‘()"
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
_UNIT = re.compile(r"[A-Za-z0-9]+|\S[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]*")  # Thai vowels stay put
_SENTENCE = re.compile(r".+?(?:(?<!\d)[.!?…؟۔।]+[\"'”’»)\]]*(?=\s|$)|[。！？]+[”’」』）]*|\n+|$)", re.DOTALL)


@lru_cache(maxsize=50_000)
def language_of(text: str) -> str:
    """The ISO code of a text's language; '' where there is too little to tell by.

    >>> [language_of(text) for text in ("The dog is asleep.", "Der Hund schläft.", "狗在睡觉。", "Oh!")]
    ['en', 'de', 'zh', '']
    """
    start = text[:_READ]
    return _by_script(start) or _by_words(start)


def _by_script(text: str) -> str:
    """The language of a text by its letters; '' where several languages are written with them."""
    n_letters = sum(map(str.isalpha, text))
    if text.isascii() or not n_letters:
        return ""
    counts = {code: len(re.findall(pattern, text)) for code, pattern in _SCRIPTS.items()}
    return next((code for code, n in counts.items() if n > n_letters * _SHARES.get(code, 0.5)), "")


def _by_words(text: str) -> str:
    """The language of a text in Latin letters: English by its common words, others by the identifier."""
    words = [word.strip(_MARKS).replace("’", "'") for word in text.lower().split()]
    words = [word for word in words if any(map(str.isalpha, word))]
    n_english, *n_others = (sum(word in common for word in words) for common in (_ENGLISH, *_COMMON))
    enough = _ENOUGH / 3 if text.isascii() else _ENOUGH
    if words and n_english / len(words) >= enough and n_english >= max(n_others):
        return "en"
    if len(words) < _FEWEST:
        return ""
    code, probability = _identifier().classify(text)
    return str(code) if probability >= _CERTAIN else ""


def language_name(code: str) -> str:
    """The English name of a language; the code itself for rare ones."""
    return _NAMES.get(code, code)


@cache
def _identifier() -> Any:
    """py3langid's model, which its package carries; it is read only for texts in doubt."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def is_unspaced(text: str) -> bool:
    """Whether a text is in a script that puts no spaces between words."""
    if text.isascii() or not _UNSPACED.search(text):
        return False
    return 2 * len(_UNSPACED.findall(text)) > sum(map(str.isalpha, text))


def split_words(text: str) -> list[str]:
    """The words of a text, by spaces or by characters.

    >>> split_words("two words"), split_words("他有3只 GPS 表")
    (['two', 'words'], ['他', '有', '3', '只', 'GPS', '表'])
    """
    return _UNIT.findall(text) if is_unspaced(text) else text.split()


def join_words(words: list[str], like: str) -> str:
    """Words as a text, with spaces if the text they come from has them."""
    if not is_unspaced(like):
        return " ".join(words)
    return re.sub(r"(?<=[A-Za-z0-9])\x00(?=[A-Za-z0-9])", " ", "\x00".join(words)).replace("\x00", "")


def full_stop(text: str) -> str:
    """The mark that ends a statement in the script of a text."""
    return "。" if not text.isascii() and re.search(r"[\u3040-\u30ff\u3400-\u9fff]", text) else "."


def split_sentences_of(text: str) -> list[str]:
    """The sentences of a text in any language, by their final marks; a full stop after a digit ends none.

    >>> split_sentences_of("Er kam am 3. Mai. Sie ging."), split_sentences_of("他来了。她走了！")
    (['Er kam am 3. Mai.', 'Sie ging.'], ['他来了。', '她走了！'])
    """
    return [piece.strip() for piece in _SENTENCE.findall(text) if piece.strip()]
