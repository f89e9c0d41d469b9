"""The border for parameters that a formula divides by, or takes the logarithm of."""

from numbers import Real

__all__ = ["require_positive"]

SMALLEST, LARGEST = 1e-100, 1e100  # between them, the square of a row over a parameter stays within float64


def require_positive(**parameters: object) -> None:
    """Refuse, by its name, what is not a number above 0 and below infinity."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and SMALLEST <= float(value) <= LARGEST):
            raise ValueError(
                f"{name} is {value!r}; it must be a finite number above 0, from {SMALLEST:g} to {LARGEST:g}"
            )
