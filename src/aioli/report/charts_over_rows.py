"""Charts of how the run went, row after row: losses, certificate and regret, the mixture."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from aioli.report.cards import Key, both_widths, card
from aioli.report.markup import Markup, short
from aioli.report.record import Number, Point, Record
from aioli.report.svg import Axis, Frame, Scale
from aioli.report.wording import compact, figure, finite, percent, whole

__all__ = ["certificate", "learner_name", "mixture", "recent_loss", "running_loss"]

WIDE, NARROW = (960.0, 296.0), (400.0, 296.0)
PEERS = 6  # lines that can be told apart
EXPERTS = 8
HEARD = 0.0005  # a share that is worth saying
TOLD = 3  # experts in a tooltip
FINEST = 9.0  # two points closer than this are drawn as one

Line = tuple[str, str, Callable[[Point], Number]]  # class, name, value


def running_loss(record: Record) -> Markup | None:
    """Draw the mean log loss so far, beside the base rate's and the peers'."""
    names = list(dict.fromkeys(name for point in record.history for name in point.peers))[:PEERS]
    lines: list[Line] = [("s0", learner_name(record), lambda point: point.log_loss)]
    lines += [(f"s{i}", name, _peer(name)) for i, name in enumerate(names, 1)]
    lines.append(("base", "base rate", lambda point: point.base_rate))
    lines = _present(lines, record.history)
    if len(record.history) < 2 or not lines:
        return None
    ends = [_last(value, record.history) for _, _, value in lines]
    top = 1.08 * min(_greatest(lines, record.history), max(2.0 * max(ends), math.log(2.0)))

    def draw(name: str, size: tuple[float, float]) -> Markup:
        frame = Frame(name, _rows_from(record.history), (0.0, top), *size, logarithmic=True)
        return frame.picture(
            "Running log loss",
            " ".join(f"{who} ends at {figure(end)} nats a row." for (_, who, _), end in zip(lines, ends, strict=True)),
            *_drawn(frame, lines, record.history),
            x=Axis("rows so far", _whole_rows),
            y=Axis("nats a row, mean so far"),
        )

    return card(
        "running-loss",
        "Running log loss",
        "Lower is better: each line is the mean loss of all rows up to there, every row predicted before its label was "
        "seen. " + _of_the_axis(record.history),
        both_widths(draw("loss-wide", WIDE), draw("loss-narrow", NARROW)),
        keys=[Key(css, who, figure(end, 4)) for (css, who, _), end in zip(lines, ends, strict=True)],
    )


def recent_loss(record: Record) -> Markup | None:
    """Draw the mean log loss between one point and the next, on an axis where every row has the same width."""
    if len(record.history) < 2:
        return None
    rows = (0.0, float(record.history[-1].rows))
    seen = _with_recent_base_rate(_merged(record.history, Frame("recent", rows, (0.0, 1.0)).x, from_the_start=True))
    lines: list[Line] = [("s0", learner_name(record), lambda point: point.recent)]
    lines.append(("base", "base rate", lambda point: point.base_rate))
    lines = _present(lines, seen)
    if len(seen) < 2 or not lines or lines[0][0] != "s0":
        return None
    frame = Frame("recent", rows, (0.0, 1.08 * _greatest(lines, seen)))
    starts = [0, *(point.rows for point in seen)]
    steps = [
        frame.line([(x, value(point)) for i, point in enumerate(seen) for x in (starts[i], point.rows)], css)
        for css, _, value in reversed(lines)
    ]
    tips = [
        ((start + point.rows) / 2.0, f"rows {whole(start + 1)} to {whole(point.rows)}\n{_losses(lines, point)}")
        for start, point in zip(starts, seen, strict=False)
    ]
    return card(
        "recent-loss",
        "Loss of the latest rows",
        "Each step is the mean loss of the rows beneath it alone: a rise says that the rows became harder or the world "
        "changed, and how soon it falls again says how fast the learner follows.",
        frame.picture(
            "Loss of the latest rows",
            f"From {figure(seen[0].recent)} at first to {figure(seen[-1].recent)} nats a row at last.",
            *steps,
            frame.band_tips(tips),
            x=Axis("rows", _whole_rows),
            y=Axis("nats a row"),
        ),
        keys=[Key(css, who) for css, who, _ in lines],
    )


def certificate(record: Record) -> Markup | None:
    """Draw what was proven of the regret, and what it was."""
    lines: list[Line] = [("s0", "regret, in hindsight", lambda point: point.regret)]
    lines.append(("s1 dashed", "certificate, proven", lambda point: point.certificate))
    lines = _present(lines, record.history)
    if len(record.history) < 2 or not lines:
        return None
    values = [finite(value(point)) or 0.0 for _, _, value in lines for point in record.history]
    y = (min(0.0, 1.08 * min(values)), 1.08 * max(0.0, *values))
    frame = Frame("proven", _rows_from(record.history), y, logarithmic=True)
    ends = [_last(value, record.history) for _, _, value in lines]
    proven = any(who == "certificate, proven" for _, who, _ in lines)
    return card(
        "certificate",
        "Regret, proven and found" if len(lines) == 2 else lines[0][1].capitalize(),
        "Regret is the loss beyond that of the best fixed model in hindsight."
        + (" Against the models for which the certificate holds, it cannot rise above it." if proven else "")
        + (" On this axis a logarithm is a straight line." if frame.x.logarithmic else ""),
        frame.picture(
            "Regret and its certificate",
            " ".join(f"{who}: {figure(end)} nats." for (_, who, _), end in zip(lines, ends, strict=True)),
            *_drawn(frame, lines, record.history),
            x=Axis("rows so far", _whole_rows),
            y=Axis("nats, over all rows so far"),
        ),
        keys=[Key(css, who, figure(end)) for (css, who, _), end in zip(lines, ends, strict=True)],
    )


def mixture(record: Record) -> Markup | None:
    """Draw how much of the mixture each expert held."""
    history = [point for point in record.history if point.weights]
    if len(history) < 2:
        return None
    totals: dict[str, float] = {}
    for point in history[-1:] + history:
        for name in point.weights or {}:
            totals[name] = max(totals.get(name, 0.0), _share(point, name))
    names = sorted(totals, key=lambda name: (-_share(history[-1], name), -totals[name]))[:EXPERTS]
    if not names:
        return None

    def draw(name: str, size: tuple[float, float]) -> Markup:
        frame = Frame(name, _rows_from(history), (0.0, 1.0), *size, logarithmic=True)
        seen = _merged(history, frame.x)
        below = [(float(point.rows), 0.0) for point in seen]
        areas = []
        for i, expert in enumerate(names):
            above = [(x, y + _share(point, expert)) for (x, y), point in zip(below, seen, strict=True)]
            areas.append(frame.area(above, below, f"s{i}"))
            below = above
        tips = [
            (
                float(point.rows),
                "\n".join(
                    [
                        f"{whole(point.rows)} rows",
                        *(f"{percent(_share(point, n))} {short(n, 40)}" for n in _heard(point, names)),
                    ]
                ),
            )
            for point in seen
        ]
        return frame.picture(
            "The mixture",
            f"At the end: {'; '.join(f'{short(n)} {percent(_share(history[-1], n))}' for n in names)}.",
            *areas,
            frame.band_tips(tips),
            x=Axis("rows so far", _whole_rows),
            y=Axis("share of the mixture", percent),
        )

    hidden = len(totals) - len(names)
    return card(
        "mixture",
        "Who is listened to",
        "The height of a band is the weight of that expert in the mixture, the one heard most at the end lowest: a "
        "band that widens belongs to an expert that has predicted better than the others."
        + (f" {hidden} more experts are not drawn." if hidden else ""),
        both_widths(draw("mixture-wide", WIDE), draw("mixture-narrow", NARROW)),
        keys=[Key(f"s{i}", name, percent(_share(history[-1], name))) for i, name in enumerate(names)],
    )


def learner_name(record: Record) -> str:
    """Return the learner's name: its repr without the parameters."""
    return short(record.learner.partition("(")[0].strip() or "learner", 40)


