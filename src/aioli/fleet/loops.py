r"""Plays rows of many keys in order, each by its key's own model: one compiled call for all of them.

A row's record is copied into one state (`states.dense.state`), the library's own round is played there, and what it
changed is copied back; the packed form, the usual one, has a shorter way to the same numbers (`packed_rows`,
`packed_scores`). So a key's model goes the way that an `AIOLI` of its own would have gone, bit for bit.
"""

from typing import TypeAlias

from aioli.fleet.layout import (
    BODY,
    EXTENSION,
    FACTORED,
    FULL,
    HEAD,
    KIND,
    LAST,
    MODEL,
    MODEL_HEAD,
    PACKED,
    SINGLE,
    TALLY,
    Told,
    pack_triangle,
    read_body,
    unpack_triangle,
    write_body,
)
from aioli.fleet.packed_rows import FEW, GROUP, GROUP_ROOM, GroupRoom, play_packed_rows
from aioli.fleet.packed_scores import rows_to_score, score_packed_rows
from aioli.fleet.room import Places
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.prefetch import ask_for
from aioli.numerics.root import root
from aioli.outcomes.spec import Rule
from aioli.states.dense import factored, fused

__all__ = ["load_model", "logits_of_keyed_rows", "play_keyed_rows", "store_model"]

AHEAD = 12  # rows between asking for a record and playing it: measured, `python -m benchmarks.fleet`
SINGLE_EPSILON = 2.0**-24
SINGLE_ERROR, SINGLE_DIGITS = 1e-4, 1e2  # of z, as `outcomes.two_classes` has them for float64
play_rows, play_rows_factored = fused.play_rows, factored.play_rows
multiply, whiten = fused.multiply, factored.whiten

# A model between its record and its rounds, as compiled functions take it: body, w, P, tally.
MODEL_ROOM = "Tuple((f8[::1],f8[::1],f8[:,::1],f8[::1]))"
ModelRoom: TypeAlias = tuple[Vector, Vector, Matrix, Vector]
# What a round needs beside the rows: the model, the rules of the game, the workspace of a state, that of a group.
ROUND_ROOM = f"Tuple(({MODEL_ROOM},f8[::1],f8[:,::1],{GROUP_ROOM}))"
RoundRoom: TypeAlias = tuple[ModelRoom, Vector, Matrix, GroupRoom]


@compiled(f"void(f8[:,::1],i8,i8[::1],i8,{MODEL_ROOM})", uncounted=True)
def load_model(records: Matrix, place: int, told: Told, number: int, room: ModelRoom) -> None:
    """Copy a model of a record into a state: w, the tally, and P, or S where the model is factored. O(d²)."""
    body, w, P, tally = room
    record = records[place]
    first = HEAD + number * told[MODEL]
    for i in range(TALLY):
        tally[i] = record[first + i]
    is_factored = record[first + FACTORED] > 0.5
    width = w.size
    if told[KIND] == PACKED and not is_factored:
        unpack_triangle(record[first + MODEL_HEAD : first + MODEL_HEAD + told[BODY]], w, P)
        return
    read_body(record, told, number, body)
    if told[KIND] != FULL and not is_factored:
        unpack_triangle(body, w, P)
        return
    for i in range(width):
        w[i] = body[i]
    S = P.reshape(width * width)
    here = told[BODY] - width
    for i in range(here):
        S[i] = body[width + i]
    if told[KIND] != FULL:
        read_body(records[int(record[EXTENSION])], told, number, body)
        for i in range(here, width * width):
            S[i] = body[i - here]


@compiled(f"void(f8[:,::1],i8,i8[::1],i8,{MODEL_ROOM})", uncounted=True)
def store_model(records: Matrix, place: int, told: Told, number: int, room: ModelRoom) -> None:
    """Copy a state back into its record, and into the record's extension where the model is factored. O(d²)."""
    body, w, P, tally = room
    record = records[place]
    first = HEAD + number * told[MODEL]
    for i in range(TALLY):
        record[first + i] = tally[i]
    is_factored = record[first + FACTORED] > 0.5
    width = w.size
    if told[KIND] == PACKED and not is_factored:
        pack_triangle(record[first + MODEL_HEAD : first + MODEL_HEAD + told[BODY]], w, P)
        return
    if told[KIND] != FULL and not is_factored:
        pack_triangle(body, w, P)
        write_body(record, told, number, body)
        return
    for i in range(width):
        body[i] = w[i]
    S = P.reshape(width * width)
    here = told[BODY] - width
    for i in range(here):
        body[width + i] = S[i]
    write_body(record, told, number, body)
    if told[KIND] != FULL:
        for i in range(here, width * width):
            body[i - here] = S[i]
        write_body(records[int(record[EXTENSION])], told, number, body)


@compiled("b1(f8[:,::1],f8[::1],f8[::1])", reassociate=True, uncounted=True)
def keeps_its_single_digits(P: Matrix, x: Vector, k: Vector) -> bool:
    r"""Return whether P, rounded to float32 after every row, still has digits enough for this row. O(d²)."""
    spread = multiply(P, x, k)
    v = 0.0
    for i in range(x.size):
        v += x[i] * k[i]
    return SINGLE_EPSILON * spread <= SINGLE_ERROR * min(1.0 + v, SINGLE_DIGITS * v)


