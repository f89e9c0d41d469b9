"""Charts of what was announced against what came: reliability, the two curves of thresholds, the histogram."""

import math
from collections.abc import Iterable, Sequence

from aioli.report.cards import Key, card
from aioli.report.markup import Markup
from aioli.report.record import Record, Threshold
from aioli.report.svg import Axis, Frame
from aioli.report.wording import figure, finite, percent, whole

__all__ = ["histogram", "precision_recall", "reliability", "roc", "wilson"]

DEVIATIONS = 2.0  # of an interval that holds the true frequency about 95 times in 100
TIPS_APART = 0.03
CURVE = 290.0  # the height at which a curve of shares is nearly square


def reliability(record: Record) -> Markup | None:
    """Draw what came against what was said, in groups of like probability."""
    groups = [
        group
        for group in record.reliability
        if group.rows > 0 and finite(group.announced) is not None and finite(group.observed) is not None
    ]
    if not groups:
        return None
    intervals = [wilson(group.observed, group.rows) for group in groups]
    reach = max(*(group.announced for group in groups), *(high for _, high in intervals))
    limit = 1.0 if reach > 0.4 else max(1.1 * reach, 1e-9)  # rare events would huddle in the corner
    frame = Frame("reliable", (0.0, limit), (0.0, limit), height=CURVE)
    most = max(group.rows for group in groups)
    marks = [frame.line([(0.0, 0.0), (limit, limit)], "base")]
    for group, (low, high) in zip(groups, intervals, strict=True):
        marks.append(frame.line([(group.announced, low), (group.announced, high)], "s0 whisker"))
    sizes = [2.0 + 3.5 * math.sqrt(group.rows / most) for group in groups]
    marks += [frame.dot(g.announced, g.observed, size, "s0") for g, size in zip(groups, sizes, strict=True)]
    tips = (
        (
            group.announced,
            group.observed,
            f"{whole(group.rows)} rows\n{percent(group.announced)} announced\n{percent(group.observed)} came",
        )
        for group in groups
    )
    return card(
        "reliability",
        "Are the probabilities honest?",
        "Rows of like probability are one dot, its area their number: on the diagonal, events come as often as "
        f"announced. A whisker is what chance alone allows {'such a group' if len(groups) == 1 else 'each group'}, "
        "about 95 times in 100.",
        frame.picture(
            "Reliability diagram",
            f"{len(groups)} groups of up to {whole(most)} rows; calibration error {percent(record.summary.ece)}.",
            *marks,
            frame.dot_tips(tips),
            x=Axis("probability announced", _fine_percent),
            y=Axis("share that came", _fine_percent),
        ),
        keys=[Key("s0", "groups of rows"), Key("base", "perfectly honest")],
    )


def roc(record: Record) -> Markup | None:
    """Draw the true positive rate against the false positive rate, over all thresholds."""
    curve = sorted(
        (across, up, _of(threshold))
        for threshold in record.thresholds
        if (across := finite(threshold.false_positive_rate)) is not None
        and (up := finite(threshold.true_positive_rate)) is not None
    )
    if not curve or curve[0][:2] == curve[-1][:2]:
        return None
    frame = Frame("roc", (0.0, 1.0), (0.0, 1.0), height=CURVE)
    places = [(0.0, 0.0), *((across, up) for across, up, _ in curve), (1.0, 1.0)]
    area = finite(record.summary.auc)
    return card(
        "roc",
        "ROC curve",
        "Each point is a threshold: of the positive rows it finds the share on the left, and raises the alarm on the "
        "share below of the negative ones; the diagonal is a coin.",
        frame.picture(
            "ROC curve",
            f"The area under the curve is {figure(area)}.",
            frame.area(places, [(0.0, 0.0), (1.0, 0.0)], "s0 soft"),
            frame.line([(0.0, 0.0), (1.0, 1.0)], "base"),
            frame.line(places, "s0"),
            frame.dot_tips(_spaced(curve)),
            x=Axis("false positive rate", percent),
            y=Axis("true positive rate", percent),
        ),
        keys=[Key("s0", "area", figure(area) if area is not None else ""), Key("base", "a coin", "0.5")],
    )


