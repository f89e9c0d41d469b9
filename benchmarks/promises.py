"""What Auto promises beside a low loss: that units and origins do not matter, and that its certificate holds."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aioli import Auto
from aioli.evaluate.hindsight import best_in_ball
from aioli.numerics.compiling import Matrix, Vector
from aioli.states.certificate import Certificate
from aioli.states.mixture.views import VIEWS, Views
from aioli.streams.synthetic import against
from benchmarks.real_streams import load_stream

__all__ = ["Promise", "check_promises", "promise_lines", "promises_of"]

ADVERSARIAL_ROWS = 1000


@dataclass(frozen=True)
class Promise:
    """What was measured on one stream: relative changes of the loss, regret and certificate in nats."""

    stream: str
    units: float
    origins: float
    regret: float
    certificate: float


def check_promises(folder: Path | None, names: Sequence[str], rows: int) -> list[Promise]:
    """All promises on all streams, and the certificate on two more that are made to hurt."""
    found = []
    for name in names:
        begin = time.perf_counter()
        found.append(promises_of(name, *load_stream(folder, name, rows)))
        print(f"{name} promises: {_told(found[-1])}, {time.perf_counter() - begin:.1f} s", flush=True)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ADVERSARIAL_ROWS, 5))
    y = np.array([label for _, label, _ in against(Auto(), X)])
    found.append(promises_of("an adversary", X, y))
    theta = np.where(np.arange(4 * ADVERSARIAL_ROWS)[:, None] // 500 % 2, 2.0, -2.0) * np.ones(5)
    X = rng.normal(size=theta.shape)
    y = (np.sum(X * theta, axis=1) + rng.logistic(size=len(X)) > 0).astype(np.float64)
    found.append(promises_of("a world that turns around", X, y))
    return found


def promises_of(stream: str, X: Matrix, y: Vector) -> Promise:
    """Auto on the rows as they are, each column times a power of ten of its own, and moved by up to ten deviations."""
    rng = np.random.default_rng(0)
    units = 10.0 ** rng.uniform(-6.0, 6.0, X.shape[1])
    origins = 10.0 * X.std(axis=0) * rng.uniform(-1.0, 1.0, X.shape[1])
    plain = Auto()
    plain.learn_many(X, y)
    certificate = plain.certificate()
    best = best_in_ball(_seen(X, certificate), y, certificate.radius, intercept=False, tolerance=1e-3)
    return Promise(
        stream,
        _loss(X * units, y) / plain.loss - 1.0,
        _loss(X + origins, y) / plain.loss - 1.0,
        plain.loss - best.loss,
        float(certificate),
    )


def _seen(X: Matrix, certificate: Certificate) -> Matrix:
    """The rows as the models see them against which the certificate holds, a 1 in front."""
    for kind, name in enumerate(VIEWS):
        if f"the {name} view" in certificate.against:
            return Views(X.shape[1]).of_rows(X)[kind]
    lengths = np.linalg.norm(X, axis=1)  # of wide rows: those of unit length
    return np.column_stack([np.ones(len(X)), X / np.where(lengths > 0.0, lengths, 1.0)[:, None]])


def promise_lines(promises: Sequence[Promise]) -> list[str]:
    """The worst of each, beside its goal."""
    if not promises:
        return []
    units = max(promises, key=lambda p: abs(p.units))
    origins = max(promises, key=lambda p: p.origins)
    broken = [p.stream for p in promises if p.regret > p.certificate]
    below = sum(p.certificate < 0.0 for p in promises)
    return [
        f"units: other powers of ten move Auto's loss by at most {abs(units.units):.4%} ({units.stream}); "
        f"goal: below 1%, {_verdict(abs(units.units) < 0.01)}",
        f"origins: columns moved by ten deviations cost at most {max(origins.origins, 0.0):.4%} ({origins.stream}); "
        f"goal: at most 20%, {_verdict(origins.origins <= 0.2)}",
        f"certificate: regret below it on {len(promises) - len(broken)} of {len(promises)} streams, adversarial and "
        f"drifting ones among them, and itself below 0 on {below}; goal: all, {_verdict(not broken)}",
    ]


def _loss(X: Matrix, y: Vector) -> float:
    learner = Auto()
    learner.learn_many(X, y)
    return learner.loss


def _told(promise: Promise) -> str:
    return (
        f"units {promise.units:+.4%}, origins {promise.origins:+.4%}, "
        f"regret {promise.regret:.1f} ≤ certificate {promise.certificate:.1f}"
    )


def _verdict(met: bool) -> str:
    return "met" if met else "missed"
