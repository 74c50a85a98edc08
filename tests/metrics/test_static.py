"""Static embeddings: a tiny vocabulary with vectors chosen by hand, and transport against linear programming."""

import math

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from assay.core import Sample
from assay.errors import WeightsError
from assay.metrics.static import (
    EmbeddingAverage,
    GreedyMatching,
    RelaxedWordMovers,
    SentenceMovers,
    VectorExtrema,
    WordMovers,
)
from assay.models.vectors import _embeddings, embeddings

VECTORS = {"east": (1, 0), "west": (-1, 0), "north": (0, 1), "far": (3, 4), "near": (1, 1), "low": (0.5, -2)}


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    np.save(folder / "vectors.npy", np.array(list(VECTORS.values()), dtype=np.float32))
    polars.DataFrame({"index": list(VECTORS)}).write_parquet(folder / "words.parquet")
    return str(folder)


def linear_program(mine, theirs):
    """The transport problem, spelled out."""
    p, q = ([words.count(word) / len(words) for word in dict.fromkeys(words)] for words in (mine, theirs))
    left, right = (
        np.array([VECTORS[word] for word in dict.fromkeys(words)], float) for words in (mine, theirs)
    )
    costs = np.linalg.norm(left[:, None] - right[None], axis=2)
    rows = np.kron(np.eye(len(p)), np.ones(len(q)))
    columns = np.kron(np.ones(len(p)), np.eye(len(q)))
    return linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=[*p, *q], method="highs").fun


WORDS = st.lists(st.sampled_from(list(VECTORS)), min_size=1, max_size=8)


@given(mine=WORDS, theirs=WORDS)
@settings(max_examples=80, deadline=None)
def test_wmd_is_the_linear_programs_optimum(model, mine, theirs):
    sample = Sample(" ".join(mine), (" ".join(theirs),))
    exact = WordMovers(model=model).score([sample]).values[0]
    assert -exact == pytest.approx(linear_program(mine, theirs), abs=1e-7)  # the solver's own tolerance
    relaxed = RelaxedWordMovers(model=model).score([sample]).values[0]
    assert relaxed >= exact - 1e-9


@given(mine=WORDS, theirs=WORDS)
@settings(max_examples=60, deadline=None)
def test_wmd_is_pots(model, mine, theirs):
    import ot

    p, q = ([words.count(word) / len(words) for word in VECTORS] for words in (mine, theirs))
    points = np.array(list(VECTORS.values()), float)
    expected = ot.emd2(p, q, np.linalg.norm(points[:, None] - points[None], axis=2))
    found = WordMovers(model=model).score([Sample(" ".join(mine), (" ".join(theirs),))]).values[0]
    assert -found == pytest.approx(expected, abs=1e-9)


def test_by_hand(model):
    sample = [Sample("east north", ("east far",))]
    assert WordMovers(model=model).score(sample).values == [pytest.approx(-math.hypot(3, 3) / 2)]
    assert EmbeddingAverage(model=model).score(sample).values == [
        pytest.approx((4 + 4) / (math.sqrt(2) * math.sqrt(32)))
    ]
    # Extrema of (1,0),(0,1) are (1,1); of (1,0),(3,4) they are (3,4).
    assert VectorExtrema(model=model).score(sample).values == [pytest.approx(7 / (math.sqrt(2) * 5))]
    # east-east 1, north-far 0.8; back: east 1, far-north 0.8.
    assert GreedyMatching(model=model).score(sample).values == [pytest.approx(0.9)]


def test_extrema_keep_the_sign(model):
    assert VectorExtrema(model=model).score([Sample("west north", ("west north",))]).values == [
        pytest.approx(1)
    ]
    # Extrema of north and low: x 0.5, y -2.
    value = VectorExtrema(model=model).score([Sample("north low", ("low",))]).values
    assert value == [pytest.approx(1)]


def test_sentence_movers_by_hand(model):
    # Sentences (1,0) with weight 1/2 and (0,1) with 1/2, against (1,0): half of the mass moves sqrt(2).
    value = SentenceMovers(model=model).score([Sample("East. North.", ("east east",))]).values
    assert value == [pytest.approx(math.exp(-math.sqrt(2) / 2))]


