"""`assay serve [RUN]`: the playground and run browser, on this machine only."""

from __future__ import annotations

import errno
import socket
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import options as o
from assay.errors import SpecError, install

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve_command(
    run: Annotated[Path | None, typer.Argument()] = None,
    metric: o.Metrics = None,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8765,
    host: str = "127.0.0.1",
) -> None:
    """Serve the playground until stopped with Ctrl-C."""
    try:
        import uvicorn

        from assay.server.app import Guard, create_app
    except ImportError as error:
        raise SpecError(f"serve needs {error.name}: {install('serve')}") from error
    from assay.api.pipeline import DEFAULT_METRICS

    if run is not None and not run.is_dir():
        problem = "is not a folder" if run.exists() else "does not exist"
        raise SpecError(f"{run} {problem}; give a run folder, or a folder of run folders")
    pages = create_app(run, tuple(metric or DEFAULT_METRICS))
    listening = _listen(host, port)
    taken = listening.getsockname()[1]
    app = Guard(pages, allowed_hosts(host, taken))
    typer.echo(f"assay: http://{_in_url(host)}:{taken}/ (Ctrl-C stops it)", err=True)
    if host not in LOOPBACK:
        typer.echo("assay: other machines can reach this; there is no password", err=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", server_header=False)).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that can be no host's
        listening.close()
        taken = isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES)
        advice = "choose another --port" if taken else "check --host"
        reason = getattr(error, "strerror", None) or error
        raise SpecError(f"cannot listen on {host}:{port}: {reason}; {advice}") from error
    return listening


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def allowed_hosts(host: str, port: int) -> frozenset[str]:
    """The hosts that a browser may ask for: those of loopback, and the address bound."""
    return frozenset(f"{_in_url(name)}:{port}" for name in {*LOOPBACK, host} if name != "0.0.0.0")
