"""Ten seeds of five audits at quick size: does a pass turn into a fail, and does a fail come again?

Run it as `python tests/calibration/seeds.py [SEEDS]`; it prints the counts and every finding that turns.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict

from assay.api.pipeline import audit
from assay.engine.session import Session
from assay.names.spec import Specifiable

AUDITS = ("stress", "checklist", "position", "injection", "stereotype")
METRICS: tuple[Specifiable, ...] = ("bleu", "chrf", "rougeL", "bleu+chrf+rougeL")


def verdicts_by_seed(seeds: int) -> dict[tuple[str, ...], Counter[str]]:
    """How often each finding got each verdict."""
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for seed in range(seeds):
        run = audit(METRICS, only=AUDITS, size="quick", session=Session.open(), seed=seed)
        for row in run.findings.iter_rows(named=True):
            key = tuple(str(row[name]) for name in ("metric", "audit", "slice", "statistic"))
            # What a finding is compared with may be chosen by its value (the largest step).
            if row["verdict"] != "not judged":
                counts[key][row["verdict"]] += 1
        print(f"seed {seed}: {run.findings.height} findings", file=sys.stderr, flush=True)
    return counts


def main(seeds: int) -> None:
    counts = verdicts_by_seed(seeds)
    turned = {key: count for key, count in counts.items() if count["pass"] and count["fail"]}
    failing = [count for count in counts.values() if count["fail"]]
    fails = sum(count["fail"] for count in failing)
    # A fail of one seed and the verdict of another: the share of such pairs in which it fails again.
    pairs = sum(count["fail"] * (count.total() - 1) for count in failing)
    again = sum(count["fail"] * (count["fail"] - 1) for count in failing)
    changing = sum(len(count) > 1 for count in counts.values())
    print(f"{len(counts)} judged findings, {changing} of them change their verdict under {seeds} seeds")
    print(f"{len(turned)} turn from pass to fail or back")
    print(f"{fails} fails; a fail comes again under another seed in {again / max(1, pairs):.1%}")
    by_audit: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for key, count in counts.items():
        by_audit[key[1]][0] += count["fail"] * (count["fail"] - 1)
        by_audit[key[1]][1] += count["fail"] * (count.total() - 1)
    for name, (hits, total) in by_audit.items():
        print(f"  {name}: {hits / max(1, total):.1%}")
    for key, count in turned.items():
        print("turned:", *key, dict(count))
    unsteady = [(key, count) for key, count in counts.items() if 0 < count["fail"] < 0.95 * count.total()]
    for key, count in sorted(unsteady, key=lambda pair: -pair[1]["fail"])[:40]:
        print("unsteady:", *key, dict(count))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
