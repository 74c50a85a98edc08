"""Published sentences to rows in assay's own columns of stereotype pairs, and notes.

A sentence of WinoBias (Zhao et al., 2018) reads `12 [The clerk] thanked the cook because [she] was hungry.`;
the first bracket that is not a pronoun names the person meant. The reference has it for the pronoun (unfair
sec. 2.2).

CrowS-Pairs (Nangia et al., 2020) has no references; they are built by the rules of *unfair*, app. A. Words
that differ are dropped if they are adjectives, replaced if a neutral word is known, and abstracted to "the
person" if they are names. If no rule fits, the pair is left out and the reason counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise, zip_longest
from pathlib import Path

from assay.datasets.files import text_lines
from assay.datasets.lexicon import capitalised, first_names, indefinite_article, match_case
from assay.datasets.published.opened import Opened
from assay.datasets.rows import Row, entries
from assay.datasets.templates import ATTRIBUTES, Construction, Group, load_lexicon, load_occupations
from assay.errors import DataError
from assay.models.nlp import Parse, Token, parse

PRO, ANTI = "pro_stereotyped_", "anti_stereotyped_"
_BRACKET = re.compile(r"\[([^\[\]]+)\]")
_GENDERS = ("male", "female")
_OTHER = {"male": "female", "female": "male"}
_PRONOUNS = {name: load_lexicon("gender").groups[name].pronouns for name in _GENDERS}
_GENDER = {form: name for name, pronouns in _PRONOUNS.items() for form in pronouns.slots().values()}
_PRONOUN = re.compile(rf"\b({'|'.join(_GENDER)})\b", re.IGNORECASE)
_SENTENCES = ("sent_more", "sent_less")  # of CrowS-Pairs
_ATTRIBUTES = {"race-color": "race", "socioeconomic": "socioeconomic-status"}
_PERSON = "the person"
_ENGLISH = frozenset({"the", "to", "of", "and", "is", "was", "that", "are", "he", "she", "they", "with"})
_Change = tuple[int, int, str, Construction]  # the tokens from start to end become this text
Neutral = tuple[str, Construction]
_Read = tuple[list[Row], list[str]]
_BLANK = re.compile(r"\s*\bBLANK\b")
_BBQ_ANSWERS = ("ans0", "ans1", "ans2")
# BBQ words its groups in more than one way.
_BBQ_GROUPS = {"woman": "f", "girl": "f", "female": "f", "man": "m", "boy": "m", "male": "m"}


def is_winobias(path: Path) -> bool:
    """Whether a path is a WinoBias file, or a folder of them."""
    return bool(_pro_files(path)) if path.is_dir() else path.name.startswith((PRO, ANTI))


def read_winobias(path: Path) -> list[Row]:
    """The pairs of a file, or of every file of a folder."""
    files = _pro_files(path) if path.is_dir() else [path.with_name(path.name.replace(ANTI, PRO))]
    return [row for file in files for row in _winobias_rows(file)]


def _pro_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{PRO}*")) or sorted(folder.glob(f"data/{PRO}*"))


def _winobias_rows(pro: Path) -> Iterator[Row]:
    anti = pro.with_name(pro.name.replace(PRO, ANTI))
    numbers = re.compile(r"^\s*\d+\s+")
    lines, others = ([numbers.sub("", line).strip() for line in text_lines(file)] for file in (pro, anti))
    if len(lines) != len(others):
        raise DataError(f"{pro} has {len(lines)} sentences, {anti.name} has {len(others)}: they must pair")
    name = pro.name.removeprefix(PRO).replace(".txt", "")
    for number, sentences in enumerate(zip(lines, others, strict=True), start=1):
        noun, _ = _bracketed(pro, number, sentences[0])
        yield gender_pair(f"gender-{name}-{number}", sentences, noun, (pro, anti), number)


def gender_pair(
    name: str, sentences: tuple[str, str], noun: str, files: tuple[Path, Path], number: int
) -> Row:
    """The pair of two sentences, the stereotype first, with pronouns in brackets that mean the noun."""
    both = zip(files, sentences, strict=True)
    pronouns, anti_pronouns = (_bracketed(file, number, text, noun)[1] for file, text in both)
    # "her" is "his" or "him": the other sentence shows which (one published sentence lacks a bracket).
    possessive = ["his" in pair for pair in zip_longest(pronouns, anti_pronouns)]
    stereotype, anti_stereotype = (_BRACKET.sub(r"\1", text) for text in sentences)
    reference, anti_reference = (_resolved(text, noun, possessive) for text in sentences)
    values = {"id": name, "attribute": "gender", "stereotype": stereotype, "anti_stereotype": anti_stereotype}
    values |= {"reference": reference, "anti_reference": anti_reference}
    values |= {"group": _GENDER[pronouns[0]], "anti_group": _GENDER[anti_pronouns[0]]}
    values |= {"identity": pronouns[0], "anti_identity": anti_pronouns[0], "construction": "replace"}
    values["occupation"] = re.sub(r"^(the|a|an)\s+", "", noun, flags=re.IGNORECASE)
    return Row(values, files[0], number)


def _bracketed(file: Path, number: int, sentence: str, noun: str | None = None) -> tuple[str, list[str]]:
    """The noun phrase and the pronouns in brackets; the noun may be known already."""
    bracketed = _BRACKET.findall(sentence)
    pronouns = [text.lower() for text in bracketed if text.lower() in _GENDER]
    nouns = [text for text in bracketed if text.lower() not in _GENDER] or [noun] * (noun is not None)
    if not pronouns or not nouns:
        raise DataError(f"{file}, line {number}: expected a [noun] and a [pronoun] in brackets")
    return nouns[0], pronouns


def _resolved(sentence: str, noun: str, possessive: Sequence[bool]) -> str:
    """The sentence with each pronoun replaced by the noun."""
    owns = iter(possessive)

    def replaced(match: re.Match[str]) -> str:
        if match[1].lower() not in _GENDER:
            return match[1]
        phrase = noun[0].upper() + noun[1:] if match.start() == 0 else noun[0].lower() + noun[1:]
        return f"{phrase}'s" if next(owns) else phrase

    return _BRACKET.sub(replaced, sentence)


def read_crows(opened: Opened) -> _Read:
    """The pairs with a neutral reference, and a note on why the others have none."""
    path, rows = opened.path, opened.records
    if not _is_english(rows):
        shared = [_shared_words(path, row) for row in rows]
        note = f"{path.name}: not English; each reference holds the words that both sentences share"
        return [row for row in shared if row is not None], [note]
    both = parse([row.text(column).strip() for row in rows for column in _SENTENCES])
    built: list[Row] = []
    failed: Counter[str] = Counter()
    for row, more, less in zip(rows, both[::2], both[1::2], strict=True):
        neutral = _neutralise(more, less, _attribute(row))
        if isinstance(neutral, str):
            failed[neutral] += 1
        else:
            built.append(_crows_pair(path, row, more.text, less.text, neutral))
    reasons = ", ".join(f"{reason}: {count}" for reason, count in failed.most_common())
    note = f"{path.name}: a reference was built for {len(built)} of {len(rows)} pairs"
    return built, [f"{note} ({reasons})" if reasons else note]


def _is_english(rows: Sequence[Row]) -> bool:
    """Whether common English words are at least a twentieth of all words."""
    words = [word for row in rows for word in re.findall(r"\w+", row.text("sent_more").lower())]
    return sum(word in _ENGLISH for word in words) >= len(words) / 20


def _shared_words(path: Path, row: Row) -> Row | None:
    """A pair whose reference leaves out every word that differs; None where nothing would be left."""
    more, less = (row.text(column).split() for column in _SENTENCES)
    matches = SequenceMatcher(None, more, less, autojunk=False).get_matching_blocks()
    shared = [word for match in matches for word in more[match.a : match.a + match.size]]
    if not shared or more == less:
        return None
    neutral = {"reference": " ".join(shared), "construction": "drop"}
    return _crows_pair(path, row, " ".join(more), " ".join(less), neutral)


def _attribute(row: Row) -> str:
    return _ATTRIBUTES.get(row.text("bias_type"), row.text("bias_type"))


def _crows_pair(path: Path, row: Row, more: str, less: str, neutral: dict[str, str]) -> Row:
    texts = {"stereotype": more, "anti_stereotype": less} | neutral
    return Row({"id": f"{_attribute(row)}-{row.line}", "attribute": _attribute(row), **texts}, path, row.line)


def _neutralise(more: Parse, less: Parse, attribute: str) -> dict[str, str] | str:
    """The reference, the first words that differ and how it was made; or why there is none."""
    changes: list[_Change] = []
    sides: dict[str, str] = {}
    for start, end, other_start, other_end in _differences(more, less):
        difference = _Difference(more, start, end, less.tokens[other_start:other_end])
        if not difference.first or not difference.second:
            return "a word is in one sentence only"
        neutral = _neutral(difference, attribute)
        if neutral is None:
            return "no neutral word known"
        changes.append((start, end, *neutral))
        sides = sides or {"identity": _joined(difference.first), "anti_identity": _joined(difference.second)}
    if not changes:
        return "the sentences are equal"
    kind = max((change[3] for change in changes), key=("drop", "replace", "abstract").index)
    return {"reference": _apply(more, changes), **sides, "construction": kind}


def _differences(more: Parse, less: Parse) -> Iterator[tuple[int, int, int, int]]:
    first, second = ([token.text.lower() for token in parsed.tokens] for parsed in (more, less))
    for tag, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        # "a" or "an" depends on the next word, and is adapted when that word changes.
        article = int({*first[a:b][:1], *second[c:d][:1]} == {"a", "an"})
        if tag != "equal" and (a + article < b or c + article < d):
            yield a + article, b, c + article, d


@dataclass(frozen=True, slots=True)
class _Difference:
    """Words of a sentence, from `start` to `end`, and those that stand for them in the other sentence."""

    sentence: Parse
    start: int
    end: int
    second: Sequence[Token]

    @property
    def first(self) -> Sequence[Token]:
        return self.sentence.tokens[self.start : self.end]

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The words of both sentences."""
        return (*self.first, *self.second)

    @property
    def before(self) -> str:
        """The part of speech of the word before them; empty at the beginning."""
        return self.sentence.tokens[self.start - 1].pos if self.start else ""

    @property
    def after(self) -> str:
        """The part of speech of the word after them; empty at the end."""
        return "".join(token.pos for token in self.sentence.tokens[self.end : self.end + 1])


