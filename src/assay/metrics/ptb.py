"""A caption to Penn Treebank tokens, lower-cased and without punctuation, as pycocoevalcap prepares it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

# The list of pycocoevalcap's tokenizer.
PUNCTUATION = frozenset(
    "'' ' `` ` -LRB- -RRB- -LCB- -RCB- . ? ! , : - -- ... ;".split()  # noqa: SIM905
)
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "{": "-lcb-", "}": "-rcb-", "[": "-lsb-", "]": "-rsb-"}
_TYPOGRAPHIC = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": " -- ", "—": " -- ", "…": " ... "}
)


@cache
def _treebank() -> Any:
    from nltk.tokenize.treebank import TreebankWordTokenizer

    return TreebankWordTokenizer()


def ptb_tokens(text: str) -> list[str]:
    """Treebank words of a text."""
    # NLTK splits a period off at the end of the text only; Stanford's tokeniser does at every sentence end.
    spaced = re.sub(r"(?<=[a-z0-9)\]'\"])\.(?=\s+[A-Z'\"]|\s*$)", " .", text.translate(_TYPOGRAPHIC))
    words = (_BRACKETS.get(word, word.lower()) for word in _treebank().tokenize(spaced))
    return [word for word in words if word not in PUNCTUATION]
