"""Noisy values with their half-widths, how they are computed with, and rows of them."""

from __future__ import annotations

import datetime
import itertools
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .values import read_half_width, read_value, show_confidence, show_estimate, show_number

Ends = tuple[Any, Any]
"""Lower and upper end of an interval."""


class Computable:
    """What can be computed with like a number: an `Estimate`, and an answer that is one value.

    `+`, `-`, `*` and `/` between two of them, or with a number, make an `Estimate`. Its `interval` holds every result
    that the intervals of the two allow, and its half-width reaches to the farther end. It is right whenever the
    half-widths of all answers in it are right, so its `confidence` is 1 less the sum of their failure probabilities
    (the union bound): 90% for two answers of 95%. A value that is used twice counts once, and so do all values of an
    answer whose half-widths hold together: those of `top_groups` and of a regression.

    A divisor whose interval contains 0 gives no half-width. Estimates whose half-width is a number of ranks raise a
    TypeError. `<`, `<=`, `>` and `>=` compare the noisy values; `(a - b).interval` tells if a difference exceeds the
    noise. `int`, `float` and `round` return the noisy value without its half-width.
    """

    __slots__ = ()

    def _estimate(self) -> Estimate:
        raise NotImplementedError

    def __add__(self, other: Any) -> Estimate:
        return _combined(self, other, lambda a, b: a + b, _sum_ends)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Estimate:
        return _combined(self, other, lambda a, b: a - b, _difference_ends)

    def __rsub__(self, other: Any) -> Estimate:
        return _combined(other, self, lambda a, b: a - b, _difference_ends)

    def __mul__(self, other: Any) -> Estimate:
        return _combined(self, other, lambda a, b: a * b, _product_ends)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Estimate:
        return _combined(self, other, lambda a, b: a / b, _quotient_ends)

    def __rtruediv__(self, other: Any) -> Estimate:
        return _combined(other, self, lambda a, b: a / b, _quotient_ends)

    def __neg__(self) -> Estimate:
        return self * -1

    def share_of(self, whole: Any) -> Estimate:
        """Return this part divided by the whole that contains it, with an interval cut to 0 and 1.

        The true share must be between 0 and 1, as that of a count in the count of a larger set is.
        """
        share: Estimate = self / whole
        if share.interval is None:
            return share
        return share._within(*(min(max(end, 0), 1) for end in share.interval))

    def __lt__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a < b)

    def __le__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a >= b)

    def __float__(self) -> float:
        return float(self._estimate().value)

    def __int__(self) -> int:
        return int(float(self))

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._estimate().value, digits)

    def __format__(self, spec: str) -> str:
        """Return value and half-width, both in the given format: `f"{answer:,.1f}"` is `2,531.0 ± 30.0`."""
        estimate = self._estimate()
        if not spec:
            return str(estimate)
        width = "" if estimate.error_bar is None else f" ± {estimate.error_bar:{spec}}"
        return f"{estimate.value:{spec}}{width}"


