"""Random generators in snapshots: a restored generator draws on bit for bit as the original would.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> restored = restore_generator(snapshot_generator(rng))
>>> bool(restored.random() == rng.random())
True
"""

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["restore_generator", "snapshot_generator"]

KIND = "PCG64"  # NumPy's default generator; its four numbers are whole
WIDEST = 2**128 - 1  # two of them have so many bits


def snapshot_generator(rng: np.random.Generator) -> Snapshot:
    """Return the state of a PCG64 generator; refuse any other kind."""
    state = rng.bit_generator.state
    if state["bit_generator"] != KIND:
        raise SnapshotRefused(f"a generator of kind {state['bit_generator']} has no snapshot; use {KIND}")
    values: dict[str, Plain] = {
        "state": state["state"]["state"],
        "increment": state["state"]["inc"],
        "has_half": state["has_uint32"],
        "half": state["uinteger"],
    }
    return Snapshot(KIND, values)


def restore_generator(snapshot: Snapshot) -> np.random.Generator:
    """Make the generator of a snapshot that `snapshot_generator` made."""
    state = snapshot.of(KIND)
    bits = np.random.PCG64()
    try:
        bits.state = {
            "bit_generator": KIND,
            "state": {"state": state.whole("state", most=WIDEST), "inc": state.whole("increment", most=WIDEST)},
            "has_uint32": state.whole("has_half"),
            "uinteger": state.whole("half"),
        }
    except (OverflowError, ValueError) as error:
        raise SnapshotRefused(f"it is not the state of a generator ({error})") from error
    return np.random.Generator(bits)
