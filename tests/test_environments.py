"""Metrics in another environment, each in a real one: `env:PATH/bin/python:module:object`."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import assay
from assay.engine.session import Session
from assay.errors import AuditError
from assay.names.environment import Remote
from assay.names.spec import measure

FILE = '''
import os
print("what a module prints is no score")
CALLS = []

def overlap(prediction, reference):
    """A function of one pair; it prints, too."""
    print("nor what a function prints")
    words = set(prediction.split()), set(reference.split())
    return len(words[0] & words[1]) / len(words[0] | words[1])

async def later(hypothesis, reference):
    return overlap(hypothesis, reference)

class Fields:
    def __init__(self, value, size):
        self.score, self._size = value, size

class Scorer:
    """An object with records for answers."""
    def __init__(self, power=1.0):
        self.power = power
    def score(self, prediction, references):
        return Fields(max(overlap(prediction, text) for text in references) ** self.power, object())

class Rate:
    """As torchmetrics calls it: an average over what was seen since the last reset."""
    higher_is_better = False
    def reset(self):
        self.seen = []
    def update(self, preds: "list[str]", target: "list[str]"):
        self.seen += [1 - overlap(*pair) for pair in zip(preds, target)]
    def compute(self):
        return sum(self.seen) / len(self.seen)

class Estimator:
    """As COMET calls it."""
    def requires_references(self):
        return True
    def predict(self, rows, batch_size, gpus):
        assert (batch_size, gpus) == (8, 0)
        return {"scores": [overlap(row["mt"], row["ref"]) + 0 * len(row["src"]) for row in rows]}

estimator = Estimator()

def dies(hypothesis, reference):
    if "ferry" in hypothesis and len(CALLS) > 6:
        os.kill(os.getpid(), 9)
    CALLS.append(hypothesis)
    return overlap(hypothesis, reference)

def quits(hypothesis, reference):
    raise SystemExit(3)

def text(hypothesis, reference):
    return "good"

def streams(predictions, references):
    return (overlap(*pair) for pair in zip(predictions, references))
'''
TEXTS, REFERENCES = ["the ferry left late", "a dog"], [["the ferry was late"], ["a dog"]]
EXPECTED = [3 / 5, 1.0]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which nothing is installed, neither assay nor numpy."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, with_pip=False, symlinks=True)
    done = subprocess.run([folder / "bin" / "python", "-c", "import numpy"], capture_output=True, check=False)
    assert done.returncode == 1
    return folder / "bin" / "python"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "theirs.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(spec: str, session: Session | None = None) -> list[float]:
    sources = ["die Fähre", "ein Hund"] if spec.endswith("estimator") else None
    frame = assay.score([spec], TEXTS, REFERENCES, sources, session=session or Session.open(cache=None))
    return frame.to_series().to_list()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("theirs:overlap", EXPECTED),
        ("theirs.py:overlap", EXPECTED),
        ("theirs.py:later", EXPECTED),
        ("theirs.py:Scorer", EXPECTED),
        ("theirs.py:Scorer:power=2", [value**2 for value in EXPECTED]),
        ("theirs.py:Rate", [value - 1 for value in EXPECTED]),
        ("theirs.py:estimator", EXPECTED),
        ("theirs.py:streams", EXPECTED),
    ],
)
def test_functions_and_objects_are_called_as_here(
    python: Path, what: str, expected: list[float], capfd: pytest.CaptureFixture[str]
) -> None:
    assert scores(f"env:{python}:{what}") == pytest.approx(expected)
    captured = capfd.readouterr()
    assert captured.out == "", "what it prints goes to stderr"
    assert "nor what a function prints" in captured.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("theirs.py:nothing", "cannot be loaded by .*has no attribute 'nothing'"),
        ("nopackage:metric", "cannot be loaded by .*No module named 'nopackage'"),
        ("absent.py:metric", "cannot be loaded by .*FileNotFoundError"),
        ("theirs.py:Scorer:colour=red", "cannot be loaded by .*unexpected keyword argument 'colour'"),
        ("theirs.py:quits", "quits cannot be called; raised RuntimeError: SystemExit: 3"),
        ("theirs.py:text", "returned the text 'good', not a number"),
        ("theirs.py", "names no object: write env:VENV/bin/python:module:object"),
    ],
)
def test_what_cannot_be_loaded_or_called_there_is_named(python: Path, what: str, message: str) -> None:
    with pytest.raises(AuditError, match=message):
        scores(f"env:{python}:{what}")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "absent/bin/python",
            "cannot start absent/bin/python: No such file or directory; give the Python of",
        ),
        ("theirs.py", "cannot start theirs.py: "),
        ("/bin/false", "/bin/false ended with status 1 before it loaded theirs.py:overlap: is it the Python"),
    ],
)
def test_an_environment_without_python(program: str, message: str) -> None:
    with pytest.raises(AuditError, match=message):
        scores(f"env:{program}:theirs.py:overlap")


def test_a_process_that_dies_ends_the_command_with_2(python: Path, folder: Path) -> None:
    (folder / "rows.jsonl").write_text(
        "".join(f'{{"hypothesis": "{text}", "references": ["{text} now"]}}\n' for text in TEXTS)
    )
    words = ["score", "-m", f"env:{python}:theirs.py:dies", "--data", "rows.jsonl", "--cache", "none", "-q"]
    command = [sys.executable, "-c", "from assay.cli import main; main()", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "was ended by signal 9 while theirs.py:dies was scoring" in done.stderr.splitlines()[-1]


def test_scores_are_kept_only_if_declared_pure(python: Path, folder: Path) -> None:
    spec = f"env:{python}:theirs.py:overlap"
    metric = measure(spec).metric
    assert not metric.cacheable
    assert "reads the state of an object in another environment" in str(metric.anew)
    pure = measure(f"{spec}:pure=true").metric
    assert pure.cacheable
    (folder / "theirs.py").write_text(FILE + "\n# another version\n")
    assert measure(f"{spec}:pure=true").metric.signature != pure.signature


def test_an_object_that_changed_is_not_loaded_a_second_time(python: Path, folder: Path) -> None:
    load, words = Remote.load(str(python), "theirs.py", "overlap", {}).__reduce__()
    assert load(*words)("a b", "a c") == pytest.approx(1 / 3)
    (folder / "theirs.py").write_text(FILE + "\n# another version\n")
    with pytest.raises(AuditError, match="was changed during the run; start it again"):
        load(*words)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("where", ["mine.py", "mine"])
@pytest.mark.parametrize("changed", ["mine.py", "helper.py"])
def test_a_change_at_the_same_time_and_size_is_seen(
    python: Path, where: str, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python would take the bytecode of the version before for current, there as here."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    Path("rows.csv").write_text("hypothesis,references\na cat,a dog\n")
    Path("helper.py").write_text("UNIT = 1\n")
    Path("mine.py").write_text("import helper\ndef metric(hypothesis, reference): return 1 * helper.UNIT\n")
    for interpreter in (python, sys.executable):
        subprocess.run([interpreter, "-m", "py_compile", "mine.py", "helper.py"], check=True)
    before = Path(changed).stat()
    Path(changed).write_text(Path(changed).read_text().replace("1", "2"))
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert Remote.load(str(python), where, "metric", {})("a", "a") == 2
    words = ["score", "-m", f"{where}:metric:check=false", "--data", "rows.csv", "--cache", "none", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "assay", *words], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1:] == ["rows-0,2.0"], done


def test_the_process_ends_with_the_object(python: Path, folder: Path) -> None:
    remote = Remote.load(str(python), "theirs.py", "overlap", {})
    process = remote._environment._process
    assert process.poll() is None
    del remote
    assert process.wait(timeout=60) == 0


@pytest.mark.usefixtures("folder")
def test_an_audit_takes_it(python: Path) -> None:
    run = assay.run(
        "repetition", [f"theirs=env:{python}:theirs.py:Scorer:pure=true"], limit=12,
        session=Session.open(cache=None, workers=2),
    )  # fmt: skip
    assert run.metrics == ["theirs"]
    assert run.findings.height