@dataclass(frozen=True)
class Estimate(Computable):
    """A noisy value, to compute with as `Computable` says. With its confidence, the noise is at most the half-width."""

    value: Any
    """Number, or Timestamp for dates and times."""
    half_width: Any
    """Number, Timedelta for dates and times, or None if no bound is known."""
    unit: str | None = None
    """`rows` or `people` if the half-width is about a rank: that of a quantile."""
    interval: tuple[Any, Any] | None = None
    """Where the true value lies: value and half-width, cut at what the declaration makes impossible."""
    confidence: float = 0.95
    """Probability with which half-width and interval hold."""
    parts: tuple[Estimate, ...] = field(default=(), repr=False, compare=False)
    """What must hold for this to hold: the estimates that it was computed from, or one that the values of an answer
    share because their half-widths hold together; empty if it holds by itself."""

    @classmethod
    def read(
        cls,
        value: Any,
        half_width: Any,
        unit: str | None = None,
        interval: Mapping[str, Any] | None = None,
        confidence: float = 0.95,
    ) -> Estimate:
        """Read a value, a half-width and an interval of the service."""
        time_unit = unit
        if isinstance(value, str) and unit is None:
            time_unit = "days" if len(value) == 10 else "seconds"
        rank_unit = unit if unit in ("rows", "people") else None
        ends = None if interval is None else (read_value(interval["lower"]), read_value(interval["upper"]))
        return cls(read_value(value), read_half_width(half_width, time_unit), rank_unit, ends, confidence)

    @property
    def is_rank(self) -> bool:
        """True if the half-width is a number of rows or people, not in the unit of the value."""
        return self.unit is not None

    @property
    def error_bar(self) -> Any:
        """Half-width in the unit of the value; None if no bound is known in it."""
        return None if self.is_rank else self.half_width

    def _estimate(self) -> Estimate:
        return self

    def _ends(self) -> Ends | None:
        if self.interval is not None or self.half_width is None:
            return self.interval
        return self.value - self.half_width, self.value + self.half_width

    def _within(self, lower: Any, upper: Any) -> Estimate:
        """Return the same value with this interval, and the half-width that reaches to its farther end."""
        width = max(upper - self.value, self.value - lower)
        return Estimate(self.value, width, interval=(lower, upper), confidence=self.confidence, parts=self.parts)

    def __str__(self) -> str:
        shown = show_number(self.value)
        if self.half_width is None:
            return shown
        if self.is_rank:
            return f"{shown} (rank ± {show_number(self.half_width)} {self.unit})"
        return show_estimate(self.value, self.half_width)

    def __repr__(self) -> str:
        return f"Estimate({self}, {show_confidence(self.confidence)})"

    def _repr_html_(self) -> str:
        # Here, because the module draws estimates.
        from . import notebook

        return notebook.answer_html(notebook.value_html(self), [show_confidence(self.confidence)])


def _estimate_of(operand: Any) -> Estimate | None:
    """Return an operand as an estimate: a number or time is certain. None for anything else."""
    if isinstance(operand, Computable):
        return operand._estimate()
    if isinstance(operand, numbers.Real | datetime.datetime | datetime.timedelta):
        return Estimate(operand, operand - operand, interval=(operand, operand), confidence=1)  # type: ignore[operator]
    return None


def _combined(
    left: Any, right: Any, operation: Callable[[Any, Any], Any], ends_of: Callable[[Ends, Ends], Ends | None]
) -> Estimate:
    """Return the estimate that an operation makes of two; see `Computable`."""
    a, b = _estimate_of(left), _estimate_of(right)
    if a is None or b is None:
        return NotImplemented  # type: ignore[no-any-return]
    if a.is_rank or b.is_rank:
        raise TypeError(
            "the half-width of a quantile is a number of ranks, so no error is known of what is computed from it"
        )
    # By identity: two answers may be equal by chance.
    parts = tuple({id(part): part for whole in (a, b) for part in whole.parts or (whole,)}.values())
    confidence = max(0.0, round(1 - sum(1 - part.confidence for part in parts), 12))
    result = Estimate(operation(a.value, b.value), None, confidence=confidence, parts=parts)
    a_ends, b_ends = a._ends(), b._ends()
    ends = None if a_ends is None or b_ends is None else ends_of(a_ends, b_ends)
    return result if ends is None else result._within(*ends)


def _sum_ends(a: Ends, b: Ends) -> Ends:
    return a[0] + b[0], a[1] + b[1]


def _difference_ends(a: Ends, b: Ends) -> Ends:
    return a[0] - b[1], a[1] - b[0]


def _product_ends(a: Ends, b: Ends) -> Ends:
    products = [left * right for left, right in itertools.product(a, b)]
    return min(products), max(products)


def _quotient_ends(a: Ends, b: Ends) -> Ends | None:
    if b[0] <= 0 <= b[1]:
        return None
    quotients = [left / right for left, right in itertools.product(a, b)]
    return min(quotients), max(quotients)


def _compared(left: Computable, right: Any, comparison: Callable[[Any, Any], bool]) -> bool:
    other = _estimate_of(right)
    if other is None:
        return NotImplemented  # type: ignore[no-any-return]
    return comparison(left._estimate().value, other.value)


@dataclass(frozen=True)
class Row:
    """A group: its label in each key column, and its statistics by name."""

    key: Mapping[str, Any]
    values: Mapping[str, Estimate]
