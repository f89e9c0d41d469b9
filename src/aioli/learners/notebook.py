"""Shows a learner in a notebook: what it was made with, what it has learned, what it proves, who is heard.

>>> from aioli import AIOLI
>>> learner = AIOLI()
>>> _ = learner.learn([0.5, -1.0], 1)
>>> "0.6931 nats" in learner._repr_html_()
True
"""

from html import escape

from aioli.learners.protocol import AnyLearner, certifies, knows_classes, mixes, names_columns, require_any_learner

__all__ = ["ShownInNotebooks", "html_of"]

MOST_SHARES = 8  # experts that are listed
MOST_NAMES = 12  # columns and classes that are named
BAR = "display:inline-block;height:0.7em;background:#0b6e69;vertical-align:baseline"


class ShownInNotebooks:
    """Gives an object that is a learner a table for notebooks, beside its `repr`."""

    def _repr_html_(self) -> str:
        return html_of(require_any_learner(self))


def html_of(learner: AnyLearner) -> str:
    """Return a small table that describes the learner, without script or style sheet, for any background."""
    lines = [("rows learned", f"{learner.rounds:,}")]
    if learner.rounds:
        lines.append(("log loss", f"{learner.loss / learner.rounds:.4f} nats a row"))
    if knows_classes(learner):
        lines.append(("classes", _listed([str(label) for label in learner.classes_])))
    elif certifies(learner) and learner.rounds:
        proven = learner.certificate()
        seen = f", on {proven.against}" if proven.against else ""
        lines.append(("certificate", f"{float(proven):.4g} nats against ‖θ‖ ≤ {proven.radius:g}{seen}"))
    names = learner.feature_names_ if names_columns(learner) else None
    if learner.n_features_ is not None:
        lines.append(("columns", f"{learner.n_features_:,}" + (f": {_listed(names)}" if names else "")))
    rows = "".join(_line(name, escape(value)) for name, value in lines)
    if mixes(learner) and learner.rounds:
        rows += _shares(dict(learner.weights_))
    head = f"<caption style='text-align:left;caption-side:top'><code>{escape(repr(learner))}</code></caption>"
    return f"<table class='aioli-learner'>{head}<tbody>{rows}</tbody></table>"


def _shares(shares: dict[str, float]) -> str:
    largest = sorted(shares, key=lambda name: -shares[name])[:MOST_SHARES]
    heard = [name for name in largest if shares[name] >= 0.001]
    bars = "<br>".join(
        f"<span style='{BAR};width:{6.0 * shares[name]:.2f}em'></span> {shares[name]:.1%} {escape(name)}"
        for name in heard
    )
    return _line("shares", bars)


def _line(name: str, value: str) -> str:
    return f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{value}</td></tr>"


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")
