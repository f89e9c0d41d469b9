"""`aioli inspect` prints what a saved model knows; nothing that is in the file is run."""

from dataclasses import asdict

from aioli.commands.by_key import KeyFacts, heaviest_keys, learner_of
from aioli.commands.class_inspect import inspect_classes
from aioli.commands.display import as_json as json_of
from aioli.commands.display import as_lines, finite
from aioli.commands.model_facts import columns_in, described_columns, facts_of, print_columns, print_experts, shares_of
from aioli.errors import ParameterRefused
from aioli.evaluate.column_effects import ColumnEffect, WordEffect
from aioli.evaluate.effects import Effects, coefficients, effects, unit_of
from aioli.evaluate.explaining import Explainer
from aioli.evaluate.keyed_player import KeyedLearner
from aioli.learners.protocol import knows_classes, plays_two_classes
from aioli.store.models import load_model
from aioli.streams.labels import Labels

__all__ = ["inspect_model"]

SHOWN = 20


def inspect_model(path: str, as_json: bool = False, of: str | None = None) -> None:
    """Print the learner, its rounds and loss, its certificate, its columns, what each does and how sure that is.

    Of one model a key, that of the key `of`; without one, what all have in common and the keys that lost most.
    """
    learner, taught = load_model(path)
    fleet = learner.fleet if isinstance(learner, KeyedLearner) else None
    if of is not None:
        if fleet is None:
            raise ParameterRefused(f"--of is for one model a key, and {path} is one model", parameter="of", value=of)
        learner, fleet = learner_of(fleet, of), None
    if knows_classes(learner):
        inspect_classes(learner, taught, as_json)
        return
    assert plays_two_classes(learner)
    labels = Labels() if taught is None else Labels.restore(taught.part("labels"))
    summary = {**facts_of(learner), "positive": labels.positive, "negative": labels.negative}
    keys = [] if fleet is None else heaviest_keys(fleet, SHOWN)
    if fleet is not None:
        summary |= {"keys": len(fleet)}
    shares, columns = shares_of(learner) if fleet is None else fleet.shares_ or None, columns_in(taught)
    explainer = Explainer.of_model(learner, taught)
    by_column = [] if explainer is None else explainer.by_column()
    by_word = [] if explainer is None else explainer.by_word()
    known, steps = coefficients(learner), effects(learner, taught)
    if as_json:
        further = {
            "columns": columns,
            **({} if fleet is None else {"keys_that_lost_most": [line._asdict() for line in keys]}),
            "experts": shares,
            "column_effects": [asdict(effect) for effect in by_column],
            "word_effects": [asdict(word) for word in by_word],
            "weights": [_finite(one._asdict()) for one in known],
            "average": None if steps is None else steps.average,
            "effects": None if steps is None else [_finite(asdict(effect)) for effect in steps.steps],
        }
        print(json_of({**summary, **further}))
        return
    print(as_lines(summary))
    print_columns(described_columns(columns, taught))
    _print_column_effects(by_column)
    _print_words(by_word)
    print_experts(shares)
    _print_keys(keys)
    if steps is not None:
        _print_effects(steps)
    elif known:
        print(f"\ncoefficients: what {unit_of(learner)} adds to the log-odds, ± one standard deviation")
        _print_table([(one.name, f"{one.weight:+.4g} ± {one.uncertainty:.3g}") for one in known])


def _print_column_effects(found: list[ColumnEffect]) -> None:
    if not found:
        return
    print("\nwhat each column does to the probability of the average row, the most important first")
    lines = []
    for effect in found:
        curve = "  ".join(f"{point.value}: {point.probability:.1%}" for point in effect.curve)
        lines.append((effect.name, f"{effect.importance:7.3f}  {effect.direction or 'nothing':<8} {curve}"))
    _print_table(lines)


def _print_keys(lines: list[KeyFacts]) -> None:
    if lines:
        print("\nkeys that lost most: rows, nats a row, and nats of regret that are proven (--of KEY tells more)")
        shown = [f"{line.rows:9,}  {line.log_loss:.4f}  {line.certificate:8.2f}" for line in lines]
        _print_table([(line.key, text) for line, text in zip(lines, shown, strict=True)])


def _print_words(found: list[WordEffect]) -> None:
    if found:
        print("\nwords: what the presence of one adds to the log-odds")
        _print_table([(word.name, f"{word.log_odds:+.3f}") for word in found])


def _print_effects(found: Effects) -> None:
    print(
        "\ndetails: what a step of a column adds to the log-odds of the average row in the linear model, or in the "
        "linear\nexpert of the largest share, which need not be what the learner says; ± one standard deviation of what"
        f"\nis known, and the probability to which it takes that row, from {found.average:.1%}; a step is one standard "
        "deviation\nof a number, or the level of a category in place of the average row's"
    )
    lines = [(e.name, f"{e.log_odds:+.4g} ± {e.uncertainty:.3g}  {e.probability:.1%}") for e in found.steps]
    _print_table(lines)


def _print_table(lines: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in lines[:SHOWN])
    print("\n".join(f"  {name:<{width}}  {text}" for name, text in lines[:SHOWN]))
    if len(lines) > SHOWN:
        print(f"  … and {len(lines) - SHOWN:,} smaller ones (--json has them all)")


def _finite(values: dict[str, object]) -> dict[str, object]:
    return {name: finite(value) for name, value in values.items()}
