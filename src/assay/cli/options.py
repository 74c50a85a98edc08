"""Options that several commands share, and how they become the fields of an audit."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from assay import vocabulary
from assay.cli.help import SHARED, STRAY, suggest_option
from assay.errors import SpecError

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
        given = {name: getattr(self, name) for name in ("references", "rule", "seed", "limit")}
        lists = {"data": self.data, "only": only, "task": self.task}
        given |= {name: tuple(value or ()) for name, value in lists.items()}
        given |= {"map": ",".join(self.map or ()), "skip_missing": self.skip_missing}
        return {name: value for name, value in given.items() if value not in (None, (), "", False)}


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


def audit_fields(context: typer.Context, audit: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """The shared options that were given, and words like `--level system`, as the audit's own fields."""
    from assay.names.registry import audit_class
    from assay.names.spec import convert

    kind: Any = audit_class(audit)
    hints = get_type_hints(kind)
    own = {f"--{field.name.replace('_', '-')}": field.name for field in dataclasses.fields(kind)}
    words: dict[str, list[str]] = {}
    rest = list(context.args)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise SpecError(f"unexpected word {word!r}; options are written --name value; {STRAY}")
        flag, equals, value = word.partition("=")
        values = words.setdefault(flag, [])
        if equals or (rest and not rest[0].startswith("--")):
            values.append(value if equals else rest.pop(0))
    given = [f"--{name.replace('_', '-')}" for name in shared if name != "map"]
    for flag in filter(lambda flag: flag not in own, (*words, *given)):
        known = own.keys() | {name for p in context.command.params for name in p.opts} - SHARED
        command = f"{context.command_path} {audit}"
        raise SpecError(f"{command} has no option {flag}{suggest_option(flag, known)}; see {command} --help")
    fields = dict(shared)
    for flag, values in words.items():
        hint = hints[own[flag]]
        if not values and hint is not bool:
            raise SpecError(f"{flag} needs a value; see assay run {audit} --help")
        fields[own[flag]] = convert(";".join(values) or "true", hint, f"{flag} of {audit}")
    return fields


def read_specs(given: list[str] | None) -> tuple[str, ...]:
    """The given metrics; `@run.toml` stands for the list `metrics` in that file."""
    import tomllib

    from assay.datasets.files import read_text

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
