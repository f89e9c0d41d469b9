"""Regret and certificate along the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.errors import CapabilityMissing
from aioli.evaluate.hindsight import best_in_ball
from aioli.learners.aioli import AIOLI
from aioli.plot.drawing import BOUND, LEARNER, REFERENCE, Axes, Display
from aioli.plot.recording import RecordedRun

__all__ = ["RegretDisplay"]

LOOKS = 12  # at which the best model of the rows so far is sought, each by a few passes over them


@dataclass
class RegretDisplay(Display):
    """The certificate as it grew, and for `AIOLI` the regret that it bounds, known only in hindsight.

    Parameters
    ----------
    rows, certificate
        Nats of regret that the run had proven not to have been exceeded, after so many rows.
    regret_rows, regret
        The regret against the best θ of the ball, after so many rows; empty where the models of the certificate are
        not linear in the columns themselves, as with `Auto`.
    """

    rows: Sequence[int]
    certificate: Sequence[float]
    regret_rows: Sequence[int] = ()
    regret: Sequence[float] = ()

    @classmethod
    def from_run(cls, run: RecordedRun, ax: Axes | None = None) -> Self:
        """Draw the certificate of a recorded run, and its regret where the learner is `AIOLI`."""
        points = [(point.rows, point.certificate) for point in run.points if point.certificate is not None]
        if not points:
            raise CapabilityMissing(
                f"{type(run.learner).__name__} has no certificate to draw; AIOLI, Auto and Wide have one"
            )
        rows, certificate = zip(*points, strict=True)
        display = cls(rows, certificate)
        if isinstance(run.learner, AIOLI) and run.learner.rounds == len(run.y):
            learner, looks = run.learner, rows[:: -max(1, len(rows) // LOOKS)][::-1]
            losses = np.cumsum(-np.log(np.where(run.y == 1.0, run.p, 1.0 - run.p)))
            display.regret_rows = looks
            display.regret = [
                float(losses[n - 1])
                - best_in_ball(run.rows[:n], run.y[:n], learner.radius, intercept=learner.intercept).loss
                for n in looks
            ]
        return display.plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.plot(self.rows, self.certificate, color=BOUND, lw=2.0, label="certificate: proven as it goes")
        if self.regret_rows:
            ax.plot(self.regret_rows, self.regret, "o-", ms=4, color=LEARNER, label="regret: known in hindsight")
        ax.axhline(0.0, color=REFERENCE, lw=0.8)
        ax.set(xlabel="rows", ylabel="nats, all rows so far")
        ax.legend(frameon=False)