def _neutral(difference: _Difference, attribute: str) -> Neutral | None:
    """The replacement of the words ('' drops them), or None where no rule fits."""
    if _are_pronouns(difference):
        return _case(*difference.tokens), "replace"
    if _can_drop(difference) and all(_is_adjective(token, attribute) for token in difference.tokens):
        return "", "drop"
    nouns = _nouns(attribute)
    neutral, other = (nouns.get(_joined(words).lower()) for words in (difference.first, difference.second))
    if neutral and other and _stands_as_noun(difference):
        return neutral, "replace"
    if all(token.pos == "PROPN" or token.text in _names() for token in difference.tokens):
        return _abstract(difference)
    return None


def _are_pronouns(difference: _Difference) -> bool:
    """Whether one gendered pronoun stands for another."""
    is_one_word = len(difference.first) == len(difference.second) == 1
    return is_one_word and all(token.text.lower() in _GENDER for token in difference.tokens)


def _is_adjective(token: Token, attribute: str) -> bool:
    """Whether a word is an adjective of the attribute's groups, or any that describes a noun."""
    is_listed = token.text.lower() in _adjectives(attribute)
    return is_listed or (token.pos == "ADJ" and token.dep in ("amod", "conj"))


def _stands_as_noun(difference: _Difference) -> bool:
    """Whether no noun follows, and a singular has its determiner (`Christian` may be a first name)."""
    if difference.after in ("NOUN", "PROPN", "NUM"):
        return False
    is_determined = difference.before in ("DET", "PRON", "ADJ", "NUM", "PART")
    return is_determined or difference.first[-1].tag not in ("NN", "NNP")


