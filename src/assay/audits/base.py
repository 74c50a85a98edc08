"""What all audits share: the fields of their data, what they declare in data files, and a check of names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from assay.audits.slices import hardly_falls, moves
from assay.core import Audit, Chart, Finding, Statistic
from assay.datasets.lexicon import toml_file
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


def declared(
    audit: str, **functions: Callable[[Finding], Any]
) -> tuple[str, str, tuple[Statistic, ...], tuple[Chart, ...]]:
    """The title, the advice, the statistics and the charts of an audit, from data/audits/AUDIT.toml.

    `sentence` there is a Jinja template of the finding `f` (or two, for values surely above 0 and others). It
    may also name `size`, the value without its sign; `parts` of the slice; `about`, the first of them in
    words; `moves` and `hardly_falls`, which put a change of the score into words; and the `functions` here.
    """
    table = toml_file("audits", audit)
    statistics = [
        Statistic(**{**row, "within": within, "sentence": partial(_say, text, functions) if text else None})
        for row, text in ((row, row.get("sentence")) for row in table["statistics"])
        for within in row.get("within", [""])  # a part of slices
    ]
    charts = tuple(Chart(**row) for row in table.get("charts", ()))
    return table["title"], table.get("advice", ""), tuple(statistics), charts


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
