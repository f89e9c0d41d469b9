"""What a compiled loop computes does not depend on where its arrays lie in memory."""

import os
import platform
import subprocess
import sys
from math import prod
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from thoroughness import FULL

from aioli.numerics.compiling import Matrix
from aioli.states.classes.naive_bayes import score
from aioli.states.dense.single_row import load_row
from aioli.states.mixture.column_statistics import STATISTICS, relate_to_peak

GAPS = [0, 2, 8, 16, 31, 64, 1024]  # numbers between two arrays; LLVM asks whether it is more than some 32
WIDTHS = [8, 13, 24]  # from 8 on, sums take vector instructions


def side_by_side(gap: int, *shapes: tuple[int, ...]) -> list[Matrix]:
    """Return arrays in one piece of memory, one behind the other, this many numbers apart."""
    buffer, start, arrays = np.zeros(sum(map(prod, shapes)) + gap * len(shapes)), 0, []
    for shape in shapes:
        arrays.append(buffer[start : start + prod(shape)].reshape(shape))
        start += prod(shape) + gap
    return arrays


@pytest.mark.parametrize("d", WIDTHS)
def test_the_norm_of_a_view_is_the_same_wherever_the_view_lies(d: int) -> None:
    numbers = np.random.default_rng(d).normal(size=(STATISTICS, d))
    found = []
    for gap in GAPS:
        columns, peak = side_by_side(gap, (STATISTICS, d), (1 + d,))
        columns[...] = numbers
        columns[3] = 3.0
        found.append(relate_to_peak(columns, peak))
    assert len(set(found)) == 1


@pytest.mark.parametrize("d", WIDTHS)
def test_the_norm_of_a_row_is_the_same_wherever_it_is_copied_to(d: int) -> None:
    found = []
    for gap in GAPS:
        x, row = side_by_side(gap, (d,), (1 + d,))
        x[:] = np.random.default_rng(d).normal(size=d)
        found.append(load_row(x, row))
        assert_array_equal(row[1:], x)
    assert len(set(found)) == 1


@pytest.mark.parametrize("K", WIDTHS)
def test_naive_bayes_scores_the_same_wherever_its_answer_lies(K: int) -> None:
    rng, found = np.random.default_rng(K), []
    given, x = (
        (rng.normal(size=(K, 3)), rng.uniform(1.0, 2.0, (K, 3)), rng.uniform(1.0, 9.0, (2, 3))),
        rng.normal(size=3),
    )
    for gap in GAPS:
        gains, counts, out = side_by_side(gap, (K,), (K,), (K,))
        counts[:] = np.linspace(0.1, 7.7, K)
        score(counts, *given, 50.0, x, gains, out)
        found.append(out.tobytes())
    assert len(set(found)) == 1


# ---- the machine's code of all of them


@pytest.mark.skipif(not FULL, reason="it compiles the package anew: `make thorough`")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="this system compiles for another kind of processor")
def test_no_sum_of_the_package_hangs_on_where_its_arrays_lie(tmp_path: Path) -> None:
    script = Path(__file__).with_name("sums_and_stores.py")
    processor = {"NUMBA_CPU_NAME": "skylake-avx512", "NUMBA_CPU_FEATURES": ""}  # the same one on every machine
    own_cache = os.environ | processor | {"NUMBA_CACHE_DIR": str(tmp_path)}  # what a cache holds cannot be looked into
    told = subprocess.run([sys.executable, script], env=own_cache, capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["store_and_sum"]
