"""Write docs/reference.md from the code: commands with their options, audits with their statistics."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import typer
from typer.testing import CliRunner

from assay.cli import COMMANDS
from assay.core import Audit, Statistic
from assay.names.registry import audit_class, names
from assay.report.verdicts import QUESTION_TITLES


def command_helps(name: str) -> Iterator[tuple[str, str]]:
    """A command's title and help at a fixed width, then those of its sub-commands."""
    loaded = importlib.import_module(f"assay.cli.{name}")
    if hasattr(loaded, "app"):
        yield _help(loaded.app, name)
        for one in loaded.app.registered_commands:
            yield _help(loaded.app, name, one.name or one.callback.__name__)
        return
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name, context_settings=getattr(loaded, "CONTEXT", {}))(loaded.command)
    yield _help(app, name)


def _help(app: typer.Typer, name: str, *below: str) -> tuple[str, str]:
    done = CliRunner().invoke(
        app, [*below, "--help"], prog_name=f"assay {name}", env={"COLUMNS": "100", "TERM": "dumb"}
    )
    return " ".join(("assay", name, *below)), done.stdout.strip()


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
    where = f" (slices with `{statistic.within}`)" if statistic.within else ""
    return f"| `{statistic.name}`{where} | {statistic.unit or '-'} | {side} | {statistic.meaning} |"


if __name__ == "__main__":
    Path(__file__).with_name("reference.md").write_text(reference(), "utf-8")
