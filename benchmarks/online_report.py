"""Auto beside learners that bend: forests, trees and refitted batch models, with labels in time and late."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.methods import METHODS, Family
from benchmarks.quality_report import FEW_ROWS, Standing, counted, standings, verdict
from benchmarks.results import LATE, Result
from benchmarks.table import Table, as_markdown

__all__ = ["late_results", "online_summary", "online_tables"]

DEFAULT, BEST = "auto", "auto-best"
STREAMING: tuple[Family, ...] = ("untuned", "trees")
BATCH: tuple[Family, ...] = ("refitted",)


@dataclass(frozen=True)
class Goal:
    """Say against whom one of ours is measured: the share of streams won, and the worst excess, long and short."""

    ours: str
    peers: tuple[Family, ...]
    named: str
    share: float
    excess: float = 0.01
    excess_on_few_rows: float = 0.02


GOALS = (Goal(DEFAULT, STREAMING, "streaming peer", 0.95), Goal(BEST, BATCH, "refitted batch model", 0.95))
LATE_GOALS = (replace(GOALS[0], share=0.90), replace(GOALS[1], share=0.90))
MEASURES: dict[str, Callable[[Result], str]] = {
    "log loss": lambda result: f"{result.clipped_loss:.4f}",
    "accuracy": lambda result: f"{100.0 * result.accuracy:.1f}",
    "Cohen's kappa": lambda result: f"{result.kappa:.3f}",
    "ECE": lambda result: f"{result.ece:.4f}",
    "µs a row": lambda result: f"{1e6 * result.seconds / result.rows:.0f}",
}


def late_results(results: Iterable[Result]) -> list[Result]:
    """Return the results of late labels, under the methods' own names."""
    return [
        replace(result, method=result.method.removesuffix(LATE)) for result in results if result.method.endswith(LATE)
    ]


def online_summary(results: Sequence[Result]) -> list[str]:
    """Say how ours stand beside streaming peers and refitted batch models, in time and late, with the goals."""
    lines = [line for goal in GOALS for line in _against(goal, standings(results), "labels in time")]
    played = standings(late_results(results))
    return lines + [line for goal in LATE_GOALS for line in _against(goal, played, "labels late")]


def online_tables(results: Sequence[Result]) -> str:
    """Return a table a measure as Markdown, with labels in time, then late; empty where no such peer was played."""
    parts = []
    for title, played in (
        ("Beside learners that bend", standings(results)),
        ("Beside learners that bend, every label late", standings(late_results(results))),
    ):
        bent = [standing for standing in played if standing.of("trees") or standing.of("refitted")]
        if bent:
            parts += [as_markdown(_measured(f"{title}: {name}", bent, tell)) for name, tell in MEASURES.items()]
    return "\n".join(parts)


def _measured(title: str, played: Sequence[Standing], tell: Callable[[Result], str]) -> Table:
    asked = [n for n, m in METHODS.items() if n in (DEFAULT, BEST) or m.family in ("trees", "refitted")]
    names = [name for name in asked if any(name in standing.scores for standing in played)]
    heading = ("stream", "rows", *names, "best linear peer", "which")
    rows = []
    for standing in played:
        linear = min(standing.of("untuned"), key=lambda result: result.clipped_loss, default=None)
        found = [standing.scores.get(name) for name in names]
        cells = [tell(result) if result is not None else "–" for result in [*found, linear]]
        rows.append((standing.stream, str(standing.rows), *cells, linear.method if linear is not None else "–"))
    return Table(title, heading, rows)


def _excesses(goal: Goal, played: Iterable[Standing]) -> list[tuple[float, Standing, Result]]:
    """Return ours over the best of the peers, less 1, on each stream that both have played; and who that is."""
    found = []
    for standing in played:
        ours = standing.scores.get(goal.ours)
        peers = [result for family in goal.peers for result in standing.of(family)]
        if ours is not None and any(METHODS[peer.method].family == goal.peers[-1] for peer in peers):
            best = min(peers, key=lambda result: result.clipped_loss)
            found.append((ours.clipped_loss / best.clipped_loss - 1.0, standing, best))
    return found


def _against(goal: Goal, played: Sequence[Standing], when: str) -> Iterable[str]:
    compared = _excesses(goal, played)
    if not compared:
        return
    wins = sum(excess < 0.0 for excess, *_ in compared)
    yield counted(f"{when}: {goal.ours} below every {goal.named}", wins, len(compared), goal.share)
    yield f"{when}: {goal.ours} over the best {goal.named}: {median(e for e, *_ in compared):+.1%} at the median"
    for excess, standing, best in sorted(compared, key=lambda found: -found[0]):
        limit = goal.excess_on_few_rows if standing.rows < FEW_ROWS else goal.excess
        if excess >= 0.0:
            yield (
                f"{when}: {goal.ours} over {best.method} on {standing.stream}, {standing.rows} rows: {excess:+.1%}; "
                f"goal: at most {limit:+.1%}, {verdict(excess <= limit)}"
            )
