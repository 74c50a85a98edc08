"""Write docs/reference.md and docs/formats.md from the code: commands, audits, and the forms of data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from assay.cli import COMMANDS, app, command_of
from assay.core import Audit, Statistic
from assay.datasets.published.formats import AUDITS, Format, Gives, formats
from assay.names.registry import audit_class, names
from assay.reading.verdicts import QUESTION_TITLES

HEADINGS: dict[Gives, str] = {
    "ratings": "Ratings",
    "preferences": "Preferences",
    "pairs": "Stereotype pairs",
    "records": "Texts to perturb",
}
FORMATS = """\
# File formats

assay recognises a file by what it holds: the columns of a table (CSV, TSV, JSON Lines, Parquet), the keys
of a JSON document or the files of a folder, never by its name. Give any of them with `--data`. A file that
is not recognised is refused with the nearest forms and what it lacks; a malformed row is refused with its
line and column.

Your own files need no published form. One record per line: `hypothesis`, `references`, `source`, `system`,
`doc` and `human` (a number, a list, or an object by criterion) for ratings; `stereotype`, `anti_stereotype`
and `reference` for pairs; `gold`, `references`, `source`, `context` and `task` for texts to perturb.

A challenge set (audit `challenge`) has two texts per row, `good` and `bad`, and what both are compared with:

| column | what |
|---|---|
| `good`, `bad` | the text that should win, and the one that should lose |
| `references`, `source` | what a metric compares them with; a list or one text |
| `kind` | the kind of error, such as `negation`; each kind has a result of its own |
| `severity` | `minor`, `major` or `critical`; empty where it is not known |
| `id`, `doc` | a name of the pair; pairs with the same `doc` (or else the same references and source) count as one observation |

The columns of ACES (`good-translation`, `incorrect-translation`, `phenomena`) and of DEMETR (`mt_sent`,
`pert_sent`, `pert_name`) are recognised. A folder is one set.

Records may carry texts for decisions (audit `contrast`), in JSON Lines:

| column | what |
|---|---|
| `reworded` | texts as good as `gold`: the last one is in quite other words |
| `wrong` | a text that differs from `gold` in a few words and is false: `{"text": ..., "kind": "number", "severity": "minor"}` |
| `candidates` | two imperfect texts: `{"better": ..., "worse": ...}` |

Outputs of systems (audit `impact`) have `system`, `hypothesis`, `doc` and `references` or `source`; outputs
for one `doc` are compared with each other.

Images are attached where the file they name lies beside the data, or in `images/`, `Flicker8k_Dataset/`,
`val2014/` or `train2014/` there. A pickle is read only if it holds containers, text and numbers; no code in
it is run.

Translations: a folder with several language pairs gives all of them, each item with its `language_pair`.
`--language-pair` and `--domain` choose some, `--reference` the human translation to compare with (the first
by name, or `all`), and `--human-systems false` leaves human translations out of what is judged.

This page is written by `python docs/make_reference.py`; `assay list formats` prints the same table."""


def command_helps(name: str) -> Iterator[tuple[str, str]]:
    """A command's title and help at a fixed width, then those of its sub-commands."""
    command = command_of(name)
    yield _help(name)
    for below in getattr(command, "commands", {}):
        yield _help(name, below)


def _help(*words: str) -> tuple[str, str]:
    command = [*words, "--help"]
    shown = CliRunner().invoke(app, command, prog_name="assay", catch_exceptions=False, terminal_width=78)
    return " ".join(("assay", *words)), shown.stdout.strip()


def reference() -> str:
    """The whole page."""
    lines = ["# Reference", "", "Written by `python docs/make_reference.py`.", "", "## Commands", ""]
    for name in COMMANDS:
        for title, text in command_helps(name):
            lines += [f"### {title}", "", "```text", text, "```", ""]
    lines += ["## Audits", ""]
    for name in names("audits"):
        lines += audit_lines(audit_class(name))
    return "\n".join(lines)


def audit_lines(kind: type[Audit]) -> list[str]:
    """An audit's heading, what it asks, and a table of what it reports."""
    title = f": {kind.title}" if kind.title else ""
    summary = (kind.__doc__ or "").strip().splitlines()[0]
    lines = [f"### {kind.name}{title}", "", f"{QUESTION_TITLES[kind.question]} {summary}", ""]
    if kind.statistics:
        lines += ["| statistic | unit | bad side | meaning |", "|---|---|---|---|"]
        lines += [_statistic_line(statistic) for statistic in kind.statistics] + [""]
    return lines


def _statistic_line(statistic: Statistic) -> str:
    side = f"far from {statistic.centre:g}" if statistic.bad == "far" else statistic.bad or "not judged"
    return f"| `{statistic.name}` | {statistic.unit or '-'} | {side} | {statistic.meaning} |"


def formats_page() -> str:
    """docs/formats.md: every published form, by what it gives."""
    lines = [FORMATS]
    for gives, heading in HEADINGS.items():
        lines += [f"\n## {heading}\n\nAudits: {', '.join(AUDITS[gives])}.\n"]
        lines += ["| name | what | recognised by | also used | licence |", "|---|---|---|---|---|"]
        lines += [_format_line(form) for form in formats() if form.gives == gives]
    return "\n".join(lines) + "\n"


def _format_line(form: Format) -> str:
    shown = (", ".join(f"`{name}`" for name in names) for names in (form.columns, form.also))
    columns, also = (text.replace("|", "\\|").replace("\t", "\\t") for text in shown)
    where = f"[{form.name}]({form.published})" if form.published.startswith("http") else form.name
    return f"| {where} | {form.title} | {columns} | {also or '-'} | {form.licence} |"


if __name__ == "__main__":
    Path(__file__).with_name("reference.md").write_text(reference(), "utf-8")
    Path(__file__).with_name("formats.md").write_text(formats_page(), "utf-8")
