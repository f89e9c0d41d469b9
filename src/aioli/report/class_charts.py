"""Charts of K classes: their shares along the stream, and whether the probabilities of each are honest."""

import math
from collections.abc import Sequence

from aioli.evaluate.score_functions import Reliability
from aioli.report.cards import Key, both_widths, card
from aioli.report.charts_of_probabilities import wilson
from aioli.report.class_maps import frequent
from aioli.report.class_record import ClassRecord
from aioli.report.markup import Markup, join, number, short, tag, text
from aioli.report.svg import Axis, Frame
from aioli.report.wording import finite, percent, whole

__all__ = ["by_class", "confidence", "shares", "sureness"]

BANDS = 7  # classes with a colour of their own
SMALL = 12  # diagrams
SIDE = 130.0  # of a small diagram
FULL = 290.0


def shares(record: ClassRecord) -> Markup | None:
    """Draw the share that each class had of the rows, along the stream."""
    periods = list(record.periods)
    if len(periods) < 2:
        return None
    total = max(sum(one.rows for one in record.figures), 1)
    own = sorted(frequent(record, BANDS), key=lambda k: -record.figures[k].rows)
    rest = len(record.classes) - len(own)

    def draw(name: str, width: float) -> Markup:
        last = periods[-1]
        frame = Frame(name, (0.0, float(last.first + last.rows)), (0.0, 1.0), width, 310.0)
        edges = [(float(part.first), float(part.first + part.rows)) for part in periods]
        below = [(x, 0.0) for edge in edges for x in edge]
        areas = []
        for i, k in enumerate(own):
            heights = [finite(float(part.share[k])) or 0.0 for part in periods for _ in range(2)]
            above = [(x, y + height) for (x, y), height in zip(below, heights, strict=True)]
            areas.append(frame.area(above, below, f"s{i}"))
            below = above
        if rest:
            areas.append(frame.area([(x, 1.0) for x, _ in below], below, "base"))
        tips = [
            (
                part.first + part.rows / 2.0,
                f"rows {whole(part.first + 1)} to {whole(part.first + part.rows)}\n"
                + "\n".join(
                    f"{percent(float(part.share[k]))} {short(record.classes[k], 30)}, "
                    f"{percent(float(part.announced[k]))} announced"
                    for k in own
                ),
            )
            for part in periods
        ]
        return frame.picture(
            "Class shares along the stream",
            "; ".join(f"{short(record.classes[k], 24)} {percent(record.figures[k].rows / total)}" for k in own) + ".",
            *areas,
            frame.band_tips(tips),
            x=Axis("rows"),
            y=Axis("share of the rows", percent),
        )

    keys = [Key(f"s{i}", record.classes[k], percent(record.figures[k].rows / total)) for i, k in enumerate(own)]
    if rest:
        left = 1.0 - sum(record.figures[k].rows for k in own) / total
        keys.append(Key("base", f"{whole(rest)} other{'s' if rest > 1 else ''}", percent(left)))
    return card(
        "shares",
        "Which classes came when",
        "The height of a band is the share of that class among the rows beneath it; a band that narrows or widens is a "
        "stream whose mixture of classes changes.",
        both_widths(draw("shares-wide", 960.0), draw("shares-narrow", 400.0)),
        keys=keys,
    )


def confidence(record: ClassRecord) -> Markup | None:
    """Draw how often the likeliest class came, against its probability."""
    groups = [group for group in record.confidence_reliability if group.rows]
    if not groups or record.confidence is None:
        return None
    frame = Frame("sure", (0.0, 1.0), (0.0, 1.0), height=FULL)
    error = record.confidence
    return card(
        "confidence",
        "Is the likeliest class as sure as it says?",
        "Rows whose likeliest class has a like probability are one dot: on the diagonal it comes as often as "
        f"announced. The mean gap is {percent(error.value)}; honest probabilities would have about "
        f"{percent(error.by_chance)} by chance, and more than {percent(error.limit)} only 5 times in 100.",
        frame.picture(
            "Reliability of the likeliest class",
            f"{len(groups)} groups; mean gap {percent(error.value)}.",
            *_dots(frame, groups, 5.5),
            frame.dot_tips([(g.announced, g.observed, _group_in_words(g)) for g in groups]),
            x=Axis("probability of the likeliest class", percent),
            y=Axis("share that came", percent),
        ),
        keys=[Key("s0", "groups of rows"), Key("base", "perfectly honest")],
    )


