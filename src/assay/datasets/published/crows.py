"""CrowS-Pairs (Nangia et al., 2020): two sentences to a neutral reference, by the rules of *unfair*, app. A.

Words that differ are dropped if they are adjectives, replaced if a neutral word is known, and abstracted to
"the person" if they are names. If no rule fits, the pair is left out and the reason counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise

from assay.datasets.lexicon import first_names, indefinite_article
from assay.datasets.rows import Row
from assay.datasets.templates import ATTRIBUTES, Construction, Lexicon, load_lexicon
from assay.models.nlp import Parse, Token, parse

COLUMNS = ("sent_more", "sent_less", "bias_type")
_ATTRIBUTES = {"race-color": "race", "socioeconomic": "socioeconomic-status"}
_PERSON = "the person"
Change = tuple[int, int, str, Construction]  # the tokens from start to end become this text


@dataclass(frozen=True, slots=True)
class Neutral:
    """A pair with its neutral reference; the more stereotypical sentence comes first."""

    row: Row
    attribute: str
    stereotype: str
    anti_stereotype: str
    reference: str
    identity: str
    anti_identity: str
    construction: Construction


def is_crows(columns: Sequence[str]) -> bool:
    """Whether a table has the columns of CrowS-Pairs."""
    return all(column in columns for column in COLUMNS)


def read_crows(rows: Sequence[Row]) -> tuple[list[Neutral], Counter[str]]:
    """The pairs with a neutral reference, and the reasons why the others have none."""
    both = parse([row.text(column).strip() for row in rows for column in COLUMNS[:2]])
    built: list[Neutral] = []
    failed: Counter[str] = Counter()
    for row, more, less in zip(rows, both[::2], both[1::2], strict=True):
        attribute = row.text("bias_type")
        name = _ATTRIBUTES.get(attribute, attribute)
        result = _neutralise(more, less, name)
        if isinstance(result, str):
            failed[result] += 1
            continue
        changes, words = result
        kind = max((change[3] for change in changes), key=("drop", "replace", "abstract").index)
        built.append(Neutral(row, name, more.text, less.text, _apply(more, changes), *words, kind))
    return built, failed


def _neutralise(more: Parse, less: Parse, attribute: str) -> tuple[list[Change], tuple[str, str]] | str:
    """The changes that make the first sentence neutral and the first words that differ, or why it failed."""
    lexicon = _lexicon(attribute)
    changes: list[Change] = []
    words: tuple[str, str] | None = None
    for start, end, other_start, other_end in _differences(more, less):
        first, second = more.tokens[start:end], less.tokens[other_start:other_end]
        if not first or not second:
            return "a word is in one sentence only"
        change = _neutral(more, start, end, first, second, lexicon)
        if change is None:
            return "no neutral word known"
        changes.append((start, end, *change))
        words = words or (_joined(first), _joined(second))
    return (changes, words) if words else "the sentences are equal"


def _differences(more: Parse, less: Parse) -> list[tuple[int, int, int, int]]:
    first = [token.text.lower() for token in more.tokens]
    second = [token.text.lower() for token in less.tokens]
    opcodes = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    spans = [tuple(span) for tag, *span in opcodes if tag != "equal"]
    # "a" or "an" depends on the next word, and is adapted when that word changes.
    heads = [int(_is_article(first[a:b], second[c:d])) for a, b, c, d in spans]
    cut = [(a + n, b, c + n, d) for n, (a, b, c, d) in zip(heads, spans, strict=True)]
    return [(a, b, c, d) for a, b, c, d in cut if a < b or c < d]


def _is_article(first: Sequence[str], second: Sequence[str]) -> bool:
    return {*first[:1], *second[:1]} == {"a", "an"} and bool(first) and bool(second)


def _neutral(
    more: Parse,
    start: int,
    end: int,
    first: Sequence[Token],
    second: Sequence[Token],
    lexicon: Lexicon | None,
) -> tuple[str, Construction] | None:
    """The replacement of the words ('' drops them), or None where no rule fits."""
    if (
        all(token.text.lower() in _pronouns() for token in (*first, *second))
        and len(first) == len(second) == 1
    ):
        return _case(first[0], second[0]), "replace"
    adjectives = _adjectives(lexicon)
    if all(_is_adjective(token, adjectives) for token in (*first, *second)) and _can_drop(more, start, end):
        return "", "drop"
    nouns = _nouns(lexicon)
    known = [nouns.get(_joined(words).lower()) for words in (first, second)]
    if known[0] and known[1] and _stands_as_noun(more, start, end):
        return known[0], "replace"
    if all(token.pos == "PROPN" or _is_name(token) for token in (*first, *second)):
        return _abstract(more, start, end, [*first, *second])
    return None


def _stands_as_noun(more: Parse, start: int, end: int) -> bool:
    """Whether no noun follows, and a singular has its determiner (`Christian` may be a first name)."""
    after = more.tokens[end].pos if end < len(more.tokens) else ""
    bare = start == 0 or more.tokens[start - 1].pos not in ("DET", "PRON", "ADJ", "NUM", "PART")
    return after not in ("NOUN", "PROPN", "NUM") and not (bare and more.tokens[end - 1].tag in ("NN", "NNP"))


def _can_drop(more: Parse, start: int, end: int) -> bool:
    """Whether a noun follows, and no adverb would be left without its adjective (a very boy)."""
    if end >= len(more.tokens) or (start and more.tokens[start - 1].pos == "ADV"):
        return False
    after = more.tokens[end]
    return after.pos in ("NOUN", "ADJ") or (after.pos == "PROPN" and after.tag == "NNPS")


def _abstract(more: Parse, start: int, end: int, names: Sequence[Token]) -> tuple[str, Construction] | None:
    """A person's name to `the person`, a people's to `people`, a country's to `the country`."""
    beside = [more.tokens[place] for place in (start - 1, end) if 0 <= place < len(more.tokens)]
    if any(token.pos == "PROPN" for token in beside):
        return None  # part of a longer name
    if all(token.tag == "NNPS" for token in names):
        return "people", "abstract"
    described = start > 0 and more.tokens[start - 1].pos in ("DET", "NOUN", "ADJ", "PRON")
    if described or any(token.tag != "NNP" and not _is_name(token) for token in names):
        return None
    if all(token.entity == "GPE" for token in names):
        return "the country", "abstract"
    people = any(token.entity == "PERSON" for token in names)
    return (_PERSON, "abstract") if people or not any(token.entity for token in names) else None


