"""The command line: one file per kind of command; results to stdout, progress and messages to stderr.

Exit status: 0 done, 1 a gate failed, 2 the user can fix it (the message says how), 3 a bug.
"""

from __future__ import annotations

import errno
import importlib
import logging
import os
import signal
import sys
import traceback
from types import FrameType, TracebackType
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from assay import __version__
from assay.errors import AuditError, CacheError, unwritable

# Module to its heading in `assay --help` and its commands. A module is imported when one of its commands is
# called, so that help and version stay quick.
MODULES: dict[str, tuple[str, dict[str, str]]] = {
    "audit": (
        "Audit",
        {
            "audit": "Run every audit that fits, at quick size, and write a report.",
            "run": "Run one audit, at full size, on embedded data or yours.",
            "score": "Print plain scores of a file.",
            "perturb": "Show what a perturbation does to a text.",
        },
    ),
    "runs": (
        "Finished runs",
        {
            "report": "Write the report of a run again, or print it in another format.",
            "compare": "Compare two runs: what became better, what became worse.",
            "gate": "Check a run against bounds; exit 1 when one is broken.",
            "card": "Print a metric card.",
            "panel": "Choose the fewest metrics that notice what can be noticed.",
        },
    ),
    "inspect": (
        "Inspect",
        {
            "list": "List metrics, audits, perturbations, datasets or weights.",
            "doctor": "Check the installation.",
            "calibrate": "Measure how large a defect must be for an audit to find it.",
            "reproduce": "Compare published tables with ours.",
        },
    ),
    "mitigate": (
        "Mitigate",
        {
            "debias": "Train an adapter that removes a metric's bias.",
            "mitigate": "Compare mitigation methods.",
            "propagate": "Train a generator on a metric and measure what bias it learns.",
        },
    ),
    "convert": ("Weights", {"convert": "Convert pickled weights to safetensors; nothing in them is run."}),
    "serve": ("Serve", {"serve": "Open the playground and the run browser on this machine."}),
}
COMMANDS = {name: module for module, (_, commands) in MODULES.items() for name in commands}

# What the user can fix, wherever it occurs: a full disk, a closed stream, a path that cannot be opened.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
CLOSED = (errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG)


def command_of(name: str) -> Any:
    """A command or group of commands by name."""
    module = importlib.import_module(f"assay.cli.{COMMANDS[name]}")
    function = getattr(module, f"{name}_" if name == "list" else name)
    if isinstance(function, typer.Typer):
        return get_command(function)
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    extra = name in ("run", "calibrate")  # these take the options of any audit (`options.extra_fields`)
    settings = {"allow_extra_args": extra, "ignore_unknown_options": extra}
    single.command(name, context_settings=settings)(function)
    return get_command(single)


class Commands(TyperGroup):
    """The commands of `MODULES`, each imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        command = command_of(cmd_name)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, commands in MODULES.values():
            with formatter.section(heading):
                formatter.write_dl(list(commands.items()))


app = typer.Typer(
    name="assay",
    cls=Commands,
    help="Put evaluation metrics to the test: unfair to whom, blind to what, in agreement with people?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; a user's mistake is one message, a bug a traceback."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # idle threads must not spin on a busy machine
    logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stderr)
    sys.excepthook = _bug
    signal.signal(signal.SIGINT, _stop)
    out = sys.stdout
    try:
        if out is None:
            raise CacheError("stdout is closed and results would be lost; send them to a file or /dev/null")
        root: Any = get_command(app)  # app() would put an exception hook of its own in the place of ours
        root.commands = dict.fromkeys(COMMANDS)  # names for suggestions; modules are loaded when called
        root(standalone_mode=True)
    except AuditError as error:
        typer.echo(f"assay: {error}", err=True)
        sys.exit(2)
    except SystemExit:
        if sys.stdout is not out:  # typer has put another in its place: the reader (head, less) has gone
            sys.exit(128 + signal.SIGPIPE)  # as other programs end then; 1 would be a requirement not met
        raise
    except OSError as error:
        if error.errno not in (*FULL, *CLOSED):
            raise
        _refused(error)


def _refused(error: OSError) -> None:
    """The system took no output, or opened no path: say so once; what is left in the buffer goes nowhere."""
    if error.errno in FULL:
        typer.echo(f"assay: {unwritable(error.filename or 'the output', error)}", err=True)
    else:
        typer.echo(f"assay: cannot open {error.filename}: {error.strerror}; check the path", err=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python writes it again at its end, and complains
    sys.exit(2)


def _stop(number: int, frame: FrameType | None) -> None:
    """Ctrl-C: what was scored is put on the way out. Not a KeyboardInterrupt, which ends as status 1."""
    typer.echo("assay: stopped; scores so far are kept, run again to go on", err=True)
    sys.exit(130)


def _bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Whatever no one caught is a bug of ours: say so, exit 3."""
    traceback.print_exception(kind, error, trace)
    typer.echo("assay: this is a bug; please report it with the lines above", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(3)
