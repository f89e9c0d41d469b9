"""Files that an earlier commit wrote are read, and the learners in them go on as they did then."""

import json

import pytest
from golden_files import CASES, GOLDEN, probabilities_of, read_golden
from numpy.testing import assert_allclose
from safetensors.numpy import load, save

from aioli.learners.registry import restore_learner
from aioli.snapshots.codec import from_bytes, read_snapshot, to_bytes


@pytest.mark.parametrize("name", CASES)
def test_a_golden_file_is_read_and_its_learner_goes_on_as_it_did(name: str) -> None:
    learner = restore_learner(read_snapshot(GOLDEN / f"{name}.safetensors"))
    assert repr(learner).startswith(type(CASES[name][0]()).__name__)
    # another processor adds up in another order: forty rows, a few ulp each
    assert_allclose(probabilities_of(name, learner), read_golden(name), rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_a_snapshot_is_the_same_bytes_after_a_round_trip(name: str) -> None:
    snapshot = read_snapshot(GOLDEN / f"{name}.safetensors")
    assert to_bytes(from_bytes(to_bytes(snapshot))) == to_bytes(snapshot)


@pytest.mark.parametrize("name", CASES)
def test_bytes_are_those_that_safetensors_writes(name: str) -> None:
    data = to_bytes(read_snapshot(GOLDEN / f"{name}.safetensors"))
    metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    assert save(dict(sorted(load(data).items())), metadata) == data


def test_every_golden_file_is_tested() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)
