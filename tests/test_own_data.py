"""The user's data from file to answer: which audits use it, tables of any library, metrics of any library."""

from __future__ import annotations

import csv
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.api.pipeline import choose_audits, make_audit
from assay.datasets.columns import as_data
from assay.datasets.rows import read_rows
from assay.engine.session import Session
from assay.errors import DataError, MetricError, SpecError
from assay.names.registry import names

SUBJECTS = ("The council", "A farmer", "The old bridge", "Two students", "The new museum")
VERBS = ("closed", "opened", "repaired", "visited", "sold", "painted", "measured")


def outputs() -> list[dict[str, Any]]:
    """Fifty summaries under the names of another tool, twenty of them rated by how much they kept."""
    chance = random.Random(3)
    rows = []
    for n in range(50):
        reference = f"{SUBJECTS[n % 5]} {VERBS[n % 7]} the market in {1950 + n} after {n + 2} years of talks."
        quality = chance.random()
        summary = " ".join(word for word in reference.split() if chance.random() < 0.3 + 0.7 * quality)
        article = f"{reference} People in the town had waited for it. {reference} Report number {n}."
        row = {"id": f"n{n}", "article": article, "summary": summary or "Nothing.", "reference": reference}
        rows.append({**row, "rating": round(1 + 4 * quality, 1) if n < 20 else None})
    return rows


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "outputs.csv"
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(outputs()[0]))
        writer.writeheader()
        writer.writerows(outputs())
    return path


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "assay", *words], cwd=cwd, capture_output=True, text=True)


def fast() -> Session:
    return Session.open(cache=None)


# --- which audit uses what ---


def test_an_audit_uses_the_file_where_it_fits(table: Path) -> None:
    only = ("human", "repetition", "copy-source", "checklist", "stereotype", "caption")
    audits = choose_audits(only, "quick", {"data": (table,)})
    used = {name for name, audit in audits.items() if audit.data}
    assert used == {"human", "repetition", "copy-source", "checklist"}
    every = choose_audits((), "quick", {"data": str(table)})
    assert "human" in every
    assert "attack" not in every  # a search is left out at size quick, whatever the data
    assert "human" not in choose_audits((), "quick", {})


