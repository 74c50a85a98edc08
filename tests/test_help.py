"""Help screens: every command has an example, an audit's own options are shown, lists fit a page, completion works."""

from __future__ import annotations

import dataclasses
import shlex
import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from assay.cli import COMMANDS, app, command_of
from assay.files import toml_file
from assay.names.inventory import inventory
from assay.names.registry import audit_class, names

LISTS = ("metrics", "audits", "perturbations", "datasets", "weights", "formats")
GROUPS = ("mitigate", "papers")
ALL = [(name,) for name in COMMANDS] + [
    (group, below) for group in GROUPS for below in command_of(group).commands
]


def screen(*words: str, **environment: str) -> str:
    done = CliRunner().invoke(app, list(words), prog_name="assay", env={"COLUMNS": "80", **environment})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("words", [(), *ALL], ids=" ".join)
def test_every_help_has_examples_and_plain_values(words: tuple[str, ...]) -> None:
    text = screen(*words, "--help")
    examples = text.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all(line.startswith("  assay") for line in examples)
    assert not {"<str>", "<int range>", "<list[str]>", "<path>"} & set(text.split())
    assert "..." not in text.replace("]...", "").replace("RUN...", "")
    assert max(map(len, text.partition("Examples:")[0].splitlines())) <= 80


@pytest.mark.parametrize("words", ["--version", "--help", "audit --help", "list weights", "list datasets"])
def test_what_scores_nothing_starts_without_heavy_libraries(words: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "assay", *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "assay.cli" in loaded
    assert not loaded & {"numpy", "polars", "scipy", "spacy", "torch", "pyarrow", "nltk"}


def test_examples_name_commands_and_options_that_exist() -> None:
    for examples in toml_file("help", "commands")["examples"].values():
        for example in examples:
            program, *words = shlex.split(example.partition(" > ")[0])
            command: Any = get_command(app)
            while words and hasattr(command, "commands"):
                name = words.pop(0)
                command = command.commands[name] if name in command.commands else command_of(name)
            known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
            assert program == "assay"
            assert {word for word in words if word.startswith("-")} <= known, example


@pytest.mark.parametrize("audit", names("audits"))
def test_run_shows_the_options_of_the_audit(audit: str) -> None:
    text = screen("run", audit, "--help")
    kind = audit_class(audit)
    own = text.partition(f"Options of {audit}:")[2].partition("\n\n")[0]
    for field in dataclasses.fields(kind):
        flag = f"--{field.name.replace('_', '-')}"
        (line, *_) = [line.split() for line in own.splitlines() if line.split()[:1] == [flag]]
        assert text.count(f"  {flag} ") == 1, f"{flag} is shown twice"
        meanings = toml_file("help", "options")
        assert (meanings.get(audit, {}) | {}).get(field.name) or meanings["shared"].get(field.name), (
            field.name
        )
        assert len(line) > 1


def test_options_show_type_default_and_quick_value() -> None:
    text = " ".join(screen("run", "stereotype", "--help").split())
    assert "--margin NUMBER How many lost words a group may score higher or lower. [default: 0.25]" in text
    assert "--rule careful|paper" in text
    assert "--task" not in text.partition("Examples:")[0], "stereotype has no task"
    assert "--depth all|ends" in screen("run", "stress", "--help")


def test_the_help_of_an_audit_says_what_it_asks() -> None:
    for audit in names("audits"):
        kind = audit_class(audit)
        shown = " ".join(screen("run", audit, "--help").partition("Options of")[0].split())
        assert kind.title in shown
        assert " ".join((kind.__doc__ or "").split()) in shown


def test_no_meaning_is_left_over() -> None:
    meanings = toml_file("help", "options")
    fields = {
        name: {field.name for field in dataclasses.fields(audit_class(name))} for name in names("audits")
    }
    for name in meanings.keys() - {"shared"}:
        assert meanings[name].keys() <= fields[name]
    assert meanings["shared"].keys() <= set().union(*fields.values())
    parameters = {p.name for words in ALL for p in _command(words).params}
    assert toml_file("help", "commands")["values"].keys() <= parameters


def _command(words: tuple[str, ...]) -> Any:
    command = command_of(words[0])
    return command.commands[words[1]] if words[1:] else command


def test_the_sizes_are_named() -> None:
    assert "quick" in screen("audit", "--help").partition("Options")[0]
    assert "full size" in screen("run", "--help").partition("Options")[0]


@pytest.mark.parametrize("kind", LISTS)
def test_lists_fit_a_page_and_keep_every_name(kind: str) -> None:
    text = screen("list", kind)
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    listed = {line.split("  ")[0] for line in text.splitlines()}
    assert {row["name"] for row in inventory(kind)} <= listed


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("assay ru", "run"), ("assay run ster", "stereotype"), ("assay run stereotype -m rougeL", "rougeLsum"),
     ("assay list for", "formats"), ("assay run stereotype --si", "--size")],
)  # fmt: skip
def test_completion(typed: str, offered: str) -> None:
    words = {
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
        "_ASSAY_COMPLETE": "complete_bash",
    }
    assert offered in screen(**words).split()


def test_completion_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: "bash")
    assert "_ASSAY_COMPLETE=complete_bash" in screen("--show-completion")
