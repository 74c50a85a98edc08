"""WinoBias (Zhao et al., 2018): bracketed sentences to stereotype pairs, the reference from the brackets.

A sentence reads `12 [The clerk] thanked the cook because [she] was hungry.`; the first bracket that is not a
pronoun names the person meant by the pronoun. The reference replaces the pronoun by it (unfair sec. 2.2).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from assay.datasets.rows import read_text
from assay.errors import DataError

PRO, ANTI = "pro_stereotyped_", "anti_stereotyped_"
_BRACKET = re.compile(r"\[([^\[\]]+)\]")
_NUMBER = re.compile(r"^\s*\d+\s+")
_GENDER = {
    "he": "male", "him": "male", "his": "male", "himself": "male",
    "she": "female", "her": "female", "hers": "female", "herself": "female",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BracketPair:
    """A sentence and its counterpart, each with the reference made from its own brackets."""

    number: int
    stereotype: str
    anti_stereotype: str
    reference: str
    anti_reference: str
    pronoun: str
    anti_pronoun: str
    occupation: str

    @property
    def group(self) -> str:
        """The gender in the stereotypical sentence."""
        return _GENDER[self.pronoun]

    @property
    def anti_group(self) -> str:
        """The gender in the anti-stereotypical sentence."""
        return _GENDER[self.anti_pronoun]


def is_winobias(path: Path) -> bool:
    """Whether a path is a WinoBias file, or a folder of them."""
    if path.is_dir():
        return bool(_pro_files(path))
    return path.name.startswith((PRO, ANTI))


def read_winobias(path: Path) -> dict[str, list[BracketPair]]:
    """Read the pairs of a file, or of every file of a folder, by file name (`type1.txt.dev`)."""
    files = _pro_files(path) if path.is_dir() else [path.with_name(path.name.replace(ANTI, PRO))]
    return {file.name.removeprefix(PRO): _read(file) for file in files}


def _pro_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{PRO}*")) or sorted(folder.glob(f"data/{PRO}*"))


def _read(pro: Path) -> list[BracketPair]:
    anti = pro.with_name(pro.name.replace(PRO, ANTI))
    lines, others = _lines(pro), _lines(anti)
    if len(lines) != len(others):
        raise DataError(f"{pro} has {len(lines)} sentences, {anti.name} has {len(others)}: they must pair")
    return [_pair(pro, n, *both) for n, both in enumerate(zip(lines, others, strict=True), start=1)]


def _lines(path: Path) -> list[str]:
    return [_NUMBER.sub("", line).strip() for line in read_text(path).split("\n") if line.strip()]


def _pair(file: Path, number: int, pro: str, anti: str) -> BracketPair:
    noun, pronouns = _parts(file, number, pro)
    _, others = _parts(file.with_name(file.name.replace(PRO, ANTI)), number, anti)
    # "her" is "his" or "him": the other sentence shows which (one published sentence lacks a bracket).
    owns = ["his" in pair for pair in zip_longest(pronouns, others)]
    return BracketPair(
        number, _plain(pro), _plain(anti), _resolved(pro, noun, owns), _resolved(anti, noun, owns),
        pronouns[0], others[0], re.sub(r"^(the|a|an)\s+", "", noun, flags=re.IGNORECASE),
    )  # fmt: skip


def _parts(file: Path, number: int, sentence: str) -> tuple[str, list[str]]:
    """The noun phrase and the pronouns in brackets."""
    bracketed = _BRACKET.findall(sentence)
    pronouns = [text.lower() for text in bracketed if text.lower() in _GENDER]
    nouns = [text for text in bracketed if text.lower() not in _GENDER]
    if not pronouns or not nouns:
        raise DataError(f"{file}, line {number}: expected a [noun] and a [pronoun] in brackets")
    return nouns[0], pronouns


def _resolved(sentence: str, noun: str, possessive: Sequence[bool]) -> str:
    """The sentence with each pronoun replaced by the noun."""
    owns = iter(possessive)

    def replaced(match: re.Match[str]) -> str:
        text = match.group(1)
        if text.lower() not in _GENDER:
            return text
        phrase = noun[0].upper() + noun[1:] if match.start() == 0 else noun[0].lower() + noun[1:]
        return f"{phrase}'s" if next(owns) else phrase

    return _BRACKET.sub(replaced, sentence)


def _plain(sentence: str) -> str:
    return _BRACKET.sub(r"\1", sentence)
