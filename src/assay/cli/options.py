"""Options that several commands share, and how they become the fields of an audit."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from assay import vocabulary
from assay.cli.help import SHARED, STRAY, suggest_option
from assay.errors import SpecError

if TYPE_CHECKING:
    from assay.engine.session import Session

Metrics = Annotated[list[str] | None, typer.Option("-m", "--metric")]
MetricOption = Annotated[str, typer.Option("-m", "--metric")]
OptionalMetric = Annotated[str | None, typer.Option("-m", "--metric")]
Count = Annotated[int | None, typer.Option(min=1)]


@dataclass(frozen=True, slots=True)
class Request:
    """The options that commands which score share; absent ones keep the audit's defaults."""

    metric: Metrics = None
    size: vocabulary.Size = "full"
    data: list[Path] | None = None
    map: list[str] | None = None
    references: Path | None = None
    fresh: str | None = None
    task: list[str] | None = None
    language: vocabulary.Language | None = None
    rule: vocabulary.Rule | None = None
    seed: Annotated[int | None, typer.Option(min=0)] = None
    limit: Count = None
    out: Path | None = None
    cache: str | None = None
    workers: Count = None
    ray: str | None = None
    on_error: vocabulary.OnError = "stop"
    timeout: Annotated[float | None, typer.Option(min=0.01)] = None
    skip_missing: bool = False
    coverage: Annotated[float, typer.Option(min=0.0, max=1.0)] = vocabulary.COVERED
    dry_run: bool = False
    profile: bool = False
    max_calls: Count = None
    max_cost: Annotated[float | None, typer.Option(min=0.0)] = None
    any_language: bool = False
    fail_on: list[str] | None = None
    format: vocabulary.RunFormat = "html"
    json: bool = False
    quiet: Annotated[bool, typer.Option("-q", "--quiet")] = False
    verbose: Annotated[bool, typer.Option("-v", "--verbose")] = False

    def session(self) -> Session:
        from assay.engine.session import Session

        folder = "" if self.cache is None else Path(self.cache).expanduser()  # "": the default one
        cache = None if self.cache == "none" else folder
        return Session.open(
            self.out, cache, workers=self.workers, ray=self.ray, on_error=self.on_error,
            quiet=self.quiet, timeout=self.timeout, max_calls=self.max_calls, max_cost=self.max_cost,
            any_language=self.any_language,
        )  # fmt: skip

    def fields(self, only: list[str] | None = None) -> dict[str, Any]:
        """The given options, as fields of an audit."""
        plain = ("references", "fresh", "language", "rule", "seed", "limit")
        given = {name: getattr(self, name) for name in plain}
        lists = {"data": self.data, "only": only, "task": self.task}
        given |= {name: tuple(value or ()) for name, value in lists.items()}
        given |= {"map": ",".join(self.map or ()), "skip_missing": self.skip_missing}
        return {name: value for name, value in given.items() if value not in (None, (), "", False)}


def with_request(*names: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each field of `Request`, or for those named, in place of `request`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own, fields = (dict(inspect.signature(f, eval_str=True).parameters) for f in (command, Request))
        shared = {name: fields[name] for name in names or fields}
        shared |= {name: shared[name].replace(default=value) for name, value in defaults.items()}
        del own["request"]

        def spread(**given: Any) -> None:
            request = Request(**{name: given.pop(name, option.default) for name, option in shared.items()})
            command(**given, request=request)

        options = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (own | shared).values()]
        spread.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        spread.__annotations__ = {option.name: option.annotation for option in options}
        spread.__doc__ = command.__doc__
        return spread

    return decorate


def audit_fields(context: typer.Context, audit: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """The shared options that were given, and words like `--level system`, as the audit's own fields."""
    from assay.names.registry import audit_class
    from assay.names.spec import convert

    kind: Any = audit_class(audit)
    hints = get_type_hints(kind)
    own = {f"--{field.name.replace('_', '-')}": field.name for field in dataclasses.fields(kind)}
    words = _typed(context.args)
    given = [f"--{name.replace('_', '-')}" for name in shared if name not in ("map", "fresh")]
    _check_known([*words, *given], own, context, audit)
    fields = dict(shared)
    for flag, values in words.items():
        hint = hints[own[flag]]
        if not values and hint is not bool:
            raise SpecError(f"{flag} needs a value; see assay run {audit} --help")
        fields[own[flag]] = convert(";".join(values) or "true", hint, f"{flag} of {audit}")
    return fields


def _typed(words: Sequence[str]) -> dict[str, list[str]]:
    """The value typed after each option: `--name value`, `--name=value`, or none."""
    typed: dict[str, list[str]] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise SpecError(f"unexpected word {word!r}; options are written --name value; {STRAY}")
        flag, equals, value = word.partition("=")
        values = typed.setdefault(flag, [])
        if equals:
            values.append(value)
        elif rest and not rest[0].startswith("--"):
            values.append(rest.pop(0))
    return typed


def _check_known(flags: Sequence[str], own: Mapping[str, str], context: typer.Context, audit: str) -> None:
    """Refuse an option that the audit does not have."""
    unknown = [flag for flag in flags if flag not in own]
    if unknown:
        offered = [name for parameter in context.command.params for name in parameter.opts]
        hint = suggest_option(unknown[0], own.keys() | set(offered) - SHARED)
        command = f"{context.command_path} {audit}"
        raise SpecError(f"{command} has no option {unknown[0]}{hint}; see {command} --help")


def read_specs(given: list[str] | None) -> tuple[str, ...]:
    """The given metrics; `@run.toml` stands for the list `metrics` in that file."""
    import tomllib

    from assay.datasets.files import read_text

    specs: list[str] = []
    for spec in given or ():
        listed: Any = [spec]
        if spec.startswith("@"):
            try:
                listed = tomllib.loads(read_text(Path(spec[1:]))).get("metrics")
            except tomllib.TOMLDecodeError as error:
                raise SpecError(f"{spec[1:]} is not TOML: {error}") from error
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise SpecError(f'{spec[1:]} has no list of specs: write metrics = ["bleu", "chrf"]')
        specs += listed
    return tuple(specs)


def given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others keep their defaults."""
    return {name: value for name, value in options.items() if value is not None}
