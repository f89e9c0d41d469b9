"""Learners of K classes of other libraries for `benchmarks.classes`, and first-order methods tuned in hindsight."""

from collections.abc import Callable

import numpy as np

from aioli.commands.class_peers import class_peers_of
from aioli.numerics.compiling import Matrix
from aioli.outcomes.class_labels import Codes

__all__ = ["CLASS_PEERS", "first_order_tuned", "standardised"]

Method = Callable[[Matrix, Codes, int], Matrix]

LIBRARIES = {  # the library of each peer
    "River softmax": "river",
    "River OvR": "river",
    "River NB": "river",
    "River ARF": "forests",
    "River AMF": "forests",
    "VW oaa": "vw",
    "VW oaa --coin": "vw",
    "sklearn SGD": "sklearn",
    "boosting refitted": "boosting",
    "persistence": "persistence",
}
RATES = 10.0 ** np.arange(-3.0, 1.01, 0.5)  # of learning, each of which plays


def first_order_tuned(X: Matrix, codes: Codes, classes: int) -> Matrix:
    r"""Return what online gradient descent announced at the best of its rates, chosen in hindsight. O(Kd) a rate.

    Softmax regression on columns standardised by the rows so far, with steps $\eta/\sqrt t$ and AdaGrad's
    $\eta/\sqrt{\sum g^2}$, at nine rates each: what a user who had tuned would have, and nobody has beforehand.
    """
    Z = np.column_stack([np.ones(len(X)), standardised(X)])
    rates = np.concatenate([RATES, RATES])[:, None, None]
    adaptive = np.arange(len(rates)) >= len(RATES)
    W = np.zeros((len(rates), classes, Z.shape[1]))
    squares = np.full_like(W, 1e-8)
    said = np.empty((len(rates), len(X), classes))
    for t, (z, label) in enumerate(zip(Z, codes.tolist(), strict=True)):
        logits = W @ z
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        said[:, t] = p
        p[:, label] -= 1.0
        gradient = p[:, :, None] * z
        squares[adaptive] += gradient[adaptive] ** 2
        steps = np.where(adaptive[:, None, None], rates / np.sqrt(squares), rates / np.sqrt(t + 1.0))
        W -= steps * gradient
    losses = -np.log(np.maximum(said[:, np.arange(len(codes)), codes], 1e-300)).mean(axis=1)
    return np.asarray(said[int(np.nanargmin(losses))])


def standardised(X: Matrix) -> Matrix:
    """Return the rows in standard deviations from the mean, both of the rows up to and including each."""
    n = np.arange(1, len(X) + 1)[:, None]
    moved = X - X[0]
    mean = np.cumsum(moved, axis=0) / n
    spread = np.sqrt(np.maximum(np.cumsum(moved**2, axis=0) / n - mean**2, 0.0))
    return np.asarray(np.divide(moved - mean, spread, out=np.zeros_like(X), where=spread > 0.0))


def _peer(name: str) -> Method:
    def play(X: Matrix, codes: Codes, classes: int) -> Matrix:
        peer = class_peers_of(LIBRARIES[name], classes, in_csr=False)[name]
        try:
            return np.array(list(peer.announce(X, codes.astype(np.float64))))
        finally:
            peer.close()

    return play


CLASS_PEERS: dict[str, Method] = {
    "first order, tuned": first_order_tuned,
    **{name: _peer(name) for name in LIBRARIES},
}
