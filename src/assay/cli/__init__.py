"""The command line: one file a command; messages to stderr, results to stdout, errors for people.

Exit status: 0 done, 1 a gate failed, 2 the user can mend it, 3 a bug.
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

import typer
from typer.main import get_command

from assay import __version__
from assay.errors import AuditError, CacheError, unwritable

COMMANDS = {
    "audit": "assay.cli.audit",
    "run": "assay.cli.run",
    "score": "assay.cli.score",
    "perturb": "assay.cli.perturb",
    "list": "assay.cli.list",
    "doctor": "assay.cli.doctor",
    "calibrate": "assay.cli.calibrate",
    "report": "assay.cli.report",
    "gate": "assay.cli.gate",
    "compare": "assay.cli.compare",
    "card": "assay.cli.card",
    "panel": "assay.cli.panel",
    "reproduce": "assay.cli.reproduce",
    "serve": "assay.cli.serve",
    "debias": "assay.cli.debias",
    "mitigate": "assay.cli.mitigate",
    "propagate": "assay.cli.propagate",
}

# The user's to mend, wherever it is met: no room, a stream that takes nothing, a path that no one can open.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
CLOSED = (errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG)

app = typer.Typer(
    name="assay",
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


def _assemble() -> None:
    for name, module in COMMANDS.items():
        loaded = importlib.import_module(module)
        settings = getattr(loaded, "CONTEXT", {})
        if hasattr(loaded, "app"):
            app.add_typer(loaded.app, name=name)
        else:
            app.command(name, context_settings=settings)(loaded.command)


def main() -> None:
    """Run the command line; a user's mistake is one message, a bug a traceback."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # idle threads must not spin on a busy machine
    logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stderr)
    sys.excepthook = _bug
    signal.signal(signal.SIGINT, _stop)
    _assemble()
    out = sys.stdout
    try:
        if out is None:
            raise CacheError("stdout is closed and results would be lost; send them to a file or /dev/null")
        get_command(app)(standalone_mode=True)  # app() would put a hook of its own in the place of ours
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
