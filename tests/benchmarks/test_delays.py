"""The study of late labels: who is told what when, how it is scored, and what a run writes and goes on from."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli import AIOLI, Auto
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import sigmoid_many
from benchmarks import delays
from benchmarks.delays_report import BASE_RATE, BEST_EXPERT, delays_report, games_of, summary
from benchmarks.late_contenders import CONTENDERS, SLOW, Tickets, base_rate, best_expert
from benchmarks.late_labels import IN_TIME, Delay, OutOfTimeError, Stream, delays_of, play_late
from benchmarks.results import Result, read_results
from benchmarks.scores import log_loss

EVERY = [IN_TIME, Delay("batches", 7), Delay("sliding", 7)]


def made(rng: np.random.Generator, rows: int = 60) -> tuple[Matrix, Vector]:
    X = rng.normal(size=(rows, 3))
    y: Vector = (X[:, 1] + rng.logistic(size=rows) > 0.0).astype(np.float64)
    return X, y


# ---- the order of announcements and labels


@pytest.mark.parametrize("delay", EVERY)
def test_every_row_is_announced_once_in_order_and_its_label_learned_at_most_once_afterwards(delay: Delay) -> None:
    announced: list[int] = []
    learned: list[int] = []
    for rows, labels in delay.turns(30):
        announced += range(rows.start, rows.stop)
        learned += range(labels.start, labels.stop)
        assert not learned or learned[-1] <= announced[-1]
    assert announced == list(range(30))
    assert learned == list(range(len(learned)))


@pytest.mark.parametrize("D", [1, 7, 29, 40])
def test_with_a_sliding_delay_a_label_comes_right_after_the_announcement_of_so_many_rows_more(D: int) -> None:
    announced = 0
    for rows, labels in Delay("sliding", D).turns(30):
        announced = rows.stop
        for t in range(labels.start, labels.stop):
            assert announced == t + D + 1


def test_a_batch_is_announced_before_the_first_of_its_labels() -> None:
    assert list(Delay("batches", 4).turns(10)) == [(slice(a, b), slice(a, b)) for a, b in ((0, 4), (4, 8), (8, 10))]


@pytest.mark.parametrize("delay", EVERY)
def test_the_labels_known_are_those_that_were_learned_before_the_announcement(delay: Delay) -> None:
    known = np.empty(30)
    learned = 0
    for rows, labels in delay.turns(30):
        known[rows] = learned
        learned += labels.stop - labels.start
    np.testing.assert_array_equal(delay.known(30), known)


def test_a_delay_of_more_than_half_the_stream_is_left_out() -> None:
    assert delays_of(20) == [IN_TIME, Delay("batches", 10), Delay("sliding", 10)]
    assert delays_of(19) == [IN_TIME]


# ---- contenders


@pytest.mark.parametrize("name", [name for name in CONTENDERS if name not in SLOW])
@pytest.mark.parametrize("delay", EVERY)
def test_no_contender_knows_a_label_before_it_comes(name: str, delay: Delay, rng: np.random.Generator) -> None:
    pytest.importorskip(CONTENDERS[name].needs)
    X, y = made(rng, rows=40)
    changed = y.copy()
    changed[20:] = 1.0 - y[20:]
    said = [play_late(CONTENDERS[name].make(Stream(X, labels)), 40, delay) for labels in (y, changed)]
    blind = delay.known(40) <= 20
    np.testing.assert_array_equal(said[0][blind], said[1][blind])
    assert np.any(said[0][~blind] != said[1][~blind])
    assert np.all((said[0] >= 0.0) & (said[0] <= 1.0))


def test_tickets_without_delay_are_the_game_in_time(rng: np.random.Generator) -> None:
    X, y = made(rng, rows=200)
    for make in (Auto, AIOLI):
        p = play_late(Tickets(make(), X, y), len(y), IN_TIME)
        assert_allclose(p, make().learn_many(X, y), rtol=1e-9)  # one row at a time and many: the last digits differ


def test_batches_by_tickets_are_learn_batch(rng: np.random.Generator) -> None:
    X, y = made(rng)
    learner = Auto()
    expected = np.concatenate([learner.learn_batch(X[t : t + 7], y[t : t + 7]) for t in range(0, len(y), 7)])
    np.testing.assert_array_equal(play_late(Tickets(Auto(), X, y), len(y), Delay("batches", 7)), expected)


def test_the_best_expert_is_one_of_those_that_announced_every_row(rng: np.random.Generator) -> None:
    X, y = made(rng)
    contender = Tickets(Auto(), X, y)
    play_late(contender, len(y), Delay("sliding", 7))
    names = list(Auto().weights_)
    assert contender.experts.shape == (len(y), len(names))
    said, name = best_expert(contender, y)
    losses = [log_loss(sigmoid_many(p.copy()), y) for p in contender.experts.T]
    assert log_loss(said, y) == min(losses)
    contender.experts[-1, names.index(name)] = np.nan  # it retired
    assert best_expert(contender, y)[1] != name


def test_the_base_rate_counts_the_labels_known() -> None:
    y = np.array([1.0, 1.0, 0.0, 1.0])
    assert_allclose(base_rate(y, IN_TIME), [0.5, 1.5 / 2, 2.5 / 3, 2.5 / 4])
    assert_allclose(base_rate(y, Delay("sliding", 2)), [0.5, 0.5, 0.5, 1.5 / 2])
    assert_allclose(base_rate(y, Delay("batches", 2)), [0.5, 0.5, 2.5 / 3, 2.5 / 3])


def test_a_contender_that_takes_too_long_has_no_score(rng: np.random.Generator) -> None:
    X, y = made(rng)
    with pytest.raises(OutOfTimeError, match="not finished: 1 rows"):
        play_late(Tickets(AIOLI(), X, y), len(y), IN_TIME, seconds=-1.0)


# ---- a run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    X, y = made(np.random.default_rng(0))
    rows = "\n".join(",".join([*map(repr, x.tolist()), str(int(label))]) for x, label in zip(X, y, strict=True))
    (tmp_path / "streams").mkdir()
    (tmp_path / "streams" / "plain.csv").write_text(f"a,b,c,y\n{rows}\n")
    return tmp_path / "streams"


def run(folder: Path, *arguments: str) -> list[Result]:
    out = folder.parent / "out"
    delays.main(["--streams", str(folder), "--out", str(out), *arguments])
    return read_results(out / "results.csv")


def test_a_run_writes_results_a_report_and_a_figure_and_goes_on_where_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = run(folder, "--methods", f"auto,{BASE_RATE}", "--delays", "0,10")
    games = [str(delay) for delay in delays_of(60)]
    methods = ("auto", BEST_EXPERT, BASE_RATE)
    assert {r.method for r in results} == {f"{method}/{game}" for method in methods for game in games}
    assert all(r.finished and r.rows == 60 for r in results)
    assert "| plain | 60 | batches of 10 |" in (folder.parent / "out" / "delays.md").read_text(encoding="utf-8")
    assert (folder.parent / "out" / "late.png").read_bytes().startswith(b"\x89PNG")

    played: list[str] = []
    play = delays.play

    def watched(task: delays.Task) -> list[Result]:
        played.append(f"{task.method}/{task.delay}")
        return play(task)

    monkeypatch.setattr(delays, "play", watched)
    assert run(folder, "--methods", "auto,aioli", "--delays", "0,10", "--modes", "sliding")[: len(results)] == results
    assert played == ["aioli/in time/0", "aioli/sliding/10"]
    played.clear()
    run(folder, "--redo", "aioli", "--delays", "10")
    assert played == ["aioli/batches/10", "aioli/sliding/10"]


def test_a_method_that_fails_is_told_and_does_not_end_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(stream: Stream) -> Tickets:  # noqa: ARG001  (a contender's signature)
        raise ValueError("no such luck")

    monkeypatch.setitem(CONTENDERS, "vw", type(CONTENDERS["vw"])(broken))
    (failed, *_) = run(folder, "--methods", f"vw,{BASE_RATE}", "--delays", "0")[-1:]
    assert not failed.finished
    assert failed.note == "failed: ValueError: no such luck"
    assert failed.note in (folder.parent / "out" / "delays.md").read_text(encoding="utf-8")


def test_an_unknown_method_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(SystemExit, match="no method is called adam"):
        run(folder, "--methods", "adam")


# ---- the report


def found(stream: str, method: str, loss: float, rows: int = 5000) -> Result:
    return Result(stream, rows, 3, method, loss, math.nan, 0.0)


def test_the_summary_counts_wins_and_the_worst_excess_beside_the_goals() -> None:
    late = "sliding/100"
    results = [
        *(found("a", f"auto/{late}", 0.30), found("a", f"vw/{late}", 0.31), found("a", f"river-sgd-0.1/{late}", 0.40)),
        *(found("a", f"{BASE_RATE}/{late}", 0.60), found("a", f"{BEST_EXPERT}/{late}", 0.25)),
        *(found("b", f"auto/{late}", 0.50), found("b", f"vw/{late}", 0.45), found("b", f"{BASE_RATE}/{late}", 0.49)),
        *(found("c", f"auto/{late}", 0.50, 900), found("c", f"{BEST_EXPERT}/{late}", 0.25, 900)),
        found("d", f"vw/{late}", 0.31),  # which Auto has not played
    ]
    assert summary(results) == [
        "100 rows late: Auto below every untuned peer on 1 of 2 streams: 50%; goal: 90%, missed",
        "Auto over the running base rate: at worst +2.0% (b, 100 rows late), above +1% in 1 of 2 games; goal: in none, "
        "missed",
        "Auto over its own best expert, streams of 2000 rows or more: at worst +20.0% (a, 100 rows late), above +5% in "
        "1 of 1 games; goal: in none, missed",
    ]
    report = delays_report(results)
    assert "| a | 5000 | 100 rows late | 0.3000 | 0.3100 | vw | 0.968 | 0.6000 | 0.2500 | – |" in report
    assert "| d |" not in report


def test_streams_in_the_order_of_time_have_a_table_of_their_own() -> None:
    results = [
        found("occupancy", "auto/in time/0", 0.02),
        *(found("occupancy", f"auto/{mode}/500", loss) for mode, loss in (("batches", 0.06), ("sliding", 0.07))),
        found("occupancy", "aioli-0.01/batches/500", 0.09),
        found("occupancy", "river-sgd-0.01/sliding/500", 0.11),
    ]
    report = delays_report(results)
    assert "| occupancy | batches | 0.0200 | 0.0600 | 0.0900 | – | – |" in report
    assert "| occupancy | sliding | 0.0200 | 0.0700 | – | 0.1100 | – |" in report


def test_a_game_knows_auto_in_time() -> None:
    games = games_of([found("a", "auto/in time/0", 0.2), found("a", "auto/batches/10", 0.3)])
    assert [(game.delay, game.ours_in_time) for game in games] == [(IN_TIME, 0.2), (Delay("batches", 10), 0.2)]
