"""Writes numbers as people read them."""

import math

from aioli.report.record import Number

__all__ = ["compact", "duration", "figure", "finite", "percent", "signed", "whole", "with_error"]

LARGEST = 1e300  # beyond it a difference of two numbers may overflow
ABSENT = "–"


def finite(value: Number) -> float | None:
    """Return the number; None where it is missing, not finite, or too large to draw."""
    return None if value is None or not abs(value) <= LARGEST else float(value)


def whole(value: float) -> str:
    """Return a count: 1,234,567."""
    return f"{int(value):,}"


def figure(value: Number, digits: int = 3) -> str:
    """Return so many significant digits, whole numbers in full.

    >>> figure(0.28994), figure(11712.6), figure(-2.5), figure(1.5e-7), figure(3e12), figure(None)
    ('0.290', '11,713', '−2.50', '1.5 × 10⁻⁷', '3 × 10¹²', '–')
    """
    number = finite(value)
    if number is None:
        return ABSENT
    if number == 0.0:
        return "0"
    size = math.floor(math.log10(abs(number)))
    if -5 <= size < 9:
        return signed(f"{number:,.{max(0, digits - 1 - size)}f}")
    mantissa, _, exponent = f"{number:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    return signed(f"{mantissa} × 10{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}")


def with_error(value: float, error: float) -> str:
    """Return a number with as many digits as its error leaves it.

    >>> with_error(-0.000825, 0.0397), with_error(1234.5, 67.8)
    ('−0.001 ± 0.040', '1,234 ± 68')
    """
    size = math.floor(math.log10(error)) if error > 0.0 else -99
    if not (-6 <= size < 6 and abs(value) < 1e9):
        return f"{figure(value)} ± {figure(error, 2)}"
    return signed(f"{value:,.{max(0, 1 - size)}f} ± {error:,.{max(0, 1 - size)}f}")


def percent(share: Number) -> str:
    """Return a share of one, in percent.

    >>> percent(0.0123), percent(0.579), percent(1.0), percent(2e-6)
    ('1.2%', '57.9%', '100%', '< 0.1%')
    """
    number = finite(share)
    if number is None:
        return ABSENT
    if 0.0 < abs(number) < 0.0005:
        return "< 0.1%"
    return signed(f"{100.0 * number + 0.0:.1f}".removesuffix(".0") + "%")


def compact(value: float) -> str:
    """Return a number beside an axis: short, and never less exact than its tick.

    >>> compact(0.0), compact(0.25), compact(20_000), compact(1e9), compact(-1500)
    ('0', '0.25', '20 k', '1 G', '−1.5 k')
    """
    for unit, symbol in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if unit <= abs(value) < 1e15:
            return signed(f"{value / unit:.4g} {symbol}")
    return signed(f"{value:.4g}")


def duration(seconds: float) -> str:
    """Return a length of time.

    >>> duration(0.0123), duration(75), duration(7300)
    ('12.3 ms', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 1.0:
        return f"{1000.0 * seconds:.3g} ms"
    if seconds < 60.0:
        return f"{seconds:.3g} s"
    if seconds < 3600.0:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{whole(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def signed(number: str) -> str:
    """Return the number with a true minus sign."""
    return number.replace("-", "−")
