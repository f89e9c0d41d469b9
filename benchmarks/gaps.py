"""What it is worth that boosted trees send missing numbers either way: streams of which cells are punched out.

`python -m benchmarks.gaps --streams FOLDER` takes a fifth of the cells of every stream's first columns away, by chance,
and once more two fifths of the cells that are larger than most. What is missing is filled and marked as everywhere. The
same rows are played by two learners of `Auto()`: one knows by the features' names what marks a gap, the other does not.
"""

import argparse
from pathlib import Path

import numpy as np

from aioli import Auto, TableEncoder
from aioli.numerics.compiling import Matrix, Vector
from benchmarks.real_streams import load_stream, stream_sizes
from benchmarks.scores import ROUGH_CLIP, log_loss
from benchmarks.table import Table, as_markdown

__all__ = ["main", "punched"]

COLUMNS = 12  # that are punched and played: of hundreds the rest would tell all that is missing
BY_CHANCE, OF_LARGE = 0.2, 0.4
LARGE = 0.6  # a rank, from 0 to 1


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gaps", description=__doc__)
    parser.add_argument("--streams", type=Path, help="a folder of CSV or svmlight files")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--only", nargs="*", default=[], help="names of streams")
    given = parser.parse_args()
    lines, changes = [], []
    for name in stream_sizes(given.streams, given.only, given.rows):
        X, y = load_stream(given.streams, name, given.rows)
        cells = [name]
        for large in (False, True):
            rows, names = punched(X[:, :COLUMNS], large)
            known, unaware = (_loss(rows, y, told) for told in (names, None))
            changes.append(known / unaware - 1.0)
            cells += [f"{unaware:.4f}", f"{known:.4f}", f"{100.0 * changes[-1]:+.1f} %"]
        lines.append(cells)
        print(" ".join(cells), flush=True)
    heading = ("stream", "by chance: not known", "known", "change", "large ones: not known", "known", "change")
    mean, worst = 100.0 * float(np.mean(changes)), 100.0 * max(changes)
    print(as_markdown(Table("Gaps that trees know of", heading, lines, [f"mean {mean:+.1f} %, worst {worst:+.1f} %"])))


def punched(X: Matrix, large: bool) -> tuple[Matrix, list[str]]:
    """Return rows with gaps as features, and what these are called; gaps are by chance, or of large values alone."""
    rng = np.random.default_rng(0)
    ranks = X.argsort(axis=0).argsort(axis=0) / len(X)
    gone = rng.random(X.shape) < (OF_LARGE * (ranks > LARGE) if large else BY_CHANCE)
    encoder = TableEncoder()
    rows = encoder.encode(np.where(gone, np.nan, X))
    assert isinstance(rows, np.ndarray)
    return rows, encoder.features


def _loss(X: Matrix, y: Vector, names: list[str] | None) -> float:
    learner = Auto()
    learner.feature_names_ = names
    return log_loss(learner.learn_many(X, y), y, ROUGH_CLIP)


if __name__ == "__main__":
    main()
