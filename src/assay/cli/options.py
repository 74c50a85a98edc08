"""Options that several commands share, and how they become the fields of an audit."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from assay import vocabulary
from assay.cli.help import STRAY
from assay.errors import SpecError, suggest

Metrics = Annotated[list[str] | None, typer.Option("-m", "--metric")]
_SEED = typer.Option(min=0)
Seed = Annotated[int | None, _SEED]
SeedNumber = Annotated[int, _SEED]  # of commands whose seed is a default of their own
Limit = Annotated[int | None, typer.Option(min=1)]
Workers = Annotated[int, typer.Option(min=1)]
Timeout = Annotated[float | None, typer.Option(min=0.01)]
Quiet = Annotated[bool, typer.Option("-q", "--quiet")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose")]
MaxCalls = Annotated[int | None, typer.Option(min=1)]
MaxCost = Annotated[float | None, typer.Option(min=0.0)]


@dataclass(frozen=True, slots=True)
class Request:
    """The options that `assay audit` and `assay run` share; absent ones keep the audit's defaults."""

    metric: Metrics = None
    size: vocabulary.Size = "full"
    data: list[Path] | None = None
    map: list[str] | None = None
    references: Path | None = None
    task: list[str] | None = None
    rule: vocabulary.Rule | None = None
    seed: Seed = None
    limit: Limit = None
    out: Path = Path("assay-run")
    cache: str | None = None
    workers: Workers = 1
    ray: str | None = None
    on_error: vocabulary.OnError = "stop"
    timeout: Timeout = None
    skip_missing: bool = False
    dry_run: bool = False
    max_calls: MaxCalls = None
    max_cost: MaxCost = None
    fail_on: list[str] | None = None
    format: vocabulary.Format = "html"
    json: bool = False
    quiet: Quiet = False
    verbose: Verbose = False

    def fields(self, only: list[str] | None = None) -> dict[str, Any]:
        """The given options, as fields of an audit."""
        given: dict[str, Any] = {
            "data": tuple(self.data or ()),
            "map": ",".join(self.map or ()) or None,
            "references": self.references,
            "only": tuple(only or ()),
            "task": tuple(self.task or ()),
            "rule": self.rule,
            "seed": self.seed,
            "limit": self.limit,
            "skip_missing": self.skip_missing or None,
        }
        return {name: value for name, value in given.items() if value not in (None, ())}


def with_request(*, size: vocabulary.Size) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Spread the fields of `Request` over a command's options, in place of its parameter `request`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = [p.replace(annotation=hints[p.name]) for p in inspect.signature(command).parameters.values()]
        hints = get_type_hints(Request, include_extras=True)
        shared = [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
                default=size if field.name == "size" else field.default,
            )
            for field in dataclasses.fields(Request)
        ]  # fmt: skip
        names = {parameter.name for parameter in shared}

        @functools.wraps(command)
        def spread(**given: Any) -> None:
            request = Request(**{name: given.pop(name) for name in names})
            command(**given, request=request)

        keep = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own if p.name != "request"]
        spread.__signature__ = inspect.Signature([*keep, *shared])  # type: ignore[attr-defined]
        spread.__annotations__ = {parameter.name: parameter.annotation for parameter in (*keep, *shared)}
        del spread.__wrapped__
        return spread

    return decorate


def cache_path(text: str | None) -> Path | None:
    """The folder that `--cache` names, None for no folder, or the default."""
    from assay.models.weights import cache_folder

    if text is None:
        return cache_folder()
    return None if text == "none" else Path(text).expanduser()


def extra_fields(words: list[str], known: list[str]) -> dict[str, Any]:
    """`--level system --each-judgement` to the audit's own fields."""
    fields: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise SpecError(f"unexpected word {word!r}; options are written --name value; {STRAY}")
        name, equals, value = word[2:].partition("=")
        name = name.replace("-", "_")
        if name not in known:
            shown = [field.replace("_", "-") for field in known]
            raise SpecError(f"unknown option --{name.replace('_', '-')}{suggest(name, shown)}")
        if equals:
            given = value
        elif rest and not rest[0].startswith("--"):
            given = rest.pop(0)
        else:
            given = "true"
        fields[name] = f"{fields[name]};{given}" if name in fields else given
    return fields


def read_specs(given: list[str] | None) -> tuple[str, ...]:
    """The given metrics; `@run.toml` stands for the list `metrics` in that file."""
    import tomllib

    from assay.datasets.rows import read_text

    specs: list[str] = []
    for spec in given or ():
        if not spec.startswith("@"):
            specs.append(spec)
            continue
        try:
            listed = tomllib.loads(read_text(Path(spec[1:]))).get("metrics")
        except tomllib.TOMLDecodeError as error:
            raise SpecError(f"{spec[1:]} is not TOML: {error}") from error
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise SpecError(f'{spec[1:]} has no list of specs: write metrics = ["bleu", "chrf"]')
        specs += listed
    return tuple(specs)
