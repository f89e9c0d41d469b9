"""Prints what a saved model of K classes knows, for `aioli inspect`."""

from aioli.commands.display import as_json as json_of
from aioli.commands.display import as_lines
from aioli.commands.model_facts import columns_in, described_columns, facts_of, print_columns, print_experts, shares_of
from aioli.learners.protocol import ClassLearner
from aioli.snapshots.tree import Snapshot
from aioli.streams.many_labels import restore_labels

__all__ = ["inspect_classes"]

SHOWN = 20


def inspect_classes(learner: ClassLearner, taught: Snapshot | None, as_json: bool) -> None:
    """Print the learner, its rounds and loss, its certificate, its classes with their rows, its columns and experts."""
    labels = None if taught is None else restore_labels(taught.part("labels"))
    rows = {} if labels is None else dict(zip(labels.classes, labels.counts, strict=False))
    classes = [str(label) for label in learner.classes_]
    summary, shares, columns = facts_of(learner), shares_of(learner), columns_in(taught)
    if as_json:
        counted = {name: rows.get(name) for name in classes}
        print(json_of({**summary, "classes": classes, "rows": counted, "columns": columns, "experts": shares}))
        return
    print(as_lines({**summary, "classes": len(classes)}))
    print("\nclasses" + (", and how many rows of each were learned" if rows else ""))
    known = sorted(classes, key=lambda name: -rows.get(name, 0)) if rows else classes
    width = max((len(name) for name in known[:SHOWN]), default=0)
    print("\n".join(f"  {name:<{width}}" + (f"  {rows[name]:,}" if name in rows else "") for name in known[:SHOWN]))
    if len(known) > SHOWN:
        print(f"  … and {len(known) - SHOWN:,} more (--json has them all)")
    print_columns(described_columns(columns, taught))
    print_experts(shares)