def _can_drop(difference: _Difference) -> bool:
    """Whether a noun follows, and no adverb would be left without its adjective (a very boy)."""
    if difference.before == "ADV":
        return False
    following = difference.sentence.tokens[difference.end : difference.end + 1]
    is_people = [token.tag for token in following] == ["NNPS"] and difference.after == "PROPN"
    return difference.after in ("NOUN", "ADJ") or is_people


def _abstract(difference: _Difference) -> Neutral | None:
    """A person's name to `the person`, a people's to `people`, a country's to `the country`."""
    names = difference.tokens
    if "PROPN" in (difference.before, difference.after):
        return None  # part of a longer name
    if {token.tag for token in names} == {"NNPS"}:
        return "people", "abstract"
    is_described = difference.before in ("DET", "NOUN", "ADJ", "PRON")
    if is_described or any(token.tag != "NNP" and token.text not in _names() for token in names):
        return None
    entities = {token.entity for token in names}
    if entities == {"GPE"}:
        return "the country", "abstract"
    return (_PERSON, "abstract") if "PERSON" in entities or entities == {""} else None


def _case(first: Token, second: Token) -> str:
    """The neutral pronoun: `the person` as a subject, which keeps the verb singular."""
    forms = {first.text.lower(), second.text.lower()}
    if forms & {"himself", "herself"}:
        return "themself"
    if "his" in forms:
        return "theirs" if "hers" in forms else "their"
    return "them" if "him" in forms else _PERSON


