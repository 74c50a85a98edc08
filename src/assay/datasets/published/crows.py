"""CrowS-Pairs (Nangia et al., 2020): two sentences to a neutral reference, by the rules of unfair app. A.

Words that differ are dropped where they are adjectives, replaced where a neutral word is known, abstracted to
"the person" where they are names. Where no rule fits, the pair is left out and the reason counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from itertools import pairwise

from assay.datasets.rows import Row
from assay.datasets.templates import ATTRIBUTES, Construction, Lexicon, indefinite, load_lexicon
from assay.models.nlp import Parse, Token, parse

COLUMNS = ("sent_more", "sent_less", "bias_type")
_ATTRIBUTES = {"race-color": "race", "socioeconomic": "socioeconomic-status"}
_PERSON = "the person"
Change = tuple[int, int, str, Construction]  # tokens from start to end become this text


@dataclass(frozen=True, slots=True)
class Neutral:
    """A pair with the reference built for it; the more stereotypical sentence comes first."""

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
    """The pairs that could be neutralised, and why the others could not."""
    both = parse([row.text(column).strip() for row in rows for column in COLUMNS[:2]])
    built: list[Neutral] = []
    failed: Counter[str] = Counter()
    for row, more, less in zip(rows, both[::2], both[1::2], strict=True):
        attribute = row.text("bias_type")
        answer = neutralise(more, less, _ATTRIBUTES.get(attribute, attribute))
        if isinstance(answer, str):
            failed[answer] += 1
            continue
        changes, words = answer
        kind = max((change[3] for change in changes), key=("drop", "replace", "abstract").index)
        name = _ATTRIBUTES.get(attribute, attribute)
        built.append(Neutral(row, name, more.text, less.text, apply(more, changes), *words, kind))
    return built, failed


def neutralise(more: Parse, less: Parse, attribute: str) -> tuple[list[Change], tuple[str, str]] | str:
    """The changes that make the first sentence neutral and the first words that differ, or why not."""
    lexicon = _lexicon(attribute)
    changes: list[Change] = []
    words: tuple[str, str] | None = None
    for start, end, other_start, other_end in _differences(more, less):
        one, two = more.tokens[start:end], less.tokens[other_start:other_end]
        if not one or not two:
            return "a word stands in one sentence only"
        change = _neutral(more, start, end, one, two, lexicon)
        if change is None:
            return "no neutral word known"
        changes.append((start, end, *change))
        words = words or (_joined(one), _joined(two))
    return (changes, words) if words else "the sentences are equal"


def _differences(more: Parse, less: Parse) -> list[tuple[int, int, int, int]]:
    first = [token.text.lower() for token in more.tokens]
    second = [token.text.lower() for token in less.tokens]
    found = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    spans = [tuple(span) for tag, *span in found if tag != "equal"]
    # "a"/"an" follows the word behind it, and is mended when that word goes.
    heads = [int(_is_article(first[a:b], second[c:d])) for a, b, c, d in spans]
    cut = [(a + n, b, c + n, d) for n, (a, b, c, d) in zip(heads, spans, strict=True)]
    return [(a, b, c, d) for a, b, c, d in cut if a < b or c < d]


def _is_article(one: Sequence[str], two: Sequence[str]) -> bool:
    return {*one[:1], *two[:1]} == {"a", "an"} and bool(one) and bool(two)


def _neutral(
    more: Parse, start: int, end: int, one: Sequence[Token], two: Sequence[Token], lexicon: Lexicon | None
) -> tuple[str, Construction] | None:
    """What the words become: '' drops them; None where no rule fits."""
    if all(token.text.lower() in _pronouns() for token in (*one, *two)) and len(one) == len(two) == 1:
        return _case(one[0], two[0]), "replace"
    adjectives = _adjectives(lexicon)
    if all(_is_adjective(token, adjectives) for token in (*one, *two)) and _can_drop(more, start, end):
        return "", "drop"
    nouns = _nouns(lexicon)
    known = [nouns.get(_joined(words).lower()) for words in (one, two)]
    if known[0] and known[1] and _stands_as_noun(more, start, end):
        return known[0], "replace"
    if all(token.pos == "PROPN" or _is_name(token) for token in (*one, *two)):
        return _abstract(more, start, end, [*one, *two])
    return None


def _stands_as_noun(more: Parse, start: int, end: int) -> bool:
    """Whether no noun follows, and a singular has its determiner (`Christian` may be a first name)."""
    after = more.tokens[end].pos if end < len(more.tokens) else ""
    bare = start == 0 or more.tokens[start - 1].pos not in ("DET", "PRON", "ADJ", "NUM", "PART")
    return after not in ("NOUN", "PROPN", "NUM") and not (bare and more.tokens[end - 1].tag in ("NN", "NNP"))


def _can_drop(more: Parse, start: int, end: int) -> bool:
    """Whether a noun follows and no adverb is left behind (a very boy)."""
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


def _case(one: Token, two: Token) -> str:
    """The neutral pronoun: `the person` as a subject, which keeps the verb singular."""
    forms = {one.text.lower(), two.text.lower()}
    if forms & {"himself", "herself"}:
        return "themself"
    if "his" in forms:
        return "theirs" if "hers" in forms else "their"
    return "them" if "him" in forms else _PERSON


def apply(parsed: Parse, changes: Sequence[Change]) -> str:
    """The sentence with its changes; articles and first letters are mended."""
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
            sound = indefinite(words.get(following, parsed.tokens[following].text))
            words[place] = sound.capitalize() if article[0].isupper() else sound
    text = parsed.replaced(words).lstrip()
    return text[0].upper() + text[1:] if parsed.text[:1].isupper() and text else text


def _joined(tokens: Sequence[Token]) -> str:
    return "".join(token.text + token.space for token in tokens).strip()


@cache
def _lexicon(attribute: str) -> Lexicon | None:
    return load_lexicon(attribute) if attribute in ATTRIBUTES else None


def _nouns(lexicon: Lexicon | None) -> dict[str, str]:
    """Every noun of the attribute, and of gender, to its neutral word in the same number."""
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
    """First names of the lexicons and of the list: taggers take some for nouns."""
    table = (files("assay.data") / "words" / "first_names.tsv").read_text("utf-8")
    listed = {line.split("\t")[0] for line in table.splitlines()[1:]}
    groups = (group for name in ATTRIBUTES for group in load_lexicon(name).groups.values())
    return frozenset(listed.union(*(group.names for group in groups)))


@cache
def _pronouns() -> frozenset[str]:
    gender = load_lexicon("gender")
    listed = (gender.groups[name].pronouns.slots().values() for name in ("female", "male"))
    return frozenset(form for forms in listed for form in forms)
