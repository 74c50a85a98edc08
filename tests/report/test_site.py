"""The documentation site: every page is in the navigation and on the index, nothing is fetched from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).resolve().parents[2]
PAGES = {page.name for page in (ROOT / "docs").glob("*.md")}


def test_the_navigation_lists_every_page_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"([\w-]+\.md)$", navigation, re.M)
    assert sorted(listed) == sorted(PAGES)


def test_the_index_links_to_every_page() -> None:
    links = re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "index.md").read_text("utf-8"))
    assert set(links) == PAGES - {"index.md"}


def test_the_python_interface_has_every_public_name() -> None:
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    documented = set(re.findall(r"^::: (?!assay\.testing)[\w.]+\.(\w+)$", text, re.M))
    assert documented == set(assay.__all__)
    assert all(hasattr(assay, name) for name in documented)


def test_the_site_is_built_and_fetches_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="pip install 'nlg-assay[docs]'")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = [path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html")]
    assert len(pages) >= len(PAGES)
    loaded = r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^\"' >]+"
    assert [match for page in pages for match in re.findall(loaded, page)] == []
    interface = (tmp_path / "site" / "api" / "index.html").read_text("utf-8")
    assert "Run every audit that fits" in interface
