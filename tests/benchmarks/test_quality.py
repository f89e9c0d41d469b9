"""The comparison of predictions: what it plays, what it skips, what it writes, and that nobody sees a label early."""

import gzip
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from aioli.numerics.compiling import Matrix, Vector
from benchmarks import methods, progressive, quality
from benchmarks.late_labels import Contender, Stream, play_late
from benchmarks.methods import METHODS, Announced, Method, choose_methods
from benchmarks.online_contenders import TREES, Blocks, Refitted, announced_in_time
from benchmarks.promises import Promise, promise_lines, promises_of
from benchmarks.real_streams import SkippedStreamError, load_stream, stream_names
from benchmarks.results import Result, read_results

CHEAP = "aioli,tuned-sgd,tuned-ekf"
ROWS = 60


def made(rng: np.random.Generator, rows: int = ROWS, columns: int = 3) -> tuple[Matrix, Vector]:
    X = rng.normal(size=(rows, columns)) * np.array([0.1, 1.0, 30.0])[:columns] + 2.0
    y: Vector = (X[:, 1] - 2.0 + rng.logistic(size=rows) > 0.0).astype(np.float64)
    return X, y


def as_csv(X: Matrix, y: Vector) -> str:
    lines = [",".join([*map(repr, map(float, x)), str(int(label))]) for x, label in zip(X, y, strict=True)]
    return "\n".join([",".join(f"x{j}" for j in range(X.shape[1])) + ",y", *lines]) + "\n"


