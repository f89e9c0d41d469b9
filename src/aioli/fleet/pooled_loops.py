"""Plays rows of many keys whose models add to what one global model says: one compiled call for all of them."""

import math

import numpy as np

from aioli.fleet.layout import FACTORED, HEAD, KIND, LAST, LOSS, MODEL, MODELS, SINGLE, Told
from aioli.fleet.loops import (
    AHEAD,
    keeps_its_single_digits,
    load_model,
    logit_of_row,
    store_model,
)
from aioli.fleet.room import Places
from aioli.fleet.shares import mix, update_shares
from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.logistic import softplus
from aioli.numerics.prefetch import ask_for
from aioli.numerics.root import root
from aioli.states.dense import factored, fused
from aioli.states.dense.offset import centre_and_spread, play_row_with_offset

__all__ = ["GLOBAL", "logits_of_pooled_rows", "play_pooled_rows"]

GLOBAL = -1  # in place of a model's number
play_rows, play_rows_factored = fused.play_rows, factored.play_rows


@compiled(
    "UniTuple(i8,2)(f8[:,::1],i8[::1],i8,i8[::1],f8[::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],"
    "f8[:,::1],f8[::1],f8[::1],f8[::1],b1,"
    "f8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1],f8[::1],f8)"
)
def play_pooled_rows(
    records: Matrix,
    places: Places,
    begin: int,
    told: Told,
    body: Vector,
    Ps: Cube,
    ws: Matrix,
    tallies: Matrix,
    rules: Matrix,
    workspace: Matrix,
    global_P: Matrix,
    global_w: Vector,
    global_tally: Vector,
    global_rules: Vector,
    global_is_factored: bool,
    log_shares: Vector,
    X: Matrix,
    y: Vector,
    weights: Vector,
    logits: Vector,
    offsets: Vector,
    clock: float,
) -> tuple[int, int]:
    """Play the rows from `begin` on; return the row that came next, and the model to be factored before it is played.

    A row goes first to the global model, whose log-odds are left in `offsets` (NaN until then), then to all models of
    its key, and what they said is mixed. Where a label comes late, `logits` is where the key's loss is counted.
    """
    models = told[MODELS]
    said, room = np.empty(models + 1), np.empty(models + 1)
    numbers, stride = records.reshape(records.size), records.shape[1]
    for t in range(begin, len(X)):
        if t + AHEAD < len(X):
            ask_for(numbers, places[t + AHEAD] * stride, (places[t + AHEAD] + 1) * stride)
        row, label, weight = X[t : t + 1], y[t : t + 1], weights[t : t + 1]
        if math.isnan(offsets[t]):
            if global_is_factored:
                play_rows_factored(
                    global_P, global_w, global_tally, global_rules, workspace, row, label, weight, offsets[t : t + 1]
                )
            elif (
                play_rows(
                    global_P, global_w, global_tally, global_rules, workspace, row, label, weight, offsets[t : t + 1]
                )
                == 0
            ):
                return t, GLOBAL
        place = places[t]
        record = records[place]
        for model in range(models):
            is_factored = record[HEAD + model * told[MODEL] + FACTORED] > 0.5
            load_model(records, place, told, model, (body, ws[model], Ps[model], tallies[model]))
            if told[KIND] == SINGLE and not is_factored and not keeps_its_single_digits(Ps[model], X[t], workspace[1]):
                return t, model
            z, _ = play_row_with_offset(
                Ps[model],
                ws[model],
                tallies[model],
                rules[model],
                workspace,
                X[t],
                y[t],
                weights[t],
                offsets[t],
                is_factored,
            )
            if math.isnan(z):
                return t, model
            said[model] = z
        said[models] = offsets[t]
        for model in range(models):
            store_model(records, place, told, model, (body, ws[model], Ps[model], tallies[model]))
        if math.isnan(logits[t]):
            logits[t] = mix(log_shares, said, room)
        update_shares(log_shares, said, y[t], weights[t])
        record[LOSS] += weights[t] * softplus(-logits[t] if y[t] > 0.5 else logits[t])
        record[LAST] = clock + t
    return len(X), 0


@compiled(
    "void(f8[:,::1],i8[::1],i8[::1],f8[::1],f8[:,::1],f8[::1],f8[::1],f8,f8[::1],"
    "f8[:,::1],f8[::1],b1,f8[::1],f8[:,::1],f8[::1])"
)
def logits_of_pooled_rows(
    records: Matrix,
    places: Places,
    told: Told,
    body: Vector,
    P: Matrix,
    w: Vector,
    tally: Vector,
    regulariser: float,
    k: Vector,
    global_P: Matrix,
    global_w: Vector,
    global_is_factored: bool,
    log_shares: Vector,
    X: Matrix,
    logits: Vector,
) -> None:
    """Write the log-odds of each row by its key's models and the global one; rows without a place are passed over."""
    models = told[MODELS]
    said, room = np.empty(models + 1), np.empty(models + 1)
    for t in range(len(X)):
        place = places[t]
        if place >= 0:
            offset = logit_of_row(global_P, global_w, X[t], k, regulariser, global_is_factored)
            for model in range(models):
                load_model(records, place, told, model, (body, w, P, tally))
                is_factored = records[place, HEAD + model * told[MODEL] + FACTORED] > 0.5
                m, v, _ = centre_and_spread(P, w, X[t], k, is_factored)
                said[model] = root(m + offset, 0.5 * regulariser * max(v, 0.0))
            said[models] = offset
            logits[t] = mix(log_shares, said, room)
