"""torch and transformers, which take seconds to import: each is imported when it is first used."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any


def wait_passively() -> None:
    """Let idle threads of OpenMP sleep, unless the user's environment says otherwise.

    By default they spin, which starves every other process of a busy machine. It counts from the moment torch
    is loaded, and for processes that are started later.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


if TYPE_CHECKING:
    import torch
    import transformers
else:

    class _Lazy:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            wait_passively()
            return getattr(import_module(self._name), attribute)

    torch, transformers = _Lazy("torch"), _Lazy("transformers")

__all__ = ["torch", "transformers", "wait_passively"]
