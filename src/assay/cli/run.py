"""`assay run AUDIT`: one audit, your data."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.budget import MaxCalls, MaxCost, budget

CONTEXT: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}


def command(
    context: typer.Context,
    audit: Annotated[str, typer.Argument(help="The audit's name; see assay list audits.")],
    metric: o.Metrics = None,
    data: o.Data = None,
    references: o.References = None,
    scores: Annotated[str | None, typer.Option(help="Scores you already have: FILE or FILE:COLUMN.")] = None,
    only: o.Only = None,
    task: o.TaskNames = None,
    rule: o.RuleOption = None,
    seed: o.Seed = None,
    limit: o.Limit = None,
    size: o.Size = o.SizeName.full,
    out: o.Out = Path("assay-run"),
    cache: o.Cache = None,
    workers: o.Workers = 1,
    ray: o.Ray = None,
    on_error: o.OnErrorOption = o.OnErrorName.stop,
    timeout: o.Timeout = None,
    skip_missing: o.SkipMissing = False,
    dry_run: o.DryRun = False,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    fail_on: o.FailOn = None,
    format: o.FormatOption = o.Format.html,
    json: o.Json = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Run one audit; its own options are given as --name value (see assay list audits)."""
    from assay.cli.finish import finish, show_cost
    from assay.names.registry import audit_class
    from assay.run.pipeline import DEFAULT_METRICS, Options, run

    asked = o.Asked(data, references, only, task, rule, seed, limit, skip_missing).fields()
    known = [field.name for field in fields(audit_class(audit))]  # type: ignore[arg-type]
    asked |= o.extra_fields(context.args, known)
    options = Options(out, o.cache_path(cache), workers, ray, on_error.value, quiet, timeout)
    metrics = o.specs(metric) or DEFAULT_METRICS
    o.say_more(verbose)
    if dry_run:
        show_cost([audit], metrics, asked, size.value, options)
        return
    with budget(max_calls, max_cost, options) as spent:
        done = spent(run(audit, metrics, scores=scores, options=options, size=size.value, **asked))
    finish(done, form="json" if json else format.value, fail_on=fail_on, quiet=quiet)
