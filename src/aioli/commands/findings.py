"""Words the findings of a run: its certificate, where its loss changed, and columns that should be looked at."""

import math

from aioli.evaluate.class_scores import ClassScores
from aioli.evaluate.doubts import doubts
from aioli.evaluate.original_columns import columns_as_taught
from aioli.evaluate.run import Run
from aioli.evaluate.sums import Scores
from aioli.evaluate.windows import Change, change_points
from aioli.learners.aioli import AIOLI
from aioli.learners.auto.auto import Auto
from aioli.learners.protocol import AnyLearner, certifies, knows_classes
from aioli.learners.wide import Wide
from aioli.states.certificate import Certificate

__all__ = ["ball_of", "certificate_of", "changes_of", "proven_sentence", "warnings_of"]


def changes_of(run: Run) -> list[Change]:
    """Return where the loss of the run changed."""
    run.scoring.settle()
    return change_points(run.scoring.windows.list())


def warnings_of(run: Run) -> list[str]:
    """Return a few words for each column that looks as if it should not be learned from."""
    return doubts(run.sample, columns_as_taught(run.stream.features, run.known))


def proven_sentence(scores: Scores | ClassScores, certificate: Certificate | None) -> str | None:
    """Return what the certificate says, in one sentence for those who do not know what regret is.

    The best fixed model lost at least what was lost, less the certificate: so much better, at most, is it.
    """
    lost = scores.log_loss * scores.rows
    if certificate is None or not lost > 0.0:
        return None
    part = float(certificate) / lost
    whom = f"Proven: a fixed formula of the same kind, chosen with all {scores.rows:,} answers in hand, would have"
    if part >= 1.0:
        return f"{whom} been better by an amount that the rows so far do not bound usefully; more rows will."
    return f"{whom} {f'lost at most {part:.2%} less' if part >= 0.0 else f'lost at least {-part:.2%} more'}."


def certificate_of(learner: AnyLearner) -> Certificate | None:
    """Return the learner's certificate; None where it has none."""
    return learner.certificate() if certifies(learner) else None


def ball_of(learner: AnyLearner, certificate: Certificate) -> str:
    """Return in words the ball of models that the certificate holds against."""
    whose = f" of {certificate.against}" if certificate.against else ""
    if knows_classes(learner):
        within = f"with ‖W‖ ≤ {certificate.radius:g}"
        if not certificate.against:
            return f"every softmax model {within}"
        return f"{certificate.against}, {within}" if math.isfinite(certificate.radius) else certificate.against
    if _learns_functions(learner):
        return f"every function{whose or ' of the kernel'} with ‖f‖ ≤ {certificate.radius:g}"
    return f"every linear model{whose} with ‖θ‖ ≤ {certificate.radius:g}"


def _learns_functions(learner: AnyLearner) -> bool:
    """Return whether the learner is a kernel one; kernel modules are imported only where it might be."""
    if isinstance(learner, (AIOLI, Auto, Wide)):
        return False
    from aioli.learners.kernel.feature_map_learner import FeatureMapLearner
    from aioli.learners.kernel.kernel_aioli import KernelAIOLI

    return isinstance(learner, (FeatureMapLearner, KernelAIOLI))