def sureness(record: ClassRecord) -> Markup | None:
    """Draw how sure the learner was of the likeliest class, and how often that came."""
    rows = sum(misses + hits for misses, hits in record.sure)
    if not rows:
        return None
    most = max(misses + hits for misses, hits in record.sure) / rows
    frame = Frame("sureness", (0.0, 1.0), (0.0, 1.08 * most), height=FULL)
    width = 1.0 / len(record.sure)
    bars, tips = [], []
    for i, (misses, hits) in enumerate(record.sure):
        span = (i * width, (i + 1) * width)
        if hits:
            bars.append(frame.bar(span, (0.0, hits / rows), "s0"))
        if misses:
            bars.append(frame.bar(span, (hits / rows, (hits + misses) / rows), "s1"))
        counted = f"{whole(round(hits))} rows right\n{whole(round(misses))} wrong"
        tips.append(((i + 0.5) * width, f"{percent(span[0])} to {percent(span[1])} sure\n{counted}"))
    return card(
        "sureness",
        "How sure was it?",
        "Each bar counts the rows whose likeliest class had such a probability: the further to the right, the surer. "
        "Orange is what was wrong all the same.",
        frame.picture(
            "Probabilities of the likeliest class",
            f"{whole(round(rows))} rows in {len(record.sure)} bars.",
            *bars,
            frame.band_tips(tips),
            x=Axis("probability of the likeliest class", percent),
            y=Axis("share of the rows", percent),
        ),
        keys=[Key("s0", "right"), Key("s1", "wrong")],
    )


def by_class(record: ClassRecord) -> Markup | None:
    """Draw a small reliability diagram for each of the classes that came most often."""
    shown = [k for k in frequent(record, SMALL) if any(group.rows for group in record.reliability[k])]
    if not shown:
        return None
    diagrams = tag("div", *(_small(record, k) for k in shown), class_="smalls")
    hidden = len(record.classes) - len(shown)
    return card(
        "class-reliability",
        "Are the probabilities of each class honest?",
        "A dot is a group of rows with like probability of the class, announced from left to right, come from bottom "
        "to top: on the diagonal it comes as often as announced. A whisker is what chance alone allows."
        + (f" Of the other {whole(hidden)} classes the table has the figures." if hidden else ""),
        diagrams,
    )


def _small(record: ClassRecord, k: int) -> Markup:
    groups = [group for group in record.reliability[k] if group.rows]
    error = record.figures[k].calibration
    name = record.classes[k]
    beyond = error.value > error.limit
    side = SIDE

    def at(x: float, y: float) -> tuple[float, float]:
        return 4.0 + x * (side - 8.0), side - 4.0 - y * (side - 8.0)

    frame = tag("rect", x=4.0, y=4.0, width=side - 8.0, height=side - 8.0, class_="frame")
    diagonal = tag("path", d=f"M4 {number(side - 4.0)}L{number(side - 4.0)} 4", class_="line base")
    marks = []
    for group in groups:
        low, high = wilson(group.observed, group.rows)
        (x, y), (_, top), (_, bottom) = at(group.announced, group.observed), at(0.0, high), at(0.0, low)
        marks.append(tag("path", d=f"M{number(x)} {number(top)}V{number(bottom)}", class_="line s0 whisker"))
        marks.append(tag("circle", cx=x, cy=y, r=2.6, class_="dot s0"))
        marks.append(tag("circle", tag("title", text(_group_in_words(group))), cx=x, cy=y, r=7.0, class_="tip"))
    drawing = tag(
        "svg",
        tag("title", text(f"Reliability of {short(name, 40)}")),
        join(frame, diagonal, *marks),
        viewBox=f"0 0 {number(side)} {number(side)}",
        class_="small",
        role="img",
    )
    gap = f"gap {percent(error.value)}" + (", beyond chance" if beyond else "")
    return tag(
        "div",
        tag("b", text(short(name, 24)), title=name[:300]),
        drawing,
        tag("span", text(gap), class_="beyond" if beyond else None),
    )


def _dots(frame: Frame, groups: Sequence[Reliability], largest: float) -> list[Markup]:
    most = max(group.rows for group in groups)
    marks = [frame.line([(0.0, 0.0), (1.0, 1.0)], "base")]
    for group in groups:
        low, high = wilson(group.observed, group.rows)
        marks.append(frame.line([(group.announced, low), (group.announced, high)], "s0 whisker"))
    for group in groups:
        size = 2.0 + (largest - 2.0) * math.sqrt(group.rows / most)
        marks.append(frame.dot(group.announced, group.observed, size, "s0"))
    return marks


def _group_in_words(group: Reliability) -> str:
    return f"{whole(group.rows)} rows\n{percent(group.announced)} announced\n{percent(group.observed)} came"
