"""What code of a user's may do to the program around it, and what stands against that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def described(error: BaseException) -> str:
    """Type and message of what a user's code raised; its message is that code's, too, and may raise again.

    >>> described(ValueError("no number")), described(KeyError())
    ('ValueError: no number', 'KeyError')
    """
    try:
        message = str(error)
    except (Exception, SystemExit, GeneratorExit):
        message = "(its message cannot be read)"
    return f"{type(error).__name__}: {message}".removesuffix(": ")


@contextmanager
def unmoved() -> Iterator[None]:
    """Come back to the working folder, wherever the block went: relative paths of the user's start there."""
    before = None
    with suppress(OSError):  # the folder has been removed
        before = os.getcwd()
    try:
        yield
    finally:
        with suppress(OSError):
            if before is not None:
                os.chdir(before)
