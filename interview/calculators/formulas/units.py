"""Numbers as text: exact rounding, thin grouping, and decimal and binary bytes always labelled."""

from __future__ import annotations

import math
from fractions import Fraction

NARROW_SPACE = "\u202f"
# (size, unit, shown from)
DECIMAL_UNITS = ((10**12, "TB", 10**13), (10**9, "GB", 10**8), (10**6, "MB", 10**5), (10**3, "kB", 10**2))
BINARY_UNITS = {"TB": (2**40, "TiB"), "GB": (2**30, "GiB"), "MB": (2**20, "MiB"), "kB": (2**10, "KiB")}


def grouped(value: int) -> str:
    """A whole number with thin spaces between groups of three: 16 777 216."""
    return f"{value:,}".replace(",", NARROW_SPACE)


def fixed(value: int | float | Fraction, places: int = 3) -> str:
    """`value` rounded half up to at most `places` decimals, at least one kept: 18.0, 19.327."""
    return _quotient(*value.as_integer_ratio(), places)


def _quotient(above: int, below: int, places: int = 3) -> str:
    """`above / below` as `fixed` writes it, in whole numbers alone: exact, and quick."""
    scaled = (2 * abs(above) * 10**places + below) // (2 * below)
    whole, part = divmod(scaled, 10**places)
    sign = "−" if above < 0 else ""
    digits = f"{part:0{places}}".rstrip("0") or "0"
    return f"{sign}{grouped(whole)}.{digits}" if places else f"{sign}{grouped(whole)}"


def number_text(value: int | float | Fraction, digits: int = 6) -> str:
    """A number for reading: whole numbers in full, others to `digits` significant figures."""
    if type(value) is float:  # most numbers of a page are, and every other question costs
        return _float_text(value, digits) if math.isfinite(value) else _infinite(value)
    if isinstance(value, Fraction):
        value = float(value) if value.denominator != 1 else value.numerator
    if isinstance(value, int):
        return grouped(value).replace("-", "−")
    return _float_text(value, digits) if math.isfinite(value) else _infinite(value)


def _infinite(value: float) -> str:
    return "∞" if value > 0 else ("−∞" if value < 0 else "undefined")


def _float_text(value: float, digits: int) -> str:
    if value and not 1e-5 <= abs(value) < 1e15:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}".replace("-", "−")
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:,.{places}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace(",", NARROW_SPACE).replace("-", "−")


def decimal_bytes(count: int | Fraction) -> tuple[str, str]:
    """(`19.327`, `GB`): powers of ten."""
    above, below = count.as_integer_ratio()
    for size, unit, least in DECIMAL_UNITS:
        if abs(above) >= least * below:
            return _quotient(above, below * size), unit
    return number_text(Fraction(count)), "bytes"


def binary_bytes(count: int | Fraction) -> tuple[str, str]:
    """(`18.0`, `GiB`): powers of two, on the same step as `decimal_bytes`."""
    above, below = count.as_integer_ratio()
    for _, unit, least in DECIMAL_UNITS:
        if abs(above) >= least * below:
            size, name = BINARY_UNITS[unit]
            return _quotient(above, below * size), name
    return number_text(Fraction(count)), "bytes"


def both_bytes(count: int | Fraction) -> str:
    """`19.327 GB (18.0 GiB)`."""
    (ten, ten_unit), (two, two_unit) = decimal_bytes(count), binary_bytes(count)
    return f"{ten} {ten_unit}" if ten_unit == two_unit else f"{ten} {ten_unit} ({two} {two_unit})"


_SCALES = ((10**15, "quadrillion"), (10**12, "trillion"), (10**9, "billion"), (10**6, "million"))
_PREFIXES = ((10**18, "E"), (10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def prefixed(value: int | float | Fraction, places: int = 3) -> tuple[str, str]:
    """(`29.262`, `T`): the number and its SI prefix."""
    for size, prefix in _PREFIXES:
        if abs(Fraction(value)) >= size:
            return fixed(Fraction(value) / size, places), prefix
    return number_text(value), ""


def counted(value: int) -> str:
    """`6.738 billion`: a count in words from a million on."""
    for size, word in _SCALES:
        if abs(value) >= size:
            return f"{fixed(Fraction(value, size))} {word}"
    return grouped(value)


def seconds_text(value: float) -> tuple[str, str]:
    """(`38.2`, `ms`): a duration on its natural step."""
    if value >= 1:
        return number_text(value, 4), "s"
    return (number_text(value * 1e3, 4), "ms") if value >= 1e-3 else (number_text(value * 1e6, 4), "µs")
