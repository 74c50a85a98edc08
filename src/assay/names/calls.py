"""How to call somebody's metric: which argument is which text, one text at a time or columns of them.

Arguments are recognised by their names (data/names/wrap.toml). Where names do not tell, the ways of calling
are tried on three pairs whose order is known: a pair of equal texts, a close and an unrelated one.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

from assay.core import Sample
from assay.errors import AuditError, SpecError, UnreachableError, suggest
from assay.files import toml_file
from assay.foreign import described
from assay.names.answers import Choice, Shape, as_number, column, is_number, settled
from assay.vocabulary import Need

Mode = Literal["pair", "batch", "corpus"]
Role = Literal["hypothesis", "references", "source"]
Values = list[float | None]
_WORDS: dict[str, Any] = toml_file("names", "wrap")
_ROLES: tuple[Role, ...] = ("hypothesis", "references", "source")
_ONE, _MANY = (
    {name: role for role in _ROLES for name in _WORDS[role][kind].split()} for kind in ("one", "many")
)
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_TOLERANCE = 1e-4  # of the size of a score: models round differently in batches of other sizes
_SLACK = 0.02  # of the way from equal to unrelated: a metric may see as little in a close pair as in another
_SHOWN = {
    "pair": "one text at a time",
    "batch": "columns of texts",
    "corpus": "each text as a corpus of one",
}


class Form(NamedTuple):
    """One way of calling: the texts of a call, and whether references come as a list or as one text."""

    mode: Mode
    lists: bool

    def __str__(self) -> str:
        return f"{_SHOWN[self.mode]}, {'lists of references' if self.lists else 'one reference each'}"


class Argument(NamedTuple):
    """A text that a call takes, and the keyword it goes by; None: by its place."""

    role: Role
    keyword: str | None = None


@dataclass(frozen=True)
class Call:
    """What is called, with what, and the ways in which that may be done, the likeliest first."""

    call: Callable[..., Any]
    arguments: tuple[Argument, ...] = (Argument("hypothesis"), Argument("references"))
    forms: tuple[Form, ...] = (Form("batch", True),)
    is_certain: bool = True  # whether it is known that references come as lists, or that they do not
    higher: bool | None = None  # which way is better, where the library says
    output: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # further arguments, by name
    name: str = "metric"

    @property
    def needs(self) -> tuple[Need, ...]:
        """What a sample must have."""
        roles = [argument.role for argument in self.arguments]
        return tuple(role for role in ("references", "source") if role in roles)

    def values(self, form: Form, samples: Sequence[Sample]) -> Any:
        """One number per sample, called in this way."""
        if form.mode == "batch":
            (answer,) = settled([partial(self._once, form, samples, True)])
            return column(answer, len(samples), self.output, self.name)
        answers = settled(partial(self._once, form, [sample], form.mode == "corpus") for sample in samples)
        if form.mode == "pair" and any(map(_is_column, answers)):
            raise Shape("returned a list of numbers for a text")
        return [as_number(answer, self.output, self.name) for answer in answers]

    def _once(self, form: Form, samples: Sequence[Sample], columns: bool) -> Any:
        placed, named = [], dict(self.extra)
        for role, keyword in self.arguments:
            texts: list[Any] = [self._text(role, form, sample) for sample in samples]
            given = texts if columns else texts[0]
            if keyword is None:
                placed.append(given)
            else:
                named[keyword] = given
        return self.call(*placed, **named)

    def _text(self, role: Role, form: Form, sample: Sample) -> Any:
        if role == "references":
            return list(sample.references) if form.lists else sample.references[0]
        return getattr(sample, role)


def _is_column(answer: Any) -> bool:
    """Whether a list of numbers came back."""
    return isinstance(answer, list) and is_number(next(iter(answer), None))


def by_signature(
    call: Callable[..., Any],
    needs: Sequence[Need] | None,
    extra: Mapping[str, Any],
    one_reference: bool | None,
) -> Call:
    """How to call a function, by the names of its arguments; without names, with texts in our order."""
    parameters = _parameters(call)
    _check_extra(parameters, extra, call)
    free = [each for each in parameters or () if each.name not in extra and each.kind not in _ANY]
    arguments = _arguments(free, call, needs)
    named = {role: each.name.lower() for each in free if (role := _role(each.name))}
    forms, is_certain = _forms(named if arguments else {}, one_reference)
    return Call(call, arguments or _in_order(free, needs), forms, is_certain, extra=dict(extra))


def _parameters(call: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters of a function; None where it does not tell."""
    try:
        return list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):
        return None


def _check_extra(parameters: list[inspect.Parameter] | None, extra: Mapping[str, Any], call: Any) -> None:
    """Refuse an argument that the function does not have."""
    if parameters is None or any(each.kind is each.VAR_KEYWORD for each in parameters):
        return
    known = [each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY]
    for name in extra:
        if name not in known:
            hint = suggest(name, [*known, *_WORDS["options"].split()])
            raise SpecError(f"{_called(call)} has no argument {name!r}, and wrap has none{hint}")


