"""Copies records, compiled: out of them and into them as plain numbers, and into records of more columns."""

import math

import numpy as np

from aioli.fleet.layout import BODY, FACTORED, HEAD, MODEL, MODEL_HEAD, MODELS, WIDTH, Told, read_body, write_body
from aioli.fleet.loops import load_model, store_model
from aioli.fleet.room import Places
from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = ["grow_models", "read_records", "write_records"]


@compiled("void(f8[:,::1],i8[::1],i8[::1],i8[::1],f8[:,::1],f8[:,::1])")
def read_records(records: Matrix, places: Places, told: Told, rows: Places, heads: Matrix, bodies: Matrix) -> None:
    """Copy records to these rows of two matrices: what is always float64, and w and P of all models."""
    for i in range(places.size):
        record, head = records[places[i]], heads[rows[i]]
        for j in range(HEAD):
            head[j] = record[j]
        for model in range(told[MODELS]):
            for j in range(MODEL_HEAD):
                head[HEAD + model * MODEL_HEAD + j] = record[HEAD + model * told[MODEL] + j]
            read_body(record, told, model, bodies[rows[i], model * told[BODY] : (model + 1) * told[BODY]])


@compiled("void(f8[:,::1],i8[::1],i8[::1],f8[:,::1],f8[:,::1])")
def write_records(records: Matrix, places: Places, told: Told, heads: Matrix, bodies: Matrix) -> None:
    """Copy what `read_records` has read into records."""
    for i in range(places.size):
        record, head = records[places[i]], heads[i]
        for j in range(HEAD):
            record[j] = head[j]
        for model in range(told[MODELS]):
            for j in range(MODEL_HEAD):
                record[HEAD + model * told[MODEL] + j] = head[HEAD + model * MODEL_HEAD + j]
            write_body(record, told, model, bodies[i, model * told[BODY] : (model + 1) * told[BODY]])


@compiled("void(f8[:,::1],i8,i8[::1],f8[:,::1],i8,i8[::1],f8[::1])")
def grow_models(
    records: Matrix, place: int, told: Told, larger: Matrix, larger_place: int, larger_told: Told, ridges: Vector
) -> None:
    """Copy a record into one of more columns, as if these had been there, and 0, from the first row. O(d²)."""
    width, wide = told[WIDTH], larger_told[WIDTH]
    tally, w, P = np.empty(FACTORED), np.empty(width), np.empty((width, width))
    w_grown, P_grown = np.zeros(wide), np.zeros((wide, wide))
    body, body_grown = np.empty(told[BODY]), np.empty(larger_told[BODY])
    source, target = records[place], larger[larger_place]
    target[0], target[2] = source[0], source[2]  # the key's numbers but its extension, which is the larger record's own
    for model in range(told[MODELS]):
        load_model(records, place, told, model, (body, w, P, tally))
        factored = source[HEAD + model * told[MODEL] + FACTORED]
        target[HEAD + model * larger_told[MODEL] + FACTORED] = factored
        prior = 1.0 / ridges[model]
        w_grown[:width] = w
        P_grown[:width, :width] = P
        for i in range(width, wide):
            P_grown[i, i] = math.sqrt(prior) if factored > 0.5 else prior
        store_model(larger, larger_place, larger_told, model, (body_grown, w_grown, P_grown, tally))
