"""What the study of late labels says: counts beside the goals, a line a delay, and a line a stream and delay."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.late_contenders import CLIP, PEERS, SLOW
from benchmarks.late_labels import IN_TIME, Delay
from benchmarks.results import Result
from benchmarks.table import Table, as_markdown

__all__ = ["BASE_RATE", "BEST_EXPERT", "Game", "delays_report", "games_of", "games_of_ours", "summary"]

OURS, BASE_RATE, BEST_EXPERT = "auto", "base-rate", "best-expert"
REFERENCE, RIVER = "aioli-0.01", "river-sgd-0.01"
WON = 0.90  # the share of streams at each delay
OVER_BASE_RATE = 0.01
OVER_BEST_EXPERT = 0.05
MANY_ROWS = 2000  # below it the price of choosing among experts still shows in the mean
IN_ORDER = ("electricity", "occupancy", "eeg_eye")  # streams in the order of time, whose labels come in runs


@dataclass(frozen=True)
class Game:
    """The scores of all methods that finished a stream at a delay; `ours_in_time` is Auto's without delay."""

    stream: str
    rows: int
    delay: Delay
    scores: dict[str, Result]
    ours_in_time: float | None

    @property
    def best_peer(self) -> tuple[str, float] | None:
        """The untuned peer of least log loss."""
        peers = {name: r.log_loss for name, r in self.scores.items() if name in PEERS or name in SLOW}
        return min(peers.items(), key=lambda item: item[1]) if peers else None

    def loss(self, method: str) -> float | None:
        """The log loss of a method; None where it has none."""
        return self.scores[method].log_loss if method in self.scores else None

    def over(self, loss: float | None) -> float | None:
        r"""$\ell_{\text{Auto}}/\ell - 1$: negative where Auto is below."""
        ours = self.loss(OURS)
        return None if ours is None or loss is None else ours / loss - 1.0

    @property
    def over_peer(self) -> float | None:
        """How far Auto is above the best peer."""
        return self.over(self.best_peer[1] if self.best_peer else None)


def games_of(results: Iterable[Result]) -> list[Game]:
    """Return the games by stream and delay, those in time first."""
    found: dict[tuple[str, Delay], dict[str, Result]] = {}
    rows: dict[str, int] = {}
    for result in results:
        method, _, text = result.method.partition("/")
        rows[result.stream] = result.rows
        scores = found.setdefault((result.stream, Delay.parse(text)), {})
        if result.finished:
            scores[method] = result
    in_time = {s: scores[OURS].log_loss for (s, d), scores in found.items() if d == IN_TIME and OURS in scores}
    keys = sorted(found, key=lambda key: (key[0], key[1].rows, key[1].mode))
    return [Game(s, rows[s], d, found[s, d], in_time.get(s)) for s, d in keys]


def games_of_ours(results: Iterable[Result]) -> list[Game]:
    """Return the games that Auto has finished, or all where it has none: peers may have played more, earlier."""
    games = games_of(results)
    return [game for game in games if OURS in game.scores] or games


def summary(results: Sequence[Result]) -> list[str]:
    """Say how Auto stands beside its peers at each delay, the base rate and its own experts, with the goals."""
    games = games_of_ours(results)
    return [*_won(games), *_over_base_rate(games), *_over_best_expert(games)]


def delays_report(results: Sequence[Result]) -> str:
    """Return the report as Markdown: summary, delays, streams in the order of time, then every game."""
    games = games_of_ours(results)
    unfinished = [f"{r.stream}, {r.method}: {r.note}" for r in results if not r.finished]
    notes = [*summary(results), *_conventions(games), *unfinished]
    tables = [Table("Labels that come late", *_by_delay(games), notes)]
    shown = [game for game in games if game.stream in IN_ORDER]
    if shown:
        tables.append(Table("Streams in the order of time", *_in_order(shown)))
    tables.append(Table("Every stream and delay", *_every(games)))
    return "\n".join(as_markdown(table) for table in tables)


def _conventions(games: Sequence[Game]) -> list[str]:
    peers = sorted({name for game in games for name in game.scores if name in PEERS or name in SLOW})
    return [
        f"mean log loss in nats of what was announced when the row came, probabilities clipped to [{CLIP:g}, "
        f"{1 - CLIP:g}] for every method alike; a delay of more than half a stream is left out",
        "batches of D rows: all announced before the first of their labels; sliding: row t's label is learned once "
        "row t + D has been announced",
        f"untuned peers under the same delay: {', '.join(peers) or 'none'}",
        "own best expert: the least loss of a single expert of Auto's that announced every row of that same run, "
        "chosen in hindsight",
    ]


def _won(games: Sequence[Game]) -> Iterable[str]:
    for delay, part in _grouped(games):
        over = [excess for game in part if (excess := game.over_peer) is not None]
        if over:
            wins = sum(excess < 0.0 for excess in over)
            yield (
                f"{_named(delay)}: Auto below every untuned peer on {wins} of {len(over)} streams: "
                f"{wins / len(over):.0%}; goal: {WON:.0%}, {_verdict(wins / len(over) >= WON)}"
            )


