"""Collects and prints what `aioli inspect` shows of every saved model, whatever the number of its classes."""

from aioli.commands.findings import ball_of, certificate_of
from aioli.learners.protocol import AnyLearner, mixes
from aioli.snapshots.tree import Snapshot
from aioli.streams.encoding import column_kinds

__all__ = ["columns_in", "described_columns", "facts_of", "print_columns", "print_experts", "shares_of"]


def facts_of(learner: AnyLearner) -> dict[str, object]:
    """Return the learner, its rounds and loss, its certificate and its features."""
    certificate, rounds = certificate_of(learner), learner.rounds
    return {
        "learner": repr(learner).partition("  #")[0],
        "rounds": rounds,
        "log_loss": learner.loss / rounds if rounds else None,
        "certificate": None if certificate is None else float(certificate),
        "radius": None if certificate is None else certificate.radius,
        "against": None if certificate is None else ball_of(learner, certificate),
        "features": learner.n_features_,
    }


def shares_of(learner: AnyLearner) -> dict[str, float] | None:
    """Return the share of the mixture that each expert holds; None where there is no mixture."""
    return dict(learner.weights_) if mixes(learner) else None


def columns_in(taught: Snapshot | None) -> dict[str, str]:
    """Return the kinds of the columns that a model was taught on; none where it was not, or on sparse rows."""
    encoder = None if taught is None else taught.parts.get("encoder")
    return column_kinds(encoder) if encoder is not None and encoder.kind == "Encoder" else {}


def print_columns(columns: dict[str, str]) -> None:
    """Print a line a column."""
    if columns:
        print("\ncolumns\n" + "\n".join(f"  {name}: {kind}" for name, kind in columns.items()))


def print_experts(shares: dict[str, float] | None) -> None:
    """Print a line an expert, the one that is heard most first."""
    if shares:
        print("\nexperts, and the share of the mixture that each holds")
        print("\n".join(f"  {share:7.2%}  {name}" for name, share in sorted(shares.items(), key=lambda e: -e[1])))


def described_columns(columns: dict[str, str], taught: Snapshot | None) -> dict[str, str]:
    """Return what each column is, how its values are written, and how many categories have a feature of their own."""
    if taught is None or not columns:
        return dict(columns)
    written = taught.mapping("notations") if "notations" in taught.values else {}
    held = taught.part("encoder").counts("categories")
    return {
        name: kind
        + (f" ({written[name]})" if written.get(name) else "")
        + (f", {held[name]:,} values" if name in held else "")
        for name, kind in columns.items()
    }
