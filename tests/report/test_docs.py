"""Every command that README and docs print is run, in order, in an empty folder; the reference too."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from assay.names.registry import audit_class, names

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if page.exists()]
# Not assay's to run in a test: installing, building, and a server that does not end.
ELSEWHERE = ("pip ", "make", "git ", "assay serve", "pytest", "python -m", "apt", "docker")


def script(text: str) -> str:
    """The commands of a page's console blocks: `$ ` starts one, `> ` goes on."""
    lines = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.S | re.M):
        going = False
        for line in block.splitlines():
            if line.startswith("$ "):
                going = not line[2:].startswith(ELSEWHERE)
                if going:
                    lines.append(line[2:])
            elif going and (line == ">" or line.startswith("> ")):
                lines.append(line[2:])
    return "\n".join(lines)


@pytest.mark.parametrize("page", [p for p in PAGES if script(p.read_text("utf-8"))], ids=lambda p: p.name)
def test_commands_of(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script(page.read_text("utf-8"))],
        cwd=tmp_path, env=os.environ | {"PATH": path, "COLUMNS": "120"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


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


def test_the_margins_that_reading_explains_are_the_defaults() -> None:
    from assay.audits.checklist.audit import Checklist
    from assay.audits.gap import NOTICED, UNFAIR
    from assay.audits.stereotype.audit import Stereotype

    text = (ROOT / "docs" / "reading.md").read_text("utf-8")
    assert (
        f"margin of fairness is {UNFAIR:g}% of the gap between two groups, that of an error {NOTICED:g}%"
        in text
    )
    assert (
        f"`score_change` of a harmless edit | % of the gap | 0 | {Checklist().tolerance:g} either way" in text
    )
    assert (Stereotype().margin, Checklist().margin) == (UNFAIR, NOTICED)
    assert f"0.30 × 4% = {0.30 * 4:g}% of the gap" in text
