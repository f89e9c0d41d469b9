"""What a learner may be able to do beyond predicting and learning, and questions that code can ask of it."""

from enum import Enum
from typing import Generic, Protocol, TypeGuard, TypeVar

__all__ = ["Capability", "Question"]

Able = TypeVar("Able")  # the learners of a capability


class Capability(Enum):
    """What a learner may be able to do beyond predicting and learning."""

    CERTIFIES = "proves a bound on its regret: certificate()"
    CLASSES = "learns any number of classes: `classes_`, and one probability a class"
    GROWS = "makes room for new columns: grow()"
    LEARNS_LATE = "learns from a label that comes after the row: announce(), learn(…, announced=…), learn_batch()"
    MERGES = "takes in what another learned: merge()"
    MIXES = "tells how much each of its experts is heard: `weights_`"
    NAMES_COLUMNS = "knows its columns by name: `feature_names_`"
    SAVES = "has a snapshot, and so goes into a file: snapshot(), restore(), save(), load()"
    SHARDS = "merges with others that went on from the same learner: merge(…, since=…)"
    SPARSE_ROWS = "takes sparse rows without making them dense"
    WEIGHS = "multiplies a row's loss by a weight: learn(…, weight=…), learn_many(…, weights=…)"


class HasCapabilities(Protocol):
    """A learner, of which nothing is known but its capabilities."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can do besides predicting and learning."""


class Question(Generic[Able]):
    """A question whether a learner has a capability; a type checker then knows the methods that come with it."""

    def __init__(self, capability: Capability) -> None:
        self.capability = capability
        self.__doc__ = f"Return whether the learner {capability.value}."

    def __call__(self, learner: HasCapabilities) -> TypeGuard[Able]:
        """Return whether the learner has the capability."""
        return self.capability in learner.capabilities
