"""Every method of the comparison, by name: ours, linear peers untuned and tuned in hindsight, trees, batch models."""

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from aioli import AIOLI, Auto
from aioli.numerics.compiling import Matrix, Vector
from benchmarks import rivals, tuned
from benchmarks.late_contenders import PEERS
from benchmarks.late_labels import Contender, Stream
from benchmarks.online_contenders import BATCHES, TREES, announced_in_time, auto_in_blocks

__all__ = ["METHODS", "Announced", "Family", "Method", "choose_methods"]

Family = Literal["ours", "untuned", "tuned", "trees", "refitted"]
Contend = Callable[[Stream], Contender]


@dataclass(frozen=True)
class Announced:
    """Each row's probability before its label, perhaps still being computed, and what else is worth a note."""

    probabilities: Iterable[float]
    note: str = ""


@dataclass(frozen=True)
class Method:
    """A way to play a stream. Those of a later stage run after all streams have been played by the earlier ones."""

    name: str
    family: Family
    play: Callable[[Matrix, Vector], Announced]
    needs: str
    stage: int = 0
    contend: Contend | None = None  # how it plays where labels are late; None where it cannot

    @property
    def available(self) -> bool:
        """Whether the library that it calls is here, and has it."""
        package, _, name = self.needs.partition(":")
        if importlib.util.find_spec(package) is None:
            return False
        return not name or hasattr(importlib.import_module(package), name)


def choose_methods(wanted: Sequence[str]) -> list[Method]:
    """The methods of these names or families, or all of them where none is named; ValueError where one is unknown."""
    known = {*METHODS, *(method.family for method in METHODS.values())}
    if unknown := sorted(set(wanted) - known):
        raise ValueError(f"no method or family is called {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return [method for method in METHODS.values() if not wanted or {method.name, method.family} & set(wanted)]


def _ours(name: str, make: Callable[[], Any], contend: Contend | None = None, stage: int = 0) -> Method:
    def play(X: Matrix, y: Vector) -> Announced:
        return Announced(make().learn_many(X, y))

    return Method(name, "ours", play, "sklearn" if stage else "aioli", stage, contend)


def _untuned(name: str, rival: Callable[..., Iterable[float]], *settings: object, needs: str, stage: int = 0) -> Method:
    def play(X: Matrix, y: Vector) -> Announced:
        return Announced(rival(X, y, *settings))

    return Method(name, "untuned", play, needs, stage, PEERS[name].make if name in PEERS else None)


def _contending(name: str, family: Family, contend: Contend, needs: str) -> Method:
    def play(X: Matrix, y: Vector) -> Announced:
        return Announced(announced_in_time(contend(Stream(X, y)), len(y)))

    return Method(name, family, play, needs, 3, contend)


def _tuned(name: str, play_once: tuned.Play, kind: str = "step") -> Method:
    best = partial(tuned.best_in_hindsight, play_once, kind)
    return Method(name, "tuned", lambda X, y: Announced(*best(X, y)), "aioli")


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _ours("auto", Auto, auto_in_blocks("usual")),
        _ours("auto-best", partial(Auto, budget="best"), auto_in_blocks("best"), stage=3),
        _ours("aioli", AIOLI),
        _untuned("river-sgd-0.01", rivals.river, "SGD", 0.01, needs="river"),
        _untuned("river-sgd-0.1", rivals.river, "SGD", 0.1, needs="river"),
        _untuned("river-adagrad", rivals.river, "AdaGrad", needs="river"),
        _untuned("river-newton", rivals.river, "Newton", needs="river.optim:Newton"),
        _untuned("vw", rivals.vowpal_wabbit, "", needs="vowpalwabbit"),
        _untuned("vw-coin", rivals.vowpal_wabbit, "--coin", needs="vowpalwabbit"),
        _untuned("vw-ftrl", rivals.vowpal_wabbit, "--ftrl", needs="vowpalwabbit"),
        _tuned("tuned-sgd", tuned.play_sgd),
        _tuned("tuned-sgd-sqrt", tuned.play_sgd_sqrt),
        _tuned("tuned-adagrad", tuned.play_adagrad),
        _tuned("tuned-ekf", tuned.play_ekf, "prior variance"),
        _untuned("sklearn-sgd", rivals.sklearn_sgd, needs="sklearn", stage=1),
        _untuned("glm-laplace", rivals.bayesian_glm, "LaplaceApproximator", needs="bayesianbandits", stage=2),
        _untuned("glm-rvga", rivals.bayesian_glm, "RVGAApproximator", needs="bayesianbandits", stage=2),
        *(_contending(name, "trees", contend, "river") for name, contend in TREES.items()),
        *(_contending(name, "refitted", contend, needs) for name, (needs, contend) in BATCHES.items()),
    )
}
