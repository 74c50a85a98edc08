"""`--max-calls` and `--max-cost`: what judges may spend in a run, and what they spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from assay.errors import SpecError

if TYPE_CHECKING:
    from assay.run.pipeline import Options
    from assay.run.results import Run

MaxCalls = Annotated[int | None, typer.Option(min=1, help="Questions that judges may be asked.")]
MaxCost = Annotated[float | None, typer.Option(min=0.0, help="Money that judges may cost.")]


@contextmanager
def budget(max_calls: int | None, max_cost: float | None, options: Options) -> Iterator[Callable[[Run], Run]]:
    """Limits for what runs inside; gives what puts the bill into a run (`spent` in run.json)."""
    from assay.metrics.judge.budget import Budget, spending

    if (max_calls is not None or max_cost is not None) and (options.workers > 1 or options.ray):
        raise SpecError("a budget is kept in one process: leave out --workers and --ray, or the limits")
    with spending(Budget(max_calls, max_cost, keeps=options.cache is not None)) as ledger:

        def billed(done: Run) -> Run:
            bill = ledger.summary()
            if not bill:
                return done
            whole = replace(done, about={**done.about, "spent": bill})
            return whole.save(done.folder) if done.folder else whole

        try:
            yield billed
        finally:
            if ledger.calls and not options.quiet:
                typer.echo(ledger.sentence(), err=True)
