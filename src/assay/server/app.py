"""The playground's web application, and what guards it: host, origin, size and rate of requests."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.core import Record
from assay.errors import AuditError, CacheError
from assay.names.spec import measure
from assay.reading.results import StoredRun, load_about, load_findings, load_run
from assay.report.assets import asset
from assay.report.page import inert, page, policy
from assay.server.live import Live
from assay.vocabulary import TASKS, Task

MOST_BYTES = 64 * 1024
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


@dataclass
class Bucket:
    """A rate limit in requests per second, with bursts."""

    rate: float = 10.0
    burst: float = 40.0
    level: float = 40.0
    last: float = field(default_factory=time.monotonic)

    def take(self, now: float) -> bool:
        """Whether one more request is allowed now."""
        self.level = min(self.burst, self.level + (now - self.last) * self.rate)
        self.last = now
        if self.level < 1.0:
            return False
        self.level -= 1.0
        return True


@dataclass
class Guard:
    """The outermost layer of the server."""

    app: ASGIApp
    hosts: frozenset[str]  # host:port as a browser writes it
    bucket: Bucket = field(default_factory=Bucket)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._refusal(scope)
            answer = PlainTextResponse(refusal[1], refusal[0]) if refusal else self.app
            await answer(scope, _limited(receive), _hardened(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get(b"host", "").lower() not in self.hosts:
            return 400, "wrong host; open the address that assay serve printed"
        origin = headers.get(b"origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return 403, "requests from other sites are refused"
        if headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "requests from other sites are refused"
        length = headers.get(b"content-length", "0")
        # int() refuses thousands of figures, and isdigit() lets ² through.
        if not length.isdecimal() or len(length) > 9 or int(length) > MOST_BYTES:
            return 413, f"at most {MOST_BYTES} bytes per request"
        if not self.bucket.take(time.monotonic()):
            return 429, "too many requests; wait a moment"
        return None


def _limited(receive: Receive) -> Receive:
    """Count the bytes that really arrive: the declared length can be missing or wrong."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return message if seen <= MOST_BYTES else {"type": "http.disconnect"}

    return counted


def _hardened(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await send(message)

    return with_headers


MOST_RUNS = 500
_Text = Annotated[str, Field(max_length=10_000)]
_TEMPLATES = Environment(loader=PackageLoader("assay.server"), autoescape=True, undefined=StrictUndefined)


class Typed(BaseModel):
    """What the playground sends."""

    model_config = ConfigDict(extra="forbid")

    hypothesis: Annotated[str, Field(min_length=1, max_length=10_000)]
    references: Annotated[list[_Text], Field(max_length=20)] = []
    source: _Text | None = None
    task: Task = "translation"
    metrics: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=100)] = []

    @property
    def record(self) -> Record:
        """The request as a record; empty lines are not references."""
        references = tuple(text for text in self.references if text.strip())
        return Record("typed", self.hypothesis, self.task, references, self.source or None)


@dataclass(frozen=True, slots=True)
class Shelf:
    """Runs by name: the root itself if it is one, and the folders right below it."""

    root: Path | None

    def runs(self) -> dict[str, Path]:
        """Folders that hold a run; links that lead elsewhere are left out."""
        if self.root is None or not self.root.is_dir():
            return {}
        root = self.root.resolve()
        below = sorted(path for path in root.iterdir() if path.is_dir())[:MOST_RUNS]
        runs = [path for path in (root, *below) if (path / "run.json").is_file()]
        return {path.name: path for path in runs if path.resolve().is_relative_to(root)}

    def listed(self) -> list[dict[str, Any]]:
        """One row per run, the newest first: name, date, metrics, audits, size and verdicts."""
        rows = []
        for name, path in self.runs().items():
            verdicts: dict[str, int] = {}
            try:
                about = load_about(path)
                verdicts = dict(load_findings(path)["verdict"].value_counts().iter_rows())
            except (AuditError, OSError):
                about = {"metrics": [], "audits": [], "size": "damaged"}
            parts = {"metrics": list(about["metrics"]), "audits": list(about["audits"]), "verdicts": verdicts}
            date = str(about.get("date", ""))[:16].replace("T", " ")
            rows.append({"name": name, "date": date, **parts, "size": about.get("size", "full")})
        return sorted(rows, key=lambda row: row["date"], reverse=True)

    def open(self, name: str) -> StoredRun:
        """A run by its listed name, never by a path."""
        known = self.runs()
        if name not in known:
            raise CacheError(f"no run called {name!r} here")
        return load_run(known[name])


def create_app(root: Path | None, specs: Sequence[str]) -> FastAPI:
    """The server without its guard; `root` holds run folders, `specs` are the metrics on offer."""
    app = FastAPI(title="assay", docs_url=None, redoc_url=None, openapi_url=None)
    live, shelf = Live([measure(spec) for spec in specs]), Shelf(root)  # a wrong spec is refused at once
    _add_pages(app, live, shelf)

    @app.post("/api/stream")
    def stream(typed: Typed) -> StreamingResponse:
        lines = live.stream(typed.record, typed.metrics)
        first = next(lines)  # a wrong name is refused before anything is sent
        texts = (json.dumps(line, allow_nan=False) + "\n" for line in chain([first], lines))
        return StreamingResponse(texts, media_type="application/x-ndjson")

    @app.get("/api/runs/{name}")
    def document(name: str) -> JSONResponse:
        return JSONResponse(shelf.open(name).document())

    @app.exception_handler(AuditError)
    def mistaken(request: Request, error: AuditError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=400)

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"error": f"{where}: {first['msg']}"}, status_code=422)

    return app


def _add_pages(app: FastAPI, live: Live, shelf: Shelf) -> None:
    @app.get("/")
    def playground() -> HTMLResponse:
        examples = json.loads((files("assay.server") / "templates" / "examples.json").read_text("utf-8"))
        given = {"metrics": live.offered, "examples": examples}
        scripts = {f"{name}_json": Markup(inert(value)) for name, value in given.items()}
        return _page("playground", tasks=TASKS, **given, **scripts)

    @app.get("/runs")
    def runs() -> HTMLResponse:
        return _page("runs", runs=shelf.listed())

    @app.get("/runs/{name}")
    def report(name: str) -> HTMLResponse:
        return HTMLResponse(page(shelf.open(name)))  # the page carries a policy of its own

    @app.get("/favicon.ico")
    def icon() -> PlainTextResponse:
        return PlainTextResponse("", status_code=204)


def _page(name: str, **values: Any) -> HTMLResponse:
    """A page with its script inline, allowed by digest; it may connect to this server only."""
    folder = files("assay.server") / "templates"
    own_style, own_script = ((folder / file).read_text("utf-8") for file in ("server.css", f"{name}.js"))
    script = "(() => {" + "\n".join([asset("dom.js"), asset("explain.js"), own_script]) + "})();"
    style = Markup(asset("style.css") + own_style)
    text = _TEMPLATES.get_template(f"{name}.html").render(style=style, script=Markup(script), **values)
    allowed = policy(script) + "; connect-src 'self'; base-uri 'none'; form-action 'none'"
    return HTMLResponse(text, headers={"content-security-policy": allowed})