def as_svm(X: Matrix, y: Vector) -> str:
    lines = [
        " ".join(["+1" if label else "-1", *(f"{j}:{float(v)!r}" for j, v in enumerate(x, 1) if v)])
        for x, label in zip(X, y, strict=True)
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "streams"
    place.mkdir()
    X, y = made(np.random.default_rng(0))
    (place / "plain.csv").write_text(as_csv(X, y))
    with gzip.open(place / "thin.svm.gz", "wt") as file:
        file.write(as_svm(np.where(X > 2.0, X, 0.0), y))
    return place


def run(folder: Path, out: Path, *arguments: str) -> list[Result]:
    quality.main(["--streams", str(folder), "--out", str(out), "--processes", "1", "--no-promises", *arguments])
    return read_results(out / "results.csv")


# ---- a run


def test_a_run_writes_a_line_a_stream_and_method_a_table_and_a_figure(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    results = run(folder, out, "--methods", CHEAP)
    assert {(r.stream, r.method) for r in results} == {(s, m) for s in ("plain", "thin") for m in CHEAP.split(",")}
    assert all(r.finished and r.rows == ROWS and r.columns == 3 for r in results)
    table = (out / "table.md").read_text(encoding="utf-8")
    assert "| plain | 60 | 3 |" in table
    assert "| thin | 60 | 3 |" in table
    assert (out / "quality.png").read_bytes().startswith(b"\x89PNG")


def test_two_processes_find_what_one_finds(folder: Path, tmp_path: Path) -> None:
    alone = run(folder, tmp_path / "alone", "--methods", "aioli", "--only", "plain")
    together = run(folder, tmp_path / "together", "--methods", "aioli", "--only", "plain", "--processes", "2")
    assert [(r.method, r.log_loss, r.ece) for r in alone] == [(r.method, r.log_loss, r.ece) for r in together]


def test_a_run_goes_on_where_the_last_one_stopped(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    before = run(folder, out, "--methods", "aioli", "--only", "plain")
    played: list[tuple[str, str]] = []
    play = progressive.play

    def watched(task: progressive.Task) -> Result:
        played.append((task.stream, task.method))
        return play(task)

    monkeypatch.setattr(progressive, "play", watched)
    after = run(folder, out, "--methods", "aioli,tuned-sgd")
    assert after[0] == before[0]
    assert set(played) == {("plain", "tuned-sgd"), ("thin", "aioli"), ("thin", "tuned-sgd")}
    played.clear()
    run(folder, out, "--redo", "tuned-sgd")
    assert set(played) == {("plain", "tuned-sgd"), ("thin", "tuned-sgd")}
    played.clear()
    fewer = run(folder, out, "--methods", "aioli", "--rows", "50")
    assert played == [("plain", "aioli"), ("thin", "aioli")]
    assert {r.rows for r in fewer if r.method == "aioli"} == {50}
    played.clear()
    assert len(run(folder, out, "--methods", "aioli", "--fresh")) == len(played) == 2


def test_a_peer_that_takes_too_long_is_recorded_as_not_finished(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (result,) = run(folder, out, "--methods", "sklearn-sgd", "--only", "plain", "--peer-seconds", "0")
    assert not result.finished
    assert result.note == "not finished: 1 rows in the time given"
    assert result.note in (out / "table.md").read_text(encoding="utf-8")


def test_a_method_that_fails_does_not_end_the_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(X: Matrix, y: Vector) -> Announced:  # noqa: ARG001  (a contender's signature)
        raise ValueError("no such luck")

    monkeypatch.setitem(METHODS, "vw", Method("vw", "untuned", broken, "aioli"))
    results = run(folder, tmp_path / "out", "--methods", "vw,tuned-sgd", "--only", "plain")
    notes = {r.method: r.note for r in results if not r.finished}
    assert notes == {"vw": "failed: ValueError: no such luck"}
    assert [r.method for r in results if r.finished] == ["tuned-sgd"]


def test_an_unknown_method_or_stream_is_refused_by_name(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no method or family is called adam"):
        run(folder, tmp_path / "out", "--methods", "adam")
    with pytest.raises(SystemExit, match="no stream called nowhere"):
        run(folder, tmp_path / "out", "--only", "nowhere")


# ---- streams


def test_files_before_encoding_are_no_streams_and_wide_or_many_class_streams_are_skipped(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], rng: np.random.Generator
) -> None:
    for name in ("plain.mixed.csv.gz", "thin.text.csv.gz", "thin.features.tsv.gz", "INDEX.md"):
        (folder / name).write_bytes(b"")
    X, y = made(rng)
    y[-1] = 2.0  # beyond the rows that are asked for
    (folder / "three.csv").write_text(as_csv(X, y))
    (folder / "wide.svm").write_text("0 1:1\n1 701:1\n")
    assert stream_names(folder) == ["plain", "thin", "three", "wide"]
    results = run(folder, tmp_path / "out", "--methods", "tuned-sgd", "--rows", "50")
    assert {r.stream for r in results} == {"plain", "thin"}
    told = capsys.readouterr().out
    assert "three: skipped, 3 labels, not two" in told
    assert "wide: skipped, 701 columns, more than 700" in told


def test_a_stream_is_read_as_it_was_written(folder: Path, rng: np.random.Generator) -> None:
    X, y = made(rng)
    read, labels = load_stream(folder, "plain", 40)
    np.testing.assert_array_equal(read, X[:40])
    np.testing.assert_array_equal(labels, y[:40])
    read, labels = load_stream(folder, "thin", ROWS)
    np.testing.assert_array_equal(read, np.where(X > 2.0, X, 0.0))
    np.testing.assert_array_equal(labels, y)


def test_a_stream_of_one_label_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,y\n1,0\n2,0\n")
    with pytest.raises(SkippedStreamError, match="1 labels"):
        load_stream(tmp_path, "one", 10)


def test_without_a_folder_there_are_streams_that_dependencies_ship() -> None:
    X, y = load_stream(None, "iris_versicolor", 100)
    assert X.shape == (100, 4)
    assert 20 < y.sum() < 50  # a third of 150, shuffled: not the first class alone


# ---- methods


@pytest.mark.parametrize("name", [m.name for m in choose_methods(["ours", "untuned"])])
def test_no_method_sees_a_label_before_it_has_said_its_probability(name: str, rng: np.random.Generator) -> None:
    method = METHODS[name]
    if not method.available:
        pytest.skip(f"{method.needs} is not installed")
    X, y = made(rng, rows=30)
    changed = y.copy()
    changed[20:] = 1.0 - y[20:]
    said = np.array(list(method.play(X, y).probabilities))
    others = np.array(list(method.play(X, changed).probabilities))
    np.testing.assert_array_equal(said[:21], others[:21])
    assert np.any(said[21:] != others[21:])
    assert np.all((said >= 0.0) & (said <= 1.0))


@pytest.mark.parametrize("name", ["river-hat", "refitted"])
def test_learners_that_bend_see_no_label_early_in_time_or_late(name: str, rng: np.random.Generator) -> None:
    def contend(stream: Stream) -> Contender:
        return Refitted(GaussianNB, stream) if name == "refitted" else TREES[name](stream)

    GaussianNB = pytest.importorskip("sklearn.naive_bayes").GaussianNB
    pytest.importorskip("river")
    X, y = made(rng, rows=400)
    changed = y.copy()
    changed[100:] = 1.0 - y[100:]
    said, others = (np.array(list(announced_in_time(contend(Stream(X, labels)), 400))) for labels in (y, changed))
    np.testing.assert_array_equal(said[:101], others[:101])
    assert np.any(said[101:] != others[101:])
    late = [play_late(contend(Stream(X, labels)), 400, Blocks("sliding", 100)) for labels in (y, changed)]
    np.testing.assert_array_equal(late[0][:300], late[1][:300])  # the block of row 100 is learned behind row 299
    assert np.any(late[0][300:] != late[1][300:])


def test_late_labels_of_a_block_come_once_so_many_more_rows_have_come() -> None:
    turns = list(Blocks("sliding", 100).turns(250))
    assert turns == [
        (slice(0, 100), slice(0, 0)),
        (slice(100, 200), slice(0, 100)),
        (slice(200, 250), slice(100, 200)),
    ]


def test_auto_with_labels_a_block_late_is_scored_beside_its_peers(folder: Path, tmp_path: Path) -> None:
    results = run(folder, tmp_path / "out", "--methods", "auto,river-hat", "--only", "plain", "--late", "25")
    assert {r.method for r in results} == {"auto", "auto/late", "river-hat", "river-hat/late"}
    assert all(r.finished and 0.0 <= r.accuracy <= 1.0 and -1.0 <= r.kappa <= 1.0 for r in results)
    text = (tmp_path / "out" / "online.md").read_text(encoding="utf-8")
    assert "## Beside learners that bend: Cohen's kappa" in text
    assert "## Beside learners that bend, every label late: log loss" in text
    assert "labels late: auto below every streaming peer on" in text


def test_the_peers_announce_row_by_row(rng: np.random.Generator) -> None:
    X, y = made(rng)
    first = list(islice(METHODS["sklearn-sgd"].play(X, y).probabilities, 2))
    assert first[0] == 0.5
    assert len(first) == 2


# ---- scores


# ---- report


def test_methods_are_named_once_and_every_family_has_some() -> None:
    assert {method.family for method in choose_methods([])} == {"ours", "untuned", "tuned", "trees", "refitted"}
    assert all(name == method.name for name, method in methods.METHODS.items())


def test_promises_hold_on_a_small_stream() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.logistic(size=200) > 0).astype(np.float64)
    promise = promises_of("small", X, y)
    assert abs(promise.units) < 1e-6
    assert abs(promise.origins) < 1e-6
    assert promise.regret <= promise.certificate
    assert all(line.endswith("met") for line in promise_lines([promise]))
    broken = Promise("broken", 0.5, 0.5, 2.0, 1.0)
    assert all(line.endswith("missed") for line in promise_lines([promise, broken]))
