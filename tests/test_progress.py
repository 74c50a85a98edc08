"""Progress in a log: few lines, and a time left that agrees with what is done."""

from __future__ import annotations

import re
import time

import pytest

from assay.engine import session


def lines(
    seconds_per_sample: float, total: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[tuple[float, str]]:
    """Lines with the second at which each was printed; the first samples hold most of the work."""
    began = time.monotonic()
    clock = [began]
    monkeypatch.setattr(session.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    printed = []
    weights = [2.0 if n < total / 2 else 1.0 for n in range(total)]
    with session.Progress().task("bertscore-f", total) as counter:
        for weight in weights:
            clock[0] += seconds_per_sample * weight
            counter.advance(1, weight / sum(weights))
            printed += [(clock[0] - began, line) for line in capsys.readouterr().err.splitlines()]
    return printed


@pytest.mark.parametrize(("pace", "most"), [(0.1, 10), (1.0, 60)])
def test_a_log_has_a_line_per_tenth_or_half_minute(
    pace: float, most: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    total = 1000
    printed = lines(pace, total, monkeypatch, capsys)
    whole = pace * total * 1.5
    assert 8 <= len(printed) <= most
    for second, line in printed:
        found = re.search(r"(\d+)% of the work, ([\d,]+) s left", line)
        assert found, line
        assert float(found[2].replace(",", "")) == pytest.approx(whole - second, abs=1)


def test_short_work_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(0.002, 1000, monkeypatch, capsys) == []
