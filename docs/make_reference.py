"""Write docs/reference.md from the code: commands with their options, audits with their statistics."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from assay.cli import COMMANDS, command_of
from assay.core import Audit, Statistic
from assay.names.registry import audit_class, names
from assay.report.verdicts import QUESTION_TITLES


def command_helps(name: str) -> Iterator[tuple[str, str]]:
    """A command's title and help at a fixed width, then those of its sub-commands."""
    command = command_of(name)
    yield _help(name)
    for below in getattr(command, "commands", {}):
        yield _help(name, below)


def _help(*words: str) -> tuple[str, str]:
    environment = os.environ | {"COLUMNS": "100", "TERM": "dumb"}
    script = [sys.executable, "-m", "assay", *words, "--help"]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=True)
    return " ".join(("assay", *words)), done.stdout.strip()


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