@pytest.mark.parametrize(
    "kind", [EmbeddingAverage, VectorExtrema, GreedyMatching, WordMovers, RelaxedWordMovers, SentenceMovers]
)
def test_unknown_words_are_counted_and_absence_is_absence(kind, model):
    samples = [
        Sample("east zzz", ("east", "qqq qqq")),
        Sample("zzz", ("east",)),
        Sample("east", ("zzz",)),
        Sample("", ("east",)),
    ]
    scores = kind(model=model).score(samples)
    best = {"wmd": 0.0, "wmd-relaxed": 0.0}.get(kind.name, 1.0)
    assert scores.values == [pytest.approx(best), None, None, None]
    assert scores.notes == {"out_of_vocabulary": [3, 1, 1, 0]}


@pytest.mark.parametrize("kind", [EmbeddingAverage, VectorExtrema])
def test_grid_is_pair_by_pair(kind, model):
    rows, columns = ["east", "far near", "zzz"], ["north", "west low", "east north far"]
    metric = kind(model=model)
    grid = metric.grid(rows, columns)
    for at, row in enumerate(rows):
        values = metric.score([Sample(row, (column,)) for column in columns]).values
        np.testing.assert_allclose(grid[at], np.array(values, dtype=float), atol=1e-12)


def test_explanation_is_the_matching(model):
    found = GreedyMatching(model=model).explain(Sample("east zzz", ("far north",)))
    assert (found.rows, found.columns) == (("east",), ("far", "north"))
    np.testing.assert_allclose(found.values, [[0.6, 0.0]], atol=1e-12)


def test_a_wrong_folder_says_what_is_expected(tmp_path):
    (tmp_path / "one.npy").write_bytes(b"")
    with pytest.raises(WeightsError, match=r"one \.npy of vectors and one \.parquet"):
        embeddings(str(tmp_path))


def binary(words, *, breaks):
    """word2vec's binary format; some writers end each row with a line break."""
    rows = [
        f"{word} ".encode() + np.array(v, dtype="<f4").tobytes() + b"\n" * breaks for word, v in words.items()
    ]
    return f"{len(words)} 2\n".encode() + b"".join(rows)


def text(words, *, header):
    head = f"{len(words)} 2\n" if header else ""
    return (head + "".join(f"{word} {x} {y}\n" for word, (x, y) in words.items())).encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.txt", text(VECTORS, header=False)),
        ("wiki.vec", text(VECTORS, header=True)),
        ("news.bin", binary(VECTORS, breaks=False)),
        ("news.bin", binary(VECTORS, breaks=True)),
    ],
)
def test_published_formats_score_as_the_folder_does(model, tmp_path, monkeypatch, name, content):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / name).write_bytes(content)
    sample = Sample("east far", ("near north low",))
    for metric in (WordMovers, EmbeddingAverage, VectorExtrema):
        expected = metric(model=model).score([sample]).values[0]
        found = metric(model=str(tmp_path / name))
        assert found.score([sample]).values[0] == pytest.approx(expected, abs=1e-6)
        assert found.signature != metric(model=model).signature
    _embeddings.cache_clear()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("glove.txt", b"east 1 0\nwest 1\n", r"glove\.txt, line 2: not a word with 2 numbers"),
        ("glove.txt", b"", r"glove\.txt holds no word vectors; fetch it again"),
        ("notes.txt", b"This is a text.\nNothing else.\n", r"notes\.txt, line 1: not a word with 3 numbers"),
        (
            "news.bin",
            binary(VECTORS, breaks=False)[:-5],
            r"news\.bin ends after 5 of 6 words; fetch it again",
        ),
        ("news.bin", b"PK\x03\x04 model", r"news\.bin is no binary file of word2vec"),
        ("data.csv", b"a,b", r"data\.csv is no file of word vectors; give a \.txt, \.vec or \.bin"),
    ],
)
def test_damaged_files_of_vectors_are_named(tmp_path, monkeypatch, name, content, problem):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WeightsError, match=problem):
        embeddings(str(tmp_path / name))


def test_a_folder_with_two_files_of_vectors_is_refused(tmp_path):
    for name in ("one.txt", "two.vec"):
        (tmp_path / name).write_bytes(text(VECTORS, header=False))
    with pytest.raises(WeightsError, match=r"several files of vectors: one\.txt, two\.vec; give one of them"):
        embeddings(str(tmp_path))