def _peer(name: str) -> Callable[[Point], Number]:
    return lambda point: point.peers.get(name)


def _share(point: Point, name: str) -> float:
    return finite((point.weights or {}).get(name)) or 0.0


def _heard(point: Point, names: Sequence[str]) -> list[str]:
    """Return those of the experts that are heard most at a point."""
    heard = [name for name in names if _share(point, name) >= HEARD]
    return sorted(heard, key=lambda name: -_share(point, name))[:TOLD]


def _present(lines: Iterable[Line], history: Sequence[Point]) -> list[Line]:
    return [line for line in lines if any(finite(line[2](point)) is not None for point in history)]


def _greatest(lines: Iterable[Line], history: Sequence[Point]) -> float:
    return max((finite(value(point)) or 0.0 for _, _, value in lines for point in history), default=0.0)


def _last(value: Callable[[Point], Number], history: Sequence[Point]) -> float:
    return next((found for point in reversed(history) if (found := finite(value(point))) is not None), 0.0)


def _drawn(frame: Frame, lines: Sequence[Line], history: Sequence[Point]) -> list[Markup]:
    seen = _merged(history, frame.x)
    drawn = [frame.line([(point.rows, value(point)) for point in seen], css) for css, _, value in reversed(lines)]
    tips = [(float(point.rows), f"{whole(point.rows)} rows\n{_losses(lines, point)}") for point in seen]
    return [*drawn, frame.band_tips(tips)]