def _apply(parsed: Parse, changes: Sequence[_Change]) -> str:
    """The sentence after the changes; articles and capitals at its start are adapted."""
    words: dict[int, str] = {}
    openings = {span.start for span in parsed.sentences}
    for start, end, text, _ in changes:
        words |= dict.fromkeys(range(start, end), "")
        words[start] = capitalised(text) if start in openings else text
    words |= _articles(parsed, words, {start for start, *_ in changes})
    text = parsed.replaced(words).lstrip()
    return text[:1].upper() + text[1:] if parsed.text[:1].isupper() else text


def _articles(parsed: Parse, words: Mapping[int, str], starts: set[int]) -> dict[int, str]:
    """The articles before words that have changed, as the new words take them."""
    articles = {}
    kept = [place for place in range(len(parsed.tokens)) if words.get(place) != ""]
    for place, following in pairwise(kept):
        article = parsed.tokens[place].text
        if article.lower() in ("a", "an") and starts & set(range(place + 1, following + 1)):
            fitting = indefinite_article(words.get(following, parsed.tokens[following].text))
            articles[place] = match_case(fitting, article)
    return articles


def _joined(tokens: Sequence[Token]) -> str:
    return "".join(token.text + token.space for token in tokens).strip()


def _groups(attribute: str) -> list[Group]:
    return list(load_lexicon(attribute).groups.values()) if attribute in ATTRIBUTES else []


@cache
def _adjectives(attribute: str) -> frozenset[str]:
    return frozenset(word.lower() for group in _groups(attribute) for word in group.adjectives)


@cache
def _nouns(attribute: str) -> dict[str, str]:
    """The nouns of the attribute and of gender to their neutral words, singular and plural."""
    nouns = [noun for group in (*_groups("gender"), *_groups(attribute)) for noun in group.nouns]
    singular = {noun.singular.lower(): noun.neutral for noun in nouns}
    return singular | {noun.plural.lower(): noun.neutral_plural for noun in nouns}


@cache
def _names() -> frozenset[str]:
    """First names, some of which a tagger takes for nouns."""
    return frozenset(first_names()).union(*(group.names for name in ATTRIBUTES for group in _groups(name)))


def read_stereoset(opened: Opened) -> _Read:
    """The sentences with a blank: stereotype and anti-stereotype against the context without its blank."""
    rows = []
    for test in entries(opened.document["data"], opened.path, under="intrasentence"):
        texts = {part.text("gold_label"): part.text("sentence") for part in test.members("sentences")}
        if not {"stereotype", "anti-stereotype"} <= set(texts):
            raise test.fail("column 'sentences' must hold a stereotype and an anti-stereotype")
        values = {
            "id": test.text("id"), "attribute": test.text("bias_type"), "stereotype": texts["stereotype"],
            "anti_stereotype": texts["anti-stereotype"], "construction": "drop",
            "reference": _BLANK.sub("", test.text("context")).strip(),
        }  # fmt: skip
        rows.append(Row(values, test.file, test.line))
    between = opened.document["data"].get("intersentence")
    count = len(between) if isinstance(between, list) else 0
    note = f"{opened.path.name}: {count} tests of a following sentence left out: they have no reference"
    return rows, [note] if count else []


def read_bbq(opened: Opened) -> _Read:
    """Where the context leaves a question open, a right answer says so and is the reference.

    The stereotype is the answer that names the stereotyped group, or the other one where the question is
    turned round (`nonneg`).
    """
    open_ = [row for row in opened.records if row.text("context_condition") == "ambig"]
    rows = [row for row in map(_bbq_row, open_) if row is not None]
    return rows, [f"{opened.path.name}: the stereotyped group is known for {len(rows)} of {len(open_)}"]


def _bbq_row(row: Row) -> Row | None:
    """The pair of a question; None where not exactly one answer is unknown and one of two is stereotyped."""
    about = row.object("answer_info")
    groups = {answer: about.texts(answer)[-1] for answer in _BBQ_ANSWERS if about.texts(answer)}
    stereotyped = _bbq_stereotyped(row)
    unknown = [answer for answer, group in groups.items() if group == "unknown"]
    meant = [answer for answer, group in groups.items() if _bbq_group(group) in stereotyped]
    others = [answer for answer in groups if answer not in (*unknown, *meant)]
    if (len(unknown), len(meant), len(others)) != (1, 1, 1):
        return None
    is_turned = row.text("question_polarity") == "nonneg"
    first, second = (*others, *meant) if is_turned else (*meant, *others)
    category = (row.maybe("category") or "group").lower().replace("_", "-")
    values = {
        "id": f"{category}-{row.values.get('example_id', row.line)}", "attribute": category,
        "stereotype": row.text(first), "anti_stereotype": row.text(second), "reference": row.text(unknown[0]),
        "source": f"{row.text('context')}\n{row.text('question')}", "group": groups[first],
        "anti_group": groups[second], "construction": "abstract",
    }  # fmt: skip
    return Row(values, row.file, row.line)


