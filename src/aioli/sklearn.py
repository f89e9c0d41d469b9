"""A scikit-learn classifier over any learner, for pipelines, searches and displays."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aioli.learners.batch.any_order import learn_in_any_order, plan_for
from aioli.learners.batch.averaging import average_log_odds, log_odds
from aioli.learners.batch.online_to_batch import OnlineToBatch
from aioli.learners.batch.row_weights import rows_of_weight, weights_by_class
from aioli.learners.cloning import fresh_copy, learn_rows_as_batch
from aioli.learners.protocol import HasCoefficients, Learner, names_columns
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus_many

if TYPE_CHECKING:  # scikit-learn has no types: these are the parts of it that are used

    class BaseEstimator:
        """An object with parameters by name, and tags."""

        def __sklearn_tags__(self) -> Any: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters."""
            ...

        def set_params(self, **params: Any) -> Self:
            """Change parameters."""
            ...

    class ClassifierMixin:
        """A classifier with the accuracy as its score."""

        def score(self, X: object, y: object, sample_weight: object = None) -> float:
            """Return the accuracy on the rows."""
            ...

    check_array: Any
    check_classification_targets: Any
    check_is_fitted: Any
    type_of_target: Any
    validate_data: Any
    LabelEncoder: Any
else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.preprocessing import LabelEncoder
        from sklearn.utils import check_array
        from sklearn.utils.multiclass import check_classification_targets, type_of_target
        from sklearn.utils.validation import check_is_fitted, validate_data
    except ImportError as missing:
        raise ImportError(
            "aioli.sklearn needs scikit-learn 1.6 or newer: pip install 'aioli-online[sklearn]'"
        ) from missing

__all__ = ["AIOLIClassifier"]


