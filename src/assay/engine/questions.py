"""What judges are asked: how many questions and tokens scoring takes, and how many a quick look may take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assay.core import Asked, Audit, Case, Grid, Measure, Metric, Sample, SetMetric
from assay.engine.cache import ScoreCache
from assay.engine.scoring import TOKENS_READ, TOKENS_WRITTEN, samples_in, unique_samples
from assay.engine.session import Session
from assay.engine.unfold import describe_measure
from assay.names.spec import parse_spec

# Through a causal language model at --size quick. It is enough for swap, attention, frequent-ngram and
# truncation-direction; copy-source alone would take 13,000 more, for two verdicts.
QUICK_TOKENS = 22_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What models that are slow or paid may read in a quick look; audits asked for by name have no limits."""

    tokens: int | None = None  # of a causal language model
    questions: int | None = None  # to each judge, where the user set a limit
    are_on: bool = True

    def questions_to(self, measure: Measure) -> int | None:
        """How many questions may be put to a judge; None: as many as there are."""
        if not self.are_on:
            return None
        return measure.metric.quick_questions if self.questions is None else self.questions


UNLIMITED = Limits(are_on=False)


def quick_limits(measures: Sequence[Measure], session: Session) -> Limits:
    """The limits of a quick look; --max-calls is shared among the judges."""
    judges = [measure for measure in measures if measure.metric.quick_questions is not None]
    most = session.bill.max_calls
    return Limits(QUICK_TOKENS, most // len(judges) if most is not None and judges else None)


def asked(
    metric: Metric | SetMetric, samples: Sequence[Sample], cache: ScoreCache | None = None
) -> Asked | None:
    """What a judge would be asked, or all judges of a hybrid together; None of a metric that asks nobody.

    With a cache, the tokens are in proportion to those that this judge had before.
    """
    if not isinstance(metric, Metric):
        return None
    if metric.parts:
        parts = [part for one in metric.parts if (part := asked(one.metric, samples, cache))]
        return sum(parts[1:], parts[0]) if parts else None
    guess = metric.asked(samples)
    if guess is None or cache is None:
        return guess
    read = cache.pace(f"{TOKENS_READ}|{metric.signature}")
    written = cache.pace(f"{TOKENS_WRITTEN}|{metric.signature}")
    return replace(
        guess,
        read=guess.read if read is None else round(read * guess.read),
        written=guess.written if written is None else round(written * guess.questions),
    )


def questions_of(measure: Measure, audit: Audit, items: Iterable[Case | Grid]) -> int:
    """How many questions an audit puts to a judge, with those that follow and those to its companions.

    What the cache knows counts as well: how much is asked must not depend on earlier runs.
    """
    cases = list(items)
    parts = [(measure, [*cases, *audit.foreseen(describe_measure(measure))])]
    parts += [(parse_spec(spec), list(audit.companion_cases(cases))) for spec in audit.companions([measure])]
    counts = [asked(one.metric, unique_samples(one.metric, samples_in(part))) for one, part in parts]
    return sum(count.questions for count in counts if count)


def fitted_to_limits(audit: Audit, measures: Sequence[Measure], limits: Limits) -> Audit:
    """An audit of judges with as many items as fit within the limits of all of them, and at least one."""
    judges = [measure for measure in measures if limits.questions_to(measure) is not None]
    if not audit.of_judges or not judges:
        return audit
    items = int(getattr(audit, "limit", None) or 1)
    cases = list(audit.cases())
    shares = [(limits.questions_to(one) or 0) / max(1, questions_of(one, audit, cases)) for one in judges]
    return replace(audit, limit=max(1, min(items, int(items * min(shares)))))  # type: ignore[type-var]