def _called(call: Any) -> str:
    return getattr(call, "__qualname__", None) or type(call).__name__


def _role(name: str) -> Role | None:
    return _ONE.get(name.lower()) or _MANY.get(name.lower())


def _in_order(parameters: Sequence[inspect.Parameter], needs: Sequence[Need] | None) -> tuple[Argument, ...]:
    """Texts by their places: the text alone for a function of one argument, else references and sources."""
    if needs is None:
        required = [each for each in parameters if each.default is each.empty]
        count = len(required) or (2 if len(parameters) != 1 else 1)
        return tuple(map(Argument, _ROLES[: max(1, min(count, 3))]))
    return (Argument("hypothesis"), *(Argument(role) for role in _ROLES[1:] if role in needs))


def _arguments(
    parameters: Sequence[inspect.Parameter], call: Any, needs: Sequence[Need] | None
) -> tuple[Argument, ...]:
    """The texts that a function takes, by name; none where no name is known."""
    found, unknown = _recognised(parameters, needs)
    if not found or (not unknown and "hypothesis" not in found and len(found) == 1):
        return ()
    wanted = ("hypothesis", *(needs or ("references",)))
    missing = [role for role in _ROLES if role in wanted and role not in found]
    if len(unknown) == len(missing) == 1:  # the one that is left
        found[missing[0]] = Argument(missing[0], unknown.pop())
    if unknown:
        raise SpecError(f"{_called(call)} needs {' and '.join(unknown)}: give {unknown[0]}=... to wrap")
    return tuple(found.values())


def _recognised(
    parameters: Sequence[inspect.Parameter], needs: Sequence[Need] | None
) -> tuple[dict[Role, Argument], list[str]]:
    """The texts among the parameters, and the names of others that must be given."""
    found: dict[Role, Argument] = {}
    unknown: list[str] = []
    for each in parameters:
        role, is_required = _role(each.name), each.default is each.empty
        if role and role not in found and _is_wanted(role, is_required, needs):
            found[role] = Argument(role, None if each.kind is each.POSITIONAL_ONLY else each.name)
        elif is_required:
            unknown.append(each.name)
    return found, unknown


def _is_wanted(role: Role, is_required: bool, needs: Sequence[Need] | None) -> bool:
    """Whether an argument is given: it must be, or it is a reference, or the user asked for it."""
    if needs is not None:
        return role == "hypothesis" or role in needs
    return is_required or role != "source"


def _forms(named: Mapping[Role, str], one_reference: bool | None) -> tuple[tuple[Form, ...], bool]:
    """The ways to call, the likeliest first, and whether the names of the arguments tell it."""
    texts, references = named.get("hypothesis", ""), named.get("references", "")
    modes: tuple[Mode, ...] = ("pair", "batch", "corpus")
    if texts not in _ONE and references not in _ONE:
        modes = ("batch", "pair", "corpus")
    shapes: tuple[bool, ...] = (False, True) if references in _ONE else (True, False)
    shapes = shapes if one_reference is None else (not one_reference,)
    is_certain = bool(references) or one_reference is not None
    return tuple(Form(mode, lists) for mode in modes for lists in shapes), is_certain


# --- trying ---


class Trial(NamedTuple):
    """What a way of calling gave for the three pairs, or why it gave nothing."""

    form: Form
    values: tuple[float, ...] = ()
    problem: str = ""

    @property
    def signs(self) -> bool | None:
        """True: equal texts score highest; False: lowest; None: neither."""
        equal, close, unrelated = self.values
        slack = _SLACK * abs(equal - unrelated)
        if equal > unrelated and equal >= close >= unrelated - slack:
            return True
        return False if equal < unrelated and equal <= close <= unrelated + slack else None


def probes() -> list[Sample]:
    """The pairs: equal, close, unrelated. The source is the reference, which a translation keeps."""
    rows = _WORDS["probes"]
    return [Sample(row["hypothesis"], (row["reference"],), row["reference"], id=row["kind"]) for row in rows]


