"""What all audits share: the fields of their data, what they declare in data files, and a check of names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from assay.audits.slices import hardly_falls, moves
from assay.core import Audit, Chart, Finding, Statistic
from assay.datasets.lexicon import toml_file, with_tuples
from assay.errors import DataError, suggest
from assay.vocabulary import NonNegative, Rule

if TYPE_CHECKING:
    from jinja2 import Template


class SizedAudit(Audit):
    """An audit with a quick size."""

    quick_options: ClassVar[Mapping[str, Any]] = {}  # field values of --size quick

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        return cls.quick_options


Sized = TypeVar("Sized", bound=SizedAudit)


@dataclass(frozen=True)
class DataAudit(SizedAudit):
    """An audit of the user's files, or of embedded data where none are given."""

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None  # items per dataset


@dataclass(frozen=True)
class TextAudit(SizedAudit):
    """An audit of records, or of a file of texts with its file of references."""

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: NonNegative = 0


def declared(**functions: Callable[[Finding], Any]) -> Callable[[type[Sized]], type[Sized]]:
    """Give an audit what data/audits/NAME.toml says of it.

    `quick` there are the field values of `--size quick`. `sentence` is a Jinja template of the finding `f`
    (or two, for values surely above 0 and others). It may also name `size`, the value without its sign;
    `parts` of the slice; `about`, the first of them in words; `moves` and `hardly_falls`, which put a change
    of the score into words; and the `functions` here.
    """

    def declare(audit: type[Sized]) -> type[Sized]:
        table = dict(toml_file("audits", audit.name))
        rows = [(row, part) for row in table.pop("statistics") for part in row.get("within", [""])]
        audit.statistics = tuple(_statistic(row, part, functions) for row, part in rows)
        audit.charts = tuple(Chart(**row) for row in table.pop("charts", ()))
        audit.quick_options = with_tuples(table.pop("quick", audit.quick_options))
        for name, value in table.items():  # title, advice, wants, question, reads
            setattr(audit, name, value)
        return audit

    return declare


def _statistic(row: Mapping[str, Any], part: str, functions: Mapping[str, Any]) -> Statistic:
    """A row of the table; `part` is the part of slices that it speaks of."""
    sentence = partial(_say, row["sentence"], functions) if row.get("sentence") else None
    return Statistic(**{**row, "within": part, "sentence": sentence})


def _say(template: str | Mapping[str, str], functions: Mapping[str, Any], finding: Finding) -> str:
    surely = finding.value if finding.ci is None else finding.ci[0]
    text = template if isinstance(template, str) else template["above" if surely > 0 else "below"]
    parts = finding.slice.split("/")
    about = parts[0].replace("-", " ").replace("_", " ")
    return _compiled(text).render(functions, f=finding, size=abs(finding.value), parts=parts, about=about)


@cache
def _compiled(text: str) -> Template:
    from jinja2 import Environment, StrictUndefined  # needed only where something failed

    environment = Environment(undefined=StrictUndefined)
    environment.globals |= {"moves": moves, "hardly_falls": hardly_falls}
    environment.filters["figure"] = lambda value, spec=".3g": format(value, spec)
    environment.filters["percent"] = "{:.0%}".format
    return environment.from_string(text)


def check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that is not known, and suggest one that is."""
    for name in names:
        if name not in known:
            raise DataError(f"{what} {name!r}{suggest(name, known)}")
