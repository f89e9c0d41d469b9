"""`aioli run --by COLUMN` plays one model a key beside a global one: makes the fleet, and reports on its keys."""

import math
from typing import NamedTuple

import numpy as np

from aioli.commands.learner_spec import learner_by_name
from aioli.commands.options import RunOptions
from aioli.errors import AioliError
from aioli.evaluate.key_line import KeyLine
from aioli.evaluate.key_scores import KeyScores
from aioli.evaluate.keyed_player import KeyedLearner
from aioli.fleet.fleet import Fleet
from aioli.learners.aioli import AIOLI
from aioli.learners.protocol import Certifies
from aioli.report.record import KeyTables
from aioli.snapshots.tree import Snapshot

__all__ = ["KeyFacts", "fleet_for", "heaviest_keys", "key_figures", "key_tables", "learner_of"]

SHOWN, SAID = 20, 3  # keys in a table of the page, and in a line of the summary


def fleet_for(options: RunOptions, found: Snapshot | None) -> KeyedLearner:
    """Return the fleet of a run: that of its checkpoint, or a new one of the learner that was named."""
    if found is not None:
        return KeyedLearner.restore(found.part("learner"))
    learner = AIOLI() if options.learner == "Auto" else learner_by_name(options.learner)
    if not isinstance(learner, AIOLI):
        raise AioliError(f"--by plays AIOLI of two classes, not {options.learner}; write --learner 'AIOLI(radius=2)'")
    return KeyedLearner(Fleet(learner, pooling="global"))


def key_figures(scores: KeyScores) -> dict[str, object]:
    """Return what the summary says of the keys."""
    _, count, loss = scores.newest(0)
    return {
        "keys": len(scores.keys),
        "new_keys": count,
        "loss_of_new_keys": None if math.isnan(loss) else loss,
        "hard_keys": [line.key for line in scores.hardest(SAID)],
        "drifted_keys": [line.key for line in scores.drifted(SAID)],
    }


class KeyFacts(NamedTuple):
    """The figures of one key's model that the summary and the page show."""

    key: str
    rows: int
    log_loss: float
    certificate: float


def learner_of(fleet: Fleet, key: str) -> Certifies:
    """Return the learner of a key as it was typed: a text, or a whole number where no text is so."""
    typed = key.removeprefix("-")
    return fleet[int(key) if key not in fleet and typed.isascii() and typed.isdigit() else key]


def heaviest_keys(fleet: Fleet, count: int) -> list[KeyFacts]:
    """Return what is told of so many keys, those whose rows lost most in all first."""
    told = fleet.by_key()
    most = np.argsort(-told["loss"], kind="stable")[:count]
    rows, losses, certificates = (told[name][most].tolist() for name in ("rows", "loss", "certificate"))
    names = [fleet.key(number) for number in most.tolist()]
    lines = zip(names, rows, losses, certificates, strict=True)
    return [KeyFacts(str(key), int(n), loss / max(n, 1.0), proven) for key, n, loss, proven in lines]


def key_tables(scores: KeyScores) -> KeyTables:
    """Return what the page shows of the keys."""
    new, count, loss = scores.newest(SHOWN)
    hard: list[KeyLine] = scores.hardest(SHOWN)
    return KeyTables(len(scores.keys), hard, scores.drifted(SHOWN), new, count, None if math.isnan(loss) else loss)
