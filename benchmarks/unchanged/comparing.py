"""Two records side by side, bit for bit: which scenarios are equal, and where others differ first."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.table import Table
from benchmarks.unchanged.meant import Meant, reason_for
from benchmarks.unchanged.recording.notes import FAILED, Record, Values

__all__ = ["comparison_table", "first_difference", "unequal"]

EQUAL = "equal"
LONGEST = 110  # characters shown of one value


def comparison_table(base: Record, work: Record, names: tuple[str, str], meant: Sequence[Meant] = ()) -> Table:
    """Tell of each scenario whether both records are equal, or else what differs first; what was meant is counted."""
    rows = []
    reasons: Counter[str] = Counter()
    for scenario, theirs in base.items():
        ours = work.get(scenario)
        added = len(set(ours or ()) - set(theirs))
        equal = f"{EQUAL}, and {added} new" if added else EQUAL
        changed = {
            name: reason
            for name, value in theirs.items()
            if ours is not None and (name not in ours or _between(name, value, ours[name]) is not None)
            if (reason := reason_for(scenario, name, meant)) is not None
        }
        reasons.update(changed.values())
        if changed:
            equal += f" but for {len(changed)} as meant"
        rest = {name: value for name, value in theirs.items() if name not in changed}
        rows.append((scenario, str(len(theirs)), first_difference(rest, ours, names) or equal))
    notes = [f"new: {name}" for name in work if name not in base]
    notes += [f"meant, {count} values: {reason}" for reason, count in reasons.items()]
    return Table(f"{names[0]} beside {names[1]}, bit for bit", ("scenario", "values", "first difference"), rows, notes)


def unequal(table: Table) -> Sequence[str]:
    """Pick the names of the scenarios that are not equal."""
    return [row[0] for row in table.rows if not row[-1].startswith(EQUAL)]


def first_difference(base: Values, work: Values | None, names: tuple[str, str] = ("base", "work")) -> str | None:
    """Describe the first value that differs, and count the others; None where all are equal.

    What only the later side says is no difference: it has learned to say more.
    """
    if work is None:
        return f"only {names[0]} has it"
    for values, name in ((base, names[0]), (work, names[1])):
        if FAILED in values:
            return f"{name} failed: {_shown(str(values[FAILED]).strip().splitlines()[-1])}"
    told = [
        _between(name, value, work[name]) if name in work else f"{name}: only {names[0]} has it"
        for name, value in base.items()
    ]
    found = [difference for difference in told if difference is not None]
    if not found:
        return None
    return found[0] if len(found) == 1 else f"{found[0]}; {len(found)} of {len(told)} values differ"


def _between(name: str, base: Any, work: Any) -> str | None:
    """Compare two arrays: -0.0 is not 0.0 here, and a NaN is a NaN of the same bits."""
    if base.dtype != work.dtype or base.shape != work.shape:
        if {base.dtype.kind, work.dtype.kind} == {"U"}:
            return f"{name}: {_shown(base.tolist())} ≠ {_shown(work.tolist())}"
        if base.dtype != np.uint8 or work.dtype != np.uint8:
            return f"{name}: {base.dtype}{list(base.shape)} ≠ {work.dtype}{list(work.shape)}"
    if base.tobytes() == work.tobytes():
        return None
    if base.dtype == np.uint8:
        return f"{name}, {_lines(base.tobytes(), work.tobytes())}"
    flat = np.ascontiguousarray(base).reshape(-1), np.ascontiguousarray(work).reshape(-1)
    bits = [array.view(np.uint8).reshape(len(array), -1) for array in flat]
    k = int(np.flatnonzero((bits[0] != bits[1]).any(axis=1))[0])
    place = "".join(f"[{i}]" for i in np.unravel_index(k, base.shape))
    theirs, ours = flat[0][k].item(), flat[1][k].item()
    return f"{name}{place}: {_shown(theirs)} ≠ {_shown(ours)}{_apart(theirs, ours)}"


def _lines(base: bytes, work: bytes) -> str:
    theirs, ours = base.decode("utf-8", "replace").split("\n"), work.decode("utf-8", "replace").split("\n")
    for number, (their, our) in enumerate(zip(theirs, ours, strict=False), 1):
        if their != our:
            return f"line {number}: {_shown(their)} ≠ {_shown(our)}"
    return f"{len(theirs) - 1} lines ≠ {len(ours) - 1} lines"


def _apart(base: object, work: object) -> str:
    """Count the float64 numbers from one to the other."""
    if not (isinstance(base, float) and isinstance(work, float) and np.isfinite([base, work]).all()):
        return ""
    places = []
    for value in (base, work):
        bits = int(np.float64(value).view(np.int64))
        places.append(bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF))
    count = abs(places[0] - places[1])
    return f" ({count:,} ulp)" if count < 1_000_000 else ""


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
