"""The table of a task: a line per metric, and its cells in words, the same on every page and terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.audits.effects import UNIT
from assay.core import Estimate
from assay.files import toml_file
from assay.grouping import grouped
from assay.reading.answers import Answer, outcome_of, subject_of
from assay.reading.text import amount, number
from assay.reading.verdicts import JudgedRow, gravest_failures
from assay.vocabulary import TASKS

EVERYTHING = "all tasks"
SIGNS = "+ above others, - below them"  # which way a metric is unfair
UNFAIR = "unfair to (in lost words, + above others, - below them)"
_NAMED = 2  # blind spots and groups that a line names
_NOT_ASKED = Answer("fairness", {})
_NAMES = {task: facts["name"] for task, facts in toml_file("report", "tasks").items()}


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of error that a metric was asked about, each counted once by its name."""

    tried: int = 0
    blind: tuple[str, ...] = ()  # by name: errors of meaning first, and of those the gravest
    unknown: int = 0
    gravest: tuple[JudgedRow, ...] = ()  # the gravest failure of each kind that it is blind to

    @classmethod
    def of(cls, about_meaning: Sequence[JudgedRow], about_form: Sequence[JudgedRow]) -> Kinds:
        """The kinds behind judged findings about errors of meaning and about those of form."""
        outcomes = [
            outcome_of(of_kind) for of_kind in grouped([*about_meaning, *about_form], subject_of).values()
        ]
        failed = [*gravest_failures(about_meaning), *gravest_failures(about_form)]
        blind = grouped(failed, subject_of)
        gravest = tuple(rows[0] for rows in blind.values())
        return cls(len(outcomes), tuple(blind), outcomes.count("inconclusive"), gravest)


@dataclass(frozen=True, slots=True)
class People:
    """How a metric agrees with people about the texts of a task, and on whose ratings."""

    order: Estimate  # of two texts that people rate differently, how often it prefers theirs, of 100
    sets: tuple[str, ...]  # names of the ratings
    is_public: bool = False  # measured for the atlas, not in this run


@dataclass(frozen=True, slots=True)
class Line:
    """A metric in the table of a task, in decisions of 100; metrics that share a rank are tied."""

    metric: str
    errors: Estimate | None = None  # errors that change what a text means
    reworded: Estimate | None = None  # the same errors against a sound rewording
    form: Estimate | None = None  # errors of form
    contrast: Estimate | None = None  # other words and right against nearly the same words and wrong
    rated: People | None = None
    kinds: Kinds = Kinds()
    rewarded: tuple[JudgedRow, ...] = ()  # false texts that it surely prefers to sound ones
    unfair: tuple[JudgedRow, ...] = ()  # whom it is unfair to, gravest first
    fairness: Answer = _NOT_ASKED
    needs: frozenset[str] | None = None  # what it reads beside the text: references, source, image
    made_for: tuple[str, ...] = ()  # the tasks that it was made for; (): any
    speed: float | None = None  # texts per second
    rank: int | None = (
        None  # None where it reads the text alone, is made for other tasks, or decided too little
    )
    merit: float = 0.0  # the mean of errors, rewordings and, where all have it, people

    @property
    def reads_text_alone(self) -> bool:
        """Whether it reads nothing to hold a text against, so that it cannot know what is false."""
        return self.needs is not None and not self.needs

    def can_be_ranked(self, task: str) -> bool:
        """Whether a rank in a task means anything: it has something to hold a text against, and fits it.

        A metric that was made for one task (answerable questions) stands in no table of other tasks.
        """
        is_foreign = bool(self.made_for) and task in (EVERYTHING, *TASKS) and task not in self.made_for
        return not self.reads_text_alone and not is_foreign

    @property
    def people(self) -> Estimate | None:
        """Of two texts that people rate differently, how often it prefers theirs."""
        return None if self.rated is None else self.rated.order


@dataclass(frozen=True, slots=True)
class Ranking:
    """A task with its table, the best first, and the recommendation."""

    task: str
    is_own: bool
    lines: tuple[Line, ...]
    kinds: int  # of errors that change the meaning, decided by every ranked metric
    items: int  # decisions about them
    best: str = ""  # the metric to use; empty where none can be recommended
    closest: str = ""  # where none is good enough, the best of them; empty where too little is known
    advice: str = ""  # the recommendation in one sentence
    reason: str = ""  # why, in full sentences
    unnoticed: tuple[str, ...] = ()  # kinds of error to which every ranked metric is blind
    texts: str = "the English texts that come with assay"  # whose texts the decisions are about
    language: str = "English"  # of the texts that come with assay, which fairness is measured on

    @property
    def name(self) -> str:
        """The task as a sentence names it."""
        return task_name(self.task)

    @property
    def why(self) -> str:
        """The first sentence of the reason; where none is good enough, the figures of the best too."""
        sentences = self.reason.split(". ")[: 2 if self.closest else 1]
        return f"{'. '.join(sentences).rstrip('.')}."

    @property
    def ranked(self) -> list[Line]:
        """The lines that have a rank."""
        return [line for line in self.lines if line.rank is not None]


