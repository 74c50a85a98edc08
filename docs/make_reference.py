"""Write docs/reference.md from the code: commands with their options, and what each statistic means."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import typer
from typer.testing import CliRunner

from assay.cli import COMMANDS
from assay.names.registry import audit_class, names


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
    lines += ["## Statistics", ""]
    for name in names("audits"):
        audit = audit_class(name)
        lines += [
            f"### {name}: {audit.title}",
            "",
            "| name | unit | bad side | meaning |",
            "|---|---|---|---|",
        ]
        for one in audit.statistics:
            side = {"high": "high", "low": "low", "far": f"far from {one.centre:g}", None: "not judged"}[
                one.bad
            ]
            where = f" (slices with `{one.within}`)" if one.within else ""
            lines.append(f"| `{one.name}`{where} | {one.unit or '-'} | {side} | {one.meaning} |")
        lines.append("")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("reference.md").write_text(reference(), "utf-8")
