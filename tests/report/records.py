"""Records to make reports of: a real run, and the strangest ones that a run could leave."""

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from aioli import AIOLI, Auto, __version__
from aioli.evaluate.explaining import explain_columns
from aioli.evaluate.hindsight import best_in_ball
from aioli.evaluate.progressive import progressive
from aioli.evaluate.scores import AUC, Brier, Calibration, LogLoss
from aioli.evaluate.sums import Scores
from aioli.evaluate.windows import Change, Windows
from aioli.numerics.compiling import Vector
from aioli.report.record import (
    Column,
    Histogram,
    Number,
    Point,
    Record,
    Reliability,
    Summary,
    Threshold,
    Weight,
    WordEffect,
)
from aioli.streams.synthetic import named

RADIUS = 5.0  # of the ball; the θ of the stream is shorter
HOSTILE = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x00\ud800"


class Announced:
    """Keeps what was announced: a score only by the shape of its methods."""

    value = math.nan

    def __init__(self) -> None:
        self.p: list[float] = []

    def update(self, p: object, y: object) -> None:  # noqa: ARG002  (the signature of scores)
        self.p += np.asarray(p).tolist()


def auto_record(rows: int = 20_000) -> Record:
    """The mixture, with a peer beside it; of its regret only the certificate is known."""
    return real_record(Auto(), rows, every=rows // 80)


def aioli_record(rows: int = 20_000) -> Record:
    """The paper's learner: no mixture, and the regret against its own ball in hindsight."""
    return real_record(AIOLI(radius=RADIUS), rows)


def real_record(learner: Auto | AIOLI, rows: int, every: int | None = None) -> Record:
    """A learner on a synthetic stream, with another beside it, scored as it goes."""
    X, y = named("logistic").take(rows, seed=0)
    peer = AIOLI(radius=1.0)
    announced, peer_loss, brier, auc, calibration = Announced(), LogLoss(), Brier(), AUC(), Calibration()
    history: list[Point] = []
    for point in progressive(learner, [(X, y)], every=every, scores=[announced, brier, auc, calibration]):
        before = history[-1].rows if history else 0
        part = slice(before, point.rows)
        peer_loss.update(peer.learn_many(X[part], y[part]), y[part])
        mixed = isinstance(learner, Auto)
        best = None if mixed else best_in_ball(X[: point.rows], y[: point.rows], RADIUS, tolerance=1e-3).loss
        p = np.array(announced.p)[part]
        history.append(
            Point(
                rows=point.rows,
                log_loss=point.log_loss,
                recent=float(-np.log(np.where(y[part] == 1.0, p, 1.0 - p)).mean()),
                base_rate=point.base_rate,
                certificate=point.certificate,
                regret=None if best is None else point.rows * point.log_loss - best,
                weights=dict(learner.weights_) if isinstance(learner, Auto) else None,
                peers={"AIOLI, radius 1": peer_loss.value},
            )
        )
    p = np.array(announced.p)
    last = history[-1]
    scores, windows = Scores(), Windows()
    scores.update(p, y)
    windows.count(p, y)
    return Record(
        title="clicks.csv",
        learner=repr(learner),
        version=__version__,
        seconds=1.27,
        rows_per_second=rows / 1.27,
        positive="clicked",
        negative="not clicked",
        summary=Summary(
            rows=rows,
            log_loss=last.log_loss,
            base_rate=last.base_rate,
            brier=brier.value,
            accuracy=float(np.mean((p > 0.5) == (y == 1.0))),
            auc=auc.value,
            auc_low=auc.value - 0.01,
            auc_high=auc.value + 0.01,
            ece=calibration.value,
            certificate=last.certificate,
            regret=last.regret,
        ),
        history=history,
        reliability=calibration.table(),
        histogram=histogram_of(p, y),
        thresholds=thresholds_of(p, y),
        weights=weights_of(learner if isinstance(learner, AIOLI) else peer),
        columns=[
            *(Column(f"x{i}", "number", 0.0, None, "", X[:, i].min(), X[:, i].mean(), X[:, i].max()) for i in range(5)),
            Column("country", "category", 0.013, 214, "rare ones share 64 hashed buckets"),
            Column("seen at", "date", 0.0, note="as days since 1970, hour of day, day of week"),
            Column("search", "text", 0.21, 18_231, "words in 256 hashed buckets"),
        ],
        notes=["The certificate holds against every linear model of the ball that the learner was given."],
        label="clicked",
        command="aioli run clicks.csv --label clicked --report report.html",
        date="2026-02-03",
        warnings=["visit looks like an identifier: it only grows", "country is constant"],
        proven="Proven: a fixed formula of the same kind would have lost at most 0.21% less.",
        effects=explain_columns(learner, X[:60]),
        words=[WordEffect(f"word {i}", (-1.0) ** i / (i + 1.0)) for i in range(8)],
        windows=windows.list(),
        changes=[Change(rows // 2, 0.14, 0.31), Change(3 * rows // 4, 0.31, 0.2)],
        tails=scores.tails(),
        decisions=scores.decisions(),
    )


def histogram_of(p: Vector, y: Vector, bins: int = 40) -> Histogram:
    sides = [np.histogram(p[y == label], bins, (0.0, 1.0))[0].tolist() for label in (0.0, 1.0)]
    return Histogram(*sides)


def thresholds_of(p: Vector, y: Vector, most: int = 200) -> list[Threshold]:
    order = np.argsort(-p, kind="stable")
    found, alarms = np.cumsum(y[order]), np.cumsum(1.0 - y[order])
    at = np.unique(np.linspace(0, len(p) - 1, most).astype(int))
    return [
        Threshold(p[order[i]], found[i] / found[-1], alarms[i] / alarms[-1], found[i] / (found[i] + alarms[i]))
        for i in at
    ]


def weights_of(learner: AIOLI) -> list[Weight]:
    w = learner.coefficients_
    names = ["intercept", *(f"column {i}" for i in range(1, len(w)))]
    found = [Weight(name, float(value), 0.02 + 0.1 * abs(float(value))) for name, value in zip(names, w, strict=True)]
    return sorted(found, key=lambda weight: -abs(weight.weight or 0.0))


@cache
def largest_record() -> Record:
    """Of everything the most, with long and hostile names."""
    rng = np.random.default_rng(1)
    names = [f"{HOSTILE} {'long ' * 200}{i}" for i in range(500)]
    experts = [f"expert {name}" for name in names[:12]]
    rows = np.unique(np.geomspace(1, 1e9, 3000).astype(int)).tolist()
    shares: list[Mapping[str, Number]] = [dict(zip(experts, rng.dirichlet(np.ones(12)), strict=True)) for _ in rows]
    history = [
        Point(n, 0.3 + 1.0 / n, 0.3 + 0.1 * rng.random(), 0.6, 20 * math.log1p(n), 5 * math.log1p(n), share, peers)
        for n, share in zip(rows, shares, strict=True)
        for peers in [{f"peer {name}": 0.3 + 0.01 * i + 1.0 / n for i, name in enumerate(names[:9])}]
    ]
    p = rng.random(5000)
    y = (rng.random(5000) < p).astype(float)
    return Record(
        title=names[0],
        learner=f"Auto({HOSTILE}{'x' * 5000})",
        summary=Summary(10**9, 0.3, 0.6, 0.1, 0.9, 0.9, 0.89, 0.91, 0.01, 414.0, 103.0),
        version=HOSTILE,
        seconds=123_456.0,
        rows_per_second=8100.0,
        positive=HOSTILE,
        negative=names[1],
        history=history,
        reliability=[Reliability(10**8, (g + 0.5) / 50, (g + 0.5) / 50) for g in range(50)],
        histogram=histogram_of(p, y, 50),
        thresholds=thresholds_of(p, y, 1000),
        weights=[Weight(name, 1e3 / (i + 1) * (-1) ** i, 10.0) for i, name in enumerate(names)],
        columns=[Column(name, HOSTILE, 0.5, 10**9, name, -1e300, 1e-300, 1e308) for name in names],
        notes=[HOSTILE, names[2]],
    )


def plain_record() -> Record:
    """Only one class, no mixture, no peers, no certificate, no hindsight."""
    history = [Point(n, 0.7 / n, 0.1, 0.7 / n) for n in (1, 2, 4, 8, 16)]
    return Record(
        title="ones.csv",
        learner="OGD(radius=4)",
        summary=Summary(16, 0.04, 0.04, auc=math.nan),
        history=history,
        reliability=[Reliability(16, 0.9, 1.0)],
        histogram=Histogram([0] * 20, [0] * 19 + [16]),
        thresholds=[Threshold(0.9, 1.0, math.nan, 1.0), Threshold(0.1, 1.0, math.nan, 1.0)],
    )


def one_row_record() -> Record:
    return Record("one.csv", "AIOLI()", Summary(1, math.log(2.0)), history=[Point(1, math.log(2.0), math.log(2.0))])


def broken_record() -> Record:
    """Numbers that no drawing can hold, wherever a number may be."""
    bad: list[Number] = [math.nan, math.inf, -math.inf, None, 1e308, 0.0, -0.0, 5e-324]
    return Record(
        title="",
        learner="",
        summary=Summary(8, math.nan, math.inf, -math.inf, None, 1e308, 0.0, math.inf, -0.0, 5e-324, math.nan),
        seconds=math.nan,
        rows_per_second=math.inf,
        history=[
            Point(n, value, value, value, value, value, {"a": value, "b": 1.0}, {"peer": value})
            for n, value in enumerate(bad, 1)
        ],
        reliability=[Reliability(0, math.nan, math.nan), Reliability(3, 0.0, 0.0), Reliability(1, 1.0, math.nan)],
        histogram=Histogram([0] * 20, [0] * 20),
        thresholds=[Threshold(value, value, value, value) for value in bad],
        weights=[Weight("", value, value) for value in bad],
        columns=[Column("", "", value, None, "", value, value, value) for value in bad],
    )


RECORDS: dict[str, Callable[[], Record]] = {
    "auto": auto_record,
    "aioli": aioli_record,
    "largest": largest_record,
    "plain": plain_record,
    "one row": one_row_record,
    "broken": broken_record,
}
