"""What the comparison says: a table of streams, and how many were won, beside the goals."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.methods import METHODS, Family
from benchmarks.results import Result
from benchmarks.scores import CLIP
from benchmarks.table import Table, as_markdown

__all__ = ["FEW_ROWS", "OURS", "Standing", "counted", "quality_table", "standings", "summary", "verdict"]

OURS = "auto"
FEW_ROWS = 1000  # below it the price of choosing among experts, ln K nats in all, still shows in the mean


@dataclass(frozen=True)
class Standing:
    """The scores of all methods that finished a stream."""

    stream: str
    rows: int
    columns: int
    scores: dict[str, Result]

    def of(self, family: Family) -> list[Result]:
        """The scores of a family."""
        return [result for name, result in self.scores.items() if METHODS[name].family == family]

    def best(self, family: Family) -> Result | None:
        """The least log loss of a family."""
        return min(self.of(family), key=lambda result: result.log_loss, default=None)

    def excess(self, family: Family) -> float | None:
        r"""$\ell_{\text{Auto}}/\ell_{\text{best}} - 1$: negative where Auto is below all of the family."""
        ours, best = self.scores.get(OURS), self.best(family)
        return None if ours is None or best is None else ours.log_loss / best.log_loss - 1.0


@dataclass(frozen=True)
class Target:
    """The goals against a family: the share of streams won, and the worst excess on long and short streams."""

    family: Family
    share: float
    excess: float
    excess_on_few_rows: float


TARGETS = (Target("untuned", 0.90, 0.010, 0.030), Target("tuned", 0.85, 0.015, 0.040))
CALIBRATED_SHARE = 0.80


def standings(results: Iterable[Result]) -> list[Standing]:
    """The results by stream, in the order of their names."""
    found: dict[str, Standing] = {}
    for result in results:
        standing = found.setdefault(result.stream, Standing(result.stream, result.rows, result.columns, {}))
        if result.finished and result.method in METHODS:
            standing.scores[result.method] = result
    return [found[stream] for stream in sorted(found)]


def summary(results: Sequence[Result]) -> list[str]:
    """How Auto stands against each family, with its goals."""
    played = standings(results)
    if not any(OURS in standing.scores for standing in played):
        return ["Auto has not been played: nothing to count."]
    return [*(line for target in TARGETS for line in _against(target, played)), *_calibrated(played)]


def quality_table(results: Sequence[Result], notes: Sequence[str]) -> str:
    """The table as Markdown: log losses in nats, the best of each family, ratios of Auto's to them, and ECE."""
    heading = (
        *("stream", "rows", "columns", "Auto", "AIOLI"),
        *("best untuned", "which", "Auto / it", "best tuned", "which", "Auto / it"),
        *("ECE, Auto", "ECE, best untuned", "ECE, least untuned"),
    )
    unfinished = [f"{r.stream}, {r.method}: {r.note}" for r in results if not r.finished]
    conventions = [
        "mean log loss in nats of the probabilities said before the labels; ECE: 15 bins of equal mass",
        f"for every method alike, a probability counts as at least {CLIP:g} and at most 1 - {CLIP:g}; a NaN counts as "
        "certainty of the wrong label",
        "tuned: the best step and scaling for this very stream, chosen in hindsight",
    ]
    rows = [_row(standing) for standing in standings(results)]
    return as_markdown(Table("Quality beside the peers", heading, rows, [*notes, *conventions, *unfinished]))


def _row(standing: Standing) -> tuple[str, ...]:
    ours, plain = standing.scores.get(OURS), standing.scores.get("aioli")
    untuned, tuned = standing.best("untuned"), standing.best("tuned")
    return (
        *(standing.stream, str(standing.rows), str(standing.columns)),
        *(_cell(ours, _loss), _cell(plain, _loss)),
        *(_cell(untuned, _loss), _cell(untuned, _name), _ratio(standing.excess("untuned"))),
        *(_cell(tuned, _loss), _cell(tuned, _choice), _ratio(standing.excess("tuned"))),
        *(_cell(ours, _ece), _cell(untuned, _ece)),
        _cell(min(standing.of("untuned"), key=lambda result: result.ece, default=None), _ece),
    )


def _cell(result: Result | None, tell: Callable[[Result], str]) -> str:
    return "–" if result is None else tell(result)


def _loss(result: Result) -> str:
    return f"{result.log_loss:.4f}"


def _ece(result: Result) -> str:
    return f"{result.ece:.4f}"


def _name(result: Result) -> str:
    return result.method


def _choice(result: Result) -> str:
    return f"{result.method} ({result.note})"


def _ratio(excess: float | None) -> str:
    return "–" if excess is None else f"{1.0 + excess:.3f}"


def _against(target: Target, played: Sequence[Standing]) -> Iterable[str]:
    compared = [(excess, each) for each in played if (excess := each.excess(target.family)) is not None]
    wins = sum(excess < 0.0 for excess, _ in compared)
    yield counted(f"log loss: Auto below every {target.family} method", wins, len(compared), target.share)
    for few, limit in ((False, target.excess), (True, target.excess_on_few_rows)):
        part = [(excess, each.stream) for excess, each in compared if (each.rows < FEW_ROWS) == few]
        if part:
            excess, stream = max(part)
            yield (
                f"log loss: Auto over the best {target.family} method, streams "
                f"{'under' if few else 'of'} {FEW_ROWS} rows{'' if few else ' or more'}: at worst {excess:+.1%} "
                f"({stream}); goal: at most {limit:+.1%}, {verdict(excess <= limit)}"
            )


def _calibrated(played: Sequence[Standing]) -> Iterable[str]:
    compared = [standing for standing in played if OURS in standing.scores and standing.of("untuned")]
    least = sum(s.scores[OURS].ece < min(r.ece for r in s.of("untuned")) for s in compared)
    best = sum(s.scores[OURS].ece < r.ece for s in compared if (r := s.best("untuned")))
    yield counted("ECE: Auto below every untuned method", least, len(compared), CALIBRATED_SHARE)
    yield counted("ECE: Auto below the untuned method of least log loss", best, len(compared), CALIBRATED_SHARE)


def counted(what: str, wins: int, streams: int, goal: float) -> str:
    """Say on how many streams something holds, beside the share that is the goal."""
    share = wins / streams if streams else 0.0
    return f"{what} on {wins} of {streams} streams: {share:.0%}; goal: {goal:.0%}, {verdict(share >= goal)}"


def verdict(met: bool) -> str:
    """Say whether a goal is met."""
    return "met" if met else "missed"