def _losses(lines: Sequence[Line], point: Point) -> str:
    """Return everybody's loss at a point, a line each."""
    losses = [(finite(value(point)), who) for _, who, value in lines]
    return "\n".join(f"{figure(value, 4)} {short(who, 40)}" for value, who in losses if value is not None)


def _merged(history: Sequence[Point], x: Scale, from_the_start: bool = False) -> list[Point]:
    """Return points at least `FINEST` apart, and the last; a recent loss becomes that of all rows since the one before.

    `from_the_start` asks that of the first point too, which is then apart from the beginning of the axis.
    """
    kept: list[Point] = []
    edge = x.start if from_the_start else -math.inf
    rows, before, nats = 0, 0, 0.0
    for i, point in enumerate(history):
        nats += (math.nan if point.recent is None else point.recent) * (point.rows - before)
        before = point.rows
        if point.rows > rows and (x(point.rows) - edge >= FINEST or i == len(history) - 1):
            kept.append(replace(point, recent=finite(nats / (point.rows - rows))))
            rows, nats, edge = point.rows, 0.0, x(point.rows)
    return kept


def _with_recent_base_rate(history: Sequence[Point]) -> list[Point]:
    """Return the base rate's mean over the rows since the point before, from its means over all rows."""
    recent: list[Point] = []
    rows, nats = 0, 0.0
    for point in history:
        mean = finite(point.base_rate)
        now = mean * point.rows if mean is not None else math.nan
        recent.append(replace(point, base_rate=(now - nats) / (point.rows - rows) if point.rows > rows else None))
        rows, nats = point.rows, now
    return recent


def _rows_from(history: Sequence[Point]) -> tuple[float, float]:
    return max(1.0, history[0].rows), max(1.0, history[-1].rows)


def _of_the_axis(history: Sequence[Point]) -> str:
    first, last = _rows_from(history)
    return "The axis is logarithmic: equal steps to the right multiply the rows." if last >= 10 * first else ""


def _whole_rows(value: float) -> str:
    return compact(value) if value == int(value) else ""
