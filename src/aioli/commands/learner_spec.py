"""Makes a learner from its name, with parameters or without: `Auto`, `AIOLI(radius=2, forgetting=0.999)`."""

import ast
from collections.abc import Sequence

from aioli.learners.auto.auto import Auto
from aioli.learners.by_name import learner_names, make_learner
from aioli.learners.classes.one_vs_rest import OneVsRest
from aioli.learners.protocol import AnyLearner, knows_classes, plays_two_classes
from aioli.learners.wide import Wide
from aioli.streams.files.table import CATEGORY
from aioli.streams.filestream import FileStream
from aioli.streams.labels import written
from aioli.streams.protocol import Stream
from aioli.streams.synthetic_stream import SyntheticStream

__all__ = ["learner_by_name", "learner_for", "learner_names", "names_classes", "show_to_adversary"]


def learner_for(
    text: str, stream: Stream, classes: str | Sequence[str] | None = None, guests: Sequence[object] = ()
) -> AnyLearner:
    """Make the learner that the text writes, for these classes; a synthetic stream gives it a radius, if it has one.

    Guests, models of other libraries, take a seat beside the experts of Auto.
    """
    usual: dict[str, object] = {} if classes is None else {"classes": classes}
    if guests:
        usual["guests"] = guests
    if isinstance(stream, SyntheticStream) and stream.law.radius is not None:
        usual["radius"] = stream.law.radius
    if classes is None and not stream.sparse and CATEGORY in _kinds_seen(stream):
        usual |= {"pairs": True, "orthogonal": False}  # so that a new category has a place
    learner = learner_by_name(text, **usual)
    if guests and (not isinstance(learner, Auto) or not learner.guests or stream.sparse):
        raise ValueError("--guest takes a seat in Auto, for two classes, on rows that are not sparse")
    if isinstance(stream, FileStream) and _takes_any_width(learner, stream):
        stream.allow_wide()
    if classes is not None and not knows_classes(learner):
        raise ValueError(f"{text} is for two classes; use Auto or AIOLI, or leave out --classes")
    return learner


def _kinds_seen(stream: Stream) -> set[str]:
    return {kind for name, kind in stream.kinds.items() if name != stream.label}


def _takes_any_width(learner: AnyLearner, stream: Stream) -> bool:
    """Return whether the learner plays wide experts on the stream's rows, however many columns they come to have."""
    if isinstance(learner, Auto):
        return learner.pairs or stream.sparse
    return isinstance(learner.learner if isinstance(learner, OneVsRest) else learner, Wide)


def show_to_adversary(stream: Stream, learner: AnyLearner) -> None:
    """Let an adversary ask the learner before each label; it plays the game of two classes."""
    if isinstance(stream, SyntheticStream):
        if plays_two_classes(learner):
            stream.learner = learner
        elif stream.hostile:
            raise ValueError(f"{stream.name}: plays the game of two classes; leave out classes")


def names_classes(text: str) -> bool:
    """Return whether the text writes a learner of any number of classes: Auto(classes="any")."""
    return _parsed(text)[1].get("classes") is not None


def learner_by_name(text: str, **otherwise: object) -> AnyLearner:
    """Make the learner that the text writes. `otherwise` are parameters for learners that take them, if not given."""
    name, given = _parsed(text)
    if isinstance(labels := given.get("classes"), list):  # labels of a file are texts
        given["classes"] = [written(float(label)) if isinstance(label, (int, float)) else label for label in labels]
    return make_learner(name, given, **otherwise)


def _parsed(text: str) -> tuple[str, dict[str, object]]:
    """Return name and parameters. Only plain values can be written: no code of the text is ever run."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if isinstance(tree, ast.Name):
            return tree.id, {}
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.args:
            return tree.func.id, {str(part.arg): ast.literal_eval(part.value) for part in tree.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise ValueError(f"{text!r} is no learner; write a name, or a name with parameters such as 'AIOLI(radius=2)'")
