"""Scenarios of the learners of the literature, of batch estimators, and of the average over a run."""

from typing import Any

from aioli import AIOLI, AWV, EKF, FTRL, OGD, ONS, SMP, Algorithm2, Auto, Foster, MaximumLikelihood, OnlineToBatch
from benchmarks.unchanged.recording import streams
from benchmarks.unchanged.recording.courses import course, note_all, rows_of
from benchmarks.unchanged.recording.notes import Notes, Scenario

__all__ = ["SCENARIOS"]

ROW_BY_ROW = ("one by one", "at once", "in pieces", "refused")
AVERAGED = ("one by one", "at once", "in pieces", "weighted", "continued", "refused")


def _bounds(notes: Notes) -> None:
    X, y = streams.dense(200, 3, seed=50)
    X /= 4.0
    learners: dict[str, Any] = {
        "OGD": OGD(radius=2.0),
        "ONS": ONS(widest=4.0),
        "FTRL": FTRL(),
        "AWV": AWV(ridge=0.5),
        "Foster": Foster(method="smc", particles=50),
    }
    radius = {"FTRL": [2.0], "AWV": [2.0]}
    for name, learner in learners.items():
        learner.learn_many(X[:40], y[:40])
        bound = learner.square_regret_bound if name == "AWV" else learner.regret_bound
        notes.note(f"{name}: bound", float(bound(*radius.get(name, []))))


def _fitted(notes: Notes) -> None:
    X, y = streams.dense(150, 4, seed=51)
    for name, model in {
        "MaximumLikelihood": MaximumLikelihood(),
        "MaximumLikelihood, ridge 0.01, no intercept": MaximumLikelihood(ridge=0.01, intercept=False),
        "SMP": SMP(),
        "SMP, ridge 0.1": SMP(ridge=0.1),
    }.items():
        model.fit(X[:80], y[:80])
        note_all(notes, name, model, X)
        notes.note(f"{name}: predict_many of rows never seen", model.predict_many(X[80:110]))
        model.fit(X, y)
        note_all(notes, f"{name}, fitted again", model, X)


def _averages(notes: Notes) -> None:
    X, y = streams.dense(700, 4, seed=52)
    for name, model in {
        "one state": OnlineToBatch(AIOLI(), states=1, seed=4),
        "all rounds": OnlineToBatch(AIOLI(radius=2.0), states=8, share=1.0),
        "a tenth": OnlineToBatch(Auto(experts=2), states=5, share=0.1, seed=9),
        "EKF": OnlineToBatch(EKF(), states=4),
    }.items():
        notes.note(f"{name}: learn_many", model.learn_many(X[:500], y[:500]))
        notes.note(f"{name}: learn", [model.learn(x, t) for x, t in zip(rows_of(X[500:]), y[500:], strict=True)])
        notes.note(f"{name}: kept_rounds_", model.kept_rounds_)
        notes.note(f"{name}: predict_many", model.predict_many(X[:20]))
        notes.note(f"{name}: predict_logit_many", model.predict_logit_many(X[:20]))
        if name != "EKF":
            bounds = [model.excess_risk_bound(), model.excess_risk_bound(tight=True)]
            notes.note(f"{name}: excess_risk_bound", bounds)


SCENARIOS: dict[str, Scenario] = {
    "OGD": course(lambda: OGD(), streams.dense(300, 5), ROW_BY_ROW),
    "OGD, radius 3, widest 9": course(lambda: OGD(radius=3.0, widest=9.0), streams.dense(300, 5), ROW_BY_ROW),
    "ONS": course(lambda: ONS(radius=2.0, widest=12.0), streams.dense(250, 5), ROW_BY_ROW),
    "FTRL": course(lambda: FTRL(ridge=0.5), streams.dense(150, 4), ROW_BY_ROW),
    "AWV": course(lambda: AWV(), streams.dense(300, 5), ROW_BY_ROW),
    "EKF": course(lambda: EKF(), streams.dense(300, 5), ROW_BY_ROW),
    "EKF, no intercept, collinear rows": course(
        lambda: EKF(intercept=False), streams.collinear(300, 5, length=1e4), ROW_BY_ROW
    ),
    "Foster, quadrature": course(
        lambda: Foster(radius=4.0, method="quadrature"), streams.dense(60, 1), ("at once", "refused")
    ),
    "Foster, particles": course(
        lambda: Foster(radius=4.0, method="smc", particles=200, seed=2), streams.dense(80, 3), ROW_BY_ROW[:2]
    ),
    "Algorithm2": course(lambda: Algorithm2(ridge=2.0, widest=6.0), streams.dense(90, 4), ROW_BY_ROW),
    "Algorithm2, verbatim": course(
        lambda: Algorithm2(radius=2.0, widest=9.0, steps=50, verbatim=True), streams.dense(100, 4), ROW_BY_ROW
    ),
    "MaximumLikelihood and SMP": _fitted,
    "OnlineToBatch of AIOLI": course(lambda: OnlineToBatch(AIOLI()), streams.dense(700, 4), AVERAGED),
    "OnlineToBatch of Auto": course(lambda: OnlineToBatch(states=6), streams.dense(200, 4), AVERAGED),
    "OnlineToBatch, shares of a run": _averages,
    "bounds of the literature": _bounds,
}
