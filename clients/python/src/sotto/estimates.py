"""Noisy values with their half-widths, and rows of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .values import read_half_width, read_value, show_estimate, show_number


@dataclass(frozen=True)
class Estimate:
    """A noisy value. With the confidence of its answer, the noise is at most the half-width."""

    value: Any
    """Number, or Timestamp for dates and times."""
    half_width: Any
    """Number, Timedelta for dates and times, or None if no bound is known."""
    unit: str | None = None
    """`rows` or `people` if the half-width is about a rank: that of a quantile."""
    interval: tuple[Any, Any] | None = None
    """Where the true value lies: value and half-width, cut at what the declaration makes impossible."""

    @classmethod
    def read(
        cls, value: Any, half_width: Any, unit: str | None = None, interval: Mapping[str, Any] | None = None
    ) -> Estimate:
        """Read a value, a half-width and an interval of the service."""
        time_unit = unit
        if isinstance(value, str) and unit is None:
            time_unit = "days" if len(value) == 10 else "seconds"
        rank_unit = unit if unit in ("rows", "people") else None
        ends = None if interval is None else (read_value(interval["lower"]), read_value(interval["upper"]))
        return cls(read_value(value), read_half_width(half_width, time_unit), rank_unit, ends)

    @property
    def is_rank(self) -> bool:
        """True if the half-width is a number of rows or people, not in the unit of the value."""
        return self.unit is not None

    def __str__(self) -> str:
        shown = show_number(self.value)
        if self.half_width is None:
            return shown
        if self.is_rank:
            return f"{shown} (rank ± {show_number(self.half_width)} {self.unit})"
        return show_estimate(self.value, self.half_width)

    def __repr__(self) -> str:
        return f"Estimate({self})"


@dataclass(frozen=True)
class Row:
    """A group: its label in each key column, and its statistics by name."""

    key: Mapping[str, Any]
    values: Mapping[str, Estimate]
