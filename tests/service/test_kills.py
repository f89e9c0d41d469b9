"""Kill -9 under load: a few times here; `python -m benchmarks.service_kills` does it hundreds of times."""

from pathlib import Path

import pytest
from thoroughness import FULL

from benchmarks.postgres_server import MISSING, database, found
from benchmarks.service_kills import kill_often

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httptools")
pytestmark = pytest.mark.skipif(not FULL, reason="this system has servers started by `make thorough` alone")


def test_nothing_that_was_answered_is_lost_or_done_twice(tmp_path: Path) -> None:
    killed = kill_often(4, str(tmp_path / "service"))
    assert killed.clean, killed
    assert killed.rows > 0


def test_nor_where_rows_and_labels_are_played_in_runs(tmp_path: Path) -> None:
    killed = kill_often(2, str(tmp_path / "service"), threads=8, learner="Auto")
    assert killed.clean, killed
    assert killed.rows > 0


@pytest.mark.skipif(found() is None, reason=MISSING)
def test_nor_where_the_log_is_in_a_database() -> None:
    pytest.importorskip("psycopg")
    with database() as address:
        killed = kill_often(2, address)
    assert killed.clean, killed