def precision_recall(record: Record) -> Markup | None:
    """Draw precision against recall, over all thresholds."""
    curve = sorted(
        (across, -up, _of(threshold))
        for threshold in record.thresholds
        if (across := finite(threshold.true_positive_rate)) is not None
        and (up := finite(threshold.precision)) is not None
    )
    share = _positive_share(record)
    if not curve or curve[0][0] == curve[-1][0] or share in (0.0, 1.0):
        return None
    frame = Frame("precise", (0.0, 1.0), (0.0, 1.0), height=CURVE)
    return card(
        "precision-recall",
        "Precision and recall",
        "Each point is a threshold: it finds the share below of the positive rows, and the share on the left of its "
        "alarms are right; where positive rows are rare, this says more than the ROC curve.",
        frame.picture(
            "Precision–recall curve",
            f"Precision goes from {percent(-curve[0][1])} at the strictest threshold to {percent(-curve[-1][1])}.",
            frame.line([(0.0, share), (1.0, share)], "base") if share is not None else None,
            frame.line([(across, -down) for across, down, _ in curve], "s0"),
            frame.dot_tips(_spaced((across, -down, said) for across, down, said in curve)),
            x=Axis("recall", percent),
            y=Axis("precision", percent),
        ),
        keys=[
            Key("s0", "thresholds"),
            *([Key("base", "alarms at random", percent(share))] if share is not None else []),
        ],
    )


def histogram(record: Record) -> Markup | None:
    """Draw how the probabilities spread, for either class."""
    counts = record.histogram
    if counts is None or not sum(counts.positive) + sum(counts.negative):
        return None
    sides = [(+1.0, "s1", record.positive, counts.positive), (-1.0, "s0", record.negative, counts.negative)]
    sides = [side for side in sides if sum(side[3])]
    heights = {css: [n / sum(found) for n in found] for _, css, _, found in sides}
    y = [sign * 1.08 * max(heights[css]) for sign, css, _, _ in sides]
    frame = Frame("spread", (0.0, 1.0), (min(0.0, *y), max(0.0, *y)))
    bins = max(len(found) for _, _, _, found in sides)
    bars = [
        frame.bar((i / bins, (i + 1) / bins), (0.0, sign * height), css)
        for sign, css, _, _ in sides
        for i, height in enumerate(heights[css])
        if height
    ]
    tips = []
    for i in range(bins):
        rows = "\n".join(f"{whole(found[i])} rows of {name}" for _, _, name, found in sides if i < len(found))
        tips.append(((i + 0.5) / bins, f"{figure(i / bins)} to {figure((i + 1) / bins)}\n{rows}"))
    upwards = "; positive rows point up, negative ones down" if len(sides) == 2 else ""
    return card(
        "histogram",
        "Where the probabilities lie",
        f"A bar is the share of its class whose probability fell there{upwards}: the further the two stand apart, the "
        "better they are told from each other.",
        frame.picture(
            "Histogram of the probabilities",
            " ".join(f"{whole(sum(found))} rows of {name}." for _, _, name, found in sides),
            *bars,
            frame.line([(0.0, 0.0), (1.0, 0.0)], "zero"),
            frame.band_tips(tips),
            x=Axis("probability announced", percent),
            y=Axis("share of the class", lambda value: percent(abs(value))),
        ),
        keys=[Key(css, name, f"{whole(sum(found))} rows") for _, css, name, found in sides],
    )


def wilson(share: float, rows: int) -> tuple[float, float]:
    r"""Return Wilson's interval of a frequency, $\frac{p + z^2/2n \pm z\sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}$.

    >>> low, high = wilson(0.5, 100)
    >>> print(f"{low:.3f} {high:.3f}")
    0.402 0.598
    """
    square = DEVIATIONS * DEVIATIONS / rows
    spread = DEVIATIONS * math.sqrt(max(0.0, share * (1.0 - share)) / rows + square / (4.0 * rows))
    middle = share + square / 2.0
    return max(0.0, (middle - spread) / (1.0 + square)), min(1.0, (middle + spread) / (1.0 + square))


def _positive_share(record: Record) -> float | None:
    if record.histogram is None:
        return None
    positive, negative = sum(record.histogram.positive), sum(record.histogram.negative)
    return positive / (positive + negative) if positive + negative else None


def _of(threshold: Threshold) -> str:
    found, alarm, right = (
        percent(share) for share in (threshold.true_positive_rate, threshold.false_positive_rate, threshold.precision)
    )
    return f"from probability {figure(threshold.threshold)} on\n{found} found\n{alarm} false alarms\n{right} precision"


def _spaced(tips: Iterable[tuple[float, float, str]]) -> Sequence[tuple[float, float, str]]:
    """Return the tooltips that are at least `TIPS_APART` from the one kept before."""
    kept: list[tuple[float, float, str]] = []
    for tip in tips:
        if not kept or math.hypot(tip[0] - kept[-1][0], tip[1] - kept[-1][1]) >= TIPS_APART:
            kept.append(tip)
    return kept


def _fine_percent(share: float) -> str:
    return f"{100.0 * share:.4g}%"
