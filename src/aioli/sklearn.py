"""A scikit-learn classifier over any learner, for pipelines, searches and displays."""

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aioli.evaluate.run import widen
from aioli.learners.all_or_nothing import all_or_nothing
from aioli.learners.batch.any_order import learn_in_any_order, plan_for
from aioli.learners.batch.averaging import average_log_probabilities
from aioli.learners.batch.batch_models import BatchModels, as_dense, is_affordable
from aioli.learners.batch.row_weights import rows_of_weight, weights_by_class
from aioli.learners.cloning import learn_rows_as_batch, takes_classes
from aioli.learners.protocol import AnyLearner, ClassLearner, Learner, knows_classes, names_columns, plays_two_classes
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import softplus_many
from aioli.outcomes.class_labels import Codes
from aioli.sklearn_checks import as_weights, check_class_weight, check_classes, check_known, check_taught
from aioli.sklearn_learners import centre_of, fresh_learner, mean_log_odds, mean_probability, plain_labels
from aioli.sklearn_parts import ClassifierMixin, LabelEncoder, Labels, Tags, check_is_fitted
from aioli.sklearn_rows import RowsEstimator
from aioli.streams.files.table import Features

__all__ = ["AIOLIClassifier"]


class AIOLIClassifier(ClassifierMixin, RowsEstimator):
    r"""Online logistic regression as a scikit-learn classifier.

    `fit` learns a batch: the same rows of numbers give the same model, bit for bit, whatever their order. `partial_fit`
    goes on with a stream, batch by batch, all of whose rows are announced before the first of their labels. The rows of
    `predict_proba` are $(1-p, p)$, where p is what the learner would announce if the row came next, averaged where
    there are several. Of more than two classes they are those of `learner(classes=…)`, in the order of `classes_`.
    Dense, CSR, pandas and polars rows; any labels. Frames with words or dates, and lists of dictionaries, are encoded
    as the command encodes files (`TableEncoder`). A number that is missing (NaN) is filled with its column's mean, and
    marked in a column of its own where one was missing in rows that were learned.

    Parameters
    ----------
    learner
        A learner that has seen nothing, such as `AIOLI(radius=2.0)`: a copy of it learns, so that it stays a template.
        None is `Auto()`, which needs no tuning and no scaling of the columns.
    class_weight
        Weights by label, 1 for those not named; "balanced", for `fit` only, is $n/(Kn_k)$ for a class of $n_k$ of the
        n rows, `sample_weight` counted in. They multiply `sample_weight`.
    average
        m: predict by the average of the learner's states before m rounds drawn uniformly (`OnlineToBatch`), whose
        excess risk is bounded on average if the rows are drawn independently. None predicts by the last state.
    orders
        `fit` shuffles the rows by fixed seeds, so many times, teaches a learner each shuffle, and averages the
        probabilities. None is up to 4 for `Auto`, by the number of rows, and 1 for other learners.
    batch_models
        Whether `fit` also fits all rows at once, by cross-validated maximum likelihood and by a normal distribution of
        each class, which have shares in what is said (`batch_models_`): worth most where rows are few. None is where no
        learner is given and the batch is small.
    passes
        How many times `fit` plays the rows. None is 1: experts that know rows by heart gain from a second pass what
        new rows then cost.

    Attributes
    ----------
    learner_
        The learner that has learned, the first of `learners_`: its certificate, its loss, `save`. Where there is an
        average, the `OnlineToBatch`, whose own `learner_` it is.
    learners_
        One learner for each of the orders; after `partial_fit` alone, one.
    classes_
        The labels, sorted; where there are two, p is the probability of the second.
    n_features_in_, feature_names_in_
        The number of the columns, and their names where the rows of the first call had any.
    batch_models_
        The models of all rows at once (`learners.batch.batch_models`) beside the learners; None where there are none,
        and after `partial_fit`, which goes on with the learners alone.
    table_
        How columns that are not all numbers are encoded; None where all are.
    gaps_
        How missing numbers are filled and marked, where all columns are numbers; None where none was missing.
    coef_, intercept_
        The centre w of what the learner knows, where it has one, as `AIOLI` does. Its predictions hedge, so they are
        nearer to ½ than w alone would say. One row a class, where there are more than two.

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
    >>> bool(model.score(X, y) > 0.75)
    True
    """

    learners_: list[Learner] | list[ClassLearner]
    classes_: Labels
    batch_models_: BatchModels | None = None

    def __init__(
        self,
        learner: AnyLearner | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        average: int | None = None,
        orders: int | None = None,
        passes: int | None = None,
        batch_models: bool | None = None,
    ) -> None:
        self.learner = learner
        self.class_weight = class_weight
        self.average = average
        self.orders = orders
        self.passes = passes
        self.batch_models = batch_models

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Forget everything, and learn the rows as a batch, whose order does not matter."""
        with all_or_nothing(self):
            rows, labels = self._validated(X, y, reset=True)
            encoder = LabelEncoder().fit(labels)
            passes = self._begin(encoder.classes_, rows.shape)
            codes = encoder.transform(labels)
            weights = as_weights(sample_weight, len(codes))
            check_taught(codes, weights, self.classes_)
            stakes = weights_by_class(self.class_weight, self.classes_.tolist(), codes, weights)
            told = None if self._plays_two() else self._told(codes)
            order, said = learn_in_any_order(self.learners_, rows, codes.astype(np.float64), stakes, passes, told)
            self.batch_models_ = self._fit_at_once(rows, codes, stakes, order, said)
        return self

    def partial_fit(self, X: object, y: object, classes: object = None, sample_weight: object = None) -> Self:
        """Go on learning, from a batch whose rows are all announced before its labels come.

        The first call must be given all `classes`.
        """
        with all_or_nothing(self), self._encoders_put_back():
            first = "learners_" not in vars(self)
            self.batch_models_ = None
            if first and classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            rows, labels = self._validated(X, y, reset=first)
            encoder = LabelEncoder().fit(self.classes_ if classes is None else classes)
            if first:
                self._begin(encoder.classes_)
            elif not np.array_equal(encoder.classes_, self.classes_):
                raise ValueError(f"classes are {classes!r}, but were {self.classes_} on the first call; leave them out")
            check_class_weight(self.class_weight)
            codes = encoder.transform(labels)
            check_known(labels, encoder.classes_, codes)
            weights = as_weights(sample_weight, len(codes))
            stakes = weights_by_class(self.class_weight, self.classes_.tolist(), codes, weights)
            encodes = (self.table_ or self.gaps_) is not None
            if not first and encodes and rows.shape[1] != self.learners_[0].n_features_:
                self.learners_ = copy.deepcopy(self.learners_)  # put back where the call is refused
                for learner in self.learners_:
                    widen(learner, rows.shape[1], self._names_of_features() or [])
            rows, codes, stakes = rows_of_weight(rows, codes, stakes)
            for learner in self.learners_ if len(codes) else ():
                learn_rows_as_batch(learner, rows, codes if self._plays_two() else self._told(codes), stakes)
        return self

    def predict_proba(self, X: object) -> Matrix:
        """Return the probabilities of the classes, a row each."""
        if not self._plays_two():
            return np.exp(self.predict_log_proba(X))
        return np.column_stack([1.0 - (p := self._positive(X)), p])

    def predict_log_proba(self, X: object) -> Matrix:
        """Return logarithms of the probabilities, from the log-odds: accurate where one is next to 0 or 1."""
        if self.batch_models_ is not None:
            rows = self._rows(X)
            return self.batch_models_.mixed(self._said(rows), as_dense(rows))
        return self._said(self._rows(X))

    def _said(self, rows: Features) -> Matrix:
        """Return logarithms of the probabilities that the learners give together."""
        if many := self._learners_of_many():
            return average_log_probabilities(many, rows)
        z = mean_log_odds(self._learners_of_two(), rows)
        return -np.column_stack([softplus_many(z), softplus_many(-z)])

    def decision_function(self, X: object) -> Vector:
        """Return the log-odds of the second class; above 0 where it is the likelier.

        Of more than two classes, return the logarithms of their probabilities, a column each.
        """
        if not self._plays_two():
            return self.predict_log_proba(X)
        if self.batch_models_ is not None:
            L = self.predict_log_proba(X)
            return np.asarray(L[:, 1] - L[:, 0])
        return mean_log_odds(self._learners_of_two(), self._rows(X))

    def predict(self, X: object) -> Labels:
        """Return the likeliest class of each row."""
        two = self._plays_two()
        places = (self._positive(X) > 0.5).astype(np.intp) if two else self.decision_function(X).argmax(axis=1)
        likeliest: Labels = self.classes_[places]
        return likeliest

    @property
    def learner_(self) -> AnyLearner:
        """The first of `learners_`."""
        return self.learners_[0]

    @property
    def coef_(self) -> Matrix:
        """The centre of what the learner knows, of shape (1, columns), or one row a class."""
        return self._centre()[:, 1:]

    @property
    def intercept_(self) -> Vector:
        """The intercept, of shape (1,), or one a class; 0 where the learner has none."""
        return self._centre()[:, 0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_many()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # ---- within

    def _takes_many(self) -> bool:
        return self.average is None and takes_classes(self.learner)

    def _learners_of_two(self) -> list[Learner]:
        check_is_fitted(self, "learners_")
        return [learner for learner in self.learners_ if plays_two_classes(learner)]

    def _learners_of_many(self) -> list[ClassLearner]:
        check_is_fitted(self, "learners_")
        return [learner for learner in self.learners_ if knows_classes(learner)]

    def _plays_two(self) -> bool:
        return not self._learners_of_many()

    def _told(self, codes: Codes) -> NDArray[np.object_]:
        """Return the labels as the learners know them."""
        return np.array(plain_labels(self.classes_), dtype=object)[codes]

    def _positive(self, X: object) -> Vector:
        """Return each row's probability of the second class, the mean of the learners'."""
        if self.batch_models_ is not None:
            return np.exp(self.predict_log_proba(X)[:, 1])
        return mean_probability(self._learners_of_two(), self._rows(X))

    def _begin(self, classes: Labels, shape: tuple[int, int] | None = None) -> int:
        """Make the learners, for rows of this shape, or for a stream; return how often the rows are played."""
        check_classes(classes, self._takes_many())
        self.classes_ = classes
        first = fresh_learner(self.learner, self.average, classes)
        orders, passes = (1, 1) if shape is None else plan_for(first, shape, self.orders, self.passes)
        learners = [first, *(fresh_learner(self.learner, self.average, classes) for _ in range(orders - 1))]
        many = [learner for learner in learners if knows_classes(learner)]
        self.learners_ = many or [learner for learner in learners if plays_two_classes(learner)]
        names = self._names_of_features()
        for learner in self.learners_:
            if names is not None and names_columns(learner):
                learner.feature_names_ = list(names)
        return passes

    def _fit_at_once(
        self, rows: Features, codes: Codes, weights: Vector | None, order: Codes, said: Vector
    ) -> BatchModels | None:
        """Return the models of a batch whose learners announced `said`, in this order; None where none are wanted."""
        count, columns, classes = len(order), rows.shape[1], len(self.classes_)
        usual = self.learner is None and self.average is None and is_affordable(count, columns, classes)
        if not (usual if self.batch_models is None else self.batch_models):
            return None
        stakes = None if weights is None else weights[order]
        return BatchModels.fitted(as_dense(rows[order]), codes[order], classes, stakes, said)

    def _centre(self) -> Matrix:
        check_is_fitted(self, "learners_")
        return centre_of(self.learners_)