class AIOLIClassifier(ClassifierMixin, BaseEstimator):
    r"""Online logistic regression as a scikit-learn classifier of two classes.

    `fit` learns a batch: the same rows give the same model, bit for bit, whatever their order. `partial_fit` goes on
    with a stream, batch by batch, all of whose rows are announced before the first of their labels. The rows of
    `predict_proba` are $(1-p, p)$, where p is what the learner would announce if the row came next, averaged where
    there are several. Dense, CSR, pandas and polars rows; any two labels.

    Parameters
    ----------
    learner
        A learner that has seen nothing, such as `AIOLI(radius=2.0)`: a copy of it learns, so that it stays a template.
        None is `Auto()`, which needs no tuning and no scaling of the columns.
    class_weight
        Weights by label, 1 for those not named; "balanced", for `fit` only, is $n/(2n_k)$ for a class of $n_k$ of the
        n rows, `sample_weight` counted in. They multiply `sample_weight`.
    average
        m: predict by the average of the learner's states before m rounds drawn uniformly (`OnlineToBatch`), whose
        excess risk is bounded on average if the rows are drawn independently. None predicts by the last state.
    orders
        `fit` shuffles the rows by fixed seeds, so many times, teaches a learner each shuffle, and averages the
        probabilities. None is up to 4 for `Auto`, by the number of rows, and 1 for other learners.
    passes
        How many times `fit` plays the rows. None is 2 for `Auto` where ten rows or more come to a column, else 1.

    Attributes
    ----------
    learner_
        The learner that has learned, the first of `learners_`: its certificate, its loss, `save`. Where there is an
        average, the `OnlineToBatch`, whose own `learner_` it is.
    learners_
        One learner for each of the orders; after `partial_fit` alone, one.
    classes_
        The two labels, sorted; p is the probability of the second.
    n_features_in_, feature_names_in_
        The number of the columns, and their names where the rows of the first call had any.
    coef_, intercept_
        The centre w of what the learner knows, where it has one, as `AIOLI` does. Its predictions hedge, so they are
        nearer to ½ than w alone would say.

    Notes
    -----
    A row's weight multiplies its loss; a row of weight 0 is left out. Repeating a row instead of weighting it does not
    give quite the same model. A call that is refused leaves the classifier as it was.

    Whoever calls `partial_fit` scores the next batch with what it returns: the labels of a batch come late by up to its
    rows. A learner of late labels (`Auto`, `AIOLI`, …) learns from what `predict_proba` said of the batch just before
    (`learn_batch`); others, and all where a batch is one row, learn each label before the next row.

    Examples
    --------
    >>> import numpy as np
    >>> from aioli.sklearn import AIOLIClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3)) * [1.0, 1000.0, 0.001]
    >>> y = np.where(X @ [1.0, -0.002, 500.0] + rng.logistic(size=1000) > 0, "click", "skip")
    >>> model = AIOLIClassifier().fit(X[:500], y[:500]).partial_fit(X[500:], y[500:])
    >>> model.classes_
    array(['click', 'skip'], dtype='<U5')
    >>> print(f"{model.score(X, y):.1f}")
    0.8
    """

    learners_: list[Learner]
    classes_: Any
    n_features_in_: int
    feature_names_in_: Any

    def __init__(
        self,
        learner: Learner | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        average: int | None = None,
        orders: int | None = None,
        passes: int | None = None,
    ) -> None:
        self.learner = learner
        self.class_weight = class_weight
        self.average = average
        self.orders = orders
        self.passes = passes

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Forget everything, and learn the rows as a batch, whose order does not matter."""
        with _all_or_nothing(self):
            rows, labels = self._validated(X, y, reset=True)
            encoder = LabelEncoder().fit(labels)
            orders, passes = plan_for(self._fresh(), rows.shape, self.orders, self.passes)
            self._begin(encoder.classes_, orders)
            codes = encoder.transform(labels)
            weights = _as_weights(sample_weight, len(codes))
            if weights is not None and not weights.any():
                raise ValueError("sample_weight is zero for every row; give at least one a weight above zero")
            taught = codes if weights is None else codes[weights > 0.0]
            if np.ptp(taught) == 0:
                label = self.classes_.tolist()[taught[0]]
                raise ValueError(
                    f"every row is of one class, {label!r}; give rows of two, or use partial_fit with classes=[…]"
                )
            stakes = weights_by_class(self.class_weight, self.classes_.tolist(), codes, weights)
            learn_in_any_order(self.learners_, rows, codes.astype(np.float64), stakes, passes)
        return self

    def partial_fit(self, X: object, y: object, classes: object = None, sample_weight: object = None) -> Self:
        """Go on learning, from a batch whose rows are all announced before its labels come.

        The first call must be given both `classes`.
        """
        with _all_or_nothing(self):
            first = "learners_" not in vars(self)
            if first and classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            rows, labels = self._validated(X, y, reset=first)
            encoder = LabelEncoder().fit(self.classes_ if classes is None else classes)
            if first:
                self._begin(encoder.classes_)
            elif not np.array_equal(encoder.classes_, self.classes_):
                raise ValueError(f"classes are {classes!r}, but were {self.classes_} on the first call; leave them out")
            if isinstance(self.class_weight, str):
                raise ValueError(
                    f"class_weight {self.class_weight!r} is not supported for partial_fit: classes cannot be counted "
                    "before they come; count a sample of them, and give the weights as a dict"
                )
            codes = encoder.transform(labels)
            weights = _as_weights(sample_weight, len(codes))
            stakes = weights_by_class(self.class_weight, self.classes_.tolist(), codes, weights)
            rows, codes, stakes = rows_of_weight(rows, codes, stakes)
            for learner in self.learners_ if len(codes) else ():
                learn_rows_as_batch(learner, rows, codes, stakes)
        return self

    def predict_proba(self, X: object) -> Matrix:
        """Return the probabilities of the two classes, a row each."""
        return np.column_stack([1.0 - (p := self._positive(X)), p])

    def predict_log_proba(self, X: object) -> Matrix:
        """Return logarithms of the probabilities, from the log-odds: accurate where one is next to 0 or 1."""
        z = self.decision_function(X)
        return -np.column_stack([softplus_many(z), softplus_many(-z)])

    def decision_function(self, X: object) -> Vector:
        """Return the log-odds of the second class; above 0 where it is the likelier."""
        learners, rows = self._fitted(), self._rows(X)
        if len(learners) == 1:
            return learners[0].predict_logit_many(rows)
        return average_log_odds([log_odds(learner, rows) for learner in learners])

    def predict(self, X: object) -> Any:
        """Return the likelier class of each row."""
        p = self._positive(X)
        return self.classes_[(p > 0.5).astype(np.intp)]

    @property
    def learner_(self) -> Learner:
        """The first of `learners_`."""
        return self.learners_[0]

    @property
    def coef_(self) -> Matrix:
        """The centre of what the learner knows, of shape (1, columns)."""
        return self._centre()[None, 1:]

    @property
    def intercept_(self) -> Vector:
        """The intercept, of shape (1,); 0 where the learner has none."""
        return self._centre()[:1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    # ---- within

    def _fitted(self) -> list[Learner]:
        check_is_fitted(self, "learners_")
        return self.learners_

    def _positive(self, X: object) -> Vector:
        """Return each row's probability of the second class, the mean of the learners'."""
        learners, rows = self._fitted(), self._rows(X)
        if len(learners) == 1:
            return learners[0].predict_many(rows)
        return np.asarray(np.mean([learner.predict_many(rows) for learner in learners], axis=0))

    def _rows(self, X: object) -> Any:
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64, order="C")

    def _validated(self, X: object, y: object, reset: bool) -> tuple[Any, Any]:
        rows, labels = validate_data(self, X, y, reset=reset, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(labels)
        return rows, labels

    def _fresh(self) -> Learner:
        return fresh_copy(self.learner) if self.average is None else OnlineToBatch(self.learner, states=self.average)

    def _begin(self, classes: Any, orders: int = 1) -> None:
        kind = type_of_target(classes)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_ = classes
        self.learners_ = [self._fresh() for _ in range(orders)]
        for learner in self.learners_:
            if names_columns(learner) and "feature_names_in_" in vars(self):
                learner.feature_names_ = self.feature_names_in_.tolist()

    def _centre(self) -> Vector:
        centres = []
        for learner in self._fitted():
            if not isinstance(learner, HasCoefficients):
                raise AttributeError(
                    f"{type(learner).__name__} has no one coefficient a column; AIOLIClassifier(AIOLI()) has coef_"
                )
            w = learner.coefficients_
            centres.append(w if learner.intercept else np.concatenate([[0.0], w]))
        return np.asarray(np.mean(centres, axis=0))


def _as_weights(sample_weight: object, count: int) -> Vector | None:
    if sample_weight is None:
        return None
    given = np.full(count, sample_weight) if np.isscalar(sample_weight) else sample_weight
    weights: Vector = check_array(given, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (count,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(count,)}: one weight a row")
    if (weights < 0.0).any():
        raise ValueError("Negative values in data passed to `sample_weight`: a weight is at least 0")
    return weights


@contextmanager
def _all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Put the estimator's attributes back as they were where the block raises."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
