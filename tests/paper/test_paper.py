"""The paper's experiments: what they write, what they find, and that they resume."""

import csv
import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aioli.numerics.compiling import Vector
from aioli.paper import EXPERIMENTS, run_paper, running
from aioli.paper.results_folder import ResultsFolder

Table = list[dict[str, str]]


@dataclass(frozen=True)
class Printed:
    """A folder of results, and what was said on the way."""

    folder: Path
    out: str
    err: str

    def table(self, name: str) -> Table:
        with (self.folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def run(folder: Path, *only: str, processes: int = 1) -> Printed:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        run_paper(str(folder), fast=True, processes=processes, only=only or None)
    return Printed(folder, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    return run(tmp_path_factory.mktemp("paper") / "results")


def numbers(table: Table, name: str) -> Vector:
    return np.array([float(row[name]) for row in table])


# ---- what a run leaves behind


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_leaves_tables_figures_and_claims(paper: Printed, name: str) -> None:
    assert paper.table(name)
    claims = paper.table(f"{name}-claims")
    assert all(claim["says"] and claim["found"] for claim in claims)
    assert (paper.folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (paper.folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert (paper.folder / f"{name}.png").stat().st_size < 200_000  # what the documents may embed
    for claim in claims:
        assert f"{claim['says']}: {claim['found']}" in paper.out
    total = len({line for line in (paper.folder / "runs" / f"{name}.jsonl").read_text().splitlines() if line})
    assert f"{name:9} {total:4}/{total} runs" in paper.err


# ---- what was found


def test_proper_learners_are_linear_and_the_improper_ones_are_not(paper: Printed) -> None:
    table = paper.table("figure1")
    for learner, linear in (("FTRL", True), ("AIOLI", False), ("Foster", False)):
        mine = [row for row in table if row["learner"] == learner]
        x, z = numbers(mine, "x"), numbers(mine, "z")
        slope = x @ z / (x @ x)
        assert (np.abs(z - slope * x).max() < 1e-9) == linear


def test_only_proper_learners_have_a_regret_that_is_a_power_of_n(paper: Printed) -> None:
    means, slopes = paper.table("figure2-means"), paper.table("figure2-slopes")
    slope = {(s["law"], s["learner"]): float(s["slope"]) for s in slopes if s["against"] == "ball"}
    for law in ("fixed", "shrinking"):
        assert slope[law, "FTRL"] > slope[law, "Foster"] + 0.1
        assert slope[law, "FTRL"] > 0.25
    for learner, most in (("AIOLI", 2.0), ("AIOLI, tight, c = ½", 3.0), ("Foster", 8.0)):
        mine = [m for m in means if m["learner"] == learner]
        assert numbers(mine, "regret").max() < most  # nats, where FTRL comes to tens
    assert numbers([m for m in means if m["learner"] == "FTRL"], "regret").max() > 20.0


def test_a_regret_against_every_theta_is_no_smaller(paper: Printed) -> None:
    table = paper.table("figure2")
    assert (numbers(table, "beyond") >= numbers(table, "regret") - 1e-7).all()  # both comparators are right to 1e-8


def test_the_table_tells_what_a_round_of_each_costs(paper: Printed) -> None:
    # how a cost grows is for `aioli paper` to measure: a test on a busy machine could only guess
    costs = {line["algorithm"]: float(line["cost_in_t"]) for line in paper.table("table1")}
    assert {"FTRL", "AIOLI"} <= costs.keys()
    assert np.isfinite(list(costs.values())).all()
    measured = [row for row in paper.table("table1-measured") if row["axis"] in ("n", "B")]
    assert (numbers(measured, "value") <= numbers(measured, "bound")).all()


def test_regret_certificates_and_theorem_are_in_order_in_every_game(paper: Printed) -> None:
    table = paper.table("theorem1")
    columns = [numbers(table, name) for name in ("regret", "tight_certificate", "certificate", "theorem")]
    assert {row["stream"] for row in table} >= {"hkl", "adversary", "adversary, one row"}
    for low, high in pairwise(columns):
        assert (low <= high + 1e-6).all()


def test_gradient_descent_of_the_theorems_length_keeps_the_bound(paper: Printed) -> None:
    table = paper.table("theorem2")
    assert (numbers(table, "regret") <= numbers(table, "bound")).all()
    assert numbers(table, "farthest").max() < 1e-9


def test_the_curvature_is_the_largest_there_is(paper: Printed) -> None:
    table = paper.table("lemma2")
    assert_allclose(numbers(table, "tight"), numbers(table, "searched"), rtol=1e-9)
    assert (numbers(table, "paper") <= numbers(table, "tight")).all()


def test_as_printed_the_listing_breaks_its_bound_and_mended_it_does_not(paper: Printed) -> None:
    table = paper.table("errata")
    ends = [row for row in table if row["n"] == "4000" and row["probability"] == "0.98" and row["player"] == "scalars"]
    printed = [row for row in ends if row["version"] == "as printed"]
    assert (numbers(printed, "regret") > 2.0 * numbers(printed, "bound")).all()
    mended = [row for row in table if row["version"] == "mended"]
    assert (numbers(mended, "regret") < 0.5 * numbers(mended, "bound") + 1.0).all()


def test_claims_that_this_project_says_fail_do_fail_and_no_others(paper: Printed) -> None:
    differing = {
        row["says"] for name in EXPERIMENTS for row in paper.table(f"{name}-claims") if row["holds"] == "False"
    }
    timed = {row["says"] for row in paper.table("table1-claims") if row["says"].startswith(("a round", "rounds"))}
    assert {says[:20] for says in differing - timed} == {
        "Foster's is prohibit",
        "Algorithm 2 as print",
        "L₀ as printed, b men",
    }


# ---- resuming


def test_what_is_finished_is_not_played_again(paper: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, _run: Any) -> list[dict[str, Any]]:
        raise AssertionError(f"{name} was played again")

    monkeypatch.setattr(running, "play", refuse)
    before = (paper.folder / "theorem2.csv").read_bytes()
    (paper.folder / "theorem2.csv").unlink()
    again = run(paper.folder, "figure1", "theorem2")
    assert again.out == "".join(line for line in paper.out.splitlines(True) if line.startswith(("figure1", "theorem2")))
    assert (paper.folder / "theorem2.csv").read_bytes() == before


def test_a_run_that_was_cut_off_is_played_again_and_it_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(tmp_path, "lemma2")
    runs = tmp_path / "runs" / "lemma2.jsonl"
    whole = runs.read_text()
    runs.write_text(whole[:-20])
    played = []

    def count(name: str, which: Any) -> list[dict[str, Any]]:
        played.append(which)
        return original(name, which)

    original = running.play
    monkeypatch.setattr(running, "play", count)
    second = run(tmp_path, "lemma2")
    assert len(played) == 1
    assert second.table("lemma2") == first.table("lemma2")
    kept = [line for line in runs.read_text().splitlines() if line]
    assert json.loads(kept[-1]) == json.loads(whole.splitlines()[-1])


def test_what_failed_leaves_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = running.play
    played: list[Any] = []

    def fail_at_third(name: str, which: Any) -> list[dict[str, Any]]:
        played.append(which)
        if len(played) == 3:
            raise KeyboardInterrupt
        return original(name, which)

    monkeypatch.setattr(running, "play", fail_at_third)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "lemma2")
    assert len(ResultsFolder(tmp_path).finished("lemma2")) == 2


def test_processes_of_their_own_find_the_same(tmp_path: Path, paper: Printed) -> None:
    there = run(tmp_path, "lemma2", processes=2)
    assert there.table("lemma2") == paper.table("lemma2")


# ---- asking


def test_only_what_was_asked_for_is_done_in_the_papers_order(tmp_path: Path) -> None:
    said = run(tmp_path, "lemma2", "figure1")
    assert {path.name.split(".")[0].split("-")[0] for path in tmp_path.iterdir()} == {"figure1", "lemma2", "runs"}
    assert said.out.index("figure1") < said.out.index("lemma2")


def test_an_unknown_experiment_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no experiment is called 'figure3'; there are figure1, figure2, table1"):
        run(tmp_path / "new", "lemma2", "figure3")
    with pytest.raises(ValueError, match="no experiment was named"):
        run_paper(str(tmp_path / "new"), fast=True, processes=1, only=[])
    with pytest.raises(ValueError, match="processes is 0"):
        run(tmp_path / "new", "lemma2", processes=0)
    assert not (tmp_path / "new").exists()


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, aioli.paper; print([m for m in ('numba', 'matplotlib', 'scipy', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- the players


# ---- growth