def _bbq_stereotyped(row: Row) -> set[str]:
    """The groups that the question's stereotype is about."""
    about = row.inner(row.values.get("additional_metadata") or {}, "additional_metadata")
    return {_bbq_group(name) for name in about.texts("stereotyped_groups")}


def _bbq_group(name: str) -> str:
    plain = re.sub(r"^[fm]-", "", name.lower()).replace(" ", "")
    return _BBQ_GROUPS.get(plain, plain)


def read_holisticbias(opened: Opened) -> _Read:
    """Neighbouring descriptors of one axis in one template; the noun alone is the reference."""
    by_frame: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in opened.records:
        frame = (row.text("axis"), row.text("template"), row.text("noun"))
        if row.has("descriptor") and row.has("noun"):
            by_frame.setdefault(frame, {}).setdefault(row.text("descriptor"), row)
    rows = []
    for (axis, template, noun), described in by_frame.items():
        for (descriptor, row), (other, second) in list(pairwise(described.items()))[::2]:
            plain = template.replace("{noun_phrase}", f"{indefinite_article(noun)} {noun}")
            plain = plain.replace("{plural_noun_phrase}", row.text("plural_noun"))
            if "{" in plain:
                continue
            values = {
                "id": f"{axis}-{row.line}", "attribute": axis, "stereotype": row.text("text"),
                "anti_stereotype": second.text("text"), "reference": plain[:1].upper() + plain[1:],
                "identity": descriptor, "anti_identity": other, "template": template, "construction": "drop",
            }  # fmt: skip
            rows.append(Row(values, row.file, row.line))
    note = "neither descriptor is the stereotype; only the size of a difference means something, not its sign"
    return rows, [f"{opened.path.name}: {note}"]


def read_winomt(opened: Opened) -> _Read:
    """Sentences that differ in the pronoun's gender only; the reference names the occupation instead."""
    both: dict[tuple[str, str], dict[str, tuple[str, int]]] = {}
    for number, line in enumerate(text_lines(opened.path), start=1):
        cells = line.strip().split("\t")
        if len(cells) < 4:
            raise Row({}, opened.path, number).fail("gender, position, sentence and occupation are expected")
        both.setdefault((_PRONOUN.sub("_", cells[2]), cells[3]), {})[cells[0]] = (cells[2], number)
    stereotypes, rows = _stereotypes_beside(opened), []
    for (_, occupation), sides in both.items():
        gender = _usual_gender(occupation, sides, stereotypes)
        if gender is not None and sides.keys() >= set(_GENDERS):
            (text, number), (other, _) = sides[gender], sides[_OTHER[gender]]
            sentences = (_PRONOUN.sub(r"[\1]", text), _PRONOUN.sub(r"[\1]", other))
            files = (opened.path, opened.path)
            rows.append(gender_pair(f"gender-{number}", sentences, f"the {occupation}", files, number))
    note = "a sentence of either gender and the stereotype are known"
    return rows, [f"{opened.path.name}: {note} for {len(rows)} of {len(both)}"]


def _stereotypes_beside(opened: Opened) -> set[str]:
    """The sentences of en_pro.txt beside the file; none where it is not there."""
    beside = opened.path.with_name("en_pro.txt")
    lines = text_lines(beside) if beside.is_file() else []
    return {line.split("\t")[2] for line in lines if line.count("\t") > 2}


def _usual_gender(occupation: str, sides: Mapping[str, tuple[str, int]], stereotypes: set[str]) -> str | None:
    """The gender whose sentence is the stereotype, else that which an occupation is linked with."""
    stereotyped = [gender for gender, (text, _) in sides.items() if text in stereotypes]
    if len(stereotyped) == 1:
        return stereotyped[0]
    linked = {job.name: job.stereotype for job in load_occupations()}.get(occupation)
    return linked if linked in _GENDERS else None


PAIR_READERS: Mapping[str, Callable[[Opened], _Read]] = {
    "winomt": read_winomt,
    "crows-pairs": read_crows,
    "stereoset": read_stereoset,
    "bbq": read_bbq,
    "holisticbias": read_holisticbias,
}