def _is_adjective(token: Token, known: frozenset[str]) -> bool:
    return token.text.lower() in known or (token.pos == "ADJ" and token.dep in ("amod", "conj"))


def _case(first: Token, second: Token) -> str:
    """The neutral pronoun: `the person` as a subject, which keeps the verb singular."""
    forms = {first.text.lower(), second.text.lower()}
    if forms & {"himself", "herself"}:
        return "themself"
    if "his" in forms:
        return "theirs" if "hers" in forms else "their"
    return "them" if "him" in forms else _PERSON


def _apply(parsed: Parse, changes: Sequence[Change]) -> str:
    """The sentence after the changes; articles and capitals at its start are adapted."""
    words: dict[int, str] = {}
    first = {span.start for span in parsed.sentences}
    for start, end, text, _ in changes:
        words |= dict.fromkeys(range(start, end), "")
        words[start] = text[:1].upper() + text[1:] if start in first else text
    starts = {start for start, *_ in changes}
    kept = [place for place in range(len(parsed.tokens)) if words.get(place, "x")]
    for place, following in pairwise(kept):
        article = parsed.tokens[place].text
        if article.lower() in ("a", "an") and starts & set(range(place + 1, following + 1)):
            fitting = indefinite_article(words.get(following, parsed.tokens[following].text))
            words[place] = fitting.capitalize() if article[0].isupper() else fitting
    text = parsed.replaced(words).lstrip()
    return text[0].upper() + text[1:] if parsed.text[:1].isupper() and text else text


def _joined(tokens: Sequence[Token]) -> str:
    return "".join(token.text + token.space for token in tokens).strip()


@cache
def _lexicon(attribute: str) -> Lexicon | None:
    return load_lexicon(attribute) if attribute in ATTRIBUTES else None


def _nouns(lexicon: Lexicon | None) -> dict[str, str]:
    """The nouns of the attribute and of gender to their neutral words, singular and plural."""
    words: dict[str, str] = {}
    for source in (_lexicon("gender"), lexicon):
        for group in source.groups.values() if source else ():
            for noun in group.nouns:
                words[noun.singular.lower()] = noun.neutral
                words[noun.plural.lower()] = noun.neutral_plural
    return words


def _adjectives(lexicon: Lexicon | None) -> frozenset[str]:
    groups = lexicon.groups.values() if lexicon else ()
    return frozenset(word.lower() for group in groups for word in group.adjectives)


def _is_name(token: Token) -> bool:
    return token.text in _names()


@cache
def _names() -> frozenset[str]:
    """First names, some of which a tagger takes for nouns."""
    groups = (group for name in ATTRIBUTES for group in load_lexicon(name).groups.values())
    return frozenset(first_names()).union(*(group.names for group in groups))


@cache
def _pronouns() -> frozenset[str]:
    gender = load_lexicon("gender")
    listed = (gender.groups[name].pronouns.slots().values() for name in ("female", "male"))
    return frozenset(form for forms in listed for form in forms)
