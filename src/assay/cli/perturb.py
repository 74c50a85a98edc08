"""`assay perturb`: what a perturbation does to a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import options as o

if TYPE_CHECKING:
    from assay.core import Perturbation, Record

_LACKS = {
    "source": "it has no source",
    "references": "it has no references",
    "context": "it has no context, the turns before it",
    "others": "there are no other texts to borrow from",
}


def command(
    name: Annotated[str, typer.Argument(help="A perturbation's spec, or 'list'.")],
    text: Annotated[str | None, typer.Option(help="A text to change.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Records with gold.")] = None,
    task: Annotated[str, typer.Option(help="The text's task.")] = "translation",
    seed: o.SeedNumber = 0,
    limit: o.Limit = None,
    json: o.Json = False,
) -> None:
    """Change a text, or the golds of a file; 'list' shows every perturbation."""
    if name == "list":
        from assay.cli.list import show

        show("perturbations", as_json=json)
        return
    import json as json_module

    from assay.core import Record
    from assay.datasets.records import read_records, task_named
    from assay.errors import SpecError
    from assay.names.spec import perturbation

    changer = perturbation(name)
    if text is None and data is None:
        raise SpecError("nothing to change: give --text TEXT or --data FILE")
    if text is not None and data is not None:
        raise SpecError("--text and --data exclude each other: give one of them")
    records = read_records(data)[:limit] if data else [Record("text", text or "", task_named(task))]
    if data is None and (lack := _lack(changer, records[0])):
        raise SpecError(f"{name} cannot change this: {lack}; give a text, or records with --data")
    found = ((record, changer.perturb(record, seed)) for record in records)
    if json:
        rows = [{"id": record.id, "gold": record.gold, "perturbed": changed} for record, changed in found]
        typer.echo(json_module.dumps({"texts": rows}, ensure_ascii=False, indent=1))
        return
    for record, changed in found:
        lack = _lack(changer, record)
        typer.echo(changed or f"(does not apply here{f': {lack}' if lack else ''})")


def _lack(changer: Perturbation, record: Record) -> str:
    """What a record would need for the perturbation to change it, as far as fields tell."""
    if not record.gold.strip():
        return "the text is empty"
    return "" if not changer.reads or getattr(record, changer.reads) else _LACKS[changer.reads]
