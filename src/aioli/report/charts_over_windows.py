"""Charts of equal windows along the stream: the loss with its change points; AUC and the share of positive rows."""

import math
from collections.abc import Sequence

from aioli.report.cards import Key, both_widths, card
from aioli.report.charts_over_rows import learner_name, recent_loss
from aioli.report.markup import Markup, short
from aioli.report.record import Change, Number, Record, Window
from aioli.report.svg import Axis, Frame
from aioli.report.wording import compact, figure, finite, percent, whole

__all__ = ["loss_over_windows", "shares_over_windows"]

WIDE, NARROW = (960.0, 290.0), (400.0, 290.0)
FEWEST = 4
TIPS = 24
NAMED = 6  # change points that are told in words


def loss_over_windows(record: Record) -> Markup | None:
    """Draw the mean loss of each window, and mark where it changed."""
    windows = record.windows
    if len(windows) < FEWEST:
        return recent_loss(record)
    losses = [window.log_loss for window in windows]
    alone = [_entropy(window.positive) for window in windows]
    top = 1.12 * max(*losses, *alone, 1e-9)

    def draw(name: str, size: tuple[float, float]) -> Markup:
        frame = Frame(name, (0.0, float(windows[-1].last)), (0.0, top), *size)
        marks = [frame.line([(change.row, 0.0), (change.row, top)], "change") for change in record.changes]
        marks += [_steps(frame, windows, alone, "base"), _steps(frame, windows, losses, "s0")]
        tips = [(_middle(part), _told(part, record.changes)) for part in _parts(windows)]
        return frame.picture(
            "Loss along the rows",
            f"{len(windows)} windows of {whole(windows[0].rows)} rows. {_sentence(record.changes)}",
            *marks,
            frame.band_tips(tips),
            x=Axis("rows"),
            y=Axis("nats a row"),
        )

    keys = [Key("s0", learner_name(record)), Key("base", "the window’s own base rate")]
    if record.changes:
        keys.append(Key("change", "the loss changed"))
    return card(
        "recent-loss",
        "Loss along the rows",
        f"Each step is the mean loss of {whole(windows[0].rows)} rows alone. {_sentence(record.changes)} A rise says "
        "that the rows became harder or the world changed; how soon it falls again says how fast the learner follows.",
        both_widths(draw("recent-wide", WIDE), draw("recent-narrow", NARROW)),
        keys=keys,
    )


def shares_over_windows(record: Record) -> Markup | None:
    """Draw the AUC and the share of positive rows of each window."""
    windows = record.windows
    if len(windows) < FEWEST:
        return None
    areas: list[Number] = [window.auc for window in windows]
    shares: list[Number] = [window.positive for window in windows]
    frame = Frame("shares", (0.0, float(windows[-1].last)), (0.0, 1.0))
    tips = [
        (
            _middle(part),
            f"rows {whole(part[0].first)} to {whole(part[-1].last)}\n"
            f"AUC {', '.join(figure(window.auc) for window in part)}\n"
            f"{', '.join(percent(window.positive) for window in part)} {short(record.positive, 40)}",
        )
        for part in _parts(windows)
    ]
    return card(
        "shares",
        "AUC and base rate along the rows",
        f"The AUC among the rows of each window alone, and how many of them were {short(record.positive, 40)}: where "
        "only the second moves, the mix of rows has changed; where the first falls, what tells them apart has.",
        frame.picture(
            "AUC and base rate along the rows",
            f"The share of positive rows goes from {percent(shares[0])} to {percent(shares[-1])}.",
            *(frame.line([(change.row, 0.0), (change.row, 1.0)], "change") for change in record.changes),
            _steps(frame, windows, shares, "s1"),
            _steps(frame, windows, areas, "s0"),
            frame.band_tips(tips),
            x=Axis("rows", compact),
            y=Axis("share"),
        ),
        keys=[Key("s0", "AUC"), Key("s1", f"share of {short(record.positive, 40)}")],
    )


def _steps(frame: Frame, windows: Sequence[Window], values: Sequence[Number], css: str) -> Markup:
    pairs = zip(windows, values, strict=True)
    return frame.line([(x, value) for window, value in pairs for x in (window.first - 1, window.last)], css)


def _parts(windows: Sequence[Window]) -> list[Sequence[Window]]:
    """Return the windows in few enough parts that each is wide enough for a finger."""
    each = -(-len(windows) // TIPS)
    return [windows[i : i + each] for i in range(0, len(windows), each)]


def _middle(part: Sequence[Window]) -> float:
    return (part[0].first + part[-1].last) / 2.0


def _told(part: Sequence[Window], changes: Sequence[Change]) -> str:
    first, last = part[0].first, part[-1].last
    near = [str(change) for change in changes if first <= change.row <= last]
    losses = ", ".join(figure(window.log_loss) for window in part)
    return "\n".join([f"rows {whole(first)} to {whole(last)}", f"loss {losses}", *near])


def _sentence(changes: Sequence[Change]) -> str:
    """Return where the loss changed, in words."""
    if not changes:
        return "No change point was found."
    said = "; ".join(
        f"near row {whole(change.row)} from {figure(change.before, 2)} to {figure(change.after, 2)}"
        for change in changes[:NAMED]
    )
    more = f"; and {len(changes) - NAMED} more" if len(changes) > NAMED else ""
    return f"The loss changed {said}{more}."


def _entropy(share: float) -> float:
    """Return the mean loss of one who knows the share and nothing else."""
    if finite(share) is None:
        return 0.0
    return -sum(part * math.log(part) for part in (share, 1.0 - share) if part > 0.0)
