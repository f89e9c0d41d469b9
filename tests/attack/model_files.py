"""Model files under attack: whole trees with right checksums, in which values and arrays are not what they should be.

A file's fate is decided by `inspect` and `predict`, in this process: each ends with 0, or with 1 and one sentence.
"""

import contextlib
import io
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from aioli.cli import main
from aioli.snapshots.codec import read_snapshot, to_bytes
from aioli.snapshots.tree import Array, Plain, Snapshot

__all__ = ["Fate", "crafted", "models_to_craft_from", "try_model"]

GOLDEN = Path(__file__).parents[1] / "snapshots" / "golden"
STRANGE: tuple[Plain, ...] = (
    None, True, -1, 0, 1, 2, 2 * 10**7, 10**12, 2**63, -(2**70), 0.5, -1.0, 1e308, 5e-324, "", "x", "tight", "\x00",
    [], [1], ["a", "a"], {}, {"a": 1}, [[]], "1" * 1000,
)  # fmt: skip


@dataclass(frozen=True)
class Fate:
    """What became of a model file: the exit status of each command, and what was said."""

    status: tuple[int, ...]
    said: str

    @property
    def holds(self) -> bool:
        """Whether every command ended as it should: in order, or with one sentence."""
        return all(one in (0, 1) for one in self.status) and "Traceback" not in self.said


def models_to_craft_from(folder: Path) -> dict[str, Path]:
    """Return model files by name: the golden ones, and those of runs of the command, which hold a stream."""
    found = {path.stem: path for path in sorted(GOLDEN.glob("*.safetensors"))}
    rows = folder / "rows.csv"
    rows.write_text("x,colour,y\n" + "".join(f"{t % 7}.5,{'red' if t % 3 else ''},{t % 2}\n" for t in range(60)))
    for learner in ("Auto", "AIOLI", "KernelAIOLI"):
        model = folder / f"{learner}.aioli"
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["run", str(rows), "--label", "y", "--learner", learner, "--save", str(model), "--json"]) == 0
        found[f"run {learner}"] = model
    return found


def crafted(snapshot: Snapshot, rng: np.random.Generator) -> Snapshot:
    """Return the snapshot with one to three things changed, somewhere in its tree."""
    for _ in range(int(rng.integers(1, 4))):
        path = str(rng.choice(list(_paths(snapshot, ""))))
        snapshot = _changed(snapshot, path.split("/")[1:], rng)
    return snapshot


def _paths(snapshot: Snapshot, here: str) -> Iterator[str]:
    yield here
    for name, part in snapshot.parts.items():
        yield from _paths(part, f"{here}/{name}")


def _changed(snapshot: Snapshot, path: list[str], rng: np.random.Generator) -> Snapshot:
    if path:
        part = _changed(snapshot.parts[path[0]], path[1:], rng)
        return replace(snapshot, parts={**snapshot.parts, path[0]: part})
    what = str(rng.choice(["value", "value", "array", "array", "kind", "drop", "part"]))
    if what == "value" and snapshot.values:
        name = str(rng.choice(list(snapshot.values)))
        return replace(snapshot, values={**snapshot.values, name: _strange(snapshot.values[name], rng)})
    if what == "array" and snapshot.arrays:
        name = str(rng.choice(list(snapshot.arrays)))
        return replace(snapshot, arrays={**snapshot.arrays, name: _spoilt(snapshot.arrays[name], rng)})
    if what == "kind":
        return replace(snapshot, kind=str(rng.choice(["AIOLI", "Auto", "State", "Wide", "", "os.system"])))
    if what == "part" and snapshot.parts:
        name = str(rng.choice(list(snapshot.parts)))
        other = snapshot.parts[str(rng.choice(list(snapshot.parts)))]
        return replace(snapshot, parts={**snapshot.parts, name: other})
    names = [*snapshot.values, *snapshot.arrays, *snapshot.parts]
    gone = str(rng.choice(names)) if names else ""
    return Snapshot(
        snapshot.kind,
        {name: value for name, value in snapshot.values.items() if name != gone},
        {name: array for name, array in snapshot.arrays.items() if name != gone},
        {name: part for name, part in snapshot.parts.items() if name != gone},
    )


def _strange(value: Plain, rng: np.random.Generator) -> Plain:
    if isinstance(value, list) and value and rng.random() < 0.5:
        k = int(rng.integers(len(value)))
        return [*value[:k], STRANGE[int(rng.integers(len(STRANGE)))], *value[k + 1 :]]
    if isinstance(value, dict) and value and rng.random() < 0.5:
        return {**value, str(rng.choice(list(value))): STRANGE[int(rng.integers(len(STRANGE)))]}
    if isinstance(value, float) and rng.random() < 0.5:
        return value * float(rng.choice([-1.0, 0.0, 1e-300, 1e10, 1e300]))
    return STRANGE[int(rng.integers(len(STRANGE)))]


def _spoilt(array: Array, rng: np.random.Generator) -> Array:
    how = int(rng.integers(7))
    if how == 0:
        return np.zeros((0,) * array.ndim, array.dtype)
    if how == 1:
        return array[: len(array) // 2].copy()
    if how == 2:
        return -array if array.dtype != np.uint8 else np.asarray(255 - array, np.uint8)
    if how == 3 and array.size:
        changed = array.copy()
        extreme = math.copysign(1e300, rng.normal()) if array.dtype == np.float64 else 2**62
        changed.reshape(-1)[int(rng.integers(array.size))] = 255 if array.dtype == np.uint8 else extreme
        return changed
    if how == 4:
        return array.astype(np.int64) if array.dtype == np.float64 else array.astype(np.float64)
    if how == 5:
        return cast(Array, array.reshape(-1)[rng.permutation(array.size)].reshape(array.shape))
    return np.zeros(array.shape, np.float64)


def try_model(snapshot: Snapshot, folder: Path) -> Fate:
    """Write the snapshot as a model file, look at it, and predict with it."""
    model, rows, out = folder / "model", folder / "new.csv", folder / "out.csv"
    model.write_bytes(to_bytes(snapshot))
    rows.write_text("x,colour,y\n1.5,red,0\n2.5,blue,1\n")
    statuses, heard = [], io.StringIO()
    commands = (["inspect"], ["inspect", "--json"], ["predict", str(rows), "--out", str(out), "--model"])
    for command in commands:
        with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
            try:
                statuses.append(main([*command, str(model)]))
            except Exception as error:
                statuses.append(99)
                heard.write(f"Traceback: {type(error).__name__}: {error}")
    return Fate(tuple(statuses), heard.getvalue())


def crafted_by_seed(seed: int, models: dict[str, Path]) -> tuple[str, Snapshot]:
    """Return the snapshot that this seed crafts, and from which model."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(models)))
    return name, crafted(read_snapshot(models[name]), rng)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        known = models_to_craft_from(Path(place))
        for given in sys.argv[1:]:
            origin, made = crafted_by_seed(int(given), known)
            print(given, origin, try_model(made, Path(place)))
