"""Words as the Penn Treebank writes them, by the rules that Stanford's tokeniser shows on English texts.

One pattern finds the words from left to right, the most special first. tests/parity compares it with the Java
tokeniser of the COCO tools on real sentences (docs/parity.md).
"""

from __future__ import annotations

import re

# Words with marks in them: abbreviations keep their period, some of them only with a capital letter or before
# a number; some words begin a sentence after an initial; some have an apostrophe at an end.
_ABBREVIATIONS = """
    adj adm adv al ala apr ariz assn assoc asst aug ave bldg blvd brig bros calif capt cf cie cmdr
    co col colo comdr conn corp cos cpl ct dec dept det dr elec ens esq est etc ext feb fla fri ft
    ga gen gov hon inc ind insp intl jan jr jul jun kan ky lt ltd maj mar md messrs mfg mich minn
    mlle mme mo mon mont mr mrs ms mt natl neb nev nov oct okla penn pfc ph plc pres prof pvt rd
    rep reps rev rt sen sens sep sept sfc sgt sq sr st ste supt tel tenn thu thurs treas tue tues
    univ va vs vt wed wis wyo
"""
_CAPITALISED = "Ark ARK Del DEL Ill ILL La LA Mass MASS Miss MISS Ore ORE Pa PA Tex TEX Wash WASH"
_NUMBERED = "art ca fig figs no nos op pp"
_BEGINNINGS = """
    The In It He She They We You A An But This That These There At As If When While After However
    Her Our What So Then More One
"""
_APOSTROPHES = "'n' 'n 'em 'til 'till 'cause ’em ’til ol' somethin' c'mon c'est"
_DOMAINS = "com net org edu uk"
# The list of pycocoevalcap's tokenizer: what it leaves out.
PUNCTUATION = frozenset(
    "'' ' `` ` -LRB- -RRB- -LCB- -RCB- . ? ! , : - -- ... ;".split()  # noqa: SIM905
)
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "{": "-lcb-", "}": "-rcb-", "[": "-lsb-", "]": "-rsb-"}
_BRACKET = re.compile(r"[()\[\]{}]")
_WRITTEN = {"£": " # ", "€": " $ ", "¢": " cents ", "½": " 1/2 ", "¼": " 1/4 ", "¾": " 3/4 "}
_WRITTEN |= {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&nbsp;": " "}
_WRITTEN |= dict.fromkeys('"“”»«‹›‘–—…₹`', " ")  # left out, and never inside of a word
_UNUSUAL = re.compile("|".join(map(re.escape, _WRITTEN)))
# Robert MacIntyre's list for the Treebank.
_PARTED = ("can not", "gim me", "lem me", "gon na", "wan na", "got ta", "'t is", "'t was")
_FUSED = {parts.replace(" ", ""): parts.split() for parts in _PARTED}


def _one_of(words: str) -> str:
    """A pattern that matches any of the words."""
    return "|".join(map(re.escape, words.split()))


_LETTER = r"[^\W\d_]"
_APOSTROPHE = "['’]"
# An initial keeps its period, unless a word follows that begins a sentence.
_INITIAL = rf"{_LETTER}\.(?!{_LETTER}|\s+(?-i:{_one_of(_BEGINNINGS)})\b)"
_ACRONYM = rf"(?:{_LETTER}(?:\.{_LETTER})+|ph\.d)(?!\w)(?:\.(?!\w)|(?!\.\w))(?:-[^\W_]+)*"
_NUMBER = r"[-+]?(?:\d+(?:[.,]\d+)+|\.\d+)(?:[.,/]\d+)*(?:-[^\W_]+)*"  # 1,000.5, .375, 1.5-mile
_JOINED = rf"(?:(?:[-\u2011]|_+)[^\W_]+|/[^\W_]+|[.!?]{_LETTER}[^\W_]*)*"  # well-known, and/or, index.html
_TOKEN = re.compile(
    rf"""
    [a-z]+(?=\s|,\s)                                                          # most words
    | https?://[^\s<>|()]*[^\s<>|().?!,;:'-] | [\w.+-]+@[\w-]+(?:\.[\w-]+)*   # addresses
    | (?:[\w-]+\.)+(?:{_one_of(_DOMAINS)})\b
    | </?[a-z]\w*/?> | [@\#][^\W\d]\w* | c(?:\+\+|\#) | [:;=]-?[()]           # markup, names, tags, smileys
    | (?P<clitic>(?:n{_APOSTROPHE}t|{_APOSTROPHE}(?:s|m|d|ll|re|ve))(?!\w))   # what hangs on a word
    | (?<!\d){_APOSTROPHE}\d(?:\d|0s)?(?!\w) | (?:{_one_of(_APOSTROPHES)})(?!\w)
    | [jy]{_APOSTROPHE}(?=(?!s\b){_LETTER}) | '(?:tis|twas)(?!\w)
    | (?:us|a|c)?\$ | (?-i:[A-Z]+(?:&[A-Z]+)+)                                # US$, AT&T
    | (?:{_one_of(_ABBREVIATIONS)}|(?-i:{_one_of(_CAPITALISED)}))\.(?!\w)
    | (?:{_one_of(_NUMBERED)})\.(?=\s?\d)
    | {_ACRONYM} | {_INITIAL}
    | {_NUMBER} | \d+(?::\d+)+ | [-+]\d+
    | {_LETTER}+?(?=n{_APOSTROPHE}t(?!\w))                                    # do|n't
    | (?:[dlno]{_APOSTROPHE}|{_LETTER}+[aeiouy]{_APOSTROPHE}(?=[aeiou]))?     # o'clock, xi'an
      {_LETTER}[^\W_]*{_JOINED}
    | \d[^\W_]*(?:(?:[-\u2011]|_+)[^\W_]+|/[^\W_]+)*                          # 20-year-old, 9/11
    | [!?]+ | \.+ | -+ | \*+ | _+ | \S
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DROPPED = re.compile(r"\.+|-+|[!?,:;'’‑]")


def ptb_tokens(text: str) -> list[str]:
    """Return the Treebank words of a text, in lower case and without punctuation."""
    line = _UNUSUAL.sub(lambda found: _WRITTEN[found[0]], text)
    words: list[str] = []
    for found in _TOKEN.finditer(line):
        word = found[0].lower()
        if found["clitic"]:
            words.append(word.replace("’", "'"))
        elif not _DROPPED.fullmatch(word):
            words += _FUSED.get(word) or [_BRACKET.sub(lambda mark: _BRACKETS[mark[0]], word)]
    return words
