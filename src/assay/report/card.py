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
from assay.reading.answers import Answer, answers, failed_names
from assay.reading.names import shown, shown_names
from assay.reading.results import StoredRun
from assay.reading.text import interval, number, sentence, statistic_in_words
from assay.reading.verdicts import QUESTION_TITLES, JudgedRow, audits_of, checks, gravest_failures, rows_of
from assay.report.assets import asset
from assay.report.charts import VERDICT_COLOURS
from assay.report.plain import filled
from assay.report.tables import shown_rows
from assay.vocabulary import QUESTIONS, Verdict

LISTED = 6
_NAMED = 12  # further failures that are named
AGREEMENTS = 4  # lines per statistic
_GRAVEST: tuple[Verdict, ...] = ("fail", "not covered", "inconclusive", "pass")
_LETTER = 6.6  # pixels of a letter in Verdana at size 11, on average


@dataclass(frozen=True, slots=True)
class _Card:
    """Everything a card says."""

    metric: str
    about: Mapping[str, Any]
    answers: tuple[Answer, ...]
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
        fairness, robustness, _ = self.answers
        asked = {"unfair": fairness, "blind": robustness}
        parts = []
        for name, (title, nothing) in toml_file("report", "words")["card"].items():
            was_asked = name not in asked or asked[name].total
            parts.append((title, getattr(self, name), nothing if was_asked else "Not measured."))
        return parts


def make_card(run: StoredRun, metric: str) -> _Card:
    """The card of a metric of the run, by its spec or by the name shown."""
    names = shown_names(run)
    if metric not in names and metric not in names.values():
        raise SpecError(f"no metric {metric!r} in this run{suggest(metric, run.metrics)}")
    run, metric = shown(run), names.get(metric, metric)
    answered = {question: answers(run)[metric, question] for question in QUESTIONS}
    judged = [row for row in checks(run) if row["metric"] == metric]
    on = f"on {run.about['date'][:10]} " if run.about.get("date") else ""
    return _Card(
        metric, run.about["metrics"][metric], tuple(answered.values()),
        _failures(answered["fairness"].failures), _failures(answered["robustness"].failures),
        _agreement(run, metric), _advice(judged),
        f"Measured {on}with assay {run.about.get('assay', '')}, size {run.about.get('size', 'full')}.",
    )  # fmt: skip


def _failures(rows: Iterable[JudgedRow]) -> tuple[str, ...]:
    """The gravest failures in words, at most two per audit; the others by name, so that none is missed."""
    chosen: list[JudgedRow] = []
    others: list[JudgedRow] = []
    for row in gravest_failures(rows):
        if row["sentence"] in (known["sentence"] for known in chosen):
            continue  # two slices of which the same can be said
        room = sum(known["audit"] == row["audit"] for known in chosen) < 2 and len(chosen) < LISTED
        (chosen if room else others).append(row)
    sureness = [", ".join(filter(None, (interval(row), f"n = {row['n']}"))) for row in chosen]
    lines = [f"{sentence(row)} ({sure})" for row, sure in zip(chosen, sureness, strict=True)]
    if named := [" ".join(pair) for pair in failed_names(others).items()]:
        rest = len(named) - _NAMED
        more = f" and {rest} more, which are in the report" if rest > 0 else ""
        lines.append(f"Also: {', '.join(named[:_NAMED])}{more}.")
    return tuple(lines)


def _agreement(run: StoredRun, metric: str) -> tuple[str, ...]:
    """The headline numbers of audits of agreement."""
    lines = []
    rows = [row for row in rows_of(run) if row["metric"] == metric and row.info.question == "agreement"]
    for audit in audits_of(run).values():
        for name in audit.headlines:
            own = [row for row in rows if (row["audit"], row["statistic"]) == (audit.name, name)]
            for row in shown_rows(own)[:AGREEMENTS]:
                versus = f" against {row['versus']}" if row["versus"] else ""
                around = f" ({interval(row)})" if interval(row) else ""
                value = f"{statistic_in_words(name)} {number(row['value'])}{around}{versus}, n = {row['n']}"
                lines.append(f"{row['slice']}: {value}")
    return tuple(lines)


def _advice(judged: Sequence[JudgedRow]) -> tuple[str, ...]:
    """What the failures of the metric ask of its user, and what this run could not say."""
    words = toml_file("report", "words")
    failed = list({row["audit"]: row.info for row in judged if row["verdict"] == "fail"}.values())
    general = dict.fromkeys(words["advice"][audit.question] for audit in failed if not audit.advice)
    titles = [audit.title if audit.title.endswith("?") else f"{audit.title}:" for audit in failed]
    own = [f"{title} {audit.advice}" for title, audit in zip(titles, failed, strict=True) if audit.advice]
    lines = [*own, *general]
    if not any(row.info.question == "agreement" for row in judged):
        missing = "Agreement with people was not measured"
        lines.append(f"{missing}: give your ratings to `assay run human --data FILE`.")
    counts = Counter(row["verdict"] for row in judged)
    unsettled = [f"{counts[kind]} checks {what}" for kind, what in words["unsettled"].items() if counts[kind]]
    return (*lines, *unsettled)


def as_markdown(card: _Card) -> str:
    """The card for a README."""
    return filled("card.md", card=card, titles=QUESTION_TITLES).rstrip("\n")


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
