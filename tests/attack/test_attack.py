"""A fixed sample of every attack, and every input that ever failed, are played with the tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attack.certificates import try_certificate
from attack.data_files import read_or_refuse, try_data
from attack.faults import KINDS
from attack.model_files import crafted_by_seed, models_to_craft_from, try_model

CORPUS = Path(__file__).with_name("corpus")
SEEDS = json.loads((CORPUS / "seeds.json").read_text())
FILES = sorted(path for path in CORPUS.iterdir() if path.name != "seeds.json")


@pytest.mark.skipif(os.name != "posix", reason="this system does not fork")
def test_a_write_that_fails_loses_nothing() -> None:
    """Of every kind of fault, one; `make attack` tries every call with every kind."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "PYTHONPATH": paths}
    command = [sys.executable, "-m", "attack.faults", "36", "--count", str(len(KINDS)), "--step", "43"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["calls"] > 30
    assert told["tried"] == dict.fromkeys(KINDS, 1)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("label", [None, "1"])
def test_a_file_that_once_did_harm_is_read_or_refused(path: Path, label: str | None) -> None:
    read_or_refuse(path, label)


@pytest.mark.parametrize("seed", SEEDS["certificates"])
def test_a_game_whose_certificate_once_seemed_false_is_certified(seed: int) -> None:
    verdict = try_certificate(seed)
    assert verdict.holds, verdict


def test_model_files_that_once_did_harm_are_refused(tmp_path: Path) -> None:
    models = models_to_craft_from(tmp_path)
    for seed in SEEDS["models"]:
        _, made = crafted_by_seed(seed, models)
        fate = try_model(made, tmp_path)
        assert fate.holds, (seed, fate)


def test_damaged_data_files_are_read_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for seed in range(150):
        try_data(seed, tmp_path)
