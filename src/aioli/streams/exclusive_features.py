"""Which features of an encoding exclude each other: the levels of one column of categories."""

from aioli.streams.encoding import Encoder
from aioli.streams.files.table import DATE, NUMBER

__all__ = ["exclusive"]


def exclusive(encoder: Encoder) -> dict[int, list[int]]:
    """Return, for the index of each 0/1 feature, the indices of it and of the features that exclude it.

    These are the levels of one categorical column: a row has one of them. Any other 0/1 feature, such as
    "size is missing", is alone. Features of numbers and dates are left out.
    """
    columns = sorted(encoder.categories, key=len)  # of two names that fit, the longer one is the column's
    owners: dict[int, str] = {}
    for name in columns:
        marks = (f"{name}=", f"{name} is missing", f"{name} is unreadable")
        owners |= {place: name for place, feature in enumerate(encoder.features) if feature.startswith(marks)}
    dense = {name for name, kind in encoder.kinds.items() if kind == NUMBER}
    dense |= {part for name, kind in encoder.kinds.items() if kind == DATE for part in encoder.date_features(name)}
    levels: dict[str, list[int]] = {name: [] for name in columns}
    for place, name in owners.items():
        levels[name].append(place)
    alone = {place: [place] for place, feature in enumerate(encoder.features) if feature not in dense}
    return alone | {place: levels[name] for place, name in owners.items() if encoder.features[place] not in dense}
