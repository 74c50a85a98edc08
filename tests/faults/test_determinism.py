"""Same seed, same bytes: whatever the hash seed, the workers, or the order in which metrics are asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.api.pipeline import run
from assay.engine.session import Session


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    rows = [
        {"id": f"p{n}", "stereotype": f"The old man {n} sat {n % 7}.", "anti_stereotype": f"The young man {n} sat {n % 5}.",
         "reference": f"The man {n} sat.", "template": f"t{n % 40}"}
        for n in range(1200)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_workers_change_no_byte(pairs: Path) -> None:
    documents = {
        run(
            "stereotype", ("bleu", "chrf"), session=Session.open(cache=None, workers=workers), data=(pairs,)
        ).json()
        for workers in (1, 2, 4)
    }
    assert len(documents) == 1


def test_the_order_of_metrics_changes_no_finding_of_theirs(pairs: Path) -> None:
    there, back = (
        run("stereotype", metrics, session=Session.open(cache=None), data=(pairs,), limit=60).findings
        for metrics in (("bleu", "chrf"), ("chrf", "bleu"))
    )
    for metric in ("bleu", "chrf"):
        own = [frame.filter(metric=metric, slice="pairs").drop("versus") for frame in (there, back)]
        assert own[0].sort("statistic").equals(own[1].sort("statistic"))


def test_a_neural_metric_gives_the_same_bytes_again(pairs: Path, tmp_path: Path) -> None:
    """Two processes without a cache: what is batched together must not depend on how fast they were."""
    words = [
        "run",
        "stereotype",
        "-m",
        "bertscore-f",
        "--data",
        str(pairs),
        "--limit",
        "30",
    ]  # several pieces
    code = "import dataclasses; import assay.engine.workers.batch as b; from assay.cli import main\n"
    # The second time, each piece is told to have taken a hundred times as long.
    slow = "real = b.evaluate\ndef late(*a, **k):\n    d = real(*a, **k)\n    return dataclasses.replace(d, seconds=100 * d.seconds)\n"
    slow += "import assay.engine.workers.local as l; l.evaluate = late\n"
    printed = [
        subprocess.run([sys.executable, "-c", f"{code}{more}main()", *words, "--cache", "none", "--json", "-q"],
                       cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for more in ("", slow)
    ]  # fmt: skip
    assert json.loads(printed[0])["findings"]
    assert printed[0] == printed[1]


@pytest.mark.parametrize(
    "audit", ["stereotype", "checklist"] if os.environ.get("ASSAY_SOAK") else ["stereotype"]
)
def test_the_hash_seed_changes_no_byte(audit: str, pairs: Path, tmp_path: Path) -> None:
    data = (
        ["--data", str(pairs), "--limit", "60"]
        if audit == "stereotype"
        else ["--task", "translation", "--limit", "6"]
    )
    words = ["run", audit, "-m", "bleu", "-m", "meteor", *data, "--cache", "none", "--json", "-q"]
    command = [sys.executable, "-c", "from assay.cli import main; main()", *words]
    printed = {
        subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
