"""The numbers in what other people's metrics return: tensors, lists, dictionaries, records, awaitables."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from assay.errors import MetricError, suggest

_AT_ONCE = 8  # awaitables under way: servers refuse more from one client
_NUMBERS = ("score", "value")  # the attribute of a record that holds its number
_T = TypeVar("_T")


class Shape(MetricError):
    """What was returned is no number; another way of calling may give one."""


class Choice(MetricError):
    """What was returned holds several numbers, of which the user must name one."""


def settled(calls: Iterable[Callable[[], Any]]) -> list[Any]:
    """What the calls return, awaitables waited for, a few at a time."""
    answers = [call() for call in calls]
    if not any(map(inspect.isawaitable, answers)):
        return answers
    return _in_a_loop(_gathered(answers))


async def _gathered(answers: Sequence[Any]) -> list[Any]:
    room = asyncio.Semaphore(_AT_ONCE)

    async def wait(answer: Any) -> Any:
        async with room:
            return await answer if inspect.isawaitable(answer) else answer

    return list(await asyncio.gather(*map(wait, answers)))


def _in_a_loop(work: Coroutine[Any, Any, _T]) -> _T:
    """Run to the end, in a thread of its own where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def as_number(value: Any, output: str | None, name: str) -> float | None:
    """The number in what a library returns for one text; None where it gives none.

    `output` names one member of a mapping, a record or a list, or a path of members: `rougeL.fmeasure`.
    """
    if value is None:
        return None
    if output:
        return as_number(*_step(value, output, name), name)
    plain = _plain(value)
    if is_number(plain):
        return float(plain)
    if isinstance(plain, str | bytes):
        raise Shape(f"returned the text {_short(plain)!r}, not a number")
    if (members := _members(plain)) is not None:
        return as_number(_only(members, name), None, name)
    if not isinstance(plain, list | tuple):
        return as_number(_number_of_record(plain, name), None, name)
    if len(plain) == 1:
        return as_number(plain[0], None, name)
    raise Shape(f"returned {len(plain)} values for a text")


def _number_of_record(value: Any, name: str) -> Any:
    """The attribute of a record that holds its number."""
    for attribute in _NUMBERS:
        inner = getattr(value, attribute, None)
        if inner is not None and not callable(inner):
            return inner
    if named := [key for key, item in _fields(value).items() if is_number(item)]:
        raise Choice(f"{name} returns {', '.join(named)}; choose one: output={named[0]}")
    raise Shape(f"returned {_kind(value)}, not a number")


def column(value: Any, count: int, output: str | None, name: str) -> Any:
    """The numbers of `count` texts in what a library returns for all of them.

    A plain list is returned as it is: whoever scores checks it and names the text that is wrong.
    """
    while output and not _is_column_of_records(value, count):
        value, output = _step(value, output, name)
    plain = _plain(value)
    members = None if isinstance(plain, list) else _members(plain)
    if members is not None:
        lists = {key: item for key, item in members.items() if _length(item) == count}
        plain = _plain(_only(lists or members, name))
    _check_column(plain, count, name)
    return [_cell(item, output, name) for item in plain]


def _is_column_of_records(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and not is_number(value[0])


def _check_column(plain: Any, count: int, name: str) -> None:
    """Refuse what is not one value per text."""
    if not isinstance(plain, list | tuple):
        raise Shape(f"returned {_kind(plain)}, not one number per text")
    if len(plain) == count:
        return
    if isinstance(plain, tuple) and plain and _length(plain[0]) == count:
        places = " or output=".join(map(str, range(len(plain))))
        raise Choice(f"{name} returns {len(plain)} lists of numbers; choose one: output={places}")
    raise Shape(f"returned {len(plain)} values for {count} texts")


def _cell(item: Any, output: str | None, name: str) -> Any:
    return item if is_number(item) or item is None else as_number(item, output, name)


def _step(value: Any, output: str, name: str) -> tuple[Any, str | None]:
    """The member that a path begins with, and what is left of the path; a key may hold points itself."""
    head, _, rest = output.partition(".")
    members = _members(value) or _unnamed(value)
    if output in members:
        return members[output], None
    if head in members:
        return members[head], rest or None
    if len(members) == 1:
        return next(iter(members.values())), output
    inner = getattr(value, head, None)
    if inner is not None and not callable(inner):
        return inner, rest or None
    known = [] if isinstance(value, list | tuple) else [*members]
    shown = ", ".join(known) or _kind(value)
    raise Choice(f"{name} returns {shown}, and no {output!r}{suggest(output, known)}")


def _unnamed(value: Any) -> Mapping[str, Any]:
    """The items of a list by their places, the attributes of a record by their names."""
    if isinstance(value, list | tuple):
        return {str(place): item for place, item in enumerate(value)}
    return _fields(value)


def _only(members: Mapping[str, Any], name: str) -> Any:
    """The one number among the members of what was returned; several are a question to the user."""
    if len(members) == 1:
        return next(iter(members.values()))
    raise Choice(
        f"{name} returns {', '.join(map(str, members))}; choose one: output={next(iter(members), '')}"
    )


def _members(value: Any) -> Mapping[str, Any] | None:
    """The named members of a mapping, a named tuple, or a list of label and score."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return value._asdict()  # type: ignore[no-any-return]
    labelled = (
        isinstance(value, list)
        and value
        and all(isinstance(item, Mapping) and {"label", "score"} <= set(item) for item in value)
    )
    return {item["label"]: item["score"] for item in value} if labelled else None


def _fields(value: Any) -> Mapping[str, Any]:
    """The public attributes of a record."""
    fields = {**getattr(value, "__dict__", {})} | {
        k: getattr(value, k, None) for k in getattr(value, "__slots__", ())
    }
    return {name: item for name, item in fields.items() if not name.startswith("_")}


def _plain(value: Any) -> Any:
    """Tensors and arrays as lists and numbers."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_number(value: Any) -> bool:
    """Whether it is a plain number."""
    return isinstance(value, int | float)


def _length(value: Any) -> int | None:
    return len(value) if hasattr(value, "__len__") and not isinstance(value, str | Mapping) else None


def _kind(value: Any) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def _short(text: str | bytes) -> str:
    return str(text)[:40]
