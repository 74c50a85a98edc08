"""The command `compare-systems`: is system A better than system B under these metrics?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assay.cli import options as o
from assay.cli.output import print_columns, print_json, print_notes

if TYPE_CHECKING:
    from assay.api.systems import Systems


@o.with_request("data", "metric", "map", "cache", "any_language", "json", "quiet", data=typer.Option(...))
def compare_systems_command(
    request: o.Request,
    baseline: str | None = None,
    test: Literal["bootstrap", "permutation"] = "permutation",
    draws: Annotated[int | None, typer.Option(min=100)] = None,
    seed: Annotated[int, typer.Option(min=0)] = 12345,
) -> None:
    """Compare systems on the same texts: scores with intervals, paired tests, clusters.

    The tests and seeds are those of sacreBLEU's --paired-bs and --paired-ar; p-values of several pairs are
    corrected by Holm's rule. --data has a column system, or is given once for each system.
    """
    from assay.api.systems import DEFAULT, compare_systems

    done = compare_systems(
        o.read_specs(request.metric) or DEFAULT, data=list(map(Path, request.data or ())),
        map=",".join(request.map or ()), baseline=baseline, test=test, draws=draws, seed=seed,
        session=request.session(),
    )  # fmt: skip
    if request.json:
        tables = {
            name: getattr(done, name).to_dicts() for name in ("scores", "pairs", "metrics", "agreement")
        }
        print_json(tables | {"notes": list(done.notes)})
        return
    for row in done.metrics.to_dicts():
        _print_metric(done, row)
    for row in done.agreement.to_dicts():
        typer.echo(
            f"{row['first']} and {row['second']} order {row['alike']:.0%} of the pairs of systems alike"
        )
    print_notes(done.notes, quiet=request.quiet)


def _print_metric(done: Systems, about: dict[str, Any]) -> None:
    scores, pairs = (
        [row for row in table.to_dicts() if row["metric"] == about["metric"]]
        for table in (done.scores, done.pairs)
    )
    typer.echo(
        f"{about['metric']}: differences of {about['needed']:.2g} or more are told apart on these texts"
    )
    scores.sort(key=lambda row: -row["score"])
    print_columns([_score_cells(row) for row in scores])
    print_columns([_pair_cells(row) for row in _by_score(pairs, scores)])
    typer.echo(f"signature: {about['signature']}\n")


def _score_cells(row: dict[str, Any]) -> dict[str, Any]:
    interval = f"{row['low']:.4g} .. {row['high']:.4g}"
    return {
        "system": row["system"],
        "score": f"{row['score']:.4g}",
        "95% CI": interval,
        "cluster": row["cluster"],
    }


def _by_score(pairs: Sequence[dict[str, Any]], scores: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pairs of systems, each with the better one first, ordered by their better system."""
    rank = {row["system"]: place for place, row in enumerate(scores)}
    turned = [row if row["difference"] >= 0 else _turned(row) for row in pairs]
    return sorted(turned, key=lambda row: (rank[row["first"]], rank[row["second"]]))


def _turned(row: dict[str, Any]) -> dict[str, Any]:
    swapped = {"first": row["second"], "second": row["first"], "difference": -row["difference"]}
    return row | swapped | {"low": -row["high"], "high": -row["low"], "wins": 1 - row["wins"]}


def _pair_cells(row: dict[str, Any]) -> dict[str, Any]:
    better = row["adjusted"] < 0.05
    return {
        "pair": f"{row['first']} {'>' if better else '~'} {row['second']}",
        "difference": f"{row['difference']:.3g}",
        "95% CI": f"{row['low']:.3g} .. {row['high']:.3g}",
        "p": f"{row['p']:.3g}",
        "Holm": f"{row['adjusted']:.3g}",
        "wins": f"{row['wins']:.0%}",
    }