def _over_base_rate(games: Sequence[Game]) -> Iterable[str]:
    yield from _never("the running base rate", games, BASE_RATE, OVER_BASE_RATE)


def _over_best_expert(games: Sequence[Game]) -> Iterable[str]:
    long = [game for game in games if game.rows >= MANY_ROWS]
    yield from _never(f"its own best expert, streams of {MANY_ROWS} rows or more", long, BEST_EXPERT, OVER_BEST_EXPERT)


def _never(what: str, games: Sequence[Game], method: str, limit: float) -> Iterable[str]:
    over = [(excess, game) for game in games if (excess := game.over(game.loss(method))) is not None]
    if not over:
        return
    worst, where = max(over, key=lambda pair: pair[0])
    above = sum(excess > limit for excess, _ in over)
    yield (
        f"Auto over {what}: at worst {worst:+.1%} ({where.stream}, {_named(where.delay)}), above {limit:+.0%} in "
        f"{above} of {len(over)} games; goal: in none, {_verdict(above == 0)}"
    )


def _by_delay(games: Sequence[Game]) -> tuple[Sequence[str], list[Sequence[str]]]:
    heading = (
        *("labels", "streams", "Auto below every peer", "Auto / best peer", "worst"),
        *("Auto / base rate", "Auto / own best expert", "Auto / Auto in time"),
    )
    rows: list[Sequence[str]] = []
    for delay, part in _grouped(games):
        peers = [excess for game in part if (excess := game.over_peer) is not None]
        bases = [game.over(game.loss(BASE_RATE)) for game in part]
        experts = [game.over(game.loss(BEST_EXPERT)) for game in part]
        prompt = [game.over(game.ours_in_time) for game in part]
        won = f"{sum(excess < 0.0 for excess in peers)} of {len(peers)}"
        worst = f"{1.0 + max(peers):.3f}" if peers else "–"
        rows.append(
            (_named(delay), str(len(part)), won, _median(peers), worst, *map(_median, (bases, experts, prompt)))
        )
    return heading, rows


def _in_order(games: Sequence[Game]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return Auto at every delay beside a single AIOLI and River's SGD at batches of 500 rows, or sliding ones."""
    lengths = sorted({game.delay.rows for game in games if game.delay != IN_TIME})
    last = 500 if 500 in lengths else lengths[-1] if lengths else 0
    heading = (
        *("stream", "labels", "Auto in time", *(f"Auto, {rows} rows late" for rows in lengths)),
        *(f"{name}, {last} rows late" for name in ("AIOLI(λ = 0.01)", "River's scaled SGD", "base rate")),
    )
    rows: list[Sequence[str]] = []
    for stream in IN_ORDER:
        for mode in ("batches", "sliding"):
            found = {game.delay.rows: game for game in games if game.stream == stream and game.delay.mode == mode}
            if found:
                ours = [_loss(found[length].loss(OURS) if length in found else None) for length in lengths]
                others = [_loss(found[last].loss(m) if last in found else None) for m in (REFERENCE, RIVER, BASE_RATE)]
                rows.append((stream, mode, _loss(next(iter(found.values())).ours_in_time), *ours, *others))
    return heading, rows


def _every(games: Sequence[Game]) -> tuple[Sequence[str], list[Sequence[str]]]:
    heading = (
        *("stream", "rows", "labels", "Auto", "best peer", "which", "Auto / it"),
        *("base rate", "own best expert", "Auto in time"),
    )
    rows: list[Sequence[str]] = []
    for game in games:
        peer = game.best_peer
        ratio = "–" if game.over_peer is None else f"{1.0 + game.over_peer:.3f}"
        rows.append(
            (
                *(game.stream, str(game.rows), _named(game.delay), _loss(game.loss(OURS))),
                *((_loss(peer[1]), peer[0]) if peer else ("–", "–")),
                *(ratio, _loss(game.loss(BASE_RATE)), _loss(game.loss(BEST_EXPERT)), _loss(game.ours_in_time)),
            )
        )
    return heading, rows


def _grouped(games: Sequence[Game]) -> list[tuple[Delay, list[Game]]]:
    delays = sorted({game.delay for game in games}, key=lambda delay: (delay.rows, delay.mode))
    return [(delay, [game for game in games if game.delay == delay]) for delay in delays]


def _named(delay: Delay) -> str:
    if delay == IN_TIME:
        return "in time"
    return f"batches of {delay.rows}" if delay.mode == "batches" else f"{delay.rows} rows late"


def _median(excesses: Sequence[float | None]) -> str:
    values = [1.0 + excess for excess in excesses if excess is not None]
    return f"{statistics.median(values):.3f}" if values else "–"


def _loss(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _verdict(met: bool) -> str:
    return "met" if met else "missed"
