"""The parts of scikit-learn that the classifier uses, with types, which scikit-learn has none of."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Vector
from aioli.outcomes.class_labels import Codes
from aioli.streams.files.table import Features

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "LabelEncoder",
    "Labels",
    "Tags",
    "check_array",
    "check_classification_targets",
    "check_consistent_length",
    "check_is_fitted",
    "column_or_1d",
    "type_of_target",
    "validate_data",
]

Labels: TypeAlias = NDArray[np.generic]  # as the caller has them

if TYPE_CHECKING:

    class ClassifierTags(Protocol):
        """What kind of classifier this is."""

        multi_class: bool

    class InputTags(Protocol):
        """What rows it takes."""

        sparse: bool
        allow_nan: bool

    class Tags(Protocol):
        """What an estimator tells of itself."""

        classifier_tags: ClassifierTags
        input_tags: InputTags

    class BaseEstimator:
        """An object with parameters by name, and tags."""

        def __sklearn_tags__(self) -> Tags: ...
        def get_params(self, deep: bool = True) -> dict[str, object]:
            """Return the parameters."""
            ...

        def set_params(self, **params: object) -> Self:
            """Change parameters."""
            ...

    class ClassifierMixin:
        """A classifier with the accuracy as its score."""

        def score(self, X: object, y: object, sample_weight: object = None) -> float:
            """Return the accuracy on the rows."""
            ...

    class LabelEncoder:
        """Numbers labels in sorted order."""

        classes_: Labels

        def fit(self, y: object) -> Self:
            """See which labels there are."""
            ...

        def transform(self, y: object) -> Codes:
            """Return the labels' numbers."""
            ...

    check_array: Callable[..., Vector]
    check_classification_targets: Callable[[object], None]
    check_consistent_length: Callable[[object, object], None]
    check_is_fitted: Callable[[BaseEstimator, str], None]
    column_or_1d: Callable[..., Labels]
    type_of_target: Callable[[object], str]

    @overload
    def validate_data(estimator: BaseEstimator, X: object, *, reset: bool, **options: object) -> Features: ...
    @overload
    def validate_data(
        estimator: BaseEstimator, X: object, y: object, *, reset: bool, **options: object
    ) -> tuple[Features, Labels]: ...
    def validate_data(estimator: BaseEstimator, X: object, y: object = None, **options: object) -> object:
        """Return the rows as an array of numbers, and the labels where they are given."""
        ...

else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.preprocessing import LabelEncoder
        from sklearn.utils import Tags, check_array, check_consistent_length, column_or_1d
        from sklearn.utils.multiclass import check_classification_targets, type_of_target
        from sklearn.utils.validation import check_is_fitted, validate_data
    except ImportError as missing:
        raise ImportError(
            "aioli.sklearn needs scikit-learn 1.6 or newer: pip install 'aioli-online[sklearn]'"
        ) from missing