def task_name(task: str) -> str:
    """A task, or a file of the user's, as a sentence names it."""
    return _NAMES.get(task) or task.replace("-", " ")


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def unfair_to(line: Line, most: int = _NAMED) -> str:
    """Whom a metric is unfair to, gravest first: Roma -0.54, Sikh -0.47, 6 more groups and 15 words.

    Groups stand before single words, and effects in lost words before those in other units.
    """
    sizes: dict[str, str] = {}
    for row in sorted(line.unfair, key=lambda row: row.declared.unit != UNIT):
        sizes.setdefault(subject_of(row), _size(row))
    words = [name for name in sizes if name.startswith("“")]
    groups = [name for name in sizes if name not in words]
    named = groups or words
    parts = [f"{name} {sizes[name]}" for name in named[:most]]
    if len(named) > most:
        parts.append(_count(len(named) - most, "more group" if groups else "more word"))
    if groups and words:
        parts.append(_count(len(words), "word"))
    return listed(parts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def fairness_of(line: Line, most: int = _NAMED) -> str:
    """Whom a metric is unfair to, and of how many questions the answer is known."""
    if not line.fairness.total:
        return ""
    settled = f"{line.fairness.settled} of {line.fairness.total} settled"
    if line.unfair:
        return f"{unfair_to(line, most)} ({settled})"
    return f"unknown ({settled})" if line.fairness.is_unsettled else f"nobody found ({settled})"


def _size(row: JudgedRow) -> str:
    """An effect with its sign; in lost words the number alone, as the column says its unit."""
    return f"{row['value']:+.2f}" if row.declared.unit == UNIT else amount(row["value"], row.declared)


def blind_to(line: Line, most: int = _NAMED) -> str:
    """The worst blind spots of a metric by name, and how many there are of how many kinds of error."""
    kinds = line.kinds
    if not kinds.tried:
        return ""
    if not kinds.blind:
        settled = kinds.tried - kinds.unknown
        return f"none found ({settled} of {kinds.tried} kinds settled)" if settled else "nothing settled"
    named = ", ".join(kinds.blind[:most])
    dots = ", ..." if len(kinds.blind) > most else ""
    return f"{named}{dots} ({len(kinds.blind)} of {kinds.tried} kinds)"


def with_interval(estimate: Estimate | None) -> str:
    """Right order with its interval: `84 [82, 86]`."""
    if estimate is None or estimate.ci is None:
        return ""
    low, high = estimate.ci
    return f"{estimate.value:.0f} [{low:.0f}, {high:.0f}]"


def people_of(line: Line) -> str:
    """Agreement with people; a star where it was measured on public ratings."""
    star = "*" if line.rated is not None and line.rated.is_public else ""
    return f"{with_interval(line.people)}{star}"


def table_rows(ranking: Ranking) -> list[dict[str, str]]:
    """The one table, as every page and terminal shows it."""
    rows = [
        {
            "metric": f"{line.metric} (not ranked)" if line.rank is None and ranking.ranked else line.metric,
            "errors": with_interval(line.errors),
            "rewordings": with_interval(line.reworded),
            "other words": with_interval(line.contrast),
            "people": people_of(line),
            "blind to": blind_to(line),
            UNFAIR: fairness_of(line),
            "texts/s": number(line.speed),
        }
        for line in ranking.lines
    ]
    empty = [name for name in rows[0] if not any(row[name] for row in rows)] if rows else []
    return [{name: cell for name, cell in row.items() if name not in empty} for row in rows]


def caption(ranking: Ranking) -> str:
    """What the numbers of the table are, of what and how many."""
    name = ranking.name[:1].upper() + ranking.name[1:]
    if not ranking.items:
        return f"{name}: too few planted errors that change the meaning were decided by every metric"
    asked = "of 100 decisions between a sound text and one whose meaning a planted error changed"
    return f"{name}: {asked}, how many each metric gets right (50 is a coin); {counted(ranking)}"


def counted(ranking: Ranking) -> str:
    """On how many decisions the table rests, about what and on whose texts."""
    tried = max((line.kinds.tried for line in ranking.lines), default=0)
    form = f" ({tried} with those of form)" if tried > ranking.kinds else ""
    kinds = f"{ranking.kinds} kind{'' if ranking.kinds == 1 else 's'} of error{form}"
    return f"{ranking.items:,} decisions about {kinds}, on {ranking.texts}"


def sources(ranking: Ranking) -> str:
    """What the column of people counts: on which public ratings, or which pairs of the user's own."""
    rated = [line.rated for line in ranking.lines if line.rated is not None]
    public = list(dict.fromkeys(name for people in rated if people.is_public for name in people.sets))
    if public:
        return f"* agreement measured on public ratings: {listed(public)}"
    if not rated:
        return ""
    is_within = all(name.endswith("/by-document") for people in rated for name in people.sets)
    if not is_within:
        return "people: of 100 pairs of texts, how many the metric orders as your ratings do"
    own = "people: of 100 pairs of texts for the same document, how many the metric orders as your ratings do"
    return f"{own}; “orders … of 100 pairs” counts pairs of all texts"