@compiled(
    f"i8(f8[:,::1],i8[::1],i8,i8[::1],{ROUND_ROOM},f8[:,::1],f8[::1],f8[::1],f8[::1],f8)",
    uncounted=True,
)
def play_keyed_rows(
    records: Matrix,
    places: Places,
    begin: int,
    told: Told,
    room: RoundRoom,
    X: Matrix,
    y: Vector,
    weights: Vector,
    logits: Vector,
    clock: float,
) -> int:
    """Play the rows from `begin` on, row t by the model at `places[t]`; return the row that came next. O(d²) a row.

    Fewer than all rows were played where the next would cost its model's P too many digits: nothing has been changed
    by that row, and it goes on once the model is factored.
    """
    (body, w, P, tally), rules, workspace, group = room
    packed, in_place = told[KIND] == PACKED, told[KIND] == FULL
    single = told[KIND] == SINGLE
    width, first = w.size, HEAD + MODEL_HEAD
    numbers, stride = records.reshape(records.size), records.shape[1]
    t = begin
    while t < len(X):
        place = places[t]
        if packed and numbers[place * stride + HEAD + FACTORED] < 0.5:
            after = play_packed_rows(numbers, stride, places, t, group, rules, X, y, weights, logits, clock)
            if after == t:
                return t
            t = after
            continue
        if t + AHEAD < len(X):
            ask_for(numbers, places[t + AHEAD] * stride, (places[t + AHEAD] + 1) * stride)
        record = records[place]
        if in_place:
            tally = record[HEAD : HEAD + TALLY]
            w = record[first : first + width]
            P = record[first + width : first + width + width * width].reshape(width, width)
        else:
            load_model(records, place, told, 0, (body, w, P, tally))
        row, label, weight, logit = X[t : t + 1], y[t : t + 1], weights[t : t + 1], logits[t : t + 1]
        if record[HEAD + FACTORED] > 0.5:
            play_rows_factored(P, w, tally, rules, workspace, row, label, weight, logit)
        else:
            if single and not keeps_its_single_digits(P, X[t], workspace[1]):
                return t
            if play_rows(P, w, tally, rules, workspace, row, label, weight, logit) == 0:
                return t
        if not in_place:
            store_model(records, place, told, 0, (body, w, P, tally))
        record[LAST] = clock + t
        t += 1
    return len(X)


@compiled("f8(f8[:,::1],f8[::1],f8[::1],f8[::1],f8,b1)", reassociate=True, uncounted=True)
def logit_of_row(P: Matrix, w: Vector, x: Vector, k: Vector, regulariser: float, is_factored: bool) -> float:
    """Return the log-odds of a row as `single_row.predict_logit_one` gives them. O(d²)."""
    v = 0.0
    m = 0.0
    if is_factored:
        v = whiten(P, x, k)
    else:
        multiply(P, x, k)
        for i in range(x.size):
            v += x[i] * k[i]
    for i in range(x.size):
        m += x[i] * w[i]
    return root(m, 0.5 * regulariser * max(v, 0.0))


@compiled(f"void(f8[:,::1],i8[::1],i8[::1],{ROUND_ROOM},f8[:,::1],f8[::1])", uncounted=True)
def logits_of_keyed_rows(
    records: Matrix, places: Places, told: Told, room: RoundRoom, X: Matrix, logits: Vector
) -> None:
    """Write the log-odds of each row by its model, as if it came next; rows without a place are passed over. O(d²)."""
    (body, w, P, tally), rules, workspace, group_room = room
    packed, in_place = told[KIND] == PACKED, told[KIND] == FULL
    width, first = w.size, HEAD + MODEL_HEAD
    numbers, stride = records.reshape(records.size), records.shape[1]
    half = 0.5 * rules[Rule.REGULARISER]
    t = 0
    while t < len(X):
        rows = rows_to_score(numbers, stride, places, t) if packed else 0
        if rows >= FEW:
            group, soon = slice(t, t + rows), places[t + GROUP : t + GROUP + rows]
            score_packed_rows(numbers, stride, places[group], soon, group_room, X[group], logits[group], half)
            t += rows
            continue
        if t + AHEAD < len(X) and places[t + AHEAD] >= 0:
            ask_for(numbers, places[t + AHEAD] * stride, (places[t + AHEAD] + 1) * stride)
        place = places[t]
        if place >= 0:
            if in_place:
                record = records[place]
                w = record[first : first + width]
                P = record[first + width : first + width + width * width].reshape(width, width)
            else:
                load_model(records, place, told, 0, (body, w, P, tally))
            is_factored = records[place, HEAD + FACTORED] > 0.5
            logits[t] = logit_of_row(P, w, X[t], workspace[1], rules[Rule.REGULARISER], is_factored)
        t += 1
