"""`make advisories` says what was looked up: a service that knows none of the packages has checked nothing."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

FILE = Path(__file__).resolve().parents[2] / ".ci" / "advisories.py"
SCRIPT = runpy.run_path(str(FILE))
SKIPPED = {"name": "wrapt", "skip_reason": "Dependency not found on PyPI and could not be audited: wrapt"}
SOUND = {"name": "numpy", "version": "2.3.0", "vulns": []}
WEAK = {"name": "torch", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.6"]}]}


@pytest.mark.parametrize(
    ("packages", "status", "said"),
    [
        ([SKIPPED], 0, "not checked: none of pypi, osv knows these packages from here"),
        (
            [SKIPPED, SOUND],
            0,
            f"pypi knows 1 of {SCRIPT['locked']()} packages and 0 vulnerabilities of them",
        ),
        ([SOUND, WEAK], 1, "torch 1.0: PYSEC-1, mended in 2.6\npypi knows 2 of"),
        (None, 0, "not checked"),
    ],
    ids=["unknown", "some known", "vulnerable", "no answer"],
)
def test_what_was_looked_up_is_said(
    packages: list[dict[str, object]] | None,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = "" if packages is None else json.dumps({"dependencies": packages, "fixes": []})
    monkeypatch.setattr("subprocess.run", lambda *_, **__: SimpleNamespace(stdout=answer, returncode=0))
    assert SCRIPT["main"]() == status
    assert said in capsys.readouterr().out