def test_pairs_go_to_the_stereotype_audit_alone(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("left,right,reference\nHe ran.,She ran.,They ran.\n")
    columns = "stereotype=left,anti_stereotype=right"
    audits = choose_audits(("stereotype", "stress", "human"), "quick", {"data": (pairs,), "map": columns})
    assert {name for name, audit in audits.items() if audit.data} == {"stereotype"}


def test_two_files_go_to_their_own_audits(table: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"stereotype": "He ran.", "anti_stereotype": "She ran.", "reference": "They ran."}\n')
    audits = choose_audits(("stereotype", "human"), "quick", {"data": [str(table), pairs]})
    assert {name: [path.name for path in audit.data] for name, audit in audits.items()} == {
        "stereotype": ["pairs.jsonl"],
        "human": ["outputs.csv"],
    }


def test_a_file_that_no_audit_can_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("id,words\n1,abc\n")
    with pytest.raises(DataError, match=r"no audit of this run can use .* columns id, words; .*--map FIELD="):
        choose_audits((), "quick", {"data": (path,)})
    with pytest.raises(SpecError, match="--map names columns of a file"):
        choose_audits((), "quick", {"map": "hypothesis=x"})


def test_an_audit_without_cases_in_the_file_takes_embedded_data(table: Path) -> None:
    only = ("position", "repetition")  # the references are too short for three positions
    done = assay.audit(["bleu"], only=only, data=table, session=fast())
    slices = set(done.findings.filter(pl.col("audit") == "position")["slice"])
    assert slices
    assert not any(name.startswith("outputs") for name in slices)
    assert any(note.startswith("position takes embedded data: ") for note in done.notes)
    assert done.whose == (
        "Your data: 50 of 50 rows of outputs.csv, used by repetition; English texts that come with assay used by position"
    )
    assert "outputs.csv: the clean texts are its 50 hypotheses, one for each input" in done.notes
    task = "outputs.csv: task summarisation, by its columns (--task changes it)"
    assert task in done.notes
    columns = "outputs.csv: summary is read as hypothesis, article is read as source, rating is read as human"
    assert f"{columns}; --map FIELD=COLUMN changes it" in done.notes


def test_a_table_goes_from_file_to_answer_in_one_command(table: Path) -> None:
    words = ("-m", "bleu", "-m", "chrf", "--data", "outputs.csv", "--cache", "none")
    done = command(
        "audit", "--only", "human", "--only", "copy-source", "--only", "caption", *words, cwd=table.parent
    )
    assert done.returncode == 0, done.stderr
    note = "summary is read as hypothesis, article is read as source, rating is read as human"
    assert note in done.stderr
    whose = "Your data: 50 of 50 rows of outputs.csv, used by human and copy-source; English texts that come with assay used by "
    assert done.stdout.splitlines()[0] == f"{whose}caption."
    answer = done.stdout.split("agreement with people: example/overall\n")[1].splitlines()
    assert answer[0].split() == ["metric", "right", "order", "95%", "CI", "n", "tied", "with", "verdict"]
    ranked = {line.split()[0]: float(line.split()[1]) for line in answer[1:4]}
    assert set(ranked) == {"bleu", "chrf", "sentinel-length"}
    assert list(ranked.values()) == sorted(ranked.values(), reverse=True)
    assert any(line.startswith("- example/overall: best is ") for line in answer)
    report = json.loads((table.parent / "assay-run" / "run.json").read_text("utf-8"))
    assert len(report["data"]) == 1


def test_the_answer_about_agreement_stands_first(table: Path) -> None:
    words = ("run", "human", "-m", "bleu", "-m", "chrf", "--data", "outputs.csv", "--cache", "none")
    done = command(*words, cwd=table.parent)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Your data: 50 of 50 rows of outputs.csv, used by human."
    assert lines[1] == "agreement with people: example/overall"
    assert lines[-1].startswith("- example/overall: best is ")
    assert len(lines) == 7
    document = json.loads(command(*words, "--json", cwd=table.parent).stdout)
    rows = {row["metric"]: row for row in document["findings"] if row["statistic"] == "agreement_order"}
    shown = {line.split()[0]: line.split()[1] for line in lines[3:6]}
    assert shown == {metric: f"{rows[metric]['value']:.1f}" for metric in shown}


BAD = "summary;reference;rating\none two;one;3\nthree four;three;4\n"


@pytest.mark.parametrize(
    ("text", "columns", "problem", "way"),
    [
        (BAD + "five six,five,2\n", "", "line 4: separated by commas, but the header by semicolons, so that column "
         "'reference' has no cell", "use one separator throughout"),
        (BAD + "five six;five\n", "", "line 4: not as many cells as the header has columns: 2 cells, but the header "
         "has 3 columns", "column 'rating' has none; write a separator for an empty cell, too"),
        (BAD + "five; six;five;2\n", "", "line 4: 4 cells, but the header has 3 columns",
         "put cells that hold semicolons in double quotes: column 'rating' is the last"),
        (BAD + "five six;five;good\n", "", "line 4: column 'rating' (read as human): human rating of 'overall' must "
         "be a number, not 'good'", "or leave the column out with --map human="),
        (BAD, "hypothesis=sumary", "line 1: --map hypothesis=sumary: there is no column 'sumary', only summary, "
         "reference, rating", "Write --map hypothesis=summary"),
        (BAD.replace("reference", "output"), "", "line 1: columns 'summary' and 'output' may both be hypothesis",
         "choose: --map hypothesis=summary,human=rating or --map hypothesis=output,human=rating"),
        (BAD.replace("reference", "picture"), "image=picture", "line 2: column 'picture' (read "
         "as image): image 'one' is missing", "put it beside the file or use --skip-missing"),
    ],
)  # fmt: skip
def test_bad_input_exits_2_with_its_place_and_a_way_out(
    text: str, columns: str, problem: str, way: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.csv").write_text(text)
    words = ("run", "human", "-m", "bleu", "--data", "bad.csv", *(("--map", columns) if columns else ()))
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("assay: bad.csv")
    assert problem in done.stderr
    assert way in done.stderr


def test_score_and_perturb_take_a_map(table: Path) -> None:
    columns = ("--data", "outputs.csv", "--map", "hypothesis=reference,references=summary,source=article")
    done = command("score", "-m", "bleu", *columns, "--limit", "2", cwd=table.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "id,bleu"
    done = command(
        "perturb", "truncation:level=0.5", "--data", "outputs.csv", "--map", "gold=summary", cwd=table.parent
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 50


def test_ratings_and_scores_of_metrics_in_one_file(table: Path) -> None:
    from assay.metrics.ngram import Chrf

    texts = [assay.Sample(row["summary"], (row["reference"],)) for row in outputs()]
    rows = [row | {"mine": score} for row, score in zip(outputs(), Chrf().score(texts), strict=True)]
    expected = assay.run("human", "chrf", data=rows, session=fast()).findings
    rows[3]["mine"] = None
    rows[3]["rating"] = None
    frame = pytest.importorskip("pandas").DataFrame(rows)
    done = assay.run("human", data=frame, scores_from=["mine"], session=fast())
    assert done.metrics == ["mine"]
    values = [run.filter((pl.col("statistic") == "spearman") & (pl.col("metric") == name))["value"][0]
              for run, name in ((expected, "chrf"), (done.findings, "mine"))]  # fmt: skip
    assert abs(values[0] - values[1]) < 0.1
    with (table.parent / "scored.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    words = ("run", "human", "--data", "scored.csv", "--scores-from", "mine", "--cache", "none")
    told = command(*words, cwd=table.parent)
    assert told.returncode == 0, told.stderr
    assert "best is mine" in told.stdout
    told = command(*words[:-3], "mime", *words[-2:], cwd=table.parent)
    assert told.returncode == 2
    assert "there is no column 'mime' beside its texts and ratings; did you mean mine?" in told.stderr


def test_systems_may_share_the_ids_of_their_inputs() -> None:
    rows = [{"id": n, "system": system, "output": f"{system} says {n}", "target": f"text {n}", "rating": n % 3 + (system == "a")}
            for n in range(8) for system in "ab"]  # fmt: skip
    scored = assay.score("chrf", data=rows, session=fast())
    assert scored.height == 16
    assert set(assay.run("human", "chrf", data=rows, session=fast()).cases["case"]) == {
        f"{s}/{n}" for n in range(8) for s in "ab"
    }
    with pytest.raises(DataError, match="id '0' is in more than one row"):
        assay.score("chrf", data=[*rows, rows[0]], session=fast())


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_row_without_a_text_is_named(nothing: Any) -> None:
    frame = {"summary": ["a b", nothing], "reference": ["a b", "c d"]}
    with pytest.raises(
        DataError, match=r"data, row 2: column 'summary' \(read as hypothesis\) has no value \(None or NaN\)"
    ):
        assay.score("chrf", data=frame, session=fast())
    with pytest.raises(DataError, match=r"hypotheses, row 2: (None|nan) is no text"):
        assay.score("chrf", ["a b", nothing], ["a b", "c d"], session=fast())
    with pytest.raises(DataError, match=r"references, row 1: \[(None|nan)\] is no text"):
        assay.score("chrf", ["a b", "c"], [[nothing], "c d"], session=fast())


# --- tables of any library ---


class Dataset:
    """The interface of a Hugging Face dataset that assay relies on: column names and records."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.column_names = list(rows[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)


def frames() -> dict[str, Any]:
    rows = outputs()
    return {
        "records": rows,
        "columns": {name: [row[name] for row in rows] for name in rows[0]},
        "pandas": pytest.importorskip("pandas").DataFrame(rows),
        "polars": pl.DataFrame(rows),
        "lazy": pl.LazyFrame(rows),
        "arrow": pl.DataFrame(rows).to_arrow(),
        "dataset": Dataset(rows),
    }


def answer(name: str, data: Any) -> bytes:
    """Everything a run holds but its times."""
    done = assay.run(name, ["bleu", "chrf"], data=data, limit=20, session=fast())
    tables = [table.write_json() for table in (done.findings, done.cases, done.scores)]
    return "\n".join([*tables, *done.notes, json.dumps(done.about["data"])]).encode()


@pytest.mark.parametrize("name", ["human", "repetition", "copy-source"])
def test_tables_of_all_libraries_give_equal_bytes(name: str) -> None:
    answers = {kind: answer(name, table) for kind, table in frames().items()}
    assert len(answers["records"]) > 1000
    assert [kind for kind in answers if answers[kind] != answers["records"]] == []


def test_paths_give_what_tables_give(table: Path, tmp_path: Path) -> None:
    same = tmp_path / "data.csv"  # rows without id are named by the file
    same.write_bytes(table.read_bytes())
    expected = assay.run("human", "bleu", data=outputs(), session=fast()).findings
    for given in (str(same), same, [str(same)], (same,)):
        assert assay.run("human", "bleu", data=given, session=fast()).findings.equals(expected)


def test_gaps_and_whole_numbers_are_alike_everywhere() -> None:
    rows = [{"output": "a", "human": {"x": [1, 2]}, "n": 3}, {"output": "b", "human": None, "n": None}]
    tables = (rows, pytest.importorskip("pandas").DataFrame(rows), pl.DataFrame(rows))
    read = [[row.values for row in read_rows(as_data(table)[0])] for table in tables]
    assert read == [[{"output": "a", "human": {"x": [1, 2]}, "n": 3}, {"output": "b"}]] * 3


def test_every_audit_takes_a_frame() -> None:
    frame = pl.DataFrame(outputs())
    for name in names("audits"):
        audit = make_audit(name, {"data": frame, "map": "hypothesis=summary"}, strict=False)
        assert [str(path) for path in audit.data] == ["data"], name


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "cannot read int; give a path"),
        ([1, 2], "cannot read int"),
        ({"a": [1], "b": [1, 2]}, "not of one length"),
        ({"train": Dataset([{"a": 1}])}, "a dataset with the splits train; give one of them"),
    ],
)
def test_other_objects_are_refused(data: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_data(data)


# --- scores and metrics ---


def test_score_takes_texts_samples_and_data() -> None:
    texts, references = ["a b c d", "e f g h"], ["a b c x", ["e f g h", "e f"]]
    samples = [assay.Sample("a b c d", ("a b c x",)), assay.Sample("e f g h", ("e f g h", "e f"))]
    records = [{"mt": text, "ref": refs} for text, refs in zip(texts, references, strict=True)]
    expected = assay.score(["bleu", "chrf"], samples, session=fast())
    assert expected["chrf"][1] == 100.0
    assert assay.score(["bleu", "chrf"], texts, references, session=fast()).equals(expected)
    assert assay.score(["bleu", "chrf"], data=records, session=fast()).equals(expected)
    assert assay.score(["bleu", "chrf"], records, session=fast()).equals(expected)
    assert assay.score("chrf", "e f g h", ["e f g h"], session=fast())["chrf"].to_list() == [100.0]
    with pytest.raises(DataError, match="2 hypotheses, 1 references: give one of each"):
        assay.score(["bleu"], texts, references[:1])
    with pytest.raises(SpecError, match="score needs texts"):
        assay.score(["bleu"])


class Evaluate(ModuleType):
    """`evaluate.load` and its modules: one dictionary per corpus."""

    class Rouge:
        name = "rouge"

        def compute(self, *, predictions: list[str], references: list[list[str]]) -> dict[str, float]:
            assert len(predictions) == len(references) == 1
            words = set(predictions[0].split()) & set(references[0][0].split())
            return {"rouge1": 0.25, "rougeL": len(words) / len(references[0][0].split())}

    def load(self, name: str) -> Rouge:
        return self.Rouge()


class TorchMetrics(ModuleType):
    """A metric of torchmetrics: it averages over what it was shown since the last reset."""

    class CHRFScore:
        higher_is_better = True

        def __init__(self) -> None:
            self.values: list[float] = []

        def reset(self) -> None:
            self.values = []

        def update(self, preds: list[str], target: list[list[str]]) -> None:
            self.values += [
                0.5 if text in refs else 1 / len(refs[0]) for text, refs in zip(preds, target, strict=True)
            ]

        def compute(self) -> np.ndarray:
            return np.asarray(sum(self.values) / len(self.values))

        def __call__(self, *given: object) -> float:
            raise AssertionError("forward() would add to the average")


class Comet(ModuleType):
    """A COMET model: dictionaries in, an object with `scores` out."""

    class Model:
        def requires_references(self) -> bool:
            return True

        def predict(self, samples: list[dict[str, str]], batch_size: int, gpus: int) -> SimpleNamespace:
            assert all(set(row) == {"mt", "ref", "src"} for row in samples)
            return SimpleNamespace(scores=[len(row["src"]) / 100 for row in samples])

    def download_model(self, name: str) -> str:
        return name

    def load_from_checkpoint(self, path: str) -> Model:
        return self.Model()


class SentenceTransformers(ModuleType):
    """A cross-encoder: pairs in, an array out."""

    class CrossEncoder:
        def __init__(self, name: str) -> None:
            self.name = name

        def rank(self) -> None: ...

        def predict(self, pairs: list[tuple[str, str]]) -> np.ndarray:
            return np.array([len(set(a.split()) & set(b.split())) for a, b in pairs], dtype=np.float32)


LOOK_ALIKES = {
    "evaluate": Evaluate,
    "torchmetrics.text": TorchMetrics,
    "comet": Comet,
    "sentence_transformers": SentenceTransformers,
}
PAGE = Path(__file__).parents[1] / "docs" / "own-data.md"
RECIPES = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda text: re.findall(r"(?:import|from) (\w+)", text)[-1])
def test_recipes_of_the_docs_run(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(recipe.strip().splitlines()) <= 12
    for name in LOOK_ALIKES:
        module = LOOK_ALIKES[name](name)
        monkeypatch.setitem(sys.modules, name.split(".")[0], module)
        monkeypatch.setitem(sys.modules, name, module)
    exec(compile(recipe, str(PAGE), "exec"), {})


def test_each_text_of_a_foreign_metric_has_a_score_of_its_own() -> None:
    texts, refs = ["one two", "three"], [["one two", "x"], ["abcd"]]
    torch = assay.wrap(TorchMetrics.CHRFScore(), name="torch")
    assert assay.score([torch], texts, refs)["torch"].to_list() == [0.5, 0.25]
    rouge = assay.wrap(Evaluate.Rouge(), output="rougeL")
    assert assay.score([rouge], texts, [["one x"], ["three"]])["rouge"].to_list() == [0.5, 1.0]
    pairs = assay.wrap(SentenceTransformers.CrossEncoder("m"), name="pairs")
    assert assay.score([pairs], texts, [["one", "one two"], ["no"]])["pairs"].to_list() == [2.0, 0.0]
    sourced = assay.wrap(SentenceTransformers.CrossEncoder("m"), name="sourced", needs=["source"])
    assert assay.score([sourced], texts, refs, ["two", "one two three"])["sourced"].to_list() == [1.0, 1.0]
    comet = assay.wrap(Comet.Model(), name="comet")
    assert comet.needs == {"references", "source"}
    assert assay.score([comet], texts, ["a", "b"], ["x" * 10, "x" * 20])["comet"].to_list() == [0.1, 0.2]


def test_sacrebleus_own_scores_come_through() -> None:
    from sacrebleu.metrics import BLEU, TER

    text, refs = "the cat sat on a mat", ["the cat sat on the mat"]
    scores = assay.score([assay.wrap(BLEU(effective_order=True)), assay.wrap(TER())], [text], [refs])
    assert scores["BLEU"][0] == BLEU(effective_order=True).sentence_score(text, refs).score
    assert scores["TER"][0] == -TER().sentence_score(text, refs).score


def test_an_object_is_a_metric_of_a_run_as_it_is(table: Path) -> None:
    from sacrebleu.metrics import CHRF

    done = assay.run("repetition", [CHRF()], data=table, limit=12, session=fast())
    assert done.metrics == ["CHRF"]


def test_several_numbers_ask_for_an_output() -> None:
    with pytest.raises(MetricError, match="r returns rouge1, rougeL; choose one: output="):
        assay.score([assay.wrap(Evaluate.Rouge(), name="r")], ["a"], ["b"])
    with pytest.raises(SpecError, match="object is no metric assay knows how to call"):
        assay.wrap(object())
