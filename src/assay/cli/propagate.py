"""`assay propagate`: does a metric, used as a reward, pass its bias on to a generator?"""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns

if TYPE_CHECKING:
    from assay.mitigation.propagate import Effect

EXPLAINED = (
    "error: captions that state the wrong gender, change in points; where the reward did not rise, "
    "nothing was optimised and the row says nothing about the reward"
)
REWARDS = ("bertscore-f", "rougeL", "bertscore-f+rougeL")


def command(
    metric: o.Metrics = None,
    seeds: Annotated[int, typer.Option(min=1, help="Independent replications.")] = 3,
    scenes: Annotated[int, typer.Option(min=20, help="Test scenes per replication.")] = 400,
    updates: Annotated[int, typer.Option(min=1, help="Steps of minimum-risk training.")] = 60,
    model: Annotated[str | None, typer.Option(help="A generator of your own; with --data.")] = None,
    data: Annotated[Path | None, typer.Option(help="Its scenes: source or image, references, group.")] = None,
    candidates: Annotated[int, typer.Option(min=2, help="Captions sampled per scene.")] = 5,
    cache: o.Cache = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Rerank the best of N captions, and train by minimum risk, with each metric as the reward."""
    from assay.errors import SpecError
    from assay.mitigation.propagate import Experiment, own_world, propagate, synthetic_world
    from assay.names.spec import parse
    from assay.run.session import Session

    measures = [parse(text) for text in metric or REWARDS]
    session = Session.open(cache=o.cache_path(cache))
    experiment = Experiment(test=scenes, updates=updates, candidates=candidates)
    if (model is None) != (data is None):
        raise SpecError("a generator of your own needs both --model and --data")
    world = own_world(model, data) if model and data else synthetic_world(experiment)
    effects = propagate(measures, range(seeds), experiment, world, session)
    if json:
        rows = [asdict(effect) | {"optimised": effect.optimised} for effect in effects]
        typer.echo(json_module.dumps({"effects": rows}, indent=1))
        return
    show(effects)
    if not quiet:
        typer.echo(EXPLAINED, err=True)


def show(effects: Sequence[Effect]) -> None:
    """Print one line per effect."""
    rows = [
        {
            "reward": effect.reward, "method": effect.method, "error before": f"{effect.before:.1f}%",
            "after": f"{effect.after:.1f}%", "change": f"{effect.change:+.1f}",
            "95% CI": "" if effect.ci is None else f"{effect.ci[0]:+.1f} .. {effect.ci[1]:+.1f}",
            "biased concepts": f"{effect.biased_before:.0f}% to {effect.biased_after:.0f}%",
            "reward gain": f"{effect.reward_gain:+.4f}" if effect.optimised else "did not rise",
        }
        for effect in effects
    ]  # fmt: skip
    print_columns(rows)
