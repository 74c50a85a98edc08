"""How much memory a block takes at its height, as the system counts it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS, _REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@contextmanager
def memory_within(most: int) -> Iterator[None]:
    """Fail where the block takes more bytes than that; elsewhere than on Linux nothing is counted."""
    if not _REFERENCES.exists():
        yield
        return
    _REFERENCES.write_text("5")  # the peak becomes what is held now
    before = _peak()
    yield
    assert _peak() - before < most, f"{(_peak() - before) / 1e6:,.0f} MB"


def _peak() -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024
