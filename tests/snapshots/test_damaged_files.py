"""Files that are damaged, foreign or crafted are refused with a sentence, and never load as another learner."""

import json
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from thoroughness import examples

from aioli import AIOLI
from aioli.snapshots import codec as files
from aioli.snapshots import open_files
from aioli.snapshots.pieces import ArrayInPieces


def learned() -> AIOLI:
    rng = np.random.default_rng(6)
    learner = AIOLI(radius=3.0)
    learner.learn_many(rng.normal(size=(30, 3)), rng.random(30) < 0.5)
    learner.feature_names_ = ["a", "ß", "c"]
    return learner


def contents(learner: AIOLI) -> tuple[object, ...]:
    """All that its future depends on, bit for bit, and its names."""
    state = learner._state
    assert state is not None
    return (
        learner._spec,
        learner.feature_names_,
        state.factored,
        *(a.tobytes() for a in (state.P, state.w, state.tally)),
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "learner"
    learned().save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch") / "learner"


def load_in_pieces(path: Path) -> AIOLI:
    """What `AIOLI.load` would give if it read a few bytes of an array at a time, as `Fleet.load` does of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_files, "LARGE", 16)
        with open_files.open_snapshot(path) as snapshot:
            return AIOLI._restored_from(path, snapshot, AIOLI.restore)


def check_refused(path: Path, *words: str) -> None:
    for load in (AIOLI.load, load_in_pieces):
        with pytest.raises(ValueError, match=path.name) as caught:
            load(path)
        assert all(word in str(caught.value) for word in words), str(caught.value)


# ---- damage


def test_a_file_cut_short_anywhere(saved: bytes, tmp_path: Path) -> None:
    for length in {*range(0, len(saved), 7), *range(12), *range(len(saved) - 12, len(saved))}:
        path = tmp_path / "cut"
        path.write_bytes(saved[:length])
        check_refused(path)


@pytest.mark.parametrize("tail", [b"\0", b"\n", b"garbage" * 100])
def test_a_file_with_something_behind_it(tail: bytes, saved: bytes, tmp_path: Path) -> None:
    (tmp_path / "longer").write_bytes(saved + tail)
    check_refused(tmp_path / "longer")


def load_or_none(path: Path) -> AIOLI | None:
    try:
        learner = AIOLI.load(path)
    except ValueError:
        with pytest.raises(ValueError, match=path.name):
            load_in_pieces(path)
        return None
    assert contents(load_in_pieces(path)) == contents(learner)
    return learner


@examples(400)
@given(place=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_one_changed_byte_is_refused_or_changes_nothing(place: int, byte: int, saved: bytes, scratch: Path) -> None:
    damaged = bytearray(saved)
    damaged[place % len(saved)] = byte
    scratch.write_bytes(damaged)
    learner = load_or_none(scratch)
    assert learner is None or contents(learner) == contents(learned())  # white space in the header is nothing


@examples(150)
@given(place=st.integers(0, 10**6), cut=st.integers(0, 40), put=st.binary(max_size=40))
def test_a_changed_stretch_is_refused_or_changes_nothing(
    place: int, cut: int, put: bytes, saved: bytes, scratch: Path
) -> None:
    first = place % len(saved)
    scratch.write_bytes(saved[:first] + put + saved[first + cut :])
    learner = load_or_none(scratch)
    assert learner is None or contents(learner) == contents(learned())


@examples(100)
@given(noise=st.binary(max_size=200))
def test_noise_is_no_model(noise: bytes, scratch: Path) -> None:
    scratch.write_bytes(noise)
    check_refused(scratch)


# ---- foreign and crafted files


@pytest.mark.parametrize("kind", ["empty", "text", "pickle", "zeros", "NumPy", "JSON"])
def test_a_file_of_another_kind(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    if kind == "NumPy":
        with path.open("wb") as file:
            np.save(file, np.ones(3))
    else:
        others = {"empty": b"", "text": b"age,income\n1,2\n", "pickle": pickle.dumps(learned()), "zeros": bytes(1000)}
        path.write_bytes(others.get(kind, json.dumps({"learner": "AIOLI"}).encode()))
    check_refused(path, "not a model file")


def test_a_safetensors_file_of_somebody_else(tmp_path: Path) -> None:
    save_file({"weights": np.ones(3)}, tmp_path / "theirs", metadata={"format": "pt"})
    check_refused(tmp_path / "theirs", "not one that aioli wrote")
    save_file({"weights": np.ones(3)}, tmp_path / "theirs")
    check_refused(tmp_path / "theirs", "not one that aioli wrote")


@pytest.mark.parametrize("path", [".", "missing", "missing/deeper"])
def test_a_path_at_which_there_is_no_file(path: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"no such file|folder"):
        AIOLI.load(tmp_path / path)


def craft(
    path: Path,
    text: str | None = None,
    tensors: dict[str, Any] | None = None,
    head: dict[str, Any] | None = None,
    **changes: object,
) -> None:
    """Write a file whose checksum is right and whose contents are not; `...` leaves an entry out."""
    snapshot = learned().snapshot()
    tree = files._tree(snapshot)
    own = {"kind": tree["kind"]} | tree["values"]
    kept = {name: value for name, value in (own | changes).items() if value is not ...}
    factored = kept.pop("factored", False)
    tree["parts"]["state"]["values"] = {} if changes.get("factored") is ... else {"factored": factored}
    tree |= {"kind": kept.pop("kind", None), "values": kept}
    arrays: dict[str, Any] = {path: array.whole() for path, array in files._arrays(snapshot)}
    arrays |= {f"state/{name}": array for name, array in (tensors or {}).items()}
    pieces = {path: ArrayInPieces.of(array) for path, array in arrays.items()}
    digest = files._digest(json.dumps(tree, sort_keys=True, separators=(",", ":")), pieces)
    top = {"format": files.FORMAT, "version": "0", "sha256": digest, "snapshot": tree} | (head or {})
    top = {name: value for name, value in top.items() if value is not ...}
    save_file(arrays, path, metadata={"aioli": json.dumps(top) if text is None else text})


def test_the_crafted_file_is_right_where_nothing_is_changed(tmp_path: Path) -> None:
    craft(tmp_path / "learner")
    assert contents(AIOLI.load(tmp_path / "learner")) == contents(learned())


def test_a_newer_format_says_to_upgrade(tmp_path: Path) -> None:
    craft(tmp_path / "newer", head={"format": files.FORMAT + 1, "version": "9.9"})
    check_refused(tmp_path / "newer", f"format {files.FORMAT + 1}", "9.9", "upgrade")


@pytest.mark.parametrize("name", ["Auto", "aioli", "", None, ...])
def test_a_learner_of_another_type(name: object, tmp_path: Path) -> None:
    craft(tmp_path / "other", kind=name)
    check_refused(tmp_path / "other", "'AIOLI'")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", ...),
        ("format", None),
        ("format", "one"),
        ("format", float("nan")),
        ("format", float("inf")),
        ("sha256", ...),
        ("sha256", "0" * 64),
        ("snapshot", ...),
        ("snapshot", None),
        ("snapshot", []),
        ("snapshot", {"kind": "AIOLI"}),
    ],
    ids=lambda part: repr(part)[:20],
)
def test_a_head_that_is_not_right(name: str, value: Any, tmp_path: Path) -> None:
    craft(tmp_path / "crafted", head={name: value})
    check_refused(tmp_path / "crafted")


WRONG_HEADERS: list[tuple[str, Any]] = [
    ("parameters", ...),
    ("parameters", None),
    ("parameters", [1]),
    ("parameters", {"radius": -1.0}),
    ("parameters", {"radius": 1e-200}),
    ("parameters", {"radius": "wide"}),
    ("parameters", {"unknown": 1.0}),
    ("parameters", {"radius": 2.0}),  # of another game than the state
    ("parameters", {"radius": 10**400}),
    ("names", ...),
    ("names", 5),
    ("names", "abc"),
    ("names", ["a"]),
    ("names", ["a", "b", 3]),
    ("names", ["a", "b", "c", "d"]),
    ("factored", ...),
    ("factored", 1),
]


@pytest.mark.parametrize(("name", "value"), WRONG_HEADERS, ids=lambda part: repr(part)[:20])
def test_a_header_that_is_not_right_though_its_checksum_is(name: str, value: Any, tmp_path: Path) -> None:
    craft(tmp_path / "crafted", **{name: value})
    check_refused(tmp_path / "crafted")


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", "3", '"format"', "[" * 100_000, '{"format": ' + "9" * 5000 + "}"]
)
def test_a_header_that_is_no_header_though_its_checksum_is_right(text: str, tmp_path: Path) -> None:
    craft(tmp_path / "crafted", text=text)
    check_refused(tmp_path / "crafted")


@pytest.mark.parametrize(
    "tensors",
    [
        {"P": np.eye(3)},
        {"P": np.ones(16)},
        {"w": np.zeros((4, 1))},
        {"tally": np.zeros(0)},
        {"more": np.zeros(1)},
        {"P": np.eye(4, dtype=np.float32)},
        {"P": np.eye(4, dtype=np.int64)},
        {"P": np.full((4, 4), np.nan)},
        {"w": np.full(4, np.inf)},
    ],
    ids=lambda tensors: " ".join(f"{name} {array.dtype} {array.shape}" for name, array in tensors.items()),
)
def test_arrays_that_are_no_state_though_their_checksum_is_right(tensors: dict[str, Any], tmp_path: Path) -> None:
    craft(tmp_path / "crafted", tensors=tensors)
    check_refused(tmp_path / "crafted")


def test_an_array_that_lies_about_the_width_costs_no_memory(tmp_path: Path) -> None:
    craft(tmp_path / "liar", tensors={"w": np.zeros(5000)})  # whose P would have 200 MB
    tracemalloc.start()
    try:
        check_refused(tmp_path / "liar")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", [[2**63, 0], [0] * 70, [2**40, 2**40, 0]])
def test_a_shape_that_no_array_can_have_is_refused(shape: list[int], saved: bytes, scratch: Path) -> None:
    size = int.from_bytes(saved[:8], "little")
    header = json.loads(saved[8 : 8 + size])
    end = len(saved) - 8 - size
    header["none"] = {"dtype": "F64", "shape": shape, "data_offsets": [end, end]}
    raw = json.dumps(header).encode()
    scratch.write_bytes(len(raw).to_bytes(8, "little") + raw + saved[8 + size :])
    check_refused(scratch)
