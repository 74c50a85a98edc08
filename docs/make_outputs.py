"""Run the commands that README and docs print, and bring the output shown below them up to date.

    python docs/make_outputs.py                 every page, after the pages and the notebook made from code
    python docs/make_outputs.py README.md       one page

Lines that a page leaves out are marked `...`: as many lines stay before the first mark and after the last one
as the page has; lines between two marks become those most like them. The tests compare pages and outputs with
the same functions.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Not run here: installing, building, a training of minutes, and a server that does not end.
ELSEWHERE = ("pip ", "make", "git ", "assay debias", "assay serve", "pytest", "python -m", "apt", "docker")
# Run here and by `make soak`, not by every test: what takes minutes, and the command behind it.
SLOW = {"make audit": "assay audit"}
# Pages and examples that are made from the code: a script, and the page if the script prints it.
MADE: dict[tuple[str, ...], str | None] = {
    ("docs/make_reference.py",): None,
    ("docs/make_metrics.py",): None,
    ("examples/make_notebook.py",): None,
    ("docs/make_catalogue.py",): "docs/catalogue.md",
}
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```)", re.S | re.M)
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
OMITTED = "..."
SETTINGS = {"COLUMNS": "120", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Printed:
    """A command of a page, as it stands there, and the lines of output below it."""

    source: str
    lines: tuple[str, ...]

    @property
    def command(self) -> str:
        first, *more = self.source.split("\n")
        return SLOW.get(first) or "\n".join([first, *(line[2:] for line in more)])

    @property
    def text(self) -> str:
        return "\n".join([f"$ {self.source}", *self.lines]) + "\n"

    @property
    def runs(self) -> bool:
        return self.source in SLOW or not self.source.startswith(ELSEWHERE)


@dataclass(frozen=True, slots=True)
class Output:
    """What a command did; messages stand on stderr."""

    status: int
    results: tuple[str, ...]
    messages: tuple[str, ...]


def read_block(block: str) -> list[Printed]:
    """The commands of a console block: `$ ` starts one, `> ` goes on, other lines are output."""
    commands = []
    for entry in re.split(r"^\$ ", block, flags=re.M)[1:]:
        lines = entry.rstrip("\n").split("\n")
        size = 1
        while size < len(lines) and (lines[size] == ">" or lines[size].startswith("> ")):
            size += 1
        commands.append(Printed("\n".join(lines[:size]), tuple(lines[size:])))
    return commands


def read_commands(text: str, *, slow: bool = True) -> list[Printed]:
    """The commands of a page that can be run."""
    entries = [entry for block in BLOCK.findall(text) for entry in read_block(block) if entry.runs]
    return [entry for entry in entries if slow or entry.source not in SLOW]


def run_pages(commands: Mapping[str, Sequence[str]], folder: Path) -> dict[str, list[Output]]:
    """Run each page's commands in a folder of its own, all in one process, which loads libraries once."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, __file__, "--run"], input=json.dumps(commands), cwd=folder, text=True, check=False,
        env=os.environ | SETTINGS | {"PATH": path}, capture_output=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    return {
        page: [Output(status, _lines(out), _lines(err)) for status, out, err in outputs]
        for page, outputs in json.loads(done.stdout).items()
    }


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.rstrip() for line in text.splitlines() if line.strip())


def difference(shown: Sequence[str], output: Output) -> str | None:
    """The first line on which page and output differ; a page need not show messages."""
    lines = [*output.results, *output.messages]
    at, gap = 0, False
    for line in filter(str.strip, shown):
        if line == OMITTED:
            gap = True
            continue
        places = range(at, len(lines) if gap else min(at + 1, len(lines)))
        match = next((place for place in places if same_line(line, lines[place])), None)
        if match is None:
            return f"only on the page: {line}"
        at, gap = match + 1, False
    return None if gap or at >= len(output.results) else f"not on the page: {lines[at]}"


def same_line(shown: str, actual: str) -> bool:
    """Whether two lines agree in words, and in numbers up to one unit of the last digit that is shown.

    >>> same_line("bleu  0.31", "bleu   0.32"), same_line("bleu  0.31", "bleu  0.33"), same_line("n 3", "n 4")
    (True, False, False)
    """
    if NUMBER.sub("0", shown).split() != NUMBER.sub("0", actual).split():
        return False
    return all(map(_same_number, NUMBER.findall(shown), NUMBER.findall(actual)))


def _same_number(shown: str, actual: str) -> bool:
    digits, _, power = shown.replace(",", "").partition("e")
    decimals = len(digits.partition(".")[2])
    unit = 10.0 ** (int(power or 0) - decimals) if decimals or power else 0.0  # counts are exact
    values = (float(text.replace(",", "")) for text in (shown, actual))
    return math.isclose(*values, rel_tol=1e-9, abs_tol=1.01 * unit)


def updated(entry: Printed, output: Output) -> str:
    """A command with its output as it is now, shortened as the page shortened it."""
    shown = [line for line in entry.lines if line.strip()]
    if not shown:
        return f"$ {entry.source}\n"
    lines = [*output.results]
    if {line.split()[0] for line in shown} & {message.split()[0] for message in output.messages}:
        lines += output.messages
    if OMITTED in shown:
        head = shown.index(OMITTED)
        tail = shown[::-1].index(OMITTED)
        last = lines[len(lines) - tail :]
        middle = [_nearest(line, lines) for line in shown[head : len(shown) - tail]]
        lines = [*lines[:head], *middle, *last]
    return "\n".join([f"$ {entry.source}", *lines]) + "\n"


def _nearest(line: str, lines: Sequence[str]) -> str:
    """The line of an output that is most like one of a page; a mark stays."""
    return line if line == OMITTED else difflib.get_close_matches(line, lines, 1, 0)[0]


def _execute(command: str) -> tuple[int, str, str]:
    """One command: assay in this process, all others by bash."""
    words = shlex.split(command) if "\n" not in command else []
    if words[:1] != ["assay"] or set(words) & {"|", ">", "<"}:
        bash = ["bash", "-euo", "pipefail", "-c", command]
        done = subprocess.run(bash, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr
    from assay.cli import main

    sys.argv = words
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return status, out.getvalue(), err.getvalue()


def _run() -> None:
    home, outputs = Path.cwd(), {}
    for page, commands in json.load(sys.stdin).items():
        folder = home / page
        folder.mkdir()
        shutil.copytree(ROOT / "examples", folder / "examples")
        os.chdir(folder)
        outputs[page] = [_execute(command) for command in commands]
    print(json.dumps(outputs))


def _write(pages: Sequence[Path]) -> None:
    texts = {page.name: page.read_text("utf-8") for page in pages}
    commands = {name: [entry.command for entry in read_commands(text)] for name, text in texts.items()}
    with tempfile.TemporaryDirectory() as folder:
        outputs = run_pages(commands, Path(folder))
    for page in pages:
        results = iter(outputs[page.name])

        def block(match: re.Match[str], results=results) -> str:
            entries = read_block(match[0])
            return "".join(updated(e, next(results)) if e.runs else e.text for e in entries)

        page.write_text(BLOCK.sub(block, texts[page.name]), "utf-8")


def _make() -> None:
    """Write what is made from the code."""
    for script, page in MADE.items():
        output = subprocess.PIPE if page else None
        done = subprocess.run([sys.executable, *script], cwd=ROOT, stdout=output, text=True, check=True)
        if page:
            (ROOT / page).write_text(done.stdout, "utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--run"]:
        _run()
    elif sys.argv[1:]:
        _write([Path(name).resolve() for name in sys.argv[1:]])
    else:
        _make()
        _write([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
