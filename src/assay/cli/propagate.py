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
    from assay.mitigation.propagation import Effect, Setting

EXPLAINED = (
    "error: captions that tell the wrong gender, change in points; where the reward did not rise, "
    "nothing was optimised and the row says nothing of the reward"
)
REWARDS = ("bertscore-f", "rougeL", "bertscore-f+rougeL")


def command(
    metric: o.Metrics = None,
    seeds: Annotated[int, typer.Option(min=1, help="Worlds and generators.")] = 3,
    scenes: Annotated[int, typer.Option(min=20, help="Test scenes a seed.")] = 400,
    updates: Annotated[int, typer.Option(min=1, help="Updates of minimum-risk training.")] = 60,
    model: Annotated[str | None, typer.Option(help="A generator of your own; with --data.")] = None,
    data: Annotated[Path | None, typer.Option(help="Its scenes: source or image, references, group.")] = None,
    candidates: Annotated[int, typer.Option(min=2, help="Captions drawn a scene.")] = 5,
    cache: o.Cache = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Rerank the best of N captions, and train by minimum risk, with each metric as the reward."""
    from assay.mitigation.propagation import Course, controlled, propagate
    from assay.names.spec import parse
    from assay.run.session import Session

    measures = [parse(text) for text in metric or REWARDS]
    settings = Session.open(cache=o.cache_path(cache), quiet=True)
    course = Course(test=scenes, updates=updates, candidates=candidates)
    setting = _own(model, data) if model or data else controlled(course)
    effects = propagate(measures, range(seeds), course, setting, settings)
    if json:
        told = [asdict(one) | {"optimised": one.optimised} for one in effects]
        typer.echo(json_module.dumps({"effects": told}, indent=1))
        return
    show(effects)
    if not quiet:
        typer.echo(EXPLAINED, err=True)


def show(effects: Sequence[Effect]) -> None:
    """The effects as a table."""
    rows = [
        {
            "reward": one.reward, "road": one.road, "error before": f"{one.before:.1f}%",
            "after": f"{one.after:.1f}%", "change": f"{one.change:+.1f}",
            "95% CI": "" if one.ci is None else f"{one.ci[0]:+.1f} .. {one.ci[1]:+.1f}",
            "biased concepts": f"{one.biased_before:.0f}% to {one.biased_after:.0f}%",
            "its rise": f"{one.reward_gain:+.4f}" if one.optimised else "did not rise",
        }
        for one in effects
    ]  # fmt: skip
    print_columns(rows)


def _own(model: str | None, data: Path | None) -> Setting:
    """A generator and scenes of the user's; each seed tests on other halves."""
    from assay.errors import SpecError
    from assay.mitigation.own_world import halves, load_generator, read_scenes

    if model is None or data is None:
        raise SpecError("a generator of your own needs both --model and --data")
    base, scenes = load_generator(model), read_scenes(data)
    return lambda seed: (base, *halves(scenes, seed))
