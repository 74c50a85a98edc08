"""Help texts and error messages of commands, from the tables in data/help."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

from typer.core import TyperCommand, TyperGroup

from assay.errors import nearest, suggest
from assay.files import toml_file

STRAY = "repeat -m for several metrics (-m bleu -m chrf), and put quotes around a spec with blanks or *"
_WORDS = "assay.words"  # what was typed, kept in the context
_OFFERED: dict[str, Any] = {"audit": "audits", "metric": "metrics", "kind": "lists"}
SHARED = frozenset(toml_file("help", "commands")["shared"])


class Command(TyperCommand):
    """A command with its texts from data/help; after the name of an audit, help shows its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Fill in the texts, and keep the words: --help is answered before the name of an audit is read."""
        ctx.meta[_WORDS] = list(args)
        own = _texts("own").get(_path(ctx), {})
        parameters: list[Any] = self.params
        for parameter in parameters:
            name = parameter.name
            parameter.help = own.get(name) or _texts("help").get(name) or parameter.help
            parameter.metavar = parameter.metavar or _texts("values").get(name)
            parameter.secondary_opts = []  # a switch is given or not: there is no --no-json
            if parameter.param_type_name == "argument":
                parameter.display_type = lambda ctx: ""
            if name in _OFFERED:
                parameter._custom_shell_complete = _offer
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """What the command does; after the name of an audit, what that audit asks."""
        kind = self._audit(ctx)
        if kind is None:
            super().format_help_text(ctx, formatter)
            return
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"{kind.title}\n\n{inspect.cleandoc(kind.__doc__)}")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        kind = self._audit(ctx)
        if kind is not None:
            with formatter.section(f"Options of {kind.name}"):
                formatter.write_dl(list(audit_options(kind)))
            parameters: list[Any] = self.params
            for parameter in parameters:
                parameter.hidden = parameter.hidden or not SHARED.isdisjoint(parameter.opts)
        super().format_options(ctx, formatter)
        write_examples(ctx, formatter)

    def _audit(self, ctx: Any) -> Any:
        """The class of the audit that was typed; None where there is none."""
        from assay.names.registry import audit_class, names

        takes_audit = any(parameter.name == "audit" for parameter in self.params)
        typed = [word for word in ctx.meta.get(_WORDS, ()) if takes_audit and word in names("audits")]
        return audit_class(typed[0]) if typed else None


def _offer(ctx: Any, parameter: Any, typed: str) -> list[str]:
    """The names that a shell offers for completion."""
    from assay.names.registry import names

    known = list(_texts("lists")) if parameter.name == "kind" else names(_OFFERED[parameter.name])
    return [name for name in known if name.startswith(typed)]


class CommandGroup(TyperGroup):
    """A group of commands whose help shows examples."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        write_examples(ctx, formatter)


def _texts(table: str) -> dict[str, Any]:
    texts: dict[str, Any] = toml_file("help", "commands")[table]
    return texts


def _path(ctx: Any) -> str:
    return str(ctx.command_path).removeprefix("assay ")


def write_examples(ctx: Any, formatter: Any) -> None:
    """The examples of a command, each on a line that can be copied."""
    with formatter.section("Examples"):
        for example in _texts("examples").get(_path(ctx), ()):
            formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def audit_options(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """The options of an audit: how each is written; its meaning, its default, and that of --size quick."""
    meanings, hints = toml_file("help", "options"), get_type_hints(kind)
    quick = dict(kind.quick)
    for field in dataclasses.fields(kind):
        own = meanings.get(kind.name, {}).get(field.name) or field.metadata.get("help")
        meaning = own or meanings["shared"].get(field.name, "")
        default = {"default": field.default, "quick": quick.get(field.name)}
        words = [f"{name}: {text}" for name, value in default.items() if (text := _written(value))]
        extra = f"  [{'; '.join(words)}]" if words else ""
        value = "" if hints[field.name] is bool and field.default is False else f" {_kind(hints[field.name])}"
        yield f"--{field.name.replace('_', '-')}{value}", f"{meaning}{extra}"
    if "data" in hints:
        yield "--map FIELD=COLUMN", "Columns of your files, such as hypothesis=summary; repeatable."


def _written(value: Any) -> str:
    """A default as it would be typed; empty if there is none."""
    if isinstance(value, tuple):
        return ", ".join(map(_written, value))
    if value is None or value is False or value is dataclasses.MISSING:
        return ""
    return "true" if value is True else str(value)


def _kind(hint: Any) -> str:
    """One word for the value of an option, by its type."""
    arguments = [argument for argument in get_args(hint) if argument not in (type(None), ...)]
    if get_origin(hint) is Literal:
        return "|".join(map(str, arguments))
    if arguments:
        return _kind(arguments[0])
    names = {"int": "N", "float": "NUMBER", "Path": "FILE", "bool": "true|false"}
    return names.get(getattr(hint, "__name__", ""), "NAME")


def suggest_option(wrong: str, known: Iterable[str]) -> str:
    """The option that may have been meant; the leading dashes are not compared."""
    near = nearest(wrong.lstrip("-"), [name.lstrip("-") for name in known if name.startswith("--")])
    return f"; did you mean --{near}?" if near else ""


def plain_words(error: Any) -> str:
    """The parser's message about a wrong option: which word is wrong, and what to write instead."""
    command = "assay" if error.ctx is None else error.ctx.command_path
    option = getattr(error, "option_name", None)
    moved = _texts("moved").get(f"{command} {option}".removeprefix("assay "))
    if moved is not None:
        return f"{command} {option} is now assay {moved}"
    return f"{_complaint(error, command, option)}; see {command} --help"


def _complaint(error: Any, command: str, option: str | None) -> str:
    """The parser's message in plain words."""
    ctx, message, parameter = error.ctx, error.format_message(), getattr(error, "param", None)
    if message.startswith("Missing") and parameter is not None:
        written = [parameter.opts[0]] if parameter.param_type_name == "option" else []
        given = " ".join(filter(None, (*written, parameter.metavar)))
        return f"{command} needs {given}: {parameter.help}".rstrip(".")
    if message.startswith("No such option") and ctx is not None:
        known = [name for each in ctx.command.params for name in each.opts]
        return f"{command} has no option {option}{suggest_option(str(option), known)}"
    if message.startswith("Got unexpected extra argument"):
        return _unexpected(message, [each.name for each in ctx.command.params])
    if message.startswith("No such command"):
        word = message.split("'")[1]
        return f"no command is called {word!r}{suggest(word, ctx.command.commands)}"
    if "requires an argument" in message:
        return f"{option} needs a value"
    return message if parameter is None else _wrong_value(message)


def _unexpected(message: str, options: list[str]) -> str:
    words = message.rpartition(" (")[2].rstrip(").")
    return f"unexpected words: {words}" + (f"; {STRAY}" if "metric" in options else "")


def _wrong_value(message: str) -> str:
    """The complaint about a value in plain words, after the name of its option."""
    for pattern, words in _texts("messages").items():
        message = re.sub(pattern, words, message)
    return re.sub(r"Invalid value for (.*?): ", lambda hint: hint[1].replace("'", "") + ": ", message)
