"""The readers that are compared read the same numbers, exactly."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.reading import FORMS, READERS, answer, chunks, inexact, write_rows


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("form", FORMS)
def test_every_reader_gives_what_python_reads(name: str, form: str, tmp_path: Path) -> None:
    pytest.importorskip(name)
    path = tmp_path / "rows.csv"
    write_rows(path, 3000, FORMS[form])
    assert inexact(name, path) == 0
    texts = [line.split(",") for line in path.read_text().splitlines()[1:]]
    np.testing.assert_array_equal(np.vstack(list(chunks(name, path))), np.array(texts, dtype=float))


def test_a_reader_s_answer_is_its_last_row_or_its_words(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("x0,y\n1,0\n2,1\n2.5,1\n")
    assert answer("aioli", path) == "[2.5, 1.0]"
    path.write_text("x0,y\n1,0\n2,1\n2.5\n")
    assert answer("aioli", path).startswith("refused: odd.csv, line 4: has 1 cell")
