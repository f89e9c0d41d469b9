"""Running scores of announced probabilities of K classes, whose number may grow; mergeable and resumable."""

import numpy as np

from aioli.evaluate import class_functions as functions
from aioli.evaluate import class_sums as sums
from aioli.evaluate.class_functions import CalibrationError, ClassFigures, Period
from aioli.evaluate.class_tally import ClassTally
from aioli.evaluate.score_functions import GROUPS, Reliability, reliability_table
from aioli.numerics.compiling import Matrix, Vector

__all__ = ["ClassScores"]


class ClassScores(ClassTally):
    r"""Every score of K classes in one compiled pass: O(K) a row, and about 80 KB a class.

    Log loss, accuracy, the three likeliest, Brier ($\sum_k (p_k - 1\{k = y\})^2$, from 0 to 2), macro-F1, Cohen's
    kappa, one-against-rest AUC, calibration of every class and of the likeliest one, the confusion matrix, and how each
    class went in 64 parts of the stream. The base rate is that of the running class shares (`evaluate.class_sums`).

    Parameters
    ----------
    classes
        The labels, in the order of the columns of the probabilities; more may come later.
    declared
        Whether these were known before the first row: the base rate then gives none of its probability to others.

    Examples
    --------
    >>> scores = ClassScores(["ant", "bee", "cat"], declared=True)
    >>> scores.update([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.3, 0.4, 0.3]], ["ant", "bee", "cat"])
    >>> print(f"{scores.log_loss:.4f} {scores.accuracy:.4f} {scores.kappa:.2f} {scores.macro_f1:.4f} {scores.auc:.2f}")
    0.7513 0.6667 0.50 0.5556 0.92
    >>> scores.confusion
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 0.]])
    """

    _figured: tuple[int, list[ClassFigures]] = (-1, [])  # after so many rows: several scores ask for them

    @property
    def nats(self) -> float:
        """The sum of the log losses."""
        return float(self._totals[sums.NATS])

    @property
    def log_loss(self) -> float:
        """Mean log loss of the label that came, in nats a row."""
        return self._mean(sums.NATS)

    @property
    def clipped(self) -> int:
        """How many rows gave their label no probability at all; `log_loss` is then a lower bound."""
        return int(self._totals[sums.CLIPPED])

    @property
    def base_rate(self) -> float:
        """Mean log loss of the running class shares."""
        return self._mean(sums.BASE)

    @property
    def brier(self) -> float:
        """Mean of the summed squares, from 0 to 2."""
        return self._mean(sums.SQUARES)

    @property
    def accuracy(self) -> float:
        """The part of rows whose label was the likeliest; a tie of m counts 1/m, the first row of a class not."""
        return float(np.trace(self.confusion)) / self.rows if self.rows else float("nan")

    @property
    def top3(self) -> float:
        """The part of rows whose label was among the three likeliest."""
        return self._mean(sums.TOP)

    @property
    def kappa(self) -> float:
        """Cohen's kappa."""
        return functions.kappa(self.confusion)

    @property
    def macro_f1(self) -> float:
        """The mean over classes of F1."""
        return functions.macro([one.f1 for one in self.by_class()])

    @property
    def auc(self) -> float:
        """The mean over classes of the area under the ROC curve, each against the rest."""
        return functions.macro([one.auc for one in self.by_class()])

    @property
    def auc_error(self) -> float:
        """How far at most `auc` is from the exact mean of areas."""
        return functions.macro([one.auc_error for one in self.by_class()])

    @property
    def ece(self) -> float:
        """Expected calibration error of the likeliest class's probability."""
        return self.confidence.value

    @property
    def confidence(self) -> CalibrationError:
        """Calibration of the likeliest class's probability, and what chance allows."""
        return functions.calibration_of(self._confidence, GROUPS)

    @property
    def class_ece(self) -> float:
        """The mean over classes of the calibration error of each class's probability."""
        return functions.macro([one.calibration.value for one in self.by_class()])

    @property
    def class_ece_limit(self) -> float:
        """What honest probabilities would exceed in `class_ece` at most 5 times in 100: the mean of the limits."""
        return functions.macro([one.calibration.limit for one in self.by_class()])

    @property
    def counts(self) -> Vector:
        """How many rows of each class have come."""
        return self._arrays["counts"][: len(self.classes)].copy()

    @property
    def confusion(self) -> Matrix:
        """Rows by the class that came (down) and the likeliest one (across)."""
        size = len(self.classes)
        return self._arrays["confusion"][:size, :size].copy()

    def by_class(self) -> list[ClassFigures]:
        """Return the figures of every class against the rest, in the order of `classes`."""
        if self._figured[0] == self.rows:
            return self._figured[1]
        confusion = self.confusion
        lost = self._arrays["periods"][:, sums.LOST].sum(axis=0)
        bins = self._arrays["bins"]
        found = [
            functions.class_figures(k, confusion, bins[k], float(lost[k]), GROUPS) for k in range(len(self.classes))
        ]
        self._figured = self.rows, found
        return found

    def reliability(self, k: int | None = None) -> list[Reliability]:
        """Return the points of a reliability diagram: of the k-th class, or of the likeliest one.

        Groups of the likeliest class have equally many rows; those of a class, which is rare among many, have about
        equally many of its rows, as far as they were announced.
        """
        if k is None:
            return reliability_table(self._confidence, GROUPS)
        return functions.reliability_by_events(self._arrays["bins"][k], GROUPS)

    def sureness(self) -> list[tuple[float, float]]:
        """Return misses and hits of the likeliest class in 20 equally wide parts of its probability."""
        return functions.histogram_of(self._confidence)

    def periods(self) -> list[Period]:
        """Return how each class went, in up to 64 equally long parts of the stream."""
        return functions.periods_of(self._arrays["periods"][:, :, : len(self.classes)], self._period)

    def _mean(self, which: int) -> float:
        return float(self._totals[which]) / self.rows if self.rows else float("nan")
