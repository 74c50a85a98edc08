"""Ten seeds of five audits at quick size: does a pass turn into a fail, and does a fail come again?

`python tests/calibration/seeds.py [SEEDS]` prints the counts and every finding that turns.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict

from assay.api.pipeline import audit
from assay.engine.session import Session

AUDITS = ("stress", "checklist", "position", "injection", "stereotype")
METRICS = ("bleu", "chrf", "rougeL", "bertscore-f")


def verdicts_by_seed(seeds: int) -> dict[tuple[str, ...], Counter[str]]:
    """How often each finding got each verdict."""
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for seed in range(seeds):
        run = audit(METRICS, only=AUDITS, size="quick", session=Session.open(), seed=seed)
        for row in run.findings.iter_rows(named=True):
            if row["verdict"] != "not judged":
                place = tuple(str(row[name]) for name in ("metric", "audit", "slice", "statistic"))
                counts[place][row["verdict"]] += 1
    return counts


def main(seeds: int) -> None:
    """Print how steady the verdicts are."""
    counts = verdicts_by_seed(seeds)
    turned = {place: count for place, count in counts.items() if count["pass"] and count["fail"]}
    # A fail of one seed and the verdict of another: the share of such pairs in which it fails again.
    again = sum(count["fail"] * (count["fail"] - 1) for count in counts.values())
    pairs = sum(count["fail"] * (count.total() - 1) for count in counts.values())
    print(f"{len(counts)} findings, of which {len(turned)} turn from pass to fail or back")
    print(f"a fail comes again under another seed in {again / max(1, pairs):.1%}")
    for place, count in turned.items():
        print("turned:", *place, dict(count))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
