"""Options that several commands share, and how they become a run's options."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.errors import SpecError, suggest


class Rule(StrEnum):
    """Whose definitions decide."""

    careful = "careful"
    paper = "paper"


class SizeName(StrEnum):
    """How much is measured."""

    quick = "quick"
    full = "full"


class OnErrorName(StrEnum):
    """What to do when a metric raises."""

    stop = "stop"
    skip = "skip"


class Format(StrEnum):
    """What a run is shown as."""

    html = "html"
    md = "md"
    json = "json"
    latex = "latex"


def known_gate(gate: str | None) -> str | None:
    """The gate asked for, refused before the work where there is no such gate."""
    if gate is None:
        return None
    from assay.report.gate import GATES

    if gate not in GATES:
        raise SpecError(f"unknown gate {gate!r}{suggest(gate, GATES)}")
    return gate


Metrics = Annotated[list[str] | None, typer.Option("-m", "--metric", help="A metric's spec; repeatable.")]
Data = Annotated[list[Path] | None, typer.Option("--data", help="A data file or folder; repeatable.")]
References = Annotated[Path | None, typer.Option(help="A text file of references, beside --data GOLD.txt.")]
Only = Annotated[list[str] | None, typer.Option(help="One noise, template, test or attribute; repeatable.")]
TaskNames = Annotated[list[str] | None, typer.Option("--task", help="A task; repeatable.")]
RuleOption = Annotated[Rule | None, typer.Option("--rule", help="careful (default) or the paper's own.")]
_SEED = typer.Option(min=0, help="Seed of everything random.")
Seed = Annotated[int | None, _SEED]
SeedNumber = Annotated[int, _SEED]  # of commands whose seed is a default of their own
Limit = Annotated[int | None, typer.Option(min=1, help="Items a dataset.")]
Out = Annotated[Path, typer.Option(help="The run's folder.")]
Cache = Annotated[str | None, typer.Option(help="Folder of the score cache, or 'none'.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes to score in, from 2,000 samples on.")]
Ray = Annotated[str | None, typer.Option(help="A Ray cluster: auto, local or an address.")]
OnErrorOption = Annotated[OnErrorName, typer.Option("--on-error", help="When a metric raises on a sample.")]
Timeout = Annotated[
    float | None, typer.Option(min=0.01, help="Seconds a call of a metric may take; not with --ray.")
]
SkipMissing = Annotated[bool, typer.Option("--skip-missing", help="Leave out items whose files are missing.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no messages.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Say more: what the libraries log.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and stop.")]
FailOn = Annotated[
    str | None, typer.Option(callback=known_gate, help="Exit 1 when this fails: fail, unfair or blind.")
]
Size = Annotated[SizeName, typer.Option(help="quick: minutes; full: the papers' protocol.")]
FormatOption = Annotated[Format, typer.Option("--format", help="What to print or write.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """An audit's options as given on the command line; absent ones keep the audit's defaults."""

    data: list[Path] | None = None
    references: Path | None = None
    only: list[str] | None = None
    task: list[str] | None = None
    rule: Rule | None = None
    seed: int | None = None
    limit: int | None = None
    skip_missing: bool = False

    def fields(self) -> dict[str, Any]:
        """What was given, as an audit's fields."""
        given: dict[str, Any] = {
            "data": tuple(self.data) if self.data else None,
            "references": self.references,
            "only": tuple(self.only) if self.only else None,
            "task": tuple(self.task) if self.task else None,
            "rule": self.rule.value if self.rule else None,
            "seed": self.seed,
            "limit": self.limit,
            "skip_missing": True if self.skip_missing else None,
        }
        return {key: value for key, value in given.items() if value is not None}


def cache_path(text: str | None) -> Path | None:
    """`--cache`: a folder, none at all, or the default."""
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
            raise SpecError(f"unexpected word {word!r}; options are written --name value")
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


def specs(given: list[str] | None) -> tuple[str, ...]:
    """The metrics asked for; `@run.toml` stands for the list `metrics` in that file."""
    import tomllib

    from assay.datasets.rows import read_text

    found: list[str] = []
    for spec in given or ():
        if not spec.startswith("@"):
            found.append(spec)
            continue
        try:
            listed = tomllib.loads(read_text(Path(spec[1:]))).get("metrics")
        except tomllib.TOMLDecodeError as error:
            raise SpecError(f"{spec[1:]} is not TOML: {error}") from error
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise SpecError(f'{spec[1:]} has no list of specs: write metrics = ["bleu", "chrf"]')
        found += listed
    return tuple(found)


def say_more(verbose: bool) -> None:
    """With -v, what the libraries say is shown too."""
    if verbose:
        logging.getLogger().setLevel(logging.INFO)
