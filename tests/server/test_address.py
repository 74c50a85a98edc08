"""Where the server listens: a mistake names the option that mends it."""

from __future__ import annotations

import pytest

from assay.cli.serve import _listen
from assay.errors import SpecError


@pytest.mark.parametrize("host", ["nohost.invalid", "192.0.2.1", "a" * 64])
def test_a_host_that_is_not_ours_is_not_blamed_on_the_port(host: str) -> None:
    with pytest.raises(SpecError, match="check --host"):
        _listen(host, 0)


def test_a_port_in_use_is_named() -> None:
    with _listen("127.0.0.1", 0) as first:
        first.listen()
        with pytest.raises(SpecError, match="choose another --port"):
            _listen("127.0.0.1", first.getsockname()[1])
