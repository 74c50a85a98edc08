"""`assay run AUDIT`: one audit, on embedded data or yours."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Annotated, Any

import typer

from assay.cli import options as o

CONTEXT: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}


@o.with_request(size=o.SizeName.full)
def command(
    context: typer.Context,
    audit: Annotated[str, typer.Argument(help="The audit's name; see assay list audits.")],
    request: o.Request,
    scores: Annotated[str | None, typer.Option(help="Scores you already have: FILE or FILE:COLUMN.")] = None,
    only: o.Only = None,
) -> None:
    """Run one audit; its own options are given as --name value (see assay list audits)."""
    from assay.names.registry import audit_class
    from assay.run.pipeline import run

    known = [field.name for field in fields(audit_class(audit))]  # type: ignore[arg-type]
    given = request.fields(only) | o.extra_fields(context.args, known)
    request.perform([audit], given, partial(run, audit, scores=scores))
