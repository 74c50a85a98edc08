"""torch and transformers, which take seconds to import: each is imported when it is first used."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Threads that wait by spinning starve every other process of a busy machine, and each other. Those of OpenMP
# sleep; numpy's products are small, so that its own threads (OpenBLAS) cost more than they save: 40 x 384 by
# 384 x 40 takes 16 microseconds with one, 138 with two, and milliseconds beside other work.
_THREADS = {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}


def wait_passively() -> None:
    """Let no idle thread spin, unless the user's environment says otherwise.

    It counts from the moment torch and numpy are loaded, and for processes that are started later.
    """
    for name, value in _THREADS.items():
        os.environ.setdefault(name, value)


if TYPE_CHECKING:
    import torch
    import transformers
else:

    class _Lazy:
        def __init__(self, name: str) -> None:
            self._name, self._module = name, None

        def __getattr__(self, attribute: str) -> Any:
            if self._module is None:
                wait_passively()
                self._module = import_module(self._name)
            return getattr(self._module, attribute)

    torch, transformers = _Lazy("torch"), _Lazy("transformers")

__all__ = ["torch", "transformers", "wait_passively"]
