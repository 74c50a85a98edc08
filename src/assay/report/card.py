"""One metric of a run to a page for its README: unfair to whom, blind to what, how to use it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from assay.errors import SpecError, suggest
from assay.files import toml_file
from assay.grouping import grouped
from assay.reading.answers import Answer, answers, failed_names
from assay.reading.lines import Line, blind_to, fairness_of, listed, people_of, with_interval
from assay.reading.names import shown, shown_names
from assay.reading.ranking import line_of
from assay.reading.results import StoredRun
from assay.reading.text import interval, number, sentence, statistic_in_words
from assay.reading.verdicts import (
    QUESTION_TITLES,
    AuditInfo,
    JudgedRow,
    audits_of,
    checks,
    gravest_failures,
    rows_of,
    rows_with,
)
from assay.report.assets import asset
from assay.report.charts import VERDICT_COLOURS
from assay.report.plain import filled
from assay.report.tables import shown_rows
from assay.vocabulary import QUESTIONS, Question, Verdict

LISTED = 6
_NAMED = 12  # further failures that are named
AGREEMENTS = 4  # lines per statistic
_GRAVEST: tuple[Verdict, ...] = ("fail", "not covered", "inconclusive", "pass")
_WORDS: Mapping[str, Any] = toml_file("report", "words")
_LETTER = 6.6  # pixels of a letter in Verdana at size 11, on average


@dataclass(frozen=True, slots=True)
class _Card:
    """Everything a card says."""

    metric: str
    about: Mapping[str, Any]
    answers: tuple[Answer, ...]
    table: tuple[tuple[str, str, str], ...]  # question, answer, by how much
    unfair: tuple[str, ...]
    blind: tuple[str, ...]
    agreement: tuple[str, ...]
    advice: tuple[str, ...]
    measured: str

    @property
    def kind(self) -> str:
        size = f" ({self.about['parameters']:,} parameters)" if self.about.get("parameters") else ""
        paradigm, model = self.about.get("paradigm", "custom"), self.about.get("backbone") or "none"
        return f"Kind of metric: {paradigm}. Pretrained model: {model}{size}."

    @property
    def parts(self) -> list[tuple[str, tuple[str, ...], str]]:
        """The sections: title, lines, and what stands there when there are none."""
        asked = {"unfair": self.answers[0].total, "blind": self.answers[1].total}
        return [
            (title, getattr(self, name), nothing if asked.get(name, True) else "Not measured.")
            for name, (title, nothing) in _WORDS["card"].items()
        ]


def make_card(run: StoredRun, metric: str) -> _Card:
    """The card of a metric of the run, by its spec or by the name shown."""
    names = shown_names(run)
    if metric not in {*names, *names.values()}:
        raise SpecError(f"no metric {metric!r} in this run{suggest(metric, run.metrics)}")
    run, metric = shown(run), names.get(metric, metric)
    answered = {question: answers(run)[metric, question] for question in QUESTIONS}
    judged = rows_with(checks(run), metric=metric)
    line = line_of(run, metric)
    agreement = (*_agreement(run, metric), *_public(line))
    on = f"on {run.about['date'][:10]} " if run.about.get("date") else ""
    return _Card(
        metric, run.about["metrics"][metric], tuple(answered.values()), tuple(_table(answered, line)),
        _failures(answered["fairness"].failures), _failures(answered["robustness"].failures),
        agreement, _advice(judged, is_rated=bool(agreement)),
        f"Measured {on}with assay {run.about.get('assay', '')}, size {run.about.get('size', 'full')}.",
    )  # fmt: skip


def _table(answered: Mapping[Question, Answer], line: Line | None) -> Iterable[tuple[str, str, str]]:
    """The answers, counted as in the one table where the run has one."""
    details = {question: answer.detail for question, answer in answered.items()}
    words = {question: answer.words for question, answer in answered.items()}
    if line is not None:
        details |= _counted(line)
        if line.people is not None:
            words["agreement"] = f"{people_of(line)} of 100"
    return ((QUESTION_TITLES[question], words[question], details[question]) for question in answered)


def _counted(line: Line) -> dict[Question, str]:
    """What the one table says of a metric, by question."""
    counted: dict[Question, str] = {}
    if line.fairness.total:
        counted["fairness"] = fairness_of(line)
    if line.kinds.tried:
        errors = f"right in {with_interval(line.errors)} of 100 decisions on errors; " if line.errors else ""
        counted["robustness"] = f"{errors}blind to: {blind_to(line)}"
    if line.rated is not None and line.rated.is_public:
        counted["agreement"] = "* on public ratings"
    return counted


def _public(line: Line | None) -> tuple[str, ...]:
    """Agreement on public ratings, where the atlas has it of this metric."""
    if line is None or line.rated is None or not line.rated.is_public:
        return ()
    order = with_interval(line.people)
    return (
        f"public ratings ({listed(line.rated.sets)}): right order {order} of 100, measured for the atlas",
    )


def _failures(rows: Iterable[JudgedRow]) -> tuple[str, ...]:
    """The gravest failures in words, at most two per audit; the others by name, so that none is missed."""
    chosen: list[JudgedRow] = []
    others: list[JudgedRow] = []
    by_sentence = grouped(gravest_failures(rows), lambda row: row["sentence"])
    for row, *_ in by_sentence.values():  # of slices of which the same can be said, the first
        of_audit = [known for known in chosen if known["audit"] == row["audit"]]
        has_room = len(of_audit) < 2 and len(chosen) < LISTED
        (chosen if has_room else others).append(row)
    lines = [f"{sentence(row)} ({_sureness(row)})" for row in chosen]
    if named := [" ".join(pair) for pair in failed_names(others).items()]:
        rest = len(named) - _NAMED
        more = f" and {rest} more, which are in the report" if rest > 0 else ""
        lines.append(f"Also: {', '.join(named[:_NAMED])}{more}.")
    return tuple(lines)


def _sureness(row: JudgedRow) -> str:
    return ", ".join(filter(None, (interval(row), f"n = {row['n']}")))


def _agreement(run: StoredRun, metric: str) -> tuple[str, ...]:
    """The headline numbers of audits of agreement."""
    headlines = [(audit.name, name) for audit in audits_of(run).values() for name in audit.headlines]
    rows = [row for row in rows_with(rows_of(run), metric=metric) if row.info.question == "agreement"]
    by_statistic = grouped(rows, lambda row: (row["audit"], row["statistic"]))
    chosen = [row for name in headlines for row in shown_rows(by_statistic.get(name, []))[:AGREEMENTS]]
    return tuple(map(_agreement_line, chosen))


def _agreement_line(row: JudgedRow) -> str:
    versus = f" against {row['versus']}" if row["versus"] else ""
    around = f" ({interval(row)})" if interval(row) else ""
    value = f"{statistic_in_words(row['statistic'])} {number(row['value'])}{around}{versus}, n = {row['n']}"
    return f"{row['slice']}: {value}"


def _advice(judged: Sequence[JudgedRow], *, is_rated: bool) -> tuple[str, ...]:
    """What the failures of the metric ask of its user, and what this run could not say."""
    failed = {row["audit"]: row.info for row in rows_with(judged, verdict="fail")}
    lines = dict.fromkeys(map(_advice_of, sorted(failed.values(), key=lambda audit: not audit.advice)))
    if not is_rated:
        lines[
            "Agreement with people was not measured: give your ratings to `assay run human --data FILE`."
        ] = None
    counts = Counter(row["verdict"] for row in judged)
    unsettled = [
        f"{counts[kind]} checks {what}" for kind, what in _WORDS["unsettled"].items() if counts[kind]
    ]
    return (*lines, *unsettled)


def _advice_of(audit: AuditInfo) -> str:
    """The advice of an audit after its title, else that of its question."""
    if not audit.advice:
        return str(_WORDS["advice"][audit.question])
    return f"{audit.title}{'' if audit.title.endswith('?') else ':'} {audit.advice}"


def as_markdown(card: _Card) -> str:
    """The card for a README."""
    return filled("card.md", card=card).rstrip("\n")


def _badge(card: _Card) -> tuple[str, str]:
    """The answers that were measured, and the colour of the gravest."""
    measured = [answer for answer in card.answers if answer.total]
    message = ", ".join(answer.words for answer in measured) or "not measured"
    verdicts = {answer.verdict for answer in measured}
    return message, next((VERDICT_COLOURS[kind] for kind in _GRAVEST if kind in verdicts), "#8a8f98")


def as_shields(card: _Card) -> str:
    """The badge as JSON for shields.io."""
    message, colour = _badge(card)
    return json.dumps({"schemaVersion": 1, "label": card.metric, "message": message, "color": colour})


def as_badge(card: _Card) -> str:
    """The badge as a picture."""
    message, colour = _badge(card)
    split, rest = (round(12 + _LETTER * len(text)) for text in (card.metric, message))
    places = {"width": split + rest, "split": split, "rest": rest - 3, "start": split + 6}
    texts = {"label": escape(card.metric), "message": escape(message), "colour": colour}
    return asset("badge.svg").format(**texts, **places)
