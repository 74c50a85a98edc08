"""A changed plug-in never reads old scores: its file, and the files of the user's that it imports, count."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.recipe import files_digest, source_digest

PLUGIN = "import json\nimport numpy\nfrom helper import K\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "deep.py").write_text("from . import beside\n")
    (tmp_path / "package" / "beside.py").write_text("X = 1\n")
    (tmp_path / "helper.py").write_text("def f():\n    from package.deep import beside\nK = 1\n")
    (tmp_path / "plugin.py").write_text(PLUGIN)
    (tmp_path / "other.py").write_text("unrelated = 1\n")
    return tmp_path


@pytest.mark.parametrize(
    "name", ["plugin.py", "helper.py", "package/deep.py", "package/beside.py", "package/__init__.py"]
)
def test_a_change_in_any_file_it_imports_is_seen(name: str, folder: Path) -> None:
    before = files_digest(folder / "plugin.py")
    assert before is not None
    with (folder / name).open("a") as file:
        file.write("# changed\n")
    assert files_digest(folder / "plugin.py") not in (before, None)


def test_a_change_elsewhere_is_not(folder: Path) -> None:
    before = files_digest(folder / "plugin.py")
    (folder / "other.py").write_text("unrelated = 2\n")
    assert files_digest(folder / "plugin.py") == before


@pytest.mark.parametrize(
    "line", ["import importlib\nimportlib.import_module('hel' + 'per')", "__import__(NAME)"]
)
def test_what_only_running_it_would_show_is_not_cached(line: str, folder: Path) -> None:
    (folder / "plugin.py").write_text(line)
    assert files_digest(folder / "plugin.py") is None


def test_a_folder_of_modules_without_init_is_not_cached_and_no_bug(folder: Path) -> None:
    (folder / "loose").mkdir()
    (folder / "loose" / "part.py").write_text("X = 1\n")
    (folder / "plugin.py").write_text("from loose.part import X\n")
    assert files_digest(folder / "plugin.py") is None


def test_packages_of_an_environment_behind_a_link_are_not_the_users(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its site-packages are on sys.path by one name and known to sysconfig by another."""
    real, linked = folder / "real", folder / "linked"
    (real / "site").mkdir(parents=True)
    (real / "site" / "installed_package.py").write_text("X = 1\n")
    linked.symlink_to(real)
    monkeypatch.setattr("sysconfig.get_path", lambda kind: str(linked / "site"))
    monkeypatch.setattr(sys, "path", [str(linked / "site")])
    (folder / "plugin.py").write_text("import installed_package\n")
    before = files_digest(folder / "plugin.py")
    (real / "site" / "installed_package.py").write_text("X = 2\n")
    assert before == files_digest(folder / "plugin.py") is not None


def test_a_helper_in_the_same_module_counts_and_a_captured_value_is_not_cached(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The constant that a class uses stands outside of it."""
    monkeypatch.syspath_prepend(str(folder))
    code = "K = {}\nclass M:\n    def score(self): return K\ndef make(k):\n    def f(h, r): return k\n    return f\n"
    digests = []
    for value in (1, 100):
        (folder / "mine_of_test.py").write_text(code.format(value))
        sys.modules.pop("mine_of_test", None)
        import mine_of_test  # type: ignore[import-not-found]

        digests.append(source_digest(mine_of_test.M))
        assert source_digest(mine_of_test.make(3)) is None
    assert None not in digests
    assert digests[0] != digests[1]
