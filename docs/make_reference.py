"""Write docs/reference.md from the code: commands with their options, and what each statistic means."""

from __future__ import annotations

import importlib
from pathlib import Path

import typer
from typer.testing import CliRunner

from assay.cli import COMMANDS
from assay.report.words import MEANING


def command_help(name: str) -> str:
    """A command's own help, at a fixed width."""
    loaded = importlib.import_module(COMMANDS[name])
    app = loaded.app if hasattr(loaded, "app") else typer.Typer(rich_markup_mode=None, add_completion=False)
    if not hasattr(loaded, "app"):
        app.command(name, context_settings=getattr(loaded, "CONTEXT", {}))(loaded.command)
    done = CliRunner().invoke(
        app, ["--help"], prog_name=f"assay {name}", env={"COLUMNS": "100", "TERM": "dumb"}
    )
    return done.stdout.strip()


def reference() -> str:
    """The whole page."""
    lines = ["# Reference", "", "Written by `python docs/make_reference.py`.", "", "## Commands", ""]
    for name in COMMANDS:
        lines += [f"### assay {name}", "", "```text", command_help(name), "```", ""]
    lines += ["## Statistics", "", "| name | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in MEANING.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("reference.md").write_text(reference(), "utf-8")
