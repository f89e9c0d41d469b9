"""aioli compare: what it prints, writes and says, who leaves, and what it holds in memory."""

import importlib
import io
import json
import math
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aioli import Auto
from aioli.cli import main
from aioli.commands import compare
from aioli.commands.comparison_display import ComparisonDisplay
from aioli.evaluate.comparison import Comparison
from aioli.numerics.compiling import Matrix, Vector
from aioli.streams.synthetic import named
from aioli.streams.synthetic_stream import SyntheticStream

NAMES = ["Auto", "River", "River scaled", "VW", "VW --coin", "VW --ftrl", "sklearn SGD"]


@pytest.fixture
def libraries() -> None:
    for name in ("river", "vowpalwabbit", "sklearn"):
        pytest.importorskip(name)


def stream(rows: int) -> tuple[Matrix, Vector]:
    return named("logistic").take(rows, seed=0)


class Broken:
    """A peer who says ½ for some rows, and then does something else."""

    def __init__(self, rows: int, then: Exception | float) -> None:
        self.left, self.then, self.closed = rows, then, False

    def announce(self, X: Any, y: Vector, weights: Vector | None = None) -> Iterator[float]:  # noqa: ARG002  (a peer's signature)
        for _ in y:
            self.left -= 1
            if self.left < 0 and isinstance(self.then, Exception):
                raise self.then
            yield 0.5 if self.left >= 0 or isinstance(self.then, Exception) else self.then

    def close(self) -> None:
        self.closed = True


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("libraries")
def test_peers_are_given_a_file_as_their_own_users_would_give_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    rows: list[dict[str, Any]] = []
    for _ in range(80):
        size, colour = float(np.round(rng.normal(), 3)), ["red", "dark blue"][int(rng.integers(2))]
        rows.append({"size": size, "colour": colour, "y": bool(size + (colour == "red") + rng.logistic() > 0)})
    path = tmp_path / "rows.csv"
    path.write_text("size,colour,y\n" + "".join(f"{r['size']},{r['colour']},{int(r['y'])}\n" for r in rows))
    assert main(["compare", str(path), "--label", "y", "--learner", "AIOLI", "--peers", "river,vw", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["learners"]
    compose, prepare = (importlib.import_module(f"river.{name}") for name in ("compose", "preprocessing"))
    numbers = compose.SelectType(float) | prepare.StandardScaler()
    usual = (numbers + (compose.SelectType(str) | prepare.OneHotEncoder())) | importlib.import_module(
        "river.linear_model"
    ).LogisticRegression()
    wabbit = importlib.import_module("vowpalwabbit").Workspace("--quiet --loss_function logistic --link logistic")
    losses: dict[str, list[float]] = {"River scaled": [], "VW": []}
    for row in rows:
        x = {"size": row["size"], "colour": row["colour"]}
        p = usual.predict_proba_one(x)[True]
        usual.learn_one(x, row["y"])
        losses["River scaled"].append(-math.log(p if row["y"] else 1.0 - p))
        example = wabbit.parse(
            f"{1 if row['y'] else -1} |f size:{row['size']} colour={row['colour'].replace(' ', '_')}"
        )
        wabbit.learn(example)
        p = example.get_simplelabel_prediction()
        wabbit.finish_example(example)
        losses["VW"].append(-math.log(p if row["y"] else 1.0 - p))
    wabbit.finish()
    for name, each in losses.items():
        assert found[name]["log_loss"] == pytest.approx(np.mean(each), rel=1e-6)


# ---- what is printed and written


@pytest.mark.usefixtures("libraries")
def test_a_file_gives_tables_a_page_and_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    lines = ["colour|size: in m,weight kg,bought"]
    for t in range(90):
        size, colour = rng.normal(), ["red", "blue |:", "green"][t % 3 if t > 40 else 0]
        lines.append(f"{colour},{size:.3f},{'yes' if size + rng.logistic() > 0 else 'no'}")
    path, page, figure = tmp_path / "visits.csv", tmp_path / "page.html", tmp_path / "curves.svg"
    path.write_text("\n".join(lines) + "\n")
    assert main(["compare", str(path), "--label", "bought", "--report", str(page), "--figure", str(figure)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    first, second = out.split("\n\n")[:2]
    assert [line.split()[0] for line in first.splitlines()] == ["rows", "1", "2", "4", "8", "16", "32", "64", "90"]
    ends = dict(zip(NAMES, map(float, first.splitlines()[-1].split()[1:-1]), strict=True))
    ranked = {line[:14].strip(): float(line[14:].split()[0]) for line in second.splitlines()[1:]}
    assert ranked == dict(sorted(ends.items(), key=lambda item: item[1]))
    assert "nats" in next(line for line in second.splitlines() if line.startswith("Auto"))
    text = page.read_text()
    assert all(name in text for name in NAMES)
    assert figure.read_text().count("<path") > 10


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("ending", [".svm", ".vw"])
def test_sparse_rows_reach_everybody(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / f"words{ending}"
    with path.open("w") as file:
        for t in range(120):
            words = sorted(rng.choice(2000, size=5, replace=False) + 1)
            label = rng.random() < (0.8 if words[0] < 300 else 0.2)
            entries = " ".join(f"{word}:{1 + t % 3}" for word in words)
            weight = f" {1 + t % 2}" if ending == ".vw" else ""
            file.write(f"{1 if label else -1}{weight} {'| ' if ending == '.vw' else ''}{entries}\n")
    assert main(["compare", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"] == {}
    assert sorted(found["learners"]) == sorted(NAMES)
    assert all(math.isfinite(scores["log_loss"]) for scores in found["learners"].values())


@pytest.mark.usefixtures("libraries")
def test_a_table_of_many_categories_reaches_everybody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "clicks.csv"
    with path.open("w") as file:
        file.write("site,person,clicked\n")
        for _ in range(400):  # so many persons that rows are sparse
            file.write(f"s{rng.integers(9)},p{rng.integers(3000)},{rng.integers(2)}\n")
    assert main(["compare", str(path), "--label", "clicked", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"] == {}
    assert sorted(found["learners"]) == sorted(NAMES)


def test_a_terminal_has_a_table_that_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioli.commands.display.EVERY", 0.0)
    terminal = Terminal()
    stream = SyntheticStream("synthetic:logistic", 50, 0)
    comparison = Comparison(stream, Auto(), {"half": Broken(100, 0.5)}, turn=lambda: display.show())
    display = ComparisonDisplay(comparison, None, terminal)
    for _ in comparison.tables():
        display.show()
    display.end()
    comparison.close()
    shown = terminal.getvalue()
    assert "half" in shown
    assert "rows/s" in shown
    assert "50 rows" in shown
    drawn, wiped = shown.count("\n"), [int(part.split("A")[0]) for part in shown.split("\x1b[")[1:] if "A" in part[:3]]
    assert drawn == sum(wiped)  # every line that was drawn was taken back
    assert shown.endswith("\x1b[J")


# ---- who is not there, and who leaves


def test_a_library_that_is_not_installed_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("river.linear_model", "vowpalwabbit", "sklearn.preprocessing"):
        monkeypatch.setitem(sys.modules, module, None)
    assert main(["compare", "synthetic:logistic", "--rows", "40"]) == 0
    out, err = capsys.readouterr()
    for name, line in zip(("River", "Vowpal Wabbit", "scikit-learn"), err.splitlines(), strict=True):
        assert line == f"aioli: {name} is left out: it is not installed (pip install 'aioli-online[bench]')"
    assert "VW" not in out


@pytest.mark.parametrize(
    ("then", "sentence"),
    [
        (RuntimeError("no more\nof this"), "row 39 on: RuntimeError: no more"),  # the part after the look at 38 rows
        (math.nan, "row 41 on: it said nan, which is no probability"),
        (1.5, "row 41 on: it said 1.5, which is no probability"),
    ],
)
def test_a_peer_that_fails_is_left_out_and_the_rest_goes_on(
    then: Exception | float, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, steady = Broken(40, then), Broken(1000, 0.5)
    monkeypatch.setattr(compare, "peers_of", lambda *_: {"broken": broken, "steady": steady})
    assert main(["compare", "synthetic:logistic", "--rows", "100", "--peers", "vw", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert sorted(found["learners"]) == ["Auto", "steady"]
    assert_allclose(found["learners"]["steady"]["log_loss"], math.log(2.0))
    assert found["left_out"] == {"broken": f"broken is left out from {sentence}"}
    assert err == f"aioli: broken is left out from {sentence}\n"
    assert broken.closed
    assert steady.closed


def test_certainties_that_are_wrong_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare, "peers_of", lambda *_: {"sure": Broken(0, 1.0)})
    assert main(["compare", "synthetic:logistic", "--rows", "100", "--peers", "vw"]) == 0
    zeros = int(np.count_nonzero(stream(100)[1] == 0.0))
    assert f"sure gave the label of {zeros} rows no probability at all" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["synthetic:logistic", "--peers", "vw,torch"],
            "there are no peers called 'torch'; give some of river,vw,sklearn",
        ),
        (["synthetic:logistic", "--figure", "curves.gif"], "curves.gif: a figure ends in .png, .svg, .pdf"),
        (["synthetic:logistic", "--figure", "/nowhere/at/all.png"], "/nowhere/at/all.png: there is no folder"),
        (["synthetic:nobody"], "synthetic:nobody"),
        (["rows.csv"], "say which column is the label"),
        (["none.csv", "--label", "y", "--peers", "sklearn"], "has a header but no row"),
        (["synthetic:logistic", "--learner", "Oracle"], "there is no learner called 'Oracle'"),
        (["one.csv", "--label", "y", "--peers", ""], "every one of the 2 rows has the label '1'"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("x,y\n1,0\n2,1\n")
    Path("none.csv").write_text("x,y\n")
    Path("one.csv").write_text("x,y\n1,1\n2,1\n")
    assert main(["compare", *arguments]) == 1
    told = capsys.readouterr().err
    assert told.startswith("aioli: ")
    assert sentence in told
    assert told.count("\n") == 1


# ---- fairness and memory


def test_everybody_plays_the_same_rows_and_is_looked_at_together() -> None:
    seen: list[Matrix] = []

    class Watching(Broken):
        def announce(self, X: Any, y: Vector, weights: Vector | None = None) -> Iterator[float]:
            seen.append(X.copy())
            return super().announce(X, y, weights)

    comparison = Comparison(SyntheticStream("synthetic:logistic", 3000, 0), Auto(), {"watching": Watching(9999, 0.5)})
    for rows in comparison.tables():
        assert rows == comparison.rows
    comparison.close()
    assert_array_equal(np.concatenate(seen), stream(3000)[0])
    assert max(map(len, seen)) <= 1024
    assert comparison.history.points[-1].rows == comparison.entrants[0].scores.rows == comparison.rows == 3000
    for point in comparison.history.points:
        assert point.peers["watching"] == pytest.approx(math.log(2.0))


def test_memory_does_not_grow_with_the_rows() -> None:
    def peak(rows: int) -> int:
        comparison = Comparison(SyntheticStream("synthetic:logistic", rows, 0), Auto(), {"half": Broken(rows, 0.5)})
        tracemalloc.start()
        for _ in comparison.tables():
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        comparison.close()
        return most

    peak(5000)  # loads what is loaded once
    short, long = peak(150_000), peak(450_000)  # both behind the rows at which companions begin anew
    assert long < 1.2 * short + 100_000  # the history grows by a point for every quarter of a doubling
