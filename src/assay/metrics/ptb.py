"""Penn Treebank tokens of a caption, lower-cased and without punctuation, as pycocoevalcap prepares it."""

from __future__ import annotations

import re

# The list of pycocoevalcap's tokenizer.
PUNCTUATION = frozenset(
    "'' ' `` ` -LRB- -RRB- -LCB- -RCB- . ? ! , : - -- ... ;".split()  # noqa: SIM905
)
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "{": "-lcb-", "}": "-rcb-", "[": "-lsb-", "]": "-rsb-"}
# Marks that always part words, and are dropped in the end, are white space from the start.
_BLANK = str.maketrans(dict.fromkeys('"“”„`?!;–—…', " ") | dict.fromkeys("‘’", "'"))
_SYMBOL = re.compile(r"[@#$%&()\[\]{}<>]")
_COMMA = re.compile(r"[:,](?!\d)|\.\.+|--+|''+")
# A period ends a sentence before a capital letter, but not in titles; and at the end, but not in "p.m.".
_PERIOD = re.compile(
    r"\.(?:(?<=[a-z0-9)\]']\.)(?<!\b[DS][rt]\.)(?<!\bM[rs]\.)(?<!\bMrs\.)(?=\s+[A-Z'])|(?<!\.\w\.)(?=[\s)\]}>']*$))"
)
_CLITIC = re.compile(r"(?<=[^'\s])('s|'m|'d|'ll|'re|'ve|n't|')(?=\s|$)")
_OPENING = re.compile(r"(?<!\S)'(?!(?:s|m|d|ll|re|ve|t|tis|twas)\b)(?=\w)")
# Robert MacIntyre's list for the Treebank.
_FUSED = {
    "cannot": ("can", "not"),
    "gimme": ("gim", "me"),
    "lemme": ("lem", "me"),
    "gonna": ("gon", "na"),
    "wanna": ("wan", "na"),
    "gotta": ("got", "ta"),
    "'tis": ("'t", "is"),
    "'twas": ("'t", "was"),
}


def ptb_tokens(text: str) -> list[str]:
    """Return the Treebank words of a text."""
    line = _COMMA.sub(" ", text.translate(_BLANK))
    if "." in line:
        line = _PERIOD.sub(" ", line)
    line = _SYMBOL.sub(r" \g<0> ", line).lower()
    if "'" in line:
        line = _OPENING.sub(" ", _CLITIC.sub(r" \1", line))
    words = [_BRACKETS.get(word, word) for word in line.split() if word not in PUNCTUATION]
    if _FUSED.keys().isdisjoint(words):
        return words
    return [part for word in words for part in _FUSED.get(word, (word,))]
