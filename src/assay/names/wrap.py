"""`assay.wrap`: a metric from a callable or an object of another library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from assay.core import Metric, Sample
from assay.errors import SpecError
from assay.names.calls import Call, Caller, Mode, direction, ways
from assay.names.identity import Outside, declared, function_identity
from assay.names.libraries import Arguments, call_of
from assay.recipe import digest
from assay.vocabulary import Need


def wrap(
    function: Any,
    *,
    name: str | None = None,
    needs: Sequence[Need] | None = None,
    higher_is_better: bool | None = None,
    one_reference: bool | None = None,
    output: str | None = None,
    call: Mode | None = None,
    check: bool = True,
    stochastic: bool = False,
    pure: bool = False,
    **arguments: Any,
) -> Metric:
    """A metric from a function, a coroutine or an object of another library, as it is.

    Objects of sacrebleu, torchmetrics, evaluate, COMET, sentence-transformers, transformers, deepeval, ragas,
    inspect_ai, lm-eval and nltk are called as their libraries want it; anything else by the names of its
    arguments (`prediction`, `references`, `source` and many like them), for one text or for columns of texts.
    Without such names texts come first, then a list of references per text, then sources if `needs` names
    "source". `one_reference` says that references are single texts, `call` that texts come in a "pair" or a
    "batch". Further `arguments` (`lang="en"`) are passed on. `output` picks one of several numbers:
    `output="rougeL.fmeasure"`.

    Which way is better is taken from the library or from the metric's name; where neither tells, from
    `higher_is_better`. Before the first text, three pairs (equal, close, unrelated) are scored twice: an
    order that makes no sense is refused with what was returned, unless `check=False`. `stochastic=True` is
    for metrics that draw. Scores are kept if all that the function reads is known (its code, what it
    captures, its helpers), else made anew each time; `pure=True` keeps them whatever it reads.
    """
    given = Arguments(needs, one_reference, output, arguments)
    found = ways(call_of(function, given), call)
    shown = name or _name(function)
    higher = _told_direction(function, found, output) if higher_is_better is None else higher_is_better
    if higher is None and not found.needs and check:
        raise SpecError(
            f"{shown} reads the text alone: say higher_is_better=True, or False where lower is better"
        )
    caller = Caller(replace(found, output=output, name=shown), higher, check, stochastic)
    members: dict[str, Any] = {
        "__module__": getattr(function, "__module__", None) or type(function).__module__,  # travels with it
        "function": staticmethod(function),
        "caller": caller,
        "options": repr(sorted({**given._asdict(), "call": call, "higher": higher}.items())),
        "pure": pure,
        "draws": stochastic,
        "needs": frozenset(found.needs if needs is None else needs),
        "original": "lower" if higher is False else "higher",
        "name": shown,
        "one_reference": bool(one_reference) or not any(form.lists for form in found.forms),
    }
    kind: Any = type("Wrapped", (Wrapped,), members)
    metric: Metric = dataclass(frozen=True)(kind)()
    return metric


def _told_direction(function: Any, call: Call, output: str | None) -> bool | None:
    """Which way is better, as the library says, else as a word in the names of output, function or class."""
    if call.higher is not None:
        return call.higher
    return direction(*(output or "").split("."), _name(function), type(function).__name__)


def _name(function: Any) -> str:
    called = getattr(function, "name", None)
    shown = called if isinstance(called, str) and called else type(function).__name__
    return getattr(function, "__name__", None) or shown


class Wrapped(Metric):
    """A metric that calls another library's."""

    version: ClassVar[int] = 2  # of how objects are called
    function: ClassVar[Any]
    caller: ClassVar[Caller]
    options: ClassVar[str]
    pure: ClassVar[bool]
    draws: ClassVar[bool]

    @property
    def stochastic(self) -> bool:
        return self.draws

    @property
    def identified(self) -> tuple[str | None, str]:
        """The digest of what is called, looked up each time, since what it reads may change; or why not."""
        function = type(self).function
        try:
            return digest(declared(function) if self.pure else function_identity(function), self.options), ""
        except Outside as reason:
            return None, str(reason)

    @property
    def cacheable(self) -> bool:  # type: ignore[override]
        return self.identified[0] is not None

    @property
    def anew(self) -> str | None:  # type: ignore[override]
        reason = self.identified[1]
        return (
            reason and f"{self.name} is scored anew each time: it reads {reason}; pure=True keeps its scores"
        )

    @property
    def origin(self) -> str | None:  # type: ignore[override]
        return self.identified[0]

    def score(self, samples: Sequence[Sample]) -> Sequence[float | None]:
        values = self.caller.values(samples)
        if self.original == "higher":
            return values  # type: ignore[no-any-return]
        return [None if value is None else -value for value in values]
