"""The command line: one file per kind of command; results to stdout, progress and messages to stderr.

Exit status: 0 done, 1 a gate failed, 2 the user can fix it (the message says how), 3 a bug.
"""

from __future__ import annotations

import errno
import gc
import importlib
import io
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

import typer
from typer.main import get_command

from assay import __version__
from assay.cli.help import Command, CommandGroup, plain_words
from assay.errors import AuditError, CacheError, SpecError, Stopped, harmless, suggest, unwritable
from assay.files import toml_file
from assay.models.lazy import wait_passively

# Module to its heading in `assay --help` and its commands. A module is imported when one of its commands is
# called, so that help and version stay quick.
MODULES: dict[str, Any] = toml_file("help", "commands")["modules"]
MOVED: dict[str, str] = toml_file("help", "commands")["moved"]
_GROUPS = ("mitigate", "papers")  # commands that have commands of their own
COMMANDS = {name: module for module, listed in MODULES.items() for name in listed["commands"]}
_USAGE: Any = typer.BadParameter.__base__  # every mistake that the parser of options finds

# What the user can fix, wherever it occurs: a full disk, a closed stream, a path that cannot be opened.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
CLOSED = (errno.EACCES, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG)
# How pathlib tells of a path that goes in a circle, and of one that begins in a home that nobody has.
_PATHS = ("Symlink loop", "Could not determine home")
_ALLOCATIONS = 100_000  # objects between two garbage collections: a run holds millions, and few in circles


def command_of(name: str) -> Any:
    """A command or group of commands by name."""
    module = importlib.import_module(f"assay.cli.{COMMANDS[name]}")
    function = getattr(module, name if name in _GROUPS else f"{name.replace('-', '_')}_command")
    if isinstance(function, typer.Typer):
        return get_command(function)
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    extra = name == "run"  # it takes the options of any audit (`options.audit_fields`)
    settings = {"allow_extra_args": extra, "ignore_unknown_options": extra}
    single.command(name, cls=Command, context_settings=settings)(function)
    return get_command(single)


@contextmanager
def _in_plain_words() -> Iterator[None]:
    try:
        yield
    except _USAGE as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        raise SpecError(plain_words(error)) from error


class Commands(CommandGroup):
    """The commands of `MODULES`, each imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing or cmd_name.startswith("-"):
                return None
            if cmd_name in MOVED:
                raise SpecError(f"assay {cmd_name} is now assay {MOVED[cmd_name]}")
            known = suggest(cmd_name, COMMANDS)
            raise SpecError(f"no command is called {cmd_name!r}{known}; see assay --help")
        command = command_of(cmd_name)
        command.name = cmd_name
        return command

    @_in_plain_words()
    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        return super().make_context(info_name, args, parent, **extra)

    @_in_plain_words()
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (EOFError, SystemExit) as error:  # typer would end with status 1 or 0, which mean other things
            raise RuntimeError(f"a library raised {error!r}") from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for listed in MODULES.values():
            with formatter.section(listed["heading"]):
                formatter.write_dl(list(listed["commands"].items()))


app = typer.Typer(
    name="assay",
    cls=Commands,
    help="Put evaluation metrics to the test: unfair to whom, blind to what, in agreement with people?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line: a user's mistake prints one message, a bug prints a traceback."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    gc.set_threshold(_ALLOCATIONS)
    wait_passively()
    _take_streams()
    sys.excepthook = _bug
    logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stderr)
    signal.signal(signal.SIGINT, _stop)
    out = sys.stdout
    try:
        _check_folder()
        if out is None:
            raise CacheError("stdout is closed and results would be lost; send them to a file or /dev/null")
        root: Any = get_command(app)  # app() would put an exception hook of its own in the place of ours
        root(standalone_mode=True, prog_name="assay")
    except AuditError as error:
        typer.echo(f"assay: {error}", err=True)
        sys.exit(2)
    except Stopped as stopped:
        kept = "scores so far are kept, run again to go on"
        kept = kept if stopped.kept else "no score is kept, without a cache"
        typer.echo(f"assay: stopped; {kept}", err=True)
        sys.exit(130)
    except SystemExit:
        if sys.stdout is not out:  # typer has put another in its place: the reader (head, less) has gone
            sys.exit(128 + signal.SIGPIPE)  # as other programs end then; 1 would be a requirement not met
        raise
    except OSError as error:
        if error.errno not in (*FULL, *CLOSED):
            raise
        _refused(error)
    except RuntimeError as error:
        if not str(error).startswith(_PATHS):
            raise
        typer.echo(f"assay: {str(error).rstrip('.')}; give another path", err=True)
        sys.exit(2)


class Screen(io.TextIOWrapper):
    """A stream that any text is safe for: no control characters, \\uXXXX for what its encoding lacks."""

    def write(self, text: str) -> int:
        takes_results = self is sys.stdout and self is not sys.stderr  # they are one while a metric scores
        if takes_results and threading.current_thread() is not threading.main_thread():
            return sys.stderr.write(text)  # a library's: Ray tells of its workers from a thread
        return super().write(harmless(text) if self.isatty() else text)


def _take_streams() -> None:
    """Keep stdout for results: what metrics, libraries and their processes print goes to stderr."""
    if sys.stderr is None:  # closed: the next file that is opened would get what is written to it
        while (null := os.open(os.devnull, os.O_WRONLY)) < 2:
            pass
        os.dup2(null, 2)
        sys.__stderr__ = sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    out, own = sys.stdout, sys.__stdout__
    if own is None or out is not own or sys.stderr is None:  # closed, or another's in a test
        return
    out.flush()
    result = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = Screen(result, out.encoding, "backslashreplace", line_buffering=result.isatty())
    sys.stderr = Screen(sys.stderr.buffer, sys.stderr.encoding, "backslashreplace", line_buffering=True)


def _check_folder() -> None:
    """Refuse to start in a folder that has been deleted."""
    try:
        os.getcwd()
    except OSError as error:
        raise CacheError("the working folder has been removed; change to another, and start again") from error


def _refused(error: OSError) -> None:
    """Report output that cannot be written or a path that cannot be opened, and drop the buffer."""
    if error.errno in FULL:
        typer.echo(f"assay: {unwritable(error.filename or 'the output', error)}", err=True)
    else:
        typer.echo(f"assay: cannot open {error.filename}: {error.strerror}; check the path", err=True)
    # Else Python writes it again at its end, and complains.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(2)


def _stop(number: int, frame: FrameType | None) -> None:
    """Report that Ctrl-C stopped the command, and where the scores so far are kept."""
    raise Stopped


def _bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report an exception that nothing caught as a bug, and exit with status 3."""
    traceback.print_exception(kind, error, trace)
    typer.echo("assay: this is a bug; please report it with the lines above", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(3)
