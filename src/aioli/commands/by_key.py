"""`aioli run --by COLUMN`: one model a key, all of which add to a global one; what is told of the keys."""

import math

from aioli.commands.learner_spec import learner_by_name
from aioli.commands.options import RunOptions
from aioli.errors import AioliError
from aioli.evaluate.key_line import KeyLine
from aioli.evaluate.key_scores import KeyScores
from aioli.evaluate.keyed_player import KeyedLearner
from aioli.fleet.fleet import Fleet
from aioli.learners.aioli import AIOLI
from aioli.report.record import KeyTables
from aioli.snapshots.tree import Snapshot

__all__ = ["fleet_for", "key_figures", "key_tables"]

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


def key_tables(scores: KeyScores) -> KeyTables:
    """Return what the page shows of the keys."""
    new, count, loss = scores.newest(SHOWN)
    hard: list[KeyLine] = scores.hardest(SHOWN)
    return KeyTables(len(scores.keys), hard, scores.drifted(SHOWN), new, count, None if math.isnan(loss) else loss)
