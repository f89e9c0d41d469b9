"""Copies a service's log up to a moment into a new store: back to a point in time, or to another kind of store."""

from itertools import islice

from aioli.store.event_log import KeptSnapshot, Store

__all__ = ["copy_until"]

AT_ONCE = 1024  # entries in a transaction


def copy_until(source: Store, target: Store, until: int | None = None, time: float | None = None) -> dict[str, int]:
    """Copy the models, tokens and entries up to a number or a time; return how many entries each model has.

    Models that were made later are left out. The target must be empty.
    """
    last = source.last[0] if until is None else until
    if time is not None:
        last = min(last, source.sequence_at(time))
    for hashed, rights in source.tokens().items():
        target.add_token(hashed, rights, 0.0)
    counts: dict[str, int] = {}
    for record in source.models():
        entries = source.entries(record.number, until=last)
        if time is not None and record.made > time:
            continue
        number = target.add_model(record.name, record.spec, record.made, source.snapshot(record.number, 0).data)
        snapshots = {
            kept.sequence: kept.data for kept in (source.origin(record.number), source.snapshot(record.number, last))
        }
        kept = [(number, KeptSnapshot(at, data)) for at, data in sorted(snapshots.items()) if 0 < at <= last]
        counts[record.name] = 0
        while part := [entry._replace(model=number) for entry in islice(entries, AT_ONCE)]:
            target.append(part)
            counts[record.name] += len(part)
        if kept:
            target.append([], kept)
    return counts
