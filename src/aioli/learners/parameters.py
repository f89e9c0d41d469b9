"""The border for the parameters of learners: each is what it must be, or is refused by its name."""

from numbers import Real

import numpy as np

__all__ = ["require_number", "require_positive", "require_whole"]

SMALLEST, LARGEST = 1e-100, 1e100  # between them, the square of a row over a parameter stays within float64


def require_positive(**parameters: object) -> None:
    """Refuse what is not a number above 0 and below infinity: formulas divide by it, or take its logarithm."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and SMALLEST <= float(value) <= LARGEST):
            raise ValueError(
                f"{name} is {value!r}; it must be a finite number above 0, from {SMALLEST:g} to {LARGEST:g}"
            )


def require_number(name: str, value: object) -> float:
    """The value as a float, or a refusal by name."""
    if not isinstance(value, (int, float, np.number)):
        raise ValueError(f"{name} is {value!r}; it must be a number")
    try:
        return float(value)
    except (TypeError, OverflowError):
        raise ValueError(f"{name} is {value!r}; it must be a number that float64 can hold") from None


def require_whole(name: str, value: object, least: int, multiple: int = 1) -> int:
    """The value as an int, or a refusal by name."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least or value % multiple:
        kind = "an even whole number" if multiple == 2 else "a whole number"
        raise ValueError(f"{name} is {value!r}; it must be {kind} of at least {least}")
    return int(value)
