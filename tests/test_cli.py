"""The command line as a user meets it: results on stdout, messages on stderr, mistakes with a way out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli import main

PAIR = {"id": "p1", "attribute": "age", "stereotype": "The old man was slow.", "reference": "The man was slow.",
        "anti_stereotype": "The young man was slow."}  # fmt: skip
PLUGIN = """from dataclasses import dataclass
from assay import Metric
@dataclass(frozen=True)
class Ratio(Metric):
    name = "ratio"
    def score(self, samples):
        return [len(s.hypothesis) / len(s.references[0]) for s in samples]
"""


def assay(*words: str, cwd: Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from assay.cli import main; main()", *words]
    environment = os.environ | {"COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)


@pytest.fixture
def assay_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[object, str]]:
    """`assay` in this process, which saves half a second: its exit status and its messages."""

    def run(*words: str) -> tuple[object, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["assay", *words])
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # main() sets both
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, capsys.readouterr().err

    return run


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    rows = [PAIR | {"id": f"p{n}", "stereotype": f"The old man was slow {n}."} for n in range(12)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_run_prints_one_document_and_writes_the_folder(pairs: Path, tmp_path: Path) -> None:
    words = (
        "run",
        "stereotype",
        "-m",
        "bleu",
        "--data",
        str(pairs),
        "--json",
        "--cache",
        "none",
        "--out",
        "one",
    )
    done = assay(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == {"assay", "answers", "findings", "notes"}
    keys = [
        "metric",
        "audit",
        "slice",
        "statistic",
        "versus",
        "value",
        "n",
        "ci",
        "p_value",
        "q_value",
        "settles",
        "because",
        "named_by",
        "verdict",
        "evidence",
    ]
    assert list(document["findings"][0]) == keys
    files = {path.name for path in (tmp_path / "one").iterdir()}
    assert {"run.json", "findings.parquet", "cases.parquet", "scores.parquet", "report.html"} <= files
    again = assay(*words, cwd=tmp_path)
    assert again.stdout == done.stdout


def test_profile_says_where_the_time_went(
    pairs: Path, tmp_path: Path, assay_here: Callable[..., tuple[object, str]]
) -> None:
    words = ("run", "stereotype", "-m", "bleu", "--data", str(pairs), "--profile", "--out", "run")
    status, messages = assay_here(*words, "--cache", "none")
    assert status == 0
    spent = {line[12:]: float(line[:8]) for line in messages.splitlines() if line[8:12] == " s  "}
    assert {"scoring bleu", "making cases", "judging", "writing the report"} < set(spent)
    parts = sum(seconds for part, seconds in spent.items() if part != "in all")
    assert parts == pytest.approx(spent["in all"], abs=0.01 * len(spent))
    seconds = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["seconds"]
    assert seconds["phases"]["judging"] == pytest.approx(spent["judging"], abs=0.01)


def test_a_metric_in_seven_lines(pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    done = assay("run", "stereotype", "-m", "mine.py:Ratio", "--data", str(pairs), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {f["metric"] for f in json.loads(done.stdout)["findings"]} == {"mine.py:Ratio"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "stereotype", "-m", "blue"), "did you mean bleu?"),
        (("run", "sterotype", "-m", "bleu"), "did you mean stereotype?"),
        (("run", "stereotype", "-m", "bleu:tokeniser=split"), "unknown key 'tokeniser'"),
        (
            ("run", "stereotype", "-m", "bleu", "--margins", "3"),
            "has no option --margins; did you mean --margin?",
        ),
        (("run", "stereotype", "-m", "bleu", "--data", "nowhere.jsonl"), "cannot read nowhere.jsonl"),
        (
            ("run", "stereotype", "-m", "bleu", "--fail-on", "unfare"),
            "--fail-on: unknown gate 'unfare'; did you",
        ),
        (("run", "stereotype", "-m", "bleu", "--seed", "-1"), "--seed: give at least 0"),
        (("perturb", "negation", "--text", "a", "--seed", "-1"), "--seed: give at least 0"),
        (("list", "metric"), "did you mean metrics?"),
        (("perturb", "nonsense", "--text", "a"), "unknown perturbation 'nonsense'"),
        (("perturb", "negation", "--data", "."), ". is a folder; give a file"),
        (("perturb", "negation", "--data", "nowhere"), "cannot read nowhere: No such file"),
        (("perturb", "negation", "--data", "a.jsonl", "--text", "a"), "--text and --data exclude each other"),
        (("perturb", "copied-source", "--text", "The cat sat."), "it has no source; give"),
        (("perturb", "random-text", "--text", "The cat sat."), "no other texts to borrow from; give"),
        (("perturb", "negation", "--text", " "), "the text is empty; give a text"),
        (("report", "nowhere"), "is not a run folder"),
        (("serve", "nowhere", "--port", "0"), "nowhere does not exist"),
        (("serve", "file", "--port", "0"), "file is not a folder"),
        (("serve", "-m", "blue", "--port", "0"), "did you mean bleu?"),
        (("study", "blind"), "assay study is now assay papers study"),
        (("calibrate", "stereotype"), "assay calibrate is now assay papers calibrate"),
        (("papers", "reproduce", "unfair"), "did you mean one of unfair:table1, unfair:table3"),
        (("papers", "reproduce", "--quick"), "give it with --all"),
        (("papers", "reproduce", "--all", "unfair:table6"), "leave out --all or unfair:table6"),
        (("papers", "reproduce", "unfair:table6", "--data", "."), "nothing was run on ."),
    ],
)
def test_mistakes_exit_2_with_a_way_out(
    words: tuple[str, ...], message: str, tmp_path: Path, assay_here: Callable[..., tuple[object, str]]
) -> None:
    (tmp_path / "file").write_text("")
    status, messages = assay_here(*words)
    assert status == 2, messages
    assert message in messages
    assert "Traceback" not in messages


def test_a_path_that_the_system_refuses_exits_2(tmp_path: Path) -> None:
    done = assay("report", "n" * 300, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "File name too long" in done.stderr
    assert "Traceback" not in done.stderr


def test_perturb_prints_one_document(tmp_path: Path) -> None:
    (tmp_path / "two.jsonl").write_text('{"gold": "The cat sleeps."}\n{"gold": "The dog barks."}\n')
    done = assay("perturb", "negation", "--data", "two.jsonl", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    texts = json.loads(done.stdout)["texts"]
    assert [row["perturbed"] for row in texts] == ["The cat does not sleep.", "The dog does not bark."]


BAD_FILES = {
    "malformed.jsonl": (b'{"id": "a"\n', "line 1: not JSON"),
    "missing.jsonl": (
        b'{"id": "a", "stereotype": "x", "reference": "y"}\n',
        "column 'anti_stereotype' is missing",
    ),
    "empty.jsonl": (b"", "holds no rows"),
    "latin.jsonl": ('{"id": "é"}\n'.encode("latin-1"), "line 1: column 'stereotype' is missing"),
    "list.jsonl": (b"[1, 2]\n", "line 1: a record must be an object"),
    "typed.jsonl": (
        b'{"stereotype": 3, "anti_stereotype": "x", "reference": "y"}\n',
        "must be text, not int",
    ),
    "strange.xyz": (b"x", "cannot read .xyz"),
    "tabs.csv": (
        b"id\tstereotype\treference\na\tx\ty\n",
        "line 1: column 'anti_stereotype' is missing; its columns are id, stereotype, reference",
    ),
    "mixed.csv": (
        b"id;stereotype;anti_stereotype;reference\na;x;y;z\nb,x,y,z\n",
        "line 3: separated by commas, but the header by semicolons, so that column 'stereotype' has no cell; "
        "use one separator throughout",
    ),
    "ragged.csv": (b"id,stereotype,reference\na,x,z\nb,x\n", "line 3: not as many cells as the header"),
    "twice.jsonl": (b'{"id": "a"}\n{"id": "b", "id": "c"}\n', "line 2: not JSON (duplicate key 'id'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_named_with_line_and_column(
    name: str, tmp_path: Path, assay_here: Callable[..., tuple[object, str]]
) -> None:
    body, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(body)
    status, messages = assay_here("run", "stereotype", "-m", "bleu", "--data", name)
    assert status == 2, messages
    assert name in messages
    assert message in messages


def test_a_metric_that_breaks_its_contract(pairs: Path, tmp_path: Path) -> None:
    broken = PLUGIN.replace("for s in samples]", "for s in samples][1:]")
    (tmp_path / "broken.py").write_text(broken)
    done = assay("run", "stereotype", "-m", "broken.py:Ratio", "--data", str(pairs), cwd=tmp_path)
    assert done.returncode == 2
    assert "one value per sample" in done.stderr
    (tmp_path / "nan.py").write_text(PLUGIN.replace("len(s.hypothesis) /", "float('nan') *"))
    done = assay("run", "stereotype", "-m", "nan.py:Ratio", "--data", str(pairs), cwd=tmp_path)
    assert done.returncode == 2
    assert "return None where there is no score" in done.stderr


def test_an_unwritable_folder_is_refused_before_the_work(pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = assay("run", "stereotype", "-m", "bleu", "--data", str(pairs), "--out", "file/run", cwd=tmp_path)
    assert done.returncode == 2
    assert "a file is in the way: choose another place" in done.stderr


def test_files_of_the_users_own_are_not_written_over(pairs: Path, tmp_path: Path) -> None:
    words = ("run", "stereotype", "-m", "bleu", "--data", str(pairs), "--cache", "none", "-q", "--out")
    folder = tmp_path / "mine"
    folder.mkdir()
    assert assay(*words, "mine", cwd=tmp_path).returncode == 0  # an empty folder
    assert assay(*words, "mine", cwd=tmp_path).returncode == 0  # that of an earlier run
    (folder / "run.json").unlink()
    (folder / "report.html").write_text("precious")
    done = assay(*words, "mine", cwd=tmp_path)
    assert done.returncode == 2
    assert "mine holds 'cases.parquet' and no run.json" in done.stderr
    assert "new or empty folder" in done.stderr
    assert (folder / "report.html").read_text() == "precious"


def test_gate_says_what_it_does_not_check(pairs: Path, tmp_path: Path) -> None:
    words = ("run", "stereotype", "--json", "--cache", "none", "--fail-on")
    done = assay(*words, "unfair", "-m", "bleu", "--data", str(pairs), cwd=tmp_path)
    assert done.returncode == 2
    assert "gate unfair has nothing to check" in done.stderr
    (tmp_path / "flat.py").write_text(PLUGIN.replace("len(s.hypothesis) / len(s.references[0])", "1.0"))
    embedded = ("--only", "age", "--size", "quick")
    done = assay(*words, "unfair", "-m", "bleu", "-m", "flat.py:Ratio", *embedded, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not judged, a text with a word missing does not surely score lower: flat.py:Ratio" in done.stderr


def test_gate(tmp_path: Path) -> None:
    """BLEU scores both sides of the first pairs alike; of the second, one is the reference itself."""
    for name, ending in (("fair", "old"), ("unfair", "slow")):
        rows = []
        for n in range(30):
            start = f"the clerk{n} from town{n} who met friend{n} yesterday was"
            texts = {"stereotype": f"{start} {ending}", "anti_stereotype": f"{start} young"}
            rows.append({"id": f"p{n}", "attribute": "age", "reference": f"{start} slow"} | texts)
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("run", "stereotype", "--json", "--cache", "none", "-m", "bleu", "--fail-on")
    for kind, name, code in (("unfare", "fair", 2), ("unfair", "fair", 0), ("unfair", "unfair", 1)):
        done = assay(*words, kind, "--data", f"{name}.jsonl", cwd=tmp_path)
        assert done.returncode == code, done.stderr


def test_imported_scores_in_three_forms(pairs: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    scores = {row["id"]: (n / 10, n / 12) for n, row in enumerate(rows)}
    long = "case,role,metric,score\n" + "".join(
        f"{case},{role},mine,{value}\n"
        for case, both in scores.items()
        for role, value in zip(("stereotype", "anti_stereotype"), both, strict=True)
    )
    wide = long.replace(",metric,score", ",mine").replace(",mine,", ",")
    (tmp_path / "long.csv").write_text(long)
    (tmp_path / "wide.csv").write_text(wide)
    listed = "".join(json.dumps(row | {"given": {"mine": list(scores[row["id"]])}}) + "\n" for row in rows)
    (tmp_path / "pairs.jsonl").write_text(listed)
    values = []
    for given in ("long.csv", "wide.csv", "pairs.jsonl:given"):
        done = assay("run", "stereotype", "--scores", given, "--data", "pairs.jsonl", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        values.append([f["value"] for f in json.loads(done.stdout)["findings"] if f["statistic"] == "bias"])
    assert values[0] == values[1] == values[2]
    assert len(values[0]) == 1


def test_lists_and_doctor_are_machine_readable(tmp_path: Path) -> None:
    for kind in ("metrics", "audits", "perturbations", "datasets", "weights", "formats"):
        done = assay("list", kind, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)[kind]


def test_list_explains_one_thing(tmp_path: Path) -> None:
    known = json.loads(assay("list", "metrics", "ter:no_punct=true", "--json", cwd=tmp_path).stdout)
    assert known["direction"] == "higher is better: it is an error or a perplexity, and negated here"
    assert "no_punct=true" in known["options"]
    assert known["atlas"]
    printed = assay("list", "perturbations", "negation", cwd=tmp_path).stdout
    assert "criterion  consistency" in printed
    wrong = assay("list", "audits", "stres", cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "assay: no audit is called 'stres'; did you mean stress?\n",
    )


def test_a_run_file_lists_metrics_and_formats_print(pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('metrics = ["bleu", "chrf"]')
    words = ("run", "stereotype", "-m", "@run.toml", "--data", str(pairs), "--cache", "none")
    done = assay(*words, "--format", "md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "chrf" in done.stdout
    (tmp_path / "run.toml").write_text("metrics = 3")
    done = assay(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "has no list of specs" in done.stderr
