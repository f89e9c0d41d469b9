"""`aioli inspect`: what a saved model knows, told without running anything that is in the file."""

from aioli.commands.display import as_json as json_of
from aioli.commands.display import as_lines, finite
from aioli.commands.summary import ball_of, certificate_of
from aioli.evaluate.effects import effects, unit_of
from aioli.learners.protocol import mixes
from aioli.store.models import load_model
from aioli.streams.encoding import column_kinds
from aioli.streams.labels import Labels

__all__ = ["inspect_model"]

SHOWN = 20


def inspect_model(path: str, as_json: bool = False) -> None:
    """Print the learner, its rounds and loss, its certificate, its columns, its weights and how sure they are."""
    learner, taught = load_model(path)
    certificate, rounds = certificate_of(learner), learner.rounds
    labels = Labels() if taught is None else Labels.restore(taught.part("labels"))
    summary: dict[str, object] = {
        "learner": repr(learner).partition("  #")[0],
        "rounds": rounds,
        "log_loss": learner.loss / rounds if rounds else None,
        "certificate": None if certificate is None else float(certificate),
        "radius": None if certificate is None else certificate.radius,
        "against": None if certificate is None else ball_of(learner, certificate),
        "features": learner.n_features_,
        "positive": labels.positive,
        "negative": labels.negative,
    }
    weights = effects(learner)
    heard = dict(learner.weights_) if mixes(learner) else None
    columns = {} if taught is None or "encoder" not in taught.parts else column_kinds(taught.part("encoder"))
    if as_json:
        told_weights = [
            {"name": e.name, "weight": finite(e.weight), "uncertainty": finite(e.uncertainty)} for e in weights
        ]
        print(json_of({**summary, "columns": columns, "experts": heard, "weights": told_weights}))
        return
    print(as_lines(summary))
    if columns:
        print("\ncolumns\n" + "\n".join(f"  {name}: {kind}" for name, kind in columns.items()))
    if heard:
        print("\nexperts, and how much each is heard")
        print("\n".join(f"  {share:7.2%}  {name}" for name, share in sorted(heard.items(), key=lambda e: -e[1])))
    if weights:
        print(f"\nweights: what {unit_of(learner)} adds to the log-odds, ± one standard deviation")
        width = max(len(e.name) for e in weights[:SHOWN])
        for e in weights[:SHOWN]:
            print(f"  {e.name:<{width}}  {e.weight:+.4g} ± {e.uncertainty:.3g}")
        if len(weights) > SHOWN:
            print(f"  … and {len(weights) - SHOWN:,} smaller ones (--json has them all)")
