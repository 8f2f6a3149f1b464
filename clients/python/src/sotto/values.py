"""Values of Python as JSON of the service, and back: exact decimals, dates and times in UTC."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""A JSON value."""

FRACTION_DIGITS = 9
"""Fractional digits of numbers, except delta."""
DELTA_DIGITS = 18
"""Fractional digits of a delta."""


def wire_number(value: Any, digits: int = FRACTION_DIGITS) -> int | float:
    """Return the number rounded to the nearest decimal of this number of fractional digits.

    Takes integers, floats, Decimals, Fractions and numpy scalars. The service computes with exact decimals and never
    rounds, so `0.1 + 0.2` must become `0.3` before it is sent.

    Raises:
        ValueError: for NaN, infinity, and numbers with more digits than a 64-bit float holds.

    """
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Rational):
        with localcontext() as context:
            context.prec = 60
            exact = Decimal(int(value.numerator)) / Decimal(int(value.denominator))
    else:
        # The text of a numpy.float32 is the shortest one; its double would show digits that were never meant.
        exact = Decimal(str(value))
    if not exact.is_finite():
        raise ValueError(f"{value} is not a finite number")
    with localcontext() as context:
        context.prec = 60
        try:
            rounded = exact.quantize(Decimal(1).scaleb(-digits))
        except InvalidOperation:
            rounded = exact
    if rounded == rounded.to_integral_value():
        return int(rounded)
    nearest = float(rounded)
    if Decimal(repr(nearest)) != rounded:
        raise ValueError(f"{value} has more digits than a 64-bit float holds")
    return nearest


def wire_time(value: datetime.date | np.datetime64) -> str:
    """Return a date or time as ISO 8601 in UTC.

    A time without an offset is UTC, as in the service, numpy and pandas. Midnight is written as its date, which columns
    of dates need and columns of timestamps accept.
    """
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat()
    moment = pd.Timestamp(value)
    if moment.tzinfo is not None:
        moment = moment.tz_convert("UTC").tz_localize(None)
    if moment == moment.normalize():
        return moment.date().isoformat()
    return f"{moment.isoformat()}Z"


def wire(value: Any, field: str = "") -> Json:
    """Return a value as JSON, with numbers rounded by `wire_number` and times written by `wire_time`.

    Raises:
        TypeError: for a value that has no counterpart in a query.
        ValueError: for a missing value, and as `wire_number`.

    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): wire(part, str(key)) for key, part in value.items()}
    if value is None or value is pd.NaT or value is pd.NA:
        raise ValueError("a missing value cannot be sent; test for missing values with col(...).is_null()")
    if isinstance(value, datetime.date | np.datetime64):
        return wire_time(value)
    if isinstance(value, numbers.Number):
        return wire_number(value, DELTA_DIGITS if field == "delta" else FRACTION_DIGITS)
    if hasattr(value, "to_wire"):
        return wire(value.to_wire(), field)
    if isinstance(value, Iterable):
        return [wire(part, field) for part in value]
    raise TypeError(f"{value!r} ({type(value).__name__}) cannot be part of a query")


def camel(name: str) -> str:
    """Return a name of Python (`rows_per_group`) as the service spells it (`rowsPerGroup`)."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def read_value(value: Any) -> Any:
    """Return a value of an answer: a number, or a Timestamp for an ISO 8601 text.

    The Timestamp of a date has no time zone; that of a time is in UTC.
    """
    return pd.Timestamp(value) if isinstance(value, str) else value


def read_half_width(half_width: Any, unit: str | None) -> Any:
    """Return a half-width: a number, a Timedelta if its unit is days or seconds, or None."""
    if half_width is None or unit not in ("days", "seconds"):
        return half_width
    return pd.Timedelta(half_width, unit="D" if unit == "days" else "s")


def show_estimate(value: Any, half_width: Any) -> str:
    """Return a value and its half-width, which has at least two significant digits, with the same digits for both."""
    are_numbers = all(isinstance(part, int | float) for part in (value, half_width))
    are_whole = all(isinstance(part, int) for part in (value, half_width))
    if not are_numbers or are_whole or half_width <= 0:
        return f"{show_number(value)} ± {show_number(half_width)}"
    digits = max(0, 1 - math.floor(math.log10(half_width)))
    return f"{value:,.{digits}f} ± {half_width:,.{digits}f}"


def show_number(value: Any) -> str:
    """Return a value as people read it: thousands separated, floats with six significant digits."""
    if isinstance(value, pd.Timestamp):
        return value.date().isoformat() if value.tzinfo is None else value.strftime("%Y-%m-%d %H:%M:%S UTC")
    if isinstance(value, pd.Timedelta):
        days = value / pd.Timedelta(days=1)
        return f"{days:.3g} days" if days >= 1 else f"{value.total_seconds():.3g} seconds"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value == math.floor(value):
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 1_000 else f"{value:.6g}"


def show_confidence(confidence: float) -> str:
    """Return a confidence in words: `95% confidence`."""
    return f"{confidence * 100:.6g}% confidence"


def show_label(label: Any) -> str:
    """Return the label of a group as people read it: a category, a period, a bin, or `<NA>` for a missing value."""
    if label is None:
        return "<NA>"
    return bin_text(label) if isinstance(label, Mapping) else str(label)


def bin_text(bin: Mapping[str, Any]) -> str:
    """Return a bin as an interval: `[60, 80)`, and `[80, 100]` for the last one, which contains its upper edge."""
    return f"[{bin['lower']}, {bin['upper']}{']' if bin.get('upperIncluded') else ')'}"
