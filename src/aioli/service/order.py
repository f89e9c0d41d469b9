"""Orders requests that came together: labels side by side, then rows side by side.

Requests of one group are concurrent: none was answered before another was sent, so that any order between them is one
in which they may have come. Labels go before rows, so that rows are announced by a model that has learned them. What
one request asks stays in its order, and so does what is asked of one id.

>>> from aioli.service.operations import Learn
>>> requests = [[Predict("m", "a", [1.0])], [Learn("m", "x", 1)], [Predict("m", "b", [2.0]), Learn("m", "b", 0)]]
>>> order_of(requests)
[1, 0, 2, 3]
"""

from collections.abc import Sequence

from aioli.service.operations import Operation, Predict

__all__ = ["order_of"]


def order_of(requests: Sequence[Sequence[Operation]]) -> list[int]:
    """Return the numbers of the operations, counted through all requests, in the order in which they are played."""
    if len({(type(operation), operation.model) for request in requests for operation in request}) < 2:
        return list(range(sum(map(len, requests))))
    turns: list[tuple[int, int]] = []  # even turns are of labels, odd ones of rows; then models apart
    models: dict[str, int] = {}
    asked: dict[tuple[str, str], int] = {}  # the turn of the last operation with an id
    for request in requests:
        turn = 0
        for operation in request:
            identity = operation.model, operation.id
            turn = max(turn, asked.get(identity, 0))
            turn += (turn & 1) != isinstance(operation, Predict)
            asked[identity] = turn
            turns.append((turn, models.setdefault(operation.model, len(models))))
    return sorted(range(len(turns)), key=turns.__getitem__)