@dataclass
class Caller:
    """A call whose way is settled when it is used first, by trying; `higher` is what the user says."""

    call: Call
    higher: bool | None
    check: bool = True
    stochastic: bool = False

    @cached_property
    def form(self) -> Form:
        """The way that gives numbers which make sense; the first that puts the pairs in an order decides."""
        if not self.check:
            return self.call.forms[0]
        trials: list[Trial] = []
        for form in self.call.forms:
            trial = self._tried(form)
            trials.append(trial)
            if trial.values and self._makes_sense(trial):
                self._check_only(trial)
                return form
            if self.call.is_certain and len(set(trial.values)) > 1:  # else it sees nothing, called this way
                break
        raise self._refusal(trials)

    def _check_only(self, trial: Trial) -> None:
        """Where names do not tell how references come, refuse two ways that both seem to work."""
        is_agreed = self.call.is_certain or trial.form == Form("batch", True)  # our own order and form
        if is_agreed or "references" not in self.call.needs:
            return
        rival = self._tried(trial.form._replace(lists=not trial.form.lists))
        if rival.values and rival.signs is not None and rival.values != trial.values:
            raise SpecError(
                f"{self.call.name} takes lists of references and single ones, and gives "
                f"{_listed(trial.values)} or {_listed(rival.values)}: say one_reference=True or "
                "one_reference=False"
            )

    def values(self, samples: Sequence[Sample]) -> Any:
        """One number per sample."""
        form = self.form
        several = [sample for sample in samples if len(sample.references) > 1]
        if several and not form.lists and "references" in self.call.needs:
            named = several[0].id or several[0].key[:12]
            raise SpecError(
                f"{self.call.name} takes one reference, the sample {named} with hypothesis "
                f"{several[0].hypothesis[:80]!r} has {len(several[0].references)}; keep one, or use "
                "a metric that reduces over several"
            )
        return self.call.values(form, samples)

    def _tried(self, form: Form) -> Trial:
        pairs = probes()
        try:
            first = _finite(self.call.values(form, pairs))
            again = _finite(self.call.values(form, [*reversed(pairs), pairs[0]]))
        except (Choice, SpecError, UnreachableError):
            raise
        except AuditError as error:
            return Trial(form, problem=str(error))
        except Exception as error:
            return Trial(form, problem=f"raised {described(error)[:200]}")
        if not self.stochastic:
            self._check_repeated(first, again)
        return Trial(form, tuple(first))

    def _check_repeated(self, first: Sequence[float], again: Sequence[float]) -> None:
        size = max(map(abs, first), default=0.0) or 1.0
        for before, after in zip((*reversed(first), first[0]), again, strict=True):
            if abs(before - after) > _TOLERANCE * size:
                raise SpecError(
                    f"{self.call.name} changes its answer between calls: {before:.6g}, then {after:.6g} for "
                    "the same texts; stochastic=True if it draws, else mend it (a score may not depend on "
                    "other texts)"
                )

    def _makes_sense(self, trial: Trial) -> bool:
        if "references" not in self.call.needs:
            return self.higher is not None or trial.signs is True
        return trial.signs is (self.higher is not False)

    def _refusal(self, trials: Sequence[Trial]) -> SpecError:
        """Why no way of calling will do: what was returned, and what to write."""
        name = self.call.name
        valued = [trial for trial in trials if trial.values]
        if not valued:
            return SpecError(f"{name} cannot be called; {_reasons(trials)}")
        what = f"{name} gives {_listed(valued[0].values)} to an equal, a close and an unrelated pair of texts"
        if self.higher is None and any(trial.signs is False for trial in valued):
            return SpecError(f"{what}: is lower better? Say higher_is_better=False, or mend it")
        way = "lower" if self.higher is False else "higher"
        turned = any(trial.signs is (self.higher is False) for trial in valued)
        advice = f"say higher_is_better={self.higher is False}" if turned else "look at its arguments"
        return SpecError(
            f"{what} ({valued[0].form}): with {way} as better that makes no sense; {advice}, or say "
            "check=False if it is meant so"
        )


def _reasons(trials: Sequence[Trial]) -> str:
    """Why each way of calling failed; once where the reason is the same."""
    problems = {trial.problem for trial in trials}
    if len(problems) == 1:
        return problems.pop()
    return "; ".join(f"{trial.form}: {trial.problem}" for trial in trials[:4])


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


def _finite(values: Iterable[Any]) -> list[float]:
    """Numbers, none of them absent or infinite."""
    listed = list(values)
    for value in listed:
        if value is None or not math.isfinite(value):
            raise AuditError(f"returned {value} for a plain text")
    return [float(value) for value in listed]


def ways(call: Call, mode: Mode | None) -> Call:
    """The call in the way the user says alone."""
    if mode is None:
        return call
    forms = tuple(form for form in call.forms if form.mode == mode)
    return replace(call, forms=forms or tuple(Form(mode, lists) for lists in (True, False)))


def direction(*names: str) -> bool | None:
    """Which way is better, by the words in a metric's name; None where no word tells.

    >>> direction("CharErrorRate"), direction("rougeL"), direction("score_of_mine")
    (False, True, None)
    """
    tables = {word: better for better in ("higher", "lower") for word in _WORDS["direction"][better].split()}
    for name in names:
        for word in _words(name):
            if word in tables:
                return tables[word] == "higher"
    return None


def _words(name: str) -> Iterator[str]:
    """The words of a name: CharErrorRate, char_error_rate, rouge1, BLEU."""
    yield re.sub(r"\W|\d|_", "", name.lower())
    for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name):
        yield part.lower()
