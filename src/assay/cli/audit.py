"""`assay audit`: the main job, every audit that fits."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from assay.cli import options as o


@o.with_request(size=o.SizeName.quick)
def command(
    request: o.Request,
    only: Annotated[list[str] | None, typer.Option(help="An audit's name; repeatable.")] = None,
) -> None:
    """Audit metrics on embedded data (or yours) and write report.html."""
    from assay.run.pipeline import audit

    request.perform(only or [], request.fields(), partial(audit, only=tuple(only or ())))
