"""Which languages a metric's models read, and whether the texts of an audit or a file are in one of them.

A metric outside its languages gives scores all the same, and nothing in them shows it: so it is refused,
unless the user asks for it (`--any-language`), and then every result says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from assay.core import Audit, Case, Grid, Measure, Metric, Sample, SetMetric
from assay.files import toml_file
from assay.language import language_name, language_of

_LOOKED_AT = 100  # texts by which the language of a user's data is told
_SOME = 0.05  # of the texts: fewer in another language are worth no word, and may be told wrongly
_UNKNOWN = 0.1  # of the tokens of a text; of a language that a tokeniser was made for they are about 0
_WITHOUT_SPACES = frozenset({"ja", "th", "zh"})  # between words
_NOT_LATIN = frozenset({"ar", "el", "he", "hi", "ko", "ru"})
_BY_SPACES = {"split", "13a", "ptb", "tercom", "intl"}  # tokenisers that part words there


@dataclass(frozen=True, slots=True)
class Spoken:
    """The texts of an audit or of a file, or some of them, and how many are in each language."""

    texts: Sequence[str] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Sequence[str]) -> Spoken:
        """What is spoken in texts, by a hundred of them from beginning to end."""
        distinct = list(dict.fromkeys(texts))
        some = distinct[:: max(1, len(distinct) // _LOOKED_AT)]
        return cls(some, Counter(filter(None, map(language_of, some))))

    def beyond(self, languages: frozenset[str]) -> dict[str, int]:
        """The counts of the languages that are none of these."""
        return {language: count for language, count in self.counts.items() if language not in languages}


def languages_read(metric: Metric | SetMetric) -> frozenset[str] | None:
    """The languages of the models that a metric rests on; None: any, or not known."""
    parts = metric.parts if isinstance(metric, Metric) else ()
    if parts:
        known = [languages for part in parts if (languages := languages_read(part.metric)) is not None]
        return frozenset.intersection(*known) if known else None
    if metric.languages is not None or _is_served(metric):
        return metric.languages
    of_models: dict[str, str] = toml_file("names", "about")["models"]
    named = [of_models.get(str(getattr(metric, field))) for field in metric.weights]
    return frozenset({"en"}) if "English" in named else None


def _is_served(metric: Any) -> bool:
    """Whether a metric's model runs behind a server, where its name says nothing and no token is seen."""
    return bool(getattr(metric, "endpoint", ""))


def spoken_in(audit: Audit, items: Sequence[Case | Grid]) -> Spoken:
    """What is spoken in the texts of an audit: embedded ones have a known language."""
    if not getattr(audit, "data", ()):
        return Spoken(counts={str(getattr(audit, "language", "en")): 1})
    cases = [item for item in items if isinstance(item, Case) and item.samples]
    return Spoken.of([_told_by(next(iter(case.samples.values()))) for case in cases])


def spoken_by(samples: Sequence[Sample]) -> Spoken:
    """What is spoken in the texts of samples."""
    return Spoken.of([_told_by(sample) for sample in samples])


def _told_by(sample: Sample) -> str:
    """The text that tells a sample's language best: what was written for people to read."""
    return " ".join(chain(sample.references[:1], [sample.hypothesis]))


def foreign_to(measure: Measure, spoken: Spoken) -> str | None:
    """Why a metric cannot be trusted on these texts, as a sentence's part; None where nothing says so."""
    languages = languages_read(measure.metric)
    if languages is None:
        return _unknown_to(measure.metric, spoken)
    foreign = spoken.beyond(languages)
    if 2 * sum(foreign.values()) <= sum(spoken.counts.values()):
        return None
    theirs, own = (" and ".join(map(language_name, sorted(codes))) for codes in (foreign, languages))
    model = f" ({measure.metric.backbone})" if measure.metric.backbone else ""
    return f"its model{model} reads {own}, and these texts are {theirs}"


def unsplit_by(measure: Measure, spoken: Spoken) -> str | None:
    """Why a metric's tokeniser cannot part the words of these texts; None where it can.

    The metric itself says so of a text, which ends a run of that metric alone.
    """
    metric = measure.metric
    parts = metric.parts if isinstance(metric, Metric) else ()
    tokenisers = {getattr(part.metric, "tokenize", None) for part in parts or (measure,)}
    for scripts, names, problem in (
        (_WITHOUT_SPACES, _BY_SPACES, "needs spaces between words"),
        (_WITHOUT_SPACES | _NOT_LATIN, {"rouge"}, "keeps only a to z and digits"),
    ):
        unread = {language: count for language, count in spoken.counts.items() if language in scripts}
        if names & tokenisers and 2 * sum(unread.values()) > sum(spoken.counts.values()):
            theirs = " and ".join(map(language_name, sorted(unread)))
            return f"its tokeniser {problem}, and these texts are {theirs}: give tokenize=char"
    return None


def _unknown_to(metric: Any, spoken: Spoken) -> str | None:
    """The same for a model whose languages nobody has named: by the tokens that it does not know."""
    if not hasattr(metric, "unknown_share") or _is_served(metric):
        return None
    if not spoken.texts or not spoken.beyond(frozenset({"en"})):
        return None
    share = metric.unknown_share(spoken.texts)
    if share <= _UNKNOWN:
        return None
    theirs = " and ".join(map(language_name, sorted(spoken.counts)))
    return f"its tokeniser does not know {share:.0%} of the tokens of these texts ({theirs})"


def mixed_with(measure: Measure, spoken: Spoken) -> str | None:
    """A caution on texts of which a part is in languages that a metric does not read; None where none is."""
    languages = languages_read(measure.metric)
    foreign = {} if languages is None else spoken.beyond(languages)
    n_told = sum(spoken.counts.values())
    if sum(foreign.values()) <= _SOME * n_told:
        return None
    listed = ", ".join(f"{language_name(code)} {count}" for code, count in sorted(foreign.items()))
    return f"of {n_told} texts looked at some are in languages that its model does not read: {listed}"
