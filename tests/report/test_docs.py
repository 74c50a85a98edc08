"""Every command of README and docs is run in order in an empty folder, its output compared; the reference too."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.names.registry import audit_class, names

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if page.exists()]
OUTPUTS = runpy.run_path(str(ROOT / "docs" / "make_outputs.py"))
SLOW = bool(os.environ.get("ASSAY_SOAK"))  # `make soak` runs what takes minutes, too
COMMANDS = {page.name: OUTPUTS["read_commands"](page.read_text("utf-8"), slow=SLOW) for page in PAGES}
COMMANDS = {name: commands for name, commands in COMMANDS.items() if commands}


@pytest.fixture(scope="module")
def pages_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def outputs(pages_folder: Path) -> dict[str, Any]:
    commands = {name: [entry.command for entry in entries] for name, entries in COMMANDS.items()}
    return OUTPUTS["run_pages"](commands, pages_folder)


@pytest.mark.parametrize("page", COMMANDS)
def test_commands_print_what_the_page_shows(page: str, outputs: dict[str, Any]) -> None:
    for entry, output in zip(COMMANDS[page], outputs[page], strict=True):
        assert output.status == 0, f"{entry.command}\n{output.messages}"
        assert OUTPUTS["difference"](entry.lines, output) is None, entry.command


def test_pages_for_beginners_show_what_comes() -> None:
    """A command of a tutorial that prints something is followed by it."""
    for page in (
        "README.md",
        "tutorial-engineer.md",
        "tutorial-author.md",
        "tutorial-auditor.md",
        "how-to.md",
        "own-data.md",
    ):
        assert COMMANDS[page]
        silent = [entry.command for entry in COMMANDS[page] if not entry.lines]
        assert [command for command in silent if not command.startswith("cat >")] == []


def test_commands_of_pages_for_users_stand_where_they_are_run() -> None:
    """A block of another kind that calls assay would not be compared with what comes."""
    for page in PAGES:
        if page.name == "README.md" or page.name.startswith(("tutorial-", "how-to", "own-data")):
            blocks = re.findall(r"^```(?:sh|bash|)\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
            assert [block for block in blocks if re.search(r"^assay ", block, re.M)] == [], page.name


@pytest.mark.parametrize("page", ["README.md", "how-to.md", "tutorial-author.md"])
def test_python_of_a_page_runs(page: str, outputs: dict[str, Any], pages_folder: Path) -> None:
    """In the folder of the page's commands; functions of pytest are called."""
    (path,) = [path for path in PAGES if path.name == page]
    code = "".join(re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), re.S | re.M))
    code += "".join(f"{name}()\n" for name in re.findall(r"^def (test_\w+)\(\)", code, re.M))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=pages_folder / page, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_lines_between_marks_are_brought_up_to_date() -> None:
    shown = ("a 1", "...", "note: n = 3", "...", "end 1")
    output = OUTPUTS["Output"](0, ("a 2", "b 3", "c 4"), ("note: n = 5", "report", "end 2"))
    expected = "$ x\na 2\n...\nnote: n = 5\n...\nend 2\n"
    assert OUTPUTS["updated"](OUTPUTS["Printed"]("x", shown), output) == expected


@pytest.mark.parametrize(
    ("shown", "results", "problem"),
    [
        (("a 1.00", "b 2"), ("a 1.01", "b 2"), None),
        (("a 1.00",), ("a 1.02",), "only on the page: a 1.00"),
        (("a 1.00",), ("a 1.00", "b 2"), "not on the page: b 2"),
        (("...", "b 2"), ("a 1", "b 2"), None),
        (("a 1", "..."), ("a 1", "b 2"), None),
        (("b 2", "...", "a 1"), ("a 1", "b 2"), "only on the page: b 2"),
        (("a 1", "note: c"), ("a 1",), None),
        (("a 1", "note: d"), ("a 1",), "only on the page: note: d"),
    ],
)
def test_a_page_that_differs_is_noticed(
    shown: tuple[str, ...], results: tuple[str, ...], problem: str | None
) -> None:
    output = OUTPUTS["Output"](0, results, ("note: c",))
    assert OUTPUTS["difference"](shown, output) == problem


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_reference_is_that_of_the_code() -> None:
    text = (ROOT / "docs" / "reference.md").read_text("utf-8")
    assert runpy.run_path(str(ROOT / "docs" / "make_reference.py"))["reference"]() == text
    assert "### assay mitigate compare\n" in text
    assert "─" not in text


def test_the_reference_explains_every_statistic() -> None:
    text = (ROOT / "docs" / "reference.md").read_text("utf-8")
    declared = [statistic for name in names("audits") for statistic in audit_class(name).statistics]
    assert [statistic.name for statistic in declared if f"`{statistic.name}`" not in text] == []
    assert [name for name in names("audits") if f"### {name}" not in text] == []


def test_the_bars_that_reading_explains_are_the_defaults() -> None:
    from assay.audits.checklist.audit import Checklist
    from assay.audits.effects import BAR, MARGIN
    from assay.audits.stereotype.audit import Stereotype

    text = " ".join((ROOT / "docs" / "reading.md").read_text("utf-8").split())
    assert (Checklist().bar, Stereotype().margin) == (BAR, MARGIN) == (75, 0.25)
    assert f"fewer than {BAR:g} of 100 cases" in text
    assert "A quarter of a lost word is the line between fair and unfair" in text
    assert f"lower by {0.30 * 0.5:.0%} of a lost word per text" in text
