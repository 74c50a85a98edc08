"""The playground and run browser: plain pages and a small JSON interface."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field

from assay.errors import AuditError
from assay.names.spec import measure
from assay.report.page import asset, page, policy
from assay.server.browse import Shelf
from assay.server.live import Asked, Live
from assay.vocabulary import TASKS, Task

Text = Annotated[str, Field(max_length=10_000)]


class Typed(BaseModel):
    """What the playground sends."""

    model_config = ConfigDict(extra="forbid")

    hypothesis: Annotated[str, Field(min_length=1, max_length=10_000)]
    references: Annotated[list[Text], Field(max_length=20)] = []
    source: Text | None = None
    task: Task = "translation"
    metrics: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=100)] = []

    @property
    def asked(self) -> Asked:
        """The request as the playground handles it; empty lines are not references."""
        references = tuple(text for text in self.references if text.strip())
        return Asked(self.hypothesis, references, self.source or None, self.task)


def create_app(root: Path | None, specs: Sequence[str]) -> FastAPI:
    """The server without its guard; `root` holds run folders, `specs` are the metrics on offer."""
    app = FastAPI(title="assay", docs_url=None, redoc_url=None, openapi_url=None)
    live, shelf = Live([measure(spec) for spec in specs]), Shelf(root)  # a wrong spec is refused at once
    _pages(app, live, shelf)

    @app.post("/api/score")
    def scores(typed: Typed) -> dict[str, Any]:
        return live.scores(typed.asked, typed.metrics)

    @app.post("/api/changes")
    def changes(typed: Typed) -> dict[str, Any]:
        return live.changes(typed.asked, typed.metrics)

    @app.get("/api/runs")
    def runs() -> dict[str, Any]:
        return {"runs": shelf.listed()}

    @app.get("/api/compare")
    def compare(before: Annotated[str, Query()], after: Annotated[str, Query()]) -> dict[str, Any]:
        return shelf.compare(before, after)

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


def _pages(app: FastAPI, live: Live, shelf: Shelf) -> None:
    @app.get("/")
    def playground() -> HTMLResponse:
        return _page("playground.html", ("playground.js",), metrics=list(live.measures), tasks=TASKS)

    @app.get("/runs")
    def runs() -> HTMLResponse:
        return _page("runs.html", ("runs.js",), runs=shelf.listed())

    @app.get("/runs/{name}")
    def report(name: str) -> HTMLResponse:
        return HTMLResponse(page(shelf.open(name)))  # the page carries a policy of its own

    @app.get("/favicon.ico")
    def icon() -> PlainTextResponse:
        return PlainTextResponse("", status_code=204)


_TEMPLATES = Environment(loader=PackageLoader("assay.server"), autoescape=True, undefined=StrictUndefined)


def _page(name: str, scripts: Sequence[str], **values: Any) -> HTMLResponse:
    """A page with its script inline, allowed by digest; it may connect to this server only."""
    parts = [asset("dom.js"), asset("explain.js"), *(_own(script) for script in scripts)]
    script = "(() => {" + "\n".join(parts) + "})();"
    text = _TEMPLATES.get_template(name).render(
        style=Markup(asset("style.css") + _own("server.css")), script=Markup(script), **values
    )
    allowed = policy(script) + "; connect-src 'self'; base-uri 'none'; form-action 'none'"
    return HTMLResponse(text, headers={"content-security-policy": allowed})


def _own(name: str) -> str:
    source = _TEMPLATES.loader.get_source(_TEMPLATES, name)[0] if _TEMPLATES.loader else ""
    return str(source)
