"""`aioli run --by COLUMN`: one model a key from a file, scores and a page by key, resumed after a kill."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE

from aioli import Fleet
from aioli.cli import main
from aioli.evaluate.key_scores import KeyScores
from aioli.evaluate.loop import Announced
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.store.models import load_model, require_saves

ROWS = 3000


def write_visits(path: Path, rows: int = ROWS, missing: int | None = None) -> Path:
    """A file of users that differ, one of whom turns round, and some of whom come late."""
    rng = np.random.default_rng(0)
    users = rng.integers(0, 20, rows)
    late = (np.arange(rows) >= rows - 200) & (rng.random(rows) < 0.3)
    users = np.where(late, 100 + rng.integers(0, 4, rows), users)
    slopes = 0.3 * rng.normal(size=(200, 2)) + [1.5, -1.0]
    X = rng.normal(size=(rows, 2))
    z = (X * slopes[users]).sum(axis=1)
    z = np.where((users == 7) & (np.arange(rows) > rows // 2), -3.0 * z, z)
    y = z + rng.logistic(size=rows) > 0
    names = [f"u{user}" if t != missing else "" for t, user in enumerate(users)]
    cells = zip(names, X.tolist(), y, strict=True)
    lines = [f"{name},{a:.4f},{1e3 * b + 5e4:.2f},{'yes' if label else 'no'}" for name, (a, b), label in cells]
    path.write_text("user,a,b,clicked\n" + "\n".join(lines) + "\n")
    return path


def test_keys_of_a_file_have_models_scores_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page, model = write_visits(tmp_path / "visits.csv"), tmp_path / "page.html", tmp_path / "fleet.aioli"
    predictions = tmp_path / "p.csv"
    command = ["run", str(file), "--label", "clicked", "--by", "user", "--json", "--report", str(page)]
    assert main([*command, "--save", str(model), "--predictions", str(predictions)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["keys"] == 24
    assert told["new_keys"] == 4
    assert told["hard_keys"][0] == "u7"
    assert told["drifted_keys"] == ["u7"]
    assert told["log_loss"] < 0.56 < told["base_rate"]
    html = page.read_text()
    assert "Who is hard" in html
    assert "Who is new" in html
    assert "Who drifted" in html
    fleet = Fleet.load(model)
    assert len(fleet) == 24
    assert fleet.rounds == ROWS
    assert fleet.loss == pytest.approx(told["log_loss"] * ROWS, rel=1e-9)
    assert predictions.read_text().startswith("row,probability,label,user\n1,0.5,")
    learner, taught = load_model(model)
    assert taught is not None
    assert taught.texts("carried") == ["user"]
    assert to_bytes(require_saves(learner).snapshot()) == to_bytes(fleet.snapshot())


def test_a_saved_fleet_predicts_new_rows_by_key_and_is_looked_into(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, model, out = write_visits(tmp_path / "visits.csv"), tmp_path / "fleet.aioli", tmp_path / "p.csv"
    assert main(["run", str(file), "--label", "clicked", "--by", "user", "--save", str(model), "--json"]) == 0
    later = tmp_path / "later.csv"
    later.write_text("a,user,b\n1.5,u7,49000\n1.5,u3,49000\n1.5,nobody,49000\n")
    capsys.readouterr()
    assert main(["predict", str(later), "--model", str(model), "--out", str(out)]) == 0
    lines = [line.split(",") for line in out.read_text().splitlines()]
    assert lines[0] == ["row", "probability", "label", "user"]
    assert [line[3] for line in lines[1:]] == ["u7", "u3", "nobody"]
    turned, usual, new = (float(line[1]) for line in lines[1:])
    assert turned < 0.5 < new < usual  # u7 has turned round
    capsys.readouterr()
    assert main(["predict", str(later), "--model", str(model), "--by", "a", "--json"]) == 1
    assert "--by is 'a', a column that the models have learned from" in capsys.readouterr().err
    assert main(["predict", str(later), "--model", str(model), "--explain"]) == 1
    assert "--explain is for one model" in capsys.readouterr().err
    assert main(["run", str(file), "--label", "clicked", "--model", str(model)]) == 1
    assert "read it with Fleet.load" in capsys.readouterr().err

    assert main(["inspect", str(model), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["keys"] == 24
    assert told["rounds"] == ROWS
    assert told["keys_that_lost_most"][0]["key"] == "u7"
    assert main(["inspect", str(model), "--of", "u7", "--json"]) == 0
    of_key = json.loads(capsys.readouterr().out)
    assert of_key["rounds"] == told["keys_that_lost_most"][0]["rows"]
    assert of_key["certificate"] == pytest.approx(told["keys_that_lost_most"][0]["certificate"])
    assert main(["inspect", str(model)]) == 0
    assert "keys that lost most" in capsys.readouterr().out
    assert main(["inspect", str(model), "--of", "nobody"]) == 1
    assert "no row has had the key 'nobody'" in capsys.readouterr().err


def test_what_is_not_for_one_model_a_key_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_visits(tmp_path / "visits.csv", 50, missing=11)
    command = ["run", str(file), "--label", "clicked", "--by", "user"]
    assert main([*command, "--delay", "5"]) == 1
    assert "leave out --delay" in capsys.readouterr().err
    assert main([*command, "--learner", "OGD"]) == 1
    assert "--by plays AIOLI" in capsys.readouterr().err
    assert main(command) == 1
    assert "line 13" in (said := capsys.readouterr().err)
    assert "the key is missing" in said
    assert main([*command, "--on-error", "skip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 49


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, kept = write_visits(tmp_path / "visits.csv"), tmp_path / "kept"
    command = ["run", str(file), "--label", "clicked", "--by", "user", "--json"]
    whole, resumed = tmp_path / "whole.aioli", tmp_path / "resumed.aioli"
    assert main([*command, "--save", str(whole)]) == 0
    expected = json.loads(capsys.readouterr().out)
    code = (
        "import os, signal, sys\n"
        "from aioli.store.checkpoints import Checkpoints\n"
        "keep = Checkpoints.keep\n"
        "def keep_and_die(self, run, to_mend=False):\n"
        "    keep(self, run, to_mend)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "Checkpoints.keep = keep_and_die\n"
        "from aioli.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    once = [*command, "--checkpoint", str(kept), "--every", "0"]
    done = subprocess.run([sys.executable, "-c", code, *once], timeout=PATIENCE, env=os.environ | {"PYTHONPATH": "src"})
    assert done.returncode == -9
    assert main([*once, "--resume", "--save", str(resumed)]) == 0
    told = json.loads(capsys.readouterr().out)
    same = ("rows", "log_loss", "keys", "new_keys", "hard_keys", "drifted_keys", "loss_of_new_keys")
    assert {name: told[name] for name in same} == {name: expected[name] for name in same}
    assert to_bytes(Fleet.load(whole).snapshot()) == to_bytes(Fleet.load(resumed).snapshot())


def test_scores_by_key_are_restored() -> None:
    scores = KeyScores()
    scores.played(Announced(np.array([0.5, 0.9]), np.array([1.0, 0.0]), keys=[("a",), ("b",)]), 2)
    again = KeyScores.restore(from_bytes(to_bytes(scores.snapshot())))
    for each in (scores, again):
        each.played(Announced(np.array([0.2]), np.array([1.0]), keys=[("b",)]), 3)
    assert to_bytes(scores.snapshot()) == to_bytes(again.snapshot())
    assert again.newest(5)[1] == 0
