"""`assay audit`: the main job, every audit that fits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import options as o
from assay.cli.budget import MaxCalls, MaxCost, budget


def command(
    metric: o.Metrics = None,
    only: Annotated[list[str] | None, typer.Option(help="An audit's name; repeatable.")] = None,
    size: o.Size = o.SizeName.quick,
    data: o.Data = None,
    task: o.TaskNames = None,
    rule: o.RuleOption = None,
    seed: o.Seed = None,
    limit: o.Limit = None,
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
    """Audit metrics on embedded data (or yours) and write report.html."""
    from assay.cli.finish import finish, show_cost
    from assay.run.pipeline import DEFAULT_METRICS, Options, audit

    asked = o.Asked(data, None, None, task, rule, seed, limit, skip_missing).fields()
    options = Options(out, o.cache_path(cache), workers, ray, on_error.value, quiet, timeout)
    metrics = o.specs(metric) or DEFAULT_METRICS
    o.say_more(verbose)
    if dry_run:
        show_cost(only or [], metrics, asked, size.value, options)
        return
    with budget(max_calls, max_cost, options) as spent:
        done = spent(audit(metrics, only=tuple(only or ()), size=size.value, options=options, **asked))
    finish(done, form="json" if json else format.value, fail_on=fail_on, quiet=quiet)
